use fairfront_data::Inspection;

use crate::table_args::TableArgs;
use crate::{output, render};

pub(super) fn run(table: &TableArgs, json: bool) -> anyhow::Result<()> {
    let found = Inspection::new(&table.prepare()?)?;
    if json {
        return output::print_data(&format!("{}\n", serde_json::to_string_pretty(&found)?));
    }
    output::print(&render::inspection(&found))
}
