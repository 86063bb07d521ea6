//! Facts about each candidate: values, groups, people, coefficients.

use fairfront_core::{Cell, Rate, RateIn, Schema, adverse_impact_ratio, rate_interval, regions_of};
use fairfront_data::{Ordered, Prepared, TargetRule};
use fairfront_model::ModelId;
use rayon::prelude::*;

use super::compare::{Comparison, Disparity};
use super::result::{
    Both, Candidate, Changed, Finding, GroupOutcome, MeasureInfo, Moved, Outcomes, SearchedRun,
    WorstPair,
};
use crate::audit::Ranking;
use crate::certify::Tested;
use crate::{Error, RateOfGroup, Run};

/// Number of coefficients that are shown.
const MOST_MOVED: usize = 10;

/// The result of a test, and the p-values on the ordering rows and of the test.
pub(super) type Test = (Finding, f64, Option<f64>);

/// The facts about a candidate; `None` if a rate of the baseline or of the candidate is undefined.
pub(super) fn candidate(
    run: &Run,
    rows: &Comparison,
    disparities: &[(Disparity, [RateIn; 2])],
    model: usize,
    (finding, order_p_value, p_value): Test,
    confidence: f64,
) -> Option<Candidate> {
    let performance = rows.performance(model, confidence)?;
    let measures = disparities.iter().map(|(disparity, _)| {
        let of = |candidate: bool| disparity.value(|rate| rows.rate(model, candidate, rate));
        let (baseline, own) = (of(false)?, of(true)?);
        Some(Changed {
            name: disparity.family.name.clone(),
            baseline,
            candidate: own,
            change: own - baseline,
            interval: disparity.interval(&rows.tallies[model], confidence)?,
        })
    });
    let name = rows.tolerance().of.name();
    Some(Candidate {
        model_id: ModelId::of_index(model),
        family: run.front.family(model),
        finding,
        order_p_value,
        p_value,
        performance: Changed {
            name,
            baseline: performance.baseline,
            candidate: performance.candidate,
            change: performance.candidate - performance.baseline,
            interval: performance.interval,
        },
        measures: measures.collect::<Option<_>>()?,
        groups: groups(rows, disparities, model, confidence),
        redraws_better: None,
        redraws_within: None,
        moved: moved(run, model),
    })
}

/// Adds the shares of redraws.
pub(super) fn add_redraws(
    candidates: &mut [Candidate],
    rows: &Comparison,
    disparities: &[(Disparity, [RateIn; 2])],
) {
    let models: Vec<usize> = candidates.iter().map(|c| c.model_id.index()).collect();
    let shares = rows.redraws(&models, disparities);
    for (candidate, shares) in candidates.iter_mut().zip(shares) {
        candidate.redraws_better = shares.map(|[better, _]| better);
        candidate.redraws_within = shares.map(|[_, within]| within);
    }
}

/// Adds the rates by group if each candidate selects the baseline's share of all rows.
pub(super) fn add_ranks(
    candidates: &mut [Candidate],
    run: &Run,
    testing: &Comparison,
    disparities: &[(Disparity, [RateIn; 2])],
) -> Result<(), Error> {
    let rows = testing.rows;
    let (_, weights) = rows.labels()?;
    let weights = weights.iter().any(|w| *w != 1.0).then_some(weights);
    let Some(share) = testing.rate(0, false, (Rate::Selection, 0)) else {
        return Ok(());
    };
    let mut codes = Vec::new();
    for attribute in 0..rows.schema.attributes.len() {
        codes.push(rows.groups(attribute)?);
    }
    let params: Vec<&[f64]> = candidates
        .iter()
        .map(|candidate| run.front.params[candidate.model_id.index()].as_slice())
        .collect();
    let scores = rows.model_scores(&params)?;
    candidates
        .par_iter_mut()
        .zip(scores)
        .for_each(|(candidate, scores)| {
            let ranking = Ranking::new(&scores, weights.as_deref());
            for (disparity, _) in disparities {
                let attribute = &rows.schema.attributes[disparity.attribute];
                let regions = regions_of(&rows.schema, disparity.attribute);
                let of_groups = &codes[disparity.attribute];
                let selected = ranking.top(of_groups, attribute.groups.len(), share);
                let rate = |group: usize| {
                    let cell = testing.cell(0, true, (Rate::Selection, regions.start + group));
                    (cell.trials > 0.0).then(|| selected[group] / cell.trials)
                };
                let is_compared =
                    |group: &usize| !attribute.small.with_label(None).contains(&(*group as u32));
                let reference = match disparity.reference {
                    Some(region) => rate(region - regions.start),
                    None => (0..attribute.groups.len())
                        .filter(is_compared)
                        .filter_map(rate)
                        .reduce(f64::max),
                };
                let own = candidate.groups.iter_mut();
                let own = own.filter(|of| of.attribute.as_ref() == Some(&attribute.name));
                for (group, outcome) in own.enumerate() {
                    let selection_rate = rate(group);
                    let ratio = selection_rate.zip(reference.filter(|rate| *rate > 0.0));
                    outcome.at_baseline_rate = Some(RateOfGroup {
                        selection_rate,
                        adverse_impact_ratio: ratio.map(|(own, reference)| own / reference),
                    });
                }
            }
        });
    Ok(())
}

/// The candidates that were tested, for the log.
pub(super) fn tested(candidates: &[Candidate]) -> Vec<Tested> {
    let tested = candidates.iter().filter_map(|candidate| {
        Some(Tested {
            model_id: candidate.model_id,
            p_value: candidate.p_value?,
            order_p_value: candidate.order_p_value,
        })
    });
    tested.collect()
}

/// All rows, and the groups of each compared attribute.
fn groups(
    rows: &Comparison,
    disparities: &[(Disparity, [RateIn; 2])],
    model: usize,
    confidence: f64,
) -> Vec<GroupOutcome> {
    let schema = &rows.rows.schema;
    let mut all = vec![group(rows, model, confidence, None, 0)];
    let mut seen = Vec::new();
    for (disparity, _) in disparities {
        if seen.contains(&disparity.attribute) {
            continue;
        }
        seen.push(disparity.attribute);
        let attribute = &schema.attributes[disparity.attribute];
        let regions = regions_of(schema, disparity.attribute);
        // Each model's own most selected group of those that are compared, unless one is named.
        let highest = |candidate: bool| -> Option<Cell> {
            let of = |region: usize| rows.cell(model, candidate, (Rate::Selection, region));
            if let Some(region) = disparity.reference {
                return Some(of(region));
            }
            let compared = regions.clone().filter(|region| {
                let code = (region - regions.start) as u32;
                !attribute.small.with_label(None).contains(&code)
            });
            let cells = compared.map(of).filter(|cell| cell.rate().is_some());
            cells.max_by(|a, b| {
                a.rate()
                    .partial_cmp(&b.rate())
                    .unwrap_or(std::cmp::Ordering::Equal)
            })
        };
        let best = [false, true].map(highest);
        for (name, region) in attribute.groups.iter().zip(regions.clone()) {
            let label = Some((attribute.name.as_str(), name.as_str()));
            let mut outcome = group(rows, model, confidence, label, region);
            let ratio = |candidate: bool| {
                let reference = best[usize::from(candidate)]?;
                let own = rows.cell(model, candidate, (Rate::Selection, region));
                adverse_impact_ratio(&own, &reference)
            };
            outcome.adverse_impact_ratio = Some(Both {
                baseline: ratio(false),
                candidate: ratio(true),
                interval: None,
            });
            all.push(outcome);
        }
    }
    all
}

fn group(
    rows: &Comparison,
    model: usize,
    confidence: f64,
    label: Option<(&str, &str)>,
    region: usize,
) -> GroupOutcome {
    let both = |rate: Rate| {
        let cell = rows.cell(model, true, (rate, region));
        Both {
            baseline: rows.rate(model, false, (rate, region)),
            candidate: cell.rate(),
            interval: rate_interval(&cell, confidence),
        }
    };
    let tally = &rows.tallies[model];
    let people = |first: bool, second: bool| Outcomes {
        positive: tally.rows(region, true, first, second)[0],
        negative: tally.rows(region, false, first, second)[0],
    };
    let count = rows.cell(model, true, (Rate::Selection, region)).trials;
    let positives = rows.cell(model, true, (Rate::FalseNegative, region)).trials;
    GroupOutcome {
        attribute: label.map(|(attribute, _)| attribute.into()),
        group: label.map(|(_, group)| group.into()),
        count,
        positive_rate: (count > 0.0).then(|| positives / count),
        selection_rate: both(Rate::Selection),
        adverse_impact_ratio: None,
        at_baseline_rate: None,
        false_negative_rate: both(Rate::FalseNegative),
        false_positive_rate: both(Rate::FalsePositive),
        accuracy: both(Rate::Accuracy),
        gained: people(true, false),
        lost: people(false, true),
    }
}

/// The coefficients that differ most from those of the unmitigated model.
fn moved(run: &Run, model: usize) -> Vec<Moved> {
    let own = &run.front.params[model];
    let unmitigated = &run.info.unmitigated.params;
    let names = run.info.features.iter();
    let all = names.zip(own.iter().zip(unmitigated));
    let mut all: Vec<Moved> = all
        .map(|(feature, (candidate, unmitigated))| Moved {
            feature: feature.clone(),
            unmitigated: *unmitigated,
            candidate: *candidate,
        })
        .filter(|moved| moved.candidate != moved.unmitigated)
        .collect();
    let size = |moved: &Moved| (moved.candidate - moved.unmitigated).abs();
    all.sort_by(|a, b| {
        size(b)
            .total_cmp(&size(a))
            .then_with(|| a.feature.cmp(&b.feature))
    });
    all.truncate(MOST_MOVED);
    all
}

/// The name of a region of a group.
fn group_name(schema: &Schema, attribute: usize, region: usize) -> String {
    let start = regions_of(schema, attribute).start;
    schema.attributes[attribute].groups[region - start].clone()
}

pub(super) fn measure_info(
    run: &Run,
    disparity: &Disparity,
    [(rate, higher), (_, lower)]: [RateIn; 2],
) -> MeasureInfo {
    let schema = run.encoding.schema();
    let attribute = disparity.attribute;
    let name = |region: usize| group_name(&schema, attribute, region);
    MeasureInfo {
        name: disparity.family.name.clone(),
        attribute: schema.attributes[attribute].name.clone(),
        reference: disparity.reference.map(name),
        worst: WorstPair {
            rate: match rate {
                Rate::FalseNegative => "false_negative_rate",
                Rate::FalsePositive => "false_positive_rate",
                _ => "selection_rate",
            }
            .into(),
            higher: name(higher),
            lower: name(lower),
        },
        left_out: disparity.family.left_out.iter().map(|r| name(*r)).collect(),
    }
}

pub(super) fn searched_run(run: &Run, prepared: &Prepared) -> SearchedRun {
    let mut families: Vec<(String, usize)> = Vec::new();
    for model in 0..run.front.len() {
        let name = run.front.family(model).name();
        match families.iter_mut().find(|(own, _)| own == name) {
            Some((_, count)) => *count += 1,
            None => families.push((name.into(), 1)),
        }
    }
    let info = &run.info;
    let target = prepared.target.as_ref();
    SearchedRun {
        source: info.source.clone(),
        rows: info.rows.clone(),
        fingerprint: info.fingerprint.clone(),
        front_sha256: info.front_sha256.clone(),
        target: target.map_or_else(String::new, TargetRule::condition),
        solver: info.solver.name().into(),
        objectives: info.definitions.clone(),
        candidates: info.judged.candidates,
        families: Ordered(families),
        seed: info.spec.seed,
        learners: info
            .learners
            .iter()
            .map(|learner| format!("{} for {}", learner.kind, learner.predicts))
            .collect(),
    }
}
