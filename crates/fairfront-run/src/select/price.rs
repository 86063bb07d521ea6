//! What a point costs and brings, in one sentence.
//!
//! All numbers of the sentence come from values rounded first (shares to thousandths, others to hundred
//! thousandths), so that what it says adds up.

use fairfront_data::Part;
use serde::Serialize;

use super::FrontColumns;

/// A measure at two models.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Its column.
    pub column: String,
    /// Where one comes from.
    pub from: Option<f64>,
    /// Where one gets to.
    pub to: Option<f64>,
}

/// The next point towards fairness.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Next {
    /// Its id.
    pub id: usize,
    /// Accuracy, from the chosen point to this one.
    pub accuracy: Change,
    /// The same of the measures of fairness.
    pub fairness: Vec<Change>,
}

/// What a point costs and brings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Price {
    /// In words.
    pub sentence: String,
    /// The rows it is about.
    pub split: &'static str,
    /// Accuracy, from the unmitigated model to the point.
    pub accuracy: Change,
    /// For each objective but the first the measure it stands for, or itself.
    pub fairness: Vec<Change>,
    /// The next point, where there is one.
    pub next: Option<Next>,
}

/// A quantity that the sentence speaks of.
#[derive(Debug, Clone)]
struct Quantity {
    column: String,
    /// How it is called: `demographic parity (sex)`.
    label: String,
    /// Whether it is a share, of which hundredths are points.
    is_share: bool,
}

impl Quantity {
    fn accuracy(split: Part) -> Self {
        Self {
            column: format!("{}.accuracy", split.name()),
            label: "accuracy".into(),
            is_share: true,
        }
    }

    /// What an objective stands for.
    fn of(objective: &str, split: Part) -> Self {
        let (kind, attribute) = match objective.split_once('(') {
            Some((kind, rest)) => (kind, Some(rest.strip_suffix(')').unwrap_or(rest))),
            None => (objective, None),
        };
        let (measure, words) = match kind {
            "demographic_parity" | "disparate_impact" => {
                ("demographic_parity_difference", "demographic parity")
            }
            "true_positive_rate_parity" | "equal_opportunity" => {
                ("equal_opportunity_difference", "equal opportunity")
            }
            "false_positive_rate_parity" | "predictive_equality" => (
                "false_positive_rate_difference",
                "false positive rate parity",
            ),
            "equalized_odds" => ("equalized_odds_difference", "equalized odds"),
            "mutual_information" => ("mutual_information", "mutual information"),
            other => (other, other),
        };
        // An error rate with costs is a column of its own.
        let has_costs = kind == "error_rate" && attribute.is_some();
        let is_measure = measure != kind || kind == "mutual_information" || has_costs;
        let of = attribute.map_or_else(String::new, |a| format!("({a})"));
        let column = match (is_measure, split) {
            (true, _) => format!("{}.{measure}{of}", split.name()),
            (false, Part::Train) => format!("objective.{objective}"),
            (false, _) => format!("{}.objective.{objective}", split.name()),
        };
        let of = attribute.map_or_else(String::new, |a| format!(" ({a})"));
        Self {
            column,
            label: format!("{}{of}", words.replace('_', " ")),
            is_share: measure.ends_with("_difference"),
        }
    }

    fn grain(&self) -> f64 {
        if self.is_share { 1e3 } else { 1e5 }
    }

    /// The value in its smallest units; what no sentence could hold is cut off.
    fn rounded(&self, value: f64) -> i64 {
        (value * self.grain()).round().clamp(-1e12, 1e12) as i64
    }

    /// `0.181`
    fn value(&self, units: i64) -> String {
        let digits = if self.is_share { 3 } else { 5 };
        format!("{:.digits$}", units as f64 / self.grain())
    }

    /// `11.2`, in points where it is a share.
    fn bare_amount(&self, units: i64) -> String {
        match self.is_share {
            true => format!("{:.1}", units.abs() as f64 / 10.0),
            false => self.value(units.abs()),
        }
    }

    /// `11.2 points`
    fn amount(&self, units: i64) -> String {
        match self.is_share {
            true => format!("{} points", self.bare_amount(units)),
            false => self.bare_amount(units),
        }
    }

    fn change(&self, front: &FrontColumns, from: Option<usize>, to: usize) -> Change {
        let at = |point: Option<usize>| match point {
            Some(point) => front.values(&self.column)?[point],
            None => front.unmitigated.get(&self.column).copied().flatten(),
        };
        Change {
            column: self.column.clone(),
            from: at(from).filter(|v| v.is_finite()),
            to: at(Some(to)),
        }
    }

    /// From where to where, in smallest units.
    fn units(&self, change: &Change) -> Option<(i64, i64)> {
        Some((self.rounded(change.from?), self.rounded(change.to?)))
    }
}

/// What a point of a front costs and brings against the unmitigated model and the next point.
pub(super) fn price(front: &FrontColumns, id: usize) -> Price {
    let split = front.split();
    let accuracy = Quantity::accuracy(split);
    let fair = front.objectives.iter().skip(1);
    let fair: Vec<Quantity> = fair.map(|name| Quantity::of(name, split)).collect();
    let changes = |from: Option<usize>, to: usize| -> (Change, Vec<Change>) {
        let of_fair = fair.iter().map(|q| q.change(front, from, to));
        (accuracy.change(front, from, to), of_fair.collect())
    };
    let (of_accuracy, of_fair) = changes(None, id);
    let next = next_point(front, id, &accuracy, &fair).map(|next| {
        let (accuracy, fairness) = changes(Some(id), next);
        Next {
            id: next,
            accuracy,
            fairness,
        }
    });
    let mut sentence = against_unmitigated(&accuracy, &of_accuracy, &fair, &of_fair);
    if of_fair.iter().any(|change| change.to.is_some()) {
        sentence.push_str("; ");
        sentence.push_str(&match &next {
            Some(next) => against_next(&accuracy, &fair, next),
            None => "no point of the front is fairer".into(),
        });
    }
    Price {
        sentence,
        split: split.name(),
        accuracy: of_accuracy,
        fairness: of_fair,
        next,
    }
}

/// `0.9 points of accuracy buy 11.2 points of demographic parity (sex): 0.181 → 0.069`
fn against_unmitigated(
    accuracy: &Quantity,
    of_accuracy: &Change,
    fair: &[Quantity],
    of_fair: &[Change],
) -> String {
    let mut bought = Vec::new();
    let mut others = Vec::new();
    for (quantity, change) in fair.iter().zip(of_fair) {
        let label = &quantity.label;
        let Some((from, to)) = quantity.units(change) else {
            others.push(format!("; {label} cannot be given"));
            continue;
        };
        let (was, is) = (quantity.value(from), quantity.value(to));
        let amount = quantity.amount(to - from);
        match to - from {
            0 => others.push(format!("; {label} stays at {is}")),
            d if d < 0 => bought.push(format!("{amount} of {label}: {was} → {is}")),
            _ => others.push(format!("; {label} worsens by {amount}: {was} → {is}")),
        }
    }
    let bought = bought.join(", and ");
    let units = accuracy.units(of_accuracy);
    let cost = units.map(|(from, to)| from - to);
    let amount = accuracy.amount(cost.unwrap_or(0));
    let stays = units.map_or_else(String::new, |(_, to)| accuracy.value(to));
    let head = match (cost, bought.is_empty()) {
        (None, true) => "accuracy cannot be given".into(),
        (None, false) => format!("a cost in accuracy that cannot be given buys {bought}"),
        (Some(0), true) => format!("accuracy stays at {stays}"),
        (Some(0), false) => format!("no accuracy is paid for {bought}"),
        (Some(c), true) if c > 0 => format!("{amount} of accuracy buy nothing"),
        (Some(c), false) if c > 0 => format!("{amount} of accuracy buy {bought}"),
        (Some(_), true) => format!("accuracy rises by {amount}"),
        (Some(_), false) => format!("accuracy rises by {amount}, along with {bought}"),
    };
    head + &others.concat()
}

/// `the next step towards fairness costs 0.3 points more for 1.5`
fn against_next(accuracy: &Quantity, fair: &[Quantity], next: &Next) -> String {
    let cost = accuracy.units(&next.accuracy).map(|(from, to)| from - to);
    let amount = accuracy.amount(cost.unwrap_or(0));
    let verb = match cost {
        None => "brings".into(),
        Some(0) => "costs nothing more for".into(),
        Some(c) if c > 0 => format!("costs {amount} more for"),
        Some(_) => format!("gives {amount} back for"),
    };
    let mut bought = Vec::new();
    let mut others = Vec::new();
    for (quantity, change) in fair.iter().zip(&next.fairness) {
        let Some((from, to)) = quantity.units(change) else {
            continue;
        };
        let (label, amount) = (&quantity.label, quantity.amount(to - from));
        match to - from {
            0 => {}
            d if d < 0 && fair.len() == 1 => bought.push(quantity.bare_amount(d)),
            d if d < 0 => bought.push(format!("{amount} of {label}")),
            _ => others.push(format!(", while {label} worsens by {amount}")),
        }
    }
    let bought = bought.join(" and ");
    format!(
        "the next step towards fairness {verb} {bought}{}",
        others.concat()
    )
}

/// The next point towards fairness, in rounded values. Of the points that none dominates in accuracy and
/// the measures of fairness, and whose sum of these measures is smaller, it is the one with the largest
/// sum; of equal ones the one with the highest accuracy, then the first in the order of ties. Measures
/// that the chosen point does not have take no part, nor do points that lack one of the others.
fn next_point(
    front: &FrontColumns,
    id: usize,
    accuracy: &Quantity,
    fair: &[Quantity],
) -> Option<usize> {
    let rounded = |quantity: &Quantity| -> Option<Vec<Option<i64>>> {
        let values = front.values(&quantity.column)?;
        values[id]?;
        // In one unit, so that they can be added.
        let unit = if quantity.is_share { 100 } else { 1 };
        let units = |v: f64| unit * quantity.rounded(v);
        Some(values.into_iter().map(|v| v.map(units)).collect())
    };
    let fair: Vec<Vec<Option<i64>>> = fair.iter().filter_map(rounded).collect();
    let loss = rounded(accuracy).unwrap_or_else(|| vec![Some(0); front.len()]);
    // The loss first; the smaller, the better.
    let of_point = |point: usize| -> Option<Vec<i64>> {
        let loss = std::iter::once(loss[point].map(|units| -units));
        loss.chain(fair.iter().map(|c| c[point])).collect()
    };
    let points = front.order().into_iter();
    let points: Vec<(usize, Vec<i64>)> = points.filter_map(|p| Some((p, of_point(p)?))).collect();
    let sum = |values: &[i64]| values[1..].iter().sum::<i64>();
    let own = sum(&of_point(id)?);
    let dominated = |values: &Vec<i64>| {
        points.iter().any(|(_, other)| {
            other != values && other.iter().zip(values).all(|(other, own)| other <= own)
        })
    };
    let fairer = points.iter().filter(|(_, values)| sum(values) < own);
    let fairer = fairer.filter(|(_, values)| !dominated(values));
    // Of equal ones, `min_by_key` takes the first.
    let next = fairer.min_by_key(|(_, values)| (-sum(values), values[0]));
    next.map(|(point, _)| *point)
}
