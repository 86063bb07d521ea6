//! The options that determine the result of a stream, together with its rows.

use fairfront_core::{Message, counted, say};
use fairfront_data::setting::{BALANCE, SENSITIVE, TARGET};
use fairfront_data::{ReadOptions, Spec, grammar};
use fairfront_run::{Error, FitRequest, Keep, attribute_texts, default_objectives};
use serde::{Deserialize, Serialize};

use crate::setting::{BATCH, RESERVOIR, WINDOW};

/// The options that determine the fronts of a stream, together with its rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LiveOptions {
    /// Roles, policies, split and seed.
    pub spec: Spec,
    /// Objectives and solvers.
    pub request: FitRequest,
    /// The rows to keep for the front.
    pub keep: Keep,
    /// The default objectives if the first rows show that the target is a number; empty if the objectives
    /// do not depend on that, and after the first front.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objectives_of_number: Vec<String>,
    /// Names of the sensitive attributes, in the order of the spec; if empty, the names of their columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

impl LiveOptions {
    /// Rejects options that are wrong for any rows, and fills in defaults.
    pub(crate) fn settled(mut self) -> Result<Self, Error> {
        let usage = |message: Message| Err(Error::usage(message));
        self.check_rows()?;
        let (names, n) = (&self.names, self.spec.sensitive.len());
        if !names.is_empty() && names.len() != n {
            let (names, attributes) = (
                counted(names.len(), "name"),
                counted(n, "sensitive attribute"),
            );
            return usage(say![
                "{names} for {attributes}; pass one name per attribute, or none"
            ]);
        }
        let twice = |(i, name): &(usize, &String)| names[..*i].contains(name);
        if let Some((_, name)) = names.iter().enumerate().find(twice) {
            return usage(say![
                "two sensitive attributes are both called {name:?}; rename one of them"
            ]);
        }
        if self.request.objectives.is_empty() {
            let attributes = match names.is_empty() {
                true => attribute_texts(&self.spec),
                false => names.iter().map(|name| grammar::quote(name)).collect(),
            };
            let of = |is_number| default_objectives(&attributes, false, is_number);
            self.request.objectives = of(self.spec.numeric);
            self.objectives_of_number = of(true);
        }
        if self.request.objectives.len() < 2 && !self.request.loss_alone {
            return usage(say![
                "a front needs at least two objectives";
                "choose a sensitive column with ", SENSITIVE
            ]);
        }
        if self.request.solvers.is_empty() {
            return usage("no solver is set; choose at least one".into());
        }
        Ok(self)
    }

    /// The objectives and solvers once it is known whether the target is a number.
    pub(crate) fn request_for(&self, is_number: bool) -> FitRequest {
        let mut request = self.request.clone();
        if is_number && !self.objectives_of_number.is_empty() {
            request.objectives.clone_from(&self.objectives_of_number);
        }
        request
    }

    /// Keeps these objectives.
    pub(crate) fn fix_target(&mut self, is_number: bool) {
        self.request = self.request_for(is_number);
        self.objectives_of_number.clear();
    }

    /// Rejects options that are wrong for rows that arrive in batches.
    fn check_rows(&self) -> Result<(), Error> {
        let usage = |message: Message| Err(Error::usage(message));
        self.spec.check()?;
        self.spec.needs_known_groups("a stream")?;
        if self.spec.target.is_none() {
            return usage(say!["no target column is set"; "choose one with ", TARGET]);
        }
        if self.spec.balance.is_some() {
            return usage(say![
                BALANCE,
                " applies only to whole tables; remove it for a stream"
            ]);
        }
        match self.keep {
            Keep::Window(0) => usage(say![
                WINDOW.is(0),
                ": the window is empty; keep at least one row"
            ]),
            Keep::Reservoir(0) => usage(say![
                RESERVOIR.is(0),
                ": the reservoir is empty; keep at least one row"
            ]),
            _ => Ok(()),
        }
    }
}

/// The options that determine a stream's result, together with its rows; fixed by the first call.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamOptions {
    /// The options for its fronts.
    pub live: LiveOptions,
    /// The options for its inputs and batches.
    pub input: InputOptions,
}

/// Options for reading inputs and dividing their rows into batches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputOptions {
    /// A known data set, if that is the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
    /// The reading options of inputs.
    pub read: ReadOptions,
    /// Number of rows per batch.
    pub batch: usize,
    /// The settings of the first call, in the caller's format; not used here.
    #[serde(default)]
    pub asked: serde_json::Value,
}

impl InputOptions {
    /// Rejects invalid options before any row is read.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.batch {
            0 => Err(Error::usage(say![
                BATCH.is(0),
                ": the batch size is zero; choose at least one row"
            ])),
            _ => Ok(()),
        }
    }
}
