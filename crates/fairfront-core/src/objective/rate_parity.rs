use super::by_group::{ByGroup, Condition};
use super::smooth::{log_mean_exp, smooth_range};
use super::{ErrorRate, Means, Objective, Output, Temperature};
use crate::engine::Statistics;
use crate::measure::Measure;
use crate::{Attribute, Error};

/// The comparison of rates of groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spread {
    /// The smooth maximum minus the smooth minimum, as in the reported measures.
    #[default]
    Range,
    /// Squared deviations from the overall rate, weighted by the groups' shares.
    Variance,
}

/// A difference between rates that is too small to matter; [`Objective::negligible`] is the value
/// of the objective at this difference.
const UNSEEN: f64 = 1e-4;

/// The spread over groups of the smooth rates E[σ(φ/τ) | A = g (, Y = ±1)].
#[derive(Debug, Clone)]
pub struct RateParity {
    groups: ByGroup,
    /// τ; that of [`ErrorRate`] by default.
    pub tau: f64,
    /// Sharpness of the smooth maximum and minimum; 50 by default.
    pub beta: f64,
    /// The comparison of rates.
    pub spread: Spread,
}

impl RateParity {
    /// Compares selection rates on all rows (`demographic_parity`), true positive rates
    /// (`equal_opportunity`) or false positive rates (`predictive_equality`). `attribute` is at
    /// position `index` of the schema.
    pub fn new(condition: Condition, index: usize, attribute: &Attribute) -> Self {
        Self::of(vec![condition], index, attribute)
    }

    /// `equalized_odds`: compares true and false positive rates. The value is the smooth maximum of
    /// the two ranges, or the sum of the two variances.
    pub fn equalized_odds(index: usize, attribute: &Attribute) -> Self {
        let both = vec![Condition::Positive, Condition::Negative];
        Self::of(both, index, attribute)
    }

    fn of(conditions: Vec<Condition>, index: usize, attribute: &Attribute) -> Self {
        Self {
            groups: ByGroup::new(index, attribute, conditions),
            tau: ErrorRate::TAU,
            beta: 50.0,
            spread: Spread::default(),
        }
    }

    /// Shrinks rates of groups toward the overall rate, as if each group had additional rows: this
    /// share of all rows, with the overall rate. Small groups then count less.
    #[must_use]
    pub fn shrunk(mut self, share: f64) -> Self {
        self.groups.shrink = share;
        self
    }

    fn kind(&self) -> &'static str {
        match self.groups.conditions.as_slice() {
            [Condition::All] => "demographic_parity",
            [Condition::Positive] => "equal_opportunity",
            [Condition::Negative] => "predictive_equality",
            _ => "equalized_odds",
        }
    }

    /// The spread under one condition. Adds its slopes to `slope`.
    fn of_condition(
        &self,
        condition: usize,
        means: &Means<'_>,
        factor: f64,
        slope: &mut [f64],
    ) -> f64 {
        let of = self.groups.of_condition(condition, means);
        let mut by_mean = vec![0.0; of.means.len()];
        let (value, by_overall) = match self.spread {
            _ if of.means.is_empty() => return 0.0,
            Spread::Range => (smooth_range(&of.means, self.beta, &mut by_mean), 0.0),
            Spread::Variance => of.variance(&mut by_mean),
        };
        by_mean.iter_mut().for_each(|d| *d *= factor);
        self.groups
            .add_slopes(&of, &by_mean, factor * by_overall, slope);
        value
    }
}

impl Objective for RateParity {
    fn name(&self) -> String {
        format!("{}({})", self.kind(), self.groups.attribute_name)
    }

    fn definition(&self) -> String {
        let mut settings = self.groups.settings();
        settings.push(format!("tau={}", self.tau));
        settings.push(match self.spread {
            Spread::Range => format!("spread=range, beta={}", self.beta),
            Spread::Variance => "spread=variance".into(),
        });
        format!("{}({})", self.kind(), settings.join(", "))
    }

    fn statistics(&self) -> Statistics<'_> {
        self.groups.statistics(Output::Decision { tau: self.tau })
    }

    fn outer(&self, means: &Means<'_>, slope: &mut [f64]) -> Result<f64, Error> {
        slope.fill(0.0);
        let n = self.groups.conditions.len();
        if n == 1 {
            return Ok(self.of_condition(0, means, 1.0, slope));
        }
        let mut unused = vec![0.0; slope.len()];
        let mut value = |c: usize| self.of_condition(c, means, 0.0, &mut unused);
        let values: Vec<f64> = (0..n).map(&mut value).collect();
        let mut factors = vec![1.0; n];
        let value = match self.spread {
            Spread::Range => log_mean_exp(&values, self.beta, &mut factors),
            Spread::Variance => values.iter().sum(),
        };
        for (c, factor) in factors.into_iter().enumerate() {
            self.of_condition(c, means, factor, slope);
        }
        Ok(value)
    }

    fn temperature(&self) -> Option<&dyn Temperature> {
        Some(self)
    }

    fn measure(&self) -> Option<Measure> {
        let attribute = self.groups.attribute;
        Some(match self.groups.conditions.as_slice() {
            [Condition::All] => Measure::DemographicParity { attribute },
            [Condition::Positive] => Measure::EqualOpportunity { attribute },
            [Condition::Negative] => Measure::FalsePositiveRate { attribute },
            _ => Measure::EqualizedOdds { attribute },
        })
    }

    fn negligible(&self) -> f64 {
        match self.spread {
            Spread::Range => smooth_range(&[0.0, UNSEEN], self.beta, &mut [0.0; 2]),
            Spread::Variance => 0.25 * UNSEEN * UNSEEN,
        }
    }
}

impl Temperature for RateParity {
    fn softened(&self, factor: f64) -> Box<dyn Objective> {
        let tau = self.tau * factor;
        Box::new(Self {
            tau,
            ..self.clone()
        })
    }
}
