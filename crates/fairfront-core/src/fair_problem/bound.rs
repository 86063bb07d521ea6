//! Bounds on parameters of models with a small loss.

use super::{FairProblem, Prepared};
use crate::Error;
use crate::engine::{Cells, Labels, Over, Statistics, Wanted};
use crate::objective::{Moment, Output, Residual};
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
        if self.predictor.as_linear().is_none() || level.is_nan() || level < 0.0 {
            return Ok(None);
        }
        let Some(loss) = mean_loss(prepared)? else {
            return Ok(None);
        };
        let n = self.n_params;
        let lambda = prepared.objective.penalty();
        let largest = match lambda > 0.0 {
            true => (2.0 * level / lambda).sqrt(),
            false => f64::INFINITY,
        };
        let total = prepared.weights.total;
        let sides = self.label_means()?;
        let mean_size = sides
            .iter()
            .map(|side| side.weight * side.size)
            .sum::<f64>()
            / total;
        let (intercept, coupling) = match loss {
            Output::Residual(of) => {
                // E|φ − y| ≥ |φ̄ − ȳ|, and the loss grows at least linearly, or as a square.
                let (factor, offset) = of.growth().unwrap_or((1.0, 0.0));
                let score = match of {
                    Residual::Squared => level.sqrt(),
                    _ => (level + offset) / factor,
                };
                let norm = sides
                    .iter()
                    .map(|side| side.weight * side.norm)
                    .sum::<f64>()
                    / total;
                let intercept = score + self.mean_label()?.abs() + largest * norm;
                // ∂²/∂b∂c is E[2z], and squares have no third derivatives.
                (
                    intercept,
                    (of == Residual::Squared).then_some(2.0 * mean_size),
                )
            }
            _ => {
                let mut intercept = 0.0_f64;
                for side in &sides {
                    // log(e^s − 1) ≤ s.
                    let score = level * total / side.weight;
                    intercept = intercept.max(score + largest * side.norm);
                }
                // ∂²/∂b∂c is E[σ′z], and σ′ ≤ 1/4; |σ″| ≤ σ′ limits how fast curvatures change.
                (intercept, Some(0.25 * mean_size))
            }
        };
        let penalized = self.predictor.penalized(self.engine.schema());
        let of = |i: usize, inside: f64, outside: f64| match penalized.contains(&i) {
            true => inside,
            false => outside,
        };
        Ok(Some(Bounds {
            coupling,
            modulus: (0..n).map(|i| of(i, lambda, 0.0)).collect(),
            radius: (0..n).map(|i| of(i, largest, intercept)).collect(),
        }))
    }

    /// The mean of the labels.
    fn mean_label(&self) -> Result<f64, Error> {
        let labels = Statistics::ByCell {
            output: Output::Moment(Moment::Label),
            cells: Cells::ALL,
        };
        let zero = Points::from_vec(self.n_params, vec![0.0; self.n_params]);
        let sums = self.sums_of(self.engine.as_ref(), &[labels], &zero, Over::All)?;
        Ok(sums.values[0] / sums.weights[0].total)
    }

    /// Means over the rows with a label above 0, and over the others.
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

/// The loss whose mean over all rows an objective is, apart from its penalty.
fn mean_loss(prepared: &Prepared) -> Result<Option<Output>, Error> {
    let Some(output) = prepared.summed_loss() else {
        return Ok(None);
    };
    Ok((prepared.affine()? == (0.0, vec![1.0])).then_some(output))
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
