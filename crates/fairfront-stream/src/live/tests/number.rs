//! Streams whose target is a number.

use fairfront_core::Unit;
use fairfront_data::Values;
use fairfront_solve::Weighted;

use super::*;
use crate::{LabelShift, MeanShift};

/// Rows from `first` on, in which the target moves up by `shift`.
fn numbers(first: usize, n: usize, shift: f64) -> Table {
    let rows = first..first + n;
    let x = |i: usize| (i * 7 % 11) as f64;
    let is_f = |i: usize| i / 3 % 5 < 2;
    let noise = |i: usize| (i * 13 % 17) as f64 / 8.0;
    let y = |i: usize| shift + 50.0 + 2.0 * x(i) + noise(i) - if is_f(i) { 6.0 } else { 0.0 };
    let sex = rows.clone().map(|i| Some(if is_f(i) { "f" } else { "m" }));
    let columns = vec![
        Column::from_numbers("x", rows.clone().map(x).collect()),
        Column::from_numbers(
            "z",
            rows.clone()
                .map(|i| x(i) + f64::from(u8::from(is_f(i))))
                .collect(),
        ),
        Column::from_numbers("y", rows.map(y).collect()),
        Column::from_strings("sex", sex),
    ];
    Table::from_columns("N", columns)
}

fn of_number(objectives: &[&str]) -> LiveOptions {
    let spec = Spec {
        target: Some("y".into()),
        sensitive: vec![vec!["sex".into()]],
        numeric: true,
        split: SplitRule::None,
        ..Spec::default()
    };
    LiveOptions {
        request: request(objectives),
        ..options(spec, Keep::All)
    }
}

fn unit(live: &Live) -> Unit {
    let target = live.encoding().and_then(|e| e.target.as_ref());
    target.and_then(TargetRule::unit).expect("a number").clone()
}

fn target_of(table: &Table, group: Option<&str>) -> Vec<f64> {
    let numbers = table
        .column("y")
        .and_then(Column::numeric)
        .expect("numbers");
    let sex = table.column("sex").expect("a column");
    let Values::Categorical {
        codes, categories, ..
    } = &sex.values
    else {
        panic!("categories");
    };
    let counts = |row: &usize| group.is_none_or(|g| categories[codes[*row] as usize] == g);
    let rows = (0..table.n_rows()).filter(counts);
    rows.map(|row| numbers.get(row)).collect()
}

fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len() as f64
}

/// The squared standard error of a mean.
fn variance(of: &[f64]) -> f64 {
    let center = mean(of);
    let squares: f64 = of.iter().map(|x| (x - center) * (x - center)).sum();
    squares / (of.len() as f64 - 1.0) / of.len() as f64
}

#[test]
fn first_batch_fixes_the_unit() {
    let options = of_number(&["squared_error", "score_covariance(sex)"]);
    let mut live = fed(&options, vec![numbers(0, 300, 0.0)]);
    let fixed = unit(&live);
    let first = target_of(&numbers(0, 300, 0.0), None);
    assert!((fixed.center - mean(&first)).abs() < 1e-9);
    for batch in 1..4 {
        updated(&mut live, numbers(300 * batch, 300, 400.0));
        assert_eq!(unit(&live), fixed);
    }
    // Measures and predictions are in the unit of the table all the same.
    let run = live.run().expect("a front");
    let all: Vec<f64> = (0..4)
        .flat_map(|b| {
            target_of(
                &numbers(300 * b, 300, if b == 0 { 0.0 } else { 400.0 }),
                None,
            )
        })
        .collect();
    let values = &run.info.unmitigated.values;
    let value = |name: &str| values.get(name).copied().flatten().expect("a value");
    assert!((value("train.mean_target") - mean(&all)).abs() < 1e-9);
    assert!((value("train.mean_prediction") - mean(&all)).abs() < 1.0);
    let of_f: Vec<f64> = (0..4)
        .flat_map(|b| {
            target_of(
                &numbers(300 * b, 300, if b == 0 { 0.0 } else { 400.0 }),
                Some("f"),
            )
        })
        .collect();
    assert!((value("train.mean_target(sex=f)") - mean(&of_f)).abs() < 1e-9);
}

#[test]
fn drift_compares_means_of_the_target() {
    let mut live = fed(
        &of_number(&["squared_error", "score_covariance(sex)"]),
        vec![numbers(0, 300, 0.0)],
    );
    let (before, batch) = (numbers(0, 300, 0.0), numbers(300, 200, 3.0));
    let update = live.update(batch.clone(), &mut ()).expect("taken");
    let drift = update.expect("a front").drift;
    let check = |labels: &LabelShift, group: Option<&str>| {
        let LabelShift::MeanTarget(shift) = labels else {
            panic!("means");
        };
        let (before, batch) = (target_of(&before, group), target_of(&batch, group));
        let error = (variance(&before) + variance(&batch)).sqrt();
        let near = |a: Option<f64>, b: f64| (a.expect("a number") - b).abs() < 1e-9;
        assert!(near(shift.before, mean(&before)) && near(shift.batch, mean(&batch)));
        assert!(near(shift.standard_error, error), "{shift:?} {error}");
        assert!(!shift.may_be_chance());
    };
    check(&drift.labels, None);
    for group in &drift.groups {
        check(&group.labels, Some(&group.group));
    }
    let text = serde_json::to_string(&drift).expect("JSON");
    assert!(
        text.contains("\"mean_target\"") && !text.contains("base_rate"),
        "{text}"
    );
    assert_eq!(
        serde_json::from_str::<Drift>(&text).expect("a drift"),
        drift
    );
    assert_eq!(
        LabelShift::MeanTarget(MeanShift::default()),
        serde_json::from_str(
            r#"{"mean_target":{"before":null,"batch":null,"standard_error":null}}"#
        )
        .expect("a shift")
    );
}

#[test]
fn kind_of_the_target_is_found_in_the_first_batch() {
    let mut stated = of_number(&[]);
    stated.request.solvers = vec![SolverChoice {
        solver: AnySolver::Weighted(Weighted {
            points: 8,
            sums: 4,
            stages: 1,
            ..Weighted::default()
        }),
        polish: None,
    }];
    let mut open = stated.clone();
    open.spec.numeric = false;
    let said = fed(&stated, vec![numbers(0, 300, 0.0)]);
    let live = Live::begin(open.clone()).expect("options");
    assert_eq!(live.options().request.objectives[0], "error_rate");
    let mut live = fed(&open, vec![numbers(0, 300, 0.0)]);
    assert_eq!(front(&live), front(&said));
    let objectives = ["squared_error", "mean_difference(sex)"];
    assert_eq!(live.options().request.objectives, objectives);
    assert!(live.options().objectives_of_number.is_empty());
    updated(&mut live, numbers(300, 100, 0.0));
    // Chosen objectives are not replaced.
    let mut chosen = open;
    chosen.request.objectives = ["error_rate", "demographic_parity(sex)"]
        .map(Into::into)
        .into();
    let mut live = Live::begin(chosen).expect("options");
    let error = live.update(numbers(0, 300, 0.0), &mut ());
    let error = error.expect_err("other objectives").to_string();
    assert!(error.contains("objective for binary targets"), "{error}");
}

#[test]
fn numbers_that_cannot_be_used_reject_the_batch() {
    let options = of_number(&["squared_error", "score_covariance(sex)"]);
    let mut live = fed(&options, vec![numbers(0, 300, 0.0)]);
    let before = live.to_files().expect("files");
    for (bad, expected) in [
        (f64::INFINITY, "the target is inf"),
        (1e60, "too large for a target"),
    ] {
        let mut batch = numbers(300, 50, 0.0);
        let mut values = target_of(&batch, None);
        values[3] = bad;
        let columns = batch.columns().iter().cloned();
        let columns = columns.map(|column| match column.name.as_str() {
            "y" => Column::from_numbers("y", values.clone()),
            _ => column,
        });
        batch = Table::from_columns("N", columns.collect());
        let error = live.update(batch, &mut ()).expect_err("a wrong number");
        let error = error.to_string();
        assert!(
            error.contains("row 4") && error.contains(expected),
            "{error}"
        );
        assert_eq!(live.to_files().expect("files"), before);
    }
}

#[test]
fn stored_stream_continues_with_the_same_front() {
    for keep in [Keep::All, Keep::Window(350), Keep::Reservoir(350)] {
        let options = LiveOptions {
            keep,
            ..of_number(&["squared_error", "score_covariance(sex)"])
        };
        let mut live = fed(&options, vec![numbers(0, 300, 0.0)]);
        let mut stored = again(&live);
        for batch in 1..4 {
            let table = numbers(300 * batch, 300, batch as f64);
            updated(&mut live, table.clone());
            updated(&mut stored, table);
            stored = again(&stored);
            assert_eq!(front(&live), front(&stored));
            assert_eq!(live.kept.rows(), stored.kept.rows());
        }
    }
}
