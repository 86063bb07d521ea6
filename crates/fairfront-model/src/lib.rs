//! A model chosen from a front: its file, prediction and export.
//!
//! A [`Model`] contains everything that turns raw columns into scores and decisions. [`Model::read`] reads
//! a model file, [`predict`] scores the rows of a file, [`score_table`] scores a table in memory, and
//! [`Model::export`] writes the model for other programs. This crate does not link solvers or figures, so
//! that a service can score rows without them. [`mod@file`] writes files atomically, and [`seal`] adds
//! checksums to JSON files; runs and streams use both.

mod certificate;
mod error;
mod export;
pub mod file;
mod model;
mod model_id;
mod predict;
pub mod seal;
pub mod setting;
mod used;

pub use certificate::{Checked, GroupSize, ModelCertificate, Stated, TestKind, Verdict};
pub use error::Error;
pub use export::ExportFormat;
pub use file::{NewFile, write_file};
pub use model::{Model, PerScore, Provenance};
pub use model_id::ModelId;
pub use predict::{
    Audit, AuditedAgainst, AuditedAttribute, AuditedClass, AuditedDifferences, AuditedGroup,
    AuditedKind, AuditedReference, AuditedValues, ClassDifferences, Lacking, PredictOptions,
    Predicted, Predictions, Summary, Unknown, predict, score_file, score_table,
};
