//! Fits the learners of a front, and appends their features to the encoded rows.

use std::sync::Arc;

use fairfront_core::meter::{self, Phase};
use fairfront_core::{Dataset, Measure, Objective, Output, Statistics, StopSignal, Target, say};
use fairfront_data::{Diagnostic, Encoded, Encoding, Part, grammar};
use fairfront_learn::{
    GroupColumns, GroupLearner, Learned, Learner, LearnerQuality, OutOfFoldFeatures,
    ProbabilityColumn, Source, Stratum, Wanted, learn,
};

use super::importance::add_importances;
use super::score;
use crate::setting::SCORE;
use crate::{Error, Family, FamilyRequest, InputInfo, LearnerInfo};

/// Learners, and the rows with their features.
pub(crate) struct Learning {
    /// All columns, and the features of the learners.
    pub(crate) combined: Encoded,
    /// Only the features of the learners.
    pub(crate) plug_in: Encoded,
    /// The names of these features.
    pub(crate) features: Vec<String>,
    /// The family of models over these features.
    pub(crate) family: Family,
    pub(crate) learners: Vec<LearnerInfo>,
    /// Predictions for the training rows.
    pub(crate) out_of_fold: OutOfFoldFeatures,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl Learning {
    /// Fits learners on the training rows, whose features are out of fold.
    pub(crate) fn new(
        encoded: &Encoded,
        objectives: &[Arc<dyn Objective>],
        request: &FamilyRequest,
        stop: &StopSignal,
    ) -> Result<Self, Error> {
        meter::begin(Phase::Learners);
        let wanted = wanted(encoded, objectives, request)?;
        let train = encoded.part(Part::Train);
        let found = learn(&train.loaded()?, &wanted, &|| stop.is_set());
        let (learned, out_of_fold) = found.map_err(|error| match error.is_stopped() {
            true => fairfront_core::Error::Stopped.into(),
            false => Error::data(format!("the learners cannot be fitted: {error}")),
        })?;
        let family = family(&learned, request);
        let mut learning = Self::of(encoded, learned, out_of_fold, family)?;
        if let (Some(column), Family::Score) = (&request.brought.outcome, family) {
            learning.diagnostics = score::check(encoded, column)?;
        }
        if let Some(learned) = &learning.combined.encoding.learned {
            add_importances(&mut learning.learners, learned, encoded, request.seed)?;
        }
        Ok(learning)
    }

    fn of(
        encoded: &Encoded,
        learned: Learned,
        out_of_fold: OutOfFoldFeatures,
        family: Family,
    ) -> Result<Self, Error> {
        let names = learned.feature_names();
        let mut combined = Vec::with_capacity(encoded.parts.len());
        let mut plug_in = Vec::with_capacity(encoded.parts.len());
        for part in Part::ALL {
            let rows = encoded.part(part);
            match part {
                Part::Train => {
                    let features = out_of_fold.values();
                    combined.push(rows.with_numeric(&names, features)?);
                    plug_in.push(rows.of_numeric(&names, features)?);
                }
                _ => {
                    let (wider, alone) = with_features(&learned, rows)?;
                    combined.push(wider);
                    plug_in.push(alone);
                }
            }
        }
        let wrong = || Error::data("the rows of a split are missing");
        let parts = |parts: Vec<Dataset>| parts.try_into().map_err(|_| wrong());
        let learners = learners(&learned, &encoded.encoding, family);
        let mut encoding = encoded.encoding.clone();
        encoding.learned = Some(learned);
        encoding.check().map_err(|e| Error::data(e.to_string()))?;
        let with = |encoding: Encoding, parts: [Dataset; 4]| Encoded {
            held: encoded.held + memory(&parts),
            memory: encoded.memory,
            diagnostics: encoded.diagnostics.clone(),
            encoding,
            parts,
            found_fingerprints: encoded.found_fingerprints.clone(),
        };
        Ok(Self {
            plug_in: with(encoded.encoding.clone(), parts(plug_in)?),
            combined: with(encoding, parts(combined)?),
            features: names,
            family,
            learners,
            out_of_fold,
            diagnostics: Vec::new(),
        })
    }

    /// The learners.
    pub(crate) fn learned(&self) -> Option<&Learned> {
        self.combined.encoding.learned.as_ref()
    }
}

/// The family of models over the features of these learners.
fn family(learned: &Learned, request: &FamilyRequest) -> Family {
    match &learned.outcome.source {
        Source::Trees(_) => Family::Trees,
        _ if request.brought.estimator => Family::Estimator,
        _ => Family::Score,
    }
}

fn memory(parts: &[Dataset; 4]) -> u64 {
    let bytes = |part: &Dataset| part.n_rows() as u64 * part.schema().row_bytes();
    parts.iter().map(bytes).sum()
}

/// Rows that the learners were not fitted on: with the features of the learners after their own, and with
/// these features alone.
fn with_features(learned: &Learned, rows: &Dataset) -> Result<(Dataset, Dataset), Error> {
    let names = learned.feature_names();
    let (schema, learned) = (rows.schema().clone(), Arc::new(learned.clone()));
    let wider = schema.with_numeric(&names);
    let alone = schema.of_numeric(&names);
    let combined = rows.mapped(wider.clone(), {
        let (schema, learned) = (schema.clone(), Arc::clone(&learned));
        move |block| block.with_numeric(&schema, &wider, &learned.features(&schema, block))
    })?;
    let plug_in = rows.mapped(alone.clone(), move |block| {
        block.of_numeric(&alone, learned.features(&schema, block))
    })?;
    Ok((combined, plug_in))
}

/// The comparisons of groups that the objectives make: an attribute, and the rows that count.
pub(super) fn comparisons(
    objectives: &[Arc<dyn Objective>],
    target: &Target,
) -> Vec<(usize, Stratum)> {
    let mut comparisons: Vec<(usize, Stratum)> = Vec::new();
    for objective in objectives {
        let Some((attribute, _)) = objective.compares() else {
            continue;
        };
        for label in objective.labels() {
            let given = Stratum::of(label, target.n_labels());
            if !comparisons.contains(&(attribute, given)) {
                comparisons.push((attribute, given));
            }
        }
    }
    comparisons
}

/// The attributes for which models of a number need products of the prediction and the probabilities of
/// groups.
///
/// Means and covariances of groups are linear in the predictions, so that the best predictions are m plus
/// a sum of `w_k` `d_k`. Distributions and losses are not: groups whose distributions differ in location
/// and scale get equal ones by an affine function of m per group, and the loss of a group is least at its
/// own mean, which differs from m by about such a function.
fn products(objectives: &[Arc<dyn Objective>]) -> Vec<usize> {
    let is_of_scores = |objective: &Arc<dyn Objective>| {
        let by_cell = matches!(
            objective.statistics(),
            Statistics::ByCell {
                output: Output::Score,
                ..
            }
        );
        by_cell || objective.squares().is_some()
    };
    let others = objectives.iter().filter(|o| !is_of_scores(o));
    let mut attributes: Vec<usize> = others.filter_map(|o| Some(o.compares()?.0)).collect();
    attributes.sort_unstable();
    attributes.dedup();
    attributes
}

/// The comparisons of the objectives, and the columns that hold probabilities.
fn wanted(
    encoded: &Encoded,
    objectives: &[Arc<dyn Objective>],
    request: &FamilyRequest,
) -> Result<Wanted, Error> {
    let encoding = &encoded.encoding;
    let brought = &request.brought;
    let schema = encoded.part(Part::Train).schema();
    let attributes = &schema.attributes;
    let mut groups = Vec::new();
    for own in &brought.groups {
        let Some(attribute) = attributes.iter().position(|a| a.name == own.attribute) else {
            let name = &own.attribute;
            return Err(Error::usage(format!(
                "{name:?} is not a sensitive attribute"
            )));
        };
        let columns = own.columns.iter().map(|c| probability_column(encoding, c));
        groups.push(GroupColumns {
            attribute,
            given: match (own.class, own.positive) {
                (Some(class), _) => Stratum::Class(class),
                (None, None) => Stratum::All,
                (None, Some(true)) => Stratum::Positive,
                (None, Some(false)) => Stratum::Negative,
            },
            columns: columns.collect::<Result<_, _>>()?,
        });
    }
    let outcome = match brought.outcome.as_deref() {
        Some(columns) => score_columns(encoding, columns)?.1,
        None => Vec::new(),
    };
    let mut ignored = request.ignored.clone();
    ignored.extend(outcome.iter().map(|own| own.column.clone()));
    let loss = objectives.first().and_then(|loss| loss.measure());
    Ok(Wanted {
        comparisons: comparisons(objectives, &schema.target),
        products: products(objectives),
        logarithms: loss == Some(Measure::LogLoss),
        outcome,
        groups,
        from_estimator: brought.estimator,
        ignored,
        settings: request.trees.clone(),
        seed: request.seed,
    })
}

/// A numeric column as probabilities.
pub(super) fn probability_column(
    encoding: &Encoding,
    column: &str,
) -> Result<ProbabilityColumn, Error> {
    let mut position = 0;
    for rule in &encoding.numeric {
        if rule.column == column {
            return Ok(ProbabilityColumn {
                column: column.into(),
                position,
                shift: rule.shift,
                factor: rule.factor,
            });
        }
        position += 1 + usize::from(rule.indicator);
    }
    let wanted = match encoding.columns_schema().target.decides() {
        true => "choose a column of probabilities",
        false => "choose a column of predictions",
    };
    Err(Error::data(say![
        SCORE.of(column), ": not a numeric feature with more than one value"; wanted
    ]))
}

/// A numeric column as probabilities of the target or, if that is a number, as predictions in the unit of
/// the labels. With more than two classes, a list of columns, one per class.
pub(super) fn score_columns(
    encoding: &Encoding,
    columns: &str,
) -> Result<(Source, Vec<ProbabilityColumn>), Error> {
    let target = encoding.columns_schema().target;
    if let Some(classes) = target.classes() {
        let names = grammar::names(columns)?;
        if names.len() != classes.len() {
            let listed = classes.names.join(", ");
            return Err(Error::usage(say![
                SCORE.of(columns),
                ": expected a column with the probability of each class, found ",
                names.len().to_string(),
                "; list one column for each of {listed}, in this order"
            ]));
        }
        let own = names.iter().map(|name| probability_column(encoding, name));
        let own = own.collect::<Result<Vec<_>, _>>()?;
        return Ok((Source::Columns(own.clone()), own));
    }
    let mut own = probability_column(encoding, columns)?;
    let Some(unit) = target.unit() else {
        return Ok((Source::Columns(vec![own.clone()]), vec![own]));
    };
    own.shift = unit.label(own.shift);
    own.factor /= unit.scale;
    Ok((Source::Number(own.clone()), vec![own]))
}

/// The description of the learners in `run.json`.
fn learners(learned: &Learned, encoding: &Encoding, family: Family) -> Vec<LearnerInfo> {
    let of_target = encoding.columns_schema().target;
    let unit = of_target.unit();
    let info = |learner: &Learner, predicts, classes| {
        let mut info = info(learner, family, predicts, classes);
        if let (LearnerQuality::Number(quality), Some(unit)) = (learner.quality, unit) {
            info.rmse = Some(unit.scale * quality.squared_error.sqrt());
            info.r2 = Some(quality.r2);
        }
        info
    };
    let target = encoding.target.as_ref();
    let positive = target.map_or_else(|| "positive".into(), fairfront_data::TargetRule::condition);
    let classes = match &of_target {
        Target::Number(_) => Vec::new(),
        Target::Binary => vec!["negative".to_owned(), "positive".to_owned()],
        Target::Classes(classes) => classes.names.clone(),
    };
    let mut all = vec![info(&learned.outcome, positive.clone(), classes)];
    for GroupLearner {
        attribute,
        given,
        classes,
        learner,
        ..
    } in &learned.groups
    {
        let predicts = match given {
            Stratum::All => attribute.clone(),
            Stratum::Positive => format!("{attribute} given {positive}"),
            Stratum::Negative => format!("{attribute} given not {positive}"),
            Stratum::Class(class) => {
                let name = of_target.classes().map(|own| &own.names[*class as usize]);
                format!(
                    "{attribute} given {positive} = {}",
                    name.map_or("", |name| name)
                )
            }
        };
        let name = |class: &Option<String>| class.clone().unwrap_or_else(|| "(others)".into());
        all.push(info(learner, predicts, classes.iter().map(name).collect()));
    }
    all
}

/// The kind of a learner whose predictions are columns.
fn kind(family: Family) -> &'static str {
    match family {
        Family::Estimator => "estimator",
        _ => "score column",
    }
}

fn info(learner: &Learner, family: Family, predicts: String, classes: Vec<String>) -> LearnerInfo {
    let (kind, trees, inputs) = match &learner.source {
        Source::Trees(forest) => {
            let total: f64 = forest.gain.iter().sum();
            let share = |gain: &f64| if total > 0.0 { gain / total } else { 0.0 };
            let named = forest.inputs.iter().zip(&forest.gain);
            let inputs = named.map(|(name, gain)| InputInfo {
                name: name.clone(),
                gain: share(gain),
                permutation: None,
            });
            ("boosted trees", forest.trees.len(), inputs.collect())
        }
        Source::Columns(columns) => {
            let inputs = columns.iter().map(|c| InputInfo {
                name: c.column.clone(),
                gain: 1.0 / columns.len() as f64,
                permutation: None,
            });
            (kind(family), 0, inputs.collect())
        }
        Source::Number(column) => {
            let own = InputInfo {
                name: column.column.clone(),
                gain: 1.0,
                permutation: None,
            };
            (kind(family), 0, vec![own])
        }
    };
    let (log_loss, auc) = match learner.quality {
        LearnerQuality::Classes(quality) => (Some(quality.log_loss), quality.auc),
        LearnerQuality::Number(_) => (None, None),
    };
    LearnerInfo {
        predicts,
        kind: kind.into(),
        classes,
        rows: learner.quality.rows(),
        trees,
        log_loss,
        auc,
        rmse: None,
        r2: None,
        inputs,
    }
}
