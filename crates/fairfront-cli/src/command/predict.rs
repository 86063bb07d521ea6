use std::path::{Path, PathBuf};

use fairfront_data::{Error, grammar};
use fairfront_model::{Model, PredictOptions, Predicted, Predictions, predict};

use crate::args::PredictArgs;
use crate::output::{self, Target};
use crate::render;
use crate::table_args::decimal;

pub(super) fn run(args: &PredictArgs) -> anyhow::Result<()> {
    let mut keep = Vec::new();
    for text in &args.keep {
        keep.extend(grammar::names(text).map_err(|e| e.of_setting("--keep"))?);
    }
    let options = PredictOptions {
        keep,
        audit: args.audit,
        weight: args.weight.clone(),
        ..PredictOptions::default()
    };
    let target = args.output.as_deref().map(Target::check).transpose()?;
    check_places(args, target.as_ref())?;
    if let Some(target) = &target {
        target.check_free(args.force)?;
    }
    let mut model = Model::read(&args.model)?;
    if let Some(text) = &args.decimal {
        model.reading.decimal = Some(decimal(text)?);
    }
    let done = match (&target, &args.output) {
        (Some(target), Some(path)) => write(&model, args, &options, target, path)?,
        _ => predict(&model, &args.file, &options, Predictions::None)?,
    };
    let place = args
        .output
        .as_ref()
        .filter(|_| target != Some(Target::Stdout));
    output::note(&render::predicted(place.map(PathBuf::as_path), &done));
    match &done.audit {
        None => Ok(()),
        Some(_) if args.json => {
            output::print_data(&format!("{}\n", serde_json::to_string_pretty(&done)?))
        }
        Some(audit) => {
            output::print(&render::audit(audit))?;
            match &model.certificate {
                Some(certificate) => output::print(&render::certificate(certificate)),
                None => Ok(()),
            }
        }
    }
}

fn write(
    model: &Model,
    args: &PredictArgs,
    options: &PredictOptions,
    target: &Target,
    path: &Path,
) -> anyhow::Result<Predicted> {
    let parquet = path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("parquet"));
    target.write_by(|out| {
        let out = match parquet {
            true => Predictions::Parquet(out),
            false => Predictions::Csv(out),
        };
        Ok(predict(model, &args.file, options, out)?)
    })
}

/// Checks that the output does not overwrite an input, and that standard output is used once.
fn check_places(args: &PredictArgs, target: Option<&Target>) -> anyhow::Result<()> {
    if args.audit && target == Some(&Target::Stdout) {
        let message =
            "--audit and --output - both write to standard output; choose a file for the scores";
        return Err(Error::usage(message).into());
    }
    if args.file == "-" && args.model == Path::new("-") {
        let message = "only the rows can come from standard input; pass a file for the model";
        return Err(Error::usage(message).into());
    }
    if let Some(Target::File(path)) = target {
        let is_it = |file: &Path| file.canonicalize().is_ok_and(|file| file == *path);
        if is_it(Path::new(&args.file)) || is_it(&args.model) {
            let message = format!("{}: is an input; choose another file", path.display());
            return Err(Error::usage(message).into());
        }
    }
    Ok(())
}
