//! Bounds on parameters of models with a small loss.

use super::{FairProblem, Prepared};
use crate::Error;
use crate::engine::{Cells, Labels, Over, Statistics, Wanted};
use crate::objective::Output;
use crate::problem::{Bounds, Points};

impl FairProblem {
    /// If the first objective, E[log(1 + exp(−yφ))] + (λ/2)‖c‖² with φ = c·z + b, is at most
    /// `level` = F, then ‖c‖ ≤ R = √(2F/λ). For the rows with label ±1, with share p of the weight
    /// and mean features z̄, Jensen's inequality gives log(1 + exp(∓φ̄)) ≤ F/p, so that ±φ̄ ≥
    /// −log(e^{F/p} − 1) and ±b ≥ −log(e^{F/p} − 1) − R‖z̄‖. With both labels, b is bounded.
    pub(super) fn bounds_at(&self, level: f64) -> Result<Option<Bounds>, Error> {
        let Some(prepared) = self.objectives.first() else {
            return Ok(None);
        };
        let objective = prepared.objective.as_ref();
        if self.predictor.as_linear().is_none()
            || !is_mean_loss(prepared)?
            || level.is_nan()
            || level < 0.0
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
            let share = side.weight / prepared.weights.total;
            // log(e^s − 1) ≤ s.
            let score = level / share;
            intercept = intercept.max(score + largest * side.norm);
        }
        let penalized = self.predictor.penalized(self.engine.schema());
        let of = |i: usize, inside: f64, outside: f64| match penalized.contains(&i) {
            true => inside,
            false => outside,
        };
        let mean_size = sides
            .iter()
            .map(|side| side.weight * side.size)
            .sum::<f64>();
        Ok(Some(Bounds {
            // ∂²/∂b∂c is E[σ′z], and σ′ ≤ 1/4; |σ″| ≤ σ′ limits how fast curvatures change.
            coupling: Some(0.25 * mean_size / prepared.weights.total),
            modulus: (0..n).map(|i| of(i, lambda, 0.0)).collect(),
            radius: (0..n).map(|i| of(i, largest, intercept)).collect(),
        }))
    }

    /// Means over the rows with label +1, and over those with label −1.
    fn label_means(&self) -> Result<[LabelMean; 2], Error> {
        if let Some(known) = self.label_means.get() {
            return Ok(*known);
        }
        let n = self.n_params;
        let by_label = Statistics::ByCell {
            output: Output::Score,
            cells: Cells {
                attribute: None,
                labels: Labels::Apart,
            },
        };
        let zeros = Points::from_vec(n, vec![0.0; 2 * n]);
        let features = self.pull_back(&[by_label], &zeros, &[1.0, 0.0, 0.0, 1.0], Over::All)?;
        let none = Points::new(n);
        let sizes = self.engine.sum(&self.pass(&none, Wanted::Sizes))?;
        let linear = self.predictor.as_linear();
        let constant = linear.and_then(|linear| linear.constant(self.engine.schema()));
        let mean = |side: usize| {
            let (weight, size) = (sizes[2 * side], sizes[2 * side + 1]);
            let own = features[side * n..(side + 1) * n].iter().enumerate();
            let own = own.filter(|(i, _)| Some(*i) != constant);
            let square: f64 = own.map(|(_, s)| (s / weight).powi(2)).sum();
            LabelMean {
                weight,
                size: if weight > 0.0 { size / weight } else { 0.0 },
                // Without such rows, nothing bounds the intercept.
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

/// Whether an objective is the mean log loss of all rows, plus its penalty.
fn is_mean_loss(prepared: &Prepared) -> Result<bool, Error> {
    let Statistics::ByCell { output, cells } = prepared.objective.statistics() else {
        return Ok(false);
    };
    if output != Output::Loss || cells != Cells::ALL || !prepared.objective.is_affine() {
        return Ok(false);
    }
    Ok(prepared.affine()? == (0.0, vec![1.0]))
}

/// Means over the rows with one label.
#[derive(Debug, Clone, Copy)]
pub(super) struct LabelMean {
    weight: f64,
    /// ‖z̄‖.
    norm: f64,
    /// An upper bound on the mean of ‖z‖.
    size: f64,
}
