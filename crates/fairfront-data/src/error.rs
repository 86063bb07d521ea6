mod message;

use std::path::PathBuf;

use fairfront_core::{Message, grouped, say};

use crate::grammar;
use crate::memory::MemoryLimit;
use crate::read::LongRecord;

/// Where in the input something is: a file, a data row (from 1, the header not counted) and, where
/// the format has lines, the line.
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

/// Everything that can be wrong between a file and a data set. Each message is one line: what is
/// wrong, where, and what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be opened, read or written.
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not a table this crate reads.
    NotATable {
        /// The file.
        file: String,
        /// Why, and what to do.
        reason: Message,
    },
    /// The file has no rows.
    NoRows {
        /// The file.
        file: String,
        /// "the file is empty", …
        what: &'static str,
    },
    /// A row has too few or too many fields.
    Ragged {
        /// Where.
        place: Place,
        /// Number of columns.
        expected: usize,
        /// Number of fields in this row.
        found: usize,
        /// What to do.
        hint: Message,
    },
    /// A quote that opens a field and is never closed.
    UnclosedQuote {
        /// The file.
        file: String,
        /// The line on which the field opens, from 1.
        line: u64,
    },
    /// A row that is too long to be one.
    TooLong {
        /// The file.
        file: String,
        /// The data row, from 1, if it is known.
        row: Option<usize>,
        /// The line on which the row starts, from 1.
        line: u64,
        /// Why it may be so long.
        why: LongRecord,
    },
    /// Files given together do not have the same columns.
    ColumnsDiffer {
        /// The file that differs.
        file: String,
        /// The first file.
        first: String,
        /// What is missing or too many.
        difference: String,
    },
    /// A column that is named somewhere but not in the table.
    NoColumn {
        /// The name asked for.
        column: String,
        /// The setting that names it, or its part in the work.
        role: Message,
        /// The file or data set.
        source_name: String,
        /// Near names, or all of them.
        hint: Message,
    },
    /// Columns that are needed and not in the file.
    MissingColumns {
        /// The file.
        file: String,
        /// Which, with the names that are near.
        missing: Message,
        /// What the file has, and what to do.
        hint: String,
    },
    /// A line without anything between two rows, where every row counts.
    EmptyLine {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
    },
    /// Something is wrong with the values of one column for the role it was given.
    Column {
        /// The file or data set; empty where it is not known.
        file: String,
        /// The column.
        column: String,
        /// What is wrong and what to do.
        problem: Message,
    },
    /// All rows have the same value of a column in which they have to differ: one class, or one group.
    Alike {
        /// The file or data set; empty where it is not known.
        file: String,
        /// The column.
        column: String,
        /// What is wrong and what to do.
        problem: Message,
    },
    /// A value of one row is wrong for the role of its column.
    Cell {
        /// Where.
        place: Place,
        /// The column.
        column: String,
        /// What is wrong and what to do.
        problem: Message,
    },
    /// A value of a column that is in no table yet is wrong.
    Value {
        /// The column.
        column: String,
        /// The row, from 1.
        row: usize,
        /// What is wrong and what to do.
        problem: Message,
    },
    /// A setting that cannot be right whatever the data: wrong usage.
    Usage(Message),
    /// No row is left.
    NoRowsLeft(Message),
    /// No column is left as a feature.
    NoFeatures(Message),
    /// A known data set's file is not where it should be.
    MissingData(Message),
    /// A known data set's file is not the one that was published.
    WrongData {
        /// The file.
        path: PathBuf,
        /// Its size or sha256.
        found: String,
        /// The size or sha256 it should have.
        expected: String,
        /// Where it is published.
        url: String,
    },
    /// Work takes more memory than there is.
    Memory {
        /// The file or data set.
        place: String,
        /// The rows or models that take the memory, in the plural.
        subject: String,
        /// The estimate.
        needed: MemoryLimit,
        /// The limit and where it comes from.
        limit: Message,
        /// The remedies.
        remedies: Vec<Message>,
    },
    /// A text that was read before and is not the same now.
    Changed {
        /// The file.
        file: String,
        /// What differs, and what to do.
        problem: Message,
    },
    /// Stored rows that cannot be used.
    BadRows(String),
    /// An encoding file that cannot be used.
    BadEncoding(String),
    /// Encoded rows that do not fit together.
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
    /// Whether this is wrong usage rather than a failure.
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

    /// Something is wrong with the value of a row (from 0) of a column that is in no table yet.
    pub(crate) fn in_row(column: &str, row: usize, problem: impl Into<Message>) -> Self {
        Self::Value {
            column: column.into(),
            row: row + 1,
            problem: problem.into(),
        }
    }

    pub(crate) fn alike(column: impl Into<String>, problem: impl Into<Message>) -> Self {
        Self::Alike {
            file: String::new(),
            column: column.into(),
            problem: problem.into(),
        }
    }

    /// Whether these rows are too few or too much alike, and more of the same kind may do.
    pub fn is_for_want_of_rows(&self) -> bool {
        matches!(
            self,
            Self::Alike { .. } | Self::NoRowsLeft(_) | Self::NoFeatures(_)
        )
    }

    /// Says which file a column is in, where that is not said yet.
    pub(crate) fn in_table(mut self, name: &str) -> Self {
        if let Self::Column { file, .. } | Self::Alike { file, .. } = &mut self
            && file.is_empty()
        {
            name.clone_into(file);
        }
        self
    }

    /// Wrong usage, whatever the data.
    pub fn usage(message: impl Into<Message>) -> Self {
        Self::Usage(message.into())
    }

    /// Says which setting a usage error is about.
    #[must_use]
    pub fn of_setting(self, setting: impl Into<Message>) -> Self {
        match self {
            Self::Usage(message) => Self::Usage(say![setting, " ", message]),
            other => other,
        }
    }

    /// A file that cannot be opened or read.
    pub fn io(path: impl Into<String>, source: std::io::Error) -> Self {
        Self::Io {
            path: path.into(),
            source,
        }
    }
}

/// A word as it has to be typed: in single quotes where a shell would change it.
pub fn shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-+=.,:/%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A value as it is shown in a message: not longer than a line of it.
pub(crate) fn shorten(value: &str) -> String {
    const MOST: usize = 60;
    if value.chars().count() <= MOST {
        return value.to_owned();
    }
    value.chars().take(MOST - 1).chain(['…']).collect()
}

/// "did you mean …" over the names that there are, or a list of them, and how a name is written where it holds a
/// character of the grammar.
pub fn near_names<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let how = near(wanted, &names)
        .first()
        .map_or_else(String::new, |first| {
            let quoted = grammar::quote(first);
            match quoted == **first {
                true => String::new(),
                false => format!(
                    " Its name holds a character of the grammar: write {}",
                    shell(&quoted)
                ),
            }
        });
    format!("{}{how}", near_words(wanted, names))
}

/// The same over words that are written as they are.
pub(crate) fn near_words<'a>(wanted: &str, words: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = words.into_iter().collect();
    let near = near(wanted, &names);
    if !near.is_empty() {
        return format!("did you mean {}?", quoted_list(&near, 3));
    }
    if names.is_empty() {
        return "there are none".into();
    }
    format!("there are {}", quoted_list(&names, 12))
}

/// The names nearest to `wanted`, best first; those too far away are left out.
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
    fn near_names_are_found() {
        let names = ["income", "age", "hours-per-week", "native-country"];
        assert_eq!(near("incme", &names), ["income"]);
        assert_eq!(near("Hours per week", &names), ["hours-per-week"]);
        assert_eq!(near("country", &names), Vec::<&str>::new());
        assert_eq!(near("native", &names), ["native-country"]);
        assert_eq!(
            near_names("zzz", names),
            r#"there are "income", "age", "hours-per-week", "native-country""#
        );
    }
}
