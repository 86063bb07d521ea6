//! Warnings and notes about a run.

use fairfront_core::{
    Dataset, FairProblem, Measure, Objective, aside, bracketed, either, grouped, say, with,
};
use fairfront_data::Diagnostic;
use fairfront_data::setting::{MERGE, SCALE};
use fairfront_solve::{AnySolver, Outcome, Solver, Suits, Why, already_zero};

use crate::Error;
use crate::group_rows::GroupCounts;
use crate::meaning::Meaning;
use crate::measured::SplitValues;
use crate::setting::{FAMILY, POLISH, SET, SOLVER};

/// Fails if the solver cannot handle these objectives; otherwise returns warnings.
pub(crate) fn check_solver(
    solver: &dyn Solver,
    problem: &FairProblem,
) -> Result<Vec<Diagnostic>, Error> {
    let name = solver.name();
    let names: Vec<String> = problem.objectives().map(Objective::name).collect();
    match solver.suits(problem) {
        Suits::Impossible(Why::NoCovariances(i)) => {
            let other = &names[i];
            Err(Error::usage(say![
                "{name} supports only covariance objectives, and {other} is not one";
                "remove it";
                "choose ", SOLVER.is("weighted")
            ]))
        }
        Suits::Impossible(Why::SeveralMinima) => Err(Error::usage(say![
            "{name} supports only linear models, because the loss of a network may have several \
             minima";
            "choose ", either([SOLVER.is("weighted"), SOLVER.is("pf-smg"), FAMILY.is("linear")])
        ])),
        Suits::Possible(Why::NotConvex(objectives)) => {
            let warn = |i: &usize| {
                let objective = &names[*i];
                Diagnostic::warning(say![
                    "{objective} is not convex, so {name} finds local solutions, and the front may \
                     be poor";
                    "compare it with the front of ", SOLVER.is("pf-smg"), aside(say![" ", POLISH])
                ])
            };
            // A loss that is not convex has local solutions with every solver.
            Ok(objectives.iter().filter(|i| **i > 0).map(warn).collect())
        }
        // The solver itself reports any other problem.
        _ => Ok(Vec::new()),
    }
}

/// Warns about groups with uncertain rates, for each objective that compares them.
pub(crate) fn few_rows(problem: &FairProblem, train: &Dataset) -> Result<Vec<Diagnostic>, Error> {
    /// With fewer rows than this, the 95% error of a rate may exceed 0.05.
    const FEW: usize = 385;
    let mut diagnostics = Vec::new();
    let meaning = Meaning::of(problem.objectives(), train.schema());
    for objective in problem.objectives() {
        let Some((attribute, _)) = objective.compares() else {
            continue;
        };
        let names = &train.schema().attributes[attribute].groups;
        // If groups are compared under several labels, the label with fewer rows counts.
        let labels = objective.labels();
        let counts = GroupCounts::of(train, attribute)?;
        let small = &train.schema().attributes[attribute].small;
        // Groups that are not compared have their own warning.
        let compared = |g: &usize| {
            labels
                .iter()
                .all(|l| !small.with_label(*l).contains(&(*g as u32)))
        };
        let least = |g: usize| {
            let by_label = labels.iter().map(|label| counts.of_label(g, *label));
            by_label.min().unwrap_or(0)
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
            let effect = effect_of_few(objective, *least, &meaning);
            let few = few.join(", ");
            let mut message = say![
                "some groups have few training rows for {name} ({few}), so {effect}";
                "merge groups", with(MERGE)
            ];
            // Covariances already weight groups by their rows.
            if objective.squares().is_none() && !objective.definition().contains("shrink=") {
                message.push_remedy("reduce the weight of small groups with the setting shrink");
            }
            diagnostics.push(Diagnostic::warning(message));
        }
    }
    Ok(diagnostics)
}

/// The effect of this few rows on the values of an objective.
fn effect_of_few(objective: &dyn Objective, rows: usize, meaning: &Meaning) -> String {
    let root = (rows.max(1) as f64).sqrt();
    match objective.measure() {
        Some(Measure::MeanDifference { .. }) => {
            let scale = meaning.target.unit().map_or(1.0, |unit| unit.scale);
            let off = meaning.in_target(1.96 * scale / root);
            format!("their means are uncertain by about ±{off}")
        }
        None | Some(Measure::LossDifference { .. } | Measure::WorstGroupLoss { .. }) => {
            "results for them are uncertain".into()
        }
        // 1.96 standard errors of a rate of one half.
        Some(_) => {
            let off = (0.98 / root).min(1.0);
            format!("their rates are uncertain by up to ±{off:.2}")
        }
    }
}

/// Warns about objectives that are undefined on the rows of a split.
pub(crate) fn without_meaning(names: &[String], splits: &[SplitValues]) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for split in splits {
        for (name, _) in names.iter().zip(&split.meaningful).filter(|(_, m)| !**m) {
            diagnostics.push(Diagnostic::warning(format!(
                "{name} is undefined on {} rows, because the rows that it uses have fewer than two \
                 groups",
                split.part.name()
            )));
        }
    }
    diagnostics
}

/// Warnings and notes about the solver's result.
pub(crate) fn about_outcome(
    solver: &AnySolver,
    problem: &FairProblem,
    outcome: &Outcome,
) -> Result<Vec<Diagnostic>, Error> {
    let mut diagnostics = Vec::new();
    let fair = already_zero(problem, &outcome.unmitigated)?;
    for (objective, _) in problem.objectives().zip(fair).filter(|(_, fair)| *fair) {
        let name = objective.name();
        diagnostics.push(Diagnostic::note(format!(
            "{name} of the unmitigated model is already zero (to rounding), so there is nothing to \
             trade off"
        )));
    }
    if outcome.counters.non_finite > 0 {
        let candidates = match outcome.counters.non_finite {
            1 => "1 candidate was dropped because its values were".into(),
            n => format!(
                "{} candidates were dropped because their values were",
                grouped(n as usize)
            ),
        };
        let similar_size = say!["features of similar size", bracketed(SCALE.is("standard"))];
        let advice = match solver {
            AnySolver::EpsFair(settings) if settings.cold => {
                say!["a smaller ", SET.of("start-radius")]
            }
            AnySolver::EpsFair(_) | AnySolver::Weighted(_) => similar_size,
            AnySolver::Trace(_) => say![similar_size, ", or ", SOLVER.is("pf-smg")],
            AnySolver::PfSmg(_) => say!["smaller steps", bracketed(SET.of("step"))],
        };
        diagnostics.push(Diagnostic::warning(say![
            "{candidates} not finite";
            "try ", advice
        ]));
    }
    if let Some(of) = outcome.counters.subproblems.filter(|of| of.failed > 0) {
        let advice = match solver {
            AnySolver::EpsFair(settings) if settings.cold => {
                say!["warm starts", bracketed(SET.of("cold").is(false))]
            }
            AnySolver::Trace(_) => say![SOLVER.is("pf-smg")],
            _ => say![
                "a larger ",
                SET.of("max-evaluations"),
                " or ",
                SET.of("tolerance")
            ],
        };
        let problem = format!(
            "{} of {} not solved to the tolerances (their candidates are kept if nothing dominates \
             them)",
            grouped(of.failed as usize),
            match of.solved + of.failed {
                1 => "1 subproblem was".into(),
                n => format!("{} subproblems were", grouped(n as usize)),
            }
        );
        diagnostics.push(Diagnostic::warning(say![problem; "try ", advice]));
    }
    Ok(diagnostics)
}
