//! From the table of a batch to rows that can be kept.

use std::borrow::Cow;

use fairfront_data::setting::MERGE;
use fairfront_data::{
    Arrival, ColumnTypes, Dropped, Encoding, Findings, Growth, Notice, Part, Prepared, Rejected,
    Spec, Split, SplitRule, StoredRows, Table, drawn_part,
};
use fairfront_run::Error;

use crate::state::Settled;

/// Rows of a batch that are ready to be kept.
pub(super) struct Ready {
    /// Rows of the batch, dropped and rejected ones counted.
    pub(super) n_rows: usize,
    /// Those in use.
    pub(super) rows: StoredRows,
    pub(super) encoding: Encoding,
    pub(super) growth: Growth,
    pub(super) dropped: Vec<Dropped>,
    pub(super) n_dropped: usize,
    /// By their place in the batch.
    pub(super) rejected: Vec<Rejected>,
    /// Types of the columns.
    pub(super) types: ColumnTypes,
    /// Values of the target that are known.
    pub(super) targets: Vec<String>,
    pub(super) notices: Vec<Notice>,
}

/// The first rows settle the encoding; those that are rejected are set aside already. `names` are those
/// of the attributes, as the columns where there are none; `number` says which row of the stream a row
/// of the table is.
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
    let (encoding, mut notices) = Encoding::fit(&prepared)?;
    // Levels that are merged may still arrive.
    let idle = |n: &&Notice| !n.message.opens_with(MERGE);
    let findings = Findings::new(&prepared, Some(&encoding))?;
    notices.splice(0..0, findings.notices.iter().filter(idle).cloned());
    let facts = prepared.facts();
    let (data, _) = encoding.encode(&prepared.table, &prepared.rows, &facts)?;
    let parts = prepared.split.parts_by_row();
    Ok(Ready {
        n_rows: prepared.table.n_rows(),
        rows: StoredRows::from_dataset(&data, &parts)?,
        types,
        n_dropped: prepared.table.n_rows() - prepared.rows.len(),
        encoding,
        growth: Growth::default(),
        targets: prepared.target_values()?,
        dropped: prepared.dropped,
        rejected: Vec::new(),
        notices,
    })
}

/// Later rows, by the encoding so far, which they may make grow.
pub(super) fn next(
    table: &Table,
    spec: &Spec,
    settled: &Settled,
    number: impl Fn(usize) -> u64,
) -> Result<Ready, Error> {
    let targets = &settled.targets;
    let mut encoding = settled.encoding.clone();
    let table = &*encoding.complete(Cow::Borrowed(table))?;
    let arrival = Arrival::new(table, spec, &encoding, targets)?;
    let growth = encoding.grow(table, &arrival.rows)?;
    let (data, _) = arrival.encode(table, &encoding)?;
    let parts = match (&arrival.parts, &spec.split) {
        (Some(parts), _) => parts.clone(),
        (None, SplitRule::Shares(shares)) => drawn(spec, *shares, &arrival.rows, number),
        (None, _) => vec![Part::Train; arrival.rows.len()],
    };
    Ok(Ready {
        n_rows: table.n_rows(),
        rows: StoredRows::from_dataset(&data, &parts)?,
        types: settled.types.clone(),
        n_dropped: table.n_rows() - arrival.rows.len() - arrival.rejected.len(),
        encoding,
        growth,
        dropped: arrival.dropped,
        rejected: arrival.rejected,
        targets: targets.clone(),
        notices: Vec::new(),
    })
}

/// A batch all of whose rows are rejected.
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
        notices: Vec::new(),
    }
}

/// The parts of rows of a table.
fn drawn(spec: &Spec, shares: [f64; 4], rows: &[u32], number: impl Fn(usize) -> u64) -> Vec<Part> {
    let part = |row: &u32| drawn_part(shares, spec.seed, number(*row as usize));
    rows.iter().map(part).collect()
}
