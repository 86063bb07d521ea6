mod message;

use std::path::PathBuf;

use fairfront_core::{Message, grouped, say};

use crate::grammar;
use crate::memory::MemoryLimit;
use crate::read::LongRecord;

/// A place in the input: a file, a data row (from 1, not counting the header) and, if the format has lines,
/// the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// File name as given, or `standard input`.
    pub file: String,
    /// Data row within the file, from 1.
    pub row: usize,
    /// Line within the file, from 1; `None` for formats without lines.
    pub line: Option<u64>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, row {}", self.file, grouped(self.row))?;
        match self.line {
            Some(line) => write!(f, " (line {})", grouped(line as usize)),
            None => Ok(()),
        }
    }
}

/// Everything that can go wrong between a file and a data set. Each message is one line with the place, the
/// problem and the remedy.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be opened, read or written.
    Io {
        /// The file.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The file is not a table this crate reads.
    NotATable {
        /// The file.
        file: String,
        /// The reason and the remedy.
        reason: Message,
    },
    /// The file has no rows.
    NoRows {
        /// The file.
        file: String,
        /// "the file is empty", …
        reason: &'static str,
    },
    /// A row has too few or too many fields.
    Ragged {
        /// The place of the row.
        place: Place,
        /// Number of columns.
        expected: usize,
        /// Number of fields in this row.
        found: usize,
        /// The remedy.
        hint: Message,
    },
    /// A quote opens a field and is never closed.
    UnclosedQuote {
        /// The file.
        file: String,
        /// The line on which the field opens, from 1.
        line: u64,
    },
    /// A row exceeds the maximum length.
    TooLong {
        /// The file.
        file: String,
        /// The data row, from 1, if known.
        row: Option<usize>,
        /// The line on which the row starts, from 1.
        line: u64,
        /// The probable cause.
        why: LongRecord,
    },
    /// Files given together do not have the same columns.
    ColumnsDiffer {
        /// The file that differs.
        file: String,
        /// The first file.
        first: String,
        /// The missing or extra columns.
        difference: String,
    },
    /// A setting names a column that the table does not have.
    NoColumn {
        /// The requested name.
        column: String,
        /// The setting that names the column, or the role of the column.
        role: Message,
        /// The file or data set.
        source_name: String,
        /// Similar names, or all names.
        hint: Message,
    },
    /// Required columns are missing from the file.
    MissingColumns {
        /// The file.
        file: String,
        /// The missing columns, with similar names.
        missing: Message,
        /// The columns of the file, and the remedy.
        hint: String,
    },
    /// An empty line between two rows in a file in which every line must be a row.
    EmptyLine {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
    },
    /// The values of a column are wrong for its role.
    Column {
        /// The file or data set; empty if not known.
        file: String,
        /// The column.
        column: String,
        /// The problem and the remedy.
        problem: Message,
    },
    /// All rows have the same value in a column that must vary: only one class, or only one group.
    NoVariation {
        /// The file or data set; empty if not known.
        file: String,
        /// The column.
        column: String,
        /// The problem and the remedy.
        problem: Message,
    },
    /// A value of one row is wrong for the role of its column.
    Cell {
        /// The place of the row.
        place: Place,
        /// The column.
        column: String,
        /// The problem and the remedy.
        problem: Message,
    },
    /// A value is wrong in a column that does not belong to a table yet.
    Value {
        /// The column.
        column: String,
        /// The row, from 1.
        row: usize,
        /// The problem and the remedy.
        problem: Message,
    },
    /// A setting that is wrong for any data: incorrect usage.
    Usage(Message),
    /// No rows are left.
    NoRowsLeft(Message),
    /// No columns are left as features.
    NoFeatures(Message),
    /// The file of a known data set is missing.
    MissingData(Message),
    /// The file of a known data set differs from the published file.
    WrongData {
        /// The file.
        path: PathBuf,
        /// Its size or sha256.
        found: String,
        /// The expected size or sha256.
        expected: String,
        /// The URL of the published file.
        url: String,
    },
    /// The work needs more memory than is available.
    Memory {
        /// The file or data set.
        place: String,
        /// The rows or models that need the memory, in the plural.
        subject: String,
        /// The estimated memory.
        needed: MemoryLimit,
        /// The limit and its origin.
        limit: Message,
        /// The remedies.
        remedies: Vec<Message>,
    },
    /// A file changed after it was read.
    Changed {
        /// The file.
        file: String,
        /// The difference and the remedy.
        problem: Message,
    },
    /// A block file that cannot be used.
    BadBlocks {
        /// The file.
        file: String,
        /// The problem and the remedy.
        problem: Message,
    },
    /// Stored rows that cannot be used.
    BadRows(String),
    /// An encoding file that cannot be used.
    BadEncoding(String),
    /// Encoded rows that are inconsistent.
    Rows(fairfront_core::Error),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.message().fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Rows(error) => error.source(),
            _ => None,
        }
    }
}

impl From<fairfront_core::Error> for Error {
    fn from(error: fairfront_core::Error) -> Self {
        Self::Rows(error)
    }
}

impl Error {
    /// Whether this error is incorrect usage rather than a failure.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Usage(_))
    }

    pub(crate) fn column(column: impl Into<String>, problem: impl Into<Message>) -> Self {
        Self::Column {
            file: String::new(),
            column: column.into(),
            problem: problem.into(),
        }
    }

    /// An error about the value of a row (from 0) in a column that does not belong to a table yet.
    pub(crate) fn in_row(column: &str, row: usize, problem: impl Into<Message>) -> Self {
        Self::Value {
            column: column.into(),
            row: row + 1,
            problem: problem.into(),
        }
    }

    pub(crate) fn no_variation(column: impl Into<String>, problem: impl Into<Message>) -> Self {
        Self::NoVariation {
            file: String::new(),
            column: column.into(),
            problem: problem.into(),
        }
    }

    /// Whether there are too few rows, or rows with too little variation, so that more rows of the same
    /// kind may help.
    pub fn needs_more_rows(&self) -> bool {
        matches!(
            self,
            Self::NoVariation { .. } | Self::NoRowsLeft(_) | Self::NoFeatures(_)
        )
    }

    /// Adds the file that the column is in, unless the error already has one.
    pub(crate) fn in_table(mut self, name: &str) -> Self {
        if let Self::Column { file, .. } | Self::NoVariation { file, .. } = &mut self
            && file.is_empty()
        {
            name.clone_into(file);
        }
        self
    }

    /// An error about incorrect usage, for any data.
    pub fn usage(message: impl Into<Message>) -> Self {
        Self::Usage(message.into())
    }

    /// Adds the setting that a usage error is about.
    #[must_use]
    pub fn of_setting(self, setting: impl Into<Message>) -> Self {
        match self {
            Self::Usage(message) => Self::Usage(say![setting, " ", message]),
            other => other,
        }
    }

    /// An error for a file that cannot be opened or read.
    pub fn io(path: impl Into<String>, source: std::io::Error) -> Self {
        Self::Io {
            path: path.into(),
            source,
        }
    }
}

/// Formats a word for a shell: in single quotes if the shell would change it.
pub fn shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-+=.,:/%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Shortens a value so that it fits on one line of a message.
pub(crate) fn shorten(value: &str) -> String {
    const MOST: usize = 60;
    if value.chars().count() <= MOST {
        return value.to_owned();
    }
    value.chars().take(MOST - 1).chain(['…']).collect()
}

/// Returns "did you mean …" with similar names or, if there are none, a list of all names. If a similar
/// name contains a character of the grammar, the text also shows how to quote it.
pub fn near_names<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let how = near(wanted, &names)
        .first()
        .map_or_else(String::new, |first| {
            let quoted = grammar::quote(first);
            match quoted == **first {
                true => String::new(),
                false => format!(
                    " The name contains a special character: write {}",
                    shell(&quoted)
                ),
            }
        });
    format!("{}{how}", near_words(wanted, names))
}

/// Like [`near_names`], for words that never need quotes.
pub(crate) fn near_words<'a>(wanted: &str, words: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = words.into_iter().collect();
    let near = near(wanted, &names);
    if !near.is_empty() {
        return format!("did you mean {}?", quoted_list(&near, 3));
    }
    if names.is_empty() {
        return "none are available".into();
    }
    format!("available: {}", quoted_list(&names, 12))
}

/// The names most similar to `wanted`, best first, without those that differ too much.
pub(crate) fn near<'a>(wanted: &str, names: &[&'a str]) -> Vec<&'a str> {
    let folded = |s: &str| {
        s.chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect::<String>()
    };
    let target = folded(wanted);
    let mut scored: Vec<(f64, &str)> = names
        .iter()
        .map(|name| {
            let other = folded(name);
            let contained =
                target.len() >= 3 && (other.starts_with(&target) || target.starts_with(&other));
            let closeness = strsim::normalized_damerau_levenshtein(&target, &other);
            let bonus = if contained && !other.is_empty() {
                0.3
            } else {
                0.0
            };
            (closeness + bonus, *name)
        })
        .filter(|(score, _)| *score >= 0.6)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().map(|(_, name)| name).take(3).collect()
}

/// `"a", "b", "c" and 4 more`.
pub(crate) fn quoted_list(names: &[&str], most: usize) -> String {
    listed(names.iter().map(|n| format!("{:?}", shorten(n))), most)
}

/// `a, b, c and 4 more`.
pub(crate) fn listed(mut items: impl ExactSizeIterator<Item = String>, most: usize) -> String {
    let more = items.len().saturating_sub(most);
    let shown: Vec<String> = items.by_ref().take(most).collect();
    match more {
        0 => shown.join(", "),
        more => format!("{} and {} more", shown.join(", "), grouped(more)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_found() {
        let names = ["income", "age", "hours-per-week", "native-country"];
        assert_eq!(near("incme", &names), ["income"]);
        assert_eq!(near("Hours per week", &names), ["hours-per-week"]);
        assert_eq!(near("country", &names), Vec::<&str>::new());
        assert_eq!(near("native", &names), ["native-country"]);
        assert_eq!(
            near_names("zzz", names),
            r#"available: "income", "age", "hours-per-week", "native-country""#
        );
    }
}
