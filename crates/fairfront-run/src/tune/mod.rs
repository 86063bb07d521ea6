//! Grid search over the settings of a solver and its penalty, as in the paper.
//!
//! Every combination computes a front on the training rows; the one with the most accurate model on
//! the validation rows is chosen.

mod grid;

pub use grid::{Axis, Grid, MOST_RUNS};
use std::time::Instant;

use fairfront_core::{Costs, Measure, Measures, Message, Problem, say};
use fairfront_data::setting::SPLIT;
use fairfront_data::{Diagnostic, Encoded, Input, Ordered, Part};
use fairfront_pareto::{Values, hypervolume};
use fairfront_solve::{Observer, StopReason};
use grid::{PENALTY, penalty_of};
use serde::Serialize;

use crate::fit::{fit_encoded, parse_objectives};
use crate::meaning::Meaning;
use crate::measured::SplitValues;
use crate::memory::check_solving;
use crate::setting::TRY;
use crate::task::Task;
use crate::{Ask, Error, FitRequest, Fitted, FrontIn, Penalty, attribute_texts};

/// The largest number of objectives for which hypervolumes are computed; with more, they may take
/// longer than everything else.
const MOST_JUDGED: usize = 4;

/// Observes a search and may stop it.
pub trait TuneWatcher {
    /// The observer of the solvers. Stopping them ends the search and abandons the current
    /// combination.
    fn observer(&mut self) -> &mut dyn Observer;
    /// Called when a combination begins; `run` counts from 0, and `runs` is the total.
    fn begins(&mut self, run: usize, runs: usize, settings: &Ordered<String>);
    /// Called when a combination has ended.
    fn ended(&mut self, trial: &Trial);
}

/// Ignores all events.
impl TuneWatcher for () {
    fn observer(&mut self) -> &mut dyn Observer {
        self
    }

    fn begins(&mut self, _run: usize, _runs: usize, _settings: &Ordered<String>) {}

    fn ended(&mut self, _trial: &Trial) {}
}

/// The result of a search.
#[derive(Debug, Clone, Serialize)]
pub struct Tuning {
    /// Where the rows come from.
    pub source: String,
    /// Number of rows that fronts were computed on.
    pub train_rows: usize,
    /// Number of rows that the settings were chosen on.
    pub validation_rows: usize,
    /// Canonical names of the objectives.
    pub objectives: Vec<String>,
    /// The solver.
    pub solver: &'static str,
    /// Seed of the split, of the solver and of the combinations drawn.
    pub seed: u64,
    /// The settings and values that were tried, in the order of the solver's settings.
    pub tried: Vec<Axis>,
    /// Number of all combinations.
    pub combinations: usize,
    /// Objectives or measures that fronts are judged by; empty if there is no front.
    pub judged_by: Vec<String>,
    /// The reference point of hypervolumes on validation rows: the loss without any model, and
    /// twice the other values of the unmitigated model. Empty if hypervolumes cannot be computed.
    pub reference: Vec<f64>,
    /// The measure by which combinations are chosen: `accuracy`, `rmse` or `mae`.
    pub performance: String,
    /// The combinations to run, in order.
    pub trials: Vec<Trial>,
    /// Position of the chosen combination in `trials`.
    pub chosen: Option<usize>,
    /// Warnings and notes about the data.
    #[serde(skip)]
    #[serde(rename = "messages")]
    pub diagnostics: Vec<Diagnostic>,
}

impl Tuning {
    /// The chosen combination with the score of its front.
    pub fn best(&self) -> Option<(&Trial, &Score)> {
        let trial = self.trials.get(self.chosen?)?;
        Some((trial, trial.end.score()?))
    }

    /// Number of combinations whose best model is as good as that of the chosen one, which counts as
    /// well.
    pub fn n_as_good(&self) -> usize {
        let best = self.best().map(|(_, score)| score.performance);
        let scores = self.trials.iter().filter_map(|trial| trial.end.score());
        scores
            .filter(|score| Some(score.performance) == best)
            .count()
    }

    /// Whether the search was stopped before its end.
    pub fn is_stopped(&self) -> bool {
        let is_left = |trial: &Trial| trial.end == TrialEnd::NotRun;
        self.trials.iter().any(is_left)
    }
}

/// A combination and its result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trial {
    /// Its settings.
    pub settings: Ordered<String>,
    /// Its result.
    #[serde(flatten)]
    pub end: TrialEnd,
}

/// The result of a combination. In JSON, `"status"` and the fields of the variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum TrialEnd {
    /// The combination has a front.
    Done(Score),
    /// The combination failed.
    Failed {
        /// The error.
        reason: Message,
        /// Wall-clock seconds.
        seconds: f64,
    },
    /// The search was stopped before its end.
    NotRun,
}

impl TrialEnd {
    /// The score of the front, if there is one.
    pub fn score(&self) -> Option<&Score> {
        match self {
            Self::Done(score) => Some(score),
            Self::Failed { .. } | Self::NotRun => None,
        }
    }
}

/// The score of a front on validation rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Score {
    /// The best value of [`Tuning::performance`] of any of its models.
    pub performance: f64,
    /// Hypervolume share: the share of the box up to the reference point that the front dominates,
    /// in the values that fronts are judged by. `None` for many objectives, or if a value is
    /// undefined.
    pub hypervolume: Option<f64>,
    /// Number of models of the front.
    pub models: usize,
    /// Wall-clock seconds.
    pub seconds: f64,
}

/// Runs the combinations of a grid and chooses one by the validation rows.
///
/// If the grid is empty, the default grid of the solver is used. Combinations run one after
/// another, each on all threads. The one whose front has the most accurate model on the validation
/// rows is chosen; ties are broken by the larger hypervolume there, then by the earlier position.
///
/// The data is encoded once. Every combination uses the seed of `ask`, so that a fit with its
/// settings gives the front that was judged. A combination that fails is reported and does not end
/// the search.
///
/// ```
/// use fairfront_data::{Input, Known, Prepared};
/// use fairfront_run::{Ask, Grid, SolverName, tune};
///
/// let known = Known::parse("demo(rows=600)")?.expect("a known data set");
/// let prepared = Prepared::from_known(&known, &known.spec(), None)?;
/// let ask = Ask {
///     solver: SolverName::PfSmg,
///     settings: vec![("max-steps".into(), "4".into())],
///     ..Ask::default()
/// };
/// let grid = Grid::parse(&["runs=1,2".into()])?;
/// let tuning = tune(&Input::of(&prepared, false)?, &ask, &grid, &mut ())?;
/// assert_eq!(tuning.trials.len(), 2);
/// assert!(tuning.best().is_some());
/// # Ok::<(), fairfront_run::Error>(())
/// ```
pub fn tune(
    input: &Input,
    ask: &Ask,
    grid: &Grid,
    watcher: &mut dyn TuneWatcher,
) -> Result<Tuning, Error> {
    let (facts, encoded) = (&input.facts, &input.encoded);
    let source = facts.table.clone();
    let names = grid.axes.iter().map(|axis| axis.name.as_str());
    let names: Vec<&str> = names.filter(|name| *name != PENALTY).collect();
    let mut request = ask.request_with(
        &source,
        &attribute_texts(&facts.spec),
        facts.is_number(),
        &names,
    )?;
    // Invalid settings of a requested solver are errors before any work.
    if let ([only], false) = (request.solvers.as_slice(), grid.axes.is_empty()) {
        grid.clone().plan(&only.solver, ask)?;
    }
    if facts.target.is_some() && facts.split[Part::Validation as usize] == 0 {
        return Err(Error::usage(say![
            "settings are chosen on validation rows, but this split has none";
            "choose another split, such as ", SPLIT.is("60/10/30")
        ]));
    }
    // Problems that no combination can change are reported before any of them is run.
    check_solving(encoded, &request)?;
    let task = Task::new(encoded, &request, &[], &watcher.observer().stop_signal())?;
    let candidate = task.candidate.clone();
    let mut grid = grid.clone();
    if grid.axes.is_empty() {
        grid.axes = Grid::usual(ask, &candidate.solver)?.axes;
        if task.penalty.is_none() {
            grid.axes.retain(|axis| axis.name != PENALTY);
        }
    } else if task.penalty.is_none() && grid.axes.iter().any(|axis| axis.name == PENALTY) {
        return Err(Error::usage(say![
            TRY.of(PENALTY),
            ": the loss sets lambda itself; remove lambda from the objective"
        ]));
    }
    let plan = grid.plan(&candidate.solver, ask)?;
    plan.check(&candidate.solver, task.problem.n_params())?;

    // The solver and the penalty of a fit with default settings are chosen once.
    request.solvers = vec![candidate.clone()];
    if let Some(penalty) = &task.penalty {
        request.penalty = Penalty::Fixed(penalty.chosen);
    }
    let mut search = Search {
        encoded,
        request: &request,
        ground: None,
    };
    let settings = |position: &usize| Ordered(plan.settings(*position));
    let mut trials: Vec<Trial> = Vec::with_capacity(plan.positions.len());
    for settings in plan.positions.iter().map(settings) {
        let mut end = TrialEnd::NotRun;
        if !watcher.observer().stop_signal().is_set() {
            watcher.begins(trials.len(), plan.positions.len(), &settings);
            end = search.run(&settings, watcher.observer());
        }
        let trial = Trial { settings, end };
        if trial.end != TrialEnd::NotRun {
            watcher.ended(&trial);
        }
        trials.push(trial);
    }
    let (judged_by, reference) = search.ground.map_or_else(Default::default, |ground| {
        (ground.judged_by, ground.reference)
    });
    let schema = encoded.part(Part::Train).schema();
    let meaning = Meaning::of(task.problem.objectives(), schema);
    let larger_is_better = meaning.larger_performs_better();
    let performance = meaning.performance;
    Ok(Tuning {
        source,
        train_rows: encoded.part(Part::Train).n_people(),
        validation_rows: encoded.part(Part::Validation).n_people(),
        objectives: task.names,
        solver: candidate.solver.name(),
        seed: ask.seed,
        tried: plan.axes,
        combinations: plan.combinations,
        judged_by,
        reference,
        chosen: choose(&trials, larger_is_better),
        performance,
        trials,
        diagnostics: [facts.diagnostics.clone(), encoded.diagnostics.clone()].concat(),
    })
}

/// State shared by all combinations.
struct Search<'a> {
    encoded: &'a Encoded,
    request: &'a FitRequest,
    /// Set with the first front.
    ground: Option<Ground>,
}

/// The values that fronts are compared in, which do not depend on the settings.
struct Ground {
    judged_by: Vec<String>,
    front_in: FrontIn,
    measures: Vec<Measure>,
    /// Empty if there are no hypervolumes.
    reference: Vec<f64>,
}

impl Search<'_> {
    /// Runs one combination.
    fn run(&mut self, settings: &Ordered<String>, observer: &mut dyn Observer) -> TrialEnd {
        let start = Instant::now();
        let found = self.fit(settings, observer);
        let found = found.and_then(|fitted| match fitted.outcome.stop {
            StopReason::Stopped => Ok(None),
            _ => self.score(&fitted).map(Some),
        });
        let seconds = start.elapsed().as_secs_f64();
        match found {
            Ok(Some(score)) => TrialEnd::Done(Score { seconds, ..score }),
            Ok(None) => TrialEnd::NotRun,
            // An error after a stop is not caused by the settings.
            Err(_) if observer.stop_signal().is_set() => TrialEnd::NotRun,
            Err(error) => TrialEnd::Failed {
                reason: error.message(),
                seconds,
            },
        }
    }

    fn fit(
        &self,
        settings: &Ordered<String>,
        observer: &mut dyn Observer,
    ) -> Result<Fitted, Error> {
        let mut request = self.request.clone();
        for (name, value) in &settings.0 {
            if name == PENALTY {
                if let Some(penalty) = penalty_of(value)? {
                    request.penalty = Penalty::Fixed(penalty);
                }
                continue;
            }
            for choice in &mut request.solvers {
                choice.solver.set(name, value)?;
            }
        }
        // Blocks of rows are shared, not copied.
        fit_encoded(self.encoded.clone(), &request, &[], None, None, observer)
    }

    /// Scores a front on validation rows.
    fn score(&mut self, fitted: &Fitted) -> Result<Score, Error> {
        let is_validation = |split: &&SplitValues| split.part == Part::Validation;
        let Some(split) = fitted.splits.iter().find(is_validation) else {
            return Err(Error::data("there are no validation rows"));
        };
        if fitted.outcome.front.is_empty() {
            return Err(Error::data("the front has no models"));
        }
        let by_mae = fitted.meaning.performance == "mae";
        let performances = split.measures.iter().filter_map(|m| match &m.numbers {
            None => m.accuracy(),
            Some(numbers) if by_mae => numbers.mae(&numbers.overall),
            Some(numbers) => numbers.rmse(&numbers.overall),
        });
        let best = match fitted.meaning.larger_performs_better() {
            true => performances.max_by(f64::total_cmp),
            false => performances.min_by(f64::total_cmp),
        };
        let Some(performance) = best else {
            return Err(Error::data("the validation rows have no weight"));
        };
        if self.ground.is_none() {
            self.ground = Some(Ground::new(fitted, split)?);
        }
        let ground = self.ground.as_ref().filter(|g| !g.reference.is_empty());
        Ok(Score {
            performance,
            hypervolume: ground.and_then(|ground| ground.volume(split)),
            models: fitted.outcome.front.len(),
            seconds: 0.0,
        })
    }
}

impl Ground {
    fn new(fitted: &Fitted, split: &SplitValues) -> Result<Self, Error> {
        let front_in = fitted.judged.front_in;
        let judged_by = match front_in {
            FrontIn::Objectives => fitted.objectives.clone(),
            FrontIn::Measures => fitted.judged.measures.clone(),
        };
        let schema = fitted.encoded.part(Part::Train).schema();
        let objectives = parse_objectives(&fitted.requested, schema, &[], None)?;
        let measures = objectives.iter().filter_map(|o| o.measure()).collect();
        let mut ground = Self {
            judged_by,
            front_in,
            measures,
            reference: Vec::new(),
        };
        let unmitigated = ground.values(
            &split.unmitigated_objectives,
            std::slice::from_ref(&split.unmitigated),
            &split.meaningful,
        );
        if let Some(unmitigated) = unmitigated
            && unmitigated.len() <= MOST_JUDGED
        {
            let no_model = match (front_in, ground.measures.first()) {
                (FrontIn::Objectives, _) => fitted.at_zero[0],
                (_, Some(Measure::LogLoss)) => std::f64::consts::LN_2,
                (_, first) => least_error(first.copied(), &split.unmitigated),
            };
            let bound = |(i, own): (usize, &f64)| match i {
                // Keeps the box nonempty if a constant decision is as good as any model.
                0 => no_model.max(1.1 * own),
                _ => 2.0 * own,
            };
            let sound = |bound: f64| match bound > 0.0 && bound.is_finite() {
                true => bound,
                false => 1.0,
            };
            ground.reference = unmitigated
                .iter()
                .enumerate()
                .map(bound)
                .map(sound)
                .collect();
        }
        Ok(ground)
    }

    /// The values that models are judged by, from their objectives and measures on validation rows;
    /// `None` if a value is undefined there.
    fn values(
        &self,
        objectives: &[f64],
        measures: &[Measures],
        meaningful: &[bool],
    ) -> Option<Vec<f64>> {
        match self.front_in {
            FrontIn::Objectives => {
                let told = meaningful.iter().all(|meaningful| *meaningful);
                told.then(|| objectives.to_vec())
            }
            FrontIn::Measures => {
                let points = measures.iter();
                let of_point = |point| self.measures.iter().map(move |measure| measure.of(point));
                points.flat_map(of_point).collect()
            }
        }
    }

    /// The hypervolume share of a front.
    fn volume(&self, split: &SplitValues) -> Option<f64> {
        let values = self.values(&split.objectives, &split.measures, &split.meaningful)?;
        let values = Values::new(&values, self.reference.len()).ok()?;
        let volume = hypervolume(values, &self.reference).ok()?;
        Some(volume / self.reference.iter().product::<f64>())
    }
}

/// The error rate of the better constant decision, with the costs of this measure.
fn least_error(measure: Option<Measure>, measures: &Measures) -> f64 {
    if let Some(numbers) = &measures.numbers {
        // The error of the mean of the target as the prediction, at least that of the unmitigated model.
        return measure
            .and_then(|m| m.of(measures))
            .map_or(f64::NAN, |own| {
                let (all, n) = (&numbers.overall, numbers.overall.weight);
                let spread = (all.label_squared / n - (all.label / n) * (all.label / n)).max(0.0);
                own.max(numbers.scale * spread.sqrt())
            });
    }
    if let Some(classes) = &measures.classes {
        return classes.overall.least_error().unwrap_or(f64::NAN);
    }
    let rows = &measures.overall;
    let positive = rows.true_positives + rows.false_negatives;
    let costs = match measure {
        Some(Measure::ErrorRate(costs)) => costs,
        _ => Costs::EQUAL,
    };
    let cost = costs.of_no_model(positive, rows.count() - positive);
    cost.unwrap_or(f64::NAN)
}

/// The trial with the best performance; ties are broken by the larger hypervolume, then by the earlier
/// position.
fn choose(trials: &[Trial], larger_is_better: bool) -> Option<usize> {
    let mut best: Option<(usize, &Score)> = None;
    for (position, trial) in trials.iter().enumerate() {
        let Some(score) = trial.end.score() else {
            continue;
        };
        let volume = |score: &Score| score.hypervolume.unwrap_or(f64::NEG_INFINITY);
        let is_better = best.is_none_or(|(_, best)| {
            let by_performance = match larger_is_better {
                true => score.performance.total_cmp(&best.performance),
                false => best.performance.total_cmp(&score.performance),
            };
            let by_volume = volume(score).total_cmp(&volume(best));
            by_performance.then(by_volume).is_gt()
        });
        if is_better {
            best = Some((position, score));
        }
    }
    best.map(|(position, _)| position)
}

#[cfg(test)]
mod tests;
