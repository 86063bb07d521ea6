use super::by_group::{ByGroup, Condition};
use super::smooth::smooth_range;
use super::{Means, Objective, Output, Spread};
use crate::engine::Statistics;
use crate::measure::Measure;
use crate::{Attribute, Error};

/// A difference between means, in standard deviations of the target, that is too small to matter.
const UNSEEN: f64 = 1e-4;

/// The spread over groups of the mean predictions E[φ | A = g] of a number.
#[derive(Debug, Clone)]
pub struct MeanDifference {
    groups: ByGroup,
    /// Sharpness of the smooth maximum and minimum; 50 by default.
    pub beta: f64,
    /// The comparison of means.
    pub spread: Spread,
}

impl MeanDifference {
    /// An objective; `attribute` is at position `index` of the schema.
    pub fn new(index: usize, attribute: &Attribute) -> Self {
        Self {
            groups: ByGroup::new(index, attribute, vec![Condition::All]),
            beta: 50.0,
            spread: Spread::default(),
        }
    }

    /// Shrinks means of groups toward the overall mean, as if each group had additional rows: this
    /// share of all rows, with the overall mean.
    #[must_use]
    pub fn shrunk(mut self, share: f64) -> Self {
        self.groups.shrink = share;
        self
    }
}

impl Objective for MeanDifference {
    fn name(&self) -> String {
        format!("mean_difference({})", self.groups.attribute_name)
    }

    fn definition(&self) -> String {
        let mut settings = self.groups.settings();
        settings.push(match self.spread {
            Spread::Range => format!("spread=range, beta={}", self.beta),
            Spread::Variance => "spread=variance".into(),
        });
        format!("mean_difference({})", settings.join(", "))
    }

    fn statistics(&self) -> Statistics<'_> {
        self.groups.statistics(Output::Score)
    }

    fn outer(&self, means: &Means<'_>, slope: &mut [f64]) -> Result<f64, Error> {
        slope.fill(0.0);
        let of = self.groups.of_condition(0, means);
        if of.means.is_empty() {
            return Ok(0.0);
        }
        let mut by_mean = vec![0.0; of.means.len()];
        let (value, by_overall) = match self.spread {
            Spread::Range => (smooth_range(&of.means, self.beta, &mut by_mean), 0.0),
            Spread::Variance => of.variance(&mut by_mean),
        };
        self.groups.add_slopes(&of, &by_mean, by_overall, slope);
        Ok(value)
    }

    fn measure(&self) -> Option<Measure> {
        let attribute = self.groups.attribute;
        Some(Measure::MeanDifference { attribute })
    }

    fn negligible(&self) -> f64 {
        match self.spread {
            Spread::Range => smooth_range(&[0.0, UNSEEN], self.beta, &mut [0.0; 2]),
            Spread::Variance => 0.25 * UNSEEN * UNSEEN,
        }
    }

    /// A log-sum-exp of means that are linear in x is convex, and so is that of their negatives.
    fn convex_below(&self) -> Option<f64> {
        Some(f64::INFINITY)
    }
}
