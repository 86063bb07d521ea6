//! Figures of Pareto fronts as self-contained SVG, and the interactive report.
//!
//! Most users want [`Overlay`]: several fronts over the same objectives in one figure. Points are
//! stored one after the other in a slice of `n · m` values, `m` per point; all objectives are
//! minimized. The other figures are:
//!
//! - [`Curve`]: a number such as the hypervolume, by batch or by round
//! - [`Distributions`]: distributions of predicted numbers by group
//! - [`Shares`]: shares of decisions by class and group
//! - [`Scatters`]: a grid of panels, each with its own axes
//! - [`Pairs`]: a front over three objectives
//! - [`Profiles`]: how often each solver is nearly the best
//! - [`ProfilePanels`]: the same for several indicators
//! - [`Ratios`]: ratios of groups to a reference group, with intervals
//! - [`Volume`]: the hypervolume of two objectives
//!
//! [`PageData::to_html`] writes the interactive report as one self-contained HTML file. [`Document`] is a
//! printable document, such as an audit, as HTML or Markdown.
//!
//! This crate does not read or write files and does not depend on the other fairfront crates. The
//! same figure gives the same bytes on every machine.
//!
//! ```
//! use fairfront_report::{Overlay, Series};
//! let svg = Overlay {
//!     title: "Adult, gender".into(),
//!     axes: vec!["log_loss".into(), "score_covariance(gender)".into()],
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
mod distribution;
mod document;
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
mod ratio;
mod scale;
mod scatter;
mod shares;
mod side;
mod spread;
mod svg;
mod text;
mod trace;
mod trail;
mod volume;

pub use curve::{Curve, Line};
pub use distribution::{Distribution, Distributions};
pub use document::{Block, Document, Prose, Span, Table};
pub use html::{
    LearnedText, ModelText, Number, Numbers, PageAttribute, PageColumn, PageData, PageOpening,
};
pub use overlay::{Overlay, Series};
pub use pairs::Pairs;
pub use profile::{ProfilePanels, Profiles};
pub use ratio::{RatioOfGroup, Ratios};
pub use scatter::{Scatter, Scatters};
pub use shares::{Share, SharePanel, Shares};
pub use side::{Better, Side};
pub use trail::{Trail, TrailStyle};
pub use volume::Volume;
