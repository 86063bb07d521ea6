//! Tests every solver with predictors other than [`Linear`].

use std::ops::Range;

use fairfront_core::{
    Condition, ErrorRate, LANES, Lanes, Linear, LinearMap, LogLoss, Objective, Predictor, Problem,
    RateParity, Rows, Schema,
};
use fairfront_solve::{AnySolver, EpsFair, Outcome, PfSmg, Suits, Trace, Weighted};

use crate::table::Table;

/// The same scores as [`Linear`], but known only through its features.
struct Wrapped;

impl Predictor for Wrapped {
    fn n_params(&self, schema: &Schema) -> usize {
        Linear.n_params(schema)
    }

    fn penalized(&self, schema: &Schema) -> Range<usize> {
        Linear.penalized(schema)
    }

    fn intercept(&self, schema: &Schema) -> Option<usize> {
        Linear.intercept(schema)
    }

    fn as_linear(&self) -> Option<&dyn LinearMap> {
        Linear.as_linear().map(|_| self as &dyn LinearMap)
    }

    fn scores(&self, rows: &Rows, params: &[Lanes], scores: &mut [Lanes]) {
        Linear.scores(rows, params, scores);
    }

    fn pull_back(&self, rows: &Rows, params: &[Lanes], slopes: &[Lanes], gradients: &mut [Lanes]) {
        Linear.pull_back(rows, params, slopes, gradients);
    }
}

impl LinearMap for Wrapped {
    fn features(&self, rows: &Rows, row: usize, out: &mut [f64]) {
        let numeric = rows.numeric(row);
        out[..numeric.len()].copy_from_slice(numeric);
        out[numeric.len()] = 1.0;
    }

    fn constant(&self, schema: &Schema) -> Option<usize> {
        Some(schema.intercept())
    }
}

/// φ = s · (c · z) + b with x = (c, s, b): not linear in x, with a saddle point at 0.
struct Scaled;

impl Predictor for Scaled {
    fn n_params(&self, schema: &Schema) -> usize {
        schema.n_features() + 2
    }

    fn penalized(&self, schema: &Schema) -> Range<usize> {
        0..schema.n_features() + 1
    }

    fn intercept(&self, schema: &Schema) -> Option<usize> {
        Some(schema.n_features() + 1)
    }

    fn start(&self, schema: &Schema) -> Vec<f64> {
        let mut start = vec![0.0; self.n_params(schema)];
        start[schema.n_features()] = 1.0;
        start
    }

    fn scores(&self, rows: &Rows, params: &[Lanes], scores: &mut [Lanes]) {
        for (r, score) in scores[..rows.len()].iter_mut().enumerate() {
            let z = rows.numeric(r);
            for p in 0..LANES {
                let inner: f64 = z.iter().zip(params).map(|(z, c)| z * c[p]).sum();
                score[p] = params[z.len()][p] * inner + params[z.len() + 1][p];
            }
        }
    }

    fn pull_back(&self, rows: &Rows, params: &[Lanes], slopes: &[Lanes], gradients: &mut [Lanes]) {
        for (r, slope) in slopes[..rows.len()].iter().enumerate() {
            let z = rows.numeric(r);
            let k = z.len();
            for p in 0..LANES {
                let inner: f64 = z.iter().zip(params).map(|(z, c)| z * c[p]).sum();
                for (j, z) in z.iter().enumerate() {
                    gradients[j][p] += slope[p] * params[k][p] * z;
                }
                gradients[k][p] += slope[p] * inner;
                gradients[k + 1][p] += slope[p];
            }
        }
    }
}

fn table() -> Table {
    Table::random(11, 3_000, 4, &[2])
}

fn covariances(table: &Table) -> Vec<Box<dyn Objective>> {
    let loss = LogLoss {
        lambda: table.lambda,
    };
    let covariance = table.covariance(Condition::All, 0);
    vec![Box::new(loss), Box::new(covariance)]
}

fn rates(table: &Table) -> Vec<Box<dyn Objective>> {
    let attribute = &table.attributes()[0];
    let parity = RateParity::new(Condition::All, 0, attribute);
    vec![Box::new(ErrorRate::default()), Box::new(parity)]
}

fn solvers() -> [AnySolver; 4] {
    [
        AnySolver::Trace(Trace {
            points: 20,
            ..Trace::default()
        }),
        AnySolver::Weighted(Weighted {
            points: 20,
            sums: 8,
            // Double precision, like the other predictor.
            tolerance: 1e-8,
            ..Weighted::default()
        }),
        AnySolver::PfSmg(PfSmg {
            most_steps: 60,
            ..PfSmg::default()
        }),
        AnySolver::EpsFair(EpsFair {
            points: 20,
            ..EpsFair::default()
        }),
    ]
}

fn solve(solver: &AnySolver, problem: &dyn Problem) -> Outcome {
    solver.solve(problem, &mut ()).expect("a front")
}

/// The smallest fairness value of a front among models with at most this loss.
fn fairest(outcome: &Outcome, most: f64) -> f64 {
    let values = outcome.front.values.chunks_exact(2);
    let good = values.filter(|v| v[0] <= most).map(|v| v[1]);
    good.fold(f64::INFINITY, f64::min)
}

#[test]
fn a_custom_linear_predictor_has_the_front_of_linear() {
    let table = table();
    for solver in solvers() {
        let of = |predictor: Box<dyn Predictor>| {
            solve(&solver, &table.problem_of(predictor, covariances(&table)))
        };
        let (own, linear) = (of(Box::new(Wrapped)), of(Box::new(Linear)));
        let name = solver.name();
        assert_eq!(own.front.len(), linear.front.len(), "{name}");
        for (a, b) in own.front.values.iter().zip(&linear.front.values) {
            // Second derivatives are summed in a different order.
            assert!((a - b).abs() <= 1e-6 * (1.0 + b.abs()), "{name}: {a} {b}");
        }
    }
    // Exact fronts have proofs with both predictors.
    let exact = &solvers()[0];
    let own = solve(
        exact,
        &table.problem_of(Box::new(Wrapped), covariances(&table)),
    );
    assert!(
        own.proofs
            .iter()
            .all(|c| c.gap.is_some_and(|gap| gap < 1e-6))
    );
}

#[test]
fn a_nonlinear_predictor_has_an_equally_good_front() {
    let table = table();
    let [trace, others @ ..] = solvers();
    // Its scores are those of linear models, so the exact front of these is a bound.
    let exact = solve(&trace, &table.problem(covariances(&table)));
    let problem = table.problem_of(Box::new(Scaled), covariances(&table));
    assert!(!matches!(trace.suits(&problem), Suits::Best(_)));
    let unmitigated = exact.unmitigated.value(0);
    for solver in others {
        let outcome = solve(&solver, &problem);
        let name = solver.name();
        // The solver finds the unmitigated model (its penalty differs slightly) and removes most of
        // the covariance for a few percent of the loss.
        let loss = outcome.unmitigated.value(0)[0];
        assert!((loss - unmitigated[0]).abs() < 0.01, "{name}: {loss}");
        let most = 1.05 * unmitigated[0];
        assert!(fairest(&outcome, most) <= 0.3 * unmitigated[1], "{name}");
    }
    // The same with rates.
    let rates = table.problem_of(Box::new(Scaled), rates(&table));
    for solver in [&solvers()[1], &solvers()[2]] {
        assert!(solve(solver, &rates).front.len() > 3, "{}", solver.name());
    }
}
