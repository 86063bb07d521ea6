//! Objectives that can fail, as those that call other programs can.

use std::cell::Cell;

use fairfront_core::{Batches, Error, Lanes, Objective, Problem, Rows};

use crate::objective::points;
use crate::plain::{dataset, objective, problem, rows};

thread_local! {
    static FAILED: Cell<bool> = const { Cell::new(false) };
}

/// The call that fails.
#[derive(Clone, Copy, PartialEq)]
enum Call {
    None,
    Sums,
    Outer,
    Slopes,
}

/// An objective that fails in one of its calls.
struct Failing {
    call: Call,
    is_mean: bool,
}

impl Failing {
    fn called(&self, call: Call) {
        FAILED.set(FAILED.get() || self.call == call);
    }
}

#[derive(Debug, thiserror::Error)]
#[error("out of order")]
struct OutOfOrder;

impl Objective for Failing {
    fn name(&self) -> String {
        "failing".into()
    }

    fn n_means(&self) -> usize {
        1
    }

    fn weight(&self, rows: &Rows) -> f64 {
        rows.weights().iter().sum()
    }

    fn add_sums(&self, _rows: &Rows, _outputs: &[Lanes], _sums: &mut [Lanes]) {
        self.called(Call::Sums);
    }

    fn outer(&self, means: &[f64], slope: &mut [f64]) -> f64 {
        self.called(Call::Outer);
        slope[0] = 1.0;
        means[0]
    }

    fn pull_back(&self, _rows: &Rows, _outputs: &[Lanes], _slopes: &[Lanes], _out: &mut [Lanes]) {
        self.called(Call::Slopes);
    }

    fn check(&self) -> Result<(), Error> {
        match FAILED.take() {
            true => Err(Error::Custom(Box::new(OutOfOrder))),
            false => Ok(()),
        }
    }

    fn is_mean(&self) -> bool {
        self.is_mean
    }
}

/// Values, gradients, both and weighted sums: whether each fails, with what the objective said.
fn fails(failing: Failing) -> [bool; 5] {
    // More rows than one task has.
    let rows = rows(3, 5000, 2, false);
    let all = problem(dataset(&rows, 2), vec![objective(0, 2), Box::new(failing)]);
    let points = points(1, 40, 0.5);
    let failed = |result: Result<(), Error>| match result {
        Ok(()) => false,
        Err(Error::Custom(error)) => {
            assert!(error.is::<OutOfOrder>());
            true
        }
        Err(other) => panic!("{other}"),
    };
    let batches = Batches::Sample {
        sizes: &[100, 100],
        key: (1, [2, 3]),
        paper: false,
    };
    [
        failed(all.values(&points).map(drop)),
        failed(all.gradients(&points, Batches::All).map(drop)),
        failed(all.gradients(&points, batches).map(drop)),
        failed(all.evaluate(&points).map(drop)),
        failed(all.weighted(&points, &[0.5; 80]).map(drop)),
    ]
}

#[test]
fn what_an_objective_says_is_handed_on() {
    let of = |call, is_mean| fails(Failing { call, is_mean });
    assert_eq!(of(Call::None, false), [false; 5]);
    assert_eq!(of(Call::Sums, false), [true; 5]);
    assert_eq!(of(Call::Outer, false), [true; 5]);
    assert_eq!(of(Call::Slopes, false), [false, true, true, true, true]);
    // A mean needs no sums for its gradient.
    assert_eq!(of(Call::Sums, true), [true, false, false, true, true]);
}
