use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Parser;
use fairfront_data::Error;
use fairfront_run::{check_folder, source_of_run};

use crate::args::Cli;
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

const CHOICE: &str = "
A front is a means; one model has to be chosen. Here, the most accurate one whose selection rates for
women and men differ by at most five points on validation rows:

";

const DECISIONS: &str = "
And a thousand new applicants, decided by that model, which sees neither sex nor race:

";

pub(super) fn run(out: &Path) -> anyhow::Result<u8> {
    // Only what an earlier demo wrote is replaced.
    let own = source_of_run(out).is_some_and(|source| source == "demo");
    check_folder(out, own)?;
    let beside = |what: &str| {
        let mut name = out.as_os_str().to_owned();
        name.push(what);
        PathBuf::from(name)
    };
    let (model, rows) = (beside("-model.json"), beside("-applicants.csv"));
    let decisions = beside("-decisions.csv");
    for file in [&model, &rows, &decisions] {
        if !own && file.exists() {
            let message = format!(
                "{}: there is a file already, and no demo wrote it; name another --out",
                file.display()
            );
            return Err(Error::Usage(message).into());
        }
    }
    output::print(INTRODUCTION)?;
    command::inspect::run(&TableArgs::known("demo"), false)?;
    output::print(FRONT)?;
    let folder = out.as_os_str();
    let code = typed(&[
        &["fit", "demo", "--force", "--out"].map(OsStr::new),
        &[folder][..],
    ])?;
    if code != 0 {
        return Ok(code);
    }
    output::print(CHOICE)?;
    let choose = ["select", "--force", "--require", REQUIREMENT, "--model"].map(OsStr::new);
    typed(&[&choose[..], &[model.as_os_str(), folder]])?;
    output::print(DECISIONS)?;
    let new_rows = ["data", "export", "demo(rows=1000, seed=1)", "-o"].map(OsStr::new);
    typed(&[&new_rows[..], &[rows.as_os_str()]])?;
    let decide = ["predict", "--audit", "--force", "-o"].map(OsStr::new);
    let files = [decisions.as_os_str(), model.as_os_str(), rows.as_os_str()];
    typed(&[&decide[..], &files])?;
    let (folder, model, decisions) = (out.display(), model.display(), decisions.display());
    output::print(&format!(
        "\nThe run is in {folder}, the model in {model}, its decisions in {decisions}.\n\
         To decide:       open {folder}/report.html in a browser\n\
         All points:      fairfront show {folder} --csv\n\
         For an auditor:  fairfront verify {folder}\n\
         Your own table:  fairfront fit FILE --target COLUMN --positive VALUE --sensitive COLUMN \
         --out DIR\n"
    ))?;
    Ok(code)
}

/// What the demo asks of a model.
const REQUIREMENT: &str = "demographic_parity_difference(sex) <= 0.05";

/// Runs a command as if it had been typed.
fn typed(parts: &[&[&OsStr]]) -> anyhow::Result<u8> {
    let words = parts.iter().flat_map(|part| part.iter().copied());
    let cli = Cli::try_parse_from(std::iter::once(OsStr::new("fairfront")).chain(words))?;
    command::run(cli.command)
}
