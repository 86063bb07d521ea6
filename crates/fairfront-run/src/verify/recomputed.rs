//! Recomputes the values of a run's models from the data, and compares them with the stored ones.

use fairfront_core::{Calibration, FairProblem, Measure, Points, Problem, Schema};
use fairfront_data::{Encoded, Part};
use fairfront_model::ModelId;
use fairfront_pareto::{Values, dominates, nondominated};
use fairfront_solve::{Front, Proof, prove};
use serde_json::json;

use super::check::{self, Check, TOLERANCE};
use crate::calibration::calibrations;
use crate::certify::{REPLICATES, Weighed, weigh};
use crate::families::correct;
use crate::folder::Described;
use crate::judge::{FrontIn, JudgedInfo, chosen_by, compared_in, matching, on_test};
use crate::meaning::is_interval;
use crate::measured::{SplitValues, split_values};
use crate::{Error, Family, FrontTable, LeftOut, RunInfo};

/// Recomputed values of a run's models.
pub(super) struct Recomputed {
    points: Points,
    pub(super) splits: Vec<SplitValues>,
    pub(super) weighed: Weighed,
    calibrations: Vec<Calibration>,
    pub(super) proofs: Result<Vec<Proof>, String>,
    /// The measures that the objectives approximate, if models may be judged by them.
    measures: Vec<Measure>,
}

impl Recomputed {
    pub(super) fn new(
        problem: &FairProblem,
        encoded: &Encoded,
        models: &Points,
        info: &RunInfo,
    ) -> Result<Self, Error> {
        let last = models.len() - 1;
        let points = models.select(&(0..last).collect::<Vec<_>>());
        let left_out = |work: LeftOut| info.left_out.contains(&work);
        let replicates = match left_out(LeftOut::Redraws) {
            true => 0,
            false => REPLICATES,
        };
        let weighed = weigh(encoded, models, &compared_in(problem), replicates, &|| {
            false
        })?;
        let weighed =
            weighed.ok_or_else(|| Error::data("the intervals of the models were not computed"))?;
        let calibrations = match left_out(LeftOut::Calibration) {
            true => vec![Calibration::default(); models.len()],
            false => calibrations(encoded, models)?,
        };
        let splits = split_values(problem, encoded, models, &calibrations)?;
        let front = Front {
            values: splits[0].objectives.clone(),
            points,
            n_objectives: problem.n_objectives(),
        };
        let family = info.family.as_ref();
        let learns = family.is_some_and(|family| family.request.family.learns());
        let has_measures = problem.temperature().is_some() || !info.judged.measures.is_empty();
        Ok(Self {
            proofs: match left_out(LeftOut::OptimalityProofs) || learns {
                true => Ok(Vec::new()),
                false => prove(problem, &front).map_err(|e| e.to_string()),
            },
            points: front.points,
            splits,
            weighed,
            calibrations,
            measures: match has_measures {
                true => matching(problem).unwrap_or_default(),
                false => Vec::new(),
            },
        })
    }

    /// How models were judged. Dropped candidates are not in the folder, so their numbers are taken
    /// from the run.
    pub(super) fn judged(&self, m: usize, schema: &Schema, info: &RunInfo) -> JudgedInfo {
        let n = self.points.len();
        let stored = &info.judged;
        // The stored number if the front was reduced to the requested number of models.
        let fewer = info.left_out.contains(&LeftOut::Candidates);
        let kept = |stored: usize| match fewer || n >= info.solver.points() {
            true => stored.max(n),
            false => n,
        };
        let mut judged = JudgedInfo {
            measures: self.measures.iter().map(|m| m.name(schema)).collect(),
            on_test: on_test(stored.front_in, &self.measures, &self.splits, m).unwrap_or(None),
            ..stored.clone()
        };
        match (stored.front_in, self.measures.is_empty()) {
            (FrontIn::Measures, _) => judged.in_measures = stored.in_measures.map(kept),
            (FrontIn::Objectives, false) => judged.in_objectives = kept(stored.in_objectives),
            (FrontIn::Objectives, true) => {
                judged.candidates = if fewer { stored.candidates.max(n) } else { n };
                judged.in_objectives = judged.candidates;
            }
        }
        judged
    }

    /// Compares every number of every model and of the unmitigated model, by family.
    pub(super) fn compare(
        &self,
        front: &FrontTable,
        info: &RunInfo,
        names: &[String],
        encoded: &Encoded,
    ) -> Vec<Check> {
        // Families follow from the parameters, which the run stores.
        let mut families = front.families.clone();
        families.push(info.unmitigated.family);
        let described = Described {
            points: &self.points,
            objectives: names,
            schema: encoded.part(Part::Train).schema(),
            splits: &self.splits,
            families: &families,
            calibrations: &self.calibrations,
            proofs: self.proofs.as_deref().unwrap_or_default(),
            intervals: &self.weighed.intervals,
        };
        let (found, unmitigated) = (described.table(), described.unmitigated());
        let mut columns = Check::new("columns");
        let own = info.unmitigated.values.0.iter();
        let own: Vec<&String> = own.map(|(name, _)| name).collect();
        let of_model: Vec<&String> = unmitigated.iter().map(|(name, _)| name).collect();
        if self.proofs.is_ok() {
            let (stored, found) = (json!(front.names), json!(found.names));
            columns.json("front.parquet", "columns", &stored, &found, 0.0);
        }
        let (stored, of_model) = (json!(own), json!(of_model));
        columns.json("run.json", "unmitigated.values", &stored, &of_model, 0.0);

        let mut families: Vec<Check> = Vec::new();
        let mut family = |column: &str| -> (usize, f64) {
            let (family, allowed) = family_of(column);
            let at = families.iter().position(|check| check.what == family);
            let at = at.unwrap_or_else(|| {
                families.push(Check::new(family));
                families.len() - 1
            });
            (at, allowed)
        };
        let placed: Vec<(usize, f64)> = found.names.iter().map(|name| family(name)).collect();
        let of_model: Vec<(usize, f64)> =
            unmitigated.iter().map(|(name, _)| family(name)).collect();
        for ((name, values), (at, allowed)) in found.names.iter().zip(&found.columns).zip(placed) {
            for (index, (stored, value)) in front
                .column(name)
                .unwrap_or_default()
                .iter()
                .zip(values)
                .enumerate()
            {
                let place = format!("model {}", ModelId::of_index(index));
                families[at].number(&place, name, *stored, *value, allowed);
            }
        }
        for ((name, value), (at, allowed)) in unmitigated.iter().zip(of_model) {
            if let Some(stored) = info.unmitigated.values.get(name) {
                families[at].number("the unmitigated model", name, *stored, *value, allowed);
            }
        }
        if let Err(why) = &self.proofs {
            families.push(Check {
                problem: Some(format!("the proofs cannot be recomputed: {why}")),
                ..Check::new("optimality proofs")
            });
        }
        families.insert(0, columns);
        families
    }

    /// Checks that no model dominates another in the values by which the front is judged.
    pub(super) fn front(
        &self,
        problem: &FairProblem,
        encoded: &Encoded,
        info: &RunInfo,
        families: &[Family],
    ) -> Result<Check, Error> {
        let mut check = Check::new("no model dominates another");
        check.compared = self.points.len();
        let m = problem.n_objectives();
        let (mut values, by) = match info.judged.front_in {
            FrontIn::Objectives => (
                self.splits[0].objectives.clone(),
                "in the objectives on training rows",
            ),
            FrontIn::Measures => match chosen_by(encoded, &self.points, &self.measures)? {
                Ok(values) if self.measures.len() == m => {
                    (values, "in the measures on training and validation rows")
                }
                _ => {
                    check.problem = Some("the measures cannot be computed on these rows".into());
                    return Ok(check);
                }
            },
        };
        if let Some(optimism) = &info.judged.linear_optimism {
            correct(&mut values, families, optimism);
        }
        let Ok(judged) = Values::new(&values, m) else {
            check.problem = Some("a value is not a number".into());
            return Ok(check);
        };
        let best = nondominated(judged);
        let of = |i: usize| &values[i * m..(i + 1) * m];
        // Values that differ only by rounding tie.
        let beats = |a: usize, b: usize| {
            let mut pairs = of(a).iter().zip(of(b));
            dominates(of(a), of(b)) && pairs.any(|(a, b)| check::share(*a, *b) > TOLERANCE)
        };
        for worse in (0..self.points.len()).filter(|i| best.binary_search(i).is_err()) {
            if let Some(better) = best.iter().find(|better| beats(**better, worse)) {
                check.different += 1;
                let [worse, better] = [worse, *better].map(ModelId::of_index);
                let first = || format!("model {worse} is dominated by model {better} {by}");
                check.problem.get_or_insert_with(first);
            }
        }
        Ok(check)
    }
}

/// The family of a column, and the relative difference allowed for its values.
fn family_of(column: &str) -> (String, f64) {
    const COUNTS: [&str; 5] = [
        "count(",
        "true_positives(",
        "false_positives(",
        "true_negatives(",
        "false_negatives(",
    ];
    if ["optimality_gap", "gradient_residual"].contains(&column)
        || column.starts_with("multiplier.")
    {
        return ("optimality proofs".into(), TOLERANCE);
    }
    if column.starts_with("calibration.") || column.starts_with("reliability.") {
        return ("calibration".into(), TOLERANCE);
    }
    if column.starts_with("distribution.") {
        return ("distributions".into(), TOLERANCE);
    }
    let (split, name) = match column.split_once('.') {
        Some(("objective", _)) | None => ("train", column),
        Some((split, name)) => (split, name),
    };
    let rows = if split == "train" { "training" } else { split };
    let (kind, allowed) = if name.starts_with("objective.") {
        ("objectives", TOLERANCE)
    } else if is_interval(name) {
        ("intervals", TOLERANCE)
    } else if COUNTS.iter().any(|count| name.starts_with(count)) {
        ("counts", 0.0)
    } else {
        ("measures", TOLERANCE)
    };
    (format!("{kind}, {rows} rows"), allowed)
}
