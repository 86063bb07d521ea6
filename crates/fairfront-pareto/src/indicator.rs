//! Quality indicators of a front, alone and compared with others.

use std::collections::HashSet;

use crate::nondominated::Cover;
use crate::order::{key, lexicographic};
use crate::spread::scaled;
use crate::{Error, Values, dominates_within, nondominated, ranges};

/// The share of a front's points that no point of `union` dominates; tied points count in both
/// fronts. 0 for an empty front.
///
/// `union` holds the points of all fronts compared.
pub fn purity(front: Values, union: Values) -> Result<f64, Error> {
    front.same_space(union.n_objectives())?;
    let best = union.select(&nondominated(union));
    let best = Values::checked(&best, union.n_objectives());
    // A nondominated point can cover another only if they are equal.
    let key = |p: &[f64]| p.iter().map(|v| key(*v)).collect::<Vec<_>>();
    let among: HashSet<Vec<u64>> = best.iter().map(key).collect();
    let cover = Cover::new(best);
    let pure = |p: &&[f64]| among.contains(&key(p)) || !cover.covers(p);
    Ok(share(front.iter().filter(pure).count(), front.len()))
}

/// Purity for numbers that are known up to a tolerance: the share of a front's points that no point
/// of `union` dominates by more than this share of an objective's range in the union, in the sense
/// of [`dominates_within`](crate::dominates_within). O(n · number of nondominated points).
pub fn purity_within(front: Values, union: Values, tolerance: f64) -> Result<f64, Error> {
    front.same_space(union.n_objectives())?;
    let m = union.n_objectives();
    let ranges = ranges(union, None);
    let scale = |values: Values| -> Vec<f64> {
        let scaled = |p: &[f64]| {
            let pairs = p.iter().zip(&ranges);
            pairs
                .map(|(v, range)| scaled(*v, *range))
                .collect::<Vec<_>>()
        };
        values.iter().flat_map(scaled).collect()
    };
    let best = union.select(&nondominated(union));
    let best = scale(Values::checked(&best, m));
    let pure = |p: &&[f64]| {
        !best
            .chunks_exact(m)
            .any(|b| dominates_within(b, p, tolerance))
    };
    let front_scaled = scale(front);
    let n = front_scaled.chunks_exact(m).filter(pure).count();
    Ok(share(n, front.len()))
}

/// The share of the points in `covered` that a point of `front` dominates or equals. 0 if `covered`
/// is empty.
pub fn coverage(front: Values, covered: Values) -> Result<f64, Error> {
    front.same_space(covered.n_objectives())?;
    let cover = Cover::new(front);
    let under = |p: &&[f64]| cover.covers(p);
    let n = covered.iter().filter(under).count();
    Ok(share(n, covered.len()))
}

fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// The additive epsilon indicator: the amount by which all objectives of the front must be lowered
/// so that every point of `target` is dominated or equaled by a point of the front.
///
/// ∞ for an empty front, −∞ for an empty target.
pub fn additive_epsilon(front: Values, target: Values) -> Result<f64, Error> {
    front.same_space(target.n_objectives())?;
    let above = |f: &[f64], t: &[f64]| {
        let each = f.iter().zip(t).map(|(f, t)| difference(*f, *t));
        each.fold(f64::NEG_INFINITY, f64::max)
    };
    let nearest = |t| {
        let each = front.iter().map(|f| above(f, t));
        each.fold(f64::INFINITY, f64::min)
    };
    Ok(target.iter().map(nearest).fold(f64::NEG_INFINITY, f64::max))
}

/// IGD⁺: the mean, over the points of `target`, of the distance to the nearest point of the front,
/// counting only objectives in which the front is worse. It never favors a dominated front.
///
/// ∞ for an empty front, 0 for an empty target.
pub fn igd_plus(front: Values, target: Values) -> Result<f64, Error> {
    front.same_space(target.n_objectives())?;
    let distance = |f: &[f64], t: &[f64]| -> f64 {
        let worse = f.iter().zip(t).map(|(f, t)| difference(*f, *t).max(0.0));
        // `hypot` step by step avoids overflow and underflow of squares.
        worse.fold(0.0, f64::hypot)
    };
    let nearest = |t| {
        let each = front.iter().map(|f| distance(f, t));
        each.fold(f64::INFINITY, f64::min)
    };
    let total = target.iter().map(nearest).fold(0.0, |sum, d| sum + d);
    Ok(total / target.len().max(1) as f64)
}

/// a − b, or 0 for equal infinities.
fn difference(a: f64, b: f64) -> f64 {
    if a == b { 0.0 } else { a - b }
}

/// How evenly a front covers its range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Γ: the largest hole along any objective.
    pub gamma: f64,
    /// The largest hole as a share of its objective's range in the union.
    pub scaled_gamma: f64,
    /// Δ: how uneven the distances between neighbors are; 0 if all are equal and the front reaches
    /// the extremes.
    pub delta: f64,
}

/// Γ and Δ of a front.
///
/// The extremes that the front should reach are those of the nondominated points of `union` along
/// the objective with the widest range; pass the front itself as `union` to use its own extremes.
/// For each objective, the front's values and the two extremes are sorted; M points have M + 1
/// distances δ₀ … δₘ between neighbors:
///
/// - Γ is the largest distance over all objectives;
/// - Δ is the largest, over the objectives, of
///   (δ₀ + δₘ + Σ|δⱼ − δ̄|) / (δ₀ + δₘ + (M − 1) δ̄), the sum and the mean δ̄ over j = 1 … M − 1;
///   0/0 is 0.
///
/// Points with an infinite value are ignored. Without points, Γ is the distance between the
/// extremes, and Δ is 1; without extremes, all values are 0.
pub fn spread(front: Values, union: Values) -> Result<Spread, Error> {
    front.same_space(union.n_objectives())?;
    let finite = |values: Values| -> Vec<usize> {
        let is_finite = |i: &usize| values.point(*i).iter().all(|v| v.is_finite());
        (0..values.len()).filter(is_finite).collect()
    };
    let m = union.n_objectives();
    let best = union.select(&finite(union));
    let best = Values::checked(&best, m);
    let best = best.select(&nondominated(best));
    let best = Values::checked(&best, m);
    let points = front.select(&finite(front));
    let points = Values::checked(&points, m);
    let ranges = ranges(best, None);
    let extremes = extremes(best, &ranges);
    let mut spread = Spread {
        gamma: 0.0,
        scaled_gamma: 0.0,
        delta: 0.0,
    };
    for (objective, (low, high)) in ranges.iter().enumerate() {
        let mut values: Vec<f64> = points.objective(objective).collect();
        values.extend(extremes.iter().flatten().map(|p| p[objective]));
        values.sort_unstable_by(f64::total_cmp);
        let distances: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let widest = distances.iter().copied().fold(0.0, f64::max);
        spread.gamma = spread.gamma.max(widest);
        // Halves, because distances and ranges can exceed the largest number.
        let halves = values.windows(2).map(|pair| pair[1] / 2.0 - pair[0] / 2.0);
        let share = ratio(halves.fold(0.0, f64::max), high / 2.0 - low / 2.0);
        spread.scaled_gamma = spread.scaled_gamma.max(share);
        spread.delta = spread.delta.max(unevenness(&distances));
    }
    Ok(spread)
}

/// The two ends along the objective with the widest range.
fn extremes<'a>(best: Values<'a>, ranges: &[(f64, f64)]) -> Option<[&'a [f64]; 2]> {
    let width = |objective: &usize| ranges[*objective].1 - ranges[*objective].0;
    let widest = (0..ranges.len()).max_by(|a, b| width(a).total_cmp(&width(b)).then(b.cmp(a)))?;
    // Of equal ends, take the first in lexicographic order, regardless of the order of the points.
    let by_value = |a: &&[f64], b: &&[f64]| {
        a[widest]
            .total_cmp(&b[widest])
            .then_with(|| lexicographic(a, b))
    };
    Some([best.iter().min_by(by_value)?, best.iter().max_by(by_value)?])
}

/// Δ of one objective, from the distances between neighbors.
fn unevenness(distances: &[f64]) -> f64 {
    let (outer, inner) = match distances {
        [] => return 0.0,
        [only] => (*only, &[][..]),
        [first, inner @ .., last] => (first + last, inner),
    };
    let mean = inner.iter().sum::<f64>() / inner.len().max(1) as f64;
    let deviation: f64 = inner.iter().map(|d| (d - mean).abs()).sum();
    ratio(outer + deviation, outer + mean * inner.len() as f64)
}

/// a / b, with 0/0 = 0.
fn ratio(a: f64, b: f64) -> f64 {
    if a == 0.0 { 0.0 } else { a / b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(points: &[f64]) -> Values<'_> {
        Values::new(points, 2).unwrap()
    }

    const LINE: [f64; 10] = [0.0, 4.0, 1.0, 3.0, 2.0, 2.0, 3.0, 1.0, 4.0, 0.0];

    #[test]
    fn an_even_front_has_delta_zero() {
        let even = spread(of(&LINE), of(&LINE)).unwrap();
        assert_eq!(
            (even.gamma, even.scaled_gamma, even.delta),
            (1.0, 0.25, 0.0)
        );
        // Without the middle point, the hole is 2 wide; the mean of 1, 2, 1 is 4/3.
        let holed = [&LINE[..4], &LINE[6..]].concat();
        let holed = spread(of(&holed), of(&LINE)).unwrap();
        assert_eq!((holed.gamma, holed.scaled_gamma), (2.0, 0.5));
        assert!((holed.delta - (4.0 / 3.0) / 4.0).abs() < 1e-15);
        // Without an end, the distance to that extreme counts as outer.
        let short = spread(of(&LINE[..8]), of(&LINE)).unwrap();
        assert_eq!((short.gamma, short.delta), (1.0, 1.0 / 4.0));
        let own = spread(of(&LINE[..8]), of(&LINE[..8])).unwrap();
        assert_eq!((own.gamma, own.delta), (1.0, 0.0));
    }

    #[test]
    fn every_front_has_indicators() {
        let none = of(&[]);
        let line = of(&LINE);
        let zero = Spread {
            gamma: 0.0,
            scaled_gamma: 0.0,
            delta: 0.0,
        };
        assert_eq!(spread(none, none), Ok(zero));
        assert_eq!(spread(line, none).unwrap().gamma, 1.0);
        let empty = spread(none, line).unwrap();
        assert_eq!(
            (empty.gamma, empty.scaled_gamma, empty.delta),
            (4.0, 1.0, 1.0)
        );
        let one = spread(of(&[2.0, 2.0]), line).unwrap();
        assert_eq!((one.gamma, one.delta), (2.0, 1.0));
        assert_eq!(spread(of(&[2.0; 6]), of(&[2.0; 6])), Ok(zero));
        let far = of(&[f64::INFINITY, 0.0, f64::NEG_INFINITY, 1.0]);
        assert_eq!(spread(far, far), Ok(zero));

        assert_eq!(purity(none, line), Ok(0.0));
        assert_eq!(purity(line, none), Ok(1.0));
        assert_eq!(
            (coverage(none, line), coverage(line, none)),
            (Ok(0.0), Ok(0.0))
        );
        assert_eq!(additive_epsilon(none, line), Ok(f64::INFINITY));
        assert_eq!(additive_epsilon(line, none), Ok(f64::NEG_INFINITY));
        assert_eq!(
            (igd_plus(none, line), igd_plus(line, none)),
            (Ok(f64::INFINITY), Ok(0.0))
        );
        assert_eq!(
            (additive_epsilon(far, far), igd_plus(far, far)),
            (Ok(0.0), Ok(0.0))
        );
        let other = Values::new(&[1.0; 3], 3).unwrap();
        assert!(purity(line, other).is_err() && spread(line, other).is_err());
        assert!(coverage(line, other).is_err() && igd_plus(line, other).is_err());
        assert!(additive_epsilon(line, other).is_err());
    }

    #[test]
    fn indicators_of_a_front_and_one_that_is_better_by_one() {
        let worse: Vec<f64> = LINE.iter().map(|v| v + 1.0).collect();
        let (worse, line) = (of(&worse), of(&LINE));
        let union = [worse.as_slice(), line.as_slice()].concat();
        assert_eq!(purity(worse, of(&union)), Ok(0.0));
        assert_eq!(purity(line, of(&union)), Ok(1.0));
        assert_eq!(
            (coverage(line, worse), coverage(worse, line)),
            (Ok(1.0), Ok(0.0))
        );
        assert_eq!(additive_epsilon(worse, line), Ok(1.0));
        assert_eq!(additive_epsilon(line, worse), Ok(-1.0));
        assert_eq!(igd_plus(worse, line), Ok(2.0_f64.sqrt()));
        assert_eq!(igd_plus(line, worse), Ok(0.0));
    }

    #[test]
    fn tied_points_are_pure_in_both_fronts() {
        let union = [&LINE[..], &LINE[..4]].concat();
        assert_eq!(purity(of(&LINE), of(&union)), Ok(1.0));
        assert_eq!(purity(of(&LINE[..4]), of(&union)), Ok(1.0));
        assert_eq!(purity(of(&[1.0, 3.0, 5.0, 5.0]), of(&LINE)), Ok(0.5));
        let near: Vec<f64> = LINE.iter().map(|v| v + 1e-12).collect();
        let all = [&LINE[..], &near[..]].concat();
        assert_eq!(purity(of(&near), of(&all)), Ok(0.0));
        assert_eq!(purity_within(of(&near), of(&all), 1e-9), Ok(1.0));
        assert_eq!(purity_within(of(&[9.0, 9.0]), of(&all), 1e-9), Ok(0.0));
    }

    proptest! {
        #[test]
        fn purity_and_coverage_match_their_definitions(raw in prop::collection::vec(0_u8..6, 0..400), cut in 0_usize..60, m in 1_usize..6) {
            let n = raw.len() / m;
            let all: Vec<f64> = raw[..n * m].iter().map(|v| f64::from(*v)).collect();
            let (front, union) = (&all[..cut.min(n) * m], &all[..]);
            let count = |test: &dyn Fn(&[f64]) -> bool| front.chunks(m).filter(|p| test(p)).count();
            let pure = count(&|p| !union.chunks(m).any(|u| crate::dominates(u, p)));
            let other = &all[cut.min(n) * m..];
            let covered = count(&|p| other.chunks(m).any(|o| crate::weakly_dominates(o, p)));
            let values = |points| Values::new(points, m).unwrap();
            let share = |part: usize| part as f64 / (front.len() / m).max(1) as f64;
            prop_assert_eq!(purity(values(front), values(union)), Ok(share(pure)));
            prop_assert_eq!(purity_within(values(front), values(union), 0.0), Ok(share(pure)));
            prop_assert_eq!(coverage(values(other), values(front)), Ok(share(covered)));
        }

        #[test]
        fn order_and_copies_of_the_union_change_nothing(raw in prop::collection::vec(0_u8..9, 4..60), cut in 0_usize..20, m in 2_usize..4) {
            let n = raw.len() / m;
            let all: Vec<f64> = raw[..n * m].iter().map(|v| f64::from(*v)).collect();
            let front = &all[..cut.min(n) * m];
            let mut other: Vec<&[f64]> = all.chunks(m).chain(all.chunks(m)).collect();
            other.reverse();
            let other = other.concat();
            let values = |points| Values::new(points, m).unwrap();
            prop_assert_eq!(purity(values(front), values(&all)), purity(values(front), values(&other)));
            let mut turned: Vec<&[f64]> = front.chunks(m).collect();
            turned.reverse();
            let turned = turned.concat();
            prop_assert_eq!(spread(values(front), values(&all)), spread(values(&turned), values(&other)));
            let target = values(&all);
            prop_assert_eq!(additive_epsilon(values(front), target), additive_epsilon(values(&turned), target));
            prop_assert_eq!(coverage(values(front), target), coverage(values(front), values(&other)));
        }

        #[test]
        fn delta_lies_between_zero_and_two(raw in prop::collection::vec(0.0..1.0_f64, 2..80)) {
            let n = raw.len() / 2 * 2;
            let values = of(&raw[..n]);
            let found = spread(values, values).unwrap();
            prop_assert!((0.0..=2.0).contains(&found.delta));
            prop_assert!(found.gamma <= 1.0);
        }
    }
}
