//! Fronts side by side, as a person reads them.

use std::fmt::Write;

use fairfront_core::grouped;
use fairfront_run::{Comparison, MeasureComparison};

use super::TextTable;
use super::front::significant;

pub(crate) fn comparison(found: &Comparison) -> String {
    let mut table = TextTable::new(&[
        "front",
        "solver",
        ">points",
        ">purity",
        ">gamma",
        ">of range",
        ">delta",
        ">hypervolume",
        ">ms/point",
        ">gradients/point",
        ">proven gap",
    ]);
    let optional = |value: Option<String>| value.unwrap_or_else(|| "-".into());
    for front in &found.fronts {
        let points = match found.same_size {
            Some(_) => format!(
                "{} of {}",
                grouped(front.points),
                grouped(front.points_found)
            ),
            None => grouped(front.points),
        };
        table.row(vec![
            // What would move the cursor does not get to the terminal.
            front.name.replace(char::is_control, "\u{fffd}"),
            optional(front.solver.clone()),
            points,
            format!("{:.3}", front.purity),
            significant(front.gamma),
            format!("{:.3}", front.scaled_gamma),
            format!("{:.3}", front.delta),
            optional(front.hypervolume.map(seven)),
            optional(front.seconds_per_point.map(|s| format!("{:.3}", 1e3 * s))),
            optional(front.gradients_per_point.map(|g| format!("{g:.1}"))),
            optional(front.gap.map(|gap| format!("{gap:.1e}"))),
        ]);
    }
    let mut out = String::new();
    table.render(&mut out);
    let at = |(name, value): (&String, &f64)| format!("{name} {}", significant(*value));
    let reference = found.objectives.iter().zip(&found.reference).map(at);
    let reference: Vec<String> = reference.collect();
    let _ = writeln!(
        out,
        "\nReference point of the hypervolume: {}. Gaps are judged by the extremes of {}.\n\
         Larger is better: purity, hypervolume. Smaller is better: the others.",
        reference.join(", "),
        match found.extremes {
            "own" => "each front itself",
            _ => "all fronts together",
        },
    );
    out
}

/// Runs side by side in measures.
pub(crate) fn measure_comparison(found: &MeasureComparison) -> String {
    let mut out = format!(
        "Hypervolume shares on {} rows{}\n\n",
        found.split,
        match found.same_rows {
            Some(true) => ", the same rows for all runs",
            Some(false) => ", different rows for different runs",
            None => "",
        }
    );
    let mut table = TextTable::new(&[
        "measure",
        "front",
        ">models",
        ">hypervolume share",
        ">difference",
        "95% interval",
    ]);
    for compared in &found.measures {
        for (at, front) in compared.fronts.iter().enumerate() {
            let measure = if at == 0 { &compared.measure } else { "" };
            let signed = |value: f64| format!("{value:+.4}");
            table.row(vec![
                measure.to_owned(),
                front.name.replace(char::is_control, "\u{fffd}"),
                grouped(front.models),
                format!("{:.4}", front.hypervolume_share),
                front.difference.map_or_else(String::new, signed),
                front.interval.map_or_else(String::new, |[low, high]| {
                    format!("{} to {}", signed(low), signed(high))
                }),
            ]);
        }
    }
    table.render(&mut out);
    let limits = found.measures.iter();
    let limits: Vec<String> = limits
        .map(|m| format!("{} {}", m.measure, significant(m.reference[1])))
        .collect();
    let error = found.measures.first().map_or(1.0, |m| m.reference[0]);
    let _ = write!(
        out,
        "\nHypervolume share: share of the box up to an error rate (1 - accuracy) of {} and the limit of \
         the measure that\nthe models of a front dominate; larger is better. Limits: {}.\n",
        significant(error),
        limits.join(", ")
    );
    if found.replicates > 0 {
        let _ = writeln!(
            out,
            "Differences are to the first front; intervals are from {} paired redraws of the rows.",
            grouped(found.replicates)
        );
    }
    out
}

/// Seven significant digits: fronts that differ in a thousandth part of a percent are told apart.
fn seven(value: f64) -> String {
    match value.abs() {
        v if v == 0.0 || !v.is_finite() => value.to_string(),
        v if (1e-3..1e6).contains(&v) => {
            let digits = (6 - v.log10().floor() as i32).max(0) as usize;
            format!("{value:.digits$}")
        }
        _ => format!("{value:.6e}"),
    }
}
