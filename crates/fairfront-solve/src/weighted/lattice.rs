//! The weights that are tried.

/// A weight is at most this power of ten above or below the unit of its objective.
const REACH: f64 = 1.5;
/// With several objectives, this share of the weights of each is 0.
const NONE: f64 = 0.15;

/// `n` vectors of weights: 1 for the loss, and for each other objective 0 or a multiple of its
/// unit, up to [`REACH`] powers of ten above or below it. The first vector is for the loss alone.
///
/// With one other objective, weights are evenly spaced on a logarithmic scale. With more, they
/// follow the generalized golden ratio, which fills a cube evenly for any number of points.
pub(super) fn lattice(n: usize, units: &[f64]) -> Vec<Vec<f64>> {
    let power = |u: f64| libm::pow(10.0, REACH * (2.0 * u - 1.0));
    let mut all = vec![[&[1.0], vec![0.0; units.len()].as_slice()].concat()];
    match units {
        [] => {}
        [unit] => {
            let steps = n.saturating_sub(2).max(1) as f64;
            let weights = (0..n.saturating_sub(1)).map(|k| power(k as f64 / steps));
            all.extend(weights.map(|w| vec![1.0, w * unit]));
        }
        _ => {
            let ratios = ratios(units.len());
            for k in 1..n {
                let place = |i: usize| (0.5 + k as f64 * ratios[i]).fract();
                let weight = |i: usize| match place(i) {
                    u if u < NONE => 0.0,
                    u => units[i] * power((u - NONE) / (1.0 - NONE)),
                };
                let fair = (0..units.len()).map(weight);
                all.push(std::iter::once(1.0).chain(fair).collect());
            }
        }
    }
    all
}

/// 1/g, 1/g², … with g the root above 1 of g^(d+1) = g + 1.
fn ratios(d: usize) -> Vec<f64> {
    let mut g = 1.5;
    for _ in 0..60 {
        g = libm::pow(1.0 + g, 1.0 / (d + 1) as f64);
    }
    (1..=d).map(|i| libm::pow(g, -(i as f64))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_cover_the_range_and_start_with_the_loss_alone() {
        let two = lattice(5, &[2.0]);
        assert_eq!(two.len(), 5);
        assert_eq!(two[0], [1.0, 0.0]);
        let reach = libm::pow(10.0, REACH);
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b;
        assert!(close(two[1][1], 2.0 / reach) && close(two[4][1], 2.0 * reach));
        assert_eq!(lattice(1, &[2.0]), [[1.0, 0.0]]);
        assert_eq!(lattice(2, &[2.0]).len(), 2);
    }

    #[test]
    fn many_objectives_fill_the_cube_evenly() {
        let (n, units) = (2_000, [1.0, 10.0, 100.0]);
        let all = lattice(n, &units);
        assert_eq!(all.len(), n);
        for (i, unit) in units.iter().enumerate() {
            let of = |holds: &dyn Fn(f64) -> bool| {
                let found = all.iter().filter(|w| holds(w[i + 1] / unit)).count();
                found as f64 / n as f64
            };
            assert!((of(&|w| w == 0.0) - NONE).abs() < 0.01);
            assert!((of(&|w| w > 1.0) - 0.5 * (1.0 - NONE)).abs() < 0.01);
        }
    }
}
