//! Figures of Pareto fronts as self-contained SVG, and the page people decide with.
//!
//! Most users want [`Overlay`]: several fronts over the same objectives in one picture. Points lie one
//! after the other in a slice of `n · m` values, `m` to a point, all objectives to be minimised.
//! [`Curve`] draws how a number such as the hypervolume changes from batch to batch or round to round,
//! [`Scatters`] a grid of panels with axes of their own, [`Pairs`] a front over three objectives,
//! [`Profiles`] how often solvers are nearly the best, [`ProfilePanels`] the same for several indicators,
//! [`Volume`] what the hypervolume of two objectives is.
//! Nothing here knows where the points come from, reads or writes a file, or depends on another of our
//! crates; the same figure is the same bytes on every machine. [`PageData`] becomes one HTML file with
//! everything in it ([`PageData::to_html`]).
//!
//! ```
//! use fairfront_report::{Overlay, Series};
//! let svg = Overlay {
//!     title: "Adult, gender".into(),
//!     axes: vec!["log_loss".into(), "disparate_impact(gender)".into()],
//!     series: vec![
//!         Series { name: "pf-smg", values: &[0.34, 0.012, 0.36, 0.004, 0.41, 0.0] },
//!         Series { name: "eps-fair", values: &[0.35, 0.011, 0.38, 0.003] },
//!     ],
//!     reference: None,
//! }
//! .to_svg();
//! assert!(svg.starts_with("<svg "));
//! assert!(svg.contains("3 points"));
//! ```

mod curve;
mod figure;
mod grid;
mod html;
mod legend;
mod marker;
mod overlay;
mod page;
mod pairs;
mod panel;
mod profile;
mod ramp;
mod scale;
mod scatter;
mod side;
mod spread;
mod svg;
mod text;
mod trace;
mod volume;

pub use curve::{Curve, Line};
pub use html::{ModelText, Number, Numbers, PageAttribute, PageColumn, PageData, PageOpening};
pub use overlay::{Overlay, Series};
pub use pairs::Pairs;
pub use profile::{ProfilePanels, Profiles};
pub use scatter::{Scatter, Scatters};
pub use side::{Better, Side};
pub use volume::Volume;
