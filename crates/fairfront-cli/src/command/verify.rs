use fairfront_core::meter::{self, Phase};
use fairfront_data::data_folder;
use fairfront_run::{Check, RowPlaces, check_documents, verify};
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
    let mut found = found?;
    for document in &args.document {
        found.checks.extend(check_documents(&args.run, document)?);
    }
    found.agrees = found.checks.iter().all(Check::agrees);
    match args.json {
        true => output::print_data(&format!("{}\n", serde_json::to_string_pretty(&found)?))?,
        false => output::print(&render::verification(&args.run, &found))?,
    }
    Ok(match found.agrees {
        true => 0,
        false => 1,
    })
}
