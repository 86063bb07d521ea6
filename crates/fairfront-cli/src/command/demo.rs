use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use fairfront_run::{check_folder, source_of_run};

use crate::args::{Cli, Command};
use crate::table_args::TableArgs;
use crate::{command, output};

const INTRODUCTION: &str = "\
A made-up bank decided on 20,000 loans. Its decisions are unfair to women and by race, and other
columns give both away. This is what fairfront sees in the table, before any training:

";

const FRONT: &str = "
Now every worthwhile compromise between the error rate and how far selection rates differ by sex and
by race:

";

pub(super) fn run(out: &Path) -> anyhow::Result<ExitCode> {
    // Only what an earlier demo wrote is replaced.
    let own = source_of_run(out).is_some_and(|source| source == "demo");
    check_folder(out, own)?;
    output::print(INTRODUCTION)?;
    command::inspect::run(&TableArgs::known("demo"), false)?;
    output::print(FRONT)?;
    let args = ["fairfront", "fit", "demo", "--force", "--out"].map(Into::into);
    let args = args.into_iter().chain([out.as_os_str().to_owned()]);
    let Command::Fit { table, fit } = Cli::try_parse_from(args)?.command else {
        unreachable!("these arguments are those of fit");
    };
    let code = command::fit::run(&table, &fit)?;
    let folder = out.display();
    output::print(&format!(
        "\nThe run is in {folder}. All its points:  fairfront show {folder} --csv\n\
         Your own table:  fairfront fit FILE --target COLUMN --positive VALUE --sensitive COLUMN \
         --out DIR\n"
    ))?;
    Ok(code)
}
