//! Solvers on forty problems, as performance profiles.

use fairfront_run::Error;

use crate::contest::{Contest, Judged, percent, problems};
use crate::finding::{Draft, Sheet, Verdict};
use crate::front::time;
use crate::job::{ADULT_GENDER, ADULT_RACE, Case, Job, SYNTHETIC, Variant};
use crate::stat::{Summary, number};
use crate::work::Results;
use crate::{Effort, Experiment};

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

pub(crate) fn jobs(effort: Effort) -> Vec<Job> {
    let problems = problems(effort).into_iter();
    problems
        .flat_map(|(case, seed)| VARIANTS.map(|variant| case.fit(seed, variant, effort)))
        .collect()
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
             of one thread. EPS-fair's subproblems are solved by sequential quadratic programming, as in the paper. By race \
             it bounds each of the five covariances, while fronts are judged by their smooth maximum: its solutions need not be on that front.",
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
        let fronts = results.fronts(SYNTHETIC, effort.synthetic(), variant, effort)?;
        draft
            .finding
            .times
            .push(time("synthetic", variant, &fronts));
    }
    Ok(draft)
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
