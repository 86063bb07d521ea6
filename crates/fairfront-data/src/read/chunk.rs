//! CSV text in chunks of whole records, and the records of a chunk.
//!
//! A chunk without quotes (nearly all of them) is cut at line ends and separators; one with quotes
//! goes through the `csv` crate.

use std::io::{self, Read};

use memchr::{memchr, memchr_iter, memchr2_iter, memrchr};

/// Whole records, as bytes.
pub(super) struct Chunk {
    bytes: Vec<u8>,
    /// Line of the first byte, from 1.
    first_line: u64,
}

/// The same, where the bytes are someone else's.
#[derive(Clone, Copy)]
pub(super) struct Span<'a> {
    pub(super) bytes: &'a [u8],
    /// Line of the first byte, from 1.
    pub(super) first_line: u64,
}

/// A record with more bytes than this is an error: it would have to be in memory as a whole.
pub const LONGEST_RECORD: usize = 16 << 20;

/// Why there is no next chunk.
#[derive(Debug)]
pub(super) enum ChunkError {
    Io(io::Error),
    /// The line on which a quoted field opens that does not end.
    UnclosedQuote(u64),
    /// A record of more than [`LONGEST_RECORD`] bytes, with the line on which it starts.
    TooLong(u64, LongRecord),
}

/// Why a record may be as long as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LongRecord {
    /// It has no line end.
    Plain,
    /// A quote opens a field on this line and is not closed.
    OpenQuote(u64),
    /// It has carriage returns, and line feeds end records.
    Returns,
}

/// Cuts an input into chunks that end where a record ends.
pub(super) struct Chunks<R> {
    input: R,
    separator: u8,
    /// What was read beyond the last chunk.
    rest: Vec<u8>,
    at_end: bool,
    line: u64,
    /// Why nothing follows the chunks that were handed out.
    failed: Option<ChunkError>,
}

impl<R: Read> Chunks<R> {
    pub(super) fn new(input: R, separator: u8, first_line: u64) -> Self {
        Self {
            input,
            separator,
            rest: Vec::new(),
            at_end: false,
            line: first_line,
            failed: None,
        }
    }

    /// The next chunk of about `size` bytes, more where a record is longer; `None` at the end.
    pub(super) fn next(&mut self, size: usize) -> Result<Option<Chunk>, ChunkError> {
        let mut bytes = std::mem::take(&mut self.rest);
        loop {
            if !self.at_end {
                // Doubling keeps the work linear when a record does not end.
                let room = (LONGEST_RECORD + 1).saturating_sub(bytes.len());
                if room == 0 {
                    return Err(self.too_long(&bytes));
                }
                let wanted = size.max(bytes.len()).min(room);
                bytes.reserve(wanted + 1);
                let got = (&mut self.input)
                    .take(wanted as u64)
                    .read_to_end(&mut bytes)
                    .map_err(ChunkError::Io)?;
                self.at_end = got < wanted;
            }
            if bytes.is_empty() {
                return Ok(None);
            }
            let has_quotes = memchr(b'"', &bytes).is_some();
            let end = match (self.at_end, has_quotes) {
                (true, true) => {
                    let open = Quotes::new(self.separator).open_field(&bytes);
                    if let Some(at) = open {
                        let before = memchr_iter(b'\n', &bytes[..at]).count() as u64;
                        return Err(ChunkError::UnclosedQuote(self.line + before));
                    }
                    Some(bytes.len())
                }
                (true, false) => Some(bytes.len()),
                (false, true) => Quotes::new(self.separator).last_record_end(&bytes),
                (false, false) => memrchr(b'\n', &bytes).map(|i| i + 1),
            };
            if let Some(end) = end {
                self.rest = bytes.split_off(end);
                let chunk = Chunk {
                    first_line: self.line,
                    bytes,
                };
                self.line += memchr_iter(b'\n', &chunk.bytes).count() as u64;
                return Ok(Some(chunk));
            }
        }
    }

    /// The error for a record that these bytes are the start of.
    fn too_long(&self, bytes: &[u8]) -> ChunkError {
        let open = Quotes::new(self.separator).open_field(bytes);
        let why = match open {
            Some(at) => {
                let before = memchr_iter(b'\n', &bytes[..at]).count() as u64;
                LongRecord::OpenQuote(self.line + before)
            }
            None if has_lone_return(bytes) => LongRecord::Returns,
            None => LongRecord::Plain,
        };
        ChunkError::TooLong(self.line, why)
    }

    /// Up to `n` chunks of about `size` bytes, fewer if some are larger; none at the end. An error comes
    /// after the chunks before it.
    pub(super) fn several(&mut self, n: usize, size: usize) -> Result<Vec<Chunk>, ChunkError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let mut chunks = Vec::new();
        let mut n_bytes = 0;
        while chunks.len() < n && n_bytes < n * size {
            match self.next(size) {
                Ok(None) => break,
                Ok(Some(chunk)) => {
                    n_bytes += chunk.bytes.len();
                    chunks.push(chunk);
                }
                Err(error) if chunks.is_empty() => return Err(error),
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        Ok(chunks)
    }
}

/// One record: its fields by position.
pub(super) trait Record {
    fn n_fields(&self) -> usize;
    fn field(&self, index: usize) -> &[u8];
}

impl Record for csv::ByteRecord {
    fn n_fields(&self) -> usize {
        self.len()
    }

    fn field(&self, index: usize) -> &[u8] {
        &self[index]
    }
}

/// A line cut at its separators: where each field starts and ends in the chunk.
struct Line<'a> {
    bytes: &'a [u8],
    fields: &'a [(usize, usize)],
}

impl Record for Line<'_> {
    fn n_fields(&self) -> usize {
        self.fields.len()
    }

    fn field(&self, index: usize) -> &[u8] {
        let (start, end) = self.fields[index];
        &self.bytes[start..end]
    }
}

/// Takes the records of a chunk one after the other, each with its line.
pub(super) trait TakeRecord {
    type Error;
    /// Whether it wants to know of blank lines.
    const BLANKS: bool = false;
    /// Hears of a line of nothing but white space between records.
    fn blank(&mut self, _line: u64) {}
    /// Whether it wants to know where records end.
    const ENDS: bool = false;
    /// Hears where the record that it is about to take ends, one past its line end.
    fn end(&mut self, _end: usize) {}
    fn take(&mut self, record: &impl Record, line: u64) -> Result<(), Self::Error>;
}

impl Chunk {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn span(&self) -> Span<'_> {
        Span {
            bytes: &self.bytes,
            first_line: self.first_line,
        }
    }

    /// Hands every record to `taker`; lines of nothing but white space are no records.
    pub(super) fn each_record<T: TakeRecord>(
        &self,
        separator: u8,
        taker: &mut T,
    ) -> Result<(), T::Error> {
        self.span().each_record(separator, taker)
    }
}

impl Span<'_> {
    /// Hands every record to `taker`; lines of nothing but white space are no records.
    pub(super) fn each_record<T: TakeRecord>(
        &self,
        separator: u8,
        taker: &mut T,
    ) -> Result<(), T::Error> {
        if memchr(b'"', self.bytes).is_some() || has_lone_return(self.bytes) {
            self.each_quoted(separator, taker)
        } else {
            self.each_plain(separator, taker)
        }
    }

    fn each_plain<T: TakeRecord>(&self, separator: u8, taker: &mut T) -> Result<(), T::Error> {
        let bytes = self.bytes;
        let mut fields: Vec<(usize, usize)> = Vec::new();
        let mut start = 0;
        let mut line = self.first_line;
        let last_line_end = (bytes.last() != Some(&b'\n')).then_some(bytes.len());
        for at in memchr2_iter(separator, b'\n', bytes).chain(last_line_end) {
            fields.push((start, at));
            start = at + 1;
            if at < bytes.len() && bytes[at] == separator {
                continue;
            }
            let record = Line {
                bytes,
                fields: &fields,
            };
            match is_blank(&record) {
                true => taker.blank(line),
                false => {
                    taker.end(start.min(bytes.len()));
                    taker.take(&record, line)?;
                }
            }
            fields.clear();
            line += 1;
        }
        Ok(())
    }

    fn each_quoted<T: TakeRecord>(&self, separator: u8, taker: &mut T) -> Result<(), T::Error> {
        let (text, spaces) = Quotes::new(separator).without_spaces(self.bytes);
        // The `csv` crate drops a byte order mark at the start of its input, and this is the start of
        // a chunk. A mark that arrives in two pieces stays.
        let (first, rest) = text.split_at(text.len().min(1));
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(separator)
            .has_headers(false)
            .flexible(true)
            .from_reader(first.chain(rest));
        let mut blanks = match T::BLANKS {
            true => Quotes::new(separator).blank_lines(&text),
            false => Vec::new(),
        }
        .into_iter()
        .map(|line| self.first_line + line)
        .peekable();
        let mut record = csv::ByteRecord::new();
        let mut spaces = spaces.into_iter().peekable();
        let mut n_spaces = 0;
        // Reading from memory, into bytes, with any number of fields, cannot fail.
        while let Ok(true) = reader.read_byte_record(&mut record) {
            let (line, byte) = record
                .position()
                .map_or((1, 0), |p| (p.line(), p.byte() as usize));
            // The parser's position is before the empty lines that it passes over.
            let ends = text[byte..]
                .iter()
                .take_while(|b| matches!(b, b'\n' | b'\r'));
            let empty = ends.filter(|b| **b == b'\n').count() as u64;
            let line = self.first_line + line - 1 + empty;
            while let Some(blank) = blanks.next_if(|blank| *blank < line) {
                taker.blank(blank);
            }
            if T::ENDS {
                let kept_end = reader.position().byte() as usize;
                while spaces.next_if(|at| *at < kept_end).is_some() {
                    n_spaces += 1;
                }
                let end = kept_end + n_spaces;
                let (before, behind) = self.bytes.split_at(end);
                taker.end(match before.last() {
                    // The parser stops between a carriage return and its line feed.
                    Some(b'\r') if behind.starts_with(b"\n") => end + 1,
                    Some(b'\r' | b'\n') => end,
                    // No line end: spaces behind it are part of the last record.
                    _ => self.bytes.len(),
                });
            }
            match is_blank(&record) {
                true => taker.blank(line),
                false => taker.take(&record, line)?,
            }
        }
        blanks.for_each(|line| taker.blank(line));
        Ok(())
    }
}

fn is_blank(record: &impl Record) -> bool {
    record.n_fields() == 1 && record.field(0).trim_ascii().is_empty()
}

/// Whether a carriage return ends a line by itself, as on very old machines.
fn has_lone_return(bytes: &[u8]) -> bool {
    memchr_iter(b'\r', bytes).any(|i| bytes.get(i + 1).is_some_and(|next| *next != b'\n'))
}

/// Follows quoted fields the way the `csv` crate reads them: a quote opens a field only at its
/// start, and two of them inside stand for one.
struct Quotes {
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

impl Quotes {
    fn new(separator: u8) -> Self {
        Self {
            separator,
            state: FieldState::Start,
        }
    }

    /// Whether this byte is passed over at the start of a field.
    fn skips(&self, byte: u8) -> bool {
        byte == b' ' && self.separator != b' '
    }

    /// Moves on by one byte.
    fn step(&mut self, byte: u8) {
        let ends_field = byte == self.separator || byte == b'\n' || byte == b'\r';
        self.state = match self.state {
            // Spaces before a quote are passed over.
            FieldState::Start if self.skips(byte) => FieldState::Start,
            FieldState::Start | FieldState::Quote if byte == b'"' => FieldState::Quoted,
            FieldState::Quoted if byte == b'"' => FieldState::Quote,
            FieldState::Quoted => FieldState::Quoted,
            _ if ends_field => FieldState::Start,
            _ => FieldState::Plain,
        };
    }

    /// One past the last line end that is not inside quotes.
    fn last_record_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut end = None;
        for (i, &byte) in bytes.iter().enumerate() {
            self.step(byte);
            if byte == b'\n' && self.state == FieldState::Start {
                end = Some(i + 1);
            }
        }
        end
    }

    /// Where a quoted field opens that is still open at the end.
    fn open_field(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut opened = 0;
        for (i, &byte) in bytes.iter().enumerate() {
            let before = self.state;
            self.step(byte);
            if self.state == FieldState::Quoted && before == FieldState::Start {
                opened = i;
            }
        }
        (self.state == FieldState::Quoted).then_some(opened)
    }

    /// The lines, from 0, that are not inside quotes and hold nothing but white space.
    fn blank_lines(&mut self, bytes: &[u8]) -> Vec<u64> {
        let mut blanks = Vec::new();
        let mut line = 0;
        let mut empty = true;
        for &byte in bytes {
            self.step(byte);
            if byte == b'\n' {
                if empty && self.state == FieldState::Start {
                    blanks.push(line);
                }
                line += 1;
                empty = true;
            } else {
                empty &= byte.is_ascii_whitespace() && self.state != FieldState::Quoted;
            }
        }
        blanks
    }

    /// The bytes without the spaces after a separator, so that a quote behind them still opens a
    /// quoted field (`a, "b, c"`), which the `csv` crate itself does not allow for; and for each
    /// space the number of bytes kept before it.
    fn without_spaces(&mut self, bytes: &[u8]) -> (Vec<u8>, Vec<usize>) {
        let mut kept = Vec::with_capacity(bytes.len());
        let mut spaces = Vec::new();
        for &byte in bytes {
            let skipped = self.state == FieldState::Start && self.skips(byte);
            self.step(byte);
            match skipped {
                true => spaces.push(kept.len()),
                false => kept.push(byte),
            }
        }
        (kept, spaces)
    }
}

/// Looks for the ends of records in bytes that grow; each byte is looked at once.
pub(super) struct Scan {
    quotes: Quotes,
    /// Bytes looked at.
    at: usize,
    /// Whether the last of them is a carriage return outside quotes.
    after_return: bool,
    /// One past the line end of the last record that is complete.
    pub(super) end: Option<usize>,
}

impl Scan {
    pub(super) fn new(separator: u8) -> Self {
        Self {
            quotes: Quotes::new(separator),
            at: 0,
            after_return: false,
            end: None,
        }
    }

    /// Looks at what is new in the bytes.
    pub(super) fn look(&mut self, bytes: &[u8]) {
        let mut from = self.at;
        self.at = bytes.len();
        let new = &bytes[from..];
        let in_quotes = matches!(self.quotes.state, FieldState::Quoted | FieldState::Quote);
        let is_plain = !in_quotes
            && !self.after_return
            && memchr(b'"', new).is_none()
            && !has_lone_return(new);
        if is_plain && let Some(last) = memrchr(b'\n', new) {
            from += last + 1;
            self.end = Some(from);
            self.quotes.state = FieldState::Start;
        }
        for (i, &byte) in bytes.iter().enumerate().skip(from) {
            if self.after_return && byte != b'\n' {
                self.end = Some(i);
            }
            self.quotes.step(byte);
            let outside = self.quotes.state == FieldState::Start;
            if byte == b'\n' && outside {
                self.end = Some(i + 1);
            }
            self.after_return = byte == b'\r' && outside;
        }
    }

    /// Whether a quoted field is open at the end of what was looked at.
    pub(super) fn is_open(&self) -> bool {
        self.quotes.state == FieldState::Quoted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Default)]
    struct Collect(Vec<(u64, Vec<String>)>);

    impl TakeRecord for Collect {
        type Error = std::convert::Infallible;

        fn take(&mut self, record: &impl Record, line: u64) -> Result<(), Self::Error> {
            let field = |i| String::from_utf8_lossy(record.field(i).trim_ascii()).into_owned();
            self.0
                .push((line, (0..record.n_fields()).map(field).collect()));
            Ok(())
        }
    }

    /// The records with their lines, or the line of a quote that is never closed.
    fn try_records(text: &str, size: usize) -> Result<Vec<(u64, Vec<String>)>, u64> {
        let mut chunks = Chunks::new(text.as_bytes(), b',', 1);
        let mut found = Collect::default();
        loop {
            match chunks.next(size) {
                Ok(Some(chunk)) => assert!(chunk.each_record(b',', &mut found).is_ok()),
                Ok(None) => return Ok(found.0),
                Err(ChunkError::UnclosedQuote(line)) => return Err(line),
                Err(other) => panic!("{other:?}"),
            }
        }
    }

    fn records(text: &str, size: usize) -> Vec<(u64, Vec<String>)> {
        try_records(text, size).unwrap()
    }

    fn fields(text: &str) -> Vec<Vec<String>> {
        records(text, 1 << 20)
            .into_iter()
            .map(|(_, fields)| fields)
            .collect()
    }

    #[test]
    fn quotes_spaces_and_line_ends() {
        assert_eq!(fields("a, b ,c\r\n1,,3"), [["a", "b", "c"], ["1", "", "3"]]);
        assert_eq!(
            fields("a, \"b, c\"\n\"d\"\"e\",f\n"),
            [["a", "b, c"], ["d\"e", "f"]]
        );
        assert_eq!(fields("5\" pipe,x\ny,z\n"), [["5\" pipe", "x"], ["y", "z"]]);
        assert_eq!(fields("a,b\rc,d\r"), [["a", "b"], ["c", "d"]]);
        assert_eq!(fields("\n  \na,b\n\n"), [["a", "b"]]);
        assert!(fields("").is_empty());
    }

    #[test]
    fn lines_are_counted_through_quotes_and_blanks() {
        let text = "a,b\n\n\"x\ny\",2\n3,4\n";
        let lines: Vec<u64> = records(text, 4).into_iter().map(|(line, _)| line).collect();
        assert_eq!(lines, [1, 3, 5]);
    }

    #[test]
    fn an_open_quote_is_found_with_its_line() {
        assert_eq!(try_records("a,b\n1,\"2\n3,4\n", 3), Err(2));
        assert_eq!(try_records("a,\"b\n", 3), Err(1));
        assert_eq!(try_records("a,\"b\"\n\"c\nd\",\"e", 3), Err(3));
        assert!(try_records("a,5\" pipe", 3).is_ok());
    }

    #[test]
    fn a_record_has_a_longest_length() {
        let cut = |text: &str, size: usize| -> Result<usize, ChunkError> {
            let mut chunks = Chunks::new(text.as_bytes(), b',', 1);
            let mut n = 0;
            while let Some(chunk) = chunks.next(size)? {
                n += chunk.bytes.len();
            }
            Ok(n)
        };
        let longest = "x".repeat(LONGEST_RECORD);
        for size in [1 << 10, 1 << 18] {
            for end in ["", "\n", "\na,b\n"] {
                let text = format!("a,b\n{longest}{end}");
                assert_eq!(cut(&text, size).unwrap(), text.len());
            }
            for (text, why) in [
                (format!("a,b\n{longest}x\n"), LongRecord::Plain),
                (format!("a,b\n1,\"{longest}\n"), LongRecord::OpenQuote(2)),
                (format!("a,b\nc\rd{longest}\n"), LongRecord::Returns),
            ] {
                match cut(&text, size) {
                    Err(ChunkError::TooLong(2, found)) => assert_eq!(found, why),
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    #[test]
    fn an_error_comes_after_the_chunks_before_it() {
        let text = "a,b\nc,d\n\"e";
        let mut chunks = Chunks::new(text.as_bytes(), b',', 1);
        assert_eq!(chunks.several(9, 4).unwrap().len(), 2);
        assert!(matches!(
            chunks.several(9, 4),
            Err(ChunkError::UnclosedQuote(3))
        ));
    }

    #[test]
    fn blank_lines_are_told_where_they_are_wanted() {
        #[derive(Default)]
        struct Blanks(Vec<u64>);
        impl TakeRecord for Blanks {
            type Error = std::convert::Infallible;
            const BLANKS: bool = true;
            fn blank(&mut self, line: u64) {
                self.0.push(line);
            }
            fn take(&mut self, _: &impl Record, _: u64) -> Result<(), Self::Error> {
                Ok(())
            }
        }
        let blanks = |text: &str| {
            let chunk = Chunk {
                bytes: text.into(),
                first_line: 1,
            };
            let mut found = Blanks::default();
            assert!(chunk.each_record(b',', &mut found).is_ok());
            found.0.dedup();
            found.0
        };
        assert_eq!(blanks("a,b\n\n1,2\n \n"), [2, 4]);
        assert_eq!(blanks("a,b\r\n\r\n1,2\r\n"), [2]);
        assert_eq!(blanks("a,\"b\"\n\n1,\"2\n\n3\"\n  \n4,5\n\n"), [2, 6, 8]);
        assert_eq!(blanks("a,\"b\"\r\n\r\n1,\"2\"\r\n"), [2]);
        assert!(blanks("a,\"b\"\r\n1,\"2\"\r\n").is_empty());
    }

    proptest! {
        #[test]
        fn chunk_size_changes_nothing(text in "[ab\", \r\n]{0,200}", size in 1_usize..50) {
            let whole = try_records(&text, 1 << 20);
            prop_assert_eq!(try_records(&text, size), whole);
        }

        #[test]
        fn plain_lines_are_read_as_the_csv_crate_reads_them(text in "[ab, \n]{0,200}") {
            let chunk = Chunk { bytes: text.clone().into_bytes(), first_line: 1 };
            let (mut plain, mut quoted) = (Collect::default(), Collect::default());
            prop_assert!(chunk.span().each_plain(b',', &mut plain).is_ok());
            prop_assert!(chunk.span().each_quoted(b',', &mut quoted).is_ok());
            prop_assert_eq!(plain.0, quoted.0);
        }
    }
}
