//! Fronts of classes on a population whose probabilities are known.
//!
//! Two columns u and v have six values each, and determine the probabilities of three classes and, given the
//! class, of two groups. For any multipliers λ, decisions with a demographic parity difference of at most ε
//! have an error rate of at least 1 − E[m] − ε Σ |λ|. Here m is the largest of p − λ d over the classes, and
//! d the difference of γ/π between both groups.

use std::fmt::Write as _;

use fairfront_core::{Measure, Measures, Purpose, Stream};
use fairfront_data::{Input, Prepared, ReadOptions, Spec};
use fairfront_pareto::{Values, hypervolume};

use super::*;
use crate::family::Brought;
use crate::{Ask, OverlayKind};

const CLASSES: [&str; 3] = ["high", "low", "mid"];
/// Values of each of two columns.
const VALUES: u32 = 6;

/// P(Y = j | u, v): far from linear.
fn outcome(u: u32, v: u32) -> [f64; 3] {
    let (u, v) = (f64::from(u), f64::from(v));
    let odds = [
        0.3 + 0.3 * u * v,
        1.0 + 0.5 * v,
        0.4 + 1.2 * (u - 2.5) * (u - 2.5),
    ];
    odds.map(|odd| odd / odds.iter().sum::<f64>())
}

/// P(A = m | Y = j, u, v).
fn group(u: u32, v: u32, class: usize) -> f64 {
    let score =
        if v > 2 { 0.8 } else { -0.8 } + [0.7, -0.4, 0.0][class] - if u > 3 { 0.5 } else { 0.0 };
    1.0 / (1.0 + libm::exp(-score))
}

/// P(A = m | u, v).
fn gamma(u: u32, v: u32) -> f64 {
    let p = outcome(u, v);
    (0..3).map(|class| p[class] * group(u, v, class)).sum()
}

fn cells() -> impl Iterator<Item = (u32, u32)> {
    (0..VALUES).flat_map(|u| (0..VALUES).map(move |v| (u, v)))
}

/// The largest of the bounds on the error rate that subgradient steps find.
fn bound(allowed: f64) -> f64 {
    let n = f64::from(VALUES * VALUES);
    let share = cells().map(|(u, v)| gamma(u, v)).sum::<f64>() / n;
    let d = |u, v| gamma(u, v) / share - (1.0 - gamma(u, v)) / (1.0 - share);
    let rows: Vec<([f64; 3], f64)> = cells().map(|(u, v)| (outcome(u, v), d(u, v))).collect();
    let (mut best, mut lambda) = (f64::NEG_INFINITY, [0.0_f64; 3]);
    for step in 1..4_000 {
        let (mut right, mut slope) = (0.0, [0.0; 3]);
        for (p, d) in &rows {
            let score = |class: usize| p[class] - lambda[class] * d;
            let top = (1..3).fold(0, |top, c| if score(c) > score(top) { c } else { top });
            right += score(top) / n;
            slope[top] += d / n;
        }
        let size: f64 = lambda.iter().map(|l| l.abs()).sum();
        best = best.max(1.0 - right - allowed * size);
        for (lambda, slope) in lambda.iter_mut().zip(slope) {
            let sign = if *lambda == 0.0 { 0.0 } else { lambda.signum() };
            *lambda += 0.2 / f64::from(step).sqrt() * (slope - allowed * sign);
        }
    }
    best
}

fn table(rows: usize) -> String {
    let mut random = Stream::new(9, Purpose::Synthetic, [41, 0]);
    let mut text = String::from("y,sex,u,v,p_high,p_low,p_mid\n");
    for _ in 0..rows {
        let mut value = || (random.uniform() * f64::from(VALUES)) as u32;
        let (u, v) = (value(), value());
        let (p, at) = (outcome(u, v), random.uniform());
        let class = usize::from(at > p[0]) + usize::from(at > p[0] + p[1]);
        let sex = if random.chance(group(u, v, class)) {
            "m"
        } else {
            "f"
        };
        let [high, low, mid] = p;
        let _ = writeln!(text, "{},{sex},{u},{v},{high},{low},{mid}", CLASSES[class]);
    }
    text
}

/// A front before it is measured, and its table.
fn found(
    rows: usize,
    change: impl FnOnce(&mut Spec, &mut Ask),
) -> Result<(Found, Prepared), Error> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("table.csv");
    std::fs::write(&file, table(rows)).expect("a file");
    let mut spec = Spec {
        target: Some("y".into()),
        sensitive: vec![vec!["sex".into()]],
        drop: ["p_high", "p_low", "p_mid"].map(String::from).to_vec(),
        split: "50/10/40".parse().expect("a split"),
        ..Spec::default()
    };
    let mut ask = Ask {
        objectives: vec!["error_rate".into(), "demographic_parity(sex)".into()],
        models: Some(12),
        family: FamilyRequest {
            family: FamilyName::Trees,
            ..FamilyRequest::default()
        },
        ..Ask::default()
    };
    change(&mut spec, &mut ask);
    let files = [file.display().to_string()];
    let prepared = Prepared::from_files(&files, &spec, ReadOptions::default())?;
    let request = ask.request("table.csv", &["sex".into()], false)?;
    let input = Input::of(&prepared, true)?;
    let given = Given {
        request: &request,
        custom: &[],
        earlier: None,
    };
    let found = match request.family.family.learns() {
        true => find(input.encoded, given, None, &mut ())?,
        false => fit::find(input.encoded, given, None, &mut ())?,
    };
    Ok((found, prepared))
}

/// These measures on test rows of each model, the unmitigated one last.
fn on_test(found: &Found, measures: [Measure; 2]) -> Vec<[f64; 2]> {
    let rows = found.encoded.part(Split::Test);
    let outcome = &found.judged.outcome;
    let mut points = outcome.front.points.clone();
    points.push(outcome.unmitigated.points.get(0));
    let all = measure(&*predictor_of(rows.schema()), rows, &points).expect("measures");
    let of = |all: &Measures| measures.map(|m| m.of(all).expect("defined"));
    all.iter().map(of).collect()
}

const PARITY: [Measure; 2] = [
    Measure::ErrorRate(fairfront_core::Costs::EQUAL),
    Measure::DemographicParity { attribute: 0 },
];

/// The share of the rectangle up to these values that models dominate on test rows.
fn dominated(models: &[[f64; 2]], corner: [f64; 2]) -> f64 {
    let values = models.concat();
    let values = Values::new(&values, 2).expect("numbers");
    hypervolume(values, &corner).expect("a volume") / corner.iter().product::<f64>()
}

fn features(found: &Found) -> &[String] {
    let info = found.about.info.as_ref();
    &info.expect("families").features
}

/// Compares error rates on test rows with the bound.
fn compare(found: &Found, allowed: f64) {
    let models = on_test(found, PARITY);
    assert!(models.len() > 5, "{}", models.len());
    let mut least = f64::INFINITY;
    for [error, difference] in models {
        let bound = bound(difference);
        assert!(
            (error - bound).abs() < allowed,
            "{difference}: {error}, {bound}"
        );
        least = least.min(difference);
    }
    // The unmitigated model has a difference of about 0.12.
    assert!(least < 0.05, "{least}");
}

#[test]
fn trees_come_close_to_the_bound() {
    let (trees, _) = found(12_000, |_, _| ()).expect("a front");
    compare(&trees, 0.025);
    let families = &trees.judged.families;
    assert!(families.iter().all(|family| *family == Family::Trees));
    assert_eq!(
        features(&trees),
        [
            "trees: probability of high",
            "trees: probability of low",
            "trees: probability of mid",
            "trees: sex=m"
        ]
    );
    let [outcome, sex] = &trees.about.learners[..] else {
        panic!("{:?}", trees.about.learners);
    };
    assert_eq!(
        (outcome.predicts.as_str(), sex.predicts.as_str()),
        ("y", "sex")
    );
    assert_eq!(outcome.classes, CLASSES);
    assert!(outcome.log_loss.is_some() && outcome.auc.expect("rows") > 0.7);
    let inputs = outcome.inputs.iter();
    assert!(inputs.clone().count() == 2 && inputs.clone().all(|i| i.permutation.is_some()));
    // The estimated bound is for binary decisions only.
    assert!(trees.about.overlays.is_empty());
    let schema = trees.encoded.part(Split::Train).schema();
    let learned = trees.encoded.encoding.learned.as_ref().expect("learners");
    assert!(
        learned
            .check(&trees.encoded.encoding.columns_schema())
            .is_ok()
    );
    assert_eq!(
        trees.judged.outcome.front.points.n_params(),
        3 * (schema.n_features() + 1)
    );
}

#[test]
fn rates_within_classes_have_a_learner_per_class() {
    let of = |objective: &str| {
        let asked = |_: &mut Spec, ask: &mut Ask| {
            ask.objectives = vec!["error_rate".into(), objective.into()];
            ask.models = Some(5);
        };
        found(2_000, asked).expect("a front").0
    };
    let all = of("equalized_odds(sex)");
    let predicts = all.about.learners.iter().map(|l| l.predicts.as_str());
    assert_eq!(
        predicts.collect::<Vec<_>>(),
        [
            "y",
            "sex given y = high",
            "sex given y = low",
            "sex given y = mid"
        ]
    );
    assert!(
        features(&all)[4].starts_with("trees: sex=") && features(&all)[4].ends_with(" given low")
    );
    let one = of("equal_opportunity(sex, given=mid)");
    assert_eq!(features(&one).len(), 4);
    assert!(
        features(&one)[3].ends_with(" given mid"),
        "{:?}",
        features(&one)
    );
}

#[test]
fn the_log_loss_has_log_probabilities_as_features() {
    let (front, _) = found(8_000, |_, ask| {
        ask.objectives[0] = "log_loss".into();
        ask.models = Some(8);
    })
    .expect("a front");
    assert_eq!(features(&front)[1], "trees: log probability of low");
    let measures = [
        Measure::LogLoss,
        Measure::DemographicParity { attribute: 0 },
    ];
    let models = on_test(&front, measures);
    let [loss, difference] = models[models.len() - 1];
    let losses = cells().flat_map(|(u, v)| outcome(u, v));
    let entropy = -losses.map(|p| p * p.ln()).sum::<f64>() / f64::from(VALUES * VALUES);
    assert!((loss - entropy).abs() < 0.03, "{loss}, {entropy}");
    let least = models.iter().map(|m| m[1]).fold(f64::INFINITY, f64::min);
    assert!(least < 0.5 * difference, "{least}, {difference}");
}

#[test]
fn trees_dominate_linear_models_on_a_table_that_is_not_linear() {
    let of = |family| {
        let (front, _) = found(6_000, |_, ask| ask.family.family = family).expect("a front");
        let families = front.judged.families.clone();
        let linear = front.judged.info.linear_optimism.is_some();
        (
            dominated(&on_test(&front, PARITY), [0.7, 0.3]),
            families,
            linear,
        )
    };
    let (linear, families, _) = of(FamilyName::Linear);
    assert!(families.iter().all(Family::is_linear));
    let (trees, ..) = of(FamilyName::Trees);
    let (both, families, is_corrected) = of(FamilyName::Auto);
    assert!(trees > linear + 0.03, "{trees}, {linear}");
    assert!(both > linear + 0.03, "{both}, {linear}");
    assert!(families.contains(&Family::Trees) && is_corrected);
}

#[test]
fn objectives_without_a_measure_leave_linear_models() {
    let asked = |family| {
        move |_: &mut Spec, ask: &mut Ask| {
            ask.family.family = family;
            ask.objectives = vec!["error_rate".into(), "worst_group_loss(sex)".into()];
            ask.models = Some(5);
        }
    };
    let (linear, _) = found(1_500, asked(FamilyName::Auto)).expect("a front");
    assert!(linear.judged.families.iter().all(Family::is_linear));
    let notes = linear.diagnostics.iter().map(|d| d.message.to_string());
    let notes: Vec<String> = notes.collect();
    assert!(
        notes
            .iter()
            .any(|note| note.contains("worst_group_loss(sex) has none")),
        "{notes:?}"
    );
    // Trees alone are compared in the objectives.
    let (trees, _) = found(1_500, asked(FamilyName::Trees)).expect("a front");
    assert_eq!(trees.judged.info.front_in, FrontIn::Objectives);
    assert!(trees.judged.families.contains(&Family::Trees));
}

fn scored(columns: &'static str) -> impl FnOnce(&mut Spec, &mut Ask) {
    |spec, ask| {
        spec.drop.clear();
        ask.family.by_group = true;
        ask.family.brought = Brought {
            outcome: Some(columns.into()),
            ..Brought::default()
        };
    }
}

#[test]
fn columns_with_the_known_probabilities_give_the_same_front() {
    let (score, _) = found(8_000, scored("p_high, p_low, p_mid")).expect("a front");
    compare(&score, 0.03);
    assert_eq!(score.judged.families[0], Family::Score);
    assert_eq!(features(&score)[0], "score: probability of high");
    let learner = &score.about.learners[0];
    assert_eq!(
        (learner.kind.as_str(), learner.inputs.len()),
        ("score column", 3)
    );
    let notes = score.diagnostics.iter().map(|d| d.message.to_string());
    assert!(
        notes
            .into_iter()
            .any(|note| note.contains("thresholds by group are not shown"))
    );
    let overlays = &score.about.overlays;
    assert_eq!(overlays.len(), 3, "one per split: {overlays:?}");
    for mark in overlays {
        assert_eq!(
            (mark.kind, mark.measures[0].as_str()),
            (OverlayKind::Score, "1 - accuracy")
        );
        // The largest known probability decides.
        let error = mark.points[0].values[0];
        assert!((error - bound(1.0)).abs() < 0.06, "{mark:?}");
        assert!(mark.measures.contains(&"log_loss".to_owned()), "{mark:?}");
    }
}

#[test]
fn marks_have_a_column_per_class() {
    let names = ["p_high", "p_low", "p_mid"].map(String::from);
    let marked = |marks: &[String]| {
        let marks = marks.to_vec();
        let front = found(1_500, |spec, ask| {
            spec.drop.clear();
            spec.marks = marks;
            ask.models = Some(4);
        });
        let (found, prepared) = front.expect("a front");
        let objectives = ["error_rate".to_owned()];
        crate::mark::marks(&prepared, &found.encoded, &objectives, &[])
    };
    let marks = marked(&names).expect("marks");
    assert_eq!(
        (marks.len(), marks[0].label.as_str()),
        (3, "p_high, p_low, p_mid")
    );
    let error = marked(&names[..2]).expect_err("a column is missing");
    let message = error.to_string();
    assert!(
        error.is_usage() && message.contains("each of high, low, mid, in this order"),
        "{message}"
    );
}

#[test]
fn score_columns_are_checked() {
    let refused = |columns| {
        let error = found(600, scored(columns))
            .map(|_| ())
            .expect_err("no front");
        error.to_string()
    };
    let message = refused("p_high");
    assert!(
        message.contains("found 1; list one column for each of high, low, mid"),
        "{message}"
    );
    let message = refused("p_high, p_low, p_low");
    assert!(message.contains("add up to"), "{message}");
    let message = refused("p_high, p_low, u");
    assert!(message.contains("is not between 0 and 1"), "{message}");
    let message = refused("p_high, p_low, sex");
    assert!(
        message.contains("choose a column of probabilities"),
        "{message}"
    );
}
