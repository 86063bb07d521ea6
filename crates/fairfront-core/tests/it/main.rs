//! Objectives and problems against plain, slow, obviously right implementations.

mod objective;
mod plain;
