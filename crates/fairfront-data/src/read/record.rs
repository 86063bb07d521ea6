//! CSV text that arrives bit by bit, cut into records.

use std::collections::VecDeque;
use std::io::Read;

use fairfront_core::{grouped, hex};
use memchr::{memchr, memchr_iter};
use sha2::{Digest, Sha256};

use super::chunk::{Scan, Span};
use super::csv::{column_names, first_of, number_unnamed};
use super::raw::{BadRecord, Cut, Fields, Position, RawRecord};
use super::sniff::{self, Layout};
use super::{ReadOptions, unique_names};
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
    input: R,
    options: ReadOptions,
    layout: Option<Layout>,
    /// Whether the first two lines alone say how fields are separated.
    by_first_lines: bool,
    columns: Vec<String>,
    notices: Vec<Notice>,
    /// Text from byte `base` on.
    buffer: Vec<u8>,
    base: u64,
    /// Where in the buffer the last record handed out ends, and how much of it is hashed.
    consumed: usize,
    hashed: usize,
    hash: Sha256,
    ends_open: bool,
    rows: u64,
    /// Where in the buffer the text starts that is not cut yet, and its line.
    cut: usize,
    line: u64,
    scan: Scan,
    ready: VecDeque<Cut>,
    /// A record without a line end whose bytes are let go while they arrive.
    overlong: Option<Overlong>,
}

struct Overlong {
    bad: BadRecord,
    /// Where the last record before it ended.
    before: Position,
}

/// What is known of the text behind what was read.
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
            input,
            options: options.clone(),
            layout: None,
            by_first_lines: false,
            columns: Vec::new(),
            notices: Vec::new(),
            buffer: Vec::new(),
            base: 0,
            consumed: 0,
            hashed: 0,
            hash: Sha256::new(),
            ends_open: false,
            rows: 0,
            cut: 0,
            line: 1,
            scan: Scan::new(b','),
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
        let layout = self.layout.as_ref();
        Position {
            rows: self.rows,
            bytes: self.base + self.consumed as u64,
            sha256: hex(&self.hash.clone().finalize()),
            ends_open: self.ends_open,
            separator: layout.map_or(b',', |l| l.separator),
            head: layout.map_or(0, |l| l.skip_bytes as u64),
        }
    }

    /// Goes on where an earlier reader of the same text stopped. The text up to there is read again
    /// and must be the same.
    pub fn resume(&mut self, position: &Position) -> Result<(), Error> {
        if position.bytes == 0 {
            return Ok(());
        }
        let too_short = |records: &Self| {
            records.changed(format!(
                "it has {} bytes of text, but {} were read before; give the file as it was, with \
                 rows added at its end only, or start a new state",
                grouped(records.buffer.len() + records.base as usize),
                grouped(position.bytes as usize)
            ))
        };
        // Nothing is consumed yet, so that the start of the text stays at hand.
        while self.buffer.len() as u64 <= position.head {
            if self.fill()? == 0 {
                return Err(too_short(self));
            }
        }
        let head = position.head as usize;
        let skip_lines = memchr_iter(b'\n', &self.buffer[..head]).count() as u64;
        self.begin(Layout {
            separator: position.separator,
            skip_bytes: head,
            skip_lines,
        });
        while self.columns.is_empty() && !self.find_columns(More::Likely)? {
            if self.fill()? == 0 {
                let whole = self.base + self.buffer.len() as u64 >= position.bytes;
                if !(whole && self.find_columns(More::Never)?) {
                    return Err(too_short(self));
                }
            }
        }
        loop {
            let left = (position.bytes - self.base).min(self.buffer.len() as u64) as usize;
            let passed = &self.buffer[self.cut.min(left)..left];
            self.line += memchr_iter(b'\n', passed).count() as u64;
            self.cut = left;
            self.consumed = left;
            if self.base + left as u64 == position.bytes {
                break;
            }
            if self.fill()? == 0 {
                return Err(too_short(self));
            }
        }
        self.rows = position.rows;
        self.ends_open = position.ends_open;
        self.scan = Scan::new(position.separator);
        if self.here().sha256 != position.sha256 {
            return Err(self.changed(format!(
                "its first {} bytes of text are not those that were read before; give the file as it \
                 was, with rows added at its end only, or start a new state",
                grouped(position.bytes as usize)
            )));
        }
        self.check_growth(self.consumed)
    }

    fn changed(&self, problem: String) -> Error {
        Error::Changed {
            file: self.name.clone(),
            problem: problem.into(),
        }
    }

    /// A record that was taken without its line end must not have been longer than it was.
    fn check_growth(&self, from: usize) -> Result<(), Error> {
        match self.buffer.get(from) {
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
        self.ends_open = !matches!(self.buffer[..cut.end].last(), Some(b'\n' | b'\r'));
        self.rows += 1;
        RawRecord {
            row: self.rows,
            line: cut.line,
            fields: cut.fields,
        }
    }

    /// Hashes what was handed out.
    fn digest(&mut self) {
        self.hash.update(&self.buffer[self.hashed..self.consumed]);
        self.hashed = self.consumed;
    }

    /// Reads some more; 0 where there is nothing for now.
    fn fill(&mut self) -> Result<usize, Error> {
        if self.ready.is_empty() && self.consumed > 0 {
            self.digest();
            self.buffer.drain(..self.consumed);
            self.base += self.consumed as u64;
            self.cut -= self.consumed;
            self.consumed = 0;
            self.hashed = 0;
        }
        let before = self.buffer.len();
        self.buffer.resize(before + READ, 0);
        let read = loop {
            match self.input.read(&mut self.buffer[before..]) {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer.truncate(before + *read.as_ref().unwrap_or(&0));
        let read = read.map_err(|e| match e.downcast::<Error>() {
            Ok(own) => own,
            Err(e) => Error::io(&self.name, e),
        })?;
        if before == self.consumed {
            self.check_growth(before)?;
        }
        Ok(read)
    }

    /// Cuts what there is into records; whether anything was done.
    fn cut(&mut self, more: More) -> Result<bool, Error> {
        if self.overlong.is_some() {
            return Ok(self.pass_overlong(more));
        }
        if self.layout.is_none() && !self.find_layout(more)? {
            return Ok(false);
        }
        if self.columns.is_empty() {
            return self.find_columns(more);
        }
        let Some(end) = self.complete(more) else {
            return Ok(self.cut_bad(more));
        };
        let mut taker = Fields {
            name: &self.name,
            columns: &self.columns,
            separator: self.separator(),
            rows: self.rows,
            bytes: &self.buffer,
            first: self.cut,
            start: self.cut,
            end: self.cut,
            cuts: &mut self.ready,
        };
        let span = Span {
            bytes: &self.buffer[self.cut..end],
            first_line: self.line,
        };
        let separator = taker.separator;
        let Ok(()) = span.each_record(separator, &mut taker);
        self.advance(end);
        Ok(true)
    }

    /// The field separator; a comma until it is found.
    pub fn separator(&self) -> u8 {
        self.layout.as_ref().map_or(b',', |l| l.separator)
    }

    /// Moves the start of what is not cut yet.
    fn advance(&mut self, to: usize) {
        self.line += memchr_iter(b'\n', &self.buffer[self.cut..to]).count() as u64;
        self.cut = to;
        self.scan = Scan::new(self.separator());
    }

    /// The end of the records that are complete, if there are any.
    fn complete(&mut self, more: More) -> Option<usize> {
        let left = &self.buffer[self.cut..];
        let window = &left[..left.len().min(MOST_RECORD_BYTES)];
        self.scan.look(window);
        let at_end = more == More::Never && left.len() == window.len() && !window.is_empty();
        let end = match self.scan.end {
            None if at_end && !self.scan.is_open() => Some(window.len()),
            end => end,
        };
        end.map(|end| self.cut + end)
    }

    /// A first line that belongs to no complete record, where none can come any more.
    fn cut_bad(&mut self, more: More) -> bool {
        let left = &self.buffer[self.cut..];
        let is_long = left.len() >= MOST_RECORD_BYTES;
        if left.is_empty() || !(is_long || more == More::Never) {
            return false;
        }
        let window = &left[..left.len().min(MOST_RECORD_BYTES)];
        let end = match memchr(b'\n', window) {
            Some(end) => end + 1,
            None if !is_long => window.len(),
            None => {
                let reason = format!(
                    "the row is longer than {} bytes; fix it",
                    grouped(MOST_RECORD_BYTES)
                );
                let bad = BadRecord::new(window, reason);
                let before = self.here();
                self.ends_open = false;
                self.overlong = Some(Overlong { bad, before });
                return true;
            }
        };
        let what = match is_long {
            true => format!("not closed within {} bytes", grouped(MOST_RECORD_BYTES)),
            false => "never closed".into(),
        };
        let reason = format!(
            "a quote opens a field here and is {what}; close it, or write the field in quotes and each \
             quote inside it twice"
        );
        let bad = BadRecord::new(&window[..end], reason);
        self.ready.push_back(Cut {
            line: self.line,
            fields: Err(bad),
            end: self.cut + end,
        });
        self.advance(self.cut + end);
        true
    }

    /// Lets go of the bytes of an overlong line; whether anything was done.
    fn pass_overlong(&mut self, more: More) -> bool {
        let left = &self.buffer[self.cut..];
        let end = memchr(b'\n', left).map(|i| i + 1);
        let end = end.or((more == More::Never).then_some(left.len()));
        match (end, self.overlong.take()) {
            (Some(end), Some(overlong)) => {
                self.ready.push_back(Cut {
                    line: self.line,
                    fields: Err(overlong.bad),
                    end: self.cut + end,
                });
                self.advance(self.cut + end);
                true
            }
            (_, overlong) => {
                self.overlong = overlong;
                self.cut = self.buffer.len();
                self.consumed = self.cut;
                false
            }
        }
    }

    /// Looks at the start of the text; whether that could be done.
    fn find_layout(&mut self, more: More) -> Result<bool, Error> {
        let bom = if self.buffer.starts_with(b"\xef\xbb\xbf") {
            3
        } else {
            0
        };
        let starts_plain = |byte: &u8| !matches!(byte, b'|' | b'#');
        let plain = self.buffer.get(bom).is_some_and(starts_plain);
        let named = self
            .options
            .separator
            .filter(|_| plain && self.buffer.len() >= 4);
        let whole_lines = memchr::memrchr(b'\n', &self.buffer).map_or(0, |i| i + 1);
        let second_line = memchr_iter(b'\n', &self.buffer).nth(1).map(|i| i + 1);
        let sample = match more {
            _ if named.is_some() => &self.buffer[..],
            More::Never if self.by_first_lines => {
                &self.buffer[..second_line.unwrap_or(self.buffer.len())]
            }
            _ if self.by_first_lines => match second_line {
                Some(end) => &self.buffer[..end],
                None => return Ok(false),
            },
            _ if self.buffer.len() >= sniff::SAMPLE => &self.buffer[..sniff::SAMPLE],
            More::Later if whole_lines > 0 => &self.buffer[..whole_lines],
            More::Never if !self.buffer.is_empty() => &self.buffer[..],
            _ => return Ok(false),
        };
        if let Some(reason) = sniff::not_text(sample) {
            return Err(Error::NotATable {
                file: self.name.clone(),
                reason: reason.into(),
            });
        }
        let layout = match named {
            Some(separator) => Layout {
                separator,
                skip_bytes: bom,
                skip_lines: 0,
            },
            None => sniff::layout(sample, self.options.separator),
        };
        self.begin(layout);
        Ok(true)
    }

    fn begin(&mut self, layout: Layout) {
        self.cut = layout.skip_bytes;
        self.line = layout.skip_lines + 1;
        self.scan = Scan::new(layout.separator);
        self.layout = Some(layout);
    }

    /// Finds the columns in the first record; whether anything was done.
    fn find_columns(&mut self, more: More) -> Result<bool, Error> {
        let Some(end) = self.complete(more) else {
            let left = self.buffer.len() - self.cut;
            if left >= MOST_RECORD_BYTES || (left > 0 && more == More::Never) {
                return Err(Error::UnclosedQuote {
                    file: self.name.clone(),
                    line: self.line,
                });
            }
            return Ok(false);
        };
        let span = Span {
            bytes: &self.buffer[self.cut..end],
            first_line: self.line,
        };
        let Some((first, first_end)) = first_of(span, self.separator()) else {
            // Nothing but blank lines.
            self.advance(end);
            return Ok(true);
        };
        let (names, is_data) = column_names(&self.name, &self.options, &first, &mut self.notices)?;
        self.columns = unique_names(&self.name, number_unnamed(names), &mut self.notices);
        let to = match is_data {
            true => self.cut,
            false => self.cut + first_end,
        };
        self.advance(to);
        Ok(true)
    }
}
