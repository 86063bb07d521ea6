//! Renders fits and fronts.

use std::fmt::Write;
use std::path::Path;

use fairfront_core::{Measure, Target, counted, grouped};
use fairfront_model::ModelId;
use fairfront_pareto::{Values, ranges, select_spread};
use fairfront_run::{
    Family, FrontColumns, FrontIn, FrontTable, Keep, PenaltyInfo, PolishInfo, RunInfo, StreamInfo,
    Unit,
};
use fairfront_solve::{AnySolver, StopReason};

use super::plot::{Charset, plot};
use super::{TextTable, family, share};
use crate::output;

/// Summarizes a fit in a few lines.
pub(crate) fn fit(folder: &Path, info: &RunInfo) -> String {
    let why = match info.stop {
        StopReason::Complete if family::is_swept(info) => "all trade-offs swept",
        StopReason::Full => "the list of models is full",
        StopReason::Steps => "the step limit is reached",
        StopReason::Converged => "no further improvement",
        StopReason::Complete if info.solver.name() == "trace" => "front followed to its end",
        StopReason::Complete if info.solver.name() == "weighted" => "all weighted sums minimized",
        StopReason::Complete => "all bounds tried",
        StopReason::Stopped => "stopped early; results so far were kept",
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
        // If candidates were compared again by measures, the front does not show how many solutions
        // there were.
        let total = match info.judged.measures.is_empty() {
            true => Some((of.dominated + of.copies) as usize + info.models),
            false => None,
        };
        for (n, one, many) in [
            (of.dominated, "was dominated", "were dominated"),
            (of.copies, "was a duplicate", "were duplicates"),
        ] {
            if n > 0 {
                let verb = if n == 1 { one } else { many };
                let solutions = match total {
                    Some(total) => {
                        format!("{} of {}", grouped(n as usize), counted(total, "solution"))
                    }
                    None => counted(n as usize, "solution"),
                };
                let _ = writeln!(left_out, "  {solutions} {verb} and left out");
            }
        }
    }
    let polished = info.polish.as_ref().map_or_else(String::new, polished);
    let penalty = info.penalty.as_ref().map_or_else(String::new, penalty);
    let judged = judged(info);
    let proven = proven(info);
    let learned = family::learners(info) + &family::bound(info);
    let reason = info.reason.as_ref().map_or_else(String::new, |reason| {
        format!("  solver {}: {reason}\n", info.solver.name())
    });
    let work = match output::is_verbose() {
        true => format!(
            "  {work}, {} gradient evaluations, {} on all {}\n",
            gradients.join(" + "),
            counted(info.counters.evaluations as usize, "evaluation"),
            counted(info.rows.get("train").copied().unwrap_or(0), "training row"),
        ),
        false => String::new(),
    };
    format!(
        "{}: {} in {seconds:.1} s ({why})\n{reason}{penalty}{work}{left_out}{polished}{learned}{judged}{proven}\n",
        folder.display(),
        counted(info.models, "model"),
    )
}

/// The line about the penalty and how it was chosen.
fn penalty(penalty: &PenaltyInfo) -> String {
    match &penalty.validation {
        Some(validation) if validation.folds == 0 => format!(
            "  penalty {}, because {} are too few for cross-validation\n",
            penalty.chosen,
            counted(validation.rows, "training row"),
        ),
        Some(validation) => format!(
            "  penalty {} chosen by {}-fold cross-validation on {}\n",
            penalty.chosen,
            validation.folds,
            counted(validation.rows, "training row"),
        ),
        None => format!("  penalty {}, fixed\n", penalty.chosen),
    }
}

/// The lines about the values that the models were compared by.
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
            counted(judged.candidates, "candidate") + &moved(judged.moved, &info.meaning.target)
        );
        let rows = match info.rows.get("validation") {
            Some(0) | None => "training rows",
            Some(_) => "training and validation rows",
        };
        let measures = judged.measures.join(", ");
        let in_objectives = judged.in_objectives;
        let _ = match judged.front_in {
            FrontIn::Measures => write!(
                text,
                "  front in measures on {rows} ({measures}): {} {of}",
                grouped(in_measures),
            ),
            FrontIn::Objectives => {
                write!(
                    text,
                    "  front in objectives: {} {of}",
                    grouped(in_objectives)
                )
            }
        };
        if output::is_verbose() {
            let _ = match judged.front_in {
                FrontIn::Measures => write!(
                    text,
                    "; in objectives, it would have {}",
                    counted(in_objectives, "model")
                ),
                FrontIn::Objectives => write!(
                    text,
                    "; in measures ({measures}), it would have {}",
                    counted(in_measures, "model")
                ),
            };
        }
        text.push('\n');
    }
    if in_front > info.models {
        let kept = grouped(info.models);
        let _ = writeln!(text, "  {kept} well-spread models of these are kept");
    }
    if let Some(on_test) = judged.on_test {
        let on_test = grouped(on_test);
        let of = grouped(info.models);
        let _ = writeln!(
            text,
            "  on test rows, {on_test} of {of} models are not dominated by another model of the front"
        );
    }
    text
}

fn moved(n: usize, target: &Target) -> String {
    let how = match target {
        Target::Classes(_) => "changing the intercepts",
        _ => "moving the decision threshold",
    };
    match n {
        0 => String::new(),
        n => format!(" ({} obtained by {how} of another)", grouped(n)),
    }
}

/// An optimality gap above this is valid, but too large to be useful.
const USELESS: f64 = 0.01;

/// The line about optimality proofs.
fn proven(info: &RunInfo) -> String {
    let proof = &info.proof;
    match proof.largest_optimality_gap {
        Some(gap) if gap > USELESS => format!(
            "  the largest optimality gap, {gap:.1e}, is too large to be useful; try --solver trace or \
             --polish\n"
        ),
        Some(gap) if proof.proven == info.models => format!(
            "  optimality gap at most {gap:.1e}: no model has a loss lower by more than this without being \
             worse in another objective\n"
        ),
        Some(gap) => format!(
            "  optimality gap at most {gap:.1e} for {} of {} models; no optimality proof for the others\n",
            grouped(proof.proven),
            grouped(info.models)
        ),
        None if output::is_verbose() => format!(
            "  no optimality proof for these models; largest gradient residual {:.1e}\n",
            proof.largest_residual
        ),
        // Combinations of probabilities have no optimality proofs, but the estimated bound.
        None if info.family.is_some() => String::new(),
        None => "  no optimality proof for these models\n".into(),
    }
}

/// The line about polishing.
fn polished(info: &PolishInfo) -> String {
    let of = &info.polished;
    let mut line = format!(
        "  polished: {} of {} models improved",
        grouped(of.improved),
        grouped(of.points)
    );
    if of.dominated > 0 {
        let _ = write!(line, ", {} dominated and left out", grouped(of.dominated));
    }
    if let Some([before, after]) = info.hypervolume.filter(|[before, _]| *before > 0.0) {
        let _ = write!(
            line,
            ", hypervolume {:+}%",
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

/// Renders a front as a table of well-spread models and a small plot.
pub(crate) fn front(run: &RunInfo, front: &FrontTable, charset: Charset) -> String {
    table(run, front, 12, true, charset)
}

/// Renders a front as a table of at most `rows` well-spread models; with `plotted`, also their objectives
/// and a plot.
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
        .find(|split| {
            let performance = format!("{split}.{}", run.meaning.performance);
            front.column(&performance).is_some()
        })
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
    let has_families = family::has_several(run, front);
    let mut header = head(|name| heading(name).0, "model");
    let mut below = head(|name| heading(name).1, "");
    if has_families {
        header.insert(1, "family".into());
        below.insert(1, " ".into());
    }
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut table = TextTable::new(&header);
    table.second_header(below.iter().map(|cell| cell[1..].to_owned()).collect());
    let unmitigated = |name: &str| run.unmitigated.values.get(name).copied().flatten();
    let opening = |id: String, family: Family| {
        let family = has_families.then(|| family.name().to_owned());
        std::iter::once(id).chain(family)
    };
    let cells = shown
        .iter()
        .map(|name| estimate(run, name, sign, unmitigated));
    let first = opening("unmitigated".into(), run.unmitigated.family);
    table.row(first.chain(cells).collect());
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
    // `values_of` leaves no NaN, which would be rejected.
    let judged = Values::new(&spread_by, m.max(1)).ok();
    let spread = judged.map(|v| select_spread(v, rows, &ranges(v, None)));
    for i in spread.into_iter().flatten() {
        let value = |name: &str| front.column(name).and_then(|c| c[i]);
        let first = opening(ModelId::of_index(i).to_string(), front.family(i));
        let cells = shown.iter().map(|name| estimate(run, name, sign, value));
        table.row(first.chain(cells).collect());
    }
    let mut out = headline(run, front, rows, split);
    table.render(&mut out);
    let performance = &run.meaning.performance;
    if front
        .column(&format!("{split}.{performance}.low"))
        .is_some()
    {
        let _ = writeln!(out, "  {sign}: the wider side of the 95% interval");
    }
    for name in run.spec.probabilities.keys() {
        let _ = writeln!(out, "  {}", super::prediction::estimated(name));
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

/// The line above the table of models.
fn headline(run: &RunInfo, front: &FrontTable, rows: usize, split: &str) -> String {
    let stopped = match run.stop {
        StopReason::Stopped => ", stopped early",
        _ => "",
    };
    let exact = match run.proof.largest_optimality_gap {
        // A large optimality gap is not useful.
        Some(gap) if run.proof.proven == front.len() && gap < 1e-3 => {
            format!(", optimality gap at most {gap:.1e}")
        }
        _ => String::new(),
    };
    let some = match front.len() {
        n if n <= rows => "the front".into(),
        _ => format!("{rows} of them"),
    };
    let streamed = run.stream.as_ref().map_or_else(String::new, streamed);
    format!(
        "{}{streamed}: {}{}{exact}{stopped}. Shown: {some} and the unmitigated model, with measures \
         on {} rows:\n\n",
        run.source,
        counted(front.len(), "model"),
        family::origin(run, front),
        match split {
            "train" => "training",
            other => other,
        },
    )
}

/// The names of the columns of measures in the table.
fn measures(run: &RunInfo, front: &FrontTable, split: &str) -> Vec<String> {
    let decides = run.meaning.target.decides();
    let kinds = match decides {
        true => &[
            "demographic_parity_difference",
            "equal_opportunity_difference",
        ][..],
        false => &["mean_difference"],
    };
    let prefix = format!("{split}.{}(", kinds[0]);
    let names = front.names.iter();
    let attributes = names.filter_map(|name| name.strip_prefix(&prefix)?.strip_suffix(')'));
    let mut shown = vec![format!("{split}.{}", run.meaning.performance)];
    if !decides {
        shown.push(format!("{split}.r2"));
    }
    if run.meaning.target.classes().is_some() {
        shown.push(format!("{split}.macro_f1"));
    }
    for attribute in attributes {
        for kind in kinds {
            shown.push(format!("{split}.{kind}({attribute})"));
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

/// The line about measures that do not distinguish the models.
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

/// A value with the wider side of its interval: `0.0466 ±0.0250`, or `71.02% ±1.18` for a share.
fn estimate(run: &RunInfo, name: &str, sign: &str, value: impl Fn(&str) -> Option<f64>) -> String {
    let Some(own) = value(name) else {
        return "-".into();
    };
    let meaning = name
        .split_once('.')
        // Objectives are in standard deviations of the target, also if a measure has the same name.
        .filter(|_| !name.contains("objective."))
        .and_then(|(_, bare)| run.meaning.measure(bare));
    let unit = meaning.map(|meaning| meaning.unit);
    let is_share = unit == Some(Unit::Share);
    let fixed = |value: f64| match unit {
        Some(Unit::InTarget) => run.meaning.in_target(value),
        _ => format!("{value:.4}"),
    };
    let ends = (
        value(&format!("{name}.low")),
        value(&format!("{name}.high")),
    );
    match ends {
        (Some(low), Some(high)) if is_share => format!(
            "{} {sign}{:.2}",
            share(own),
            100.0 * (own - low).max(high - own)
        ),
        _ if is_share => share(own),
        (Some(low), Some(high)) => {
            // The same number of decimals as the interval, so that they are comparable.
            let side = (own - low).max(high - own);
            format!("{} {sign}{}", fixed(own), fixed(side))
        }
        _ if unit == Some(Unit::InTarget) => fixed(own),
        _ => significant(own),
    }
}

/// The number of batches and rows of a stream.
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
            ", after {batches}, with the front of batch {} because later batches could not update it",
            grouped(stream.updated as usize)
        ),
    }
}

/// The heading of a column in two lines: `demographic parity` above `difference (sex)`.
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
    let (kind, class, inside) = super::parts_of(measure);
    let words = kind.replace('_', " ");
    let (first, last) = match words.rsplit_once(' ') {
        Some((first, last @ ("difference" | "ratio"))) => (first, last),
        _ => (words.as_str(), ""),
    };
    let of_class = class.map_or_else(String::new, |class| format!("for {class}"));
    let below = [last, of_class.as_str(), inside];
    let below: Vec<&str> = below.into_iter().filter(|part| !part.is_empty()).collect();
    (first.to_owned(), below.join(" "))
}

/// The values of these columns, model by model; ∞ replaces an absent value.
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
    for model in 0..front.len() {
        for column in &columns {
            let value = column.as_ref().and_then(|c| c[model]);
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
