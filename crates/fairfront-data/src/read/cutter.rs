//! Splits CSV text into chunks of whole records while it arrives.

use std::io::{self, Read};

use memchr::memchr_iter;

use super::chunk::{Chunk, Span};
use super::quotes::{Quotes, Scan};

/// The maximum number of bytes per record, because a record must fit in memory as a whole.
pub const LONGEST_RECORD: usize = 16 << 20;

/// The reason why there is no next chunk.
#[derive(Debug)]
pub(super) enum ChunkError {
    Io(io::Error),
    /// The line on which a quoted field opens that is never closed.
    UnclosedQuote(u64),
    /// A record of more than [`LONGEST_RECORD`] bytes, with the line on which it starts.
    TooLong(u64, LongRecord),
}

/// The probable cause of a long record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LongRecord {
    /// It has no line end.
    Plain,
    /// A quote opens a field on this line and is not closed.
    OpenQuote(u64),
}

/// Reads text, and splits it at the ends of records.
pub(super) struct Cutter<R> {
    input: R,
    separator: u8,
    /// The maximum number of bytes to hold; a record must end within them.
    most: usize,
    /// Bytes that were read but not taken.
    bytes: Vec<u8>,
    /// Line of the first of these bytes, from 1.
    line: u64,
    scan: Scan,
    at_end: bool,
    /// The error that ends the sequence of chunks.
    failed: Option<ChunkError>,
}

impl<R: Read> Cutter<R> {
    pub(super) fn new(input: R, separator: u8, first_line: u64, most: usize) -> Self {
        Self {
            input,
            separator,
            most,
            bytes: Vec::new(),
            line: first_line,
            scan: Scan::new(separator),
            at_end: false,
            failed: None,
        }
    }

    /// The character between fields.
    pub(super) fn separator(&self) -> u8 {
        self.separator
    }

    pub(super) fn set_separator(&mut self, separator: u8) {
        self.separator = separator;
        self.scan = Scan::new(separator);
    }

    /// Bytes that were read but not taken.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether some bytes must be taken before more are read.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= self.most
    }

    /// The first `n` of these bytes.
    pub(super) fn span(&self, n: usize) -> Span<'_> {
        Span {
            bytes: &self.bytes[..n],
            first_line: self.line,
        }
    }

    /// Reads up to `n` further bytes; returns 0 if nothing is available now.
    pub(super) fn fill(&mut self, n: usize) -> io::Result<usize> {
        let before = self.bytes.len();
        let room = self.most.saturating_sub(before);
        self.bytes.resize(before + n.min(room), 0);
        let read = loop {
            match self.input.read(&mut self.bytes[before..]) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.bytes.truncate(before + *read.as_ref().unwrap_or(&0));
        read
    }

    /// The bytes of the whole records that have arrived, if any. At the end of the text, the last record
    /// does not need a line end.
    pub(super) fn whole(&mut self, at_end: bool) -> Option<usize> {
        self.scan.look(&self.bytes);
        let end = match at_end && !self.scan.is_open() {
            true => self.bytes.len(),
            false => self.scan.end?,
        };
        (end > 0).then_some(end)
    }

    /// Takes the first `n` bytes.
    pub(super) fn take(&mut self, n: usize) -> Chunk {
        let rest = self.bytes.split_off(n);
        let chunk = Chunk {
            bytes: std::mem::replace(&mut self.bytes, rest),
            first_line: self.line,
        };
        self.line += memchr_iter(b'\n', &chunk.bytes).count() as u64;
        self.scan = Scan::new(self.separator);
        chunk
    }

    /// The next chunk of about `size` bytes, or more if a record is longer; `None` at the end.
    pub(super) fn next(&mut self, size: usize) -> Result<Option<Chunk>, ChunkError> {
        loop {
            if !self.at_end {
                // Doubling the size needs fewer calls if the input returns small pieces.
                let room = self.most - self.bytes.len();
                let wanted = size.max(self.bytes.len()).min(room);
                self.bytes.reserve(wanted + 1);
                let input = (&mut self.input).take(wanted as u64);
                let got = { input }.read_to_end(&mut self.bytes);
                self.at_end = got.map_err(ChunkError::Io)? < wanted;
            }
            if let Some(n) = self.whole(self.at_end) {
                return Ok(Some(self.take(n)));
            }
            match (self.at_end, self.open_line()) {
                (true, None) => return Ok(None),
                (true, Some(line)) => return Err(ChunkError::UnclosedQuote(line)),
                (false, open) if self.is_full() => {
                    let why = open.map_or(LongRecord::Plain, LongRecord::OpenQuote);
                    return Err(ChunkError::TooLong(self.line, why));
                }
                _ => {}
            }
        }
    }

    /// The line on which a quoted field opens that is still open.
    fn open_line(&self) -> Option<u64> {
        let at = Quotes::new(self.separator).open_field(&self.bytes)?;
        Some(self.line + memchr_iter(b'\n', &self.bytes[..at]).count() as u64)
    }

    /// Up to `n` chunks of about `size` bytes, fewer if some are larger, and none at the end. An error
    /// comes after the chunks before it.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn cutter(text: &str) -> Cutter<&[u8]> {
        Cutter::new(text.as_bytes(), b',', 1, LONGEST_RECORD + 1)
    }

    #[test]
    fn record_length_is_limited() {
        let cut = |text: &str, size: usize| -> Result<usize, ChunkError> {
            let mut chunks = cutter(text);
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
            ] {
                match cut(&text, size) {
                    Err(ChunkError::TooLong(2, found)) => assert_eq!(found, why),
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    #[test]
    fn error_comes_after_the_chunks_before_it() {
        let text = "a,b\nc,d\n\"e";
        let mut chunks = cutter(text);
        assert_eq!(chunks.several(9, 4).unwrap().len(), 2);
        assert!(matches!(
            chunks.several(9, 4),
            Err(ChunkError::UnclosedQuote(3))
        ));
    }

    #[test]
    fn carriage_return_ends_a_record() {
        let row = "c,d\r";
        let text = row.repeat(LONGEST_RECORD / row.len() + 1);
        let mut chunks = cutter(&text);
        let mut n = 0;
        while let Some(chunk) = chunks.next(1 << 18).unwrap() {
            assert!(chunk.bytes.ends_with(b"\r"));
            n += chunk.bytes.len();
        }
        assert_eq!(n, text.len());
        // A carriage return before a line feed does not end a record, and neither does the first of
        // several.
        let mut chunks = cutter("a,b\r\r\nc,d\r\n");
        for size in [4, 1, 1] {
            chunks.fill(size).unwrap();
            assert_eq!(
                chunks.whole(false),
                (size == 1 && chunks.bytes().len() == 6).then_some(6)
            );
        }
    }
}
