//! Reads CSV into columns.
//!
//! The file is read in chunks of whole records. Each column declares how it takes values (its lane). All
//! threads turn chunks into batches of values, and the columns take the batches in order, so that the
//! result does not depend on the number of threads.

use std::io::{Chain, Cursor, Read};

use fairfront_core::{Message, counted, say, with};
use memchr::memchr_iter;
use rayon::prelude::*;

use super::chunk::{Chunk, Record, TakeRecord};
use super::cutter::{ChunkError, Cutter, LONGEST_RECORD};
use super::form::{Decimal, Form};
use super::header::{column_names, first_record, number_unnamed};
use super::lane::{Batch, Lane, Misfit, has_nul, nul_in};
use super::{MissingValues, TableBuilder, sniff};
use crate::error::{Error, Place};
use crate::setting::SEPARATOR;
use crate::table::LeftOut;

/// Bytes per chunk, few enough to stay in a core's cache while it is split.
const CHUNK: usize = 1 << 18;
/// The number of chunks split at a time, per thread.
const CHUNKS_PER_THREAD: usize = 8;
/// The maximum of chunks times columns at a time, unless there are more threads.
const MOST_BATCHES: usize = 1 << 17;
/// Memory in bytes per field of the first record: its text, its column and its first batch of values.
const FIELD_BYTES: usize = 2 << 10;

/// An open CSV file: its chunks and the known properties of its records.
pub(super) struct Opened<R> {
    pub(super) chunks: Cutter<Chain<Cursor<Vec<u8>>, R>>,
    pub(super) separator: u8,
    /// Approximate bytes per record.
    pub(super) record_bytes: usize,
    /// The form of numbers, if the start of the file shows it.
    pub(super) decimal: Option<Decimal>,
}

/// Opens a CSV file and examines its start.
pub(super) fn open<R: Read>(
    file: &str,
    mut input: R,
    separator: Option<u8>,
) -> Result<Opened<R>, Error> {
    let sample = sniff::head(&mut input, sniff::SAMPLE).map_err(|e| Error::io(file, e))?;
    if let Some(reason) = sniff::not_text(&sample) {
        return Err(Error::NotATable {
            file: file.into(),
            reason: reason.into(),
        });
    }
    let layout = sniff::layout(&sample, separator);
    let decimal = sniff::decimal(&sample[layout.skip_bytes..], layout.separator);
    let record_bytes = sample.len() / memchr_iter(b'\n', &sample).count().max(1);
    let mut sample = Cursor::new(sample);
    sample.set_position(layout.skip_bytes as u64);
    let (input, first_line) = (sample.chain(input), layout.skip_lines + 1);
    Ok(Opened {
        // The line end is not part of the record.
        chunks: Cutter::new(input, layout.separator, first_line, LONGEST_RECORD + 1),
        separator: layout.separator,
        record_bytes: record_bytes.max(1),
        decimal,
    })
}

/// The error for a file that cannot be split into chunks, with the row at which it stops if that is known.
pub(super) fn stopped(file: &str, error: ChunkError, row: Option<usize>) -> Error {
    match error {
        ChunkError::TooLong(line, why) => Error::TooLong {
            file: file.into(),
            row,
            line,
            why,
        },
        ChunkError::Io(source) => Error::io(file, source),
        ChunkError::UnclosedQuote(line) => Error::UnclosedQuote {
            file: file.into(),
            line,
        },
    }
}

pub(super) fn read(
    builder: &mut TableBuilder,
    file: &str,
    input: impl Read + Send,
) -> Result<(), Error> {
    let Opened {
        mut chunks,
        separator,
        decimal,
        ..
    } = open(file, input, builder.options.separator)?;
    builder.set_decimal(file, decimal, separator);
    let mut reader = Reader {
        file,
        separator,
        places: Vec::new(),
        columns: Vec::new(),
        n_fields: 0,
        n_rows: 0,
    };
    // The first record defines the columns. Until their types are known (a few thousand rows), one chunk is
    // taken at a time.
    let mut started = false;
    while let Some(chunk) = reader.row_of(chunks.next(CHUNK))? {
        let header = if started {
            Some(0)
        } else {
            reader.start(builder, &chunk)?
        };
        if let Some(skip) = header {
            started = true;
            reader.take(builder, &[chunk], skip)?;
        }
        if started && !reader.is_looking(builder) {
            break;
        }
    }
    // Now take many at a time, while the next ones are being read.
    let n_threads = rayon::current_num_threads();
    let most = MOST_BATCHES / reader.columns.len().max(1);
    let n_chunks = (CHUNKS_PER_THREAD * n_threads).min(most.max(n_threads));
    let mut batch = reader.row_of(chunks.several(n_chunks, CHUNK))?;
    while !batch.is_empty() {
        let (next, taken) = rayon::join(
            || chunks.several(n_chunks, CHUNK),
            || reader.take(builder, &batch, 0),
        );
        taken?;
        batch = reader.row_of(next)?;
    }
    reader.finish(builder, started)
}

/// The state of the file while it is read.
struct Reader<'a> {
    file: &'a str,
    separator: u8,
    /// The column of each field.
    places: Vec<usize>,
    /// Field and column of each column that is read.
    columns: Vec<(usize, usize)>,
    n_fields: usize,
    n_rows: usize,
}

impl Reader<'_> {
    /// Passes the chunks on; an error receives the number of the row after all rows so far.
    fn row_of<T>(&self, cut: Result<T, ChunkError>) -> Result<T, Error> {
        cut.map_err(|error| stopped(self.file, error, Some(self.n_rows + 1)))
    }

    /// Rejects a first record with more fields than memory allows.
    fn check_fields(&self, builder: &TableBuilder, chunk: &Chunk) -> Result<(), Error> {
        // Chunks are larger only if a record is larger.
        if chunk.bytes.len() <= CHUNK {
            return Ok(());
        }
        let n_fields = 1 + memchr_iter(self.separator, &chunk.bytes).count();
        let subject = counted(n_fields, "field");
        let needed = n_fields * FIELD_BYTES;
        let remedies = || vec![say!["check the separator", with(SEPARATOR)]];
        builder
            .memory
            .check(needed as u64, self.file, &subject, remedies)
    }

    /// Finds the columns in the first record. Returns how many records contain no data (0 or 1), or `None`
    /// if the chunk has no records.
    fn start(&mut self, builder: &mut TableBuilder, chunk: &Chunk) -> Result<Option<usize>, Error> {
        self.check_fields(builder, chunk)?;
        let Some((first, _)) = first_record(chunk.span(), self.separator) else {
            return Ok(None);
        };
        self.n_fields = first.len();
        let named = builder.options.columns.is_none() && builder.options.header;
        let (names, first_is_data) =
            column_names(self.file, builder.options, &first, &mut builder.diagnostics)?;
        let unnamed_first = names.first().is_some_and(String::is_empty) && named;
        let places = builder.begin_file(self.file, number_unnamed(names), named)?;
        let form = Form::of(builder.decimal, self.separator);
        builder.columns.iter_mut().for_each(|c| c.set_form(form));
        builder.index_column = unnamed_first.then_some(places[0]);
        let wanted = places.iter().copied().enumerate();
        self.columns = wanted
            .filter(|(_, c)| !builder.columns[*c].is_skipped())
            .collect();
        self.places = places;
        Ok(Some(usize::from(!first_is_data)))
    }

    /// Takes all records of the chunks except the first `skip`.
    fn take(
        &mut self,
        builder: &mut TableBuilder,
        chunks: &[Chunk],
        skip: usize,
    ) -> Result<(), Error> {
        let lanes: Vec<(usize, Lane)> = self
            .columns
            .iter()
            .map(|&(field, column)| (field, builder.columns[column].lane()))
            .collect();
        let missing = &builder.missing;
        let parse = |(i, chunk): (usize, &Chunk)| {
            let skip = if i == 0 { skip } else { 0 };
            let text = (chunk, self.separator);
            Parsed::new(&lanes, missing, self.n_fields, text, skip, true)
        };
        let parsed: Vec<Parsed<false>> = chunks.par_iter().enumerate().map(parse).collect();
        let mut n_rows = 0;
        let mut batches_of: Vec<Vec<Batch>> = Vec::new();
        batches_of.resize_with(builder.columns.len(), Vec::new);
        for mut parsed in parsed {
            if let Some(mut failure) = parsed.failure.take() {
                failure.row += n_rows;
                return Err(self.failed(builder, failure));
            }
            n_rows += parsed.n_rows;
            for (&(_, column), batch) in self.columns.iter().zip(parsed.batches) {
                batches_of[column].push(batch);
            }
        }
        let batches: usize = batches_of.iter().flatten().map(Batch::bytes).sum();
        let strings: usize = chunks.iter().map(|chunk| chunk.bytes.len()).sum();
        // The next chunks are already being read.
        builder.make_room(self.file, n_rows, batches + 2 * strings)?;
        let appended: Vec<_> = builder
            .columns
            .par_iter_mut()
            .zip(batches_of)
            .map(|(column, batches)| batches.into_iter().try_for_each(|b| column.append(b)))
            .collect();
        for (column, result) in appended.into_iter().enumerate() {
            if let Err(bad) = result {
                let name = builder.columns[column].name.clone();
                return Err(builder.bad_value(bad, name, None));
            }
        }
        self.n_rows += n_rows;
        builder.n_rows += n_rows;
        builder.check_spool()
    }

    /// Whether the type of a column is not chosen yet.
    fn is_looking(&self, builder: &TableBuilder) -> bool {
        let lane = |&(_, column): &(usize, usize)| builder.columns[column].lane();
        self.columns.iter().any(|c| lane(c) == Lane::Look)
    }

    fn finish(&self, builder: &mut TableBuilder, started: bool) -> Result<(), Error> {
        if self.n_rows == 0 {
            return Err(Error::NoRows {
                file: self.file.into(),
                reason: match started {
                    true => "the file has a header but no rows",
                    false => "the file is empty",
                },
            });
        }
        if let Some(column) = builder.index_column.take() {
            let column = &mut builder.columns[column];
            if column.counts_up_from(builder.n_rows - self.n_rows) {
                column.leave_out(LeftOut::PandasIndex);
            }
        }
        Ok(())
    }

    fn place(&self, failure: &Failure) -> Place {
        Place {
            file: self.file.into(),
            row: self.n_rows + failure.row + 1,
            line: Some(failure.line),
        }
    }

    fn failed(&self, builder: &TableBuilder, failure: Failure) -> Error {
        let row = builder.n_rows + failure.row;
        match failure.problem {
            Wrong::Value {
                column,
                misfit,
                value,
            } => {
                let column = &builder.columns[self.columns[column].1];
                let bad = column.bad_value(row, misfit, &value);
                builder.bad_value(bad, column.name.clone(), Some(failure.line))
            }
            Wrong::Blank => empty_line(self.file, failure.line),
            Wrong::Nul(field) => {
                let column = &builder.columns[self.places[field]];
                nul_in(self.place(&failure), &column.name)
            }
            Wrong::Fields {
                found,
                last_is_empty,
            } => {
                let place = self.place(&failure);
                ragged(place, self.n_fields, found, last_is_empty, self.separator)
            }
        }
    }
}

/// The error for a blank line between records.
pub(super) fn empty_line(file: &str, line: u64) -> Error {
    Error::EmptyLine {
        file: file.into(),
        line,
    }
}

/// The error for a record with too few or too many fields.
pub(super) fn ragged(
    place: Place,
    expected: usize,
    found: usize,
    last_is_empty: bool,
    separator: u8,
) -> Error {
    let mut hint = Message::default();
    if found == expected + 1 && last_is_empty {
        hint.push_remedy("remove the separator at the end of the row");
    } else {
        let separator = separator as char;
        hint.push_remedy("fix the row");
        hint.push_remedy(say![
            "set the separator with ",
            SEPARATOR,
            " (found {separator:?})"
        ]);
    }
    Error::Ragged {
        place,
        expected,
        found,
        hint,
    }
}

/// A chunk as batches of values. If `STRICT`, a blank line between records is an error.
pub(super) struct Parsed<'a, const STRICT: bool> {
    /// Field and lane of each column that is read.
    lanes: &'a [(usize, Lane)],
    missing: &'a MissingValues,
    n_fields: usize,
    skip: usize,
    /// Whether a field may contain a NUL byte.
    has_nul: bool,
    /// Number of records, including skipped ones.
    pub(super) n_records: usize,
    /// Whether there may be records before the chunk.
    follows: bool,
    /// A blank line before the first record.
    pub(super) leading: Option<u64>,
    /// A blank line after the last record so far.
    pub(super) blank: Option<u64>,
    pub(super) n_rows: usize,
    pub(super) batches: Vec<Batch>,
    pub(super) failure: Option<Failure>,
}

impl<'a, const STRICT: bool> Parsed<'a, STRICT> {
    /// Takes the records of a chunk except the first `skip`; each must have this many fields.
    pub(super) fn new(
        lanes: &'a [(usize, Lane)],
        missing: &'a MissingValues,
        n_fields: usize,
        (chunk, separator): (&Chunk, u8),
        skip: usize,
        follows: bool,
    ) -> Self {
        let mut parsed = Self {
            lanes,
            missing,
            n_fields,
            skip,
            has_nul: has_nul(&chunk.bytes),
            n_records: 0,
            follows,
            leading: None,
            blank: None,
            n_rows: 0,
            batches: lanes.iter().map(|(_, lane)| Batch::new(*lane)).collect(),
            failure: None,
        };
        parsed.failure = chunk.span().each_record(separator, &mut parsed).err();
        parsed
    }
}

/// A problem with a record, and its position among the chunk's rows.
pub(super) struct Failure {
    pub(super) row: usize,
    pub(super) line: u64,
    pub(super) problem: Wrong,
}

pub(super) enum Wrong {
    /// A blank line before the record.
    Blank,
    Fields {
        found: usize,
        last_is_empty: bool,
    },
    /// The field with a NUL byte.
    Nul(usize),
    Value {
        /// Position among the columns that are read.
        column: usize,
        misfit: Misfit,
        value: Vec<u8>,
    },
}

impl<const STRICT: bool> TakeRecord for Parsed<'_, STRICT> {
    type Error = Failure;
    const BLANKS: bool = STRICT;

    fn blank(&mut self, line: u64) {
        if STRICT && (self.follows || self.n_records > 0) {
            self.blank.get_or_insert(line);
        }
    }

    fn take(&mut self, record: &impl Record, line: u64) -> Result<(), Failure> {
        let row = self.n_rows;
        let fail = |line, problem| Failure { row, line, problem };
        match self.blank.take() {
            Some(blank) if self.n_records > 0 => return Err(fail(blank, Wrong::Blank)),
            blank => self.leading = self.leading.or(blank),
        }
        self.n_records += 1;
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(());
        }
        let found = record.n_fields();
        if found != self.n_fields {
            let last_is_empty = record.field(found - 1).trim_ascii().is_empty();
            let problem = Wrong::Fields {
                found,
                last_is_empty,
            };
            return Err(fail(line, problem));
        }
        if self.has_nul
            && let Some(field) = (0..found).find(|i| has_nul(record.field(*i)))
        {
            return Err(fail(line, Wrong::Nul(field)));
        }
        let lanes = self.lanes.iter().zip(&mut self.batches);
        for (column, (&(field, _), batch)) in lanes.enumerate() {
            let text = record.field(field).trim_ascii();
            if let Err(misfit) = batch.push_field(text, self.missing) {
                let problem = Wrong::Value {
                    column,
                    misfit,
                    value: text.to_vec(),
                };
                return Err(fail(line, problem));
            }
        }
        self.n_rows += 1;
        Ok(())
    }
}
