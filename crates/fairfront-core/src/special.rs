//! Distributions for tests and intervals, on top of a pure-Rust `libm`: the bytes of a p-value must
//! not depend on a machine's math library.

/// Φ(z), the standard normal distribution function.
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// The z with Φ(z) = p, for p in (0, 1); infinite at the ends.
///
/// ```
/// use fairfront_core::normal_quantile;
/// assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-12);
/// ```
pub fn normal_quantile(p: f64) -> f64 {
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    // A rough start in closed form, then Newton's method, which converges from either side.
    let tail = p.min(1.0 - p);
    let t = (-2.0 * libm::log(tail)).sqrt();
    let rough = t
        - (2.515_517 + t * (0.802_853 + t * 0.010_328))
            / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)));
    // Work in the lower tail, where Φ has full relative accuracy.
    let mut z = -rough;
    for _ in 0..6 {
        let density = libm::exp(-0.5 * z * z) / std::f64::consts::TAU.sqrt();
        let step = (normal_cdf(z) - tail) / density;
        // Halley's correction: the curvature of Φ is −z times its slope.
        let step = step / (1.0 + 0.5 * z * step);
        z -= step;
        if step.abs() <= 1e-15 * z.abs() {
            break;
        }
    }
    if p < 0.5 { z } else { -z }
}

/// P(T ≤ t) for Student's t with this many degrees of freedom, which need not be a whole number.
///
/// ```
/// use fairfront_core::student_cdf;
/// assert!((student_cdf(2.0, 5.0) - 0.949_030_260_585_07).abs() < 1e-12);
/// ```
pub fn student_cdf(t: f64, freedom: f64) -> f64 {
    if !freedom.is_finite() || t.is_infinite() {
        return normal_cdf(t);
    }
    let tail = 0.5 * beta_share(freedom / (freedom + t * t), 0.5 * freedom, 0.5);
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// Iₓ(a, b), the regularized incomplete beta function, for a, b ≥ 0.
pub(crate) fn beta_share(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || b <= 0.0 {
        return if b <= 0.0 && x >= 1.0 { 1.0 } else { 0.0 };
    }
    if x >= 1.0 || a <= 0.0 {
        return 1.0;
    }
    // The continued fraction converges fast below the mean; above it, symmetry helps.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_share(1.0 - x, b, a);
    }
    let log_front = a * libm::log(x) + b * libm::log1p(-x) + libm::lgamma(a + b)
        - libm::lgamma(a)
        - libm::lgamma(b);
    (libm::exp(log_front) * continued_fraction(x, a, b) / a).clamp(0.0, 1.0)
}

/// The continued fraction of Iₓ(a, b), by Lentz's method.
fn continued_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let safe = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / safe(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    // About √max(a, b) terms are needed; 10⁶ terms suffice for 10¹² rows.
    for m in 1..1_000_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / safe(1.0 + even * d);
        c = safe(1.0 + even / c);
        value *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / safe(1.0 + odd * d);
        c = safe(1.0 + odd / c);
        let factor = d * c;
        value *= factor;
        if (factor - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// P(X ≥ x) of a binomial variable with n trials of probability p; x and n may be effective numbers.
pub fn binomial_at_least(x: f64, n: f64, p: f64) -> f64 {
    match x <= 0.0 {
        true => 1.0,
        false => beta_share(p, x, n - x + 1.0),
    }
}

/// P(X ≤ x) of a binomial variable with n trials of probability p.
pub fn binomial_at_most(x: f64, n: f64, p: f64) -> f64 {
    match x >= n {
        true => 1.0,
        false => beta_share(1.0 - p, n - x, x + 1.0),
    }
}

/// The upper end of Clopper and Pearson's one-sided interval: the p with P(X ≤ x) = level.
pub fn clopper_pearson_upper(x: f64, n: f64, level: f64) -> f64 {
    if x >= n {
        return 1.0;
    }
    bisect(|p| binomial_at_most(x, n, p) > level)
}

/// The lower end of Clopper and Pearson's one-sided interval: the p with P(X ≥ x) = level.
pub fn clopper_pearson_lower(x: f64, n: f64, level: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    bisect(|p| binomial_at_least(x, n, p) < level)
}

/// The end of the range from 0 within [0, 1] on which a condition holds.
pub(crate) fn bisect(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        match holds(middle) {
            true => low = middle,
            false => high = middle,
        }
    }
    0.5 * (low + high)
}

/// Wilson's interval for a rate, with `z` standard errors to either side.
pub fn wilson(successes: f64, trials: f64, z: f64) -> (f64, f64) {
    let (n, p, z2) = (trials, successes / trials, z * z);
    let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = z / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Sums the probabilities one by one.
    fn at_least(x: u32, n: u32, p: f64) -> f64 {
        let mut probability = (1.0 - p).powi(n as i32);
        let mut below = 0.0;
        for k in 0..x {
            below += probability;
            probability *= f64::from(n - k) / f64::from(k + 1) * p / (1.0 - p);
        }
        1.0 - below
    }

    proptest! {
        #[test]
        fn binomial_tails_are_sums(n in 1_u32..60, share in 0.0..1.0_f64, p in 0.02..0.98_f64) {
            let x = (share * f64::from(n + 1)) as u32;
            let (n_f, x_f) = (f64::from(n), f64::from(x));
            // The sum loses digits if the tail is small.
            prop_assert!((binomial_at_least(x_f, n_f, p) - at_least(x, n, p)).abs() < 1e-11);
            prop_assert!((binomial_at_most(x_f, n_f, p) + at_least(x + 1, n, p) - 1.0).abs() < 1e-11);
        }

        #[test]
        fn quantiles_invert_the_normal_distribution(z in -8.0..8.0_f64) {
            let found = normal_quantile(normal_cdf(z));
            // Above 0, 1 − Φ has lost digits before it is inverted.
            let tolerance = if z > 0.0 { 1e-16 / (1.0 - normal_cdf(z)).max(1e-17) + 1e-12 } else { 1e-12 };
            prop_assert!((found - z).abs() <= tolerance.max(1e-12) * 10.0, "{z} {found}");
        }

        #[test]
        fn clopper_pearson_ends_have_their_tail(n in 2_u32..2000, share in 0.0..1.0_f64, level in 0.001..0.5_f64) {
            let (n, x) = (f64::from(n), (share * f64::from(n)).floor());
            if x < n {
                prop_assert!((binomial_at_most(x, n, clopper_pearson_upper(x, n, level)) - level).abs() < 1e-9);
            }
            if x > 0.0 {
                prop_assert!((binomial_at_least(x, n, clopper_pearson_lower(x, n, level)) - level).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn far_tails_and_ends_have_their_closed_forms() {
        // The quantile is scipy.stats.norm.ppf(1e-10).
        let close =
            |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-8, "{found}");
        close(normal_quantile(1e-10), -6.361_340_902_404_056);
        close(
            wilson(0.0, 100.0, 1.96).1,
            1.96 * 1.96 / (100.0 + 1.96 * 1.96),
        );
        close(wilson(100.0, 100.0, 1.96).0, 100.0 / (100.0 + 1.96 * 1.96));
    }
}
