use fairfront_data::Inspection;

use crate::table_args::TableArgs;
use crate::wording::worded;
use crate::{output, render};

pub(super) fn run(table: &TableArgs, json: bool) -> anyhow::Result<()> {
    let mut found = Inspection::new(&table.prepare()?)?;
    found.diagnostics = worded(&found.diagnostics);
    if json {
        return output::print_data(&format!("{}\n", serde_json::to_string_pretty(&found)?));
    }
    output::print(&render::inspection(&found))
}
