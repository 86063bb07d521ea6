use std::sync::LazyLock;

use fairfront_core::{Contrast, Rate};
use fairfront_data::{Known, Part, Prepared, SplitRule};
use fairfront_model::{Stated, TestKind};
use fairfront_solve::{AnySolver, Weighted};
use proptest::prelude::*;

use super::*;
use crate::{FitRequest, SolverChoice, fit, write_run};

const PARITY: &str = "demographic_parity_difference(sex) <= 0.12";

fn request() -> FitRequest {
    FitRequest {
        objectives: vec!["error_rate".into(), "demographic_parity(sex)".into()],
        solvers: vec![SolverChoice {
            solver: AnySolver::Weighted(Weighted::default()),
            polish: None,
        }],
        front_in: None,
        penalty: crate::Penalty::default(),
        loss_alone: false,
        family: crate::FamilyRequest::default(),
    }
}

fn fitted(shares: [f64; 4]) -> Run {
    let known = Known::parse("demo(rows=8000)")
        .unwrap()
        .expect("a known data set");
    let mut spec = known.spec();
    spec.split = SplitRule::Shares(shares);
    let prepared = Prepared::from_known(&known, &spec, None).expect("rows");
    let fitted = fit(&prepared, &request(), &mut ()).expect("a front");
    Run::of(&Facts::of(&prepared).unwrap(), &fitted)
}

static SHOWN: LazyLock<Run> = LazyLock::new(|| fitted([50.0, 10.0, 0.0, 40.0]));
static HIDDEN: LazyLock<Run> = LazyLock::new(|| fitted([40.0, 10.0, 30.0, 20.0]));

fn demand(requirements: &[&str], confidence: f64) -> Demand {
    let requirements: Vec<String> = requirements.iter().map(|r| (*r).to_owned()).collect();
    Demand::parse(&requirements, confidence, false, None).expect("requirements")
}

fn best() -> Rule {
    Rule::Best(Some(Term::parse("accuracy").expect("a term")))
}

fn rejected(run: &Run, text: &str) -> Error {
    Plan::new(run, &demand(&[text], 0.95))
        .err()
        .expect("an error")
}

#[test]
fn each_new_requirement_gets_half_of_the_previous_level() {
    let mut run = HIDDEN.clone();
    let mut level = |text: &str| {
        let choice = choose_in_memory(&mut run, &demand(&[text], 0.95), &best());
        choice.expect("a model").certificate.expect("a test")
    };
    let first = level(PARITY);
    assert_eq!(
        (first.number, first.level, first.stated),
        (1, 0.05, Stated::Before)
    );
    let second = level("demographic_parity_difference(sex) <= 0.13");
    assert_eq!((second.number, second.level), (2, 0.025));
    // Repeating a call is free and returns the same certificate.
    assert_eq!(level(PARITY), first);
    assert_eq!(level("accuracy >= 0.5").level, 0.0125);
    assert_eq!(run.uses.len(), 3);
}

#[test]
fn models_are_tested_in_the_order_of_validation_rows_until_one_fails() {
    let plan_of = demand(&[PARITY], 0.95);
    let plan = Plan::new(&HIDDEN, &plan_of).expect("a plan");
    let (certificate, is_new) = plan.certify(&[], true).expect("a test");
    assert!(is_new && !certificate.certified.is_empty());
    let order: Vec<f64> = certificate.tested.iter().map(|t| t.order_p_value).collect();
    assert!(order.windows(2).all(|w| w[0] <= w[1]), "{order:?}");
    let (last, before) = certificate.tested.split_last().expect("a model");
    assert!(before.iter().all(|t| t.p_value <= 0.05));
    let passed = before.len() + usize::from(last.p_value <= 0.05);
    assert_eq!(certificate.certified.len(), passed);
    // p-values by their definition: the largest over ordered pairs of groups.
    let tallies = &HIDDEN.evidence.certify.as_ref().expect("rows").tallies;
    for tested in &certificate.tested {
        let cell = |region| tallies.cell(tested.model_id.index(), Rate::Selection, region);
        let p = |a, b| {
            let (a, b) = (cell(a), cell(b));
            Contrast::Difference { a, b, limit: 0.12 }.p_value()
        };
        assert_eq!(tested.p_value, p(1, 2).max(p(2, 1)));
    }
}

#[test]
fn requirements_after_looking_have_to_hold_for_the_band() {
    let mut run = SHOWN.clone();
    let choice = choose_in_memory(&mut run, &demand(&[PARITY], 0.95), &best()).expect("a model");
    let certificate = choice.certificate.expect("a test");
    assert_eq!(
        (certificate.test, certificate.stated),
        (TestKind::Band, Stated::AfterLooking)
    );
    let of_model = choice.of_model.expect("a certificate");
    let [_, high] = of_model.requirements[0].band.expect("a band");
    assert!(high <= 0.12 && of_model.verdict == Verdict::Certified);
    // Another limit on the same measure is the same use; another measure is a new use.
    let mut number = |text: &str| {
        let choice = choose_in_memory(&mut run, &demand(&[text], 0.95), &best());
        choice.expect("a model").certificate.expect("a test").number
    };
    assert_eq!(number("demographic_parity_difference(sex) <= 0.15"), 1);
    assert_eq!(number("accuracy >= 0.5"), 2);
    // Each of several requirements needs a wider band.
    let both = demand(&[PARITY, "accuracy >= 0.5"], 0.95);
    let choice = choose_in_memory(&mut SHOWN.clone(), &both, &best()).expect("a model");
    let [_, wider] = choice.of_model.expect("a certificate").requirements[0]
        .band
        .expect("a band");
    let id = choice.selection.model_id.index();
    let own = Plan::new(&SHOWN, &both).expect("a plan");
    let [_, narrow] = own.band(&own.bounds[0], id, 0.05).expect("a band");
    assert!(wider > narrow);
}

#[test]
fn a_requirement_that_was_fixed_before_the_fit_stays_certified() {
    let mut run = SHOWN.clone();
    let wanted = demand(&[PARITY], 0.95);
    certify_fit(&mut run, &wanted, Vec::new()).expect("a test");
    let certificate = run.info.certified.clone().expect("a certificate");
    assert_eq!(
        (certificate.test, certificate.stated),
        (TestKind::Score, Stated::Before)
    );
    let again = choose_in_memory(&mut run, &wanted, &best()).expect("a model");
    assert_eq!(again.certificate, Some(certificate));
    // The next requirement was stated after looking, and is the second use.
    let choice = choose_in_memory(&mut run, &demand(&["accuracy >= 0.5"], 0.95), &best());
    let later = choice.expect("a model").certificate.expect("a test");
    assert_eq!((later.number, later.stated), (2, Stated::AfterLooking));
}

#[test]
fn requirements_that_cannot_be_tested_are_rejected_with_a_remedy() {
    let all = [
        ("log_loss <= 0.6", "cannot be certified"),
        (
            "demographic_parity(sex) <= 0.1",
            "demographic_parity(sex) is not a measure; write demographic_parity_difference(sex) (objectives \
             cannot be certified",
        ),
        (
            "disparate_impact(sex) >= 80%",
            "disparate_impact(sex) is not a measure; write demographic_parity_ratio(sex)",
        ),
        (
            "test.accuracy >= 0.6",
            "a requirement on test rows cannot be certified; write accuracy",
        ),
        ("train.accuracy >= 0.6", "on train rows"),
        ("demographic_parity_difference(sex) >= 0.1", "use <="),
        ("demographic_parity_ratio(sex) <= 0.9", "use >="),
        (
            "demographic_parity_difference(age) <= 0.1",
            "the run has no",
        ),
        ("accurracy >= 0.6", "accuracy"),
    ];
    for (text, problem) in all {
        let error = rejected(&SHOWN, text);
        assert!(error.to_string().contains(problem), "{error}");
        assert!(error.is_usage(), "{error}");
        assert!(
            error.to_string().contains("confidence=none")
                || problem.contains("the run has no")
                || problem.contains("is not a measure")
                || problem == "accuracy",
            "{error}"
        );
    }
    for level in [0.0, 1.0, -0.5, f64::NAN] {
        assert!(Demand::parse(&[PARITY.into()], level, false, None).is_err());
    }
    let no_rows = fitted([90.0, 10.0, 0.0, 0.0]);
    assert!(
        rejected(&no_rows, PARITY)
            .to_string()
            .contains("no rows to certify on")
    );
}

#[test]
fn without_a_certified_model_the_error_names_the_closest_and_the_rows_it_needs() {
    let strict = demand(&["demographic_parity_difference(sex) <= 0.001"], 0.95);
    let error = choose_in_memory(&mut HIDDEN.clone(), &strict, &best()).expect_err("no model");
    assert!(matches!(error, Error::Uncertified(_)), "{error}");
    let Error::Uncertified(found) = &error else {
        panic!("{error}");
    };
    assert!(
        found
            .closest
            .as_ref()
            .is_some_and(|closest| closest.p_value > 0.05)
    );
    assert!(error.to_string().contains("comes closest"), "{error}");
    // A model whose estimate meets the limit is certified by the suggested number of rows.
    let plan_of = demand(&[PARITY], 0.95);
    let plan = Plan::new(&HIDDEN, &plan_of).expect("a plan");
    let needed = (0..HIDDEN.front.len())
        .find_map(|m| Some((m, plan.rows_needed(m, 0.05, TestKind::Score)?)));
    let (model, needed) = needed.expect("a model within the limit");
    let times = needed as f64 / plan.certifying.rows as f64;
    let mut scaled = plan.certifying.tallies.clone();
    let more = |sums: &mut [[f64; 2]; 2]| sums.iter_mut().flatten().for_each(|v| *v *= times);
    scaled.totals.iter_mut().for_each(more);
    scaled.selected.iter_mut().flatten().for_each(more);
    // If the rates are exactly as estimated, z is the sum of the z of the level and of the power.
    let p = plan.p_value(&scaled, model, false);
    assert!(p < 0.05 && p > 1e-3, "{p}");
}

#[test]
fn groups_without_certifying_rows_prevent_a_certificate() {
    let mut run = SHOWN.clone();
    let certify = run.evidence.certify.as_mut().expect("rows");
    certify.tallies.totals[1] = [[0.0; 2]; 2];
    certify
        .tallies
        .selected
        .iter_mut()
        .for_each(|of_model| of_model[1] = [[0.0; 2]; 2]);
    let error = rejected(&run, PARITY);
    assert!(matches!(error, Error::Uncertified(_)), "{error}");
    assert!(error.to_string().contains("no rows of sex="), "{error}");
    // Weighted groups need an effective number of rows.
    let mut run = SHOWN.clone();
    let certify = run.evidence.certify.as_mut().expect("rows");
    certify.tallies.totals[1]
        .iter_mut()
        .for_each(|sums| sums[1] = sums[0] * 100.0);
    let error = rejected(&run, PARITY);
    assert!(
        error.to_string().contains("equal rows, fewer than 30"),
        "{error}"
    );
    let exact = Demand::parse(&[PARITY.into()], 0.95, true, None).expect("a demand");
    let error = Plan::new(&run, &exact).err().expect("an error");
    assert!(error.to_string().ends_with("remove exact"), "{error}");
}

#[test]
fn finite_sample_tests_certify_no_more_than_score_tests() {
    let score = demand(&[PARITY], 0.95);
    let exact = Demand::parse(&[PARITY.into()], 0.95, true, None).expect("a demand");
    let certified = |demand: &Demand| {
        let plan = Plan::new(&HIDDEN, demand).expect("a plan");
        plan.certify(&[], true).expect("a test").0
    };
    let (score, exact) = (certified(&score), certified(&exact));
    assert!(
        exact
            .certified
            .iter()
            .all(|model| score.certified.contains(model))
    );
    assert!(exact.tested[0].p_value >= score.tested[0].p_value);
}

#[test]
fn the_folder_has_a_log_protected_against_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run");
    write_run(&path, false, &mut HIDDEN.clone()).expect("a run");
    let run = Run::read(&path).expect("a run");
    assert_eq!(run.evidence, HIDDEN.evidence);
    for text in [PARITY, PARITY, "accuracy >= 0.5"] {
        choose_certified(&path, &run, &demand(&[text], 0.95), &best()).expect("a model");
    }
    let log = path.join(USES);
    let text = std::fs::read_to_string(&log).expect("a log");
    assert_eq!(text.lines().count(), 2);
    assert_eq!(logged_uses(&path).expect("uses").len(), 2);
    // A line cut short by a kill was never shown, and is removed.
    std::fs::write(&log, format!("{text}{{\"certificate\"")).expect("a file");
    assert_eq!(logged_uses(&path).expect("uses").len(), 2);
    choose_certified(&path, &run, &demand(&["accuracy >= 0.51"], 0.95), &best()).expect("a model");
    assert_eq!(logged_uses(&path).expect("uses").len(), 3);
    // An edited line is rejected and left unchanged.
    let edited = text.replacen("\"level\":0.05", "\"level\":0.5", 1);
    assert_ne!(edited, text);
    std::fs::write(&log, &edited).expect("a file");
    let error = choose_certified(&path, &run, &demand(&[PARITY], 0.95), &best());
    let error = error.expect_err("an edited log").to_string();
    assert!(
        error.contains("line 1 was changed after it was written"),
        "{error}"
    );
    assert_eq!(std::fs::read_to_string(&log).expect("a log"), edited);
    // A removed line is rejected too, because the next one is chained to it.
    let second = text.lines().nth(1).expect("a line");
    std::fs::write(&log, format!("{second}\n")).expect("a file");
    assert!(logged_uses(&path).is_err());
}

#[test]
fn certifying_rows_influence_no_choice() {
    // Other labels on the certifying rows do not change models, columns or order.
    let known = Known::parse("demo(rows=3000)")
        .unwrap()
        .expect("a known data set");
    let mut spec = known.spec();
    spec.split = SplitRule::Shares([40.0, 10.0, 30.0, 20.0]);
    let run_with = |flip: bool| {
        let mut prepared = Prepared::from_known(&known, &spec, None).expect("rows");
        if flip {
            for part in [Part::Certify, Part::Test] {
                for row in prepared.split.part(part).to_vec() {
                    prepared.labels[row as usize] *= -1.0;
                }
            }
        }
        Run::of(
            &Facts::of(&prepared).unwrap(),
            &fit(&prepared, &request(), &mut ()).expect("a front"),
        )
    };
    let (run, flipped) = (run_with(false), run_with(true));
    assert_eq!(run.front.params, flipped.front.params);
    assert_eq!(run.evidence.order, flipped.evidence.order);
    assert_ne!(run.evidence.certify, flipped.evidence.certify);
    for (name, values) in run.front.names.iter().zip(&run.front.columns) {
        assert!(!name.starts_with("certify."), "{name} shows certify rows");
        if !name.starts_with("test.") && !name.starts_with("reliability.") {
            assert_eq!(
                Some(values.as_slice()),
                flipped.front.column(name),
                "{name}"
            );
        }
    }
}

proptest! {
    #[test]
    fn intervals_contain_the_estimate_and_grow(q in 0.1..6.0_f64, more in 0.0..2.0_f64, model in 0..5_usize) {
        let schema = SHOWN.encoding.schema();
        let tallies = &SHOWN.evidence.certify.as_ref().expect("rows").tallies;
        for family in Family::all(&schema) {
            let value = family.value(|rate, region| tallies.cell(model, rate, region).rate());
            let (Some(value), Some((low, high))) = (value, family.interval(tallies, model, q)) else {
                continue;
            };
            prop_assert!(low <= value + 1e-12 && value <= high + 1e-12, "{} {low} {value} {high}", family.name);
            prop_assert!((0.0..=1.0).contains(&low) && (0.0..=1.0).contains(&high));
            let (lower, higher) = family.interval(tallies, model, q + more).expect("an interval");
            prop_assert!(lower <= low + 1e-12 && high <= higher + 1e-12);
        }
    }
}
