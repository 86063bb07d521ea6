//! Summaries over seeds, and rank correlations.

/// Mean and spread of a number over seeds or problems. Values that are not finite are left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Summary {
    pub(crate) n: usize,
    pub(crate) mean: f64,
    /// Standard deviation; 0 for one number.
    pub(crate) deviation: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Summary {
    pub(crate) fn of(numbers: impl IntoIterator<Item = f64>) -> Self {
        let numbers: Vec<f64> = numbers.into_iter().filter(|v| v.is_finite()).collect();
        let n = numbers.len();
        let mean = numbers.iter().sum::<f64>() / n as f64;
        let squares: f64 = numbers.iter().map(|v| (v - mean).powi(2)).sum();
        Self {
            n,
            mean,
            deviation: if n > 1 {
                (squares / (n - 1) as f64).sqrt()
            } else {
                0.0
            },
            least: numbers.iter().copied().fold(f64::NAN, f64::min),
            most: numbers.iter().copied().fold(f64::NAN, f64::max),
        }
    }

    /// Whether a condition is true; `None` without numbers.
    pub(crate) fn when(&self, condition: impl Fn(&Self) -> bool) -> Option<bool> {
        (self.n > 0).then(|| condition(self))
    }

    /// `mean ± deviation`, or only the mean of a single number.
    pub(crate) fn text(&self, decimals: usize) -> String {
        let Self {
            n, mean, deviation, ..
        } = self;
        match n {
            0 => "–".into(),
            1 => minus(&format!("{mean:.decimals$}")),
            _ => minus(&format!("{mean:.decimals$} ± {deviation:.decimals$}")),
        }
    }

    /// A share as `mean ± deviation`, in percent.
    pub(crate) fn percent(&self, decimals: usize) -> String {
        let scaled = Self {
            mean: 100.0 * self.mean,
            deviation: 100.0 * self.deviation,
            ..*self
        };
        format!("{}%", scaled.text(decimals))
    }
}

/// A number with a minus sign instead of a hyphen; `–` if it is not finite.
pub(crate) fn number(value: f64, decimals: usize) -> String {
    match value.is_finite() {
        true => minus(&format!("{value:.decimals$}")),
        false => "–".into(),
    }
}

fn minus(text: &str) -> String {
    text.replace('-', "−")
}

/// The median, without NaN values; NaN without numbers.
pub(crate) fn median(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.into_iter().filter(|v| !v.is_nan()).collect();
    numbers.sort_by(f64::total_cmp);
    match (numbers.len(), numbers.len() / 2) {
        (0, _) => f64::NAN,
        (n, half) if n % 2 == 1 => numbers[half],
        (_, half) => f64::midpoint(numbers[half - 1], numbers[half]),
    }
}

/// Two quantities rise together if their rank correlation is above this, and are opposed if it is below minus
/// this.
const TOGETHER: f64 = 0.5;

impl Summary {
    /// Whether two quantities rise together on average, by their rank correlations.
    pub(crate) fn rises(&self) -> Option<bool> {
        self.when(|s| s.mean > TOGETHER)
    }

    /// Whether one quantity falls when the other rises, on average.
    pub(crate) fn falls(&self) -> Option<bool> {
        self.when(|s| s.mean < -TOGETHER)
    }
}

/// Spearman's rank correlation: 1 if one quantity always rises with the other, −1 if it always falls. NaN if one
/// of them never changes. Pairs with a value that is not finite are left out.
pub(crate) fn rank_correlation(x: &[f64], y: &[f64]) -> f64 {
    let pairs = x
        .iter()
        .zip(y)
        .filter(|(x, y)| x.is_finite() && y.is_finite());
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.unzip();
    let (x, y) = (ranks(&x), ranks(&y));
    let middle = (x.len() as f64 - 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| -> f64 {
        let pairs = a.iter().zip(b);
        pairs.map(|(a, b)| (a - middle) * (b - middle)).sum()
    };
    product(&x, &y) / (product(&x, &x) * product(&y, &y)).sqrt()
}

/// Ranks from 0; equal numbers share the mean of their ranks.
fn ranks(numbers: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|a, b| numbers[*a].total_cmp(&numbers[*b]));
    let mut ranks = vec![0.0; numbers.len()];
    let mut start = 0;
    for equal in order.chunk_by(|a, b| numbers[*a] == numbers[*b]) {
        let rank = start as f64 + (equal.len() as f64 - 1.0) / 2.0;
        equal.iter().for_each(|i| ranks[*i] = rank);
        start += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_agree_with_scipy() {
        // scipy.stats.spearmanr([1, 2, 3, 4, 5], [5, 6, 7, 8, 7]) and one with ties in both.
        let found = rank_correlation(&[1.0, 2.0, 3.0, 4.0, 5.0], &[5.0, 6.0, 7.0, 8.0, 7.0]);
        assert!((found - 0.820_782_681_668_123_3).abs() < 1e-12);
        let found = rank_correlation(&[1.0, 1.0, 2.0, 3.0], &[4.0, 2.0, 2.0, 1.0]);
        assert!((found - -0.833_333_333_333_333_4).abs() < 1e-12);
        assert!(rank_correlation(&[1.0, 1.0], &[1.0, 2.0]).is_nan());
        let gaps = rank_correlation(&[1.0, f64::NAN, 2.0, 3.0], &[1.0, 0.0, 2.0, 3.0]);
        assert!((gaps - 1.0).abs() < 1e-12);
    }

    #[test]
    fn summaries_have_mean_and_spread() {
        let summary = Summary::of([1.0, 2.0, 3.0, f64::NAN]);
        assert_eq!((summary.n, summary.mean, summary.deviation), (3, 2.0, 1.0));
        assert_eq!((summary.least, summary.most), (1.0, 3.0));
        assert_eq!(summary.text(1), "2.0 ± 1.0");
        assert_eq!(Summary::of([0.5]).percent(0), "50%");
        assert_eq!(Summary::of([-0.25]).text(2), "−0.25");
        let none = Summary::of([f64::NAN]);
        assert_eq!(none.text(2), "–");
        assert_eq!(none.when(|s| s.most < 1.0), None);
        assert!(none.least.is_nan() && none.most.is_nan());
        assert_eq!(summary.when(|s| s.most < 1.0), Some(false));
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0]), 2.5);
        assert!(median([]).is_nan());
    }
}
