//! Renders comparisons of fronts.

use std::fmt::Write;

use fairfront_core::{counted, grouped};
use fairfront_run::{Comparison, MeasureComparison};

use super::TextTable;
use super::front::significant;
use crate::output;

pub(crate) fn comparison(found: &Comparison) -> String {
    let details = output::is_verbose();
    let mut header = vec!["front", "solver", ">models", ">purity", ">gamma", ">delta"];
    header.extend([">hypervolume", ">optimality gap"]);
    if details {
        header.extend([">gamma of range", ">ms/model", ">gradients/model"]);
    }
    let mut table = TextTable::new(&header);
    let optional = |value: Option<String>| value.unwrap_or_else(|| "-".into());
    for front in &found.fronts {
        let models = match found.same_size {
            Some(_) => format!(
                "{} of {}",
                grouped(front.models),
                grouped(front.models_found)
            ),
            None => grouped(front.models),
        };
        let mut cells = vec![
            // Control characters could move the cursor.
            front.name.replace(char::is_control, "\u{fffd}"),
            optional(front.solver.clone()),
            models,
            format!("{:.3}", front.purity),
            significant(front.gamma),
            format!("{:.3}", front.delta),
            optional(front.hypervolume.map(seven)),
            optional(front.gap.map(|gap| format!("{gap:.1e}"))),
        ];
        if details {
            cells.extend([
                format!("{:.3}", front.scaled_gamma),
                optional(front.seconds_per_model.map(|s| format!("{:.3}", 1e3 * s))),
                optional(front.gradients_per_model.map(|g| format!("{g:.1}"))),
            ]);
        }
        table.row(cells);
    }
    let mut out = String::new();
    table.render(&mut out);
    let at = |(name, value): (&String, &f64)| format!("{name} {}", significant(*value));
    let reference = found.objectives.iter().zip(&found.reference).map(at);
    let reference: Vec<String> = reference.collect();
    let _ = writeln!(
        out,
        "\nReference point of the hypervolume: {}. gamma (largest hole) and delta \
         (unevenness) include the distances to the ends of {}.\n\
         Larger is better: purity, hypervolume. Smaller is better: all other columns of numbers except \
         models.",
        reference.join(", "),
        match found.extremes {
            "own" => "each front",
            _ => "the best models of all fronts",
        },
    );
    out
}

/// Renders a comparison of runs in measures.
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
        ">95% interval",
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
    for compared in &found.measures {
        for score in &compared.scores {
            let _ = writeln!(
                out,
                "  {}: {} {}, {} {}; {} of the front {} better",
                score.name.replace(char::is_control, "\u{fffd}"),
                found.loss.replace('_', " "),
                significant(score.error_rate),
                compared.measure,
                significant(score.value),
                counted(score.better_models, "model"),
                if score.better_models == 1 {
                    "is"
                } else {
                    "are"
                },
            );
        }
    }
    let limits = found.measures.iter();
    let limits: Vec<String> = limits
        .map(|m| format!("{} {}", m.measure, significant(m.reference[1])))
        .collect();
    let error = found.measures.first().map_or(1.0, |m| m.reference[0]);
    let _ = write!(
        out,
        "\nHypervolume share: the share of a box that the models of a front dominate; larger is better.\n\
         The box ends at {} of {} and at these values: {}.\n",
        match found.loss.as_str() {
            "error_rate" => "an error rate (1 - accuracy)".into(),
            loss => format!("a {loss}"),
        },
        significant(error),
        limits.join(", ")
    );
    if found.replicates > 0 {
        let _ = writeln!(
            out,
            "A difference is a front's share minus that of the first front; intervals come from {} paired \
             redraws of the rows.",
            grouped(found.replicates)
        );
    }
    out
}

/// Seven significant digits, which distinguish fronts that differ by a thousandth of a percent.
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
