use fairfront_core::Schema;
use fairfront_data::{Encoded, Known, Part, Prepared};
use fairfront_solve::{AnySolver, Weighted};

use super::*;
use crate::{FitRequest, SolverChoice, fit};

fn demo(rows: usize) -> (Prepared, Dataset) {
    let known = Known::parse(&format!("demo(rows={rows})"))
        .unwrap()
        .unwrap();
    let prepared = Prepared::from_known(&known, &known.spec(), None).unwrap();
    let train = Encoded::new(&prepared).unwrap().part(Part::Train).clone();
    (prepared, train)
}

fn tried(lambda: f64, loss: f64, excess_standard_error: f64) -> TriedPenalty {
    TriedPenalty {
        lambda,
        loss,
        standard_error: 0.1,
        excess_standard_error,
    }
}

#[test]
fn the_largest_penalty_within_one_standard_error_is_chosen() {
    let path = [
        tried(1.0, 0.70, 0.05),
        tried(0.1, 0.52, 0.03),
        tried(0.01, 0.50, 0.0),
        tried(0.001, 0.51, 0.02),
    ];
    assert_eq!(one_standard_error(&path), Some(0.1));
    // An excess of exactly one standard error is allowed; a larger one is not.
    let mut exact = path;
    exact[1] = tried(0.1, 0.625, 0.125);
    exact[2].loss = 0.5;
    assert_eq!(one_standard_error(&exact), Some(0.1));
    exact[1].excess_standard_error = 0.124;
    assert_eq!(one_standard_error(&exact), Some(0.01));
    // Ties go to the larger penalty.
    let flat = [tried(1.0, 0.5, 0.0), tried(0.1, 0.5, 0.0)];
    assert_eq!(one_standard_error(&flat), Some(1.0));
    assert_eq!(one_standard_error(&[]), None);
}

#[test]
fn standard_errors_are_computed_over_the_folds() {
    let losses = [vec![0.7, 0.5], vec![0.9, 0.6], vec![0.8, 0.7]];
    let path = summary(&[1.0, 0.1], &losses);
    // Computed by hand: means 0.8 and 0.6, deviations ±0.1; excess 0.2, 0.3, 0.1.
    let third = (0.01_f64 / 3.0).sqrt();
    for (tried, loss, error, excess) in [(path[0], 0.8, third, third), (path[1], 0.6, third, 0.0)] {
        assert!((tried.loss - loss).abs() < 1e-15);
        assert!((tried.standard_error - error).abs() < 1e-15);
        assert!((tried.excess_standard_error - excess).abs() < 1e-15);
    }
    assert!(summary(&[1.0], &[vec![0.5]]).is_empty());
}

#[test]
fn folds_have_equal_shares_of_each_label() {
    let (_, train) = demo(1_000);
    let loaded = train.loaded().unwrap();
    let folds = folds(&loaded, 3);
    let mut all: Vec<usize> = folds.concat();
    all.sort_unstable();
    assert_eq!(all, (0..train.n_rows()).collect::<Vec<_>>());
    let labels: Vec<f64> = loaded.blocks().flat_map(|b| b.labels().to_vec()).collect();
    let positives = |fold: &Vec<usize>| fold.iter().filter(|row| labels[**row] > 0.0).count();
    let counts: Vec<usize> = folds.iter().map(positives).collect();
    let (least, most) = (counts.iter().min(), counts.iter().max());
    assert!(most.unwrap() - least.unwrap() <= 1, "{counts:?}");
    assert_ne!(folds, super::folds(&loaded, 4));
    assert_eq!(folds, super::folds(&loaded, 3));
}

#[test]
fn cross_validation_samples_many_rows() {
    let (_, train) = demo(20_000);
    assert!(train.n_rows() > MOST_ROWS);
    let asked = Penalty::Auto { seed: 0 };
    let info = PenaltyInfo::choose(asked, &train, &StopSignal::default()).unwrap();
    assert_eq!(info.validation.unwrap().rows, MOST_ROWS);
}

/// Compares losses of the path with models that the problem's own Newton's method finds from 0, and
/// with a loss computed by its definition.
#[test]
fn held_out_losses_match_models_fitted_from_scratch() {
    let (_, train) = demo(500);
    let info =
        PenaltyInfo::choose(Penalty::Auto { seed: 5 }, &train, &StopSignal::default()).unwrap();
    let validation = info.validation.as_ref().unwrap();
    assert_eq!((validation.folds, validation.rows), (FOLDS, train.n_rows()));
    let folds = folds(&train.loaded().unwrap(), 5);
    for (at, tried) in [(0, 1.0), (4, 0.01), (8, 1e-4)] {
        let mut sum = 0.0;
        for held_out in &folds {
            let kept: Vec<usize> = (0..train.n_rows())
                .filter(|row| !held_out.contains(row))
                .collect();
            let scale = train.n_rows() as f64 / kept.len() as f64;
            let kept = gathered(&train, &kept).unwrap();
            let problem = convex_problem(Arc::new(kept), Arc::new(Linear), tried * scale).unwrap();
            let x = problem
                .loss()
                .unwrap()
                .minimizer(None, &StopSignal::default())
                .unwrap()
                .unwrap();
            let block = train.gather(held_out).unwrap();
            let mut loss = 0.0;
            for row in 0..block.n_rows() {
                let numbers = block.numeric(row).iter().zip(&x).map(|(z, c)| z * c);
                let codes = block.codes(row).iter().map(|code| x[*code as usize]);
                let score = x[x.len() - 1] + numbers.sum::<f64>() + codes.sum::<f64>();
                loss += (-block.labels()[row] * score).exp().ln_1p();
            }
            sum += loss / block.n_rows() as f64;
        }
        let found = validation.path[at];
        assert_eq!(found.lambda, tried);
        // Models of the path stop when a step predicts a decrease below 1e-9. Held-out losses are
        // not flat there and change by at most the square root of that.
        assert!((found.loss - sum / 5.0).abs() < 1e-4, "{found:?}");
    }
    assert!(validation.path.iter().any(|t| t.lambda == info.chosen));
    assert_eq!(info.asked(), Penalty::Auto { seed: 5 });
}

#[test]
fn both_minimizers_agree() {
    let (_, train) = demo(500);
    for lambda in [0.3, 0.01, 1e-4] {
        let problem = convex_problem(Arc::new(train.clone()), Arc::new(Linear), lambda).unwrap();
        let zero = vec![0.0; problem.n_params()];
        let value = |x: Vec<f64>| {
            let n = x.len();
            problem.values(&Points::from_vec(n, x)).unwrap()[0]
        };
        let exact = value(
            problem
                .loss()
                .unwrap()
                .minimizer(None, &StopSignal::default())
                .unwrap()
                .unwrap(),
        );
        let newton = value(minimize(&problem, &zero, &StopSignal::default()).unwrap());
        let wide = value(wide(&problem, &zero, &StopSignal::default()).unwrap());
        assert!((newton - exact).abs() < 1e-9, "{lambda}: {newton} {exact}");
        // The quasi-Newton method skips the last three steps of a millionth of the loss and any
        // after them.
        assert!((wide - exact).abs() < 1e-4, "{lambda}: {wide} {exact}");
    }
}

#[test]
fn too_few_rows_get_the_default_penalty() {
    let schema = Schema {
        numeric: vec!["z".into()],
        categorical: Vec::new(),
        attributes: Vec::new(),
        target: Target::Binary,
        hidden: 0,
    };
    let block = RowBlock::new(
        &schema,
        vec![1.0, -1.0],
        Vec::new(),
        vec![1.0, -1.0],
        Vec::new(),
        vec![1.0; 2],
    );
    let rows = Dataset::new(schema, vec![block.unwrap()]).unwrap();
    // Both rows are in the same fold, so that none are left to fit on.
    let info =
        PenaltyInfo::choose(Penalty::Auto { seed: 0 }, &rows, &StopSignal::default()).unwrap();
    assert_eq!(info.chosen, 0.5);
    assert!(info.validation.unwrap().path.is_empty());
}

fn request(objectives: [&str; 2], penalty: Penalty) -> FitRequest {
    FitRequest {
        objectives: objectives.map(String::from).to_vec(),
        solvers: vec![
            SolverChoice {
                solver: AnySolver::Trace(Trace {
                    points: 9,
                    ..Trace::default()
                }),
                polish: None,
            },
            SolverChoice {
                solver: AnySolver::Weighted(Weighted {
                    sums: 8,
                    ..Weighted::default()
                }),
                polish: None,
            },
        ],
        front_in: None,
        penalty,
        loss_alone: false,
        family: crate::FamilyRequest::default(),
    }
}

#[test]
fn a_fixed_penalty_is_the_lambda_of_the_loss() {
    let (prepared, _) = demo(600);
    let fair = "score_covariance(sex)";
    let front = |loss: &str, penalty| {
        let fitted = fit(&prepared, &request([loss, fair], penalty), &mut ()).unwrap();
        (
            fitted.outcome.front.points,
            fitted.definitions,
            fitted.penalty,
        )
    };
    let (given, definitions, info) = front("log_loss", Penalty::Fixed(0.02));
    assert_eq!(definitions[0], "log_loss(lambda=0.02)");
    assert_eq!(info, Some(PenaltyInfo::fixed(0.02)));
    let (own, _, info) = front("log_loss(lambda=0.02)", Penalty::default());
    assert_eq!(given, own);
    assert_eq!(info, None, "an objective's own lambda takes precedence");
    // Passing the penalty that cross-validation chose gives the same front.
    let (chosen, _, info) = front("log_loss", Penalty::default());
    let (again, _, _) = front("log_loss", Penalty::Fixed(info.unwrap().chosen));
    assert_eq!(chosen, again);
}

#[test]
fn the_unmitigated_model_of_an_error_rate_is_the_logistic_one() {
    let (prepared, train) = demo(600);
    let request = |loss| request([loss, "demographic_parity(sex)"], Penalty::Fixed(0.01));
    let fitted = fit(&prepared, &request("error_rate"), &mut ()).unwrap();
    assert_eq!(fitted.definitions[0], "error_rate(tau=0.1, lambda=0.1)");
    let own = fit(&prepared, &request("error_rate(lambda=0.1)"), &mut ()).unwrap();
    assert_eq!(fitted.outcome.front.points, own.outcome.front.points);
    let logistic = logistic_model(&train, 0.01, StopSignal::default()).unwrap();
    // It has the scale of the probabilities and the decisions of the logistic model.
    let (own, other) = (fitted.outcome.unmitigated.points.get(0), logistic.get(0));
    let factor = own[0] / other[0];
    assert!(factor > 0.0);
    for (own, other) in own.iter().zip(other) {
        assert!((own - factor * other).abs() < 1e-9 * factor.max(1.0));
    }
}

#[test]
fn the_choice_does_not_depend_on_threads() {
    let (_, train) = demo(3_000);
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let choose = || {
            PenaltyInfo::choose(Penalty::Auto { seed: 1 }, &train, &StopSignal::default()).unwrap()
        };
        pool.build().unwrap().install(choose)
    };
    assert_eq!(on(1), on(3));
}
