//! Quoted fields of CSV text, and the ends of its records.

use memchr::{memchr, memchr_iter, memrchr};

/// Tracks quoted fields in the same way as the `csv` crate: a quote opens a field only at its start, and a
/// doubled quote inside stands for one.
#[derive(Clone, Copy)]
pub(super) struct Quotes {
    separator: u8,
    state: FieldState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldState {
    Start,
    Plain,
    Quoted,
    /// After a quote inside a quoted field: either its end, or the first of two.
    Quote,
}

impl Quotes {
    pub(super) fn new(separator: u8) -> Self {
        Self {
            separator,
            state: FieldState::Start,
        }
    }

    /// Whether to skip this byte at the start of a field.
    fn skips(self, byte: u8) -> bool {
        byte == b' ' && self.separator != b' '
    }

    /// Advances by one byte.
    fn step(&mut self, byte: u8) {
        let ends_field = byte == self.separator || byte == b'\n' || byte == b'\r';
        self.state = match self.state {
            // Skip spaces before a quote.
            FieldState::Start if self.skips(byte) => FieldState::Start,
            FieldState::Start | FieldState::Quote if byte == b'"' => FieldState::Quoted,
            FieldState::Quoted if byte == b'"' => FieldState::Quote,
            FieldState::Quoted => FieldState::Quoted,
            _ if ends_field => FieldState::Start,
            _ => FieldState::Plain,
        };
    }

    /// The start of a quoted field that is still open at the end.
    pub(super) fn open_field(&mut self, bytes: &[u8]) -> Option<usize> {
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

    /// The lines, from 0, that are outside quotes and contain only white space.
    pub(super) fn blank_lines(&mut self, bytes: &[u8]) -> Vec<u64> {
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

    /// Removes the spaces after separators, so that a quote after them opens a quoted field (`a, "b, c"`),
    /// which the `csv` crate does not support. Also returns, for each space, the number of bytes kept
    /// before it.
    pub(super) fn without_spaces(&mut self, bytes: &[u8]) -> (Vec<u8>, Vec<usize>) {
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

/// Whether a carriage return ends a line by itself, as in classic Mac OS files.
pub(super) fn has_lone_return(bytes: &[u8]) -> bool {
    memchr_iter(b'\r', bytes).any(|i| bytes.get(i + 1).is_some_and(|next| *next != b'\n'))
}

/// Finds the ends of records in a growing buffer, and examines each byte once.
pub(super) struct Scan {
    quotes: Quotes,
    /// Number of bytes examined.
    at: usize,
    /// Whether the last examined byte is a carriage return outside quotes.
    after_return: bool,
    /// One byte after the line end of the last complete record.
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

    /// Examines the new bytes.
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
        let (mut quotes, mut after_return) = (self.quotes, self.after_return);
        for (i, &byte) in (from..).zip(&bytes[from..]) {
            let ends_line = matches!(byte, b'\n' | b'\r');
            if after_return && !ends_line {
                self.end = Some(i);
            }
            quotes.step(byte);
            let ends_record = ends_line && quotes.state == FieldState::Start;
            if ends_record && byte == b'\n' {
                self.end = Some(i + 1);
            }
            after_return = ends_record && byte == b'\r';
        }
        (self.quotes, self.after_return) = (quotes, after_return);
    }

    /// Whether a quoted field is open at the end of the examined bytes.
    pub(super) fn is_open(&self) -> bool {
        self.quotes.state == FieldState::Quoted
    }
}
