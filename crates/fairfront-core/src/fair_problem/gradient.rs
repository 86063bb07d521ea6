//! Gradients of objectives and of weighted sums of them.

use std::borrow::Cow;

use super::FairProblem;
use crate::Error;
use crate::engine::{Over, Sample, Wanted};
use crate::problem::{Batches, OuterBatch, Points};

impl FairProblem {
    /// The rows of a batch for an objective.
    fn batch(&self, objective: usize, draw: u64, batches: Batches<'_>) -> Over {
        let Batches::Sample { sizes, key, .. } = batches else {
            return Over::All;
        };
        let (seed, keys) = key;
        let size = sizes.get(objective).copied().unwrap_or(usize::MAX);
        if size as u64 >= self.engine.n_rows() {
            return Over::All;
        }
        Over::Sample(Sample {
            strata: self.objectives[objective].objective.statistics().strata(),
            size,
            seed,
            key: [
                keys[0],
                keys[1].wrapping_mul(64) + 2 * objective as u64 + draw,
            ],
        })
    }

    /// Slopes of an objective with respect to its sums, at each point.
    fn slopes(&self, index: usize, points: &Points, over: Over) -> Result<Vec<f64>, Error> {
        let prepared = &self.objectives[index];
        let statistics = [prepared.objective.statistics()];
        let total = prepared.weights.total;
        let k = prepared.n_means(self.engine.as_ref());
        let mut slopes = vec![0.0; points.len() * k];
        if prepared.objective.is_affine() {
            let (_, slope) = prepared.affine()?;
            for own in slopes.chunks_exact_mut(k) {
                own.copy_from_slice(&slope);
            }
        } else {
            let sums = self.sums_of(self.engine.as_ref(), &statistics, points, over)?;
            // Sums over a sample estimate those over all rows.
            let weights = sums.weights[0].with_total(total);
            let mut means = vec![0.0; k];
            for (own, sums) in slopes.chunks_exact_mut(k).zip(sums.values.chunks_exact(k)) {
                for (mean, sum) in means.iter_mut().zip(sums) {
                    *mean = sum / total;
                }
                prepared.outer(&means, &weights, own)?;
            }
        }
        slopes.iter_mut().for_each(|slope| *slope /= total);
        Ok(slopes)
    }

    /// Gradients of one objective at many points, one after the other.
    pub(super) fn gradient(
        &self,
        index: usize,
        points: &Points,
        batches: Batches<'_>,
    ) -> Result<Vec<f64>, Error> {
        let prepared = &self.objectives[index];
        let shared = matches!(
            batches,
            Batches::Sample {
                outer: OuterBatch::Shared,
                ..
            }
        );
        let batch = self.batch(index, 0, batches);
        let mut gradients = if let Some(linear) = &prepared.linear {
            match batch {
                Over::Sample(_) if shared => {
                    // One pass over the batch serves all points.
                    let statistics = prepared.objective.statistics();
                    let (weights, mut linear) = self.linear_means(&statistics, batch)?;
                    let total = prepared.weights.total;
                    linear.scale(weights.total / total);
                    prepared.linear_gradients(&linear, &weights.with_total(total), points)?
                }
                _ => prepared.linear_gradients(linear, &prepared.weights, points)?,
            }
        } else {
            // h′ comes from a separate batch, so that the product of the two factors has no bias to
            // the extent that h′ is linear.
            let of_outer = match shared {
                true => batch,
                false => self.batch(index, 1, batches),
            };
            let slopes = self.slopes(index, points, of_outer)?;
            let statistics = [prepared.objective.statistics()];
            self.pull_back(&statistics, points, &slopes, batch)?
        };
        let of_points = points.iter().zip(gradients.chunks_exact_mut(self.n_params));
        for (point, gradient) in of_points {
            self.add_penalty(prepared.objective.penalty(), point, Some(gradient));
        }
        Ok(gradients)
    }

    /// Values and gradients of one objective at many points, on all rows.
    pub(super) fn evaluate_one(
        &self,
        index: usize,
        points: &Points,
    ) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let prepared = &self.objectives[index];
        let objective = prepared.objective.as_ref();
        if prepared.linear.is_some() || !objective.is_affine() {
            let values = self.values_with(self.engine.as_ref(), &[index], points)?;
            return Ok((values, self.gradient(index, points, Batches::All)?));
        }
        let total = prepared.weights.total;
        let (offset, slope) = prepared.affine()?;
        let by_sum: Vec<f64> = slope.iter().map(|s| s / total).collect();
        let k = by_sum.len();
        let wanted = Wanted::Both {
            statistic: objective.statistics(),
            slopes: Cow::Owned(by_sum.repeat(points.len())),
        };
        let sums = self.engine.sum(&self.pass(points, wanted))?;
        let mut values = Vec::with_capacity(points.len());
        let mut gradients = Vec::with_capacity(points.len() * self.n_params);
        for (point, found) in points.iter().zip(sums.chunks_exact(k + self.n_params)) {
            let (sums, gradient) = found.split_at(k);
            let first = gradients.len();
            gradients.extend_from_slice(gradient);
            let penalty =
                self.add_penalty(objective.penalty(), point, Some(&mut gradients[first..]));
            let terms = slope.iter().zip(sums).map(|(s, sum)| s * (sum / total));
            values.push(offset + terms.sum::<f64>() + penalty);
        }
        Ok((values, gradients))
    }

    /// Weighted sums of objectives: values and one gradient per point, in two passes over the rows.
    /// The first pass gives means and the slopes with respect to them; the second uses these slopes
    /// to sum one gradient per point.
    pub(super) fn weighted_sums(
        &self,
        points: &Points,
        weights: &[f64],
        over: Over,
    ) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let (m, n) = (self.objectives.len(), self.n_params);
        let is_linear = |i: &usize| self.objectives[*i].linear.is_some();
        let by_rows: Vec<usize> = (0..m).filter(|i| !is_linear(i)).collect();
        let statistics = self.statistics_of(&by_rows);
        let sums = self.sums_of(self.engine.as_ref(), &statistics, points, over)?;
        let mut values = Vec::with_capacity(points.len() * m);
        let mut gradients = vec![0.0; points.len() * n];
        let mut slopes = Vec::with_capacity(sums.values.len());
        for (index, point) in points.iter().enumerate() {
            let gradient = &mut gradients[index * n..(index + 1) * n];
            let mut rest = &sums.values[index * sums.per_point..(index + 1) * sums.per_point];
            for (i, prepared) in self.objectives.iter().enumerate() {
                let objective = prepared.objective.as_ref();
                let weight = weights[index * m + i];
                let value = if let Some(linear) = &prepared.linear {
                    let (value, slope) = prepared.of_linear(linear, &prepared.weights, point)?;
                    linear.add_gradient(&slope, weight, gradient);
                    value
                } else {
                    let total = prepared.weights.total;
                    let (own, others) = rest.split_at(prepared.n_means(self.engine.as_ref()));
                    rest = others;
                    let means: Vec<f64> = own.iter().map(|sum| sum / total).collect();
                    let mut slope = vec![0.0; means.len()];
                    let value = prepared.outer(&means, &prepared.weights, &mut slope)?;
                    slopes.extend(slope.iter().map(|s| weight * s / total));
                    value
                };
                values.push(value + self.add_penalty(objective.penalty(), point, None));
                self.add_penalty(weight * objective.penalty(), point, Some(gradient));
            }
        }
        if !by_rows.is_empty() {
            let by_rows = self.pull_back(&statistics, points, &slopes, over)?;
            let pairs = gradients.iter_mut().zip(by_rows);
            pairs.for_each(|(gradient, more)| *gradient += more);
        }
        Ok((values, gradients))
    }
}
