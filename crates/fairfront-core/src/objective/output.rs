use crate::lanes::{LANES, Lanes, sigmoid_minus, softplus_minus, vectorised};
use crate::predictor::Rows;

/// What of a row's score φ the statistics of an objective are made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Output {
    /// φ itself.
    Score,
    /// σ(φ/τ), the smooth version of the decision Ŷ = +1: 1 above 0 and 0 below as τ falls.
    Decision {
        /// τ.
        tau: f64,
    },
    /// log(1 + exp(−yφ)), the loss of the row.
    Loss,
}

impl Output {
    /// Writes the outputs of each row; of [`Output::Score`] there is nothing to find.
    pub(crate) fn find(self, rows: &Rows, scores: &[Lanes], out: &mut [Lanes]) {
        match self {
            Self::Score => out[..rows.len()].copy_from_slice(&scores[..rows.len()]),
            Self::Decision { tau } => decisions(&scores[..rows.len()], -1.0 / tau, out),
            Self::Loss => losses(rows.labels(), scores, out),
        }
    }

    /// Adds slopes by the output, as slopes by the score, to those of each row.
    pub(crate) fn pull_back(
        self,
        rows: &Rows,
        scores: &[Lanes],
        outputs: &[Lanes],
        by_output: &[Lanes],
        by_score: &mut [Lanes],
    ) {
        let n = rows.len();
        match self {
            Self::Score => add(&by_output[..n], by_score),
            Self::Decision { tau } => {
                add_by_decision(&outputs[..n], 1.0 / tau, by_output, by_score);
            }
            Self::Loss => add_by_loss(rows.labels(), scores, by_output, by_score),
        }
    }
}

vectorised! {
    fn decisions(scores: &[Lanes], factor: f64, out: &mut [Lanes]) {
        for (score, out) in scores.iter().zip(out) {
            for p in 0..LANES {
                out[p] = sigmoid_minus(factor * score[p]);
            }
        }
    }
}

vectorised! {
    fn losses(labels: &[f64], scores: &[Lanes], out: &mut [Lanes]) {
        for ((y, score), out) in labels.iter().zip(scores).zip(out) {
            for p in 0..LANES {
                out[p] = softplus_minus(y * score[p]);
            }
        }
    }
}

vectorised! {
    fn add(by_output: &[Lanes], by_score: &mut [Lanes]) {
        for (slope, out) in by_output.iter().zip(by_score) {
            for p in 0..LANES {
                out[p] += slope[p];
            }
        }
    }
}

vectorised! {
    fn add_by_decision(
        decisions: &[Lanes],
        factor: f64,
        by_output: &[Lanes],
        by_score: &mut [Lanes],
    ) {
        for ((decision, slope), out) in decisions.iter().zip(by_output).zip(by_score) {
            for p in 0..LANES {
                out[p] += factor * decision[p] * (1.0 - decision[p]) * slope[p];
            }
        }
    }
}

vectorised! {
    fn add_by_loss(
        labels: &[f64],
        scores: &[Lanes],
        by_output: &[Lanes],
        by_score: &mut [Lanes],
    ) {
        for (((y, score), slope), out) in labels.iter().zip(scores).zip(by_output).zip(by_score) {
            for p in 0..LANES {
                out[p] -= y * sigmoid_minus(y * score[p]) * slope[p];
            }
        }
    }
}
