//! Checks documents against the run that they were made from.
//!
//! A document ends with a comment that has its kind and its request. The same request on the same run gives the
//! same bytes, so that any change of a number, a word or a source is found.

use std::path::Path;

use fairfront_model::ModelId;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::card::CARD;
use crate::lda::{LDA, Lda};
use crate::verify::Check;
use crate::{CardRequest, Error, Run, logged_uses, model_card};

/// The start of the comment at the end of a document.
const START: &str = "fairfront-document ";

/// The kind and the request of a document, as one line of JSON without the end of a comment.
pub(crate) fn origin(kind: &str, request: &impl Serialize) -> String {
    let request = serde_json::to_value(request).unwrap_or_default();
    let text = json!({ "kind": kind, "request": request }).to_string();
    // Two hyphens may end a comment; in JSON they occur only inside strings.
    format!(
        "{START}{}",
        text.replace("--", "-\\u002d").replace('>', "\\u003e")
    )
}

/// The kind and the request in a document; `None` if it has none.
fn origin_of(text: &str) -> Option<(String, Value)> {
    let at = text.rfind(START)? + START.len();
    let line = text[at..].lines().next()?;
    let json = line.trim_end().strip_suffix("-->")?.trim_end();
    let mut value: Value = serde_json::from_str(json).ok()?;
    let kind = value.get("kind")?.as_str()?.to_owned();
    Some((kind, value.get_mut("request")?.take()))
}

fn parsed<T: DeserializeOwned>(request: Value, path: &Path) -> Result<T, Error> {
    serde_json::from_value(request).map_err(|e| {
        let problem =
            format!("the request at the end of the document is corrupted ({e}); write it again");
        Error::file(path, problem)
    })
}

/// Compares a document, or the documents of a search in a folder, with those that the run in a folder gives.
pub fn check_documents(folder: &Path, path: &Path) -> Result<Vec<Check>, Error> {
    let mut run = Run::read(folder)?;
    run.uses = logged_uses(folder)?;
    if path.is_dir() {
        return Ok(vec![of_search(&run, path)?]);
    }
    let text = read(path)?;
    let name = path.display().to_string();
    let Some((kind, request)) = origin_of(&text) else {
        return Err(Error::file(
            path,
            "not a document of fairfront, or its last line is missing; write it again",
        ));
    };
    if kind == LDA {
        return Err(Error::file(
            path,
            "this document belongs to a search; pass the folder with its lda.json",
        ));
    }
    let request: CardRequest = match kind == CARD {
        true => parsed(request, path)?,
        false => {
            return Err(Error::file(
                path,
                format!("unknown kind of document {kind:?}"),
            ));
        }
    };
    let document = model_card(&run, &request)?;
    let expected = match is_html(&text) {
        true => document.to_html(),
        false => document.to_markdown(),
    };
    Ok(vec![compared(&name, &text, &expected)])
}

/// Compares the files of a search with its data, and its data with the run.
fn of_search(run: &Run, folder: &Path) -> Result<Check, Error> {
    let path = folder.join("lda.json");
    let lda = Lda::from_json(&path, read(&path)?.as_bytes())?;
    let mut check = Check::new(folder.display().to_string());
    let same = [
        (
            "run.fingerprint",
            &lda.run.fingerprint,
            &run.info.fingerprint,
        ),
        (
            "run.front_sha256",
            &lda.run.front_sha256,
            &run.info.front_sha256,
        ),
    ];
    for (entry, stored, own) in same {
        check.compared += 1;
        if stored != own {
            check.different += 1;
            check.problem = Some(format!(
                "lda.json: {entry} is not that of the run; search again"
            ));
        }
    }
    // The logged use of the rows has the same tests.
    let is_logged = run.uses.iter().any(|used| {
        let certificate = &used.certificate;
        let certified: Vec<ModelId> = lda.found_ids();
        certificate.against_baseline
            && certificate.number == lda.test.number
            && certificate.rows.fingerprint == lda.test.fingerprint
            && certificate.certified == certified
            && certificate.tested == lda.tested()
    });
    check.compared += 1;
    if !is_logged {
        check.different += 1;
        check.problem.get_or_insert_with(|| {
            "certificates.jsonl has no use with these tests; search again".into()
        });
    }
    for (name, expected) in lda.files()?.files {
        let found = read(&folder.join(name))?;
        let of_file = compared(name, &found, &String::from_utf8_lossy(&expected));
        check.compared += of_file.compared;
        check.different += of_file.different;
        if let (None, Some(problem)) = (&check.problem, of_file.problem) {
            check.problem = Some(format!("{name}: {problem}"));
        }
    }
    Ok(check)
}

fn read(path: &Path) -> Result<String, Error> {
    let bytes = std::fs::read(path).map_err(|e| {
        let problem = match e.kind() {
            std::io::ErrorKind::NotFound => "no such file; check the path".to_owned(),
            kind => format!("{kind}; choose another file"),
        };
        Error::file(path, problem)
    })?;
    String::from_utf8(bytes).map_err(|_| Error::file(path, "not a text file; choose a document"))
}

fn is_html(text: &str) -> bool {
    text.trim_start().starts_with("<!doctype html>")
}

/// Compares two strings line by line.
fn compared(name: &str, found: &str, expected: &str) -> Check {
    let mut check = Check::new(name);
    let (own, wanted): (Vec<&str>, Vec<&str>) =
        (found.split('\n').collect(), expected.split('\n').collect());
    check.compared = own.len().max(wanted.len());
    for at in 0..check.compared {
        if own.get(at) == wanted.get(at) {
            continue;
        }
        check.different += 1;
        check.problem.get_or_insert_with(|| {
            let shown = |line: Option<&&str>| {
                let line = line.map_or("nothing", |line| line.trim());
                let short: String = line.chars().take(100).collect();
                format!("{short:?}")
            };
            format!(
                "line {} has {}, but the run gives {}",
                at + 1,
                shown(own.get(at)),
                shown(wanted.get(at))
            )
        });
    }
    check
}
