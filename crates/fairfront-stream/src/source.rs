//! Where rows come from: files, files that grow, standard input, known data sets; all of them as CSV
//! text.

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

/// Standard input, as it is named.
pub(crate) const STDIN: &str = "-";
/// How long nothing may arrive before somebody asks whether to stop.
const PATIENCE: Duration = Duration::from_millis(100);
/// Bytes that a pipe hands over at a time, and how many times it may be ahead.
const PIPE_BYTES: usize = 1 << 16;
const PIPE_AHEAD: usize = 4;
/// How gzip and Parquet begin.
const PACKED: [&[u8]; 2] = [&[0x1f, 0x8b], b"PAR1"];

/// A row as it arrived, its texts in the order of the stream's columns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// Which of the state's inputs it is from.
    pub(crate) input: usize,
    /// Its number there, from 1.
    pub(crate) number: u64,
    /// Its texts, or why they cannot be had.
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

    /// The row that a log remembers.
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

/// What a source has to give.
pub(crate) enum Next {
    Row(Row),
    /// Nothing for now.
    Wait,
    /// Nothing more.
    End,
}

/// One input while it is read.
pub(crate) struct Source {
    input: usize,
    records: Records<Box<dyn Read + Send>>,
    /// Position in a record of each of the stream's columns; empty until they are known.
    order: Vec<usize>,
    /// What the format itself says of the columns.
    pub(crate) types: BTreeMap<String, ColumnType>,
    kind: Kind,
    /// Of a file that is followed: how far it was read when it was last at its end, and what stands there.
    tail: Option<(u64, Option<Vec<u8>>)>,
    /// Whether standard input ended within a line, and whether that is taken.
    ends_open: bool,
    takes_open_end: bool,
}

/// The last bytes of a file up to a place; `None` where it has none there.
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
    /// Standard input; whether it has ended.
    Pipe(Arc<PipeState>),
}

/// What is known of standard input.
#[derive(Default)]
struct PipeState {
    ended: AtomicBool,
    /// It begins as packed files do.
    packed: AtomicBool,
}

/// What tells an input from others.
pub(crate) fn identity(name: &str) -> Result<String, Error> {
    if name == STDIN || Known::parse(name)?.is_some() {
        return Ok(name.to_owned());
    }
    if std::fs::metadata(name).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Err(Error::usage(format!(
            "{name}: this is no file that could be read again; name - for what comes through a pipe"
        )));
    }
    let full = Path::new(name).canonicalize();
    let full = full.map_err(|e| fairfront_data::Error::io(name, e))?;
    Ok(full.display().to_string())
}

/// The known input that a file begins with, bytes and all, the longest where there are several: the same
/// file under another name.
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
    /// Opens an input where it was left.
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

    /// How far it was read, for an input that can be read again.
    pub(crate) fn position(&mut self) -> Option<Position> {
        match self.kind {
            Kind::Pipe(_) => None,
            Kind::Whole | Kind::Growing(_) => Some(self.records.position()),
        }
    }

    /// Whether its fields are separated by another character than a comma.
    pub(crate) fn commas_are_free(&self) -> bool {
        self.records.separator() != b','
    }

    /// Which of the state's inputs it is.
    pub(crate) fn input(&self) -> usize {
        self.input
    }

    /// Whether it is standard input.
    pub(crate) fn is_pipe(&self) -> bool {
        matches!(self.kind, Kind::Pipe(_))
    }

    /// The next row. `columns` are those of the stream; the first input ever settles them.
    pub(crate) fn next(&mut self, columns: &mut Vec<String>, spec: &Spec) -> Result<Next, Error> {
        // Asked before reading: what arrived before the end is still read.
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
        // Whoever wrote to the pipe may have died within a line.
        if over && self.is_pipe() && record.is_some() && self.records.position().ends_open {
            self.ends_open = true;
            if !self.takes_open_end {
                return Ok(Next::End);
            }
        }
        if let Kind::Pipe(state) = &self.kind
            && state.packed.load(Ordering::Acquire)
        {
            let message =
                "standard input is packed or no text; unpack it first, as in zcat FILE | …";
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
        // A header without rows must fit too: it may be a row without a header.
        if over && !columns.is_empty() && !self.records.columns().is_empty() {
            self.settle(columns, spec)?;
        }
        Ok(match over {
            true => Next::End,
            false => Next::Wait,
        })
    }

    /// A file that is followed must still hold, by its name, what was read of it last.
    fn check_followed(&self) -> Result<(), Error> {
        let (Kind::Growing(path), Some((at, tail))) = (&self.kind, &self.tail) else {
            return Ok(());
        };
        match tail_of(path, *at) == *tail {
            true => Ok(()),
            false => Err(Error::file(
                path,
                format!(
                    "the file was removed, replaced, cut or written anew while it was followed: it no longer \
                     holds the {} bytes that were read; nothing of it was taken since, give it as it was, or \
                     name what is there now by another name",
                    grouped(*at as usize)
                ),
            )),
        }
    }

    /// Whether standard input ended within a line that was not taken.
    pub(crate) fn left_open_end(&self) -> bool {
        self.ends_open && !self.takes_open_end
    }

    /// Takes a last line of standard input that has no line end.
    pub(crate) fn take_open_end(&mut self) {
        self.takes_open_end = true;
    }

    /// Finds which field is which column.
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

/// Standard input, read by a thread of its own so that waiting for it can be interrupted.
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
    /// 0 where nothing has arrived for a while, or nothing more will.
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
