//! The importance of columns for learners, as `run.json` describes it.

use fairfront_core::Target;
use fairfront_data::{Encoded, Part};
use fairfront_learn::{ClassProblem, GroupClasses, Learned, NumberProblem};

use crate::{Error, LearnerInfo};

/// Most blocks of validation rows that importances are measured on; rows are in random order.
const MOST_BLOCKS: usize = 64;

/// Adds the importance of each column on validation rows, if there are any.
pub(super) fn add_importances(
    learners: &mut [LearnerInfo],
    learned: &Learned,
    encoded: &Encoded,
    seed: u64,
) -> Result<(), Error> {
    let rows = encoded.part(Part::Validation);
    if rows.n_rows() == 0 {
        return Ok(());
    }
    let rows = &rows.loaded_head(MOST_BLOCKS)?;
    let train = &encoded.part(Part::Train).loaded()?;
    let weights: Vec<f64> = rows.blocks().flat_map(|b| b.weights().to_vec()).collect();
    let labels = || rows.blocks().flat_map(|b| b.labels().to_vec());
    let mut classes = Vec::new();
    match &train.schema().target {
        Target::Binary => {
            let labels = labels().map(|label| Some(u32::from(label > 0.0)));
            classes.push((labels.collect(), 2));
        }
        Target::Classes(own) => {
            let labels = labels().map(|label| Some(label as u32));
            classes.push((labels.collect(), own.len()));
        }
        Target::Number(_) => (),
    }
    for group in &learned.groups {
        let attributes = &train.schema().attributes;
        let attribute = attributes.iter().position(|a| a.name == group.attribute);
        let attribute = attribute.unwrap_or_default();
        let of = GroupClasses::of(train, attribute, group.given);
        classes.push((of.labels(rows, attribute, group.given), of.classes.len()));
    }
    let mut classes = classes.into_iter();
    for (info, learner) in learners.iter_mut().zip(learned.learners()) {
        let found = if learner.is_number() {
            let problem = NumberProblem {
                labels: labels().map(Some).collect(),
                weights: weights.clone(),
            };
            learner.permutation_importance(rows, &problem, seed)
        } else if let Some((labels, n_classes)) = classes.next() {
            let problem = ClassProblem {
                labels,
                n_classes,
                weights: weights.clone(),
            };
            learner.permutation_importance(rows, &problem, seed)
        } else {
            continue;
        };
        // Without a row in any class, there is nothing to measure.
        let Ok(found) = found else {
            continue;
        };
        for (input, rise) in info.inputs.iter_mut().zip(found) {
            input.permutation = Some(rise);
        }
    }
    Ok(())
}
