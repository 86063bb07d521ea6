//! Resuming from any checkpoint gives the result of an uninterrupted solve, bit by bit.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use fairfront_core::{Condition, ErrorRate, Problem, RateParity};
use fairfront_solve::{
    AnySolver, BatchSchedule, Checkpoint, EpsFair, Error, Observer, Outcome, PfSmg, Polish,
    Progress, Solver, StopReason, StopSignal, Trace, Weighted, polish, resume_polish,
};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

use crate::analytic::{Fonseca, Quadratics};
use crate::pf_smg::{fair_problem, fair_problem_of};
use crate::table::Table;

/// Keeps all checkpoints as bytes; may stop between rounds or within one.
struct Keeper {
    kept: Vec<Vec<u8>>,
    /// Ends after this many more rounds.
    rounds: usize,
    /// Stops once its signal has been checked this often since its creation.
    asks: usize,
    asked: Arc<AtomicUsize>,
}

impl Keeper {
    fn new(rounds: usize, asks: usize) -> Self {
        Self {
            kept: Vec::new(),
            rounds,
            asks,
            asked: Arc::default(),
        }
    }

    fn patient() -> Self {
        Self::new(usize::MAX, usize::MAX)
    }
}

impl Observer for Keeper {
    fn round(&mut self, _: &Progress) -> ControlFlow<()> {
        self.rounds -= 1;
        match self.rounds == 0 || self.stop_signal().is_set() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn stop_signal(&self) -> StopSignal {
        let (asks, asked) = (self.asks, Arc::clone(&self.asked));
        StopSignal::new(move || asked.fetch_add(1, Ordering::Relaxed) >= asks)
    }

    fn checkpoint(&mut self, state: &dyn Fn() -> Checkpoint) {
        self.kept.push(state().to_bytes());
    }
}

/// Every bit of an outcome.
fn bits(problem: &dyn Problem, outcome: &Outcome) -> Vec<u8> {
    let checkpoint = Checkpoint::of_outcome(problem, outcome);
    let bytes = checkpoint.to_bytes();
    let read = Checkpoint::from_bytes(&bytes).unwrap();
    assert_eq!(read, checkpoint);
    let again = read.outcome(problem).unwrap();
    assert!(format!("{again:?}") == format!("{outcome:?}"));
    bytes
}

fn with_threads<T: Send>(n: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build();
    pool.unwrap().install(work)
}

/// Stops after every round and within many, and resumes.
fn check(problem: &dyn Problem, solver: &AnySolver, least: usize) {
    let mut keeper = Keeper::patient();
    let whole = solver.solve(problem, &mut keeper).unwrap();
    assert_ne!(whole.stop, StopReason::Stopped);
    let expected = bits(problem, &whole);
    let n = keeper.kept.len();
    assert!(n >= least, "{}: {n} checkpoints", solver.name());
    let resumed = |bytes: &[u8]| {
        let checkpoint = Checkpoint::from_bytes(bytes).unwrap();
        assert_eq!(checkpoint.kind(), solver.name());
        solver.resume(problem, &checkpoint, &mut ()).unwrap()
    };
    for round in 1..=n {
        let mut keeper = Keeper::new(round, usize::MAX);
        solver.solve(problem, &mut keeper).unwrap();
        // Before the first checkpoint, there is nothing to resume from.
        let Some(last) = keeper.kept.last() else {
            continue;
        };
        let outcome = with_threads(1 + round % 3, || resumed(last));
        assert!(bits(problem, &outcome) == expected, "round {round}");
    }
    let asked = keeper.asked.load(Ordering::Relaxed);
    for asks in (0..6).map(|i| i * asked / 6) {
        let mut stopped = Keeper::new(usize::MAX, asks);
        solver.solve(problem, &mut stopped).unwrap();
        if let Some(last) = stopped.kept.last() {
            assert!(
                keeper.kept.contains(last),
                "partial work is not a checkpoint"
            );
            assert!(bits(problem, &resumed(last)) == expected, "asked {asks}");
        }
    }
    // After resuming, the remaining checkpoints are the same.
    let middle = n / 2;
    let mut rest = Keeper::patient();
    let checkpoint = Checkpoint::from_bytes(&keeper.kept[middle]).unwrap();
    solver.resume(problem, &checkpoint, &mut rest).unwrap();
    assert!(rest.kept == keeper.kept[middle..]);
}

/// Settings with several quick rounds.
fn pf_smg() -> PfSmg {
    let usual = PfSmg::default();
    PfSmg {
        most_points: 100_000,
        most_steps: 7 * usual.steps,
        most_active: 8,
        thinning: Some(0.05),
        seed: 5,
        ..usual
    }
}

#[test]
fn pf_smg_resumes() {
    let three = Quadratics {
        centers: vec![vec![0.0, 0.0], vec![1.0, 0.0], vec![0.0, 1.0]],
        noise: 0.5,
    };
    let patient = PfSmg {
        patience: 2,
        ..pf_smg()
    };
    check(&three, &AnySolver::PfSmg(patient), 3);
    let drawn = PfSmg {
        n_starts: 8,
        start_radius: 1.0,
        anchors: false,
        ..pf_smg()
    };
    check(&Fonseca { n: 3 }, &AnySolver::PfSmg(drawn), 3);
    check(&fair_problem(), &AnySolver::PfSmg(pf_smg()), 3);
    let schedule = BatchSchedule {
        initial: 20.0,
        growth: 1.01,
    };
    let paper = PfSmg {
        most_steps: 12,
        most_points: 100_000,
        most_active: 8,
        ..PfSmg::paper(2, 2, 0.3, 100, vec![schedule])
    };
    check(&fair_problem(), &AnySolver::PfSmg(paper), 3);
}

#[test]
fn eps_fair_resumes() {
    let bounded = Table::random(7, 200, 2, &[2]).impact();
    for (preconditioner, cold) in [(true, false), (false, true)] {
        let settings = EpsFair {
            points: 49,
            preconditioner,
            cold,
            ..EpsFair::default()
        };
        check(&bounded, &AnySolver::EpsFair(settings), 3);
    }
}

/// Smooth errors and the difference between selection rates.
fn rates() -> impl Problem {
    let table = Table::random(3, 400, 3, &[2]);
    let difference = RateParity::new(Condition::All, 0, &table.attributes()[0]);
    table.problem(vec![Box::new(ErrorRate::default()), Box::new(difference)])
}

#[test]
fn weighted_sums_resume() {
    let settings = Weighted {
        sums: 9,
        most_steps: 8,
        stages: 3,
        ..Weighted::default()
    };
    check(&rates(), &AnySolver::Weighted(settings.clone()), 10);
    let three = Quadratics {
        centers: vec![vec![0.0, 0.0], vec![1.0, 0.0], vec![0.0, 1.0]],
        noise: 0.0,
    };
    check(&three, &AnySolver::Weighted(settings), 1);
}

#[test]
fn trace_starts_again() {
    let table = Table::random(4, 300, 3, &[2]);
    let trace = Trace {
        points: 30,
        ..Trace::default()
    };
    let problem = table.impact();
    let solver = AnySolver::Trace(trace);
    let mut keeper = Keeper::patient();
    let whole = solver.solve(&problem, &mut keeper).unwrap();
    assert_eq!(keeper.kept.len(), 1);
    let checkpoint = Checkpoint::from_bytes(&keeper.kept[0]).unwrap();
    let again = solver.resume(&problem, &checkpoint, &mut ()).unwrap();
    assert_eq!(bits(&problem, &again), bits(&problem, &whole));
    assert!(!whole.proofs.is_empty());
}

#[test]
fn polishing_resumes() {
    let problems: [Box<dyn Problem>; 3] = [
        Box::new(fair_problem_of(&[Condition::All, Condition::Positive])),
        Box::new(fair_problem()),
        Box::new(Fonseca { n: 3 }),
    ];
    let settings = Polish::default();
    let mut most = 0;
    for problem in &problems {
        let problem = problem.as_ref();
        let few = PfSmg {
            most_steps: 4,
            ..pf_smg()
        };
        let found = few.solve(problem, &mut ()).unwrap();
        let mut keeper = Keeper::patient();
        let whole = polish(problem, found.clone(), &settings, &mut keeper).unwrap();
        let expected = bits(problem, &whole);
        most = most.max(keeper.kept.len());
        for bytes in &keeper.kept {
            let checkpoint = Checkpoint::from_bytes(bytes).unwrap();
            let resumed =
                || resume_polish(problem, found.clone(), &settings, &checkpoint, &mut ()).unwrap();
            assert!(bits(problem, &with_threads(2, resumed)) == expected);
        }
        let asked = keeper.asked.load(Ordering::Relaxed);
        for asks in (0..6).map(|i| i * asked / 6) {
            let mut stopped = Keeper::new(usize::MAX, asks);
            polish(problem, found.clone(), &settings, &mut stopped).unwrap();
            assert!(stopped.kept.iter().all(|kept| keeper.kept.contains(kept)));
        }
    }
    // More rounds than between two updates of the second derivatives.
    assert!(most > 6, "{most} checkpoints");
}

/// A checkpoint of each kind, with the solver that resumes from it.
static SAMPLES: LazyLock<Vec<(AnySolver, Vec<u8>)>> = LazyLock::new(samples);

fn samples() -> Vec<(AnySolver, Vec<u8>)> {
    let problem = fair_problem();
    let solvers = [
        AnySolver::PfSmg(pf_smg()),
        AnySolver::EpsFair(EpsFair {
            points: 40,
            ..EpsFair::default()
        }),
        AnySolver::Weighted(Weighted {
            sums: 5,
            ..Weighted::default()
        }),
    ];
    let sample = |solver: AnySolver| {
        let mut keeper = Keeper::new(3, usize::MAX);
        solver.solve(&problem, &mut keeper).unwrap();
        (solver, keeper.kept.pop().unwrap())
    };
    solvers.into_iter().map(sample).collect()
}

#[test]
fn checkpoints_of_other_solvers_and_problems_are_rejected() {
    let problem = fair_problem();
    let samples = SAMPLES.as_slice();
    for (solver, bytes) in samples {
        let checkpoint = Checkpoint::from_bytes(bytes).unwrap();
        for (other, _) in samples.iter().filter(|(m, _)| m.name() != solver.name()) {
            let error = other.resume(&problem, &checkpoint, &mut ()).err().unwrap();
            assert!(matches!(error, Error::Checkpoint(_)), "{error}");
        }
        let other = fair_problem_of(&[Condition::All]);
        let error = solver.resume(&other, &checkpoint, &mut ()).err();
        let error = error.unwrap().to_string();
        assert!(error.ends_with("this one has 6 and 2"), "{error}");
        assert!(checkpoint.outcome(&problem).is_err());
        for end in [0, 10, 20, 50, bytes.len() - 1] {
            assert!(Checkpoint::from_bytes(&bytes[..end]).is_err());
        }
    }
    // The settings request another number of sums.
    let more = AnySolver::Weighted(Weighted::default());
    let (_, bytes) = &samples[2];
    let checkpoint = Checkpoint::from_bytes(bytes).unwrap();
    assert!(more.resume(&problem, &checkpoint, &mut ()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn corrupted_bytes_are_rejected(place in any::<prop::sample::Index>(), bit in 0..8_u8) {
        for (_, mut bytes) in SAMPLES.clone() {
            let place = place.index(bytes.len());
            bytes[place] ^= 1 << bit;
            prop_assert!(Checkpoint::from_bytes(&bytes).is_err());
        }
    }

    /// With a valid checksum, any content gives an error or an outcome, never a panic.
    #[test]
    fn forged_bytes_never_panic(
        place in any::<prop::sample::Index>(),
        forged in prop::collection::vec(any::<u8>(), 1..12),
    ) {
        let problem = fair_problem();
        for (solver, mut bytes) in SAMPLES.clone() {
            let content = bytes.len() - 32;
            let place = place.index(content);
            let end = content.min(place + forged.len());
            bytes[place..end].copy_from_slice(&forged[..end - place]);
            let sum = Sha256::digest(&bytes[..content]);
            bytes[content..].copy_from_slice(&sum);
            if let Ok(checkpoint) = Checkpoint::from_bytes(&bytes) {
                let _ = solver.resume(&problem, &checkpoint, &mut Keeper::new(2, usize::MAX));
            }
        }
    }

    #[test]
    fn random_bytes_are_rejected(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Checkpoint::from_bytes(&bytes).is_err());
    }
}
