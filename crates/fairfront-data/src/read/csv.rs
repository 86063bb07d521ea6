//! CSV into columns.

use std::io::Read;

use super::sniff::{self, Layout};
use super::{TableBuilder, parse_number};
use crate::error::{Error, Place};
use crate::table::{LeftOut, Notice};

pub(super) fn read(
    builder: &mut TableBuilder,
    file: &str,
    mut input: impl Read,
) -> Result<(), Error> {
    let sample = sniff::head(&mut input, sniff::SAMPLE).map_err(|e| Error::io(file, e))?;
    if let Some(reason) = sniff::not_text(&sample) {
        return Err(Error::NotATable {
            file: file.into(),
            reason: reason.into(),
        });
    }
    let layout = sniff::layout(&sample, builder.options.separator);
    let mut sample = std::io::Cursor::new(sample);
    sample.set_position(layout.skip_bytes as u64);
    let reader = ::csv::ReaderBuilder::new()
        .delimiter(layout.separator)
        .has_headers(false)
        .flexible(true)
        .buffer_capacity(1 << 16)
        .from_reader(SkipSpaces::new(sample.chain(input), layout.separator));
    Records {
        file,
        layout,
        reader,
        record: ::csv::ByteRecord::new(),
    }
    .read_into(builder)
}

struct Records<'a, R> {
    file: &'a str,
    layout: Layout,
    reader: ::csv::Reader<R>,
    record: ::csv::ByteRecord,
}

impl<R: Read> Records<'_, R> {
    fn read_into(mut self, builder: &mut TableBuilder) -> Result<(), Error> {
        let no_rows = |file: &str, what| Error::NoRows {
            file: file.into(),
            what,
        };
        if !self.next()? {
            return Err(no_rows(self.file, "the file is empty"));
        }
        let named = builder.options.columns.is_none() && builder.options.header;
        let (names, first_is_data) = self.names(builder)?;
        let n_columns = names.len();
        let index_column = names.first().is_some_and(String::is_empty);
        let names = number_unnamed(names);
        let places = builder.begin_file(self.file, names, named)?;
        let wanted: Vec<(usize, usize)> = places
            .iter()
            .enumerate()
            .map(|(field, &column)| (field, column))
            .filter(|&(_, column)| !builder.columns[column].is_skipped())
            .collect();

        let mut pending = first_is_data;
        let mut n_rows = 0;
        let mut counts_up = index_column;
        while pending || self.next()? {
            pending = false;
            if self.record.len() != n_columns {
                if self.is_blank() {
                    continue;
                }
                return Err(self.ragged(n_columns, n_rows + 1));
            }
            for &(field, column) in &wanted {
                let text = self.record[field].trim_ascii();
                let result = if builder.missing.contains(text) {
                    builder.columns[column].push_missing();
                    Ok(())
                } else {
                    builder.columns[column].push_text(text)
                };
                if let Err(bad) = result {
                    let name = builder.columns[column].name.clone();
                    return Err(builder.bad_value(bad, name, Some(self.line())));
                }
            }
            counts_up = counts_up && parse_number(&self.record[0]) == Some(n_rows as f64);
            n_rows += 1;
            builder.n_rows += 1;
        }
        if n_rows == 0 {
            return Err(no_rows(self.file, "the file has a header and no rows"));
        }
        if counts_up {
            builder.columns[places[0]].leave_out(LeftOut::PandasIndex);
        }
        Ok(())
    }

    /// The names of the columns, and whether the record at hand is already data.
    fn names(&self, builder: &mut TableBuilder) -> Result<(Vec<String>, bool), Error> {
        let n_fields = self.record.len();
        if let Some(names) = &builder.options.columns {
            if names.len() != n_fields {
                return Err(Error::NotATable {
                    file: self.file.into(),
                    reason: format!(
                        "{} columns are named, but the first row has {n_fields} fields; \
                         name them all",
                        names.len()
                    ),
                });
            }
            let is_header = names
                .iter()
                .zip(&self.record)
                .all(|(name, field)| name.as_bytes() == field.trim_ascii());
            return Ok((names.clone(), !is_header));
        }
        if !builder.options.header {
            return Ok((vec![String::new(); n_fields], true));
        }
        let mut names = Vec::with_capacity(n_fields);
        for field in &self.record {
            match std::str::from_utf8(field.trim_ascii()) {
                Ok(name) => names.push(name.to_owned()),
                Err(_) => {
                    return Err(Error::NotATable {
                        file: self.file.into(),
                        reason: format!(
                            "the header is not UTF-8 ({:?}); save the file as UTF-8",
                            String::from_utf8_lossy(field)
                        ),
                    });
                }
            }
        }
        if let Some(number) = names.iter().find(|n| parse_number(n.as_bytes()).is_some()) {
            builder.notices.push(Notice::warning(format!(
                "{}: the header holds a number ({number}); if the file has no header, \
                 say --no-header and name the columns with --columns",
                self.file
            )));
        }
        Ok((names, false))
    }

    fn next(&mut self) -> Result<bool, Error> {
        self.reader
            .read_byte_record(&mut self.record)
            .map_err(|error| match error.into_kind() {
                ::csv::ErrorKind::Io(source) => Error::io(self.file, source),
                other => Error::NotATable {
                    file: self.file.into(),
                    reason: format!("{other:?}"),
                },
            })
    }

    /// Line of the record at hand, from 1.
    fn line(&self) -> u64 {
        self.record.position().map_or(0, ::csv::Position::line) + self.layout.skip_lines
    }

    fn is_blank(&self) -> bool {
        self.record.len() == 1 && self.record[0].trim_ascii().is_empty()
    }

    fn ragged(&self, expected: usize, row: usize) -> Error {
        let found = self.record.len();
        let last = self.record.iter().next_back();
        let last_spans_lines = last.is_some_and(|field| field.contains(&b'\n'));
        let hint = if found < expected && last_spans_lines {
            "; its last field spans lines: is a quote never closed?".into()
        } else if found == expected + 1 && last.is_some_and(<[u8]>::is_empty) {
            "; remove the separator at its end".into()
        } else {
            format!(
                "; mend the row, or name the separator with --separator (found {:?})",
                self.layout.separator as char
            )
        };
        Error::Ragged {
            place: Place {
                file: self.file.into(),
                row,
                line: Some(self.line()),
            },
            expected,
            found,
            hint,
        }
    }
}

/// Columns without a name are called after their position, from 1.
fn number_unnamed(names: Vec<String>) -> Vec<String> {
    let name_or_number = |(i, name): (usize, String)| {
        if name.is_empty() {
            format!("column_{}", i + 1)
        } else {
            name
        }
    };
    names.into_iter().enumerate().map(name_or_number).collect()
}

/// Takes away spaces after a separator, so that a quote behind them still opens a quoted field
/// (`a, "b, c"`), which the parser itself does not allow for.
struct SkipSpaces<R> {
    input: R,
    separator: u8,
    state: FieldState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldState {
    Start,
    Plain,
    Quoted,
    /// Behind a quote inside a quoted field: its end, or the first of two.
    Quote,
}

impl<R> SkipSpaces<R> {
    fn new(input: R, separator: u8) -> Self {
        Self {
            input,
            separator,
            state: FieldState::Start,
        }
    }

    /// Moves what is kept to the front of `buffer` and returns its length.
    fn compact(&mut self, buffer: &mut [u8]) -> usize {
        let mut kept = 0;
        let mut state = self.state;
        for i in 0..buffer.len() {
            let byte = buffer[i];
            let ends_field = byte == self.separator || byte == b'\n' || byte == b'\r';
            state = match state {
                FieldState::Start if byte == b' ' => continue,
                FieldState::Start | FieldState::Quote if byte == b'"' => FieldState::Quoted,
                FieldState::Quoted if byte == b'"' => FieldState::Quote,
                FieldState::Quoted => FieldState::Quoted,
                _ if ends_field => FieldState::Start,
                _ => FieldState::Plain,
            };
            buffer[kept] = byte;
            kept += 1;
        }
        self.state = state;
        kept
    }
}

impl<R: Read> Read for SkipSpaces<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let n = self.input.read(buffer)?;
            let kept = self.compact(&mut buffer[..n]);
            if kept > 0 || n == 0 {
                return Ok(kept);
            }
        }
    }
}
