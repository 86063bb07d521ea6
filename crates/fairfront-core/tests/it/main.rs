//! Objectives and problems, compared with plain, slow, obviously correct implementations.

mod calibrate;
mod class;
mod class_decision;
mod engine;
mod failing;
mod group_limit;
mod group_objective;
mod group_plain;
mod network;
mod number;
mod objective;
mod paired;
mod plain;
mod small_group;
mod threshold;
