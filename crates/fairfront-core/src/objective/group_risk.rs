use super::by_group::{ByGroup, Condition};
use super::smooth::log_mean_exp;
use super::{Means, Objective, Output};
use crate::engine::Statistics;
use crate::{Attribute, Error};

/// What is made of the groups' losses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Risk {
    /// Their variance, groups weighted by their shares.
    Variance,
    /// After Williamson and Menon: by how much the mean over the worst 1 − α of the groups, by
    /// share, exceeds the mean over all (the conditional value at risk less the mean).
    Cvar {
        /// α, above 0 and below 1.
        alpha: f64,
        /// Width over which the corner of the definition is made smooth, in units of the loss.
        mu: f64,
    },
    /// The smooth largest: `worst_group_loss`.
    Worst {
        /// Its sharpness.
        beta: f64,
    },
}

/// How unequal the log losses of groups are, or the largest of them.
#[derive(Debug, Clone)]
pub struct GroupRisk {
    groups: ByGroup,
    /// What is made of the losses.
    pub risk: Risk,
}

impl GroupRisk {
    /// An objective; `attribute` is at position `index` of the schema.
    pub fn new(risk: Risk, index: usize, attribute: &Attribute) -> Self {
        Self {
            groups: ByGroup::new(index, attribute, vec![Condition::All]),
            risk,
        }
    }

    /// As if each group had this share of all rows in addition, with the overall loss.
    #[must_use]
    pub fn shrunk(mut self, share: f64) -> Self {
        self.groups.shrink = share;
        self
    }
}

/// min over ρ of ρ + E[μ log(1 + exp((L − ρ)/μ))] / (1 − α), less its value where all L are 0: the mean
/// of the worst 1 − α as μ falls. Its derivatives are written to `slope`.
fn smooth_cvar(losses: &[f64], shares: &[f64], alpha: f64, mu: f64, slope: &mut [f64]) -> f64 {
    let sigmoid = |v: f64| 1.0 / (1.0 + libm::exp(-v));
    let softplus = |v: f64| v.max(0.0) + libm::log1p(libm::exp(-v.abs()));
    // Where all are alike ρ is this far below them; so it is between these bounds in general.
    let below = mu * libm::log((1.0 - alpha) / alpha);
    let extremes = losses
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), l| {
            (low.min(*l), high.max(*l))
        });
    let (mut low, mut high) = (extremes.0 - below, extremes.1 - below);
    let above = |rho: f64| -> f64 {
        let pairs = losses.iter().zip(shares);
        pairs.map(|(l, p)| p * sigmoid((l - rho) / mu)).sum()
    };
    // The share above ρ falls as ρ rises; 1 − α of them are to be above.
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        match above(middle) > 1.0 - alpha {
            true => low = middle,
            false => high = middle,
        }
    }
    let rho = 0.5 * (low + high);
    let mut value = rho;
    for ((l, p), slope) in losses.iter().zip(shares).zip(slope) {
        let v = (l - rho) / mu;
        value += p * mu * softplus(v) / (1.0 - alpha);
        // By ρ the derivative is 0, because it makes the value least.
        *slope = p * sigmoid(v) / (1.0 - alpha);
    }
    let alike = mu * softplus(below / mu) / (1.0 - alpha) - below;
    value - alike
}

impl Objective for GroupRisk {
    fn name(&self) -> String {
        let kind = match self.risk {
            Risk::Variance | Risk::Cvar { .. } => "group_risk",
            Risk::Worst { .. } => "worst_group_loss",
        };
        format!("{kind}({})", self.groups.attribute_name)
    }

    fn definition(&self) -> String {
        let settings = self.groups.settings().join(", ");
        match self.risk {
            Risk::Variance => format!("group_risk({settings}, risk=variance)"),
            Risk::Cvar { alpha, mu } => {
                format!("group_risk({settings}, risk=cvar, alpha={alpha}, mu={mu})")
            }
            Risk::Worst { beta } => format!("worst_group_loss({settings}, beta={beta})"),
        }
    }

    fn statistics(&self) -> Statistics<'_> {
        self.groups.statistics(Output::Loss)
    }

    fn outer(&self, means: &Means<'_>, slope: &mut [f64]) -> Result<f64, Error> {
        slope.fill(0.0);
        let of = self.groups.of_condition(0, means);
        if of.means.is_empty() {
            return Ok(0.0);
        }
        let mut by_mean = vec![0.0; of.means.len()];
        let (value, by_overall) = match self.risk {
            Risk::Variance => of.variance(&mut by_mean),
            Risk::Cvar { alpha, mu } => {
                let tail = smooth_cvar(&of.means, &of.shares, alpha, mu, &mut by_mean);
                // The mean of the same losses, which are shrunk: compared with the overall mean,
                // the tail could be below.
                let losses = of.means.iter().zip(&of.shares);
                let all: f64 = losses.map(|(l, p)| l * p).sum();
                by_mean
                    .iter_mut()
                    .zip(&of.shares)
                    .for_each(|(d, p)| *d -= p);
                (tail - all, 0.0)
            }
            Risk::Worst { beta } => (log_mean_exp(&of.means, beta, &mut by_mean), 0.0),
        };
        self.groups.add_slopes(&of, &by_mean, by_overall, slope);
        Ok(value)
    }

    /// A smooth maximum of convex losses that rises with each is convex; differences of losses are
    /// not.
    fn convex_below(&self) -> Option<f64> {
        match self.risk {
            Risk::Worst { .. } => Some(f64::INFINITY),
            _ => None,
        }
    }
}
