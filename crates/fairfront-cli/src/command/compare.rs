use std::path::{Path, PathBuf};

use fairfront_data::{Error, data_folder};
use fairfront_report::{Overlay, Series};
use fairfront_run::{CompareOptions, Comparison, NamedFront, RowPlaces, compare, compare_measures};
use fairfront_stream::kept_rows;

use crate::args::{CompareArgs, CompareBy, Extremes};
use crate::output::{self, Target};
use crate::render;
use crate::wording::worded;

pub(super) fn run(args: &CompareArgs) -> anyhow::Result<()> {
    if args.by == CompareBy::Measures {
        return by_measures(args);
    }
    let svg = args.svg.as_deref().map(Target::check).transpose()?;
    if let Some(Target::File(path)) = &svg {
        check_picture(path, &args.fronts)?;
    }
    if svg == Some(Target::Stdout) && args.json {
        let message = "--json and --svg - both write to standard output; choose a file for --svg";
        return Err(Error::usage(message).into());
    }
    if let Some(bad) = args.reference.iter().find(|v| v.is_nan()) {
        let message = format!("--reference: {bad} is not a number");
        return Err(Error::usage(message).into());
    }
    if !(0.0..1.0).contains(&args.tolerance) {
        let message = format!(
            "--tolerance {} is not a share of a range; choose a number from 0 to below 1",
            args.tolerance
        );
        return Err(Error::usage(message).into());
    }
    args.fronts
        .iter()
        .for_each(|path| super::warn_if_corrupted(path));
    let fronts = args.fronts.iter().map(|path| NamedFront::read(path));
    let fronts: Vec<NamedFront> = fronts.collect::<Result<_, _>>()?;
    let options = CompareOptions {
        reference: (!args.reference.is_empty()).then(|| args.reference.clone()),
        same_size: args.same_size,
        own_extremes: args.extremes == Extremes::Own,
        tolerance: args.tolerance,
        distances: args.json,
    };
    let found = compare(&fronts, &options)?;
    if let Some(target) = &svg {
        let picture = overlay(&fronts, &found);
        target.write(|out| {
            out.write_all(picture.as_bytes())
                .map_err(|source| Error::Io {
                    path: String::new(),
                    source,
                })
        })?;
    }
    if args.json {
        return output::print_data(&format!("{}\n", serde_json::to_string_pretty(&found)?));
    }
    if svg == Some(Target::Stdout) {
        return Ok(());
    }
    output::print(&render::comparison(&found))
}

/// Compares runs in measures.
fn by_measures(args: &CompareArgs) -> anyhow::Result<()> {
    let of_objectives = [
        (!args.reference.is_empty(), "--reference"),
        (args.same_size, "--same-size"),
        (args.extremes != Extremes::Union, "--extremes"),
        (args.tolerance != 0.0, "--tolerance"),
        (args.svg.is_some(), "--svg"),
    ];
    if let Some((_, flag)) = of_objectives.iter().find(|(given, _)| *given) {
        let message = format!("{flag} applies only to objectives; remove it or --by measures");
        return Err(Error::usage(message).into());
    }
    args.fronts
        .iter()
        .for_each(|path| super::warn_if_corrupted(path));
    let published = data_folder();
    let places = RowPlaces {
        published: published.as_deref(),
        kept: &kept_rows,
    };
    let mut found = compare_measures(&args.fronts, places)?;
    found.diagnostics = worded(&found.diagnostics);
    if args.json {
        return output::print_data(&format!("{}\n", serde_json::to_string_pretty(&found)?));
    }
    output::note(&render::diagnostics(&found.diagnostics));
    output::print(&render::measure_comparison(&found))
}

/// A plot may replace only an SVG file.
fn check_picture(path: &Path, fronts: &[PathBuf]) -> anyhow::Result<()> {
    let same = |front: &PathBuf| front.canonicalize().is_ok_and(|front| front == path);
    let problem = if fronts.iter().any(same) {
        "is one of the fronts; choose another file for the plot"
    } else if path.exists() && !is_picture(path) {
        "already exists and is not an SVG file; choose another path"
    } else {
        return Ok(());
    };
    anyhow::bail!("{}: {problem}", path.display());
}

fn is_picture(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let text = text.trim_start_matches('\u{feff}').trim_start();
    text.starts_with("<svg") || text.starts_with("<?xml")
}

fn overlay(fronts: &[NamedFront], found: &Comparison) -> String {
    let source = fronts.iter().find_map(|front| front.run.as_ref());
    let title = match source {
        Some(run) => format!("Fronts of {}", run.source),
        None => "Fronts".into(),
    };
    Overlay {
        title,
        axes: found.objectives.clone(),
        series: (found.fronts.iter())
            .map(|front| Series {
                name: &front.name,
                values: &front.values,
            })
            .collect(),
        reference: Some(found.reference.clone()),
    }
    .to_svg()
}
