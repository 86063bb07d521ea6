//! What to be wary of in a run.

use fairfront_core::{
    Counts, Dataset, FairProblem, Objective, aside, bracketed, grouped, say, with,
};
use fairfront_data::Notice;
use fairfront_data::setting::{MERGE, SCALE};
use fairfront_solve::{AnySolver, Outcome, Solver, Suits, Why, none_to_speak_of};

use crate::Error;
use crate::measured::SplitValues;
use crate::setting::{POLISH, SET, SOLVER};

/// Whether the solver can treat these objectives, and what to be wary of.
pub(crate) fn check_solver(
    solver: &dyn Solver,
    problem: &FairProblem,
) -> Result<Vec<Notice>, Error> {
    let name = solver.name();
    let names: Vec<String> = problem.objectives().map(Objective::name).collect();
    match solver.suits(problem) {
        Suits::Impossible(Why::NoCovariances(i)) => {
            let other = &names[i];
            Err(Error::usage(say![
                "{name} works with covariances, and {other} is made of none";
                "leave it out";
                "choose ", SOLVER.is("weighted")
            ]))
        }
        Suits::Possible(Why::NotConvex(objectives)) => {
            let warn = |i: &usize| {
                let objective = &names[*i];
                Notice::warning(say![
                    "{objective} is not convex: {name} finds local solutions, and the front may be poor";
                    "compare it with that of ", SOLVER.is("pf-smg"), aside(say![" ", POLISH])
                ])
            };
            // A loss that is not convex has local solutions with every solver.
            Ok(objectives.iter().filter(|i| **i > 0).map(warn).collect())
        }
        // Whatever else a solver cannot solve, it says itself.
        _ => Ok(Vec::new()),
    }
}

/// Groups whose rates are known badly, for each objective that compares them.
pub(crate) fn few_rows(problem: &FairProblem, train: &Dataset) -> Result<Vec<Notice>, Error> {
    /// Below so many rows a rate may be off by more than 0.05, 19 times out of 20.
    const FEW: usize = 385;
    let mut notices = Vec::new();
    for objective in problem.objectives() {
        let Some((attribute, _)) = objective.compares() else {
            continue;
        };
        let names = &train.schema().attributes[attribute].groups;
        // Where groups are compared under several labels, the one with fewer rows counts.
        let labels = objective.labels();
        let counts = Counts::of(train, Some(attribute))?;
        let small = &train.schema().attributes[attribute].small;
        // Groups that are not compared have their own warning.
        let compared = |g: &usize| {
            labels
                .iter()
                .all(|l| !small.with_label(*l).contains(&(*g as u32)))
        };
        let least = |g: usize| {
            let by_label = labels.iter().map(|label| counts.of_label(g, *label));
            by_label.min().unwrap_or(0) as usize
        };
        let groups: Vec<usize> = (0..names.len()).filter(compared).collect();
        let counts: Vec<usize> = groups.iter().map(|g| least(*g)).collect();
        let names = groups.iter().map(|g| &names[*g]);
        let few = names.zip(&counts).filter(|(_, n)| **n < FEW);
        let few: Vec<String> = few
            .map(|(name, n)| format!("{name} {}", grouped(*n)))
            .collect();
        if let (Some(least), false) = (counts.iter().min(), few.is_empty()) {
            let name = objective.name();
            let what = match objective.measure().is_some() {
                true => {
                    let off = 0.98 / (*least.max(&1) as f64).sqrt();
                    format!("rates there are uncertain by up to ±{:.2}", off.min(1.0))
                }
                false => "what is found there is uncertain".into(),
            };
            // Covariances weigh groups by their rows already.
            let few = few.join(", ");
            let mut message = say![
                "{name} rests on few training rows in some groups ({few}): {what}";
                "join groups", with(MERGE)
            ];
            // Covariances weigh groups by their rows already.
            if objective.squares().is_none() && !objective.definition().contains("shrink=") {
                message.push_remedy("let small ones count less with the setting shrink");
            }
            notices.push(Notice::warning(message));
        }
    }
    Ok(notices)
}

/// Objectives that have no value on the rows of a split.
pub(crate) fn without_meaning(names: &[String], splits: &[SplitValues]) -> Vec<Notice> {
    let mut notices = Vec::new();
    for split in splits {
        for (name, _) in names.iter().zip(&split.meaningful).filter(|(_, m)| !**m) {
            notices.push(Notice::warning(format!(
                "the {} rows that {name} is about have fewer than two groups; it has no value there",
                split.part.name()
            )));
        }
    }
    notices
}

/// What to know about how a front came about.
pub(crate) fn about_outcome(
    solver: &AnySolver,
    problem: &FairProblem,
    outcome: &Outcome,
) -> Result<Vec<Notice>, Error> {
    let mut notices = Vec::new();
    let fair = none_to_speak_of(problem, &outcome.unmitigated)?;
    for (objective, _) in problem.objectives().zip(fair).filter(|(_, fair)| *fair) {
        let name = objective.name();
        notices.push(Notice::info(format!(
            "the unmitigated model has no {name} to speak of (it is 0 to rounding): nothing has to be \
             traded for it"
        )));
    }
    if outcome.counters.non_finite > 0 {
        let points = match outcome.counters.non_finite {
            1 => "1 point was dropped because its values were".into(),
            n => format!(
                "{} points were dropped because their values were",
                grouped(n as usize)
            ),
        };
        let like_size = say!["features of like size", bracketed(SCALE.is("standard"))];
        let advice = match solver {
            AnySolver::EpsFair(settings) if settings.cold => {
                say!["a smaller ", SET.of("start-radius")]
            }
            AnySolver::EpsFair(_) | AnySolver::Weighted(_) => like_size,
            AnySolver::Trace(_) => say![like_size, ", or ", SOLVER.is("pf-smg"), ","],
            AnySolver::PfSmg(_) => say!["smaller steps", bracketed(SET.of("step"))],
        };
        notices.push(Notice::warning(say![
            "{points} not finite";
            advice, " may help"
        ]));
    }
    if let Some(of) = outcome.counters.subproblems.filter(|of| of.failed > 0) {
        let advice = match solver {
            AnySolver::EpsFair(settings) if settings.cold => {
                say!["warm starts", bracketed(SET.of("cold").is(false))]
            }
            AnySolver::Trace(_) => say![SOLVER.is("pf-smg")],
            _ => say![
                SET.of("max-evaluations"),
                " or a larger ",
                SET.of("tolerance")
            ],
        };
        let problem = format!(
            "{} of {} not solved to the tolerances (their points stay where nothing dominates them)",
            grouped(of.failed as usize),
            match of.solved + of.failed {
                1 => "1 subproblem was".into(),
                n => format!("{} subproblems were", grouped(n as usize)),
            }
        );
        notices.push(Notice::warning(say![problem; advice, " may help"]));
    }
    Ok(notices)
}
