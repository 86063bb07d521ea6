//! Creates objectives from strings such as `log_loss` or `demographic_parity(sex, tau=0.03)`.

mod setting;
#[cfg(test)]
mod tests;

use fairfront_core::{
    Attribute, Center, ClassError, ClassLoss, ClassParity, ClassRate, Classes, Condition,
    Covariance, Distance, DistributionDifference, ErrorRate, GroupRisk, LogLoss, MeanDifference,
    MutualInformation, Objective, RateParity, Residual, ResidualLoss, Risk, SmoothMax, Spread,
    Target, say,
};
use fairfront_data::setting::SENSITIVE;
use fairfront_data::{attribute_name, grammar, near_names};

use self::setting::{At, Settings};
use crate::setting::OBJECTIVE;
use crate::{Error, ObjectiveCall};

/// Objectives for binary targets.
const NAMES: [&str; 10] = [
    "log_loss",
    "error_rate",
    "score_covariance",
    "demographic_parity",
    "equal_opportunity",
    "predictive_equality",
    "equalized_odds",
    "mutual_information",
    "group_risk",
    "worst_group_loss",
];

/// Objectives for targets that are numbers.
const OF_NUMBERS: [&str; 9] = [
    "squared_error",
    "absolute_error",
    "quantile_loss",
    "mean_difference",
    "distribution_difference",
    "loss_difference",
    "worst_group_loss",
    "group_risk",
    "score_covariance",
];

/// Objectives for more than two classes.
const OF_CLASSES: [&str; 8] = [
    "log_loss",
    "error_rate",
    "demographic_parity",
    "equal_opportunity",
    "equalized_odds",
    "loss_difference",
    "worst_group_loss",
    "group_risk",
];

/// The names of the objectives for a target.
fn names_for(target: &Target) -> &'static [&'static str] {
    match target {
        Target::Binary => &NAMES,
        Target::Classes(_) => &OF_CLASSES,
        Target::Number(_) => &OF_NUMBERS,
    }
}

/// The kind of a target, in words.
fn kind_of(target: &Target) -> &'static str {
    match target {
        Target::Binary => "binary",
        Target::Classes(_) => "one of several classes",
        Target::Number(_) => "a number",
    }
}

/// The kinds of targets that an objective is for, in words; `None` if the name is unknown.
fn meant_for(name: &str) -> Option<String> {
    let kinds = [
        (&NAMES[..], "binary targets"),
        (&OF_CLASSES[..], "classes"),
        (&OF_NUMBERS[..], "numbers"),
    ];
    let of = kinds.iter().filter(|(names, _)| names.contains(&name));
    let of: Vec<&str> = of.map(|(_, kind)| *kind).collect();
    (!of.is_empty()).then(|| of.join(" and "))
}

/// Former names of objectives, and their replacements.
const RENAMED: [(&str, &str); 3] = [
    (
        "disparate_impact",
        "is now called score_covariance; to improve the disparate impact ratio, choose demographic_parity",
    ),
    (
        "true_positive_rate_parity",
        "is now called equal_opportunity; rename it",
    ),
    (
        "false_positive_rate_parity",
        "is now called predictive_equality; rename it",
    ),
];

/// Measures by the names of fairlearn and other libraries, with the objective that improves each.
const MEASURES: [(&str, &str); 33] = [
    ("accuracy", "error_rate"),
    ("accuracy_score", "error_rate"),
    ("zero_one_loss", "error_rate"),
    ("balanced_accuracy", "error_rate"),
    ("precision", "error_rate"),
    ("recall", "error_rate"),
    ("f1_score", "error_rate"),
    ("auc", "log_loss"),
    ("roc_auc_score", "log_loss"),
    ("brier_score", "log_loss"),
    ("calibration_error", "log_loss"),
    ("selection_rate", "demographic_parity"),
    ("selection_rate_difference", "demographic_parity"),
    ("selection_rate_ratio", "demographic_parity"),
    ("demographic_parity_difference", "demographic_parity"),
    ("demographic_parity_ratio", "demographic_parity"),
    ("statistical_parity_difference", "demographic_parity"),
    ("disparate_impact_ratio", "demographic_parity"),
    ("true_positive_rate", "equal_opportunity"),
    ("true_positive_rate_difference", "equal_opportunity"),
    ("false_negative_rate", "equal_opportunity"),
    ("false_negative_rate_difference", "equal_opportunity"),
    ("equal_opportunity_difference", "equal_opportunity"),
    ("equal_opportunity_ratio", "equal_opportunity"),
    ("false_positive_rate", "predictive_equality"),
    ("false_positive_rate_difference", "predictive_equality"),
    ("false_positive_rate_ratio", "predictive_equality"),
    ("true_negative_rate_difference", "predictive_equality"),
    ("equalized_odds_difference", "equalized_odds"),
    ("equalized_odds_ratio", "equalized_odds"),
    ("average_odds_difference", "equalized_odds"),
    ("accuracy_score_difference", "group_risk"),
    ("log_loss_difference", "group_risk"),
];

/// The same for targets that are numbers.
const MEASURES_OF_NUMBERS: [(&str, &str); 16] = [
    ("rmse", "squared_error"),
    ("mse", "squared_error"),
    ("root_mean_squared_error", "squared_error"),
    ("mean_squared_error", "squared_error"),
    ("r2", "squared_error"),
    ("r2_score", "squared_error"),
    ("mae", "absolute_error"),
    ("mean_absolute_error", "absolute_error"),
    ("mean_pinball_loss", "quantile_loss"),
    ("mean_prediction", "mean_difference"),
    ("mean_prediction_difference", "mean_difference"),
    ("mean_distribution_difference", "distribution_difference"),
    ("rmse_difference", "loss_difference"),
    ("mae_difference", "loss_difference"),
    ("worst_group_rmse", "worst_group_loss"),
    ("worst_group_mae", "worst_group_loss"),
];

/// The objective that improves a measure, written for these attributes.
fn objective_for(
    name: &str,
    columns: &[String],
    attributes: &[Attribute],
    target: &Target,
) -> Option<String> {
    let measures = match target {
        Target::Binary | Target::Classes(_) => &MEASURES[..],
        Target::Number(_) => &MEASURES_OF_NUMBERS[..],
    };
    let (_, objective) = measures.iter().find(|(measure, _)| *measure == name)?;
    if !names_for(target).contains(objective) {
        return None;
    }
    if is_loss(objective) {
        return Some((*objective).into());
    }
    let attribute = match (columns, attributes) {
        ([], []) => "A".into(),
        ([], [first, ..]) => first.name.clone(),
        ([one], _) => grammar::quote(one),
        (several, _) => attribute_name(several),
    };
    Some(format!("{objective}({attribute})"))
}

fn is_loss(name: &str) -> bool {
    let of_numbers = matches!(name, "squared_error" | "absolute_error" | "quantile_loss");
    of_numbers || matches!(name, "log_loss" | "error_rate")
}

/// The least temperature. Below it, floating-point numbers cannot distinguish sharper decisions.
const LEAST_TAU: f64 = 1e-9;

/// Parses an objective for rows with these attributes and this target.
pub fn parse_objective(
    text: &str,
    attributes: &[Attribute],
    target: &Target,
) -> Result<Box<dyn Objective>, Error> {
    parse_with_penalty(text, attributes, target, None)
}

/// Like [`parse_objective`], with the penalty of the run for losses that do not set `lambda`.
pub(crate) fn parse_with_penalty(
    text: &str,
    attributes: &[Attribute],
    target: &Target,
    penalty: Option<f64>,
) -> Result<Box<dyn Objective>, Error> {
    let call = ObjectiveCall::parse(text).map_err(|e| e.of_setting(OBJECTIVE))?;
    let mut settings = Settings::new(text, call.settings)?;
    let name = call.name.as_str();
    let names = names_for(target);
    if !names.contains(&name) {
        if let Some((_, now)) = RENAMED.iter().find(|(earlier, _)| *earlier == name) {
            return Err(settings.wrong(&format!("{name} {now}")));
        }
        if let Some(objective) = objective_for(name, &call.attribute, attributes, target) {
            return Err(settings.wrong(&format!(
                "{name} is a measure, not an objective; choose {objective:?}, which improves it"
            )));
        }
        if name == "score_covariance" && target.classes().is_some() {
            return Err(settings.wrong(
                "score_covariance is an objective for binary targets and numbers, but the target is one of \
                 several classes; choose demographic_parity, and the solver weighted or pf-smg instead of \
                 trace, eps-fair or the preset of the paper, whose objectives are covariances",
            ));
        }
        if let Some(others) = meant_for(name) {
            return Err(settings.wrong(&format!(
                "{name} is an objective for {others}, but the target is {}; choose one of {}",
                kind_of(target),
                names.join(", ")
            )));
        }
        let near = near_names(name, names.iter().copied());
        return Err(settings.wrong(&format!("unknown objective {name:?}; {near}")));
    }
    if is_loss(name) && !call.attribute.is_empty() {
        return Err(settings.wrong(&format!("{name} takes no attribute; remove it")));
    }
    let objective = match name {
        "log_loss" | "error_rate" if target.classes().is_some() => {
            class_loss(name, &mut settings, penalty)?
        }
        "log_loss" => loss(&mut settings, penalty)?,
        "error_rate" => error_rate(&mut settings, penalty)?,
        "squared_error" | "absolute_error" | "quantile_loss" => {
            residual_loss(name, &mut settings, penalty)?
        }
        _ => {
            let index = position(&settings, name, &call.attribute, attributes)?;
            match target {
                Target::Binary => compared(name, &mut settings, index, &attributes[index])?,
                Target::Classes(classes) => {
                    compared_classes(name, &mut settings, (index, &attributes[index]), classes)?
                }
                Target::Number(_) => {
                    compared_numbers(name, &mut settings, index, &attributes[index])?
                }
            }
        }
    };
    settings.all_taken()?;
    Ok(objective)
}

/// The position of the attribute that an objective names.
fn position(
    settings: &Settings,
    name: &str,
    columns: &[String],
    attributes: &[Attribute],
) -> Result<usize, Error> {
    if columns.is_empty() {
        return Err(settings.wrong(&format!(
            "the attribute is missing; add it, as in {name}(sex)"
        )));
    }
    let wanted = attribute_name(columns);
    let found = attributes.iter().position(|a| a.name == wanted);
    found.ok_or_else(|| {
        let near = near_names(&wanted, attributes.iter().map(|a| a.name.as_str()));
        settings.refused(say![
            "{wanted:?} is not a sensitive attribute (",
            SENSITIVE,
            "); {near}"
        ])
    })
}

/// Whether a built-in loss sets its own penalty; `None` for other objectives.
pub(crate) fn sets_penalty(text: &str) -> Option<bool> {
    let call = ObjectiveCall::parse(text).ok()?;
    is_loss(&call.name).then(|| call.settings.iter().any(|(name, _)| name == "lambda"))
}

fn loss(settings: &mut Settings, penalty: Option<f64>) -> Result<Box<dyn Objective>, Error> {
    let mut loss = LogLoss::default();
    if let Some(lambda) = penalty {
        loss.lambda = lambda;
    }
    settings.number("lambda", At::Least(0.0), &mut loss.lambda)?;
    Ok(Box::new(loss))
}

fn error_rate(settings: &mut Settings, penalty: Option<f64>) -> Result<Box<dyn Objective>, Error> {
    let mut rate = ErrorRate::default();
    settings.number("tau", At::Least(LEAST_TAU), &mut rate.tau)?;
    if let Some(lambda) = penalty {
        rate.lambda = ErrorRate::penalty_like(rate.tau, lambda);
    }
    settings.number("lambda", At::Least(0.0), &mut rate.lambda)?;
    settings.number("fp", At::Above(0.0), &mut rate.costs.false_positive)?;
    settings.number("fn", At::Above(0.0), &mut rate.costs.false_negative)?;
    Ok(Box::new(rate))
}

/// A loss of decisions between more than two classes.
fn class_loss(
    name: &str,
    settings: &mut Settings,
    penalty: Option<f64>,
) -> Result<Box<dyn Objective>, Error> {
    settings.only_with(&["fp", "fn"], "binary targets")?;
    if name == "log_loss" {
        let mut loss = ClassLoss::default();
        if let Some(lambda) = penalty {
            loss.lambda = lambda;
        }
        settings.number("lambda", At::Least(0.0), &mut loss.lambda)?;
        return Ok(Box::new(loss));
    }
    let mut rate = ClassError::default();
    settings.number("tau", At::Least(LEAST_TAU), &mut rate.tau)?;
    if let Some(lambda) = penalty {
        rate.lambda = ErrorRate::penalty_like(rate.tau, lambda);
    }
    settings.number("lambda", At::Least(0.0), &mut rate.lambda)?;
    Ok(Box::new(rate))
}

/// An objective that compares groups by decisions between more than two classes, or by their losses.
fn compared_classes(
    name: &str,
    settings: &mut Settings,
    (index, attribute): (usize, &Attribute),
    classes: &Classes,
) -> Result<Box<dyn Objective>, Error> {
    let mut shrink = 0.0;
    settings.number("shrink", At::Least(0.0), &mut shrink)?;
    let rate = match name {
        "demographic_parity" => ClassRate::Decided,
        "equal_opportunity" => ClassRate::Right,
        "equalized_odds" => ClassRate::DecidedOfClass,
        _ => {
            let risk = match name {
                "loss_difference" => {
                    let mut beta = 50.0;
                    settings.number("beta", At::Above(0.0), &mut beta)?;
                    Risk::Range { beta }
                }
                _ => risk(name, settings)?,
            };
            let of = GroupRisk::new(risk, index, attribute).of_classes();
            return Ok(Box::new(of.shrunk(shrink)));
        }
    };
    let mut parity = ClassParity::new(rate, index, attribute, classes).shrunk(shrink);
    let key = match rate {
        ClassRate::Decided => "class",
        ClassRate::Right | ClassRate::DecidedOfClass => "given",
    };
    let mut only = None;
    let choices = classes.names.iter().enumerate();
    let choices: Vec<(&str, Option<usize>)> = choices
        .map(|(i, class)| (class.as_str(), Some(i)))
        .collect();
    settings.one_of(key, &choices, &mut only)?;
    if let Some(class) = only {
        if rate == ClassRate::Decided && classes.ordered && class == 0 {
            return Err(settings.wrong(&format!(
                "every decision is at least {:?}, the lowest class; choose a higher class",
                classes.names[0]
            )));
        }
        parity = parity.of_class(class);
    }
    settings.number("tau", At::Least(LEAST_TAU), &mut parity.tau)?;
    settings.number("beta", At::Above(0.0), &mut parity.beta)?;
    Ok(Box::new(parity))
}

/// A loss of predicted numbers.
fn residual_loss(
    name: &str,
    settings: &mut Settings,
    penalty: Option<f64>,
) -> Result<Box<dyn Objective>, Error> {
    let (mut q, mut mu) = (0.5, ResidualLoss::MU);
    if name == "quantile_loss" {
        settings.number("q", At::Between(0.0, 1.0), &mut q)?;
    }
    if name != "squared_error" {
        settings.number("mu", At::Least(1e-6), &mut mu)?;
    }
    let mut loss = ResidualLoss::new(match name {
        "squared_error" => Residual::Squared,
        "absolute_error" => Residual::Absolute { mu },
        _ => Residual::Quantile { q, mu },
    });
    if let Some(lambda) = penalty {
        loss.lambda = lambda;
    }
    settings.number("lambda", At::Least(0.0), &mut loss.lambda)?;
    Ok(Box::new(loss))
}

/// An objective that compares groups by predicted numbers.
fn compared_numbers(
    name: &str,
    settings: &mut Settings,
    index: usize,
    attribute: &Attribute,
) -> Result<Box<dyn Objective>, Error> {
    if name == "score_covariance" {
        let mut of = Covariance::new(Condition::All, index, attribute);
        of.of_number = true;
        settings.only_with(&["given", "mu", "center"], "binary targets")?;
        return covariance(of, settings);
    }
    let mut shrink = 0.0;
    settings.number("shrink", At::Least(0.0), &mut shrink)?;
    match name {
        "mean_difference" => {
            let mut of = MeanDifference::new(index, attribute).shrunk(shrink);
            let spreads = [("range", Spread::Range), ("variance", Spread::Variance)];
            settings.one_of("spread", &spreads, &mut of.spread)?;
            match of.spread {
                Spread::Range => settings.number("beta", At::Above(0.0), &mut of.beta)?,
                Spread::Variance => settings.only_with(&["beta"], "spread=range")?,
            }
            Ok(Box::new(of))
        }
        "distribution_difference" => {
            let mut distance = Distance::Largest;
            let kinds = [("ks", Distance::Largest), ("wasserstein", Distance::Mean)];
            settings.one_of("kind", &kinds, &mut distance)?;
            let mut of = DistributionDifference::new(distance, index, attribute).shrunk(shrink);
            settings.number("tau", At::Least(LEAST_TAU), &mut of.tau)?;
            settings.number("beta", At::Above(0.0), &mut of.beta)?;
            Ok(Box::new(of))
        }
        _ => {
            let mut mu = ResidualLoss::MU;
            let mut loss = Residual::Squared;
            let losses = [
                ("squared", Residual::Squared),
                ("absolute", Residual::Absolute { mu }),
            ];
            settings.one_of("loss", &losses, &mut loss)?;
            let risk = match name {
                "loss_difference" => {
                    let mut beta = 50.0;
                    settings.number("beta", At::Above(0.0), &mut beta)?;
                    Risk::Range { beta }
                }
                _ => risk(name, settings)?,
            };
            if let (Residual::Absolute { .. }, Risk::Range { .. } | Risk::Worst { .. }) =
                (loss, risk)
            {
                settings.number("mu", At::Least(1e-6), &mut mu)?;
                loss = Residual::Absolute { mu };
            }
            let of = GroupRisk::new(risk, index, attribute).with_residual(loss);
            Ok(Box::new(of.shrunk(shrink)))
        }
    }
}

/// An objective that compares groups.
fn compared(
    name: &str,
    settings: &mut Settings,
    index: usize,
    attribute: &Attribute,
) -> Result<Box<dyn Objective>, Error> {
    if name == "score_covariance" {
        let mut given = Condition::All;
        let conditions = [
            ("positive", Condition::Positive),
            ("negative", Condition::Negative),
        ];
        settings.one_of("given", &conditions, &mut given)?;
        return covariance(Covariance::new(given, index, attribute), settings);
    }
    let mut shrink = 0.0;
    settings.number("shrink", At::Least(0.0), &mut shrink)?;
    let rates = |condition| RateParity::new(condition, index, attribute);
    let rates = match name {
        "mutual_information" => {
            let mut objective = MutualInformation::new(index, attribute).shrunk(shrink);
            settings.number("tau", At::Least(LEAST_TAU), &mut objective.tau)?;
            settings.number("clamp", At::Between(0.0, 0.5), &mut objective.clamp)?;
            return Ok(Box::new(objective));
        }
        "group_risk" | "worst_group_loss" => {
            let risk = risk(name, settings)?;
            return Ok(Box::new(
                GroupRisk::new(risk, index, attribute).shrunk(shrink),
            ));
        }
        "equal_opportunity" => rates(Condition::Positive),
        "predictive_equality" => rates(Condition::Negative),
        "equalized_odds" => RateParity::equalized_odds(index, attribute),
        "demographic_parity" => rates(Condition::All),
        other => {
            let message = format!("the objective {other:?} is not implemented; choose another");
            return Err(settings.wrong(&message));
        }
    };
    let mut rates = rates.shrunk(shrink);
    settings.number("tau", At::Least(LEAST_TAU), &mut rates.tau)?;
    let spreads = [("range", Spread::Range), ("variance", Spread::Variance)];
    settings.one_of("spread", &spreads, &mut rates.spread)?;
    match rates.spread {
        Spread::Range => settings.number("beta", At::Above(0.0), &mut rates.beta)?,
        Spread::Variance => settings.only_with(&["beta"], "spread=range")?,
    }
    Ok(Box::new(rates))
}

fn covariance(
    mut objective: Covariance,
    settings: &mut Settings,
) -> Result<Box<dyn Objective>, Error> {
    settings.number("beta", At::Above(0.0), &mut objective.beta)?;
    settings.number("mu", At::Above(0.0), &mut objective.mu)?;
    let centers = [("conditioned", Center::Conditioned), ("all", Center::All)];
    settings.one_of("center", &centers, &mut objective.center)?;
    let maxima = [
        ("boltzmann", SmoothMax::Boltzmann),
        ("lse", SmoothMax::LogSumExp),
    ];
    settings.one_of("smooth_max", &maxima, &mut objective.smooth_max)?;
    Ok(Box::new(objective))
}

fn risk(name: &str, settings: &mut Settings) -> Result<Risk, Error> {
    if name == "worst_group_loss" {
        let mut beta = 50.0;
        settings.number("beta", At::Above(0.0), &mut beta)?;
        return Ok(Risk::Worst { beta });
    }
    let (mut alpha, mut mu) = (0.5, 1e-3);
    let cvar = Risk::Cvar { alpha, mu };
    let mut risk = Risk::Variance;
    settings.one_of("risk", &[("variance", risk), ("cvar", cvar)], &mut risk)?;
    if risk == Risk::Variance {
        settings.only_with(&["alpha", "mu"], "risk=cvar")?;
        return Ok(risk);
    }
    settings.number("alpha", At::Between(0.0, 1.0), &mut alpha)?;
    settings.number("mu", At::Least(1e-9), &mut mu)?;
    Ok(Risk::Cvar { alpha, mu })
}
