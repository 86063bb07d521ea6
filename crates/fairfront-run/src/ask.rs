//! Fit options as users write them, and the solvers and objectives that they select.

use std::collections::BTreeSet;

use fairfront_core::{MOST_HIDDEN, Message, either, grouped, say};
use fairfront_data::{Spec, grammar};
use fairfront_solve::{AnySolver, EpsFair, Polish, Settings};
use serde::{Deserialize, Serialize};

use crate::setting::{FAMILY, HIDDEN, PENALTY, PRESET, SET, SOLVER, TRY};
use crate::{
    Error, FamilyName, FamilyRequest, FitRequest, FrontIn, ObjectiveCall, PAPER_PENALTY, Penalty,
    SolverChoice, default_objectives, paper_eps_fair, paper_pf_smg,
};

/// The number of hidden units of networks, unless another one is requested.
pub const DEFAULT_HIDDEN: usize = 16;

/// A solver by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SolverName {
    /// The first solver that suits the objectives best ([`Solver::suits`]): [`Trace`] for convex
    /// covariances, [`Weighted`] for rates and group losses, otherwise [`PfSmg`] with polishing.
    ///
    /// [`Solver::suits`]: fairfront_solve::Solver::suits
    /// [`Trace`]: fairfront_solve::Trace
    /// [`Weighted`]: fairfront_solve::Weighted
    /// [`PfSmg`]: fairfront_solve::PfSmg
    #[default]
    Auto,
    /// The exact front.
    Trace,
    /// Weighted sums.
    Weighted,
    /// Stochastic multi-gradient descent with restarts.
    PfSmg,
    /// The loss under bounds on the covariances.
    EpsFair,
}

impl SolverName {
    /// All names.
    pub const ALL: [Self; 5] = [
        Self::Auto,
        Self::Trace,
        Self::Weighted,
        Self::PfSmg,
        Self::EpsFair,
    ];

    /// The name as a string.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Trace => "trace",
            Self::Weighted => "weighted",
            Self::PfSmg => "pf-smg",
            Self::EpsFair => "eps-fair",
        }
    }

    /// Parses a name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.name() == text)
    }
}

/// Fit options as users write them, shared by the command and the Python package.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// Objectives to minimize, the loss first; if empty, the default objectives.
    pub objectives: Vec<String>,
    /// The solver.
    pub solver: SolverName,
    /// Whether to use the settings of the paper's experiments.
    pub paper: bool,
    /// Number of models of the front.
    pub models: Option<usize>,
    /// Settings of the solver, names and values.
    pub settings: Vec<(String, String)>,
    /// Whether to polish the front of any solver.
    pub polish: bool,
    /// The values that models are judged by.
    pub front_in: Option<FrontIn>,
    /// Penalty of the log loss; `None` chooses it by cross-validation, or uses the paper's if
    /// `paper` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub penalty: Option<f64>,
    /// The families of models to fit.
    #[serde(default, skip_serializing_if = "FamilyRequest::is_linear")]
    pub family: FamilyRequest,
    /// Number of hidden units, only for networks; `None` for [`DEFAULT_HIDDEN`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<usize>,
    /// Seed of the solver and of the folds of learners.
    pub seed: u64,
}

impl Ask {
    /// The request for a fit on rows of this source, with attributes spelled as in objectives and a target
    /// that is a number or binary.
    pub fn request(
        &self,
        source: &str,
        attributes: &[String],
        is_number: bool,
    ) -> Result<FitRequest, Error> {
        self.request_with(source, attributes, is_number, &[])
    }

    /// Like [`request`](Self::request), with a solver that also has the settings in `tried`, whose
    /// values are set later.
    pub(crate) fn request_with(
        &self,
        source: &str,
        attributes: &[String],
        is_number: bool,
        tried: &[&str],
    ) -> Result<FitRequest, Error> {
        let n_objectives = match self.objectives.len() {
            0 => 1 + attributes.len(),
            n => n,
        };
        let solvers = solvers(self, source, n_objectives, tried)?;
        let needs_covariances = |choice: &SolverChoice| choice.solver.needs_covariances();
        let covariances = self.paper || solvers.iter().all(needs_covariances);
        let objectives = match self.objectives.is_empty() {
            true => default_objectives(attributes, covariances, is_number),
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
            solvers,
            objectives: objectives.iter().map(as_asked).collect(),
            front_in: self.front_in,
            penalty,
            loss_alone: false,
            family: FamilyRequest {
                hidden: self.hidden_units()?,
                seed: self.seed,
                ..self.family.clone()
            },
        })
    }
}

impl Ask {
    /// The number of hidden units of networks; 0 for other families.
    fn hidden_units(&self) -> Result<u32, Error> {
        match (self.family.family, self.hidden) {
            (FamilyName::Network, hidden) => {
                let hidden = hidden.unwrap_or(DEFAULT_HIDDEN);
                let valid = u32::try_from(hidden).ok();
                valid
                    .filter(|n| (1..=MOST_HIDDEN).contains(n))
                    .ok_or_else(|| {
                        let most = grouped(MOST_HIDDEN as usize);
                        Error::usage(say![
                            HIDDEN.is(hidden),
                            ": a network has from 1 to {most} hidden units; choose such a number"
                        ])
                    })
            }
            (_, None) => Ok(0),
            (_, Some(hidden)) => Err(Error::usage(say![
                HIDDEN.is(hidden), ": only networks have hidden units";
                "add ", FAMILY.is("network");
                "remove it"
            ])),
        }
    }
}

/// The sensitive attributes of a spec, spelled as in objectives.
pub fn attribute_texts(spec: &Spec) -> Vec<String> {
    let text = |columns: &Vec<String>| {
        let columns: Vec<String> = columns.iter().map(|c| grammar::quote(c)).collect();
        columns.join(":")
    };
    spec.sensitive.iter().map(text).collect()
}

/// The solvers that may be used: the requested one, or those that are considered in turn.
fn solvers(
    ask: &Ask,
    source: &str,
    n_objectives: usize,
    tried: &[&str],
) -> Result<Vec<SolverChoice>, Error> {
    let of_paper = |solver: AnySolver| match solver {
        AnySolver::PfSmg(_) => Ok(AnySolver::PfSmg(paper_pf_smg(source, n_objectives))),
        AnySolver::EpsFair(_) => Ok(AnySolver::EpsFair(paper_eps_fair(source))),
        other => {
            let name = other.name();
            Err(Error::usage(say![
                "the paper has no solver {name}";
                "remove ", either([PRESET, SOLVER])
            ]))
        }
    };
    let named = match ask.solver {
        SolverName::Auto if ask.paper => SolverName::PfSmg,
        name => name,
    };
    let mut candidates = Vec::new();
    for solver in AnySolver::all() {
        let wanted = match named {
            // EPS-fair is a baseline for comparisons.
            SolverName::Auto => !matches!(solver, AnySolver::EpsFair(_)),
            name => name.name() == solver.name(),
        };
        if wanted {
            let by_default = named == SolverName::Auto && matches!(solver, AnySolver::PfSmg(_));
            candidates.push(SolverChoice {
                solver: if ask.paper { of_paper(solver)? } else { solver },
                polish: (ask.polish || by_default).then(Polish::default),
            });
        }
    }
    let settings = &ask.settings;
    // Settings that only some of the solvers have restrict the choice to these.
    let set = settings
        .iter()
        .map(|(name, value)| (name.as_str(), say![SET, " \"{name}={value}\""]));
    let tried = tried.iter().map(|name| (*name, say![TRY.of(*name)]));
    let named: Vec<(&str, Message)> = set.chain(tried).collect();
    if candidates.len() > 1 && !named.is_empty() {
        let knows_all =
            |c: &SolverChoice| named.iter().all(|(name, _)| c.solver.get(name).is_some());
        match candidates.iter().any(knows_all) {
            true => candidates.retain(knows_all),
            false => {
                let settings = candidates.iter().flat_map(|c| c.solver.settings());
                let known: BTreeSet<&str> = settings.map(|setting| setting.name).collect();
                let unknown = named.iter().find(|(name, _)| !known.contains(name));
                let of_eps_fair = |name: &str| EpsFair::default().get(name).is_some();
                let message = match unknown {
                    Some((name, setting)) if of_eps_fair(name) => say![
                        setting, ": this is a setting of eps-fair";
                        "add ", SOLVER.is("eps-fair")
                    ],
                    Some((name, setting)) => {
                        let hint = known_settings(name, known);
                        say![setting, ": unknown setting; {hint}"]
                    }
                    None => {
                        let mut message = Message::default();
                        for (i, (_, setting)) in named.iter().enumerate() {
                            message.push((i > 0).then_some(" "));
                            message.push(setting);
                        }
                        say![
                            message, ": these are settings of different solvers";
                            "choose one with ", SOLVER
                        ]
                    }
                };
                return Err(Error::usage(message));
            }
        }
    }
    for candidate in &mut candidates {
        let solver = &mut candidate.solver;
        solver.set_seed(ask.seed);
        if let Some(points) = ask.models {
            solver.set_points(points);
        }
        for (name, value) in settings {
            let (known, of) = (solver.settings(), solver.name());
            solver.set(name, value).map_err(|error| {
                let known = known.iter().map(|setting| setting.name);
                let hint = match known.clone().any(|k| k == name) {
                    true => error.to_string(),
                    false => format!("{of} has no such setting; {}", known_settings(name, known)),
                };
                Error::usage(say![SET, " \"{name}={value}\": {hint}"])
            })?;
        }
    }
    Ok(candidates)
}

/// Suggests settings for an unknown one: the present name of a renamed setting, or similar names.
pub(crate) fn known_settings<'a>(
    unknown: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> String {
    match unknown {
        "metric" => "it is now called \"preconditioner\"".into(),
        _ => fairfront_data::near_names(unknown, known),
    }
}

/// The paper centers conditional covariances with all rows.
fn as_in_paper(objective: &str) -> String {
    let sets =
        |call: &ObjectiveCall, setting| call.settings.iter().any(|(name, _)| name == setting);
    match ObjectiveCall::parse(objective) {
        Ok(call)
            if call.name == "score_covariance"
                && sets(&call, "given")
                && !sets(&call, "center") =>
        {
            match objective.trim_end().strip_suffix(')') {
                Some(start) => format!("{start}, center=all)"),
                None => objective.to_owned(),
            }
        }
        _ => objective.to_owned(),
    }
}
