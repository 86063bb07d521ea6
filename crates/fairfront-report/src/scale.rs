//! Scales from values to positions, and the ticks of an axis.

/// Values beyond this count as infinite, so that no range overflows.
pub(crate) const LARGEST: f64 = 1e300;

/// Smallest and largest of the values; `None` if there are none.
pub(crate) fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, v| {
        let (low, high) = range.unwrap_or((v, v));
        Some((low.min(v), high.max(v)))
    })
}

/// A linear scale over an interval that is never empty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    /// Whether its ticks are whole numbers.
    whole: bool,
    /// Whether values are logarithms to base 2; labels then show the powers of two.
    powers: bool,
}

impl Scale {
    /// Share of the range left free on each side, so that no marker touches the frame.
    const MARGIN: f64 = 0.04;
    /// The narrowest range relative to its largest value. Smaller differences are rounding errors
    /// or would need labels that are too long to read.
    const NARROWEST: f64 = 1e-6;
    /// The narrowest absolute range, large enough that its steps are representable.
    const TINIEST: f64 = 1e-290;

    /// A scale that covers `low ..= high` with a margin; both within [`LARGEST`].
    pub(crate) fn covering(low: f64, high: f64) -> Self {
        let size = low.abs().max(high.abs());
        let narrowest = (size * Self::NARROWEST).max(Self::TINIEST);
        let half = match high - low {
            0.0 if size == 0.0 => 1.0,
            0.0 => (0.05 * size).max(narrowest),
            span => span.max(narrowest) * (0.5 + Self::MARGIN),
        };
        let middle = low + (high - low) / 2.0;
        Self {
            low: (middle - half).min(low),
            high: (middle + half).max(high),
            whole: false,
            powers: false,
        }
    }

    /// A scale for counts: as [`Scale::covering`], with whole numbers as ticks and at least one of
    /// them.
    pub(crate) fn counting(low: f64, high: f64) -> Self {
        let (low, high) = (low.floor(), high.ceil());
        // Half a step on each side of a single count, so that the axis has no other count.
        let half = if low == high { 0.5 } else { 0.0 };
        Self {
            whole: true,
            ..Self::covering(low - half, high + half)
        }
    }

    /// A scale for logarithms to base 2 from 0 on, with whole numbers as ticks and powers of two as
    /// labels.
    pub(crate) fn powers_of_two(last: f64) -> Self {
        Self {
            powers: true,
            ..Self::counting(0.0, last)
        }
    }

    /// The position of a value: 0 at the lower end, 1 at the upper end.
    pub(crate) fn share(self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    /// Round numbers inside the scale in equal steps, `most / 2` to `most` of them; fewer if the
    /// ticks are whole numbers and the range has fewer of them.
    ///
    /// Steps are 1, 2, 2.5 or 5 times a power of ten: each is at most twice the previous one, hence
    /// the lower bound. Without 2.5 there can be one tick less.
    pub(crate) fn ticks(self, most: u32) -> Vec<Tick> {
        let span = self.high - self.low;
        let mut exponent = decimal_exponent(span) - 3;
        let (digits, step) = loop {
            let fits = [10_i64, 20, 25, 50]
                .into_iter()
                .map(|digits| (digits, number(digits, exponent)))
                .filter(|(_, step)| !self.whole || step.fract() == 0.0)
                .find(|(_, step)| span / step < f64::from(most));
            if let Some(found) = fits {
                break found;
            }
            exponent += 1;
        };
        // One more on each side: the quotients are rounded, the comparison below is not.
        let first = (self.low / step).ceil() as i64 - 1;
        let last = (self.high / step).floor() as i64 + 1;
        let mut counts: Vec<i64> = (first..=last).map(|k| k * digits).collect();
        counts.retain(|n| (self.low..=self.high).contains(&number(*n, exponent)));
        let shorter = |counts: &[i64], exponent: i32| {
            // Zero alone has no digits to drop, but a count has no decimals.
            counts.iter().any(|n| *n != 0) || self.whole && exponent < 0
        };
        while counts.iter().all(|n| n % 10 == 0) && shorter(&counts, exponent) {
            counts.iter_mut().for_each(|n| *n /= 10);
            exponent += 1;
        }
        let plain: Vec<String> = counts.iter().map(|n| plain(*n, exponent)).collect();
        let scientific: Vec<String> = counts.iter().map(|n| scientific(*n, exponent)).collect();
        let size = self.low.abs().max(self.high.abs());
        let longest =
            |labels: &[String]| labels.iter().map(|l| l.chars().count()).max().unwrap_or(0);
        if self.powers {
            let tick = |n: &i64| Tick {
                value: number(*n, exponent),
                label: power_of_two(number(*n, exponent)),
            };
            return counts.iter().map(tick).collect();
        }
        let labels = match (1e-3..1e7).contains(&size) || longest(&plain) <= longest(&scientific) {
            true => plain,
            false => scientific,
        };
        counts
            .iter()
            .zip(labels)
            .map(|(n, label)| Tick {
                value: number(*n, exponent),
                label,
            })
            .collect()
    }
}

/// A round number with its label. All labels of an axis have the same number of decimals.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: String,
}

/// Two to a whole power, written out if that is short.
fn power_of_two(power: f64) -> String {
    match power {
        0.0..20.0 => plain(1 << power as i64, 0),
        _ => format!("2^{power}"),
    }
}

/// The float nearest to `digits · 10^exponent`; a product of floats need not be the nearest.
fn number(digits: i64, exponent: i32) -> f64 {
    format!("{digits}e{exponent}").parse().unwrap_or(0.0)
}

/// The decimal exponent of a positive number. It comes from the formatted number, because
/// logarithms differ in their last bit between machines.
fn decimal_exponent(value: f64) -> i32 {
    let text = format!("{value:e}");
    let exponent = text.split_once('e').and_then(|(_, e)| e.parse().ok());
    exponent.unwrap_or(0)
}

/// A count with thousands separators: `45222` becomes `45,222`.
pub(crate) fn grouped(n: usize) -> String {
    group(&n.to_string())
}

/// A value to four digits, for a sentence: `0.3312`, `1.5e-17`.
pub(crate) fn rounded(value: f64) -> String {
    let value: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    match value.abs() {
        0.0 => "0".into(),
        1e-3..1e7 => value.to_string(),
        _ => format!("{value:e}"),
    }
}

fn group(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn sign(digits: i64) -> &'static str {
    if digits < 0 { "−" } else { "" }
}

/// `digits · 10^exponent` written out: `0.025`, `−1,500`.
fn plain(digits: i64, exponent: i32) -> String {
    let text = digits.unsigned_abs().to_string();
    let decimals = (-exponent).max(0) as usize;
    let zeros = "0".repeat(exponent.max(0) as usize);
    let text = format!("{text:0>width$}", width = decimals + 1);
    let (whole, part) = text.split_at(text.len() - decimals);
    match (digits, part) {
        (0, "") => "0".into(),
        (_, "") => format!("{}{}", sign(digits), group(&(whole.to_owned() + &zeros))),
        _ => format!("{}{}.{part}", sign(digits), group(whole)),
    }
}

/// `digits · 10^exponent` with a power of ten: `2.5e−4`.
fn scientific(digits: i64, exponent: i32) -> String {
    if digits == 0 {
        return "0".into();
    }
    let text = digits.unsigned_abs().to_string();
    let power = exponent + text.len() as i32 - 1;
    let (first, rest) = text.split_at(1);
    let rest = rest.trim_end_matches('0');
    let point = if rest.is_empty() { "" } else { "." };
    let minus = if power < 0 { "−" } else { "" };
    format!(
        "{}{first}{point}{rest}e{minus}{}",
        sign(digits),
        power.abs()
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(low: f64, high: f64) -> Vec<String> {
        let scale = Scale {
            low,
            high,
            whole: false,
            powers: false,
        };
        scale.ticks(6).into_iter().map(|t| t.label).collect()
    }

    #[test]
    fn labels_are_round_numbers() {
        assert_eq!(labels(0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(
            labels(0.0, 0.12),
            ["0.000", "0.025", "0.050", "0.075", "0.100"]
        );
        assert_eq!(labels(0.33, 0.5), ["0.35", "0.40", "0.45", "0.50"]);
        assert_eq!(labels(-0.9, 4.2), ["0", "1", "2", "3", "4"]);
        assert_eq!(labels(0.0, 2.2e-4), ["0", "5e−5", "1e−4", "1.5e−4", "2e−4"]);
        assert_eq!(
            labels(0.0, 4500.0),
            ["0", "1,000", "2,000", "3,000", "4,000"]
        );
        assert_eq!(labels(-3e9, 0.0), ["−3e9", "−2e9", "−1e9", "0"]);
        assert_eq!(
            labels(12_345_678.0, 12_345_682.0)[..2],
            ["12,345,678", "12,345,679"]
        );
        assert_eq!(grouped(1_234_567), "1,234,567");
        let values = [0.0, -0.0, 0.331_249, -1.5e-17, 20.0, 1e300];
        let expected = ["0", "0", "0.3312", "-1.5e-17", "20", "1e300"];
        assert_eq!(values.map(rounded), expected);
    }

    #[test]
    fn empty_ranges_are_widened() {
        for value in [
            0.0,
            0.33,
            -7.0,
            1e-17,
            -1e-300,
            f64::MIN_POSITIVE,
            5e-324,
            1e300,
        ] {
            let scale = Scale::covering(value, value);
            assert_eq!(scale.ticks(8).len().clamp(3, 9), scale.ticks(8).len());
            let share = scale.share(value);
            assert!((share - 0.5).abs() < 1e-6, "{value} lies at {share}");
        }
    }

    #[test]
    fn counts_have_whole_numbers_as_ticks() {
        let labels = |low: f64, high: f64| {
            let ticks = Scale::counting(low, high).ticks(8);
            ticks.into_iter().map(|t| t.label).collect::<Vec<_>>()
        };
        assert_eq!(labels(1.0, 25.0), ["5", "10", "15", "20", "25"]);
        assert_eq!(labels(0.0, 9.0), ["0", "2", "4", "6", "8"]);
        assert_eq!(labels(1.0, 2.0), ["1", "2"]);
        assert_eq!(labels(0.1, 0.9), ["0", "1"]);
        assert_eq!(labels(7.0, 7.0), ["7"]);
        assert_eq!(labels(0.0, 0.0), ["0"]);
        assert_eq!(labels(0.0, 4500.0)[..2], ["0", "1,000"]);
    }

    fn magnitude() -> impl Strategy<Value = f64> {
        (-1.0..1.0_f64, -320..300_i32)
            .prop_map(|(v, e)| v * format!("1e{e}").parse::<f64>().unwrap())
    }

    proptest! {
        #[test]
        fn scales_cover_and_ticks_are_round_even_and_few(
            a in magnitude(), b in magnitude(), near in any::<bool>(), most in 6..10_u32,
        ) {
            let b = if near { a * (1.0 + b.clamp(-1.0, 1.0) * 1e-5) } else { b };
            let (low, high) = (a.min(b), a.max(b));
            let scale = Scale::covering(low, high);
            prop_assert!(scale.low <= low && high <= scale.high);
            prop_assert!((0.0..=1.0).contains(&scale.share(low)));
            prop_assert!((0.0..=1.0).contains(&scale.share(high)));
            let ticks = scale.ticks(most);
            prop_assert!((3..=9).contains(&ticks.len()), "{ticks:?}");
            prop_assert!(ticks.iter().all(|t| scale.low <= t.value && t.value <= scale.high));
            // No room for another tick at either end: the ticks cover the range.
            let step = (ticks[ticks.len() - 1].value - ticks[0].value) / (ticks.len() - 1) as f64;
            prop_assert!(ticks[0].value - scale.low < 1.001 * step);
            prop_assert!(scale.high - ticks[ticks.len() - 1].value < 1.001 * step);
            for pair in ticks.windows(2) {
                // Values are rounded at 1e-16 of themselves and steps are 1e-7 of them or more.
                prop_assert!(((pair[1].value - pair[0].value) / step - 1.0).abs() < 1e-7);
                prop_assert_ne!(&pair[0].label, &pair[1].label);
            }
            // The digits of the step are 1, 2, 25 or 5, to this precision.
            let digits = format!("{step:.4e}");
            let first = digits.split('e').next().unwrap();
            prop_assert!(["1.0000", "2.0000", "2.5000", "5.0000"].contains(&first), "{digits}");
            for tick in &ticks {
                let text = tick.label.replace('−', "-").replace(',', "");
                prop_assert_eq!(text.parse::<f64>().unwrap(), tick.value);
                prop_assert!(tick.label.chars().count() <= 16, "{}", tick.label);
            }
        }

        #[test]
        fn ticks_of_counts_are_whole_inside_and_apart(a in magnitude(), b in magnitude()) {
            let scale = Scale::counting(a.min(b), a.max(b));
            prop_assert!((0.0..=1.0).contains(&scale.share(a)));
            let ticks = scale.ticks(8);
            prop_assert!((1..=9).contains(&ticks.len()), "{ticks:?}");
            for tick in &ticks {
                prop_assert!(scale.low <= tick.value && tick.value <= scale.high);
                prop_assert_eq!(tick.value.fract(), 0.0);
                let text = tick.label.replace('−', "-").replace(',', "");
                prop_assert_eq!(text.parse::<f64>().unwrap(), tick.value);
            }
            for pair in ticks.windows(2) {
                prop_assert!(pair[1].value - pair[0].value >= 1.0);
            }
        }
    }
}
