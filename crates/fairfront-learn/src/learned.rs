//! Learners, and the features that they give to a front.

use fairfront_core::{RowBlock, Schema};
use serde::{Deserialize, Serialize};

use crate::cross_fit::n_outputs;
use crate::function::ln;
use crate::quality::LearnerQuality;
use crate::{Calibrated, Error, Forest, Link, Stratum};

/// The learners of a run, and the features computed from their predictions.
///
/// A front over these features is a front over all functions of the columns: the best group-blind
/// decisions are thresholds on a combination of η(z) = P(Y = 1 | z) and, for each compared group k,
/// `d_k(z)` = `γ_k/π_k` − `γ_r/π_r`. Here `γ_k(z)` is P(A = k | z) for demographic parity and
/// P(A = k, Y = y | z) for rates of rows with label y, `π_k` is the share of such rows, and r is the
/// largest group.
///
/// If the target is a number, the first feature is m(z) = E[Y | z] instead of η. The predictions with the
/// smallest squared error for given differences between the means or covariances of groups are m plus a
/// sum of `w_k` `d_k`. Distributions and losses of groups need the products `d_k`·m as well.
///
/// With more than two classes, the first features are `p_j(z)` = P(Y = j | z), one per class, and the best
/// decision is the class j with the largest `p_j` plus a sum of `w_kj` `d_k`. If the loss is the log loss,
/// they are ln `p_j` instead, so that a weight of 1 on each class's own feature gives the probabilities of
/// the learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Learned {
    /// The learner of P(Y = 1 | z), of P(Y = j | z) for each of several classes, or of E[Y | z] if the target
    /// is a number.
    pub outcome: Learner,
    /// The learners of the groups.
    pub groups: Vec<GroupLearner>,
    /// The features, in order. The first is η or m; with more than two classes, the first ones are those of
    /// the classes.
    pub features: Vec<LearnedFeature>,
}

/// The source of probabilities or predicted numbers, and how well they predict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Learner {
    /// The raw scores.
    pub source: Source,
    /// The calibration of the raw scores, fitted out of fold.
    pub calibration: Calibrated,
    /// The quality of the out-of-fold predictions.
    pub quality: LearnerQuality,
}

/// The source of raw scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Boosted trees.
    Trees(Forest),
    /// Probabilities of another model, in numeric columns: one column for two classes (the
    /// probability of the second), otherwise one per class.
    Columns(Vec<ProbabilityColumn>),
    /// Predicted numbers of another model, in a numeric column: `shift + factor · feature` is the
    /// prediction in the unit of the labels.
    Number(ProbabilityColumn),
}

/// A numeric feature that holds probabilities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbabilityColumn {
    /// The name of the column.
    pub column: String,
    /// Its position among the numeric features.
    pub position: usize,
    /// The probability is `shift + factor · feature`, because features are scaled.
    pub shift: f64,
    /// See `shift`.
    pub factor: f64,
}

/// A learner of the groups of an attribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupLearner {
    /// The attribute.
    pub attribute: String,
    /// The rows among which groups are compared.
    pub given: Stratum,
    /// The classes of the learner: the compared groups, and `None` for all others together.
    pub classes: Vec<Option<String>>,
    /// The share of training rows that are in the class and meet the condition.
    pub shares: Vec<f64>,
    /// The class that the others are compared with: the largest compared group.
    pub reference: usize,
    /// The learner of P(A | z), or of P(A | Y = y, z).
    pub learner: Learner,
}

/// A feature of the learned kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnedFeature {
    /// Its name among the features of a model.
    pub name: String,
    /// The source of its values.
    pub kind: FeatureKind,
    /// Subtracted from the value: the mean of the out-of-fold values.
    pub shift: f64,
    /// Divides the difference: the standard deviation of the out-of-fold values.
    pub factor: f64,
}

/// The quantity of a learned feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeatureKind {
    /// η(z) or m(z).
    Outcome,
    /// `p_j(z)`, with more than two classes.
    Probability {
        /// The class j.
        class: usize,
    },
    /// ln `p_j(z)`, with more than two classes.
    LogProbability {
        /// The class j.
        class: usize,
    },
    /// `d_k(z)` of a class of a group learner.
    Group {
        /// The position of the learner in [`Learned::groups`].
        learner: usize,
        /// The class k.
        class: usize,
    },
    /// `d_k(z)`·m(z).
    Product {
        /// The position of the learner in [`Learned::groups`].
        learner: usize,
        /// The class k.
        class: usize,
    },
}

impl FeatureKind {
    /// Smaller probabilities count as this one in [`FeatureKind::LogProbability`].
    pub const LEAST: f64 = 1e-6;

    /// The position of a group learner and a class of it, unless it is the outcome.
    pub fn of_group(self) -> Option<(usize, usize)> {
        match self {
            Self::Outcome | Self::Probability { .. } | Self::LogProbability { .. } => None,
            Self::Group { learner, class } | Self::Product { learner, class } => {
                Some((learner, class))
            }
        }
    }
}

impl Learned {
    /// The names of the features, in order.
    pub fn feature_names(&self) -> Vec<String> {
        self.features.iter().map(|f| f.name.clone()).collect()
    }

    /// All learners, that of the outcome first.
    pub fn learners(&self) -> impl Iterator<Item = &Learner> {
        std::iter::once(&self.outcome).chain(self.groups.iter().map(|g| &g.learner))
    }

    /// Whether a learner has trees.
    pub fn has_trees(&self) -> bool {
        self.learners()
            .any(|learner| matches!(learner.source, Source::Trees(_)))
    }

    /// The features of the rows of a block: n × features, row by row. `schema` describes the block.
    ///
    /// Do not use this for rows that the learners were fitted on: such probabilities overfit.
    /// [`learn`](crate::learn) returns the out-of-fold features of these rows.
    pub fn features(&self, schema: &Schema, block: &RowBlock) -> Vec<f64> {
        let outcome = self.outcome.predictions(schema, block);
        let groups = self.groups.iter();
        let groups: Vec<Vec<f64>> = groups
            .map(|group| group.learner.probabilities(schema, block))
            .collect();
        self.combined(&outcome, &groups)
    }

    /// Features from η, m or the probabilities of classes, and from the probabilities of all groups.
    pub(crate) fn combined(&self, outcome: &[f64], groups: &[Vec<f64>]) -> Vec<f64> {
        let width = self.outcome.n_predictions();
        let n_rows = outcome.len() / width;
        let mut values = Vec::with_capacity(n_rows * self.features.len());
        for (row, outcome) in outcome.chunks_exact(width).enumerate() {
            let difference = |learner: usize, class: usize| {
                let of = &self.groups[learner];
                let n = of.classes.len();
                let gamma = &groups[learner][row * n..(row + 1) * n];
                of.difference(class, outcome, gamma)
            };
            for feature in &self.features {
                let value = match feature.kind {
                    FeatureKind::Outcome => outcome[0],
                    FeatureKind::Probability { class } => outcome[class],
                    FeatureKind::LogProbability { class } => {
                        ln(outcome[class].max(FeatureKind::LEAST))
                    }
                    FeatureKind::Group { learner, class } => difference(learner, class),
                    FeatureKind::Product { learner, class } => {
                        outcome[0] * difference(learner, class)
                    }
                };
                values.push((value - feature.shift) / feature.factor);
            }
        }
        values
    }

    /// Checks learners that were read from a file against the features they are computed from.
    pub fn check(&self, schema: &Schema) -> Result<(), Error> {
        let bad = |problem: String| Err(Error::Corrupted(problem));
        for learner in self.learners() {
            learner.check(schema)?;
        }
        let n_outputs = n_outputs(schema.target.n_labels());
        if self.outcome.source.n_outputs() != n_outputs {
            return bad(match n_outputs {
                1 => "the learner of the target must have one output".into(),
                n => format!("the learner of the target must have {n} outputs"),
            });
        }
        if self.outcome.is_number() != schema.target.unit().is_some() {
            return bad("the learner of the target predicts another kind of target".into());
        }
        for group in &self.groups {
            let n = group.classes.len();
            if group.learner.is_number() {
                return bad("a learner of groups predicts a number".into());
            }
            let shares = group.shares.iter().all(|s| s.is_finite() && *s > 0.0);
            if n < 2
                || group.shares.len() != n
                || !shares
                || group.reference >= n
                || group.learner.source.n_classes() != n
            {
                let name = &group.attribute;
                return bad(format!("the learner of {name:?} has inconsistent classes"));
            }
            let fits = match (group.given, schema.target.classes()) {
                (Stratum::All, _) => true,
                (Stratum::Class(class), Some(classes)) => (class as usize) < classes.len(),
                (Stratum::Class(_), None) => false,
                (Stratum::Positive | Stratum::Negative, classes) => classes.is_none(),
            };
            if !fits {
                let name = &group.attribute;
                return bad(format!(
                    "the learner of {name:?} has another kind of target"
                ));
            }
        }
        for LearnedFeature {
            name,
            kind,
            shift,
            factor,
        } in &self.features
        {
            let exists = kind.of_group().is_none_or(|(learner, class)| {
                let group = self.groups.get(learner);
                group.is_some_and(|group| class < group.classes.len())
            });
            let exists = exists
                && match kind {
                    FeatureKind::Outcome | FeatureKind::Product { .. } => n_outputs == 1,
                    FeatureKind::Probability { class } | FeatureKind::LogProbability { class } => {
                        n_outputs > 1 && *class < n_outputs
                    }
                    FeatureKind::Group { .. } => true,
                };
            if !exists || !shift.is_finite() || !factor.is_finite() || *factor <= 0.0 {
                return bad(format!("the learned feature {name:?} is inconsistent"));
            }
        }
        match self.features.first().map(|f| f.kind) {
            Some(FeatureKind::Outcome) => Ok(()),
            Some(_) if n_outputs > 1 => Ok(()),
            _ => bad("the first learned feature must be that of the outcome".into()),
        }
    }
}

impl GroupLearner {
    /// `d_k` at a row with η, or the probabilities of the classes of the target, and the probabilities of
    /// the own classes.
    fn difference(&self, class: usize, outcome: &[f64], gamma: &[f64]) -> f64 {
        let of_label = self.given.probability(outcome);
        let ratio = |k: usize| gamma[k] / self.shares[k];
        of_label * (ratio(class) - ratio(self.reference))
    }
}

impl Learner {
    /// Whether it predicts a number.
    pub fn is_number(&self) -> bool {
        self.calibration.link == Link::Identity
    }

    /// Number of [`predictions`](Self::predictions) per row: that of classes if there are more than two,
    /// else 1.
    pub fn n_predictions(&self) -> usize {
        self.source.n_outputs()
    }

    /// The predicted numbers of the rows of a block, the probabilities of the second of two classes, or
    /// those of more than two classes, row by row.
    pub fn predictions(&self, schema: &Schema, block: &RowBlock) -> Vec<f64> {
        self.predicted(&self.source.raw(schema, block))
    }

    /// The same from raw scores.
    pub(crate) fn predicted(&self, raw: &[f64]) -> Vec<f64> {
        match self.is_number() {
            true => self.calibration.numbers(raw),
            false => {
                let all = self.calibration.probabilities(raw);
                match self.source.n_classes() {
                    2 => all.into_iter().skip(1).step_by(2).collect(),
                    _ => all,
                }
            }
        }
    }

    /// The probabilities of the rows of a block: n × classes, row by row.
    pub fn probabilities(&self, schema: &Schema, block: &RowBlock) -> Vec<f64> {
        self.calibration
            .probabilities(&self.source.raw(schema, block))
    }

    fn check(&self, schema: &Schema) -> Result<(), Error> {
        let bad = |problem: &str| Err(Error::Corrupted(problem.into()));
        let known = |c: &ProbabilityColumn| {
            schema.numeric.get(c.position) == Some(&c.column)
                && c.shift.is_finite()
                && c.factor.is_finite()
        };
        let is_number = self.is_number();
        let quality = matches!(self.quality, LearnerQuality::Number(_));
        let mut agree = is_number == quality;
        match &self.source {
            Source::Trees(forest) => forest.check(schema)?,
            Source::Number(column) => {
                agree &= is_number;
                if !known(column) {
                    return bad("the column of predictions is not a feature");
                }
            }
            Source::Columns(columns) => {
                agree &= !is_number;
                if columns.is_empty() || !columns.iter().all(known) {
                    return bad("the columns of probabilities are not features");
                }
            }
        }
        if !agree {
            return bad("a learner predicts both a number and classes");
        }
        let Calibrated {
            slope, intercepts, ..
        } = &self.calibration;
        let outputs = self.source.n_outputs();
        let finite = slope.is_finite() && intercepts.iter().all(|i| i.is_finite());
        match finite && *slope > 0.0 && intercepts.len() == outputs {
            true => Ok(()),
            false => bad("the calibration of a learner is inconsistent"),
        }
    }
}

impl Source {
    /// Number of raw scores per row.
    pub fn n_outputs(&self) -> usize {
        match self {
            Self::Trees(forest) => forest.n_outputs(),
            Self::Columns(columns) => columns.len(),
            Self::Number(_) => 1,
        }
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.n_outputs().max(2)
    }

    /// Raw scores of the rows of a block, row by row.
    pub fn raw(&self, schema: &Schema, block: &RowBlock) -> Vec<f64> {
        match self {
            Self::Trees(forest) => forest.raw(schema, block),
            Self::Columns(columns) => {
                let rows = 0..block.n_rows();
                rows.flat_map(|row| {
                    let numbers = block.numeric(row);
                    let raw = |c: &ProbabilityColumn| c.raw(numbers, columns.len());
                    columns.iter().map(raw)
                })
                .collect()
            }
            Self::Number(column) => {
                let rows = 0..block.n_rows();
                rows.map(|row| column.value(block.numeric(row))).collect()
            }
        }
    }
}

impl ProbabilityColumn {
    /// Probabilities closer to 0 or 1 than this are moved there, so that log odds stay finite.
    pub const LEAST: f64 = 1e-9;

    /// The value of the column in a row with these numeric features.
    fn value(&self, numbers: &[f64]) -> f64 {
        self.shift + self.factor * numbers[self.position]
    }

    /// The log odds of a single column, or the logarithm of one of several columns.
    fn raw(&self, numbers: &[f64], n_columns: usize) -> f64 {
        let p = self.value(numbers).clamp(Self::LEAST, 1.0 - Self::LEAST);
        match n_columns {
            1 => ln(p / (1.0 - p)),
            _ => ln(p),
        }
    }
}
