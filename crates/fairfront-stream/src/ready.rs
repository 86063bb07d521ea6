//! From the table of a batch to rows that can be kept, and from kept rows to a front.

use fairfront_data::setting::MERGE;
use fairfront_data::{
    Dropped, Encoded, Encoding, Findings, Growth, Notice, Part, Prepared, Rejected, Spec, Split,
    SplitRule, StoredRows, Table, drawn_part,
};
use fairfront_run::{Error, FitRequest, Fitted, fit_encoded};
use fairfront_solve::{Error as SolveError, Observer};

use super::current::Current;

/// Rows of a batch that are ready to be kept.
pub(super) struct Ready {
    pub(super) rows: StoredRows,
    pub(super) encoding: Encoding,
    pub(super) growth: Growth,
    pub(super) dropped: Vec<Dropped>,
    pub(super) n_dropped: usize,
    /// By their place in the table.
    pub(super) rejected: Vec<Rejected>,
    /// Values of the target that are known.
    pub(super) targets: Vec<String>,
    pub(super) notices: Vec<Notice>,
}

/// The first rows settle the encoding; those that are rejected are set aside already. `names` are those
/// of the attributes, as the columns where there are none; `number` says which row of the stream a row
/// of the table is.
pub(super) fn first(
    table: Table,
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
    ready(prepared, encoding, Growth::default(), targets, notices)
}

/// Later rows, by the encoding so far, which they may make grow.
pub(super) fn next(
    table: Table,
    spec: &Spec,
    encoding: &Encoding,
    targets: &[String],
    number: impl Fn(usize) -> u64,
) -> Result<Ready, Error> {
    let mut encoding = encoding.clone();
    let parts = |rows: &[u32]| match spec.split {
        SplitRule::Shares(shares) => drawn(spec, shares, rows, number),
        _ => vec![Part::Train; rows.len()],
    };
    let (prepared, growth) = Prepared::later(table, spec, &mut encoding, targets, parts)?;
    ready(prepared, encoding, growth, targets.to_vec(), Vec::new())
}

fn ready(
    prepared: Prepared,
    encoding: Encoding,
    growth: Growth,
    targets: Vec<String>,
    notices: Vec<Notice>,
) -> Result<Ready, Error> {
    let (data, _) = prepared.encode(&encoding)?;
    let parts = prepared.split.parts_by_row();
    let n_used = prepared.rows.len() + prepared.rejected.len();
    Ok(Ready {
        rows: StoredRows::from_dataset(&data, &parts)?,
        n_dropped: prepared.table.n_rows() - n_used,
        encoding,
        growth,
        targets,
        dropped: prepared.dropped,
        rejected: prepared.rejected,
        notices,
    })
}

/// The parts of rows of a table.
fn drawn(spec: &Spec, shares: [f64; 4], rows: &[u32], number: impl Fn(usize) -> u64) -> Vec<Part> {
    let part = |row: &u32| drawn_part(shares, spec.seed, number(*row as usize));
    rows.iter().map(part).collect()
}

/// The first front, or the current one brought up to date; `updates` is how many batches came before.
pub(super) fn fit(
    encoded: Encoded,
    request: &FitRequest,
    current: Option<&Current>,
    updates: u64,
    observer: &mut dyn Observer,
) -> Result<Fitted, Error> {
    let earlier = current.map(|c| c.earlier(&encoded.encoding, updates));
    fit_encoded(encoded, request, &[], earlier.as_ref(), None, observer)
}

/// The reason why rows make no front; `None` for errors that are not about these rows.
pub(super) fn without_front(error: &Error) -> Option<String> {
    match error {
        Error::Data(why) => Some(without_advice(&why.to_string())),
        Error::Solve(SolveError::Problem(why)) => Some(without_advice(why)),
        _ => None,
    }
}

/// Why rows make no front, without the advice behind it, which is for a whole table.
pub(super) fn without_advice(why: &str) -> String {
    why.split(';').next().unwrap_or_default().to_owned()
}
