use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};

use fairfront_run::{
    CardRequest, Conversion, Error, Run, logged_uses, model_card, page_data, write_figures,
    write_page,
};

use crate::args::ReportArgs;
use crate::output::{self, Target};

pub(super) fn run(args: &ReportArgs) -> anyhow::Result<()> {
    super::warn_if_corrupted(&args.run);
    if args.figures {
        return draw(args);
    }
    if args.card {
        return card(args);
    }
    if let Some(id) = args.model_id {
        let message = format!(
            "--model-id {id} applies only to --card and --figures; remove it, or add one of them"
        );
        return Err(fairfront_data::Error::usage(message).into());
    }
    let Some(path) = &args.output else {
        let path = write_page(&args.run)?;
        return output::print_data(&format!("{}\n", path.display()));
    };
    let target = Target::check(path)?;
    target.check_free(args.force)?;
    let html = page_data(&args.run)?.to_html();
    target.write_by(|out| Ok(out.write_all(html.as_bytes())?))
}

/// Writes the model card of a model.
fn card(args: &ReportArgs) -> anyhow::Result<()> {
    let (Some(path), Some(model_id)) = (&args.output, args.model_id) else {
        let message = "--card needs a model and a file; pass --model-id and --output";
        return Err(fairfront_data::Error::usage(message).into());
    };
    let target = Target::check(path)?;
    target.check_free(args.force)?;
    let mut run = Run::read(&args.run)?;
    run.uses = logged_uses(&args.run)?;
    let request = CardRequest {
        model_id,
        intended_use: args.intended_use.clone(),
        out_of_scope: args.out_of_scope.clone(),
        contact: args.contact.clone(),
    };
    let document = model_card(&run, &request)?;
    let is_markdown = path
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("md"));
    let text = match is_markdown {
        true => document.to_markdown(),
        false => document.to_html(),
    };
    target.write_by(|out| Ok(out.write_all(text.as_bytes())?))
}

fn draw(args: &ReportArgs) -> anyhow::Result<()> {
    let conversion = args.png.then_some(Conversion {
        ending: "png",
        by: &png,
    });
    let written = write_figures(&args.run, conversion, args.model_id)?;
    let lines = written.iter().map(|path| format!("{}\n", path.display()));
    output::print(&lines.collect::<String>())
}

/// The program that converts SVG to PNG.
const CONVERTER: &str = "rsvg-convert";

/// Converts a figure to PNG at three times its size, which is sharp on paper.
fn png(svg: &str) -> Result<Vec<u8>, Error> {
    let failed = |problem: &str| {
        Error::usage(format!(
            "--png: {CONVERTER} {problem}; install it (package librsvg2-bin or librsvg), or remove --png"
        ))
    };
    let child = Command::new(CONVERTER)
        .args(["--format", "png", "--zoom", "3"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.map_err(|e| match e.kind() {
        ErrorKind::NotFound => failed("is not installed"),
        other => failed(&format!("does not start ({other})")),
    })?;
    // It writes only after it has read everything. Its exit code shows whether it could read the input.
    if let Some(mut input) = child.stdin.take() {
        let _ = input.write_all(svg.as_bytes());
    }
    let output = child.wait_with_output();
    match output {
        Ok(output) if output.status.success() && output.stdout.starts_with(b"\x89PNG") => {
            Ok(output.stdout)
        }
        _ => Err(failed("wrote no PNG image")),
    }
}
