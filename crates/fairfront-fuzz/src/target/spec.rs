//! The roles of columns, as stored in `run.json` and states, applied to a table.

use fairfront_data::{ColumnType, Encoded, Inspection, MissingPolicy, Prepared, Spec};

use crate::mutate::Form;
use crate::{Part, Taken, Target, fixture, meaning};

/// A spec as JSON.
pub(super) struct SpecJson;

impl Target for SpecJson {
    fn name(&self) -> &'static str {
        "spec"
    }
    fn parts(&self) -> Vec<Part> {
        let plain = fixture::spec();
        let mut rich = Spec {
            positive: Some("yes".into()),
            date_parts: vec!["joined".into()],
            drop: vec!["job".into()],
            pool_rare: 5,
            ..plain.clone()
        };
        rich.sensitive.push(vec!["age".into()]);
        rich.bins.insert("age".into(), vec![25.0, 45.0]);
        let mut full = Spec {
            features: Some(vec!["age".into(), "job".into(), "joined".into()]),
            balance: Some(vec!["sex".into()]),
            use_sensitive: true,
            ..plain.clone()
        };
        full.types.insert("age".into(), ColumnType::Categorical);
        full.missing_by_column
            .insert("job".into(), MissingPolicy::Drop);
        let merge = full.merges.entry("job".into()).or_default();
        merge.categories.insert("nurse".into(), "care".into());
        let json = |spec: &Spec| serde_json::to_vec(spec).unwrap_or_default();
        vec![Part {
            name: "",
            form: Form::Json,
            seeds: vec![json(&plain), json(&rich), json(&full)],
        }]
    }
    fn words(&self) -> &'static [&'static str] {
        &[
            "\"approved\"",
            "\"sex\"",
            "\"age\"",
            "\"job\"",
            "\">= 5\"",
            "\"> median\"",
            "\"drop\"",
            "\"none\"",
        ]
    }
    fn check(&self, _: usize, input: &[u8]) -> Result<Taken, String> {
        let Ok(spec) = serde_json::from_slice::<Spec>(input) else {
            return Ok(Taken::Refused);
        };
        let again = serde_json::to_vec(&spec).map_err(|e| e.to_string())?;
        if let Some(problem) = meaning::difference(input, &again) {
            return Err(problem);
        }
        let table = fixture::prepared().table.clone();
        let Ok(prepared) = Prepared::new(table, &spec, &[]) else {
            return Ok(Taken::Refused);
        };
        let _ = Inspection::new(&prepared);
        let _ = Encoded::new(&prepared);
        Ok(Taken::Accepted)
    }
}
