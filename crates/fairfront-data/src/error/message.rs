//! The words of each error.

use fairfront_core::{Message, Wording, each, grouped, say};

use super::Error;
use crate::read::{LONGEST_RECORD, LongRecord};
use crate::setting::{DATA_GET, DROP, MISSING, TYPE};

impl Error {
    /// The error in the words of a program.
    pub fn render(&self, wording: &dyn Wording) -> String {
        self.message().render(wording)
    }

    /// One line: the place, the problem and the remedies.
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
            Self::NoRows { file, what } => {
                say!["{file}: {what}; give a file with at least one row of data"]
            }
            Self::Ragged {
                expected,
                found,
                hint,
                ..
            } => say!["expected {expected} fields, found {found}", hint],
            Self::UnclosedQuote { file, line } => format!(
                "{file}, line {}: a quote opens a field here and is never closed; close it, or write the \
                 field in quotes and each quote inside it twice",
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
            } => say!["{file}: its columns differ from those of {first}: {difference}"],
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
                "{file}, line {}: the line is empty; remove it, or write the row that belongs there (a \
                 missing value alone in its row as NA)",
                grouped(*line as usize)
            )
            .into(),
            Self::Column {
                file,
                column,
                problem,
            }
            | Self::Alike {
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
                say!["no column is left as a feature", why; "look at ", each([DROP, TYPE, MISSING])]
            }
            Self::WrongData {
                path,
                found,
                expected,
                url,
            } => {
                let path = path.display();
                say![
                    "{path} is not the published file: {found}, expected {expected}";
                    "get it again from {url}";
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
            Self::Changed { file, problem } => say!["{file}: ", problem],
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
        LongRecord::Plain => "shorten it, or remove the column with the long text".into(),
        LongRecord::OpenQuote(line) => format!(
            "close the quote that opens a field on line {}, or write each quote inside a field twice",
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

/// What the system said, in words that say what to do where that is known.
fn reason(source: &std::io::Error) -> String {
    use std::io::ErrorKind;
    match source.kind() {
        ErrorKind::NotFound => "there is no such file; check the path".into(),
        ErrorKind::IsADirectory => "this is a folder; name the file in it".into(),
        ErrorKind::PermissionDenied => "permission denied; check who may read or write it".into(),
        ErrorKind::UnexpectedEof => {
            "the file ends in the middle; it is cut off or damaged, get it again".into()
        }
        _ => format!("{source}; the file cannot be read or written here"),
    }
}
