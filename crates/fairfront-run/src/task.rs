//! The problem to solve and the solver to use.

use std::sync::Arc;

use fairfront_core::{
    Counts, Dataset, FairProblem, LANES, Measure, Objective, Points, Problem, Target, either,
    predictor_of, say,
};
use fairfront_data::setting::{SENSITIVE, SPLIT, TARGET};
use fairfront_data::{Encoded, Part};
use fairfront_solve::{Front, Observer, StopSignal, Suits, polish};

use crate::checkpoint::Solved;
use crate::fit::{Earlier, PolishStart, parse_objectives, values_at_zero};
use crate::objective::sets_penalty;
use crate::rest::{LeftOut, Rest};
use crate::setting::{FAMILY, OBJECTIVE};
use crate::{Error, FitRequest, PenaltyInfo, SolverChoice, diagnostic, judge, penalty, warm};

/// A problem with its solver.
pub(crate) struct Task {
    pub(crate) problem: FairProblem,
    pub(crate) names: Vec<String>,
    pub(crate) definitions: Vec<String>,
    pub(crate) at_zero: Vec<f64>,
    /// The penalty of losses that do not set their own; `None` if there are no such losses.
    pub(crate) penalty: Option<PenaltyInfo>,
    pub(crate) candidate: SolverChoice,
    pub(crate) reason: Option<String>,
}

impl Task {
    /// Reports problems before any work, and chooses the penalty.
    pub(crate) fn new(
        encoded: &Encoded,
        request: &FitRequest,
        custom: &[Arc<dyn Objective>],
        stop: &StopSignal,
    ) -> Result<Self, Error> {
        let train = encoded.part(Part::Train);
        // Invalid objectives and rows are errors before the penalty is chosen.
        let objectives = parse_objectives(&request.objectives, train.schema(), custom, None)?;
        check(&objectives, request.loss_alone, train)?;
        let predictor = predictor_of(train.schema());
        if let (Some(_), [only]) = (predictor.as_network(), &request.solvers[..]) {
            // The penalty of networks takes long to choose, so the solver is checked first.
            let rows = Arc::new(train.clone());
            let problem = FairProblem::of_shared(rows, predictor, objectives)?;
            diagnostic::check_solver(&*only.solver, &problem)?;
        }
        let own = |text: &String| custom.iter().any(|own| own.name() == *text);
        let first = request.objectives.first().filter(|text| !own(text));
        let penalty = match first.and_then(|text| penalty_matters(text)) {
            Some(()) => Some(PenaltyInfo::choose(request.penalty, train, stop)?),
            None => None,
        };
        Self::with_penalty(encoded, request, custom, penalty)
    }

    /// Like [`new`](Self::new), with a known penalty.
    pub(crate) fn with_penalty(
        encoded: &Encoded,
        request: &FitRequest,
        custom: &[Arc<dyn Objective>],
        penalty: Option<PenaltyInfo>,
    ) -> Result<Self, Error> {
        let train = encoded.part(Part::Train);
        let lambda = penalty.as_ref().map(|penalty| penalty.chosen);
        let objectives = parse_objectives(&request.objectives, train.schema(), custom, lambda)?;
        check(&objectives, request.loss_alone, train)?;
        let names: Vec<String> = objectives.iter().map(|o| o.name()).collect();
        let definitions = objectives.iter().map(|o| o.definition()).collect();
        let predictor = predictor_of(train.schema());
        let problem = FairProblem::of_shared(Arc::new(train.clone()), predictor, objectives)?;
        for (name, meaningful) in names.iter().zip(problem.meaningful_on(train)?) {
            if !meaningful {
                return Err(Error::data(say![
                    "{name} compares groups, but the training rows that it counts have fewer than \
                     two of them";
                    "choose another ", SPLIT;
                    "remove the objective"
                ]));
            }
        }
        judge::check(&problem, encoded, request.front_in)?;
        let (candidate, reason) = choose(&request.solvers, &problem)?;
        Ok(Self {
            names,
            definitions,
            at_zero: values_at_zero(&problem)?,
            penalty,
            candidate: candidate.clone(),
            reason,
            problem,
        })
    }

    /// The unmitigated model, unless it is the one that minimizes the first objective. The smooth
    /// error rate overfits small tables at any penalty, and the log loss does not.
    ///
    /// After a stop, it is the model that the solver started from, if there is one.
    pub(crate) fn unmitigated(
        &self,
        train: &Dataset,
        starts: Option<&Points>,
        rest: &mut Rest,
    ) -> Result<Option<Front>, Error> {
        let Some(penalty) = &self.penalty else {
            return Ok(None);
        };
        let first = self.problem.objectives().next();
        let Some(Measure::ErrorRate(_)) = first.and_then(Objective::measure) else {
            return Ok(None);
        };
        let stop = rest.remainder.signal(LANES);
        let shift = first.and_then(Objective::stand_in).map_or(0.0, |s| s.shift);
        let is_linear = self.problem.predictor().as_linear().is_some();
        let points = match starts.filter(|_| !is_linear && shift == 0.0) {
            // The descents that found it are not repeated.
            Some(starts) => Ok(starts.select(&[0])),
            None => penalty::logistic_model(train, penalty.chosen, stop),
        };
        let points = match points {
            Ok(points) => points,
            Err(error) if error.is_stopped() => {
                // The first start minimizes the log loss, unless unequal error costs shifted it.
                let Some(starts) = starts.filter(|_| shift == 0.0) else {
                    rest.leave_out(LeftOut::UnmitigatedModel);
                    return Ok(None);
                };
                starts.select(&[0])
            }
            Err(error) => return Err(error),
        };
        Ok(Some(Front {
            values: self.problem.values(&points)?,
            points,
            n_objectives: self.problem.n_objectives(),
        }))
    }

    /// Updates an earlier front.
    pub(crate) fn update(
        &self,
        train: &Dataset,
        earlier: &Earlier,
        observer: &mut dyn Observer,
    ) -> Result<Solved, Error> {
        let Self {
            problem, candidate, ..
        } = self;
        let mut points = Points::new(problem.n_params());
        points.push(&earlier.unmitigated);
        earlier.front.iter().for_each(|point| points.push(point));
        let solver = &candidate.solver;
        let (mut starts, mut diagnostic) = (None, None);
        if let Some(old) = &earlier.starts {
            let lambda = self.penalty.as_ref().map(|penalty| penalty.chosen);
            let given = (problem, train, lambda);
            (starts, diagnostic) = warm::starts(given, &**solver, Some(old), observer)?;
            let new = starts.iter().flat_map(Points::iter);
            new.for_each(|point| points.push(point));
            // Without starts on these rows, keep the previous ones for later rows.
            starts = starts.or_else(|| earlier.starts.clone());
        }
        let mut outcome = solver.update(problem, &points, earlier.updates, observer)?;
        let mut info = None;
        if let Some(settings) = &candidate.polish {
            let start = PolishStart::new(&outcome.front, settings, &self.at_zero);
            outcome = polish(problem, outcome, settings, observer)?;
            info = Some(start.end(&outcome)?);
        }
        Ok(Solved {
            outcome,
            polish: info,
            diagnostic,
            starts,
        })
    }
}

/// Whether the penalty of a run affects this loss or, for the error rate, the unmitigated model.
fn penalty_matters(loss: &str) -> Option<()> {
    let sets_its_own = sets_penalty(loss)?;
    let is_error_rate = loss.trim_start().starts_with("error_rate");
    (is_error_rate || !sets_its_own).then_some(())
}

/// The first solver that suits the problem, and the reason if there are several.
fn choose<'a>(
    candidates: &'a [SolverChoice],
    problem: &FairProblem,
) -> Result<(&'a SolverChoice, Option<String>), Error> {
    let Some((last, others)) = candidates.split_last() else {
        return Err(Error::usage("there is no solver; choose one"));
    };
    let mut why_not = Vec::new();
    for candidate in others {
        match candidate.solver.suits(problem) {
            Suits::Best(why) => return Ok((candidate, Some(why.to_string()))),
            Suits::Possible(why) | Suits::Impossible(why) => {
                why_not.push(format!("not {}: {why}", candidate.solver.name()));
            }
        }
    }
    let reason = (!why_not.is_empty()).then(|| why_not.join("; "));
    Ok((last, reason))
}

fn check(
    objectives: &[Arc<dyn Objective>],
    loss_alone: bool,
    train: &Dataset,
) -> Result<(), Error> {
    if let Some(first) = objectives.first()
        && !first.is_affine()
    {
        let first = first.name();
        let loss = match train.schema().target {
            Target::Binary | Target::Classes(_) => "error_rate",
            Target::Number(_) => "squared_error",
        };
        return Err(Error::usage(say![
            "the first objective must be a loss, not {first}";
            "put ", OBJECTIVE.is(loss), " first"
        ]));
    }
    if objectives.is_empty() || (objectives.len() < 2 && !loss_alone) {
        let mut message = say!["a front needs at least two objectives"];
        message.push_remedy(match train.schema().attributes.first() {
            Some(attribute) => {
                let kind = match train.schema().target {
                    Target::Binary | Target::Classes(_) => "demographic_parity",
                    Target::Number(_) => "mean_difference",
                };
                let objective = format!("{kind}({})", attribute.name);
                say!["add ", OBJECTIVE.is(objective)]
            }
            None => say!["choose a sensitive column with ", SENSITIVE],
        });
        return Err(Error::usage(message));
    }
    for (i, objective) in objectives.iter().enumerate() {
        if objectives[..i]
            .iter()
            .any(|other| other.name() == objective.name())
        {
            let name = objective.name();
            return Err(Error::usage(format!(
                "the objective {name} is given twice; remove one"
            )));
        }
    }
    if let Some(classes) = train.schema().target.classes() {
        if train.schema().hidden > 0 {
            let n_classes = classes.len();
            return Err(Error::usage(say![
                FAMILY.is("network"), ": networks decide between two classes or predict a number, but the \
                 target has {n_classes} classes";
                "choose ", FAMILY.is("trees")
            ]));
        }
        let counts = Counts::of(train, None)?;
        let missing = (0..classes.len()).find(|class| counts.rows[0][*class] == 0);
        return match missing {
            None => Ok(()),
            Some(class) => {
                let class = &classes.names[class];
                Err(Error::data(say![
                    "no training row has the class {class:?}, so a model cannot learn it";
                    "choose another ", either([SPLIT, TARGET])
                ]))
            }
        };
    }
    if !train.schema().target.is_binary() {
        return Ok(());
    }
    let counts = Counts::of(train, None)?;
    let [negatives, positives] = [-1.0, 1.0].map(|label| counts.of_label(0, Some(label)));
    let n = train.n_rows();
    if positives == 0 || negatives == 0 {
        let class = match positives {
            0 => "negative",
            _ => "positive",
        };
        return Err(Error::data(say![
            "all {n} training rows are {class}, so a model cannot be fitted";
            "choose another ", either([SPLIT, TARGET])
        ]));
    }
    Ok(())
}
