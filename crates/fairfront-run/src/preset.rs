//! The preset `paper`: the settings of the paper's experiments.

use fairfront_solve::{BatchSchedule, EpsFair, PfSmg};

/// The penalty of the log loss in the paper's experiments.
pub const PAPER_PENALTY: f64 = 1e-4;

fn batches(schedules: &[(f64, f64)]) -> Vec<BatchSchedule> {
    schedules
        .iter()
        .map(|&(initial, growth)| BatchSchedule { initial, growth })
        .collect()
}

/// The paper's settings of PF-SMG for this data set and number of objectives; those of Adult and
/// gender if the paper has none.
pub fn paper_pf_smg(source: &str, n_objectives: usize) -> PfSmg {
    if source.starts_with("synthetic") {
        return PfSmg {
            start_radius: 2.0,
            step_factor: 1.0,
            ..PfSmg::paper(1, 1, 0.3, 1_000, batches(&[(5.0, 1.01), (200.0, 1.01)]))
        };
    }
    let compas = source.starts_with("compas");
    let race = source.starts_with("adult:race");
    match (compas, n_objectives) {
        (true, _) => PfSmg {
            most_points: if n_objectives > 2 { 3_000 } else { 1_500 },
            ..PfSmg::paper(3, 3, 4.0, 100, batches(&[(80.0, 1.005)]))
        },
        (false, 3..) => PfSmg {
            most_points: 3_000,
            perturbations: 1,
            ..PfSmg::paper(3, 2, 2.6, 100, batches(&[(80.0, 1.005)]))
        },
        (false, _) if race => {
            PfSmg::paper(3, 2, 2.6, 100, batches(&[(50.0, 1.005), (80.0, 1.005)]))
        }
        (false, _) => PfSmg::paper(2, 3, 2.1, 500, batches(&[(80.0, 1.018), (50.0, 1.018)])),
    }
}

/// The paper's settings of EPS-fair for this data set.
pub fn paper_eps_fair(source: &str) -> EpsFair {
    match source.starts_with("synthetic") {
        true => EpsFair {
            start_radius: 2.0,
            ..EpsFair::paper(1_500)
        },
        false => EpsFair::paper(100),
    }
}
