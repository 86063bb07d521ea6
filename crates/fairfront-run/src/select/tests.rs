use fairfront_core::{Target, readable};
use fairfront_data::Ordered;
use fairfront_model::ModelId;
use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::{MeasureMeaning, ObjectiveMeaning};

/// A request in the case file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    #[serde(default)]
    require: Vec<String>,
    best: Option<String>,
    knee: Option<bool>,
    weights: Option<String>,
    regret: Option<bool>,
    model_id: Option<ModelId>,
}

/// The expected result.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    model_id: Option<ModelId>,
    sentence: Option<String>,
    nearest: Option<ModelId>,
    #[serde(default)]
    misses: Vec<Option<f64>>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    front: String,
    request: Asked,
    expect: Expected,
}

/// The model at which a report opens.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OpeningCase {
    front: String,
    model_id: Option<ModelId>,
    reason: String,
}

/// Sentences about groups.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PeopleCase {
    front: String,
    model_id: Option<ModelId>,
    #[serde(default)]
    attribute: Option<String>,
    groups: Vec<String>,
    sentences: Vec<String>,
}

/// A front in the case file: objectives with their meaning.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontCase {
    #[serde(default)]
    target: Target,
    performance: Option<String>,
    objectives: Vec<ObjectiveMeaning>,
    front_in: FrontIn,
    #[serde(default)]
    measures: Vec<String>,
    columns: Ordered<Vec<Option<f64>>>,
    unmitigated: Ordered<Option<f64>>,
}

#[derive(Deserialize)]
struct CasesFile {
    measures: Ordered<MeasureMeaning>,
    measures_of_numbers: Ordered<MeasureMeaning>,
    measures_of_classes: Ordered<MeasureMeaning>,
    fronts: Ordered<FrontCase>,
    cases: Vec<Case>,
    openings: Vec<OpeningCase>,
    people: Vec<PeopleCase>,
}

#[expect(clippy::struct_field_names, reason = "the names are those of the file")]
struct Cases {
    fronts: Ordered<FrontColumns>,
    cases: Vec<Case>,
    openings: Vec<OpeningCase>,
    people: Vec<PeopleCase>,
}

fn cases() -> Cases {
    let file: CasesFile = serde_json::from_str(include_str!("../../cases/select.json")).unwrap();
    let fronts = file.fronts.0.into_iter().map(|(name, front)| {
        let columns = FrontColumns {
            objectives: front.objectives.iter().map(|o| o.name.clone()).collect(),
            meaning: Meaning {
                measures: match &front.target {
                    Target::Binary => file.measures.clone(),
                    Target::Classes(_) => file.measures_of_classes.clone(),
                    Target::Number(_) => file.measures_of_numbers.clone(),
                },
                target: front.target,
                performance: front.performance.unwrap_or_else(|| "accuracy".into()),
                objectives: front.objectives,
            },
            front_in: front.front_in,
            measures: front.measures,
            columns: front.columns,
            unmitigated: front.unmitigated,
        };
        (name, columns)
    });
    Cases {
        fronts: Ordered(fronts.collect()),
        cases: file.cases,
        openings: file.openings,
        people: file.people,
    }
}

impl Asked {
    fn of(&self, front: &FrontColumns) -> Result<Selection, Error> {
        let require = self.require.iter().map(|text| Requirement::parse(text));
        let require: Vec<Requirement> = require.collect::<Result<_, _>>()?;
        let rule = match self {
            Self {
                best: Some(text), ..
            } => Rule::Best(Some(Term::parse(text)?)),
            Self {
                weights: Some(text),
                ..
            } => Rule::Weights(weights(text)?),
            Self {
                model_id: Some(id), ..
            } => Rule::Id(*id),
            Self {
                knee: Some(true), ..
            } => Rule::Knee,
            Self {
                regret: Some(true), ..
            } => Rule::Regret,
            _ => panic!("a case must have a rule"),
        };
        select(front, &require, &rule)
    }
}

#[test]
fn every_case_passes() {
    let cases = cases();
    assert!(cases.cases.len() >= 30);
    let mut wrong = Vec::new();
    for case in &cases.cases {
        let front = cases.fronts.get(&case.front).expect("a front of this name");
        let expect = &case.expect;
        let found = case.request.of(front);
        let right = match &found {
            Ok(found) => {
                Some(found.model_id) == expect.model_id
                    && Some(&found.price.sentence) == expect.sentence.as_ref()
            }
            Err(Error::Unmet(unmet)) => {
                let misses = unmet.misses.iter().map(|miss| miss.miss);
                // Misses are computed by subtraction, so they match only up to rounding.
                let near = |(a, b): (Option<f64>, &Option<f64>)| match (a, b) {
                    (Some(a), Some(b)) => (a - b).abs() < 1e-12,
                    (a, b) => a.is_none() && b.is_none(),
                };
                Some(unmet.nearest) == expect.nearest
                    && unmet.misses.len() == expect.misses.len()
                    && misses.zip(&expect.misses).all(near)
            }
            Err(error) => {
                let part = expect.error.as_ref();
                part.is_some_and(|part| error.to_string().contains(part))
            }
        };
        if !right {
            let found = found.map(|found| (found.model_id, found.price.sentence));
            wrong.push(format!("{}: {found:?}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn reports_open_at_models_that_are_measurably_fairer() {
    let cases = cases();
    for case in &cases.openings {
        let found = opening(cases.fronts.get(&case.front).unwrap()).unwrap();
        let expected = (case.model_id, case.reason.as_str());
        assert_eq!((found.model_id, found.reason.as_str()), expected);
    }
}

#[test]
fn group_sentences_count_people() {
    let cases = cases();
    for case in &cases.people {
        let front = cases.fronts.get(&case.front).unwrap();
        let attribute = case.attribute.as_deref().unwrap_or("sex");
        let found = group_sentences(
            front,
            case.model_id.map(ModelId::index),
            attribute,
            &case.groups,
            "approved = yes",
        );
        assert_eq!(found, case.sentences);
    }
}

#[test]
fn noise_needs_intervals_that_all_include_0() {
    let cases = cases();
    let [noise, measured] = ["noise", "measured"].map(|name| cases.fronts.get(name).unwrap());
    let difference = "validation.demographic_parity_difference(sex)";
    assert!(noise.within_noise(difference) && !measured.within_noise(difference));
    assert!(measured.within_noise("validation.equalized_odds_difference(sex)"));
    // Without intervals, noise is unknown.
    assert!(!noise.within_noise("validation.accuracy"));
}

#[test]
fn interval_ends_are_not_suggested() {
    let cases = cases();
    let front = cases.fronts.get("measured").unwrap();
    for text in [
        "test.demographic_parity_difference(race) <= 1",
        "test.acuracy.low <= 1",
    ] {
        let require = [Requirement::parse(text).unwrap()];
        let error = select(front, &require, &Rule::Knee)
            .unwrap_err()
            .to_string();
        assert!(!error.contains(".low") || error.contains("acuracy.low\""));
        assert!(
            !error.contains(".change") && !error.contains("probability"),
            "{error}"
        );
    }
}

#[test]
fn errors_describe_the_nearest_model_in_one_line() {
    let cases = cases();
    let front = cases.fronts.get("five").unwrap();
    let error = |strings: &[&str]| {
        let require = strings.iter().map(|text| Requirement::parse(text).unwrap());
        let rule = Rule::Knee;
        let found = select(front, &require.collect::<Vec<_>>(), &rule);
        let error = found.unwrap_err();
        assert!(matches!(error, Error::Unmet(_)), "{error}");
        error.to_string()
    };
    assert_eq!(
        error(&["accuracy>=0.999"]),
        "none of the 5 models meets accuracy >= 0.999; model 1 comes nearest: validation.accuracy is 0.85 and misses accuracy >= 0.999 by 0.149"
    );
    let both = error(&[
        "accuracy >= 0.84",
        "test.demographic_parity_difference(sex) < 0.05",
    ]);
    assert!(both.contains("meets both requirements"), "{both}");
    assert!(
        both.contains("is 0.841, which meets accuracy >= 0.84;"),
        "{both}"
    );
}

/// Fronts with few distinct values, so that there are ties, and with some undefined values.
fn fronts() -> impl Strategy<Value = FrontColumns> {
    let value = prop::option::weighted(0.9, (0..6_u8).prop_map(|v| f64::from(v) / 5.0));
    let columns = move |n: usize| {
        let column = prop::collection::vec(value.clone(), n);
        prop::collection::vec(column, 5)
    };
    let objectives = prop::sample::select(vec![FrontIn::Objectives, FrontIn::Measures]);
    (objectives, (1..9_usize).prop_flat_map(columns)).prop_map(|(front_in, columns)| {
        let names = [
            "objective.error_rate",
            "train.accuracy",
            "validation.accuracy",
            "validation.demographic_parity_difference(sex)",
            "validation.objective.error_rate",
        ];
        let mut columns: Vec<(String, Vec<Option<f64>>)> =
            names.map(str::to_owned).into_iter().zip(columns).collect();
        let fair = columns[3].1.clone();
        columns.push(("validation.objective.demographic_parity(sex)".into(), fair));
        FrontColumns {
            objectives: vec!["error_rate".into(), "demographic_parity(sex)".into()],
            meaning: Meaning {
                target: Target::Binary,
                performance: "accuracy".into(),
                objectives: [
                    ("error_rate", "accuracy"),
                    (
                        "demographic_parity(sex)",
                        "demographic_parity_difference(sex)",
                    ),
                ]
                .map(|(name, measure)| ObjectiveMeaning {
                    name: name.into(),
                    measure: Some(measure.into()),
                    covariance: false,
                })
                .into(),
                measures: meaning::measures(&Target::Binary),
            },
            front_in,
            measures: vec![
                Measure::ERROR_RATE.into(),
                "demographic_parity_difference(sex)".into(),
            ],
            columns: Ordered(columns),
            unmitigated: Ordered(vec![("validation.accuracy".into(), Some(0.5))]),
        }
    })
}

/// How bad a model is by a rule, computed independently; `None` if the rule ignores it.
fn badness(front: &FrontColumns, rule: &Rule, point: usize) -> Option<f64> {
    let column = |name: &str| front.columns.get(name).unwrap();
    let accuracy = column("validation.accuracy");
    let fair = column("validation.demographic_parity_difference(sex)");
    let loss = match front.front_in {
        FrontIn::Measures => accuracy.iter().map(|v| v.map(|v| 1.0 - v)).collect(),
        FrontIn::Objectives => column("validation.objective.error_rate").clone(),
    };
    let share = |values: &[Option<f64>]| {
        let mut known: Vec<f64> = values.iter().flatten().copied().collect();
        known.sort_by(f64::total_cmp);
        let (low, high) = (*known.first()?, *known.last()?);
        let value = values[point]?;
        Some(if high > low {
            (value - low) / (high - low)
        } else {
            0.0
        })
    };
    match rule {
        Rule::Best(_) => accuracy[point].map(|v| -v),
        Rule::Regret => Some(share(&loss)?.max(share(fair)?)),
        Rule::Weights(_) => {
            let lost: Vec<Option<f64>> = accuracy.iter().map(|v| v.map(|v| -v)).collect();
            Some(0.25 * share(&lost)? + 0.75 * share(fair)?)
        }
        Rule::Knee | Rule::Id(_) => Some(0.0),
    }
}

/// Whether a model dominates another in the columns by which the front was judged.
fn dominates(front: &FrontColumns, point: usize, other: usize) -> bool {
    let columns = front.judged_by().unwrap();
    let both = columns.iter().map(|c| (c.values[point], c.values[other]));
    let both: Vec<(Option<f64>, Option<f64>)> = both.collect();
    let known = both.iter().all(|(a, b)| a.is_some() && b.is_some());
    known && both.iter().all(|(a, b)| a <= b) && both.iter().any(|(a, b)| a < b)
}

proptest! {
    #[test]
    fn no_model_that_meets_the_requirements_is_better(
        front in fronts(),
        bounds in (0..6_u8, 0..6_u8),
        rule in 0..4_usize,
    ) {
        let (low, high) = (f64::from(bounds.0) / 5.0, f64::from(bounds.1) / 5.0);
        let require = [
            format!("accuracy >= {low}"),
            format!("demographic_parity_difference(sex) < {high}"),
        ];
        let require = require.map(|text| Requirement::parse(&text).unwrap());
        let fair = "demographic_parity_difference(sex)";
        let rule = [
            Rule::Best(Some(Term::parse("accuracy").unwrap())),
            Rule::Knee,
            Rule::Weights(weights(&format!("accuracy=0.25,{fair}=0.75")).unwrap()),
            Rule::Regret,
        ][rule].clone();
        let value = |name: &str, point: usize| front.columns.get(name).unwrap()[point];
        let meets = |point: usize| {
            value("validation.accuracy", point).is_some_and(|v| v >= low)
                && value(&format!("validation.{fair}"), point).is_some_and(|v| v < high)
        };
        let meeting: Vec<usize> = (0..front.len()).filter(|p| meets(*p)).collect();
        match select(&front, &require, &rule) {
            Ok(found) => {
                prop_assert!(meets(found.model_id.index()));
                prop_assert_eq!(found.judged.meeting, meeting.len());
                let own = badness(&front, &rule, found.model_id.index()).unwrap();
                let loss = |p: usize| value("objective.error_rate", p).unwrap_or(f64::INFINITY);
                for other in meeting {
                    let Some(others) = badness(&front, &rule, other) else { continue };
                    // Sums of scaled values may be rounded differently.
                    prop_assert!(own <= others + 1e-12);
                    if own == others && matches!(rule, Rule::Best(_)) {
                        let first = (loss(found.model_id.index()), found.model_id.index()) <= (loss(other), other);
                        prop_assert!(first, "{} before {other}", found.model_id.index());
                    }
                    if rule == Rule::Knee {
                        prop_assert!(!dominates(&front, other, found.model_id.index()));
                    }
                }
                prop_assert!(!found.price.sentence.contains("NaN"));
            }
            Err(Error::Unmet(unmet)) => {
                prop_assert!(meeting.is_empty());
                prop_assert!(unmet.nearest.index() < front.len());
                prop_assert!(unmet.misses.iter().any(|miss| !miss.met));
            }
            // Only if no model that meets the requirements has a value to choose by.
            Err(Error::Model(_)) => {
                let known = meeting.iter().filter(|p| badness(&front, &rule, **p).is_some());
                prop_assert!(rule == Rule::Knee || known.count() == 0);
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}

#[test]
fn numbers_are_readable() {
    let read = [0.8, 0.847_31, 1e-17, 0.000_012_5, 12_345.6].map(readable);
    assert_eq!(read, ["0.8", "0.8473", "0", "0.0000125", "12346"]);
}
