use std::path::Path;

use fairfront_model::ModelId;
use fairfront_run::{FrontTable, RunInfo, UNMITIGATED, is_unfinished, read_run};

use crate::{output, render};

pub(super) fn run(folder: &Path, csv: bool, json: bool, ascii: bool) -> anyhow::Result<()> {
    super::warn_if_corrupted(folder);
    let (run, front) = read_run(folder)?;
    if csv {
        return output::print_data(&as_csv(&run, &front)?);
    }
    if json {
        return output::print_data(&format!("{}\n", as_json(&front)?));
    }
    let charset = render::Charset::of_terminal(ascii);
    output::print(&render::front(&run, &front, charset))?;
    if is_unfinished(folder) {
        output::note(
            "note: this fit is not finished; run its command again with --resume to continue from the \
             checkpoint\n",
        );
    }
    Ok(())
}

/// One row per model of the front, then one for the unmitigated model, whose id is `unmitigated`.
fn as_csv(run: &RunInfo, front: &FrontTable) -> anyhow::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let params = run
        .features
        .iter()
        .map(String::as_str)
        .chain(["(intercept)"]);
    let params: Vec<String> = params.map(|name| format!("params.{name}")).collect();
    let header = ["model_id", "family"]
        .into_iter()
        .chain(front.names.iter().chain(&params).map(String::as_str));
    writer.write_record(header)?;
    for model in 0..front.len() {
        writer.write_field(ModelId::of_index(model).to_string())?;
        writer.write_field(front.family(model).name())?;
        for column in &front.columns {
            writer.write_field(column[model].map_or_else(String::new, |v| v.to_string()))?;
        }
        for value in &front.params[model] {
            writer.write_field(value.to_string())?;
        }
        writer.write_record(None::<&[u8]>)?;
    }
    writer.write_field(UNMITIGATED)?;
    writer.write_field(run.unmitigated.family.name())?;
    for name in &front.names {
        let value = run.unmitigated.values.get(name).copied().flatten();
        writer.write_field(value.map_or_else(String::new, |v| v.to_string()))?;
    }
    for value in &run.unmitigated.params {
        writer.write_field(value.to_string())?;
    }
    writer.write_record(None::<&[u8]>)?;
    let bytes = writer
        .into_inner()
        .map_err(|e| anyhow::anyhow!("{}", e.error()))?;
    Ok(String::from_utf8(bytes)?)
}

fn as_json(front: &FrontTable) -> anyhow::Result<String> {
    let models: Vec<serde_json::Value> = (0..front.len())
        .map(|model| {
            let mut row = serde_json::Map::new();
            row.insert("model_id".into(), ModelId::of_index(model).number().into());
            row.insert("family".into(), front.family(model).name().into());
            for (name, column) in front.names.iter().zip(&front.columns) {
                row.insert(name.clone(), column[model].into());
            }
            row.insert("params".into(), front.params[model].clone().into());
            row.into()
        })
        .collect();
    Ok(serde_json::to_string_pretty(&models)?)
}
