use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use fairfront_core::{
    Error as CoreError, LANES, Lanes, Means, OwnStatistics, Root, Rows, Squares, Statistics,
};
use fairfront_data::{Known, Spec};
use fairfront_model::ModelId;
use fairfront_solve::{Progress, StopSignal, Trace, Weighted};

use super::*;
use crate::certify::REPLICATES;
use crate::{FrontColumns, Rule, Run, figures, select};

fn prepared(change: impl FnOnce(&mut Spec)) -> Prepared {
    let known = Known::parse("demo(rows=900)").unwrap().unwrap();
    let mut spec = known.spec();
    change(&mut spec);
    Prepared::from_known(&known, &spec, None).unwrap()
}

fn request(objectives: &[&str], solver: AnySolver) -> FitRequest {
    FitRequest {
        objectives: objectives.iter().map(|o| (*o).to_owned()).collect(),
        solvers: vec![SolverChoice {
            solver,
            polish: None,
        }],
        front_in: None,
        penalty: Penalty::default(),
        loss_alone: false,
        family: FamilyRequest::default(),
    }
}

fn trace() -> AnySolver {
    AnySolver::Trace(Trace {
        points: 9,
        ..Trace::default()
    })
}

#[test]
fn a_loss_alone_gives_the_unmitigated_model() {
    let prepared = prepared(|_| ());
    let weighted = || AnySolver::Weighted(Weighted::default());
    let auto = |loss: &str| FitRequest {
        solvers: [trace(), weighted()]
            .map(|solver| SolverChoice {
                solver,
                polish: None,
            })
            .to_vec(),
        ..request(&[loss], trace())
    };
    let refused = fit(&prepared, &auto("log_loss"), &mut ()).unwrap_err();
    assert!(refused.to_string().contains("at least two objectives"));
    for loss in ["log_loss", "error_rate"] {
        let request = FitRequest {
            loss_alone: true,
            family: FamilyRequest::default(),
            ..auto(loss)
        };
        let fitted = fit(&prepared, &request, &mut ()).unwrap();
        let mut run = Run::of(&Facts::of(&prepared).unwrap(), &fitted);
        assert_eq!(run.front.params, [run.info.unmitigated.params.clone()]);
        assert_eq!(run.info.objectives, [loss]);
        assert_eq!(fitted.splits.len(), 3);
        // The columns of the front agree with the values in the run.
        for (name, value) in &run.info.unmitigated.values.0 {
            // A model has no change compared with itself.
            if name.contains(".change_") || name.ends_with(".probability_nondominated") {
                assert_eq!(*value, None, "{name}");
                continue;
            }
            assert_eq!(run.front.column(name).unwrap(), [*value], "{name}");
        }
        let at = tempfile::TempDir::new().unwrap();
        let folder = at.path().join("run");
        run.write(&folder, false).unwrap();
        let mut again = Run::read(&folder).unwrap();
        assert_eq!(again.to_files().unwrap(), run.to_files().unwrap());
        assert!(folder.join("report.html").is_file());
        figures(&again.info, &again.front, None).unwrap();
        let columns = FrontColumns::of(&again.info, &again.front);
        for rule in [Rule::Knee, Rule::Regret, Rule::Id(ModelId::of_index(0))] {
            assert_eq!(select(&columns, &[], &rule).unwrap().model_id.index(), 0);
        }
    }
}

/// A fit of the loss alone gives the unmitigated model of a front of two objectives.
#[test]
fn a_loss_alone_gives_the_unmitigated_model_of_every_front() {
    let prepared = prepared(|_| ());
    let both = request(&["log_loss", "score_covariance(sex)"], trace());
    let both = fit(&prepared, &both, &mut ()).unwrap();
    let alone = FitRequest {
        loss_alone: true,
        family: FamilyRequest::default(),
        ..request(&["log_loss"], trace())
    };
    let alone = fit(&prepared, &alone, &mut ()).unwrap();
    let of = |fitted: &Fitted| fitted.outcome.unmitigated.points.get(0).to_vec();
    assert_eq!(of(&both), of(&alone));
    // The loss is convex, so there is an optimality proof.
    assert_eq!(alone.proof.proven, 1);
    assert!(alone.proof.largest_optimality_gap.unwrap() < 1e-9);
}

#[test]
fn default_objectives_use_renamed_attributes() {
    let mut prepared = prepared(|_| ());
    prepared.name_attribute(0, "a:b (c)").unwrap();
    let named = with_objectives(&Facts::of(&prepared).unwrap(), &request(&[], trace()));
    let schema = Encoded::new(&prepared).unwrap();
    let schema = schema.part(Part::Train).schema();
    let objectives = parse_objectives(&named.objectives, schema, &[], None).unwrap();
    assert_eq!(objectives[1].compares(), Some((0, None)));
}

/// The squared covariance of score and membership in the second group, times a factor. For two
/// groups and factor 1, this equals `score_covariance`, implemented from its definition.
struct Own {
    name: &'static str,
    factor: f64,
}

impl Objective for Own {
    fn name(&self) -> String {
        self.name.into()
    }

    fn statistics(&self) -> Statistics<'_> {
        Statistics::Own(self)
    }

    fn outer(&self, means: &Means<'_>, slope: &mut [f64]) -> Result<f64, CoreError> {
        let root = &self.roots(means)[0];
        for (slope, d) in slope.iter_mut().zip(&root.slope) {
            *slope = 2.0 * root.value * d;
        }
        Ok(root.value * root.value)
    }

    fn convex_below(&self) -> Option<f64> {
        Some(f64::INFINITY)
    }

    fn squares(&self) -> Option<&dyn Squares> {
        Some(self)
    }
}

impl OwnStatistics for Own {
    fn n_means(&self) -> usize {
        3
    }

    fn weight(&self, rows: &Rows) -> f64 {
        rows.weights().iter().sum()
    }

    fn add_sums(&self, rows: &Rows, scores: &[Lanes], sums: &mut [Lanes]) -> Result<(), CoreError> {
        for (r, group) in rows.groups(0).iter().enumerate() {
            let (w, a) = (rows.weights()[r], f64::from(*group));
            for p in 0..LANES {
                sums[0][p] += w * a * scores[r][p];
                sums[1][p] += w * scores[r][p];
                sums[2][p] += w * a;
            }
        }
        Ok(())
    }

    fn pull_back(
        &self,
        rows: &Rows,
        _scores: &[Lanes],
        slopes: &[Lanes],
        out: &mut [Lanes],
    ) -> Result<(), CoreError> {
        for (r, group) in rows.groups(0).iter().enumerate() {
            let (w, a) = (rows.weights()[r], f64::from(*group));
            for p in 0..LANES {
                out[r][p] += w * (slopes[0][p] * a + slopes[1][p]);
            }
        }
        Ok(())
    }

    fn are_linear(&self) -> bool {
        true
    }

    fn compares(&self) -> Option<(usize, Option<f64>)> {
        Some((0, None))
    }
}

impl Squares for Own {
    fn n_roots(&self) -> usize {
        1
    }

    fn roots(&self, means: &Means<'_>) -> Vec<Root> {
        let means = means.values;
        let size = self.factor.sqrt();
        let slope = [1.0, -means[2], -means[1]].map(|d| size * d);
        vec![Root {
            value: size * (means[0] - means[1] * means[2]),
            slope: slope.to_vec(),
        }]
    }
}

fn own(name: &'static str, factor: f64) -> Arc<dyn Objective> {
    Arc::new(Own { name, factor })
}

/// Values of the front, alternating between the loss and the other objective.
fn values(fitted: &Fitted) -> &[f64] {
    &fitted.outcome.front.values
}

#[test]
fn a_custom_copy_of_an_objective_gives_the_same_front() {
    let prepared = prepared(|_| ());
    let built_in = request(&["log_loss", "score_covariance(sex)"], trace());
    let built_in = fit(&prepared, &built_in, &mut ()).unwrap();
    let asked = request(&["log_loss", "own, of sex"], trace());
    let custom = [own("unused", 1.0), own("own, of sex", 1.0)];
    let fitted = fit_with(&prepared, &asked, &custom, &mut ()).unwrap();
    assert_eq!(fitted.objectives, ["log_loss", "own, of sex"]);
    // It has no measure.
    assert_eq!(fitted.judged.front_in, FrontIn::Objectives);
    assert!(fitted.judged.measures.is_empty());
    let (a, b) = (values(&built_in), values(&fitted));
    assert_eq!(a.len(), b.len());
    // The exact front: sums differ only in their order, and steps end at 1e-8 of the loss or less.
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
    // On all splits, and after a round trip through files.
    for (a, b) in built_in.splits.iter().zip(&fitted.splits) {
        for (a, b) in a.objectives.iter().zip(&b.objectives) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
    }
    let mut run = Run::of(&Facts::of(&prepared).unwrap(), &fitted);
    let files = run.to_files().unwrap();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(n, b)| (*n, &b[..])).collect();
    let again = Run::from_files(&files).unwrap();
    assert!(again.front.column("test.objective.own, of sex").is_some());
    assert!(fit(&prepared, &asked, &mut ()).unwrap_err().is_usage());
}

#[test]
fn names_of_custom_objectives_take_precedence() {
    let prepared = prepared(|_| ());
    let asked = request(&["log_loss", "score_covariance(sex)"], trace());
    let usual = fit(&prepared, &asked, &mut ()).unwrap();
    let custom = [own("score_covariance(sex)", 4.0)];
    let fitted = fit_with(&prepared, &asked, &custom, &mut ()).unwrap();
    let of = |fitted: &Fitted| fitted.splits[0].unmitigated_objectives[1];
    assert!((of(&fitted) / of(&usual) - 4.0).abs() < 1e-9);
}

/// Rates are judged by measures, unless another objective has none.
#[test]
fn a_custom_objective_makes_the_front_judged_by_objectives() {
    let prepared = prepared(|_| ());
    let weighted = Weighted {
        points: 12,
        sums: 8,
        ..Weighted::default()
    };
    let names = ["error_rate", "demographic_parity(sex)", "own"];
    let asked = request(&names, AnySolver::Weighted(weighted));
    let custom = [own("own", 1.0)];
    let fitted = fit_with(&prepared, &asked, &custom, &mut ()).unwrap();
    assert_eq!(fitted.judged.front_in, FrontIn::Objectives);
    assert!(fitted.outcome.front.len() > 1);
    let in_measures = FitRequest {
        front_in: Some(FrontIn::Measures),
        ..asked
    };
    let refused = fit_with(&prepared, &in_measures, &custom, &mut ()).unwrap_err();
    assert!(refused.to_string().contains("there is no measure for own"));
}

/// Stops after a number of rounds.
struct Impatient {
    rounds: usize,
    stop: Arc<AtomicBool>,
}

impl Impatient {
    fn after(rounds: usize) -> Self {
        Self {
            rounds,
            stop: Arc::new(AtomicBool::new(rounds == 0)),
        }
    }
}

impl Observer for Impatient {
    fn round(&mut self, _: &Progress) -> ControlFlow<()> {
        self.rounds = self.rounds.saturating_sub(1);
        self.stop.store(self.rounds == 0, Ordering::Relaxed);
        match self.rounds {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn stop_signal(&self) -> StopSignal {
        let stop = Arc::clone(&self.stop);
        StopSignal::new(move || stop.load(Ordering::Relaxed))
    }
}

#[test]
fn a_stop_skips_work_and_the_run_reports_it() {
    let known = Known::parse("demo(rows=1000000)").unwrap().unwrap();
    let many = Prepared::from_known(&known, &known.spec(), None).unwrap();
    let weighted = || AnySolver::Weighted(Weighted::default());
    let trace = AnySolver::Trace(Trace {
        points: 100_000,
        ..Trace::default()
    });
    let covariances = ["log_loss", "score_covariance(sex)"];
    // The covariance front that the sums start from takes more than 12 rounds.
    for (request, rounds) in [
        (request(&[], weighted()), 12),
        (request(&covariances, trace), 4),
    ] {
        let fitted = fit(&many, &request, &mut Impatient::after(rounds)).unwrap();
        assert_eq!(fitted.outcome.stop, StopReason::Stopped);
        assert!(fitted.judged.candidates <= 32, "{:?}", fitted.judged);
        assert!(fitted.outcome.front.len() > 8 && fitted.outcome.front.len() <= 32);
        assert!(fitted.outcome.counters.evaluations < 1_000);
        assert_eq!(fitted.judged.moved, 0);
        assert!(fitted.outcome.proofs.is_empty());
        assert_eq!(fitted.interval_info.replicates, 0);
        for left_out in [
            LeftOut::OptimalityProofs,
            LeftOut::Redraws,
            LeftOut::Calibration,
        ] {
            assert!(fitted.left_out.contains(&left_out), "{:?}", fitted.left_out);
        }
        let reports = |n: &Diagnostic| {
            n.message.to_string().contains("left out") && n.message.to_string().contains("redraws")
        };
        assert!(
            fitted.diagnostics.iter().any(reports),
            "{:?}",
            fitted.diagnostics
        );
        // Bands without redraws hold for all contrasts at once.
        let bands = &fitted.evidence.certify.as_ref().unwrap().bands;
        assert!(bands.iter().all(|band| band.quantiles.is_empty()));
    }
    let at_once = fit(&many, &request(&[], weighted()), &mut Impatient::after(0));
    assert!(at_once.unwrap_err().is_stopped());
}

#[test]
fn a_stop_leaves_out_the_cross_validation_of_the_penalty() {
    let known = Known::parse("demo(rows=20000)").unwrap().unwrap();
    let some = Prepared::from_known(&known, &known.spec(), None).unwrap();
    let request = request(&[], AnySolver::Weighted(Weighted::default()));
    let fitted = fit(&some, &request, &mut Impatient::after(0)).unwrap();
    assert_eq!(fitted.outcome.stop, StopReason::Stopped);
    assert!(fitted.left_out.contains(&LeftOut::CrossValidation));
    assert_eq!(fitted.penalty.unwrap().rule, PenaltyRule::Stopped);
}

#[test]
fn small_tables_are_measured_in_full_after_a_stop() {
    let few = prepared(|_| ());
    let request = request(&[], AnySolver::Weighted(Weighted::default()));
    let fitted = fit(&few, &request, &mut Impatient::after(1)).unwrap();
    assert_eq!(fitted.outcome.stop, StopReason::Stopped);
    assert!(fitted.left_out.is_empty(), "{:?}", fitted.left_out);
    assert_eq!(fitted.interval_info.replicates, REPLICATES);
    assert_eq!(fitted.outcome.proofs.len(), fitted.outcome.front.len());
}
