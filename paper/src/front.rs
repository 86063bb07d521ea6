//! Fronts and their numbers.

use std::sync::Arc;

use fairfront_core::{Dataset, FairProblem, Linear, Points, Problem};
use fairfront_data::{Encoded, Part};
use fairfront_pareto::{Values, hypervolume};
use fairfront_run::{Error, FrontTable, RunInfo, parse_objective};

use crate::finding::Time;
use crate::job::{Setup, Variant};
use crate::stat::Summary;

/// A model is nearly fair if its fairness objective is below this share of the unmitigated model's.
pub(crate) const NEARLY: f64 = 0.01;

/// A front with its CPU time.
#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) info: RunInfo,
    pub(crate) table: FrontTable,
    pub(crate) cpu_seconds: f64,
}

impl Front {
    /// A column; NaN for missing numbers.
    pub(crate) fn column(&self, name: &str) -> Result<Vec<f64>, Error> {
        let column = self.table.column(name).ok_or_else(|| {
            Error::data(format!(
                "the front of {} has no column {name}",
                self.info.source
            ))
        })?;
        Ok(column.iter().map(|v| v.unwrap_or(f64::NAN)).collect())
    }

    /// The values of an objective, by its index, on the rows of a split.
    pub(crate) fn objective(&self, split: &str, index: usize) -> Result<Vec<f64>, Error> {
        self.column(&self.objective_name(split, index))
    }

    pub(crate) fn objective_name(&self, split: &str, index: usize) -> String {
        let name = self.info.objectives.get(index).map_or("", String::as_str);
        match split {
            "train" => format!("objective.{name}"),
            _ => format!("{split}.objective.{name}"),
        }
    }

    /// A value of the unmitigated model.
    pub(crate) fn unmitigated(&self, name: &str) -> f64 {
        let value = self.info.unmitigated.values.get(name);
        value.copied().flatten().unwrap_or(f64::NAN)
    }

    /// The values of all objectives on the rows of a split, model by model.
    pub(crate) fn values(&self, split: &str) -> Result<Vec<f64>, Error> {
        let m = self.info.objectives.len();
        let columns = (0..m).map(|i| self.objective(split, i));
        let columns: Vec<Vec<f64>> = columns.collect::<Result<_, Error>>()?;
        let point = |i: usize| columns.iter().map(move |column| column[i]);
        Ok((0..self.table.len()).flat_map(point).collect())
    }

    /// The largest value of an objective on training rows, as a share of the unmitigated model's.
    pub(crate) fn reach(&self, index: usize) -> Result<f64, Error> {
        let values = self.objective("train", index)?;
        let unmitigated = self.unmitigated(&self.objective_name("train", index));
        Ok(values.into_iter().fold(0.0, f64::max) / unmitigated)
    }

    /// The models that are nearly fair: their objective with this index is at most `share` of the unmitigated
    /// model's, on training rows.
    pub(crate) fn nearly_fair(&self, index: usize, share: f64) -> Result<Vec<usize>, Error> {
        let values = self.objective("train", index)?;
        let limit = share * self.unmitigated(&self.objective_name("train", index));
        let fair = (0..values.len()).filter(|i| values[*i] <= limit);
        Ok(fair.collect())
    }
}

/// The accuracy cost of near fairness.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Price {
    /// Accuracy of the most accurate model.
    pub(crate) accuracy: f64,
    /// Difference between groups in the most accurate model.
    pub(crate) gap: f64,
    /// Loss of accuracy of the most accurate nearly fair model; NaN if no model is nearly fair.
    pub(crate) cost: f64,
    /// Difference between groups in that model.
    pub(crate) fair_gap: f64,
}

impl Price {
    /// The cost on the rows of a split. Training rows decide which models are nearly fair.
    pub(crate) fn of(front: &Front, split: &str, gap: &str) -> Result<Self, Error> {
        let accuracy = front.column(&format!("{split}.accuracy"))?;
        let gaps = front.column(&format!("{split}.{gap}"))?;
        let best = |points: &mut dyn Iterator<Item = usize>| {
            points.max_by(|a, b| accuracy[*a].total_cmp(&accuracy[*b]))
        };
        let most = best(&mut (0..accuracy.len()));
        let fair = best(&mut front.nearly_fair(1, NEARLY)?.into_iter());
        let at =
            |values: &[f64], point: Option<usize>| point.map_or(f64::NAN, |point| values[point]);
        Ok(Self {
            accuracy: at(&accuracy, most),
            gap: at(&gaps, most),
            cost: at(&accuracy, most) - at(&accuracy, fair),
            fair_gap: at(&gaps, fair),
        })
    }
}

/// The hypervolume of points, given one after the other, up to a reference point.
pub(crate) fn volume(points: &[f64], reference: &[f64]) -> Result<f64, Error> {
    Ok(hypervolume(
        Values::new(points, reference.len())?,
        reference,
    )?)
}

/// Pairs of two quantities, one pair after the other.
pub(crate) fn pairs(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).flat_map(|(x, y)| [*x, *y]).collect()
}

/// Values of objectives for these parameters, on the training rows of a setup.
pub(crate) fn values_at(
    setup: &Setup,
    params: &[Vec<f64>],
    objectives: &[&str],
) -> Result<Vec<f64>, Error> {
    let encoded = Encoded::new(&setup.prepare()?)?;
    let objectives: Vec<String> = objectives.iter().map(ToString::to_string).collect();
    let problem = problem_on(encoded.part(Part::Train), &objectives)?;
    let mut points = Points::new(problem.n_params());
    params.iter().for_each(|point| points.push(point));
    Ok(problem.values(&points)?)
}

/// The problem of these objectives on rows, for linear predictors.
pub(crate) fn problem_on(rows: &Dataset, objectives: &[String]) -> Result<FairProblem, Error> {
    let attributes = &rows.schema().attributes;
    let objectives = objectives.iter();
    let objectives =
        objectives.map(|text| parse_objective(text, attributes, &rows.schema().target));
    let objectives = objectives.collect::<Result<_, Error>>()?;
    let rows = Arc::new(rows.clone());
    Ok(FairProblem::new(rows, Box::new(Linear), objectives)?)
}

/// The mean size and CPU time of the fronts of a problem.
pub(crate) fn time<'a>(
    problem: &str,
    variant: Variant,
    fronts: impl IntoIterator<Item = &'a Front>,
) -> Time {
    let fronts: Vec<&Front> = fronts.into_iter().collect();
    let rows = fronts
        .first()
        .and_then(|front| front.info.rows.get("train"));
    Time {
        problem: problem.into(),
        solver: variant.label().into(),
        rows: rows.copied().unwrap_or(0),
        points: Summary::of(fronts.iter().map(|front| front.table.len() as f64)).mean,
        cpu_seconds: Summary::of(fronts.iter().map(|front| front.cpu_seconds)).mean,
        seeds: fronts.len(),
    }
}
