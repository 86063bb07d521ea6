//! Tests of solvers on analytic problems with known fronts, and on small tables of rows.

mod analytic;
mod checkpoint;
mod eps_fair;
mod eps_fair_conditions;
mod network;
mod observer;
mod pf_smg;
mod polish;
mod predictor;
mod proof;
mod table;
mod trace;
mod trace_tolerance;
mod update;
mod weighted;
