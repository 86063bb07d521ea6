//! How a front is to be computed: flags and TOML keys of every command that computes one.

use std::collections::BTreeSet;

use clap::{Args, ValueEnum};
use fairfront_data::{Error, Spec, grammar};
use fairfront_run::{
    FitRequest, FrontIn, MethodChoice, default_objectives, paper_eps_fair, paper_pf_smg,
};
use fairfront_solve::{EpsFair, Method, PfSmg, Polish, Trace, Weighted};
use serde::{Deserialize, Serialize};

use crate::table_args::FitConfig;

/// As typed.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct SolverArgs {
    /// What is minimised; repeat for each, the loss first
    #[arg(long, value_name = "OBJECTIVE", help_heading = "Solver")]
    pub(crate) objective: Vec<String>,
    /// Solver: trace, weighted, pf-smg, eps-fair or auto [default: auto: trace where all objectives
    /// are convex covariances, weighted where there are rates or groups' losses, otherwise pf-smg
    /// with --polish]
    #[arg(
        long,
        value_name = "METHOD",
        hide_possible_values = true,
        help_heading = "Solver"
    )]
    pub(crate) method: Option<MethodName>,
    /// The settings of the paper's experiments instead of ours
    #[arg(long, value_name = "NAME", help_heading = "Solver")]
    pub(crate) preset: Option<Preset>,
    /// Points of the front [default: trace 1000, weighted at most 200, pf-smg at most 1500, eps-fair
    /// 100 bounds]
    #[arg(long, value_name = "N", help_heading = "Solver")]
    pub(crate) points: Option<usize>,
    /// A setting of the solver; repeat for several (listed below)
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Solver")]
    pub(crate) set: Vec<String>,
    /// Refine the front by exact steps: no point gets worse in any objective
    #[arg(long, help_heading = "Solver")]
    pub(crate) polish: bool,
    /// Keep what is nondominated in the objectives on training rows, or in the matching measures on
    /// training and validation rows [default: measures where objectives are rates]
    #[arg(long, value_name = "WHAT", help_heading = "Solver")]
    pub(crate) front_in: Option<FrontInName>,
}

impl SolverArgs {
    /// These flags where given, the others where not.
    pub(crate) fn over(&self, other: Self) -> Self {
        let list = |own: &Vec<String>, other: Vec<String>| match own.is_empty() {
            true => other,
            false => own.clone(),
        };
        Self {
            objective: list(&self.objective, other.objective),
            method: self.method.or(other.method),
            preset: self.preset.or(other.preset),
            points: self.points.or(other.points),
            set: list(&self.set, other.set),
            polish: self.polish || other.polish,
            front_in: self.front_in.or(other.front_in),
        }
    }

    /// Whether the paper's settings are asked for.
    pub(crate) fn is_paper(&self) -> bool {
        self.preset == Some(Preset::Paper)
    }

    /// What is to be fitted on rows of this source.
    pub(crate) fn request(&self, source: &str, spec: &Spec) -> anyhow::Result<FitRequest> {
        let paper = self.is_paper();
        let n_objectives = match self.objective.len() {
            0 => 1 + spec.sensitive.len(),
            n => n,
        };
        let methods = methods(self, source, spec.seed, n_objectives)?;
        let needs_covariances =
            |c: &MethodChoice| matches!(c.method, Method::Trace(_) | Method::EpsFair(_));
        let objectives = match self.objective.is_empty() {
            true => default_objectives(spec, paper || methods.iter().all(needs_covariances)),
            false => self.objective.clone(),
        };
        Ok(FitRequest {
            methods,
            objectives: objectives.iter().map(|o| as_in_paper(o, paper)).collect(),
            front_in: self.front_in.map(|name| match name {
                FrontInName::Objectives => FrontIn::Objectives,
                FrontInName::Measures => FrontIn::Measures,
            }),
            loss_alone: false,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MethodName {
    #[default]
    Auto,
    PfSmg,
    EpsFair,
    Trace,
    Weighted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FrontInName {
    /// The smooth functions that are minimised
    Objectives,
    /// What people read: accuracy, differences of rates
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
            method: config.method,
            preset: config.preset,
            points: config.points,
            set: config.set,
            polish: config.polish,
            front_in: config.front_in,
        }
    }
}

/// The solvers that may be used: the one that was named, or those that are tried in turn.
fn methods(
    args: &SolverArgs,
    source: &str,
    seed: u64,
    n_objectives: usize,
) -> anyhow::Result<Vec<MethodChoice>> {
    let paper = args.is_paper();
    let pf_smg = || match paper {
        true => Method::PfSmg(paper_pf_smg(source, n_objectives)),
        false => Method::PfSmg(PfSmg::default()),
    };
    let asked = args.polish.then(Polish::default);
    let candidate = |method| MethodChoice {
        method,
        polish: asked.clone(),
    };
    let mut candidates = match args.method.unwrap_or_default() {
        MethodName::Auto if !paper => {
            let polished = MethodChoice {
                method: pf_smg(),
                polish: Some(Polish::default()),
            };
            vec![
                candidate(Method::Trace(Trace::default())),
                candidate(Method::Weighted(Weighted::default())),
                polished,
            ]
        }
        MethodName::Auto | MethodName::PfSmg => vec![candidate(pf_smg())],
        MethodName::EpsFair => vec![candidate(Method::EpsFair(match paper {
            true => paper_eps_fair(source),
            false => EpsFair::default(),
        }))],
        MethodName::Trace if paper => {
            let message = "the paper has no method trace; leave out --preset or --method";
            return Err(Error::Usage(message.into()).into());
        }
        MethodName::Weighted if paper => {
            let message = "the paper has no method weighted; leave out --preset or --method";
            return Err(Error::Usage(message.into()).into());
        }
        MethodName::Weighted => vec![candidate(Method::Weighted(Weighted::default()))],
        MethodName::Trace => vec![candidate(Method::Trace(Trace::default()))],
    };
    let settings = settings(&args.set)?;
    // Settings that only some of several know choose among these.
    if candidates.len() > 1 && !settings.is_empty() {
        let knows_all = |c: &MethodChoice| {
            let knows = |name: &str| c.method.names().iter().any(|(known, _)| *known == name);
            settings.iter().all(|(name, _)| knows(name))
        };
        match candidates.iter().any(knows_all) {
            true => candidates.retain(knows_all),
            false => {
                let names = candidates.iter().flat_map(|c| c.method.names());
                let known: BTreeSet<&str> = names.map(|(name, _)| *name).collect();
                let unknown = settings.iter().find(|(name, _)| !known.contains(name));
                let of_eps_fair = |name: &str| EpsFair::NAMES.iter().any(|(n, _)| *n == name);
                let message = match unknown {
                    Some((name, value)) if of_eps_fair(name) => format!(
                        "--set \"{name}={value}\": this is a setting of eps-fair; add --method eps-fair"
                    ),
                    Some((name, value)) => format!(
                        "--set \"{name}={value}\": there is no such setting; {}",
                        fairfront_data::near_names(name, known)
                    ),
                    None => {
                        "--set: these are settings of different solvers; name one with --method"
                            .into()
                    }
                };
                return Err(Error::Usage(message).into());
            }
        }
    }
    for candidate in &mut candidates {
        let method = &mut candidate.method;
        method.set_seed(seed);
        if let Some(points) = args.points {
            method.set_points(points);
        }
        for (name, value) in &settings {
            let (known, of) = (method.names(), method.name());
            method.set(name, value).map_err(|error| {
                let known = known.iter().map(|(name, _)| *name);
                let hint = match known.clone().any(|k| k == *name) {
                    true => error.to_string(),
                    false => format!(
                        "there is no such setting of {of}; {}",
                        fairfront_data::near_names(name, known)
                    ),
                };
                Error::Usage(format!("--set \"{name}={value}\": {hint}"))
            })?;
        }
    }
    Ok(candidates)
}

/// `--set` as names and values.
fn settings(set: &[String]) -> anyhow::Result<Vec<(&str, &str)>> {
    let mut settings: Vec<(&str, &str)> = Vec::new();
    for text in set {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| Error::Usage(format!("--set {text:?}: expected NAME=VALUE")))?;
        let (name, value) = (name.trim(), value.trim());
        if settings.iter().any(|(other, _)| *other == name) {
            return Err(Error::Usage(format!("--set {name} is given twice")).into());
        }
        settings.push((name, value));
    }
    Ok(settings)
}

/// The paper centres with all rows.
fn as_in_paper(objective: &str, paper: bool) -> String {
    let conditioned = ["equal_opportunity", "predictive_equality"];
    match grammar::objective(objective) {
        Ok(call)
            if paper
                && conditioned.contains(&call.name.as_str())
                && !call.settings.iter().any(|(name, _)| name == "center") =>
        {
            match objective.trim_end().strip_suffix(')') {
                Some(start) => format!("{start}, center=all)"),
                None => objective.to_owned(),
            }
        }
        _ => objective.to_owned(),
    }
}
