//! Problems with known fronts.

use fairfront_core::{Batches, Error, Gradients, Points, Problem, Purpose, Stream};

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
