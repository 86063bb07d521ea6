//! Objectives by name: `log_loss`, `disparate_impact(sex, beta=8)`.

use fairfront_core::{Attribute, Center, Covariance, Kind, LogLoss, Objective, SmoothMax};
use fairfront_data::{attribute_name, grammar, near_names};

use crate::Error;

const NAMES: [&str; 4] = [
    "log_loss",
    "disparate_impact",
    "equal_opportunity",
    "predictive_equality",
];

/// The objective that a text says, for rows with these attributes.
pub fn parse_objective(text: &str, attributes: &[Attribute]) -> Result<Box<dyn Objective>, Error> {
    let call = grammar::objective(text).map_err(|e| e.of_flag("--objective"))?;
    let usage = |message: String| Err(Error::Usage(format!("--objective {text:?}: {message}")));
    for (i, (setting, _)) in call.settings.iter().enumerate() {
        if call.settings[..i].iter().any(|(other, _)| other == setting) {
            return usage(format!("the setting {setting} is given twice"));
        }
    }
    let kind = match call.name.as_str() {
        "log_loss" => {
            if !call.attribute.is_empty() {
                return usage("log_loss takes no attribute".into());
            }
            let mut loss = LogLoss::default();
            for (setting, value) in &call.settings {
                match setting.as_str() {
                    "lambda" => loss.lambda = number(text, setting, value, 0.0)?,
                    _ => return usage(no_setting(setting, &["lambda"])),
                }
            }
            return Ok(Box::new(loss));
        }
        "disparate_impact" => Kind::DisparateImpact,
        "equal_opportunity" => Kind::EqualOpportunity,
        "predictive_equality" => Kind::PredictiveEquality,
        name => {
            return usage(format!(
                "there is no objective {name:?}; {}",
                near_names(name, NAMES)
            ));
        }
    };
    let wanted = match call.attribute.as_slice() {
        [] => return usage(format!("name the attribute, as in {}(sex)", kind.name())),
        columns => attribute_name(columns),
    };
    let Some(index) = attributes.iter().position(|a| a.name == wanted) else {
        let names = attributes.iter().map(|a| a.name.as_str());
        return usage(format!(
            "{wanted:?} is no sensitive attribute (--sensitive); {}",
            near_names(&wanted, names)
        ));
    };
    let mut objective = Covariance::new(kind, index, &attributes[index]);
    for (setting, value) in &call.settings {
        match (setting.as_str(), value.as_str()) {
            ("beta", _) => objective.beta = number(text, setting, value, f64::MIN_POSITIVE)?,
            ("mu", _) => objective.mu = number(text, setting, value, f64::MIN_POSITIVE)?,
            ("center", "all") => objective.center = Center::All,
            ("center", "conditioned") => objective.center = Center::Conditioned,
            ("center", _) => return usage("center is all or conditioned".into()),
            ("smooth_max", "boltzmann") => objective.smooth_max = SmoothMax::Boltzmann,
            ("smooth_max", "lse") => objective.smooth_max = SmoothMax::LogSumExp,
            ("smooth_max", _) => return usage("smooth_max is boltzmann or lse".into()),
            _ => {
                let known = ["beta", "mu", "center", "smooth_max"];
                return usage(no_setting(setting, &known));
            }
        }
    }
    Ok(Box::new(objective))
}

fn no_setting(setting: &str, known: &[&str]) -> String {
    format!(
        "there is no setting {setting:?}; {}",
        near_names(setting, known.iter().copied())
    )
}

fn number(text: &str, setting: &str, value: &str, least: f64) -> Result<f64, Error> {
    match value.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= least => Ok(number),
        _ => Err(Error::Usage(format!(
            "--objective {text:?}: {setting} is {value}; it must be a number {}",
            if least > 0.0 {
                "above 0"
            } else {
                "that is not negative"
            }
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn attributes() -> Vec<Attribute> {
        let attribute = |name: &str, n: usize| Attribute {
            name: name.into(),
            groups: (0..n).map(|i| i.to_string()).collect(),
        };
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
        assert!(refused("equal_opportunity(sex, center=some)").contains("all or conditioned"));
        assert!(refused("disparate_impact(sex").contains("character"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*") {
            let _ = parse_objective(&text, &attributes());
        }
    }
}
