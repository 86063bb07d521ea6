use fairfront_core::Cholesky;

use crate::descend::dot;

/// A constraint is dropped if its part outside the span of the previous ones is below this share.
const DEPENDENT: f64 = 1e-10;
/// Diagonals grow by this share: with two equal features, rounding alone would determine a pivot
/// and make the solution arbitrary.
const SINGULAR: f64 = 1e-13;

/// The factored equations of a Newton step under linear constraints, `[W Aᵀ; A 0] [dx; dy] =
/// −[gradient; excess]`.
#[derive(Debug, Clone)]
pub(crate) struct Kkt {
    w: Cholesky,
    /// The independent rows of A, and their indices.
    rows: Vec<Vec<f64>>,
    kept: Vec<usize>,
    /// W⁻¹ times each row.
    solved: Vec<Vec<f64>>,
    /// A W⁻¹ Aᵀ.
    schur: Option<Cholesky>,
}

impl Kkt {
    /// `lower` is the lower triangle of W, row by row. A matrix that is not positive definite gets
    /// a ridge that makes it so; `None` if no ridge does, or if an entry of its diagonal is not
    /// finite.
    pub(crate) fn new(lower: &[f64], n: usize, rows: &[Vec<f64>]) -> Option<Self> {
        let trace: f64 = (0..n).map(|i| lower[i * n + i].abs()).sum();
        // With an infinite trace, the loop below would never end, because no ridge exceeds it.
        if !trace.is_finite() {
            return None;
        }
        let mut ridge = 0.0;
        let w = loop {
            let mut trial = lower.to_vec();
            for i in 0..n {
                trial[i * n + i] += ridge + SINGULAR * lower[i * n + i].abs();
            }
            if let Some(factor) = Cholesky::new(trial, n) {
                break factor;
            }
            ridge = match ridge {
                0.0 => 1e-13 * trace / n as f64,
                before => 10.0 * before,
            };
            if !(ridge > 0.0 && ridge <= trace) {
                return None;
            }
        };
        let mut kkt = Self {
            w,
            rows: Vec::new(),
            kept: Vec::new(),
            solved: Vec::new(),
            schur: None,
        };
        for (i, row) in rows.iter().enumerate() {
            kkt.try_row(i, row);
        }
        Some(kkt)
    }

    /// Adds a row unless the previous rows span it.
    fn try_row(&mut self, index: usize, row: &[f64]) {
        let mut solved = row.to_vec();
        self.w.solve(&mut solved);
        let size = dot(row, &solved);
        if size <= 0.0 || !size.is_finite() {
            return;
        }
        let k = self.rows.len();
        let mut matrix = vec![0.0; (k + 1) * (k + 1)];
        let all = self.rows.iter().map(Vec::as_slice).chain([row]);
        for (i, a) in all.enumerate() {
            let others = self.solved.iter().map(Vec::as_slice).chain([&solved[..]]);
            for (j, s) in others.take(i + 1).enumerate() {
                matrix[i * (k + 1) + j] = dot(a, s);
            }
        }
        let before = self.schur.as_ref().map_or(size, |schur| {
            let mut shared: Vec<f64> = self.solved.iter().map(|s| dot(row, s)).collect();
            schur.solve_lower(&mut shared);
            size - dot(&shared, &shared)
        });
        if before <= DEPENDENT * size {
            return;
        }
        if let Some(schur) = Cholesky::new(matrix, k + 1) {
            self.schur = Some(schur);
            self.rows.push(row.to_vec());
            self.kept.push(index);
            self.solved.push(solved);
        }
    }

    /// Returns dx, and dy for all rows (0 for dropped rows).
    pub(crate) fn step(&self, gradient: &[f64], excess: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut dx: Vec<f64> = gradient.iter().map(|g| -g).collect();
        self.w.solve(&mut dx);
        let mut dy = vec![0.0; excess.len()];
        if let Some(schur) = &self.schur {
            let of = |(row, i): (&Vec<f64>, &usize)| excess[*i] + dot(row, &dx);
            let mut y: Vec<f64> = self.rows.iter().zip(&self.kept).map(of).collect();
            schur.solve(&mut y);
            for ((y, solved), i) in y.iter().zip(&self.solved).zip(&self.kept) {
                dy[*i] = *y;
                for (d, s) in dx.iter_mut().zip(solved) {
                    *d -= y * s;
                }
            }
        }
        (dx, dy)
    }

    /// W⁻¹ b.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        self.w.solve(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_solve_both_equations_and_dependent_rows_are_dropped() {
        let lower = [4.0, 0.0, 0.0, 1.0, 3.0, 0.0, 0.5, 0.2, 2.0];
        let rows = vec![
            vec![1.0, 1.0, 0.0],
            vec![2.0, 2.0, 0.0],
            vec![0.0, 1.0, 1.0],
        ];
        let kkt = Kkt::new(&lower, 3, &rows).unwrap();
        assert_eq!(kkt.kept, [0, 2]);
        let (gradient, excess) = ([1.0, -2.0, 0.5], [0.3, 0.6, -0.1]);
        let (dx, dy) = kkt.step(&gradient, &excess);
        let w = |i: usize, j: usize| lower[i.max(j) * 3 + i.min(j)];
        for i in 0..3 {
            let wx: f64 = (0..3).map(|j| w(i, j) * dx[j]).sum();
            let ay: f64 = (0..3).map(|k| rows[k][i] * dy[k]).sum();
            assert!((wx + ay + gradient[i]).abs() < 1e-12);
            assert!((dot(&rows[i], &dx) + excess[i]).abs() < 1e-14);
        }
    }

    #[test]
    fn a_singular_matrix_gets_a_ridge() {
        let kkt = Kkt::new(&[1.0, 0.0, 1.0, 1.0], 2, &[]).unwrap();
        let (dx, _) = kkt.step(&[-1.0, -1.0], &[]);
        assert!((dx[0] + dx[1] - 1.0).abs() < 1e-9);
        assert!(Kkt::new(&[f64::NAN], 1, &[]).is_none());
    }

    #[test]
    fn an_infinite_matrix_is_rejected() {
        assert!(Kkt::new(&[f64::INFINITY], 1, &[]).is_none());
        // Two finite entries with an overflowing sum.
        assert!(Kkt::new(&[f64::MAX, 0.0, f64::MAX, f64::MAX], 2, &[]).is_none());
    }
}
