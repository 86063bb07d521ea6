//! Solutions of EPS-fair satisfy the Karush–Kuhn–Tucker conditions on random problems.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fairfront_core::{
    Batches, Error, Gradients, LossFacet, OfRoots, Points, Preconditioner, Problem, RootFacet,
    Roots, SecondOrder, SecondOrderFacet,
};
use fairfront_solve::{EpsFair, Observer, Progress, Solver, StopReason, StopSignal};
use proptest::prelude::*;

use crate::pf_smg::fair_problem;

/// f₁ = ½(x − a)ᵀQ(x − a), and one objective made of cₖ = uₖ·x + sₖ + ½ bend ‖x‖².
#[derive(Debug, Clone)]
struct Curved {
    /// Lower triangle of Q.
    hessian: Vec<f64>,
    center: Vec<f64>,
    normals: Vec<Vec<f64>>,
    shifts: Vec<f64>,
    bend: f64,
    /// Whether the problem has second derivatives.
    second_order: bool,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Curved {
    fn product(&self, x: &[f64]) -> Vec<f64> {
        let n = self.center.len();
        let d: Vec<f64> = x.iter().zip(&self.center).map(|(x, a)| x - a).collect();
        let q = |i: usize, j: usize| self.hessian[usize::max(i, j) * n + usize::min(i, j)];
        (0..n)
            .map(|i| (0..n).map(|j| q(i, j) * d[j]).sum())
            .collect()
    }

    fn loss_at(&self, x: &[f64]) -> f64 {
        let d: Vec<f64> = x.iter().zip(&self.center).map(|(x, a)| x - a).collect();
        0.5 * dot(&d, &self.product(x))
    }

    fn root(&self, k: usize, x: &[f64]) -> f64 {
        dot(&self.normals[k], x) + self.shifts[k] + 0.5 * self.bend * dot(x, x)
    }

    fn normal(&self, k: usize, x: &[f64]) -> Vec<f64> {
        let each = self.normals[k].iter().zip(x);
        each.map(|(u, x)| u + self.bend * x).collect()
    }
}

impl Problem for Curved {
    fn n_params(&self) -> usize {
        self.center.len()
    }

    fn n_objectives(&self) -> usize {
        2
    }

    fn values(&self, points: &Points) -> Result<Vec<f64>, Error> {
        let k = self.normals.len();
        let values = points.iter().flat_map(|x| {
            let squares = (0..k).map(|k| self.root(k, x).powi(2));
            [self.loss_at(x), squares.sum::<f64>() / k as f64]
        });
        Ok(values.collect())
    }

    fn gradients(&self, points: &Points, _batches: Batches) -> Result<Gradients, Error> {
        let mut gradients = Gradients::zeros(2, points.len(), self.n_params());
        for (i, x) in points.iter().enumerate() {
            gradients.get_mut(0, i).copy_from_slice(&self.product(x));
            let k = self.normals.len();
            for j in 0..k {
                let factor = 2.0 * self.root(j, x) / k as f64;
                let own = gradients.get_mut(1, i).iter_mut();
                own.zip(self.normal(j, x))
                    .for_each(|(g, u)| *g += factor * u);
            }
        }
        Ok(gradients)
    }

    fn loss(&self) -> Option<&dyn LossFacet> {
        Some(self)
    }

    fn second_order(&self) -> Option<&dyn SecondOrderFacet> {
        self.second_order.then_some(self)
    }

    fn roots(&self) -> Option<&dyn RootFacet> {
        Some(self)
    }
}

impl LossFacet for Curved {
    fn minimizer(
        &self,
        _near: Option<&[f64]>,
        _stop: &StopSignal,
    ) -> Result<Option<Vec<f64>>, Error> {
        Ok(Some(self.center.clone()))
    }

    fn start(&self, _stop: &StopSignal) -> Result<Vec<f64>, Error> {
        Ok(vec![0.0; self.center.len()])
    }

    fn preconditioner(&self, _at: &[f64]) -> Result<Preconditioner, Error> {
        let factor = fairfront_core::Cholesky::new(self.hessian.clone(), self.n_params());
        Ok(Preconditioner::Dense(factor.unwrap()))
    }
}

impl SecondOrderFacet for Curved {
    fn expand(&self, point: &[f64]) -> Result<SecondOrder, Error> {
        Ok(SecondOrder {
            value: self.loss_at(point),
            gradient: self.product(point),
            lower: self.hessian.clone(),
        })
    }
}

impl RootFacet for Curved {
    fn n_roots(&self, objective: usize) -> usize {
        if objective == 0 {
            0
        } else {
            self.normals.len()
        }
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

    fn roots_at(&self, _objective: usize, point: &[f64]) -> Result<Roots, Error> {
        let all = 0..self.normals.len();
        Ok(Roots {
            values: all.clone().map(|k| self.root(k, point)).collect(),
            gradients: all.map(|k| self.normal(k, point)).collect(),
            affine: self.bend == 0.0,
        })
    }
}

/// `v` without its components along the orthonormal vectors `span`.
fn without(v: &[f64], span: &[Vec<f64>]) -> Vec<f64> {
    let mut v = v.to_vec();
    // Twice, because rounding of the first time counts for nearly parallel vectors.
    for _ in 0..2 {
        for u in span {
            let share = dot(&v, u);
            v.iter_mut().zip(u).for_each(|(v, u)| *v -= share * u);
        }
    }
    v
}

/// Orthonormal vectors that span the same space, or `None` if the vectors are dependent.
fn orthonormal<'a>(vectors: impl Iterator<Item = &'a [f64]>) -> Option<Vec<Vec<f64>>> {
    let mut span: Vec<Vec<f64>> = Vec::new();
    for v in vectors {
        let own = without(v, &span);
        let size = dot(&own, &own).sqrt();
        if size <= 1e-9 {
            return None;
        }
        span.push(own.iter().map(|v| v / size).collect());
    }
    Some(span)
}

/// The length of the gradient's remainder after the best multipliers of the correct sign.
///
/// Independent normals with positive multipliers suffice, so the smallest remainder over all such
/// sets is exact, also for nearly parallel normals.
fn left(gradient: &[f64], outward: &[(Vec<f64>, bool)]) -> f64 {
    // Normals of both signs span a space, and components in it do not count.
    let mut span: Vec<Vec<f64>> = Vec::new();
    for (normal, _) in outward.iter().filter(|(_, both)| *both) {
        let own = without(normal, &span);
        let size = dot(&own, &own).sqrt();
        if size > 1e-9 {
            span.push(own.iter().map(|v| v / size).collect());
        }
    }
    let gradient = without(gradient, &span);
    let signed = outward.iter().filter(|(_, both)| !*both);
    let signed: Vec<Vec<f64>> = signed.map(|(normal, _)| without(normal, &span)).collect();
    let chosen = |set: u32| (0..signed.len()).filter(move |k| set >> k & 1 == 1);
    let remainders = (0..1_u32 << signed.len()).filter_map(|set| {
        let span = orthonormal(chosen(set).map(|k| signed[k].as_slice()))?;
        let rest = without(&gradient, &span);
        // The multiplier of a normal is found along the part of it that the others do not have.
        let positive = chosen(set).all(|k| {
            let others = chosen(set & !(1 << k)).map(|k| signed[k].as_slice());
            orthonormal(others).is_some_and(|others| {
                dot(&without(&gradient, &others), &without(&signed[k], &others)) <= 0.0
            })
        });
        positive.then(|| dot(&rest, &rest).sqrt())
    });
    remainders.fold(f64::INFINITY, f64::min)
}

/// A positive definite matrix with eigenvalues between ½ and about ten, and normals, the last of
/// which may depend on the others.
fn curved() -> impl Strategy<Value = Curved> {
    let sizes = (2..6_usize, 1..4_usize);
    sizes.prop_flat_map(|(n, k)| {
        let numbers = |n: usize| prop::collection::vec(-1.0..1.0_f64, n);
        let parts = (numbers(n * n), numbers(n), numbers(n * k), numbers(k));
        let kind = (0..3_u8, any::<bool>(), any::<bool>());
        (parts, kind).prop_map(move |((b, center, u, shifts), kind)| {
            let (bend, depends, second_order) = kind;
            let row = |i: usize| &b[i * n..(i + 1) * n];
            let hessian = (0..n * n).map(|ij| match (ij / n, ij % n) {
                (i, j) if j > i => 0.0,
                (i, j) => dot(row(i), row(j)) + if i == j { 0.5 } else { 0.0 },
            });
            let mut normals: Vec<Vec<f64>> = u.chunks_exact(n).map(<[f64]>::to_vec).collect();
            let mut shifts = shifts;
            if depends && k > 1 && bend == 0 {
                // They add up to 0, like the covariances of all groups.
                let sum = |j: usize| normals[..k - 1].iter().map(|u| u[j]).sum::<f64>();
                normals[k - 1] = (0..n).map(|j| -sum(j)).collect();
                shifts[k - 1] = -shifts[..k - 1].iter().sum::<f64>();
            }
            Curved {
                hessian: hessian.collect(),
                center,
                normals,
                shifts,
                bend: 0.2 * f64::from(bend),
                second_order,
            }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn solutions_are_stationary_within_their_bounds(problem in curved()) {
        check_conditions(&problem)?;
    }
}

/// Bounds on nearly parallel normals meet far from the center, where gradients are large.
#[test]
fn nearly_parallel_normals() {
    let problem = Curved {
        hessian: vec![0.5, 0.0, 0.0, 0.5],
        center: vec![0.0, 0.36],
        normals: vec![vec![0.288, 0.627], vec![0.109, 0.224], vec![0.0, 0.0]],
        shifts: vec![0.0, -0.845, 0.0],
        bend: 0.0,
        second_order: false,
    };
    check_conditions(&problem).unwrap();
}

fn check_conditions(problem: &Curved) -> Result<(), TestCaseError> {
    let n_roots = problem.normals.len();
    let largest = (0..n_roots)
        .map(|k| problem.root(k, &problem.center).abs())
        .fold(0.0, f64::max);
    prop_assume!(largest > 1e-3);
    // These bounds are not tight: more bounds than parameters could contradict each other.
    let settings = EpsFair {
        points: 3,
        ..EpsFair::default()
    };
    let outcome = settings.solve(problem, &mut ()).unwrap();
    let of = outcome.counters.subproblems.unwrap();
    prop_assert_eq!(of.solved + of.failed, 2);
    for x in outcome.front.points.iter() {
        let most = (0..n_roots)
            .map(|k| problem.root(k, x).abs())
            .fold(0.0, f64::max);
        let slack = 1e-6 * largest;
        let steps = [1.0, 0.5, 0.0].map(|share| share * largest);
        let Some(bound) = steps.into_iter().rev().find(|e| most <= e + slack) else {
            prop_assert!(of.failed > 0, "{most} of {largest}");
            continue;
        };
        let outward: Vec<(Vec<f64>, bool)> = (0..n_roots)
            .filter(|k| problem.root(*k, x).abs() >= bound - slack)
            .map(|k| {
                let sign = problem.root(k, x).signum();
                let normal = problem.normal(k, x).iter().map(|u| sign * u).collect();
                (normal, bound <= slack)
            })
            .collect();
        let rest = left(&problem.product(x), &outward);
        // ½‖rest‖² is at most 1e-10 of a loss below 30, for a preconditioner with eigenvalues
        // below 30, and 1e-10 of a larger loss far from the center.
        if of.failed == 0 {
            prop_assert!(rest < 2e-3, "{rest} at {x:?}, bound {bound}");
        }
    }
    // Half bounds can be met on the line to a point where all covariances are 0, if there is
    // one.
    if problem.bend == 0.0 && n_roots < problem.center.len() {
        prop_assert_eq!(of.failed, 0);
    }
    Ok(())
}

/// Counts evaluations, so that a stop signal can be set during one of them.
struct Counted<'a> {
    inner: &'a dyn Problem,
    calls: Arc<AtomicUsize>,
}

impl Counted<'_> {
    fn count(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }
}

impl Problem for Counted<'_> {
    fn n_params(&self) -> usize {
        self.inner.n_params()
    }

    fn n_objectives(&self) -> usize {
        self.inner.n_objectives()
    }

    fn values(&self, points: &Points) -> Result<Vec<f64>, Error> {
        self.inner.values(points)
    }

    fn values_of(&self, objective: usize, points: &Points) -> Result<Vec<f64>, Error> {
        self.count();
        self.inner.values_of(objective, points)
    }

    fn gradients(&self, points: &Points, batches: Batches) -> Result<Gradients, Error> {
        self.inner.gradients(points, batches)
    }

    fn gradients_of(&self, objective: usize, points: &Points) -> Result<Vec<f64>, Error> {
        self.inner.gradients_of(objective, points)
    }

    fn loss(&self) -> Option<&dyn LossFacet> {
        self.inner.loss()
    }

    fn second_order(&self) -> Option<&dyn SecondOrderFacet> {
        self.inner
            .second_order()
            .map(|_| self as &dyn SecondOrderFacet)
    }

    fn roots(&self) -> Option<&dyn RootFacet> {
        self.inner.roots()
    }
}

impl SecondOrderFacet for Counted<'_> {
    fn expand(&self, point: &[f64]) -> Result<SecondOrder, Error> {
        self.count();
        let facet = self.inner.second_order();
        facet.ok_or(Error::NoSecondOrder)?.expand(point)
    }
}

struct Stopped(Arc<AtomicUsize>, usize);

impl Observer for Stopped {
    fn round(&mut self, _progress: &Progress) -> std::ops::ControlFlow<()> {
        std::ops::ControlFlow::Continue(())
    }

    fn stop_signal(&self) -> StopSignal {
        let (calls, after) = (self.0.clone(), self.1);
        StopSignal::new(move || calls.load(Ordering::Relaxed) >= after)
    }
}

/// After a stop, be it after a Newton step, a learned step or in a line search, no evaluation
/// follows.
#[test]
fn a_stop_ends_a_subproblem_at_its_next_evaluation() {
    let affine = Curved {
        hessian: vec![2.0, 0.0, 0.5, 1.0],
        center: vec![1.0, -2.0],
        normals: vec![vec![1.0, 0.3]],
        shifts: vec![0.1],
        bend: 0.0,
        second_order: true,
    };
    let bent = fair_problem();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.unwrap();
    let cases: [(&dyn Problem, EpsFair); 3] = [
        (&affine, EpsFair::default()),
        (&bent, EpsFair::default()),
        (&bent, EpsFair::paper(16)),
    ];
    for (inner, settings) in cases {
        for after in [3, 5, 8, 13, 21, 34, 55, 89] {
            let calls = Arc::new(AtomicUsize::new(0));
            let counted = Counted {
                inner,
                calls: calls.clone(),
            };
            let mut observer = Stopped(calls.clone(), after);
            let outcome = pool.install(|| settings.solve(&counted, &mut observer));
            assert_eq!(outcome.unwrap().stop, StopReason::Stopped);
            assert_eq!(calls.load(Ordering::Relaxed), after);
        }
    }
}
