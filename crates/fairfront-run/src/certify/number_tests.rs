//! Certified requirements on predicted numbers.

use std::fmt::Write as _;
use std::sync::LazyLock;

use fairfront_core::{Contrast, Purpose, Quantity, Stream};
use fairfront_data::{Prepared, ReadOptions, Spec};
use fairfront_model::TestKind;

use super::*;
use crate::{Ask, fit};

/// Salaries in thousands that differ between two groups, also through a column that tells the groups apart.
fn salaries(rows: usize, stream: u64) -> String {
    let mut random = Stream::new(26, Purpose::Synthetic, [stream, 0]);
    let mut text = String::from("salary,sex,years,club\n");
    for _ in 0..rows {
        let man = random.chance(0.5);
        let years = 10.0 + 4.0 * random.normal() + if man { 2.0 } else { 0.0 };
        // Also weights.
        let years = years.max(0.5);
        let club = random.chance(if man { 0.8 } else { 0.3 });
        let salary = 30.0 + 1.5 * years + if man { 4.0 } else { 0.0 } + 5.0 * random.normal();
        let sex = if man { "m" } else { "f" };
        let _ = writeln!(text, "{salary},{sex},{years},{}", u8::from(club));
    }
    text
}

fn fitted(rows: usize, stream: u64, split: &str, weight: bool) -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("salaries.csv");
    std::fs::write(&file, salaries(rows, stream)).expect("a file");
    let spec = Spec {
        target: Some("salary".into()),
        sensitive: vec![vec!["sex".into()]],
        split: split.parse().expect("a split"),
        weight: weight.then(|| "years".into()),
        ..Spec::default()
    };
    let files = [file.display().to_string()];
    let prepared = Prepared::from_files(&files, &spec, ReadOptions::default()).expect("rows");
    let ask = Ask {
        models: Some(15),
        ..Ask::default()
    };
    let request = ask.request("salaries.csv", &["sex".into()], true);
    let fitted = fit(&prepared, &request.expect("a request"), &mut ()).expect("a front");
    Run::of(&Facts::of(&prepared).expect("facts"), &fitted)
}

static RUN: LazyLock<Run> = LazyLock::new(|| fitted(4_000, 1, "40/10/30/20", false));

fn demand(requirement: &str, exact: bool) -> Demand {
    Demand::parse(&[requirement.into()], 0.95, exact, None).expect("a requirement")
}

#[test]
fn differences_of_means_are_certified_by_welchs_test() {
    let demand = demand("mean_difference(sex) <= 4", false);
    let plan = Plan::new(&RUN, &demand).expect("a plan");
    let (certificate, _) = plan.certify(&[], false).expect("a test");
    assert_eq!(certificate.test, TestKind::Welch);
    assert!(!certificate.certified.is_empty());
    let tallies = &RUN.evidence.certify.as_ref().expect("rows").tallies;
    for tested in &certificate.tested {
        let mean = |region| tallies.mean(tested.model_id.index(), Quantity::Prediction, region);
        let p = |a, b| {
            let (a, b) = (mean(a), mean(b));
            Contrast::MeanDifference { a, b, limit: 4.0 }.p_value()
        };
        assert_eq!(tested.p_value, p(1, 2).max(p(2, 1)));
    }
    // Models are ordered by the error, which is better if it is smaller.
    let order = certificate.order.expect("a measure");
    assert!(order.ends_with("rmse"), "{order}");
}

#[test]
fn finite_sample_tests_of_means_certify_no_more() {
    let certified = |exact| {
        let demand = demand("mean_difference(sex) <= 6", exact);
        let plan = Plan::new(&RUN, &demand).expect("a plan");
        plan.certify(&[], false).expect("a test").0
    };
    let (welch, bernstein) = (certified(false), certified(true));
    assert_eq!(bernstein.test, TestKind::Bernstein);
    assert!(!bernstein.certified.is_empty());
    let is_known = |model| welch.certified.contains(model);
    assert!(bernstein.certified.iter().all(is_known));
    assert!(bernstein.tested[0].p_value >= welch.tested[0].p_value);

    let loose = demand("worst_group_mae(sex) <= 9", true);
    let plan = Plan::new(&RUN, &loose).expect("a plan");
    assert!(
        !plan
            .certify(&[], false)
            .expect("a test")
            .0
            .certified
            .is_empty()
    );
    // The number of rows that would certify a model suffices in the same test.
    let tight = demand("mean_difference(sex) <= 4", true);
    let plan = Plan::new(&RUN, &tight).expect("a plan");
    let level = 0.05;
    let models = 0..RUN.front.len();
    let (model, needed) = models
        .filter_map(|m| Some((m, plan.rows_needed(m, level, TestKind::Bernstein)?)))
        .min_by_key(|(_, needed)| *needed)
        .expect("a model within the limit");
    let times = needed as f64 / plan.certifying.rows as f64;
    let tallies = &plan.certifying.tallies;
    let contrasts = plan.bounds[0].contrasts(tallies, model);
    let more = contrasts
        .iter()
        .map(|c| c.with_rows(times, 0.0).exact_p_value());
    assert!(more.fold(0.0, f64::max) < level);
}

#[test]
fn weighted_rows_have_only_approximate_tests() {
    let run = fitted(2_000, 2, "40/10/30/20", true);
    let requirement = "mean_difference(sex) <= 6";
    let error = Plan::new(&run, &demand(requirement, true)).err();
    let error = error.expect("an error").to_string();
    assert!(error.contains("rows have weights"), "{error}");
    let welch = demand(requirement, false);
    let plan = Plan::new(&run, &welch).expect("a plan");
    assert!(
        !plan
            .certify(&[], false)
            .expect("a test")
            .0
            .certified
            .is_empty()
    );
}

#[test]
fn requirements_on_rates_of_numbers_are_rejected() {
    let rates = demand("demographic_parity_difference(sex) <= 0.1", false);
    let error = Plan::new(&RUN, &rates).err().expect("an error").to_string();
    let expected = "the run has no measure or objective \"demographic_parity_difference\"";
    assert!(error.contains(expected), "{error}");
    assert!(error.contains("\"mean_difference\""), "{error}");
}

/// A model whose true difference is at the limit is certified in about 5% of samples.
#[test]
fn welchs_test_keeps_its_level_on_new_people() {
    let mut random = Stream::new(27, Purpose::Synthetic, [0, 0]);
    let mean = |random: &mut Stream, n: usize, center: f64, skew: bool| {
        let values: Vec<f64> = (0..n)
            .map(|_| {
                let z = random.normal();
                // A chi-squared variable has mean 1 and variance 2.
                center + if skew { z * z - 1.0 } else { z }
            })
            .collect();
        let value = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|v| (v - value).powi(2)).sum();
        fairfront_core::Mean {
            value,
            variance: squares / (n as f64 - 1.0) / n as f64,
            rows: n as f64,
            capped: None,
        }
    };
    for (n_a, n_b, skew) in [(40, 15, false), (300, 120, true)] {
        let mut rejected = 0;
        for _ in 0..4_000 {
            let (a, b) = (
                mean(&mut random, n_a, 1.0, skew),
                mean(&mut random, n_b, 0.0, false),
            );
            let contrast = Contrast::MeanDifference { a, b, limit: 1.0 };
            rejected += usize::from(contrast.p_value() <= 0.05);
        }
        // Four standard errors of 200 around the level, and half a percentage point for skewed values.
        let extra = if skew { 20.0 } else { 0.0 };
        assert!(
            (f64::from(rejected as u32) - 200.0).abs() < 56.0 + extra,
            "{n_a} {n_b}: {rejected}"
        );
    }
}

/// Groups with equal means can be extreme in some samples, which makes changes less certain. Models that predict
/// the same have no change.
#[test]
fn changes_have_intervals_of_paired_rows() {
    for measure in [
        "rmse",
        "mae",
        "mean_difference(sex)",
        "worst_group_rmse(sex)",
    ] {
        let column = |end: &str| {
            let name = format!("test.{measure}{end}");
            RUN.front.column(&name).expect("a column")
        };
        let before = RUN.info.unmitigated.values.get(&format!("test.{measure}"));
        let before = before.copied().flatten().expect("a value");
        for model in 0..RUN.front.len() {
            let at = |end: &str| column(end)[model].expect("a value");
            let change = at("") - before;
            let (low, high) = (at(".change_low"), at(".change_high"));
            assert!(low <= change && change <= high, "{measure} {model}");
            // The interval of the change is narrower than that of the value, if models are similar.
            if model == 0 {
                assert!(high - low < at(".high") - at(".low"), "{measure}");
            }
        }
    }
    let high = RUN
        .front
        .column("validation.mean_difference(sex).change_high");
    let fairest = high.expect("a column").last().copied().flatten();
    assert!(fairest.expect("a value") < 0.0);
}
