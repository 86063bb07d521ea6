use crate::{Error, Values};

/// Which results of a solver are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// For times, evaluations and optimality gaps.
    Smaller,
    /// For purity and hypervolume; compares their reciprocals.
    Larger,
}

/// Performance profiles after Dolan and Moré: for each solver, the share of problems on which it is
/// within a factor τ of the best solver.
///
/// ```
/// use fairfront_pareto::{Better, Profile, Values};
/// // Times in seconds of two solvers on three problems.
/// let seconds = Values::new(&[1.0, 2.0, 4.0, 1.0, 3.0, 3.0], 2)?;
/// let profile = Profile::new(seconds, Better::Smaller)?;
/// assert_eq!(profile.share(0, 1.0), 2.0 / 3.0);
/// assert_eq!(profile.share(1, 2.0), 1.0);
/// # Ok::<(), fairfront_pareto::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// For each solver, its ratios to the best solver, increasing, one per problem.
    ratios: Vec<Vec<f64>>,
}

impl Profile {
    /// Creates profiles from results, one row per problem and one column per solver. No result may
    /// be negative or NaN.
    ///
    /// A result that is infinitely bad (∞ if smaller is better, 0 if larger is better) means that
    /// the solver failed. A failed solver is not within any factor of the best, even if all solvers
    /// failed. If the best result is perfect (0, or ∞ if larger is better), results equal to it
    /// have ratio 1 and all others ratio ∞.
    pub fn new(results: Values, better: Better) -> Result<Self, Error> {
        let n_solvers = results.n_objectives();
        if let Some(at) = results.as_slice().iter().position(|v| *v < 0.0) {
            return Err(Error::Negative {
                point: at / n_solvers,
                objective: at % n_solvers,
            });
        }
        let mut ratios = vec![Vec::with_capacity(results.len()); n_solvers];
        for problem in results {
            let (best, failed) = match better {
                Better::Smaller => (
                    problem.iter().copied().fold(f64::INFINITY, f64::min),
                    f64::INFINITY,
                ),
                Better::Larger => (problem.iter().copied().fold(0.0, f64::max), 0.0),
            };
            for (ratios, result) in ratios.iter_mut().zip(problem) {
                ratios.push(match (*result == failed, *result == best, better) {
                    (true, ..) => f64::INFINITY,
                    (_, true, _) => 1.0,
                    (.., Better::Smaller) => result / best,
                    (.., Better::Larger) => best / result,
                });
            }
        }
        for ratios in &mut ratios {
            ratios.sort_unstable_by(f64::total_cmp);
        }
        Ok(Self { ratios })
    }

    /// Number of solvers.
    pub fn n_solvers(&self) -> usize {
        self.ratios.len()
    }

    /// A solver's ratios to the best solver, increasing, one per problem; ∞ if it failed.
    pub fn ratios(&self, solver: usize) -> &[f64] {
        &self.ratios[solver]
    }

    /// The share of problems on which a solver is within a factor `tau` of the best; 0 without
    /// problems.
    pub fn share(&self, solver: usize, tau: f64) -> f64 {
        let ratios = &self.ratios[solver];
        let within = ratios.partition_point(|r| *r <= tau && r.is_finite());
        within as f64 / ratios.len().max(1) as f64
    }

    /// The steps of a solver's profile as pairs of τ and the share from this τ on.
    pub fn steps(&self, solver: usize) -> Vec<(f64, f64)> {
        let mut taus: Vec<f64> = self.ratios[solver].clone();
        taus.retain(|tau| tau.is_finite());
        taus.dedup();
        let with_share = taus.into_iter().map(|tau| (tau, self.share(solver, tau)));
        with_share.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UP: f64 = f64::INFINITY;

    fn profile(results: &[f64], better: Better) -> Profile {
        Profile::new(Values::new(results, 2).unwrap(), better).unwrap()
    }

    #[test]
    fn ratios_of_failures_and_perfect_results() {
        // One failure, both failed, one perfect, both perfect.
        let results = [UP, 2.0, UP, UP, 0.0, 3.0, 0.0, 0.0];
        let found = profile(&results, Better::Smaller);
        assert_eq!(found.ratios(0), [1.0, 1.0, UP, UP]);
        assert_eq!(found.ratios(1), [1.0, 1.0, UP, UP]);
        assert_eq!((found.share(0, 1.0), found.share(0, UP)), (0.5, 0.5));
        // If larger is better, 0 is a failure and ∞ is perfect.
        let results = [0.0, 2.0, 0.0, 0.0, UP, 3.0, 1.0, 4.0];
        let found = profile(&results, Better::Larger);
        assert_eq!(found.ratios(0), [1.0, 4.0, UP, UP]);
        assert_eq!(found.steps(0), [(1.0, 0.25), (4.0, 0.5)]);
        assert_eq!(found.ratios(1), [1.0, 1.0, UP, UP]);
        let found = profile(&[-0.0, 2.0, 1e-310, 2e-310], Better::Larger);
        assert_eq!(found.ratios(0)[1], UP);
        assert!((found.ratios(0)[0] - 2.0).abs() < 1e-9);
    }

    #[test]
    fn without_problems_every_share_is_zero() {
        let found = profile(&[], Better::Smaller);
        assert_eq!((found.n_solvers(), found.share(1, 9.0)), (2, 0.0));
        assert!(found.steps(0).is_empty());
    }

    #[test]
    fn negative_results_are_rejected() {
        let negative = Profile::new(
            Values::new(&[1.0, 2.0, 3.0, -1.0], 2).unwrap(),
            Better::Smaller,
        );
        let place = Error::Negative {
            point: 1,
            objective: 1,
        };
        assert_eq!(negative, Err(place));
    }

    proptest! {
        #[test]
        fn some_solver_is_best_and_scale_does_not_matter(raw in prop::collection::vec(1_u16..500, 3..90)) {
            let n = raw.len() / 3 * 3;
            let results: Vec<f64> = raw[..n].iter().map(|v| f64::from(*v)).collect();
            let of = |results: &[f64]| {
                Profile::new(Values::new(results, 3).unwrap(), Better::Smaller).unwrap()
            };
            let found = of(&results);
            let best: f64 = (0..3).map(|solver| found.share(solver, 1.0)).sum();
            prop_assert!(best >= 1.0 - 1e-12);
            for solver in 0..3 {
                prop_assert_eq!(found.share(solver, 500.0), 1.0);
                prop_assert!(found.share(solver, 1.0) <= found.share(solver, 2.0));
            }
            let doubled: Vec<f64> = results.iter().map(|v| 2.0 * v).collect();
            prop_assert_eq!(of(&doubled), found);
        }
    }
}
