//! A search for settings, as a person reads it.

use std::fmt::Write;

use fairfront_core::{counted, grouped};
use fairfront_run::{TrialEnd, Tuning};

use super::TextTable;
use super::front::significant;
use crate::word;
use crate::wording::Flags;

/// Every combination with what it gave, which one is chosen and why, and the command that uses it.
pub(crate) fn tuning(found: &Tuning, command: Option<&[String]>) -> String {
    let mut out = format!(
        "{}: {} of {}, {} and {} rows for training and validation\n",
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
    let _ = writeln!(out, "{drawn}, judged on validation rows\n");
    table(found).render(&mut out);
    out.push('\n');
    if !found.reference.is_empty() {
        let at = |(name, value): (&String, &f64)| format!("{name} {}", significant(*value));
        let box_of = found.judged_by.iter().zip(&found.reference).map(at);
        let box_of: Vec<String> = box_of.collect();
        let _ = writeln!(
            out,
            "Hypervolume: share of the box up to {}.",
            box_of.join(", ")
        );
    }
    let left = found.trials.iter().filter(|t| t.end == TrialEnd::NotRun);
    let left = left.count();
    if left > 0 {
        let _ = writeln!(
            out,
            "Stopped: {} not run; the choice is among the others.",
            counted(left, "combination")
        );
    }
    if let Some((_, score)) = found.best() {
        let why = match found.n_as_accurate() {
            1 => String::new(),
            n => format!("; {n} are as accurate: the larger hypervolume decides, then the order"),
        };
        let _ = writeln!(
            out,
            "Chosen: run {}, whose most accurate predictor has an accuracy of {:.4}{why}.",
            found.chosen.unwrap_or_default() + 1,
            score.accuracy
        );
    }
    if let Some(command) = command {
        let words: Vec<String> = command.iter().map(|word| word::quoted(word)).collect();
        let _ = writeln!(out, "\n  {}", words.join(" "));
    }
    out
}

fn table(found: &Tuning) -> TextTable {
    let names = found.tried.iter().map(|axis| axis.name.as_str());
    let results = [">accuracy", ">hypervolume", ">points", ">seconds", ""];
    let header: Vec<&str> = std::iter::once(">run")
        .chain(names)
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
            score.map_or_else(none, |score| format!("{:.4}", score.accuracy)),
            volume.map_or_else(none, |volume| format!("{volume:.5}")),
            score.map_or_else(none, |score| grouped(score.points)),
            seconds.map_or_else(none, |seconds| format!("{seconds:.1}")),
            note,
        ]);
        table.row(row);
    }
    table
}
