use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use fairfront_data::{
    DATA_FOLDER, Encoded, Error, KNOWN, Known, KnownInfo, cache_folder, data_folder, named_folder,
    write_encoded, write_rows,
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
        DataCommand::Get { name, quiet } => get(&name, quiet),
        DataCommand::Export {
            table,
            output,
            encoded,
            encoding,
            force,
        } => export(&table, &output, encoded, encoding.as_deref(), force),
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
    /// The path of the file, whether or not it exists.
    path: Option<PathBuf>,
}

fn list(json: bool) -> anyhow::Result<()> {
    let folder = data_folder();
    let path = |name: &str| folder.as_ref().map(|folder| folder.join(name));
    let listed = |known: &KnownInfo| Listed {
        name: known.name,
        about: known.about,
        files: known
            .files
            .iter()
            .map(|file| ListedFile {
                name: file.name,
                url: file.url,
                present: path(file.name).is_some_and(|path| path.is_file()),
                path: path(file.name),
            })
            .collect(),
    };
    let listed: Vec<Listed> = KNOWN.iter().map(listed).collect();
    if json {
        return output::print_data(&format!("{}\n", serde_json::to_string_pretty(&listed)?));
    }
    let mut table = TextTable::new(&["name", "description", "files"]);
    for known in &listed {
        let missing: Vec<&str> = known
            .files
            .iter()
            .filter(|f| !f.present)
            .map(|f| f.name)
            .collect();
        let files = match (known.files.is_empty(), missing.is_empty()) {
            (true, _) => "generated".into(),
            (false, true) => "present".into(),
            (false, false) => format!("missing: {}", missing.join(", ")),
        };
        table.row(vec![known.name.into(), known.about.into(), files]);
    }
    let mut out = String::from("Known data sets\n");
    table.render(&mut out);
    out.push_str(
        "\nSettings go in parentheses: 'synthetic:3(rows=5000, rotation=1.2)', \
         'demo(rows=1000, seed=1, bias=0)'.\n\
         'demo(change=0.5)' changes its population halfway, for streams.\n",
    );
    out.push_str(&places(&listed, folder.as_deref()));
    output::print(&out)
}

/// The folder of published files, and how to get missing files.
fn places(listed: &[Listed], folder: Option<&Path>) -> String {
    let mut out = match (folder, named_folder()) {
        (Some(folder), Some(_)) => format!(
            "fairfront looks for published files in {} (from {DATA_FOLDER}).\n",
            folder.display()
        ),
        (Some(folder), None) => format!(
            "fairfront looks for published files in {}; set {DATA_FOLDER} to use another folder.\n",
            folder.display()
        ),
        (None, _) => {
            format!("Set {DATA_FOLDER} to the folder of the published files.\n")
        }
    };
    let is_missing = |file: &&ListedFile| !file.present;
    if listed.iter().flat_map(|k| &k.files).any(|f| is_missing(&f)) {
        out.push_str("Download missing files with fairfront data get NAME:\n");
    }
    let mut seen: Vec<&str> = Vec::new();
    for file in listed.iter().flat_map(|k| &k.files).filter(is_missing) {
        if !seen.contains(&file.name) {
            seen.push(file.name);
            let _ = writeln!(out, "  {}  {}", file.name, file.url);
        }
    }
    out
}

/// A data set by its name; a file of the same name does not matter.
fn known(name: &str) -> Result<Known, Error> {
    Known::named(name)?.ok_or_else(|| {
        Error::usage(format!(
            "{name:?} is not a known data set; list them with fairfront data list"
        ))
    })
}

fn path(name: &str) -> anyhow::Result<()> {
    let known = known(name)?;
    if known.files().is_empty() {
        anyhow::bail!(
            "{name} is generated and has no file; write one with: \
             fairfront data export '{name}' -o rows.csv"
        );
    }
    print_paths(&known.paths(data_folder().as_deref())?)
}

fn print_paths(paths: &[PathBuf]) -> anyhow::Result<()> {
    let lines: Vec<String> = paths.iter().map(|p| format!("{}\n", p.display())).collect();
    output::print_data(&lines.concat())
}

fn get(name: &str, quiet: bool) -> anyhow::Result<()> {
    let known = known(name)?;
    let note = |line: String| {
        if !quiet {
            output::note(&line);
        }
    };
    if known.files().is_empty() {
        note(format!(
            "{name} is generated; there is nothing to download\n"
        ));
        return Ok(());
    }
    // A folder set by the user is never written to, but it may already have all files.
    if let Some(paths) = data_folder().and_then(|folder| known.paths(Some(&folder)).ok()) {
        note("all files are present and valid\n".into());
        return print_paths(&paths);
    }
    let Some(folder) = cache_folder() else {
        anyhow::bail!(
            "no cache folder found because no home folder is set; put the files in a folder and set \
             {DATA_FOLDER} to it"
        );
    };
    fetch(known.files(), &folder, quiet)?;
    print_paths(&known.paths(Some(&folder))?)?;
    if let Some(named) = named_folder() {
        note(format!(
            "note: commands look in {} (from {DATA_FOLDER}); unset {DATA_FOLDER} to use these files\n",
            named.display()
        ));
    }
    Ok(())
}

#[cfg(feature = "download")]
use crate::download::fetch;

/// Prints `curl` commands, because this build cannot download files.
#[cfg(not(feature = "download"))]
fn fetch(
    files: &[fairfront_data::PublishedFile],
    folder: &Path,
    _quiet: bool,
) -> anyhow::Result<()> {
    let mut lines = String::new();
    for file in files {
        let path = folder.join(file.name);
        if file.check(&path).is_err() {
            let to = crate::word::quoted(&path.display().to_string());
            let _ = writeln!(
                lines,
                "# {}: {} bytes, SHA-256 {}\ncurl --fail --location --create-dirs --output {to} {}",
                file.name,
                fairfront_core::grouped(file.size as usize),
                file.sha256,
                crate::word::quoted(file.url)
            );
        }
    }
    output::note(&lines);
    anyhow::bail!(
        "this build of fairfront cannot download files; run the commands above, or build with --features \
         download"
    )
}

fn export(
    table: &TableArgs,
    file: &Path,
    encoded: bool,
    encoding: Option<&Path>,
    force: bool,
) -> anyhow::Result<()> {
    let rows = Target::check(file)?;
    let encoding = encoding.map(Target::check).transpose()?;
    if encoding.as_ref() == Some(&rows) {
        return Err(Error::Usage(
            "--output and --encoding are the same file; choose two files".into(),
        )
        .into());
    }
    for target in [Some(&rows), encoding.as_ref()].into_iter().flatten() {
        if let Target::File(path) = target
            && table.reads(path)?
        {
            let message = format!("{}: is the input; choose another file", path.display());
            return Err(Error::usage(message).into());
        }
    }
    for target in [Some(&rows), encoding.as_ref()].into_iter().flatten() {
        target.check_free(force)?;
    }

    let prepared = table.prepare()?;
    let mut diagnostics = prepared.diagnostics.clone();
    if encoded || encoding.is_some() {
        let found = Encoded::new(&prepared)?;
        diagnostics.extend(found.diagnostics.iter().cloned());
        if encoded {
            rows.write(|out| write_encoded(&prepared, &found, out))?;
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
    output::note(&render::diagnostics(&diagnostics));
    Ok(())
}
