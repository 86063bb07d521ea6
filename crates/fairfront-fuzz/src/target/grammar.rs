//! The small grammars: each string is rejected, or has the same meaning when it is written again.

use std::path::Path;

use fairfront_core::Attribute;
use fairfront_data::{Known as KnownSet, Prepared, Spec};
use fairfront_run::{
    Ask, CompareOptions, FitRequest, Grid as TuneGrid, NamedFront, Requirement, SolverName, Term,
    compare, parse_objective, weights,
};

use crate::mutate::Form;
use crate::{Part, Taken, Target, fixture, scratch};

const WORDS: &[&str] = &[
    "accuracy",
    "error_rate",
    "log_loss",
    "demographic_parity",
    "demographic_parity_difference",
    "equalized_odds",
    "selection_rate",
    "score_covariance",
    "equal_opportunity",
    "mutual_information",
    "group_risk",
    "objective.",
    "validation.",
    "test.",
    "train.",
    "certify.",
    "sex",
    "race",
    "sex:race",
    "group=",
    "fp=",
    "fn=",
    "tau=",
    "lambda=",
    "beta=",
    "shrink=",
    "spread=variance",
    "smooth_max=lse",
    "risk=cvar",
    "alpha=",
    ">=",
    "<=",
    "80%",
];

fn parts(form: Form, seeds: &[&str]) -> Vec<Part> {
    vec![Part {
        name: "",
        form,
        seeds: seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect(),
    }]
}

/// Checks that the written form of a value is read as the same value.
fn again<T: PartialEq + std::fmt::Debug, E: std::fmt::Display>(
    value: &T,
    text: &str,
    read: impl Fn(&str) -> Result<T, E>,
) -> Result<Taken, String> {
    match read(text) {
        Ok(other) if other == *value => Ok(Taken::Accepted),
        Ok(other) => Err(format!(
            "{value:?} is written as {text:?}, which is read as {other:?}"
        )),
        Err(error) => Err(format!(
            "{value:?} is written as {text:?}, which is rejected: {error}"
        )),
    }
}

macro_rules! grammar {
    ($(#[$about:meta])* $target:ident, $name:literal, $seeds:expr, $check:expr) => {
        $(#[$about])*
        pub(super) struct $target;

        impl Target for $target {
            fn name(&self) -> &'static str {
                $name
            }
            fn parts(&self) -> Vec<Part> {
                parts(Form::Text, $seeds)
            }
            fn words(&self) -> &'static [&'static str] {
                WORDS
            }
            fn check(&self, _: usize, input: &[u8]) -> Result<Taken, String> {
                match std::str::from_utf8(input) {
                    Ok(text) => $check(text),
                    Err(_) => Ok(Taken::Refused),
                }
            }
        }
    };
}

grammar!(
    /// `--require`.
    Require,
    "require",
    &[
        "accuracy >= 0.8",
        "test.demographic_parity_difference(sex) <= 5%",
        "selection_rate(sex=f) > 0.25",
        "objective.score_covariance(\"a, b\":race) < 1e-3",
        "true_positive_rate(sex:race=f:a) >= 0.5",
    ],
    |text| {
        if let Ok(term) = Term::parse(text) {
            again(&term, &term.to_string(), Term::parse)?;
        }
        match Requirement::parse(text) {
            Ok(requirement) => again(&requirement, &requirement.to_string(), Requirement::parse),
            Err(_) => Ok(Taken::Refused),
        }
    }
);

grammar!(
    /// `--weights`.
    Weights,
    "weights",
    &["log_loss=0.7, demographic_parity(sex)=0.3", "accuracy=1", "\"a=b\"=2, objective.error_rate=0"],
    |text| match weights(text) {
        Ok(all) => {
            let written: Vec<String> = all.iter().map(|(term, w)| format!("{term}={w}")).collect();
            again(&all, &written.join(","), weights)
        }
        Err(_) => Ok(Taken::Refused),
    }
);

grammar!(
    /// `--objective`.
    Objective,
    "objective",
    &[
        "error_rate(fp=2, fn=1, tau=0.1)",
        "log_loss(lambda=1e-4)",
        "demographic_parity(sex, beta=50, spread=range)",
        "score_covariance(race, smooth_max=lse, mu=1e-5)",
        "group_risk(sex, risk=cvar, alpha=0.5)",
        "mutual_information(race, clamp=1e-6)",
        "worst_group_loss(sex)",
        "equalized_odds(race, shrink=1)",
    ],
    |text| {
        let attributes: Vec<Attribute> = fixture::prepared().attributes().cloned().collect();
        let read = |text: &str| parse_objective(text, &attributes, &fairfront_core::Target::Binary).map(|o| o.definition());
        match read(text) {
            // A definition lists all settings, so that it can be typed again.
            Ok(definition) => again(&definition, &definition, read),
            Err(_) => Ok(Taken::Refused),
        }
    }
);

grammar!(
    /// `--set` with `--solver`, one setting per line after the name of the solver.
    Set,
    "set",
    &[
        "trace\ntolerance=1e-5\nhole=0.01",
        "weighted\nsums=10\nstages=4\nsoftening=3\nmax-steps=50",
        "pf-smg\nbatches=80*1.018,50*1.018\nruns=2\nsteps=3\nstep=0.5\nanchors=true\nthinning=0.1",
        "eps-fair\nmax-evaluations=40\ncold=true\nfeasibility=1e-3",
    ],
    |text: &str| {
        let mut lines = text.split('\n');
        let solver = lines.next().and_then(SolverName::parse).unwrap_or_default();
        let settings = lines.filter_map(|line| line.split_once('='));
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let ask = Ask {
            solver,
            settings: settings.collect(),
            penalty: Some(0.1),
            ..Ask::default()
        };
        let Ok(request) = ask.request("x.csv", &["sex".to_owned()], false) else {
            return Ok(Taken::Refused);
        };
        let json = serde_json::to_string(&request).map_err(|e| e.to_string())?;
        again(&json, &json, |text: &str| {
            let read: FitRequest = serde_json::from_str(text)?;
            serde_json::to_string(&read)
        })
    }
);

grammar!(
    /// Known data sets by name.
    Known,
    "known",
    &["demo(rows=500, bias=0.5)", "synthetic:3(rows=500, rotation=1.2)", "adult:sex", "compas:race"],
    |text| match KnownSet::parse(text) {
        Ok(Some(known)) => {
            let _ = known.spec();
            again(&known.name().to_owned(), known.name(), |name: &str| {
                KnownSet::parse(name).map(|known| known.map_or_else(String::new, |k| k.name().to_owned()))
            })
        }
        Ok(None) | Err(_) => Ok(Taken::Refused),
    }
);

grammar!(
    /// `--try` of `tune`, one per line.
    Grid,
    "grid",
    &["penalty=0.1,auto\nruns=1,2,3", "batches=80*1.018,50*1.018;80*1.005\nsteps=1,2", "tolerance=1e-3,1e-4"],
    |text: &str| {
        let tries: Vec<String> = text.split('\n').map(Into::into).collect();
        match TuneGrid::parse(&tries) {
            Ok(grid) => {
                let _ = grid.n_combinations();
                Ok(Taken::Accepted)
            }
            Err(_) => Ok(Taken::Refused),
        }
    }
);

grammar!(
    /// `--positive`, one per line after the column of the target.
    Positive,
    "positive",
    &["approved\nyes", "age\n>= 40", "age\n> median", "job\nnurse\nclerk", "race\na\nb"],
    |text: &str| {
        let mut lines = text.split('\n').map(str::to_owned);
        let spec = Spec {
            target: lines.next(),
            positive: lines.next(),
            also_positive: lines.collect(),
            sensitive: vec![vec!["sex".into()]],
            ..Spec::default()
        };
        match Prepared::new(fixture::prepared().table.clone(), &spec, &[]) {
            Ok(prepared) if prepared.n_positives() > prepared.n_rows() => Err("more positives than rows".into()),
            Ok(_) => Ok(Taken::Accepted),
            Err(_) => Ok(Taken::Refused),
        }
    }
);

/// Fronts as CSV, which `compare` takes.
pub(super) struct FrontCsv;

impl Target for FrontCsv {
    fn name(&self) -> &'static str {
        "front-csv"
    }
    fn parts(&self) -> Vec<Part> {
        parts(
            Form::Csv,
            &[
                "a,b\n0.1,0.9\n0.5,0.5\n0.9,0.1\n",
                "id,objective.x,objective.y\n1,0.1,0.9\n2,0.5,0.5\nunmitigated,0,1\n",
                "1,2,3\n2,1,3\n3,3,1\n",
                "0.25\n0.5\n",
            ],
        )
    }
    fn words(&self) -> &'static [&'static str] {
        &[
            "objective.",
            "model_id",
            "unmitigated",
            "0.5",
            "1e308",
            "-1e308",
            "inf",
            "nan",
        ]
    }
    fn check(&self, _: usize, input: &[u8]) -> Result<Taken, String> {
        let file = scratch::file("front.csv", input)?;
        let Ok(front) = NamedFront::read(Path::new(&file)) else {
            return Ok(Taken::Refused);
        };
        let says_inf = input
            .to_ascii_lowercase()
            .windows(3)
            .any(|word| word == b"inf");
        if front.values.iter().any(|value| !value.is_finite()) && !says_inf {
            return Err("a number is read as infinite".into());
        }
        let mut other = front.clone();
        other.name = "other".into();
        let compared = compare(&[front, other], &CompareOptions::default());
        let Ok(compared) = compared else {
            return Ok(Taken::Refused);
        };
        let [first, second] = &compared.fronts[..] else {
            return Err("two fronts were compared, but the result has another number".into());
        };
        let equal = |a: f64, b: f64| a.to_bits() == b.to_bits();
        match equal(first.purity, second.purity)
            && equal(first.delta, second.delta)
            && first.hypervolume.map(f64::to_bits) == second.hypervolume.map(f64::to_bits)
        {
            true => Ok(Taken::Accepted),
            false => Err(format!(
                "a front differs from itself: {first:?} and {second:?}"
            )),
        }
    }
}
