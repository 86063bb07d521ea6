//! Tests reading runs from a state.

use std::path::Path;

use fairfront_data::{Known, Prepared};
use fairfront_model::ModelId;
use fairfront_solve::{AnySolver, Trace};

use super::super::*;
use super::{folder, tree};
use crate::{
    FitRequest, NamedFront, RowPlaces, Run, SolverChoice, check_folder, fit, model_of, read_run,
    source_of_run, verify, write_run,
};

/// Writes a small run with at most `points` models.
fn run(folder: &Path, points: usize) {
    let known = Known::named("synthetic:3(rows=500)");
    let known = known.expect("a name").expect("a data set");
    let prepared = Prepared::from_known(&known, &known.spec(), None).expect("rows");
    let solver = AnySolver::Trace(Trace {
        points,
        ..Trace::default()
    });
    let request = FitRequest {
        objectives: crate::default_objectives(&crate::attribute_texts(&prepared.spec), true, false),
        solvers: vec![SolverChoice {
            solver,
            polish: None,
        }],
        front_in: None,
        penalty: crate::Penalty::default(),
        loss_alone: false,
        family: crate::FamilyRequest::default(),
    };
    let fitted = fit(&prepared, &request, &mut ()).expect("a front");
    let mut run = Run::of(&fairfront_data::Facts::of(&prepared).unwrap(), &fitted);
    write_run(folder, false, &mut run).expect("written");
}

/// Commits a run folder as a generation.
fn commit(state: &Path, number: u64, run: &Path) {
    let read = |name: &str| std::fs::read(run.join(name)).expect("a file");
    let files = ["run.json", "encoding.json", "front.parquet", "tallies.json"]
        .map(|name| (name, read(name)));
    let files = files.each_ref().map(|(name, bytes)| (*name, &bytes[..]));
    let of = Generations::open(state).expect("a folder");
    of.commit(number, &files).expect("a commit");
}

#[test]
fn a_state_is_read_like_a_run() {
    let at = folder();
    let (small, large) = (at.path().join("small"), at.path().join("large"));
    run(&small, 20);
    run(&large, 40);
    let state = at.path().join("state");
    let lock = Lock::take(&state).expect("free");
    let early = read_run(&state).expect_err("nothing yet").to_string();
    assert!(early.contains("no complete generation yet"), "{early}");
    let none = read_run(at.path()).expect_err("no run").to_string();
    assert!(none.contains("not a run folder"), "{none}");
    commit(&state, 1, &small);
    commit(&state, 2, &large);

    // Reading works while the lock is held and leaves no trace.
    let before = tree(&state);
    let points = |folder: &Path| read_run(folder).expect("a run").1.params;
    assert_ne!(points(&small), points(&large));
    assert_eq!(points(&state), points(&large));
    assert_eq!(source_of_run(&state), source_of_run(&large));
    let of_state = model_of(&state, ModelId::of_index(3)).expect("a model");
    let of_run = model_of(&large, ModelId::of_index(3)).expect("a model");
    assert_eq!(of_state.coefficients, of_run.coefficients);
    assert_eq!(of_state.provenance.run, "state");
    let fronts = [&state, &large].map(|folder| NamedFront::read(folder).expect("a front"));
    assert_eq!(fronts[0].values, fronts[1].values);
    let verified = verify(&state, &[], RowPlaces::NONE).expect("a verification");
    assert!(verified.agrees, "{verified:?}");
    for force in [false, true] {
        let refused = check_folder(&state, force).expect_err("taken").to_string();
        assert!(refused.contains("are never replaced"), "{refused}");
    }
    assert!(tree(&state) == before);

    // If the newest is corrupted, the previous one is read, with a warning.
    std::fs::remove_file(state.join("generation-000002/encoding.json")).expect("removed");
    let before = tree(&state);
    assert_eq!(points(&state), points(&small));
    let (info, _) = read_run(&state).expect("a run");
    let warning = &info
        .diagnostics
        .last()
        .expect("a diagnostic")
        .message
        .to_string();
    assert!(
        warning.contains("generation-000002 is corrupted (encoding.json is missing)"),
        "{warning}"
    );
    let verified = verify(&state, &[], RowPlaces::NONE).expect("a verification");
    assert!(!verified.agrees);
    let wrong = verified.checks.iter().filter(|check| !check.agrees());
    let wrong: Vec<&String> = wrong.filter_map(|check| check.problem.as_ref()).collect();
    assert_eq!(wrong, [warning]);
    assert!(tree(&state) == before);
    drop(lock);
}
