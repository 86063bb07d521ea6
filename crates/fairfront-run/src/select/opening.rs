//! Chooses the model at which a report opens: a measurably fairer one, or the unmitigated model.

use fairfront_core::{counted, grouped};
use fairfront_data::Part;
use fairfront_model::ModelId;
use serde::Serialize;

use super::FrontColumns;
use super::price::Quantity;
use super::rule::at_knee;
use crate::Error;

/// The model at which a report opens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Opening {
    /// Its id; `None` is the unmitigated model.
    pub model_id: Option<ModelId>,
    /// The reason, without a final period.
    pub reason: String,
}

/// The knee of the models that are measurably fairer than the unmitigated model on validation rows:
/// the 95% interval of the change of at least one fairness measure is below 0. Without such a
/// model, or without intervals on validation rows, the report opens at the unmitigated model.
pub fn opening(front: &FrontColumns) -> Result<Opening, Error> {
    if front.is_empty() {
        return Err(Error::data("the front has no models; fit again"));
    }
    let order = front.order();
    let meaning = &front.meaning;
    let fair = meaning.objectives.iter().skip(1);
    let fair: Vec<Quantity> = fair
        .map(|objective| Quantity::of(objective, meaning, Part::Validation))
        .collect();
    if fair.is_empty() {
        let (id, why) = at_knee(front, &order)?;
        return Ok(Opening {
            model_id: Some(ModelId::of_index(id)),
            reason: format!("{why}, of {}", counted(front.len(), "model")),
        });
    }
    let unmitigated = |reason: String| {
        Ok(Opening {
            model_id: None,
            reason,
        })
    };
    let has_interval =
        |quantity: &Quantity| (0..front.len()).any(|id| quantity.interval(front, id).is_some());
    if !fair.iter().any(has_interval) {
        let missing = match front.splits().contains(&Part::Validation) {
            true => "the fairness measures of this run have no intervals on validation rows",
            false => "this run has no validation rows",
        };
        return unmitigated(format!(
            "{missing}, so nothing shows which models differ from the unmitigated model by more than \
             noise"
        ));
    }
    let improves = |quantity: &Quantity, id: usize| {
        let interval = quantity.interval(front, id);
        interval.is_some_and(|(_, high)| high < 0.0)
    };
    let mut fairer = order;
    fairer.retain(|id| fair.iter().any(|quantity| improves(quantity, *id)));
    if fairer.is_empty() {
        let models = match front.len() {
            1 => "the only model is not".into(),
            n => format!("none of the {} models is", grouped(n)),
        };
        return unmitigated(format!(
            "{models} measurably fairer than the unmitigated model on validation rows, so this table \
             cannot tell the models apart"
        ));
    }
    let (id, why) = at_knee(front, &fairer)?;
    Ok(Opening {
        model_id: Some(ModelId::of_index(id)),
        reason: format!(
            "{why}, of the {} of {} that {} measurably fairer than the unmitigated model on validation \
             rows",
            grouped(fairer.len()),
            counted(front.len(), "model"),
            if fairer.len() == 1 { "is" } else { "are" },
        ),
    })
}
