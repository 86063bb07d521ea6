use std::path::Path;

use fairfront_model::{Error, ExportFormat, Model, write_file};

use crate::args::{ExportArgs, FormatName};
use crate::output::{self, Target};

pub(super) fn run(args: &ExportArgs) -> anyhow::Result<()> {
    let format = match args.format {
        FormatName::Onnx => ExportFormat::Onnx,
        FormatName::Sql => ExportFormat::Sql,
        FormatName::Table => ExportFormat::Table,
    };
    let to_stdout = args.output == Path::new("-");
    if to_stdout && format == ExportFormat::Onnx {
        let message = "an ONNX graph is binary and cannot be printed; choose a file with -o";
        return Err(Error::usage(message).into());
    }
    if !to_stdout {
        Target::check(&args.output)?;
    }
    let written = Model::read(&args.model)?.export(format)?;
    if to_stdout {
        return output::print_data(&String::from_utf8(written)?);
    }
    Ok(write_file(&args.output, &written, args.force)?)
}
