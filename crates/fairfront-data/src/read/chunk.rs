//! The records of a chunk of CSV text.
//!
//! A chunk without quotes (the usual case) is split at line ends and separators. A chunk with quotes is
//! parsed by the `csv` crate.

use std::io::Read;

use memchr::{memchr, memchr2_iter};

use super::quotes::{Quotes, has_lone_return};

/// Whole records, as bytes.
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    /// Line of the first byte, from 1.
    pub(super) first_line: u64,
}

/// Like [`Chunk`], with borrowed bytes.
#[derive(Clone, Copy)]
pub(super) struct Span<'a> {
    pub(super) bytes: &'a [u8],
    /// Line of the first byte, from 1.
    pub(super) first_line: u64,
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

/// A line split at its separators: the start and end of each field in the chunk.
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

/// Receives the records of a chunk one after the other, each with its line.
pub(super) trait TakeRecord {
    type Error;
    /// Whether to call `blank`.
    const BLANKS: bool = false;
    /// Receives the line of a blank line (only white space) between records.
    fn blank(&mut self, _line: u64) {}
    /// Whether to call `end`.
    const ENDS: bool = false;
    /// Receives the end of the next record, one byte after its line end.
    fn end(&mut self, _end: usize) {}
    fn take(&mut self, record: &impl Record, line: u64) -> Result<(), Self::Error>;
}

impl Chunk {
    pub(super) fn span(&self) -> Span<'_> {
        Span {
            bytes: &self.bytes,
            first_line: self.first_line,
        }
    }
}

impl Span<'_> {
    /// Passes every record to `taker`. Blank lines (only white space) are not records.
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
        // The `csv` crate drops a byte order mark at the start of its input, which here is the start of a
        // chunk. A mark that arrives in two pieces stays.
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
        // Reading from memory into bytes with any number of fields cannot fail.
        while let Ok(true) = reader.read_byte_record(&mut record) {
            let (line, byte) = record
                .position()
                .map_or((1, 0), |p| (p.line(), p.byte() as usize));
            // The parser's position is before the empty lines that it skips.
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
                let (before, after) = self.bytes.split_at(end);
                taker.end(match before.last() {
                    // The parser stops between a carriage return and its line feed.
                    Some(b'\r') if after.starts_with(b"\n") => end + 1,
                    Some(b'\r' | b'\n') => end,
                    // Without a line end, trailing spaces belong to the last record.
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

#[cfg(test)]
mod tests {
    use super::super::cutter::{ChunkError, Cutter};
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
        let mut chunks = Cutter::new(text.as_bytes(), b',', 1, 1 << 20);
        let mut found = Collect::default();
        loop {
            match chunks.next(size) {
                Ok(Some(chunk)) => assert!(chunk.span().each_record(b',', &mut found).is_ok()),
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
    fn open_quote_is_reported_with_its_line() {
        assert_eq!(try_records("a,b\n1,\"2\n3,4\n", 3), Err(2));
        assert_eq!(try_records("a,\"b\n", 3), Err(1));
        assert_eq!(try_records("a,\"b\"\n\"c\nd\",\"e", 3), Err(3));
        assert!(try_records("a,5\" pipe", 3).is_ok());
    }

    #[test]
    fn blank_lines_are_reported_on_request() {
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
            assert!(chunk.span().each_record(b',', &mut found).is_ok());
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
        fn chunk_size_does_not_change_records(text in "[ab\", \r\n]{0,200}", size in 1_usize..50) {
            let whole = try_records(&text, 1 << 20);
            prop_assert_eq!(try_records(&text, size), whole);
        }

        #[test]
        fn plain_lines_match_the_csv_crate(text in "[ab, \n]{0,200}") {
            let chunk = Chunk { bytes: text.clone().into_bytes(), first_line: 1 };
            let (mut plain, mut quoted) = (Collect::default(), Collect::default());
            prop_assert!(chunk.span().each_plain(b',', &mut plain).is_ok());
            prop_assert!(chunk.span().each_quoted(b',', &mut quoted).is_ok());
            prop_assert_eq!(plain.0, quoted.0);
        }
    }
}
