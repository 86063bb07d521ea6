//! Solvers on analytic problems whose fronts are known.

mod analytic;
mod eps_fair;
mod pf_smg;
mod polish;
