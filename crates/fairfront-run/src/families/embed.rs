//! Parameters of each family among the parameters of the whole front.

use fairfront_core::{Classes, Points};
use fairfront_data::Encoding;

use crate::Family;
use crate::fit::Earlier;

/// Numbers of parameters of a front with learners: for each class, numeric features, features of learners,
/// categories; then the intercepts. Targets that are not classes have one score, like a single class.
pub(crate) struct Space {
    numeric: usize,
    learned: usize,
    categories: usize,
    n_scores: usize,
}

impl Space {
    /// The parameters of models under an encoding with learners.
    pub(crate) fn of(encoding: &Encoding) -> Self {
        let columns = encoding.columns_schema();
        Self {
            numeric: columns.numeric.len(),
            learned: encoding.learned.as_ref().map_or(0, |l| l.features.len()),
            categories: columns.n_features() - columns.numeric.len(),
            n_scores: columns.target.classes().map_or(1, Classes::len),
        }
    }

    fn n_features(&self) -> usize {
        self.numeric + self.learned + self.categories
    }

    pub(crate) fn n_params(&self) -> usize {
        self.n_scores * (self.n_features() + 1)
    }

    /// Linear models, with zeros for the features of learners.
    pub(crate) fn of_linear(&self, points: &Points) -> Points {
        self.map(points, self.n_features(), |own, out| {
            out.extend_from_slice(&own[..self.numeric]);
            out.resize(out.len() + self.learned, 0.0);
            out.extend_from_slice(&own[self.numeric..]);
        })
    }

    /// Models of learners, with zeros for the columns.
    pub(crate) fn of_learned(&self, points: &Points) -> Points {
        self.map(points, self.n_features(), |own, out| {
            out.resize(out.len() + self.numeric, 0.0);
            out.extend_from_slice(own);
            out.resize(out.len() + self.categories, 0.0);
        })
    }

    fn to_linear(&self, points: &Points) -> Points {
        self.map(points, self.numeric + self.categories, |own, out| {
            out.extend_from_slice(&own[..self.numeric]);
            out.extend_from_slice(&own[self.numeric + self.learned..]);
        })
    }

    fn to_learned(&self, points: &Points) -> Points {
        self.map(points, self.learned, |own, out| {
            out.extend_from_slice(&own[self.numeric..self.numeric + self.learned]);
        })
    }

    /// The points with other coefficients of each score, `n_features` of them, and the same intercepts.
    fn map(
        &self,
        points: &Points,
        n_features: usize,
        write: impl Fn(&[f64], &mut Vec<f64>),
    ) -> Points {
        let n_params = self.n_scores * (n_features + 1);
        let mut all = Vec::with_capacity(points.len() * n_params);
        for point in points.iter() {
            let (coefficients, intercepts) = point.split_at(point.len() - self.n_scores);
            let n_own = coefficients.len() / self.n_scores;
            for class in 0..self.n_scores {
                write(&coefficients[class * n_own..(class + 1) * n_own], &mut all);
            }
            all.extend_from_slice(intercepts);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn point(values: &[f64]) -> Points {
        Points::from_vec(values.len(), values.to_vec())
    }

    #[test]
    fn each_class_has_its_own_coefficients() {
        let space = Space {
            numeric: 1,
            learned: 2,
            categories: 1,
            n_scores: 3,
        };
        assert_eq!(space.n_params(), 15);
        let linear = [11.0, 12.0, 21.0, 22.0, 31.0, 32.0, 1.0, 2.0, 3.0];
        let wide = space.of_linear(&point(&linear));
        let expected = [
            [11.0, 0.0, 0.0, 12.0],
            [21.0, 0.0, 0.0, 22.0],
            [31.0, 0.0, 0.0, 32.0],
        ];
        assert_eq!(
            wide.get(0),
            [expected.as_flattened(), &[1.0, 2.0, 3.0]].concat()
        );
        assert_eq!(space.to_linear(&wide), point(&linear));
        let wide = space.of_learned(&point(&linear));
        let expected = [
            [0.0, 11.0, 12.0, 0.0],
            [0.0, 21.0, 22.0, 0.0],
            [0.0, 31.0, 32.0, 0.0],
        ];
        assert_eq!(
            wide.get(0),
            [expected.as_flattened(), &[1.0, 2.0, 3.0]].concat()
        );
        assert_eq!(space.to_learned(&wide), point(&linear));
    }

    #[test]
    fn one_score_has_one_intercept() {
        let space = Space {
            numeric: 1,
            learned: 2,
            categories: 1,
            n_scores: 1,
        };
        let wide = space.of_learned(&point(&[1.0, 2.0, 3.0]));
        assert_eq!(wide.get(0), [0.0, 1.0, 2.0, 0.0, 3.0]);
        assert_eq!(space.to_learned(&wide), point(&[1.0, 2.0, 3.0]));
        let wide = space.of_linear(&point(&[1.0, 2.0, 3.0]));
        assert_eq!(wide.get(0), [1.0, 0.0, 0.0, 2.0, 3.0]);
    }
}
