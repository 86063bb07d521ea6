//! Problems with known fronts.

use fairfront_core::{
    Batches, BoundFacet, Bounds, Error, Gradients, LossFacet, OfRoots, Points, Preconditioner,
    Problem, Purpose, RootFacet, Roots, SecondOrder, SecondOrderFacet, StopSignal, Stream,
};

/// fᵢ = ½‖x − aᵢ‖², with noise on stochastic gradients; the Pareto set is the convex hull of the
/// aᵢ.
pub(crate) struct Quadratics {
    pub(crate) centers: Vec<Vec<f64>>,
    pub(crate) noise: f64,
}

/// The pair of Fonseca and Fleming, whose front is not convex; the Pareto set is the segment from
/// (−1, …, −1)/√n to (1, …, 1)/√n.
pub(crate) struct Fonseca {
    pub(crate) n: usize,
}

/// A quadratic pair that is NaN if the first coordinate is above 0.6.
pub(crate) struct Cliff;

/// f₁ = ½ Σ qⱼ(xⱼ − aⱼ)², and objectives that are means of squares of affine functions u·x + shift,
/// given as (u, shift).
pub(crate) struct Bounded {
    pub(crate) curvature: Vec<f64>,
    pub(crate) center: Vec<f64>,
    pub(crate) affine: Vec<Vec<(Vec<f64>, f64)>>,
}

/// f₁ = ½μ‖c − a‖² + ½κ(b + h·c − s)² with x = (c, b), where b has no modulus of its own, and
/// objectives (u·x + shift)². Their roots may also depend on b.
pub(crate) struct Coupled {
    pub(crate) modulus: f64,
    pub(crate) kappa: f64,
    pub(crate) center: Vec<f64>,
    pub(crate) slope: Vec<f64>,
    pub(crate) shift: f64,
    pub(crate) affine: Vec<(Vec<f64>, f64)>,
}

fn each(
    problem: &dyn Problem,
    points: &Points,
    gradient: impl Fn(usize, &[f64]) -> Vec<f64>,
) -> Gradients {
    let m = problem.n_objectives();
    let mut out = Gradients::zeros(m, points.len(), problem.n_params());
    for (i, x) in points.iter().enumerate() {
        for objective in 0..m {
            out.get_mut(objective, i)
                .copy_from_slice(&gradient(objective, x));
        }
    }
    out
}

impl Problem for Quadratics {
    fn n_params(&self) -> usize {
        self.centers[0].len()
    }

    fn n_objectives(&self) -> usize {
        self.centers.len()
    }

    fn n_rows(&self) -> u64 {
        10_000
    }

    fn values(&self, points: &Points) -> Result<Vec<f64>, Error> {
        let value = |x: &[f64], a: &Vec<f64>| {
            0.5 * x.iter().zip(a).map(|(x, a)| (x - a).powi(2)).sum::<f64>()
        };
        Ok(points
            .iter()
            .flat_map(|x| self.centers.iter().map(move |a| value(x, a)))
            .collect())
    }

    fn gradients(&self, points: &Points, batches: Batches) -> Result<Gradients, Error> {
        let (scale, key) = match batches {
            Batches::All => (0.0, (0, [0, 0])),
            // The noise of a mean over the batch.
            Batches::Sample { sizes, key, .. } => (self.noise / (sizes[0] as f64).sqrt(), key),
        };
        Ok(each(self, points, |objective, x| {
            let keys = [key.1[0], key.1[1] + 7 * objective as u64];
            let mut random = Stream::new(key.0, Purpose::Batch, keys);
            let a = &self.centers[objective];
            x.iter()
                .zip(a)
                .map(|(x, a)| x - a + scale * random.normal())
                .collect()
        }))
    }
}

impl Problem for Fonseca {
    fn n_params(&self) -> usize {
        self.n
    }

    fn n_objectives(&self) -> usize {
        2
    }

    fn values(&self, points: &Points) -> Result<Vec<f64>, Error> {
        let value = |x: &[f64], sign: f64| 1.0 - (-self.square(x, sign)).exp();
        Ok(points
            .iter()
            .flat_map(|x| [value(x, 1.0), value(x, -1.0)])
            .collect())
    }

    fn gradients(&self, points: &Points, _batches: Batches) -> Result<Gradients, Error> {
        Ok(each(self, points, |objective, x| {
            let sign = if objective == 0 { 1.0 } else { -1.0 };
            let e = (-self.square(x, sign)).exp();
            x.iter()
                .map(|x| 2.0 * e * (x - sign / (self.n as f64).sqrt()))
                .collect()
        }))
    }
}

impl Fonseca {
    fn square(&self, x: &[f64], sign: f64) -> f64 {
        let center = sign / (self.n as f64).sqrt();
        x.iter().map(|x| (x - center).powi(2)).sum()
    }
}

impl Problem for Cliff {
    fn n_params(&self) -> usize {
        2
    }

    fn n_objectives(&self) -> usize {
        2
    }

    fn values(&self, points: &Points) -> Result<Vec<f64>, Error> {
        let value = |x: &[f64], a: f64| {
            if x[0] > 0.6 {
                f64::NAN
            } else {
                (x[0] - a).powi(2) + x[1].powi(2)
            }
        };
        Ok(points
            .iter()
            .flat_map(|x| [value(x, 0.0), value(x, 1.0)])
            .collect())
    }

    fn gradients(&self, points: &Points, _batches: Batches) -> Result<Gradients, Error> {
        Ok(each(self, points, |objective, x| {
            vec![2.0 * (x[0] - objective as f64), 2.0 * x[1]]
        }))
    }
}

impl Bounded {
    fn values_at(&self, objective: usize, x: &[f64]) -> Vec<f64> {
        self.affine[objective - 1]
            .iter()
            .map(|(u, shift)| shift + u.iter().zip(x).map(|(u, x)| u * x).sum::<f64>())
            .collect()
    }
}

impl Problem for Bounded {
    fn n_params(&self) -> usize {
        self.center.len()
    }

    fn n_objectives(&self) -> usize {
        1 + self.affine.len()
    }

    fn values(&self, points: &Points) -> Result<Vec<f64>, Error> {
        let mut values = Vec::new();
        for x in points.iter() {
            let terms = x.iter().zip(&self.center).zip(&self.curvature);
            values.push(terms.map(|((x, a), q)| 0.5 * q * (x - a).powi(2)).sum());
            for objective in 1..self.n_objectives() {
                let c = self.values_at(objective, x);
                values.push(c.iter().map(|c| c * c).sum::<f64>() / c.len() as f64);
            }
        }
        Ok(values)
    }

    fn gradients(&self, points: &Points, _batches: Batches) -> Result<Gradients, Error> {
        Ok(each(self, points, |objective, x| {
            if objective == 0 {
                let terms = x.iter().zip(&self.center).zip(&self.curvature);
                return terms.map(|((x, a), q)| q * (x - a)).collect();
            }
            let c = self.values_at(objective, x);
            let mut gradient = vec![0.0; x.len()];
            for (c_k, (u, _)) in c.iter().zip(&self.affine[objective - 1]) {
                for (g, u) in gradient.iter_mut().zip(u) {
                    *g += 2.0 * c_k * u / c.len() as f64;
                }
            }
            gradient
        }))
    }

    fn loss(&self) -> Option<&dyn LossFacet> {
        Some(self)
    }

    fn second_order(&self) -> Option<&dyn SecondOrderFacet> {
        Some(self)
    }

    fn bound(&self) -> Option<&dyn BoundFacet> {
        Some(self)
    }

    fn roots(&self) -> Option<&dyn RootFacet> {
        Some(self)
    }
}

impl LossFacet for Bounded {
    fn minimizer(
        &self,
        _near: Option<&[f64]>,
        _stop: &StopSignal,
    ) -> Result<Option<Vec<f64>>, Error> {
        Ok(None)
    }

    fn start(&self, _stop: &StopSignal) -> Result<Vec<f64>, Error> {
        Ok(vec![0.0; self.center.len()])
    }

    fn preconditioner(&self, _at: &[f64]) -> Result<Preconditioner, Error> {
        Ok(Preconditioner::Diagonal(
            self.curvature.iter().map(|q| 1.0 / q).collect(),
        ))
    }
}

impl RootFacet for Bounded {
    fn n_roots(&self, objective: usize) -> usize {
        match objective {
            0 => 0,
            i => self.affine[i - 1].len(),
        }
    }

    fn roots_at(&self, objective: usize, point: &[f64]) -> Result<Roots, Error> {
        Ok(Roots {
            values: self.values_at(objective, point),
            gradients: self.affine[objective - 1]
                .iter()
                .map(|(u, _)| u.clone())
                .collect(),
            affine: true,
        })
    }

    fn of_roots(&self, _objective: usize, roots: &[f64]) -> Result<OfRoots, Error> {
        let k = roots.len();
        let mut curvature = vec![0.0; k * k];
        (0..k).for_each(|i| curvature[i * k + i] = 2.0 / k as f64);
        Ok(OfRoots {
            value: roots.iter().map(|c| c * c).sum::<f64>() / k as f64,
            slope: roots.iter().map(|c| 2.0 * c / k as f64).collect(),
            curvature,
        })
    }
}

impl SecondOrderFacet for Bounded {
    fn expand(&self, point: &[f64]) -> Result<SecondOrder, Error> {
        let n = point.len();
        let at = Points::from_vec(n, point.to_vec());
        let mut lower = vec![0.0; n * n];
        for (i, q) in self.curvature.iter().enumerate() {
            lower[i * n + i] = *q;
        }
        Ok(SecondOrder {
            value: self.values(&at)?[0],
            gradient: self.gradients_of(0, &at)?,
            lower,
        })
    }
}

impl BoundFacet for Bounded {
    fn convex_below(&self, _objective: usize) -> Option<f64> {
        Some(f64::INFINITY)
    }

    fn bounds(&self, _level: f64) -> Result<Option<Bounds>, Error> {
        Ok(Some(Bounds {
            modulus: self.curvature.clone(),
            radius: vec![f64::INFINITY; self.curvature.len()],
            coupling: None,
        }))
    }
}

impl Coupled {
    fn root(&self, objective: usize, x: &[f64]) -> f64 {
        let (u, shift) = &self.affine[objective - 1];
        shift + u.iter().zip(x).map(|(u, x)| u * x).sum::<f64>()
    }

    /// b + h·c − s.
    fn off(&self, x: &[f64]) -> f64 {
        let of_slope: f64 = self.slope.iter().zip(x).map(|(h, c)| h * c).sum();
        x[self.center.len()] + of_slope - self.shift
    }

    /// The smallest loss where the root of one objective is at most `size`: in the variables c − a
    /// and b + h·c − s, the loss is diagonal.
    pub(crate) fn least(&self, size: f64) -> f64 {
        let (u, _) = &self.affine[0];
        let d = self.center.len();
        let mut minimizer = self.center.clone();
        minimizer.push(0.0);
        minimizer[d] = -self.off(&minimizer);
        let over = (self.root(1, &minimizer).abs() - size).max(0.0);
        let squares = u.iter().zip(&self.slope);
        let by_c: f64 = squares.map(|(u_j, h)| (u_j - u[d] * h).powi(2)).sum();
        over * over / (2.0 * (by_c / self.modulus + u[d] * u[d] / self.kappa))
    }
}

impl Problem for Coupled {
    fn n_params(&self) -> usize {
        self.center.len() + 1
    }

    fn n_objectives(&self) -> usize {
        1 + self.affine.len()
    }

    fn values(&self, points: &Points) -> Result<Vec<f64>, Error> {
        let mut values = Vec::new();
        for x in points.iter() {
            let pairs = x.iter().zip(&self.center);
            let square: f64 = pairs.map(|(x, a)| (x - a).powi(2)).sum();
            values.push(0.5 * (self.modulus * square + self.kappa * self.off(x).powi(2)));
            values.extend((1..self.n_objectives()).map(|i| self.root(i, x).powi(2)));
        }
        Ok(values)
    }

    fn gradients(&self, points: &Points, _batches: Batches) -> Result<Gradients, Error> {
        Ok(each(self, points, |objective, x| {
            if objective > 0 {
                let c = self.root(objective, x);
                let (u, _) = &self.affine[objective - 1];
                return u.iter().map(|u| 2.0 * c * u).collect();
            }
            let off = self.kappa * self.off(x);
            let terms = x.iter().zip(&self.center).zip(&self.slope);
            let by_c = terms.map(|((x, a), h)| self.modulus * (x - a) + off * h);
            by_c.chain([off]).collect()
        }))
    }

    fn second_order(&self) -> Option<&dyn SecondOrderFacet> {
        Some(self)
    }

    fn bound(&self) -> Option<&dyn BoundFacet> {
        Some(self)
    }

    fn roots(&self) -> Option<&dyn RootFacet> {
        Some(self)
    }
}

impl SecondOrderFacet for Coupled {
    fn expand(&self, point: &[f64]) -> Result<SecondOrder, Error> {
        let n = point.len();
        let rank_one: Vec<f64> = self.slope.iter().copied().chain([1.0]).collect();
        let mut lower = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                lower[i * n + j] = self.kappa * rank_one[i] * rank_one[j];
            }
            if i + 1 < n {
                lower[i * n + i] += self.modulus;
            }
        }
        let at = Points::from_vec(n, point.to_vec());
        Ok(SecondOrder {
            value: self.values(&at)?[0],
            gradient: self.gradients_of(0, &at)?,
            lower,
        })
    }
}

impl BoundFacet for Coupled {
    fn convex_below(&self, _objective: usize) -> Option<f64> {
        Some(f64::INFINITY)
    }

    fn bounds(&self, _level: f64) -> Result<Option<Bounds>, Error> {
        let d = self.center.len();
        let slope = self.slope.iter().map(|h| h * h).sum::<f64>().sqrt();
        Ok(Some(Bounds {
            modulus: (0..=d)
                .map(|i| if i < d { self.modulus } else { 0.0 })
                .collect(),
            radius: vec![f64::INFINITY; d + 1],
            coupling: Some(self.kappa * slope),
        }))
    }
}

impl RootFacet for Coupled {
    fn n_roots(&self, objective: usize) -> usize {
        usize::from(objective > 0)
    }

    fn roots_at(&self, objective: usize, point: &[f64]) -> Result<Roots, Error> {
        Ok(Roots {
            values: vec![self.root(objective, point)],
            gradients: vec![self.affine[objective - 1].0.clone()],
            affine: true,
        })
    }

    fn of_roots(&self, _objective: usize, roots: &[f64]) -> Result<OfRoots, Error> {
        Ok(OfRoots {
            value: roots[0] * roots[0],
            slope: vec![2.0 * roots[0]],
            curvature: vec![2.0],
        })
    }
}
