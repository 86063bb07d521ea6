//! From a prepared table to a run folder, and to a chosen model.
//!
//! - [`fit`] builds the problem from objectives by name, runs the solver and measures the front on
//!   every split. With [`Checkpoints`], a fit that was killed resumes to the same result
//!   ([`fit_with_checkpoints`]).
//! - [`write_run`] writes a run to disk (`run.json`, `encoding.json`, `front.parquet`,
//!   `tallies.json`), and [`read_run`] reads it. A run folder contains no rows of the data. A
//!   [`Run`] is the run in memory.
//! - [`compare`] compares several fronts.
//! - [`select`] chooses a model of a front, and [`choose_certified`] tests requirements on rows
//!   that no choice was based on. A [`Model`](fairfront_model::Model) can score rows on its own
//!   ([`model_of`], [`Run::model`]).
//! - [`verify()`] recomputes a run from its folder and its data.
//! - [`page_data`] is the data of a run's report, and [`figures`] draws static figures.
//! - [`audit()`] compares the decisions of any model by group, and [`audit_page`] shows the result.
//! - [`tune`] finds the settings of a solver by grid search.

mod ask;
mod audit;
mod calibration;
mod card;
mod certify;
mod checkpoint;
mod compare;
mod diagnostic;
mod distribution;
mod document;
mod error;
mod families;
mod family;
mod figure;
mod fit;
mod folder;
mod group_rows;
mod judge;
mod lda;
mod learner_info;
mod mark;
mod meaning;
mod measured;
mod memory;
mod network;
mod objective;
mod objective_call;
mod overlay;
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

pub use ask::{Ask, DEFAULT_HIDDEN, SolverName, attribute_texts};
pub use audit::{
    AtRate, AuditAttribute, AuditGroup, AuditOptions, AuditRequest, AuditResult, AuditRows,
    AuditSource, AuditedRows, AuditedSource, ComparedGroup, Decile, ErrorDifferences, FourFifths,
    GroupErrors, GroupScores, GroupsOfAttribute, LocalLaw144, LocalLawCategory, LocalLawKind,
    LocalLawRequest, LocalLawTable, MatchedBy, RateOfGroup, ReferenceBy, SourceKind, TestUsed,
    UnknownRows, audit, audit_page, audit_rows,
};
pub use card::{CardRequest, model_card};
pub use certify::{
    Band, Certificate, CertifyingRows, Choice, Closest, Counted, Demand, Evidence, IntervalInfo,
    TALLIES, Tested, Uncertified, Use, certify_fit, choose_certified, choose_in_memory,
    choose_with_uses, logged_uses, uncertified_model,
};
pub use checkpoint::{Checkpoints, is_unfinished};
pub use compare::{
    CompareOptions, ComparedMeasure, ComparedScore, Comparison, FrontShare, JudgedFront,
    MOST_VOLUME_OBJECTIVES, MeasureComparison, NamedFront, Origin, UNMITIGATED, compare,
    compare_measures,
};
pub use document::check_documents;
pub use error::Error;
pub use fairfront_learn::Stratum;
pub use families::{EstimatorPlan, GroupPlan, plan_estimators};
pub use family::{
    Brought, BroughtGroups, Family, FamilyInfo, FamilyName, FamilyRequest, family_counts,
};
pub use figure::{Conversion, Figure, figures, write_figures};
pub use fit::{
    Earlier, FitRequest, Fitted, PolishInfo, ProofInfo, SolverChoice, default_objectives, fit,
    fit_encoded, fit_input, fit_source, fit_with, fit_with_checkpoints,
};
pub use folder::{
    DroppedRows, RunFiles, RunInfo, Unmitigated, files_of_run, front_table, info_bytes, read_run,
    run_in, run_info, run_info_of, run_name, source_of_run, state_diagnostics,
};
pub use group_rows::{Compared, GroupRows};
pub use judge::{FrontIn, JudgedInfo};
pub use lda::{
    BaselineInfo, BaselineRequest, Both, Candidate, Changed, ColumnEffects, Estimated, Finding,
    GroupOutcome, Lda, LdaFiles, LdaRequest, Limits, MeasureInfo, Moved, Outcomes, Performance,
    Proven, SearchedRun, TestInfo, Tolerance, WithoutColumn, WorstPair, lda_memo, lda_page, search,
};
pub use learner_info::{InputInfo, LearnerInfo};
pub use meaning::{Among, Better, Meaning, MeasureMeaning, ObjectiveMeaning, Unit};
pub use measured::SplitValues;
pub use objective::parse_objective;
pub use objective_call::ObjectiveCall;
pub use overlay::{Overlay, OverlayKind, OverlayPoint};
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
