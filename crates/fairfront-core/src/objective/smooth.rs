//! Smooth approximations of the maximum of a few numbers, with their derivatives.

/// `Σ vᵢ e^{βvᵢ} / Σ e^{βvᵢ}`; its derivative is `eᵢ(1 + β(vᵢ − S)) / Σ e`.
pub(super) fn boltzmann(v: &[f64], beta: f64, slope: &mut [f64]) -> f64 {
    let largest = v.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let e: Vec<f64> = v.iter().map(|v| libm::exp(beta * (v - largest))).collect();
    let total: f64 = e.iter().sum();
    let value = v.iter().zip(&e).map(|(v, e)| v * e).sum::<f64>() / total;
    for ((slope, v), e) in slope.iter_mut().zip(v).zip(&e) {
        *slope = e * (1.0 + beta * (v - value)) / total;
    }
    value
}

/// (1/β) log((1/K) Σ e^{βvᵢ}): the common value if all are equal, and at most log(K)/β below the
/// largest.
pub(super) fn log_mean_exp(v: &[f64], beta: f64, slope: &mut [f64]) -> f64 {
    let largest = v.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // Sum e^x − 1: the smaller β is, the fewer digits of it survive next to a 1.
    let mut sum = 0.0;
    for (slope, v) in slope.iter_mut().zip(v) {
        *slope = libm::expm1(beta * (v - largest));
        sum += *slope;
    }
    let n = v.len() as f64;
    slope.iter_mut().for_each(|e| *e = (1.0 + *e) / (n + sum));
    largest + libm::log1p(sum / n) / beta
}

/// The smooth maximum minus the smooth minimum: 0 if all are equal, and at most 2 log(K)/β below
/// the range.
pub(super) fn smooth_range(v: &[f64], beta: f64, slope: &mut [f64]) -> f64 {
    let high = log_mean_exp(v, beta, slope);
    let mirrored: Vec<f64> = v.iter().map(|v| -v).collect();
    let mut down = vec![0.0; v.len()];
    let low = log_mean_exp(&mirrored, beta, &mut down);
    slope.iter_mut().zip(&down).for_each(|(s, d)| *s -= d);
    high + low
}
