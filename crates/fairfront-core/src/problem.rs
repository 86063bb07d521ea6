use serde::{Deserialize, Serialize};

use crate::objective::OfRoots;
use crate::{Cholesky, Error, StopSignal};

/// Parameter vectors, one after the other.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Points {
    n_params: usize,
    data: Vec<f64>,
}

impl Points {
    /// An empty list of points with `n_params` parameters each.
    pub fn new(n_params: usize) -> Self {
        Self {
            n_params,
            data: Vec::new(),
        }
    }

    /// Points from their parameters, one after the other.
    ///
    /// # Panics
    /// If the length of `data` is not a multiple of `n_params`.
    pub fn from_vec(n_params: usize, data: Vec<f64>) -> Self {
        assert!(
            n_params > 0 && data.len().is_multiple_of(n_params),
            "data must have n · n_params values"
        );
        Self { n_params, data }
    }

    /// Parameters of a point.
    pub fn n_params(&self) -> usize {
        self.n_params
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.data.len() / self.n_params.max(1)
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// A point's parameters.
    pub fn get(&self, index: usize) -> &[f64] {
        &self.data[index * self.n_params..(index + 1) * self.n_params]
    }

    /// Mutable access to a point's parameters.
    pub fn get_mut(&mut self, index: usize) -> &mut [f64] {
        &mut self.data[index * self.n_params..(index + 1) * self.n_params]
    }

    /// Adds a point.
    ///
    /// # Panics
    /// If `point` does not have `n_params` parameters.
    pub fn push(&mut self, point: &[f64]) {
        assert_eq!(
            point.len(),
            self.n_params,
            "a point has n_params parameters"
        );
        self.data.extend_from_slice(point);
    }

    /// The points in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.data.chunks_exact(self.n_params.max(1))
    }

    /// The points at these positions.
    #[must_use]
    pub fn select(&self, positions: &[usize]) -> Self {
        let mut selected = Self::new(self.n_params);
        for &position in positions {
            selected.push(self.get(position));
        }
        selected
    }

    /// All parameters, point by point.
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }
}

/// Gradients of all objectives at some points: `get(objective, point)` has `n_params` values.
#[derive(Debug, Clone, PartialEq)]
pub struct Gradients {
    n_points: usize,
    n_params: usize,
    data: Vec<f64>,
}

impl Gradients {
    /// All zero.
    pub fn zeros(n_objectives: usize, n_points: usize, n_params: usize) -> Self {
        Self {
            n_points,
            n_params,
            data: vec![0.0; n_objectives * n_points * n_params],
        }
    }

    /// A gradient.
    pub fn get(&self, objective: usize, point: usize) -> &[f64] {
        let start = (objective * self.n_points + point) * self.n_params;
        &self.data[start..start + self.n_params]
    }

    /// Mutable access to a gradient.
    pub fn get_mut(&mut self, objective: usize, point: usize) -> &mut [f64] {
        self.get_mut_many(objective, point, 1)
    }

    /// Gradients of one objective at consecutive points.
    pub(crate) fn get_mut_many(
        &mut self,
        objective: usize,
        first: usize,
        n_points: usize,
    ) -> &mut [f64] {
        let start = (objective * self.n_points + first) * self.n_params;
        &mut self.data[start..start + n_points * self.n_params]
    }
}

/// The rows from which stochastic gradients are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batches<'a> {
    /// All rows.
    All,
    /// A number of rows per objective, drawn without replacement by a key.
    Sample {
        /// Rows per objective; a size of at least the number of rows means all rows.
        sizes: &'a [usize],
        /// Seed, and two numbers that identify this draw.
        key: (u64, [u64; 2]),
        /// The rows from which h′ is computed in `∇h(E[s]) = h′(E[s]) ∇E[s]`.
        outer: OuterBatch,
    },
}

/// The rows from which the outer factor of a stochastic gradient is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OuterBatch {
    /// A separate batch, independent of the batch of the other factor, which removes the bias to
    /// the extent that h′ is linear. If this factor needs no pass over rows, as for covariances of
    /// linear scores, it uses all rows.
    #[default]
    Own,
    /// The batch of the other factor.
    Shared,
}

/// The precision with which points are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// In double precision.
    Exact,
    /// To about six digits, if that is faster: precise enough to guide a descent.
    Rough,
}

/// A quadratic form in which steps are measured: ‖v‖² = vᵀM⁻¹v, and a step is M⁻¹v.
#[derive(Debug, Clone)]
pub enum Preconditioner {
    /// M = I.
    Identity,
    /// M is diagonal; the numbers are the diagonal of M⁻¹.
    Diagonal(Vec<f64>),
    /// M, given by its Cholesky factor.
    Dense(Cholesky),
}

impl Preconditioner {
    /// Replaces a gradient by M⁻¹ times it.
    pub fn step(&self, gradient: &mut [f64]) {
        match self {
            Self::Identity => {}
            Self::Diagonal(inverse) => {
                for (g, d) in gradient.iter_mut().zip(inverse) {
                    *g *= d;
                }
            }
            Self::Dense(factor) => factor.solve(gradient),
        }
    }

    /// Replaces v by L⁻ᵀv, where L is the factor of M. This maps variables in which M is the
    /// identity to parameters.
    pub fn to_params(&self, v: &mut [f64]) {
        match self {
            Self::Identity => {}
            Self::Diagonal(inverse) => scale_by_roots(v, inverse),
            Self::Dense(factor) => factor.solve_transposed(v),
        }
    }

    /// Replaces a gradient by L⁻¹ times it: the gradient in the variables in which M is the
    /// identity.
    pub fn to_variables(&self, gradient: &mut [f64]) {
        match self {
            Self::Identity => {}
            Self::Diagonal(inverse) => scale_by_roots(gradient, inverse),
            Self::Dense(factor) => factor.solve_lower(gradient),
        }
    }
}

fn scale_by_roots(v: &mut [f64], squares: &[f64]) {
    for (v, square) in v.iter_mut().zip(squares) {
        *v *= square.sqrt();
    }
}

/// The roots cₖ of an objective at a point, if it is a smooth maximum of squares c₁², …, cₙ².
#[derive(Debug, Clone, PartialEq)]
pub struct Roots {
    /// The cₖ.
    pub values: Vec<f64>,
    /// Their gradients, `n_params` values each.
    pub gradients: Vec<Vec<f64>>,
    /// Whether the cₖ are affine in x: the gradients are then the same at every point.
    pub affine: bool,
}

/// Value, gradient and Hessian at a point.
#[derive(Debug, Clone, PartialEq)]
pub struct SecondOrder {
    /// f.
    pub value: f64,
    /// ∇f.
    pub gradient: Vec<f64>,
    /// The lower triangle of ∇²f, row by row, zeros above.
    pub lower: Vec<f64>,
}

/// Facts about the first objective far from a point: enough to prove that no point is better.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// For each parameter, a modulus μ ≥ 0 such that f − ½ Σ μx² is convex.
    pub modulus: Vec<f64>,
    /// For each parameter, the largest size it can have if f is at most the given level; ∞ if that
    /// is not known.
    pub radius: Vec<f64>,
    /// How fast the gradient with respect to the other parameters can change with b, if b is the
    /// only parameter without a modulus. This requires that ∂²f/∂b² changes by at most a factor e^δ
    /// over a distance δ along any direction in which, according to ∇²f, scores move by δ.
    pub coupling: Option<f64>,
}

/// The interface between solvers and objectives. Analytic test problems and users' own problems
/// also implement it.
///
/// Four methods are required. The next ones have defaults that a problem replaces if it can do
/// better. The last ones are facets: information beyond values and gradients, or `None` if the
/// problem does not have it.
pub trait Problem: Sync {
    /// Number of parameters.
    fn n_params(&self) -> usize;
    /// Number of objectives.
    fn n_objectives(&self) -> usize;
    /// Values of all objectives at all points, `n_objectives` per point.
    fn values(&self, points: &Points) -> Result<Vec<f64>, Error>;
    /// Gradients of all objectives at some points. The points of one call share their batches.
    fn gradients(&self, points: &Points, batches: Batches) -> Result<Gradients, Error>;

    /// Number of rows of the objectives, of which batch sizes are shares; 1 without rows.
    fn n_rows(&self) -> u64 {
        1
    }
    /// Values and gradients of all objectives at some points, with all rows.
    fn evaluate(&self, points: &Points) -> Result<(Vec<f64>, Gradients), Error> {
        Ok((self.values(points)?, self.gradients(points, Batches::All)?))
    }
    /// Values of one objective alone at all points.
    fn values_of(&self, objective: usize, points: &Points) -> Result<Vec<f64>, Error> {
        let all = self.values(points)?;
        let own = all.into_iter().skip(objective);
        Ok(own.step_by(self.n_objectives()).collect())
    }
    /// The gradients of one objective alone at some points, with all rows, one after the other.
    fn gradients_of(&self, objective: usize, points: &Points) -> Result<Vec<f64>, Error> {
        let all = self.gradients(points, Batches::All)?;
        let own = (0..points.len()).flat_map(|i| all.get(objective, i));
        Ok(own.copied().collect())
    }
    /// Values of all objectives at some points, and for each point the gradient of a weighted sum
    /// of them, with all rows. There are `n_objectives` weights per point.
    fn weighted(
        &self,
        points: &Points,
        weights: &[f64],
        _precision: Precision,
    ) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let m = self.n_objectives();
        let (values, gradients) = self.evaluate(points)?;
        let mut sums = vec![0.0; points.len() * self.n_params()];
        for (i, sum) in sums.chunks_exact_mut(self.n_params().max(1)).enumerate() {
            for (objective, weight) in weights[i * m..(i + 1) * m].iter().enumerate() {
                let gradient = gradients.get(objective, i);
                sum.iter_mut()
                    .zip(gradient)
                    .for_each(|(s, g)| *s += weight * g);
            }
        }
        Ok((values, sums))
    }
    /// Values of an objective up to this one count as 0.
    fn negligible(&self, _objective: usize) -> f64 {
        0.0
    }

    /// Information about the first objective alone: its minimizer and its curvature.
    fn loss(&self) -> Option<&dyn LossFacet> {
        None
    }
    /// Second derivatives of the first objective.
    fn second_order(&self) -> Option<&dyn SecondOrderFacet> {
        None
    }
    /// Convexity of objectives, and bounds on the first of them.
    fn bound(&self) -> Option<&dyn BoundFacet> {
        None
    }
    /// The quantities whose squares make up objectives.
    fn roots(&self) -> Option<&dyn RootFacet> {
        None
    }
    /// The same problem at other temperatures.
    fn temperature(&self) -> Option<&dyn TemperatureFacet> {
        None
    }
}

/// Information about the first objective, the loss.
pub trait LossFacet {
    /// Its minimizer, if the problem can find it better than a solver could. `near` is a point that
    /// is probably close to it, if one is known. Returns [`Error::Stopped`] once the signal is set.
    fn minimizer(&self, near: Option<&[f64]>, stop: &StopSignal)
    -> Result<Option<Vec<f64>>, Error>;
    /// The point from which to search for the minimizer; [`Error::Stopped`] once the signal is set.
    fn start(&self, stop: &StopSignal) -> Result<Vec<f64>, Error>;
    /// Up to `most` further points from which to search, if descents from different points may end
    /// in different minima.
    fn more_starts(&self, _most: usize) -> Option<Points> {
        None
    }
    /// A preconditioner for the loss near these parameters: steps of length 1 should not overshoot.
    fn preconditioner(&self, at: &[f64]) -> Result<Preconditioner, Error>;
}

/// Second derivatives of the first objective, dense.
pub trait SecondOrderFacet {
    /// Value, gradient and Hessian at a point, with all rows.
    fn expand(&self, point: &[f64]) -> Result<SecondOrder, Error>;
}

/// Convexity of objectives, and bounds on the first of them.
pub trait BoundFacet {
    /// A value v such that the objective is convex on a convex set that contains every x with a
    /// value of at most v; ∞ if it is convex everywhere. `None` makes no claim.
    fn convex_below(&self, objective: usize) -> Option<f64>;
    /// Facts about the first objective that hold wherever it is at most `level`, if it is convex;
    /// `None` makes no claim.
    fn bounds(&self, level: f64) -> Result<Option<Bounds>, Error>;
    /// Affine functions that are all 0 if an objective is 0, at a point, and a bound on their absolute
    /// values wherever the objective has at most this value. `None` makes no claim.
    fn zeros(&self, _objective: usize, _point: &[f64], _value: f64) -> Option<(Roots, f64)> {
        None
    }
}

/// Objectives that are smooth maxima of squares c₁², …, cₙ², as for covariances. Their smallest
/// value is 0, on the flat set where all cₖ are 0.
pub trait RootFacet {
    /// The number of roots, n; 0 for any other objective.
    fn n_roots(&self, objective: usize) -> usize;
    /// The cₖ of such an objective, and their gradients, at a point.
    fn roots_at(&self, objective: usize, point: &[f64]) -> Result<Roots, Error>;
    /// Such an objective as a function of its cₖ.
    fn of_roots(&self, objective: usize, roots: &[f64]) -> Result<OfRoots, Error>;
    /// The size of the terms that add up to the cₖ at a point: a cₖ far below this size is 0 up to
    /// rounding. The default is the largest Σⱼ |∂cₖ/∂xⱼ · xⱼ|, which is correct if the cₖ are
    /// linear and their gradients exact.
    fn root_size(&self, objective: usize, point: &[f64]) -> Result<f64, Error> {
        let roots = self.roots_at(objective, point)?;
        let size =
            |gradient: &Vec<f64>| gradient.iter().zip(point).map(|(g, x)| (g * x).abs()).sum();
        Ok(roots.gradients.iter().map(size).fold(0.0, f64::max))
    }
    /// The cₖ of an objective at many points, `n_roots` per point.
    fn root_values(&self, objective: usize, points: &Points) -> Result<Vec<f64>, Error> {
        let mut values = Vec::with_capacity(points.len() * self.n_roots(objective));
        for point in points.iter() {
            values.extend(self.roots_at(objective, point)?.values);
        }
        Ok(values)
    }
}

/// Objectives with a temperature.
pub trait TemperatureFacet {
    /// The same problem with its temperatures multiplied by this factor. Factors above 1 make it
    /// smoother and easier to solve.
    fn softened(&self, factor: f64) -> Result<Box<dyn Problem + '_>, Error>;
}

/// Facets with fallbacks, for solvers.
impl dyn Problem + '_ {
    /// The gradient of one objective alone at a point, with all rows.
    pub fn gradient_of(&self, objective: usize, point: &[f64]) -> Result<Vec<f64>, Error> {
        self.gradients_of(objective, &Points::from_vec(point.len(), point.to_vec()))
    }

    /// [`LossFacet::minimizer`]; `None` without the facet.
    pub fn minimizer(
        &self,
        near: Option<&[f64]>,
        stop: &StopSignal,
    ) -> Result<Option<Vec<f64>>, Error> {
        self.loss()
            .map_or(Ok(None), |loss| loss.minimizer(near, stop))
    }

    /// [`LossFacet::start`]; x = 0 without the facet.
    pub fn start(&self, stop: &StopSignal) -> Result<Vec<f64>, Error> {
        let origin = || Ok(vec![0.0; self.n_params()]);
        self.loss().map_or_else(origin, |loss| loss.start(stop))
    }

    /// [`LossFacet::more_starts`]; `None` without the facet.
    pub fn more_starts(&self, most: usize) -> Option<Points> {
        self.loss().and_then(|loss| loss.more_starts(most))
    }

    /// [`LossFacet::preconditioner`]; the identity without the facet.
    pub fn preconditioner(&self, at: &[f64]) -> Result<Preconditioner, Error> {
        let identity = Ok(Preconditioner::Identity);
        self.loss().map_or(identity, |loss| loss.preconditioner(at))
    }

    /// [`BoundFacet::convex_below`]; `None` without the facet.
    pub fn convex_below(&self, objective: usize) -> Option<f64> {
        self.bound().and_then(|bound| bound.convex_below(objective))
    }

    /// [`BoundFacet::bounds`]; `None` without the facet.
    pub fn bounds(&self, level: f64) -> Result<Option<Bounds>, Error> {
        self.bound().map_or(Ok(None), |bound| bound.bounds(level))
    }

    /// [`RootFacet::n_roots`]; 0 without the facet.
    pub fn n_roots(&self, objective: usize) -> usize {
        self.roots().map_or(0, |roots| roots.n_roots(objective))
    }

    /// The roots of an objective with [`RootFacet::n_roots`] above 0; an error for any other.
    pub fn roots_of(&self, objective: usize) -> Result<RootsOf<'_>, Error> {
        let facet = self.roots().filter(|roots| roots.n_roots(objective) > 0);
        let facet = facet.ok_or(Error::NoRoots(objective))?;
        Ok(RootsOf { facet, objective })
    }
}

/// The roots of one objective.
#[derive(Clone, Copy)]
pub struct RootsOf<'a> {
    facet: &'a dyn RootFacet,
    objective: usize,
}

impl RootsOf<'_> {
    /// [`RootFacet::roots_at`].
    pub fn at(&self, point: &[f64]) -> Result<Roots, Error> {
        self.facet.roots_at(self.objective, point)
    }

    /// [`RootFacet::of_roots`].
    pub fn combined(&self, roots: &[f64]) -> Result<OfRoots, Error> {
        self.facet.of_roots(self.objective, roots)
    }

    /// [`RootFacet::root_size`].
    pub fn size(&self, point: &[f64]) -> Result<f64, Error> {
        self.facet.root_size(self.objective, point)
    }

    /// [`RootFacet::root_values`].
    pub fn values(&self, points: &Points) -> Result<Vec<f64>, Error> {
        self.facet.root_values(self.objective, points)
    }
}
