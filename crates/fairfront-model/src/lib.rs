//! A model that was chosen from a front: its file, prediction and export.
//!
//! A [`Model`] holds everything that turns raw columns into scores and decisions. [`Model::read`] reads a model
//! file, [`predict`] scores the rows of a file, [`score_table`] those of a table in memory, and
//! [`Model::export`] writes the model for other programs. This crate links no solver and draws no figure, so
//! that a service can score rows without them. [`mod@file`] writes files whole or not at all, and [`seal`] is
//! the checksum inside JSON files; runs and streams use both.

mod certificate;
mod error;
mod export;
pub mod file;
mod model;
mod predict;
pub mod seal;
pub mod setting;

pub use certificate::{Checked, GroupSize, ModelCertificate, Stated, TestKind, Verdict};
pub use error::Error;
pub use export::ExportFormat;
pub use file::{NewFile, write_file};
pub use model::{Model, Provenance};
pub use predict::{
    Audit, AuditedAttribute, AuditedGroup, Lacking, PredictOptions, Predicted, Predictions,
    Unknown, predict, score_file, score_table,
};
