//! Maps a requirement to the measure that it bounds, if that measure can be tested.

use fairfront_core::{
    Contrast, Message, Rate, Schema, Tallies, Target, bracketed, regions_of, say,
};
use fairfront_data::near_names;

use super::{Family, Kind};
use crate::select::{FrontColumns, measure_instead, without_reference};
use crate::setting::{self, REQUIRE};
use crate::{Comparator, Error, Requirement, Term};

/// A requirement with the measure that it bounds.
pub(super) struct Bound<'a> {
    pub(super) requirement: &'a Requirement,
    pub(super) family: Family,
    pub(super) at_most: bool,
}

impl Bound<'_> {
    pub(super) fn limit(&self) -> f64 {
        self.requirement.bound
    }

    pub(super) fn not_covered(&self, schema: &Schema) -> Vec<String> {
        let regions = self.family.left_out.iter();
        regions
            .filter_map(|region| group_label(*region, schema))
            .collect()
    }

    pub(super) fn contrasts(&self, tallies: &Tallies, model: usize) -> Vec<Contrast> {
        let all = self
            .family
            .contrasts(tallies, model, self.at_most, self.limit());
        all.unwrap_or_default()
    }
}

/// The measure that a requirement bounds, if it can be tested.
pub(super) fn bound<'a>(
    requirement: &'a Requirement,
    schema: &Schema,
    columns: Option<&FrontColumns>,
) -> Result<Bound<'a>, Error> {
    let Requirement {
        term, comparator, ..
    } = requirement;
    let reject = |problem: Message| {
        let text = requirement.to_string();
        Err(Error::usage(say![REQUIRE, " {text:?}: ", problem]))
    };
    let untested = || {
        say![
            "choose without a test",
            bracketed(setting::CONFIDENCE.is("none"))
        ]
    };
    if let Some(split) = term.split {
        let bare = Term {
            split: None,
            ..term.clone()
        };
        let split = split.name();
        return reject(say![
            "a requirement on {split} rows cannot be certified";
            "write {bare} without a split";
            untested()
        ]);
    }
    let families = Family::all(schema);
    let name = term.canonical();
    let found = families.iter().find(|family| family.name == name);
    let Some(family) = found.filter(|_| !term.objective) else {
        if let Some(columns) = columns {
            columns.require_column(requirement)?;
        }
        if let Some(problem) = measure_instead(term).filter(|_| !term.objective) {
            let is_there = columns.is_some_and(|columns| columns.objectives.contains(&name));
            return reject(match is_there {
                true => say![
                    "{problem} (objectives cannot be certified, only limited without a test: ",
                    setting::CONFIDENCE.is("none"),
                    ")"
                ],
                false => problem.into(),
            });
        }
        let has_reference = schema.attributes.iter().any(|a| a.reference.is_some());
        if let Some(problem) = without_reference(term).filter(|_| !has_reference) {
            return reject(problem.into());
        }
        let names = families.iter().map(|family| family.name.as_str());
        let near = near_names(&name, names.filter(|name| !name.contains('=')));
        let testable = match schema.target {
            Target::Binary => "rates, differences of rates and ratios of rates",
            Target::Classes(_) => {
                "the accuracy, selection rates and recalls of a class, and their differences and ratios"
            }
            Target::Number(_) => {
                "means of predictions, residuals and errors, and differences of these means"
            }
        };
        return reject(say![
            "{name} cannot be certified (only {testable} can)";
            near;
            untested()
        ]);
    };
    reject_estimated(requirement, family, schema)?;
    if let Some(classes) = schema.target.classes().filter(|classes| classes.ordered)
        && term.class.as_ref() == classes.names.first()
        && matches!(family.kind, Kind::Difference { .. })
        && term.name == "demographic_parity_difference"
    {
        let lowest = &classes.names[0];
        return reject(say![
            "{name} is 0 for every model, because every decision is at least {lowest:?}, the lowest class";
            "choose a higher class"
        ]);
    }
    let at_most = matches!(comparator, Comparator::AtMost | Comparator::Below);
    let compares = !family.is_single();
    let is_ratio = matches!(family.kind, Kind::Ratio { .. } | Kind::Against { .. });
    // The ratio of one group to the reference group has both limits.
    let has_both = matches!(family.kind, Kind::Against { least: false, .. });
    if compares && at_most == is_ratio && !has_both {
        let (side, limit) = if is_ratio {
            (">=", "an upper")
        } else {
            ("<=", "a lower")
        };
        return reject(say![
            "{limit} limit on {name} cannot be certified";
            "use {side}";
            untested()
        ]);
    }
    Ok(Bound {
        requirement,
        family: family.clone(),
        at_most,
    })
}

/// Rejects a requirement on groups that are only estimated.
fn reject_estimated(
    requirement: &Requirement,
    family: &Family,
    schema: &Schema,
) -> Result<(), Error> {
    let regions: Vec<usize> = family
        .cells()
        .into_iter()
        .map(|(_, region)| region)
        .chain(family.means().into_iter().map(|(_, region)| region))
        .chain(family.left_out.iter().copied())
        .collect();
    let attributes = schema.attributes.iter().enumerate();
    let mut found = attributes.filter(|(at, attribute)| {
        let own = regions_of(schema, *at);
        attribute.estimated && regions.iter().any(|region| own.contains(region))
    });
    let Some((_, attribute)) = found.next() else {
        return Ok(());
    };
    let (text, name) = (requirement.to_string(), &attribute.name);
    Err(Error::usage(say![
        REQUIRE,
        " {text:?}: the groups of {name:?} are only estimated, so nothing can be certified for the true groups";
        "choose without a test", bracketed(setting::CONFIDENCE.is("none"))
    ]))
}

/// `sex=Female`; `None` for all rows.
pub(super) fn group_label(region: usize, schema: &Schema) -> Option<String> {
    let all = schema.attributes.iter();
    let labels = all.flat_map(|a| {
        a.groups
            .iter()
            .map(move |group| format!("{}={group}", a.name))
    });
    region
        .checked_sub(1)
        .and_then(|at| labels.into_iter().nth(at))
}

/// The rows among which a rate is computed.
pub(super) fn people(rate: Rate, region: usize, schema: &Schema) -> String {
    let rows = people_of(region, schema);
    let classes = schema.target.classes();
    let name = |class: usize| classes.map_or("", |classes| classes.names[class].as_str());
    match rate {
        Rate::Decided { of: Some(of), .. } => format!("{rows} of class {:?}", name(of)),
        Rate::Recall { class } => format!("{rows} of class {:?}", name(class)),
        Rate::FalseNegative => format!("{rows} that are labeled positive"),
        Rate::FalsePositive => format!("{rows} that are labeled negative"),
        Rate::Selection | Rate::Accuracy | Rate::Decided { of: None, .. } => rows,
    }
}

/// The name of a rate of a class, such as `recall[low]`; `None` for other rates.
pub(super) fn rate_of_class(rate: Rate, schema: &Schema) -> Option<String> {
    let name = |class: usize| Some(schema.target.classes()?.names[class].as_str());
    Some(match rate {
        Rate::Recall { class } => format!("recall[{}]", name(class)?),
        Rate::Decided { class, of: None } => format!("selection_rate[{}]", name(class)?),
        Rate::Decided {
            class,
            of: Some(of),
        } => format!("decisions[{}>{}]", name(of)?, name(class)?),
        Rate::Selection | Rate::FalseNegative | Rate::FalsePositive | Rate::Accuracy => {
            return None;
        }
    })
}

/// The rows of a region.
pub(super) fn people_of(region: usize, schema: &Schema) -> String {
    let of = group_label(region, schema).map_or_else(String::new, |label| format!(" of {label}"));
    format!("rows{of}")
}
