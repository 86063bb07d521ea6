//! Rates of groups as counts of people: `of 100 people with sex = F, 40 are selected`.

use std::fmt::Write;

use super::FrontColumns;

/// A rate of a group, in words.
struct Rate {
    name: &'static str,
    /// Whether it covers people labeled positive (`true`), labeled negative, or all people
    /// (`None`).
    labeled: Option<bool>,
    happens: &'static str,
}

const SELECTED: Rate = Rate {
    name: "selection_rate",
    labeled: None,
    happens: "selected",
};
const REFUSED: Rate = Rate {
    name: "false_negative_rate",
    labeled: Some(true),
    happens: "refused",
};
const WRONGLY_SELECTED: Rate = Rate {
    name: "false_positive_rate",
    labeled: Some(false),
    happens: "selected",
};

/// Sentences about the groups of an attribute for a model (`None` is the unmitigated one) on the
/// reporting split: the rates that the objectives of this attribute compare. `label` describes a
/// positive label, such as `approved = yes`.
pub fn group_sentences(
    front: &FrontColumns,
    id: Option<usize>,
    attribute: &str,
    groups: &[String],
    label: &str,
) -> Vec<String> {
    let split = front.reporting();
    let of_attribute = format!("({attribute})");
    let mut rates: Vec<Rate> = Vec::new();
    let mut add = |rate: Rate| {
        if rates.iter().all(|known| known.name != rate.name) {
            rates.push(rate);
        }
    };
    for objective in front.meaning.objectives.iter().skip(1) {
        let Some(measure) = &objective.measure else {
            continue;
        };
        let known = front.meaning.measure(measure);
        let is_about = measure.ends_with(&of_attribute);
        for rate in known.filter(|_| is_about).iter().flat_map(|m| &m.compares) {
            match rate.as_str() {
                "false_negative_rate" => add(REFUSED),
                "false_positive_rate" => add(WRONGLY_SELECTED),
                _ => add(SELECTED),
            }
        }
    }
    if rates.is_empty() {
        rates.push(SELECTED);
    }
    let mut said = Vec::new();
    for rate in &rates {
        for group in groups {
            let column = format!("{}.{}({attribute}={group})", split.name(), rate.name);
            let at = |column: &str| match id {
                Some(id) => front.values(column)?[id],
                None => front.unmitigated.get(column).copied().flatten(),
            };
            let Some(value) = at(&column) else {
                continue;
            };
            let among = match rate.labeled {
                None => String::new(),
                Some(true) => format!(" labeled {label}"),
                Some(false) => format!(" not labeled {label}"),
            };
            let count = of_hundred(value);
            let verb = if count == "1" { "is" } else { "are" };
            // The name of an interval contains the name of its column.
            let is_interval = ["<", ">="].map(|sign| format!("{attribute}{sign}"));
            let group = match is_interval.iter().any(|start| group.contains(start)) {
                true => group.clone(),
                false => format!("{attribute} = {group}"),
            };
            let mut sentence = format!(
                "of 100 people with {group}{among}, {count} {verb} {}",
                rate.happens
            );
            let ends = (at(&format!("{column}.low")), at(&format!("{column}.high")));
            if let (Some(low), Some(high)) = ends {
                let (low, high) = (of_hundred(low), of_hundred(high));
                let _ = write!(sentence, " ({low} to {high})");
            }
            if id.is_some()
                && let Some(before) = front.unmitigated.get(&column).copied().flatten()
            {
                let _ = write!(sentence, "; unmitigated: {}", of_hundred(before));
            }
            said.push(sentence);
        }
    }
    said
}

/// A share as a whole number out of 100.
fn of_hundred(share: f64) -> String {
    format!("{:.0}", 100.0 * share.clamp(0.0, 1.0))
}
