//! A front in memory that batches of rows bring up to date: a stream without a folder.

use fairfront_core::{Points, counted, say};
use fairfront_data::{
    ColumnTypes, Dropped, Encoding, HeldRows, Rejected, Spec, StoredRows, Table, grammar, set_aside,
};
use fairfront_run::{
    Error, Evidence, FitRequest, Fitted, FrontTable, Keep, Run, RunInfo, StreamInfo,
    attribute_texts, default_objectives, front_table, run_info_of,
};
use fairfront_solve::Observer;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::current::{Current, seen_by_front};
use super::keep::{Kept, KeptInfo};
use super::ready::{self, Ready};
use super::state::{add_dropped, check_rows};

#[cfg(test)]
mod tests;

/// What a run calls the source of its rows.
const SOURCE: &str = "partial_fit";
const MAGIC: &[u8; 8] = b"fflive\r\n";
const VERSION: u32 = 1;
/// Bytes of the magic word, the version and the length of what is text.
const HEADER: usize = 8 + 4 + 8;
const SUM: usize = 32;

/// What determines a front in memory beside its rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LiveOptions {
    /// Roles, policies, split and seed.
    pub spec: Spec,
    /// Objectives and solvers.
    pub request: FitRequest,
    /// Which rows the front stands on.
    pub keep: Keep,
    /// Names of the sensitive attributes, in the order of the spec; where there are none, those of their
    /// columns.
    #[serde(default)]
    pub names: Vec<String>,
}

impl LiveOptions {
    /// Says what cannot be right whatever the rows, and settles what was left open.
    fn settled(mut self) -> Result<Self, Error> {
        let usage = |message: String| Err(Error::usage(message));
        check_rows(&self.spec, self.keep)?;
        let (names, n) = (&self.names, self.spec.sensitive.len());
        if !names.is_empty() && names.len() != n {
            return usage(format!(
                "{} for {}; name all or none",
                counted(names.len(), "name"),
                counted(n, "sensitive attribute")
            ));
        }
        let twice = |(i, name): &(usize, &String)| names[..*i].contains(name);
        if let Some((_, name)) = names.iter().enumerate().find(twice) {
            return usage(format!("two sensitive attributes are called {name:?}"));
        }
        if self.request.objectives.is_empty() {
            let attributes = match names.is_empty() {
                true => attribute_texts(&self.spec),
                false => names.iter().map(|name| grammar::quote(name)).collect(),
            };
            self.request.objectives = default_objectives(&attributes, false);
        }
        if self.request.objectives.len() < 2 && !self.request.loss_alone {
            return usage(
                "a front needs at least two objectives; name a sensitive attribute".into(),
            );
        }
        if self.request.solvers.is_empty() {
            return usage("name a solver".into());
        }
        Ok(self)
    }
}

/// A front in memory that is brought up to date by every batch of rows.
///
/// The first rows that make a front settle the encoding, which learns the categories and groups of later
/// ones; every batch starts from the front before it. As long as there is none, rows wait as they came.
/// An update that ends with an error changes nothing.
#[derive(Debug)]
pub struct Live {
    memory: Memory,
    kept: Kept,
    current: Option<Current>,
}

/// All but the rows that are kept.
#[derive(Debug, Serialize, Deserialize)]
struct Memory {
    options: LiveOptions,
    /// Batches taken.
    batches: u64,
    /// The batch that the front was found with.
    updated: u64,
    /// Rows of these batches.
    rows: u64,
    dropped: Vec<Dropped>,
    kept: KeptInfo,
    /// Rows that wait for the first front.
    held: HeldRows,
    /// Why the last batch brought no front.
    waiting: Option<String>,
    settled: Option<Settled>,
    found: Option<Found>,
}

/// What the first front settled; the encoding grows.
#[derive(Debug, Serialize, Deserialize)]
struct Settled {
    types: ColumnTypes,
    targets: Vec<String>,
    encoding: Encoding,
}

/// The newest front.
#[derive(Debug, Serialize, Deserialize)]
struct Found {
    info: RunInfo,
    #[serde(with = "WrittenFront")]
    front: FrontTable,
    evidence: Evidence,
    encoding: Encoding,
    starts: Option<Vec<Vec<f64>>>,
}

/// A front's table as it is written.
#[derive(Serialize, Deserialize)]
#[serde(remote = "FrontTable")]
struct WrittenFront {
    names: Vec<String>,
    columns: Vec<Vec<Option<f64>>>,
    params: Vec<Vec<f64>>,
}

impl Live {
    /// A front that waits for its first rows.
    pub fn begin(options: LiveOptions) -> Result<Self, Error> {
        let options = options.settled()?;
        Ok(Self {
            kept: Kept::new(options.keep, options.spec.seed),
            current: None,
            memory: Memory {
                options,
                batches: 0,
                updated: 0,
                rows: 0,
                dropped: Vec::new(),
                kept: KeptInfo::default(),
                held: HeldRows::default(),
                waiting: None,
                settled: None,
                found: None,
            },
        })
    }

    /// Takes the rows of a table as the next batch.
    ///
    /// `None` where they bring no new front, and [`waiting`](Self::waiting) says why: as long as there
    /// was no front the rows wait for more; afterwards, where those that are kept have become too few or
    /// too much alike, the front of before still stands. A front whose solver was stopped counts like any
    /// other. A batch with a row that cannot be used (a weight below 0, a value that the target never
    /// had) is refused whole.
    pub fn update(
        &mut self,
        table: Table,
        observer: &mut dyn Observer,
    ) -> Result<Option<Fitted>, Error> {
        if table.n_rows() == 0 {
            return Err(Error::Data(
                "the batch has no rows; give at least one".into(),
            ));
        }
        match &self.memory.settled {
            None => self.first(table, observer),
            Some(_) => self.next(&table, observer),
        }
    }

    /// Tries to make a front of all rows so far.
    fn first(
        &mut self,
        table: Table,
        observer: &mut dyn Observer,
    ) -> Result<Option<Fitted>, Error> {
        let Memory { options, held, .. } = &self.memory;
        let spec = &options.spec;
        let n_rows = table.n_rows();
        let name = table.name.clone();
        let mut held = held.clone();
        let waited = held.n_rows() > 0;
        if waited {
            // Before anything else, so that other columns are called so.
            held.append(&table)?;
        }
        let batch = set_aside(table, spec)?;
        all_usable(&batch.rejected)?;
        let all = match waited {
            true => held.table(&name),
            false => batch.table,
        };
        let types = ColumnTypes::of_table(&all, spec);
        let ready = ready::first(all.clone(), spec, &options.names, |row| row as u64);
        let done = ready.and_then(|mut ready| {
            let (kept, fitted) = self.fit(&mut ready, observer)?;
            Ok((ready, kept, fitted?))
        });
        match done {
            Ok((ready, kept, fitted)) => {
                self.memory.held = HeldRows::default();
                Ok(self.settle(ready, kept, Ok(fitted), types, n_rows))
            }
            Err(error) => {
                let reason = not_yet(&error).ok_or(error)?;
                if !waited {
                    held.append(&all)?;
                }
                self.memory.held = held;
                self.memory.waiting = Some(reason);
                self.memory.batches += 1;
                self.memory.rows += n_rows as u64;
                Ok(None)
            }
        }
    }

    /// Brings the front up to date.
    fn next(
        &mut self,
        table: &Table,
        observer: &mut dyn Observer,
    ) -> Result<Option<Fitted>, Error> {
        let Memory {
            options,
            settled: Some(settled),
            rows,
            ..
        } = &self.memory
        else {
            return Ok(None);
        };
        let Settled {
            types,
            targets,
            encoding,
        } = settled;
        let n_rows = table.n_rows();
        let table = types.fit_table(table)?;
        let number = |row: usize| rows + row as u64;
        let mut ready = ready::next(table, &options.spec, encoding, targets, number)?;
        all_usable(&ready.rejected)?;
        let types = types.clone();
        let (kept, fitted) = self.fit(&mut ready, observer)?;
        let fitted = match fitted {
            Ok(fitted) => Ok(fitted),
            Err(error) => Err(ready::without_front(&error).ok_or(error)?),
        };
        Ok(self.settle(ready, kept, fitted, types, n_rows))
    }

    /// The rows that are kept together with these, and the front on them.
    fn fit(
        &self,
        ready: &mut Ready,
        observer: &mut dyn Observer,
    ) -> Result<(Kept, Result<Fitted, Error>), Error> {
        let Memory {
            options, batches, ..
        } = &self.memory;
        let mut kept = self.kept.clone();
        kept.add(batches + 1, &ready.rows)?;
        let rows = kept.rows().unwrap_or(&ready.rows);
        let mut encoded = seen_by_front(&ready.encoding, rows)?;
        encoded.notices.append(&mut ready.notices);
        encoded.notices.append(&mut ready.growth.notices);
        let current = self.current.as_ref();
        let fitted = ready::fit(encoded, &options.request, current, *batches, observer);
        Ok((kept, fitted))
    }

    /// Takes a batch in; nothing can fail any more.
    fn settle(
        &mut self,
        ready: Ready,
        kept: Kept,
        fitted: Result<Fitted, String>,
        types: ColumnTypes,
        n_rows: usize,
    ) -> Option<Fitted> {
        let memory = &mut self.memory;
        memory.batches += 1;
        memory.rows += n_rows as u64;
        add_dropped(&mut memory.dropped, &ready.dropped);
        memory.kept = kept.info.clone();
        self.kept = kept;
        memory.settled = Some(Settled {
            types,
            targets: ready.targets,
            encoding: ready.encoding,
        });
        memory.waiting = fitted.as_ref().err().cloned();
        let fitted = fitted.ok()?;
        memory.updated = memory.batches;
        let starts = fitted.starts.as_ref();
        memory.found = Some(Found {
            info: run_info_of(SOURCE, None, &memory.options.spec, &fitted),
            front: front_table(&fitted),
            evidence: fitted.evidence.clone(),
            encoding: fitted.encoded.encoding.clone(),
            starts: starts.map(|starts| starts.iter().map(<[f64]>::to_vec).collect()),
        });
        self.current = Some(Current::of(&fitted));
        Some(fitted)
    }
}

/// What there is to say.
impl Live {
    /// What it was begun with, objectives by default named.
    pub fn options(&self) -> &LiveOptions {
        &self.memory.options
    }

    /// Why the last batch brought no front; `None` where it did, and before the first.
    pub fn waiting(&self) -> Option<&str> {
        self.memory.waiting.as_deref()
    }

    /// Batches taken.
    pub fn batches(&self) -> u64 {
        self.memory.batches
    }

    /// Rows of these batches, dropped ones counted.
    pub fn rows(&self) -> u64 {
        self.memory.rows
    }

    /// Rows that are in memory: those that the front stands on, or those that wait for the first.
    pub fn kept(&self) -> usize {
        let kept = self.kept.rows().map_or(0, StoredRows::n_rows);
        kept + self.memory.held.n_rows()
    }

    /// Why rows were dropped, and how many, once there is a front.
    pub fn dropped(&self) -> &[Dropped] {
        &self.memory.dropped
    }

    /// The encoding of the front's points, once there is a front.
    pub fn encoding(&self) -> Option<&Encoding> {
        Some(&self.memory.found.as_ref()?.encoding)
    }

    /// The newest front as a run, once there is one.
    pub fn run(&self) -> Option<Run> {
        let memory = &self.memory;
        let found = memory.found.as_ref()?;
        let mut info = found.info.clone();
        info.stream = Some(StreamInfo {
            batches: memory.batches,
            updated: memory.updated,
            rows: memory.rows,
            used: memory.kept.seen,
            rejected: 0,
            dropped: memory.dropped.clone(),
            keep: memory.options.keep,
            kept: self.kept(),
        });
        Some(Run {
            info,
            front: found.front.clone(),
            encoding: found.encoding.clone(),
            evidence: found.evidence.clone(),
            uses: Vec::new(),
            estimator: None,
        })
    }
}

/// As bytes.
impl Live {
    /// All of it as bytes, rows included; what is read from them goes on as this does.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let text = serde_json::to_vec(&self.memory)
            .map_err(|e| Error::data(format!("the front cannot be written: {e}")))?;
        let rows = self.kept.rows().map(StoredRows::to_bytes);
        let rows = rows.unwrap_or_default();
        let mut bytes = Vec::with_capacity(HEADER + text.len() + rows.len() + SUM);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&text);
        bytes.extend_from_slice(&rows);
        let sum = Sha256::digest(&bytes);
        bytes.extend_from_slice(&sum);
        Ok(bytes)
    }

    /// Reads what [`Live::to_bytes`] wrote, and refuses anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let damaged = |why: &str| {
            Error::data(format!(
                "these bytes are no front that goes on: {why}; take an undamaged copy, or begin anew"
            ))
        };
        let rest = bytes.strip_prefix(MAGIC);
        let rest = rest.ok_or_else(|| damaged("they begin otherwise"))?;
        let cut_off = || damaged("they are cut off");
        let (version, rest) = rest.split_first_chunk().ok_or_else(cut_off)?;
        let version = u32::from_le_bytes(*version);
        if version != VERSION {
            return Err(Error::data(format!(
                "these bytes are of version {version}, and this program reads version {VERSION}; read \
                 them with the version that wrote them"
            )));
        }
        let (length, rest) = rest.split_first_chunk().ok_or_else(cut_off)?;
        let (rest, _) = rest
            .split_at_checked(rest.len().saturating_sub(SUM))
            .ok_or_else(cut_off)?;
        let (all, sum) = bytes
            .split_at_checked(HEADER + rest.len())
            .ok_or_else(cut_off)?;
        if Sha256::digest(all)[..] != *sum {
            return Err(damaged("their checksum is wrong"));
        }
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| cut_off())?;
        let (text, rows) = rest.split_at_checked(length).ok_or_else(cut_off)?;
        let memory: Memory = serde_json::from_slice(text).map_err(|e| damaged(&e.to_string()))?;
        let rows = match rows {
            [] => None,
            rows => Some(StoredRows::from_bytes(rows)?),
        };
        let apart = || damaged("their parts do not belong together");
        if !memory.held.is_sound() || memory.settled.is_some() != rows.is_some() {
            return Err(apart());
        }
        let current = match &memory.found {
            None => None,
            Some(found) => Some(found.current().ok_or_else(apart)?),
        };
        let agrees = |settled: &Settled| {
            let of_front = memory.found.as_ref().map(|found| &found.encoding);
            settled.encoding.check().is_ok()
                && of_front.is_none_or(|front| settled.encoding.extends(front))
        };
        if !memory.settled.as_ref().is_none_or(agrees) {
            return Err(apart());
        }
        let LiveOptions { spec, keep, .. } = &memory.options;
        Ok(Self {
            kept: Kept::of(*keep, spec.seed, memory.kept.clone(), rows),
            current,
            memory,
        })
    }
}

impl Found {
    /// The front to go on from; `None` where this does not belong together.
    fn current(&self) -> Option<Current> {
        let n_params = self.encoding.schema().n_features() + 1;
        let starts = match &self.starts {
            None => None,
            Some(points) if points.iter().all(|point| point.len() == n_params) => {
                Some(Points::from_vec(n_params, points.concat()))
            }
            Some(_) => return None,
        };
        Current::of_run(&self.info, &self.front, self.encoding.clone(), starts)
    }
}

/// Why rows make no front, where more of them may.
fn not_yet(error: &Error) -> Option<String> {
    match error {
        Error::Data(why) => Some(ready::without_advice(&why.to_string())),
        Error::Table(why) if why.is_for_want_of_rows() => {
            Some(ready::without_advice(&why.to_string()))
        }
        _ => None,
    }
}

/// Refuses a batch with rows that cannot be used.
fn all_usable(rejected: &[Rejected]) -> Result<(), Error> {
    let Some(first) = rejected.first() else {
        return Ok(());
    };
    let (rows, number) = (counted(rejected.len(), "row"), first.index + 1);
    Err(Error::data(say![
        "{rows} of the batch cannot be used, the first of them (row {number}) because of ",
        &first.reason
    ]))
}
