use super::by_group::{ByGroup, Condition};
use super::smooth::{log_mean_exp, smooth_range};
use super::{Means, Objective, Output, Temperature};
use crate::engine::Statistics;
use crate::measure::Measure;
use crate::{Attribute, Error};

/// The comparison of distributions, given the difference between groups at each threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum Distance {
    /// The largest difference, as in the Kolmogorov–Smirnov statistic.
    #[default]
    Largest,
    /// The mean difference, as in the Wasserstein distance between ranks.
    Mean,
}

/// How far the distributions of predicted numbers in the groups are apart: at each threshold t of the
/// target's unit, the smooth range over groups of the smooth shares E[σ((t − φ)/τ) | A = g].
#[derive(Debug, Clone)]
pub struct DistributionDifference {
    groups: ByGroup,
    /// τ, in standard deviations of the target; 0.1 by default.
    pub tau: f64,
    /// Sharpness of the smooth maximum and minimum; 50 by default.
    pub beta: f64,
    /// The comparison.
    pub distance: Distance,
}

impl DistributionDifference {
    /// An objective; `attribute` is at position `index` of the schema.
    pub fn new(distance: Distance, index: usize, attribute: &Attribute) -> Self {
        Self {
            groups: ByGroup::new(index, attribute, vec![Condition::All]),
            tau: 0.1,
            beta: 50.0,
            distance,
        }
    }

    /// Shrinks shares of groups toward the overall share, as if each group had additional rows: this
    /// share of all rows, with the overall share.
    #[must_use]
    pub fn shrunk(mut self, share: f64) -> Self {
        self.groups.shrink = share;
        self
    }

    /// The range at the threshold whose cells start here. Adds its slopes times a factor.
    fn at(&self, first: usize, means: &Means<'_>, factor: f64, slope: &mut [f64]) -> f64 {
        let of = self.groups.of_cells(first, None, means);
        if of.means.is_empty() {
            return 0.0;
        }
        let mut by_mean = vec![0.0; of.means.len()];
        let value = smooth_range(&of.means, self.beta, &mut by_mean);
        by_mean.iter_mut().for_each(|d| *d *= factor);
        self.groups.add_slopes(&of, &by_mean, 0.0, slope);
        value
    }
}

impl Objective for DistributionDifference {
    fn name(&self) -> String {
        let attribute = &self.groups.attribute_name;
        match self.distance {
            Distance::Largest => format!("distribution_difference({attribute})"),
            Distance::Mean => format!("distribution_difference({attribute}, kind=wasserstein)"),
        }
    }

    fn definition(&self) -> String {
        let mut settings = self.groups.settings();
        if self.distance == Distance::Mean {
            settings.push("kind=wasserstein".into());
        }
        settings.push(format!("tau={}, beta={}", self.tau, self.beta));
        format!("distribution_difference({})", settings.join(", "))
    }

    fn statistics(&self) -> Statistics<'_> {
        self.groups.statistics(Output::AtMost { tau: self.tau })
    }

    fn outer(&self, means: &Means<'_>, slope: &mut [f64]) -> Result<f64, Error> {
        slope.fill(0.0);
        let firsts = (0..means.values.len()).step_by(self.groups.n_groups);
        let firsts: Vec<usize> = firsts.collect();
        let n = firsts.len() as f64;
        if firsts.is_empty() {
            return Ok(0.0);
        }
        if self.distance == Distance::Mean {
            let values = firsts.iter().map(|f| self.at(*f, means, 1.0 / n, slope));
            return Ok(values.sum::<f64>() / n);
        }
        let mut unused = vec![0.0; slope.len()];
        let values = firsts.iter().map(|f| self.at(*f, means, 0.0, &mut unused));
        let values: Vec<f64> = values.collect();
        let mut factors = vec![0.0; values.len()];
        let value = log_mean_exp(&values, self.beta, &mut factors);
        for (first, factor) in firsts.iter().zip(factors) {
            self.at(*first, means, factor, slope);
        }
        Ok(value)
    }

    fn temperature(&self) -> Option<&dyn Temperature> {
        Some(self)
    }

    fn measure(&self) -> Option<Measure> {
        Some(Measure::DistributionDifference {
            attribute: self.groups.attribute,
            distance: self.distance,
        })
    }

    fn negligible(&self) -> f64 {
        smooth_range(&[0.0, 1e-4], self.beta, &mut [0.0; 2])
    }
}

impl Temperature for DistributionDifference {
    fn softened(&self, factor: f64) -> Box<dyn Objective> {
        let tau = self.tau * factor;
        Box::new(Self {
            tau,
            ..self.clone()
        })
    }
}
