//! Scores new rows with a model, one output row per input row, in constant memory.

mod audit;
mod audited;
mod class;
mod output;
mod score;

pub use audited::{
    Audit, AuditedAgainst, AuditedAttribute, AuditedClass, AuditedDifferences, AuditedGroup,
    AuditedKind, AuditedReference, AuditedValues, ClassDifferences, Unknown,
};
pub use output::Predictions;
pub use score::score_table;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use fairfront_core::{Classes, predictor_of, say, scores};
use fairfront_data::setting::{KEEP, WEIGHT};
use fairfront_data::{
    BATCH_ROWS, Column, ColumnType, Encoding, Error as DataError, Ordered, RowBatch, Strings,
    Table, Wanted, WantedColumn, read_batches,
};
use serde::Serialize;

use self::audit::Auditor;
use self::output::Writer;
use crate::model::Results;
use crate::setting::AUDIT;
use crate::used::reduced;
use crate::{Error, Model, ModelCertificate};

pub(crate) use self::class::of_class;

/// The column of decisions.
const DECISION: &str = "decision";
/// The last column of all predictions.
const NOTE: &str = "note";

/// Options for scoring rows.
#[derive(Debug, Clone)]
pub struct PredictOptions {
    /// Columns of the input to copy, before the predictions.
    pub keep: Vec<String>,
    /// Whether to compare decisions or predictions with the target, by group.
    pub audit: bool,
    /// The weight column, for the audit.
    pub weight: Option<String>,
    /// Approximate number of rows scored at a time; does not affect the result.
    pub batch_rows: usize,
}

impl Default for PredictOptions {
    fn default() -> Self {
        Self {
            keep: Vec::new(),
            audit: false,
            weight: None,
            batch_rows: BATCH_ROWS,
        }
    }
}

/// A summary of the scored rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Predicted {
    /// Number of rows.
    pub rows: usize,
    /// A summary of the results.
    #[serde(flatten)]
    pub results: Summary,
    /// Number of rows with a note.
    pub noted: usize,
    /// Columns with missing or unseen values.
    pub lacking: Vec<Lacking>,
    /// Columns of the file that the model does not use.
    pub unused: Vec<String>,
    /// The comparison with the target, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<Audit>,
    /// The requirements of the model when it was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<ModelCertificate>,
}

/// A summary of the results.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Summary {
    /// Of decisions.
    Decisions {
        /// Number of selected rows.
        selected: usize,
        /// The probability at the score threshold; rows at or above it are selected.
        probability_threshold: f64,
    },
    /// Of decisions between more than two classes.
    Classes {
        /// Number of rows with each decision.
        decisions: Ordered<usize>,
    },
    /// Of predicted numbers.
    Numbers {
        /// Their mean; `None` without rows.
        mean_prediction: Option<f64>,
        /// The smallest and the largest target of the training rows.
        training_range: [f64; 2],
        /// Number of predictions outside this range.
        outside_training_range: usize,
    },
}

/// A column with missing or unseen values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lacking {
    /// The column.
    pub column: String,
    /// Number of rows without a value.
    pub missing: usize,
    /// Number of rows with a value that was not seen in training.
    pub unseen: usize,
}

/// Scores all rows of a file (`-` is standard input), and writes one row for each of them, in order. The
/// target and the sensitive columns are needed only for an audit.
pub fn predict(
    model: &Model,
    file: &str,
    options: &PredictOptions,
    out: Predictions,
) -> Result<Predicted, Error> {
    let results = model.results();
    let names = results.columns();
    check_kept(&options.keep, &names)?;
    let auditor = match (options.audit, &options.weight) {
        (false, Some(_)) => {
            let message = say![
                WEIGHT,
                " applies only to ",
                AUDIT,
                ", because scores do not use weights"
            ];
            return Err(Error::Usage(message));
        }
        (false, None) => None,
        (true, weight) => Some(Auditor::new(model, weight.clone())?),
    };
    let scorer = Scorer::new(model, auditor);
    let columns = scorer.wanted();
    check_weight(options.weight.as_deref(), &columns)?;
    let mut writer = Writer::new(out, &options.keep, &names)?;
    let mut done = Predicted {
        rows: 0,
        results: results.summary(),
        noted: 0,
        lacking: scorer
            .columns()
            .map(|(name, _)| Lacking::none(name))
            .collect(),
        unused: Vec::new(),
        audit: None,
        certificate: model.certificate.clone(),
    };
    let mut audit = scorer.auditor.as_ref().map(Auditor::begin);
    let wanted = Wanted {
        reading: model.reading.clone(),
        columns,
        kept: options.keep.clone(),
        rows: options.batch_rows.max(1),
    };
    let wants_lines = writer.wants_lines();
    let mut sum = 0.0;
    let read = read_batches(
        file,
        &wanted,
        |batch| {
            let scored = scorer.score(batch)?;
            let lines = match wants_lines {
                true => output::lines(&scored),
                false => Vec::new(),
            };
            Ok::<_, Error>((scored, lines))
        },
        |(scored, lines)| {
            done.results.add(&scored.columns, &mut sum);
            done.noted += scored.notes.iter().filter(|n| !n.is_empty()).count();
            for (all, (missing, unseen)) in done.lacking.iter_mut().zip(&scored.lacking) {
                all.missing += missing;
                all.unseen += unseen;
            }
            if let (Some(all), Some(part)) = (&mut audit, &scored.audited) {
                all.add(part);
            }
            writer.take(scored, &lines)
        },
    )?;
    writer.finish()?;
    done.rows = read.rows;
    if let Summary::Numbers {
        mean_prediction, ..
    } = &mut done.results
    {
        *mean_prediction = (done.rows > 0).then(|| sum / done.rows as f64);
    }
    done.lacking.retain(|l| l.missing + l.unseen > 0);
    done.unused = unused(model, read.unused);
    if let (Some(auditor), Some(audit)) = (&scorer.auditor, audit) {
        done.audit = Some(auditor.finish(&audit));
    }
    Ok(done)
}

/// Scores all rows of a file, in order, without writing them; otherwise like [`predict`]. With more than two
/// classes, each row has one score per class, and scores are stored row by row. Predicted numbers are in the
/// unit of the target.
pub fn score_file(model: &Model, file: &str) -> Result<Vec<f64>, Error> {
    let scorer = Scorer::new(model, None);
    let wanted = Wanted {
        reading: model.reading.clone(),
        columns: scorer.wanted(),
        kept: Vec::new(),
        rows: BATCH_ROWS,
    };
    let mut scores = Vec::new();
    read_batches(
        file,
        &wanted,
        |batch| scorer.score(batch),
        |scored| {
            scores.extend(scored.columns.into_scores());
            Ok::<_, Error>(())
        },
    )?;
    Ok(scores)
}

impl Summary {
    /// Counts the results of some rows, and adds predicted numbers to `sum`.
    fn add(&mut self, columns: &ResultColumns, sum: &mut f64) {
        match (self, columns) {
            (Summary::Decisions { selected, .. }, ResultColumns::Decisions { decisions, .. }) => {
                *selected += decisions.iter().filter(|d| **d).count();
            }
            (
                Summary::Classes { decisions },
                ResultColumns::Classes {
                    decisions: of_rows, ..
                },
            ) => {
                for decision in of_rows {
                    decisions.0[*decision].1 += 1;
                }
            }
            (
                Summary::Numbers {
                    training_range: [low, high],
                    outside_training_range,
                    ..
                },
                ResultColumns::Numbers(predictions),
            ) => {
                predictions.iter().for_each(|prediction| *sum += prediction);
                let outside = predictions.iter().filter(|x| *x < low || *x > high);
                *outside_training_range += outside.count();
            }
            _ => {}
        }
    }
}

impl Lacking {
    fn none(column: &str) -> Self {
        Self {
            column: column.into(),
            missing: 0,
            unseen: 0,
        }
    }
}

fn check_kept(keep: &[String], columns: &[ResultColumn]) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for name in keep {
        if name == NOTE || columns.iter().any(|column| column.name == *name) {
            return Err(Error::usage(say![
                KEEP.of(name),
                ": predictions already have a column with this name; rename it in the file"
            ]));
        }
        if !seen.insert(name) {
            return Err(Error::usage(say![
                KEEP,
                " lists {name:?} twice; remove one of them"
            ]));
        }
    }
    Ok(())
}

/// Checks that the weight column is numeric, because a column is read once, with the type that the model
/// needs.
fn check_weight(weight: Option<&str>, columns: &[WantedColumn]) -> Result<(), Error> {
    let is_text = |c: &&WantedColumn| !c.column_type.is_number();
    let mut weights = columns.iter().filter(|c| Some(c.name.as_str()) == weight);
    match weights.find(is_text) {
        None => Ok(()),
        Some(WantedColumn { name, .. }) => Err(Error::usage(say![
            WEIGHT,
            " {name:?}: this column is categorical in the model; choose a numeric column"
        ])),
    }
}

/// The columns that were not read, without those that the model knows about.
fn unused(model: &Model, mut unused: Vec<String>) -> Vec<String> {
    let encoding = &model.encoding;
    let mut known: BTreeSet<&str> = BTreeSet::new();
    known.extend(encoding.target.iter().map(|t| t.column.as_str()));
    let sensitive = encoding.attributes.iter().flat_map(|a| &a.columns);
    known.extend(sensitive.map(|c| c.column.as_str()));
    known.extend(model.reading.columns.iter().flatten().map(String::as_str));
    unused.retain(|name| !known.contains(name.as_str()));
    unused
}

/// A model prepared for scoring.
struct Scorer<'a> {
    /// Without attributes and unused learners and columns, because scoring does not need them.
    encoding: Encoding,
    /// Coefficients, score by score, then intercepts.
    params: Vec<f64>,
    results: Results<'a>,
    auditor: Option<Auditor<'a>>,
}

/// A batch with its scores.
pub(crate) struct Scored<'a> {
    kept: Vec<Strings>,
    columns: ResultColumns<'a>,
    notes: Vec<String>,
    /// Missing and unseen values of each column.
    lacking: Vec<(usize, usize)>,
    audited: Option<audit::Tally>,
}

/// The results of some rows, in their order.
enum ResultColumns<'a> {
    Decisions {
        scores: Vec<f64>,
        probabilities: Vec<f64>,
        decisions: Vec<bool>,
    },
    /// Scores and probabilities are stored row by row, one for each class.
    Classes {
        classes: &'a Classes,
        scores: Vec<f64>,
        probabilities: Vec<f64>,
        /// Positions of classes.
        decisions: Vec<usize>,
    },
    /// Predictions in the unit of the target.
    Numbers(Vec<f64>),
}

/// A column of predictions, in addition to the kept ones and the note.
struct ResultColumn {
    name: String,
    kind: ResultKind,
}

/// The values of a column of predictions.
#[derive(Clone, Copy)]
enum ResultKind {
    /// The score of a class; other models have one score.
    Score { class: usize },
    Probability {
        /// Of a class; other models have one probability.
        class: usize,
    },
    /// 0 or 1.
    Selected,
    /// The name of a class.
    Class,
    /// A predicted number.
    Prediction,
}

impl ResultColumns<'_> {
    /// Scores, or predictions in the unit of the target.
    fn into_scores(self) -> Vec<f64> {
        match self {
            Self::Decisions { scores, .. } | Self::Classes { scores, .. } => scores,
            Self::Numbers(predictions) => predictions,
        }
    }
}

impl<'a> Results<'a> {
    /// The columns of predictions, in addition to the kept ones and the note.
    fn columns(self) -> Vec<ResultColumn> {
        let column = |name: &str, kind| ResultColumn {
            name: name.into(),
            kind,
        };
        match self {
            Self::Decisions { .. } => vec![
                column("score", ResultKind::Score { class: 0 }),
                column("probability", ResultKind::Probability { class: 0 }),
                column(DECISION, ResultKind::Selected),
            ],
            Self::Classes { classes, .. } => {
                let names = classes.names.iter().enumerate();
                let scores = names.clone().map(|(class, name)| {
                    column(&of_class("score", name), ResultKind::Score { class })
                });
                let probabilities = names.map(|(class, name)| {
                    let kind = ResultKind::Probability { class };
                    column(&of_class("probability", name), kind)
                });
                let decision = column(DECISION, ResultKind::Class);
                scores.chain(probabilities).chain([decision]).collect()
            }
            Self::Numbers(_) => vec![column("prediction", ResultKind::Prediction)],
        }
    }

    /// Number of scores of each row.
    fn n_scores(self) -> usize {
        match self {
            Self::Classes { classes, .. } => classes.len(),
            Self::Decisions { .. } | Self::Numbers(_) => 1,
        }
    }

    /// The results of these scores.
    fn of(self, scores: Vec<f64>) -> ResultColumns<'a> {
        match self {
            Self::Decisions {
                threshold,
                calibration,
            } => {
                let probability = |score: &f64| calibration.probability(*score);
                ResultColumns::Decisions {
                    probabilities: scores.iter().map(probability).collect(),
                    decisions: scores.iter().map(|score| *score >= threshold).collect(),
                    scores,
                }
            }
            Self::Classes { classes, factor } => {
                let rows = || scores.chunks_exact(classes.len());
                let probabilities = rows().flat_map(|scores| class::probabilities(scores, factor));
                ResultColumns::Classes {
                    classes,
                    probabilities: probabilities.collect(),
                    decisions: rows().map(class::decision).collect(),
                    scores,
                }
            }
            Self::Numbers(unit) => {
                let predictions = scores.iter().map(|score| unit.number(*score));
                ResultColumns::Numbers(predictions.collect())
            }
        }
    }

    /// The summary of no rows.
    fn summary(self) -> Summary {
        match self {
            Self::Decisions {
                threshold,
                calibration,
            } => Summary::Decisions {
                selected: 0,
                probability_threshold: calibration.probability(threshold),
            },
            Self::Classes { classes, .. } => {
                let names = classes.names.iter();
                Summary::Classes {
                    decisions: Ordered(names.map(|name| (name.clone(), 0)).collect()),
                }
            }
            Self::Numbers(unit) => Summary::Numbers {
                mean_prediction: None,
                training_range: unit.range,
                outside_training_range: 0,
            },
        }
    }
}

impl<'a> Scorer<'a> {
    fn new(model: &'a Model, auditor: Option<Auditor<'a>>) -> Self {
        let (mut encoding, coefficients) = reduced(&model.encoding, &model.of_scores());
        encoding.attributes.clear();
        let mut params = coefficients.concat();
        params.extend(model.intercept.values());
        Self {
            encoding,
            params,
            results: model.results(),
            auditor,
        }
    }

    /// The columns that scores depend on.
    fn columns(&self) -> impl Iterator<Item = (&str, ColumnType)> {
        let numeric = self.encoding.numeric.iter();
        let numeric = numeric.map(|rule| {
            let ty = rule.date.map_or(ColumnType::Numeric, ColumnType::from);
            (rule.column.as_str(), ty)
        });
        let categorical = self.encoding.categorical.iter();
        numeric.chain(categorical.map(|rule| (rule.column.as_str(), ColumnType::Categorical)))
    }

    /// These columns, and those that the audit needs.
    fn wanted(&self) -> Vec<WantedColumn> {
        let encoding = &self.encoding;
        let features = self
            .columns()
            .map(|(name, ty)| match encoding.source_of(name) {
                source if source == name => (name, ty, None),
                // A date that is constant in training does not have its own rule.
                date => {
                    let order = encoding.date(date);
                    (date, order.map_or(ColumnType::Date, ColumnType::from), None)
                }
            });
        let facts = self.auditor.iter().flat_map(Auditor::columns);
        let mut wanted: Vec<WantedColumn> = Vec::new();
        for (name, column_type, role) in features.chain(facts) {
            if !wanted.iter().any(|w| w.name == name) {
                wanted.push(WantedColumn {
                    name: name.into(),
                    column_type,
                    role,
                });
            }
        }
        wanted
    }

    fn score(&self, mut batch: RowBatch) -> Result<Scored<'a>, Error> {
        let table = std::mem::replace(&mut batch.table, Table::from_columns("", Vec::new()));
        batch.table = self.encoding.complete(Cow::Owned(table))?.into_owned();
        let n = batch.table.n_rows();
        let rows: Vec<u32> = (0..n as u32).collect();
        let facts = score::unlabeled(&self.encoding, n);
        let (encoded, _) = match self.encoding.encode(&batch.table, &rows, &facts) {
            Err(DataError::Rows(_)) => return Err(self.too_large(&batch, 0..n)),
            encoded => encoded?,
        };
        let scores = scores(&*predictor_of(encoded.schema()), &encoded, &self.params)?;
        let number = |score: f64| match self.results {
            Results::Decisions { .. } | Results::Classes { .. } => score,
            Results::Numbers(unit) => unit.number(score),
        };
        if let Some(at) = scores.iter().position(|score| !number(*score).is_finite()) {
            let row = at / self.results.n_scores();
            return Err(self.too_large(&batch, row..row + 1));
        }
        let (notes, lacking) = self.notes(&batch);
        let auditor = self.auditor.as_ref();
        let audited = auditor.map(|a| a.tally(&batch, &scores));
        Ok(Scored {
            kept: std::mem::take(&mut batch.kept),
            audited: audited.transpose()?,
            columns: self.results.of(scores),
            notes,
            lacking,
        })
    }

    /// The missing and unseen values of each row, and their number in each column.
    fn notes(&self, batch: &RowBatch) -> (Vec<String>, Vec<(usize, usize)>) {
        let mut notes = vec![String::new(); batch.table.n_rows()];
        let mut note = |row: usize, text: &str| {
            let note: &mut String = &mut notes[row];
            if !note.is_empty() {
                note.push_str("; ");
            }
            note.push_str(text);
        };
        let note_missing = |column: &Column, note: &mut dyn FnMut(usize, &str)| {
            if column.n_missing > 0 {
                let text = format!("{} missing", column.name);
                let rows = (0..batch.table.n_rows()).filter(|row| column.is_missing(*row));
                rows.for_each(|row| note(row, &text));
            }
        };
        let mut lacking = Vec::new();
        let column = |name: &str| batch.table.column(name);
        for column in self
            .encoding
            .numeric
            .iter()
            .filter_map(|r| column(&r.column))
        {
            note_missing(column, &mut note);
            lacking.push((column.n_missing, 0));
        }
        for rule in &self.encoding.categorical {
            let Some(column) = column(&rule.column) else {
                continue;
            };
            if self.encoding.source_of(&rule.column) != rule.column {
                // The date itself has the note.
                lacking.push((0, 0));
                continue;
            }
            note_missing(column, &mut note);
            let (codes, categories) = column.categorical().unwrap_or_default();
            let unseen = |category: &String| match rule.knows(category) {
                true => None,
                false => Some(format!("{} unseen: {category}", rule.column)),
            };
            let unseen: Vec<Option<String>> = categories.iter().map(unseen).collect();
            let mut n_unseen = 0;
            if unseen.iter().any(Option::is_some) {
                for (row, code) in codes.iter().enumerate() {
                    if let Some(Some(text)) = unseen.get(*code as usize) {
                        note(row, text);
                        n_unseen += 1;
                    }
                }
            }
            lacking.push((column.n_missing, n_unseen));
        }
        (notes, lacking)
    }

    fn too_large(&self, batch: &RowBatch, rows: Range<usize>) -> Error {
        let place = |row| batch.place(row);
        score::too_large(&self.encoding, &batch.table, rows, &place)
    }
}

#[cfg(test)]
mod tests;
