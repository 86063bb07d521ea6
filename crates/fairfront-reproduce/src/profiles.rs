//! Solvers on forty problems, as performance profiles.

use fairfront_pareto::{Better, Profile, Values};
use fairfront_report::{Line, ProfilePanels, Profiles};
use fairfront_run::{CompareOptions, Error, JudgedFront, NamedFront, compare};

use crate::experiment::at_hand;
use crate::finding::{Draft, Sheet, Verdict};
use crate::front::{Front, time};
use crate::job::{ADULT_GENDER, ADULT_RACE, Case, Job, SYNTHETIC, Variant};
use crate::stat::{Summary, median, number};
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
    title: "the paper's way",
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
    let adult = [ADULT_GENDER, ADULT_RACE]
        .into_iter()
        .filter(|case| at_hand(case.source));
    let synthetic = (0..effort.synthetic()).map(|seed| (SYNTHETIC, seed));
    let adult = adult.flat_map(|case| (0..effort.seeds()).map(move |seed| (case, seed)));
    synthetic.chain(adult).collect()
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
    /// By problem, then by solver.
    fronts: Vec<Vec<JudgedFront>>,
}

impl<'a> Judged<'a> {
    fn of(contest: &'a Contest, effort: Effort, results: &Results) -> Result<Self, Error> {
        let judge = |(case, seed): (Case, u64)| -> Result<Vec<JudgedFront>, Error> {
            let fronts = contest.solvers.iter().map(|(variant, name)| {
                let job = case.fit(seed, *variant, effort);
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
        let fronts = problems(effort).into_iter().map(judge);
        Ok(Self {
            contest,
            fronts: fronts.collect::<Result<_, Error>>()?,
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

    /// On how many of the problems a solver is the best, or as good.
    fn wins(&self, indicator: usize, solver: usize) -> Result<f64, Error> {
        Ok(self.profile(&INDICATORS[indicator])?.share(solver, 1.0))
    }

    fn median(&self, indicator: usize, solver: usize) -> f64 {
        median(
            self.fronts
                .iter()
                .map(|fronts| (INDICATORS[indicator].of)(&fronts[solver])),
        )
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
            title: format!("{} problems, {}", self.fronts.len(), self.contest.title),
            panels: panels.collect(),
        }
        .to_svg())
    }

    fn add_rows(&self, sheet: &mut Sheet) -> Result<(), Error> {
        for (solver, (_, name)) in self.contest.solvers.iter().enumerate() {
            for (i, indicator) in INDICATORS.iter().enumerate() {
                let numbers = self
                    .fronts
                    .iter()
                    .map(|fronts| (indicator.of)(&fronts[solver]));
                let summary = Summary::of(numbers);
                let decimals = if summary.mean.abs() < 0.1 { 5 } else { 3 };
                sheet.row([
                    self.contest.title.into(),
                    (*name).into(),
                    indicator.name.into(),
                    number(self.median(i, solver), decimals),
                    summary.text(decimals),
                    format!("{:.0} %", 100.0 * self.wins(i, solver)?),
                ]);
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
             of one thread.",
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
        "Medians and means over the problems, and on how many of them a solver is the best or as good.",
        &[
            "contest",
            "solver",
            "indicator",
            "median",
            "mean",
            "best on",
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
    quality(&mut draft, paper, ours)?;
    prices(&mut draft, paper, ours, exact)?;
    dominated(&mut draft, effort, results)?;
    for (variant, name) in [
        (Variant::PfSmgPaper, "PF-SMG, paper"),
        (Variant::EpsFairPaper, "EPS-fair, paper"),
        (Variant::Ours, "exact front"),
    ] {
        let fronts = (0..effort.synthetic())
            .map(|seed| results.front(&SYNTHETIC.fit(seed, variant, effort)));
        let fronts: Vec<Front> = fronts.collect::<Result<_, Error>>()?;
        draft.finding.times.push(time("synthetic", name, &fronts));
    }
    Ok(draft)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// How good fronts are.
fn quality(draft: &mut Draft, paper: &Judged, ours: &Judged) -> Result<(), Error> {
    let both = |found: &Judged, i: usize| -> Result<[f64; 2], Error> {
        Ok([found.wins(i, 0)?, found.wins(i, 1)?])
    };
    let text = |name: &str, [pf_smg, eps_fair]: [f64; 2]| {
        format!(
            "{name}: PF-SMG best on {}, EPS-fair on {}",
            percent(pf_smg),
            percent(eps_fair)
        )
    };
    let [pf_smg, eps_fair] = both(paper, 0)?;
    draft.claim(
        "EPS-fair's fronts are slightly purer than PF-SMG's.",
        format!(
            "{} (median purity {} and {}); {} (median {} and {})",
            text("the paper's way", [pf_smg, eps_fair]),
            number(paper.median(0, 0), 3),
            number(paper.median(0, 1), 3),
            text("our way", both(ours, 0)?),
            number(ours.median(0, 0), 3),
            number(ours.median(0, 1), 3)
        ),
        Verdict::of(eps_fair > pf_smg, paper.median(0, 1) > paper.median(0, 0)),
        "EPS-fair solves each of its problems, where PF-SMG stops within the noise of its batches: with enough digits \
         nearly all of PF-SMG's points are dominated, by little",
    );
    for (i, name) in [
        (1, "Γ: its widest gap is smaller"),
        (2, "Δ: its gaps are more even"),
        (3, "hypervolume"),
    ] {
        let own = both(paper, i)?;
        draft.claim(
            &format!("PF-SMG is better in {name}."),
            format!(
                "{} (medians {} and {}); {} (medians {} and {})",
                text("the paper's way", own),
                number(paper.median(i, 0), 4),
                number(paper.median(i, 1), 4),
                text("our way", both(ours, i)?),
                number(ours.median(i, 0), 4),
                number(ours.median(i, 1), 4)
            ),
            Verdict::of(own[0] > own[1], own[0] > 0.25),
            match i {
                1 | 2 if own[0] <= own[1] => {
                    "EPS-fair spaces its ε evenly in the covariance; with its subproblems solved none of its points \
                     is lost, and the gaps stay even"
                }
                3 if own[0] <= own[1] => {
                    "with analytic gradients and a solver that converges EPS-fair's points are not dominated, and are \
                     exact where PF-SMG's are not"
                }
                _ => "",
            },
        );
    }
    Ok(())
}

/// What points cost.
fn prices(draft: &mut Draft, paper: &Judged, ours: &Judged, exact: &Judged) -> Result<(), Error> {
    for (i, what, unit) in [
        (4, "time", "CPU ms"),
        (5, "gradient evaluations", "gradients"),
    ] {
        let scale = if i == 4 { 1e3 } else { 1.0 };
        let medians = |found: &Judged, solver: usize| number(scale * found.median(i, solver), 2);
        let own = [paper.wins(i, 0)?, paper.wins(i, 1)?];
        draft.claim(
            &format!("PF-SMG is cheaper in {what} per point."),
            format!(
                "{unit} a point, median: the paper's way PF-SMG {}, EPS-fair {} (PF-SMG cheaper on {}); our way {} and {} \
                 (on {}); the exact front {}",
                medians(paper, 0),
                medians(paper, 1),
                percent(own[0]),
                medians(ours, 0),
                medians(ours, 1),
                percent(ours.wins(i, 0)?),
                medians(exact, 2)
            ),
            Verdict::of(own[0] > 0.75, own[0] > 0.25),
            match i {
                4 => {
                    "EPS-fair's own cost depends on its program: here a subproblem takes milliseconds even with finite \
                     differences, where the authors' takes seconds"
                }
                _ => {
                    "a gradient of PF-SMG is on a batch of rows and one of EPS-fair on all rows, and those by finite \
                     differences count as one, as in the paper; PF-SMG takes steps from every point of its list in every \
                     round"
                }
            },
        );
    }
    Ok(())
}

/// How many of EPS-fair's points are dominated.
fn dominated(draft: &mut Draft, effort: Effort, results: &Results) -> Result<(), Error> {
    let share = |variant| -> Result<Summary, Error> {
        let shares = problems(effort).into_iter().map(|(case, seed)| {
            let front = results.front(&case.fit(seed, variant, effort))?;
            let subproblems = front.info.counters.subproblems.unwrap_or_default();
            let left_out = (subproblems.dominated + subproblems.copies) as f64;
            Ok(left_out / (left_out + front.table.len() as f64))
        });
        let shares: Vec<f64> = shares.collect::<Result<_, Error>>()?;
        Ok(Summary::of(shares))
    };
    let (paper, ours) = (share(Variant::EpsFairPaper)?, share(Variant::EpsFair)?);
    draft.claim(
        "70–80 % of EPS-fair's points are dominated.",
        format!(
            "{} with cold starts and finite differences (from {} to {}), {} with warm starts and exact gradients",
            paper.percent(1),
            percent(paper.least),
            percent(paper.most),
            ours.percent(1)
        ),
        Verdict::of((0.6..0.9).contains(&paper.mean), paper.mean > 0.3),
        "a solver that converges leaves few dominated points: ε and the loss go together strictly on a convex problem",
    );
    Ok(())
}
