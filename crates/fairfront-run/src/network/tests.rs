use fairfront_core::{predictor_of, scores};
use fairfront_data::{Encoded, Known, Part, Prepared};
use fairfront_model::{ExportFormat, Model, ModelId, score_table};
use fairfront_solve::AnySolver;
use tempfile::TempDir;

use super::*;
use crate::penalty::logistic_model;
use crate::{FitRequest, Fitted, Penalty, Run, SolverChoice, fit_encoded};

const HIDDEN: u32 = 4;

fn demo(rows: usize) -> (Prepared, Encoded) {
    let known = Known::parse(&format!("demo(rows={rows})"));
    let known = known.unwrap().unwrap();
    let prepared = Prepared::from_known(&known, &known.spec(), None).unwrap();
    let encoded = Encoded::new(&prepared).unwrap();
    (prepared, encoded)
}

fn request(objectives: &[&str]) -> FitRequest {
    let choice = |solver| SolverChoice {
        solver,
        polish: None,
    };
    let [trace, weighted, pf_smg, _] = AnySolver::all();
    FitRequest {
        objectives: objectives.iter().map(|o| (*o).to_owned()).collect(),
        solvers: [trace, weighted, pf_smg].map(choice).to_vec(),
        front_in: None,
        penalty: Penalty::default(),
        loss_alone: false,
        family: crate::FamilyRequest::default(),
    }
}

const RATES: [&str; 2] = ["error_rate", "demographic_parity(sex)"];
const COVARIANCES: [&str; 2] = ["log_loss", "score_covariance(sex)"];

fn fitted(encoded: Encoded, objectives: &[&str]) -> Fitted {
    fit_encoded(encoded, &request(objectives), &[], None, None, &mut ()).unwrap()
}

#[test]
fn networks_are_fitted_stored_and_used() {
    let (prepared, encoded) = demo(1_500);
    for objectives in [RATES, COVARIANCES] {
        let linear = fitted(encoded.clone(), &objectives);
        let found = fitted(encoded.clone().with_hidden(HIDDEN), &objectives);
        let n_params = predictor_of(&found.encoded.encoding.schema())
            .n_params(&found.encoded.encoding.schema());
        assert!(found.outcome.front.len() > 5);
        assert_eq!(found.outcome.front.points.n_params(), n_params);
        // A network contains linear models, so it is hardly less accurate on training rows. Values of
        // objectives are not comparable, because they include penalties on different parameters.
        let most = |fitted: &Fitted| {
            let accuracies = fitted.splits[0]
                .measures
                .iter()
                .filter_map(|m| m.overall.accuracy());
            accuracies.fold(0.0, f64::max)
        };
        let accuracies = [most(&found), most(&linear)];
        assert!(
            accuracies[0] > accuracies[1] - 0.01,
            "{objectives:?}: {accuracies:?}"
        );

        let mut run = Run::of(&fairfront_data::Facts::of(&prepared).unwrap(), &found);
        let at = TempDir::new().unwrap();
        let folder = at.path().join("run");
        run.write(&folder, false).unwrap();
        let mut again = Run::read(&folder).unwrap();
        assert_eq!(again.to_files().unwrap(), run.to_files().unwrap());
        assert_eq!(again.encoding.hidden, HIDDEN);
        let model = again.model("run", ModelId::of_index(1)).unwrap();
        let model = Model::from_json(&model.to_json()).unwrap();
        assert_eq!(model.params().len(), n_params);
        let table = prepared.table.clone();
        let params = &again.front.params[1];
        let of_table = score_table(&again.encoding, params, &table).unwrap();
        let test = found.encoded.part(Part::Test);
        let of_test = scores(&*predictor_of(test.schema()), test, params).unwrap();
        let rows = prepared.split.part(Part::Test);
        for (row, score) in rows.iter().zip(of_test) {
            assert_eq!(of_table[prepared.rows[*row as usize] as usize], score);
        }
        let refused = model.export(ExportFormat::Sql).unwrap_err();
        assert!(refused.to_string().contains("only as ONNX"));
    }
}

#[test]
fn fits_do_not_depend_on_threads() {
    let (_, encoded) = demo(900);
    let with = |n: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build();
        let of = || fitted(encoded.clone().with_hidden(3), &RATES);
        pool.unwrap().install(of)
    };
    let (one, three) = (with(1), with(3));
    assert!(one.outcome.front == three.outcome.front);
    assert_eq!(one.penalty, three.penalty);
}

/// The unmitigated network has a smaller log loss than the linear model, by more if the penalty is
/// small, and its gradient is close to 0.
#[test]
fn the_unmitigated_network_is_a_minimum() {
    let (_, encoded) = demo(1_500);
    let encoded = encoded.with_hidden(HIDDEN);
    let train = encoded.part(Part::Train);
    let network = predictor_of(train.schema()).as_network().unwrap();
    let lambda = 1e-4;
    let stop = StopSignal::default();
    let found = logistic_model(train, lambda, stop.clone()).unwrap();
    let linear = linear_model(train, lambda, stop).unwrap();
    let problem = convex_problem(Arc::new(train.clone()), Arc::new(network), lambda).unwrap();
    let (values, gradients) = problem.evaluate(&found).unwrap();
    let rows = Arc::new(train.clone());
    let of_linear = convex_problem(rows, Arc::new(fairfront_core::Linear), lambda).unwrap();
    assert!(values[0] < of_linear.values(&linear).unwrap()[0]);
    let size: f64 = gradients.get(0, 0).iter().map(|g| g * g).sum();
    // The descent ends when steps lower the loss by less than 1e-7 of it.
    assert!(size.sqrt() < 1e-3, "{size}");
}

/// Hidden units as features give the scores of the network.
#[test]
fn networks_are_linear_in_their_hidden_units() {
    let (_, encoded) = demo(600);
    let encoded = encoded.with_hidden(HIDDEN);
    let train = encoded.part(Part::Train);
    let network = predictor_of(train.schema()).as_network().unwrap();
    let point = network.start(train.schema());
    let rows = hidden_rows(network, train, &point).unwrap();
    let output = [0.3, -0.7, 0.2, 1.1, 0.4];
    let linear = scores(&fairfront_core::Linear, &rows, &output).unwrap();
    let same = network.with_output(train.schema(), &point, &output);
    let found = scores(&network, train, &same).unwrap();
    for (found, linear) in found.iter().zip(linear) {
        assert!((found - linear).abs() < 1e-14);
    }
}
