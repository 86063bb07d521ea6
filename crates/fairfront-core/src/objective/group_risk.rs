use super::by_group::{ByGroup, Condition};
use super::residual_loss::residual_setting;
use super::smooth::{log_mean_exp, smooth_range};
use super::{ClassOutput, Means, Objective, Output, Residual};
use crate::engine::Statistics;
use crate::measure::Measure;
use crate::{Attribute, Error};

/// The function of the groups' losses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Risk {
    /// Their variance, with groups weighted by their shares.
    Variance,
    /// The mean over the worst 1 − α of the groups, by share, minus the mean over all (the
    /// conditional value at risk minus the mean), after Williamson and Menon.
    Cvar {
        /// α, above 0 and below 1.
        alpha: f64,
        /// Width over which the corner of the definition is made smooth, in units of the loss.
        mu: f64,
    },
    /// The smooth maximum: `worst_group_loss`.
    Worst {
        /// Its sharpness.
        beta: f64,
    },
    /// The smooth maximum minus the smooth minimum: `loss_difference`.
    Range {
        /// The sharpness of both.
        beta: f64,
    },
}

/// How unequal the losses of groups are, or the largest of them.
#[derive(Debug, Clone)]
pub struct GroupRisk {
    groups: ByGroup,
    /// The loss of a row: a log loss or a function of the residual.
    loss: Output,
    /// The function of the losses.
    pub risk: Risk,
}

impl GroupRisk {
    /// An objective; `attribute` is at position `index` of the schema.
    pub fn new(risk: Risk, index: usize, attribute: &Attribute) -> Self {
        Self {
            groups: ByGroup::new(index, attribute, vec![Condition::All]),
            loss: Output::Loss,
            risk,
        }
    }

    /// The same function of another loss, for targets that are numbers.
    #[must_use]
    pub fn with_residual(self, residual: Residual) -> Self {
        Self {
            loss: Output::Residual(residual),
            ..self
        }
    }

    /// The same function of the log loss of classes.
    #[must_use]
    pub fn of_classes(self) -> Self {
        Self {
            loss: Output::Class(ClassOutput::Loss),
            ..self
        }
    }

    /// The function of the residual that is the loss of a row; `None` for a log loss.
    fn residual(&self) -> Option<Residual> {
        match self.loss {
            Output::Residual(residual) => Some(residual),
            _ => None,
        }
    }

    /// Shrinks losses of groups toward the overall loss, as if each group had additional rows: this
    /// share of all rows, with the overall loss.
    #[must_use]
    pub fn shrunk(mut self, share: f64) -> Self {
        self.groups.shrink = share;
        self
    }
}

/// min over ρ of ρ + E[μ log(1 + exp((L − ρ)/μ))] / (1 − α), minus its value if all L are 0. As μ
/// falls, it approaches the mean of the worst 1 − α. Its derivatives are written to `slope`.
fn smooth_cvar(losses: &[f64], shares: &[f64], alpha: f64, mu: f64, slope: &mut [f64]) -> f64 {
    let sigmoid = |v: f64| 1.0 / (1.0 + libm::exp(-v));
    let softplus = |v: f64| v.max(0.0) + libm::log1p(libm::exp(-v.abs()));
    // If all losses are equal, ρ is this far below them; in general, it is between these bounds.
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
    // The share above ρ falls as ρ rises; search for a share of 1 − α.
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
        // The derivative with respect to ρ is 0, because ρ minimizes the value.
        *slope = p * sigmoid(v) / (1.0 - alpha);
    }
    let at_zero = mu * softplus(below / mu) / (1.0 - alpha) - below;
    value - at_zero
}

impl Objective for GroupRisk {
    fn name(&self) -> String {
        let kind = match self.risk {
            Risk::Variance | Risk::Cvar { .. } => "group_risk",
            Risk::Worst { .. } => "worst_group_loss",
            Risk::Range { .. } => "loss_difference",
        };
        format!("{kind}({})", self.groups.attribute_name)
    }

    fn definition(&self) -> String {
        let mut settings = self.groups.settings();
        settings.extend(self.residual().map(residual_setting));
        let settings = settings.join(", ");
        match self.risk {
            Risk::Variance => format!("group_risk({settings}, risk=variance)"),
            Risk::Cvar { alpha, mu } => {
                format!("group_risk({settings}, risk=cvar, alpha={alpha}, mu={mu})")
            }
            Risk::Worst { beta } => format!("worst_group_loss({settings}, beta={beta})"),
            Risk::Range { beta } => format!("loss_difference({settings}, beta={beta})"),
        }
    }

    fn statistics(&self) -> Statistics<'_> {
        self.groups.statistics(self.loss)
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
                // Subtract the mean of the same, shrunk losses: the tail could be below the overall
                // mean.
                let losses = of.means.iter().zip(&of.shares);
                let all: f64 = losses.map(|(l, p)| l * p).sum();
                by_mean
                    .iter_mut()
                    .zip(&of.shares)
                    .for_each(|(d, p)| *d -= p);
                (tail - all, 0.0)
            }
            Risk::Worst { beta } => (log_mean_exp(&of.means, beta, &mut by_mean), 0.0),
            Risk::Range { beta } => (smooth_range(&of.means, beta, &mut by_mean), 0.0),
        };
        self.groups.add_slopes(&of, &by_mean, by_overall, slope);
        Ok(value)
    }

    fn measure(&self) -> Option<Measure> {
        let attribute = self.groups.attribute;
        let absolute = match self.residual()? {
            Residual::Squared => false,
            Residual::Absolute { .. } => true,
            Residual::Plain | Residual::Quantile { .. } => return None,
        };
        match self.risk {
            Risk::Range { .. } => Some(Measure::LossDifference {
                attribute,
                absolute,
            }),
            Risk::Worst { .. } => Some(Measure::WorstGroupLoss {
                attribute,
                absolute,
            }),
            Risk::Variance | Risk::Cvar { .. } => None,
        }
    }

    /// A smooth maximum of convex losses that increases in each of them is convex; differences of
    /// losses are not.
    fn convex_below(&self) -> Option<f64> {
        match self.risk {
            Risk::Worst { .. } => Some(f64::INFINITY),
            _ => None,
        }
    }
}
