//! The known data sets: names that stand for files or generators with a spec.

mod adult;
mod compas;
mod demo;
mod place;
mod published;
mod synthetic;

use std::path::{Path, PathBuf};

use fairfront_core::counted;

pub use demo::{DEMO_BIAS_RACE, DEMO_BIAS_WOMEN};
pub use place::{DATA_FOLDER, cache_folder, data_folder, named_folder};
pub use published::PublishedFile;

use crate::error::{Error, near_names, near_words};
use crate::grammar::{self, Call};
use crate::memory::MemoryLimit;
use crate::read::{Reading, TextInput, table_text};
use crate::sieve::Exclusion;
use crate::spec::Spec;
use crate::table::Table;

/// A description of a known data set, available without reading it.
#[derive(Debug, Clone, Copy)]
pub struct KnownInfo {
    /// Its name, as typed by the user.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// The published files it consists of; empty for generated data sets.
    pub files: &'static [PublishedFile],
}

/// All known data sets.
pub const KNOWN: [KnownInfo; 6] = [
    KnownInfo {
        name: "demo",
        about: "20,000 simulated loan decisions with known proxies and a known bias; sex, race",
        files: &[],
    },
    KnownInfo {
        name: "adult:sex",
        about: "Adult census income over 50K, 45,222 rows; sex",
        files: &adult::FILES,
    },
    KnownInfo {
        name: "adult:race",
        about: "Adult census income over 50K, 45,222 rows; race (five groups)",
        files: &adult::FILES,
    },
    KnownInfo {
        name: "adult:sex+race",
        about: "Adult census income over 50K, 45,222 rows; sex and race",
        files: &adult::FILES,
    },
    KnownInfo {
        name: "compas:race",
        about: "COMPAS two-year recidivism, 5,278 rows; race (two groups)",
        files: &compas::FILES,
    },
    KnownInfo {
        name: "synthetic:SEED",
        about: "two Gaussian classes after Zafar et al., 2,000 rows; a binary attribute",
        files: &[],
    },
];

/// Other names of known data sets: the paper calls the attribute gender.
const ALIASES: [(&str, &str); 2] = [
    ("adult:gender", "adult:sex"),
    ("adult:gender+race", "adult:sex+race"),
];

/// A known data set, chosen by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    name: String,
    set: Set,
    memory: MemoryLimit,
}

#[derive(Debug, Clone, PartialEq)]
enum Set {
    Adult { sex: bool, race: bool },
    Compas,
    Demo(demo::Settings),
    Synthetic(synthetic::Settings),
}

impl Known {
    /// The data set of this name; `None` if the text is not such a name (but perhaps a file).
    ///
    /// ```
    /// use fairfront_data::Known;
    /// assert!(Known::parse("synthetic:3(rows=500, rotation=0.7)")?.is_some());
    /// assert!(Known::parse("loans.csv")?.is_none());
    /// # Ok::<(), fairfront_data::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Option<Self>, Error> {
        match Path::new(text).exists() {
            true => Ok(None),
            false => Self::named(text),
        }
    }

    /// Like [`Known::parse`], if the text cannot be a file.
    pub fn named(text: &str) -> Result<Option<Self>, Error> {
        let family = text.split([':', '(']).next().unwrap_or_default().trim();
        if !["adult", "compas", "demo", "synthetic"].contains(&family) {
            return Ok(None);
        }
        let text = match ALIASES.iter().find(|(alias, _)| *alias == text.trim()) {
            Some((_, name)) => name,
            None => text,
        };
        let call = grammar::call(text)?;
        let set = match call.name.as_str() {
            "adult:sex" => Set::Adult {
                sex: true,
                race: false,
            },
            "adult:race" => Set::Adult {
                sex: false,
                race: true,
            },
            "adult:sex+race" => Set::Adult {
                sex: true,
                race: true,
            },
            "compas:race" => Set::Compas,
            "demo" => Set::Demo(demo::Settings::from_call(&call)?),
            name => match name.strip_prefix("synthetic:").map(str::parse) {
                Some(Ok(seed)) => Set::Synthetic(synthetic::Settings::from_call(seed, &call)?),
                Some(Err(_)) | None => {
                    let names = KNOWN.iter().map(|k| k.name);
                    return Err(Error::usage(format!(
                        "no data set {name:?}; {}",
                        near_words(name, names)
                    )));
                }
            },
        };
        if matches!(set, Set::Adult { .. } | Set::Compas)
            && let Some((setting, _)) = call.settings.first()
        {
            return Err(no_setting(&call, setting, &[]));
        }
        Ok(Some(Self {
            name: text.trim().to_owned(),
            set,
            memory: MemoryLimit::default(),
        }))
    }

    /// Sets a limit on memory.
    #[must_use]
    pub fn within(self, memory: MemoryLimit) -> Self {
        Self { memory, ..self }
    }

    /// The memory limit of its table.
    pub(crate) fn memory(&self) -> MemoryLimit {
        self.memory
    }

    /// The name as typed by the user, or the name that an alias stands for.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The published files it consists of.
    pub fn files(&self) -> &'static [PublishedFile] {
        match self.set {
            Set::Adult { .. } => &adult::FILES,
            Set::Compas => &compas::FILES,
            Set::Demo(_) | Set::Synthetic(_) => &[],
        }
    }

    /// The spec that belongs to the data set; flags may change it.
    pub fn spec(&self) -> Spec {
        match self.set {
            Set::Adult { sex, race } => adult::spec(sex, race),
            Set::Compas => compas::spec(),
            Set::Demo(_) => demo::spec(),
            Set::Synthetic(_) => synthetic::spec(),
        }
    }

    /// The reading options for its published files.
    pub fn reading(&self) -> Reading {
        match self.set {
            Set::Adult { .. } => adult::reading(),
            Set::Compas | Set::Demo(_) | Set::Synthetic(_) => Reading::default(),
        }
    }

    /// Reads or generates the table, and reports which rows the data set's own rules exclude.
    pub fn open(
        &self,
        spec: &Spec,
        folder: Option<&Path>,
    ) -> Result<(Table, Vec<Exclusion>), Error> {
        let paths = published::find(&self.name, self.files(), folder)?;
        let (mut table, exclusions) = match &self.set {
            Set::Adult { .. } => (adult::read(spec, &paths)?, Vec::new()),
            Set::Compas => compas::read(spec, &paths)?,
            Set::Demo(settings) => (demo::table(settings, self.memory)?, Vec::new()),
            Set::Synthetic(settings) => (synthetic::table(settings, self.memory)?, Vec::new()),
        };
        table.name.clone_from(&self.name);
        Ok((table, exclusions))
    }

    /// The rows that the data set's own rules keep, as CSV text with all columns (empty unless the spec
    /// requires them). Read with the same spec, the text gives the rows that
    /// [`Prepared::from_known`](crate::Prepared::from_known) uses.
    pub fn open_text(&self, spec: &Spec, folder: Option<&Path>) -> Result<TextInput, Error> {
        let (table, exclusions) = self.open(spec, folder)?;
        Ok(table_text(table, &exclusions))
    }

    /// Paths of the published files, after verification.
    pub fn paths(&self, folder: Option<&Path>) -> Result<Vec<PathBuf>, Error> {
        published::find(&self.name, self.files(), folder)
    }
}

/// The value of a setting, or `default` if it is not given.
fn setting<T: std::str::FromStr>(call: &Call, name: &str, default: T) -> Result<T, Error> {
    match call.settings.iter().rev().find(|(n, _)| n == name) {
        None => Ok(default),
        Some((_, text)) => text.parse().map_err(|_| {
            Error::usage(format!(
                "{}: the setting {name}={text} is not a valid number",
                call.name
            ))
        }),
    }
}

fn check_settings(call: &Call, known: &[&str]) -> Result<(), Error> {
    match call
        .settings
        .iter()
        .find(|(n, _)| !known.contains(&n.as_str()))
    {
        None => Ok(()),
        Some((name, _)) => Err(no_setting(call, name, known)),
    }
}

fn no_setting(call: &Call, name: &str, known: &[&str]) -> Error {
    Error::usage(format!(
        "{} has no setting {name:?}; {}",
        call.name,
        near_names(name, known.iter().copied())
    ))
}

/// Rejects generated rows that need too much memory.
fn check_memory(
    name: &str,
    rows: usize,
    row_bytes: usize,
    memory: MemoryLimit,
) -> Result<(), Error> {
    let needed = rows.saturating_mul(row_bytes) as u64;
    memory.check(0, needed, name, &counted(rows, "row"), || {
        vec!["set fewer rows".into()]
    })
}

/// Reserves room for this many values, or returns an error.
fn with_room<T>(n: usize) -> Result<Vec<T>, Error> {
    let mut values = Vec::new();
    let needed = n.saturating_mul(size_of::<T>()) as u64;
    match values.try_reserve_exact(n) {
        Ok(()) => Ok(values),
        Err(_) => Err(MemoryLimit::refused(
            needed,
            "generated data",
            &counted(n, "row"),
            vec!["set fewer rows".into()],
        )),
    }
}

fn check_rows(call: &Call, rows: usize) -> Result<(), Error> {
    // Positions are u32, and a billion rows exceed any memory.
    if (1..=1_000_000_000).contains(&rows) {
        return Ok(());
    }
    Err(Error::usage(format!(
        "{}: rows={rows} is out of range; choose 1 to 1,000,000,000",
        call.name
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(text: &str) -> String {
        Known::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn names_differ_from_files() {
        for name in KNOWN.map(|k| k.name.replace("SEED", "3")) {
            assert!(Known::parse(&name).unwrap().is_some(), "{name}");
        }
        for file in ["demo.csv", "adult.data", "-", "x:y.csv", ""] {
            assert!(Known::parse(file).unwrap().is_none(), "{file}");
        }
    }

    #[test]
    fn aliases_give_the_same_data_set_and_name() {
        for (alias, name) in ALIASES {
            assert_eq!(Known::named(alias).unwrap(), Known::named(name).unwrap());
            assert_eq!(Known::named(alias).unwrap().unwrap().name(), name);
        }
    }

    #[test]
    fn wrong_names_and_settings_are_rejected() {
        assert!(rejected("adult:age").contains("adult:race"));
        assert!(rejected("adult").contains("adult:sex"));
        assert!(rejected("synthetic:x").contains("synthetic:SEED"));
        assert!(rejected("demo(row=5)").contains("did you mean \"rows\""));
        assert!(rejected("demo(rows=-5)").contains("rows=-5"));
        assert!(rejected("demo(rows=0)").contains("out of range"));
        assert!(rejected("compas:race(rows=5)").contains("no setting"));
    }
}
