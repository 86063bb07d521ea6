//! Comparisons of solvers on many problems: the share of problems on which each is the best, in total and by kind.

use fairfront_core::counted;
use fairfront_pareto::{Better, Profile, Values};
use fairfront_report::{Line, ProfilePanels, Profiles};
use fairfront_run::{CompareOptions, Error, JudgedFront, NamedFront, compare};

use crate::Effort;
use crate::experiment::at_hand;
use crate::finding::Sheet;
use crate::job::{ADULT_GENDER, ADULT_RACE, Case, SYNTHETIC, Variant};
use crate::stat::{median, number};
use crate::work::Results;

/// Differences below this share of an objective's range are ties: two solvers that both find the exact front
/// differ by rounding.
const TOLERANCE: f64 = 1e-9;

/// A comparison of solvers.
pub(crate) struct Contest {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) solvers: &'static [(Variant, &'static str)],
}

/// An indicator of the quality or cost of a front.
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
        name: "Γ, largest hole",
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
        name: "CPU seconds per model",
        better: Better::Smaller,
        of: |front| front.seconds_per_model.unwrap_or(f64::INFINITY),
    },
    Indicator {
        name: "gradients per model",
        better: Better::Smaller,
        of: |front| front.gradients_per_model.unwrap_or(f64::INFINITY),
    },
];

/// The problems whose data are available.
pub(crate) fn problems(effort: Effort) -> Vec<(Case, u64)> {
    let mut problems: Vec<(Case, u64)> = (0..effort.synthetic())
        .map(|seed| (SYNTHETIC, seed))
        .collect();
    for case in [ADULT_GENDER, ADULT_RACE] {
        // Experiments that need these data report corrupted files before any work.
        if at_hand(case.source).unwrap_or(false) {
            problems.extend((0..effort.seeds()).map(|seed| (case, seed)));
        }
    }
    problems
}

/// The indicators of each solver on each problem.
pub(crate) struct Judged<'a> {
    contest: &'a Contest,
    problems: Vec<(Case, u64)>,
    /// By problem, then by solver.
    fronts: Vec<Vec<JudgedFront>>,
}

/// Kinds of problems, and their names in tables.
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

    /// The profile over the problems of a family, or over all problems; `None` without problems.
    fn profile(
        &self,
        family: Option<Case>,
        indicator: &Indicator,
    ) -> Result<Option<Profile>, Error> {
        let is_own = |case: &Case| family.is_none_or(|family| family.name == case.name);
        let own = self.fronts.iter().zip(&self.problems);
        let own = own.filter(|(_, (case, _))| is_own(case));
        let own: Vec<f64> = own
            .flat_map(|(fronts, _)| fronts.iter().map(indicator.of))
            .collect();
        if own.is_empty() {
            return Ok(None);
        }
        let values = Values::new(&own, self.contest.solvers.len())?;
        Ok(Some(Profile::new(values, indicator.better)?))
    }

    /// The share of problems on which a solver is the best or tied.
    pub(crate) fn wins(&self, indicator: usize, solver: usize) -> Result<f64, Error> {
        self.share(None, indicator, solver)
    }

    /// The same for the problems of a family; NaN without problems.
    fn wins_in(&self, family: Case, indicator: usize, solver: usize) -> Result<f64, Error> {
        self.share(Some(family), indicator, solver)
    }

    fn share(&self, family: Option<Case>, indicator: usize, solver: usize) -> Result<f64, Error> {
        let profile = self.profile(family, &INDICATORS[indicator])?;
        Ok(profile.map_or(f64::NAN, |profile| profile.share(solver, 1.0)))
    }

    pub(crate) fn median(&self, indicator: usize, solver: usize) -> f64 {
        let of = INDICATORS[indicator].of;
        median(self.fronts.iter().map(|fronts| of(&fronts[solver])))
    }

    /// Whether the first solver is the best on more problems than the second, and whether it is in some family of
    /// problems.
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
                families.push(format!(
                    "{name}: {} vs. {}",
                    percent(first),
                    percent(second)
                ));
            }
        }
        Ok(format!(
            "{}: best on {} vs. {} of the problems ({})",
            self.contest.title,
            percent(self.wins(indicator, 0)?),
            percent(self.wins(indicator, 1)?),
            families.join("; ")
        ))
    }

    pub(crate) fn figure(&self) -> Result<String, Error> {
        let n = self.contest.solvers.len();
        let mut steps: Vec<Vec<(f64, f64)>> = Vec::new();
        for indicator in &INDICATORS {
            let profile = self.profile(None, indicator)?;
            let of = |solver| profile.as_ref().map_or_else(Vec::new, |p| p.steps(solver));
            steps.extend((0..n).map(of));
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

pub(crate) fn percent(share: f64) -> String {
    match share.is_finite() {
        true => format!("{:.0}%", 100.0 * share),
        false => "–".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn front(gamma: f64) -> JudgedFront {
        JudgedFront {
            name: String::new(),
            solver: None,
            models: 1,
            models_found: 1,
            purity: 1.0,
            gamma,
            scaled_gamma: gamma,
            delta: 0.0,
            hypervolume: None,
            epsilon: None,
            igd_plus: None,
            seconds_per_model: None,
            gradients_per_model: None,
            gap: None,
            values: Vec::new(),
        }
    }

    /// Problems of two kinds with opposite winners alternate; their order must not matter.
    #[test]
    fn shares_refer_to_the_problems_of_a_family() {
        let contest = Contest {
            name: "",
            title: "",
            solvers: &[(Variant::PfSmg, "a"), (Variant::EpsFair, "b")],
        };
        let judged = Judged {
            contest: &contest,
            problems: vec![(SYNTHETIC, 0), (ADULT_GENDER, 0), (SYNTHETIC, 1)],
            fronts: [[3.0, 4.0], [9.0, 8.0], [1.0, 2.0]]
                .map(|gammas| gammas.map(front).to_vec())
                .to_vec(),
        };
        let gamma = 1;
        let share = |family, solver| judged.wins_in(family, gamma, solver).expect("numbers");
        assert_eq!([share(SYNTHETIC, 0), share(SYNTHETIC, 1)], [1.0, 0.0]);
        assert_eq!([share(ADULT_GENDER, 0), share(ADULT_GENDER, 1)], [0.0, 1.0]);
        assert!(share(ADULT_RACE, 0).is_nan());
        assert!((judged.wins(gamma, 0).expect("numbers") - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(judged.first_wins(gamma).expect("numbers"), (true, true));
    }
}
