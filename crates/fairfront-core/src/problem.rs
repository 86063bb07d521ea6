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
    /// No points yet, of `n_params` parameters each.
    pub fn new(n_params: usize) -> Self {
        Self {
            n_params,
            data: Vec::new(),
        }
    }

    /// Points from their parameters, one after the other.
    ///
    /// # Panics
    /// If the length of `data` is no multiple of `n_params`.
    pub fn from_vec(n_params: usize, data: Vec<f64>) -> Self {
        assert!(
            n_params > 0 && data.len().is_multiple_of(n_params),
            "n · n_params values"
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

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// A point's parameters.
    pub fn get(&self, index: usize) -> &[f64] {
        &self.data[index * self.n_params..(index + 1) * self.n_params]
    }

    /// A point's parameters, to be changed.
    pub fn get_mut(&mut self, index: usize) -> &mut [f64] {
        &mut self.data[index * self.n_params..(index + 1) * self.n_params]
    }

    /// Adds a point.
    ///
    /// # Panics
    /// If it does not have `n_params` parameters.
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

    /// A gradient, to be changed.
    pub fn get_mut(&mut self, objective: usize, point: usize) -> &mut [f64] {
        self.get_mut_many(objective, point, 1)
    }

    /// Those of one objective at some points in a row.
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

/// Which rows stochastic gradients are made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batches<'a> {
    /// All rows.
    All,
    /// For each objective this many rows, drawn without replacement by a key.
    Sample {
        /// Rows for each objective; as many as there are, or more, means all.
        sizes: &'a [usize],
        /// Seed, and two numbers that tell this draw from all others.
        key: (u64, [u64; 2]),
        /// The rows that h′ is made from in `∇h(E[s]) = h′(E[s]) ∇E[s]`.
        outer: OuterBatch,
    },
}

/// The rows that the outer factor of a stochastic gradient is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OuterBatch {
    /// A batch of its own, independent of the other factor's, which removes the bias as far as h′ is
    /// linear; all rows if that takes no pass over rows, as for covariances of linear scores.
    #[default]
    Own,
    /// The batch of the other factor.
    Shared,
}

/// How precisely points are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// In double precision.
    Exact,
    /// To about six digits, if that is faster: enough to steer a descent by.
    Rough,
}

/// A quadratic form in which steps are measured: ‖v‖² = vᵀM⁻¹v, and a step is M⁻¹v.
#[derive(Debug, Clone)]
pub enum Preconditioner {
    /// M = I.
    Identity,
    /// M is diagonal; the numbers are those of M⁻¹.
    Diagonal(Vec<f64>),
    /// M by its factor.
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

    /// Replaces v by L⁻ᵀv, L the factor of M: from variables in which M is the identity to
    /// parameters.
    pub fn to_params(&self, v: &mut [f64]) {
        match self {
            Self::Identity => {}
            Self::Diagonal(inverse) => scale_by_roots(v, inverse),
            Self::Dense(factor) => factor.solve_transposed(v),
        }
    }

    /// Replaces a gradient by L⁻¹ times it: the gradient in those variables.
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

/// What an objective is made of at a point, where it is a smooth maximum of squares c₁², …, cₙ².
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

/// What is known of the first objective far from a point: enough to prove that nothing is better.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// For each parameter a modulus μ ≥ 0 so that f − ½ Σ μx² is convex.
    pub modulus: Vec<f64>,
    /// For each parameter the largest size it can have where f is at most the level asked about;
    /// ∞ where that is not known.
    pub radius: Vec<f64>,
    /// Where one parameter alone has no modulus, say b, and ∂²f/∂b² changes by at most a factor e^δ
    /// over a distance δ along any direction in which ∇²f says that scores move by δ: how fast the
    /// gradient by the other parameters can change with b.
    pub coupling: Option<f64>,
}

/// The view that solvers have of objectives. Analytic test problems and users' own problems implement it too.
///
/// Four methods are required. The next ones have defaults that a problem replaces if it can do better. The
/// last ones are facets: what a problem knows beyond values and gradients, `None` if it does not.
pub trait Problem: Sync {
    /// Number of parameters.
    fn n_params(&self) -> usize;
    /// Number of objectives.
    fn n_objectives(&self) -> usize;
    /// Values of all objectives at all points, `n_objectives` per point.
    fn values(&self, points: &Points) -> Result<Vec<f64>, Error>;
    /// Gradients of all objectives at some points. The points of one call share their batches.
    fn gradients(&self, points: &Points, batches: Batches) -> Result<Gradients, Error>;

    /// Number of rows of the objectives, which batch sizes are shares of; 1 without rows.
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
    /// Values of all objectives at some points, and at each the gradient of a weighted sum of them, with all
    /// rows; `n_objectives` weights per point.
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
    /// Values of an objective at most this are as good as 0.
    fn negligible(&self, _objective: usize) -> f64 {
        0.0
    }

    /// Knowledge of the first objective alone: where it is least, and how it curves.
    fn loss(&self) -> Option<&dyn LossFacet> {
        None
    }
    /// Second derivatives of the first objective.
    fn second_order(&self) -> Option<&dyn SecondOrderFacet> {
        None
    }
    /// Where objectives are convex, and bounds on the first of them.
    fn bound(&self) -> Option<&dyn BoundFacet> {
        None
    }
    /// The quantities whose squares objectives are made of.
    fn roots(&self) -> Option<&dyn RootFacet> {
        None
    }
    /// The same problem at other temperatures.
    fn temperature(&self) -> Option<&dyn TemperatureFacet> {
        None
    }
}

/// Knowledge of the first objective, the loss, alone.
pub trait LossFacet {
    /// Its minimizer, if the problem can find it better than a solver could, from a point that is likely to
    /// be near it, if one is known; [`Error::Stopped`] once the signal is set.
    fn minimizer(&self, near: Option<&[f64]>, stop: &StopSignal)
    -> Result<Option<Vec<f64>>, Error>;
    /// Where to start looking for the minimizer; [`Error::Stopped`] once the signal is set.
    fn start(&self, stop: &StopSignal) -> Result<Vec<f64>, Error>;
    /// A preconditioner that suits it near these parameters: steps of length 1 should not overshoot.
    fn preconditioner(&self, at: &[f64]) -> Result<Preconditioner, Error>;
}

/// Second derivatives of the first objective, dense.
pub trait SecondOrderFacet {
    /// Value, gradient and Hessian at a point, with all rows.
    fn expand(&self, point: &[f64]) -> Result<SecondOrder, Error>;
}

/// Convexity of objectives, and bounds on the first of them.
pub trait BoundFacet {
    /// The objective is convex on a convex set that holds every x whose value is at most this: ∞
    /// if it is convex everywhere. `None` claims nothing.
    fn convex_below(&self, objective: usize) -> Option<f64>;
    /// Facts about the first objective that hold wherever it is at most `level`, if it is convex; `None`
    /// claims nothing.
    fn bounds(&self, level: f64) -> Result<Option<Bounds>, Error>;
}

/// Objectives that are smooth maxima of squares c₁², …, cₙ², as covariances are: their least value is 0,
/// reached on the flat set where all cₖ are 0.
pub trait RootFacet {
    /// n; 0 for any other objective.
    fn n_roots(&self, objective: usize) -> usize;
    /// The cₖ of such an objective, and their gradients, at a point.
    fn roots_at(&self, objective: usize, point: &[f64]) -> Result<Roots, Error>;
    /// Such an objective as a function of its cₖ.
    fn of_roots(&self, objective: usize, roots: &[f64]) -> Result<OfRoots, Error>;
    /// The size of the terms that the cₖ are sums of at a point: a cₖ far below is 0 up to rounding. Unless a
    /// problem knows better, the largest Σⱼ |∂cₖ/∂xⱼ · xⱼ|, which is right if the cₖ are linear and their
    /// gradients exact.
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
    /// The same problem with its temperatures times this factor: smoother above 1, easier to solve.
    fn softened(&self, factor: f64) -> Result<Box<dyn Problem + '_>, Error>;
}

/// Facets with a fallback, as solvers use them.
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
