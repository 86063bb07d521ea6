use serde::{Deserialize, Serialize};

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
}
