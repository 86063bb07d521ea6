use super::by_group::{ByGroup, Condition};
use super::smooth::smooth_range;
use super::{Means, Objective, Output, Root, Spread, Zeros};
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

    /// The differences of all means from the first one.
    fn zeros(&self, means: &Means<'_>, value: f64) -> Option<Zeros> {
        let of = self.groups.of_condition(0, means);
        let (first, others) = of.means.split_first()?;
        let reach = match self.spread {
            // With K means in a range R, the smooth range is smallest if the others are in its middle:
            // (2/β) log(1 + (2/K)(cosh(βR/2) − 1)).
            Spread::Range => {
                let k = of.means.len() as f64;
                let u = 0.5 * k * libm::expm1(0.5 * self.beta * value.max(0.0));
                2.0 / self.beta * libm::log1p(u + (u * (u + 2.0)).sqrt())
            }
            // Neither mean is farther from the overall mean than √(value/share).
            Spread::Variance => {
                let least = of.shares.iter().copied().fold(f64::INFINITY, f64::min);
                2.0 * (value.max(0.0) / least).sqrt()
            }
        };
        let root = |(at, mean): (usize, &f64)| {
            let mut by_mean = vec![0.0; of.means.len()];
            (by_mean[0], by_mean[at + 1]) = (-1.0, 1.0);
            let mut slope = vec![0.0; means.values.len()];
            self.groups.add_slopes(&of, &by_mean, 0.0, &mut slope);
            Root {
                value: mean - first,
                slope,
            }
        };
        let roots: Vec<Root> = others.iter().enumerate().map(root).collect();
        // Values far below the precision of means are mostly rounding errors.
        let largest = roots.iter().map(|root| root.value.abs());
        let reach = largest.fold(reach, f64::max);
        Some(Zeros { roots, reach })
    }

    /// A log-sum-exp of means that are linear in x is convex, and so is that of their negatives.
    fn convex_below(&self) -> Option<f64> {
        Some(f64::INFINITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SmallGroups;

    #[test]
    fn no_difference_is_larger_than_the_reach_of_its_value() {
        let attribute = Attribute {
            name: "a".into(),
            groups: ["x", "y", "z"].map(String::from).to_vec(),
            small: SmallGroups::default(),
            reference: None,
        };
        let shares = [0.2, 0.3, 0.5, 0.0, 0.0, 0.0];
        for (spread, shrink) in [
            (Spread::Range, 0.0),
            (Spread::Range, 0.1),
            (Spread::Variance, 0.0),
        ] {
            let mut of = MeanDifference::new(0, &attribute).shrunk(shrink);
            of.spread = spread;
            for size in [1e-12, 1e-3, 1.0] {
                // The first and the last mean are the extremes; the one in between is anywhere.
                for between in [0.0, 0.3, 0.5, 1.0] {
                    let values: [f64; 3] =
                        std::array::from_fn(|g| size * shares[g] * [0.0, between, 1.0][g]);
                    let means = Means {
                        values: &values,
                        shares: &shares,
                        n_labels: 2,
                    };
                    let value = of.outer(&means, &mut [0.0; 3]).expect("a value");
                    let zeros = of.zeros(&means, value).expect("two differences");
                    let largest = zeros.roots.iter().map(|r| r.value.abs());
                    let largest = largest.fold(0.0, f64::max);
                    assert!(largest <= zeros.reach, "{largest} {zeros:?}");
                    // The value is a difference of logarithms, which loses digits if it is small.
                    assert!(value == 0.0 || zeros.reach <= 3.0 * size + 1e-12);
                    // With the other mean in the middle, the range is known exactly.
                    if (between, shrink) == (0.5, 0.0) && spread == Spread::Range {
                        assert!((zeros.reach / largest - 1.0).abs() < 1e-4);
                    }
                    for root in &zeros.roots {
                        let slopes = root.slope.iter().zip(&values);
                        let linear: f64 = slopes.map(|(slope, value)| slope * value).sum();
                        assert!((linear - root.value).abs() <= 1e-12 * size);
                    }
                }
            }
        }
    }
}
