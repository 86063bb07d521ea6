//! The parts of an encoding that a model uses.

use std::ops::Range;

use fairfront_data::{Encoding, Ordered};
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

/// The learners, if a model with these coefficients uses them.
pub(crate) fn used_learners(
    encoding: &Encoding,
    mut coefficient: impl FnMut(usize) -> Option<f64>,
) -> Option<&Learned> {
    let learned = encoding.learned.as_ref()?;
    // A coefficient that is missing is an error, which `Model::check` reports.
    let mut positions = learned_range(encoding);
    positions
        .any(|at| coefficient(at) != Some(0.0))
        .then_some(learned)
}

/// Removes learners whose features all have the coefficient 0, so that files of linear models do not
/// contain trees.
pub(crate) fn prune(encoding: &mut Encoding, coefficients: &mut Ordered<f64>) {
    let values = &coefficients.0;
    let of = |at: usize| values.get(at).map(|(_, value)| *value);
    if encoding.learned.is_some() && used_learners(encoding, of).is_none() {
        coefficients.0.drain(learned_range(encoding));
        encoding.learned = None;
    }
}

/// The encoding and the coefficients without the parts that scores do not depend on. Scores stay the
/// same.
///
/// A model that uses learners keeps only the columns that these or other coefficients use. A model that
/// does not use them keeps all columns.
pub(crate) fn reduced(encoding: &Encoding, coefficients: &[f64]) -> (Encoding, Vec<f64>) {
    let mut encoding = encoding.clone();
    let mut coefficients = coefficients.to_vec();
    let range = learned_range(&encoding);
    if range.is_empty() || coefficients.len() < range.end {
        return (encoding, coefficients);
    }
    let of = |at: usize| Some(coefficients[at]);
    let Some(learned) = used_learners(&encoding, of) else {
        coefficients.drain(range);
        encoding.learned = None;
        return (encoding, coefficients);
    };
    let (mut learned, of_learned) = without_unused(learned, &coefficients[range.clone()]);

    let (numbers, categories) = (&coefficients[..range.start], &coefficients[range.end..]);
    let used = used_inputs(&encoding, &learned, numbers, categories);
    let (used_numbers, used_columns) = used.split_at(numbers.len());

    // Inputs of trees are numeric features, then categorical columns.
    let mut kept_inputs = Vec::with_capacity(used.len());
    let mut kept = Vec::new();
    let mut at = 0;
    encoding.numeric.retain(|rule| {
        let own = at..at + 1 + usize::from(rule.indicator);
        at = own.end;
        let keep = used_numbers[own.clone()].contains(&true);
        kept_inputs.extend(own.clone().map(|_| keep));
        kept.extend(keep.then(|| &numbers[own]).into_iter().flatten());
        keep
    });
    kept_inputs.extend(used_columns);
    kept.extend(of_learned);
    let (mut column, mut at) = (0, 0);
    encoding.categorical.retain(|rule| {
        let own = at..at + rule.categories.len();
        at = own.end;
        column += 1;
        let keep = used_columns[column - 1];
        kept.extend(keep.then(|| &categories[own]).into_iter().flatten());
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
    (encoding, kept)
}

/// The learners without features whose coefficient is 0, and the other coefficients.
fn without_unused(learned: &Learned, coefficients: &[f64]) -> (Learned, Vec<f64>) {
    let both = learned.features.iter().zip(coefficients);
    let used: Vec<(&LearnedFeature, f64)> = both
        .filter(|(_, coefficient)| **coefficient != 0.0)
        .map(|(feature, coefficient)| (feature, *coefficient))
        .collect();
    let reads = |group: usize| {
        let mut kinds = used.iter().map(|(feature, _)| feature.kind);
        kinds.any(|kind| kind.of_group().is_some_and(|(learner, _)| learner == group))
    };
    let groups: Vec<usize> = (0..learned.groups.len()).filter(|g| reads(*g)).collect();
    let place = |learner: usize| groups.partition_point(|g| *g < learner);
    let renumbered = |feature: &LearnedFeature| {
        let kind = match feature.kind {
            FeatureKind::Outcome => FeatureKind::Outcome,
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
    let features = used.iter().map(|(feature, _)| renumbered(feature));
    let kept = Learned {
        outcome: learned.outcome.clone(),
        features: features.collect(),
        groups: groups.iter().map(|g| learned.groups[*g].clone()).collect(),
    };
    (
        kept,
        used.iter().map(|(_, coefficient)| *coefficient).collect(),
    )
}

/// Whether learners or coefficients use each numeric feature and each categorical column.
fn used_inputs(
    encoding: &Encoding,
    learned: &Learned,
    numbers: &[f64],
    categories: &[f64],
) -> Vec<bool> {
    let mut used: Vec<bool> = numbers.iter().map(|c| *c != 0.0).collect();
    let mut rest = categories;
    for rule in &encoding.categorical {
        let (own, others) = rest.split_at(rule.categories.len());
        used.push(own.iter().any(|c| *c != 0.0));
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
