//! Two explanatory figures: the rounds of PF-SMG, and hypervolume.
//!
//! Both are computed on a small problem. PF-SMG is observed through its problem and its observer.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use fairfront_core::{
    Batches, FairProblem, Gradients, LossFacet, Points, Preconditioner, Problem, RootFacet,
    StopSignal,
};
use fairfront_data::{Encoded, Known, Part, Prepared};
use fairfront_pareto::{ranges, select_spread};
use fairfront_report::{Better, Scatter, Scatters, Series, Side, Volume};
use fairfront_run::{Error, Figure};
use fairfront_solve::{BatchSchedule, Front, Observer, PfSmg, Progress, Solver, Trace};

use crate::Experiment;
use crate::finding::Draft;
use crate::front::{problem_on, volume};

/// Two features and an intercept, 2,000 rows; the loss and the score covariance conflict.
const DATA: &str = "synthetic:2";
const OBJECTIVES: [&str; 2] = ["log_loss", "score_covariance(a)"];
/// Points of the exact front, enough to look like a line.
const EXACT_POINTS: usize = 400;
/// Steps of a restart.
const STEPS: usize = 3;
/// Number of points whose areas can be told apart in the figure.
const FEW: usize = 6;
/// The last panel shows the list after these rounds; the other panels show the first round in detail.
const ROUNDS: [usize; 3] = [1, 3, 8];

/// Returns the figures `how-pf-smg-moves-a-front` and `what-hypervolume-measures`. Their bytes do not depend on the
/// number of threads.
///
/// The first shows PF-SMG on a small problem in four panels: its list with perturbed copies, the ends of the restarts
/// from all of these, the models that stay on the list, and the list after later rounds. All panels also show the exact
/// front. The second figure shows a few models of that front and the area that they dominate.
pub fn explain() -> Result<Vec<Figure>, Error> {
    let problem = problem()?;
    let exact = Trace {
        points: EXACT_POINTS,
        ..Trace::default()
    }
    .solve(&problem, &mut ())?
    .front;
    Ok(vec![
        Figure {
            name: "how-pf-smg-moves-a-front".into(),
            svg: Moves::watch(&problem)?.draw(&exact),
        },
        Figure {
            name: "what-hypervolume-measures".into(),
            svg: Dominated::of(&problem, &exact)?.draw(),
        },
    ])
}

pub(crate) fn find() -> Result<Draft, Error> {
    let mut draft = Draft::new(
        Experiment::Figures,
        "Both figures use synthetic data with two features.",
    );
    let captions = [
        "How PF-SMG moves a front.",
        "Hypervolume: the area that a front dominates.",
    ];
    for (figure, caption) in explain()?.into_iter().zip(captions) {
        draft.figure(&figure.name, caption, figure.svg);
    }
    Ok(draft)
}

fn problem() -> Result<FairProblem, Error> {
    let known =
        Known::named(DATA)?.ok_or_else(|| Error::usage(format!("{DATA}: not a known data set")))?;
    let prepared = Prepared::from_known(&known, &known.spec(), None)?;
    let encoded = Encoded::new(&prepared)?;
    problem_on(encoded.part(Part::Train), &OBJECTIVES.map(String::from))
}

/// A few points, and the area that they dominate up to a reference point.
struct Dominated {
    values: Vec<f64>,
    reference: [f64; 2],
    volume: f64,
}

impl Dominated {
    /// Well-spread points of a front. The reference point is the loss of zero parameters and 1.1 times the largest
    /// score covariance.
    fn of(problem: &dyn Problem, front: &Front) -> Result<Self, Error> {
        let all = front.judged()?;
        let few = select_spread(all, FEW, &ranges(all, None));
        let values: Vec<f64> = few.iter().flat_map(|i| front.value(*i)).copied().collect();
        let n = problem.n_params();
        let at_zero = problem.values(&Points::from_vec(n, vec![0.0; n]))?;
        let largest = values.iter().skip(1).step_by(2).copied();
        let reference = [at_zero[0], 1.1 * largest.fold(0.0, f64::max)];
        Ok(Self {
            volume: volume(&values, &reference)?,
            values,
            reference,
        })
    }

    fn draw(&self) -> String {
        Volume {
            title: "Hypervolume: the area that a front dominates".into(),
            axes: OBJECTIVES,
            front: Series {
                name: "models of an exact front",
                values: &self.values,
            },
            reference: self.reference,
            label: format!("hypervolume {:.4}", self.volume),
        }
        .to_svg()
    }
}

/// Points that PF-SMG produced, as values of the objectives, two per point.
struct Moves {
    /// The list at the start of the first round.
    list: Vec<f64>,
    /// Perturbed copies of its points.
    copies: Vec<f64>,
    /// The ends of the restarts from all of these.
    ends: Vec<f64>,
    /// The list after each round.
    rounds: Vec<Vec<f64>>,
}

impl Moves {
    /// The paper's settings without exploration, holes and thinning, so that the figure shows only the basic steps of a
    /// round. The few starts are far enough from the front that their moves are visible.
    fn settings() -> PfSmg {
        let batch = |initial| BatchSchedule {
            initial,
            growth: 1.01,
        };
        PfSmg {
            n_starts: 8,
            start_radius: 0.5,
            perturbations: 2,
            perturbation_radius: 0.08,
            exploration: None,
            holes: None,
            thinning: None,
            most_points: 100_000,
            most_steps: STEPS * ROUNDS[2],
            most_active: 10,
            seed: 3,
            ..PfSmg::paper(1, STEPS, 0.3, 1_000, vec![batch(50.0), batch(200.0)])
        }
    }

    fn watch(problem: &dyn Problem) -> Result<Self, Error> {
        let settings = Self::settings();
        let watched = Watched::new(problem);
        let mut lists = Lists::default();
        settings.solve(&watched, &mut lists)?;
        let Lists(rounds) = lists;
        let seen = watched.seen();
        // The first block of a round has the list, then its perturbed copies.
        let starts = seen.starts.get(&(0, 0)).cloned().unwrap_or_default();
        let starts = problem.values(&starts)?;
        let n_list = starts.len() / (1 + settings.perturbations);
        let (list, copies) = starts.split_at(n_list);
        // PF-SMG evaluates the objectives on all rows once per round, at its end.
        let first = seen.evaluated.len().checked_sub(rounds.len());
        let ends = first.and_then(|i| seen.evaluated.get(i));
        Ok(Self {
            list: list.to_vec(),
            copies: copies.to_vec(),
            ends: ends.cloned().unwrap_or_default(),
            rounds,
        })
    }

    /// The list after this many rounds, at least 1.
    fn after(&self, rounds: usize) -> &[f64] {
        self.rounds.get(rounds - 1).map_or(&[], Vec::as_slice)
    }

    /// The points of the list and the ends that are on the list after the first round, and the others.
    fn kept_and_removed(&self) -> (Vec<f64>, Vec<f64>) {
        let after: Vec<&[f64]> = self.after(1).chunks_exact(2).collect();
        let all = self.list.chunks_exact(2).chain(self.ends.chunks_exact(2));
        let (kept, removed): (Vec<_>, Vec<_>) = all.partition(|p| after.contains(p));
        (kept.concat(), removed.concat())
    }

    fn draw(&self, exact: &Front) -> String {
        let (kept, removed) = self.kept_and_removed();
        let list = series("list", &self.list);
        let copies = series("perturbed copies", &self.copies);
        let names = ROUNDS.map(|n| match n {
            1 => "list after 1 round".to_owned(),
            n => format!("list after {n} rounds"),
        });
        let panels = vec![
            panel("the list, with perturbed copies", vec![list, copies]),
            panel(
                "restarts from each of them",
                vec![list, copies, series("ends of restarts", &self.ends)],
            ),
            panel(
                "dominated models are removed",
                vec![series(&names[0], &kept), series("removed", &removed)],
            ),
            panel(
                "the list, round by round",
                (names.iter().zip(ROUNDS))
                    .map(|(name, rounds)| series(name, self.after(rounds)))
                    .collect(),
            ),
        ];
        Scatters {
            title: "How PF-SMG moves a front".into(),
            panels,
            marked: String::new(),
        }
        .to_svg_over(&Series {
            name: "exact front",
            values: &exact.values,
        })
    }
}

fn series<'a>(name: &'a str, values: &'a [f64]) -> Series<'a> {
    Series { name, values }
}

/// A panel with both objectives.
fn panel<'a>(title: &str, series: Vec<Series<'a>>) -> Scatter<'a> {
    let [x, y] = OBJECTIVES.map(|name| Side {
        name: name.into(),
        better: Better::Lower,
    });
    Scatter {
        title: title.into(),
        x,
        y,
        series,
        marked: Vec::new(),
    }
}

/// Records the list after each round.
#[derive(Default)]
struct Lists(Vec<Vec<f64>>);

impl Observer for Lists {
    fn round(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.0.push(progress.values.to_vec());
        ControlFlow::Continue(())
    }
}

/// A problem that records its evaluations.
struct Watched<'a> {
    problem: &'a dyn Problem,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// The first points of each block of restarts, by the key of its first batches: round and number. Blocks run on
    /// any thread in any order, so the key identifies them.
    starts: BTreeMap<(u64, u64), Points>,
    /// Values of all objectives on all rows, one list per evaluation, in order. PF-SMG evaluates between rounds.
    evaluated: Vec<Vec<f64>>,
}

impl<'a> Watched<'a> {
    fn new(problem: &'a dyn Problem) -> Self {
        Self {
            problem,
            seen: Mutex::default(),
        }
    }

    fn seen(self) -> Seen {
        self.seen
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Problem for Watched<'_> {
    fn n_params(&self) -> usize {
        self.problem.n_params()
    }

    fn n_objectives(&self) -> usize {
        self.problem.n_objectives()
    }

    fn n_rows(&self) -> u64 {
        self.problem.n_rows()
    }

    fn values(&self, points: &Points) -> Result<Vec<f64>, fairfront_core::Error> {
        let values = self.problem.values(points)?;
        self.note(|seen| seen.evaluated.push(values.clone()));
        Ok(values)
    }

    fn gradients(
        &self,
        points: &Points,
        batches: Batches,
    ) -> Result<Gradients, fairfront_core::Error> {
        if let Batches::Sample {
            key: (_, [round, draw]),
            ..
        } = batches
        {
            // PF-SMG numbers its draws by block, and by step within a block.
            let (block, step) = (draw >> 20, draw & ((1 << 20) - 1));
            if step == 0 {
                self.note(|seen| {
                    seen.starts.insert((round, block), points.clone());
                });
            }
        }
        self.problem.gradients(points, batches)
    }

    fn loss(&self) -> Option<&dyn LossFacet> {
        Some(self)
    }

    fn roots(&self) -> Option<&dyn RootFacet> {
        self.problem.roots()
    }
}

/// The steps are the paper's, without a preconditioner.
impl LossFacet for Watched<'_> {
    fn minimizer(
        &self,
        near: Option<&[f64]>,
        stop: &StopSignal,
    ) -> Result<Option<Vec<f64>>, fairfront_core::Error> {
        self.problem.minimizer(near, stop)
    }

    fn start(&self, stop: &StopSignal) -> Result<Vec<f64>, fairfront_core::Error> {
        self.problem.start(stop)
    }

    fn preconditioner(&self, _at: &[f64]) -> Result<Preconditioner, fairfront_core::Error> {
        Ok(Preconditioner::Identity)
    }
}

#[cfg(test)]
mod tests;
