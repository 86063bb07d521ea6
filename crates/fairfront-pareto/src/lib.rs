//! Operations on points in objective space, with all objectives to be minimized.
//!
//! [`Values`] is a checked view of points in a slice. All functions take it and are defined for
//! every view: for no points, one point, equal points and infinite values. NaN is rejected when the
//! view is created. The crate does not depend on the meaning of the objectives or on any other
//! crate.
//!
//! | to … | use |
//! | --- | --- |
//! | compare two points | [`dominates`], [`weakly_dominates`], [`strictly_dominates`], [`dominates_within`] |
//! | find the best points | [`nondominated`] |
//! | reduce the points to fewer, well-spread ones | [`thin`], [`select_spread`], [`holes`] |
//! | assess one front | [`hypervolume`], [`contributions`], [`spread`], [`knee`] |
//! | compare fronts | [`purity`], [`purity_within`], [`coverage`], [`additive_epsilon`], [`igd_plus`], [`Profile`] |
//!
//! ```
//! use fairfront_pareto::{Values, hypervolume, nondominated};
//! let points = [1.0, 3.0, 2.0, 2.0, 3.0, 1.0, 3.0, 3.0];
//! let values = Values::new(&points, 2)?;
//! assert_eq!(nondominated(values), [0, 1, 2]);
//! assert_eq!(hypervolume(values, &[4.0, 4.0])?, 6.0);
//! # Ok::<(), fairfront_pareto::Error>(())
//! ```

mod dominance;
mod error;
mod hypervolume;
mod indicator;
mod knee;
mod nondominated;
mod order;
mod profile;
mod spread;
mod staircase;
mod values;

pub use dominance::{dominates, dominates_within, strictly_dominates, weakly_dominates};
pub use error::Error;
pub use hypervolume::{contributions, hypervolume};
pub use indicator::{Spread, additive_epsilon, coverage, igd_plus, purity, purity_within, spread};
pub use knee::knee;
pub use nondominated::nondominated;
pub use profile::{Better, Profile};
pub use spread::{Hole, holes, ranges, select_spread, thin};
pub use values::Values;
