//! PF-SMG on analytic problems whose fronts are known.

mod analytic;
mod pf_smg;
