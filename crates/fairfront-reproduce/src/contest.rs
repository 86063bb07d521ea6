//! Solvers side by side on many problems: who is the best in what, of all problems and of each kind.

use fairfront_pareto::{Better, Profile, Values};
use fairfront_report::{Line, ProfilePanels, Profiles};
use fairfront_run::{CompareOptions, Error, JudgedFront, NamedFront, compare};

use crate::Effort;
use crate::experiment::at_hand;
use crate::finding::Sheet;
use crate::job::{ADULT_GENDER, ADULT_RACE, Case, SYNTHETIC, Variant};
use crate::stat::{counted, median, number};
use crate::work::Results;

/// Differences below this share of an objective's range are none: two solvers that both find the exact
/// front differ by rounding.
const TOLERANCE: f64 = 1e-9;

/// Solvers that are compared with each other.
pub(crate) struct Contest {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) solvers: &'static [(Variant, &'static str)],
}

/// What is said of a front.
struct Indicator {
    name: &'static str,
    better: Better,
    of: fn(&JudgedFront) -> f64,
}

const INDICATORS: [Indicator; 6] = [
    Indicator {
        name: "purity",
        better: Better::Larger,
        of: |front| front.purity,
    },
    Indicator {
        name: "Γ, widest gap",
        better: Better::Smaller,
        of: |front| front.gamma,
    },
    Indicator {
        name: "Δ, unevenness",
        better: Better::Smaller,
        of: |front| front.delta,
    },
    Indicator {
        name: "hypervolume",
        better: Better::Larger,
        of: |front| front.hypervolume.unwrap_or(0.0),
    },
    Indicator {
        name: "CPU seconds a point",
        better: Better::Smaller,
        of: |front| front.seconds_per_point.unwrap_or(f64::INFINITY),
    },
    Indicator {
        name: "gradients a point",
        better: Better::Smaller,
        of: |front| front.gradients_per_point.unwrap_or(f64::INFINITY),
    },
];

/// The problems that can be had.
pub(crate) fn problems(effort: Effort) -> Vec<(Case, u64)> {
    let mut problems: Vec<(Case, u64)> = (0..effort.synthetic())
        .map(|seed| (SYNTHETIC, seed))
        .collect();
    for case in [ADULT_GENDER, ADULT_RACE] {
        // Damage is said before any work, by experiments that need these data.
        if at_hand(case.source).unwrap_or(false) {
            problems.extend((0..effort.seeds()).map(|seed| (case, seed)));
        }
    }
    problems
}

/// What each solver of a contest came to on each problem.
pub(crate) struct Judged<'a> {
    contest: &'a Contest,
    problems: Vec<(Case, u64)>,
    /// By problem, then by solver.
    fronts: Vec<Vec<JudgedFront>>,
}

/// Kinds of problems, and what tables call them.
const FAMILIES: [(Case, &str); 3] = [
    (SYNTHETIC, "synthetic"),
    (ADULT_GENDER, "Adult, gender"),
    (ADULT_RACE, "Adult, race"),
];

impl<'a> Judged<'a> {
    pub(crate) fn of(
        contest: &'a Contest,
        effort: Effort,
        results: &Results,
    ) -> Result<Self, Error> {
        let judge = |(case, seed): &(Case, u64)| -> Result<Vec<JudgedFront>, Error> {
            let fronts = contest.solvers.iter().map(|(variant, name)| {
                let job = case.fit(*seed, *variant, effort);
                let mut front = results.named_front(&job)?;
                front.name = (*name).into();
                Ok(front)
            });
            let fronts: Vec<NamedFront> = fronts.collect::<Result<_, Error>>()?;
            let options = CompareOptions {
                same_size: true,
                tolerance: TOLERANCE,
                ..CompareOptions::default()
            };
            Ok(compare(&fronts, &options)?.fronts)
        };
        let problems = problems(effort);
        let fronts = problems.iter().map(judge);
        Ok(Self {
            contest,
            fronts: fronts.collect::<Result<_, Error>>()?,
            problems,
        })
    }

    /// An indicator by problem and solver.
    fn numbers(&self, indicator: &Indicator) -> Vec<f64> {
        self.fronts.iter().flatten().map(indicator.of).collect()
    }

    fn profile(&self, indicator: &Indicator) -> Result<Profile, Error> {
        let numbers = self.numbers(indicator);
        let values = Values::new(&numbers, self.contest.solvers.len())?;
        Ok(Profile::new(values, indicator.better)?)
    }

    /// On what share of the problems a solver is the best, or as good.
    pub(crate) fn wins(&self, indicator: usize, solver: usize) -> Result<f64, Error> {
        Ok(self.profile(&INDICATORS[indicator])?.share(solver, 1.0))
    }

    /// The same of the problems of a family; NaN where there are none.
    fn wins_in(&self, family: Case, indicator: usize, solver: usize) -> Result<f64, Error> {
        let indicator = &INDICATORS[indicator];
        let own = self.fronts.iter().zip(&self.problems);
        let own = own.filter(|(_, (case, _))| case.name == family.name);
        let own: Vec<f64> = own
            .flat_map(|(fronts, _)| fronts.iter().map(indicator.of))
            .collect();
        match own.is_empty() {
            true => Ok(f64::NAN),
            false => Ok(best_share(
                &own,
                self.contest.solvers.len(),
                indicator.better,
                solver,
            )?),
        }
    }

    pub(crate) fn median(&self, indicator: usize, solver: usize) -> f64 {
        let of = INDICATORS[indicator].of;
        median(self.fronts.iter().map(|fronts| of(&fronts[solver])))
    }

    /// Whether the first solver beats the second in an indicator, and where else it does not, whether it does in some
    /// family of problems.
    pub(crate) fn first_wins(&self, indicator: usize) -> Result<(bool, bool), Error> {
        let mut in_some = false;
        for (family, _) in FAMILIES {
            let [first, second] = [0, 1].map(|solver| self.wins_in(family, indicator, solver));
            in_some |= first? > second?;
        }
        Ok((self.wins(indicator, 0)? > self.wins(indicator, 1)?, in_some))
    }

    /// Shares of problems on which the first two solvers are the best, by family.
    pub(crate) fn text(&self, indicator: usize) -> Result<String, Error> {
        let mut families = Vec::new();
        for (family, name) in FAMILIES {
            let [first, second] = [0, 1].map(|solver| self.wins_in(family, indicator, solver));
            let (first, second) = (first?, second?);
            if first.is_finite() {
                families.push(format!("{name} {} : {}", percent(first), percent(second)));
            }
        }
        Ok(format!(
            "{}: best on {} : {} ({})",
            self.contest.title,
            percent(self.wins(indicator, 0)?),
            percent(self.wins(indicator, 1)?),
            families.join(", ")
        ))
    }

    pub(crate) fn figure(&self) -> Result<String, Error> {
        let n = self.contest.solvers.len();
        let mut steps: Vec<Vec<(f64, f64)>> = Vec::new();
        for indicator in &INDICATORS {
            let profile = self.profile(indicator)?;
            steps.extend((0..n).map(|solver| profile.steps(solver)));
        }
        let panels = INDICATORS.iter().zip(steps.chunks_exact(n));
        let panels = panels.map(|(indicator, steps)| Profiles {
            title: indicator.name.into(),
            solvers: (self.contest.solvers.iter().zip(steps))
                .map(|((_, name), points)| Line { name, points })
                .collect(),
        });
        Ok(ProfilePanels {
            title: format!(
                "{}, {}",
                counted(self.fronts.len(), "problem"),
                self.contest.title
            ),
            panels: panels.collect(),
        }
        .to_svg())
    }

    pub(crate) fn add_rows(&self, sheet: &mut Sheet) -> Result<(), Error> {
        for (solver, (_, name)) in self.contest.solvers.iter().enumerate() {
            for (i, indicator) in INDICATORS.iter().enumerate() {
                let middle = self.median(i, solver);
                let mut cells = vec![
                    self.contest.title.to_owned(),
                    (*name).to_owned(),
                    indicator.name.to_owned(),
                    number(middle, if middle.abs() < 0.1 { 5 } else { 3 }),
                    percent(self.wins(i, solver)?),
                ];
                for (family, _) in FAMILIES {
                    cells.push(percent(self.wins_in(family, i, solver)?));
                }
                sheet.row(cells);
            }
        }
        Ok(())
    }
}

/// On what share of problems a solver is the best, or as good; numbers by problem, then by solver.
fn best_share(
    numbers: &[f64],
    solvers: usize,
    better: Better,
    solver: usize,
) -> Result<f64, Error> {
    let profile = Profile::new(Values::new(numbers, solvers)?, better)?;
    Ok(profile.share(solver, 1.0))
}

pub(crate) fn percent(share: f64) -> String {
    match share.is_finite() {
        true => format!("{:.0} %", 100.0 * share),
        false => "–".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two kinds of problems with opposite winners; their order must not matter.
    #[test]
    fn shares_are_of_the_problems_at_hand() {
        let (first, second) = ([1.0, 2.0, 3.0, 4.0], [9.0, 8.0, 7.0, 6.0]);
        for (solver, share) in [(0, 1.0), (1, 0.0)] {
            assert_eq!(
                best_share(&first, 2, Better::Smaller, solver).expect("numbers"),
                share
            );
            assert_eq!(
                best_share(&second, 2, Better::Larger, solver).expect("numbers"),
                share
            );
            assert_eq!(
                best_share(&second, 2, Better::Smaller, solver).expect("numbers"),
                1.0 - share
            );
        }
        let both = [first, second].concat();
        assert_eq!(
            best_share(&both, 2, Better::Smaller, 0).expect("numbers"),
            0.5
        );
    }
}
