//! From a prepared table to a run folder.
//!
//! [`fit`] builds the problem from objectives by name, runs the solver and measures the front on
//! every split; [`write_run`] puts it on disk (`run.json`, `encoding.json`, `front.parquet`, `tallies.json`), and
//! [`read_run`] reads it again. A [`Run`] is all of it in memory. With [`Checkpoints`] a fit that was killed goes on to the same result
//! ([`fit_with_checkpoints`]). A run folder holds no row of the data. [`compare`] says what fronts are
//! worth side by side, [`select`] goes from a front to one of its points, [`choose_certified`] tests
//! requirements on rows that nothing was chosen by, a [`Model`](fairfront_model::Model) is that point with
//! all it takes to score rows ([`model_of`], [`Run::model`]), [`verify()`] recomputes a run from its folder and its data, [`page_data`] is what
//! the page of a run shows, and [`figures`] draws it for paper. [`tune`] finds the settings of a solver by
//! grid search.

mod ask;
mod calibration;
mod certify;
mod checkpoint;
mod compare;
mod error;
mod figure;
mod fit;
mod folder;
mod group_rows;
mod judge;
mod meaning;
mod measured;
mod memory;
mod notice;
mod objective;
mod objective_call;
mod page;
mod penalty;
mod place;
mod preset;
mod rest;
mod run;
mod select;
pub mod setting;
mod standing;
pub mod store;
mod stream_info;
mod table;
mod task;
mod tune;
mod verify;
mod warm;

pub use ask::{Ask, SolverName, attribute_texts};
pub use certify::{
    Band, Certificate, CertifyingRows, Choice, Closest, Counted, Demand, Evidence, IntervalInfo,
    TALLIES, Tested, Uncertified, Use, certify_fit, choose_certified, choose_in_memory,
    choose_with_uses, logged_uses, uncertified_model,
};
pub use checkpoint::{Checkpoints, is_unfinished};
pub use compare::{
    CompareOptions, ComparedMeasure, Comparison, FrontShare, JudgedFront, MOST_VOLUME_OBJECTIVES,
    MeasureComparison, NamedFront, Origin, UNMITIGATED, compare, compare_measures,
};
pub use error::Error;
pub use figure::{Conversion, Figure, figures, write_figures};
pub use fit::{
    CertificateInfo, Earlier, FitRequest, Fitted, PolishInfo, SolverChoice, default_objectives,
    fit, fit_encoded, fit_with, fit_with_checkpoints,
};
pub use folder::{
    DroppedRows, RunFiles, RunInfo, Unmitigated, files_of_run, front_table, info_bytes, read_run,
    run_in, run_info, run_info_of, run_name, source_of_run, state_notices,
};
pub use group_rows::{Compared, GroupRows};
pub use judge::{FrontIn, JudgedInfo};
pub use meaning::{Among, Better, Meaning, MeasureMeaning, ObjectiveMeaning, Unit};
pub use measured::SplitValues;
pub use objective::parse_objective;
pub use objective_call::ObjectiveCall;
pub use page::{page_data, write_page};
pub use penalty::{CrossValidation, Penalty, PenaltyInfo, PenaltyRule, TriedPenalty};
pub use place::{check_folder, write_run};
pub use preset::{PAPER_PENALTY, paper_eps_fair, paper_pf_smg};
pub use rest::LeftOut;
pub use run::{Run, model_of};
pub use select::{
    Change, Comparator, FrontColumns, Judged, Miss, Opening, Price, Requirement, Rule, Selection,
    Term, Unmet, group_sentences, is_measure, opening, select, weights,
};
pub use standing::Standing;
pub use stream_info::{Keep, StreamInfo};
pub use table::FrontTable;
pub use tune::{Axis, Grid, MOST_RUNS, Score, Trial, TrialEnd, TuneWatcher, Tuning, tune};
pub use verify::{
    Check, Difference, KeptRows, LEAST_SIZE, RowPlaces, TOLERANCE, Verification, verify,
};
