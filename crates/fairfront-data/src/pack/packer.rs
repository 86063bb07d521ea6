//! Packs files, or tables that arrive in batches.

use std::fs::File;
use std::path::{Path, PathBuf};

use fairfront_core::grouped;

use super::spool::{CHUNK_ROWS, ColumnSpool, Spool, SpoolFile};
use super::survey::{Survey, check_spec};
use super::writer::{self, Place};
use crate::error::Error;
use crate::memory::MemoryLimit;
use crate::read::{Decimal, ReadFrom, ReadOptions, file_name, read_spool};
use crate::spec::Spec;
use crate::table::{
    Column, Diagnostic, Interner, LeftOut, MISSING, Table, Values, check_length, is_boolean,
};

/// Bytes of rows that are put in order at once.
const BUCKET_BYTES: usize = 32 << 20;

/// Sizes that tests change.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub(crate) chunk_rows: usize,
    pub(crate) bucket_bytes: usize,
    /// Bytes after which writing a file fails.
    pub(crate) most_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            chunk_rows: CHUNK_ROWS,
            bucket_bytes: BUCKET_BYTES,
            most_bytes: u64::MAX,
        }
    }
}

/// A stage of packing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackStage {
    /// Reading the files; the total is the number of files.
    Reading,
    /// Finding the rows in use.
    Rows,
    /// Counting the training rows.
    Training,
    /// Measuring the spread of numbers.
    Scales,
    /// Encoding the rows.
    Encoding,
    /// Writing the blocks.
    Writing,
}

/// How far packing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackProgress {
    /// The current stage.
    pub stage: PackStage,
    /// Finished steps of the stage.
    pub done: u64,
    /// All steps of the stage.
    pub total: u64,
}

/// A packed table.
#[derive(Debug, Clone, PartialEq)]
pub struct PackSummary {
    /// Rows read.
    pub rows_read: usize,
    /// Rows in use.
    pub rows_used: usize,
    /// Rows of each split, in the order of [`Part::ALL`](crate::Part::ALL).
    pub split: [usize; 4],
    /// Bytes of a row in the file.
    pub row_bytes: usize,
    /// Bytes of the file.
    pub bytes: u64,
    /// Messages of reading and preparing the table.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads files once and writes their encoded rows to the block file `out`. Temporary files go to the folder
/// `work`.
///
/// ```
/// use fairfront_data::{Input, Part, ReadOptions, Spec, pack_files};
/// let folder = std::env::temp_dir().join(format!("fairfront-pack-{}", std::process::id()));
/// std::fs::create_dir_all(&folder)?;
/// let table = folder.join("loans.csv");
/// std::fs::write(&table, "paid,sex,income\n1,F,20\n0,M,30\n0,F,25\n1,M,41\n")?;
/// let spec = Spec {
///     target: Some("paid".into()),
///     sensitive: vec![vec!["sex".into()]],
///     split: fairfront_data::SplitRule::None,
///     ..Spec::default()
/// };
/// let (files, out) = ([table.display().to_string()], folder.join("rows.ffb"));
/// pack_files(&files, &spec, ReadOptions::default(), &out, &folder, &mut |_| {})?;
/// let input = Input::open(&out)?;
/// assert_eq!(input.encoded.part(Part::Train).n_rows(), 4);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn pack_files(
    files: &[String],
    spec: &Spec,
    options: ReadOptions,
    out: &Path,
    work: &Path,
    progress: &mut dyn FnMut(PackProgress),
) -> Result<PackSummary, Error> {
    let places = (out, work);
    pack_files_checked(files, spec, options, places, &|_| Ok(()), progress)
}

/// Like [`pack_files`], but the block file has no name: it disappears when it is closed, also if the process
/// is killed.
pub(crate) fn pack_unnamed(
    files: &[String],
    spec: &Spec,
    options: ReadOptions,
    work: &Path,
    progress: &mut dyn FnMut(PackProgress),
) -> Result<File, Error> {
    let place = (Place::Unnamed(work), work);
    let limits: (&Limits, HeadCheck<'_>) = (&Limits::default(), &|_| Ok(()));
    Ok(pack_files_with(files, spec, options, place, limits, progress)?.1)
}

/// A check of a table without its values, which has the types and missing values of its columns.
pub type HeadCheck<'a> = &'a dyn Fn(&Table) -> Result<(), Error>;

/// Like [`pack_files`], with a check after the files are read and before anything is written.
pub fn pack_files_checked(
    files: &[String],
    spec: &Spec,
    options: ReadOptions,
    (out, work): (&Path, &Path),
    check: HeadCheck<'_>,
    progress: &mut dyn FnMut(PackProgress),
) -> Result<PackSummary, Error> {
    let (place, limits) = ((Place::File(out), work), (&Limits::default(), check));
    Ok(pack_files_with(files, spec, options, place, limits, progress)?.0)
}

pub(crate) fn pack_files_with(
    files: &[String],
    spec: &Spec,
    mut options: ReadOptions,
    (out, work): (Place<'_>, &Path),
    (limits, check): (&Limits, HeadCheck<'_>),
    progress: &mut dyn FnMut(PackProgress),
) -> Result<(PackSummary, File), Error> {
    check_spec(spec)?;
    let file = SpoolFile::new(work, limits)?;
    let mut done = 0;
    let mut read = |_: usize| {
        done += 1;
        progress(PackProgress {
            stage: PackStage::Reading,
            done,
            total: files.len() as u64,
        });
    };
    let asked = spec.read_options(options.clone());
    let spool = read_spool(files, &asked, file, &mut read)?;
    check(&spool.head)?;
    // Later files may not show that they have decimal commas.
    if options.decimal.is_none() && spool.head.decimal == Decimal::Comma {
        options.decimal = Some(Decimal::Comma);
    }
    let memory = options.memory;
    let read = ReadFrom {
        files: files.iter().map(|file| file_name(file).into()).collect(),
        options,
    };
    finish(
        spool,
        spec,
        Some(read),
        memory,
        (out, work),
        limits,
        progress,
    )
}

fn finish(
    mut spool: Spool,
    spec: &Spec,
    read: Option<ReadFrom>,
    memory: MemoryLimit,
    place: (Place<'_>, &Path),
    limits: &Limits,
    progress: &mut dyn FnMut(PackProgress),
) -> Result<(PackSummary, File), Error> {
    check_length(&spool.head.name, spool.n_rows())?;
    let survey = Survey::new(&mut spool, spec, memory, progress)?;
    writer::write(&spool, &survey, read, place, limits, progress)
}

/// Packs tables that arrive in batches with the same columns, for example from another program.
#[derive(Debug)]
pub struct Packer {
    spec: Spec,
    memory: MemoryLimit,
    work: PathBuf,
    limits: Limits,
    file: SpoolFile,
    /// The first batch without its values.
    first: Option<Table>,
    columns: Vec<Batches>,
    n_rows: usize,
}

/// The values of a column in the batches so far.
#[derive(Debug)]
struct Batches {
    name: String,
    kind: Kind,
    spool: ColumnSpool,
    numbers: Vec<f64>,
    /// Codes and all categories so far.
    interner: Interner,
}

/// The type of a column, which is the same in every batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Numbers(Option<crate::date::DateOrder>),
    Categories,
    LeftOut(LeftOut),
}

impl Kind {
    fn of(column: &Column) -> Self {
        match &column.values {
            Values::Numeric(_) => Self::Numbers(column.date),
            Values::Categorical { .. } => Self::Categories,
            Values::LeftOut(reason) => Self::LeftOut(*reason),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Numbers(None) => "numeric",
            Self::Numbers(Some(_)) => "a date",
            Self::Categories => "categorical",
            Self::LeftOut(_) => "left out",
        }
    }
}

impl Packer {
    /// Starts to pack a table. Temporary files go to the folder `work`. Of the options, only the memory
    /// limit counts, because the batches are already read.
    pub fn new(spec: &Spec, options: &ReadOptions, work: &Path) -> Result<Self, Error> {
        Self::with_limits(spec, options, work, Limits::default())
    }

    pub(crate) fn with_limits(
        spec: &Spec,
        options: &ReadOptions,
        work: &Path,
        limits: Limits,
    ) -> Result<Self, Error> {
        check_spec(spec)?;
        Ok(Self {
            spec: spec.clone(),
            memory: options.memory,
            work: work.into(),
            file: SpoolFile::new(work, &limits)?,
            limits,
            first: None,
            columns: Vec::new(),
            n_rows: 0,
        })
    }

    /// Takes the next rows. Columns must have the same names and types in every batch.
    pub fn push(&mut self, table: &Table) -> Result<(), Error> {
        let failed = |error: Error| error.in_table(&table.name);
        self.check(table).map_err(failed)?;
        if self.first.is_none() {
            self.file = self.file.clone().for_columns(table.columns().len());
            self.columns = table
                .columns()
                .iter()
                .map(|column| Batches {
                    name: column.name.clone(),
                    kind: Kind::of(column),
                    spool: ColumnSpool::new(&self.file, &[], false),
                    numbers: Vec::new(),
                    interner: Interner::default(),
                })
                .collect();
            self.first = Some(table.without_values(Vec::new(), 0));
        }
        for (column, batches) in table.columns().iter().zip(&mut self.columns) {
            batches.take(column);
            if let Some(error) = batches.spool.take_error() {
                return Err(error);
            }
        }
        self.n_rows += table.n_rows();
        Ok(())
    }

    /// Rejects a batch whose columns differ from the first batch.
    fn check(&self, table: &Table) -> Result<(), Error> {
        let Some(first) = &self.first else {
            return Ok(());
        };
        let differ = |difference: String| Error::ColumnsDiffer {
            file: format!("the batch from row {}", grouped(self.n_rows + 1)),
            first: format!("the first batch of {}", first.name),
            difference,
        };
        let n = self.columns.len();
        if table.columns().len() != n {
            let found = table.columns().len();
            return Err(differ(format!(
                "it has {found}, but the first batch has {n}"
            )));
        }
        for (column, batches) in table.columns().iter().zip(&self.columns) {
            let (found, expected) = (Kind::of(column), batches.kind);
            if batches.name != column.name {
                return Err(differ(format!(
                    "column {:?} is in the place of {:?}",
                    column.name, batches.name
                )));
            }
            if found != expected {
                return Err(differ(format!(
                    "column {:?} is {}, but {} in the first batch",
                    column.name,
                    found.name(),
                    expected.name()
                )));
            }
        }
        Ok(())
    }

    /// Writes the block file `out`.
    pub fn finish(
        self,
        out: &Path,
        progress: &mut dyn FnMut(PackProgress),
    ) -> Result<PackSummary, Error> {
        self.finish_checked(out, &|_| Ok(()), progress)
    }

    /// Like [`Packer::finish`], with a check before anything is written.
    pub fn finish_checked(
        self,
        out: &Path,
        check: HeadCheck<'_>,
        progress: &mut dyn FnMut(PackProgress),
    ) -> Result<PackSummary, Error> {
        let Some(first) = self.first.filter(|_| self.n_rows > 0) else {
            return Err(Error::NoRows {
                file: "the batches".into(),
                reason: "no rows were passed",
            });
        };
        let mut heads = Vec::with_capacity(self.columns.len());
        let mut spools = Vec::with_capacity(self.columns.len());
        for batches in self.columns {
            let (head, spool) = batches.finish()?;
            heads.push(head);
            spools.push(Some(spool));
        }
        let head = first.without_values(heads, self.n_rows);
        check(&head)?;
        let spool = Spool::new(head, self.file, spools);
        let (spec, work) = (&self.spec, self.work.as_path());
        let place = (Place::File(out), work);
        let packed = finish(
            spool,
            spec,
            None,
            self.memory,
            place,
            &self.limits,
            progress,
        );
        Ok(packed?.0)
    }
}

impl Batches {
    fn take(&mut self, column: &Column) {
        match &column.values {
            Values::Numeric(numbers) => {
                self.numbers.extend(numbers.iter());
                self.spool.take_numbers(&mut self.numbers, true, false);
            }
            Values::Categorical {
                codes, categories, ..
            } => {
                let own: Vec<u32> = categories
                    .iter()
                    // A `str` is always UTF-8.
                    .map(|name| self.interner.code(name.as_bytes()).unwrap_or(MISSING))
                    .collect();
                let code = |code: &u32| own.get(*code as usize).copied().unwrap_or(MISSING);
                self.interner.codes.extend(codes.iter().map(code));
                self.spool.take_codes(&mut self.interner.codes, false);
            }
            Values::LeftOut(_) => {}
        }
    }

    /// The column without its values, and the file that has them.
    fn finish(mut self) -> Result<(Column, ColumnSpool), Error> {
        self.spool.take_numbers(&mut self.numbers, true, true);
        self.spool.take_codes(&mut self.interner.codes, true);
        if let Some(error) = self.spool.take_error() {
            return Err(error);
        }
        let (values, date) = match self.kind {
            Kind::Numbers(date) => (Values::Numeric(Vec::new().into()), date),
            Kind::Categories => {
                let boolean = is_boolean(&self.interner.categories);
                let values = Values::Categorical {
                    codes: Vec::new(),
                    categories: self.interner.categories,
                    boolean,
                };
                (values, None)
            }
            Kind::LeftOut(reason) => (Values::LeftOut(reason), None),
        };
        let head = Column {
            name: self.name,
            values,
            n_missing: self.spool.n_missing(),
            date,
        };
        Ok((head, self.spool))
    }
}
