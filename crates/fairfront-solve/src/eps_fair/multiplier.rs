//! Multipliers of bounds |cₖ| ≤ εₖ in a quadratic model: a small problem with one unknown per
//! bound.

use fairfront_core::Cholesky;

use crate::descend::dot;

/// Diagonals grow by this share, so that bounds that depend on each other have a solution.
const SINGULAR: f64 = 1e-12;

/// min ½λᵀSλ + b·λ + Σ εₖ|λₖ| subject to |λₖ| ≤ limit: the dual of a quadratic model under the
/// bounds |cₖ + aₖ·d| ≤ εₖ, with S = A W⁻¹ Aᵀ and b = A W⁻¹ g − c. At its solution, Sλ + b = −(c +
/// Ad). The limit makes the bounds elastic, so that even contradictory bounds have a solution.
pub(super) struct Dual<'a> {
    /// S, row by row.
    pub(super) matrix: &'a [f64],
    pub(super) linear: &'a [f64],
    /// The εₖ.
    pub(super) bounds: &'a [f64],
    pub(super) limit: f64,
}

impl Dual<'_> {
    /// Finds the solution by an active-set method from these multipliers; `None` if a number is not
    /// finite.
    pub(super) fn solve(&self, from: &[f64]) -> Option<Vec<f64>> {
        let k = from.len();
        // A step cannot influence a bound whose gradient is 0.
        let moves: Vec<bool> = (0..k).map(|i| self.matrix[i * k + i] > 0.0).collect();
        let mut lambda: Vec<f64> = (0..k)
            .map(|i| match moves[i] {
                true => from[i].clamp(-self.limit, self.limit),
                false => 0.0,
            })
            .collect();
        let mut signs: Vec<f64> = lambda.iter().map(|l| l.signum()).collect();
        let mut free: Vec<bool> = (0..k)
            .map(|i| {
                let inside = lambda[i] != 0.0 && lambda[i].abs() < self.limit;
                moves[i] && (inside || (self.bounds[i] == 0.0 && lambda[i] == 0.0))
            })
            .collect();
        // Each pass lowers the objective; only rounding could cause a cycle.
        for _ in 0..50 + 20 * k {
            let target = self.minimum(&lambda, &signs, &free)?;
            match self.first_block(&lambda, &target, &signs, &free) {
                Some((i, share, end)) => {
                    for (j, l) in lambda.iter_mut().enumerate().filter(|(j, _)| free[*j]) {
                        *l += share * (target[j] - *l);
                    }
                    lambda[i] = end;
                    free[i] = false;
                }
                None => {
                    lambda = target;
                    let Some((i, sign)) = self.most_wrong(&lambda, &free, &moves) else {
                        break;
                    };
                    signs[i] = sign;
                    free[i] = true;
                }
            }
        }
        Some(lambda)
    }

    /// The minimum over the free multipliers, as long as they keep their signs.
    fn minimum(&self, lambda: &[f64], signs: &[f64], free: &[bool]) -> Option<Vec<f64>> {
        let k = lambda.len();
        let set: Vec<usize> = (0..k).filter(|i| free[*i]).collect();
        let fixed: Vec<f64> = (0..k)
            .map(|i| if free[i] { 0.0 } else { lambda[i] })
            .collect();
        let m = set.len();
        let mut matrix = vec![0.0; m * m];
        let mut right = Vec::with_capacity(m);
        for (row, &i) in set.iter().enumerate() {
            for (column, &j) in set[..=row].iter().enumerate() {
                matrix[row * m + column] = self.matrix[i * k + j];
            }
            matrix[row * m + row] *= 1.0 + SINGULAR;
            let rest = dot(&self.matrix[i * k..(i + 1) * k], &fixed);
            right.push(-(self.linear[i] + signs[i] * self.bounds[i] + rest));
        }
        Cholesky::new(matrix, m)?.solve(&mut right);
        let mut target = fixed;
        for (&i, value) in set.iter().zip(right) {
            if !value.is_finite() {
                return None;
            }
            target[i] = value;
        }
        Some(target)
    }

    /// The first free multiplier that reaches 0, where its bound changes sides, or the limit on the
    /// way to the target: its index, the share of the way, and its value there.
    fn first_block(
        &self,
        lambda: &[f64],
        target: &[f64],
        signs: &[f64],
        free: &[bool],
    ) -> Option<(usize, f64, f64)> {
        let mut first: Option<(usize, f64, f64)> = None;
        for i in (0..lambda.len()).filter(|i| free[*i]) {
            let crosses = self.bounds[i] > 0.0 && target[i] * signs[i] < 0.0;
            let end = match crosses {
                true => 0.0,
                false if target[i].abs() > self.limit => self.limit * target[i].signum(),
                false => continue,
            };
            let share = (end - lambda[i]) / (target[i] - lambda[i]);
            if first.is_none_or(|(_, least, _)| share < least) {
                first = Some((i, share, end));
            }
        }
        first
    }

    /// The fixed multiplier that should move most, and the sign that its bound then has.
    fn most_wrong(&self, lambda: &[f64], free: &[bool], moves: &[bool]) -> Option<(usize, f64)> {
        let k = lambda.len();
        let mut most: Option<(usize, f64, f64)> = None;
        for i in (0..k).filter(|i| !free[*i] && moves[*i]) {
            let row = &self.matrix[i * k..(i + 1) * k];
            let terms = row.iter().zip(lambda).map(|(s, l)| (s * l).abs());
            let size = self.linear[i].abs() + self.bounds[i] + terms.sum::<f64>();
            let slope = self.linear[i] + dot(row, lambda);
            // How fast the objective falls if the multiplier moves in its only possible direction,
            // or in the better one.
            let (fall, sign) = match lambda[i] {
                0.0 => (slope.abs() - self.bounds[i], -slope.signum()),
                at => (slope * at.signum() + self.bounds[i], at.signum()),
            };
            let gain = fall / row[i].sqrt();
            if fall > 1e-14 * size && most.is_none_or(|(_, best, _)| gain > best) {
                most = Some((i, gain, sign));
            }
        }
        most.map(|(i, _, sign)| (i, sign))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `BBᵀ` of a k × r matrix: singular if r < k.
    fn gram(b: &[f64], k: usize, r: usize) -> Vec<f64> {
        let row = |i: usize| &b[i * r..(i + 1) * r];
        let entries = (0..k * k).map(|ij| dot(row(ij / k), row(ij % k)));
        entries.collect()
    }

    fn check(dual: &Dual, lambda: &[f64]) -> Result<(), TestCaseError> {
        let k = lambda.len();
        for i in 0..k {
            let row = &dual.matrix[i * k..(i + 1) * k];
            // −(c + a·d).
            let slope = dual.linear[i] + dot(row, lambda);
            let terms: f64 = row.iter().zip(lambda).map(|(s, l)| (s * l).abs()).sum();
            // Equations with a ridge of 1e-12 and a condition number of up to 1e12.
            let off = 1e-9 * (1.0 + dual.linear[i].abs() + terms);
            let (bound, at) = (dual.bounds[i], lambda[i]);
            prop_assert!(at.abs() <= dual.limit);
            if row[i] == 0.0 {
                prop_assert_eq!(at, 0.0);
            } else if at == 0.0 {
                prop_assert!(slope.abs() <= bound + off, "{slope} above {bound}");
            } else if at.abs() == dual.limit {
                prop_assert!(-slope * at.signum() >= bound - off, "elastic without need");
            } else {
                // The bound is reached on the side given by the sign of the multiplier.
                prop_assert!(
                    (slope + bound * at.signum()).abs() <= off,
                    "{slope}, {bound}"
                );
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn solutions_satisfy_the_optimality_conditions(
            (k, r, b, linear, bounds, from) in (1..7_usize, 1..7_usize).prop_flat_map(|(k, r)| {
                let numbers = |n| prop::collection::vec(-3.0..3.0_f64, n);
                let bounds = prop::collection::vec(prop_oneof![Just(0.0), 0.0..2.0_f64], k);
                (Just(k), Just(r), numbers(k * r), numbers(k), bounds, numbers(k))
            }),
            limit in prop_oneof![Just(1e6), 0.1..5.0_f64],
        ) {
            let matrix = gram(&b, k, r);
            let dual = Dual { matrix: &matrix, linear: &linear, bounds: &bounds, limit };
            let cold = dual.solve(&vec![0.0; k]).unwrap();
            check(&dual, &cold)?;
            check(&dual, &dual.solve(&from).unwrap())?;
        }
    }

    #[test]
    fn a_bound_with_zero_gradient_has_no_multiplier() {
        let dual = Dual {
            matrix: &[2.0, 0.0, 0.0, 0.0],
            linear: &[-3.0, -5.0],
            bounds: &[1.0, 1.0],
            limit: 1e6,
        };
        assert_eq!(dual.solve(&[0.0, 4.0]).unwrap()[1], 0.0);
        let broken = Dual {
            matrix: &[f64::NAN],
            linear: &[1.0],
            bounds: &[0.0],
            limit: 1e6,
        };
        assert_eq!(broken.solve(&[0.0]), Some(vec![0.0]));
        let infinite = Dual {
            matrix: &[f64::INFINITY],
            ..broken
        };
        assert_eq!(infinite.solve(&[0.0]), None);
    }
}
