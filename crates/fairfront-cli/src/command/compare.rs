use fairfront_data::Error;
use fairfront_report::{Overlay, Series};
use fairfront_run::{CompareOptions, Comparison, NamedFront, compare};

use crate::args::{CompareArgs, Extremes};
use crate::output::{self, Target};
use crate::render;

pub(super) fn run(args: &CompareArgs) -> anyhow::Result<()> {
    let svg = args.svg.as_deref().map(Target::check).transpose()?;
    if svg == Some(Target::Stdout) && args.json {
        let message = "--json and --svg - both write to standard output; name a file for one";
        return Err(Error::Usage(message.into()).into());
    }
    if let Some(bad) = args.reference.iter().find(|v| v.is_nan()) {
        let message = format!("--reference: {bad} is no number");
        return Err(Error::Usage(message).into());
    }
    let fronts = args.fronts.iter().map(|path| NamedFront::read(path));
    let fronts: Vec<NamedFront> = fronts.collect::<Result<_, _>>()?;
    let options = CompareOptions {
        reference: (!args.reference.is_empty()).then(|| args.reference.clone()),
        same_size: args.same_size,
        own_extremes: args.extremes == Extremes::Own,
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
        return output::print(&format!("{}\n", serde_json::to_string_pretty(&found)?));
    }
    if svg == Some(Target::Stdout) {
        return Ok(());
    }
    output::print(&render::comparison(&found))
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
