//! Fronts of networks, on rows that linear models cannot separate.

use fairfront_core::{
    Condition, ErrorRate, FairProblem, Linear, LogLoss, Network, Objective, Predictor, Problem,
    Purpose, RateParity, Stream,
};
use fairfront_pareto::{Values, hypervolume};
use fairfront_solve::{AnySolver, EpsFair, Outcome, PfSmg, Suits, Trace, Weighted, Why};

use crate::table::Table;

const NETWORK: Network = Network { hidden: 6 };

/// Labels are the sign of a product, with errors of 10%; one group has mostly positive labels, and
/// a third feature tells the groups apart.
fn exclusive_or(n: usize) -> Table {
    let mut random = Stream::new(21, Purpose::Synthetic, [6, 6]);
    let mut table = Table {
        groups: vec![(2, Vec::new())],
        weights: vec![1.0; n],
        lambda: 1e-4,
        ..Table::default()
    };
    for _ in 0..n {
        let (a, b) = (random.normal(), random.normal());
        let positive = (a * b > 0.0) != random.chance(0.1);
        let group = u32::from(random.chance(if positive { 0.7 } else { 0.3 }));
        table.labels.push(if positive { 1.0 } else { -1.0 });
        let proxy = f64::from(group) - 0.5 + 0.7 * random.normal();
        table.features.push(vec![a, b, proxy]);
        table.groups[0].1.push(group);
    }
    table
}

fn objectives(table: &Table, by_rate: bool) -> Vec<Box<dyn Objective>> {
    let attribute = &table.attributes()[0];
    match by_rate {
        true => vec![
            Box::new(ErrorRate::default()),
            Box::new(RateParity::new(Condition::All, 0, attribute)),
        ],
        false => vec![
            Box::new(LogLoss {
                lambda: table.lambda,
            }),
            Box::new(table.covariance(Condition::All, 0)),
        ],
    }
}

fn problem(table: &Table, predictor: Box<dyn Predictor>, by_rate: bool) -> FairProblem {
    table.problem_of(predictor, objectives(table, by_rate))
}

fn weighted() -> AnySolver {
    AnySolver::Weighted(Weighted {
        points: 30,
        sums: 12,
        ..Weighted::default()
    })
}

fn pf_smg() -> AnySolver {
    AnySolver::PfSmg(PfSmg {
        most_steps: 100,
        ..PfSmg::default()
    })
}

fn solve(solver: &AnySolver, problem: &dyn Problem) -> Outcome {
    solver.solve(problem, &mut ()).expect("a front")
}

fn volume(outcome: &Outcome, reference: &[f64]) -> f64 {
    let values = Values::new(&outcome.front.values, 2).expect("values");
    hypervolume(values, reference).expect("a volume")
}

#[test]
fn networks_have_better_fronts_than_linear_models() {
    let table = exclusive_or(4_000);
    for by_rate in [true, false] {
        let network = problem(&table, Box::new(NETWORK), by_rate);
        let linear = problem(&table, Box::new(Linear), by_rate);
        let linear = solve(&weighted(), &linear);
        for solver in [weighted(), pf_smg()] {
            let name = solver.name();
            let found = solve(&solver, &network);
            assert!(found.front.len() > 3, "{name}: {}", found.front.len());
            // One tenth of the labels are errors; linear models have close to one half.
            let (own, other) = (
                found.unmitigated.value(0)[0],
                linear.unmitigated.value(0)[0],
            );
            assert!(own < 0.75 * other, "{name}: {own} {other}");
            // Every linear model that is not trivially fair is dominated by some network.
            let fair = 0.05 * found.unmitigated.value(0)[1];
            for values in linear.front.values.chunks_exact(2).filter(|v| v[1] > fair) {
                let better = |v: &[f64]| v[0] < values[0] && v[1] <= values[1];
                assert!(
                    found.front.values.chunks_exact(2).any(better),
                    "{name}: {values:?}"
                );
            }
            let reference = [1.0, 1.1 * found.unmitigated.value(0)[1]];
            assert!(
                volume(&found, &reference) > volume(&linear, &reference),
                "{name}"
            );
        }
    }
}

#[test]
fn solvers_say_whether_they_suit_networks() {
    let table = exclusive_or(300);
    let network = problem(&table, Box::new(NETWORK), false);
    for solver in [
        AnySolver::Trace(Trace::default()),
        AnySolver::EpsFair(EpsFair::default()),
    ] {
        let why = Suits::Impossible(Why::SeveralMinima);
        assert_eq!(solver.suits(&network), why);
        assert!(solver.solve(&network, &mut ()).is_err());
    }
    assert!(matches!(weighted().suits(&network), Suits::Possible(_)));
    assert!(matches!(pf_smg().suits(&network), Suits::Best(_)));
}

#[test]
fn fronts_do_not_depend_on_threads() {
    let table = exclusive_or(3_000);
    let network = problem(&table, Box::new(Network { hidden: 3 }), true);
    let weighted = AnySolver::Weighted(Weighted {
        points: 10,
        sums: 6,
        ..Weighted::default()
    });
    let pf_smg = AnySolver::PfSmg(PfSmg {
        most_steps: 30,
        ..PfSmg::default()
    });
    for solver in [weighted, pf_smg] {
        let with = |n: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build();
            pool.unwrap().install(|| solve(&solver, &network).front)
        };
        assert!(with(1) == with(3), "{}", solver.name());
    }
}
