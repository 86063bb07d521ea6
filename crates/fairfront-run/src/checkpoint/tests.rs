//! Tests fits that are killed in every round and resumed, and folders in every state that a kill
//! can leave.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use fairfront_data::{Known, Prepared};
use fairfront_model::file::names_in;
use fairfront_solve::{
    AnySolver, EpsFair, Observer, PfSmg, Polish, Progress, StopSignal, Trace, Weighted,
};
use tempfile::TempDir;

use super::*;
use crate::{Fitted, Run, SolverChoice, fit, fit_with_checkpoints, front_table, run_info};

static ROWS: LazyLock<Prepared> = LazyLock::new(|| {
    let known = Known::named("synthetic:3(rows=300)").expect("a name");
    let known = known.expect("a known data set");
    Prepared::from_known(&known, &known.spec(), None).expect("rows")
});

fn request(solver: AnySolver, polish: bool, objectives: &[&str]) -> FitRequest {
    FitRequest {
        objectives: objectives.iter().map(|o| (*o).to_owned()).collect(),
        solvers: vec![SolverChoice {
            solver,
            polish: polish.then(|| Polish {
                most_steps: 8,
                ..Polish::default()
            }),
        }],
        front_in: None,
        penalty: crate::Penalty::default(),
        loss_alone: false,
        family: crate::FamilyRequest::default(),
    }
}

/// The loss and the score covariance of the only attribute.
fn covariances() -> Vec<&'static str> {
    let name = &ROWS.attributes[0].attribute.name;
    vec!["log_loss", format!("score_covariance({name})").leak()]
}

fn pf_smg() -> AnySolver {
    AnySolver::PfSmg(PfSmg {
        most_points: 100_000,
        most_steps: 20,
        most_active: 8,
        thinning: Some(0.02),
        ..PfSmg::default()
    })
}

/// All requests: each solver, with polishing and without.
fn requests() -> Vec<FitRequest> {
    let weighted = AnySolver::Weighted(Weighted {
        sums: 6,
        most_steps: 4,
        ..Weighted::default()
    });
    let eps_fair = AnySolver::EpsFair(EpsFair {
        points: 100,
        ..EpsFair::default()
    });
    let trace = AnySolver::Trace(Trace {
        points: 20,
        ..Trace::default()
    });
    vec![
        request(pf_smg(), true, &[]),
        request(pf_smg(), false, &covariances()),
        request(weighted, false, &[]),
        request(eps_fair, true, &covariances()),
        request(trace.clone(), true, &covariances()),
        request(trace, false, &covariances()),
    ]
}

/// Ends the work some rounds after a solver has stored its first state.
struct Ending<'a> {
    run: &'a Path,
    rounds: usize,
    /// Whether to end it like a kill, without any cleanup, or by requesting a stop.
    kill: bool,
    asked: Arc<AtomicBool>,
}

impl<'a> Ending<'a> {
    fn by_kill(run: &'a Path, rounds: usize) -> Self {
        Self {
            run,
            rounds,
            kill: true,
            asked: Arc::default(),
        }
    }

    fn by_request(run: &'a Path, rounds: usize) -> Self {
        Self {
            kill: false,
            ..Self::by_kill(run, rounds)
        }
    }
}

impl Observer for Ending<'_> {
    fn round(&mut self, _: &Progress) -> ControlFlow<()> {
        let folder = self.run.join(FOLDER);
        let names = names_in(&folder).expect("names");
        let kept = names
            .iter()
            .any(|n| folder.join(n).join("solver.bin").exists());
        self.rounds = self.rounds.saturating_sub(usize::from(kept));
        match self.rounds {
            // This prints no panic message in the output of the tests.
            0 if self.kill => std::panic::resume_unwind(Box::new("killed")),
            0 => {
                self.asked.store(true, Ordering::Relaxed);
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn stop_signal(&self) -> StopSignal {
        let asked = Arc::clone(&self.asked);
        StopSignal::new(move || asked.load(Ordering::Relaxed))
    }
}

/// The content of a run, except for times.
fn content(fitted: &Fitted) -> (Vec<u8>, String) {
    let mut parquet = Vec::new();
    front_table(fitted).write(&mut parquet).expect("a table");
    let mut info = run_info(&fairfront_data::Facts::of(&ROWS).unwrap(), fitted);
    info.seconds = fairfront_data::Ordered(Vec::new());
    if let Some(polish) = &mut info.polish {
        polish.seconds = 0.0;
    }
    (parquet, serde_json::to_string(&info).expect("json"))
}

fn open(run: &Path, resume: bool, force: bool) -> Result<Checkpoints, Error> {
    Checkpoints::open(run, Duration::ZERO, resume, force)
}

fn place(checkpoints: Checkpoints, fitted: &Fitted) {
    let placed = checkpoints.place(&mut Run::of(
        &fairfront_data::Facts::of(&ROWS).unwrap(),
        fitted,
    ));
    placed.expect("a run");
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    (folder, run)
}

const WHOLE: [&str; 4] = ["encoding.json", "front.parquet", "run.json", "tallies.json"];

#[test]
fn a_fit_that_is_killed_repeatedly_gives_the_same_run() {
    for request in requests() {
        let expected = content(&fit(&ROWS, &request, &mut ()).expect("a front"));
        let name = request.solvers[0].solver.name();
        for rounds in [2, 5] {
            let (_folder, run) = folder();
            let mut kills = 0;
            let (checkpoints, fitted) = loop {
                let mut checkpoints = open(&run, kills > 0, false).expect("checkpoints");
                assert_eq!(checkpoints.found.is_some(), kills > 0);
                let mut ending = Ending::by_kill(&run, rounds);
                let work = || fit_with_checkpoints(&ROWS, &request, &mut checkpoints, &mut ending);
                match catch_unwind(AssertUnwindSafe(work)) {
                    Ok(fitted) => break (checkpoints, fitted.expect("a front")),
                    Err(_) => kills += 1,
                }
                // `trace` starts again each time, so let it finish.
                if kills > 100 || (name == "trace" && kills > 2) {
                    let mut checkpoints = {
                        drop(checkpoints);
                        open(&run, true, false).expect("checkpoints")
                    };
                    let fitted = fit_with_checkpoints(&ROWS, &request, &mut checkpoints, &mut ());
                    break (checkpoints, fitted.expect("a front"));
                }
                drop(checkpoints);
                assert_eq!(names_in(&run).expect("names"), [FOLDER]);
                assert!(is_unfinished(&run));
                let error = crate::read_run(&run).expect_err("no run").to_string();
                assert!(error.contains("resume"), "{error}");
            };
            // Some have fewer than five rounds.
            assert!(
                kills < 100 && (kills > 0 || rounds == 5),
                "{name}: {kills} kills"
            );
            assert!(content(&fitted) == expected, "{name} after {kills} kills");
            place(checkpoints, &fitted);
            assert_eq!(names_in(&run).expect("names"), WHOLE);
            assert!(!is_unfinished(&run));
            let mut again = open(&run, true, false).expect("checkpoints");
            assert!(
                again
                    .is_finished(&Input::of(&ROWS, true).unwrap(), &request)
                    .expect("the same")
            );
        }
    }
}

#[test]
fn a_stopped_fit_writes_its_front_and_can_be_resumed() {
    for request in requests().into_iter().take(4) {
        let expected = content(&fit(&ROWS, &request, &mut ()).expect("a front"));
        let (_folder, run) = folder();
        let mut checkpoints = open(&run, false, false).expect("checkpoints");
        let fitted = fit_with_checkpoints(
            &ROWS,
            &request,
            &mut checkpoints,
            &mut Ending::by_request(&run, 3),
        );
        let fitted = fitted.expect("a front");
        assert!(content(&fitted) != expected);
        place(checkpoints, &fitted);
        assert_eq!(names_in(&run).expect("names").len(), 5);
        let (info, _) = crate::read_run(&run).expect("the stopped run");
        assert_eq!(info.stop, fairfront_solve::StopReason::Stopped);
        assert!(is_unfinished(&run));
        let refused = open(&run, false, false)
            .expect_err("unfinished")
            .to_string();
        assert!(refused.contains("resume"), "{refused}");
        let refused = crate::check_folder(&run, false).expect_err("unfinished");
        assert!(refused.to_string().contains("resume"));

        let mut checkpoints = open(&run, true, false).expect("checkpoints");
        assert!(
            !checkpoints
                .is_finished(&Input::of(&ROWS, true).unwrap(), &request)
                .expect("none")
        );
        let fitted = fit_with_checkpoints(&ROWS, &request, &mut checkpoints, &mut ());
        let fitted = fitted.expect("a front");
        assert!(content(&fitted) == expected);
        place(checkpoints, &fitted);
        assert_eq!(names_in(&run).expect("names"), WHOLE);
    }
}

/// An unfinished fit.
fn begun(run: &Path, request: &FitRequest) {
    let mut checkpoints = open(run, false, false).expect("checkpoints");
    let work = || {
        fit_with_checkpoints(
            &ROWS,
            request,
            &mut checkpoints,
            &mut Ending::by_kill(run, 3),
        )
    };
    assert!(catch_unwind(AssertUnwindSafe(work)).is_err());
}

#[test]
fn a_different_request_is_rejected_by_name() {
    let (_folder, run) = folder();
    begun(&run, &request(pf_smg(), false, &[]));
    let refused = |rows: &Prepared, request: &FitRequest| {
        let mut checkpoints = open(&run, true, false).expect("checkpoints");
        let fitted = fit_with_checkpoints(rows, request, &mut checkpoints, &mut ());
        fitted.expect_err("another request").to_string()
    };
    let mut other = request(pf_smg(), false, &[]);
    other.solvers[0].solver.set_points(7);
    let error = refused(&ROWS, &other);
    let expected = "models of pf-smg was 100000 when the checkpoint was written, now 7";
    assert!(error.starts_with(expected), "{error}");
    let error = refused(&ROWS, &request(pf_smg(), true, &covariances()));
    assert!(error.contains("objective was error_rate, "), "{error}");
    assert!(
        error.contains("; polish of pf-smg was not set, now "),
        "{error}"
    );
    let known = Known::named("synthetic:3(rows=300)").expect("a name");
    let known = known.expect("a known data set");
    let spec = fairfront_data::Spec {
        seed: 1,
        ..known.spec()
    };
    let rows = Prepared::from_known(&known, &spec, None).expect("rows");
    let error = refused(&rows, &request(pf_smg(), false, &[]));
    assert!(
        error.starts_with("seed was 0 when the checkpoint was written, now 1; pass the same"),
        "{error}"
    );
    // Without `resume` and with `force`, the fit starts from scratch.
    let mut checkpoints = open(&run, false, true).expect("checkpoints");
    assert!(checkpoints.found.is_none());
    let fitted = fit_with_checkpoints(&ROWS, &other, &mut checkpoints, &mut ());
    place(checkpoints, &fitted.expect("a front"));
    assert_eq!(names_in(&run).expect("names"), WHOLE);
    // A finished run of another fit is not mistaken for the requested one.
    let asked = request(pf_smg(), false, &[]);
    let mut checkpoints = open(&run, true, false).expect("checkpoints");
    let error = checkpoints
        .is_finished(&Input::of(&ROWS, true).unwrap(), &asked)
        .expect_err("another");
    assert!(
        error.to_string().contains("models of pf-smg was 7 then"),
        "{error}"
    );
    let mut checkpoints = open(&run, true, true).expect("checkpoints");
    assert!(
        !checkpoints
            .is_finished(&Input::of(&ROWS, true).unwrap(), &asked)
            .expect("to be replaced")
    );
}

#[test]
fn a_corrupted_checkpoint_is_skipped() {
    let (_folder, run) = folder();
    let request = request(pf_smg(), false, &[]);
    let expected = content(&fit(&ROWS, &request, &mut ()).expect("a front"));
    begun(&run, &request);
    let folder = run.join(FOLDER);
    let names = names_in(&folder).expect("names");
    let newest = names.iter().rfind(|n| n.starts_with("generation-"));
    let solver = folder
        .join(newest.expect("a generation"))
        .join("solver.bin");
    let mut bytes = std::fs::read(&solver).expect("a state");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&solver, bytes).expect("damage");
    let mut checkpoints = open(&run, true, false).expect("checkpoints");
    let warning = checkpoints.diagnostics()[0].message.to_string();
    assert!(
        warning.contains("solver.bin has a different checksum"),
        "{warning}"
    );
    assert!(warning.ends_with("the previous one is used"), "{warning}");
    let fitted = fit_with_checkpoints(&ROWS, &request, &mut checkpoints, &mut ());
    let fitted = fitted.expect("a front");
    assert!(content(&fitted) == expected);
    place(checkpoints, &fitted);
    assert_eq!(names_in(&run).expect("names"), WHOLE);
}

#[test]
fn two_fits_do_not_share_a_folder() {
    let (_folder, run) = folder();
    let first = open(&run, false, false).expect("checkpoints");
    for force in [false, true] {
        let error = open(&run, true, force).expect_err("locked").to_string();
        assert!(error.contains("another process"), "{error}");
    }
    let error = crate::check_folder(&run, true)
        .expect_err("locked")
        .to_string();
    assert!(error.contains("another process"), "{error}");
    drop(first);
    // Nothing was committed, so nothing is left.
    assert!(!run.exists());
}

#[test]
fn unrelated_folders_are_not_touched() {
    let (_folder, run) = folder();
    std::fs::create_dir_all(run.join(FOLDER)).expect("a folder");
    std::fs::write(run.join(FOLDER).join("weights.pt"), "mine").expect("a file");
    for (resume, force) in [(false, false), (true, false), (false, true), (true, true)] {
        let error = open(&run, resume, force).expect_err("taken").to_string();
        assert!(error.contains("contains \"checkpoint\""), "{error}");
    }
    assert!(crate::check_folder(&run, true).is_err());
    assert!(run.join(FOLDER).join("weights.pt").exists());
}

/// Every state that a kill can leave between the end of the work and the finished run.
#[test]
fn placing_a_run_can_be_interrupted_anywhere() {
    let request = request(pf_smg(), false, &[]);
    let (_folder, whole) = folder();
    let mut checkpoints = open(&whole, false, false).expect("checkpoints");
    let fitted = fit_with_checkpoints(&ROWS, &request, &mut checkpoints, &mut ());
    place(checkpoints, &fitted.expect("a front"));
    let order = ["tallies.json", "front.parquet", "encoding.json", "run.json"];
    // Some files are copied, then checkpoints removed; with and without files of an earlier run.
    for copied in 0..=4 {
        for gone in 0..=2 {
            for earlier in [false, true] {
                if gone > 0 && copied < 4 {
                    continue;
                }
                let (_folder, run) = folder();
                begun(&run, &request);
                let folder = run.join(FOLDER);
                let finished = run.join(".fairfront-finished");
                std::fs::create_dir(&finished).expect("a folder");
                for (i, name) in order.iter().enumerate() {
                    std::fs::copy(whole.join(name), finished.join(name)).expect("a file");
                    let place = run.join(name);
                    // run.json of an earlier run is removed first.
                    if i < copied {
                        std::fs::copy(whole.join(name), place).expect("a file");
                    } else if earlier && (copied == 0 || *name != "run.json") {
                        std::fs::write(place, "of an earlier run").expect("a file");
                    }
                }
                std::fs::write(run.join(".fairfront-lock"), "").expect("a file");
                match gone {
                    0 => {}
                    1 => fairfront_model::file::remove(&folder.join("lock")).expect("removed"),
                    _ => fairfront_model::file::remove(&folder).expect("removed"),
                }
                // Readers recognize this without write permission.
                assert!(!is_unfinished(&run), "{copied} {gone}");
                let (info, _) = crate::read_run(&run).expect("the run");
                assert_eq!(info.stop, crate::read_run(&whole).expect("a run").0.stop);
                let mut checkpoints = open(&run, true, false).expect("checkpoints");
                assert!(
                    checkpoints
                        .is_finished(&Input::of(&ROWS, true).unwrap(), &request)
                        .expect("the same")
                );
                drop(checkpoints);
                assert_eq!(names_in(&run).expect("names"), WHOLE, "{copied} {gone}");
                for name in order {
                    let read = |of: &Path| std::fs::read(of.join(name)).expect("a file");
                    assert!(read(&run) == read(&whole), "{name} {copied} {gone}");
                }
            }
        }
    }
}

/// Requests a stop after the solver, as soon as the state before judging is stored.
struct Late<'a>(&'a Path);

impl Observer for Late<'_> {
    fn round(&mut self, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn stop_signal(&self) -> StopSignal {
        let folder = self.0.join(FOLDER);
        StopSignal::new(move || {
            let names = names_in(&folder).unwrap_or_default();
            names.iter().any(|name| {
                let phase = std::fs::read_to_string(folder.join(name).join("phase.json"));
                phase.is_ok_and(|phase| phase.contains("\"judge\""))
            })
        })
    }
}

#[test]
fn a_fit_that_is_stopped_while_judging_can_be_resumed() {
    let known = Known::named("demo(rows=300000)").expect("a name");
    let known = known.expect("a known data set");
    let rows = Prepared::from_known(&known, &known.spec(), None).expect("rows");
    let weighted = AnySolver::Weighted(Weighted {
        sums: 4,
        most_steps: 2,
        ..Weighted::default()
    });
    let request = request(weighted, false, &[]);
    let content = |fitted: &Fitted| {
        let mut info = run_info(&fairfront_data::Facts::of(&rows).unwrap(), fitted);
        info.seconds = fairfront_data::Ordered(Vec::new());
        (
            front_table(fitted),
            serde_json::to_string(&info).expect("json"),
        )
    };
    let (_folder, run) = folder();
    let mut checkpoints = open(&run, false, false).expect("checkpoints");
    let fitted = fit_with_checkpoints(&rows, &request, &mut checkpoints, &mut Late(&run));
    let fitted = fitted.expect("a front");
    assert!(!fitted.left_out.is_empty());
    assert!(checkpoints.stopped);
    checkpoints
        .place(&mut Run::of(
            &fairfront_data::Facts::of(&rows).unwrap(),
            &fitted,
        ))
        .expect("a run");
    assert!(is_unfinished(&run));
    let mut checkpoints = open(&run, true, false).expect("checkpoints");
    // The penalty is not chosen again.
    assert!(checkpoints.penalty_found().is_some());
    let fitted = fit_with_checkpoints(&rows, &request, &mut checkpoints, &mut ());
    let whole = fit(&rows, &request, &mut ()).expect("a front");
    assert!(content(&fitted.expect("a front")) == content(&whole));
}
