#![doc = include_str!("../../../README.md")]

pub use fairfront_core as core;
pub use fairfront_data as data;
