use fairfront_data::data_folder;
use fairfront_run::{RowPlaces, verify};
use fairfront_stream::kept_rows;

use crate::args::VerifyArgs;
use crate::{output, render};

pub(super) fn run(args: &VerifyArgs) -> anyhow::Result<u8> {
    let published = data_folder();
    let places = RowPlaces {
        published: published.as_deref(),
        kept: &kept_rows,
    };
    let found = verify(&args.run, &args.files, places)?;
    match args.json {
        true => output::print_data(&format!("{}\n", serde_json::to_string_pretty(&found)?))?,
        false => output::print(&render::verification(&args.run, &found))?,
    }
    Ok(match found.agrees {
        true => 0,
        false => 1,
    })
}
