//! The parts of an encoding that a model uses.

use std::ops::Range;

use fairfront_data::Encoding;
use fairfront_learn::{FeatureKind, Forest, Learned, LearnedFeature, Source};

/// The positions of the learned features among all features.
pub(crate) fn learned_range(encoding: &Encoding) -> Range<usize> {
    let first = n_numeric(encoding);
    first..first + encoding.learned.as_ref().map_or(0, |l| l.features.len())
}

fn n_numeric(encoding: &Encoding) -> usize {
    let rules = encoding.numeric.iter();
    rules.map(|rule| 1 + usize::from(rule.indicator)).sum()
}

/// The learners, if a model with these coefficients uses them. Each score of the model has its own
/// coefficients.
pub(crate) fn used_learners<'a>(
    encoding: &'a Encoding,
    coefficients: &[Vec<f64>],
) -> Option<&'a Learned> {
    let learned = encoding.learned.as_ref()?;
    let mut positions = learned_range(encoding);
    positions
        .any(|at| is_used(coefficients, at))
        .then_some(learned)
}

/// Whether a score depends on a feature.
fn is_used(coefficients: &[Vec<f64>], feature: usize) -> bool {
    // A coefficient that is missing is an error, which `Model::check` reports.
    let mut of_feature = coefficients.iter().map(|own| own.get(feature));
    of_feature.any(|value| value != Some(&0.0))
}

/// Removes learners whose features all have the coefficient 0, so that files of linear models do not
/// contain trees.
pub(crate) fn prune(encoding: &mut Encoding, coefficients: &mut [Vec<f64>]) {
    if encoding.learned.is_some() && used_learners(encoding, coefficients).is_none() {
        for own in coefficients {
            own.drain(learned_range(encoding));
        }
        encoding.learned = None;
    }
}

/// The encoding and the coefficients of each score without the parts that no score depends on. Scores stay
/// the same.
///
/// A model that uses learners keeps only the columns that these or other coefficients use. A model that
/// does not use them keeps all columns.
pub(crate) fn reduced(encoding: &Encoding, coefficients: &[Vec<f64>]) -> (Encoding, Vec<Vec<f64>>) {
    let mut encoding = encoding.clone();
    let mut coefficients = coefficients.to_vec();
    let range = learned_range(&encoding);
    if range.is_empty() || coefficients.iter().any(|own| own.len() < range.end) {
        return (encoding, coefficients);
    }
    let Some(learned) = used_learners(&encoding, &coefficients) else {
        prune(&mut encoding, &mut coefficients);
        return (encoding, coefficients);
    };
    let n_features = coefficients.iter().map(Vec::len).min().unwrap_or(0);
    let is_used: Vec<bool> = (0..n_features)
        .map(|at| is_used(&coefficients, at))
        .collect();
    let mut learned = without_unused(learned, &is_used[range.clone()]);

    let (numbers, categories) = (&is_used[..range.start], &is_used[range.end..]);
    let used = used_inputs(&encoding, &learned, numbers, categories);
    let (used_numbers, used_columns) = used.split_at(numbers.len());

    // Inputs of trees are numeric features, then categorical columns.
    let mut kept_inputs = Vec::with_capacity(used.len());
    // Positions of features.
    let mut kept = Vec::new();
    let mut at = 0;
    encoding.numeric.retain(|rule| {
        let own = at..at + 1 + usize::from(rule.indicator);
        at = own.end;
        let keep = used_numbers[own.clone()].contains(&true);
        kept_inputs.extend(own.clone().map(|_| keep));
        kept.extend(own.filter(|_| keep));
        keep
    });
    kept_inputs.extend(used_columns);
    kept.extend(range.clone().filter(|at| is_used[*at]));
    let (mut column, mut at) = (0, range.end);
    encoding.categorical.retain(|rule| {
        let own = at..at + rule.categories.len();
        at = own.end;
        column += 1;
        let keep = used_columns[column - 1];
        kept.extend(own.filter(|_| keep));
        keep
    });
    let (rules, dates) = (&encoding.categorical, &encoding.date_parts);
    let is_read = |date: &String| {
        let mut columns = rules.iter().map(|rule| &rule.column);
        columns.any(|c| c != date && encoding.source_of(c) == date)
    };
    let dates: Vec<String> = dates.iter().filter(|date| is_read(date)).cloned().collect();
    encoding.date_parts = dates;

    learned.outcome.source.keep(&kept_inputs);
    for group in &mut learned.groups {
        group.learner.source.keep(&kept_inputs);
    }
    encoding.learned = Some(learned);
    for own in &mut coefficients {
        *own = kept.iter().map(|at| own[*at]).collect();
    }
    (encoding, coefficients)
}

/// The learners without features that no score uses.
fn without_unused(learned: &Learned, is_used: &[bool]) -> Learned {
    let both = learned.features.iter().zip(is_used);
    let used: Vec<&LearnedFeature> = both
        .filter(|(_, is_used)| **is_used)
        .map(|(feature, _)| feature)
        .collect();
    let reads = |group: usize| {
        let mut kinds = used.iter().map(|feature| feature.kind);
        kinds.any(|kind| kind.of_group().is_some_and(|(learner, _)| learner == group))
    };
    let groups: Vec<usize> = (0..learned.groups.len()).filter(|g| reads(*g)).collect();
    let place = |learner: usize| groups.partition_point(|g| *g < learner);
    let renumbered = |feature: &LearnedFeature| {
        let kind = match feature.kind {
            FeatureKind::Outcome
            | FeatureKind::Probability { .. }
            | FeatureKind::LogProbability { .. } => feature.kind,
            FeatureKind::Group { learner, class } => FeatureKind::Group {
                learner: place(learner),
                class,
            },
            FeatureKind::Product { learner, class } => FeatureKind::Product {
                learner: place(learner),
                class,
            },
        };
        LearnedFeature {
            kind,
            ..feature.clone()
        }
    };
    Learned {
        outcome: learned.outcome.clone(),
        features: used.into_iter().map(renumbered).collect(),
        groups: groups.iter().map(|g| learned.groups[*g].clone()).collect(),
    }
}

/// Whether learners or scores use each numeric feature and each categorical column. `numbers` and `categories`
/// are features that scores use.
fn used_inputs(
    encoding: &Encoding,
    learned: &Learned,
    numbers: &[bool],
    categories: &[bool],
) -> Vec<bool> {
    let mut used = numbers.to_vec();
    let mut rest = categories;
    for rule in &encoding.categorical {
        let (own, others) = rest.split_at(rule.categories.len());
        used.push(own.contains(&true));
        rest = others;
    }
    for learner in learned.learners() {
        match &learner.source {
            Source::Trees(forest) => {
                for input in forest.trees.iter().flat_map(|tree| &tree.input) {
                    used[*input as usize] = true;
                }
            }
            Source::Columns(columns) => {
                for column in columns {
                    used[column.position] = true;
                }
            }
            Source::Number(column) => used[column.position] = true,
        }
    }
    used
}

/// Renumbers inputs after some of them were removed.
trait Keep {
    fn keep(&mut self, kept: &[bool]);
}

impl Keep for Source {
    fn keep(&mut self, kept: &[bool]) {
        let position = |input: usize| kept[..input].iter().filter(|kept| **kept).count();
        match self {
            Self::Trees(Forest {
                inputs,
                trees,
                gain,
                ..
            }) => {
                for input in trees.iter_mut().flat_map(|tree| &mut tree.input) {
                    *input = position(*input as usize) as u32;
                }
                let (mut names, mut gains) = (kept.iter(), kept.iter());
                inputs.retain(|_| names.next() == Some(&true));
                gain.retain(|_| gains.next() == Some(&true));
            }
            Self::Columns(columns) => {
                for column in columns {
                    column.position = position(column.position);
                }
            }
            Self::Number(column) => column.position = position(column.position),
        }
    }
}
