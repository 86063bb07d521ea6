use super::by_group::{ByGroup, Condition};
use super::smooth::{log_mean_exp, smooth_range};
use super::{ClassOutput, ErrorRate, Means, Objective, Output, Temperature};
use crate::engine::{Cells, Labels, Statistics};
use crate::measure::Measure;
use crate::{Attribute, Classes, Error};

/// The rates that [`ClassParity`] compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassRate {
    /// Shares of decisions among all rows: `demographic_parity`.
    Decided,
    /// Shares of right decisions among the rows of a class: `equal_opportunity`.
    Right,
    /// Shares of decisions among the rows of a class: `equalized_odds`.
    DecidedOfClass,
}

/// The largest of the smooth ranges over groups of the shares of smooth decisions, over all decisions, or
/// over all pairs of class and decision.
///
/// With ordered classes, a decision counts as each class up to it: the share of rows decided at least as
/// high. The range of shares for the lowest class, which is 0, is left out.
#[derive(Debug, Clone)]
pub struct ClassParity {
    groups: ByGroup,
    /// The rates.
    pub rate: ClassRate,
    classes: Classes,
    /// The only class that counts: of decisions for `demographic_parity`, else of rows.
    class: Option<usize>,
    /// τ; that of [`ErrorRate`] by default.
    pub tau: f64,
    /// Sharpness of the smooth maxima and minima; 50 by default.
    pub beta: f64,
}

/// One of the shares that are compared.
struct Share {
    /// The first of its cells.
    first: usize,
    /// The class of the rows, if only those of one class count.
    label: Option<f64>,
}

impl ClassParity {
    /// An objective; `attribute` is at position `index` of the schema.
    pub fn new(rate: ClassRate, index: usize, attribute: &Attribute, classes: &Classes) -> Self {
        Self {
            groups: ByGroup::new(index, attribute, vec![Condition::All]),
            rate,
            classes: classes.clone(),
            class: None,
            tau: ErrorRate::TAU,
            beta: 50.0,
        }
    }

    /// Counts only this class: decisions for it, or rows of it.
    #[must_use]
    pub fn of_class(mut self, class: usize) -> Self {
        self.class = Some(class);
        self
    }

    /// Shrinks rates of groups toward the overall rate, as if each group had additional rows: this
    /// share of all rows, with the overall rate.
    #[must_use]
    pub fn shrunk(mut self, share: f64) -> Self {
        self.groups.shrink = share;
        self
    }

    fn kind(&self) -> &'static str {
        match self.rate {
            ClassRate::Decided => "demographic_parity",
            ClassRate::Right => "equal_opportunity",
            ClassRate::DecidedOfClass => "equalized_odds",
        }
    }

    /// The setting that names the only class that counts.
    fn class_setting(&self) -> Option<String> {
        let name = &self.classes.names[self.class?];
        Some(match self.rate {
            ClassRate::Decided => format!("class={name}"),
            ClassRate::Right | ClassRate::DecidedOfClass => format!("given={name}"),
        })
    }

    fn output(&self) -> ClassOutput {
        let tau = self.tau;
        match self.rate != ClassRate::Right && self.classes.ordered {
            true => ClassOutput::Above { tau },
            false => ClassOutput::Each { tau },
        }
    }

    /// The compared shares.
    fn shares(&self) -> Vec<Share> {
        let n_groups = self.groups.n_groups;
        let k = self.classes.len();
        let width = self.output().width(k);
        let counts = |class: usize| self.class.is_none_or(|only| only == class);
        let of_class = |value: usize, class: usize| Share {
            first: (value * k + class) * n_groups,
            label: Some(class as f64),
        };
        let classes = (0..k).filter(|class| counts(*class));
        match self.rate {
            ClassRate::Decided => {
                let offset = usize::from(self.classes.ordered);
                let values = (0..width).filter(|value| counts(value + offset));
                let of = |value: usize| Share {
                    first: value * n_groups,
                    label: None,
                };
                values.map(of).collect()
            }
            ClassRate::Right => classes.map(|class| of_class(class, class)).collect(),
            ClassRate::DecidedOfClass => classes
                .flat_map(|class| (0..width).map(move |value| of_class(value, class)))
                .collect(),
        }
    }

    /// The range of a share over groups. Adds its slopes times a factor.
    fn range(&self, share: &Share, means: &Means<'_>, factor: f64, slope: &mut [f64]) -> f64 {
        let of = self.groups.of_cells(share.first, share.label, means);
        if of.means.is_empty() {
            return 0.0;
        }
        let mut by_mean = vec![0.0; of.means.len()];
        let value = smooth_range(&of.means, self.beta, &mut by_mean);
        if factor != 0.0 {
            by_mean.iter_mut().for_each(|d| *d *= factor);
            self.groups.add_slopes(&of, &by_mean, 0.0, slope);
        }
        value
    }
}

impl Objective for ClassParity {
    fn name(&self) -> String {
        let settings = std::iter::once(self.groups.attribute_name.clone());
        let settings: Vec<String> = settings.chain(self.class_setting()).collect();
        format!("{}({})", self.kind(), settings.join(","))
    }

    fn definition(&self) -> String {
        let mut settings = self.groups.settings();
        settings.extend(self.class_setting());
        settings.push(format!("tau={}, beta={}", self.tau, self.beta));
        format!("{}({})", self.kind(), settings.join(", "))
    }

    fn statistics(&self) -> Statistics<'_> {
        Statistics::ByCell {
            output: Output::Class(self.output()),
            cells: Cells {
                attribute: Some(self.groups.attribute),
                labels: match self.rate {
                    ClassRate::Decided => Labels::Together,
                    _ => Labels::Classes(self.classes.len() as u32),
                },
            },
        }
    }

    fn outer(&self, means: &Means<'_>, slope: &mut [f64]) -> Result<f64, Error> {
        slope.fill(0.0);
        let shares = self.shares();
        if shares.is_empty() {
            return Ok(0.0);
        }
        let mut unused = Vec::new();
        let values = shares
            .iter()
            .map(|share| self.range(share, means, 0.0, &mut unused));
        let values: Vec<f64> = values.collect();
        let mut factors = vec![0.0; values.len()];
        let value = log_mean_exp(&values, self.beta, &mut factors);
        for (share, factor) in shares.iter().zip(factors) {
            self.range(share, means, factor, slope);
        }
        Ok(value)
    }

    fn temperature(&self) -> Option<&dyn Temperature> {
        Some(self)
    }

    fn measure(&self) -> Option<Measure> {
        let (attribute, class) = (self.groups.attribute, self.class);
        Some(match (self.rate, class) {
            (ClassRate::Decided, None) => Measure::DemographicParity { attribute },
            (ClassRate::Right, None) => Measure::EqualOpportunity { attribute },
            (ClassRate::DecidedOfClass, None) => Measure::EqualizedOdds { attribute },
            (rate, Some(class)) => Measure::OfClass {
                attribute,
                rate,
                class,
            },
        })
    }

    fn negligible(&self) -> f64 {
        smooth_range(&[0.0, 1e-4], self.beta, &mut [0.0; 2])
    }

    fn compares(&self) -> Option<(usize, Option<f64>)> {
        let label = match self.rate {
            ClassRate::Decided => None,
            _ => self.class.map(|class| class as f64),
        };
        Some((self.groups.attribute, label))
    }

    fn labels(&self) -> Vec<Option<f64>> {
        match (self.rate, self.class) {
            (ClassRate::Decided, _) => vec![None],
            (_, Some(class)) => vec![Some(class as f64)],
            (_, None) => (0..self.classes.len())
                .map(|class| Some(class as f64))
                .collect(),
        }
    }
}

impl Temperature for ClassParity {
    fn softened(&self, factor: f64) -> Box<dyn Objective> {
        let tau = self.tau * factor;
        Box::new(Self {
            tau,
            ..self.clone()
        })
    }
}
