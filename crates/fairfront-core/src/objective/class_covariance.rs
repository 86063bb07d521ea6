use super::by_group::{ByGroup, Condition};
use super::{ClassOutput, Means, Objective, Output};
use crate::engine::{Cells, Labels, Statistics};
use crate::{Attribute, Error};

/// Σ over classes c and groups g of `(E[(a_g − ā_g) φ_c])²`: the squared covariances of the scores of classes
/// with group membership.
///
/// It is convex, and 0 if the mean scores of all groups are equal. Fronts between it and the log loss are
/// starting points for objectives that compare decisions.
#[derive(Debug, Clone)]
pub struct ClassCovariance {
    groups: ByGroup,
    n_classes: usize,
}

impl ClassCovariance {
    /// An objective; `attribute` is at position `index` of the schema.
    pub fn new(index: usize, attribute: &Attribute, n_classes: usize) -> Self {
        Self {
            groups: ByGroup::new(index, attribute, vec![Condition::All]),
            n_classes,
        }
    }
}

impl Objective for ClassCovariance {
    fn name(&self) -> String {
        format!("score_covariance({})", self.groups.attribute_name)
    }

    fn statistics(&self) -> Statistics<'_> {
        Statistics::ByCell {
            output: Output::Class(ClassOutput::Score),
            cells: Cells {
                attribute: Some(self.groups.attribute),
                labels: Labels::Together,
            },
        }
    }

    fn outer(&self, means: &Means<'_>, slope: &mut [f64]) -> Result<f64, Error> {
        slope.fill(0.0);
        let n_groups = self.groups.n_groups;
        let mut value = 0.0;
        for class in 0..self.n_classes {
            let first = class * n_groups;
            let of = self.groups.of_cells(first, None, means);
            let mut by_mean = vec![0.0; of.means.len()];
            // E[(a_g − ā_g) φ] is the share of a group times the distance of its mean from the overall one.
            let covariances = of.means.iter().zip(&of.shares);
            let covariances: Vec<f64> = covariances
                .map(|(mean, share)| share * (mean - of.overall))
                .collect();
            let mut by_overall = 0.0;
            for ((c, share), d) in covariances.iter().zip(&of.shares).zip(&mut by_mean) {
                value += c * c;
                *d = 2.0 * c * share;
                by_overall -= *d;
            }
            self.groups.add_slopes(&of, &by_mean, by_overall, slope);
        }
        Ok(value)
    }

    fn convex_below(&self) -> Option<f64> {
        Some(f64::INFINITY)
    }
}
