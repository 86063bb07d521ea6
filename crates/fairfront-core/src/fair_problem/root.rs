//! Values and gradients of the covariances whose squares make up objectives.

use super::{FairProblem, LinearMeans};
use crate::Error;
use crate::engine::{Over, Wanted};
use crate::objective::{Means, Root};
use crate::problem::{Points, Roots};

impl FairProblem {
    pub(super) fn roots_and_gradients(
        &self,
        objective: usize,
        point: &[f64],
    ) -> Result<Roots, Error> {
        let prepared = &self.objectives[objective];
        let at = Points::from_vec(self.n_params, point.to_vec());
        let roots = self.roots_of(objective, &at)?.swap_remove(0);
        let gradients = match &prepared.linear {
            Some(linear) => roots.iter().map(|root| linear.gradient(root)).collect(),
            None => self.pull_back_roots(objective, &roots, point)?,
        };
        Ok(Roots {
            values: roots.iter().map(|root| root.value).collect(),
            gradients,
            affine: prepared.linear.is_some(),
        })
    }

    /// [`Objective::zeros`](crate::Objective::zeros) at a point, if they are affine.
    pub(super) fn zeros_at(
        &self,
        objective: usize,
        point: &[f64],
        value: f64,
    ) -> Option<(Roots, f64)> {
        let prepared = &self.objectives[objective];
        let linear = prepared.linear.as_ref()?;
        let mut means = Vec::new();
        linear.means(point, &mut means);
        let means = Means {
            values: &means,
            shares: &prepared.weights.shares,
            n_labels: prepared.weights.n_labels,
        };
        let zeros = prepared.objective.zeros(&means, value)?;
        let roots = Roots {
            values: zeros.roots.iter().map(|root| root.value).collect(),
            gradients: zeros.roots.iter().map(|r| linear.gradient(r)).collect(),
            affine: true,
        };
        Some((roots, zeros.reach))
    }

    pub(super) fn root_values_at(
        &self,
        objective: usize,
        points: &Points,
    ) -> Result<Vec<f64>, Error> {
        let roots = self.roots_of(objective, points)?;
        Ok(roots.iter().flatten().map(|root| root.value).collect())
    }

    /// The mean of Σⱼ |xⱼzⱼ| + |b| over all rows, or of |φ| if scores are not linear: the sum of
    /// the terms of a covariance if no two of them cancel. Rounding errors of covariances are
    /// proportional to it, even if the covariances are small. It cannot be derived from gradients
    /// of covariances, which are themselves sums over rows.
    pub(super) fn score_size(&self, point: &[f64]) -> Result<f64, Error> {
        let points = Points::from_vec(self.n_params, point.to_vec());
        let sums = self.engine.sum(&self.pass(&points, Wanted::Sizes))?;
        Ok(sums[4] / (sums[0] + sums[2]).max(f64::MIN_POSITIVE))
    }

    /// The roots of an objective at each point.
    fn roots_of(&self, index: usize, points: &Points) -> Result<Vec<Vec<Root>>, Error> {
        let prepared = &self.objectives[index];
        let Some(squares) = prepared.objective.squares() else {
            return Ok(vec![Vec::new(); points.len()]);
        };
        let total = prepared.weights.total;
        let of_means = |means: &[f64]| {
            squares.roots(&Means {
                values: means,
                shares: &prepared.weights.shares,
                n_labels: prepared.weights.n_labels,
            })
        };
        if let Some(linear) = &prepared.linear {
            let mut means = Vec::new();
            return Ok(points
                .iter()
                .map(|point| {
                    means.clear();
                    linear.means(point, &mut means);
                    of_means(&means)
                })
                .collect());
        }
        let statistics = [prepared.objective.statistics()];
        let mut sums = self.sums_of(self.engine.as_ref(), &statistics, points, Over::All)?;
        sums.values.iter_mut().for_each(|sum| *sum /= total);
        let of_points = sums.values.chunks_exact(sums.per_point.max(1));
        Ok(of_points.map(of_means).collect())
    }

    /// Gradients of roots at one point. The point is repeated for each root, each time with the
    /// slopes of that root, so that one pass over the rows computes all gradients.
    fn pull_back_roots(
        &self,
        index: usize,
        roots: &[Root],
        point: &[f64],
    ) -> Result<Vec<Vec<f64>>, Error> {
        let prepared = &self.objectives[index];
        let total = prepared.weights.total;
        let points = Points::from_vec(self.n_params, point.repeat(roots.len()));
        let slopes = roots.iter().flat_map(|root| &root.slope);
        let slopes: Vec<f64> = slopes.map(|slope| slope / total).collect();
        let statistics = [prepared.objective.statistics()];
        let gradients = self.pull_back(&statistics, &points, &slopes, Over::All)?;
        Ok(gradients
            .chunks_exact(self.n_params)
            .map(<[f64]>::to_vec)
            .collect())
    }
}

impl LinearMeans {
    /// ∇c = Σ ∂c/∂mean · ∇mean.
    fn gradient(&self, root: &Root) -> Vec<f64> {
        let mut gradient = vec![0.0; self.slopes.first().map_or(0, Vec::len)];
        self.add_gradient(&root.slope, 1.0, &mut gradient);
        gradient
    }
}
