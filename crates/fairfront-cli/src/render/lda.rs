use std::fmt::Write as _;
use std::path::Path;

use fairfront_core::{counted, grouped};
use fairfront_model::Stated;
use fairfront_run::{Candidate, Changed, Finding, Lda, Performance};

use super::TextTable;

/// The summary of a search.
pub(crate) fn lda(found: &Lda, folder: &Path) -> String {
    let alternatives = found.alternatives().count();
    let mut out = match alternatives {
        0 => "no less discriminatory alternative was shown".to_owned(),
        n => format!(
            "{} at {:.4}% confidence for all of them together",
            counted(n, "less discriminatory alternative"),
            100.0 * (1.0 - found.test.level)
        )
        .replace(".0000%", "%"),
    };
    let _ = writeln!(
        out,
        ", tested on {} {} rows\n",
        grouped(found.test.rows),
        found.test.split.name()
    );
    let of = found.tolerance.of;
    let mut head: Vec<String> = [">model", "result", ">p"].map(String::from).to_vec();
    head.push(format!(">{}", of.name()));
    head.push(">change".into());
    for measure in &found.measures {
        head.push(format!(">{}", measure.name));
        head.push(">change".into());
    }
    head.push(">redraws".into());
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut table = TextTable::new(&head);
    if let Some(first) = found.candidates.first() {
        let mut row = vec![
            "baseline".into(),
            String::new(),
            String::new(),
            value(of, first.performance.baseline),
            String::new(),
        ];
        for changed in &first.measures {
            row.push(format!("{:.4}", changed.baseline));
            row.push(String::new());
        }
        row.push(String::new());
        table.row(row);
    }
    let (tested, others): (Vec<&Candidate>, Vec<&Candidate>) =
        found.candidates.iter().partition(|c| c.p_value.is_some());
    for candidate in &tested {
        table.row(line(of, candidate));
    }
    table.render(&mut out);
    if !others.is_empty() {
        let others = counted(others.len(), "model");
        let _ = writeln!(out, "not tested: {others}, listed in candidates.csv");
    }
    let _ = writeln!(
        out,
        "\nchanges have {:.0}% intervals; redraws: share of redrawn rows in which the model performs within the\n\
         tolerance and all its differences are smaller",
        100.0 * found.test.confidence
    );
    if found.test.stated == Stated::AfterLooking {
        out.push_str(
            "test rows were shown before, so a tolerance chosen after looking overstates the confidence\n",
        );
    }
    for (file, content) in [
        ("lda.html", "page"),
        ("memo.md", "memo"),
        ("candidates.csv", "candidates"),
    ] {
        let _ = writeln!(out, "{content}: {}", folder.join(file).display());
    }
    out
}

fn line(of: Performance, candidate: &Candidate) -> Vec<String> {
    let mut row = vec![
        candidate.model_id.to_string(),
        match candidate.finding {
            Finding::LessDiscriminatory => "less discriminatory",
            Finding::NotShown => "not shown",
            Finding::NotTested => "not tested",
        }
        .into(),
        candidate
            .p_value
            .map_or_else(|| "-".into(), |p| format!("{p:.4}")),
        value(of, candidate.performance.candidate),
        change(&candidate.performance),
    ];
    for changed in &candidate.measures {
        row.push(format!("{:.4}", changed.candidate));
        row.push(change(changed));
    }
    row.push(
        candidate
            .redraws_within
            .map_or_else(|| "-".into(), |share| format!("{:.1}%", 100.0 * share)),
    );
    row
}

fn value(of: Performance, value: f64) -> String {
    match of {
        Performance::Accuracy | Performance::Auc | Performance::Cost(_) => format!("{value:.4}"),
    }
}

fn change(changed: &Changed) -> String {
    let [low, high] = changed.interval;
    format!("{:+.4} [{low:+.4}, {high:+.4}]", changed.change)
}
