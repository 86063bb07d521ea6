//! What recomputing a run found, as a person reads it.

use std::fmt::Write;
use std::path::Path;

use fairfront_core::{counted, grouped};
use fairfront_run::{Check, Verification};
use serde_json::Value;

use super::TextTable;

pub(crate) fn verification(run: &Path, found: &Verification) -> String {
    let mut table = TextTable::new(&["recomputed", ">compared", ">largest difference", ""]);
    for check in &found.checks {
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
        "{}: {} from {}, recomputed\n\n",
        run.display(),
        counted(found.points, "point"),
        found.source
    );
    table.render(&mut out);
    out.push('\n');
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
        "values to {:.0e} of their size, counts and texts exactly",
        found.tolerance
    );
    let _ = match found.agrees {
        true => writeln!(out, "All agrees: {allowed}."),
        false => writeln!(out, "This is not what the run says ({allowed})."),
    };
    out
}

/// The largest difference, as a share of the size.
fn difference(check: &Check) -> String {
    match check.largest {
        _ if check.compared == 0 => "-".into(),
        0.0 => "0".into(),
        largest if largest.is_finite() => format!("{largest:.1e}"),
        _ => "-".into(),
    }
}

/// A value that may be long.
fn short(value: &Value) -> String {
    const LONGEST: usize = 80;
    let text = match value {
        Value::Null => return "nothing".into(),
        value => value.to_string(),
    };
    match text.chars().count() > LONGEST {
        true => text.chars().take(LONGEST).chain(['…']).collect(),
        false => text,
    }
}
