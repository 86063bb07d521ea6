//! Solvers on analytic problems whose fronts are known, and on small tables of rows.

mod analytic;
mod certificate;
mod checkpoint;
mod eps_fair;
mod eps_fair_conditions;
mod observer;
mod pf_smg;
mod polish;
mod predictor;
mod table;
mod trace;
mod trace_tolerance;
mod update;
mod weighted;
