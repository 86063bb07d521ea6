//! Solvers on forty problems, as performance profiles.

use fairfront_pareto::{Better, Profile, Values};
use fairfront_report::{Line, ProfilePanels, Profiles};
use fairfront_run::{CompareOptions, Error, JudgedFront, NamedFront, compare};

use crate::experiment::at_hand;
use crate::finding::{Draft, Sheet, Verdict};
use crate::front::{Front, time};
use crate::job::{ADULT_GENDER, ADULT_RACE, Case, Job, SYNTHETIC, Variant};
use crate::stat::{Summary, counted, median, number};
use crate::work::Results;
use crate::{Effort, Experiment};

/// Differences below this share of an objective's range are none: two solvers that both find the exact
/// front differ by rounding.
const TOLERANCE: f64 = 1e-9;

/// Solvers that are compared with each other.
struct Contest {
    name: &'static str,
    title: &'static str,
    solvers: &'static [(Variant, &'static str)],
}

const PAPER: Contest = Contest {
    name: "profiles-paper",
    title: "paper's way",
    solvers: &[
        (Variant::PfSmgPaper, "PF-SMG, the paper's settings"),
        (
            Variant::EpsFairPaper,
            "EPS-fair: cold starts, finite differences",
        ),
    ],
};

const OURS: Contest = Contest {
    name: "profiles-ours",
    title: "our way",
    solvers: &[
        (Variant::PfSmg, "PF-SMG, our settings"),
        (Variant::EpsFair, "EPS-fair: warm starts, exact gradients"),
    ],
};

const EXACT: Contest = Contest {
    name: "profiles-trace",
    title: "with the exact front",
    solvers: &[
        (Variant::PfSmg, "PF-SMG, our settings"),
        (Variant::EpsFair, "EPS-fair: warm starts, exact gradients"),
        (Variant::Ours, "trace, the exact front"),
    ],
};

const VARIANTS: [Variant; 5] = [
    Variant::PfSmgPaper,
    Variant::EpsFairPaper,
    Variant::PfSmg,
    Variant::EpsFair,
    Variant::Ours,
];

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
fn problems(effort: Effort) -> Vec<(Case, u64)> {
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

pub(crate) fn jobs(effort: Effort) -> Vec<Job> {
    let problems = problems(effort).into_iter();
    problems
        .flat_map(|(case, seed)| VARIANTS.map(|variant| case.fit(seed, variant, effort)))
        .collect()
}

/// What each solver of a contest came to on each problem.
struct Judged<'a> {
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
    fn of(contest: &'a Contest, effort: Effort, results: &Results) -> Result<Self, Error> {
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
    fn wins(&self, indicator: usize, solver: usize) -> Result<f64, Error> {
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

    fn median(&self, indicator: usize, solver: usize) -> f64 {
        let of = INDICATORS[indicator].of;
        median(self.fronts.iter().map(|fronts| of(&fronts[solver])))
    }

    /// Whether the first solver beats the second in an indicator, and where else it does not, whether it does in some
    /// family of problems.
    fn first_wins(&self, indicator: usize) -> Result<(bool, bool), Error> {
        let mut in_some = false;
        for (family, _) in FAMILIES {
            let [first, second] = [0, 1].map(|solver| self.wins_in(family, indicator, solver));
            in_some |= first? > second?;
        }
        Ok((self.wins(indicator, 0)? > self.wins(indicator, 1)?, in_some))
    }

    /// Shares of problems on which the first two solvers are the best, by family.
    fn text(&self, indicator: usize) -> Result<String, Error> {
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

    fn figure(&self) -> Result<String, Error> {
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

    fn add_rows(&self, sheet: &mut Sheet) -> Result<(), Error> {
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

pub(crate) fn find(effort: Effort, results: &Results) -> Result<Draft, Error> {
    let problems = problems(effort);
    let count = |case: Case| {
        problems
            .iter()
            .filter(|(own, _)| own.name == case.name)
            .count()
    };
    let mut draft = Draft::new(
        Experiment::Profiles,
        format!(
            "{} problems: {} synthetic data sets of 2,000 rows, {} splits of Adult by gender, {} by race; training rows. \
             EPS-fair with {} values of ε on synthetic data and {} on Adult. Fronts of a problem are brought to the size \
             of the smallest before purity, Γ, Δ and hypervolume are found. A solver's line is the share of problems on \
             which it is within a factor τ of the best. Differences below 1e-9 of a range count as none. CPU seconds are \
             of one thread. EPS-fair's subproblems are solved by SLSQP, as in the paper. By race it bounds each of the five \
             covariances, while fronts are judged by their smooth maximum: its solutions need not be on that front.",
            problems.len(),
            count(SYNTHETIC),
            count(ADULT_GENDER),
            count(ADULT_RACE),
            effort.synthetic_bounds(),
            effort.bounds()
        ),
    );
    let mut sheet = Sheet::new(
        "indicators",
        "Medians over the problems, and on what share of them, of all and by kind, a solver is the best or as good.",
        &[
            "contest",
            "solver",
            "indicator",
            "median",
            "best on",
            "synthetic",
            "Adult, gender",
            "Adult, race",
        ],
    );
    let mut all = Vec::new();
    for contest in [&PAPER, &OURS, &EXACT] {
        let found = Judged::of(contest, effort, results)?;
        let caption = format!(
            "Performance profiles on {} problems: {}.",
            problems.len(),
            contest.title
        );
        draft.figure(contest.name, caption, found.figure()?);
        found.add_rows(&mut sheet)?;
        all.push(found);
    }
    draft.finding.sheets.push(sheet);
    let [paper, ours, exact] = all.as_slice() else {
        return Ok(draft);
    };
    let lost = Lost::of(effort, results)?;
    quality(&mut draft, paper, ours, &lost)?;
    prices(&mut draft, paper, ours, exact)?;
    lost.claim(&mut draft);
    for variant in [Variant::PfSmgPaper, Variant::EpsFairPaper, Variant::Ours] {
        let fronts = (0..effort.synthetic())
            .map(|seed| results.front(&SYNTHETIC.fit(seed, variant, effort)));
        let fronts: Vec<Front> = fronts.collect::<Result<_, Error>>()?;
        draft
            .finding
            .times
            .push(time("synthetic", variant.label(), &fronts));
    }
    Ok(draft)
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

fn percent(share: f64) -> String {
    match share.is_finite() {
        true => format!("{:.0} %", 100.0 * share),
        false => "–".into(),
    }
}

const FAMILY_RULE: &str = "the paper's way, PF-SMG is the best on more problems than EPS-fair; in part where it is so on one of \
                           the three kinds of problems";

/// How good fronts are, PF-SMG : EPS-fair.
fn quality(draft: &mut Draft, paper: &Judged, ours: &Judged, lost: &Lost) -> Result<(), Error> {
    let text = |i: usize| -> Result<String, Error> {
        let medians = |found: &Judged| {
            let [first, second] = [0, 1].map(|solver| number(found.median(i, solver), 4));
            format!("medians {first} : {second}")
        };
        Ok(format!(
            "PF-SMG : EPS-fair, {}, {}; {}, {}",
            paper.text(i)?,
            medians(paper),
            ours.text(i)?,
            medians(ours)
        ))
    };
    let purer = paper.wins(0, 1)? > paper.wins(0, 0)?;
    let slightly = paper.median(0, 0) > 0.5 * paper.median(0, 1);
    let verdict = Verdict::of(Some(purer && slightly), Some(purer));
    draft.claim(
        (
            "EPS-fair's fronts are slightly purer than PF-SMG's.",
            "the paper's way, EPS-fair is the purest on more problems, and PF-SMG's median purity is more than half of its; \
             in part where the first is so",
        ),
        text(0)?,
        verdict,
        match verdict {
            Verdict::InPart => {
                "purer by far: purity counts a point as lost however little it is dominated by; how little, the \
                 hypervolumes say"
            }
            _ => "",
        },
    );
    for (i, name) in [
        (1, "Γ: its widest gap is smaller"),
        (2, "Δ: its gaps are more even"),
        (3, "hypervolume"),
    ] {
        let (wins, in_some) = paper.first_wins(i)?;
        let verdict = Verdict::of(Some(wins), Some(in_some));
        draft.claim(
            (&format!("PF-SMG is better in {name}."), FAMILY_RULE),
            text(i)?,
            verdict,
            match verdict {
                Verdict::Holds => String::new(),
                _ => format!(
                    "EPS-fair loses {} of its points here, against 70–80 % in the paper: its fronts are as complete as its \
                     bounds are many",
                    lost.paper.percent(1)
                ),
            },
        );
    }
    Ok(())
}

/// What points cost.
fn prices(draft: &mut Draft, paper: &Judged, ours: &Judged, exact: &Judged) -> Result<(), Error> {
    for (i, what, unit) in [
        (4, "CPU time", "CPU ms"),
        (5, "gradient evaluations", "gradients"),
    ] {
        let scale = if i == 4 { 1e3 } else { 1.0 };
        let medians = |found: &Judged, solver: usize| number(scale * found.median(i, solver), 2);
        let (wins, in_some) = paper.first_wins(i)?;
        draft.claim(
            (&format!("PF-SMG is cheaper in {what} per point."), FAMILY_RULE),
            format!(
                "PF-SMG : EPS-fair, {}, medians {} : {} {unit} a point; {}, medians {} : {}; the exact front {}",
                paper.text(i)?,
                medians(paper, 0),
                medians(paper, 1),
                ours.text(i)?,
                medians(ours, 0),
                medians(ours, 1),
                medians(exact, 2)
            ),
            Verdict::of(Some(wins), Some(in_some)),
            match i {
                4 => "",
                _ => {
                    "a gradient of PF-SMG is on a batch of rows, one of EPS-fair on all rows; EPS-fair's are counted one for \
                     the loss and one for each covariance, those by finite differences too"
                }
            },
        );
    }
    Ok(())
}

/// How many of EPS-fair's points are dominated or copies of others.
struct Lost {
    paper: Summary,
    ours: Summary,
}

impl Lost {
    fn of(effort: Effort, results: &Results) -> Result<Self, Error> {
        let share = |variant| -> Result<Summary, Error> {
            let shares = problems(effort).into_iter().map(|(case, seed)| {
                let front = results.front(&case.fit(seed, variant, effort))?;
                let subproblems = front.info.counters.subproblems.unwrap_or_default();
                let lost = (subproblems.dominated + subproblems.copies) as f64;
                Ok(lost / (lost + front.table.len() as f64))
            });
            let shares: Vec<f64> = shares.collect::<Result<_, Error>>()?;
            Ok(Summary::of(shares))
        };
        Ok(Self {
            paper: share(Variant::EpsFairPaper)?,
            ours: share(Variant::EpsFair)?,
        })
    }

    fn claim(&self, draft: &mut Draft) {
        let Self { paper, ours } = self;
        let verdict = Verdict::of(
            paper.when(|s| (0.6..0.9).contains(&s.mean)),
            paper.when(|s| s.mean > 0.3),
        );
        draft.claim(
            (
                "70–80 % of EPS-fair's points are dominated.",
                "the mean share is between 60 and 90 %, the paper's way; in part above 30 %",
            ),
            format!(
                "{} with cold starts and finite differences (from {} to {}), {} with warm starts and exact gradients",
                paper.percent(1),
                percent(paper.least),
                percent(paper.most),
                ours.percent(1)
            ),
            verdict,
            match verdict {
                Verdict::Holds => "",
                _ => {
                    "where f1 and the covariance are convex, the exact solution of a subproblem is on the front; a point is \
                     lost where its solver has stopped too early"
                }
            },
        );
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
