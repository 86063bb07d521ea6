use fairfront_data::data_folder;
use fairfront_run::verify;

use crate::args::VerifyArgs;
use crate::{output, render};

pub(super) fn run(args: &VerifyArgs) -> anyhow::Result<u8> {
    let found = verify(&args.run, &args.files, data_folder().as_deref())?;
    match args.json {
        true => output::print_data(&format!("{}\n", serde_json::to_string_pretty(&found)?))?,
        false => output::print(&render::verification(&args.run, &found))?,
    }
    Ok(match found.agrees {
        true => 0,
        false => 1,
    })
}
