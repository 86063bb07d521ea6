//! Renders the verification of a run.

use std::fmt::Write;
use std::path::Path;

use fairfront_core::{counted, grouped};
use fairfront_run::{Check, Verification};
use serde_json::Value;

use super::TextTable;
use crate::output;

/// Renders the differences, or that there are none; with details, every check.
pub(crate) fn verification(run: &Path, found: &Verification) -> String {
    let shown: Vec<&Check> = match output::is_verbose() {
        true => found.checks.iter().collect(),
        false => found.checks.iter().filter(|c| !c.agrees()).collect(),
    };
    let mut table = TextTable::new(&["recomputed", ">compared", ">largest difference", ""]);
    for check in shown {
        let verdict = match (check.different, check.agrees()) {
            (_, true) => "agrees".into(),
            (0, false) => "FAILS".into(),
            (n, false) => format!("{} DIFFER", grouped(n)),
        };
        table.row(vec![
            check.what.clone(),
            grouped(check.compared),
            difference(check),
            verdict,
        ]);
    }
    let mut out = format!(
        "{}: recomputed {} from {}\n",
        run.display(),
        counted(found.models, "model"),
        found.source
    );
    if table.has_rows() {
        out.push('\n');
        table.render(&mut out);
        out.push('\n');
    }
    for check in found.checks.iter().filter(|check| !check.agrees()) {
        let mut line = format!("{}:", check.what);
        if let Some(problem) = &check.problem {
            let _ = write!(line, " {problem}");
        }
        if let Some(worst) = &check.worst {
            let join = if check.problem.is_some() { ";" } else { "" };
            let place = match worst.place == check.what {
                true => String::new(),
                false => format!(" {},", worst.place),
            };
            let _ = write!(
                line,
                "{join}{place} {}: stored {}, recomputed {}",
                worst.column,
                short(&worst.stored),
                short(&worst.recomputed)
            );
        }
        let _ = writeln!(out, "{}", line.replace(char::is_control, "\u{fffd}"));
    }
    let allowed = format!(
        "numbers to {:.0e} of their size, counts and strings exactly",
        found.tolerance
    );
    let _ = match found.agrees {
        true => {
            let compared = found.checks.iter().map(|check| check.compared).sum();
            let compared = counted(compared, "value");
            writeln!(out, "All {compared} agree: {allowed}.")
        }
        false => writeln!(
            out,
            "Verification failed: recomputed values differ from the stored ones (compared {allowed})."
        ),
    };
    out
}

/// The largest relative difference.
fn difference(check: &Check) -> String {
    match check.largest {
        _ if check.compared == 0 => "-".into(),
        0.0 => "0".into(),
        largest if largest.is_finite() => format!("{largest:.1e}"),
        _ => "-".into(),
    }
}

/// A value, cut if it is long.
fn short(value: &Value) -> String {
    const LONGEST: usize = 80;
    let text = match value {
        Value::Null => return "no value".into(),
        value => value.to_string(),
    };
    match text.chars().count() > LONGEST {
        true => text.chars().take(LONGEST).chain(['…']).collect(),
        false => text,
    }
}
