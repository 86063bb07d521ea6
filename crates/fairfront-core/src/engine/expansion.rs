//! Log losses of probabilities as functions of slope and intercept, to second order: the sums for
//! calibration.

use crate::lanes::{Real, vectorized};
use crate::predictor::Rows;

/// Number of sums per point: Σ w u, Σ w u², Σ w of rows on the wrong side, the loss, its
/// derivatives with respect to slope and intercept, its second derivatives (slope twice, both,
/// intercept twice), and the numbers of negative and of positive rows with a weight above 0.
pub(super) const N_SUMS: usize = 11;

/// The place at which the loss is expanded: probabilities are 1/(1 + e^(−(a u + b))) with u = (φ −
/// center) · scale.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LogOdds {
    /// Subtracted from the score.
    pub center: f64,
    /// Multiplies the difference.
    pub scale: f64,
    /// a.
    pub slope: f64,
    /// b.
    pub intercept: f64,
}

/// [`LogOdds`] for W points side by side.
#[derive(Clone, Copy)]
pub(super) struct LogOddsLanes<const W: usize> {
    pub(super) center: [f64; W],
    pub(super) scale: [f64; W],
    pub(super) slope: [f64; W],
    pub(super) intercept: [f64; W],
}

impl<const W: usize> LogOddsLanes<W> {
    pub(super) fn of(at: &[LogOdds]) -> Self {
        let lanes = |of: fn(&LogOdds) -> f64| {
            let mut lanes = [0.0; W];
            lanes.iter_mut().zip(at).for_each(|(l, at)| *l = of(at));
            lanes
        };
        Self {
            center: lanes(|at| at.center),
            scale: lanes(|at| at.scale),
            slope: lanes(|at| at.slope),
            intercept: lanes(|at| at.intercept),
        }
    }
}

vectorized! {
    /// Adds the sums of a tile. `targets` are the target probabilities of negative and positive
    /// rows.
    pub(super) fn expand<const W: usize>(
        rows: &Rows<'_>,
        scores: &[[f64; W]],
        at: &LogOddsLanes<W>,
        targets: [f64; 2],
        sums: &mut [[f64; W]; N_SUMS],
    ) {
        for ((w, y), scores) in rows.weights().iter().zip(rows.labels()).zip(scores) {
            let (t, sign) = if *y > 0.0 { (targets[1], 1.0) } else { (targets[0], -1.0) };
            let counts = if *w > 0.0 { [0.5 - 0.5 * sign, 0.5 + 0.5 * sign] } else { [0.0; 2] };
            for p in 0..W {
                let u = (scores[p] - at.center[p]) * at.scale[p];
                let z = at.slope[p] * u + at.intercept[p];
                let e = z.abs().exp_minus();
                let small = e / (1.0 + e);
                let probability = if z >= 0.0 { 1.0 - small } else { small };
                let off = w * (probability - t);
                let bend = w * small * (1.0 - small);
                sums[0][p] += w * u;
                sums[1][p] += w * u * u;
                sums[2][p] += if sign * scores[p] < 0.0 { *w } else { 0.0 };
                // −t log p − (1 − t) log(1 − p)
                sums[3][p] += w * (e.log_one_plus() + z.max(0.0) - t * z);
                sums[4][p] += off * u;
                sums[5][p] += off;
                sums[6][p] += bend * u * u;
                sums[7][p] += bend * u;
                sums[8][p] += bend;
                sums[9][p] += counts[0];
                sums[10][p] += counts[1];
            }
        }
    }
}
