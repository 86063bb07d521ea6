//! COMPAS two-year recidivism, by `ProPublica`.

use std::path::PathBuf;

use super::PublishedFile;
use crate::Error;
use crate::read::{ReadOptions, read_table};
use crate::sieve::Exclusion;
use crate::spec::{MissingPolicy, Spec, SplitRule};
use crate::table::{ColumnType, MISSING, Table};

pub(super) const FILES: [PublishedFile; 1] = [PublishedFile {
    name: "compas-scores-two-years.csv",
    url: "https://raw.githubusercontent.com/propublica/compas-analysis/master/\
          compas-scores-two-years.csv",
    size: 2_546_489,
    sha256: "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
}];

/// Columns that only determine which rows are in use, with their types.
const FILTERS: [(&str, ColumnType); 5] = [
    ("days_b_screening_arrest", ColumnType::Numeric),
    ("is_recid", ColumnType::Numeric),
    ("c_charge_degree", ColumnType::Categorical),
    ("score_text", ColumnType::Categorical),
    ("race", ColumnType::Categorical),
];

pub(super) fn spec() -> Spec {
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    Spec {
        target: Some("two_year_recid".into()),
        // The favorable outcome is not to reoffend.
        positive: Some("0".into()),
        sensitive: vec![names(&["race"])],
        features: Some(names(&[
            "age_cat",
            "sex",
            "priors_count",
            "c_charge_degree",
        ])),
        split: SplitRule::None,
        missing: MissingPolicy::Drop,
        ..Spec::default()
    }
}

pub(super) fn read(spec: &Spec, paths: &[PathBuf]) -> Result<(Table, Vec<Exclusion>), Error> {
    let files: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
    let mut options = spec.read_options(ReadOptions::default());
    for (column, ty) in FILTERS {
        options.types.insert(column.into(), ty);
        options.skip.remove(column);
        if let Some(only) = &mut options.only {
            only.insert(column.into());
        }
    }
    let mut table = read_table(&files, &options)?;
    // The published file repeats the names of two columns, so the note about them is not useful.
    table.diagnostics.clear();

    let numbers = |name: &str| {
        table
            .column(name)
            .and_then(|c| c.numeric())
            .into_iter()
            .flatten()
    };
    let days = numbers("days_b_screening_arrest");
    let recid = numbers("is_recid");
    let is_one_of = |name: &str, wanted: &[&str]| -> Vec<bool> {
        let Some((codes, categories)) = table.column(name).and_then(|c| c.categorical()) else {
            return Vec::new();
        };
        let wanted: Vec<bool> = categories
            .iter()
            .map(|l| wanted.contains(&l.as_str()))
            .collect();
        let found = |code: &u32| *code != MISSING && wanted[*code as usize];
        codes.iter().map(found).collect()
    };
    let score_text = table.column("score_text");
    let exclude = |reason: &str, rows: Vec<bool>| Exclusion {
        reason: reason.into(),
        rows,
    };
    let not = |rows: Vec<bool>| rows.into_iter().map(|r| !r).collect();
    let exclusions = vec![
        exclude(
            "days_b_screening_arrest missing or beyond ±30",
            days.map(|d| d.is_nan() || d.abs() > 30.0).collect(),
        ),
        exclude("is_recid is -1", recid.map(|r| r == -1.0).collect()),
        exclude("c_charge_degree is O", is_one_of("c_charge_degree", &["O"])),
        exclude(
            "score_text is N/A",
            (0..table.n_rows())
                .map(|row| score_text.is_some_and(|c| c.is_missing(row)))
                .collect(),
        ),
        exclude(
            "race is neither African-American nor Caucasian",
            not(is_one_of("race", &["African-American", "Caucasian"])),
        ),
    ];
    Ok((table, exclusions))
}
