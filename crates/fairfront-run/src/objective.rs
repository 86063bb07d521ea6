//! Objectives by name: `log_loss`, `demographic_parity(sex, tau=0.03)`.

use fairfront_core::{
    Attribute, Center, Condition, Covariance, ErrorRate, GroupRisk, Kind, LogLoss, Message,
    MutualInformation, Objective, RateParity, Risk, SmoothMax, Spread, say,
};
use fairfront_data::setting::SENSITIVE;
use fairfront_data::{attribute_name, grammar, near_names};

use crate::setting::OBJECTIVE;
use crate::{Error, ObjectiveCall};

const NAMES: [&str; 12] = [
    "log_loss",
    "error_rate",
    "disparate_impact",
    "equal_opportunity",
    "predictive_equality",
    "demographic_parity",
    "true_positive_rate_parity",
    "false_positive_rate_parity",
    "equalized_odds",
    "mutual_information",
    "group_risk",
    "worst_group_loss",
];

/// Measures, by fairlearn's names and the names of other libraries, and the objective that improves each.
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
    ("true_positive_rate", "true_positive_rate_parity"),
    ("true_positive_rate_difference", "true_positive_rate_parity"),
    ("false_negative_rate", "true_positive_rate_parity"),
    (
        "false_negative_rate_difference",
        "true_positive_rate_parity",
    ),
    ("equal_opportunity_difference", "true_positive_rate_parity"),
    ("equal_opportunity_ratio", "true_positive_rate_parity"),
    ("false_positive_rate", "false_positive_rate_parity"),
    (
        "false_positive_rate_difference",
        "false_positive_rate_parity",
    ),
    ("false_positive_rate_ratio", "false_positive_rate_parity"),
    (
        "true_negative_rate_difference",
        "false_positive_rate_parity",
    ),
    ("equalized_odds_difference", "equalized_odds"),
    ("equalized_odds_ratio", "equalized_odds"),
    ("average_odds_difference", "equalized_odds"),
    ("accuracy_score_difference", "group_risk"),
    ("log_loss_difference", "group_risk"),
];

/// The objective that improves a measure, as it is written for these attributes.
fn objective_for(name: &str, columns: &[String], attributes: &[Attribute]) -> Option<String> {
    let (_, objective) = MEASURES.iter().find(|(measure, _)| *measure == name)?;
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
    matches!(name, "log_loss" | "error_rate")
}

/// A temperature below this is none: decisions are as sharp as numbers allow.
const LEAST_TAU: f64 = 1e-9;

/// The objective that a text says, for rows with these attributes.
pub fn parse_objective(text: &str, attributes: &[Attribute]) -> Result<Box<dyn Objective>, Error> {
    parse_with_penalty(text, attributes, None)
}

/// The same, with the penalty of the run for losses that set no `lambda` of their own.
pub(crate) fn parse_with_penalty(
    text: &str,
    attributes: &[Attribute],
    penalty: Option<f64>,
) -> Result<Box<dyn Objective>, Error> {
    let call = ObjectiveCall::parse(text).map_err(|e| e.of_setting(OBJECTIVE))?;
    let mut settings = Settings::new(text, call.settings)?;
    let name = call.name.as_str();
    if !NAMES.contains(&name) {
        if let Some(objective) = objective_for(name, &call.attribute, attributes) {
            return Err(settings.wrong(&format!(
                "{name} is a measure, not an objective; choose {objective:?}, which improves it"
            )));
        }
        let near = near_names(name, NAMES);
        return Err(settings.wrong(&format!("there is no objective {name:?}; {near}")));
    }
    if is_loss(name) && !call.attribute.is_empty() {
        return Err(settings.wrong(&format!("{name} takes no attribute")));
    }
    let objective = match name {
        "log_loss" => loss(&mut settings, penalty)?,
        "error_rate" => error_rate(&mut settings, penalty)?,
        _ => {
            let index = position(&settings, name, &call.attribute, attributes)?;
            compared(name, &mut settings, index, &attributes[index])?
        }
    };
    settings.all_taken()?;
    Ok(objective)
}

/// Where the attribute that an objective names is.
fn position(
    settings: &Settings,
    name: &str,
    columns: &[String],
    attributes: &[Attribute],
) -> Result<usize, Error> {
    if columns.is_empty() {
        return Err(settings.wrong(&format!("name the attribute, as in {name}(sex)")));
    }
    let wanted = attribute_name(columns);
    let found = attributes.iter().position(|a| a.name == wanted);
    found.ok_or_else(|| {
        let near = near_names(&wanted, attributes.iter().map(|a| a.name.as_str()));
        settings.refused(say![
            "{wanted:?} is no sensitive attribute (",
            SENSITIVE,
            "); {near}"
        ])
    })
}

/// Whether an objective is one of our losses, and sets its penalty itself.
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

/// An objective that compares groups.
fn compared(
    name: &str,
    settings: &mut Settings,
    index: usize,
    attribute: &Attribute,
) -> Result<Box<dyn Objective>, Error> {
    let kind = match name {
        "disparate_impact" => Some(Kind::DisparateImpact),
        "equal_opportunity" => Some(Kind::EqualOpportunity),
        "predictive_equality" => Some(Kind::PredictiveEquality),
        _ => None,
    };
    if let Some(kind) = kind {
        return covariance(Covariance::new(kind, index, attribute), settings);
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
        "true_positive_rate_parity" => rates(Condition::Positive),
        "false_positive_rate_parity" => rates(Condition::Negative),
        "equalized_odds" => RateParity::equalized_odds(index, attribute),
        "demographic_parity" => rates(Condition::All),
        other => {
            let message = format!("the objective {other:?} cannot be made yet; choose another");
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

/// Which numbers a setting takes.
#[derive(Clone, Copy)]
enum At {
    Least(f64),
    Above(f64),
    Between(f64, f64),
}

impl At {
    fn holds(self, number: f64) -> bool {
        match self {
            Self::Least(least) => number >= least,
            Self::Above(least) => number > least,
            Self::Between(low, high) => number > low && number < high,
        }
    }

    fn rule(self) -> String {
        match self {
            Self::Least(0.0) => "that is not negative".into(),
            Self::Least(least) => format!("of at least {least:e}"),
            Self::Above(least) => format!("above {least}"),
            Self::Between(low, high) => format!("above {low} and below {high}"),
        }
    }
}

/// Settings as written, taken one by one.
struct Settings<'a> {
    text: &'a str,
    left: Vec<(String, String)>,
    known: Vec<&'static str>,
}

impl<'a> Settings<'a> {
    fn new(text: &'a str, settings: Vec<(String, String)>) -> Result<Self, Error> {
        let of = Self {
            text,
            left: settings,
            known: Vec::new(),
        };
        for (i, (setting, _)) in of.left.iter().enumerate() {
            if of.left[..i].iter().any(|(other, _)| other == setting) {
                return Err(of.wrong(&format!("the setting {setting} is given twice")));
            }
        }
        Ok(of)
    }

    fn wrong(&self, problem: &str) -> Error {
        self.refused(problem.into())
    }

    fn refused(&self, problem: Message) -> Error {
        let text = self.text;
        Error::usage(say![OBJECTIVE, " {text:?}: ", problem])
    }

    fn take(&mut self, setting: &'static str) -> Option<String> {
        self.known.push(setting);
        let at = self.left.iter().position(|(name, _)| name == setting)?;
        Some(self.left.remove(at).1)
    }

    fn number(&mut self, setting: &'static str, at: At, to: &mut f64) -> Result<(), Error> {
        let Some(text) = self.take(setting) else {
            return Ok(());
        };
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() && at.holds(number) => {
                *to = number;
                Ok(())
            }
            _ => {
                let rule = at.rule();
                let message = format!("{setting} is {text}; it must be a number {rule}");
                Err(self.wrong(&message))
            }
        }
    }

    fn one_of<T: Copy>(
        &mut self,
        setting: &'static str,
        all: &[(&str, T)],
        to: &mut T,
    ) -> Result<(), Error> {
        let Some(text) = self.take(setting) else {
            return Ok(());
        };
        if let Some((_, value)) = all.iter().find(|(name, _)| *name == text) {
            *to = *value;
            return Ok(());
        }
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        Err(self.wrong(&format!("{setting} is {}", names.join(" or "))))
    }

    /// Refuses settings that mean something with another one only.
    fn only_with(&self, settings: &[&str], other: &str) -> Result<(), Error> {
        let given = |name: &&&str| self.left.iter().any(|(given, _)| given == **name);
        match settings.iter().find(given) {
            Some(name) => Err(self.wrong(&format!("{name} is a setting of {other} only"))),
            None => Ok(()),
        }
    }

    fn all_taken(&self) -> Result<(), Error> {
        let Some((setting, _)) = self.left.first() else {
            return Ok(());
        };
        let near = near_names(setting, self.known.iter().copied());
        Err(self.wrong(&format!("there is no setting {setting:?}; {near}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn attributes() -> Vec<Attribute> {
        let attribute =
            |name: &str, n: usize| Attribute::new(name, (0..n).map(|i| i.to_string()).collect());
        vec![attribute("sex", 2), attribute("sex:race", 6)]
    }

    fn name(text: &str) -> String {
        parse_objective(text, &attributes()).unwrap().name()
    }

    fn refused(text: &str) -> String {
        let Err(error) = parse_objective(text, &attributes()) else {
            panic!("{text} is taken");
        };
        assert!(error.is_usage());
        error.to_string()
    }

    #[test]
    fn objectives_are_read() {
        assert_eq!(name("log_loss"), "log_loss");
        assert_eq!(name("log_loss(lambda=0)"), "log_loss");
        assert_eq!(name("disparate_impact(sex)"), "disparate_impact(sex)");
        assert_eq!(
            name("equal_opportunity(sex:race, mu=0.1, center=all)"),
            "equal_opportunity(sex:race)"
        );
        assert_eq!(
            parse_objective("log_loss(lambda=0.5)", &[])
                .unwrap()
                .penalty(),
            0.5
        );
    }

    #[test]
    fn wrong_ones_name_the_near() {
        assert!(refused("logloss").contains("did you mean \"log_loss\"?"));
        assert!(refused("disparate_impact(gender)").contains("no sensitive attribute"));
        assert!(refused("disparate_impact(sx)").contains("did you mean \"sex\"?"));
        assert!(refused("disparate_impact").contains("disparate_impact(sex)"));
        assert!(refused("log_loss(lambda=-1)").contains("lambda is -1"));
        assert!(refused("log_loss(lamda=1)").contains("did you mean \"lambda\"?"));
        assert!(refused("disparate_impact(sex, beta=x)").contains("beta is x"));
        assert!(refused("equal_opportunity(sex, center=some)").contains("conditioned or all"));
        assert!(refused("disparate_impact(sex").contains("character"));
    }

    #[test]
    fn measures_name_the_objective_that_improves_them() {
        let all = [
            (
                "equal_opportunity_difference(sex)",
                "true_positive_rate_parity(sex)",
            ),
            (
                "demographic_parity_difference(sex:race)",
                "demographic_parity(sex:race)",
            ),
            ("demographic_parity_ratio", "demographic_parity(sex)"),
            ("selection_rate(sex=F)", "demographic_parity(sex)"),
            ("equalized_odds_difference(sex)", "equalized_odds(sex)"),
            (
                "false_positive_rate_difference(sex)",
                "false_positive_rate_parity(sex)",
            ),
            ("accuracy", "error_rate"),
        ];
        for (measure, objective) in all {
            let refused = refused(measure);
            let help = format!("is a measure, not an objective; choose {objective:?}");
            assert!(refused.contains(&help), "{refused}");
            assert_eq!(name(objective), objective);
        }
        // Suggestions exist, and no objective is taken for a measure.
        for (measure, objective) in MEASURES {
            assert!(
                NAMES.contains(&objective) && !NAMES.contains(&measure),
                "{measure}"
            );
        }
    }

    fn definition(text: &str) -> String {
        parse_objective(text, &attributes()).unwrap().definition()
    }

    /// All settings of each, as a definition writes them.
    const WHOLE: [&str; 12] = [
        "error_rate(fp=0.5, fn=5, tau=0.1, lambda=0.5)",
        "error_rate(tau=0.1, lambda=0.5)",
        "demographic_parity(sex, shrink=0.01, tau=0.1, spread=range, beta=9)",
        "demographic_parity(sex:race, shrink=2, tau=3, spread=variance)",
        "true_positive_rate_parity(sex, shrink=0.01, tau=0.1, spread=range, beta=9)",
        "false_positive_rate_parity(sex, tau=0.1, spread=range, beta=0.5)",
        "equalized_odds(sex:race, shrink=0.01, tau=0.1, spread=range, beta=9)",
        "equalized_odds(sex, tau=0.0000001, spread=variance)",
        "mutual_information(sex, shrink=0.01, tau=0.1, clamp=0.001)",
        "group_risk(sex, shrink=0.01, risk=variance)",
        "group_risk(sex:race, shrink=0.01, risk=cvar, alpha=0.9, mu=0.5)",
        "worst_group_loss(sex, shrink=0.01, beta=9)",
    ];

    #[test]
    fn objectives_of_groups_are_read_with_every_setting() {
        for text in WHOLE {
            assert_eq!(definition(text), text);
            let (kind, _) = text.split_once('(').unwrap();
            let attribute = match text {
                _ if text.contains("fn=5") => "(fp=0.5,fn=5)",
                _ if kind == "error_rate" => "",
                _ if text.contains("sex:race") => "(sex:race)",
                _ => "(sex)",
            };
            assert_eq!(name(text), format!("{kind}{attribute}"));
        }
        for kind in NAMES {
            let text = match kind {
                "log_loss" | "error_rate" => kind.into(),
                _ => format!("{kind}(sex)"),
            };
            assert_eq!(name(&text), text);
        }
    }

    #[test]
    fn settings_have_defaults() {
        let defaults = [
            ("error_rate", "error_rate(tau=0.1, lambda=0.00001)"),
            (
                "equalized_odds(sex)",
                "equalized_odds(sex, tau=0.1, spread=range, beta=50)",
            ),
            (
                "demographic_parity(sex, shrink=0)",
                "demographic_parity(sex, tau=0.1, spread=range, beta=50)",
            ),
            (
                "mutual_information(sex)",
                "mutual_information(sex, tau=0.1, clamp=0.000001)",
            ),
            ("group_risk(sex)", "group_risk(sex, risk=variance)"),
            (
                "group_risk(sex, risk=cvar)",
                "group_risk(sex, risk=cvar, alpha=0.5, mu=0.001)",
            ),
            ("worst_group_loss(sex)", "worst_group_loss(sex, beta=50)"),
        ];
        for (text, whole) in defaults {
            assert_eq!(definition(text), whole);
        }
    }

    #[test]
    fn wrong_settings_of_groups_are_refused_with_help() {
        let all = [
            ("error_rate(sex)", "error_rate takes no attribute"),
            ("error_rate(tua=1)", "did you mean \"tau\"?"),
            ("error_rate(beta=1)", "there are \"tau\", \"lambda\""),
            (
                "error_rate(tau=0)",
                "tau is 0; it must be a number of at least 1e-9",
            ),
            ("error_rate(tau=-1)", "must be a number of at least"),
            ("error_rate(tau=inf)", "must be a number of at least"),
            ("error_rate(tau=NaN)", "must be a number of at least"),
            ("error_rate(tau=1, tau=2)", "tau is given twice"),
            ("error_rate(lambda=-1)", "that is not negative"),
            ("error_rate(fp=0)", "fp is 0; it must be a number above 0"),
            (
                "error_rate(fn=inf)",
                "fn is inf; it must be a number above 0",
            ),
            ("demographic_parity", "as in demographic_parity(sex)"),
            ("equalized_odds(tau=1)", "as in equalized_odds(sex)"),
            ("mutual_information()", "as in mutual_information(sex)"),
            ("worst_group_loss", "as in worst_group_loss(sex)"),
            ("group_risk(sx)", "did you mean \"sex\"?"),
            ("group_risk(race)", "is no sensitive attribute"),
            ("equalised_odds(sex)", "did you mean \"equalized_odds\""),
            (
                "equalized_odds(sex, spread=foo)",
                "spread is range or variance",
            ),
            (
                "demographic_parity(sex, spread=variance, beta=3)",
                "beta is a setting of spread=range only",
            ),
            (
                "demographic_parity(sex, beta=0)",
                "beta is 0; it must be a number above 0",
            ),
            ("demographic_parity(sex, shrink=-0.1)", "shrink is -0.1"),
            (
                "demographic_parity(sex, shrnk=1)",
                "did you mean \"shrink\"?",
            ),
            (
                "demographic_parity(sex, lambda=1)",
                "there is no setting \"lambda\"",
            ),
            ("mutual_information(sex, tau=0)", "tau is 0"),
            ("mutual_information(sex, clamp=0)", "above 0 and below 0.5"),
            (
                "mutual_information(sex, clamp=0.5)",
                "above 0 and below 0.5",
            ),
            (
                "mutual_information(sex, clmp=0.1)",
                "did you mean \"clamp\"?",
            ),
            ("group_risk(sex, risk=worst)", "risk is variance or cvar"),
            (
                "group_risk(sex, risk=cvar, alpha=1)",
                "alpha is 1; it must be a number above 0 and below 1",
            ),
            ("group_risk(sex, risk=cvar, alpha=0)", "above 0 and below 1"),
            ("group_risk(sex, risk=cvar, mu=0)", "mu is 0"),
            (
                "group_risk(sex, risk=cvar, alfa=0.5)",
                "did you mean \"alpha\"?",
            ),
            (
                "group_risk(sex, alpha=0.5)",
                "alpha is a setting of risk=cvar only",
            ),
            ("group_risk(sex, tau=0.5)", "there is no setting \"tau\""),
            ("worst_group_loss(sex, beta=0)", "beta is 0"),
            (
                "worst_group_loss(sex, alpha=0.5)",
                "there is no setting \"alpha\"",
            ),
            ("worst_group_loss(sex, bta=1)", "did you mean \"beta\"?"),
        ];
        for (text, help) in all {
            let refused = refused(text);
            assert!(refused.contains(help), "{refused}");
            assert!(refused.contains(text), "{refused}");
        }
    }

    /// Every setting of every objective, each left out at times, with the numbers it takes.
    fn texts() -> impl Strategy<Value = String> {
        let positive = || prop::num::f64::POSITIVE | prop::num::f64::NORMAL;
        let number = |name: &'static str, numbers: BoxedStrategy<f64>| {
            let written = numbers.prop_map(move |number| format!("{name}={number:?}"));
            prop::option::of(written).boxed()
        };
        let word = |name: &'static str, words: [&'static str; 2]| {
            let written = prop::sample::select(words.to_vec());
            prop::option::of(written.prop_map(move |word| format!("{name}={word}"))).boxed()
        };
        let above = |name| number(name, positive().boxed());
        let least = |name| number(name, (1e-9..1e9_f64).boxed());
        let fixed = |text: &'static str| Just(Some(text.to_owned())).boxed();
        let covariance = || {
            vec![
                above("beta"),
                above("mu"),
                word("center", ["conditioned", "all"]),
                word("smooth_max", ["boltzmann", "lse"]),
            ]
        };
        let range = || {
            vec![
                above("shrink"),
                least("tau"),
                above("beta"),
                fixed("spread=range"),
            ]
        };
        let variance = || vec![above("shrink"), least("tau"), fixed("spread=variance")];
        let tail = number("alpha", (0.001..0.999_f64).boxed());
        let clamp = number("clamp", (1e-12..0.499_f64).boxed());
        let kinds = vec![
            ("log_loss", vec![above("lambda")]),
            ("error_rate", vec![least("tau"), above("lambda")]),
            ("error_rate", vec![above("fp"), above("fn"), least("tau")]),
            ("disparate_impact", covariance()),
            ("equal_opportunity", covariance()),
            ("predictive_equality", covariance()),
            ("demographic_parity", range()),
            ("true_positive_rate_parity", range()),
            ("false_positive_rate_parity", variance()),
            ("equalized_odds", range()),
            ("equalized_odds", variance()),
            (
                "mutual_information",
                vec![above("shrink"), least("tau"), clamp],
            ),
            ("group_risk", vec![above("shrink"), fixed("risk=variance")]),
            (
                "group_risk",
                vec![tail, least("mu"), fixed("risk=cvar"), above("shrink")],
            ),
            ("worst_group_loss", vec![above("beta"), above("shrink")]),
        ];
        let attribute = prop::sample::select(vec!["sex", "sex:race"]);
        let kind = (0..kinds.len()).prop_flat_map(move |k| {
            let (name, settings) = kinds[k].clone();
            (Just(name), settings)
        });
        (kind, attribute).prop_map(|((name, settings), attribute)| {
            let attribute = match name {
                "log_loss" | "error_rate" => None,
                _ => Some(attribute.to_owned()),
            };
            let inside = attribute.into_iter().chain(settings.into_iter().flatten());
            format!("{name}({})", inside.collect::<Vec<_>>().join(", "))
        })
    }

    proptest! {
        /// A definition says all that its objective is made of.
        #[test]
        fn definitions_come_back(text in texts()) {
            let whole = definition(&text);
            prop_assert_eq!(definition(&whole), whole.clone());
            prop_assert_eq!(name(&whole), name(&text));
            // Of two groups there is one covariance, of scores no corner: not all is said of these.
            let covariances = ["disparate_impact", "equal_opportunity", "predictive_equality"];
            if covariances.iter().any(|kind| text.starts_with(kind)) {
                return Ok(());
            }
            // No number is rounded.
            for setting in text.split(['(', ',', ')']) {
                let Some((name, value)) = setting.trim().split_once('=') else { continue };
                let Ok(number) = value.parse::<f64>() else { continue };
                let written = format!("{name}={number}");
                prop_assert!(whole.contains(&written), "{written} is not in {whole}");
            }
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = parse_objective(&text, &attributes());
        }
    }
}
