//! Compares runs in measures on held-out rows, whatever their objectives.

use std::path::PathBuf;

use fairfront_core::{
    Decisions, Points, Redrawn, RowSource, aside, each, normal_quantile, predictor_of, redraw, say,
};
use fairfront_data::setting::{self, BINS, MERGE, MIN_GROUP, SENSITIVE, SPLIT};
use fairfront_data::{Diagnostic, Encoded, Part};
use fairfront_pareto::{Values, dominates, hypervolume};
use serde::Serialize;

use crate::certify::{CONFIDENCE, Family, Kind, REPLICATES, SEED};
use crate::setting::BY;
use crate::verify::{RowPlaces, rows_again};
use crate::{Error, OverlayKind, Run, run_name};

/// Number of replicates in memory at a time.
const CHUNK: usize = 128;

/// A comparison of runs in measures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasureComparison {
    /// The split of the measures: `test`, or `validation` if a run has no test rows.
    pub split: &'static str,
    /// Whether all runs were measured on the same rows; `None` if unknown.
    pub same_rows: Option<bool>,
    /// The loss in which runs are compared: `error_rate`, `rmse` or `mae`.
    pub loss: String,
    /// Share of samples in which an interval should contain the true difference.
    pub confidence: f64,
    /// Number of paired redraws of the rows for the intervals; 0 without intervals.
    pub replicates: usize,
    /// One comparison per fairness measure that all runs have.
    pub measures: Vec<ComparedMeasure>,
    /// Why intervals are missing, and on which rows the runs are compared.
    #[serde(rename = "messages")]
    pub diagnostics: Vec<Diagnostic>,
}

/// A comparison of runs in the error rate (or the error of predicted numbers) and one fairness measure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedMeasure {
    /// The fairness measure.
    pub measure: String,
    /// The reference point: the error rate and the measure at which the box ends.
    pub reference: [f64; 2],
    /// The fronts, in the order given.
    pub fronts: Vec<FrontShare>,
    /// Scores of other models that the runs contain.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<ComparedScore>,
}

/// A column of scores with its usual threshold, next to the front of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedScore {
    /// The run and the column.
    pub name: String,
    /// Its error rate.
    pub error_rate: f64,
    /// Its value of the fairness measure.
    pub value: f64,
    /// Share of the box that it dominates.
    pub hypervolume_share: f64,
    /// Number of models of the run's front that are better in one of both and not worse in the other.
    pub better_models: usize,
}

/// The front of a run in the error rate and a fairness measure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FrontShare {
    /// The run.
    pub name: String,
    /// Number of models that have both values.
    pub models: usize,
    /// Share of the box that they dominate.
    pub hypervolume_share: f64,
    /// The share minus that of the first run; absent for the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// The 95% interval of the difference, if the rows could be redrawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
}

struct Named {
    name: String,
    folder: PathBuf,
    run: Run,
}

/// Compares runs in the error rate and every fairness measure that all of them have, on test rows
/// or, if a run has none, on validation rows. Differences have intervals if the rows of all runs
/// can be read again and are the same.
pub fn compare_measures(
    folders: &[PathBuf],
    places: RowPlaces,
) -> Result<MeasureComparison, Error> {
    let read = |folder: &PathBuf| match folder.is_dir() {
        true => Ok(Named {
            name: folder
                .display()
                .to_string()
                .trim_end_matches('/')
                .to_owned(),
            folder: folder.clone(),
            run: Run::read(folder)?,
        }),
        false => {
            let folder = folder.display();
            Err(Error::usage(say![
                "{folder}: ", BY.is("measures"), " compares run folders, and this is not one";
                "remove it";
                "compare objectives"
            ]))
        }
    };
    let runs: Vec<Named> = folders.iter().map(read).collect::<Result<_, Error>>()?;
    let split = split_of(&runs)?;
    let mut diagnostics = Vec::new();
    if split != Part::Test {
        let lacking = runs.iter().find(|run| !has_rows(run, Part::Test));
        let name = lacking.map_or("a run", |run| run.name.as_str());
        diagnostics.push(Diagnostic::note(say![
            "{name} has no test rows, so the runs are compared on validation rows, which helped to choose \
             their models";
            "fit with test rows", aside(say![", such as ", SPLIT.is("60/10/30")])
        ]));
    }
    let loss = common_loss(&runs)?;
    let names = common_measures(&runs, split)?;
    let mut measures: Vec<ComparedMeasure> = names
        .iter()
        .map(|measure| shares(&runs, split, measure))
        .collect::<Result<_, Error>>()?;

    let mut same_rows = same_rows(&runs, split);
    let mut replicates = 0;
    let pairs = match loss.as_str() {
        ERROR_RATE => Some(paired(&runs, split, places)),
        _ => None,
    };
    match pairs {
        None => diagnostics.push(Diagnostic::note(
            "the differences have no intervals, because predicted numbers are not redrawn",
        )),
        Some(pairs) => match pairs {
        Ok(Some((decisions, firsts, encoded))) => {
            same_rows = Some(true);
            replicates = REPLICATES;
            let schema = encoded.part(split).schema();
            let families = Family::all(schema);
            let family = |measure: &str| families.iter().find(|family| family.name == *measure);
            for compared in &mut measures {
                if let Some(family) = family(&compared.measure) {
                    let fronts = runs.iter().map(|named| named.run.front.len());
                    let fronts: Vec<(usize, usize)> = firsts.iter().copied().zip(fronts).collect();
                    add_intervals(compared, &decisions, &fronts, family, split)?;
                }
            }
        }
        Ok(None) if same_rows == Some(true) => diagnostics.push(Diagnostic::warning(say![
            "the runs differ in their sensitive attributes, or in the groups that they have or compare, so \
             part of each difference is due to that, and the differences have no intervals";
            "fit all runs with the same ", each([SENSITIVE, BINS, MERGE, MIN_GROUP])
        ])),
        Ok(None) => {
            same_rows = Some(false);
            let split = split.name();
            diagnostics.push(Diagnostic::warning(say![
                "the {split} rows of the runs differ, so part of each difference is due to the rows, and \
                 the differences have no intervals";
                "fit all runs with the same table, sensitive columns, ", each([SPLIT, setting::SEED])
            ]));
        }
        Err(why) => diagnostics.push(Diagnostic::note(say![
            "the differences have no intervals, because the rows cannot be read again (",
            why.message(),
            ")";
            "run the command in the folder that contains the files";
            "move the files next to the run folder"
        ])),
    },
    }
    if runs.len() < 2 {
        replicates = 0;
    }
    Ok(MeasureComparison {
        split: split.name(),
        loss,
        same_rows,
        confidence: CONFIDENCE,
        replicates,
        measures,
        diagnostics,
    })
}

fn has_rows(named: &Named, split: Part) -> bool {
    let performance = format!("{}.{}", split.name(), named.run.info.meaning.performance);
    named.run.front.column(&performance).is_some()
}

/// The loss of decisions.
const ERROR_RATE: &str = "error_rate";

/// The loss that all runs have: the error rate, or the error of predicted numbers.
fn common_loss(runs: &[Named]) -> Result<String, Error> {
    let loss = |named: &Named| match named.run.info.meaning.performance.as_str() {
        "accuracy" => ERROR_RATE.to_owned(),
        error => error.to_owned(),
    };
    let first = runs.first().map_or_else(|| ERROR_RATE.into(), loss);
    match runs.iter().find(|named| loss(named) != first) {
        None => Ok(first),
        Some(other) => Err(Error::data(say![
            format!(
                "{}: its models are measured by {}, and those of {} by {first}",
                other.name,
                loss(other),
                runs[0].name
            );
            "compare runs with the same first objective"
        ])),
    }
}

/// The loss of a model: one minus the accuracy, or the error of predicted numbers.
fn loss_of(named: &Named, performance: f64) -> f64 {
    match named.run.info.meaning.target.decides() {
        true => 1.0 - performance,
        false => performance,
    }
}

/// Test rows if all runs have them, else validation rows.
fn split_of(runs: &[Named]) -> Result<Part, Error> {
    let splits = [Part::Test, Part::Validation];
    let all_have = |split: &Part| runs.iter().all(|named| has_rows(named, *split));
    splits.into_iter().find(all_have).ok_or_else(|| {
        let lacks = |named: &&Named| !has_rows(named, Part::Validation);
        let name = runs.iter().find(lacks).map_or("a run", |named| &named.name);
        Error::data(say![
            "{name}: the run has no validation rows, and not all runs have test rows";
            "fit it with ", SPLIT.is("60/10/30")
        ])
    })
}

/// Fairness measures that all runs have on these rows, in the order of the first run.
fn common_measures(runs: &[Named], split: Part) -> Result<Vec<String>, Error> {
    let families = |named: &Named| -> Vec<String> {
        let all = Family::all(&named.run.encoding.schema());
        let differences = all.into_iter().filter(|f| {
            matches!(
                f.kind,
                Kind::Difference { .. } | Kind::MeanDifference { .. }
            )
        });
        let shown = |name: &String| {
            let column = format!("{}.{name}", split.name());
            named.run.front.column(&column).is_some()
        };
        differences.map(|f| f.name).filter(shown).collect()
    };
    let Some((first, others)) = runs.split_first() else {
        return Err(Error::usage(
            "nothing to compare; pass at least one run folder",
        ));
    };
    let mut names = families(first);
    for other in others {
        let theirs = families(other);
        names.retain(|name| theirs.contains(name));
    }
    match names.is_empty() {
        false => Ok(names),
        true => Err(Error::data(say![
            "the runs have no fairness measure in common";
            "fit them with a common ", SENSITIVE, " column"
        ])),
    }
}

/// The shares of the box that all fronts dominate in the error rate and a measure.
fn shares(runs: &[Named], split: Part, measure: &str) -> Result<ComparedMeasure, Error> {
    let column = |name: &str| format!("{}.{name}", split.name());
    let of_unmitigated = |named: &Named, name: &str| {
        let values = &named.run.info.unmitigated.values;
        values
            .get(&column(name))
            .copied()
            .flatten()
            .filter(|v| v.is_finite())
    };
    let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    // The box ends at the error rate without a model (at least 1.1 times that of the unmitigated
    // models) and at twice their largest difference, so that it does not depend on how good a front
    // is.
    let performance = |named: &Named| named.run.info.meaning.performance.clone();
    let errors = runs.iter().filter_map(|named| {
        let own = of_unmitigated(named, &performance(named))?;
        Some(1.1 * loss_of(named, own))
    });
    let error = largest(&mut errors.into_iter());
    let no_model = runs
        .iter()
        .filter_map(|named| error_of_no_model(named, split));
    let differences = runs
        .iter()
        .filter_map(|named| of_unmitigated(named, measure));
    let bounds = [
        error.max(largest(&mut no_model.into_iter())),
        2.0 * largest(&mut differences.into_iter()),
    ];
    let binary = runs
        .iter()
        .all(|named| named.run.info.meaning.target.decides());
    let most = if binary { 1.0 } else { f64::INFINITY };
    let reference = bounds.map(|bound| if bound > 0.0 { bound.min(most) } else { 1.0 });
    let mut fronts: Vec<FrontShare> = Vec::with_capacity(runs.len());
    let mut scores = Vec::new();
    for named in runs {
        let front = &named.run.front;
        let values = |name: &str| front.column(&column(name)).unwrap_or_default();
        let own = performance(named);
        let models = values(&own).iter().zip(values(measure));
        let points: Vec<f64> = models
            .filter_map(|(own, value)| Some([loss_of(named, (*own)?), (*value)?]))
            .flatten()
            .collect();
        scores.extend(scores_of(named, (split, measure), &points, reference)?);
        let share = share(&points, reference)?;
        let first = fronts.first().map(|first| first.hypervolume_share);
        fronts.push(FrontShare {
            name: named.name.clone(),
            models: points.len() / 2,
            hypervolume_share: share,
            difference: first.map(|first| share - first),
            interval: None,
        });
    }
    Ok(ComparedMeasure {
        measure: measure.into(),
        reference,
        fronts,
        scores,
    })
}

/// The scores of other models that a run contains, compared with its models.
fn scores_of(
    named: &Named,
    (split, measure): (Part, &str),
    models: &[f64],
    reference: [f64; 2],
) -> Result<Vec<ComparedScore>, Error> {
    let mut found = Vec::new();
    let overlays = named.run.info.overlays.iter();
    let scores = overlays.filter(|o| o.kind == OverlayKind::Score && o.is_on(split.name()));
    for overlay in scores {
        let of = |name: &str| Some(overlay.values(name)?.first()?[0]);
        let (Some(error), Some(value)) = (of("error_rate"), of(measure)) else {
            continue;
        };
        let own = [error, value];
        let is_better = |model: &&[f64]| dominates(model, &own);
        found.push(ComparedScore {
            name: format!("{}: {}", named.name, overlay.label),
            error_rate: error,
            value,
            hypervolume_share: share(&own, reference)?,
            better_models: models.chunks_exact(2).filter(is_better).count(),
        });
    }
    Ok(found)
}

/// The share of the box that models dominate.
fn share(points: &[f64], reference: [f64; 2]) -> Result<f64, Error> {
    let volume = hypervolume(Values::new(points, 2)?, &reference)?;
    Ok(volume / (reference[0] * reference[1]))
}

/// The error rate of the same decision for all rows, from the counts of groups.
fn error_of_no_model(named: &Named, split: Part) -> Option<f64> {
    let schema = named.run.encoding.schema();
    let attribute = schema.attributes.first()?;
    let values = &named.run.info.unmitigated.values;
    if let Some(classes) = schema.target.classes() {
        let names = &classes.names;
        let of_class = |class: &String| -> Option<f64> {
            let column = |decision| format!("{}.decisions[{class}>{decision}]", split.name());
            let counts = names
                .iter()
                .map(|name| values.get(&column(name)).copied().flatten());
            counts.sum()
        };
        let weights = names.iter().map(of_class).collect::<Option<Vec<f64>>>()?;
        let (most, rows) = (
            weights.iter().copied().fold(0.0, f64::max),
            weights.iter().sum::<f64>(),
        );
        return (rows > 0.0).then(|| 1.0 - most / rows);
    }
    let count = |kinds: [&str; 2]| -> Option<f64> {
        let mut sum = 0.0;
        for group in &attribute.groups {
            for kind in kinds {
                let column = format!("{}.{kind}({}={group})", split.name(), attribute.name);
                sum += values.get(&column).copied().flatten()?;
            }
        }
        Some(sum)
    };
    let positives = count(["true_positives", "false_negatives"])?;
    let negatives = count(["true_negatives", "false_positives"])?;
    let rows = positives + negatives;
    (rows > 0.0).then(|| positives.min(negatives) / rows)
}

/// Whether the runs were measured on the same rows, if this is known without reading them.
fn same_rows(runs: &[Named], split: Part) -> Option<bool> {
    let of_run = |named: &Named| named.run.info.fingerprint.clone();
    let of_split = |named: &Named| {
        let evidence = &named.run.evidence;
        let counted = [Some(&evidence.order), evidence.certify.as_ref()];
        let counted = counted
            .into_iter()
            .flatten()
            .find(|counted| counted.split == split);
        counted.map(|counted| counted.fingerprint.clone())
    };
    let all_equal = |prints: Vec<String>| prints.windows(2).all(|pair| pair[0] == pair[1]);
    if all_equal(runs.iter().map(of_run).collect()) {
        return Some(true);
    }
    let prints: Option<Vec<String>> = runs.iter().map(of_split).collect();
    prints.map(all_equal)
}

type Paired = (Decisions, Vec<usize>, Encoded);

/// Decisions of all models of all runs on the same rows, which are read again; `None` if they
/// differ.
fn paired(runs: &[Named], split: Part, places: RowPlaces) -> Result<Option<Paired>, Error> {
    let again = |named: &Named| {
        rows_again(&named.folder, &named.run.info, places)
            .map_err(|e| Error::data(say![run_name(&named.folder), ": ", e.message()]))
    };
    let encoded: Vec<Encoded> = runs.iter().map(again).collect::<Result<_, Error>>()?;
    let models = |named: &Named| {
        let n_params = named.run.info.unmitigated.params.len();
        Points::from_vec(n_params, named.run.front.params.concat())
    };
    let models: Vec<Points> = runs.iter().map(models).collect();
    let sources: Vec<(&dyn RowSource, &Points)> = encoded
        .iter()
        .zip(&models)
        .map(|(encoded, models)| (encoded.part(split) as &dyn RowSource, models))
        .collect();
    let Some((rows, _)) = sources.first() else {
        return Ok(None);
    };
    let found = Decisions::paired(&*predictor_of(rows.schema()), &sources)?;
    Ok(found.and_then(|(decisions, firsts)| {
        let first = encoded.into_iter().next()?;
        Some((decisions, firsts, first))
    }))
}

/// Adds an interval from paired redraws of the rows to each difference.
fn add_intervals(
    compared: &mut ComparedMeasure,
    decisions: &Decisions,
    fronts: &[(usize, usize)],
    family: &Family,
    split: Part,
) -> Result<(), Error> {
    let reference = compared.reference;
    let of_replicate = |redrawn: &Redrawn| -> Result<Option<Vec<f64>>, Error> {
        let mut all = Vec::with_capacity(fronts.len());
        for (first, models) in fronts {
            let mut points = Vec::with_capacity(2 * models);
            for model in *first..first + models {
                let measure = family.value(|rate, region| redrawn.rate(model, rate, region));
                let (Some(error), Some(measure)) = (redrawn.cost(model, 1.0, 1.0), measure) else {
                    return Ok(None);
                };
                points.extend([error, measure]);
            }
            all.push(share(&points, reference)?);
        }
        Ok(Some(all))
    };
    let mut redraws: Vec<Vec<f64>> = Vec::with_capacity(REPLICATES);
    for start in (0..REPLICATES).step_by(CHUNK) {
        let range = start..REPLICATES.min(start + CHUNK);
        for made in redraw(decisions, SEED, split as u64, range, of_replicate) {
            redraws.extend(made?);
        }
    }
    // Too few redraws contain all groups.
    if redraws.len() < REPLICATES / 2 {
        return Ok(());
    }
    let z = normal_quantile(0.5 + 0.5 * CONFIDENCE);
    for (at, front) in compared.fronts.iter_mut().enumerate() {
        let differences: Vec<f64> = redraws
            .iter()
            .map(|shares| shares[at] - shares[0])
            .collect();
        let n = differences.len() as f64;
        let mean = differences.iter().sum::<f64>() / n;
        let squares: f64 = differences.iter().map(|d| (d - mean) * (d - mean)).sum();
        let reach = z * (squares / (n - 1.0)).sqrt();
        front.interval = front.difference.map(|d| [d - reach, d + reach]);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
