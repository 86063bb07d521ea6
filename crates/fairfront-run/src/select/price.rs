//! The price of a model: its costs and gains compared with the unmitigated model, in one sentence.
//!
//! The sentence describes the reporting split: test rows if the run has them. A change whose
//! interval includes 0 is called "no measurable change"; without intervals, the sentence has values
//! only.

use fairfront_core::in_target;
use fairfront_data::Part;
use serde::Serialize;

use super::FrontColumns;
use crate::meaning::{Meaning, ObjectiveMeaning, Unit, kind};

/// A measure for the unmitigated model and for a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Its column.
    pub column: String,
    /// The value for the unmitigated model.
    pub from: Option<f64>,
    /// The value for the model.
    pub to: Option<f64>,
    /// Lower end of the 95% interval of `to − from`, if there is one.
    pub low: Option<f64>,
    /// Its upper end.
    pub high: Option<f64>,
}

impl Change {
    /// The ends of the interval.
    fn interval(&self) -> Option<(f64, f64)> {
        Some((self.low?, self.high?))
    }
}

/// The costs and gains of a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Price {
    /// In words.
    pub sentence: String,
    /// The split that it describes.
    pub split: &'static str,
    /// How good predictions are (the accuracy, or the error of predicted numbers), from the unmitigated
    /// model to the model.
    pub performance: Change,
    /// For each objective except the first, the measure it stands for, or the objective itself.
    pub fairness: Vec<Change>,
}

impl Price {
    /// The rows and intervals, such as `on test rows, with 95% intervals`.
    pub fn basis(&self) -> String {
        let rows = match self.split {
            "train" => "training",
            other => other,
        };
        match self.performance.interval() {
            Some(_) => format!("on {rows} rows, with 95% intervals"),
            None => format!("on {rows} rows, without intervals"),
        }
    }
}

/// A quantity in the sentence.
#[derive(Debug, Clone)]
pub(super) struct Quantity {
    pub(super) column: String,
    /// Its label, such as `demographic parity difference (sex)`.
    pub(super) label: String,
    /// Digits after the decimal point.
    digits: usize,
    /// Whether it is in the unit of a target that is a number.
    is_in_target: bool,
}

impl Quantity {
    fn accuracy(split: Part) -> Self {
        Self {
            column: format!("{}.accuracy", split.name()),
            label: "accuracy".into(),
            digits: 1,
            is_in_target: false,
        }
    }

    /// The error of predicted numbers.
    fn error(meaning: &Meaning, split: Part) -> Self {
        let name = &meaning.performance;
        Self {
            column: format!("{}.{name}", split.name()),
            label: meaning
                .measure(name)
                .map_or_else(|| name.clone(), |m| m.label.clone()),
            digits: meaning.digits(),
            is_in_target: true,
        }
    }

    /// The measure that an objective stands for, or the objective itself.
    pub(super) fn of(objective: &ObjectiveMeaning, meaning: &Meaning, split: Part) -> Self {
        let unit = objective.measure.as_deref();
        let unit = unit
            .and_then(|measure| meaning.measure(measure))
            .map(|m| m.unit);
        let (column, name, digits) = match &objective.measure {
            Some(measure) => {
                let digits = match unit {
                    Some(Unit::Difference) => 3,
                    Some(Unit::InTarget) => meaning.digits(),
                    _ => 5,
                };
                (format!("{}.{measure}", split.name()), measure, digits)
            }
            None => {
                let prefix = match split {
                    Part::Train => String::new(),
                    other => format!("{}.", other.name()),
                };
                let column = format!("{prefix}objective.{}", objective.name);
                (column, &objective.name, 5)
            }
        };
        let kind = kind(name);
        let known = meaning.measure(kind).map(|m| m.label.clone());
        let label = known.unwrap_or_else(|| kind.replace('_', " "));
        Self {
            column,
            label: format!("{label}{}", about(&name[kind.len()..])),
            digits,
            is_in_target: unit == Some(Unit::InTarget),
        }
    }

    /// The ends of the interval of a model's change.
    pub(super) fn interval(&self, front: &FrontColumns, id: usize) -> Option<(f64, f64)> {
        let end = |end: &str| front.values(&format!("{}.{end}", self.column))?[id];
        Some((end("change_low")?, end("change_high")?))
    }

    fn change(&self, front: &FrontColumns, id: usize) -> Change {
        let from = front.unmitigated.get(&self.column).copied().flatten();
        let interval = self.interval(front, id);
        Change {
            column: self.column.clone(),
            from: from.filter(|v| v.is_finite()),
            to: front.values(&self.column).and_then(|c| c[id]),
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
        }
    }

    /// The number of digits with which `nearest`, the interval end nearest to 0, does not round to
    /// 0.
    fn digits_for(&self, nearest: f64) -> usize {
        let most = self.digits + 2;
        let is_zero = |digits: &usize| is_zero(&self.text(nearest, *digits));
        (self.digits..most).find(|d| !is_zero(d)).unwrap_or(most)
    }

    /// Formats a value; values without a unit are clamped so that sentences stay short.
    fn text(&self, value: f64, digits: usize) -> String {
        match self.is_in_target {
            true => in_target(value, digits),
            false => format!("{:.digits$}", value.clamp(-1e7, 1e7)),
        }
    }

    /// Formats a value with its sign: `+0.9`, `-0.4`, `0.0`.
    fn signed(&self, value: f64) -> String {
        let text = self.text(value.abs(), self.digits);
        let sign = match is_zero(&text) {
            true => "",
            false if value < 0.0 => "-",
            false => "+",
        };
        format!("{sign}{text}")
    }

    /// The change of a measure; less is better.
    fn sentence(&self, change: &Change) -> String {
        let label = &self.label;
        let (Some(from), Some(to)) = (change.from, change.to) else {
            return format!("the {label} is not defined on these rows");
        };
        if let Some((low, high)) = change.interval() {
            if low <= 0.0 && high >= 0.0 {
                let (low, high) = (self.signed(low), self.signed(high));
                return format!("no measurable change in the {label} ({low} to {high})");
            }
            let (verb, least, most) = match high < 0.0 {
                true => ("cuts", -high, -low),
                false => ("raises", low, high),
            };
            let digits = self.digits_for(least);
            let [from, to, least, most] = [from, to, least, most].map(|v| self.text(v, digits));
            return format!("{verb} the {label} from {from} to {to} (by {least} to {most})");
        }
        let (was, is) = (self.text(from, self.digits), self.text(to, self.digits));
        match was == is {
            true => format!("leaves the {label} at {is}"),
            false if to < from => format!("cuts the {label} from {was} to {is}"),
            false => format!("raises the {label} from {was} to {is}"),
        }
    }

    /// The change of accuracy, in percentage points.
    fn accuracy_sentence(&self, change: &Change) -> String {
        let (Some(from), Some(to)) = (change.from, change.to) else {
            return "accuracy is not defined on these rows".into();
        };
        let by = 100.0 * (to - from);
        let verb = if by < 0.0 { "costs" } else { "gains" };
        if let Some((low, high)) = change.interval() {
            let (low, high) = (100.0 * low, 100.0 * high);
            if low <= 0.0 && high >= 0.0 {
                let (low, high) = (self.signed(low), self.signed(high));
                return format!(
                    "no measurable change in accuracy ({low} to {high} percentage points)"
                );
            }
            let (least, most) = match high < 0.0 {
                true => (-high, -low),
                false => (low, high),
            };
            let digits = self.digits_for(least);
            let [by, least, most] = [by.abs(), least, most].map(|v| self.text(v, digits));
            return format!("{verb} {by} percentage points of accuracy ({least} to {most})");
        }
        let amount = self.text(by.abs(), self.digits);
        match is_zero(&amount) {
            true => format!("accuracy stays at {}%", self.text(100.0 * to, self.digits)),
            false => format!("{verb} {amount} percentage points of accuracy"),
        }
    }
}

/// The class and the attribute of a measure in words: ` for low (sex)` for `[low](sex)`. Attributes of objectives
/// contain no `](`.
fn about(rest: &str) -> String {
    let (class, inside) = match rest.strip_prefix('[') {
        None => (None, rest),
        Some(rest) => match rest.rsplit_once("](") {
            None => (rest.strip_suffix(']'), ""),
            Some((class, _)) => (Some(class), &rest[class.len() + 1..]),
        },
    };
    let class = class.map_or_else(String::new, |class| format!(" for {class}"));
    match inside {
        "" => class,
        inside => format!("{class} {inside}"),
    }
}

fn is_zero(text: &str) -> bool {
    text.chars().all(|c| matches!(c, '0' | '.' | '-'))
}

/// The price of a model of a front.
pub(super) fn price(front: &FrontColumns, id: usize) -> Price {
    let split = front.reporting();
    let meaning = &front.meaning;
    let decides = meaning.target.decides();
    let performance = match decides {
        true => Quantity::accuracy(split),
        false => Quantity::error(meaning, split),
    };
    let fair = meaning.objectives.iter().skip(1);
    let fair: Vec<Quantity> = fair.map(|o| Quantity::of(o, meaning, split)).collect();
    let of_performance = performance.change(front, id);
    let of_fair: Vec<Change> = fair.iter().map(|q| q.change(front, id)).collect();
    let mut said = vec![match decides {
        true => performance.accuracy_sentence(&of_performance),
        false => performance.sentence(&of_performance),
    }];
    let mut seen: Vec<&str> = Vec::new();
    for (quantity, change) in fair.iter().zip(&of_fair) {
        // Two objectives can stand for the same measure.
        if !seen.contains(&change.column.as_str()) {
            said.push(quantity.sentence(change));
        }
        seen.push(&change.column);
    }
    Price {
        sentence: said.join("; "),
        split: split.name(),
        performance: of_performance,
        fairness: of_fair,
    }
}
