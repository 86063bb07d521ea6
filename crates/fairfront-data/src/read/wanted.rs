//! The columns that are wanted of a file, and where they are in it.

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
    /// How its values are understood; anything else is an error.
    pub column_type: ColumnType,
    /// The setting that asks for it, if it is not the model itself.
    pub role: Option<Name>,
}

/// The part of a file that is read.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// How such files are read. A file whose first record holds the names of the wanted columns has
    /// a header, whatever this says.
    pub reading: Reading,
    /// Columns with their types, for the table of a batch.
    pub columns: Vec<WantedColumn>,
    /// Columns whose texts are handed on as they stand.
    pub kept: Vec<String>,
    /// Rows of a batch, about.
    pub rows: usize,
}

/// Where the wanted columns are in a file.
pub(super) struct FoundColumns {
    /// The name of each field.
    pub(super) names: Vec<String>,
    /// The field of each wanted and then each kept column.
    pub(super) fields: Vec<usize>,
    /// Names of all other fields.
    pub(super) unused: Vec<String>,
    /// Whether the record that was looked at is a header.
    pub(super) is_header: bool,
}

impl FoundColumns {
    /// Looks at the first record of a CSV file. Where it holds the names of the wanted columns, or of
    /// most of them, it is a header; otherwise the file has none, if names for its fields are known.
    pub(super) fn in_record(file: &str, wanted: &Wanted, first: &[Vec<u8>]) -> Result<Self, Error> {
        let texts = first
            .iter()
            .map(|f| String::from_utf8_lossy(f.trim_ascii()));
        let texts = texts.map(std::borrow::Cow::into_owned).collect();
        let header = unique(number_unnamed(texts));
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

    /// Finds the wanted columns among these names.
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
    /// The names of all columns, the kept ones last.
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
            "the first row has {}; add them, or rename what is there{headerless}",
            quoted_list(&names, 20)
        ),
    }
}
