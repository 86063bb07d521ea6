//! From the table of a batch to rows that can be kept.

use fairfront_data::setting::MERGE;
use fairfront_data::{
    ColumnTypes, Dropped, Encoding, Findings, Growth, Notice, Part, Prepared, Rejected, Spec,
    Split, SplitRule, StoredRows, Table, drawn_part,
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
    let targets = prepared.target_values()?;
    let mut ready = ready(prepared, encoding, Growth::default(), types, targets)?;
    ready.notices = notices;
    Ok(ready)
}

/// Later rows, by the encoding so far, which they may make grow.
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
