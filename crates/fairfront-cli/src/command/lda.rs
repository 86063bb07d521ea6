use std::path::{Path, PathBuf};

use anyhow::anyhow;
use fairfront_core::Costs;
use fairfront_data::{Error, data_folder};
use fairfront_model::file::{hidden_folder, replace_file, unwritable};
use fairfront_run::{BaselineRequest, Lda, LdaRequest, Performance, Tolerance, search};

use crate::args::LdaArgs;
use crate::audit_args::{references, source};
use crate::{output, render};

pub(super) fn run(args: &LdaArgs) -> anyhow::Result<()> {
    let request = LdaRequest {
        baseline: BaselineRequest {
            source: source(&args.baseline)?,
            threshold: args.baseline_threshold,
            selected: args.baseline_selected.clone(),
            unseen: args.baseline_unseen,
        },
        tolerance: match &args.tolerance {
            Some(text) => tolerance(text)?,
            None => Tolerance {
                of: Performance::Accuracy,
                amount: 0.005,
            },
        },
        measures: args.measure.clone(),
        references: references(&args.reference)?,
        confidence: args.confidence,
        notes: args.note.clone(),
    };
    let place = place(&args.output, args.force)?;
    let published = data_folder();
    let found = search(&args.run, &args.files, &request, published.as_deref())?;
    write(&found, &place)?;
    match args.json {
        true => output::print_data(&format!("{}\n", serde_json::to_string_pretty(&found)?)),
        false => output::print(&render::lda(&found, &args.output)),
    }
}

/// `accuracy=0.5%`, `auc=0.01`, `cost(fp=1,fn=5)=0.02`.
fn tolerance(text: &str) -> Result<Tolerance, Error> {
    let wrong = || {
        Error::usage(format!(
            "--tolerance {text}: not a measure and an amount; write accuracy=0.5%, auc=0.005 or \
             \"cost(fp=1,fn=5)=0.01\""
        ))
    };
    let (name, amount) = text.rsplit_once('=').ok_or_else(wrong)?;
    let of = match name.trim() {
        "accuracy" => Performance::Accuracy,
        "auc" => Performance::Auc,
        priced => Performance::Cost(costs(priced).ok_or_else(wrong)?),
    };
    let amount = amount.trim();
    let number = |text: &str| text.trim().parse::<f64>().map_err(|_| wrong());
    let amount = match amount.strip_suffix('%') {
        Some(percent) => number(percent)? / 100.0,
        None => number(amount)?,
    };
    Ok(Tolerance { of, amount })
}

/// `cost(fp=A,fn=B)`, with spaces anywhere.
fn costs(text: &str) -> Option<Costs> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    Costs::parse(&format!("error_rate({}", text.strip_prefix("cost(")?))
}

/// The output folder with its parent, which must exist.
struct Place {
    folder: PathBuf,
    exists: bool,
}

/// Checks the output folder before any work.
fn place(folder: &Path, force: bool) -> anyhow::Result<Place> {
    let shown = folder.display();
    let is_own = |name: &std::ffi::OsStr| Lda::FILES.iter().any(|own| name == *own);
    match std::fs::read_dir(folder) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Place {
            folder: folder.into(),
            exists: false,
        }),
        Err(e) => Err(anyhow!("{shown}: {}; choose another folder", e.kind())),
        Ok(entries) => {
            let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
            if let Some(other) = names.iter().find(|name| !is_own(name)) {
                let other = other.to_string_lossy();
                return Err(anyhow!(
                    "{shown}: contains {other:?}, which is not a file of a search; choose another folder"
                ));
            }
            if !names.is_empty() && !force {
                return Err(anyhow!(
                    "{shown}: already has a search; pass --force to replace it, or choose another folder"
                ));
            }
            Ok(Place {
                folder: folder.into(),
                exists: true,
            })
        }
    }
}

/// Writes all files: a new folder appears as a whole, and files of an existing one are replaced one by one.
fn write(found: &Lda, place: &Place) -> anyhow::Result<()> {
    let shown = place.folder.display();
    let failed = |e: std::io::Error| anyhow!("{shown}: {}", unwritable(&e));
    let files = found.files()?.files;
    if place.exists {
        for (name, bytes) in &files {
            replace_file(&place.folder.join(name), bytes).map_err(failed)?;
        }
        return Ok(());
    }
    let parent = match place.folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(parent).map_err(failed)?;
    let hidden = hidden_folder(parent).map_err(failed)?;
    for (name, bytes) in &files {
        replace_file(&hidden.path().join(name), bytes).map_err(failed)?;
    }
    std::fs::rename(hidden.path(), &place.folder).map_err(failed)?;
    // The folder has its name now, so there is nothing left to remove.
    let _ = hidden.keep();
    Ok(())
}
