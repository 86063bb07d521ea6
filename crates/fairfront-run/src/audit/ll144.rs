//! The tables of bias audits under New York City's Local Law 144 (6 RCNY § 5-300 to 5-304).

use fairfront_core::{UNKNOWN_GROUP, say};
use fairfront_data::{Diagnostic, MISSING_GROUP, Ordered};
use serde::Serialize;

use super::tables::shown_share;
use super::{AuditAttribute, AuditOptions, AuditRows};
use crate::Error;
use crate::setting::{DATE, DISTRIBUTION_DATE, RACE, SEX, SOURCE};

/// Statements of the user for the layout.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LocalLawRequest {
    /// The attribute with the sex categories; `None` to find it by its name.
    pub sex: Option<String>,
    /// The attribute with the race and ethnicity categories; `None` to find it by its name.
    pub race: Option<String>,
    /// The date of the audit, YYYY-MM-DD.
    pub date: String,
    /// The source and explanation of the data.
    pub source: Option<String>,
    /// The date from which the tool is used.
    pub distribution_date: Option<String>,
    /// Why small categories are left out.
    pub justification: Option<String>,
}

/// The rate that the tables compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LocalLawKind {
    /// Share of a category that is selected.
    SelectionRate,
    /// Share of a category with a score above the median of all scores.
    ScoringRate,
}

/// The tables.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LocalLaw144 {
    /// The date of the audit.
    pub date: String,
    /// The source and explanation of the data.
    pub source: Option<String>,
    /// The date from which the tool is used.
    pub distribution_date: Option<String>,
    /// The rate.
    pub rate: LocalLawKind,
    /// The median of all scores, for scoring rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median: Option<f64>,
    /// Number of individuals.
    pub individuals: usize,
    /// Number of individuals whose sex or race and ethnicity is unknown.
    pub unknown: usize,
    /// Sex, race and ethnicity, and their intersections.
    pub tables: Vec<LocalLawTable>,
    /// Why categories are left out, if any is.
    pub justification: Option<String>,
}

/// The table of an attribute, or of the intersections.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LocalLawTable {
    /// Its title.
    pub title: String,
    /// The columns of the data.
    pub attributes: Vec<String>,
    /// Number of individuals of unknown category. They are not in the table.
    pub unknown: usize,
    /// The category with the highest rate.
    pub highest: Option<String>,
    /// The categories.
    pub categories: Ordered<LocalLawCategory>,
}

/// A category.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LocalLawCategory {
    /// The groups of the attributes.
    pub groups: Vec<String>,
    /// Number of applicants.
    pub applicants: usize,
    /// Number of applicants that are selected, or that score above the median.
    pub selected: usize,
    /// Their share.
    pub rate: Option<f64>,
    /// The rate divided by the highest rate; `None` for a category that is left out.
    pub impact_ratio: Option<f64>,
    /// Whether the category has too small a share of the individuals in the table for an impact ratio.
    pub left_out: bool,
}

const SEX_NAMES: [&str; 2] = ["sex", "gender"];
const RACE_NAMES: [&str; 5] = [
    "race",
    "ethnicity",
    "race_ethnicity",
    "race/ethnicity",
    "ethnic_group",
];

/// Builds the tables.
pub(super) fn tables(
    rows: &AuditRows,
    options: &AuditOptions,
    request: &LocalLawRequest,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<LocalLaw144, Error> {
    check_date(DATE, &request.date)?;
    if let Some(date) = &request.distribution_date {
        check_date(DISTRIBUTION_DATE, date)?;
    }
    if rows.weights.is_some() {
        return Err(Error::usage(say![
            "the tables of Local Law 144 count individuals, so rows cannot have weights; remove ",
            fairfront_data::setting::WEIGHT
        ]));
    }
    let sex = attribute(rows, request.sex.as_deref(), SEX, &SEX_NAMES)?;
    let race = attribute(rows, request.race.as_deref(), RACE, &RACE_NAMES)?;
    if std::ptr::eq(sex, race) {
        return Err(Error::usage(say![
            SEX,
            " and ",
            RACE,
            " must be different columns; change one of them"
        ]));
    }
    if request.source.is_none() {
        diagnostics.push(Diagnostic::warning(say![
            "the tables of Local Law 144 state the source of the data and explain it";
            "add it", fairfront_core::with(SOURCE)
        ]));
    }
    if request.distribution_date.is_none() {
        diagnostics.push(Diagnostic::warning(say![
            "the tables of Local Law 144 state the distribution date of the tool";
            "add it", fairfront_core::with(DISTRIBUTION_DATE)
        ]));
    }
    let (of_sex, of_race) = (categories(sex), categories(race));
    let n = rows.len();
    let either =
        (0..n).filter(|row| of_sex[*row] == UNKNOWN_GROUP || of_race[*row] == UNKNOWN_GROUP);
    let unknown = either.count();
    let tables = vec![
        table(rows, options, "Sex categories", &[(sex, &of_sex)]),
        table(
            rows,
            options,
            "Race/ethnicity categories",
            &[(race, &of_race)],
        ),
        table(
            rows,
            options,
            "Intersectional categories",
            &[(race, &of_race), (sex, &of_sex)],
        ),
    ];
    let is_left_out = |table: &LocalLawTable| {
        table
            .categories
            .0
            .iter()
            .any(|(_, category)| category.left_out)
    };
    let justification = tables.iter().any(is_left_out).then(|| {
        let share = shown_share(options.min_share);
        request.justification.clone().unwrap_or_else(|| {
            format!(
                "Categories with less than {share} of the individuals in a table have no impact ratio, because so few \
                 individuals do not determine it reliably. 6 RCNY § 5-301(d) permits this below 2%."
            )
        })
    });
    if options.min_share > 0.02 {
        diagnostics.push(Diagnostic::warning(say![
            format!(
                "{} of the individuals is more than the 2% below which Local Law 144 permits leaving out categories",
                shown_share(options.min_share)
            );
            "choose 2% or less", fairfront_core::with(crate::setting::MIN_SHARE)
        ]));
    }
    Ok(LocalLaw144 {
        date: request.date.clone(),
        source: request.source.clone(),
        distribution_date: request.distribution_date.clone(),
        rate: match options.scoring {
            true => LocalLawKind::ScoringRate,
            false => LocalLawKind::SelectionRate,
        },
        median: rows.decisions_from.median,
        individuals: n,
        unknown,
        tables,
        justification,
    })
}

/// The attribute with this name, or with one of the usual names.
fn attribute<'a>(
    rows: &'a AuditRows,
    wanted: Option<&str>,
    setting: fairfront_core::Name,
    usual: &[&str],
) -> Result<&'a AuditAttribute, Error> {
    let mut all = rows.attributes.iter();
    let found = match wanted {
        Some(name) => all.find(|attribute| attribute.name == name),
        None => all.find(|attribute| {
            usual
                .iter()
                .any(|name| attribute.name.eq_ignore_ascii_case(name))
        }),
    };
    found.ok_or_else(|| {
        let names: Vec<&str> = rows.attributes.iter().map(|attribute| attribute.name.as_str()).collect();
        Error::usage(say![
            format!(
                "the tables of Local Law 144 need a column of {} categories, but the sensitive columns are {}",
                usual[0],
                names.join(", ")
            );
            "choose the column", fairfront_core::with(setting)
        ])
    })
}

/// The codes of an attribute. Missing values are unknown also if they are a group.
fn categories(attribute: &AuditAttribute) -> Vec<u32> {
    let missing = attribute
        .groups
        .iter()
        .position(|group| group == MISSING_GROUP);
    let of = |code: &u32| match missing {
        Some(missing) if missing as u32 == *code => UNKNOWN_GROUP,
        _ => *code,
    };
    attribute.codes.iter().map(of).collect()
}

/// Counts by category. Intersections include combinations without applicants.
fn table(
    rows: &AuditRows,
    options: &AuditOptions,
    title: &str,
    parts: &[(&AuditAttribute, &Vec<u32>)],
) -> LocalLawTable {
    let sizes: Vec<usize> = parts
        .iter()
        .map(|(attribute, _)| attribute.groups.len())
        .collect();
    let n: usize = sizes.iter().product();
    let mut counts = vec![[0_usize; 2]; n];
    let mut unknown = 0;
    for (row, selected) in rows.decisions.iter().enumerate() {
        let code = parts
            .iter()
            .zip(&sizes)
            .try_fold(0, |place, ((_, codes), size)| {
                let code = codes[row];
                (code != UNKNOWN_GROUP).then(|| place * size + code as usize)
            });
        match code {
            Some(code) => {
                counts[code][0] += 1;
                counts[code][1] += usize::from(*selected);
            }
            None => unknown += 1,
        }
    }
    let known = rows.len() - unknown;
    let groups = |mut place: usize| {
        let mut names = Vec::with_capacity(parts.len());
        for ((attribute, _), size) in parts.iter().zip(&sizes).rev() {
            names.push(attribute.groups[place % size].clone());
            place /= size;
        }
        names.reverse();
        names
    };
    let rate = |[applicants, selected]: [usize; 2]| {
        (applicants > 0).then(|| selected as f64 / applicants as f64)
    };
    let left_out = |[applicants, _]: [usize; 2]| {
        applicants == 0 || (applicants as f64) < options.min_share * known as f64
    };
    let places: Vec<usize> = (0..n)
        .filter(|place| !groups(*place).iter().any(|group| group == MISSING_GROUP))
        .collect();
    let compared = places
        .iter()
        .copied()
        .filter(|place| !left_out(counts[*place]));
    let highest = compared.reduce(|best, place| {
        if rate(counts[place]) > rate(counts[best]) {
            place
        } else {
            best
        }
    });
    let of_highest = highest
        .and_then(|place| rate(counts[place]))
        .filter(|rate| *rate > 0.0);
    let category = |place: &usize| {
        let count = counts[*place];
        let (groups, left_out) = (groups(*place), left_out(count));
        let category = LocalLawCategory {
            applicants: count[0],
            selected: count[1],
            rate: rate(count),
            impact_ratio: rate(count)
                .zip(of_highest)
                .filter(|_| !left_out)
                .map(|(own, highest)| own / highest),
            left_out,
            groups: groups.clone(),
        };
        (groups.join(":"), category)
    };
    LocalLawTable {
        title: title.into(),
        attributes: parts
            .iter()
            .map(|(attribute, _)| attribute.name.clone())
            .collect(),
        unknown,
        highest: highest.map(|place| groups(place).join(":")),
        categories: Ordered(places.iter().map(category).collect()),
    }
}

/// Checks that a date exists and is written YYYY-MM-DD.
fn check_date(setting: fairfront_core::Name, text: &str) -> Result<(), Error> {
    let parts: Vec<Option<u32>> = text.split('-').map(|part| part.parse().ok()).collect();
    let is_date = text.len() == 10
        && match parts.as_slice() {
            [Some(year), Some(month @ 1..=12), Some(day @ 1..=31)] => {
                let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
                let days = match month {
                    2 => 28 + u32::from(is_leap),
                    4 | 6 | 9 | 11 => 30,
                    _ => 31,
                };
                *day <= days
            }
            _ => false,
        };
    match is_date {
        true => Ok(()),
        false => Err(Error::usage(say![
            setting.is(text),
            ": not a date; write it as YYYY-MM-DD, such as 2026-03-31"
        ])),
    }
}
