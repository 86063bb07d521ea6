//! The surfaces.

mod blocks;
mod checkpoint;
mod grammar;
mod live;
mod model;
mod parquet;
mod predict;
mod run;
mod search;
mod self_test;
mod spec;
mod state;
mod table;
mod typed;

use crate::Target;

/// All surfaces, in the order in which they take turns.
pub fn targets() -> Vec<&'static dyn Target> {
    vec![
        &table::Csv,
        &table::Gzip,
        &table::Records,
        &parquet::Parquet,
        &blocks::BlockFile,
        &spec::SpecJson,
        &typed::Toml,
        &typed::Arguments,
        &grammar::Require,
        &grammar::Weights,
        &grammar::Objective,
        &grammar::Set,
        &grammar::Known,
        &grammar::Grid,
        &grammar::Positive,
        &grammar::FrontCsv,
        &model::ModelFile,
        &predict::Predict,
        &run::RunFiles,
        &search::Search,
        &state::State,
        &state::Rows,
        &live::LiveFront,
        &checkpoint::Checkpoint,
    ]
}

/// A surface by its name, including those that test the fuzzer itself.
pub fn find(name: &str) -> Option<&'static dyn Target> {
    let mut all = targets();
    all.extend(self_test::targets());
    all.into_iter().find(|target| target.name() == name)
}
