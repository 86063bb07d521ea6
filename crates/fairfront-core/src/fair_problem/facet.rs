//! The facets of the problem: information beyond values and gradients.

use std::sync::Arc;

use super::{FairProblem, Prepared};
use crate::objective::{OfRoots, Squares};
use crate::problem::{
    BoundFacet, Bounds, LossFacet, Points, Preconditioner, Problem, RootFacet, Roots, SecondOrder,
    SecondOrderFacet, TemperatureFacet,
};
use crate::{Cholesky, Error, StopSignal};

impl LossFacet for FairProblem {
    fn minimizer(
        &self,
        near: Option<&[f64]>,
        stop: &StopSignal,
    ) -> Result<Option<Vec<f64>>, Error> {
        self.newton(near, stop)
    }

    fn start(&self, stop: &StopSignal) -> Result<Vec<f64>, Error> {
        let schema = self.engine.schema();
        let Some((stand_in, shift)) = &self.stand_in else {
            return Ok(self.predictor.start(schema));
        };
        let found = stand_in.newton(None, stop)?;
        let mut start = found.unwrap_or_else(|| self.predictor.start(schema));
        if let Some(intercept) = self.predictor.intercept(schema)
            && *shift != 0.0
        {
            start[intercept] += shift;
        }
        Ok(start)
    }

    fn more_starts(&self, most: usize) -> Option<Points> {
        let schema = self.engine.schema();
        let starts = self.predictor.starts(schema, most.saturating_add(1));
        let shift = self.stand_in.as_ref().map_or(0.0, |(_, shift)| *shift);
        let mut more = Points::new(self.n_params);
        for mut start in starts.into_iter().skip(1) {
            if let Some(intercept) = self.predictor.intercept(schema) {
                start[intercept] += shift;
            }
            more.push(&start);
        }
        (!more.is_empty()).then_some(more)
    }

    fn preconditioner(&self, at: &[f64]) -> Result<Preconditioner, Error> {
        if let Some((stand_in, _)) = &self.stand_in {
            return stand_in.preconditioner(at);
        }
        let n = self.n_params;
        if let Some(SecondOrder { mut lower, .. }) = self.expansion(at)? {
            let trace: f64 = (0..n).map(|i| lower[i * n + i]).sum();
            for i in 0..n {
                lower[i * n + i] += 1e-8 * trace / n as f64;
            }
            if let Some(factor) = Cholesky::new(lower, n) {
                return Ok(Preconditioner::Dense(factor));
            }
        }
        self.diagonal_preconditioner(at)
    }
}

impl SecondOrderFacet for FairProblem {
    fn expand(&self, point: &[f64]) -> Result<SecondOrder, Error> {
        self.expansion(point)?.ok_or(Error::NoSecondOrder)
    }
}

impl BoundFacet for FairProblem {
    fn convex_below(&self, objective: usize) -> Option<f64> {
        self.objectives[objective].objective.convex_below()
    }

    fn bounds(&self, level: f64) -> Result<Option<Bounds>, Error> {
        self.bounds_at(level)
    }

    fn zeros(&self, objective: usize, point: &[f64], value: f64) -> Option<(Roots, f64)> {
        self.zeros_at(objective, point, value)
    }
}

impl RootFacet for FairProblem {
    fn n_roots(&self, objective: usize) -> usize {
        let squares = self.objectives[objective].objective.squares();
        squares.map_or(0, Squares::n_roots)
    }

    fn roots_at(&self, objective: usize, point: &[f64]) -> Result<Roots, Error> {
        self.roots_and_gradients(objective, point)
    }

    fn of_roots(&self, objective: usize, roots: &[f64]) -> Result<OfRoots, Error> {
        let squares = self.objectives[objective].objective.squares();
        let squares = squares.ok_or(Error::NoRoots(objective))?;
        Ok(squares.of_roots(roots))
    }

    fn root_size(&self, _objective: usize, point: &[f64]) -> Result<f64, Error> {
        self.score_size(point)
    }

    fn root_values(&self, objective: usize, points: &Points) -> Result<Vec<f64>, Error> {
        self.root_values_at(objective, points)
    }
}

impl TemperatureFacet for FairProblem {
    fn softened(&self, factor: f64) -> Result<Box<dyn Problem + '_>, Error> {
        let of = |prepared: &Prepared| match prepared.objective.temperature() {
            Some(temperature) => Prepared {
                objective: Arc::from(temperature.softened(factor)),
                ..prepared.clone()
            },
            None => prepared.clone(),
        };
        let objectives = self.objectives.iter().map(of).collect();
        Ok(Box::new(self.with(objectives, self.stand_in.clone())))
    }
}
