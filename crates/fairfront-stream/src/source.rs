//! The sources of rows: files, growing files, standard input and known data sets, all as CSV text.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use fairfront_core::{Wording, grouped, hex, say};
use fairfront_data::{
    BadRecord, ColumnType, Known, Position, RawRecord, ReadOptions, Records, Spec, column_order,
    data_folder, open_text,
};
use fairfront_run::Error;
use sha2::{Digest, Sha256};

use super::journal::Input;
use crate::setting::FOLLOW;
use crate::store::Entry;

/// The name of standard input.
pub(crate) const STDIN: &str = "-";
/// How long to wait for input before checking whether to stop.
const PATIENCE: Duration = Duration::from_millis(100);
/// Bytes that a pipe passes on at a time, and how many pieces it may read ahead.
const PIPE_BYTES: usize = 1 << 16;
const PIPE_AHEAD: usize = 4;
/// The first bytes of gzip and Parquet files.
const PACKED: [&[u8]; 2] = [&[0x1f, 0x8b], b"PAR1"];

/// A row as it arrived, with its strings in the order of the stream's columns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// Its input, as a position in the state's inputs.
    pub(crate) input: usize,
    /// Its number in that input, from 1.
    pub(crate) number: u64,
    /// Its strings, or the reason why there are none.
    pub(crate) fields: Result<Vec<String>, BadRecord>,
}

impl Row {
    pub(crate) fn entry(&self, wording: &dyn Wording) -> Entry {
        match &self.fields {
            Ok(fields) => Entry::Row {
                input: self.input,
                row: self.number,
                fields: fields.clone(),
            },
            Err(bad) => Entry::Bad {
                input: self.input,
                row: self.number,
                raw: bad.text.clone(),
                reason: bad.reason.render(wording),
            },
        }
    }

    /// Reads the row from a log entry.
    pub(crate) fn of(entry: Entry) -> Option<Self> {
        match entry {
            Entry::Row { input, row, fields } => Some(Self {
                input,
                number: row,
                fields: Ok(fields),
            }),
            Entry::Bad {
                input,
                row,
                raw,
                reason,
            } => Some(Self {
                input,
                number: row,
                fields: Err(BadRecord {
                    text: raw,
                    reason: reason.into(),
                }),
            }),
            Entry::Input { .. } | Entry::Position { .. } => None,
        }
    }

    /// The checksum of all rows up to this one.
    pub(crate) fn chain(&self, before: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(before);
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        };
        match &self.fields {
            Ok(fields) => fields.iter().for_each(|field| add(field)),
            Err(bad) => add(&bad.text),
        }
        hex(&hash.finalize())
    }
}

/// The next item of a source.
pub(crate) enum Next {
    Row(Row),
    /// Nothing for now.
    Wait,
    /// The end.
    End,
}

/// An input while it is read.
pub(crate) struct Source {
    input: usize,
    records: Records<Box<dyn Read + Send>>,
    /// Position in a record of each of the stream's columns; empty until they are known.
    order: Vec<usize>,
    /// The column types that the format declares.
    pub(crate) types: BTreeMap<String, ColumnType>,
    kind: Kind,
    /// For a followed file: the position of the last read at its end, and the last bytes before it.
    tail: Option<(u64, Option<Vec<u8>>)>,
    /// Whether standard input ended within a line, and whether that line is used.
    ends_open: bool,
    takes_open_end: bool,
}

/// The last bytes of a file before a position; `None` if the file is shorter.
fn tail_of(path: &Path, end: u64) -> Option<Vec<u8>> {
    const TAIL: u64 = 512;
    let start = end.saturating_sub(TAIL);
    let mut file = std::fs::File::open(path).ok()?;
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut tail = vec![0; (end - start) as usize];
    file.read_exact(&mut tail).ok()?;
    Some(tail)
}

enum Kind {
    /// Read to its end.
    Whole,
    /// Read as it grows.
    Growing(PathBuf),
    /// Standard input, and whether it has ended.
    Pipe(Arc<PipeState>),
}

/// The state of standard input.
#[derive(Default)]
struct PipeState {
    ended: AtomicBool,
    /// Whether it starts like a compressed file.
    packed: AtomicBool,
}

/// The identity of an input.
pub(crate) fn identity(name: &str) -> Result<String, Error> {
    if name == STDIN || Known::parse(name)?.is_some() {
        return Ok(name.to_owned());
    }
    if std::fs::metadata(name).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Err(Error::usage(format!(
            "{name}: not a regular file, so it cannot be read again; to read from a pipe, pass -"
        )));
    }
    let full = Path::new(name).canonicalize();
    let full = full.map_err(|e| fairfront_data::Error::io(name, e))?;
    Ok(full.display().to_string())
}

/// The known input whose bytes a file starts with (the longest if there are several), which means that it
/// is the same file under another name.
pub(crate) fn same_text(
    name: &str,
    read: &ReadOptions,
    inputs: &[Input],
) -> Result<Option<usize>, Error> {
    let mut known: Vec<(usize, &Position)> = inputs
        .iter()
        .enumerate()
        .filter_map(|(at, input)| Some((at, input.position.as_ref()?)))
        .filter(|(_, position)| position.bytes > 0)
        .collect();
    known.sort_by_key(|(_, position)| position.bytes);
    if known.is_empty() {
        return Ok(None);
    }
    let mut text = open_text(name, read)?.text;
    let (mut hash, mut bytes, mut found) = (Sha256::new(), 0, None);
    for (at, position) in known {
        let mut chunk = vec![0; PIPE_BYTES];
        while bytes < position.bytes {
            let most = (position.bytes - bytes).min(PIPE_BYTES as u64) as usize;
            let read = text.read(&mut chunk[..most]);
            let n = read.map_err(|e| fairfront_data::Error::io(name, e))?;
            if n == 0 {
                break;
            }
            hash.update(&chunk[..n]);
            bytes += n as u64;
        }
        if bytes < position.bytes {
            break;
        }
        if hex(&hash.clone().finalize()) == position.sha256 {
            found = Some(at);
        }
    }
    Ok(found)
}

impl Source {
    /// Opens an input at the position where it was left.
    pub(crate) fn open(
        name: &str,
        input: usize,
        read: &ReadOptions,
        spec: &Spec,
        follow: bool,
        position: Option<&Position>,
    ) -> Result<Self, Error> {
        if name == STDIN {
            let (pipe, state) = Pipe::new();
            let text: Box<dyn Read + Send> = Box::new(pipe);
            return Ok(Self {
                input,
                records: Records::new("standard input", text, read).by_first_lines(),
                order: Vec::new(),
                types: BTreeMap::new(),
                kind: Kind::Pipe(state),
                tail: None,
                ends_open: false,
                takes_open_end: false,
            });
        }
        let opened = match Known::parse(name)? {
            Some(known) => known
                .within(read.memory)
                .open_text(spec, data_folder().as_deref())?,
            None => open_text(name, read)?,
        };
        if follow && !opened.is_plain {
            return Err(Error::usage(say![
                FOLLOW,
                " {name}: only a plain CSV file can be followed while it grows"
            ]));
        }
        let types = opened.types.clone();
        let mut records = opened.records(read);
        if follow {
            records = records.by_first_lines();
        }
        if let Some(position) = position {
            records.resume(position)?;
        }
        Ok(Self {
            input,
            records,
            order: Vec::new(),
            types,
            kind: match follow {
                true => Kind::Growing(PathBuf::from(name)),
                false => Kind::Whole,
            },
            tail: None,
            ends_open: false,
            takes_open_end: false,
        })
    }

    /// The position, for an input that can be read again.
    pub(crate) fn position(&mut self) -> Option<Position> {
        match self.kind {
            Kind::Pipe(_) => None,
            Kind::Whole | Kind::Growing(_) => Some(self.records.position()),
        }
    }

    /// Whether the separator is not a comma.
    pub(crate) fn commas_are_free(&self) -> bool {
        self.records.separator() != b','
    }

    /// The input, as a position in the state's inputs.
    pub(crate) fn input(&self) -> usize {
        self.input
    }

    /// Whether it is standard input.
    pub(crate) fn is_pipe(&self) -> bool {
        matches!(self.kind, Kind::Pipe(_))
    }

    /// The next row. `columns` are those of the stream, which the first input defines.
    pub(crate) fn next(&mut self, columns: &mut Vec<String>, spec: &Spec) -> Result<Next, Error> {
        // Check before reading, so that rows that arrived before the end are still read.
        let over = match &self.kind {
            Kind::Pipe(state) => state.ended.load(Ordering::Acquire),
            Kind::Whole => true,
            Kind::Growing(_) => false,
        };
        self.check_followed()?;
        let record = match over {
            true => self.records.rest()?,
            false => self.records.next()?,
        };
        // The writer of the pipe may have been killed within a line.
        if over && self.is_pipe() && record.is_some() && self.records.position().ends_open {
            self.ends_open = true;
            if !self.takes_open_end {
                return Ok(Next::End);
            }
        }
        if let Kind::Pipe(state) = &self.kind
            && state.packed.load(Ordering::Acquire)
        {
            let message = "standard input is compressed or not text; decompress it first, as in zcat FILE | …";
            return Err(Error::data(message));
        }
        if let Some(record) = record {
            self.settle(columns, spec)?;
            return Ok(Next::Row(self.row(record)));
        }
        if let Kind::Growing(path) = &self.kind {
            let read = self.records.position().bytes;
            if self.tail.as_ref().is_none_or(|(at, _)| *at != read) {
                self.tail = Some((read, tail_of(path, read)));
            }
            std::thread::sleep(PATIENCE);
        }
        // A header without rows must also fit, because it may be a row without a header.
        if over && !columns.is_empty() && !self.records.columns().is_empty() {
            self.settle(columns, spec)?;
        }
        Ok(match over {
            true => Next::End,
            false => Next::Wait,
        })
    }

    /// Checks that a followed file still ends with the bytes that were read last.
    fn check_followed(&self) -> Result<(), Error> {
        let (Kind::Growing(path), Some((at, tail))) = (&self.kind, &self.tail) else {
            return Ok(());
        };
        match tail_of(path, *at) == *tail {
            true => Ok(()),
            false => Err(Error::file(
                path,
                format!(
                    "the file was removed, replaced, truncated or rewritten while it was followed, so \
                     it no longer contains the {} bytes that were read; restore it, or pass the new \
                     file under another name",
                    grouped(*at as usize)
                ),
            )),
        }
    }

    /// Whether standard input ended within a line that was not used.
    pub(crate) fn left_open_end(&self) -> bool {
        self.ends_open && !self.takes_open_end
    }

    /// Uses a last line of standard input without a line end.
    pub(crate) fn take_open_end(&mut self) {
        self.takes_open_end = true;
    }

    /// Finds the field of each column.
    fn settle(&mut self, columns: &mut Vec<String>, spec: &Spec) -> Result<(), Error> {
        if !self.order.is_empty() {
            return Ok(());
        }
        let own = self.records.columns();
        if columns.is_empty() {
            for (column, setting) in spec.named() {
                if !own.iter().any(|name| name == column) {
                    let names = own.iter().map(String::as_str);
                    let near = fairfront_data::near_names(column, names);
                    let name = self.records.name();
                    return Err(Error::usage(say![
                        setting,
                        ": {name} has no column {column:?}; {near}"
                    ]));
                }
            }
            *columns = own.to_vec();
        }
        self.order = column_order(self.records.name(), "the first input", columns, own)?;
        Ok(())
    }

    fn row(&self, record: RawRecord) -> Row {
        let in_order = |mut fields: Vec<String>| {
            let take = |at: &usize| std::mem::take(&mut fields[*at]);
            self.order.iter().map(take).collect()
        };
        Row {
            input: self.input,
            number: record.row,
            fields: record.fields.map(in_order),
        }
    }
}

/// Standard input, read by its own thread so that waiting for it can be interrupted.
struct Pipe {
    chunks: Receiver<io::Result<Vec<u8>>>,
    rest: Vec<u8>,
    at: usize,
    begun: bool,
    state: Arc<PipeState>,
}

impl Pipe {
    fn new() -> (Self, Arc<PipeState>) {
        let (sender, chunks) = sync_channel(PIPE_AHEAD);
        std::thread::spawn(move || {
            let mut input = io::stdin().lock();
            loop {
                let mut chunk = vec![0; PIPE_BYTES];
                let read = input.read(&mut chunk);
                let last = matches!(read, Ok(0) | Err(_));
                if matches!(&read, Err(e) if e.kind() == io::ErrorKind::Interrupted) {
                    continue;
                }
                let sent = sender.send(read.map(|n| {
                    chunk.truncate(n);
                    chunk
                }));
                if last || sent.is_err() {
                    return;
                }
            }
        });
        let state = Arc::new(PipeState::default());
        let pipe = Self {
            chunks,
            rest: Vec::new(),
            at: 0,
            begun: false,
            state: state.clone(),
        };
        (pipe, state)
    }
}

impl Read for Pipe {
    /// Returns 0 if nothing has arrived for a while, or at the end.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.rest.len() && !self.state.ended.load(Ordering::Acquire) {
            match self.chunks.recv_timeout(PATIENCE) {
                Ok(chunk) => {
                    self.rest = chunk?;
                    self.at = 0;
                    let first = !std::mem::replace(&mut self.begun, true);
                    if first && PACKED.iter().any(|magic| self.rest.starts_with(magic)) {
                        self.state.packed.store(true, Ordering::Release);
                        self.rest.clear();
                    }
                    if self.rest.is_empty() {
                        self.state.ended.store(true, Ordering::Release);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.state.ended.store(true, Ordering::Release);
                }
            }
        }
        let n = buffer.len().min(self.rest.len() - self.at);
        buffer[..n].copy_from_slice(&self.rest[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}
