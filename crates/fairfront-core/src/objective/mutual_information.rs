use super::by_group::{ByGroup, Condition};
use super::{ErrorRate, Means, Objective, Output, Temperature};
use crate::engine::Statistics;
use crate::measure::{Measure, information};
use crate::{Attribute, Error};

/// The mutual information of the smooth decision and the attribute, in nats, after Kamishima's
/// prejudice index. Rates are kept away from 0 and 1.
#[derive(Debug, Clone)]
pub struct MutualInformation {
    groups: ByGroup,
    /// τ; that of [`ErrorRate`] by default.
    pub tau: f64,
    /// Rates are kept this far from 0 and 1; 1e-6 by default.
    pub clamp: f64,
}

impl MutualInformation {
    /// The objective with default settings; `attribute` is at position `index` of the schema.
    pub fn new(index: usize, attribute: &Attribute) -> Self {
        Self {
            groups: ByGroup::new(index, attribute, vec![Condition::All]),
            tau: ErrorRate::TAU,
            clamp: 1e-6,
        }
    }

    /// Shrinks rates of groups toward the overall rate, as if each group had additional rows: this
    /// share of all rows, with the overall rate.
    #[must_use]
    pub fn shrunk(mut self, share: f64) -> Self {
        self.groups.shrink = share;
        self
    }
}

impl Objective for MutualInformation {
    fn name(&self) -> String {
        format!("mutual_information({})", self.groups.attribute_name)
    }

    fn definition(&self) -> String {
        let mut settings = self.groups.settings();
        settings.push(format!("tau={}, clamp={}", self.tau, self.clamp));
        format!("mutual_information({})", settings.join(", "))
    }

    fn statistics(&self) -> Statistics<'_> {
        self.groups.statistics(Output::Decision { tau: self.tau })
    }

    fn outer(&self, means: &Means<'_>, slope: &mut [f64]) -> Result<f64, Error> {
        slope.fill(0.0);
        let of = self.groups.of_condition(0, means);
        let (low, high) = (self.clamp, 1.0 - self.clamp);
        let rates: Vec<f64> = of.means.iter().map(|r| r.clamp(low, high)).collect();
        // Use the overall rate of the clamped rates; otherwise the information could be negative.
        let overall: f64 = rates.iter().zip(&of.shares).map(|(r, p)| r * p).sum();
        let value = information(&rates, &of.shares);
        // The derivative with respect to the overall rate is 0, because this rate minimizes the
        // value.
        let odds = |r: f64| libm::log(r / (1.0 - r));
        let by_rate = |(i, rate): (usize, &f64)| match of.means[i] == *rate {
            true => of.shares[i] * (odds(*rate) - odds(overall)),
            false => 0.0,
        };
        let by_rate: Vec<f64> = rates.iter().enumerate().map(by_rate).collect();
        self.groups.add_slopes(&of, &by_rate, 0.0, slope);
        Ok(value)
    }

    fn temperature(&self) -> Option<&dyn Temperature> {
        Some(self)
    }

    fn measure(&self) -> Option<Measure> {
        let attribute = self.groups.attribute;
        Some(Measure::MutualInformation { attribute })
    }

    fn negligible(&self) -> f64 {
        // Two groups of the same size whose rates are 1e-4 apart.
        5e-9
    }
}

impl Temperature for MutualInformation {
    fn softened(&self, factor: f64) -> Box<dyn Objective> {
        let tau = self.tau * factor;
        Box::new(Self {
            tau,
            ..self.clone()
        })
    }
}
