//! What determines the result of a stream in addition to its rows.

use fairfront_core::{Message, counted, say};
use fairfront_data::setting::{BALANCE, SENSITIVE, TARGET};
use fairfront_data::{ReadOptions, Spec, grammar};
use fairfront_run::{Error, FitRequest, Keep, attribute_texts, default_objectives};
use serde::{Deserialize, Serialize};

use crate::setting::{BATCH, RESERVOIR, WINDOW};

/// What determines the fronts of a stream in addition to its rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LiveOptions {
    /// Roles, policies, split and seed.
    pub spec: Spec,
    /// Objectives and solvers.
    pub request: FitRequest,
    /// Which rows the front stands on.
    pub keep: Keep,
    /// Names of the sensitive attributes, in the order of the spec; if there are none, those of their
    /// columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

impl LiveOptions {
    /// Refuses what cannot be right whatever the rows, and settles what was left open.
    pub(crate) fn settled(mut self) -> Result<Self, Error> {
        let usage = |message: Message| Err(Error::usage(message));
        self.check_rows()?;
        let (names, n) = (&self.names, self.spec.sensitive.len());
        if !names.is_empty() && names.len() != n {
            let (names, attributes) = (
                counted(names.len(), "name"),
                counted(n, "sensitive attribute"),
            );
            return usage(say!["{names} for {attributes}; name all or none"]);
        }
        let twice = |(i, name): &(usize, &String)| names[..*i].contains(name);
        if let Some((_, name)) = names.iter().enumerate().find(twice) {
            return usage(say!["two sensitive attributes are called {name:?}"]);
        }
        if self.request.objectives.is_empty() {
            let attributes = match names.is_empty() {
                true => attribute_texts(&self.spec),
                false => names.iter().map(|name| grammar::quote(name)).collect(),
            };
            self.request.objectives = default_objectives(&attributes, false);
        }
        if self.request.objectives.len() < 2 && !self.request.loss_alone {
            return usage(say![
                "a front needs at least two objectives";
                "name a sensitive column with ", SENSITIVE
            ]);
        }
        if self.request.solvers.is_empty() {
            return usage("name a solver".into());
        }
        Ok(self)
    }

    /// Refuses what cannot be right about rows that are to arrive in batches.
    fn check_rows(&self) -> Result<(), Error> {
        let usage = |message: Message| Err(Error::usage(message));
        self.spec.check()?;
        if self.spec.target.is_none() {
            return usage(say!["a front needs a target"; "name the column with ", TARGET]);
        }
        if self.spec.balance.is_some() {
            return usage(say![
                BALANCE,
                " is for tables that are whole; rows of a stream are taken as they come"
            ]);
        }
        match self.keep {
            Keep::Window(0) => usage(say![WINDOW.is(0), ": keep at least one row"]),
            Keep::Reservoir(0) => usage(say![RESERVOIR.is(0), ": keep at least one row"]),
            _ => Ok(()),
        }
    }
}

/// What determines a stream's result in addition to its rows; settled by the first call.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamOptions {
    /// What determines its fronts.
    pub live: LiveOptions,
    /// How rows become batches.
    pub input: InputOptions,
}

/// How the rows of inputs become batches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputOptions {
    /// A known data set, if that is the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
    /// How inputs are read.
    pub read: ReadOptions,
    /// Rows of a batch.
    pub batch: usize,
    /// What the first call was told, in the words of the caller; nothing here looks at it.
    #[serde(default)]
    pub asked: serde_json::Value,
}

impl InputOptions {
    /// Refuses what cannot be right, before any row is read.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.batch {
            0 => Err(Error::usage(say![
                BATCH.is(0),
                ": a batch needs at least one row"
            ])),
            _ => Ok(()),
        }
    }
}
