//! Fits the learners of a front, and computes its features out of fold.

use fairfront_core::{Loaded, Schema, Target, UNKNOWN_GROUP};

use crate::learned::{
    FeatureKind, GroupLearner, Learned, LearnedFeature, Learner, ProbabilityColumn, Source,
};
use crate::{
    Binned, BoostSettings, Calibrated, ClassProblem, Error, Folds, LearnerQuality, NumberProblem,
    NumberQuality, OutOfFold, Problem, Quality, Stratum, cross_fit,
};

/// Most features for targets with more than two classes, whose models have a weight per feature and class.
const MOST_FEATURES: usize = 200;

/// The features to learn.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The comparisons of groups: an attribute, by its position in the schema, and the rows among
    /// which its groups are compared.
    pub comparisons: Vec<(usize, Stratum)>,
    /// The attributes among these that need products with the prediction, if the target is a number.
    pub products: Vec<usize>,
    /// Whether the features of more than two classes are logarithms of probabilities, which suit the log
    /// loss, rather than probabilities, which suit the error rate.
    pub logarithms: bool,
    /// A column with probabilities of the outcome, or predictions of a number in the unit of the
    /// labels; with more than two classes, a column for each. Empty fits boosted trees.
    pub outcome: Vec<ProbabilityColumn>,
    /// Probabilities of groups that columns hold, instead of boosted trees.
    pub groups: Vec<GroupColumns>,
    /// Whether an estimator of the user computes these columns; features are named after it.
    pub from_estimator: bool,
    /// Inputs that trees do not read, by name.
    pub ignored: Vec<String>,
    /// Settings of the trees.
    pub settings: BoostSettings,
    /// Keys the folds.
    pub seed: u64,
}

/// Columns with the probabilities of the groups of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupColumns {
    /// The attribute, by its position in the schema.
    pub attribute: usize,
    /// The rows among which its groups are compared.
    pub given: Stratum,
    /// One column per class of [`GroupClasses`], or one for the second of two classes.
    pub columns: Vec<ProbabilityColumn>,
}

/// Features of the rows that learners were fitted on, each computed without its own row.
#[derive(Debug, Clone, PartialEq)]
pub struct OutOfFoldFeatures {
    values: Vec<f64>,
    n_features: usize,
    outcome: Vec<f64>,
    groups: Vec<Vec<f64>>,
}

impl OutOfFoldFeatures {
    /// The features, row by row.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Number of features per row.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// η, m or the probabilities of more than two classes, row by row, calibrated.
    pub fn outcome(&self) -> &[f64] {
        &self.outcome
    }

    /// The calibrated probabilities of the classes of a learner of groups, row by row. The argument
    /// is the learner's position in [`Learned::groups`].
    pub fn groups(&self, learner: usize) -> &[f64] {
        &self.groups[learner]
    }
}

/// The classes of a learner of groups: the groups that are compared, and one class for all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupClasses {
    /// The class of each group.
    pub of_group: Vec<u32>,
    /// The group of each class; `None` is the class of all groups that are not compared.
    pub classes: Vec<Option<u32>>,
}

impl GroupClasses {
    /// The classes of an attribute on rows under a condition. Groups without rows have no class of
    /// their own.
    pub fn of(rows: &Loaded, attribute: usize, given: Stratum) -> Self {
        let about = &rows.schema().attributes[attribute];
        let mut counts = vec![0_usize; about.groups.len()];
        for_each_row(rows, attribute, given, |_, group, weight| {
            counts[group as usize] += usize::from(weight > 0.0);
        });
        let left_out = about.small.with_label(given.label());
        let is_compared = |g: &u32| counts[*g as usize] > 0 && !left_out.contains(g);
        let compared: Vec<u32> = (0..counts.len() as u32).filter(is_compared).collect();
        let rest = (0..counts.len() as u32).any(|g| counts[g as usize] > 0 && !is_compared(&g));
        let mut classes: Vec<Option<u32>> = compared.iter().copied().map(Some).collect();
        if rest {
            classes.push(None);
        }
        let class = |g: u32| {
            compared
                .iter()
                .position(|c| *c == g)
                .unwrap_or(compared.len()) as u32
        };
        Self {
            of_group: (0..counts.len() as u32).map(class).collect(),
            classes,
        }
    }

    /// The class of each row that has one.
    pub fn labels(&self, rows: &Loaded, attribute: usize, given: Stratum) -> Vec<Option<u32>> {
        let mut labels = vec![None; rows.n_rows()];
        for_each_row(rows, attribute, given, |row, group, _| {
            let class = self.of_group[group as usize];
            labels[row] = ((class as usize) < self.classes.len()).then_some(class);
        });
        labels
    }
}

/// Calls `act` with the position, group and weight of each row that has a known group and meets the
/// condition.
fn for_each_row(
    rows: &Loaded,
    attribute: usize,
    given: Stratum,
    mut act: impl FnMut(usize, u32, f64),
) {
    let mut first = 0;
    for block in rows.blocks() {
        let groups = block.groups(attribute).iter().zip(block.labels());
        for (row, ((group, label), weight)) in groups.zip(block.weights()).enumerate() {
            let meets = given.label().is_none_or(|wanted| wanted == *label);
            if *group != UNKNOWN_GROUP && meets {
                act(first + row, *group, *weight);
            }
        }
        first += block.n_rows();
    }
}

/// Fits the learners on training rows, and returns the features of these rows out of fold.
///
/// The learners that are returned are fitted on all rows; use them for other rows only. `stop` is
/// asked often; once it returns true, the result is [`Error::Stopped`].
pub fn learn(
    train: &Loaded,
    wanted: &Wanted,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<(Learned, OutOfFoldFeatures), Error> {
    let work = Work {
        train,
        wanted,
        binned: Binned::of(train).without(&wanted.ignored),
        folds: Folds::of(train, Folds::DEFAULT, wanted.seed)?,
        weights: train.blocks().flat_map(|b| b.weights().to_vec()).collect(),
        stop,
    };
    work.check_size()?;
    let (outcome, predictions) = work.outcome()?;
    let mut learned = Learned {
        outcome,
        groups: Vec::new(),
        features: Vec::new(),
    };
    let mut probabilities = Vec::new();
    for &(attribute, given) in &wanted.comparisons {
        if let Some((learner, found)) = work.groups(attribute, given)? {
            learned.groups.push(learner);
            probabilities.push(found);
        }
    }
    learned.add_features(wanted, train.schema());
    let values = learned.combined(&predictions, &probabilities);
    learned.scale(&values, &work.weights);
    let values = learned.combined(&predictions, &probabilities);
    let out_of_fold = OutOfFoldFeatures {
        values,
        n_features: learned.features.len(),
        outcome: predictions,
        groups: probabilities,
    };
    Ok((learned, out_of_fold))
}

struct Work<'a> {
    train: &'a Loaded,
    wanted: &'a Wanted,
    binned: Binned,
    folds: Folds,
    weights: Vec<f64>,
    stop: &'a (dyn Fn() -> bool + Sync),
}

impl Work<'_> {
    /// Checks before any tree is grown that models of classes will not have too many features.
    fn check_size(&self) -> Result<(), Error> {
        let Some(classes) = self.train.schema().target.classes() else {
            return Ok(());
        };
        let of_comparison = |&(attribute, given): &(usize, Stratum)| {
            let of = GroupClasses::of(self.train, attribute, given);
            of.classes.iter().flatten().count().saturating_sub(1)
        };
        let comparisons = self.wanted.comparisons.iter();
        let n_features = classes.len() + comparisons.map(of_comparison).sum::<usize>();
        match n_features <= MOST_FEATURES {
            true => Ok(()),
            false => Err(Error::TooManyFeatures {
                found: n_features,
                most: MOST_FEATURES,
            }),
        }
    }

    /// The learner of the target, and its out-of-fold probabilities of the second label or of more than
    /// two classes, or its predicted numbers.
    fn outcome(&self) -> Result<(Learner, Vec<f64>), Error> {
        let labels = self.train.blocks().flat_map(|b| b.labels().to_vec());
        let columns = self.wanted.outcome.clone();
        let column = columns.first().cloned();
        let columns = (!columns.is_empty()).then_some(columns);
        match &self.train.schema().target {
            Target::Binary => {
                let labels = labels.map(|label| Some(u32::from(label > 0.0)));
                let (learner, both) = self.classes(labels.collect(), 2, columns)?;
                return Ok((learner, both.into_iter().skip(1).step_by(2).collect()));
            }
            Target::Classes(classes) => {
                let labels = labels.map(|label| Some(label as u32));
                return self.classes(labels.collect(), classes.len(), columns);
            }
            Target::Number(_) => (),
        }
        let problem = NumberProblem {
            labels: labels.map(Some).collect(),
            weights: self.weights.clone(),
        };
        let (source, out_of_fold) = self.source(&problem, column.map(Source::Number))?;
        let calibration = Calibrated::fit_number(&out_of_fold, &problem)?;
        let predictions = calibration.numbers(out_of_fold.raw());
        let quality = NumberQuality::of(&predictions, &problem)?;
        let learner = Learner {
            source,
            calibration,
            quality: LearnerQuality::Number(quality),
        };
        Ok((learner, predictions))
    }

    /// A learner of these classes, and its out-of-fold probabilities of all rows.
    fn classes(
        &self,
        labels: Vec<Option<u32>>,
        n_classes: usize,
        columns: Option<Vec<ProbabilityColumn>>,
    ) -> Result<(Learner, Vec<f64>), Error> {
        let problem = ClassProblem {
            labels,
            n_classes,
            weights: self.weights.clone(),
        };
        let (source, out_of_fold) = self.source(&problem, columns.map(Source::Columns))?;
        let calibration = Calibrated::fit(&out_of_fold, &problem)?;
        let probabilities = calibration.probabilities(out_of_fold.raw());
        let quality = Quality::of(&probabilities, &problem)?;
        let learner = Learner {
            source,
            calibration,
            quality: LearnerQuality::Classes(quality),
        };
        Ok((learner, probabilities))
    }

    /// The given columns or boosted trees, with the out-of-fold scores of all rows.
    fn source(
        &self,
        problem: &impl Problem,
        columns: Option<Source>,
    ) -> Result<(Source, OutOfFold), Error> {
        let Some(source) = columns else {
            let settings = &self.wanted.settings;
            let found = cross_fit(&self.binned, problem, &self.folds, settings, self.stop)?;
            return Ok((Source::Trees(found.forest), found.out_of_fold));
        };
        let schema = self.train.schema();
        let blocks = self.train.blocks();
        let raw = blocks.flat_map(|block| source.raw(schema, block)).collect();
        // The user confirmed that these predictions are out of fold.
        let raw = OutOfFold::stated_by_user(raw, source.n_outputs())?;
        Ok((source, raw))
    }

    /// A learner of the groups of an attribute; `None` if fewer than two groups are compared.
    fn groups(
        &self,
        attribute: usize,
        given: Stratum,
    ) -> Result<Option<(GroupLearner, Vec<f64>)>, Error> {
        let about = &self.train.schema().attributes[attribute];
        let of = GroupClasses::of(self.train, attribute, given);
        let classes = &of.classes;
        if classes.iter().flatten().count() < 2 {
            return Ok(None);
        }
        let labels = of.labels(self.train, attribute, given);
        let mut sums = vec![0.0; classes.len()];
        for (label, weight) in labels.iter().zip(&self.weights) {
            if let Some(class) = label {
                sums[*class as usize] += weight;
            }
        }
        let total: f64 = self.weights.iter().sum();
        let brought = self.wanted.groups.iter();
        let mut brought = brought.filter(|b| b.attribute == attribute && b.given == given);
        let columns = brought.next().map(|b| b.columns.clone());
        let (learner, probabilities) = self.classes(labels, classes.len(), columns)?;
        // The largest compared group; the first of several.
        let compared = (0..classes.len()).filter(|c| classes[*c].is_some());
        let reference = compared.fold(0, |best, c| if sums[c] > sums[best] { c } else { best });
        let name = |group: &Option<u32>| group.map(|g| about.groups[g as usize].clone());
        let learner = GroupLearner {
            attribute: about.name.clone(),
            given,
            classes: classes.iter().map(name).collect(),
            shares: sums.iter().map(|sum| sum / total).collect(),
            reference,
            learner,
        };
        Ok(Some((learner, probabilities)))
    }
}

impl Learned {
    /// One feature for the outcome, or for each of more than two classes, and one for each compared group
    /// except the reference, with its product with the prediction if it is wanted.
    fn add_features(&mut self, wanted: &Wanted, schema: &Schema) {
        let attributes = &schema.attributes;
        let classes = schema.target.classes();
        let feature = |name, kind| LearnedFeature {
            name,
            kind,
            shift: 0.0,
            factor: 1.0,
        };
        let kind = |source: &Source| match (source, wanted.from_estimator) {
            (Source::Trees(_), _) => "trees",
            (_, true) => "estimator",
            (_, false) => "score",
        };
        let outcome = match self.outcome.is_number() {
            true => "prediction",
            false => "probability",
        };
        let own = kind(&self.outcome.source);
        match classes {
            None => {
                let name = format!("{own}: {outcome}");
                self.features.push(feature(name, FeatureKind::Outcome));
            }
            Some(classes) => {
                let of_class = |(class, name): (usize, &String)| match wanted.logarithms {
                    true => feature(
                        format!("{own}: log probability of {name}"),
                        FeatureKind::LogProbability { class },
                    ),
                    false => feature(
                        format!("{own}: probability of {name}"),
                        FeatureKind::Probability { class },
                    ),
                };
                let own = classes.names.iter().enumerate().map(of_class);
                self.features.extend(own);
            }
        }
        let products = wanted.products.iter().filter(|_| self.outcome.is_number());
        let products: Vec<&str> = products.map(|a| attributes[*a].name.as_str()).collect();
        for (learner, group) in self.groups.iter().enumerate() {
            for (class, name) in group.classes.iter().enumerate() {
                let (Some(name), true) = (name, class != group.reference) else {
                    continue;
                };
                let given = match group.given {
                    Stratum::All => String::new(),
                    Stratum::Positive => " given positive".into(),
                    Stratum::Negative => " given negative".into(),
                    Stratum::Class(class) => {
                        let name = classes.map_or("", |own| &own.names[class as usize]);
                        format!(" given {name}")
                    }
                };
                let (kind, of) = (kind(&group.learner.source), &group.attribute);
                self.features.push(feature(
                    format!("{kind}: {of}={name}{given}"),
                    FeatureKind::Group { learner, class },
                ));
                if products.contains(&of.as_str()) {
                    self.features.push(feature(
                        format!("{own}: {outcome} * {of}={name}"),
                        FeatureKind::Product { learner, class },
                    ));
                }
            }
        }
    }

    /// Scales features to mean 0 and variance 1 on these values.
    fn scale(&mut self, values: &[f64], weights: &[f64]) {
        let n = self.features.len();
        let total: f64 = weights.iter().sum();
        for (at, feature) in self.features.iter_mut().enumerate() {
            let of = || values.iter().skip(at).step_by(n).zip(weights);
            let mean = of().map(|(v, w)| v * w).sum::<f64>() / total;
            let square = of().map(|(v, w)| (v - mean) * (v - mean) * w).sum::<f64>() / total;
            feature.shift = mean;
            // A constant feature says nothing, whatever its scale.
            feature.factor = if square > 1e-24 { square.sqrt() } else { 1.0 };
        }
    }
}
