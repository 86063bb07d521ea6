//! Checkpoints of stopped fits, one per solver.

use std::time::Duration;

use fairfront_data::Input;
use fairfront_run::{Checkpoints, Run, fit_with_checkpoints};

use crate::fixture::{self, Files, SOLVERS};
use crate::mutate::Form;
use crate::{Part, Taken, Target, scratch, seal};

/// Solver and file.
const FILES: &[(&str, usize, &str, Form)] = &[
    ("trace-solver", 0, "solver.bin", Form::Binary),
    ("trace-phase", 0, "phase.json", Form::Json),
    ("trace-request", 0, "request.json", Form::Json),
    ("trace-sums", 0, "SHA256SUMS", Form::Text),
    ("weighted-solver", 1, "solver.bin", Form::Binary),
    ("pf-smg-solver", 2, "solver.bin", Form::Binary),
    ("pf-smg-outcome", 2, "outcome.bin", Form::Binary),
    ("pf-smg-phase", 2, "phase.json", Form::Json),
    ("eps-fair-solver", 3, "solver.bin", Form::Binary),
];

fn path(part: usize) -> &'static str {
    let (_, solver, name, _) = FILES[part];
    fixture::path(fixture::checkpoints(solver), name).unwrap_or_default()
}

/// One file of a checkpoint, unchanged and with updated checksums; then the fit is resumed.
pub(super) struct Checkpoint;

impl Target for Checkpoint {
    fn name(&self) -> &'static str {
        "checkpoint"
    }
    fn parts(&self) -> Vec<Part> {
        let part =
            |(index, (name, solver, _, form)): (usize, &(&'static str, usize, &str, Form))| Part {
                name,
                form: *form,
                seeds: vec![fixture::file(fixture::checkpoints(*solver), path(index)).to_vec()],
            };
        FILES.iter().enumerate().map(part).collect()
    }
    fn turns(&self) -> usize {
        2
    }
    fn check(&self, part: usize, input: &[u8]) -> Result<Taken, String> {
        let (_, solver, name, form) = FILES[part];
        let path = path(part);
        let original = fixture::checkpoints(solver);
        // This generation is the newest.
        let newest = fixture::generation_of(path).unwrap_or_default();
        let mut files = original.clone();
        files.retain(|(path, _)| fixture::generation_of(path).is_none_or(|own| own <= newest));
        seal::set(&mut files, path, input.to_vec());
        let (raw, warned) = resume(&files, solver)?;
        let changed = input != fixture::file(original, path);
        if raw == Taken::Accepted && changed && !warned && name != "SHA256SUMS" {
            return Err(format!("{path}: a change passes the checksum"));
        }
        let Some(folder) = fixture::generation_of(path).filter(|_| name != "SHA256SUMS") else {
            return Ok(raw);
        };
        if form == Form::Binary {
            seal::set(&mut files, path, seal::trailing(input));
        }
        seal::generation(&mut files, folder);
        let (sealed, _) = resume(&files, solver)?;
        Ok(match (raw, sealed) {
            (Taken::Refused, Taken::Refused) => Taken::Refused,
            _ => Taken::Accepted,
        })
    }
}

/// Resumes a fit; also returns whether there was a warning about corrupted files.
fn resume(files: &Files, solver: usize) -> Result<(Taken, bool), String> {
    let folder = scratch::folder("case-checkpoint", files)?;
    let prepared = fixture::prepared();
    let request = fixture::request_of(SOLVERS[solver], &prepared.spec);
    let Ok(mut checkpoints) = Checkpoints::open(&folder, Duration::MAX, true, false) else {
        return Ok((Taken::Refused, true));
    };
    let warned = !checkpoints.diagnostics().is_empty();
    let input = Input::of(prepared, true).map_err(|e| e.to_string())?;
    let taken = match checkpoints.is_finished(&input, &request) {
        Ok(true) => Taken::Accepted,
        Ok(false) => match fit_with_checkpoints(prepared, &request, &mut checkpoints, &mut ()) {
            Ok(fitted) => {
                let mut run = Run::of(&input.facts, &fitted);
                let _ = run.to_files();
                Taken::Accepted
            }
            Err(_) => Taken::Refused,
        },
        Err(_) => Taken::Refused,
    };
    Ok((taken, warned))
}
