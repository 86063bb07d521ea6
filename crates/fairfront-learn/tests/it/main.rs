//! Tests of the learners through their public interface.

mod boost;
mod calibrate;
mod class;
mod cross_fit;
mod number;
mod table;
