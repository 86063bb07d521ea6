//! Compares fronts by indicators such as purity and hypervolume.

mod measures;
mod read;

pub use measures::{
    ComparedMeasure, ComparedScore, FrontShare, MeasureComparison, compare_measures,
};
pub use read::UNMITIGATED;

use fairfront_core::{aside, counted, say};
use fairfront_data::setting::SEED;
use fairfront_pareto::{
    Values, additive_epsilon, hypervolume, igd_plus, nondominated, purity, purity_within, ranges,
    select_spread, spread,
};
use serde::Serialize;

use crate::Error;
use crate::setting::{BY, REFERENCE};

/// Most objectives for which hypervolumes are computed; with more, even few models take too long.
pub const MOST_VOLUME_OBJECTIVES: usize = 8;

/// A front to compare, from a run or from a file of values.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedFront {
    /// Its name: the path as given.
    pub name: String,
    /// Names of the objectives; empty if the file has none.
    pub objectives: Vec<String>,
    /// Values, `n_objectives` per model.
    pub values: Vec<f64>,
    /// Number of objectives.
    pub n_objectives: usize,
    /// The origin, if the front is from a run.
    pub run: Option<Origin>,
}

/// The origin of a run's front, and the cost of computing it.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    /// The files or the data set.
    pub source: String,
    /// The solver.
    pub solver: String,
    /// Identifies the encoded rows.
    pub fingerprint: String,
    /// The objectives with all their settings.
    pub definitions: Vec<String>,
    /// The name of the loss.
    pub loss: String,
    /// Its value at x = 0.
    pub loss_at_zero: f64,
    /// Wall seconds of the solver.
    pub seconds: f64,
    /// Gradients evaluated, summed over all objectives.
    pub gradients: u64,
    /// The largest optimality gap, if every model has one.
    pub gap: Option<f64>,
}

/// How to compare.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompareOptions {
    /// The reference point of hypervolumes; `None` computes it from the fronts.
    pub reference: Option<Vec<f64>>,
    /// Whether to reduce all fronts to the size of the smallest, keeping well-spread models.
    pub same_size: bool,
    /// Whether spreads use each front's own extremes instead of those of the union.
    pub own_extremes: bool,
    /// Differences below this share of an objective's range count as ties in the purity.
    pub tolerance: f64,
    /// Whether to compute distances to the best models too, which takes time on long fronts.
    pub distances: bool,
}

/// A comparison of fronts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Names of the objectives; f1, f2, … if no front has names.
    pub objectives: Vec<String>,
    /// The reference point.
    pub reference: Vec<f64>,
    /// The common number of models to which all fronts were reduced, if they were.
    pub same_size: Option<usize>,
    /// The extremes that spreads use: `union` or `own`.
    pub extremes: &'static str,
    /// The fronts, in the order given.
    pub fronts: Vec<JudgedFront>,
}

/// The indicators of one front. Purity and hypervolume are better when larger, all others when
/// smaller.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgedFront {
    /// Its name.
    pub name: String,
    /// The solver, if it is known.
    pub solver: Option<String>,
    /// Number of models compared.
    pub models: usize,
    /// Number of models before the reduction to a common size.
    pub models_found: usize,
    /// Share of its models that no model of any front dominates.
    pub purity: f64,
    /// Γ: the largest hole.
    pub gamma: f64,
    /// The largest hole as a share of its objective's range.
    pub scaled_gamma: f64,
    /// Δ: how uneven the distances between neighboring models are.
    pub delta: f64,
    /// Volume dominated up to the reference point; `None` for more than
    /// [`MOST_VOLUME_OBJECTIVES`] objectives.
    pub hypervolume: Option<f64>,
    /// Additive epsilon to the nondominated models of all fronts, if requested.
    pub epsilon: Option<f64>,
    /// IGD⁺ to the same models, if requested.
    pub igd_plus: Option<f64>,
    /// Wall seconds of the solver per model found.
    pub seconds_per_model: Option<f64>,
    /// Gradients evaluated per model found.
    pub gradients_per_model: Option<f64>,
    /// The largest optimality gap, if every model of the run has one: a proven bound on how much
    /// lower the loss of any model could be without being worse in another objective.
    pub gap: Option<f64>,
    /// Values of the models compared.
    #[serde(skip)]
    pub values: Vec<f64>,
}

/// Computes the indicators of each front relative to all of them. Rejects fronts of different
/// objectives or data.
pub fn compare(fronts: &[NamedFront], options: &CompareOptions) -> Result<Comparison, Error> {
    let fronts = aligned(fronts)?;
    let Some(first) = fronts.first() else {
        return Err(Error::usage(
            "nothing to compare; pass at least one run folder or CSV file",
        ));
    };
    let m = first.n_objectives;
    let objectives = match fronts.iter().find(|f| !f.objectives.is_empty()) {
        Some(named) => named.objectives.clone(),
        None => (1..=m).map(|i| format!("f{i}")).collect(),
    };
    let found: Vec<usize> = fronts.iter().map(|f| f.values.len() / m).collect();
    let same_size = found.iter().copied().min().filter(|_| options.same_size);
    let all = fronts.iter().flat_map(|f| f.values.iter().copied());
    let all: Vec<f64> = all.collect();
    let all_ranges = ranges(Values::new(&all, m)?, None);
    let judged: Vec<Vec<f64>> = fronts
        .iter()
        .map(|front| {
            let values = Values::new(&front.values, m)?;
            Ok(match same_size {
                Some(n) => values.select(&select_spread(values, n, &all_ranges)),
                None => front.values.clone(),
            })
        })
        .collect::<Result<_, Error>>()?;
    let union = judged.concat();
    let union = Values::new(&union, m)?;
    let best = union.select(&nondominated(union));
    let best = Values::new(&best, m)?;
    let reference = match &options.reference {
        Some(given) if given.len() != m => {
            let (names, given) = (objectives.join(", "), counted(given.len(), "number"));
            return Err(Error::usage(say![
                REFERENCE,
                " has {given}; pass one for each of {names}"
            ]));
        }
        Some(given) => given.clone(),
        None => reference(&fronts, Values::new(&all, m)?, &objectives),
    };
    let judge = |(front, values): (&NamedFront, &Vec<f64>)| {
        let values = Values::new(values, m)?;
        let spread = spread(values, if options.own_extremes { values } else { best })?;
        let found = front.values.len() / m;
        let by_point = |spent: f64| (found > 0).then(|| spent / found as f64);
        let run = front.run.as_ref();
        let wanted = |indicator: fn(Values, Values) -> Result<f64, fairfront_pareto::Error>| {
            let found = options.distances.then(|| indicator(values, best));
            found.transpose()
        };
        Ok(JudgedFront {
            name: front.name.clone(),
            solver: run.map(|run| run.solver.clone()),
            models: values.len(),
            models_found: found,
            purity: match options.tolerance > 0.0 {
                true => purity_within(values, best, options.tolerance)?,
                false => purity(values, best)?,
            },
            gamma: spread.gamma,
            scaled_gamma: spread.scaled_gamma,
            delta: spread.delta,
            hypervolume: match m <= MOST_VOLUME_OBJECTIVES {
                true => Some(hypervolume(values, &reference)?),
                false => None,
            },
            epsilon: wanted(additive_epsilon)?,
            igd_plus: wanted(igd_plus)?,
            seconds_per_model: run.and_then(|run| by_point(run.seconds)),
            gradients_per_model: run.and_then(|run| by_point(run.gradients as f64)),
            gap: run.and_then(|run| run.gap),
            values: values.as_slice().to_vec(),
        })
    };
    let pairs = fronts.iter().zip(&judged);
    Ok(Comparison {
        fronts: pairs.map(judge).collect::<Result<_, Error>>()?,
        objectives,
        reference,
        same_size,
        extremes: if options.own_extremes { "own" } else { "union" },
    })
}

/// The fronts with their objectives in the order of the first run, or without a run of the first
/// front with names. Fails if they cannot be compared.
fn aligned(fronts: &[NamedFront]) -> Result<Vec<NamedFront>, Error> {
    let run = fronts.iter().find(|front| front.run.is_some());
    let first = run.or_else(|| fronts.iter().find(|front| !front.objectives.is_empty()));
    let Some(first) = first.or(fronts.first()) else {
        return Ok(Vec::new());
    };
    let mut aligned = Vec::new();
    for front in fronts {
        if front.n_objectives != first.n_objectives {
            return Err(other_number(first, front));
        }
        if front.objectives.is_empty() {
            aligned.push(front.clone());
            continue;
        }
        let place = |name: &String| front.objectives.iter().position(|other| other == name);
        let order = first.objectives.iter().map(place);
        let Some(order) = order.collect::<Option<Vec<_>>>() else {
            return Err(other_objectives(format!(
                "{} is a front of {}, but {} is a front of {}",
                first.name,
                first.objectives.join(", "),
                front.name,
                front.objectives.join(", ")
            )));
        };
        if let (Some(a), Some(b)) = (&first.run, &front.run) {
            let theirs = order.iter().map(|i| &b.definitions[*i]);
            if let Some((ours, theirs)) = a.definitions.iter().zip(theirs).find(|(a, b)| a != b) {
                return Err(other_objectives(format!(
                    "{} minimizes {ours}, but {} minimizes {theirs}",
                    first.name, front.name
                )));
            }
            if a.fingerprint != b.fingerprint {
                let problem = format!(
                    "{} and {} were fitted on rows ({} and {}) that differ in data, split, features or \
                     sensitive columns",
                    first.name, front.name, a.source, b.source
                );
                return Err(Error::data(say![
                    problem;
                    "fit both with the same ones", aside(say![", and the same ", SEED])
                ]));
            }
        }
        let points = front.values.chunks_exact(front.n_objectives);
        aligned.push(NamedFront {
            objectives: first.objectives.clone(),
            values: points.flat_map(|p| order.iter().map(|i| p[*i])).collect(),
            ..front.clone()
        });
    }
    Ok(aligned)
}

fn other_number(a: &NamedFront, b: &NamedFront) -> Error {
    other_objectives(format!(
        "{} and {} have different numbers of objectives, {} and {}",
        a.name, b.name, a.n_objectives, b.n_objectives
    ))
}

fn other_objectives(problem: String) -> Error {
    Error::data(say![
        problem;
        "compare runs of different objectives with ", BY.is("measures")
    ])
}

/// The reference point: for a loss its value at x = 0, for any other objective 1.1 times its
/// largest value in the union (0.9 times if it is negative, 1 if it is 0).
fn reference(fronts: &[NamedFront], union: Values, objectives: &[String]) -> Vec<f64> {
    let run = fronts.iter().find_map(|front| front.run.as_ref());
    let largest = ranges(union, None);
    let of = |(i, name): (usize, &String)| match run {
        Some(run) if *name == run.loss => run.loss_at_zero,
        None if name == "log_loss" => std::f64::consts::LN_2,
        _ => match largest[i].1 {
            0.0 => 1.0,
            high if high > 0.0 => 1.1 * high,
            high => 0.9 * high,
        },
    };
    objectives.iter().enumerate().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn front(name: &str, objectives: &[&str], values: &[f64]) -> NamedFront {
        NamedFront {
            name: name.into(),
            objectives: objectives.iter().map(|&o| o.to_owned()).collect(),
            values: values.to_vec(),
            n_objectives: 2,
            run: None,
        }
    }

    fn run(of: NamedFront, fingerprint: &str, lambda: &str) -> NamedFront {
        let definitions = of.objectives.iter().map(|o| format!("{o}({lambda})"));
        NamedFront {
            run: Some(Origin {
                source: "rows.csv".into(),
                solver: "pf-smg".into(),
                fingerprint: fingerprint.into(),
                definitions: definitions.collect(),
                loss: NAMES[0].into(),
                loss_at_zero: 5.0,
                seconds: 6.0,
                gradients: 300,
                gap: Some(1e-9),
            }),
            ..of
        }
    }

    const NAMES: [&str; 2] = ["log_loss", "score_covariance(sex)"];
    const LINE: [f64; 6] = [1.0, 3.0, 2.0, 2.0, 3.0, 1.0];

    fn of(fronts: &[NamedFront]) -> Result<Comparison, Error> {
        let options = CompareOptions {
            distances: true,
            ..CompareOptions::default()
        };
        compare(fronts, &options)
    }

    #[test]
    fn comparisons_have_indicators_and_costs() {
        let a = run(front("a", &NAMES, &LINE), "x", "1");
        let b = front("b", &NAMES, &[2.0, 2.5, 1.0, 3.0]);
        let found = of(&[a, b]).unwrap();
        assert_eq!(found.reference, [5.0, 3.0 * 1.1]);
        let [a, b] = &found.fronts[..] else { panic!() };
        assert_eq!((a.purity, b.purity), (1.0, 0.5));
        assert_eq!(
            (a.seconds_per_model, a.gradients_per_model),
            (Some(2.0), Some(100.0))
        );
        assert_eq!((b.seconds_per_model, b.gradients_per_model), (None, None));
        assert_eq!((a.epsilon, b.epsilon), (Some(0.0), Some(1.5)));
        let volume = 4.0 * 0.3 + 3.0 + 2.0;
        let [a, b] = [a, b].map(|front| front.hypervolume.unwrap());
        assert!((a - volume).abs() < 1e-12 && b < a);
    }

    #[test]
    fn objectives_are_found_by_name() {
        let swapped: Vec<f64> = LINE.chunks(2).flat_map(|p| [p[1], p[0]]).collect();
        let fronts = [
            front("a", &NAMES, &LINE),
            front("b", &[NAMES[1], NAMES[0]], &swapped),
            front("c", &[], &LINE),
        ];
        let found = of(&fronts).unwrap();
        assert!(
            found
                .fronts
                .iter()
                .all(|f| f.purity == 1.0 && f.igd_plus == Some(0.0))
        );
        assert_eq!(found.objectives, NAMES);
        assert_eq!(found.reference[0], std::f64::consts::LN_2);
        assert_eq!(of(&fronts[2..]).unwrap().objectives, ["f1", "f2"]);
        // The loss of a run is found in any column of a file.
        let with_run = [fronts[1].clone(), run(fronts[0].clone(), "x", "1")];
        let found = of(&with_run).unwrap();
        assert_eq!(
            (found.objectives, found.reference[0]),
            (NAMES.map(String::from).to_vec(), 5.0)
        );
    }

    #[test]
    fn fronts_that_cannot_be_compared_are_rejected_with_the_reason() {
        let refused = |a: NamedFront, b: NamedFront| of(&[a, b]).unwrap_err().to_string();
        let a = || front("a", &NAMES, &LINE);
        let other = front("b", &["log_loss", "score_covariance(race)"], &LINE);
        assert!(refused(a(), other).contains("score_covariance(race)"));
        let more = NamedFront {
            n_objectives: 3,
            ..front("b", &[], &LINE)
        };
        assert!(
            refused(a(), more.clone())
                .contains("a and b have different numbers of objectives, 2 and 3")
        );
        assert!(refused(front("a", &[], &LINE), more).contains("2 and 3"));
        let message = refused(run(a(), "x", "1"), run(a(), "y", "1"));
        assert!(message.contains("differ in data"), "{message}");
        let message = refused(run(a(), "x", "1"), run(a(), "x", "2"));
        assert!(
            message.contains("log_loss(1)") && message.contains("log_loss(2)"),
            "{message}"
        );
        assert!(of(&[]).is_err());
        let options = CompareOptions {
            reference: Some(vec![1.0]),
            ..CompareOptions::default()
        };
        assert!(compare(&[a()], &options).unwrap_err().is_usage());
    }

    #[test]
    fn slow_indicators_are_left_out() {
        let m = MOST_VOLUME_OBJECTIVES + 1;
        let many = NamedFront {
            n_objectives: m,
            ..front("many", &[], &vec![1.0; 3 * m])
        };
        let found = compare(&[many], &CompareOptions::default()).unwrap();
        assert_eq!(
            (found.fronts[0].hypervolume, found.fronts[0].epsilon),
            (None, None)
        );
    }

    #[test]
    fn the_common_size_is_the_smallest() {
        let long: Vec<f64> = (0..=100)
            .flat_map(|i| [f64::from(i), f64::from(100 - i)])
            .collect();
        let fronts = [
            front("a", &NAMES, &long),
            front("b", &NAMES, &[0.0, 100.0, 50.0, 50.0, 100.0, 0.0]),
            front("empty", &NAMES, &[]),
        ];
        let options = CompareOptions {
            same_size: true,
            ..CompareOptions::default()
        };
        let found = compare(&fronts[..2], &options).unwrap();
        assert_eq!(found.same_size, Some(3));
        assert_eq!(
            (found.fronts[0].models, found.fronts[0].models_found),
            (3, 101)
        );
        assert_eq!(found.fronts[0].hypervolume, found.fronts[1].hypervolume);
        assert_eq!(found.fronts[0].gamma, 50.0);
        let with_empty = compare(&fronts, &options).unwrap();
        assert!(
            with_empty
                .fronts
                .iter()
                .all(|f| f.models == 0 && f.hypervolume == Some(0.0))
        );
    }
}
