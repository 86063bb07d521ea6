//! CSV text that arrives bit by bit, cut into records.

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
use crate::table::Notice;

/// A record with more bytes than this is a bad one.
pub const MOST_RECORD_BYTES: usize = 1 << 20;
/// Bytes asked of the input at a time.
const READ: usize = 1 << 16;

/// Cuts CSV text into records while it arrives.
///
/// The rules are those of [`read_table`](crate::read_table): the separator is found by looking,
/// blank lines are no records, a byte order mark and comment lines before the table are passed
/// over. A `read` of the input that gives nothing means "nothing more for now"; it may be asked again.
///
/// The separator is found in the first 65,536 bytes, or in as many as there are when the input first
/// gives nothing ([`Records::by_first_lines`] where that must not matter). Where one is named and the text does not start with `|` or `#`, nothing is waited for.
///
/// A record of more than [`MOST_RECORD_BYTES`], or whose last field is still in quotes at the end of
/// the text, spoils its first line alone: that line is a bad record, and the next record starts
/// behind it.
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
/// // The last one may still grow, until the text is known to be over.
/// assert!(records.next()?.is_none());
/// assert_eq!(records.rest()?.expect("a record").row, 3);
/// # Ok::<(), fairfront_data::Error>(())
/// ```
pub struct Records<R> {
    name: String,
    options: ReadOptions,
    cutter: Cutter<R>,
    /// Bytes before the table, once they are known.
    head: Option<usize>,
    /// Whether the first two lines alone say how fields are separated.
    by_first_lines: bool,
    columns: Vec<String>,
    notices: Vec<Notice>,
    /// Text that is cut, from byte `base` on.
    text: Vec<u8>,
    base: u64,
    /// Where in the text the last record handed out ends, and how much of it is hashed.
    consumed: usize,
    hashed: usize,
    hash: Sha256,
    ends_open: bool,
    rows: u64,
    ready: VecDeque<Cut>,
    /// A record without a line end whose bytes are let go while they arrive.
    overlong: Option<Overlong>,
}

struct Overlong {
    bad: BadRecord,
    /// Where the last record before it ended.
    before: Position,
}

/// Whether more text follows the text that was read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum More {
    /// It may be had by reading.
    Likely,
    /// Not for now.
    Later,
    /// There is none.
    Never,
}

impl<R: Read> Records<R> {
    /// Records of a text; `name` is what messages call it.
    pub fn new(name: &str, input: R, options: &ReadOptions) -> Self {
        Self {
            name: name.into(),
            options: options.clone(),
            cutter: Cutter::new(input, b',', 1, MOST_RECORD_BYTES),
            head: None,
            by_first_lines: false,
            columns: Vec::new(),
            notices: Vec::new(),
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

    /// Finds the separator by the first two lines alone: for a text that arrives while it is read,
    /// where how much of it is there at first must not matter.
    #[must_use]
    pub fn by_first_lines(self) -> Self {
        Self {
            by_first_lines: true,
            ..self
        }
    }

    /// What messages call the text.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the columns, unique; none before the first record was asked for.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// What was decided about the names of the columns.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The next record whose line end has arrived; `None` where there is none for now.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator that is over cannot go on later"
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

    /// The next record where nothing more will arrive: what [`Records::next`] gives, then the one
    /// that no line end follows, then `None`.
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

    /// How far the text was read: to the end of the last record handed out.
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

    /// Goes on where an earlier reader of the same text stopped. The text up to there is read again
    /// and must be the same.
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
                "its first {} bytes of text are not those that were read before; give the file as it \
                 was, with rows added at its end only, or start a new state",
                grouped(position.bytes as usize)
            )));
        }
        self.check_growth()
    }

    /// Reads some more of a text that was read up to this position before.
    fn fill_again(&mut self, position: &Position) -> Result<(), Error> {
        match self.fill()? {
            0 => Err(self.too_short(position)),
            _ => Ok(()),
        }
    }

    fn too_short(&self, position: &Position) -> Error {
        self.changed(format!(
            "it has {} bytes of text, but {} were read before; give the file as it was, with \
             rows added at its end only, or start a new state",
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

    /// A record that was taken without its line end must not have been longer than it was.
    fn check_growth(&self) -> Result<(), Error> {
        match self.cutter.bytes().first() {
            Some(byte) if self.ends_open && !matches!(byte, b'\n' | b'\r') => {
                Err(self.changed(format!(
                    "row {} was read without a line end, and more text follows on its line now; a row \
                     must be whole before it is read: end rows with a line end, and start a new state",
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

    /// Hashes the records that were handed out.
    fn digest(&mut self) {
        self.hash.update(&self.text[self.hashed..self.consumed]);
        self.hashed = self.consumed;
    }

    /// Bytes of the text that are cut.
    fn n_cut(&self) -> u64 {
        self.base + self.text.len() as u64
    }

    /// Reads some more; 0 where there is nothing for now.
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

    /// Cuts the next `n` bytes off; returns them, and where in the text they start.
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

    /// Cuts the text that was read into records; whether anything was done.
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

    /// The field separator; a comma until it is found.
    pub fn separator(&self) -> u8 {
        self.cutter.separator()
    }

    /// A first line that belongs to no complete record, where none can come any more.
    fn cut_bad(&mut self, more: More) -> bool {
        let left = self.cutter.bytes();
        let is_long = self.cutter.is_full();
        if left.is_empty() || !(is_long || more == More::Never) {
            return false;
        }
        let line_end = memchr(b'\n', left).map(|at| at + 1);
        if is_long && line_end.is_none() {
            let most = grouped(MOST_RECORD_BYTES);
            let reason = format!("the row is longer than {most} bytes; fix it");
            let bad = BadRecord::new(left, reason);
            let before = self.here();
            self.ends_open = false;
            self.overlong = Some(Overlong { bad, before });
            return true;
        }
        let what = match is_long {
            true => format!("not closed within {} bytes", grouped(MOST_RECORD_BYTES)),
            false => "never closed".into(),
        };
        let reason = format!(
            "a quote opens a field here and is {what}; close it, or write the field in quotes and each \
             quote inside it twice"
        );
        let (line, _) = self.pass(line_end.unwrap_or(left.len()));
        let bad = BadRecord::new(&line.bytes, reason);
        self.push_bad(&line, bad);
        true
    }

    /// A line that was cut off is a bad record.
    fn push_bad(&mut self, line: &Chunk, bad: BadRecord) {
        self.ready.push_back(Cut {
            line: line.first_line,
            fields: Err(bad),
            end: self.text.len(),
        });
    }

    /// Lets go of the bytes of an overlong line; whether anything was done.
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

    /// Looks at the start of the text; whether that could be done.
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

    /// The table starts after so many bytes.
    fn begin(&mut self, separator: u8, head: usize) {
        self.head = Some(head);
        self.pass(head);
        self.cutter.set_separator(separator);
    }

    /// Finds the columns in the first record; whether anything was done.
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
            // Nothing but blank lines.
            self.pass(n);
            return Ok(true);
        };
        let (names, is_data) = column_names(&self.name, &self.options, &first, &mut self.notices)?;
        self.columns = unique_names(&self.name, number_unnamed(names), &mut self.notices);
        if !is_data {
            self.pass(end);
        }
        Ok(true)
    }
}
