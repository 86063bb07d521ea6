//! Solving and polishing, from scratch or from a checkpoint.

use std::ops::ControlFlow;

use fairfront_core::{Dataset, FairProblem, Points};
use fairfront_data::Diagnostic;
use fairfront_solve::{
    Checkpoint, Observer, Outcome, Progress, StopReason, StopSignal, polish, resume_polish,
};

use super::Checkpoints;
use super::snapshot::{Note, Phase, Snapshot};
use crate::fit::PolishStart;
use crate::{Error, PolishInfo, SolverChoice, warm};

/// The result of the solver and of polishing.
pub(crate) struct Solved {
    pub(crate) outcome: Outcome,
    pub(crate) polish: Option<PolishInfo>,
    /// A warning or note about the models that the solver starts from.
    pub(crate) diagnostic: Option<Diagnostic>,
    /// Models that the solver started from, if they were computed in this process.
    pub(crate) starts: Option<Points>,
}

/// Computes models to start from, solves and polishes. With checkpoints, resumes from the stored
/// one and writes new ones.
pub(crate) fn solve(
    (problem, train, penalty): (&FairProblem, &Dataset, Option<f64>),
    choice: &SolverChoice,
    at_zero: &[f64],
    mut checkpoints: Option<&mut Checkpoints>,
    observer: &mut dyn Observer,
) -> Result<Solved, Error> {
    let found = match &mut checkpoints {
        Some(checkpoints) => checkpoints.begin()?,
        None => None,
    };
    let mut work = Work {
        observer,
        checkpoints,
        phase: Phase::Begin,
        cut: false,
        diagnostic: None,
        outcome: None,
        starts: None,
    };
    work.diagnostic = found.as_ref().and_then(|f| f.note.diagnostic.clone());
    let phase = found.as_ref().map_or(Phase::Begin, |f| f.note.phase);
    let checkpoint = found.as_ref().and_then(|f| f.solver.as_ref());
    let outcome = match (phase, &found, checkpoint) {
        (Phase::Polish | Phase::Judge, Some(found), _) => found.outcome(problem)?,
        (Phase::Solve, _, Some(checkpoint)) => {
            work.phase = Phase::Solve;
            choice.solver.resume(problem, checkpoint, &mut work)?
        }
        _ => work.start_afresh((problem, train, penalty), choice)?,
    };
    let mut solved = Solved {
        outcome,
        polish: None,
        diagnostic: None,
        starts: None,
    };
    match (&choice.polish, &found) {
        (_, Some(found)) if phase == Phase::Judge => solved.polish.clone_from(&found.note.polish),
        (Some(settings), _) => {
            work.phase = Phase::Polish;
            let kept = work.checkpoints.is_some();
            work.outcome = kept.then(|| Checkpoint::of_outcome(problem, &solved.outcome));
            if phase != Phase::Polish {
                work.offer(None);
            }
            let start = PolishStart::new(&solved.outcome.front, settings, at_zero);
            let given = solved.outcome;
            solved.outcome = match checkpoint.filter(|_| phase == Phase::Polish) {
                Some(from) => resume_polish(problem, given, settings, from, &mut work)?,
                None => polish(problem, given, settings, &mut work)?,
            };
            solved.polish = Some(start.end(&solved.outcome)?);
        }
        (None, _) => {}
    }
    work.end(problem, &solved)?;
    solved.diagnostic = work.diagnostic;
    solved.starts = work.starts;
    Ok(solved)
}

/// Passes the progress of the solvers on to the observer of the fit, and stores their checkpoints.
struct Work<'a> {
    observer: &'a mut dyn Observer,
    checkpoints: Option<&'a mut Checkpoints>,
    phase: Phase,
    /// Whether work was cut short; later states are then not stored as checkpoints.
    cut: bool,
    diagnostic: Option<Diagnostic>,
    /// The solver's result, once there is one.
    outcome: Option<Checkpoint>,
    starts: Option<Points>,
}

impl Work<'_> {
    /// Starts from scratch.
    fn start_afresh(
        &mut self,
        given: (&FairProblem, &Dataset, Option<f64>),
        choice: &SolverChoice,
    ) -> Result<Outcome, Error> {
        let mut solver = choice.solver.clone();
        self.phase = Phase::Begin;
        let (starts, diagnostic) = warm::starts(given, &*solver, None, self)?;
        self.diagnostic = diagnostic;
        if let Some(starts) = starts {
            self.starts = Some(starts.clone());
            solver.set_starts(starts);
        }
        self.phase = Phase::Solve;
        Ok(solver.solve(given.0, self)?)
    }

    /// Offers a checkpoint between the phases, unless work was cut short.
    fn offer(&mut self, polish: Option<&PolishInfo>) {
        if self.cut || self.observer.stop_signal().is_set() {
            return;
        }
        let mut note = Note::new(self.phase, self.diagnostic.as_ref());
        note.polish = polish.cloned();
        if let Some(checkpoints) = &mut self.checkpoints {
            let outcome = self.outcome.as_ref();
            checkpoints.offer(&|| Snapshot::new(note.clone(), None, outcome));
        }
    }

    /// Holds the state before judging, which a stop may cut short.
    fn hold(&mut self, polish: Option<&PolishInfo>) {
        let mut note = Note::new(self.phase, self.diagnostic.as_ref());
        note.polish = polish.cloned();
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.hold(Snapshot::new(note, None, self.outcome.as_ref()));
        }
    }

    /// Ends the work, which may have been cut short.
    fn end(&mut self, problem: &FairProblem, solved: &Solved) -> Result<(), Error> {
        let signal = self.observer.stop_signal().is_set();
        let stopped = self.cut || signal || solved.outcome.stop == StopReason::Stopped;
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.set_stopped(stopped)?;
            if !stopped {
                self.phase = Phase::Judge;
                self.outcome = Some(Checkpoint::of_outcome(problem, &solved.outcome));
                self.offer(solved.polish.as_ref());
            }
        }
        if !stopped {
            self.hold(solved.polish.as_ref());
        }
        Ok(())
    }
}

impl Observer for Work<'_> {
    fn round(&mut self, progress: &Progress) -> ControlFlow<()> {
        let flow = self.observer.round(progress);
        self.cut |= flow.is_break();
        flow
    }

    fn stop_signal(&self) -> StopSignal {
        self.observer.stop_signal()
    }

    fn checkpoint(&mut self, state: &dyn Fn() -> Checkpoint) {
        // A different, quick solver computes the models to start from.
        if self.cut || self.phase == Phase::Begin || self.stop_signal().is_set() {
            return;
        }
        if let Some(checkpoints) = &mut self.checkpoints {
            let outcome = self.outcome.as_ref();
            let note = Note::new(self.phase, self.diagnostic.as_ref());
            checkpoints.offer(&|| Snapshot::new(note.clone(), Some(state()), outcome));
        }
    }
}
