//! The files of a run.

use fairfront_data::Encoding;
use fairfront_model::ModelId;
use fairfront_run::{
    Demand, FrontColumns, RowPlaces, Rule, Run, Term, choose_in_memory, figures, opening, select,
    verify,
};
use fairfront_stream::kept_rows;

use super::model::use_model;
use crate::fixture::{self, Files};
use crate::mutate::Form;
use crate::{Part, Taken, Target, meaning, scratch, seal};

const RUN: &str = "run.json";
const ENCODING: &str = "encoding.json";

/// The files of a run, each unchanged and with updated checksums.
pub(super) struct RunFiles;

fn names() -> Vec<(&'static str, Form)> {
    vec![
        (RUN, Form::Json),
        (ENCODING, Form::Json),
        ("tallies.json", Form::Json),
        ("front.parquet", Form::Binary),
        ("certificates.jsonl", Form::Json),
    ]
}

impl Target for RunFiles {
    fn name(&self) -> &'static str {
        "run"
    }
    fn parts(&self) -> Vec<Part> {
        let part = |(name, form)| Part {
            name,
            form,
            seeds: vec![fixture::file(fixture::run_files(), name).to_vec()],
        };
        names().into_iter().map(part).collect()
    }
    fn turns(&self) -> usize {
        4
    }
    fn check(&self, part: usize, input: &[u8]) -> Result<Taken, String> {
        let (name, _) = names()[part];
        let original = fixture::run_files();
        let mut files = original.clone();
        seal::set(&mut files, name, input.to_vec());
        let raw = read(&files, name, input)?;
        let changed = match name {
            // White space outside strings is ignored.
            RUN => unsealed(input) != unsealed(fixture::file(original, name)),
            // Its lines are chained, and the last one may be missing.
            "certificates.jsonl" => false,
            _ => input != fixture::file(original, name),
        };
        if raw == Taken::Accepted && changed {
            return Err(format!("{name}: a change passes the checksum"));
        }
        seal::run(&mut files, original, "");
        let input = fixture::file(&files, name).to_vec();
        let sealed = read(&files, name, &input)?;
        Ok(match (raw, sealed) {
            (Taken::Refused, Taken::Refused) => Taken::Refused,
            _ => Taken::Accepted,
        })
    }
}

/// A JSON object without its checksum.
fn unsealed(bytes: &[u8]) -> String {
    seal::unsealed(&String::from_utf8_lossy(bytes))
}

/// Reads a run and uses it as the commands do.
fn read(files: &Files, name: &str, input: &[u8]) -> Result<Taken, String> {
    if name == ENCODING
        && let Some(Ok(encoding)) = std::str::from_utf8(input).ok().map(Encoding::from_json)
        && let Some(problem) = meaning::difference(input, encoding.to_json().as_bytes())
    {
        return Err(problem);
    }
    let borrowed: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(n, b)| (n.as_str(), b.as_slice()))
        .collect();
    let Ok(mut run) = Run::from_files(&borrowed) else {
        return Ok(Taken::Refused);
    };
    if name == RUN {
        let again = serde_json::to_vec(&run.info).map_err(|e| e.to_string())?;
        if let Some(problem) = meaning::difference(unsealed(input).as_bytes(), &again) {
            return Err(problem);
        }
    }
    use_run(&mut run);
    let folder = scratch::folder("case-run", files)?;
    let data = scratch::file("fixture.csv", fixture::csv().as_bytes())?;
    let places = RowPlaces {
        published: None,
        kept: &kept_rows,
    };
    let _ = verify(&folder, &[data], places);
    Ok(Taken::Accepted)
}

/// Uses a run as the commands do. Errors are allowed here.
pub(super) fn use_run(run: &mut Run) {
    if let Ok(page) = run.page("runs/fuzz") {
        let _ = page.to_html();
    }
    let _ = figures(&run.info, &run.front, None);
    let columns = FrontColumns::of(&run.info, &run.front);
    let _ = opening(&columns);
    for rule in [
        Rule::Knee,
        Rule::Regret,
        Rule::Id(ModelId::of_index(0)),
        Rule::Id(ModelId::of_index(usize::MAX)),
    ] {
        let _ = select(&columns, &[], &rule);
    }
    if let Ok(accuracy) = Term::parse("accuracy")
        && let Ok(demand) = Demand::parse(
            &["demographic_parity_difference(sex) <= 0.9".into()],
            0.5,
            false,
            None,
        )
    {
        let _ = choose_in_memory(run, &demand, &Rule::Best(Some(accuracy)));
    }
    if let Ok(model) = run.model("runs/fuzz", ModelId::of_index(0)) {
        use_model(&model);
    }
}
