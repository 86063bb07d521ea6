//! Writes a block file: rows go to buckets of neighboring places first, then each bucket to its blocks.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use fairfront_core::{BLOCK_ROWS, Dataset, Schema};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use tempfile::NamedTempFile;

use super::file::{AppendFile, PlacedFile};
use super::format::{
    CHECKSUM, HEADER, Header, Layout, NumberWidth, Section, Stored, block_seed, section_bytes,
    tail_checksum,
};
use super::hash::checksum;
use super::reader::BlockSource;
use super::spool::Spool;
use super::survey::{Survey, each_chunk};
use super::training::Rows;
use super::{Limits, PackProgress, PackStage, PackSummary};
use crate::encoder::Coded;
use crate::error::Error;
use crate::fingerprint::fingerprint_rows;
use crate::pack::decode::Decoder;
use crate::read::ReadFrom;
use crate::split::Part;
use crate::table::Table;
use crate::target::TargetKind;
use crate::target_number::TargetColumn;

/// Bytes of a place in front of a row.
const PLACE: usize = 4;
/// Bytes of all rows that wait in memory for their bucket.
const WAITING: usize = 64 << 20;
/// The maximum number of buckets in memory at once.
const MOST_AT_ONCE: usize = 8;

/// A number with one form for all missing values.
fn plain_bits(number: f64) -> u64 {
    let number = if number.is_nan() { f64::NAN } else { number };
    number.to_bits()
}

/// How the rows of a chunk become bytes.
struct RowWriter<'a> {
    survey: &'a Survey,
    schema: Schema,
    layout: Layout,
    /// The distinct numbers of each numeric column, in order, and their positions.
    lists: Vec<Vec<f64>>,
    positions: Vec<FxHashMap<u64, u32>>,
    coded: Vec<Coded<'a>>,
    /// Bytes of each column of a row.
    widths: Vec<usize>,
}

impl<'a> RowWriter<'a> {
    fn new(survey: &'a Survey, head: &'a Table) -> Result<Self, Error> {
        let encoding = &survey.encoding;
        let schema = encoding.schema();
        let layout = Layout {
            numeric: survey.numbers.iter().map(NumberWidth::of).collect(),
            weights: survey.spec.weight.is_some(),
        };
        let lists: Vec<Vec<f64>> = survey
            .numbers
            .iter()
            .map(|facts| {
                let listed = facts.listed.iter().flatten();
                let mut numbers: Vec<f64> = listed.map(|bits| f64::from_bits(*bits)).collect();
                numbers.sort_unstable_by(f64::total_cmp);
                numbers
            })
            .collect();
        let position = |numbers: &Vec<f64>| {
            let bits = numbers.iter().map(|number| number.to_bits());
            bits.zip(0..).collect()
        };
        let rules = encoding.categorical.iter().zip(schema.offsets());
        let coded = rules
            .map(|(rule, offset)| Coded::new(rule, offset, schema.null_feature(), head))
            .collect::<Result<_, Error>>()?;
        Ok(Self {
            survey,
            positions: lists.iter().map(position).collect(),
            lists,
            coded,
            widths: layout.widths(&schema),
            layout,
            schema,
        })
    }

    /// The rows in use of a chunk, one after the other. Each starts with its place in its split.
    fn rows(&self, rows: &Rows<'_>, chunk: usize, table: &Table) -> Result<Encoded, Error> {
        let found = rows.of(table)?;
        let n = found.rows.len();
        let width = PLACE + self.widths.iter().sum::<usize>();
        let mut bytes = vec![0; n * width];
        let mut at = 0;
        let mut column_at = PLACE;
        let mut widths = self.widths.iter();
        let mut put = |value: &mut dyn FnMut(usize, &mut [u8])| {
            let own = widths.next().copied().unwrap_or(0);
            for (i, row) in bytes.chunks_exact_mut(width).enumerate() {
                value(i, &mut row[column_at..column_at + own]);
            }
            column_at += own;
        };
        for rule in &self.survey.encoding.numeric {
            let column = table.require(&rule.column, "a feature of the encoding")?;
            let number = |i: usize| {
                let numbers = column.numeric();
                numbers.map_or(f64::NAN, |numbers| numbers.get(found.rows[i] as usize))
            };
            match self.layout.numeric[at] {
                NumberWidth::Listed(_) => put(&mut |i, place| {
                    let position = self.positions[at].get(&plain_bits(number(i)));
                    put_code(place, position.copied().unwrap_or(0));
                }),
                NumberWidth::Single => put(&mut |i, place| {
                    place.copy_from_slice(&(number(i) as f32).to_le_bytes());
                }),
                NumberWidth::Double => put(&mut |i, place| {
                    place.copy_from_slice(&number(i).to_le_bytes());
                }),
            }
            at += 1;
        }
        let null = self.schema.null_feature();
        let columns = self.survey.encoding.categorical.iter().zip(&self.coded);
        for ((rule, coded), offset) in columns.zip(self.schema.offsets()) {
            let column = table.require(&rule.column, "a feature of the encoding")?;
            let codes = column.categorical().map_or(&[][..], |(codes, _)| codes);
            let n_categories = rule.categories.len() as u32;
            put(&mut |i, place| {
                let code = codes[found.rows[i] as usize] as usize;
                let feature = *coded.features.get(code).unwrap_or(&coded.missing);
                let position = match feature == null {
                    true => n_categories,
                    false => feature - offset,
                };
                put_code(place, position);
            });
        }
        match &self.survey.target.kind {
            TargetKind::Binary { .. } => {
                put(&mut |i, place| place[0] = u8::from(found.labels[i] > 0.0));
            }
            // There are at most 100 classes.
            TargetKind::Classes(_) => put(&mut |i, place| place[0] = found.labels[i] as u8),
            TargetKind::Number { unit } => {
                let column = &self.survey.target.column;
                let values = TargetColumn::of(table, column)?;
                let numbers = values.numbers(table, column, &found.rows, Some(unit))?;
                put(&mut |i, place| place.copy_from_slice(&numbers[i].to_le_bytes()));
            }
        }
        for (groups, attribute) in found.groups.iter().zip(&self.schema.attributes) {
            let unknown = attribute.groups.len() as u32;
            put(&mut |i, place| put_code(place, groups[i].min(unknown)));
        }
        if self.layout.weights {
            put(&mut |i, place| place.copy_from_slice(&found.weights[i].to_le_bytes()));
        }
        let placed = rows.order.placed(chunk, n);
        let mut parts = Vec::with_capacity(n);
        for (row, (part, place)) in bytes.chunks_exact_mut(width).zip(placed) {
            row[..PLACE].copy_from_slice(&place.to_le_bytes());
            parts.push(part);
        }
        Ok(Encoded { parts, bytes })
    }
}

/// Rows with their splits.
struct Encoded {
    parts: Vec<Part>,
    bytes: Vec<u8>,
}

fn put_code(place: &mut [u8], code: u32) {
    let n = place.len();
    place.copy_from_slice(&code.to_le_bytes()[..n]);
}

/// Rows that belong to neighboring places of a split.
struct Bucket {
    part: Part,
    first: usize,
    n_rows: usize,
    waiting: Vec<u8>,
    /// Places and lengths of written pieces.
    pieces: Vec<(u64, usize)>,
}

/// All buckets, in the order of the file.
struct Buckets {
    all: Vec<Bucket>,
    /// The first bucket of each split.
    first: [usize; 4],
    rows: usize,
    width: usize,
    file: AppendFile,
    /// Bytes that wait in a bucket.
    most: usize,
}

impl Buckets {
    fn new(n_rows: [usize; 4], width: usize, work: &Path, limits: &Limits) -> Result<Self, Error> {
        let blocks = (limits.bucket_bytes / (width * BLOCK_ROWS)).max(1);
        let rows = blocks * BLOCK_ROWS;
        let mut all = Vec::new();
        let first = Part::ALL.map(|part| {
            let start = all.len();
            let n = n_rows[part as usize];
            all.extend((0..n).step_by(rows).map(|first| Bucket {
                part,
                first,
                n_rows: rows.min(n - first),
                waiting: Vec::new(),
                pieces: Vec::new(),
            }));
            start
        });
        Ok(Self {
            most: (WAITING / all.len().max(1)).clamp(1 << 12, 1 << 20),
            all,
            first,
            rows,
            width,
            file: AppendFile::new(PlacedFile::temporary(work)?.limited(limits.most_bytes)),
        })
    }

    fn take(&mut self, encoded: &Encoded) -> Result<(), Error> {
        let rows = encoded.bytes.chunks_exact(self.width);
        for (row, part) in rows.zip(&encoded.parts) {
            let place = row
                .first_chunk::<PLACE>()
                .map_or(0, |p| u32::from_le_bytes(*p));
            let index = self.first[*part as usize] + place as usize / self.rows;
            let bucket = &mut self.all[index];
            bucket.waiting.extend_from_slice(row);
            if bucket.waiting.len() >= self.most {
                let offset = self.file.append(&bucket.waiting);
                let offset = offset.map_err(|source| self.file.file().error(source))?;
                bucket.pieces.push((offset, bucket.waiting.len()));
                bucket.waiting.clear();
            }
        }
        Ok(())
    }

    /// The blocks of a bucket, with their checksums.
    fn blocks(&self, bucket: &Bucket, widths: &[usize]) -> Result<Vec<u8>, Error> {
        let row_bytes = self.width - PLACE;
        let mut out = vec![0; section_bytes(bucket.n_rows as u64, row_bytes).unwrap_or(0) as usize];
        let mut place_rows = |bytes: &[u8]| {
            for row in bytes.chunks_exact(self.width) {
                let (place, row) = row.split_at(PLACE);
                let place = place
                    .first_chunk::<PLACE>()
                    .map_or(0, |p| u32::from_le_bytes(*p));
                let at = place as usize - bucket.first;
                let (block, row_of) = (at / BLOCK_ROWS, at % BLOCK_ROWS);
                let n = BLOCK_ROWS.min(bucket.n_rows - block * BLOCK_ROWS);
                let mut start = block * (BLOCK_ROWS * row_bytes + CHECKSUM);
                let mut rest = row;
                for width in widths {
                    let (value, others) = rest.split_at(*width);
                    let to = start + row_of * width;
                    out[to..to + width].copy_from_slice(value);
                    start += n * width;
                    rest = others;
                }
            }
        };
        let mut bytes = Vec::new();
        for (offset, len) in &bucket.pieces {
            bytes.resize(*len, 0);
            let read = self.file.file().read_at(&mut bytes, *offset);
            read.map_err(|source| self.file.file().error(source))?;
            place_rows(&bytes);
        }
        place_rows(&bucket.waiting);
        let first = bucket.first / BLOCK_ROWS;
        let blocks = out.chunks_mut(BLOCK_ROWS * row_bytes + CHECKSUM);
        for (index, block) in blocks.enumerate() {
            let (rows, sum) = block.split_at_mut(block.len() - CHECKSUM);
            let seed = block_seed(bucket.part as usize, first + index);
            sum.copy_from_slice(&checksum(rows, seed).to_le_bytes());
        }
        Ok(out)
    }
}

/// The place of a block file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place<'a> {
    /// A file, which appears only if all is well.
    File(&'a Path),
    /// A file without a name in this folder, which disappears when it is closed.
    Unnamed(&'a Path),
}

/// A block file that is written: either it gets its name at the end, or it has none.
struct NewFile {
    file: File,
    named: Option<NamedTempFile>,
}

/// Temporary files with names that this process writes.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the block files that this process has not completed, before it ends without running destructors,
/// as after Ctrl-C. Afterwards, threads that begin a block file wait forever.
pub fn remove_unfinished() {
    let mut files = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    for file in files.drain(..) {
        // Leftover files are harmless, and the next pack in the folder removes them.
        let _ = std::fs::remove_file(file);
    }
    // No thread may create another file before the process ends.
    std::mem::forget(files);
}

/// The start of the names of temporary files.
const PREFIX: &str = ".fairfront-pack-";

impl NewFile {
    fn new(place: Place<'_>) -> io::Result<Self> {
        let out = match place {
            Place::Unnamed(folder) => {
                return Ok(Self {
                    file: tempfile::tempfile_in(folder)?,
                    named: None,
                });
            }
            Place::File(out) => out,
        };
        let folder = folder_of(out);
        sweep(folder);
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX);
        // The mode of a new file, which the umask restricts.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        // Held from before the file exists, so that `remove_unfinished` misses no file.
        let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        let named = builder.tempfile_in(folder)?;
        unfinished.push(named.path().to_owned());
        drop(unfinished);
        // The lock shows that the file is in use.
        named.as_file().lock()?;
        Ok(Self {
            file: named.as_file().try_clone()?,
            named: Some(named),
        })
    }

    /// Gives the file its name, once its bytes are on the disk.
    fn place(self, place: Place<'_>) -> io::Result<()> {
        let (Some(named), Place::File(out)) = (self.named, place) else {
            return Ok(());
        };
        self.file.sync_all()?;
        named.persist(out).map_err(|e| e.error)?;
        match cfg!(unix) {
            true => File::open(folder_of(out))?.sync_all(),
            false => Ok(()),
        }
    }
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Removes temporary files of processes that ended before they were complete.
fn sweep(folder: &Path) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let is_own = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let file = is_own.then(|| File::open(entry.path()));
        if let Some(Ok(file)) = file
            && file.try_lock().is_ok()
        {
            // Leftover files are harmless.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Encodes the rows of a table and writes them to a file.
pub(crate) fn write(
    spool: &Spool,
    survey: &Survey,
    read: Option<ReadFrom>,
    (out, work): (Place<'_>, &Path),
    limits: &Limits,
    progress: &mut dyn FnMut(PackProgress),
) -> Result<(PackSummary, File), Error> {
    let name = match out {
        Place::File(out) => out.display().to_string(),
        Place::Unnamed(folder) => folder.display().to_string(),
    };
    let failed = |source: io::Error| Error::io(&name, source);
    let new = NewFile::new(out).map_err(failed)?;
    let file = new.file.try_clone().map_err(failed)?;
    let file = Arc::new(PlacedFile::new(file, &name).limited(limits.most_bytes));
    let put = |bytes: &[u8], offset: u64| file.write_at(bytes, offset).map_err(failed);

    let writer = RowWriter::new(survey, &spool.head)?;
    let row_bytes = writer.layout.row_bytes(&writer.schema);
    let n_rows = Part::ALL.map(|part| survey.order.n_rows(part));
    let mut offset = HEADER as u64;
    let sections = n_rows.map(|n| {
        let section = Section {
            offset,
            n_rows: n as u64,
        };
        offset += section_bytes(n as u64, row_bytes).unwrap_or(0);
        section
    });
    let mut buckets = Buckets::new(n_rows, PLACE + row_bytes, work, limits)?;
    let rows = survey.rows();
    each_chunk(
        spool,
        PackStage::Encoding,
        progress,
        |chunk, table| writer.rows(&rows, chunk, table),
        |encoded| buckets.take(&encoded),
    )?;
    let total = buckets.all.len();
    let block_bytes = (BLOCK_ROWS * row_bytes + CHECKSUM) as u64;
    let at_once = rayon::current_num_threads().min(MOST_AT_ONCE);
    for (index, some) in buckets.all.chunks(at_once).enumerate() {
        some.par_iter().try_for_each(|bucket| {
            let blocks = buckets.blocks(bucket, &writer.widths)?;
            let before = (bucket.first / BLOCK_ROWS) as u64 * block_bytes;
            put(&blocks, sections[bucket.part as usize].offset + before)
        })?;
        progress(PackProgress {
            stage: PackStage::Writing,
            done: (index * at_once + some.len()) as u64,
            total: total as u64,
        });
    }
    drop(buckets);

    // Reading the blocks back also checks them.
    let lists: Vec<f64> = writer.lists.concat();
    let decoder = Decoder::new(&survey.encoding, writer.layout.clone(), &lists);
    let decoder = Arc::new(decoder);
    let fingerprint = |part: Part| {
        let section = sections[part as usize];
        let source = BlockSource::new(&file, &decoder, part, section);
        fingerprint_rows(&Dataset::over(Arc::new(source))).map_err(super::own_error)
    };
    let [train, validation, certify, test] = Part::ALL.map(fingerprint);
    let stored = Stored {
        facts: survey.facts(&spool.head, read),
        encoding: survey.encoding.clone(),
        diagnostics: survey.encoded.clone(),
        findings: (&survey.findings).into(),
        fingerprints: [train?, validation?, certify?, test?],
        layout: writer.layout.clone(),
    };
    let mut tail: Vec<u8> = lists
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    let n_lists = tail.len() as u64;
    serde_json::to_writer(&mut tail, &stored).map_err(|e| failed(e.into()))?;
    let header = Header {
        sections,
        tail: offset,
        lists: n_lists,
        facts: tail.len() as u64 - n_lists,
        tail_checksum: tail_checksum(&tail),
    };
    put(&tail, offset)?;
    put(&header.to_bytes(), 0)?;
    let written = new.file.try_clone().map_err(failed)?;
    new.place(out).map_err(failed)?;
    let summary = PackSummary {
        rows_read: stored.facts.rows_read,
        rows_used: stored.facts.rows_used,
        split: n_rows,
        row_bytes,
        bytes: offset + tail.len() as u64,
        diagnostics: stored.facts.diagnostics,
    };
    Ok((summary, written))
}
