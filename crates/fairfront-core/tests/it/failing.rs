//! Objectives that can fail, such as those that call other programs.

use fairfront_core::{
    Batches, Error, Lanes, Means, Objective, OuterBatch, OwnStatistics, Precision, Problem, Rows,
    Statistics,
};

use crate::objective::points;
use crate::plain::{dataset, objective, problem, rows};

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
    is_affine: bool,
}

impl Failing {
    fn called(&self, call: Call) -> Result<(), Error> {
        match self.call == call {
            true => Err(Error::Custom(Box::new(OutOfOrder))),
            false => Ok(()),
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("out of order")]
struct OutOfOrder;

impl Objective for Failing {
    fn name(&self) -> String {
        "failing".into()
    }

    fn statistics(&self) -> Statistics<'_> {
        Statistics::Own(self)
    }

    fn outer(&self, means: &Means<'_>, slope: &mut [f64]) -> Result<f64, Error> {
        self.called(Call::Outer)?;
        slope[0] = 1.0;
        Ok(means.values[0])
    }

    fn is_affine(&self) -> bool {
        self.is_affine
    }
}

impl OwnStatistics for Failing {
    fn n_means(&self) -> usize {
        1
    }

    fn weight(&self, rows: &Rows) -> f64 {
        rows.weights().iter().sum()
    }

    fn add_sums(&self, _: &Rows, _: &[Lanes], _: &mut [Lanes]) -> Result<(), Error> {
        self.called(Call::Sums)
    }

    fn pull_back(&self, _: &Rows, _: &[Lanes], _: &[Lanes], _: &mut [Lanes]) -> Result<(), Error> {
        self.called(Call::Slopes)
    }
}

/// Whether values, gradients, both and weighted sums fail, each with the error of the objective.
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
        outer: OuterBatch::Own,
    };
    [
        failed(all.values(&points).map(drop)),
        failed(all.gradients(&points, Batches::All).map(drop)),
        failed(all.gradients(&points, batches).map(drop)),
        failed(all.evaluate(&points).map(drop)),
        failed(
            all.weighted(&points, &[0.5; 80], Precision::Rough)
                .map(drop),
        ),
    ]
}

#[test]
fn errors_of_an_objective_are_returned() {
    let of = |call, is_affine| fails(Failing { call, is_affine });
    assert_eq!(of(Call::None, false), [false; 5]);
    assert_eq!(of(Call::Sums, false), [true; 5]);
    assert_eq!(of(Call::Outer, false), [true; 5]);
    assert_eq!(of(Call::Slopes, false), [false, true, true, true, true]);
    // A mean needs no sums for its gradient.
    assert_eq!(of(Call::Sums, true), [true, false, false, true, true]);
}
