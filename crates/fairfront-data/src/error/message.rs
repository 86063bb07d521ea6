//! The message of each error.

use fairfront_core::{Message, Wording, each, grouped, say};

use super::Error;
use crate::read::{LONGEST_RECORD, LongRecord};
use crate::setting::{DATA_GET, DROP, MISSING, TYPE};

impl Error {
    /// Renders the error in the wording of a program.
    pub fn render(&self, wording: &dyn Wording) -> String {
        self.message().render(wording)
    }

    /// The message in one line: the place, the problem and the remedies.
    pub fn message(&self) -> Message {
        let rest = self.without_place();
        match self {
            Self::Ragged { place, .. } => say![place.to_string(), ": ", rest],
            Self::Cell { place, .. } => say![place.to_string(), ", ", rest],
            _ => rest,
        }
    }

    /// The message without the place of a row, for callers that print the place themselves.
    #[expect(clippy::too_many_lines, reason = "one arm for each error")]
    pub(crate) fn without_place(&self) -> Message {
        match self {
            Self::Io { path, source } => format!("{path}: {}", reason(source)).into(),
            Self::NotATable { file, reason } => say!["{file}: ", reason],
            Self::NoRows { file, reason } => {
                say!["{file}: {reason}; choose a file with at least one data row"]
            }
            Self::Ragged {
                expected,
                found,
                hint,
                ..
            } => say!["expected {expected} fields, found {found}", hint],
            Self::UnclosedQuote { file, line } => format!(
                "{file}, line {}: a quote opens a field here and is never closed; close it, or put the \
                 field in quotes and double each quote inside it",
                grouped(*line as usize)
            )
            .into(),
            Self::TooLong {
                file,
                row,
                line,
                why,
            } => format!(
                "{file}, {}line {}: the row is longer than {} MiB; {}",
                of_row(*row),
                grouped(*line as usize),
                LONGEST_RECORD >> 20,
                long_remedy(*why)
            )
            .into(),
            Self::ColumnsDiffer {
                file,
                first,
                difference,
            } => say!["{file}: the columns differ from those of {first}: {difference}"],
            Self::NoColumn {
                column,
                role,
                source_name,
                hint,
            } => say!["no column {column:?} (", role, ") in {source_name}; ", hint],
            Self::MissingColumns {
                file,
                missing,
                hint,
            } => say!["{file}: ", missing, "; {hint}"],
            Self::EmptyLine { file, line } => format!(
                "{file}, line {}: the line is empty; remove it, or fill in the missing row (write a row \
                 with one missing value as NA)",
                grouped(*line as usize)
            )
            .into(),
            Self::Column {
                file,
                column,
                problem,
            }
            | Self::NoVariation {
                file,
                column,
                problem,
            } => say![in_file(file), "column {column:?}: ", problem],
            Self::Cell {
                column, problem, ..
            } => say!["column {column:?}: ", problem],
            Self::Value {
                column,
                row,
                problem,
            } => say![format!("column {column:?}, row {}: ", grouped(*row)), problem],
            Self::Usage(message) | Self::MissingData(message) => message.clone(),
            Self::NoRowsLeft(why) => say!["no rows are left: ", why],
            Self::NoFeatures(why) => {
                say!["no column is left as a feature", why; "check ", each([DROP, TYPE, MISSING])]
            }
            Self::WrongData {
                path,
                found,
                expected,
                url,
            } => {
                let path = path.display();
                say![
                    "{path}: not the published file: {found}, expected {expected}";
                    "download it again from {url}";
                    "run ", DATA_GET
                ]
            }
            Self::Memory {
                place,
                subject,
                needed,
                limit,
                remedies,
            } => {
                let mut message = say![
                    "{place}: {subject} take about {needed} of memory, more than the ",
                    limit
                ];
                remedies.iter().for_each(|r| message.push_remedy(r));
                message
            }
            Self::Changed { file, problem } | Self::BadBlocks { file, problem } => {
                say!["{file}: ", problem]
            }
            Self::BadRows(why) => say!["stored rows: {why}"],
            Self::BadEncoding(why) => say!["encoding: {why}"],
            Self::Rows(error) => error.to_string().into(),
        }
    }
}

fn of_row(row: Option<usize>) -> String {
    row.map_or_else(String::new, |row| format!("row {}, ", grouped(row)))
}

fn long_remedy(why: LongRecord) -> String {
    match why {
        LongRecord::Plain => "shorten it, or remove the column with the long values".into(),
        LongRecord::OpenQuote(line) => format!(
            "close the quote that opens a field on line {}, or double each quote inside a field",
            grouped(line as usize)
        ),
    }
}

fn in_file(file: &str) -> String {
    match file {
        "" => String::new(),
        file => format!("{file}, "),
    }
}

/// The error of the operating system in plain words, with a remedy if one is known.
fn reason(source: &std::io::Error) -> String {
    use std::io::ErrorKind;
    match source.kind() {
        ErrorKind::NotFound => "no such file; check the path".into(),
        ErrorKind::IsADirectory => "is a folder; choose a file in it".into(),
        ErrorKind::PermissionDenied => "permission denied; check the permissions".into(),
        ErrorKind::UnexpectedEof => {
            "the file ends unexpectedly, so it is truncated or corrupted; download or write it again".into()
        }
        ErrorKind::StorageFull => "the disk is full; free space, or choose another folder".into(),
        _ => format!("{source}; check that the file can be read and written"),
    }
}
