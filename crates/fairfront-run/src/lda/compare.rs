//! Compares candidates with the baseline on the same rows: tests, order of tests, intervals, redraws.

use fairfront_core::{
    Cell, Costs, PairTally, PairedSum, Rate, RateIn, Redrawn, Schema, auc_difference, normal_cdf,
    normal_quantile, redraw, regions_of, say,
};
use fairfront_data::near_names;
use rayon::prelude::*;

use super::rows::Rows;
use super::{Performance, Tolerance};
use crate::certify::{Family, Kind, REPLICATES, SEED};
use crate::setting::{MEASURE, REFERENCE};
use crate::{Error, Run};

/// A difference between groups that candidates must make smaller than the baseline does.
#[derive(Debug, Clone)]
pub(super) struct Disparity {
    pub(super) family: Family,
    /// The attribute whose groups are compared.
    pub(super) attribute: usize,
    /// Each rate with the regions that are compared in it.
    terms: Vec<(Rate, Vec<usize>)>,
    /// The region of the reference group, if only differences to it count.
    pub(super) reference: Option<usize>,
}

impl Disparity {
    /// The differences of these names, or those of the objectives of a run.
    pub(super) fn all(
        run: &Run,
        names: &[String],
        references: &[(String, String)],
    ) -> Result<Vec<Self>, Error> {
        let schema = run.encoding.schema();
        let families = Family::all(&schema);
        let is_difference = |family: &&Family| matches!(family.kind, Kind::Difference { .. });
        let known: Vec<&Family> = families.iter().filter(is_difference).collect();
        let names: Vec<String> = match names.is_empty() {
            false => names.to_vec(),
            true => {
                let measures = run.info.meaning.objectives.iter().skip(1);
                let measures = measures.filter_map(|objective| objective.measure.clone());
                let mut found: Vec<String> = measures
                    .filter(|name| known.iter().any(|family| family.name == *name))
                    .collect();
                if found.is_empty() {
                    // Every attribute has the difference between selection rates.
                    let all = schema.attributes.iter();
                    found = all
                        .map(|a| format!("demographic_parity_difference({})", a.name))
                        .collect();
                }
                found.dedup();
                found
            }
        };
        let mut disparities = Vec::new();
        for name in names {
            let written = crate::Term::parse(&name).map_err(|e| e.of_setting(MEASURE))?;
            let canonical = written.canonical();
            let Some(family) = known.iter().find(|family| family.name == canonical) else {
                let near = near_names(&canonical, known.iter().map(|f| f.name.as_str()));
                return Err(Error::usage(say![
                    MEASURE.of(&name),
                    ": not a difference between the groups of a sensitive attribute of the run";
                    near;
                    "choose a measure such as ", known.first().map_or("", |f| f.name.as_str())
                ]));
            };
            let Kind::Difference { terms } = &family.kind else {
                continue;
            };
            let regions: Vec<usize> = terms.iter().flat_map(|(_, own)| own.clone()).collect();
            let attribute = (0..schema.attributes.len()).find(|a| {
                regions
                    .first()
                    .is_some_and(|r| regions_of(&schema, *a).contains(r))
            });
            let Some(attribute) = attribute.filter(|_| terms.iter().all(|(_, r)| r.len() >= 2))
            else {
                return Err(Error::usage(say![
                    MEASURE.of(&name),
                    ": fewer than two groups are large enough to be compared";
                    "choose another measure"
                ]));
            };
            disparities.push(Self {
                family: (*family).clone(),
                attribute,
                terms: terms.clone(),
                reference: reference(&schema, attribute, references)?,
            });
        }
        Ok(disparities)
    }

    /// All ordered pairs of groups, in all rates; with a reference group, those that contain it.
    fn pairs(&self) -> Vec<[RateIn; 2]> {
        let mut pairs = Vec::new();
        for (rate, regions) in &self.terms {
            for a in regions {
                for b in regions.iter().filter(|b| *b != a) {
                    let compares = self.reference.is_none_or(|r| r == *a || r == *b);
                    if compares {
                        pairs.push([(*rate, *a), (*rate, *b)]);
                    }
                }
            }
        }
        pairs
    }

    /// The pair with the largest difference.
    pub(super) fn worst(&self, rate: impl Fn(RateIn) -> Option<f64>) -> Option<[RateIn; 2]> {
        let mut worst: Option<([RateIn; 2], f64)> = None;
        for pair in self.pairs() {
            let [a, b] = pair.map(&rate);
            let difference = a? - b?;
            if worst.is_none_or(|(_, most)| difference > most) {
                worst = Some((pair, difference));
            }
        }
        worst.map(|(pair, _)| pair)
    }

    /// The largest difference.
    pub(super) fn value(&self, rate: impl Fn(RateIn) -> Option<f64>) -> Option<f64> {
        let pairs = self.pairs().into_iter();
        let mut differences = pairs.map(|[a, b]| Some(rate(a)? - rate(b)?));
        differences.try_fold(0.0, |most, next| Some(f64::max(most, next?)))
    }

    /// For every pair (a, b): the candidate's difference minus the difference of the baseline's worst pair.
    fn changes<'a>(
        &'a self,
        tally: &'a PairTally,
        worst: [RateIn; 2],
    ) -> impl Iterator<Item = PairedSum> + 'a {
        let pairs = self.pairs().into_iter();
        pairs.map(move |pair| tally.change(pair, worst))
    }

    /// The interval of the candidate's difference minus the baseline's, both the largest over all pairs. That is
    /// the largest over pairs P of the smallest over pairs Q of the candidate's P minus the baseline's Q. Each end
    /// is the end of the paired score interval for the pairs that decide it in normal approximation.
    pub(super) fn interval(&self, tally: &PairTally, confidence: f64) -> Option<[f64; 2]> {
        let reach = normal_quantile(0.5 + 0.5 * confidence);
        let pairs = self.pairs();
        let end = |sign: f64| -> Option<PairedSum> {
            let mut most: Option<(f64, PairedSum)> = None;
            for own in &pairs {
                let mut least: Option<(f64, PairedSum)> = None;
                for other in &pairs {
                    let change = tally.change(*own, *other);
                    let value = change.estimate()? + sign * reach * change.standard_error();
                    if least.as_ref().is_none_or(|(before, _)| value < *before) {
                        least = Some((value, change));
                    }
                }
                let (value, change) = least?;
                if most.as_ref().is_none_or(|(before, _)| value > *before) {
                    most = Some((value, change));
                }
            }
            most.map(|(_, change)| change)
        };
        let [low, _] = end(-1.0)?.interval(confidence)?;
        let [_, high] = end(1.0)?.interval(confidence)?;
        Some([low, high])
    }
}

/// The region of the reference group of an attribute.
fn reference(
    schema: &Schema,
    attribute: usize,
    references: &[(String, String)],
) -> Result<Option<usize>, Error> {
    let of = &schema.attributes[attribute];
    let Some((_, group)) = references.iter().find(|(name, _)| *name == of.name) else {
        // The run may have named one.
        let named = of.reference;
        return Ok(named.map(|group| regions_of(schema, attribute).start + group));
    };
    let at = of.groups.iter().position(|own| own == group);
    let at = at.ok_or_else(|| {
        Error::usage(say![
            REFERENCE.of(format!("{}={group}", of.name)),
            format!(": {} has no such group", of.name);
            "choose one of ", of.groups.join(", ")
        ])
    })?;
    Ok(Some(regions_of(schema, attribute).start + at))
}

/// The areas under the curves of all models and of the baseline, if the tolerance is about them.
pub(super) struct Areas(pub(super) Vec<fairfront_core::AucDifference>);

impl Areas {
    pub(super) fn of(rows: &Rows, models: &[&[f64]]) -> Result<Option<Self>, Error> {
        let Some(baseline) = &rows.scores else {
            return Ok(None);
        };
        let (labels, weights) = rows.labels()?;
        let weights = weights.iter().any(|w| *w != 1.0).then_some(weights);
        let of_model =
            |scores: Vec<f64>| auc_difference(&scores, baseline, &labels, weights.as_deref());
        let all = rows.model_scores(models)?;
        let all: Option<Vec<_>> = all.into_par_iter().map(of_model).collect();
        Ok(all.map(Self))
    }
}

/// A candidate's performance next to the baseline's, on the same rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PerformanceChange {
    pub(super) candidate: f64,
    pub(super) baseline: f64,
    pub(super) interval: [f64; 2],
}

/// The tests of one split.
pub(super) struct Comparison<'a> {
    pub(super) rows: &'a Rows,
    pub(super) tallies: Vec<PairTally>,
    areas: Option<Areas>,
    tolerance: Tolerance,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(rows: &'a Rows, run: &Run, tolerance: Tolerance) -> Result<Self, Error> {
        let models: Vec<&[f64]> = run.front.params.iter().map(Vec::as_slice).collect();
        let areas = match tolerance.of {
            Performance::Auc => Areas::of(rows, &models)?,
            _ => None,
        };
        let count = run.front.len();
        let tally = |model| rows.decisions.pairs(model, rows.baseline);
        Ok(Self {
            tallies: (0..count).into_par_iter().map(tally).collect(),
            rows,
            areas,
            tolerance,
        })
    }

    pub(super) fn tolerance(&self) -> Tolerance {
        self.tolerance
    }

    /// A cell of the candidate (`true`) or of the baseline.
    pub(super) fn cell(&self, model: usize, candidate: bool, (rate, region): RateIn) -> Cell {
        self.tallies[model].cell(candidate, (rate, region))
    }

    pub(super) fn rate(&self, model: usize, candidate: bool, of: RateIn) -> Option<f64> {
        self.cell(model, candidate, of).rate()
    }

    /// The baseline's worst pair on these rows.
    pub(super) fn worst(&self, disparity: &Disparity) -> Option<[RateIn; 2]> {
        disparity.worst(|of| self.rate(0, false, of))
    }

    /// The change of the performance on the rows, unless it is about areas under the curve.
    fn performance_change(&self, model: usize) -> PairedSum {
        let tally = &self.tallies[model];
        match self.tolerance.of {
            Performance::Accuracy | Performance::Auc => tally.change_of_rate((Rate::Accuracy, 0)),
            Performance::Cost(costs) => {
                let of = |label: bool, decision: bool| cost(costs, label, decision);
                let change = tally.values(0, None, |label, c, b| of(label, c) - of(label, b));
                PairedSum(vec![change])
            }
        }
    }

    /// The performance of the candidate (`true`) or of the baseline.
    pub(super) fn performance_of(&self, model: usize, candidate: bool) -> Option<f64> {
        match self.tolerance.of {
            Performance::Accuracy => self.rate(model, candidate, (Rate::Accuracy, 0)),
            Performance::Cost(costs) => {
                let values = self.tallies[model].values(0, None, |label, c, b| {
                    cost(costs, label, if candidate { c } else { b })
                });
                values.mean()
            }
            Performance::Auc => {
                let area = self.areas.as_ref()?.0.get(model)?;
                Some(if candidate { area.first } else { area.second })
            }
        }
    }

    /// The p-value of H: the performance is worse than the baseline's by the tolerance or more.
    fn performance_p(&self, model: usize) -> Option<f64> {
        let tolerance = self.tolerance.amount;
        Some(match self.tolerance.of {
            Performance::Accuracy => self.performance_change(model).p_at_most(-tolerance),
            Performance::Cost(_) => self.performance_change(model).p_at_least(tolerance),
            Performance::Auc => {
                let area = self.areas.as_ref()?.0.get(model)?;
                let beyond = area.difference + tolerance;
                match area.standard_error > 0.0 {
                    true => normal_cdf(-beyond / area.standard_error),
                    false if beyond > 0.0 => 0.0,
                    false => 1.0,
                }
            }
        })
    }

    /// The performances of candidate and baseline, and the interval of the change.
    pub(super) fn performance(&self, model: usize, confidence: f64) -> Option<PerformanceChange> {
        let interval = match self.tolerance.of {
            Performance::Accuracy | Performance::Cost(_) => {
                self.performance_change(model).interval(confidence)?
            }
            Performance::Auc => {
                let area = self.areas.as_ref()?.0.get(model)?;
                let reach = normal_quantile(0.5 + 0.5 * confidence) * area.standard_error;
                [area.difference - reach, area.difference + reach]
            }
        };
        Some(PerformanceChange {
            candidate: self.performance_of(model, true)?,
            baseline: self.performance_of(model, false)?,
            interval,
        })
    }

    /// The largest p-value over the performance and all differences: an intersection–union test.
    pub(super) fn p_value(
        &self,
        model: usize,
        disparities: &[(Disparity, [RateIn; 2])],
    ) -> Option<f64> {
        let performance = self.performance_p(model)?;
        let tally = &self.tallies[model];
        let of_differences = disparities.iter().flat_map(|(disparity, worst)| {
            let changes = disparity.changes(tally, *worst);
            changes.map(|change| change.p_at_least(0.0))
        });
        Some(of_differences.fold(performance, f64::max))
    }

    /// The shares of redraws of the rows in which each candidate is better than the baseline in everything, and
    /// in which it is fairer and not worse by more than the tolerance.
    pub(super) fn redraws(
        &self,
        models: &[usize],
        disparities: &[(Disparity, [RateIn; 2])],
    ) -> Vec<Option<[f64; 2]>> {
        let baseline = self.rows.baseline;
        let performance = |redrawn: &Redrawn, model: usize| match self.tolerance.of {
            // Areas under the curve are not redrawn; the accuracy of decisions stands in for them.
            Performance::Accuracy | Performance::Auc => redrawn.rate(model, Rate::Accuracy, 0),
            Performance::Cost(costs) => redrawn
                .cost(model, costs.false_positive, costs.false_negative)
                .map(|cost| -cost),
        };
        let tolerance = match self.tolerance.of {
            Performance::Auc => 0.0,
            _ => self.tolerance.amount,
        };
        let one = |redrawn: &Redrawn, model: usize| -> Option<[bool; 2]> {
            let change = performance(redrawn, model)? - performance(redrawn, baseline)?;
            let mut fairer = true;
            for (disparity, _) in disparities {
                let of = |model: usize| {
                    disparity.value(|(rate, region)| redrawn.rate(model, rate, region))
                };
                fairer &= of(model)? < of(baseline)?;
            }
            Some([fairer && change > 0.0, fairer && change >= -tolerance])
        };
        let key = self.rows.part as u64;
        let made = redraw(&self.rows.decisions, SEED, key, 0..REPLICATES, |redrawn| {
            models
                .iter()
                .map(|model| one(redrawn, *model))
                .collect::<Vec<_>>()
        });
        let share = |at: usize| {
            let known: Vec<[bool; 2]> = made.iter().filter_map(|all| all[at]).collect();
            // Too few redraws contain all groups.
            if known.len() < REPLICATES / 2 {
                return None;
            }
            let count = |which: usize| known.iter().filter(|of| of[which]).count();
            Some([0, 1].map(|which| count(which) as f64 / known.len() as f64))
        };
        (0..models.len()).map(share).collect()
    }
}

/// The cost of a decision.
fn cost(costs: Costs, label: bool, decision: bool) -> f64 {
    match (label, decision) {
        (false, true) => costs.false_positive,
        (true, false) => costs.false_negative,
        _ => 0.0,
    }
}
