//! Certified requirements on models of classes.

use std::fmt::Write as _;
use std::sync::LazyLock;

use fairfront_core::{Cell, Contrast, Purpose, Rate, Stream};
use fairfront_data::{Prepared, ReadOptions, Spec};
use fairfront_model::TestKind;

use super::*;
use crate::{Ask, fit};

const NAMES: [&str; 3] = ["low", "mid", "high"];

/// Grades that differ between two groups, also through a column that tells the groups apart.
fn grades(rows: usize, stream: u64) -> String {
    let mut random = Stream::new(41, Purpose::Synthetic, [stream, 0]);
    let mut text = String::from("grade,sex,skill,club,hours\n");
    for _ in 0..rows {
        let man = random.chance(0.5);
        let skill = random.normal() + if man { 0.3 } else { 0.0 };
        let club = random.chance(if man { 0.8 } else { 0.3 });
        let points = skill + 0.5 * random.normal() + if man { 0.2 } else { 0.0 };
        let grade = NAMES[usize::from(points > -0.3) + usize::from(points > 0.8)];
        let sex = if man { "m" } else { "f" };
        let hours = 1.0 + random.uniform();
        let _ = writeln!(text, "{grade},{sex},{skill},{},{hours}", u8::from(club));
    }
    text
}

fn fitted(rows: usize, stream: u64, ordered: bool, weight: bool) -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("grades.csv");
    std::fs::write(&file, grades(rows, stream)).expect("a file");
    let spec = Spec {
        target: Some("grade".into()),
        order: match ordered {
            true => NAMES.map(String::from).to_vec(),
            false => Vec::new(),
        },
        sensitive: vec![vec!["sex".into()]],
        split: "40/10/30/20".parse().expect("a split"),
        weight: weight.then(|| "hours".into()),
        ..Spec::default()
    };
    let files = [file.display().to_string()];
    let prepared = Prepared::from_files(&files, &spec, ReadOptions::default()).expect("rows");
    let ask = Ask {
        models: Some(12),
        ..Ask::default()
    };
    let request = ask.request("grades.csv", &["sex".into()], false);
    let fitted = fit(&prepared, &request.expect("a request"), &mut ()).expect("a front");
    Run::of(&Facts::of(&prepared).expect("facts"), &fitted)
}

static ORDERED: LazyLock<Run> = LazyLock::new(|| fitted(6_000, 1, true, false));
static PLAIN: LazyLock<Run> = LazyLock::new(|| fitted(6_000, 1, false, false));

fn unmitigated(run: &Run, measure: &str) -> f64 {
    let values = &run.info.unmitigated.values;
    let value = values.get(&format!("test.{measure}")).copied().flatten();
    value.expect("a value")
}

fn demand(requirement: &str, exact: bool) -> Demand {
    Demand::parse(&[requirement.into()], 0.95, exact, None).expect("a requirement")
}

fn certified(run: &Run, demand: &Demand) -> Certificate {
    let plan = Plan::new(run, demand).expect("a plan");
    plan.certify(&[], false).expect("a test").0
}

/// The largest p-value of a model over these rates and both pairs of groups, from the definition.
fn largest(run: &Run, model: usize, rates: &[Rate], of: fn(Cell, Cell) -> Contrast) -> f64 {
    let tallies = &run.evidence.certify.as_ref().expect("rows").tallies;
    let p = |rate: &Rate, a: usize, b: usize| {
        of(tallies.cell(model, *rate, a), tallies.cell(model, *rate, b)).p_value()
    };
    let both = rates.iter().map(|rate| p(rate, 1, 2).max(p(rate, 2, 1)));
    both.fold(0.0, f64::max)
}

#[test]
fn every_class_and_pair_of_groups_is_tested() {
    let decided = |class: usize, of: Option<usize>| Rate::Decided { class, of };
    let difference = |a, b| Contrast::Difference { a, b, limit: 0.25 };
    let ratio = |a, b| Contrast::Ratio { a, b, limit: 0.5 };
    // Classes in alphabetical order are "high", "low" and "mid".
    for (run, ordered) in [(&*ORDERED, true), (&*PLAIN, false)] {
        let compared: Vec<usize> = (usize::from(ordered)..3).collect();
        let low = usize::from(!ordered);
        let shares: Vec<Rate> = compared.iter().map(|c| decided(*c, None)).collect();
        let recalls: Vec<Rate> = (0..3).map(|class| Rate::Recall { class }).collect();
        let odds =
            |of: usize| -> Vec<Rate> { compared.iter().map(|c| decided(*c, Some(of))).collect() };
        let all: Vec<(&str, Vec<Rate>)> = vec![
            ("demographic_parity_difference(sex)", shares.clone()),
            ("demographic_parity_difference[mid](sex)", {
                let mid = if ordered { 1 } else { 2 };
                vec![decided(mid, None)]
            }),
            ("equal_opportunity_difference(sex)", recalls),
            (
                "equal_opportunity_difference[low](sex)",
                vec![Rate::Recall { class: low }],
            ),
            (
                "equalized_odds_difference(sex)",
                (0..3).flat_map(odds).collect(),
            ),
            ("equalized_odds_difference[low](sex)", odds(low)),
        ];
        for (name, rates) in all {
            let demand = demand(&format!("{name} <= 0.25"), false);
            let certificate = certified(run, &demand);
            assert_eq!(certificate.test, TestKind::Score);
            assert!(!certificate.tested.is_empty());
            for tested in &certificate.tested {
                let expected = largest(run, tested.model_id.index(), &rates, difference);
                assert_eq!(tested.p_value, expected, "{name}");
            }
        }
        let demand = demand("demographic_parity_ratio(sex) >= 0.5", false);
        for tested in certified(run, &demand).tested {
            let expected = largest(run, tested.model_id.index(), &shares, ratio);
            assert_eq!(tested.p_value, expected);
        }
    }
}

/// A front offers models that meet requirements which the unmitigated model breaks.
#[test]
fn models_of_classes_are_certified() {
    for run in [&*ORDERED, &*PLAIN] {
        let mut run = run.clone();
        let name = "demographic_parity_difference(sex)";
        let before = unmitigated(&run, name);
        let limit = 0.1;
        assert!(before > limit, "{before}");
        let demand = demand(&format!("{name} <= {limit}"), false);
        let choice = choose_in_memory(&mut run, &demand, &Rule::Best(None)).expect("a model");
        let of_model = choice.of_model.expect("a certificate");
        assert_eq!(of_model.verdict, Verdict::Certified);
        let checked = &of_model.requirements[0];
        let [low, high] = checked.band.expect("a band");
        let estimate = checked.estimate.expect("an estimate");
        assert!(low <= estimate && estimate <= high && estimate < limit);
        // The groups are those of the class that differs most.
        let rates: Vec<f64> = checked.groups.iter().filter_map(|g| g.rate).collect();
        assert_eq!(rates.len(), 2);
        assert!(((rates[0] - rates[1]).abs() - estimate).abs() < 1e-12);
        let measure = checked.groups[0].measure.as_ref().expect("a measure");
        assert!(measure.starts_with("selection_rate["), "{measure}");
        // Finite-sample tests certify no more.
        let score = certified(&run, &demand);
        let exact = Demand {
            exact: true,
            ..demand
        };
        let exact = certified(&run, &exact);
        assert_eq!(exact.test, TestKind::Exact);
        assert!(exact.certified.iter().all(|m| score.certified.contains(m)));
        for single in [
            "accuracy >= 0.4",
            "accuracy(sex=f) >= 0.4",
            "recall[high](sex=m) >= 0.1",
            "selection_rate[\"mid\"](sex=f) <= 0.95",
            "recall[low] >= 0.1",
        ] {
            let demand = self::demand(single, false);
            assert!(!certified(&run, &demand).certified.is_empty(), "{single}");
        }
    }
}

#[test]
fn means_over_classes_are_rejected() {
    for name in ["balanced_accuracy", "macro_f1", "precision[low](sex=f)"] {
        let demand = demand(&format!("{name} >= 0.5"), false);
        let error = Plan::new(&PLAIN, &demand).err().expect("an error");
        let expected = "cannot be certified (only the accuracy, selection rates and recalls";
        assert!(error.to_string().contains(expected), "{error}");
    }
    for (text, problem) in [
        (
            "recall[best] >= 0.5",
            "the run has no recall[best]; available: recall[high]",
        ),
        ("equal_opportunity_difference[low](sex) >= 0.1", "use <="),
        (
            "false_positive_rate_difference(sex) <= 0.1",
            "the run has no",
        ),
    ] {
        let demand = demand(text, false);
        let error = Plan::new(&PLAIN, &demand).err().expect("an error");
        assert!(error.to_string().contains(problem), "{error}");
    }
}

/// The measures of the columns are those that are tested.
#[test]
fn families_have_the_values_of_the_columns() {
    for run in [&*ORDERED, &*PLAIN] {
        let schema = run.encoding.schema();
        let tallies = &run.evidence.order.tallies;
        for family in Family::all(&schema) {
            let name = format!("validation.{}", family.name);
            let column = run.front.column(&name).unwrap_or_else(|| panic!("{name}"));
            for (model, value) in column.iter().enumerate() {
                let found = family.estimate(tallies, model);
                match (found, value) {
                    (Some(a), Some(b)) => assert!((a - b).abs() < 1e-9, "{name}: {a} {b}"),
                    _ => assert_eq!(found, *value, "{name}"),
                }
            }
        }
    }
}

#[test]
fn intervals_contain_the_values_and_changes() {
    for run in [&*ORDERED, &*PLAIN] {
        for name in [
            "accuracy",
            "recall[mid]",
            "demographic_parity_difference(sex)",
            "demographic_parity_difference[high](sex)",
            "demographic_parity_ratio(sex)",
            "equalized_odds_difference(sex)",
        ] {
            let column = |end: &str| {
                let name = format!("test.{name}{end}");
                run.front.column(&name).unwrap_or_else(|| panic!("{name}"))
            };
            let before = unmitigated(run, name);
            for model in 0..run.front.len() {
                let at = |end: &str| column(end)[model].expect("a value");
                let value = at("");
                for (low, high) in [(".low", ".high"), (".band_low", ".band_high")] {
                    assert!(
                        at(low) <= value + 1e-12 && value <= at(high) + 1e-12,
                        "{name}"
                    );
                }
                assert!(at(".band_high") >= at(".high") - 1e-12);
                let change = value - before;
                assert!(
                    at(".change_low") <= change && change <= at(".change_high"),
                    "{name}"
                );
            }
        }
        let likely = run
            .front
            .column("test.probability_nondominated")
            .expect("a column");
        assert!(
            likely
                .iter()
                .all(|p| p.is_some_and(|p| (0.0..=1.0).contains(&p)))
        );
        assert!(
            run.front
                .column("test.demographic_parity_difference(sex).bias")
                .is_some()
        );
    }
}

#[test]
fn weighted_rows_are_counted_and_stored() {
    let run = fitted(2_000, 2, true, true);
    let requirement = "equal_opportunity_difference(sex) <= 0.3";
    let error = Plan::new(&run, &demand(requirement, true)).err();
    let error = error.expect("an error").to_string();
    assert!(error.contains("rows have weights"), "{error}");
    let score = demand(requirement, false);
    assert!(!certified(&run, &score).tested.is_empty());
    // Bytes of a run hold the same counts.
    let schema = run.encoding.schema();
    let (bytes, sum) = run.evidence.to_bytes().expect("bytes");
    let path = Path::new("tallies.json");
    let n = run.front.len();
    let read = Evidence::from_bytes(path, &bytes, &sum, n, &schema).expect("evidence");
    assert_eq!(read, run.evidence);
    assert!(Evidence::from_bytes(path, &bytes, &sum, n + 1, &schema).is_err());
}

/// A model whose largest difference is at the limit is certified in at most about 5% of samples: tests of all
/// classes together are conservative, those of one class are not.
#[test]
fn tests_over_classes_keep_their_level() {
    let mut random = Stream::new(42, Purpose::Synthetic, [0, 0]);
    // Shares of three decisions in two groups; the first class differs by the limit.
    let shares = [[0.5, 0.3, 0.2], [0.3, 0.4, 0.3]];
    let (n, draws, limit) = ([400_u32, 250], 4_000, 0.2);
    let (mut of_all, mut of_one) = (0, 0);
    for _ in 0..draws {
        let mut counts = [[0.0; 3]; 2];
        for (group, shares) in shares.iter().enumerate() {
            for _ in 0..n[group] {
                let u = random.uniform();
                let decision = usize::from(u > shares[0]) + usize::from(u > shares[0] + shares[1]);
                counts[group][decision] += 1.0;
            }
        }
        let p = |class: usize, a: usize, b: usize| {
            let cell = |group: usize| Cell::counted(counts[group][class], f64::from(n[group]));
            Contrast::Difference {
                a: cell(a),
                b: cell(b),
                limit,
            }
            .p_value()
        };
        let of_class = |class: usize| p(class, 0, 1).max(p(class, 1, 0));
        of_one += usize::from(of_class(0) <= 0.05);
        of_all += usize::from((0..3).map(of_class).fold(0.0, f64::max) <= 0.05);
    }
    // Four standard errors of 200.
    assert!((f64::from(of_one as u32) - 200.0).abs() < 56.0, "{of_one}");
    assert!(of_all <= of_one, "{of_all}");
}
