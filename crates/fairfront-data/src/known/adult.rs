//! Adult (census income), by B. Becker and R. Kohavi.

use std::path::PathBuf;

use super::PublishedFile;
use crate::Error;
use crate::read::{Reading, read_table};
use crate::spec::{Merge, MissingPolicy, Scale, Spec};
use crate::table::Table;

pub(super) const FILES: [PublishedFile; 2] = [
    PublishedFile {
        name: "adult.data",
        url: "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.data",
        size: 3_974_305,
        sha256: "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    },
    PublishedFile {
        name: "adult.test",
        url: "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.test",
        size: 2_003_153,
        sha256: "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    },
];

const COLUMNS: [&str; 15] = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
];

pub(super) fn spec(sex: bool, race: bool) -> Spec {
    let column = |name: &str, used: bool| used.then(|| vec![name.to_owned()]);
    let unused = |name: &str, used: bool| (!used).then(|| name.to_owned());
    let category = |(old, new): (&str, &str)| (old.to_owned(), new.to_owned());
    let merge = |categories: &[(&str, &str)], rest: Option<&str>| Merge {
        categories: categories.iter().copied().map(category).collect(),
        rest: rest.map(Into::into),
    };
    Spec {
        target: Some("income".into()),
        positive: Some(">50K".into()),
        sensitive: column("sex", sex)
            .into_iter()
            .chain(column("race", race))
            .collect(),
        drop: ["fnlwgt".to_owned()]
            .into_iter()
            .chain(unused("sex", sex))
            .chain(unused("race", race))
            .collect(),
        merges: [
            // Labels in the test file end with a period.
            (
                "income",
                merge(&[("<=50K.", "<=50K"), (">50K.", ">50K")], None),
            ),
            (
                "native-country",
                merge(&[("United-States", "United-States")], Some("other")),
            ),
            (
                "education",
                merge(
                    &[
                        ("Preschool", "up-to-8th"),
                        ("1st-4th", "up-to-8th"),
                        ("5th-6th", "up-to-8th"),
                        ("7th-8th", "up-to-8th"),
                        ("9th", "9th-to-12th"),
                        ("10th", "9th-to-12th"),
                        ("11th", "9th-to-12th"),
                        ("12th", "9th-to-12th"),
                    ],
                    None,
                ),
            ),
        ]
        .into_iter()
        .map(|(column, merge)| (column.to_owned(), merge))
        .collect(),
        scale: Scale::MinMax,
        missing: MissingPolicy::Drop,
        ..Spec::default()
    }
}

pub(super) fn reading() -> Reading {
    Reading {
        columns: Some(COLUMNS.map(Into::into).to_vec()),
        ..Reading::default()
    }
}

pub(super) fn read(spec: &Spec, paths: &[PathBuf]) -> Result<Table, Error> {
    let files: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
    read_table(&files, &spec.read_options(reading().options()))
}
