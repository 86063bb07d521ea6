//! Indicators of points in objective space, and the direction that lowers all objectives.
//!
//! Arrays come from the package's own functions: two-dimensional, f64, in C order. They are not
//! copied.

use std::collections::HashSet;

use fairfront_core::Preconditioner;
use fairfront_pareto as pareto;
use fairfront_pareto::{Better, Profile, Values};
use fairfront_solve::{MOST_OBJECTIVES, MinNorm};
use numpy::PyUntypedArrayMethods;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::Failure;
use crate::work::outside;

/// Indicators run on one thread.
const ONE: usize = 1;
/// Gradients with a larger entry are scaled down, so that no length overflows.
const LARGE: f64 = 1e150;

type Points<'py> = PyReadonlyArray2<'py, f64>;
type Numbers<'py> = PyReadonlyArray1<'py, f64>;
type Positions<'py> = Bound<'py, PyArray1<i64>>;

fn wrong(message: String) -> Failure {
    PyValueError::new_err(message).into()
}

/// The numbers of an array, the number of objectives, and the name of the argument.
#[derive(Clone, Copy)]
struct Named<'a> {
    name: &'a str,
    data: &'a [f64],
    m: usize,
}

impl<'a> Named<'a> {
    fn of(name: &'a str, points: &'a Points<'_>) -> Result<Self, Failure> {
        let m = points.shape()[1];
        let in_order = |_| wrong(format!("{name} is not in C order"));
        let data = points.as_slice().map_err(in_order)?;
        Ok(Self { name, data, m })
    }

    fn values(self) -> Result<Values<'a>, Failure> {
        let named = |e: pareto::Error| wrong(format!("{}: {e}", self.name));
        Values::new(self.data, self.m).map_err(named)
    }
}

fn reference<'a>(numbers: &'a Numbers<'_>, points: Named<'_>) -> Result<&'a [f64], Failure> {
    let in_order = |_| wrong("ref is not in C order".into());
    let numbers = numbers.as_slice().map_err(in_order)?;
    if numbers.len() != points.m {
        return Err(wrong(format!(
            "ref has {} values, but points have {} objectives",
            numbers.len(),
            points.m
        )));
    }
    match numbers.iter().position(|v| v.is_nan()) {
        Some(at) => Err(wrong(format!("ref: value {at} is not a number"))),
        None => Ok(numbers),
    }
}

fn positions(py: Python<'_>, found: Vec<usize>) -> PyResult<Positions<'_>> {
    let found: Result<Vec<i64>, _> = found.into_iter().map(i64::try_from).collect();
    Ok(found?.into_pyarray(py))
}

/// Computes the volume that points dominate.
#[pyfunction]
pub(crate) fn hypervolume(py: Python<'_>, points: Points<'_>, r#ref: Numbers<'_>) -> PyResult<f64> {
    let points = Named::of("points", &points)?;
    let reference = reference(&r#ref, points)?;
    outside(py, ONE, || {
        Ok(pareto::hypervolume(points.values()?, reference)?)
    })
}

/// Computes the contribution of each point to the volume.
#[pyfunction]
pub(crate) fn contributions<'py>(
    py: Python<'py>,
    points: Points<'py>,
    r#ref: Numbers<'py>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let points = Named::of("points", &points)?;
    let reference = reference(&r#ref, points)?;
    let each = outside(py, ONE, || {
        Ok(pareto::contributions(points.values()?, reference)?)
    })?;
    Ok(each.into_pyarray(py))
}

/// Finds the positions of the nondominated points; of equal points, only the first.
#[pyfunction]
pub(crate) fn nondominated<'py>(py: Python<'py>, points: Points<'py>) -> PyResult<Positions<'py>> {
    let points = Named::of("points", &points)?;
    positions(
        py,
        outside(py, ONE, || Ok(pareto::nondominated(points.values()?)))?,
    )
}

/// Determines for each point whether no other point dominates it; of equal points, the first or
/// all.
#[pyfunction]
pub(crate) fn is_nondominated<'py>(
    py: Python<'py>,
    points: Points<'py>,
    keep_weakly: bool,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let points = Named::of("points", &points)?;
    let mask = outside(py, ONE, || {
        let values = points.values()?;
        let best = pareto::nondominated(values);
        let mut mask = vec![false; values.len()];
        best.iter().for_each(|i| mask[*i] = true);
        if keep_weakly {
            // Adding 0 turns -0 into 0.
            let bits = |p: &[f64]| p.iter().map(|v| (v + 0.0).to_bits()).collect::<Vec<_>>();
            let among: HashSet<_> = best.iter().map(|i| bits(values.point(*i))).collect();
            for (kept, point) in mask.iter_mut().zip(values) {
                *kept |= among.contains(&bits(point));
            }
        }
        Ok(mask)
    })?;
    Ok(mask.into_pyarray(py))
}

/// Computes the share of a front's points that no point of the union dominates.
#[pyfunction]
pub(crate) fn purity(
    py: Python<'_>,
    front: Points<'_>,
    union: Points<'_>,
    tolerance: f64,
) -> PyResult<f64> {
    let (front, union) = (Named::of("front", &front)?, Named::of("union", &union)?);
    outside(py, ONE, || {
        let (front, union) = (front.values()?, union.values()?);
        match tolerance {
            0.0 => Ok(pareto::purity(front, union)?),
            t if t > 0.0 && t.is_finite() => Ok(pareto::purity_within(front, union, t)?),
            t => Err(wrong(format!(
                "tolerance must be 0 or more and finite, not {t}"
            ))),
        }
    })
}

/// Computes Γ, Γ as a share of the range, and Δ.
#[pyfunction]
pub(crate) fn spread(
    py: Python<'_>,
    front: Points<'_>,
    union: Points<'_>,
) -> PyResult<(f64, f64, f64)> {
    let (front, union) = (Named::of("front", &front)?, Named::of("union", &union)?);
    outside(py, ONE, || {
        let found = pareto::spread(front.values()?, union.values()?)?;
        Ok((found.gamma, found.scaled_gamma, found.delta))
    })
}

/// Indicators that compare a front with a target.
macro_rules! next_to_target {
    ($($(#[$about:meta])* $name:ident),*) => {$(
        $(#[$about])*
        #[pyfunction]
        pub(crate) fn $name(py: Python<'_>, front: Points<'_>, target: Points<'_>) -> PyResult<f64> {
            let (front, target) = (Named::of("front", &front)?, Named::of("target", &target)?);
            outside(py, ONE, || Ok(pareto::$name(front.values()?, target.values()?)?))
        }
    )*};
}

next_to_target!(
    /// Computes the share of the target's points that the front dominates or equals.
    coverage,
    /// Computes by how much the front has to be lowered to cover the target.
    additive_epsilon,
    /// Computes the mean distance from the target's points to the region that the front dominates.
    igd_plus
);

/// Finds the position of the knee.
#[pyfunction]
pub(crate) fn knee(py: Python<'_>, points: Points<'_>) -> PyResult<Option<usize>> {
    let points = Named::of("points", &points)?;
    outside(py, ONE, || Ok(pareto::knee(points.values()?)))
}

/// Finds the positions of the points that remain after dense regions are thinned.
#[pyfunction]
pub(crate) fn thin<'py>(
    py: Python<'py>,
    points: Points<'py>,
    share: f64,
) -> PyResult<Positions<'py>> {
    let points = Named::of("points", &points)?;
    let kept = outside(py, ONE, || {
        if !(share >= 0.0 && share.is_finite()) {
            return Err(wrong(format!(
                "share must be 0 or more and finite, not {share}"
            )));
        }
        let values = points.values()?;
        Ok(pareto::thin(values, share, &pareto::ranges(values, None)))
    })?;
    positions(py, kept)
}

/// Finds the positions of `n` well-spread points.
#[pyfunction]
pub(crate) fn select_spread<'py>(
    py: Python<'py>,
    points: Points<'py>,
    n: usize,
) -> PyResult<Positions<'py>> {
    let points = Named::of("points", &points)?;
    let chosen = outside(py, ONE, || {
        let values = points.values()?;
        let ranges = pareto::ranges(values, None);
        Ok(pareto::select_spread(values, n, &ranges))
    })?;
    positions(py, chosen)
}

/// Computes the increasing ratios to the best, one row per solver and one column per problem.
#[pyfunction]
pub(crate) fn profile_ratios<'py>(
    py: Python<'py>,
    results: Points<'py>,
    larger: bool,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let results = Named::of("values", &results)?;
    let better = match larger {
        true => Better::Larger,
        false => Better::Smaller,
    };
    let n_problems = results.data.len() / results.m.max(1);
    let ratios = outside(py, ONE, || {
        let profile = Profile::new(results.values()?, better)?;
        let each = (0..profile.n_solvers()).flat_map(|s| profile.ratios(s).iter().copied());
        Ok(each.collect::<Vec<_>>())
    })?;
    ratios.into_pyarray(py).reshape([results.m, n_problems])
}

/// Computes M⁻¹ times the shortest convex combination of gradients, and its weights. `inverse` is
/// the diagonal of M⁻¹.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "a pair of arrays")]
pub(crate) fn min_norm<'py>(
    py: Python<'py>,
    gradients: Points<'py>,
    inverse: Option<Numbers<'py>>,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
    let gradients = Named::of("gradients", &gradients)?;
    let n_params = gradients.m;
    let preconditioner = match &inverse {
        None => Preconditioner::Identity,
        Some(inverse) => Preconditioner::Diagonal(inverse.to_vec()?),
    };
    let n_gradients = gradients.data.len().checked_div(n_params).unwrap_or(0);
    let (direction, weights) = outside(py, ONE, || {
        if !(1..=MOST_OBJECTIVES).contains(&n_gradients) {
            return Err(wrong(format!(
                "expected 1 to {MOST_OBJECTIVES} gradients with at least one number, found \
                 {n_gradients}"
            )));
        }
        if let Some(at) = gradients.data.iter().position(|v| !v.is_finite()) {
            let (row, column) = (at / n_params, at % n_params);
            return Err(wrong(format!(
                "gradients: number {column} of gradient {row} is not finite"
            )));
        }
        let largest = gradients.data.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
        // A power of two, so that scaling does not round.
        let scale = if largest > LARGE {
            2f64.powi(-600)
        } else {
            1.0
        };
        let mut solver = MinNorm::new(n_gradients, n_params);
        for gradient in gradients.data.chunks_exact(n_params) {
            solver.push(gradient, scale, &preconditioner);
        }
        let weights = solver.solve().to_vec();
        let mut direction = vec![0.0; n_params];
        solver.direction(&mut direction);
        direction.iter_mut().for_each(|d| *d /= scale);
        Ok((direction, weights))
    })?;
    Ok((direction.into_pyarray(py), weights.into_pyarray(py)))
}
