use fairfront_core::{
    Cholesky, Condition, Covariance, Points, Problem, Purpose, SecondOrder, SmoothMax, Stream,
};
use fairfront_solve::{Front, Proof, Solver, Trace, prove};
use proptest::prelude::*;

use crate::analytic::{Bounded, Coupled, Quadratics};
use crate::table::Table;

fn front(problem: &dyn Problem, points: &[Vec<f64>]) -> Front {
    let points = Points::from_vec(problem.n_params(), points.concat());
    Front {
        values: problem.values(&points).unwrap(),
        points,
        n_objectives: problem.n_objectives(),
    }
}

fn trace(problem: &dyn Problem, points: usize) -> Front {
    let settings = Trace {
        points,
        tolerance: 1e-14,
        hole: 0.3,
        proofs: true,
    };
    settings.solve(problem, &mut ()).unwrap().front
}

/// Every point, and copies of it moved by noise of four sizes.
fn moved(problem: &dyn Problem, exact: &Front, seed: u64) -> Front {
    let mut random = Stream::new(seed, Purpose::Synthetic, [6, 6]);
    let mut points = Vec::new();
    for x in exact.points.iter() {
        for noise in [0.0, 1e-4, 1e-2, 0.1, 1.0] {
            points.push(x.iter().map(|x| x + noise * random.normal()).collect());
        }
    }
    front(problem, &points)
}

/// The smallest loss at which every other objective is below its level, accurate to about 1e-9. It
/// comes from an interior-point method that shares no code with the solvers: f1 − Σ log(level −
/// fᵢ)/t, for growing t.
fn least_loss(problem: &dyn Problem, levels: &[f64]) -> f64 {
    let n = problem.n_params();
    let mut x = vec![0.0; n];
    let merit = |x: &[f64], t: f64| -> f64 {
        let values = problem.values(&Points::from_vec(n, x.to_vec())).unwrap();
        let slacks = levels.iter().zip(&values[1..]).map(|(l, v)| 1.0 - v / l);
        let sum: f64 = slacks.map(f64::ln).sum();
        if sum.is_nan() {
            f64::INFINITY
        } else {
            values[0] - sum / t
        }
    };
    let mut t = 1.0;
    while t <= 1e10 {
        for _ in 0..100 {
            let SecondOrder {
                mut gradient,
                mut lower,
                ..
            } = problem.second_order().unwrap().expand(&x).unwrap();
            for (i, level) in levels.iter().enumerate() {
                let roots = problem.roots_of(i + 1).unwrap().at(&x).unwrap();
                let of = problem
                    .roots_of(i + 1)
                    .unwrap()
                    .combined(&roots.values)
                    .unwrap();
                let k = roots.values.len();
                let slack = (level - of.value) * t;
                let mut own = vec![0.0; n];
                for (slope, g) in of.slope.iter().zip(&roots.gradients) {
                    own.iter_mut().zip(g).for_each(|(o, g)| *o += slope * g);
                }
                for a in 0..n {
                    gradient[a] += own[a] / slack;
                    for b in 0..=a {
                        let mut second = own[a] * own[b] / (level - of.value);
                        for (p, gp) in roots.gradients.iter().enumerate() {
                            for (q, gq) in roots.gradients.iter().enumerate() {
                                second += of.curvature[p * k + q] * gp[a] * gq[b];
                            }
                        }
                        lower[a * n + b] += second / slack;
                    }
                }
            }
            let Some(factor) = Cholesky::new(lower, n) else {
                break;
            };
            let mut step = gradient.clone();
            factor.solve(&mut step);
            let fall: f64 = step.iter().zip(&gradient).map(|(s, g)| s * g).sum();
            if fall < 1e-14 {
                break;
            }
            let (mut length, before) = (1.0, merit(&x, t));
            let found = loop {
                let trial: Vec<f64> = x.iter().zip(&step).map(|(x, s)| x - length * s).collect();
                if merit(&trial, t) <= before - 1e-4 * length * fall {
                    break Some(trial);
                }
                length *= 0.5;
                if length < 1e-12 {
                    break None;
                }
            };
            let Some(trial) = found else { break };
            x = trial;
        }
        t *= 10.0;
    }
    let values = problem.values(&Points::from_vec(n, x)).unwrap();
    assert!(values[1..].iter().zip(levels).all(|(v, l)| v <= l));
    values[0]
}

/// Checks that the proofs are sound: an independent solution is not better than the gap allows.
/// Returns the largest gap of the exact points.
fn check_sound(problem: &dyn Problem, exact: &Front, seed: u64) -> f64 {
    let exact_proofs = prove(problem, exact).unwrap();
    let all = moved(problem, exact, seed);
    let proofs = prove(problem, &all).unwrap();
    assert_eq!(proofs.len(), all.len());
    for (i, proof) in proofs.iter().enumerate() {
        let values = all.value(i);
        let convex = (0..values.len()).all(|k| {
            problem
                .convex_below(k)
                .is_some_and(|level| values[k] <= level)
        });
        assert_eq!(proof.gap.is_some(), convex, "{values:?}");
        let (Some(gap), true) = (proof.gap, values[1..].iter().all(|v| *v > 1e-13)) else {
            continue;
        };
        let least = least_loss(problem, &values[1..]);
        assert!(
            gap >= values[0] - least - 1e-12,
            "the proven gap is {gap:e}, the true gap is {:e} at {values:?}",
            values[0] - least
        );
    }
    let gaps = exact_proofs.iter().filter_map(|c| c.gap);
    gaps.fold(0.0, f64::max)
}

/// The smallest loss under one bound on the size of an affine function, in closed form.
fn bounded_least(problem: &Bounded, size: f64) -> f64 {
    let (u, shift) = &problem.affine[0][0];
    let at_minimum: f64 = shift
        + u.iter()
            .zip(&problem.center)
            .map(|(u, a)| u * a)
            .sum::<f64>();
    let terms = u.iter().zip(&problem.curvature);
    let spread: f64 = terms.map(|(u, q)| u * u / q).sum();
    (at_minimum.abs() - size).max(0.0).powi(2) / (2.0 * spread)
}

fn gaps(proofs: &[Proof]) -> Vec<f64> {
    proofs.iter().map(|c| c.gap.unwrap()).collect()
}

#[test]
fn gaps_are_at_least_the_distance_from_a_known_front() {
    let problem = Bounded {
        curvature: vec![1.0, 10.0, 100.0, 0.1],
        center: vec![0.5, -1.0, 0.2, 2.0],
        affine: vec![vec![(vec![1.0, 0.5, -2.0, 0.7], -0.7)]],
    };
    let exact = trace(&problem, 30);
    for gap in gaps(&prove(&problem, &exact).unwrap()) {
        assert!(gap < 1e-12, "{gap:e}");
    }
    for seed in 0..10 {
        let all = moved(&problem, &exact, seed);
        for (i, gap) in gaps(&prove(&problem, &all).unwrap()).iter().enumerate() {
            let [loss, square] = all.value(i) else {
                panic!("two objectives");
            };
            let distance = loss - bounded_least(&problem, square.sqrt());
            // The multiplier minimizes the length of the gradient, not the gap.
            assert!(*gap >= distance - 1e-13, "{gap:e} is below {distance:e}");
            assert!(*gap <= 2_000.0 * distance + 1e-12, "{gap:e}, {distance:e}");
        }
    }
}

/// With xᵢ² as the objectives, the smallest loss is Σ ½qᵢ(|aᵢ| − rᵢ)₊².
#[test]
fn gaps_are_sound_with_several_objectives() {
    for m in [2, 3, 4, 6] {
        let unit = |i: usize| (0..m).map(|j| f64::from(u8::from(i == j))).collect();
        let problem = Bounded {
            curvature: (0..m).map(|i| 1.0 + i as f64).collect(),
            center: (0..m).map(|i| 1.0 - 0.3 * i as f64).collect(),
            affine: (0..m - 1).map(|i| vec![(unit(i), 0.0)]).collect(),
        };
        let exact = trace(&problem, 20);
        for gap in gaps(&prove(&problem, &exact).unwrap()) {
            assert!(gap < 1e-10, "{gap:e}");
        }
        let all = moved(&problem, &exact, 1);
        for (i, gap) in gaps(&prove(&problem, &all).unwrap()).iter().enumerate() {
            let values = all.value(i);
            let of = |i: usize| (problem.center[i].abs() - values[i + 1].sqrt()).max(0.0);
            let least: f64 = (0..m - 1)
                .map(|i| 0.5 * problem.curvature[i] * of(i).powi(2))
                .sum();
            let distance = values[0] - least;
            assert!(*gap >= distance - 1e-13, "{gap:e} is below {distance:e}");
        }
    }
}

/// One parameter has no modulus, and roots depend on it.
#[test]
fn a_free_parameter_is_bounded_by_its_curvature() {
    for along in [0.0, 0.8] {
        let problem = Coupled {
            modulus: 0.3,
            kappa: 2.0,
            center: vec![1.0, -0.5, 0.3],
            slope: vec![0.4, -0.2, 0.9],
            shift: 0.6,
            affine: vec![(vec![0.7, -1.0, 0.2, along], 0.4)],
        };
        let exact = trace(&problem, 25);
        assert_eq!(exact.len(), 25);
        for (i, gap) in gaps(&prove(&problem, &exact).unwrap()).iter().enumerate() {
            let distance = exact.value(i)[0] - problem.least(exact.value(i)[1].sqrt());
            assert!(*gap < 1e-10 && distance.abs() < 1e-10, "{gap:e}");
        }
        for seed in 0..10 {
            let all = moved(&problem, &exact, seed);
            for (i, of) in prove(&problem, &all).unwrap().iter().enumerate() {
                let [loss, square] = all.value(i) else {
                    panic!("two objectives");
                };
                let distance = loss - problem.least(square.sqrt());
                // Far away, the gradient exceeds the curvature, and nothing can be proven.
                let gap = of.gap.unwrap_or(f64::INFINITY);
                assert!(gap >= distance - 1e-13, "{gap:e} is below {distance:e}");
            }
        }
    }
}

#[test]
fn gaps_are_sound_for_the_log_loss() {
    let two = Table::random(1, 80, 3, &[2]);
    assert!(check_sound(&two.impact(), &trace(&two.impact(), 8), 1) < 1e-9);
    let heavy = Table {
        weights: (0..80).map(|i| 0.1 + f64::from(i % 7)).collect(),
        lambda: 0.1,
        ..two
    };
    assert!(check_sound(&heavy.impact(), &trace(&heavy.impact(), 8), 2) < 1e-9);
    let several = Table::random(2, 80, 3, &[2, 3]);
    assert!(check_sound(&several.impact(), &trace(&several.impact(), 8), 3) < 1e-9);
    let four = Table::random(3, 80, 4, &[4]);
    let lse = four.with(vec![Covariance {
        smooth_max: SmoothMax::LogSumExp,
        ..four.covariance(Condition::All, 0)
    }]);
    assert!(check_sound(&lse, &trace(&lse, 8), 4) < 1e-9);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// At any point of any small data set.
    #[test]
    fn gaps_are_sound_anywhere(
        seed in 0_u64..1_000,
        n in 12_usize..40,
        d in 1_usize..4,
        groups in prop::sample::select(vec![vec![2], vec![3], vec![2, 2], vec![4, 2]]),
        lambda in prop::sample::select(vec![1e-4, 1e-2, 1.0]),
        size in prop::sample::select(vec![0.1, 1.0, 5.0]),
        weighted: bool,
    ) {
        let mut table = Table { lambda, ..Table::random(seed, n, d, &groups) };
        if weighted {
            table.weights = (0..n).map(|i| f64::from(i as u32 % 4) + 0.01).collect();
        }
        let problem = table.impact();
        let mut random = Stream::new(seed, Purpose::Synthetic, [8, 8]);
        let points = (0..4).map(|_| (0..=d).map(|_| size * random.normal()).collect());
        check_sound(&problem, &front(&problem, &points.collect::<Vec<_>>()), seed);
    }
}

/// Proofs reveal points that are off by more than a tolerance.
#[test]
fn moved_points_are_rejected() {
    let problem = Table::random(4, 200, 3, &[2]).impact();
    let exact = trace(&problem, 20);
    let mut random = Stream::new(1, Purpose::Synthetic, [7, 7]);
    for noise in [1e-3, 1e-2, 0.1] {
        let step = |x: &[f64], random: &mut Stream| -> Vec<f64> {
            x.iter().map(|x| x + noise * random.normal()).collect()
        };
        let points: Vec<Vec<f64>> = exact.points.iter().map(|x| step(x, &mut random)).collect();
        let all = front(&problem, &points);
        let proofs = prove(&problem, &all).unwrap();
        for (i, proof) in proofs.iter().enumerate() {
            let gap = proof.gap.unwrap();
            let least = least_loss(&problem, &all.value(i)[1..]);
            assert!(gap > 1e-9 && gap >= all.value(i)[0] - least - 1e-12);
        }
        let exact = prove(&problem, &exact).unwrap();
        let largest = gaps(&exact).into_iter().fold(0.0, f64::max);
        let smallest = gaps(&proofs).into_iter().fold(f64::INFINITY, f64::min);
        assert!(largest < 1e-10 && smallest > 100.0 * largest);
    }
}

/// The assumption about the limit of Boltzmann's maximum: it is convex as long as β times every
/// square is at most 1. There, the matrix of second derivatives with respect to the covariances has
/// no negative direction.
#[test]
fn boltzmann_maximum_is_convex_up_to_its_limit() {
    let mut random = Stream::new(1, Purpose::Synthetic, [3, 3]);
    for k in [3, 4, 5, 10, 40] {
        let table = Table::random(1, 2 * k, 1, &[k]);
        let problem = table.impact();
        let limit = problem.bound().unwrap().convex_below(1).unwrap();
        assert_eq!(limit, 1.0 / (8.0 * k as f64));
        let largest = (1.0 / 8.0_f64).sqrt();
        for case in 0..2_000 {
            let level = random.uniform();
            let high = 1 + random.below(k);
            let roots: Vec<f64> = (0..k)
                .map(|i| match case % 4 {
                    0 => random.uniform(),
                    1 => random.uniform().powf(0.1),
                    2 if i < high => 1.0,
                    2 => level,
                    _ if i < high => 1.0,
                    _ => level * random.uniform(),
                })
                .map(|c| largest * c)
                .collect();
            let mut curvature = problem
                .roots()
                .unwrap()
                .of_roots(1, &roots)
                .unwrap()
                .curvature;
            for i in 0..k {
                curvature[i * k + i] += 1e-12;
            }
            assert!(Cholesky::new(curvature, k).is_some(), "{roots:?}");
        }
    }
}

#[test]
fn gaps_are_unknown_without_convexity_bounds() {
    // Without any bounds.
    let pair = Quadratics {
        centers: vec![vec![0.0, 0.0], vec![1.0, 0.0]],
        noise: 0.0,
    };
    let some = front(&pair, &[vec![0.25, 0.0], vec![0.5, 0.5]]);
    let proofs = prove(&pair, &some).unwrap();
    assert_eq!(proofs[0].gap, None);
    assert!(proofs[0].residual < 1e-12 && (proofs[1].residual - 0.5).abs() < 1e-12);
    assert!((proofs[0].multipliers[1] - 0.25).abs() < 1e-12);
    assert!(prove(&pair, &front(&pair, &[])).unwrap().is_empty());

    // This covariance is not a linear function of the parameters.
    let table = Table::random(5, 100, 3, &[3]);
    let errors = table.with(vec![table.covariance(Condition::Positive, 0)]);
    let exact = trace(&errors, 10);
    assert!(
        prove(&errors, &exact)
            .unwrap()
            .iter()
            .all(|c| c.gap.is_none())
    );

    // Boltzmann's maximum beyond its limit has no gap; at the limit and below it, there is one.
    let problem = table.impact();
    let limit = problem.bound().unwrap().convex_below(1).unwrap();
    let at = |scale: f64| vec![scale, 0.0, 0.0, 0.0];
    let value = |scale: f64| front(&problem, &[at(scale)]).values[1];
    let (mut low, mut high) = (0.0, 1e6);
    assert!(value(high) > limit);
    while high - low > 1e-15 * high {
        let middle = 0.5 * (low + high);
        if middle == low || middle == high {
            break;
        }
        *(if value(middle) <= limit {
            &mut low
        } else {
            &mut high
        }) = middle;
    }
    let all = front(&problem, &[at(low), at(high)]);
    assert!(all.value(0)[1] <= limit && all.value(1)[1] > limit);
    let proofs = prove(&problem, &all).unwrap();
    assert!(proofs[0].gap.is_some() && proofs[1].gap.is_none());
}

/// The proof of a point does not depend on the number of other points, as long as it is the same
/// proof.
#[test]
fn a_point_can_be_proven_alone() {
    let problem = Table::random(6, 150, 3, &[3]).impact();
    let exact = trace(&problem, 20);
    for x in exact.points.iter() {
        let alone = prove(&problem, &front(&problem, &[x.to_vec()])).unwrap();
        assert!(alone[0].gap.unwrap() < 1e-9, "{:?}", alone[0]);
    }
}
