//! From a prepared table to a run folder.
//!
//! [`fit`] builds the problem from objectives by name, runs the solver and measures the front on
//! every split; [`write_run`] puts it on disk (`run.json`, `encoding.json`, `front.parquet`), and
//! [`read_run`] reads what is needed to show it. A run folder holds no row of the data. [`compare`]
//! says what fronts are worth side by side. A [`Model`] is one point of a front with all that scoring
//! rows needs, and [`predict`] scores the rows of a file with it.

mod compare;
mod error;
mod fit;
mod folder;
mod judge;
mod model;
mod notice;
mod objective;
mod predict;
mod preset;
mod table;
mod warm;

pub use compare::{
    CompareOptions, Comparison, JudgedFront, MOST_VOLUME_OBJECTIVES, NamedFront, Origin, compare,
};
pub use error::Error;
pub use fit::{
    Candidate, CertificateInfo, FitRequest, Fitted, PolishInfo, SplitValues, default_objectives,
    fit,
};
pub use folder::{
    CertificateSummary, RunInfo, RunSummary, SecondsSummary, SpentSummary, Unmitigated,
    UnmitigatedSummary, check_folder, front_table, read_run, run_info, source_of_run, write_run,
};
pub use judge::{FrontIn, JudgedInfo};
pub use model::{Model, Provenance};
pub use objective::parse_objective;
pub use predict::{
    Audit, AuditedAttribute, AuditedGroup, Lacking, PredictOptions, Predicted, Predictions,
    Unknown, predict,
};
pub use preset::{paper_eps_fair, paper_pf_smg};
pub use table::FrontTable;
