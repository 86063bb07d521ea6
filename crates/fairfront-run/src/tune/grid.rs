//! Which combinations of settings are tried.

use std::collections::BTreeSet;

use fairfront_core::{Purpose, Stream, each, grouped, say};
use fairfront_data::near_names;
use fairfront_solve::AnySolver;
use serde::Serialize;

use crate::setting::{self, MOST, PRESET, SET, TRY};
use crate::{Ask, Error};

/// The setting that is no solver's own: the penalty of the loss, a number or `auto`.
pub(super) const PENALTY: &str = "penalty";

/// The penalty that a fit would choose, and three that span the usual range.
const PENALTIES: &str = "penalty=auto,0.0001,0.001,0.01";

/// Combinations that one search runs, at most.
pub const MOST_RUNS: usize = 10_000;

/// A setting with the values that are tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// Its name, one of [`Settings::settings`](fairfront_solve::Settings::settings) or `penalty`.
    pub name: String,
    /// Its values as [`Settings::set`](fairfront_solve::Settings::set) takes them, for the penalty numbers and `auto`, in the order in which they are tried.
    pub values: Vec<String>,
}

/// Settings with values to try, in all combinations or in some that are drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// The settings, in any order; if empty, [`tune`](super::tune) takes the usual grid of the solver.
    pub axes: Vec<Axis>,
    /// How many combinations are drawn, where not all are tried.
    pub most: Option<usize>,
}

impl Grid {
    /// Reads `NAME=V1,V2,…`, once for each setting. Where there is a `;` it stands between values, so
    /// that these can hold commas: `batches=80*1.018,50*1.018;80*1.005`.
    ///
    /// ```
    /// let grid = fairfront_run::Grid::parse(&["runs=1,2,3".into(), "step=0.5,1".into()])?;
    /// assert_eq!(grid.axes[0].values, ["1", "2", "3"]);
    /// # Ok::<(), fairfront_run::Error>(())
    /// ```
    pub fn parse(texts: &[String]) -> Result<Self, Error> {
        let mut axes: Vec<Axis> = Vec::new();
        for text in texts {
            let wrong = |what: &str| Error::usage(say![TRY, " {text:?}: {what}"]);
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
                return Err(wrong("name a setting before ="));
            }
            if values.iter().all(String::is_empty) {
                return Err(wrong("name the values to try after ="));
            }
            if values.iter().any(String::is_empty) {
                return Err(wrong("there is nothing between two separators"));
            }
            if axes.iter().any(|axis| axis.name == name) {
                return Err(Error::usage(say![
                    TRY.of(name),
                    " is given twice; name all its values in one"
                ]));
            }
            axes.push(Axis {
                name: name.to_owned(),
                values,
            });
        }
        Ok(Self { axes, most: None })
    }

    /// The usual grid of a solver, less what is set already. PF-SMG: runs (p1), steps of a run (p2), step
    /// length and batch sizes, for the paper's settings with the values of its experiments. Weighted sums:
    /// stages, softening and penalty. Solvers that are exact: the penalty alone.
    pub fn usual(ask: &Ask, solver: &AnySolver) -> Result<Self, Error> {
        let texts: &[&str] = match solver {
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
                    PRESET.is("paper"), " has a usual grid for pf-smg only";
                    "pass the settings and their values with ", TRY
                ]));
            }
            AnySolver::Weighted(_) => &["stages=2,4", "softening=3,9", PENALTIES],
            AnySolver::Trace(_) | AnySolver::EpsFair(_) => &[PENALTIES],
        };
        let texts: Vec<String> = texts.iter().map(|text| (*text).into()).collect();
        let mut grid = Self::parse(&texts)?;
        let is_set = |axis: &Axis| match axis.name.as_str() {
            PENALTY => ask.penalty.is_some(),
            name => ask.settings.iter().any(|(set, _)| *set == name),
        };
        grid.axes.retain(|axis| !is_set(axis));
        if grid.axes.is_empty() {
            return Err(Error::usage(say![
                each([SET, setting::PENALTY]), " fix all settings of the usual grid";
                "pass others with ", TRY
            ]));
        }
        Ok(grid)
    }

    /// How many combinations there are; `None` where nobody could count them.
    pub fn n_combinations(&self) -> Option<usize> {
        let counts = self.axes.iter().map(|axis| axis.values.len());
        counts.into_iter().try_fold(1_usize, usize::checked_mul)
    }

    /// What is to be run, in order: settings in the order in which the solver lists them, the last one
    /// changing fastest. Refuses what this solver cannot be told.
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
                "name a setting and its values with ",
                TRY
            ]));
        }
        let Some(combinations) = self.n_combinations() else {
            return Err(Error::usage(say![
                TRY,
                ": there are more combinations than can be counted; name fewer values"
            ]));
        };
        let runs = self.most.unwrap_or(combinations).min(combinations);
        if runs == 0 {
            return Err(Error::usage(say![MOST.is(0), ": give a number above 0"]));
        }
        if runs > MOST_RUNS {
            let problem = format!(
                "{} combinations are more than {} that one search runs",
                grouped(runs),
                grouped(MOST_RUNS)
            );
            return Err(Error::usage(say![
                problem;
                "name fewer values";
                "have some of them drawn with ", MOST
            ]));
        }
        Ok(Plan {
            positions: draw(combinations, runs, ask.seed),
            axes: self.axes,
            combinations,
        })
    }
}

/// The penalty that a text says; `None` for the one that a fit would choose.
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
    /// Says which penalties cannot be tried.
    fn check_penalty(&self, ask: &Ask) -> Result<(), Error> {
        if ask.penalty.is_some() {
            return Err(Error::usage(say![
                TRY.of(PENALTY),
                ": ",
                setting::PENALTY,
                " fixes it; leave one of the two out"
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

    /// Says what a solver cannot be told.
    fn check(&self, solver: &AnySolver, fixed: &[(String, String)]) -> Result<(), Error> {
        let Self { name, values } = self;
        let settings = solver.settings();
        let known = settings.iter().map(|setting| setting.name);
        if !known.clone().any(|known| known == name) {
            let (of, near) = (solver.name(), near_names(name, known));
            return Err(Error::usage(say![
                TRY.of(name),
                ": there is no such setting of {of}; {near}"
            ]));
        }
        if fixed.iter().any(|(other, _)| other == name) {
            return Err(Error::usage(say![
                TRY.of(name),
                ": ",
                SET,
                " fixes it; leave one of the two out"
            ]));
        }
        let mut before: Vec<AnySolver> = Vec::new();
        for value in values {
            let mut changed = solver.clone();
            changed
                .set(name, value)
                .map_err(|error| Error::usage(say![TRY, " \"{name}={value}\": {error}"]))?;
            // 1 and 1.0 are the same.
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
    /// How many combinations there are.
    pub(super) combinations: usize,
    /// Which of them are run, increasing.
    pub(super) positions: Vec<usize>,
}

impl Plan {
    /// Refuses values that cannot be right, whatever the others.
    pub(super) fn check(&self, solver: &AnySolver, n_params: usize) -> Result<(), Error> {
        // What is wrong without any of the values is not theirs.
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

/// So many different numbers below `n`, each set of them equally likely (Floyd), increasing.
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
