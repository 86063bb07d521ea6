//! Flags and TOML keys for the solver, shared by all commands that compute a front.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use fairfront_data::{Error, Spec};
use fairfront_run::{
    Ask, Brought, FamilyName, FamilyRequest, FitRequest, FrontIn, SolverName, attribute_texts,
};
use serde::{Deserialize, Serialize};

use crate::table_args::FitConfig;

/// The flags as typed.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct SolverArgs {
    /// Function to minimize; repeat for each objective, the loss first
    #[arg(long, value_name = "OBJECTIVE", help_heading = "Solver")]
    pub(crate) objective: Vec<String>,
    /// Solver: trace, weighted, pf-smg, eps-fair or auto, which chooses trace if all objectives are
    /// convex covariances, weighted if objectives compare rates or losses of groups, and otherwise
    /// pf-smg with --polish [default: auto]
    #[arg(
        long,
        value_name = "SOLVER",
        value_parser = solver_name(),
        hide_possible_values = true,
        help_heading = "Solver"
    )]
    pub(crate) solver: Option<SolverName>,
    /// Use the settings of the paper's experiments instead of the defaults
    #[arg(long, value_name = "NAME", help_heading = "Solver")]
    pub(crate) preset: Option<Preset>,
    /// Number of models on the front [default: 1000 for trace, at most 200 for weighted, at most
    /// 1500 for pf-smg, 100 bounds for eps-fair]
    #[arg(long, value_name = "N", help_heading = "Solver")]
    pub(crate) models: Option<usize>,
    /// Change a setting of the solver; repeat for several (`fairfront fit --help` lists them)
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Solver")]
    pub(crate) set: Vec<String>,
    /// Refine the front by exact steps, which never make a model worse in any objective
    #[arg(long, help_heading = "Solver")]
    pub(crate) polish: bool,
    /// Keep the models that are nondominated in the objectives on training rows, or in the matching
    /// measures on training and validation rows [default: measures if the loss is `error_rate` or an
    /// objective compares rates, and every objective has a measure; otherwise objectives]
    #[arg(long, value_name = "VALUES", help_heading = "Solver")]
    pub(crate) front_in: Option<FrontInName>,
    /// Penalty on the coefficients in the log loss: a number, or auto, which chooses it by
    /// cross-validation on training rows [default: auto; 0.0001 with --preset paper]
    #[arg(
        long,
        value_name = "auto|NUMBER",
        help_heading = "Solver",
        allow_hyphen_values = true
    )]
    pub(crate) penalty: Option<PenaltyValue>,
    /// Family of models: linear, trees (combinations of probabilities that boosted trees estimate,
    /// and of the number that they predict if the target is a number), auto, which fits both and keeps the models that no other model dominates, or
    /// network (neural networks with one hidden layer) [default: linear]
    #[arg(
        long,
        value_name = "FAMILY",
        value_parser = family_name(),
        hide_possible_values = true,
        help_heading = "Models"
    )]
    pub(crate) family: Option<FamilyName>,
    /// Number of hidden units of networks, from 1 to 1024 [default: 16]
    #[arg(long, value_name = "N", help_heading = "Models")]
    pub(crate) hidden: Option<usize>,
    /// Column with the probabilities, or the predicted numbers, of another model: fit the front around
    /// that model, with trees for the sensitive columns. For more than two classes, one column per
    /// class, in their order
    #[arg(long, value_name = "COLUMN", help_heading = "Models")]
    pub(crate) score: Option<String>,
    /// Confirm that the values in --score were produced without the row itself: out of fold,
    /// or by a model trained on other rows
    #[arg(long, requires = "score", help_heading = "Models")]
    pub(crate) out_of_fold: bool,
}

impl SolverArgs {
    /// Completes these flags with those of `other`.
    pub(crate) fn over(&self, other: Self) -> Self {
        let list = |own: &Vec<String>, other: Vec<String>| match own.is_empty() {
            true => other,
            false => own.clone(),
        };
        Self {
            objective: list(&self.objective, other.objective),
            solver: self.solver.or(other.solver),
            preset: self.preset.or(other.preset),
            models: self.models.or(other.models),
            set: list(&self.set, other.set),
            polish: self.polish || other.polish,
            front_in: self.front_in.or(other.front_in),
            penalty: self.penalty.clone().or(other.penalty),
            family: self.family.or(other.family),
            hidden: self.hidden.or(other.hidden),
            score: self.score.clone().or(other.score),
            out_of_fold: self.out_of_fold || other.out_of_fold,
        }
    }

    /// Whether to use the paper's settings.
    pub(crate) fn is_paper(&self) -> bool {
        self.preset == Some(Preset::Paper)
    }

    /// The request for a fit on rows of this source.
    pub(crate) fn request(
        &self,
        source: &str,
        spec: &Spec,
        is_number: bool,
    ) -> anyhow::Result<FitRequest> {
        let attributes = attribute_texts(spec);
        Ok(self.ask(spec)?.request(source, &attributes, is_number)?)
    }

    /// The request before its strings are parsed.
    pub(crate) fn ask(&self, spec: &Spec) -> anyhow::Result<Ask> {
        Ok(Ask {
            objectives: self.objective.clone(),
            solver: self.solver.unwrap_or_default(),
            paper: self.is_paper(),
            models: self.models,
            settings: settings(&self.set)?,
            polish: self.polish,
            front_in: self.front_in.map(|name| match name {
                FrontInName::Objectives => FrontIn::Objectives,
                FrontInName::Measures => FrontIn::Measures,
            }),
            penalty: match &self.penalty {
                Some(value) => value.number()?,
                None => None,
            },
            family: self.family(spec)?,
            hidden: self.hidden,
            seed: spec.seed,
        })
    }

    /// The families of models to fit.
    fn family(&self, spec: &Spec) -> anyhow::Result<FamilyRequest> {
        let family = match (&self.score, self.family) {
            (Some(_), None | Some(FamilyName::Trees)) => FamilyName::Trees,
            (Some(score), Some(other)) => {
                return Err(Error::usage(format!(
                    "--score {score}: the front is made of models around this score, so it cannot \
                     be combined with --family {}; remove one of them",
                    other.name()
                ))
                .into());
            }
            (None, family) => family.unwrap_or_default(),
        };
        if let (Some(score), false) = (&self.score, self.out_of_fold) {
            return Err(Error::usage(format!(
                "--score {score}: predictions of a model for the rows it was trained on are too \
                 good, and so would be the front; produce them out of fold (with scikit-learn: \
                 cross_val_predict) and confirm this with --out-of-fold"
            ))
            .into());
        }
        let sensitive = spec.sensitive_columns().cloned();
        Ok(FamilyRequest {
            family,
            brought: Brought {
                outcome: self.score.clone(),
                ..Brought::default()
            },
            // Learners are blind to groups; thresholds by group are shown separately.
            ignored: match spec.use_sensitive && family.learns() {
                true => sensitive.collect(),
                false => Vec::new(),
            },
            by_group: spec.use_sensitive && family.learns() && spec.probabilities.is_empty(),
            ..FamilyRequest::default()
        })
    }
}

/// Parses the name of a family, with suggestions for misspelled names.
fn family_name() -> impl TypedValueParser<Value = FamilyName> {
    PossibleValuesParser::new(FamilyName::ALL.map(FamilyName::name))
        .map(|name| FamilyName::parse(&name).unwrap_or_default())
}

/// Parses the name of a solver, with suggestions for misspelled names.
fn solver_name() -> impl TypedValueParser<Value = SolverName> {
    PossibleValuesParser::new(SolverName::ALL.map(SolverName::name))
        .map(|name| SolverName::parse(&name).unwrap_or_default())
}

/// Declares the type of a TOML key that was renamed: every value is an error with the new name.
macro_rules! renamed_key {
    ($name:ident, $error:literal) => {
        #[doc = $error]
        #[derive(Debug, Clone, Serialize)]
        pub(crate) enum $name {}

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
                Err(serde::de::Error::custom($error))
            }
        }
    };
}

renamed_key!(OldMethod, "`method` is now called `solver`; rename it");
renamed_key!(OldPoints, "`points` is now called `models`; rename it");

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FrontInName {
    /// Smooth functions that the solver minimizes
    Objectives,
    /// Accuracy and differences between rates
    Measures,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Preset {
    Paper,
}

impl From<FitConfig> for SolverArgs {
    fn from(config: FitConfig) -> Self {
        Self {
            objective: config.objective,
            solver: config.solver,
            preset: config.preset,
            models: config.models,
            set: config.set,
            polish: config.polish,
            front_in: config.front_in,
            penalty: config.penalty,
            family: config.family,
            hidden: config.hidden,
            score: config.score,
            out_of_fold: config.out_of_fold,
        }
    }
}

/// The value of `--penalty`, as a flag or in a TOML file: the word auto, or a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum PenaltyValue {
    Number(f64),
    Text(String),
}

impl std::str::FromStr for PenaltyValue {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::Text(text.to_owned()))
    }
}

impl PenaltyValue {
    /// The number; `None` for the word auto.
    fn number(&self) -> Result<Option<f64>, Error> {
        let (number, shown) = match self {
            Self::Number(number) => (Some(*number), number.to_string()),
            Self::Text(text) if text == "auto" => return Ok(None),
            Self::Text(text) => (text.parse::<f64>().ok(), text.clone()),
        };
        match number {
            Some(number) if number.is_finite() && number >= 0.0 => Ok(Some(number)),
            _ => Err(Error::usage(format!(
                "--penalty {shown}: not a penalty; choose auto, or a number that is not negative"
            ))),
        }
    }
}

/// The names and values of `--set`.
fn settings(set: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    let mut settings: Vec<(String, String)> = Vec::new();
    for text in set {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| Error::usage(format!("--set {text:?}: expected NAME=VALUE")))?;
        let (name, value) = (name.trim(), value.trim());
        if settings.iter().any(|(other, _)| other == name) {
            return Err(
                Error::usage(format!("--set {name}: set twice; remove one of them")).into(),
            );
        }
        settings.push((name.to_owned(), value.to_owned()));
    }
    Ok(settings)
}
