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
    assert!(refused("disparate_impact(gender)").contains("is not a sensitive attribute"));
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
        ("group_risk(race)", "is not a sensitive attribute"),
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
