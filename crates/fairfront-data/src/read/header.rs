//! The names of columns, usually from the first record.

use std::collections::BTreeSet;

use fairfront_core::{grouped, say};
use rustc_hash::FxHashMap;

use super::chunk::{Record, Span, TakeRecord};
use super::form::parse_number;
use super::lane::has_nul;
use super::{ReadOptions, file_name};
use crate::error::{Error, quoted_list, shorten};
use crate::setting::{COLUMNS, NO_HEADER};
use crate::table::Diagnostic;

/// Rejects column names with a NUL byte.
pub(super) fn check_names(file: &str, names: &[impl AsRef<[u8]>]) -> Result<(), Error> {
    match names.iter().position(|name| has_nul(name.as_ref())) {
        None => Ok(()),
        Some(at) => Err(Error::NotATable {
            file: file.into(),
            reason: format!(
                "the name of column {} contains a NUL byte; rename the column",
                grouped(at + 1)
            )
            .into(),
        }),
    }
}

/// The names of the columns (empty if they have none), and whether the first record is already data.
pub(super) fn column_names(
    file: &str,
    options: &ReadOptions,
    first: &[Vec<u8>],
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<(Vec<String>, bool), Error> {
    let n_fields = first.len();
    let not_a_table = |reason: String| {
        let file = file.into();
        Err(Error::NotATable {
            file,
            reason: reason.into(),
        })
    };
    if let Some(names) = &options.columns {
        if names.len() != n_fields {
            return not_a_table(format!(
                "the number of column names is {}, but the first row has {n_fields} fields; pass one \
                 name per column",
                names.len()
            ));
        }
        let is_header = names
            .iter()
            .zip(first)
            .all(|(name, field)| name.as_bytes() == field.trim_ascii());
        return Ok((names.clone(), !is_header));
    }
    if !options.header {
        return Ok((vec![String::new(); n_fields], true));
    }
    check_names(file, first)?;
    let mut names = Vec::with_capacity(n_fields);
    for field in first {
        match std::str::from_utf8(field.trim_ascii()) {
            Ok(name) => names.push(name.to_owned()),
            Err(_) => {
                return not_a_table(format!(
                    "the header is not UTF-8 ({:?}); save the file as UTF-8",
                    String::from_utf8_lossy(field)
                ));
            }
        }
    }
    if let Some(number) = names.iter().find(|n| parse_number(n.as_bytes()).is_some()) {
        let file = file_name(file);
        diagnostics.push(Diagnostic::warning(say![
            "{file}: the header contains a number ({number})";
            "if the file has no header, pass ", NO_HEADER, " and name the columns with ", COLUMNS
        ]));
    }
    Ok((names, false))
}

/// The first record that is not blank, and its end.
pub(super) fn first_record(span: Span, separator: u8) -> Option<(Vec<Vec<u8>>, usize)> {
    struct First(Vec<Vec<u8>>, usize);
    impl TakeRecord for First {
        type Error = ();
        const ENDS: bool = true;

        fn end(&mut self, end: usize) {
            self.1 = end;
        }

        /// Takes one record, then stops.
        fn take(&mut self, record: &impl Record, _line: u64) -> Result<(), ()> {
            self.0 = (0..record.n_fields())
                .map(|i| record.field(i).to_vec())
                .collect();
            Err(())
        }
    }
    let mut first = First(Vec::new(), 0);
    let found = span.each_record(separator, &mut first).is_err();
    found.then_some((first.0, first.1))
}

/// Names unnamed columns after their position, from 1.
pub(super) fn number_unnamed(names: Vec<String>) -> Vec<String> {
    let name_or_number = |(i, name): (usize, String)| {
        if name.is_empty() {
            format!("column_{}", i + 1)
        } else {
            name
        }
    };
    names.into_iter().enumerate().map(name_or_number).collect()
}

/// The position of each name among the known ones, or a description of how they differ.
pub(super) fn match_columns(known: &[&str], names: &[String]) -> Result<Vec<usize>, String> {
    let places: FxHashMap<&str, usize> = known.iter().enumerate().map(|(i, c)| (*c, i)).collect();
    let position = |name: &String| places.get(name.as_str()).copied();
    let is_extra = |n: &&String| position(n).is_none();
    let extra: Vec<&str> = names.iter().filter(is_extra).map(String::as_str).collect();
    let here: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let absent: Vec<&str> = known
        .iter()
        .copied()
        .filter(|c| !here.contains(c))
        .collect();
    match (absent.is_empty(), extra.is_empty()) {
        (true, true) => Ok(names.iter().filter_map(position).collect()),
        (false, _) => Err(format!("it does not have {}", quoted_list(&absent, 5))),
        (true, false) => Err(format!("it also has {}", quoted_list(&extra, 5))),
    }
}

/// Adds a suffix to repeated names, with a note.
pub(super) fn unique_names(
    file: &str,
    names: Vec<String>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<String> {
    const SAID: usize = 5;
    let mut repeated = Vec::new();
    let names = make_unique(names, &mut repeated);
    let n_more = repeated.len().saturating_sub(SAID);
    for (name, new) in repeated.into_iter().take(SAID) {
        diagnostics.push(Diagnostic::note(format!(
            "{}: the column name {:?} is repeated; the later column is renamed to {:?}",
            file_name(file),
            shorten(&name),
            shorten(&new)
        )));
    }
    if n_more > 0 {
        diagnostics.push(Diagnostic::note(format!(
            "{}: {} more column names are repeated",
            file_name(file),
            grouped(n_more)
        )));
    }
    names
}

/// Adds a suffix to repeated names as pandas does: `x`, `x.1`, `x.2`.
pub(super) fn make_unique(names: Vec<String>, repeated: &mut Vec<(String, String)>) -> Vec<String> {
    let mut taken: BTreeSet<String> = names.iter().cloned().collect();
    let mut seen: FxHashMap<String, usize> = FxHashMap::default();
    names
        .into_iter()
        .map(|name| {
            let Some(suffix) = seen.get_mut(&name) else {
                seen.insert(name.clone(), 1);
                return name;
            };
            let mut new = format!("{name}.{suffix}");
            while !taken.insert(new.clone()) {
                *suffix += 1;
                new = format!("{name}.{suffix}");
            }
            repeated.push((name, new.clone()));
            new
        })
        .collect()
}
