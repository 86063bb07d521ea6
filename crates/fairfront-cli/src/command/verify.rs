use fairfront_core::meter::{self, Phase};
use fairfront_data::data_folder;
use fairfront_run::{RowPlaces, verify};
use fairfront_stream::kept_rows;

use crate::args::VerifyArgs;
use crate::progress::Bar;
use crate::{output, render};

pub(super) fn run(args: &VerifyArgs) -> anyhow::Result<u8> {
    let published = data_folder();
    let places = RowPlaces {
        published: published.as_deref(),
        kept: &kept_rows,
    };
    let bar = Bar::watch(args.json, None);
    meter::begin(Phase::Verifying);
    let found = verify(&args.run, &args.files, places);
    bar.finish();
    let found = found?;
    match args.json {
        true => output::print_data(&format!("{}\n", serde_json::to_string_pretty(&found)?))?,
        false => output::print(&render::verification(&args.run, &found))?,
    }
    Ok(match found.agrees {
        true => 0,
        false => 1,
    })
}
