/// The factor L of a symmetric positive definite matrix `A = LLᵀ`, dense, in f64.
///
/// ```
/// use fairfront_core::Cholesky;
/// let factor = Cholesky::new(vec![4.0, 2.0, 2.0, 3.0], 2).unwrap();
/// let mut x = [8.0, 7.0];
/// factor.solve(&mut x);
/// assert!((x[0] - 1.25).abs() < 1e-15 && (x[1] - 1.5).abs() < 1e-15);
/// ```
#[derive(Debug, Clone)]
pub struct Cholesky {
    lower: Vec<f64>,
    n: usize,
}

impl Cholesky {
    /// Factorizes the n × n matrix whose lower triangle is in `matrix`, row by row. O(n³/3).
    ///
    /// Returns `None` if the matrix is not positive definite to working precision.
    ///
    /// # Panics
    /// If `matrix` does not have n² values.
    pub fn new(mut matrix: Vec<f64>, n: usize) -> Option<Self> {
        assert_eq!(matrix.len(), n * n, "a Cholesky factor needs n × n values");
        for j in 0..n {
            let (done, rest) = matrix.split_at_mut(j * n);
            let row_j = &mut rest[..=j];
            for k in 0..j {
                let row_k = &done[k * n..=k * n + k];
                let dot: f64 = row_j[..k].iter().zip(row_k).map(|(a, b)| a * b).sum();
                row_j[k] = (row_j[k] - dot) / row_k[k];
            }
            let pivot = row_j[j] - row_j[..j].iter().map(|a| a * a).sum::<f64>();
            // Also false for NaN.
            if !(pivot > 0.0 && pivot.is_finite()) {
                return None;
            }
            row_j[j] = pivot.sqrt();
        }
        Some(Self { lower: matrix, n })
    }

    /// Replaces `b` by A⁻¹b. O(n²).
    ///
    /// # Panics
    /// If `b` does not have n values.
    pub fn solve(&self, b: &mut [f64]) {
        self.solve_lower(b);
        self.solve_transposed(b);
    }

    /// Replaces `b` by L⁻¹b: the first half of [`Cholesky::solve`].
    ///
    /// # Panics
    /// If `b` does not have n values.
    pub fn solve_lower(&self, b: &mut [f64]) {
        let n = self.n;
        assert_eq!(b.len(), n, "the right-hand side needs n values");
        for i in 0..n {
            let row = &self.lower[i * n..=i * n + i];
            let dot: f64 = row[..i].iter().zip(&b[..i]).map(|(l, x)| l * x).sum();
            b[i] = (b[i] - dot) / row[i];
        }
    }

    /// Replaces `b` by L⁻ᵀb: the second half of [`Cholesky::solve`].
    ///
    /// # Panics
    /// If `b` does not have n values.
    pub fn solve_transposed(&self, b: &mut [f64]) {
        let n = self.n;
        assert_eq!(b.len(), n, "the right-hand side needs n values");
        for i in (0..n).rev() {
            b[i] /= self.lower[i * n + i];
            let x = b[i];
            for (b_k, l) in b[..i].iter_mut().zip(&self.lower[i * n..]) {
                *b_k -= l * x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Stream};

    #[test]
    fn solves_random_systems() {
        let mut random = Stream::new(3, Purpose::Synthetic, [0, 0]);
        for n in [1, 2, 5, 20, 60] {
            // A = BBᵀ + I is positive definite with a modest condition number.
            let b: Vec<f64> = (0..n * n).map(|_| random.normal()).collect();
            let a: Vec<f64> = (0..n * n)
                .map(|ij| {
                    let (i, j) = (ij / n, ij % n);
                    let dot: f64 = (0..n).map(|k| b[i * n + k] * b[j * n + k]).sum();
                    dot + f64::from(u8::from(i == j))
                })
                .collect();
            let x: Vec<f64> = (0..n).map(|_| random.normal()).collect();
            let mut solved: Vec<f64> = (0..n)
                .map(|i| (0..n).map(|j| a[i * n + j] * x[j]).sum())
                .collect();
            Cholesky::new(a, n).unwrap().solve(&mut solved);
            for (s, x) in solved.iter().zip(&x) {
                // Condition numbers up to about 1e3 · n leave ten digits.
                assert!((s - x).abs() < 1e-10, "n = {n}: {s} is not {x}");
            }
        }
    }

    #[test]
    fn rejects_matrices_that_are_not_positive_definite() {
        assert!(Cholesky::new(vec![1.0, 2.0, 2.0, 1.0], 2).is_none());
        assert!(Cholesky::new(vec![0.0], 1).is_none());
        assert!(Cholesky::new(vec![f64::NAN], 1).is_none());
        assert!(Cholesky::new(vec![f64::INFINITY], 1).is_none());
    }
}
