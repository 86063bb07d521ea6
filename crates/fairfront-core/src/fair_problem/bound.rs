//! How large parameters can be where the loss is small.

use super::FairProblem;
use crate::Error;
use crate::problem::Bounds;

impl FairProblem {
    /// Where the first objective, E[log(1 + exp(−yφ))] + (λ/2)‖c‖² with φ = c·z + b, is at most
    /// `level` = F: ‖c‖ ≤ R = √(2F/λ). Of the rows with label ±1, with share p of the weight and mean
    /// features z̄, Jensen's inequality gives log(1 + exp(∓φ̄)) ≤ F/p, so that ±φ̄ ≥ −log(e^{F/p} − 1)
    /// and ±b ≥ −log(e^{F/p} − 1) − R‖z̄‖; with both labels b is bounded.
    pub(super) fn bounds_at(&self, level: f64) -> Result<Option<Bounds>, Error> {
        let Some(prepared) = self.objectives.first() else {
            return Ok(None);
        };
        let objective = prepared.objective.as_ref();
        if !self.predictor.is_linear() || !objective.is_log_loss() || level.is_nan() || level < 0.0
        {
            return Ok(None);
        }
        let n = self.n_params;
        let lambda = objective.penalty();
        let largest = match lambda > 0.0 {
            true => (2.0 * level / lambda).sqrt(),
            false => f64::INFINITY,
        };
        let mut intercept = 0.0_f64;
        let sides = self.label_means()?;
        for side in &sides {
            let share = side.weight / prepared.weight.max(f64::MIN_POSITIVE);
            // log(e^s − 1) ≤ s.
            let score = level / share;
            intercept = intercept.max(score + largest * side.norm);
        }
        let penalised = self.predictor.penalised(self.rows.schema());
        let of = |i: usize, inside: f64, outside: f64| match penalised.contains(&i) {
            true => inside,
            false => outside,
        };
        let mean_size = sides
            .iter()
            .map(|side| side.weight * side.size)
            .sum::<f64>();
        Ok(Some(Bounds {
            // ∂²/∂b∂c is E[σ′z], and σ′ ≤ 1/4; |σ″| ≤ σ′ limits how fast curvatures change.
            coupling: Some(0.25 * mean_size / prepared.weight.max(f64::MIN_POSITIVE)),
            modulus: (0..n).map(|i| of(i, lambda, 0.0)).collect(),
            radius: (0..n).map(|i| of(i, largest, intercept)).collect(),
        }))
    }

    /// Weight and size of the mean features of the rows with label +1, and with −1.
    fn label_means(&self) -> Result<[LabelMean; 2], Error> {
        if let Some(known) = self.label_means.get() {
            return Ok(*known);
        }
        let n = self.n_params;
        let mut sums = [vec![0.0; n + 1], vec![0.0; n + 1]];
        let mut weights = [0.0; 2];
        let mut sizes = [0.0; 2];
        for index in 0..self.rows.n_blocks() {
            let block = self.rows.block(index)?;
            for row in 0..block.n_rows() {
                let side = usize::from(block.labels()[row] < 0.0);
                let weight = block.weights()[row];
                weights[side] += weight;
                let numeric = block.numeric(row).iter().map(|z| z * z).sum::<f64>();
                let size = (numeric + block.codes(row).len() as f64).sqrt();
                sizes[side] += weight * size;
                for (sum, z) in sums[side].iter_mut().zip(block.numeric(row)) {
                    *sum += weight * z;
                }
                for code in block.codes(row) {
                    sums[side][*code as usize] += weight;
                }
            }
        }
        let mean = |side: usize| {
            let weight: f64 = weights[side];
            let features = &sums[side][..n - 1];
            let square: f64 = features.iter().map(|s| (s / weight).powi(2)).sum();
            LabelMean {
                weight,
                size: if weight > 0.0 {
                    sizes[side] / weight
                } else {
                    0.0
                },
                // Without such rows nothing bounds the intercept.
                norm: if weight > 0.0 {
                    square.sqrt()
                } else {
                    f64::INFINITY
                },
            }
        };
        Ok(*self.label_means.get_or_init(|| [mean(0), mean(1)]))
    }
}

/// Of the rows with one label.
#[derive(Debug, Clone, Copy)]
pub(super) struct LabelMean {
    weight: f64,
    /// ‖z̄‖.
    norm: f64,
    /// The mean of ‖z‖, at most.
    size: f64,
}
