//! The known data sets match their published descriptions.

use fairfront_data::{Encoded, Error, Inspection, Known, Part, Prepared, TargetDistribution};

use crate::data_folder;

fn prepared(name: &str) -> Option<Prepared> {
    let folder = data_folder(name)?;
    let known = Known::parse(name).unwrap().expect("a known name");
    Some(Prepared::from_known(&known, &known.spec(), Some(&folder)).unwrap())
}

fn groups(inspection: &Inspection, attribute: &str) -> Vec<(String, usize, usize)> {
    let groups = inspection.sensitive.get(attribute).unwrap();
    let row = |(name, g): &(String, fairfront_data::GroupSummary)| {
        (
            name.clone(),
            g.count - g.positives.unwrap(),
            g.positives.unwrap(),
        )
    };
    groups.0.iter().map(row).collect()
}

fn rows(expected: &[(&str, usize, usize)]) -> Vec<(String, usize, usize)> {
    expected
        .iter()
        .map(|(name, n, p)| ((*name).to_owned(), *n, *p))
        .collect()
}

#[test]
fn adult() {
    let Some(prepared) = prepared("adult:sex+race") else {
        return;
    };
    let inspection = Inspection::new(&prepared).unwrap();
    assert_eq!((inspection.read, inspection.rows), (48_842, 45_222));
    let distribution = inspection.target.as_ref().map(|t| &t.distribution);
    assert!(matches!(
        distribution,
        Some(TargetDistribution::Binary {
            positives: 11_208,
            ..
        })
    ));
    assert_eq!(
        groups(&inspection, "sex"),
        rows(&[("Female", 13_026, 1_669), ("Male", 20_988, 9_539)])
    );
    assert_eq!(
        groups(&inspection, "race"),
        rows(&[
            ("Amer-Indian-Eskimo", 382, 53),
            ("Asian-Pac-Islander", 934, 369),
            ("Black", 3_694, 534),
            ("Other", 308, 45),
            ("White", 28_696, 10_207),
        ])
    );
    let encoded = Encoded::new(&prepared).unwrap();
    assert_eq!(encoded.encoding.schema().n_features(), 51);
    assert_eq!(encoded.part(Part::Train).n_rows(), 27_133);
    assert_eq!(encoded.encoding.numeric.len(), 5);
}

#[test]
fn compas() {
    let Some(prepared) = prepared("compas:race") else {
        return;
    };
    let inspection = Inspection::new(&prepared).unwrap();
    assert_eq!((inspection.read, inspection.rows), (7_214, 5_278));
    assert_eq!(
        groups(&inspection, "race"),
        rows(&[
            ("African-American", 1_661, 1_514),
            ("Caucasian", 822, 1_281)
        ])
    );
    // Three ages, two sexes, two degrees and the number of priors.
    assert_eq!(inspection.features, 8);
    assert_eq!(prepared.split.part(Part::Train).len(), 5_278);
}

#[test]
fn generated_sets_do_not_need_files() {
    for (name, rows, features) in [("demo", 20_000, 46), ("synthetic:0", 2_000, 2)] {
        let known = Known::parse(name).unwrap().unwrap();
        let prepared = Prepared::from_known(&known, &known.spec(), None).unwrap();
        assert_eq!(prepared.table.n_rows(), rows);
        let encoded = Encoded::new(&prepared).unwrap();
        assert_eq!(encoded.encoding.schema().n_features(), features, "{name}");
    }
}

#[test]
fn missing_files_are_listed_with_their_source() {
    let known = Known::parse("adult:race").unwrap().unwrap();
    let folder = tempfile::tempdir().unwrap();
    for place in [None, Some(folder.path())] {
        let error = Prepared::from_known(&known, &known.spec(), place).unwrap_err();
        assert!(matches!(error, Error::MissingData(_)));
        let text = error.to_string();
        for words in [
            "adult.data",
            "adult.test",
            "archive.ics.uci.edu",
            "; set FAIRFRONT_DATA",
        ] {
            assert!(text.contains(words), "{text}");
        }
    }
}
