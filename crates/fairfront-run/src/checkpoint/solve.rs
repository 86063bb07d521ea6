//! The long part of a fit, from where it is.

use std::ops::ControlFlow;

use fairfront_core::{Dataset, FairProblem, Points};
use fairfront_data::Notice;
use fairfront_solve::{
    Checkpoint, Observer, Outcome, Progress, StopReason, StopSignal, polish, resume_polish,
};

use super::Checkpoints;
use super::snapshot::{Note, Phase, Snapshot};
use crate::fit::PolishStart;
use crate::{Error, PolishInfo, SolverChoice, warm};

/// What the solver and polishing came to.
pub(crate) struct Solved {
    pub(crate) outcome: Outcome,
    pub(crate) polish: Option<PolishInfo>,
    /// Said about the points to start from.
    pub(crate) notice: Option<Notice>,
    /// Where the solver started from, where these were found now.
    pub(crate) starts: Option<Points>,
}

/// Finds points to start from, solves and polishes; with checkpoints from where they say, and keeping
/// new ones.
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
        notice: None,
        outcome: None,
        starts: None,
    };
    work.notice = found.as_ref().and_then(|f| f.note.notice.clone());
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
        notice: None,
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
    solved.notice = work.notice;
    solved.starts = work.starts;
    Ok(solved)
}

/// Watches the solvers for whoever watches the fit, and keeps their checkpoints.
struct Work<'a> {
    observer: &'a mut dyn Observer,
    checkpoints: Option<&'a mut Checkpoints>,
    phase: Phase,
    /// Whether work was cut short: what comes after it is nothing to go on from.
    cut: bool,
    notice: Option<Notice>,
    /// The solver's result, once there is one.
    outcome: Option<Checkpoint>,
    starts: Option<Points>,
}

impl Work<'_> {
    /// From the beginning.
    fn start_afresh(
        &mut self,
        given: (&FairProblem, &Dataset, Option<f64>),
        choice: &SolverChoice,
    ) -> Result<Outcome, Error> {
        let mut solver = choice.solver.clone();
        self.phase = Phase::Begin;
        let (starts, notice) = warm::starts(given, &*solver, None, self)?;
        self.notice = notice;
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
        let mut note = Note::new(self.phase, self.notice.as_ref());
        note.polish = polish.cloned();
        if let Some(checkpoints) = &mut self.checkpoints {
            let outcome = self.outcome.as_ref();
            checkpoints.offer(&|| Snapshot::new(note.clone(), None, outcome));
        }
    }

    /// Holds the state before judging, which a stop may cut short.
    fn hold(&mut self, polish: Option<&PolishInfo>) {
        let mut note = Note::new(self.phase, self.notice.as_ref());
        note.polish = polish.cloned();
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.hold(Snapshot::new(note, None, self.outcome.as_ref()));
        }
    }

    /// All is done, or as much of it as there was time for.
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
        // The solver that finds points to start from is another one, and quick.
        if self.cut || self.phase == Phase::Begin || self.stop_signal().is_set() {
            return;
        }
        if let Some(checkpoints) = &mut self.checkpoints {
            let outcome = self.outcome.as_ref();
            let note = Note::new(self.phase, self.notice.as_ref());
            checkpoints.offer(&|| Snapshot::new(note.clone(), Some(state()), outcome));
        }
    }
}
