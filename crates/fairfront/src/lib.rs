#![doc = include_str!("../../../README.md")]

mod fit;
mod front;

pub use fairfront_core as core;
pub use fairfront_data as data;
pub use fairfront_model as model;
pub use fairfront_model::ModelId;
pub use fairfront_pareto as pareto;
pub use fairfront_report as report;
pub use fairfront_run as run;
pub use fairfront_run::{Error, SolverName};
pub use fairfront_solve as solve;
pub use fairfront_stream as stream;
pub use fit::Fit;
pub use front::{Choose, Chosen, Front};

#[doc = include_str!("../../../docs/how-to/rust.md")]
pub mod guide {}

#[doc = include_str!("../../../docs/reference/objectives.md")]
pub mod objectives {}

#[doc = include_str!("../../../docs/how-to/compare.md")]
pub mod comparing {}

#[doc = include_str!("../../../docs/how-to/extending.md")]
pub mod extending {}
