//! What is asked for, in words, and the solvers and objectives that it means.

use std::collections::BTreeSet;

use fairfront_core::{Message, either, say};
use fairfront_data::{Spec, grammar};
use fairfront_solve::{EpsFair, Method, PfSmg, Polish, Trace, Weighted};
use serde::{Deserialize, Serialize};

use crate::setting::{METHOD, PENALTY, PRESET, SET, TRY};
use crate::{
    Error, FitRequest, FrontIn, MethodChoice, PAPER_PENALTY, Penalty, default_objectives,
    paper_eps_fair, paper_pf_smg,
};

/// A solver by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Solver {
    /// [`Trace`] where all objectives are convex covariances, [`Weighted`] where there are rates or
    /// groups' losses, otherwise [`PfSmg`], polished.
    #[default]
    Auto,
    /// Stochastic multi-gradient runs.
    PfSmg,
    /// The loss under bounds on the covariances.
    EpsFair,
    /// The exact front.
    Trace,
    /// Weighted sums.
    Weighted,
}

/// How a front is to be computed, as people say it: what the command and the Python package share.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// What is minimised, the loss first; where there is nothing, the usual objectives.
    pub objectives: Vec<String>,
    /// The solver.
    pub solver: Solver,
    /// Whether the settings are those of the paper's experiments.
    pub paper: bool,
    /// Points of the front.
    pub points: Option<usize>,
    /// Settings of the solver, names and values.
    pub settings: Vec<(String, String)>,
    /// Whether the front is polished, whatever the solver.
    pub polish: bool,
    /// By what points are judged.
    pub front_in: Option<FrontIn>,
    /// Penalty of the log loss; `None` chooses it by cross-validation, or takes the paper's with `paper`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub penalty: Option<f64>,
    /// Seed of the solver.
    pub seed: u64,
}

impl Ask {
    /// What is to be fitted on rows of this source, with these attributes as objectives name them.
    pub fn request(&self, source: &str, attributes: &[String]) -> Result<FitRequest, Error> {
        self.request_with(source, attributes, &[])
    }

    /// The same, by a solver that knows these settings too, whose values are set later.
    pub(crate) fn request_with(
        &self,
        source: &str,
        attributes: &[String],
        tried: &[&str],
    ) -> Result<FitRequest, Error> {
        let n_objectives = match self.objectives.len() {
            0 => 1 + attributes.len(),
            n => n,
        };
        let methods = methods(self, source, n_objectives, tried)?;
        let needs_covariances =
            |c: &MethodChoice| matches!(c.method, Method::Trace(_) | Method::EpsFair(_));
        let covariances = self.paper || methods.iter().all(needs_covariances);
        let objectives = match self.objectives.is_empty() {
            true => default_objectives(attributes, covariances),
            false => self.objectives.clone(),
        };
        let as_asked = |objective: &String| match self.paper {
            true => as_in_paper(objective),
            false => objective.clone(),
        };
        let penalty = match self.penalty {
            Some(lambda) if lambda.is_finite() && lambda >= 0.0 => Penalty::Fixed(lambda),
            Some(lambda) => {
                return Err(Error::usage(say![
                    PENALTY.is(lambda),
                    ": not a penalty; choose auto, or a number that is not negative"
                ]));
            }
            None if self.paper => Penalty::Fixed(PAPER_PENALTY),
            None => Penalty::Auto { seed: self.seed },
        };
        Ok(FitRequest {
            methods,
            objectives: objectives.iter().map(as_asked).collect(),
            front_in: self.front_in,
            penalty,
            loss_alone: false,
        })
    }
}

/// The sensitive attributes of a spec, as objectives name them.
pub fn attribute_texts(spec: &Spec) -> Vec<String> {
    let text = |columns: &Vec<String>| {
        let columns: Vec<String> = columns.iter().map(|c| grammar::quote(c)).collect();
        columns.join(":")
    };
    spec.sensitive.iter().map(text).collect()
}

fn not_in_paper(name: &str) -> Error {
    Error::usage(say![
        "the paper has no method {name}";
        "leave out ", either([PRESET, METHOD])
    ])
}

/// The solvers that may be used: the one that was named, or those that are tried in turn.
fn methods(
    ask: &Ask,
    source: &str,
    n_objectives: usize,
    tried: &[&str],
) -> Result<Vec<MethodChoice>, Error> {
    let paper = ask.paper;
    let pf_smg = || match paper {
        true => Method::PfSmg(paper_pf_smg(source, n_objectives)),
        false => Method::PfSmg(PfSmg::default()),
    };
    let asked = ask.polish.then(Polish::default);
    let candidate = |method| MethodChoice {
        method,
        polish: asked.clone(),
    };
    let mut candidates = match ask.solver {
        Solver::Auto if !paper => {
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
        Solver::Auto | Solver::PfSmg => vec![candidate(pf_smg())],
        Solver::EpsFair => vec![candidate(Method::EpsFair(match paper {
            true => paper_eps_fair(source),
            false => EpsFair::default(),
        }))],
        Solver::Trace if paper => {
            return Err(not_in_paper("trace"));
        }
        Solver::Weighted if paper => {
            return Err(not_in_paper("weighted"));
        }
        Solver::Weighted => vec![candidate(Method::Weighted(Weighted::default()))],
        Solver::Trace => vec![candidate(Method::Trace(Trace::default()))],
    };
    let settings = &ask.settings;
    // Settings that only some of several know choose among these.
    let set = settings
        .iter()
        .map(|(name, value)| (name.as_str(), say![SET, " \"{name}={value}\""]));
    let tried = tried.iter().map(|name| (*name, say![TRY.of(*name)]));
    let named: Vec<(&str, Message)> = set.chain(tried).collect();
    if candidates.len() > 1 && !named.is_empty() {
        let knows_all = |c: &MethodChoice| {
            let knows = |name: &str| c.method.names().iter().any(|(known, _)| *known == name);
            named.iter().all(|(name, _)| knows(name))
        };
        match candidates.iter().any(knows_all) {
            true => candidates.retain(knows_all),
            false => {
                let names = candidates.iter().flat_map(|c| c.method.names());
                let known: BTreeSet<&str> = names.map(|(name, _)| *name).collect();
                let unknown = named.iter().find(|(name, _)| !known.contains(name));
                let of_eps_fair = |name: &str| EpsFair::NAMES.iter().any(|(n, _)| *n == name);
                let message = match unknown {
                    Some((name, setting)) if of_eps_fair(name) => say![
                        setting, ": this is a setting of eps-fair";
                        "add ", METHOD.is("eps-fair")
                    ],
                    Some((name, setting)) => {
                        let near = fairfront_data::near_names(name, known);
                        say![setting, ": unknown setting; {near}"]
                    }
                    None => {
                        let mut message = Message::default();
                        for (i, (_, setting)) in named.iter().enumerate() {
                            message.push((i > 0).then_some(" "));
                            message.push(setting);
                        }
                        say![
                            message, ": these are settings of different solvers";
                            "name one with ", METHOD
                        ]
                    }
                };
                return Err(Error::Usage(message));
            }
        }
    }
    for candidate in &mut candidates {
        let method = &mut candidate.method;
        method.set_seed(ask.seed);
        if let Some(points) = ask.points {
            method.set_points(points);
        }
        for (name, value) in settings {
            let (known, of) = (method.names(), method.name());
            method.set(name, value).map_err(|error| {
                let known = known.iter().map(|(name, _)| *name);
                let hint = match known.clone().any(|k| k == name) {
                    true => error.to_string(),
                    false => format!(
                        "there is no such setting of {of}; {}",
                        fairfront_data::near_names(name, known)
                    ),
                };
                Error::usage(say![SET, " \"{name}={value}\": {hint}"])
            })?;
        }
    }
    Ok(candidates)
}

/// The paper centres with all rows.
fn as_in_paper(objective: &str) -> String {
    let conditioned = ["equal_opportunity", "predictive_equality"];
    match grammar::objective(objective) {
        Ok(call)
            if conditioned.contains(&call.name.as_str())
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
