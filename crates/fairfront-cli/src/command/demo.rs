use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Parser;
use fairfront_data::{Error, write_rows};
use fairfront_run::{
    Choice, Demand, FrontColumns, Rule, Run, check_folder, choose_certified, group_sentences,
    run_name, source_of_run,
};

use crate::args::Cli;
use crate::output::Target;
use crate::table_args::TableArgs;
use crate::{command, output, render};

const INTRODUCTION: &str = "\
A simulated bank decided on 20,000 loans. Its decisions favor men and depend on race, and other columns
are proxies for both. fairfront trains models that trade accuracy against differences between groups:
";

/// Number of models in the table.
const ROWS: usize = 6;

pub(super) fn run(out: &Path) -> anyhow::Result<u8> {
    // Replace only the files of an earlier demo.
    let own = source_of_run(out).is_some_and(|source| source == "demo");
    check_folder(out, own)?;
    let with_suffix = |suffix: &str| {
        let mut name = out.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let (model, rows) = (with_suffix("-model.json"), with_suffix("-applicants.csv"));
    let decisions = with_suffix("-decisions.csv");
    for file in [&model, &rows, &decisions] {
        if !own && file.exists() {
            let message = format!(
                "{}: already exists and was not written by a demo; choose another --out",
                file.display()
            );
            return Err(Error::usage(message).into());
        }
    }
    let folder = out.as_os_str();
    let show = |path: &Path| crate::word::quoted(&path.display().to_string());
    output::print(&format!(
        "{INTRODUCTION}\n$ fairfront fit demo --require '{REQUIREMENT}' --out {}\n",
        show(out)
    ))?;
    let code = typed(&[
        &["fit", "demo", "--force", "--quiet", "--require"].map(OsStr::new),
        &[OsStr::new(REQUIREMENT), OsStr::new("--out"), folder][..],
    ])?;
    if code != 0 {
        return Ok(code);
    }
    let run = Run::read(out)?;
    let charset = render::Charset::of_terminal(false);
    output::print(&render::table(&run.info, &run.front, ROWS, false, charset))?;
    let choice = choose(out, &run)?;
    output::print(&format!("\n{}", render::requirement(&choice)))?;
    output::print(&groups(&run, &choice))?;
    let mut chosen = run.model(&run_name(out), choice.selection.model_id)?;
    chosen.certificate.clone_from(&choice.of_model);
    chosen.write(&model, true)?;
    output::print(&format!(
        "\n$ fairfront predict {} {} -o {}\n",
        show(&model),
        show(&rows),
        show(&decisions)
    ))?;
    let applicants = TableArgs::known(APPLICANTS).prepare()?;
    Target::check(&rows)?.write(|out| write_rows(&applicants, out))?;
    let decide = ["predict", "--force", "-o"].map(OsStr::new);
    let files = [decisions.as_os_str(), model.as_os_str(), rows.as_os_str()];
    typed(&[&decide[..], &files])?;
    let folder = out.display();
    output::print(&format!(
        "\nOpen {folder}/report.html in a browser to compare all models. Next:\n  \
         fairfront inspect demo        inspect the table before training\n  \
         fairfront show {folder} --csv\n  \
         fairfront verify {folder}\n  \
         fairfront fit FILE --target COLUMN --positive VALUE --sensitive COLUMN --out DIR\n"
    ))?;
    Ok(code)
}

/// The most accurate of the certified models.
fn choose(out: &Path, run: &Run) -> anyhow::Result<Choice> {
    let demand = Demand::parse(&[REQUIREMENT.to_owned()], CONFIDENCE, false, None)?;
    let rule = Rule::Best(demand.best.clone());
    Ok(choose_certified(out, run, &demand, &rule)?)
}

/// The groups of the requirement, in counts of people.
fn groups(run: &Run, choice: &Choice) -> String {
    let front = FrontColumns::of(&run.info, &run.front);
    let attributes = run.encoding.attributes.iter().map(|rule| &rule.attribute);
    let spec = &run.info.spec;
    let label = [&spec.target, &spec.positive].map(|part| part.as_deref().unwrap_or_default());
    let label = label.join(" = ");
    let mut lines = String::new();
    for attribute in attributes.filter(|attribute| attribute.name == "sex") {
        let id = Some(choice.selection.model_id.index());
        for line in group_sentences(&front, id, &attribute.name, &attribute.groups, &label) {
            let _ = writeln!(lines, "  {line}");
        }
    }
    lines
}

const CONFIDENCE: f64 = 0.95;

/// New rows to score.
const APPLICANTS: &str = "demo(rows=1000, seed=1)";

/// The requirement of the demo.
const REQUIREMENT: &str = "demographic_parity_difference(sex) <= 0.05";

/// Runs a command as if it had been typed.
fn typed(parts: &[&[&OsStr]]) -> anyhow::Result<u8> {
    let words = parts.iter().flat_map(|part| part.iter().copied());
    let cli = Cli::try_parse_from(std::iter::once(OsStr::new("fairfront")).chain(words))?;
    command::run(cli.command)
}
