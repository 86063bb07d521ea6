//! Parameters of each family among the parameters of the whole front.

use fairfront_core::Points;
use fairfront_data::Encoding;

use crate::Family;
use crate::fit::Earlier;

/// Numbers of parameters of a front with learners: numeric features, features of learners,
/// categories; then the intercept.
pub(crate) struct Space {
    numeric: usize,
    learned: usize,
    categories: usize,
}

impl Space {
    /// The parameters of models under an encoding with learners.
    pub(crate) fn of(encoding: &Encoding) -> Self {
        let columns = encoding.columns_schema();
        Self {
            numeric: columns.numeric.len(),
            learned: encoding.learned.as_ref().map_or(0, |l| l.features.len()),
            categories: columns.n_features() - columns.numeric.len(),
        }
    }

    pub(crate) fn n_params(&self) -> usize {
        self.numeric + self.learned + self.categories + 1
    }

    /// Linear models, with zeros for the features of learners.
    pub(crate) fn of_linear(&self, points: &Points) -> Points {
        self.map(points, self.n_params(), |point, out| {
            out.extend_from_slice(&point[..self.numeric]);
            out.resize(out.len() + self.learned, 0.0);
            out.extend_from_slice(&point[self.numeric..]);
        })
    }

    /// Models of learners, with zeros for the columns.
    pub(crate) fn of_learned(&self, points: &Points) -> Points {
        self.map(points, self.n_params(), |point, out| {
            out.resize(out.len() + self.numeric, 0.0);
            out.extend_from_slice(&point[..self.learned]);
            out.resize(out.len() + self.categories, 0.0);
            out.extend_from_slice(&point[self.learned..]);
        })
    }

    fn to_linear(&self, points: &Points) -> Points {
        let n = self.n_params() - self.learned;
        self.map(points, n, |point, out| {
            out.extend_from_slice(&point[..self.numeric]);
            out.extend_from_slice(&point[self.numeric + self.learned..]);
        })
    }

    fn to_learned(&self, points: &Points) -> Points {
        self.map(points, self.learned + 1, |point, out| {
            let end = self.numeric + self.learned;
            out.extend_from_slice(&point[self.numeric..end]);
            out.extend(point.last());
        })
    }

    #[expect(clippy::unused_self, reason = "all mappings are methods")]
    fn map(
        &self,
        points: &Points,
        n_params: usize,
        write: impl Fn(&[f64], &mut Vec<f64>),
    ) -> Points {
        let mut all = Vec::with_capacity(points.len() * n_params);
        points.iter().for_each(|point| write(point, &mut all));
        Points::from_vec(n_params, all)
    }

    /// The linear models of an earlier front.
    pub(crate) fn linear_part(&self, earlier: &Earlier) -> Earlier {
        self.part(earlier, |family| family == Family::Linear, Self::to_linear)
    }

    /// The models of learners of an earlier front.
    pub(crate) fn learned_part(&self, earlier: &Earlier) -> Earlier {
        self.part(earlier, |family| family != Family::Linear, Self::to_learned)
    }

    fn part(
        &self,
        earlier: &Earlier,
        is_own: impl Fn(Family) -> bool,
        project: fn(&Self, &Points) -> Points,
    ) -> Earlier {
        let own = |i: &usize| is_own(earlier.families.get(*i).copied().unwrap_or_default());
        let own: Vec<usize> = (0..earlier.front.len()).filter(own).collect();
        let one = Points::from_vec(self.n_params(), earlier.unmitigated.clone());
        let (front, one) = (
            project(self, &earlier.front.select(&own)),
            project(self, &one),
        );
        let unmitigated = match is_own(earlier.families.last().copied().unwrap_or_default()) {
            false if !front.is_empty() => front.get(0).to_vec(),
            _ => one.get(0).to_vec(),
        };
        Earlier {
            front,
            unmitigated,
            starts: earlier.starts.as_ref().map(|starts| project(self, starts)),
            penalty: earlier.penalty.clone(),
            updates: earlier.updates,
            families: Vec::new(),
        }
    }
}
