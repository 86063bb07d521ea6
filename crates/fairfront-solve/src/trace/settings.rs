use std::ops::Bound::Included;

use serde::{Deserialize, Serialize};

use crate::setting::{Declared, Declares, Kind, field};

/// Follows the exact front with second derivatives: a curve for two objectives, a surface for more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// Number of points on the front.
    #[serde(rename = "models")]
    pub points: usize,
    /// Largest distance of a point's loss above the front, as a share of the loss at x = 0.
    pub tolerance: f64,
    /// With three or more objectives: the largest distance between neighbors, as a share of the
    /// objectives' ranges.
    pub hole: f64,
    /// Whether to compute an optimality proof for each point. Without proofs, points may be off by
    /// the tolerance.
    #[serde(skip, default = "with_proofs")]
    pub proofs: bool,
}

fn with_proofs() -> bool {
    true
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            points: 1_000,
            tolerance: 4e-10,
            hole: 0.05,
            proofs: true,
        }
    }
}

impl Declares for Trace {
    const POINTS: Declared<Self> = Declared::new(
        "models",
        Kind::Count(2, 10_000_000),
        "number of models on the front",
        field!(Count, points),
    );

    const SETTINGS: &'static [Declared<Self>] = &[
        Declared::new(
            "tolerance",
            Kind::Number(Included(1e-14), Included(1e-2)),
            "largest distance of a loss from the front, as a share of the loss at 0",
            field!(Number, tolerance),
        ),
        Declared::new(
            "hole",
            Kind::Number(Included(1e-4), Included(1.0)),
            "three objectives: largest distance between neighbors, as a share of the range",
            field!(Number, hole),
        ),
    ];
}
