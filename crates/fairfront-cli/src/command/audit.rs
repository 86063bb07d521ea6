use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use fairfront_data::{Error, date_text};
use fairfront_run::{AuditRequest, AuditResult, AuditSource, audit, audit_page};

use crate::audit_args::AuditArgs;
use crate::output::{self, Target};
use crate::render;
use crate::wording::worded;

/// The kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Html,
    Markdown,
    Json,
}

pub(super) fn run(args: &AuditArgs) -> anyhow::Result<()> {
    let mut targets = Vec::new();
    for (kind, path) in files(args)? {
        let target = Target::check(&path)?;
        target.check_free(args.force)?;
        targets.push((kind, path, target));
    }
    let today = today();
    let request = args.request(&today)?;
    check_places(&request, &targets)?;
    let mut found = audit(&request)?;
    found.diagnostics = worded(&found.diagnostics);
    output::note(&render::diagnostics(&found.diagnostics));
    if args.format.is_some() && args.date.is_none() {
        output::note(&format!(
            "note: the date of the audit is today, {today}; pass --date to set it\n"
        ));
    }
    let json = targets.iter().find(|(kind, ..)| *kind == Kind::Json);
    let name = json
        .and_then(|(_, path, _)| path.file_name())
        .and_then(|name| name.to_str());
    for (kind, path, target) in &targets {
        let text = content(*kind, &found, name.unwrap_or("audit --json"))?;
        target.write(|out| {
            out.write_all(text.as_bytes()).map_err(|source| Error::Io {
                path: path.display().to_string(),
                source,
            })
        })?;
        output::note(&format!("wrote {}\n", path.display()));
    }
    match args.json {
        true => output::print_data(&content(Kind::Json, &found, "")?),
        false => output::print(&render::decision_audit(&found)),
    }
}

fn content(kind: Kind, found: &AuditResult, source: &str) -> anyhow::Result<String> {
    Ok(match kind {
        Kind::Html => audit_page(found, source).to_html(),
        Kind::Markdown => audit_page(found, source).to_markdown(),
        Kind::Json => format!("{}\n", serde_json::to_string_pretty(found)?),
    })
}

/// The files to write, with their kinds.
fn files(args: &AuditArgs) -> anyhow::Result<Vec<(Kind, PathBuf)>> {
    let mut files: Vec<(Kind, PathBuf)> = Vec::new();
    for path in &args.output {
        if path.is_dir() {
            let all = [
                (Kind::Html, "audit.html"),
                (Kind::Markdown, "audit.md"),
                (Kind::Json, "audit.json"),
            ];
            files.extend(all.map(|(kind, name)| (kind, path.join(name))));
            continue;
        }
        let end = path
            .extension()
            .and_then(|end| end.to_str())
            .unwrap_or_default();
        let kind = match end.to_lowercase().as_str() {
            "html" | "htm" => Kind::Html,
            "md" | "markdown" => Kind::Markdown,
            "json" => Kind::Json,
            _ => {
                let message = format!(
                    "--output {}: unknown kind of file; choose a name that ends in .html, .md or .json, or an \
                     existing folder",
                    path.display()
                );
                return Err(Error::usage(message).into());
            }
        };
        files.push((kind, path.clone()));
    }
    for (at, (_, path)) in files.iter().enumerate() {
        if files[..at].iter().any(|(_, other)| other == path) {
            let message = format!("--output {}: set twice; remove one of them", path.display());
            return Err(Error::usage(message).into());
        }
    }
    Ok(files)
}

/// Checks that the output does not overwrite an input.
fn check_places(request: &AuditRequest, targets: &[(Kind, PathBuf, Target)]) -> anyhow::Result<()> {
    let mut inputs: Vec<PathBuf> = request.files.iter().map(PathBuf::from).collect();
    match &request.source {
        AuditSource::Model { name, .. } => inputs.push(name.into()),
        AuditSource::Column { file, .. } => inputs.extend(file.clone()),
    }
    let is_input = |path: &Path| {
        inputs
            .iter()
            .any(|input| input.canonicalize().is_ok_and(|input| input == path))
    };
    for (_, shown, target) in targets {
        if let Target::File(path) = target
            && is_input(path)
        {
            let message = format!("{}: is an input; choose another file", shown.display());
            return Err(Error::usage(message).into());
        }
    }
    Ok(())
}

/// The date of today in UTC.
fn today() -> String {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    date_text((since.as_secs() / 86_400) as f64)
}
