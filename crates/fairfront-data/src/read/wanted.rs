//! The columns that are required from a file, and their positions in it.

use fairfront_core::{Message, Name, say};

use super::Reading;
use super::header::{check_names, make_unique, number_unnamed};
use crate::error::{Error, near, quoted_list};
use crate::setting::KEEP;
use crate::table::ColumnType;

/// A column that a file must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedColumn {
    /// Its name.
    pub name: String,
    /// The type of its values; any other value is an error.
    pub column_type: ColumnType,
    /// The setting that requires it; `None` if the model does.
    pub role: Option<Name>,
}

/// The columns to read from a file, and how to read them.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The reading options. If the first record contains the names of the required columns, the file has a
    /// header regardless of these options.
    pub reading: Reading,
    /// Columns with their types, for the table of a batch.
    pub columns: Vec<WantedColumn>,
    /// Columns whose strings are passed on unchanged.
    pub kept: Vec<String>,
    /// Approximate number of rows per batch.
    pub rows: usize,
}

/// The positions of the required columns in a file.
pub(super) struct FoundColumns {
    /// The name of each field.
    pub(super) names: Vec<String>,
    /// The field of each required column, then of each kept column.
    pub(super) fields: Vec<usize>,
    /// Names of all other fields.
    pub(super) unused: Vec<String>,
    /// Whether the examined record is a header.
    pub(super) is_header: bool,
}

impl FoundColumns {
    /// Examines the first record of a CSV file. If it contains the names of the required columns, or of
    /// most of them, it is a header. Otherwise the file has no header, provided that names for its fields
    /// are known.
    pub(super) fn in_record(file: &str, wanted: &Wanted, first: &[Vec<u8>]) -> Result<Self, Error> {
        let strings = first
            .iter()
            .map(|f| String::from_utf8_lossy(f.trim_ascii()));
        let strings = strings.map(std::borrow::Cow::into_owned).collect();
        let header = unique(number_unnamed(strings));
        let reading = &wanted.reading;
        let known = match (&reading.columns, reading.header) {
            (Some(names), _) => (names.len() == first.len()).then(|| names.clone()),
            (None, false) => Some(number_unnamed(vec![String::new(); first.len()])),
            (None, true) => None,
        };
        let all: Vec<&String> = wanted.names().collect();
        let n_found = all.iter().filter(|name| header.contains(name)).count();
        if known.is_none() {
            check_names(file, first)?;
        }
        match known {
            Some(names) if 2 * n_found <= all.len() => Self::among(file, wanted, names),
            _ => Ok(Self {
                is_header: true,
                ..Self::among(file, wanted, header)?
            }),
        }
    }

    /// Finds the required columns among these names.
    pub(super) fn among(file: &str, wanted: &Wanted, names: Vec<String>) -> Result<Self, Error> {
        let names = unique(names);
        let place = |name: &String| names.iter().position(|n| n == name);
        let fields: Option<Vec<usize>> = wanted.names().map(place).collect();
        let Some(fields) = fields else {
            return Err(missing_columns(file, wanted, &names));
        };
        let mut used = vec![false; names.len()];
        fields.iter().for_each(|field| used[*field] = true);
        let unused = names.iter().zip(used).filter(|(_, used)| !used);
        Ok(Self {
            fields,
            unused: unused.map(|(name, _)| name.clone()).collect(),
            names,
            is_header: false,
        })
    }
}

impl Wanted {
    /// The names of all columns, with the kept ones last.
    fn names(&self) -> impl Iterator<Item = &String> {
        self.columns.iter().map(|c| &c.name).chain(&self.kept)
    }
}

fn unique(names: Vec<String>) -> Vec<String> {
    make_unique(names, &mut Vec::new())
}

fn missing_columns(file: &str, wanted: &Wanted, names: &[String]) -> Error {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let columns = wanted.columns.iter().map(|c| (&c.name, c.role));
    let columns = columns.chain(wanted.kept.iter().map(|name| (name, Some(KEEP))));
    let missing = columns.filter(|(name, _)| !names.contains(&name.as_str()));
    let describe = |(name, role): (&String, Option<Name>)| {
        let near = near(name, &names);
        let near = near.first();
        say![
            "{name:?}",
            role.map(|role| say![" for ", role]),
            near.map(|near| format!(" (did you mean {near:?}?)"))
        ]
    };
    let missing: Vec<Message> = missing.map(describe).collect();
    let mut found = match missing.len() {
        1 => say!["a column is missing: "],
        n => say!["{n} columns are missing: "],
    };
    for (i, column) in missing.into_iter().enumerate() {
        found.push((i > 0).then_some(", "));
        found.push(column);
    }
    let headerless = match (&wanted.reading.columns, wanted.reading.header) {
        (Some(known), _) if known.len() != names.len() => format!(
            " (without a header, {} fields are expected: {})",
            known.len(),
            quoted_list(&known.iter().map(String::as_str).collect::<Vec<_>>(), 20)
        ),
        _ => String::new(),
    };
    Error::MissingColumns {
        file: file.into(),
        missing: found,
        hint: format!(
            "the first row has {}; add the missing columns, or rename existing ones{headerless}",
            quoted_list(&names, 20)
        ),
    }
}
