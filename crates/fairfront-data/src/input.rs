//! Everything that a fit needs, from a table in memory or from a block file.

use std::path::Path;

use fairfront_core::Target;
use serde::{Deserialize, Serialize};

use crate::encoding::Encoded;
use crate::error::Error;
use crate::finding::Findings;
use crate::group::AttributeRule;
use crate::memory::MemoryLimit;
use crate::pack::{self, PackProgress};
use crate::prepare::Prepared;
use crate::read::{ReadFrom, ReadOptions};
use crate::sieve::Dropped;
use crate::spec::Spec;
use crate::split::Part;
use crate::table::Diagnostic;
use crate::target::TargetRule;

/// Facts about a prepared table. A block file stores them, so that a fit on the file and a fit on the table
/// have the same results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The name of the table: its files, without folders.
    pub table: String,
    /// The files it was read from, with the reading options; `None` for a table made by code.
    pub read: Option<ReadFrom>,
    /// The requested spec.
    pub spec: Spec,
    /// Rows read.
    pub rows_read: usize,
    /// Rows in use.
    pub rows_used: usize,
    /// Rows in use with label +1; 0 unless the target is binary.
    pub positives: usize,
    /// Reasons for dropped rows.
    pub dropped: Vec<Dropped>,
    /// Whether the rows belong to a known data set.
    pub published: bool,
    /// The target's rule.
    pub target: Option<TargetRule>,
    /// The merged values of the target in the rows in use, sorted; empty if the target is a number.
    pub target_values: Vec<String>,
    /// The sensitive attributes.
    pub attributes: Vec<AttributeRule>,
    /// Messages of reading and preparing the table.
    #[serde(with = "stored")]
    pub diagnostics: Vec<Diagnostic>,
    /// Rows of each split, in the order of [`Part::ALL`].
    pub split: [usize; 4],
}

impl Facts {
    /// The kind of the target.
    pub fn predicted(&self) -> Target {
        let rule = self.target.as_ref();
        rule.map_or(Target::Binary, TargetRule::target)
    }

    /// Whether models predict a number.
    pub fn is_number(&self) -> bool {
        self.target.as_ref().is_some_and(TargetRule::is_number)
    }

    /// The facts about a prepared table in memory.
    pub fn of(prepared: &Prepared) -> Result<Self, Error> {
        Ok(Self {
            table: prepared.table.name.clone(),
            read: prepared.read.clone(),
            spec: prepared.spec.clone(),
            rows_read: prepared.table.n_rows(),
            rows_used: prepared.n_rows(),
            positives: prepared.n_positives(),
            dropped: prepared.dropped.clone(),
            published: prepared.published,
            target: prepared.target.clone(),
            target_values: prepared.target_values()?,
            attributes: prepared.attributes.clone(),
            diagnostics: prepared.diagnostics.clone(),
            split: Part::ALL.map(|part| prepared.split.part(part).len()),
        })
    }
}

/// Stores messages with their settings, so that every program can render them.
pub(crate) mod stored {
    use fairfront_core::Message;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::table::{Diagnostic, Severity};

    #[derive(Serialize, Deserialize)]
    struct Stored {
        severity: Severity,
        #[serde(with = "fairfront_core::structured")]
        message: Message,
    }

    pub(crate) fn serialize<S: Serializer>(
        diagnostics: &[Diagnostic],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(diagnostics.iter().map(|diagnostic| Stored {
            severity: diagnostic.severity,
            message: diagnostic.message.clone(),
        }))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<Diagnostic>, D::Error> {
        let all = Vec::<Stored>::deserialize(from)?;
        let restored = |stored: Stored| Diagnostic {
            severity: stored.severity,
            message: stored.message,
        };
        Ok(all.into_iter().map(restored).collect())
    }
}

/// Everything that a fit needs, from a table in memory or from a block file.
#[derive(Debug, Clone)]
pub struct Input {
    /// Facts about the table.
    pub facts: Facts,
    /// The encoding and the rows of all splits.
    pub encoded: Encoded,
    /// Warnings and notes about the table.
    pub findings: Findings,
}

impl Input {
    /// Encodes a prepared table in memory. Without proxies, [`Findings::proxies`] is empty.
    pub fn of(prepared: &Prepared, with_proxies: bool) -> Result<Self, Error> {
        let encoded = Encoded::new(prepared)?;
        let findings = Findings::new(prepared, with_proxies.then_some(&encoded.encoding))?;
        Ok(Self {
            facts: Facts::of(prepared)?,
            encoded,
            findings,
        })
    }

    /// Opens a block file. Rows are read when they are used.
    pub fn open(path: &Path) -> Result<Self, Error> {
        pack::open(path)
    }

    /// Whether a file starts like a block file, or has a name that ends in `.ffb`.
    pub fn is_block_file(path: &Path) -> bool {
        pack::is_block_file(path)
    }
}

/// Rows to fit: read into memory, or from a block file.
#[derive(Debug, Clone)]
pub struct Source {
    /// Everything that a fit needs.
    pub input: Input,
    /// The table in memory; `None` if the rows are in a block file.
    pub prepared: Option<Prepared>,
}

impl Source {
    /// Reads files. A single block file is opened. A table that needs more than the memory limit is packed
    /// into a temporary block file in the folder `work`, by default the one for temporary files; the block
    /// file disappears with the rows. The default limit is half of the available memory.
    pub fn read(
        files: &[String],
        spec: &Spec,
        options: ReadOptions,
        with_proxies: bool,
        work: Option<&Path>,
        progress: &mut dyn FnMut(PackProgress),
    ) -> Result<Self, Error> {
        if let [file] = files
            && Input::is_block_file(Path::new(file))
        {
            return Self::open(Path::new(file), options.memory);
        }
        let limit = match options.memory {
            MemoryLimit::Available => MemoryLimit::Bytes(options.memory.bytes() / 2),
            limit @ MemoryLimit::Bytes(_) => limit,
        };
        let within = ReadOptions {
            memory: limit,
            ..options.clone()
        };
        let in_memory = || -> Result<Self, Error> {
            let mut prepared = Prepared::from_files(files, spec, within)?;
            let mut input = Input::of(&prepared, with_proxies)?;
            prepared.memory = options.memory;
            input.encoded.memory = options.memory;
            Ok(Self {
                input,
                prepared: Some(prepared),
            })
        };
        match in_memory() {
            // Standard input cannot be read again.
            Err(Error::Memory { .. }) if !files.iter().any(|file| file == "-") => {
                Self::pack(files, spec, options, work, progress)
            }
            done => done,
        }
    }

    /// Packs files into a temporary block file, and opens it.
    pub fn pack(
        files: &[String],
        spec: &Spec,
        options: ReadOptions,
        work: Option<&Path>,
        progress: &mut dyn FnMut(PackProgress),
    ) -> Result<Self, Error> {
        let default = std::env::temp_dir();
        let work = work.unwrap_or(&default);
        let memory = options.memory;
        let file = pack::pack_unnamed(files, spec, options, work, progress)?;
        let mut input = pack::open_file(file, "the temporary block file")?;
        input.encoded.memory = memory;
        Ok(Self {
            input,
            prepared: None,
        })
    }

    /// Opens a block file.
    pub fn open(path: &Path, memory: MemoryLimit) -> Result<Self, Error> {
        let mut input = Input::open(path)?;
        input.encoded.memory = memory;
        Ok(Self {
            input,
            prepared: None,
        })
    }
}
