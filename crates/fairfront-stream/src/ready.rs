//! Turns the table of a batch into rows that can be kept.

use fairfront_data::setting::MERGE;
use fairfront_data::{
    ColumnTypes, Diagnostic, Dropped, Encoding, Findings, Growth, Part, Prepared, Rejected, Spec,
    Split, SplitRule, StoredRows, Table, drawn_part,
};
use fairfront_run::Error;

use crate::state::Settled;

/// Rows of a batch that are ready to be kept.
pub(super) struct Ready {
    /// Rows of the batch, including dropped and rejected ones.
    pub(super) n_rows: usize,
    /// Rows in use.
    pub(super) rows: StoredRows,
    pub(super) encoding: Encoding,
    pub(super) growth: Growth,
    pub(super) dropped: Vec<Dropped>,
    pub(super) n_dropped: usize,
    /// Rejected rows, by their position in the batch.
    pub(super) rejected: Vec<Rejected>,
    /// Types of the columns.
    pub(super) types: ColumnTypes,
    /// Known values of the target.
    pub(super) targets: Vec<String>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// The first rows fix the encoding; rejected rows are already removed. `names` are the names of the
/// attributes; if empty, those of the columns. `number` maps a row of the table to its number in the
/// stream.
pub(super) fn first(
    table: Table,
    types: ColumnTypes,
    spec: &Spec,
    names: &[String],
    number: impl Fn(usize) -> u64,
) -> Result<Ready, Error> {
    let mut prepared = match spec.split {
        SplitRule::Shares(shares) => Prepared::with_split(table, spec, &[], |_, rows| {
            Ok(Split::from_parts(&drawn(spec, shares, rows, number)))
        }),
        SplitRule::None | SplitRule::Column(_) => Prepared::new(table, spec, &[]),
    }?;
    for (rule, name) in prepared.attributes.iter_mut().zip(names) {
        rule.attribute.name.clone_from(name);
    }
    let (encoding, mut diagnostics) = Encoding::fit(&prepared)?;
    // Categories that are merged may still arrive.
    let idle = |n: &&Diagnostic| !n.message.opens_with(MERGE);
    let findings = Findings::new(&prepared, Some(&encoding))?;
    diagnostics.splice(0..0, findings.diagnostics.iter().filter(idle).cloned());
    let targets = prepared.target_values()?;
    let mut ready = ready(prepared, encoding, Growth::default(), types, targets)?;
    ready.diagnostics = diagnostics;
    Ok(ready)
}

/// Later rows, encoded by the current encoding, which may grow with them.
pub(super) fn next(
    table: Table,
    spec: &Spec,
    settled: &Settled,
    number: impl Fn(usize) -> u64,
) -> Result<Ready, Error> {
    let Settled { types, targets, .. } = settled;
    let mut encoding = settled.encoding.clone();
    let parts = |rows: &[u32]| match spec.split {
        SplitRule::Shares(shares) => drawn(spec, shares, rows, number),
        _ => vec![Part::Train; rows.len()],
    };
    let (prepared, growth) = Prepared::later(table, spec, &mut encoding, targets, parts)?;
    ready(prepared, encoding, growth, types.clone(), targets.clone())
}

fn ready(
    prepared: Prepared,
    encoding: Encoding,
    growth: Growth,
    types: ColumnTypes,
    targets: Vec<String>,
) -> Result<Ready, Error> {
    let (data, _) = prepared.encode(&encoding)?;
    let n_rows = prepared.table.n_rows();
    Ok(Ready {
        n_rows,
        rows: StoredRows::from_dataset(&data, &prepared.split.parts_by_row())?,
        encoding,
        growth,
        n_dropped: n_rows - prepared.rows.len() - prepared.rejected.len(),
        dropped: prepared.dropped,
        rejected: prepared.rejected,
        types,
        targets,
        diagnostics: Vec::new(),
    })
}

/// A batch whose rows are all rejected.
pub(super) fn none(settled: &Settled, rejected: Vec<Rejected>) -> Ready {
    Ready {
        n_rows: rejected.len(),
        rows: StoredRows::new(&settled.encoding.schema()),
        encoding: settled.encoding.clone(),
        growth: Growth::default(),
        dropped: Vec::new(),
        n_dropped: 0,
        rejected,
        types: settled.types.clone(),
        targets: settled.targets.clone(),
        diagnostics: Vec::new(),
    }
}

/// The splits of the rows of a table.
fn drawn(spec: &Spec, shares: [f64; 4], rows: &[u32], number: impl Fn(usize) -> u64) -> Vec<Part> {
    let part = |row: &u32| drawn_part(shares, spec.seed, number(*row as usize));
    rows.iter().map(part).collect()
}
