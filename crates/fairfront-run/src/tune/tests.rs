use std::ops::ControlFlow;

use fairfront_data::{Known, Prepared, Spec};
use fairfront_solve::{AnySolver, EpsFair, PfSmg, Progress, StopSignal, Trace, Weighted};
use proptest::prelude::*;

use super::*;
use crate::{SolverName, fit, front_table};

fn prepared(change: impl FnOnce(&mut Spec)) -> Prepared {
    let known = Known::parse("demo(rows=2000)").unwrap().unwrap();
    let mut spec = known.spec();
    spec.sensitive = vec![vec!["sex".into()]];
    change(&mut spec);
    Prepared::from_known(&known, &spec, None).unwrap()
}

/// A request for short fits.
fn ask(settings: &[(&str, &str)]) -> Ask {
    let short = [("max-steps", "6"), ("holes", "4"), ("active", "8")];
    let settings = short.iter().chain(settings);
    Ask {
        solver: SolverName::PfSmg,
        models: Some(40),
        settings: settings
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
        ..Ask::default()
    }
}

fn grid(axes: &[&str]) -> Grid {
    Grid::parse(&axes.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>()).unwrap()
}

/// The trials without their times.
fn timeless(tuning: &Tuning) -> Vec<Trial> {
    let mut trials = tuning.trials.clone();
    for trial in &mut trials {
        match &mut trial.end {
            TrialEnd::Done(Score { seconds, .. }) | TrialEnd::Failed { seconds, .. } => {
                *seconds = 0.0;
            }
            TrialEnd::NotRun => {}
        }
    }
    trials
}

/// The area that points dominate, computed from the definition by a sweep along the first
/// coordinate.
fn area(mut points: Vec<[f64; 2]>, [right, top]: [f64; 2]) -> f64 {
    points.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let (mut area, mut lowest) = (0.0, top);
    for [x, y] in points {
        if x < right && y < lowest {
            area += (right - x) * (lowest - y);
            lowest = y;
        }
    }
    area
}

/// Fits every combination separately and chooses by the values in its run folder.
#[test]
fn the_chosen_trial_is_the_most_accurate() {
    let prepared = prepared(|_| ());
    // Without anchors, no front contains the unmitigated model before judging.
    let ask = Ask {
        front_in: Some(FrontIn::Objectives),
        ..ask(&[("anchors", "false")])
    };
    for objectives in [
        ["error_rate", "demographic_parity(sex)"],
        ["log_loss", "score_covariance(sex)"],
    ] {
        let ask = Ask {
            objectives: objectives.map(String::from).to_vec(),
            ..ask.clone()
        };
        let grid = grid(&["runs=1,2", "steps=1,3", "step=0.1,1"]);
        let tuning = tune(&Input::of(&prepared, false).unwrap(), &ask, &grid, &mut ()).unwrap();
        assert_eq!((tuning.trials.len(), tuning.combinations), (8, 8));
        assert_eq!(tuning.judged_by, objectives);
        let mut best = (f64::NEG_INFINITY, f64::NEG_INFINITY, usize::MAX);
        let mut accuracies = Vec::new();
        let [right, top] = tuning.reference[..] else {
            panic!("two objectives");
        };
        for (i, trial) in tuning.trials.iter().enumerate() {
            let mut alone = ask.clone();
            alone.settings.extend(trial.settings.0.clone());
            let request = alone.request("demo", &["sex".into()], false).unwrap();
            let fitted = fit(&prepared, &request, &mut ()).unwrap();
            let front = front_table(&fitted);
            let column = |name: &str| -> Vec<f64> {
                let column = front.column(&format!("validation.{name}")).unwrap();
                column.iter().map(|v| v.unwrap()).collect()
            };
            let accuracy = column("accuracy").into_iter().fold(0.0, f64::max);
            let [x, y] = objectives.map(|name| column(&format!("objective.{name}")));
            let points = x.into_iter().zip(y).map(|(x, y)| [x, y]).collect();
            let volume = area(points, [right, top]) / (right * top);
            let score = trial.end.score().unwrap();
            assert_eq!(score.performance, accuracy);
            assert_eq!(score.models, front.len());
            // The sums have a different order.
            let found = score.hypervolume.unwrap();
            assert!((found - volume).abs() < 1e-12, "{found} {volume}");
            if (accuracy, found) > (best.0, best.1) {
                best = (accuracy, found, i);
            }
            accuracies.push(accuracy);
        }
        assert_eq!(tuning.chosen, Some(best.2));
        // Errors are judged with the unmitigated model among the candidates, covariances without
        // it.
        let matters = accuracies.iter().any(|a| *a != accuracies[0]);
        assert!(matters || objectives[0] == "error_rate", "{accuracies:?}");
    }
}

/// The fronts are judged by measures, so the box is that of the measures on validation rows.
#[test]
fn hypervolumes_are_those_of_the_measures() {
    let prepared = prepared(|_| ());
    let tuning = tune(
        &Input::of(&prepared, false).unwrap(),
        &ask(&[]),
        &grid(&["runs=1,2"]),
        &mut (),
    )
    .unwrap();
    let names = ["1 - accuracy", "demographic_parity_difference(sex)"];
    assert_eq!(tuning.judged_by, names);
    for trial in &tuning.trials {
        let mut alone = ask(&[]);
        alone.settings.extend(trial.settings.0.clone());
        let request = alone.request("demo", &["sex".into()], false).unwrap();
        let fitted = fit(&prepared, &request, &mut ()).unwrap();
        let split = &fitted.splits[1];
        let point = |m: &Measures| {
            let gap = m.demographic_parity_difference(0).unwrap();
            [1.0 - m.overall.accuracy().unwrap(), gap]
        };
        let [loss, gap] = point(&split.unmitigated);
        let labels = || prepared.split.part(Part::Validation).iter();
        let positive = labels()
            .filter(|p| prepared.labels[**p as usize] > 0.0)
            .count();
        let share = positive as f64 / labels().count() as f64;
        let reference = [share.min(1.0 - share).max(1.1 * loss), 2.0 * gap];
        for (found, expected) in tuning.reference.iter().zip(reference) {
            assert!((found - expected).abs() < 1e-15, "{found} {expected}");
        }
        let points = split.measures.iter().map(point).collect();
        let volume = area(points, reference) / (reference[0] * reference[1]);
        let found = trial.end.score().unwrap().hypervolume.unwrap();
        assert!((found - volume).abs() < 1e-12, "{found} {volume}");
    }
}

#[test]
fn neither_order_nor_threads_change_anything() {
    let prepared = prepared(|_| ());
    let run = |axes: &[&str], threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let tuning = pool
            .unwrap()
            .install(|| {
                tune(
                    &Input::of(&prepared, false).unwrap(),
                    &ask(&[]),
                    &grid(axes),
                    &mut (),
                )
            })
            .unwrap();
        (timeless(&tuning), tuning.chosen, tuning.reference)
    };
    let one = run(&["step=0.5,1", "runs=1,2"], 1);
    assert_eq!(run(&["runs=1,2", "step=0.5,1"], 3), one);
    // Settings come in the order of the solver's list, and the last one changes fastest.
    let settings: Vec<Vec<&str>> = (one.0.iter())
        .map(|trial| {
            trial
                .settings
                .0
                .iter()
                .flat_map(|(n, v)| [n.as_str(), v])
                .collect()
        })
        .collect();
    let expected = [("1", "0.5"), ("1", "1"), ("2", "0.5"), ("2", "1")];
    assert_eq!(settings, expected.map(|(r, s)| ["runs", r, "step", s]));
}

#[test]
fn a_failing_combination_does_not_end_the_search() {
    let prepared = prepared(|_| ());
    // Only in combination these are invalid: there is nothing to start from.
    let grid = grid(&["starts=0,3", "anchors=false,true"]);
    let tuning = tune(
        &Input::of(&prepared, false).unwrap(),
        &ask(&[]),
        &grid,
        &mut (),
    )
    .unwrap();
    let TrialEnd::Failed { reason, .. } = &tuning.trials[0].end else {
        panic!("{:?}", tuning.trials[0]);
    };
    assert!(reason.to_string().contains("starts is 0"), "{reason}");
    assert!(tuning.trials[1..].iter().all(|t| t.end.score().is_some()));
    assert!(tuning.chosen > Some(0) && !tuning.is_stopped());
}

#[test]
fn a_search_without_any_front_chooses_nothing() {
    let prepared = prepared(|_| ());
    let grid = grid(&["anchors=false"]);
    let ask = ask(&[("starts", "0")]);
    // This value is invalid on its own, which is reported before any work.
    let error = tune(&Input::of(&prepared, false).unwrap(), &ask, &grid, &mut ()).unwrap_err();
    assert!(error.is_usage(), "{error}");
    let failed = Trial {
        settings: Ordered(Vec::new()),
        end: TrialEnd::Failed {
            reason: "no".into(),
            seconds: 1.0,
        },
    };
    assert_eq!(choose(&[failed], true), None);
}

#[test]
fn ties_are_broken_by_hypervolume_and_then_by_position() {
    let trial = |accuracy: f64, hypervolume: Option<f64>| Trial {
        settings: Ordered(Vec::new()),
        end: TrialEnd::Done(Score {
            performance: accuracy,
            hypervolume,
            models: 1,
            seconds: 0.0,
        }),
    };
    let not_run = Trial {
        settings: Ordered(Vec::new()),
        end: TrialEnd::NotRun,
    };
    let some = |a, v| trial(a, Some(v));
    let chosen = |trials: &[Trial]| choose(trials, true);
    assert_eq!(chosen(&[some(0.7, 0.9), some(0.8, 0.1)]), Some(1));
    assert_eq!(
        chosen(&[some(0.8, 0.2), some(0.8, 0.3), some(0.7, 0.9)]),
        Some(1)
    );
    assert_eq!(
        chosen(&[some(0.7, 0.9), some(0.8, 0.3), some(0.8, 0.3)]),
        Some(1)
    );
    assert_eq!(chosen(&[trial(0.8, None), some(0.8, 0.0)]), Some(1));
    assert_eq!(
        chosen(&[not_run.clone(), trial(0.8, None), trial(0.8, None)]),
        Some(1)
    );
    assert_eq!(chosen(&[not_run]), None);
    assert_eq!(chosen(&[]), None);
}

/// Stops in the second round of the run with this number.
struct Impatient {
    last: usize,
    run: usize,
    stopped: bool,
    ended: usize,
}

impl Observer for Impatient {
    fn round(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.stopped = self.run == self.last && progress.round >= 2;
        match self.stopped {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn stop_signal(&self) -> StopSignal {
        let stopped = self.stopped;
        StopSignal::new(move || stopped)
    }
}

impl TuneWatcher for Impatient {
    fn observer(&mut self) -> &mut dyn Observer {
        self
    }

    fn begins(&mut self, run: usize, runs: usize, settings: &Ordered<String>) {
        assert_eq!((runs, settings.0.len()), (4, 1));
        self.run = run;
    }

    fn ended(&mut self, _trial: &Trial) {
        self.ended += 1;
    }
}

#[test]
fn a_stopped_search_keeps_finished_trials() {
    let prepared = prepared(|_| ());
    let grid = grid(&["step=0.3,0.5,1,2"]);
    let ask = ask(&[("steps", "1")]);
    let whole = tune(&Input::of(&prepared, false).unwrap(), &ask, &grid, &mut ()).unwrap();
    let mut watcher = Impatient {
        last: 2,
        run: 0,
        stopped: false,
        ended: 0,
    };
    let part = tune(
        &Input::of(&prepared, false).unwrap(),
        &ask,
        &grid,
        &mut watcher,
    )
    .unwrap();
    assert_eq!(timeless(&part)[..2], timeless(&whole)[..2]);
    assert!(part.trials[2..].iter().all(|t| t.end == TrialEnd::NotRun));
    assert_eq!((watcher.run, watcher.ended), (2, 2));
    assert!(part.is_stopped() && !whole.is_stopped());
    assert_eq!(part.chosen, choose(&whole.trials[..2], true));
}

#[test]
fn invalid_grids_are_rejected_before_any_work() {
    let demo = prepared(|_| ());
    let error = |axes: &[&str], ask: &Ask| {
        let axes: Vec<String> = axes.iter().map(|t| (*t).to_owned()).collect();
        let found = Grid::parse(&axes)
            .and_then(|grid| tune(&Input::of(&demo, false).unwrap(), ask, &grid, &mut ()));
        let error = found.unwrap_err();
        assert!(error.is_usage(), "{error}");
        error.to_string()
    };
    for (text, words) in [
        (
            "stpe=1,2",
            "pf-smg has no such setting; did you mean \"step\"",
        ),
        ("step", "expected NAME=VALUE"),
        ("=1,2", "the setting is missing"),
        ("step=", "the values are missing"),
        ("step=1,,2", "a value is empty"),
        (
            "step=1,2,1.0",
            "try of \"step\": the value 1.0 is given twice",
        ),
        ("step=1,fast", "try \"step=fast\""),
        (
            "step=1,-2",
            "try \"step=-2\": step is -2; it must be above 0 and at most 1,000,000",
        ),
        ("max-steps=3,4", "set fixes it"),
        ("batches=80*1.018,50*1.018;80*x", "rows*growth"),
    ] {
        let found = error(&[text], &ask(&[]));
        assert!(found.contains(words), "{text}: {found}");
    }
    let twice = error(&["step=1", "step=2"], &ask(&[]));
    assert!(twice.contains("try of \"step\" is given twice"), "{twice}");
    let auto = Ask {
        solver: SolverName::Auto,
        ..Ask::default()
    };
    let different = error(&["step=1,2", "stages=1,2"], &auto);
    assert!(different.ends_with("choose one with solver"), "{different}");
    let unknown = error(&["stpe=1,2"], &auto);
    assert!(
        unknown.contains("try of \"stpe\": unknown setting; did you mean"),
        "{unknown}"
    );
    assert!(error(&["penalty=1,-1"], &auto).contains("penalty=-1"));
    assert!(error(&["penalty=1,1.0"], &auto).contains("given twice"));
    let fixed = Ask {
        penalty: Some(0.1),
        ..auto.clone()
    };
    assert!(error(&["penalty=1,2"], &fixed).contains(": penalty fixes it"));
    let own = Ask {
        objectives: vec![
            "log_loss(lambda=0.1)".into(),
            "score_covariance(sex)".into(),
        ],
        ..auto
    };
    assert!(error(&["penalty=1,2"], &own).contains("remove lambda"));
    let many: Vec<String> = (0..101).map(|i| i.to_string()).collect();
    let many = many.join(",");
    let many = [format!("patience={many}"), format!("starts={many}")];
    let found = error(&[&many[0], &many[1]], &ask(&[]));
    assert!(found.contains("10,201 combinations"), "{found}");

    let whole = prepared(|spec| spec.split = "none".parse().unwrap());
    let found = tune(
        &Input::of(&whole, false).unwrap(),
        &ask(&[]),
        &grid(&["step=1,2"]),
        &mut (),
    )
    .unwrap_err();
    assert!(
        found.is_usage() && found.to_string().ends_with("split=60/10/30"),
        "{found}"
    );
}

#[test]
fn the_default_grids_have_the_documented_values() {
    let pf_smg = AnySolver::PfSmg(PfSmg::default());
    let count = |ask: &Ask| Grid::usual(ask, &pf_smg).unwrap().n_combinations();
    let paper = Ask {
        paper: true,
        ..Ask::default()
    };
    assert_eq!(count(&ask(&[])), Some(54));
    assert_eq!(count(&paper), Some(54));
    assert_eq!(count(&ask(&[("runs", "2"), ("batches", "9")])), Some(9));
    let all = [
        ("runs", "1"),
        ("steps", "1"),
        ("step", "1"),
        ("batches", "9"),
    ];
    assert!(Grid::usual(&ask(&all), &pf_smg).unwrap_err().is_usage());
    let others = [
        (AnySolver::Weighted(Weighted::default()), 16),
        (AnySolver::Trace(Trace::default()), 4),
        (AnySolver::EpsFair(EpsFair::default()), 4),
    ];
    for (solver, combinations) in others {
        let grid = Grid::usual(&Ask::default(), &solver).unwrap();
        assert_eq!(grid.n_combinations(), Some(combinations));
        assert!(
            Grid::usual(&paper, &solver)
                .unwrap_err()
                .to_string()
                .contains("with try")
        );
        let fixed = Ask {
            penalty: Some(0.5),
            ..Ask::default()
        };
        let names = Grid::usual(&fixed, &solver).map_or_else(|_| 0, |grid| grid.axes.len());
        assert_eq!(names, grid.axes.len() - 1);
        // The grid contains the settings of a default fit.
        let plan = grid.plan(&solver, &Ask::default()).unwrap();
        let is_default = |position: &&usize| {
            let mut changed = solver.clone();
            plan.settings(**position)
                .iter()
                .all(|(name, value)| match name.as_str() {
                    "penalty" => value == "auto",
                    _ => changed.set(name, value).is_ok(),
                })
                && changed == solver
        };
        assert_eq!(plan.positions.iter().filter(is_default).count(), 1);
    }
    // The grid contains our own settings.
    let ours = AnySolver::PfSmg(PfSmg::default());
    let plan = Grid::usual(&ask(&[]), &ours).unwrap();
    let plan = plan.plan(&ours, &Ask::default()).unwrap();
    let is_ours = |position: &&usize| {
        let mut solver = ours.clone();
        for (name, value) in plan.settings(**position) {
            solver.set(&name, &value).unwrap();
        }
        solver == ours
    };
    assert_eq!(plan.positions.iter().filter(is_ours).count(), 1);
}

/// If no solver is requested, the solver and the penalty of a default fit are tuned.
#[test]
fn the_solver_of_a_default_fit_is_tuned() {
    let prepared = prepared(|_| ());
    let default = Ask {
        models: Some(20),
        ..Ask::default()
    };
    let few = Grid {
        axes: Vec::new(),
        most: Some(3),
    };
    let tuning = tune(
        &Input::of(&prepared, false).unwrap(),
        &default,
        &few,
        &mut (),
    )
    .unwrap();
    let request = default.request("demo", &["sex".into()], false).unwrap();
    let fitted = fit(&prepared, &request, &mut ()).unwrap();
    assert_eq!(tuning.solver, "weighted");
    assert_eq!(fitted.solver.name(), "weighted");
    assert_eq!((tuning.trials.len(), tuning.combinations), (3, 16));
    let names: Vec<&str> = tuning.tried.iter().map(|axis| axis.name.as_str()).collect();
    assert_eq!(names, ["stages", "softening", "penalty"]);

    // A trial uses a penalty as a fit with this penalty does.
    let penalties = grid(&["penalty=auto,0,3"]);
    let tuning = tune(
        &Input::of(&prepared, false).unwrap(),
        &default,
        &penalties,
        &mut (),
    )
    .unwrap();
    for (trial, penalty) in tuning.trials.iter().zip([None, Some(0.0), Some(3.0)]) {
        let alone = Ask {
            penalty,
            ..default.clone()
        };
        let request = alone.request("demo", &["sex".into()], false).unwrap();
        let fitted = fit(&prepared, &request, &mut ()).unwrap();
        let accuracies = fitted.splits[1].measures.iter();
        let accuracies = accuracies.filter_map(|m| m.overall.accuracy());
        let score = trial.end.score().unwrap();
        assert_eq!(score.performance, accuracies.fold(0.0, f64::max));
        assert_eq!(score.models, fitted.outcome.front.len());
    }
    // The settings of a solver select it.
    let runs = grid(&["runs=1"]);
    let short = Ask {
        settings: ask(&[]).settings,
        ..default
    };
    assert_eq!(
        tune(
            &Input::of(&prepared, false).unwrap(),
            &short,
            &runs,
            &mut ()
        )
        .unwrap()
        .solver,
        "pf-smg"
    );
}

/// With the paper's settings, the tried values change these.
#[test]
fn combinations_change_the_papers_settings() {
    let prepared = prepared(|_| ());
    let ask = Ask {
        paper: true,
        objectives: Vec::new(),
        ..ask(&[])
    };
    let tuning = tune(
        &Input::of(&prepared, false).unwrap(),
        &ask,
        &grid(&["step=1,4"]),
        &mut (),
    )
    .unwrap();
    assert_eq!(tuning.objectives, ["log_loss", "score_covariance(sex)"]);
    let mut alone = ask.clone();
    alone.settings.push(("step".into(), "4".into()));
    let request = alone.request("demo", &["sex".into()], false).unwrap();
    let fitted = fit(&prepared, &request, &mut ()).unwrap();
    let accuracies = fitted.splits[1].measures.iter();
    let accuracy = accuracies
        .filter_map(|m| m.overall.accuracy())
        .fold(0.0, f64::max);
    assert_eq!(tuning.trials[1].end.score().unwrap().performance, accuracy);
}

proptest! {
    /// A plan has every combination once, in counting order; a drawn plan is a subset that depends
    /// on the seed.
    #[test]
    fn a_plan_is_the_product(
        counts in proptest::collection::vec(1_usize..5, 1..4),
        most in 1_usize..70,
        seed in 0_u64..50,
    ) {
        let names = ["starts", "runs", "patience"];
        let axes: Vec<Axis> = counts.iter().zip(names).map(|(n, name)| Axis {
            name: name.into(),
            values: (1..=*n).map(|v| v.to_string()).collect(),
        }).collect();
        let grid = Grid { axes, most: None };
        let solver = AnySolver::PfSmg(PfSmg::default());
        let plan = grid.clone().plan(&solver, &Ask { seed, ..Ask::default() }).unwrap();
        let all: Vec<Vec<(String, String)>> =
            plan.positions.iter().map(|p| plan.settings(*p)).collect();
        prop_assert_eq!(all.len(), counts.iter().product::<usize>());
        // Values are single digits.
        let key = |s: &Vec<(String, String)>| s.iter().map(|(_, v)| v.clone()).collect::<String>();
        prop_assert!(all.windows(2).all(|w| key(&w[0]) < key(&w[1])));

        let drawn = Grid { most: Some(most), ..grid }.plan(&solver, &Ask { seed, ..Ask::default() }).unwrap();
        prop_assert_eq!(drawn.positions.len(), most.min(all.len()));
        prop_assert!(drawn.positions.windows(2).all(|w| w[0] < w[1]));
        prop_assert!(drawn.positions.iter().all(|p| *p < all.len()));
    }
}

#[test]
fn other_seeds_draw_other_combinations() {
    let solver = AnySolver::PfSmg(PfSmg::default());
    let draw = |seed: u64| {
        let grid = Grid {
            most: Some(5),
            ..Grid::usual(&ask(&[]), &solver).unwrap()
        };
        grid.plan(
            &solver,
            &Ask {
                seed,
                ..Ask::default()
            },
        )
        .unwrap()
        .positions
    };
    assert_eq!(draw(3), draw(3));
    assert_ne!(draw(3), draw(4));
}
