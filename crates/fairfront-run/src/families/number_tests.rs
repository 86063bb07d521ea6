//! Fronts over learners of numbers, compared with the closed form on a population whose conditional
//! mean m(z) = E[Y | z] and probabilities of groups γ(z) = P(A = 1 | z) are known.
//!
//! With d = γ/π₁ − (1 − γ)/π₀, E[f | A = 1] − E[f | A = 0] = E[f d] for every f(z). So the predictions
//! with the smallest squared error for a mean difference D are f = m + w d with
//! w = (D − E[m d]) / E[d²], and their squared error is σ² + (D − E[m d])² / E[d²].

use std::fmt::Write as _;

use fairfront_core::{Measure, Measures, Purpose, Stream};
use fairfront_data::{Prepared, ReadOptions, Spec};

use super::*;
use crate::family::Brought;
use crate::fit::Fitted;
use crate::{Ask, OverlayKind, fit};

/// Values of each of two columns.
const VALUES: u32 = 6;
const NOISE: f64 = 2.0;

fn mean(u: u32, v: u32) -> f64 {
    let (u, v) = (f64::from(u), f64::from(v));
    20.0 + 3.0 * (u - 2.5).abs() + v * if u > 2.0 { 2.0 } else { 0.5 }
}

fn gamma(u: u32, v: u32) -> f64 {
    let score = if v > 2 { 1.2 } else { -0.8 } + if u.is_multiple_of(2) { 0.5 } else { -0.3 };
    1.0 / (1.0 + libm::exp(-score))
}

/// Means over the population: π₁, E[m d], E[d²].
fn moments() -> (f64, f64, f64) {
    let cells = || (0..VALUES).flat_map(|u| (0..VALUES).map(move |v| (u, v)));
    let n = f64::from(VALUES * VALUES);
    let share = cells().map(|(u, v)| gamma(u, v)).sum::<f64>() / n;
    let d = |(u, v): (u32, u32)| gamma(u, v) / share - (1.0 - gamma(u, v)) / (1.0 - share);
    let both = cells().map(|(u, v)| mean(u, v) * d((u, v))).sum::<f64>() / n;
    let square = cells().map(|cell| d(cell) * d(cell)).sum::<f64>() / n;
    (share, both, square)
}

fn table(rows: usize) -> String {
    let mut random = Stream::new(9, Purpose::Synthetic, [26, 0]);
    let mut text = String::from("y,sex,u,v,known\n");
    for _ in 0..rows {
        let mut value = || (random.uniform() * f64::from(VALUES)) as u32;
        let (u, v) = (value(), value());
        let sex = if random.chance(gamma(u, v)) { "m" } else { "f" };
        let known = mean(u, v);
        let y = known + NOISE * random.normal();
        let _ = writeln!(text, "{y},{sex},{u},{v},{known}");
    }
    text
}

fn fitted(rows: usize, change: impl FnOnce(&mut Spec, &mut Ask)) -> Result<Fitted, Error> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("table.csv");
    std::fs::write(&file, table(rows)).expect("a file");
    let mut spec = Spec {
        target: Some("y".into()),
        sensitive: vec![vec!["sex".into()]],
        drop: vec!["known".into()],
        split: "50/10/40".parse().expect("a split"),
        ..Spec::default()
    };
    let mut ask = Ask {
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
    let request = ask.request("table.csv", &["sex".into()], true)?;
    fit(&prepared, &request, &mut ())
}

/// RMSE and mean difference on test rows of each model, except linear ones.
fn on_test(fitted: &Fitted) -> Vec<[f64; 2]> {
    let rows = fitted.encoded.part(Split::Test);
    let measures = measure(
        &*predictor_of(rows.schema()),
        rows,
        &fitted.outcome.front.points,
    );
    let of = |of: &Measures| {
        [Measure::Rmse, Measure::MeanDifference { attribute: 0 }]
            .map(|m| m.of(of).expect("defined"))
    };
    let measures = measures.expect("measures");
    let models = measures.iter().zip(&fitted.families);
    let learned = models.filter(|(_, family)| !family.is_linear());
    learned.map(|(measures, _)| of(measures)).collect()
}

/// Compares a front with the closed form. `allowed` is the difference of RMSEs in units of the noise.
fn compare(fitted: &Fitted, allowed: f64) {
    let (_, unmitigated, square) = moments();
    let models = on_test(fitted);
    assert!(models.len() > 5, "{}", models.len());
    let mut least = f64::INFINITY;
    for [rmse, difference] in models {
        let moved = unmitigated.abs() - difference;
        let best = (NOISE * NOISE + moved * moved / square).sqrt();
        assert!(
            (rmse - best).abs() < allowed * NOISE,
            "{difference}: {rmse}, {best}"
        );
        least = least.min(difference);
    }
    // 4,800 test rows know a mean to about 0.1.
    assert!(least < 0.3, "{least}");
}

#[test]
fn trees_come_close_to_the_best_front_of_any_function() {
    let trees = fitted(12_000, |_, _| ()).expect("a front");
    compare(&trees, 0.06);
    assert_eq!(trees.families[0], Family::Trees);
    let info = trees.family.expect("families");
    assert_eq!(info.features, ["trees: prediction", "trees: sex=f"]);
    let [outcome, sex] = &trees.learners[..] else {
        panic!("{:?}", trees.learners);
    };
    assert_eq!((outcome.predicts.as_str(), outcome.log_loss), ("y", None));
    assert!(
        (outcome.rmse.expect("a number") - NOISE).abs() < 0.1,
        "{outcome:?}"
    );
    assert!(outcome.classes.is_empty() && sex.log_loss.is_some());
    assert!(
        outcome
            .inputs
            .iter()
            .all(|input| input.permutation.is_some())
    );
}

#[test]
fn covariances_have_an_exact_front_over_learners() {
    let of = |solver: &str| {
        fitted(6_000, |_, ask| {
            ask.objectives = vec!["squared_error".into(), "score_covariance(sex)".into()];
            ask.solver = crate::SolverName::parse(solver).expect("a solver");
        })
    };
    let trace = of("trace").expect("a front");
    compare(&trace, 0.08);
    assert_eq!(trace.judged.front_in, FrontIn::Objectives);
}

#[test]
fn linear_models_and_trees_share_a_front() {
    let both = fitted(6_000, |_, ask| ask.family.family = FamilyName::Auto).expect("a front");
    assert_eq!(both.judged.front_in, FrontIn::Measures);
    assert!(both.judged.linear_optimism.is_some());
    // The mean is far from linear in the columns.
    assert!(
        both.families.contains(&Family::Trees),
        "{:?}",
        both.families
    );
    compare(&both, 0.1);
    // Without a measure, families cannot be compared.
    let linear = fitted(900, |_, ask| {
        ask.family.family = FamilyName::Auto;
        ask.objectives = vec!["squared_error".into(), "group_risk(sex)".into()];
    });
    let linear = linear.expect("a front");
    assert!(linear.families.iter().all(Family::is_linear));
    let note = linear.diagnostics.iter().map(|d| d.message.to_string());
    assert!(
        note.into_iter()
            .any(|n| n.contains("group_risk(sex) has none"))
    );
}

#[test]
fn a_column_with_the_known_mean_gives_the_same_front() {
    let score = fitted(8_000, |spec, ask| {
        spec.drop.clear();
        ask.family.brought = Brought {
            outcome: Some("known".into()),
            ..Brought::default()
        };
    });
    let score = score.expect("a front");
    compare(&score, 0.05);
    assert_eq!(score.families[0], Family::Score);
    let rmse = score.learners[0].rmse.expect("a number");
    assert!((rmse - NOISE).abs() < 0.05, "{rmse}");
    // Plots show the column itself, also next to a front that does not use it.
    let linear = fitted(2_000, |spec, ask| {
        spec.drop.clear();
        spec.marks = vec!["known".into()];
        ask.family.family = FamilyName::Linear;
    });
    for overlays in [score.overlays, linear.expect("a front").overlays] {
        assert_eq!(overlays.len(), 3, "one per split: {overlays:?}");
        for mark in overlays {
            assert_eq!(
                (mark.kind, mark.measures[0].as_str()),
                (OverlayKind::Score, "rmse")
            );
            let rmse = mark.points[0].values[0];
            assert!((rmse - NOISE).abs() < 0.3, "{mark:?}");
        }
    }
}

#[test]
fn a_score_column_must_be_a_number() {
    let error = fitted(300, |_, ask| {
        ask.family.brought.outcome = Some("sex".into());
    });
    let message = error.expect_err("no feature").to_string();
    assert!(
        message.contains("choose a column of predictions"),
        "{message}"
    );
}

#[test]
fn distributions_and_losses_need_products() {
    for fair in ["distribution_difference(sex)", "loss_difference(sex)"] {
        let found = fitted(1_500, |_, ask| {
            ask.objectives = vec!["squared_error".into(), fair.into()];
            ask.models = Some(5);
        });
        let found = found.unwrap_or_else(|e| panic!("{fair}: {e}"));
        let info = found.family.expect("families");
        let products = [
            "trees: prediction",
            "trees: sex=f",
            "trees: prediction * sex=f",
        ];
        assert_eq!(info.features, products, "{fair}");
    }
}

#[test]
fn other_losses_are_refused_with_a_remedy() {
    let error = fitted(300, |_, ask| {
        ask.objectives = vec!["absolute_error".into(), "mean_difference(sex)".into()];
    });
    let message = error.expect_err("no front").to_string();
    assert!(
        message.contains("need squared_error as their loss"),
        "{message}"
    );
    assert!(message.contains("squared_error"), "{message}");
}

#[test]
fn networks_predict_numbers() {
    let network = fitted(1_500, |_, ask| {
        ask.family.family = FamilyName::Network;
        ask.hidden = Some(3);
        ask.models = Some(5);
        ask.penalty = Some(1e-4);
    });
    let network = network.expect("a front");
    assert!(network.families.iter().all(|f| *f == Family::Network));
    let rmse = on_test(&network)
        .iter()
        .map(|m| m[0])
        .fold(f64::INFINITY, f64::min);
    // A constant has an RMSE of about 4.7, a linear model of about 3.3.
    assert!(rmse < 3.1, "{rmse}");
}
