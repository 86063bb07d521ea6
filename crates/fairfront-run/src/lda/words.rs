//! Words and numbers of a search, for its page, its memo and the terminal.

use fairfront_core::{grouped, readable};

use super::result::{Candidate, Changed, Finding, Lda, Performance};

/// A share as a percentage: `34.2%`.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// A share that may be undefined.
pub(super) fn percent_or_dash(share: Option<f64>) -> String {
    share.map_or_else(|| "–".into(), percent)
}

/// A change of a share in percentage points, with its sign: `−1.3`.
pub(super) fn points(change: f64) -> String {
    signed(100.0 * change, 1)
}

/// A number with its sign and a true minus, without a sign if it rounds to zero.
pub(super) fn signed(number: f64, digits: usize) -> String {
    let text = format!("{:.digits$}", number.abs());
    let is_zero = text.chars().all(|c| c == '0' || c == '.');
    match (is_zero, number < 0.0) {
        (true, _) => text,
        (false, true) => format!("−{text}"),
        (false, false) => format!("+{text}"),
    }
}

/// A p-value: `0.012`, `< 0.001`.
pub(super) fn p_value(p: f64) -> String {
    match p < 0.001 {
        true => "< 0.001".into(),
        false => format!("{p:.3}"),
    }
}

/// A number of people, or their weight.
pub(super) fn people(count: f64) -> String {
    match count.fract() == 0.0 && count < 1e15 {
        true => grouped(count as usize),
        false => readable(count),
    }
}

/// The measure in words: `difference between selection rates (race)`.
pub(super) fn measure(name: &str) -> String {
    let (kind, attribute) = name.split_once('(').unwrap_or((name, ""));
    let words = match kind {
        "demographic_parity_difference" => "difference between selection rates",
        "equal_opportunity_difference" => "difference between false negative rates",
        "false_positive_rate_difference" => "difference between false positive rates",
        "equalized_odds_difference" => {
            "larger difference between false negative or false positive rates"
        }
        other => other,
    };
    match attribute {
        "" => words.into(),
        attribute => format!("{words} ({attribute}"),
    }
}

/// The performance in words.
pub(super) fn performance(of: Performance) -> &'static str {
    match of {
        Performance::Accuracy => "accuracy",
        Performance::Auc => "area under the ROC curve",
        Performance::Cost(_) => "mean cost of errors",
    }
}

/// A value of the performance: accuracies as percentages.
pub(super) fn performance_value(of: Performance, value: f64) -> String {
    match of {
        Performance::Accuracy => percent(value),
        Performance::Auc | Performance::Cost(_) => format!("{value:.4}"),
    }
}

/// A change of the performance: of accuracies in percentage points.
pub(super) fn performance_change(of: Performance, change: f64) -> String {
    match of {
        Performance::Accuracy => points(change),
        Performance::Auc | Performance::Cost(_) => signed(change, 4),
    }
}

/// The tolerance: `0.5 percentage points of accuracy`.
pub(super) fn tolerance(lda: &Lda) -> String {
    let amount = lda.tolerance.amount;
    match lda.tolerance.of {
        Performance::Accuracy => {
            format!("{} percentage points of accuracy", readable(100.0 * amount))
        }
        Performance::Auc => format!("{} of the area under the ROC curve", readable(amount)),
        Performance::Cost(costs) => format!(
            "{} of the mean cost of errors ({} per false positive, {} per false negative)",
            readable(amount),
            readable(costs.false_positive),
            readable(costs.false_negative)
        ),
    }
}

/// An interval of changes: `[−1.2, +0.3]`.
pub(super) fn interval([low, high]: [f64; 2], shown: impl Fn(f64) -> String) -> String {
    format!("[{}, {}]", shown(low), shown(high))
}

/// The result of a test in words.
pub(super) fn finding(candidate: &Candidate) -> &'static str {
    match candidate.finding {
        Finding::LessDiscriminatory => "less discriminatory",
        Finding::NotShown => "not shown",
        Finding::NotTested => "not tested",
    }
}

/// `from 17.1% to 9.3%`.
pub(super) fn from_to(changed: &Changed) -> String {
    format!(
        "from {} to {}",
        percent(changed.baseline),
        percent(changed.candidate)
    )
}
