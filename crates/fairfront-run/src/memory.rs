//! Estimates the memory of a fit before it is allocated, and compares it with the limit.

use fairfront_core::{
    BLOCK_ROWS, Dataset, Decided, LANES, MOST_DENSE, MOST_SORTED, counted, each, predictor_of, say,
    with,
};
use fairfront_data::setting::{DROP, FEATURE, STREAM_WINDOW};
use fairfront_data::{Encoded, Part};
use fairfront_solve::Solver;

use crate::setting::MODELS;
use crate::{Error, FitRequest};

/// The approximate minimum number of candidates that a solver keeps.
const CANDIDATES: u64 = 4_000;
/// The approximate largest number of strata that samples are drawn from.
const MOST_STRATA: u64 = 16;
/// The approximate number of matrices of second derivatives that a solver keeps.
const MATRICES: u64 = 24;

const NUMBER: u64 = size_of::<f64>() as u64;
const CODE: u64 = size_of::<u32>() as u64;
/// Bytes of a score and its row while rows are sorted, in two lists.
const SORTED: u64 = 2 * size_of::<(u64, u32)>() as u64;
/// Rows near the threshold that are kept on each side, and those of a task.
const NEAR_ROWS: u64 = 4_096;
/// Bytes of such a row.
const NEAR: u64 = 32;
/// Bytes per row that redraws need in addition to decisions: label, groups, weight and position.
const REDRAWN: u64 = 88;

/// The approximate number of parameter vectors that a solver keeps.
fn vectors(solver: &dyn Solver) -> u64 {
    let points = solver.points() as u64;
    let each = solver.vectors_per_point() as u64;
    points.saturating_mul(each).max(CANDIDATES)
}

/// Rejects a fit if solving and judging would take too much memory in addition to the encoded rows.
pub(crate) fn check_solving(encoded: &Encoded, request: &FitRequest) -> Result<(), Error> {
    let rows = |part: Part| encoded.part(part).n_rows() as u64;
    let largest = Part::ALL.into_iter().map(rows).max().unwrap_or(0);
    let schema = encoded.part(Part::Train).schema();
    let threads = rayon::current_num_threads().min(LANES) as u64;
    let attributes = schema.attributes.len() as u64;
    // Scores of as many models as are evaluated at once, and labels, weights and groups. Scores of more rows
    // are counted in bins.
    let scored = match largest <= MOST_SORTED {
        true => largest,
        false => 0,
    };
    let scores = NUMBER * LANES as u64 + SORTED * threads + NUMBER + CODE * attributes + 1;
    // The rows of each stratum in each block, for each objective.
    let blocks = rows(Part::Train) / BLOCK_ROWS as u64;
    let strata = blocks * MOST_STRATA * NUMBER * (request.objectives.len() as u64 + 1);
    let n_params = predictor_of(schema).n_params(schema) as u64;
    let matrices = match n_params <= MOST_DENSE as u64 {
        true => n_params * n_params * NUMBER * (MATRICES + threads),
        false => 0,
    };
    let solvers = request
        .solvers
        .iter()
        .map(|choice| vectors(&*choice.solver));
    let vectors = solvers.max().unwrap_or(CANDIDATES);
    // Bookkeeping of a model in addition to its parameters.
    let models = vectors.saturating_mul(n_params * NUMBER + 64);
    let n_rows: usize = encoded.parts.iter().map(Dataset::n_rows).sum();
    let subject = format!(
        "{}, their scores and {} with {} each",
        counted(n_rows, "row"),
        counted(vectors as usize, "candidate model"),
        counted(n_params as usize, "parameter")
    );
    let remedies = || {
        vec![
            say!["use fewer rows"],
            say!["use fewer columns", with(each([FEATURE, DROP]))],
            say!["lower ", MODELS],
            say![
                "fit with ",
                STREAM_WINDOW,
                ", which keeps only the last rows"
            ],
        ]
    };
    // Rows near the threshold of as many models as are evaluated at once, of a few tasks.
    let in_tasks = NEAR_ROWS * threads.clamp(4, 32);
    let near = largest.min(in_tasks + 2 * NEAR_ROWS) * LANES as u64 * NEAR;
    let more = (near + scored * scores + strata + matrices).saturating_add(models);
    Ok(encoded
        .memory
        .check(encoded.held, more, "fit", &subject, remedies)?)
}

/// Rejects more models than memory allows when models are weighed: each row has two bits per model,
/// or two per model and class.
pub(crate) fn check_weighing(encoded: &Encoded, n_models: usize) -> Result<(), Error> {
    let rows = |part: Part| encoded.part(part).n_rows() as u64;
    let schema = encoded.part(Part::Train).schema();
    let largest = Part::ALL.into_iter().map(rows);
    let largest = largest
        .filter(|n| !Decided::as_moments(*n, schema, n_models))
        .max();
    let largest = largest.unwrap_or(0);
    let words = Decided::bits_per_row(schema, n_models).div_ceil(LANES) as u64;
    let more = largest * (REDRAWN + 2 * CODE * words);
    let subject = counted(n_models, "model");
    let remedies = || {
        vec![
            say!["keep fewer models", with(MODELS)],
            say!["use fewer rows"],
        ]
    };
    let place = "intervals";
    Ok(encoded
        .memory
        .check(encoded.held, more, place, &subject, remedies)?)
}
