//! What can be said about points in objective space, all objectives to be minimised.
//!
//! Points lie one after the other in a slice of `n · m` values, `m` to a point. Nothing here knows
//! what the objectives are, and nothing depends on another crate.
//!
//! ```
//! use fairfront_pareto::{hypervolume, nondominated};
//! let points = [1.0, 3.0, 2.0, 2.0, 3.0, 1.0, 3.0, 3.0];
//! assert_eq!(nondominated(&points, 2), [0, 1, 2]);
//! assert_eq!(hypervolume(&points, &[4.0, 4.0]), Ok(6.0));
//! ```

mod archive;
mod dominance;
mod hypervolume;
mod spread;

pub use archive::{Archive, Insertion};
pub use dominance::{dominates, nondominated};
pub use hypervolume::{Unsupported, hypervolume};
pub use spread::{Hole, holes, ranges, select_spread, thin};
