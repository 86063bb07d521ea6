//! A front as a person sees it in a terminal.

use std::fmt::Write;
use std::path::Path;

use fairfront_core::{Measure, counted, grouped};
use fairfront_pareto::{Values, ranges, select_spread};
use fairfront_run::{
    FrontColumns, FrontIn, FrontTable, Keep, PenaltyInfo, PolishInfo, RunInfo, StreamInfo,
};
use fairfront_solve::{AnySolver, StopReason};

use super::TextTable;
use super::plot::{Charset, plot};

/// What a fit did, in a few lines.
pub(crate) fn fit(folder: &Path, info: &RunInfo) -> String {
    let why = match info.stop {
        StopReason::Points => "the list is full",
        StopReason::Steps => "the budget of steps is spent",
        StopReason::Converged => "no further improvement",
        StopReason::Complete if info.solver.name() == "trace" => "followed to its end",
        StopReason::Complete if info.solver.name() == "weighted" => "every sum has been tried",
        StopReason::Complete => "every bound has been tried",
        StopReason::Stopped => "stopped before its time; what was done is kept",
    };
    let seconds: f64 = info.seconds.0.iter().map(|(_, s)| s).sum();
    let gradients: Vec<String> = info
        .counters
        .gradient_evaluations
        .iter()
        .map(|n| grouped(*n as usize))
        .collect();
    let work = match info.counters.subproblems {
        None if matches!(info.solver, AnySolver::Weighted(_)) => "weighted sums".into(),
        None => counted(info.counters.points_by_round.len(), "round"),
        Some(of) => format!(
            "{} solved, {} failed",
            counted(of.solved as usize, "subproblem"),
            grouped(of.failed as usize)
        ),
    };
    let mut left_out = String::new();
    if let Some(of) = info.counters.subproblems {
        // Where points were judged anew, those of the front are no measure of how many there were.
        let solutions = match info.judged.measures.is_empty() {
            true => {
                let n = (of.dominated + of.copies) as usize + info.points;
                format!(" of {}", counted(n, "solution"))
            }
            false => String::new(),
        };
        for (n, one, many) in [
            (of.dominated, "was dominated", "were dominated"),
            (of.copies, "was a copy of another", "were copies of others"),
        ] {
            if n > 0 {
                let what = if n == 1 { one } else { many };
                let n = grouped(n as usize);
                let _ = writeln!(left_out, "  {n}{solutions} {what} and left out");
            }
        }
    }
    let polished = info.polish.as_ref().map_or_else(String::new, polished);
    let penalty = info.penalty.as_ref().map_or_else(String::new, penalty);
    let judged = judged(info);
    let proven = proven(info);
    let reason = info.reason.as_ref().map_or_else(String::new, |reason| {
        format!("  by {}: {reason}\n", info.solver.name())
    });
    format!(
        "{}: {} in {seconds:.1} s ({why})\n{reason}{penalty}  {work}, {} gradient evaluations, {} evaluated on \
         all {}\n{left_out}{polished}{judged}{proven}\n",
        folder.display(),
        counted(info.points, "point"),
        gradients.join(" + "),
        counted(info.counters.evaluations as usize, "point"),
        counted(info.rows.get("train").copied().unwrap_or(0), "training row"),
    )
}

/// The penalty and how it was chosen, in a line.
fn penalty(penalty: &PenaltyInfo) -> String {
    match &penalty.validation {
        Some(validation) => format!(
            "  penalty {} chosen by {}-fold cross-validation on {}\n",
            penalty.chosen,
            validation.folds,
            counted(validation.rows, "training row"),
        ),
        None => format!("  penalty {}, as given\n", penalty.chosen),
    }
}

/// By what the points were judged, in a line or two.
fn judged(info: &RunInfo) -> String {
    let judged = &info.judged;
    let mut text = String::new();
    let in_front = match judged.front_in {
        FrontIn::Measures => judged.in_measures.unwrap_or(0),
        FrontIn::Objectives => judged.in_objectives,
    };
    if let Some(in_measures) = judged.in_measures {
        let of = format!(
            "of {}",
            counted(judged.candidates, "candidate") + &moved(judged.moved)
        );
        let rows = match info.rows.get("validation") {
            Some(0) | None => "training rows",
            Some(_) => "training and validation rows",
        };
        let measures = judged.measures.join(", ");
        let (in_measures, in_objectives) = (grouped(in_measures), grouped(judged.in_objectives));
        let _ = match judged.front_in {
            FrontIn::Measures => writeln!(
                text,
                "  front in measures, {rows} ({measures}): {in_measures} {of}; in \
                 objectives it would be {in_objectives}"
            ),
            FrontIn::Objectives => writeln!(
                text,
                "  front in objectives: {in_objectives} {of}; in measures ({measures}) it would be \
                 {in_measures}"
            ),
        };
    }
    if in_front > info.points {
        let kept = grouped(info.points);
        let _ = writeln!(text, "  {kept} well-spread ones of these are kept");
    }
    if let Some(on_test) = judged.on_test {
        let on_test = grouped(on_test);
        let of = grouped(info.points);
        let _ = writeln!(
            text,
            "  on test rows {on_test} of {of} remain: no other point of the front dominates them there"
        );
    }
    text
}

fn moved(n: usize) -> String {
    match n {
        0 => String::new(),
        n => format!(" ({} made of others by moving a threshold)", grouped(n)),
    }
}

/// A proven bound above this is true, and of no use.
const USELESS: f64 = 0.01;

/// What is proven, in a line.
fn proven(info: &RunInfo) -> String {
    let certificate = &info.certificate;
    match certificate.largest_gap {
        Some(gap) if gap > USELESS => format!(
            "  the proven bound of {gap:.1e} on the loss says nothing; see --solver trace or --polish\n"
        ),
        Some(gap) if certificate.proven == info.points => format!(
            "  proven: no model has a loss lower by {gap:.1e} than one of these without being worse in \
             another objective\n"
        ),
        Some(gap) => format!(
            "  proven to {gap:.1e} for {} of {} points\n",
            grouped(certificate.proven),
            grouped(info.points)
        ),
        None => format!(
            "  nothing is proven of these; what is left of gradients is at most {:.1e} long\n",
            certificate.largest_residual
        ),
    }
}

/// What polishing brought, in a line.
fn polished(info: &PolishInfo) -> String {
    let of = &info.polished;
    let mut line = format!(
        "  polished: {} of {} points improved",
        grouped(of.improved),
        grouped(of.points)
    );
    if of.dominated > 0 {
        let _ = write!(line, ", {} dominated and left out", grouped(of.dominated));
    }
    if let Some([before, after]) = info.hypervolume.filter(|[before, _]| *before > 0.0) {
        let _ = write!(
            line,
            ", hypervolume {:+} %",
            rounded(100.0 * (after / before - 1.0))
        );
    }
    let _ = writeln!(line, ", {:.1} s", info.seconds);
    line
}

/// Two significant digits.
fn rounded(share: f64) -> f64 {
    format!("{share:.1e}").parse().unwrap_or(share)
}

/// A front as a table of well-spread points and a small plot.
pub(crate) fn front(run: &RunInfo, front: &FrontTable, charset: Charset) -> String {
    table(run, front, 12, true, charset)
}

/// A front as a table of so many well-spread models; with `plotted`, also their objectives and a plot.
pub(crate) fn table(
    run: &RunInfo,
    front: &FrontTable,
    rows: usize,
    plotted: bool,
    charset: Charset,
) -> String {
    let objectives: Vec<String> = run
        .objectives
        .iter()
        .map(|o| format!("objective.{o}"))
        .collect();
    let m = objectives.len();
    let split = ["test", "validation", "train"]
        .into_iter()
        .find(|split| front.column(&format!("{split}.accuracy")).is_some())
        .unwrap_or("train");
    let mut shown = match plotted {
        true => objectives.clone(),
        false => Vec::new(),
    };
    shown.extend(measures(run, front, split));
    let sign = match charset {
        Charset::Unicode => "±",
        Charset::Ascii => "+-",
    };
    let head = |line: fn(&str) -> String, first: &str| -> Vec<String> {
        let names = shown.iter().map(|name| format!(">{}", line(name)));
        std::iter::once(format!(">{first}")).chain(names).collect()
    };
    let header = head(|name| heading(name).0, "model");
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut table = TextTable::new(&header);
    let below = head(|name| heading(name).1, "");
    table.row(below.iter().map(|cell| cell[1..].to_owned()).collect());
    let unmitigated = |name: &str| run.unmitigated.values.get(name).copied().flatten();
    let first = std::iter::once("unmitigated".to_owned());
    table.row(
        first
            .chain(shown.iter().map(|name| estimate(name, sign, unmitigated)))
            .collect(),
    );
    let (spread_by, drawn, names) = match run.judged.front_in {
        FrontIn::Objectives => {
            let values = values_of(front, &objectives);
            (values.clone(), values, run.objectives.clone())
        }
        FrontIn::Measures => {
            let of = |split: &str| -> Vec<String> {
                let names = run.judged.measures.iter();
                names.map(|name| format!("{split}.{name}")).collect()
            };
            let drawn = values_of(front, &of(split));
            (values_of(front, &of("train")), drawn, of(split))
        }
    };
    // No absent value is left that could be refused.
    let judged = Values::new(&spread_by, m.max(1)).ok();
    let spread = judged.map(|v| select_spread(v, rows, &ranges(v, None)));
    for i in spread.into_iter().flatten() {
        let value = |name: &str| front.column(name).and_then(|c| c[i]);
        let id = std::iter::once(i.to_string());
        let cells = shown.iter().map(|name| estimate(name, sign, value));
        table.row(id.chain(cells).collect());
    }
    let stopped = match run.stop {
        StopReason::Stopped => ", stopped before its time",
        _ => "",
    };
    let exact = match run.certificate.largest_gap {
        // A large bound is proven, but says nothing.
        Some(gap) if run.certificate.proven == front.len() && gap < 1e-3 => {
            format!(", exact to {gap:.1e}")
        }
        _ => String::new(),
    };
    let some = match front.len() {
        n if n <= rows => String::new(),
        _ => format!("; {rows} of them"),
    };
    let streamed = run.stream.as_ref().map_or_else(String::new, streamed);
    let mut out = format!(
        "{}{streamed}: {} by {}{exact}{stopped}{some}, and the unmitigated model. Measures \
         are on {} rows:\n\n",
        run.source,
        counted(front.len(), "model"),
        run.solver.name(),
        match split {
            "train" => "training",
            other => other,
        },
    );
    table.render(&mut out);
    if front.column(&format!("{split}.accuracy.low")).is_some() {
        let _ = writeln!(out, "  {sign}: the wider side of the 95% interval");
    }
    let drawn = Values::new(&drawn, m.max(1)).ok();
    let drawn = drawn.filter(|_| plotted && m >= 2 && front.len() > 1);
    if let Some(values) = drawn {
        out.push('\n');
        plot(values, &names, charset, &mut out);
    }
    out.push_str(&noise(run, front, split));
    out
}

/// The columns of measures that a table shows.
fn measures(run: &RunInfo, front: &FrontTable, split: &str) -> Vec<String> {
    let prefix = format!("{split}.demographic_parity_difference(");
    let names = front.names.iter();
    let attributes = names.filter_map(|name| name.strip_prefix(&prefix)?.strip_suffix(')'));
    let mut shown = vec![format!("{split}.accuracy")];
    for attribute in attributes {
        for kind in ["demographic_parity", "equal_opportunity"] {
            shown.push(format!("{split}.{kind}_difference({attribute})"));
        }
    }
    let judged = run.judged.measures.iter();
    for measure in judged.filter(|m| *m != Measure::ERROR_RATE) {
        let name = format!("{split}.{measure}");
        if !shown.contains(&name) {
            shown.push(name);
        }
    }
    shown
}

/// Says which measures do not tell the models apart.
fn noise(run: &RunInfo, front: &FrontTable, split: &str) -> String {
    let columns = FrontColumns::of(run, front);
    let measures = run.judged.measures.iter().map(|name| match name.as_str() {
        Measure::ERROR_RATE => "accuracy",
        other => other,
    });
    let same = measures.filter(|name| columns.within_noise(&format!("{split}.{name}")));
    let same: Vec<&str> = same.collect();
    match same.is_empty() {
        true => String::new(),
        false => format!(
            "  within noise: on {split} rows no model differs measurably from the unmitigated model in {}\n",
            same.join(", ")
        ),
    }
}

/// A value with the wider side of its interval: `0.0466 ±0.0250`.
fn estimate(name: &str, sign: &str, value: impl Fn(&str) -> Option<f64>) -> String {
    let Some(own) = value(name) else {
        return "-".into();
    };
    let ends = (
        value(&format!("{name}.low")),
        value(&format!("{name}.high")),
    );
    match ends {
        (Some(low), Some(high)) => {
            // Digits of one size, so that they can be compared with the interval.
            format!("{own:.4} {sign}{:.4}", (own - low).max(high - own))
        }
        _ => significant(own),
    }
}

/// How far a stream has come.
fn streamed(stream: &StreamInfo) -> String {
    let kept = match stream.keep {
        Keep::All => format!("all {} in use", counted(stream.kept, "row")),
        Keep::Window(_) => format!("the last {} in use", counted(stream.kept, "row")),
        Keep::Reservoir(_) => format!("a sample of {}", counted(stream.kept, "row")),
    };
    let batches = match stream.batches {
        1 => "1 batch".into(),
        n => format!("{} batches", grouped(n as usize)),
    };
    match stream.updated < stream.batches {
        false => format!(", after {batches}, on {kept}"),
        true => format!(
            ", after {batches} of which those behind batch {} could not update the front",
            grouped(stream.updated as usize)
        ),
    }
}

/// A column's name in two lines: `demographic parity` above `difference (sex)`.
fn heading(name: &str) -> (String, String) {
    if let Some(objective) = name.strip_prefix("objective.") {
        let (kind, inside) = objective.split_once('(').unwrap_or((objective, ""));
        let inside = match inside {
            "" => String::new(),
            inside => format!("({inside}"),
        };
        return (kind.to_owned(), inside);
    }
    let measure = name.split_once('.').map_or(name, |(_, measure)| measure);
    let (kind, inside) = measure.split_once('(').unwrap_or((measure, ""));
    let words = kind.replace('_', " ");
    let (first, last) = match words.rsplit_once(' ') {
        Some((first, last @ ("difference" | "ratio"))) => (first, last),
        _ => (words.as_str(), ""),
    };
    let below = match (last, inside) {
        (last, "") => last.to_owned(),
        ("", inside) => format!("({inside}"),
        (last, inside) => format!("{last} ({inside}"),
    };
    (first.to_owned(), below)
}

/// Columns of all points, point by point; ∞ where there is no value.
fn values_of(front: &FrontTable, names: &[String]) -> Vec<f64> {
    let column = |name: &String| match name.strip_suffix(Measure::ERROR_RATE) {
        Some(split) => {
            let accuracy = front.column(&format!("{split}accuracy"));
            accuracy.map(|c| c.iter().map(|v| v.map(|v| 1.0 - v)).collect())
        }
        None => front.column(name).map(<[Option<f64>]>::to_vec),
    };
    let columns: Vec<Option<Vec<Option<f64>>>> = names.iter().map(column).collect();
    let mut values = Vec::with_capacity(front.len() * names.len());
    for point in 0..front.len() {
        for column in &columns {
            let value = column.as_ref().and_then(|c| c[point]);
            values.push(value.filter(|v| !v.is_nan()).unwrap_or(f64::INFINITY));
        }
    }
    values
}

/// Four significant digits.
pub(super) fn significant(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        v if v < 1e-3 => format!("{value:.2e}"),
        v if v < 10.0 => format!("{value:.4}"),
        v if v < 1e6 => format!("{value:.1}"),
        _ => format!("{value:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_are_short() {
        let written = [
            0.0,
            3e-33,
            -0.25,
            41.26,
            123_456.78,
            1e6,
            -2.5e300,
            f64::MAX,
        ];
        let expected = [
            "0",
            "3.00e-33",
            "-0.2500",
            "41.3",
            "123456.8",
            "1.000e6",
            "-2.500e300",
            "1.798e308",
        ];
        assert_eq!(written.map(significant), expected);
    }
}
