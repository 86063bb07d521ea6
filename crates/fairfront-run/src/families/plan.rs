//! The probabilities that a user's own estimators have to give, before they are fitted.

use std::sync::Arc;

use fairfront_core::{Objective, say};
use fairfront_data::{Encoded, Facts, Part, Prepared};
use fairfront_learn::{Folds, GroupClasses, Stratum};

use super::learning::comparisons;
use super::suits;
use crate::fit::{parse_objectives, with_objectives};
use crate::setting::{FRONT_IN, OBJECTIVE};
use crate::{Error, FitRequest, FrontIn};

/// The rows and classes that estimators of the user are fitted to.
///
/// Vectors have one entry per training row. Rows of other splits are scored by estimators that were
/// fitted on training rows.
#[derive(Debug, Clone, PartialEq)]
pub struct EstimatorPlan {
    /// The positions of the training rows in the table, in increasing order.
    pub rows: Vec<u32>,
    /// The fold of each row: its probabilities come from estimators fitted without this fold.
    pub folds: Vec<u8>,
    /// Whether the label of each row is positive; empty if the target is not binary.
    pub labels: Vec<bool>,
    /// The target of each row, if it is a number.
    pub numbers: Vec<f64>,
    /// The position of the class of each row, if there are more than two classes.
    pub classes: Vec<u32>,
    /// The comparisons of groups whose probabilities are needed.
    pub groups: Vec<GroupPlan>,
}

/// A comparison of groups: the classes of an estimator, and the rows to fit it on.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupPlan {
    /// The name of the attribute.
    pub attribute: String,
    /// The rows among which its groups are compared.
    pub given: Stratum,
    /// The group of each class; `None` is the class of all groups that are not compared.
    pub classes: Vec<Option<String>>,
    /// The class of each row; `None` for rows that are scored, but not fitted.
    pub labels: Vec<Option<u32>>,
}

/// Plans the estimators of a fit. Only labels, groups, weights and the split of the table count, not its
/// features.
pub fn plan_estimators(
    prepared: &Prepared,
    request: &FitRequest,
    custom: &[Arc<dyn Objective>],
) -> Result<EstimatorPlan, Error> {
    prepared.spec.needs_known_groups("an estimator")?;
    let encoded = Encoded::new(prepared)?;
    let request = with_objectives(&Facts::of(prepared)?, request);
    let train = &encoded.part(Part::Train).loaded()?;
    let schema = train.schema();
    let objectives = parse_objectives(&request.objectives, schema, custom, None)?;
    let unit = schema.target.unit();
    suits(&objectives, &request, &schema.target).map_err(|why| {
        Error::usage(match request.front_in {
            Some(FrontIn::Objectives) => say![FRONT_IN.is("objectives"), ": ", why; "remove it"],
            _ if unit.is_some() => say![
                "an estimator: ", why;
                "choose ", OBJECTIVE.is("squared_error")
            ],
            _ => say![
                "an estimator: ", why;
                "choose ", OBJECTIVE.is("error_rate"),
                " and differences between rates such as demographic_parity"
            ],
        })
    })?;
    let folds = Folds::of(train, Folds::DEFAULT, request.family.seed);
    let folds = folds.map_err(|error| Error::data(error.to_string()))?;
    // Estimators get rows in the order of the table, as in scikit-learn.
    let positions = prepared.split.part(Part::Train);
    let mut order: Vec<usize> = (0..positions.len()).collect();
    order.sort_unstable_by_key(|at| positions[*at]);
    let mut groups = Vec::new();
    for (attribute, given) in comparisons(&objectives, &schema.target) {
        let about = &schema.attributes[attribute];
        let of = GroupClasses::of(train, attribute, given);
        // A single group is not compared with anything.
        if of.classes.iter().flatten().count() < 2 {
            continue;
        }
        let labels = of.labels(train, attribute, given);
        let name = |group: &Option<u32>| group.map(|g| about.groups[g as usize].clone());
        groups.push(GroupPlan {
            attribute: about.name.clone(),
            given,
            classes: of.classes.iter().map(name).collect(),
            labels: order.iter().map(|at| labels[*at]).collect(),
        });
    }
    let own = order.iter().map(|at| positions[*at] as usize);
    Ok(EstimatorPlan {
        rows: own.clone().map(|p| prepared.rows[p]).collect(),
        labels: match schema.target.is_binary() {
            false => Vec::new(),
            true => own.clone().map(|p| prepared.labels[p] > 0.0).collect(),
        },
        classes: match schema.target.classes() {
            None => Vec::new(),
            Some(_) => own.clone().map(|p| prepared.labels[p] as u32).collect(),
        },
        numbers: unit.map_or_else(Vec::new, |unit| {
            own.map(|p| unit.number(prepared.labels[p])).collect()
        }),
        folds: order.iter().map(|at| folds.of_row()[*at]).collect(),
        groups,
    })
}
