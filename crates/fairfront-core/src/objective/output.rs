use serde::{Deserialize, Serialize};

use crate::Schema;

/// The function of a row's score φ from which the statistics of an objective are computed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Output {
    /// φ itself.
    Score,
    /// σ(φ/τ), the smooth version of the decision Ŷ = +1. As τ falls, it approaches 1 for φ above 0
    /// and 0 for φ below 0.
    Decision {
        /// τ.
        tau: f64,
    },
    /// log(1 + exp(−yφ)), the loss of the row.
    Loss,
    /// smooth-min(0, ±φ): the score if it is below −μ, 0 above μ, a parabola in between. It stands
    /// in for wrong decisions.
    Shortfall {
        /// Half the width of the smooth corner.
        mu: f64,
        /// 1 for φ, −1 for −φ.
        sign: f64,
    },
    /// The decision itself: 1 if φ ≥ 0 and 0 below. It has no slope.
    Step,
    /// A function of the residual φ − y of a predicted number.
    Residual(Residual),
    /// For each threshold t of the target's [`Unit`](crate::Unit), σ((t − φ)/τ): the smooth version
    /// of a prediction of at most t. Without τ, it is 1 or 0 and has no slope.
    AtMost {
        /// τ, or 0.
        tau: f64,
    },
    /// A power of the label, the score or the residual, for measures. It has no slope.
    Moment(Moment),
    /// The same, after label and score are moved into a range, for tests that need bounded values. It
    /// has no slope.
    Capped {
        /// The power.
        of: Moment,
        /// The smallest and the largest label.
        range: [f64; 2],
    },
    /// For each threshold of the target's [`Unit`](crate::Unit), 1 if the label is at most the threshold
    /// and 0 otherwise. It does not depend on the score.
    LabelAtMost,
    /// A function of the scores of all classes.
    Class(ClassOutput),
}

/// Functions of the scores `φ_c` of classes. With smooth decisions `p_c = exp(φ_c/τ) / Σ exp(φ_j/τ)`, the highest
/// score has nearly all of the decision as τ falls. With τ = 0, `p_c` is 1 for the first class with the highest
/// score and 0 for the others, without a slope.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum ClassOutput {
    /// `φ_c` of each class.
    Score,
    /// `log Σ exp(φ_c) − φ_y`, the loss of the row.
    Loss,
    /// `p_y`: the decision is right.
    Right {
        /// τ, or 0.
        tau: f64,
    },
    /// `p_c` of each class.
    Each {
        /// τ, or 0.
        tau: f64,
    },
    /// For each class except the last, `Σ p_c` over the classes above it: the decision is higher.
    Above {
        /// τ, or 0.
        tau: f64,
    },
    /// `Σ p_c φ_c − φ_y` with τ = 1: the slope of the loss with respect to a common factor of all scores.
    FactorSlope,
}

impl ClassOutput {
    /// Number of values per row.
    pub(crate) fn width(self, n_classes: usize) -> usize {
        match self {
            Self::Loss | Self::Right { .. } | Self::FactorSlope => 1,
            Self::Score | Self::Each { .. } => n_classes,
            Self::Above { .. } => n_classes.saturating_sub(1),
        }
    }
}

/// Powers that measures sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Moment {
    /// y.
    Label,
    /// y².
    LabelSquared,
    /// φ.
    Score,
    /// φ².
    ScoreSquared,
    /// |φ − y|.
    ResidualAbsolute,
    /// (φ − y)².
    ResidualSquared,
    /// (φ − y)⁴.
    ResidualToTheFourth,
    /// φ⁴.
    ScoreToTheFourth,
}

impl Moment {
    pub(crate) fn of(self, label: f64, score: f64) -> f64 {
        let residual = score - label;
        match self {
            Self::Label => label,
            Self::LabelSquared => label * label,
            Self::Score => score,
            Self::ScoreSquared => score * score,
            Self::ResidualAbsolute => residual.abs(),
            Self::ResidualSquared => residual * residual,
            Self::ResidualToTheFourth => (residual * residual) * (residual * residual),
            Self::ScoreToTheFourth => (score * score) * (score * score),
        }
    }
}

impl Output {
    /// Number of values per row.
    pub fn width(self, schema: &Schema) -> usize {
        match self {
            Self::AtMost { .. } | Self::LabelAtMost => {
                schema.target.unit().map_or(0, |unit| unit.thresholds.len())
            }
            Self::Class(of) => of.width(schema.target.n_labels()),
            _ => 1,
        }
    }
}

/// A function of the residual r = φ − y.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Residual {
    /// r.
    Plain,
    /// r².
    Squared,
    /// √(r² + μ²) − μ, a smooth version of |r|; exactly |r| if μ is 0, but then without a slope at 0.
    Absolute {
        /// μ.
        mu: f64,
    },
    /// (√(r² + μ²) − μ)/2 − (q − ½) r, a smooth version of the pinball loss, whose minimizer is the
    /// quantile q.
    Quantile {
        /// q, above 0 and below 1.
        q: f64,
        /// μ.
        mu: f64,
    },
}

impl Residual {
    /// Value, slope and curvature at r.
    pub(crate) fn at(self, r: f64) -> [f64; 3] {
        let smooth = |mu: f64| {
            let root = (r * r + mu * mu).sqrt();
            let slope = if root > 0.0 { r / root } else { 0.0 };
            let curvature = if root > 0.0 {
                mu * mu / (root * root * root)
            } else {
                0.0
            };
            [root - mu, slope, curvature]
        };
        match self {
            Self::Plain => [r, 1.0, 0.0],
            Self::Squared => [r * r, 2.0 * r, 2.0],
            Self::Absolute { mu } => smooth(mu),
            Self::Quantile { q, mu } => {
                let [value, slope, curvature] = smooth(mu);
                let tilt = q - 0.5;
                [0.5 * value - tilt * r, 0.5 * slope - tilt, 0.5 * curvature]
            }
        }
    }

    /// Numbers a > 0 and b such that the value is at least a·|r| − b, or a·r² if it is squared; `None`
    /// for the plain residual.
    pub(crate) fn growth(self) -> Option<(f64, f64)> {
        match self {
            Self::Plain => None,
            Self::Squared => Some((1.0, 0.0)),
            Self::Absolute { mu } => Some((1.0, mu)),
            Self::Quantile { q, mu } => Some((q.min(1.0 - q), 0.5 * mu)),
        }
    }
}
