//! Splits CSV text into records while it arrives.

use std::collections::VecDeque;
use std::io::Read;

use fairfront_core::{grouped, hex};
use memchr::{memchr, memchr_iter, memrchr};
use sha2::{Digest, Sha256};

use super::chunk::Chunk;
use super::cutter::Cutter;
use super::header::{column_names, first_record, number_unnamed, unique_names};
use super::raw::{BadRecord, Cut, Fields, Position, RawRecord};
use super::{ReadOptions, sniff};
use crate::error::Error;
use crate::table::Diagnostic;

/// The maximum number of bytes per record; a longer record is bad.
pub const MOST_RECORD_BYTES: usize = 1 << 20;
/// The number of bytes to request from the input at a time.
const READ: usize = 1 << 16;

/// Splits CSV text into records while it arrives.
///
/// The rules are those of [`read_table`](crate::read_table): the separator is detected, blank lines are not
/// records, and a byte order mark and comment lines before the table are skipped. A `read` of the input
/// that returns nothing means "nothing more for now"; later calls may return more.
///
/// The separator is detected in the first 65,536 bytes, or in fewer if the input returns nothing before
/// that. Use [`Records::by_first_lines`] if the result must not depend on that. If a separator is set and
/// the text does not start with `|` or `#`, detection is not needed.
///
/// A record may be longer than [`MOST_RECORD_BYTES`], or its last field may still be in quotes at the end
/// of the text. Then only its first line is a bad record, and the next record starts after that line.
///
/// ```
/// use fairfront_data::{ReadOptions, Records};
/// let text = "age,job\n31,nurse\n45\n52,cook";
/// let mut records = Records::new("t.csv", text.as_bytes(), &ReadOptions::default());
/// let first = records.next()?.expect("a record");
/// assert_eq!((first.row, first.line, first.fields.unwrap()), (1, 2, vec!["31".into(), "nurse".into()]));
/// assert_eq!(records.columns(), ["age", "job"]);
/// let bad = records.next()?.expect("a record").fields.unwrap_err();
/// assert!(bad.reason.to_string().starts_with("expected 2 fields, found 1"));
/// // The last record may still grow until the end of the text is known.
/// assert!(records.next()?.is_none());
/// assert_eq!(records.rest()?.expect("a record").row, 3);
/// # Ok::<(), fairfront_data::Error>(())
/// ```
pub struct Records<R> {
    name: String,
    options: ReadOptions,
    cutter: Cutter<R>,
    /// Bytes before the table, once known.
    head: Option<usize>,
    /// Whether only the first two lines determine the separator.
    by_first_lines: bool,
    columns: Vec<String>,
    diagnostics: Vec<Diagnostic>,
    /// Text already split into records, from byte `base` on.
    text: Vec<u8>,
    base: u64,
    /// The end in `text` of the last record returned, and the number of bytes hashed.
    consumed: usize,
    hashed: usize,
    hash: Sha256,
    ends_open: bool,
    rows: u64,
    ready: VecDeque<Cut>,
    /// A record without a line end whose bytes are discarded while they arrive.
    overlong: Option<Overlong>,
}

struct Overlong {
    bad: BadRecord,
    /// The end of the last record before it.
    before: Position,
}

/// Whether more text follows the text that was read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum More {
    /// Reading may return more.
    Likely,
    /// Nothing more for now.
    Later,
    /// The text has ended.
    Never,
}

impl<R: Read> Records<R> {
    /// Splits an input into records; `name` is its name in messages.
    pub fn new(name: &str, input: R, options: &ReadOptions) -> Self {
        Self {
            name: name.into(),
            options: options.clone(),
            cutter: Cutter::new(input, b',', 1, MOST_RECORD_BYTES),
            head: None,
            by_first_lines: false,
            columns: Vec::new(),
            diagnostics: Vec::new(),
            text: Vec::new(),
            base: 0,
            consumed: 0,
            hashed: 0,
            hash: Sha256::new(),
            ends_open: false,
            rows: 0,
            ready: VecDeque::new(),
            overlong: None,
        }
    }

    /// Detects the separator from the first two lines only. For an input that arrives while it is read, the
    /// result then does not depend on how much has arrived at first.
    #[must_use]
    pub fn by_first_lines(self) -> Self {
        Self {
            by_first_lines: true,
            ..self
        }
    }

    /// The name of the input in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The unique names of the columns; empty before the first record was requested.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Messages about the names of the columns.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The next record whose line end has arrived; `None` if there is none for now.
    #[expect(
        clippy::should_implement_trait,
        reason = "a finished iterator must not return more later"
    )]
    pub fn next(&mut self) -> Result<Option<RawRecord>, Error> {
        loop {
            if let Some(cut) = self.ready.pop_front() {
                return Ok(Some(self.hand_out(cut)));
            }
            if self.cut(More::Likely)? {
                continue;
            }
            if self.fill()? == 0 && !self.cut(More::Later)? {
                return Ok(None);
            }
        }
    }

    /// The next record if nothing more will arrive: the records of [`Records::next`], then a last record
    /// without a line end, then `None`.
    pub fn rest(&mut self) -> Result<Option<RawRecord>, Error> {
        loop {
            if let Some(record) = self.next()? {
                return Ok(Some(record));
            }
            if !self.cut(More::Never)? {
                return Ok(None);
            }
        }
    }

    /// How far the input was read: to the end of the last record returned.
    pub fn position(&mut self) -> Position {
        match &self.overlong {
            Some(overlong) => overlong.before.clone(),
            None => self.here(),
        }
    }

    fn here(&mut self) -> Position {
        self.digest();
        Position {
            rows: self.rows,
            bytes: self.base + self.consumed as u64,
            sha256: hex(&self.hash.clone().finalize()),
            ends_open: self.ends_open,
            separator: self.separator(),
            head: self.head.unwrap_or(0) as u64,
        }
    }

    /// Resumes where an earlier reader of the same input stopped. The text up to there is read again and
    /// must not have changed.
    pub fn resume(&mut self, position: &Position) -> Result<(), Error> {
        if position.bytes == 0 {
            return Ok(());
        }
        while self.cutter.bytes().len() as u64 <= position.head {
            self.fill_again(position)?;
        }
        self.begin(position.separator, position.head as usize);
        while self.columns.is_empty() {
            if self.find_columns(More::Likely)? {
                continue;
            }
            let n_read = self.n_cut() + self.cutter.bytes().len() as u64;
            if self.fill()? == 0 && !(n_read >= position.bytes && self.find_columns(More::Never)?) {
                return Err(self.too_short(position));
            }
        }
        loop {
            let left = position.bytes.saturating_sub(self.n_cut());
            let n = left.min(self.cutter.bytes().len() as u64);
            self.pass(n as usize);
            self.consumed = self.text.len();
            if n == left {
                break;
            }
            self.fill_again(position)?;
        }
        self.rows = position.rows;
        self.ends_open = position.ends_open;
        let here = self.here();
        if (here.bytes, here.sha256) != (position.bytes, position.sha256.clone()) {
            return Err(self.changed(format!(
                "the first {} bytes differ from those read before; restore the file and only append \
                 rows to it, or start a new state",
                grouped(position.bytes as usize)
            )));
        }
        self.check_growth()
    }

    /// Reads more of an input that was read up to this position before.
    fn fill_again(&mut self, position: &Position) -> Result<(), Error> {
        match self.fill()? {
            0 => Err(self.too_short(position)),
            _ => Ok(()),
        }
    }

    fn too_short(&self, position: &Position) -> Error {
        self.changed(format!(
            "the file has {} bytes of text, but {} were read before; restore the file and only append \
             rows to it, or start a new state",
            grouped(self.n_cut() as usize + self.cutter.bytes().len()),
            grouped(position.bytes as usize)
        ))
    }

    fn changed(&self, problem: String) -> Error {
        Error::Changed {
            file: self.name.clone(),
            problem: problem.into(),
        }
    }

    /// Checks that a record that was taken without its line end has not become longer.
    fn check_growth(&self) -> Result<(), Error> {
        match self.cutter.bytes().first() {
            Some(byte) if self.ends_open && !matches!(byte, b'\n' | b'\r') => {
                Err(self.changed(format!(
                    "row {} was read without a line end, but its line now continues; end every row with \
                     a line end, and start a new state",
                    grouped(self.rows as usize)
                )))
            }
            _ => Ok(()),
        }
    }

    fn hand_out(&mut self, cut: Cut) -> RawRecord {
        self.consumed = cut.end;
        self.ends_open = !matches!(self.text[..cut.end].last(), Some(b'\n' | b'\r'));
        self.rows += 1;
        RawRecord {
            row: self.rows,
            line: cut.line,
            fields: cut.fields,
        }
    }

    /// Hashes the records that were returned.
    fn digest(&mut self) {
        self.hash.update(&self.text[self.hashed..self.consumed]);
        self.hashed = self.consumed;
    }

    /// Number of bytes of the text already split.
    fn n_cut(&self) -> u64 {
        self.base + self.text.len() as u64
    }

    /// Reads more; returns 0 if nothing is available now.
    fn fill(&mut self) -> Result<usize, Error> {
        let at_end = self.consumed == self.text.len() && self.cutter.bytes().is_empty();
        let read = self.cutter.fill(READ).map_err(|e| match e.downcast() {
            Ok(own) => own,
            Err(e) => Error::io(&self.name, e),
        })?;
        if at_end {
            self.check_growth()?;
        }
        Ok(read)
    }

    /// Removes the next `n` bytes, and returns them with their position in the text.
    fn pass(&mut self, n: usize) -> (Chunk, usize) {
        self.digest();
        self.text.drain(..self.consumed);
        self.base += self.consumed as u64;
        self.consumed = 0;
        self.hashed = 0;
        let (chunk, start) = (self.cutter.take(n), self.text.len());
        self.text.extend_from_slice(&chunk.bytes);
        (chunk, start)
    }

    /// Splits the text that was read into records, and returns whether anything was done.
    fn cut(&mut self, more: More) -> Result<bool, Error> {
        if self.overlong.is_some() {
            return Ok(self.pass_overlong(more));
        }
        if self.head.is_none() && !self.find_layout(more)? {
            return Ok(false);
        }
        if self.columns.is_empty() {
            return self.find_columns(more);
        }
        let Some(n) = self.cutter.whole(more == More::Never) else {
            return Ok(self.cut_bad(more));
        };
        let (chunk, offset) = self.pass(n);
        let separator = self.separator();
        let mut taker = Fields {
            name: &self.name,
            columns: &self.columns,
            separator,
            rows: self.rows,
            bytes: &chunk.bytes,
            offset,
            start: 0,
            end: 0,
            cuts: &mut self.ready,
        };
        let Ok(()) = chunk.span().each_record(separator, &mut taker);
        Ok(true)
    }

    /// The field separator; a comma until it is detected.
    pub fn separator(&self) -> u8 {
        self.cutter.separator()
    }

    /// Takes the first line as a bad record if it can no longer become part of a complete one.
    fn cut_bad(&mut self, more: More) -> bool {
        let left = self.cutter.bytes();
        let is_long = self.cutter.is_full();
        if left.is_empty() || !(is_long || more == More::Never) {
            return false;
        }
        let line_end = memchr(b'\n', left).map(|at| at + 1);
        if is_long && line_end.is_none() {
            let most = grouped(MOST_RECORD_BYTES);
            let reason = format!("the row is longer than {most} bytes; shorten it");
            let bad = BadRecord::new(left, reason);
            let before = self.here();
            self.ends_open = false;
            self.overlong = Some(Overlong { bad, before });
            return true;
        }
        let state = match is_long {
            true => format!("not closed within {} bytes", grouped(MOST_RECORD_BYTES)),
            false => "never closed".into(),
        };
        let reason = format!(
            "a quote opens a field here and is {state}; close it, or put the field in quotes and double \
             each quote inside it"
        );
        let (line, _) = self.pass(line_end.unwrap_or(left.len()));
        let bad = BadRecord::new(&line.bytes, reason);
        self.push_bad(&line, bad);
        true
    }

    /// Adds a line as a bad record.
    fn push_bad(&mut self, line: &Chunk, bad: BadRecord) {
        self.ready.push_back(Cut {
            line: line.first_line,
            fields: Err(bad),
            end: self.text.len(),
        });
    }

    /// Discards the bytes of an overlong line, and returns whether anything was done.
    fn pass_overlong(&mut self, more: More) -> bool {
        let left = self.cutter.bytes();
        let line_end = memchr(b'\n', left).map(|at| at + 1);
        let is_over = line_end.is_some() || more == More::Never;
        let (line, _) = self.pass(line_end.unwrap_or(left.len()));
        match self.overlong.take_if(|_| is_over) {
            Some(overlong) => self.push_bad(&line, overlong.bad),
            None => self.consumed = self.text.len(),
        }
        is_over
    }

    /// Examines the start of the text, and returns whether that was possible.
    fn find_layout(&mut self, more: More) -> Result<bool, Error> {
        let text = self.cutter.bytes();
        let bom = if text.starts_with(b"\xef\xbb\xbf") {
            3
        } else {
            0
        };
        let starts_plain = |byte: &u8| !matches!(byte, b'|' | b'#');
        let plain = text.get(bom).is_some_and(starts_plain);
        let named = self.options.separator.filter(|_| plain && text.len() >= 4);
        let whole_lines = memrchr(b'\n', text).map_or(0, |i| i + 1);
        let second_line = memchr_iter(b'\n', text).nth(1).map(|i| i + 1);
        let sample = match more {
            _ if named.is_some() => text,
            _ if self.by_first_lines => match second_line {
                Some(end) => &text[..end],
                None if more == More::Never || self.cutter.is_full() => text,
                None => return Ok(false),
            },
            _ if text.len() >= sniff::SAMPLE => &text[..sniff::SAMPLE],
            More::Later if whole_lines > 0 => &text[..whole_lines],
            More::Never if !text.is_empty() => text,
            _ => return Ok(false),
        };
        if let Some(reason) = sniff::not_text(sample) {
            return Err(Error::NotATable {
                file: self.name.clone(),
                reason: reason.into(),
            });
        }
        let (separator, head) = match named {
            Some(separator) => (separator, bom),
            None => {
                let layout = sniff::layout(sample, self.options.separator);
                (layout.separator, layout.skip_bytes)
            }
        };
        self.begin(separator, head);
        Ok(true)
    }

    /// Starts the table after this many bytes.
    fn begin(&mut self, separator: u8, head: usize) {
        self.head = Some(head);
        self.pass(head);
        self.cutter.set_separator(separator);
    }

    /// Finds the columns in the first record, and returns whether anything was done.
    fn find_columns(&mut self, more: More) -> Result<bool, Error> {
        let Some(n) = self.cutter.whole(more == More::Never) else {
            let is_over = more == More::Never && !self.cutter.bytes().is_empty();
            return match is_over || self.cutter.is_full() {
                true => Err(Error::UnclosedQuote {
                    file: self.name.clone(),
                    line: self.cutter.span(0).first_line,
                }),
                false => Ok(false),
            };
        };
        let Some((first, end)) = first_record(self.cutter.span(n), self.separator()) else {
            // Only blank lines.
            self.pass(n);
            return Ok(true);
        };
        let (names, is_data) =
            column_names(&self.name, &self.options, &first, &mut self.diagnostics)?;
        self.columns = unique_names(&self.name, number_unnamed(names), &mut self.diagnostics);
        if !is_data {
            self.pass(end);
        }
        Ok(true)
    }
}
