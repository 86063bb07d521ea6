//! Combinations of settings to try.

use std::collections::BTreeSet;

use crate::ask::known_settings;
use fairfront_core::{Purpose, Stream, each, grouped, say};
use fairfront_solve::AnySolver;
use serde::Serialize;

use crate::setting::{self, MOST, PRESET, SET, TRY};
use crate::{Ask, Error};

/// The setting that does not belong to a solver: the penalty of the loss, a number or `auto`.
pub(super) const PENALTY: &str = "penalty";

/// The penalty that a fit would choose, and three values that span the usual range.
const PENALTIES: &str = "penalty=auto,0.0001,0.001,0.01";

/// The largest number of combinations that one search runs.
pub const MOST_RUNS: usize = 10_000;

/// A setting with the values to try.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// Its name, one of [`Settings::settings`](fairfront_solve::Settings::settings) or `penalty`.
    pub name: String,
    /// Its values in the order in which they are tried, as
    /// [`Settings::set`](fairfront_solve::Settings::set) takes them; for the penalty, numbers and
    /// `auto`.
    pub values: Vec<String>,
}

/// Settings with values to try, in all combinations or in randomly drawn ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// The settings, in any order; if empty, [`tune`](super::tune) uses the solver's default grid.
    pub axes: Vec<Axis>,
    /// The number of combinations to draw; `None` to try all.
    pub most: Option<usize>,
}

impl Grid {
    /// Parses `NAME=V1,V2,…`, one string per setting. If the string contains `;`, it separates the
    /// values, which may then contain commas: `batches=80*1.018,50*1.018;80*1.005`.
    ///
    /// ```
    /// let grid = fairfront_run::Grid::parse(&["runs=1,2,3".into(), "step=0.5,1".into()])?;
    /// assert_eq!(grid.axes[0].values, ["1", "2", "3"]);
    /// # Ok::<(), fairfront_run::Error>(())
    /// ```
    pub fn parse(strings: &[String]) -> Result<Self, Error> {
        let mut axes: Vec<Axis> = Vec::new();
        for text in strings {
            let wrong = |problem: &str| Error::usage(say![TRY, " {text:?}: {problem}"]);
            let (name, values) = text
                .split_once('=')
                .ok_or_else(|| wrong("expected NAME=VALUE,VALUE,…"))?;
            let name = name.trim();
            let separator = if values.contains(';') { ';' } else { ',' };
            let values: Vec<String> = values
                .split(separator)
                .map(|value| value.trim().to_owned())
                .collect();
            if name.is_empty() {
                return Err(wrong("the setting is missing; write it before ="));
            }
            if values.iter().all(String::is_empty) {
                return Err(wrong("the values are missing; write them after ="));
            }
            if values.iter().any(String::is_empty) {
                return Err(wrong("a value is empty; write one between all separators"));
            }
            if axes.iter().any(|axis| axis.name == name) {
                return Err(Error::usage(say![
                    TRY.of(name),
                    " is given twice; pass all its values at once"
                ]));
            }
            axes.push(Axis {
                name: name.to_owned(),
                values,
            });
        }
        Ok(Self { axes, most: None })
    }

    /// The default grid of a solver, without settings that are already fixed. PF-SMG: restarts
    /// (p1), steps per restart (p2), step length and batch sizes; with the paper's settings, the
    /// values of its experiments. Weighted sums: stages, softening and penalty. Exact solvers: only
    /// the penalty.
    pub fn usual(ask: &Ask, solver: &AnySolver) -> Result<Self, Error> {
        let axes: &[&str] = match solver {
            AnySolver::PfSmg(_) if ask.paper => &[
                "runs=1,2,3",
                "steps=1,2,3",
                "step=0.3,2.1,4",
                "batches=80*1.018,50*1.018;80*1.005",
            ],
            AnySolver::PfSmg(_) => &[
                "runs=1,2,3",
                "steps=1,2,4",
                "step=0.5,1,2",
                "batches=80*1.02;200*1.02",
            ],
            _ if ask.paper => {
                return Err(Error::usage(say![
                    PRESET.is("paper"), " has a default grid only for pf-smg";
                    "pass the settings and their values with ", TRY
                ]));
            }
            AnySolver::Weighted(_) => &["stages=2,4", "softening=3,9", PENALTIES],
            AnySolver::Trace(_) | AnySolver::EpsFair(_) => &[PENALTIES],
        };
        let axes: Vec<String> = axes.iter().map(|text| (*text).into()).collect();
        let mut grid = Self::parse(&axes)?;
        let is_set = |axis: &Axis| match axis.name.as_str() {
            PENALTY => ask.penalty.is_some(),
            name => ask.settings.iter().any(|(set, _)| *set == name),
        };
        grid.axes.retain(|axis| !is_set(axis));
        if grid.axes.is_empty() {
            return Err(Error::usage(say![
                each([SET, setting::PENALTY]), " fix all settings of the default grid";
                "pass others with ", TRY
            ]));
        }
        Ok(grid)
    }

    /// The number of combinations; `None` if it overflows.
    pub fn n_combinations(&self) -> Option<usize> {
        let counts = self.axes.iter().map(|axis| axis.values.len());
        counts.into_iter().try_fold(1_usize, usize::checked_mul)
    }

    /// The combinations to run, in order: settings in the order in which the solver lists them, the
    /// last one changing fastest. Rejects settings that the solver does not have.
    pub(super) fn plan(mut self, solver: &AnySolver, ask: &Ask) -> Result<Plan, Error> {
        for axis in &self.axes {
            match axis.name.as_str() {
                PENALTY => axis.check_penalty(ask)?,
                _ => axis.check(solver, &ask.settings)?,
            }
        }
        // The penalty comes last.
        let place = |axis: &Axis| {
            let settings = solver.settings().into_iter();
            let place = settings.map(|s| s.name).position(|name| name == axis.name);
            place.unwrap_or(usize::MAX)
        };
        self.axes.sort_by_key(place);
        if self.axes.is_empty() {
            return Err(Error::usage(say![
                "there is nothing to try; pass a setting and its values with ",
                TRY
            ]));
        }
        let Some(combinations) = self.n_combinations() else {
            return Err(Error::usage(say![
                TRY,
                ": there are too many combinations to count; pass fewer values"
            ]));
        };
        let runs = self.most.unwrap_or(combinations).min(combinations);
        if runs == 0 {
            return Err(Error::usage(say![MOST.is(0), ": choose a number above 0"]));
        }
        if runs > MOST_RUNS {
            let problem = format!(
                "{} combinations are more than the {} that one search runs",
                grouped(runs),
                grouped(MOST_RUNS)
            );
            return Err(Error::usage(say![
                problem;
                "pass fewer values";
                "draw some of them with ", MOST
            ]));
        }
        Ok(Plan {
            positions: draw(combinations, runs, ask.seed),
            axes: self.axes,
            combinations,
        })
    }
}

/// Parses a penalty; `None` for the one that a fit would choose.
pub(super) fn penalty_of(text: &str) -> Result<Option<f64>, Error> {
    match text.parse::<f64>() {
        _ if text == "auto" => Ok(None),
        Ok(penalty) if penalty.is_finite() && penalty >= 0.0 => Ok(Some(penalty)),
        _ => Err(Error::usage(say![
            TRY,
            " \"{PENALTY}={text}\": not a penalty; choose auto, or numbers that are not negative"
        ])),
    }
}

impl Axis {
    /// Rejects penalties that cannot be tried.
    fn check_penalty(&self, ask: &Ask) -> Result<(), Error> {
        if ask.penalty.is_some() {
            return Err(Error::usage(say![
                TRY.of(PENALTY),
                ": ",
                setting::PENALTY,
                " fixes it; remove one of the two"
            ]));
        }
        let mut before = Vec::new();
        for value in &self.values {
            let penalty = penalty_of(value)?;
            if before.contains(&penalty) {
                return Err(Error::usage(say![
                    TRY.of(PENALTY),
                    ": the value {value} is given twice"
                ]));
            }
            before.push(penalty);
        }
        Ok(())
    }

    /// Rejects settings and values that the solver does not take.
    fn check(&self, solver: &AnySolver, fixed: &[(String, String)]) -> Result<(), Error> {
        let Self { name, values } = self;
        let settings = solver.settings();
        let known = settings.iter().map(|setting| setting.name);
        if !known.clone().any(|known| known == name) {
            let (of, near) = (solver.name(), known_settings(name, known));
            return Err(Error::usage(say![
                TRY.of(name),
                ": {of} has no such setting; {near}"
            ]));
        }
        if fixed.iter().any(|(other, _)| other == name) {
            return Err(Error::usage(say![
                TRY.of(name),
                ": ",
                SET,
                " fixes it; remove one of the two"
            ]));
        }
        let mut before: Vec<AnySolver> = Vec::new();
        for value in values {
            let mut changed = solver.clone();
            changed
                .set(name, value)
                .map_err(|error| Error::usage(say![TRY, " \"{name}={value}\": {error}"]))?;
            // 1 and 1.0 are equal.
            if before.contains(&changed) {
                return Err(Error::usage(say![
                    TRY.of(name),
                    ": the value {value} is given twice"
                ]));
            }
            before.push(changed);
        }
        Ok(())
    }
}

/// Combinations to run.
pub(super) struct Plan {
    /// In the order of the solver's settings.
    pub(super) axes: Vec<Axis>,
    /// The number of all combinations.
    pub(super) combinations: usize,
    /// The combinations to run, in increasing order.
    pub(super) positions: Vec<usize>,
}

impl Plan {
    /// Rejects values that are invalid in every combination.
    pub(super) fn check(&self, solver: &AnySolver, n_params: usize) -> Result<(), Error> {
        // Report problems that do not depend on the tried values first.
        solver.check(n_params)?;
        for Axis { name, values } in self.axes.iter().filter(|axis| axis.name != PENALTY) {
            for value in values {
                let mut changed = solver.clone();
                let checked = changed
                    .set(name, value)
                    .and_then(|()| changed.check(n_params));
                checked.map_err(|error| Error::usage(say![TRY, " \"{name}={value}\": {error}"]))?;
            }
        }
        Ok(())
    }

    /// The settings of the combination at this position.
    pub(super) fn settings(&self, mut position: usize) -> Vec<(String, String)> {
        let mut settings = Vec::with_capacity(self.axes.len());
        for Axis { name, values } in self.axes.iter().rev() {
            let value = &values[position % values.len()];
            settings.push((name.clone(), value.clone()));
            position /= values.len();
        }
        settings.reverse();
        settings
    }
}

/// Draws `runs` different numbers below `n`, every set equally likely (Floyd), in increasing order.
fn draw(n: usize, runs: usize, seed: u64) -> Vec<usize> {
    if runs == n {
        return (0..n).collect();
    }
    let mut random = Stream::new(seed, Purpose::Tuning, [0, 0]);
    let mut drawn = BTreeSet::new();
    for last in n - runs..n {
        let number = random.below(last + 1);
        if !drawn.insert(number) {
            drawn.insert(last);
        }
    }
    drawn.into_iter().collect()
}
