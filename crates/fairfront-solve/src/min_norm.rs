use fairfront_core::Preconditioner;

/// The maximum number of gradients that can be combined.
pub const MOST_OBJECTIVES: usize = 20;

/// Rows and columns of the largest linear system.
const SYSTEM: usize = MOST_OBJECTIVES + 1;

/// The shortest convex combination of gradients, in the norm of a preconditioner: λ* = argmin ‖Σ
/// λᵢgᵢ‖² over the simplex. Holds its buffers, so solving does not allocate.
///
/// Gradients are first scaled to length 1, which makes the result exact to working precision even
/// if they differ by many orders of magnitude. With μᵢ = λᵢ‖gᵢ‖ and rᵢ = 1/‖gᵢ‖, the result is the
/// shortest Σ μᵢĝᵢ with Σ μᵢrᵢ = 1, found by Wolfe's active-set method.
#[derive(Debug, Clone)]
pub struct MinNorm {
    n_params: usize,
    /// ĝᵢ and M⁻¹ĝᵢ, one after the other.
    unit: Vec<f64>,
    step: Vec<f64>,
    norms: [f64; MOST_OBJECTIVES],
    weights: [f64; MOST_OBJECTIVES],
    n_gradients: usize,
}

impl MinNorm {
    /// Prepares for up to `n_objectives` gradients with `n_params` entries.
    ///
    /// # Panics
    /// If there are more than [`MOST_OBJECTIVES`].
    pub fn new(n_objectives: usize, n_params: usize) -> Self {
        assert!(
            n_objectives <= MOST_OBJECTIVES,
            "at most {MOST_OBJECTIVES} objectives"
        );
        Self {
            n_params,
            unit: vec![0.0; n_objectives * n_params],
            step: vec![0.0; n_objectives * n_params],
            norms: [0.0; MOST_OBJECTIVES],
            weights: [0.0; MOST_OBJECTIVES],
            n_gradients: 0,
        }
    }

    /// Starts a new set of gradients.
    pub fn clear(&mut self) {
        self.n_gradients = 0;
    }

    /// Adds a gradient times `scale`; [`MinNorm::gradient_step`] returns M⁻¹ times the product.
    ///
    /// # Panics
    /// If there are more gradients than objectives, or the gradient has the wrong length.
    pub fn push(&mut self, gradient: &[f64], scale: f64, preconditioner: &Preconditioner) {
        let range = self.n_gradients * self.n_params..(self.n_gradients + 1) * self.n_params;
        let unit = &mut self.unit[range.clone()];
        unit.copy_from_slice(gradient);
        // Scaled twice: by the largest entry against overflow, then to length 1.
        let largest = gradient.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
        let mut norm = 0.0;
        if largest > 0.0 && largest.is_finite() {
            unit.iter_mut().for_each(|g| *g /= largest);
            let step = &mut self.step[range];
            step.copy_from_slice(unit);
            preconditioner.step(step);
            let square: f64 = unit.iter().zip(&*step).map(|(g, s)| g * s).sum();
            if square > 0.0 {
                let length = square.sqrt();
                unit.iter_mut().for_each(|g| *g /= length);
                step.iter_mut().for_each(|s| *s /= length);
                norm = scale * largest * length;
            }
        }
        self.norms[self.n_gradients] = norm;
        self.n_gradients += 1;
    }

    /// Computes λ*, which lies on the simplex, for the gradients added so far.
    pub fn solve(&mut self) -> &[f64] {
        let m = self.n_gradients;
        self.weights[..m].fill(0.0);
        if let Some(zero) = self.norms[..m].iter().position(|n| *n == 0.0) {
            self.weights[zero] = 1.0;
            return &self.weights[..m];
        }
        let mut gram = [[0.0; MOST_OBJECTIVES]; MOST_OBJECTIVES];
        for i in 0..m {
            for j in 0..=i {
                let dot: f64 = self
                    .unit_of(i)
                    .iter()
                    .zip(self.step_of(j))
                    .map(|(a, b)| a * b)
                    .sum();
                gram[i][j] = dot;
                gram[j][i] = dot;
            }
        }
        // rᵢ, scaled so that the largest is 1.
        let shortest = self.norms[..m]
            .iter()
            .copied()
            .fold(f64::INFINITY, f64::min);
        let mut r = [0.0; MOST_OBJECTIVES];
        for (r, norm) in r.iter_mut().zip(&self.norms[..m]) {
            *r = shortest / norm;
        }
        let mut mu = [0.0; MOST_OBJECTIVES];
        shortest_combination(&gram, &r, m, &mut mu);
        let total: f64 = (0..m).map(|i| mu[i] * r[i]).sum();
        for i in 0..m {
            self.weights[i] = mu[i] * r[i] / total;
        }
        &self.weights[..m]
    }

    /// M⁻¹ Σ λᵢgᵢ for the weights found by [`MinNorm::solve`].
    pub fn direction(&self, out: &mut [f64]) {
        out.fill(0.0);
        for i in 0..self.n_gradients {
            self.add_step(i, self.weights[i], out);
        }
    }

    /// M⁻¹gᵢ.
    pub fn gradient_step(&self, gradient: usize, out: &mut [f64]) {
        out.fill(0.0);
        self.add_step(gradient, 1.0, out);
    }

    fn add_step(&self, gradient: usize, weight: f64, out: &mut [f64]) {
        let scale = weight * self.norms[gradient];
        if scale != 0.0 {
            for (o, s) in out.iter_mut().zip(self.step_of(gradient)) {
                *o += scale * s;
            }
        }
    }

    fn unit_of(&self, i: usize) -> &[f64] {
        &self.unit[i * self.n_params..(i + 1) * self.n_params]
    }

    fn step_of(&self, i: usize) -> &[f64] {
        &self.step[i * self.n_params..(i + 1) * self.n_params]
    }
}

type Gram = [[f64; MOST_OBJECTIVES]; MOST_OBJECTIVES];

/// Minimizes μᵀGμ subject to Σ μᵢrᵢ = 1, μ ≥ 0, where G has ones on its diagonal (Wolfe 1976).
fn shortest_combination(
    gram: &Gram,
    r: &[f64; MOST_OBJECTIVES],
    m: usize,
    mu: &mut [f64; MOST_OBJECTIVES],
) {
    // A violation below this, relative to the largest μ, is rounding.
    const ROUNDING: f64 = 1e-13;
    // Starts with the shortest gradient alone: its r is the largest, which is 1.
    let start = (0..m).max_by(|a, b| r[*a].total_cmp(&r[*b])).unwrap_or(0);
    let mut support = [0_usize; MOST_OBJECTIVES];
    let mut size = 1;
    support[0] = start;
    mu[start] = 1.0 / r[start];
    let mut refused = [false; MOST_OBJECTIVES];
    // Each support occurs at most once; the bound guards against cycling by rounding.
    for _ in 0..50 * m {
        let product = |i: usize, mu: &[f64]| (0..m).map(|j| gram[i][j] * mu[j]).sum::<f64>();
        let square: f64 = (0..m).map(|i| mu[i] * product(i, mu)).sum();
        let largest = mu[..m].iter().copied().fold(0.0, f64::max);
        let entering = (0..m)
            .filter(|i| !support[..size].contains(i) && !refused[*i])
            .map(|i| (i, square * r[i] - product(i, mu)))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|(_, violation)| *violation > ROUNDING * largest);
        let Some((entering, _)) = entering else {
            return;
        };
        support[size] = entering;
        size += 1;
        let before = *mu;
        loop {
            let mut target = [0.0; MOST_OBJECTIVES];
            if !affine_minimum(gram, r, &support[..size], &mut target) {
                // This gradient depends on the others to rounding, so it cannot help.
                refused[entering] = true;
                *mu = before;
                size = (0..m)
                    .filter(|i| mu[*i] > 0.0)
                    .enumerate()
                    .fold(0, |_, (k, i)| {
                        support[k] = i;
                        k + 1
                    });
                break;
            }
            // Moves toward the minimum until a weight reaches 0.
            let mut length = 1.0_f64;
            let mut leaving = None;
            for (k, &i) in support[..size].iter().enumerate() {
                if target[i] <= 0.0 {
                    let way = mu[i] - target[i];
                    let bound = if way > 0.0 { mu[i] / way } else { 0.0 };
                    if leaving.is_none() || bound < length {
                        length = bound.clamp(0.0, 1.0);
                        leaving = Some(k);
                    }
                }
            }
            for &i in &support[..size] {
                mu[i] += length * (target[i] - mu[i]);
            }
            let Some(leaving) = leaving else { break };
            // A gradient that leaves right after it enters would do so again.
            refused[support[leaving]] |= support[leaving] == entering;
            mu[support[leaving]] = 0.0;
            support.copy_within(leaving + 1..size, leaving);
            size -= 1;
            if size == 0 {
                return;
            }
        }
    }
}

/// The minimum without the sign constraint: solves [G r; rᵀ 0][μ ν] = [0 1] over the support by
/// elimination with pivoting. Returns `false` if the system is singular.
fn affine_minimum(
    gram: &Gram,
    r: &[f64; MOST_OBJECTIVES],
    support: &[usize],
    out: &mut [f64; MOST_OBJECTIVES],
) -> bool {
    let k = support.len();
    let n = k + 1;
    let mut a = [[0.0; SYSTEM + 1]; SYSTEM];
    // Scaling rows by rᵢ would lose digits, so the last unknown is scaled instead.
    for (row, &i) in support.iter().enumerate() {
        for (column, &j) in support.iter().enumerate() {
            a[row][column] = gram[i][j];
        }
        a[row][k] = r[i];
        a[k][row] = r[i];
    }
    a[k][n] = 1.0;
    for column in 0..n {
        let size = |row: usize, a: &[[f64; SYSTEM + 1]; SYSTEM]| a[row][column].abs();
        let pivot = (column..n).max_by(|x, y| size(*x, &a).total_cmp(&size(*y, &a)));
        let pivot = pivot.unwrap_or(column);
        if size(pivot, &a) < 1e-14 {
            return false;
        }
        a.swap(column, pivot);
        let top = a[column];
        for row in a.iter_mut().take(n).skip(column + 1) {
            let factor = row[column] / top[column];
            if factor != 0.0 {
                for (value, above) in row[column..=n].iter_mut().zip(&top[column..=n]) {
                    *value -= factor * above;
                }
            }
        }
    }
    let mut x = [0.0; SYSTEM];
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|j| a[row][j] * x[j]).sum();
        x[row] = (a[row][n] - known) / a[row][row];
    }
    for (value, &i) in x.iter().zip(support) {
        out[i] = *value;
    }
    x[..k].iter().all(|v| v.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn weights(gradients: &[Vec<f64>], preconditioner: &Preconditioner) -> Vec<f64> {
        let mut solver = MinNorm::new(gradients.len(), gradients[0].len());
        for g in gradients {
            solver.push(g, 1.0, preconditioner);
        }
        solver.solve().to_vec()
    }

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(x, y)| x * y).sum()
    }

    /// ‖d‖² − gᵢ·d ≤ 1e-10 ‖gᵢ‖ maxⱼ λⱼ‖gⱼ‖ for every i, on the simplex.
    fn check(gradients: &[Vec<f64>]) -> Result<(), TestCaseError> {
        let lambda = weights(gradients, &Preconditioner::Identity);
        prop_assert!(lambda.iter().all(|l| (0.0..=1.0).contains(l)), "{lambda:?}");
        prop_assert!((lambda.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let d: Vec<f64> = (0..gradients[0].len())
            .map(|k| gradients.iter().zip(&lambda).map(|(g, l)| l * g[k]).sum())
            .collect();
        let norm = |g: &[f64]| dot(g, g).sqrt();
        let largest = gradients
            .iter()
            .zip(&lambda)
            .map(|(g, l)| l * norm(g))
            .fold(0.0, f64::max);
        for g in gradients {
            let violation = dot(&d, &d) - dot(g, &d);
            prop_assert!(
                violation <= 1e-10 * norm(g) * largest,
                "{violation} {lambda:?}"
            );
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn random_gradients(m in 1_usize..21, n in 1_usize..30, raw in prop::collection::vec(-1.0..1.0_f64, 600)) {
            let gradients: Vec<Vec<f64>> = (0..m).map(|i| raw[i * n..(i + 1) * n].to_vec()).collect();
            check(&gradients)?;
        }

        #[test]
        fn badly_scaled_gradients(m in 1_usize..9, n in 1_usize..12, raw in prop::collection::vec(-1.0..1.0_f64, 108), scales in prop::collection::vec(-6.0..6.0_f64, 9)) {
            let gradients: Vec<Vec<f64>> = (0..m)
                .map(|i| raw[i * n..(i + 1) * n].iter().map(|g| g * 10_f64.powf(scales[i])).collect())
                .collect();
            check(&gradients)?;
        }

        /// Parallel, opposite, equal and zero gradients, in any mixture.
        #[test]
        fn dependent_gradients(picks in prop::collection::vec((0_usize..4, -3_i32..4), 1..12), raw in prop::collection::vec(-1.0..1.0_f64, 20)) {
            let gradients: Vec<Vec<f64>> = picks
                .iter()
                .map(|(base, scale)| raw[base * 5..(base + 1) * 5].iter().map(|g| g * f64::from(*scale)).collect())
                .collect();
            check(&gradients)?;
        }

        #[test]
        fn two_gradients_have_a_closed_form(raw in prop::collection::vec(-1.0..1.0_f64, 8)) {
            let (a, b) = (raw[..4].to_vec(), raw[4..].to_vec());
            let difference: Vec<f64> = a.iter().zip(&b).map(|(x, y)| x - y).collect();
            let expected = (dot(&b, &b) - dot(&a, &b)) / dot(&difference, &difference);
            let found = weights(&[a, b], &Preconditioner::Identity)[0];
            prop_assert!((found - expected.clamp(0.0, 1.0)).abs() < 1e-9);
        }
    }

    #[test]
    fn gradients_may_differ_by_many_orders_of_magnitude() {
        let case = |scale: f64| vec![vec![1.0, 0.3], vec![-0.2 * scale, scale]];
        for scale in [1e-12, 1e12, 1e-150, 1e150] {
            let lambda = weights(&case(scale), &Preconditioner::Identity);
            assert!(
                lambda.iter().all(|l| l.is_finite()) && (lambda[0] + lambda[1] - 1.0).abs() < 1e-12
            );
        }
    }

    #[test]
    fn a_preconditioner_is_a_change_of_coordinates() {
        let gradients = [
            vec![1.0, 2.0, -1.0],
            vec![-1.0, 0.5, 1.0],
            vec![0.2, -1.0, 3.0],
        ];
        // M = diag(4, 1, 9) is the same as dividing coordinates by 2, 1 and 3.
        let preconditioner = Preconditioner::Diagonal(vec![0.25, 1.0, 1.0 / 9.0]);
        let scaled: Vec<Vec<f64>> = gradients
            .iter()
            .map(|g| vec![g[0] / 2.0, g[1], g[2] / 3.0])
            .collect();
        let (a, b) = (
            weights(&gradients, &preconditioner),
            weights(&scaled, &Preconditioner::Identity),
        );
        assert!(a.iter().zip(&b).all(|(x, y)| (x - y).abs() < 1e-12));
        let mut solver = MinNorm::new(3, 3);
        for g in &gradients {
            solver.push(g, 1.0, &preconditioner);
        }
        solver.solve();
        let mut out = [0.0; 3];
        solver.direction(&mut out);
        let first: f64 = gradients.iter().zip(&a).map(|(g, l)| l * g[0]).sum();
        assert!((out[0] - 0.25 * first).abs() < 1e-12);
    }
}
