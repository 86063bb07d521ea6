//! Problems with known fronts.

use fairfront_core::{Batches, Error, Gradients, Metric, Points, Problem, Purpose, Roots, Stream};

/// fᵢ = ½‖x − aᵢ‖², with noise on stochastic gradients: the Pareto set is the convex hull of the
/// aᵢ.
pub(crate) struct Quadratics {
    pub(crate) centres: Vec<Vec<f64>>,
    pub(crate) noise: f64,
}

/// Fonseca and Fleming's pair, whose front is not convex: the Pareto set is the segment from
/// (−1, …, −1)/√n to (1, …, 1)/√n.
pub(crate) struct Fonseca {
    pub(crate) n: usize,
}

/// A quadratic pair that is not a number where the first coordinate is above 0.6.
pub(crate) struct Cliff;

/// f₁ = ½ Σ qⱼ(xⱼ − aⱼ)², and objectives that are means of squares of affine functions
/// u·x + shift, given as (u, shift).
pub(crate) struct Bounded {
    pub(crate) curvature: Vec<f64>,
    pub(crate) centre: Vec<f64>,
    pub(crate) affine: Vec<Vec<(Vec<f64>, f64)>>,
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
        self.centres[0].len()
    }

    fn n_objectives(&self) -> usize {
        self.centres.len()
    }

    fn n_rows(&self) -> usize {
        10_000
    }

    fn values(&self, points: &Points) -> Result<Vec<f64>, Error> {
        let value = |x: &[f64], a: &Vec<f64>| {
            0.5 * x.iter().zip(a).map(|(x, a)| (x - a).powi(2)).sum::<f64>()
        };
        Ok(points
            .iter()
            .flat_map(|x| self.centres.iter().map(move |a| value(x, a)))
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
            let a = &self.centres[objective];
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
        let centre = sign / (self.n as f64).sqrt();
        x.iter().map(|x| (x - centre).powi(2)).sum()
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
        self.centre.len()
    }

    fn n_objectives(&self) -> usize {
        1 + self.affine.len()
    }

    fn values(&self, points: &Points) -> Result<Vec<f64>, Error> {
        let mut values = Vec::new();
        for x in points.iter() {
            let terms = x.iter().zip(&self.centre).zip(&self.curvature);
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
                let terms = x.iter().zip(&self.centre).zip(&self.curvature);
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

    fn metric(&self, _at: &[f64]) -> Result<Metric, Error> {
        Ok(Metric::Diagonal(
            self.curvature.iter().map(|q| 1.0 / q).collect(),
        ))
    }

    fn n_roots(&self, objective: usize) -> usize {
        match objective {
            0 => 0,
            i => self.affine[i - 1].len(),
        }
    }

    fn roots(&self, objective: usize, point: &[f64]) -> Result<Roots, Error> {
        Ok(Roots {
            values: self.values_at(objective, point),
            gradients: self.affine[objective - 1]
                .iter()
                .map(|(u, _)| u.clone())
                .collect(),
            affine: true,
        })
    }
}
