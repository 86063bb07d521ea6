//! Exports prepared rows for other tools.

use std::io::Write;

use fairfront_core::{BLOCK_ROWS, RowSource, Target, say};

use crate::date::date_text;
use crate::encoding::Encoded;
use crate::error::Error;
use crate::prepare::Prepared;
use crate::setting;
use crate::spec::Role;
use crate::split::Part;
use crate::table::{MISSING, Values};

/// The column that names the split of a row.
const SPLIT: &str = "split";

/// Writes the rows in use as CSV: features, sensitive columns, target and weights as read, with merged
/// categories, and the column `split`. If you read the file again with the split `column:split`, it gives
/// the same data set.
pub fn write_rows(prepared: &Prepared, out: impl Write) -> Result<(), Error> {
    let columns: Vec<_> = prepared
        .table
        .columns()
        .iter()
        .filter(|c| !matches!(c.values, Values::LeftOut(_)) && !prepared.spec.is_date_part(&c.name))
        .filter(|c| !matches!(prepared.spec.role(&c.name), Role::Dropped | Role::Split))
        .collect();
    let header: Vec<&str> = columns
        .iter()
        .map(|c| c.name.as_str())
        .chain([SPLIT])
        .collect();
    check_names(&header)?;
    let parts = prepared.split.parts_by_row();
    let merged: Vec<Vec<&str>> = columns
        .iter()
        .map(|column| {
            let categories = column
                .categorical()
                .map_or(&[][..], |(_, categories)| categories);
            let merged = categories
                .iter()
                .map(|l| prepared.spec.merged(&column.name, l));
            merged.collect()
        })
        .collect();

    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(&header).map_err(failed)?;
    for (position, &row) in prepared.rows.iter().enumerate() {
        let row = row as usize;
        for (column, categories) in columns.iter().zip(&merged) {
            match &column.values {
                Values::Numeric(values) if values.get(row).is_nan() => writer.write_field(""),
                Values::Numeric(values) if column.date.is_some() => {
                    writer.write_field(date_text(values.get(row)))
                }
                Values::Numeric(values) => writer.write_field(values.get(row).to_string()),
                Values::Categorical { codes, .. } => match codes[row] {
                    MISSING => writer.write_field(""),
                    code => writer.write_field(categories[code as usize]),
                },
                Values::LeftOut(_) => Ok(()),
            }
            .map_err(failed)?;
        }
        writer.write_field(parts[position].name()).map_err(failed)?;
        writer.write_record(None::<&[u8]>).map_err(failed)?;
    }
    writer.flush().map_err(|e| Error::io("output", e))
}

/// Writes the encoded rows as CSV, in the order of [`write_rows`]: one column per feature (categories as 0
/// and 1), the group of each attribute, `label` (1 for the positive value, otherwise 0; the number or the class
/// itself if the target is not binary), `weight` and `split`. `encoded` must come from `prepared`.
pub fn write_encoded(prepared: &Prepared, encoded: &Encoded, out: impl Write) -> Result<(), Error> {
    prepared
        .spec
        .needs_known_groups("an export of encoded rows")?;
    let schema = encoded.part(Part::Train).schema();
    let features = schema.feature_names();
    let attributes = schema.attributes.iter().map(|a| a.name.as_str());
    let header: Vec<&str> = features
        .iter()
        .map(String::as_str)
        .chain(attributes)
        .chain(["label", "weight", SPLIT])
        .collect();
    check_names(&header)?;
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(&header).map_err(failed)?;
    let n_features = schema.n_features();
    // An extra place after the intercept receives categories that have no feature.
    let mut values = vec![0.0; n_features + 2];
    for (position, (part, place)) in prepared.split.places().into_iter().enumerate() {
        let rows = encoded.part(part);
        if place >= rows.n_rows() {
            let message = "the encoded rows do not match the table; encode the table again";
            return Err(Error::Usage(message.into()));
        }
        let (block, row) = (&rows.block(place / BLOCK_ROWS)?, place % BLOCK_ROWS);
        values.fill(0.0);
        let numbers = block.numeric(row);
        values[..numbers.len()].copy_from_slice(numbers);
        for &code in block.codes(row) {
            values[code as usize] = 1.0;
        }
        for value in &values[..n_features] {
            writer.write_field(value.to_string()).map_err(failed)?;
        }
        for (index, attribute) in schema.attributes.iter().enumerate() {
            let code = block.groups(index)[row] as usize;
            let group = attribute.groups.get(code).map_or("", String::as_str);
            writer.write_field(group).map_err(failed)?;
        }
        let label = match schema.target {
            Target::Binary => u8::from(block.labels()[row] > 0.0).to_string(),
            Target::Number(_) => prepared.labels[position].to_string(),
            Target::Classes(ref classes) => {
                let name = classes.names.get(block.labels()[row] as usize);
                name.cloned().unwrap_or_default()
            }
        };
        let weight = block.weights()[row].to_string();
        for field in [label.as_str(), weight.as_str(), part.name()] {
            writer.write_field(field).map_err(failed)?;
        }
        writer.write_record(None::<&[u8]>).map_err(failed)?;
    }
    writer.flush().map_err(|e| Error::io("output", e))
}

/// Rejects repeated column names, because tools differ in how they read them.
fn check_names(header: &[&str]) -> Result<(), Error> {
    let mut seen = std::collections::BTreeSet::new();
    match header.iter().find(|name| !seen.insert(**name)) {
        None => Ok(()),
        Some(&SPLIT) => Err(Error::column(
            SPLIT,
            say![
                "the output already has a column with this name";
                "remove the column with ", setting::DROP.of(SPLIT);
                "use it as the split with ", setting::SPLIT.is(format!("column:{SPLIT}"))
            ],
        )),
        Some(name) => Err(Error::column(
            *name,
            "the output would have two columns with this name; rename it in the file, or drop it",
        )),
    }
}

fn failed(error: csv::Error) -> Error {
    let text = error.to_string();
    match error.into_kind() {
        csv::ErrorKind::Io(source) => Error::io("output", source),
        _ => Error::io("output", std::io::Error::other(text)),
    }
}
