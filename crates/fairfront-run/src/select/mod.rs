//! Selects one model of a front: requirements, rules, and the price of the model.
//!
//! Selection works on numbers in memory. `cases/select.json` has the expected results; every
//! implementation must pass these cases.

mod expression;
mod opening;
mod people;
mod price;
mod rule;

use fairfront_core::Measure;
use fairfront_data::{Ordered, Part, near_names};

pub use expression::{Comparator, Requirement, Term, weights};
pub use opening::{Opening, opening};
pub use people::group_sentences;
pub use price::{Change, Price};
pub(crate) use rule::select_among;
pub use rule::{Judged, Miss, Rule, Selection, Unmet, select};

use rule::wrong;

use crate::meaning::{self, Better, Meaning};
use crate::setting::{BEST, REQUIRE};
use crate::{Error, FrontIn, FrontTable, RunInfo};

/// The parts of a run that selection uses.
#[derive(Debug, Clone, PartialEq)]
pub struct FrontColumns {
    /// Canonical names of the objectives, the loss first.
    pub objectives: Vec<String>,
    /// The meaning of objectives and measures.
    pub meaning: Meaning,
    /// Whether the front was judged by objectives or by measures.
    pub front_in: FrontIn,
    /// The measures by which it was judged, one per objective; empty if there are none.
    pub measures: Vec<String>,
    /// The columns of the front, one value per model.
    pub columns: Ordered<Vec<Option<f64>>>,
    /// The same values for the unmitigated model.
    pub unmitigated: Ordered<Option<f64>>,
}

/// One column, with the side on which it is better.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) values: Vec<Option<f64>>,
    pub(crate) large_is_better: bool,
}

impl Column {
    /// How bad each model is, from 0 for the best of the front to 1 for the worst; 0 for all if
    /// they are equal.
    fn scaled(&self) -> Vec<Option<f64>> {
        let sign = if self.large_is_better { -0.5 } else { 0.5 };
        // Halves, so that no range overflows.
        let halves: Vec<Option<f64>> = self.values.iter().map(|v| v.map(|v| v * sign)).collect();
        let known = || halves.iter().flatten().copied();
        let low = known().fold(f64::INFINITY, f64::min);
        let range = known().fold(f64::NEG_INFINITY, f64::max) - low;
        let scaled = |v: f64| if range > 0.0 { (v - low) / range } else { 0.0 };
        halves.into_iter().map(|v| v.map(scaled)).collect()
    }

    /// Largest minus smallest value; 1 if all are equal.
    fn range(&self) -> f64 {
        let known = || self.values.iter().flatten().copied();
        let low = known().fold(f64::INFINITY, f64::min);
        let range = known().fold(f64::NEG_INFINITY, f64::max) - low;
        if range > 0.0 { range } else { 1.0 }
    }
}

/// Whether a column, named without its split, is a measure. Other columns, such as the ends of
/// intervals, have a dot after the measure's name.
pub fn is_measure(bare: &str) -> bool {
    bare != "probability_nondominated" && (bare.ends_with([')', ']']) || !bare.contains('.'))
}

/// How to resolve a name without `objective.` first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    Measure,
    Objective,
}

impl FrontColumns {
    /// The columns of a run.
    pub fn of(run: &RunInfo, front: &FrontTable) -> Self {
        let columns = front.names.iter().cloned().zip(front.columns.clone());
        let unmitigated = run.unmitigated.values.0.iter();
        Self {
            objectives: run.objectives.clone(),
            meaning: run.meaning.clone(),
            front_in: run.judged.front_in,
            measures: run.judged.measures.clone(),
            columns: Ordered(columns.collect()),
            unmitigated: Ordered(unmitigated.map(|(n, v)| (n.clone(), *v)).collect()),
        }
    }

    /// Number of models.
    pub fn len(&self) -> usize {
        self.columns.0.first().map_or(0, |(_, values)| values.len())
    }

    /// Whether the front has no models.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The splits that have rows.
    pub fn splits(&self) -> Vec<Part> {
        let has_rows = |part: &Part| {
            let performance = format!("{}.{}", part.name(), self.meaning.performance);
            self.columns.get(&performance).is_some()
        };
        Part::SHOWN.into_iter().filter(has_rows).collect()
    }

    /// The split on which models are chosen: validation rows, or training rows if there are none.
    pub fn split(&self) -> Part {
        match self.splits().contains(&Part::Validation) {
            true => Part::Validation,
            false => Part::Train,
        }
    }

    /// The split that reports describe: test rows, or without them the split on which models are
    /// chosen.
    pub fn reporting(&self) -> Part {
        match self.splits().contains(&Part::Test) {
            true => Part::Test,
            false => self.split(),
        }
    }

    /// Whether no model differs measurably from the unmitigated one in a column, that is, the 95%
    /// interval of every change includes 0. False without intervals, because then this is unknown.
    pub fn within_noise(&self, column: &str) -> bool {
        let ends = ["change_low", "change_high"].map(|end| self.values(&format!("{column}.{end}")));
        let [Some(lows), Some(highs)] = ends else {
            return false;
        };
        let mut known = lows.into_iter().zip(highs).filter_map(|(l, h)| l.zip(h));
        let mut any = false;
        known.all(|(low, high)| {
            any = true;
            low <= 0.0 && high >= 0.0
        }) && any
    }

    /// Whether larger values of a column are better. Objectives are minimized.
    fn large_is_better(&self, column: &str) -> bool {
        let bare = column.split_once('.').map_or(column, |(_, bare)| bare);
        let is_objective = column.starts_with("objective.") || bare.starts_with("objective.");
        let meaning = self.meaning.measure(bare).filter(|_| !is_objective);
        meaning.is_some_and(|meaning| meaning.better == Some(Better::Larger))
    }

    /// A column by its name; values that are not finite become `None`.
    fn values(&self, name: &str) -> Option<Vec<Option<f64>>> {
        let values = self.columns.get(name)?;
        Some(values.iter().map(|v| v.filter(|v| v.is_finite())).collect())
    }

    fn column(&self, name: String) -> Option<Column> {
        Some(Column {
            values: self.values(&name)?,
            large_is_better: self.large_is_better(&name),
            name,
        })
    }

    /// An objective's column; the name has no split for training rows.
    fn objective(&self, name: &str, split: Part) -> Option<Column> {
        self.column(match split {
            Part::Train => format!("objective.{name}"),
            other => format!("{}.objective.{name}", other.name()),
        })
    }

    /// The column that a term refers to.
    fn find(&self, term: &Term, first: First) -> Result<Column, String> {
        let name = term.canonical();
        let splits = self.splits();
        if let Some(split) = term.split.filter(|split| !splits.contains(split)) {
            let names: Vec<&str> = splits.iter().map(|s| s.name()).collect();
            return Err(format!(
                "the run has no {} rows; it has {}",
                split.name(),
                names.join(", ")
            ));
        }
        if term.objective {
            // As in column names, a name without a split refers to training rows.
            let split = term.split.unwrap_or(Part::Train);
            let found = self.objective(&name, split);
            return found.ok_or_else(|| {
                let names = self.objectives.join(", ");
                format!("the run has no objective {name}; available: {names}")
            });
        }
        let split = term.split.unwrap_or_else(|| self.split());
        let measure = || self.column(format!("{}.{name}", split.name()));
        let objective = || self.objective(&name, split);
        let found = match first {
            First::Measure => measure().or_else(objective),
            First::Objective => objective().or_else(measure),
        };
        found.ok_or_else(|| self.unknown(term, split))
    }

    /// The column of the measure to optimize.
    pub(crate) fn best_column(&self, term: Option<&Term>) -> Result<Column, Error> {
        let performance = Term::measure(&self.meaning.performance);
        let term = term.unwrap_or(&performance);
        let found = self.find(term, First::Measure);
        found.map_err(|e| wrong(BEST, term, &e))
    }

    /// The column of a requirement.
    pub(crate) fn require_column(&self, requirement: &Requirement) -> Result<Column, Error> {
        let found = self.find(&requirement.term, First::Measure);
        found.map_err(|e| wrong(REQUIRE, requirement, &e))
    }

    /// Suggests the measure that a requirement on an objective is meant for.
    fn meant(&self, term: &Term) -> Option<String> {
        let problem = measure_instead(term)?;
        let name = term.canonical();
        Some(match self.objectives.contains(&name) {
            true => format!("{problem}, or objective.{name} to limit the objective"),
            false => problem,
        })
    }

    /// The error for an unknown name, with the names available.
    fn unknown(&self, term: &Term, split: Part) -> String {
        let prefix = format!("{}.", split.name());
        let measures = self.columns.0.iter();
        let measures = measures.filter_map(|(name, _)| name.strip_prefix(&prefix));
        let measures = measures.filter(|name| !name.starts_with("objective.") && is_measure(name));
        let objectives = self.objectives.iter().map(String::as_str);
        let names: Vec<&str> = measures.chain(objectives).collect();
        let kind = |name: &str| meaning::kind(name).to_owned();
        let wanted = kind(&term.name);
        let same = names.iter().filter(|name| kind(name) == wanted);
        let mut same: Vec<&str> = same.copied().collect();
        // An objective and a measure may have the same name.
        let mut seen = std::collections::HashSet::new();
        same.retain(|name| seen.insert(*name));
        same.truncate(6);
        let wanted = term.canonical();
        if !same.is_empty() {
            return format!("the run has no {wanted}; available: {}", same.join(", "));
        }
        if let Some(problem) = self.meant(term).or_else(|| without_reference(term)) {
            return problem;
        }
        let mut kinds: Vec<String> = names.into_iter().map(kind).collect();
        let mut seen = std::collections::HashSet::new();
        kinds.retain(|kind| seen.insert(kind.clone()));
        let near = near_names(&term.name, kinds.iter().map(String::as_str));
        format!(
            "the run has no measure or objective {:?}; {near}",
            term.name
        )
    }

    /// The columns by which the front was judged, on the split that chooses; smaller is better.
    fn judged_by(&self) -> Result<Vec<Column>, Error> {
        let split = self.split();
        let column = |name: &String| match (self.front_in, name.as_str()) {
            (FrontIn::Objectives, _) => self.objective(name, split),
            (FrontIn::Measures, Measure::ERROR_RATE) => {
                let accuracy = self.column(format!("{}.accuracy", split.name()))?;
                let error = |v: &Option<f64>| v.map(|v| 1.0 - v);
                Some(Column {
                    name: format!("{}.{}", split.name(), Measure::ERROR_RATE),
                    values: accuracy.values.iter().map(error).collect(),
                    large_is_better: false,
                })
            }
            (FrontIn::Measures, _) => self.column(format!("{}.{name}", split.name())),
        };
        let names = match self.front_in {
            FrontIn::Objectives => &self.objectives,
            FrontIn::Measures => &self.measures,
        };
        let found = |name: &String| {
            let missing = || Error::data(format!("the front has no column of {name}; fit again"));
            column(name).ok_or_else(missing)
        };
        names.iter().map(found).collect()
    }

    /// Positions of all models in the order that breaks ties: by the first objective on training
    /// rows, then by id.
    fn order(&self) -> Vec<usize> {
        let first = self.objectives.first();
        let column = first.and_then(|name| self.values(&format!("objective.{name}")));
        let loss = |i: usize| {
            let value = column.as_ref().and_then(|c| c[i]);
            value.unwrap_or(f64::INFINITY)
        };
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by(|a, b| loss(*a).total_cmp(&loss(*b)).then(a.cmp(b)));
        order
    }
}

/// The problem of a measure against a reference group that does not exist.
pub(crate) fn without_reference(term: &Term) -> Option<String> {
    let kinds = [
        "adverse_impact_ratio",
        "shortfall",
        "odds_ratio",
        "standardized_mean_difference",
    ];
    kinds.contains(&term.name.as_str()).then(|| {
        let name = term.canonical();
        format!("{name} needs a reference group; name one for the attribute when you fit the run")
    })
}

/// Names the measure that a name is meant for, if the name is not a measure itself.
pub(crate) fn measure_instead(term: &Term) -> Option<String> {
    let meant = Term {
        name: meaning::meant(&term.name)?.into(),
        ..term.clone()
    };
    let name = term.canonical();
    Some(format!("{name} is not a measure; write {meant}"))
}

#[cfg(test)]
mod tests;
