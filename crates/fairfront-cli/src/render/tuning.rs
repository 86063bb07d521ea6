//! Renders a search for settings.

use std::fmt::Write;

use fairfront_core::{counted, grouped, readable};
use fairfront_run::{TrialEnd, Tuning};

use super::TextTable;
use super::front::significant;
use crate::word;
use crate::wording::Flags;

/// Renders all trials with their results, the chosen one with the reason, and the command that uses it.
pub(crate) fn tuning(found: &Tuning, command: Option<&[String]>) -> String {
    let mut out = format!(
        "{}: solver {}, objectives {}; {} training and {} validation rows\n",
        found.source,
        found.solver,
        found.objectives.join(", "),
        grouped(found.train_rows),
        grouped(found.validation_rows),
    );
    let runs = found.trials.len();
    let drawn = match runs < found.combinations {
        true => format!(
            "{} of {} combinations",
            grouped(runs),
            grouped(found.combinations)
        ),
        false => counted(runs, "combination"),
    };
    let _ = writeln!(out, "{drawn}, evaluated on validation rows\n");
    table(found).render(&mut out);
    out.push('\n');
    if !found.reference.is_empty() {
        let at = |(name, value): (&String, &f64)| format!("{name} {}", significant(*value));
        let box_of = found.judged_by.iter().zip(&found.reference).map(at);
        let box_of: Vec<String> = box_of.collect();
        let _ = writeln!(
            out,
            "Hypervolume share: the share of the box up to {} that a front dominates; larger is better.",
            box_of.join(", ")
        );
    }
    let left = found.trials.iter().filter(|t| t.end == TrialEnd::NotRun);
    let left = left.count();
    if left > 0 {
        let _ = writeln!(
            out,
            "Stopped early: {} not run; the choice is among the others.",
            counted(left, "combination")
        );
    }
    if let Some((_, score)) = found.best() {
        let measure = &found.performance;
        let why = match found.n_as_good() {
            1 => String::new(),
            n => format!(
                "; {n} trials have this {measure}, so the larger hypervolume share decides, then the order"
            ),
        };
        let article = if measure == "accuracy" { "an" } else { "a" };
        let _ = writeln!(
            out,
            "Chosen: trial {}, whose most accurate model has {article} {measure} of {}{why}.",
            found.chosen.unwrap_or_default() + 1,
            performance(found, score.performance)
        );
    }
    if let Some(command) = command {
        let words: Vec<String> = command.iter().map(|word| word::quoted(word)).collect();
        let _ = writeln!(out, "\n  {}", words.join(" "));
    }
    out
}

/// The performance of a trial: a share with four digits, or an error in the unit of the target.
fn performance(found: &Tuning, value: f64) -> String {
    match found.performance.as_str() {
        "accuracy" => format!("{value:.4}"),
        _ => readable(value),
    }
}

fn table(found: &Tuning) -> TextTable {
    let names = found.tried.iter().map(|axis| format!(">{}", axis.name));
    let names: Vec<String> = names.collect();
    let measure = format!(">{}", found.performance);
    let results = [&measure, ">hypervolume share", ">models", ">seconds", ""];
    let header: Vec<&str> = std::iter::once(">trial")
        .chain(names.iter().map(String::as_str))
        .chain(results)
        .collect();
    let mut table = TextTable::new(&header);
    for (i, trial) in found.trials.iter().enumerate() {
        let none = || "-".to_owned();
        let score = trial.end.score();
        let (seconds, note) = match &trial.end {
            TrialEnd::Done(score) if found.chosen == Some(i) => {
                (Some(score.seconds), "chosen".into())
            }
            TrialEnd::Done(score) => (Some(score.seconds), String::new()),
            TrialEnd::Failed { reason, seconds } => {
                (Some(*seconds), format!("failed: {}", reason.render(&Flags)))
            }
            TrialEnd::NotRun => (None, "not run".into()),
        };
        let volume = score.and_then(|score| score.hypervolume);
        let mut row = vec![(i + 1).to_string()];
        row.extend(trial.settings.0.iter().map(|(_, value)| value.clone()));
        row.extend([
            score.map_or_else(none, |score| performance(found, score.performance)),
            volume.map_or_else(none, |volume| format!("{volume:.5}")),
            score.map_or_else(none, |score| grouped(score.models)),
            seconds.map_or_else(none, |seconds| format!("{seconds:.1}")),
            note,
        ]);
        table.row(row);
    }
    table
}
