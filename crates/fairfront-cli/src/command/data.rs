use std::fmt::Write as _;
use std::path::Path;

use fairfront_data::{
    Encoded, Error, KNOWN, Known, KnownInfo, data_folder, write_encoded, write_rows,
};
use serde::Serialize;

use crate::args::DataCommand;
use crate::output::{self, Target};
use crate::render::{self, TextTable};
use crate::table_args::TableArgs;

pub(super) fn run(command: DataCommand) -> anyhow::Result<()> {
    match command {
        DataCommand::List { json } => list(json),
        DataCommand::Path { name } => path(&name),
        DataCommand::Export {
            table,
            output,
            encoded,
            encoding,
        } => export(&table, &output, encoded, encoding.as_deref()),
    }
}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    about: &'static str,
    files: Vec<ListedFile>,
}

#[derive(Serialize)]
struct ListedFile {
    name: &'static str,
    url: &'static str,
    present: bool,
}

fn list(json: bool) -> anyhow::Result<()> {
    let folder = data_folder();
    let is_present = |name: &str| folder.as_ref().is_some_and(|f| f.join(name).is_file());
    let listed = |known: &KnownInfo| Listed {
        name: known.name,
        about: known.about,
        files: known
            .files
            .iter()
            .map(|file| ListedFile {
                name: file.name,
                url: file.url,
                present: is_present(file.name),
            })
            .collect(),
    };
    let listed: Vec<Listed> = KNOWN.iter().map(listed).collect();
    if json {
        return output::print(&format!("{}\n", serde_json::to_string_pretty(&listed)?));
    }
    let mut table = TextTable::new(&["name", "what", "files"]);
    for known in &listed {
        let missing: Vec<&str> = known
            .files
            .iter()
            .filter(|f| !f.present)
            .map(|f| f.name)
            .collect();
        let files = match (known.files.is_empty(), missing.is_empty()) {
            (true, _) => "made by code".into(),
            (false, true) => "there".into(),
            (false, false) => format!("missing: {}", missing.join(", ")),
        };
        table.row(vec![known.name.into(), known.about.into(), files]);
    }
    let mut out = String::from("Known data sets\n");
    table.render(&mut out);
    out.push_str(
        "\nSettings go in parentheses: 'synthetic:3(rows=5000, rotation=1.2)', \
         'demo(rows=1000, seed=1, bias=0)'.\n\
         'demo(change=0.5)' has another population from half-way on, for streams.\n",
    );
    if listed.iter().flat_map(|k| &k.files).any(|f| !f.present) {
        out.push_str("Published files are looked for in the folder that FAIRFRONT_DATA names:\n");
        let mut seen: Vec<&str> = Vec::new();
        for file in listed.iter().flat_map(|k| &k.files).filter(|f| !f.present) {
            if !seen.contains(&file.name) {
                seen.push(file.name);
                let _ = writeln!(out, "  {}  {}", file.name, file.url);
            }
        }
    }
    output::print(&out)
}

fn path(name: &str) -> anyhow::Result<()> {
    let Some(known) = Known::parse(name)? else {
        return Err(Error::Usage(format!(
            "{name:?} is no known data set; see fairfront data list"
        ))
        .into());
    };
    if known.files().is_empty() {
        anyhow::bail!(
            "{name} is made by code and has no file; write one with: \
             fairfront data export '{name}' -o rows.csv"
        );
    }
    let paths = known.paths(data_folder().as_deref())?;
    let lines: Vec<String> = paths.iter().map(|p| format!("{}\n", p.display())).collect();
    output::print(&lines.concat())
}

fn export(
    table: &TableArgs,
    file: &Path,
    encoded: bool,
    encoding: Option<&Path>,
) -> anyhow::Result<()> {
    let rows = Target::check(file)?;
    let encoding = encoding.map(Target::check).transpose()?;
    if encoding.as_ref() == Some(&rows) {
        return Err(Error::Usage("--output and --encoding name the same place".into()).into());
    }
    for target in [Some(&rows), encoding.as_ref()].into_iter().flatten() {
        if let Target::File(path) = target
            && table.reads(path)?
        {
            let message = format!("{}: this is the input; name another file", path.display());
            return Err(Error::Usage(message).into());
        }
    }

    let prepared = table.prepare()?;
    let mut notices = prepared.notices.clone();
    if encoded || encoding.is_some() {
        let found = Encoded::new(&prepared)?;
        notices.extend(found.notices.iter().cloned());
        if encoded {
            rows.write(|out| write_encoded(&found, out))?;
        } else {
            rows.write(|out| write_rows(&prepared, out))?;
        }
        if let Some(encoding) = encoding {
            encoding.write(|out| {
                let json = found.encoding.to_json();
                out.write_all(json.as_bytes()).map_err(|source| Error::Io {
                    path: "encoding".into(),
                    source,
                })
            })?;
        }
    } else {
        rows.write(|out| write_rows(&prepared, out))?;
    }
    output::note(&render::rows_in_use(&prepared));
    output::note(&render::notices(&notices));
    Ok(())
}
