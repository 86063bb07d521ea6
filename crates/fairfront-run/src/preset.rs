//! `--preset paper`: the settings of the paper's experiments.

use fairfront_solve::{BatchSchedule, Settings};

fn batches(schedules: &[(f64, f64)]) -> Vec<BatchSchedule> {
    schedules
        .iter()
        .map(|&(initial, growth)| BatchSchedule { initial, growth })
        .collect()
}

/// The paper's settings for the data set and the number of objectives at hand; those of Adult and
/// gender where it has none.
pub fn paper_settings(source: &str, n_objectives: usize) -> Settings {
    if source.starts_with("synthetic") {
        return Settings {
            start_radius: 2.0,
            step_factor: 1.0,
            ..Settings::paper(1, 1, 0.3, 1_000, batches(&[(5.0, 1.01), (200.0, 1.01)]))
        };
    }
    let compas = source.starts_with("compas");
    let race = source.starts_with("adult:race");
    match (compas, n_objectives) {
        (true, _) => Settings {
            most_points: if n_objectives > 2 { 3_000 } else { 1_500 },
            ..Settings::paper(3, 3, 4.0, 100, batches(&[(80.0, 1.005)]))
        },
        (false, 3..) => Settings {
            most_points: 3_000,
            perturbations: 1,
            ..Settings::paper(3, 2, 2.6, 100, batches(&[(80.0, 1.005)]))
        },
        (false, _) if race => {
            Settings::paper(3, 2, 2.6, 100, batches(&[(50.0, 1.005), (80.0, 1.005)]))
        }
        (false, _) => Settings::paper(2, 3, 2.1, 500, batches(&[(80.0, 1.018), (50.0, 1.018)])),
    }
}
