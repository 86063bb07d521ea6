//! Audits of decisions: selection rates, adverse impact ratios and error rates by group and by intersection, for
//! a fairfront model or for scores or decisions from anywhere else.
//!
//! [`audit()`] reads files, [`audit_rows`] takes rows in memory. [`AuditResult`] is the result as data, and
//! [`audit_page`] shows it as a printable document.

mod decision;
mod grouping;
mod ll144;
mod ll144_page;
mod matching;
mod page;
mod page_table;
mod ranking;
mod request;
mod result;
mod rows;
mod tables;

pub use ll144::{LocalLaw144, LocalLawCategory, LocalLawKind, LocalLawRequest, LocalLawTable};
pub use page::audit_page;
pub use ranking::{AtRate, Decile, RateOfGroup};
pub use request::{AuditOptions, AuditRequest, AuditSource};
pub use result::{
    AuditGroup, AuditResult, AuditedRows, AuditedSource, ComparedGroup, ErrorDifferences,
    FourFifths, GroupErrors, GroupScores, GroupsOfAttribute, MatchedBy, ReferenceBy, SourceKind,
    TestUsed, UnknownRows,
};
pub use rows::{AuditAttribute, AuditRows};
pub use tables::audit_rows;

pub(crate) use decision::decisions;
pub(crate) use matching::{by_position, with_identifiers};
pub(crate) use ranking::Ranking;
pub(crate) use rows::{cell, of_column_named};

use crate::Error;

/// Reads the rows of a request and audits the decisions.
pub fn audit(request: &AuditRequest) -> Result<AuditResult, Error> {
    let rows = rows::read(request)?;
    audit_rows(&rows, &request.options)
}
