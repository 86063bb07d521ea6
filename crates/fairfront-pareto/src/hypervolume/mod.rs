//! The volume that points dominate.
//!
//! Internally, points are *gains*: how far each objective lies below the reference point. All gains
//! are positive and finite. A point dominates the box between itself and the origin, and the
//! overlap of two points is the box of their smaller coordinates.

mod contribution;
mod recursion;
mod space;

pub use contribution::contributions;

use self::recursion::Recursion;
use crate::nondominated::survivors;
use crate::order::key;
use crate::staircase::Staircase;
use crate::{Error, Values};

/// The exact volume between the points and the reference point, for any number of objectives.
///
/// Points that are not better than the reference point in every objective add nothing; the empty
/// set has volume 0. If a point that counts has a value of −∞, or the reference point a value of ∞,
/// the volume is ∞.
///
/// Cost: O(n log n) for two and three objectives and at most O(n²) for four. Each further objective
/// multiplies the cost by up to n, in practice by much less: six objectives and 300 points on a
/// sphere take a few hundredths of a second.
///
/// ```
/// use fairfront_pareto::{Values, hypervolume};
/// let values = Values::new(&[1.0, 3.0, 2.0, 2.0, 3.0, 1.0], 2)?;
/// assert_eq!(hypervolume(values, &[4.0, 4.0])?, 6.0);
/// # Ok::<(), fairfront_pareto::Error>(())
/// ```
pub fn hypervolume(values: Values, reference: &[f64]) -> Result<f64, Error> {
    check(values, reference)?;
    let mut gains = Vec::with_capacity(values.as_slice().len());
    for point in values.iter().filter(|p| inside(p, reference)) {
        gains.extend(gain(point, reference));
    }
    // The box of a point that counts has no side of length 0.
    Ok(match gains.iter().all(|g| g.is_finite()) {
        true => {
            let unit = normalize(&mut gains, values.n_objectives());
            unit.of(volume(&gains, values.n_objectives()))
        }
        false => f64::INFINITY,
    })
}

/// Fails unless the reference point is valid and has the same number of objectives.
fn check(values: Values, reference: &[f64]) -> Result<(), Error> {
    let m = values.n_objectives();
    values.same_space(reference.len())?;
    Values::new(reference, m).map(|_| ())
}

/// Whether a point counts: it is better than the reference point in every objective.
fn inside(point: &[f64], reference: &[f64]) -> bool {
    crate::strictly_dominates(point, reference)
}

/// How far a point lies below the reference point.
fn gain<'a>(point: &'a [f64], reference: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    point.iter().zip(reference).map(|(v, r)| r - v)
}

/// The scale of a volume in which the largest gain along each objective is between 1 and 2.
struct Unit {
    /// The power of two by which each objective was divided.
    exponents: Vec<i32>,
}

impl Unit {
    /// Converts a volume to the original units; only this result can overflow.
    fn of(&self, volume: f64) -> f64 {
        let mut rest: i64 = self.exponents.iter().map(|e| i64::from(*e)).sum();
        let mut volume = volume;
        while rest != 0 && volume != 0.0 && volume.is_finite() {
            let step = rest.clamp(-1_000, 1_000);
            volume *= 2.0_f64.powi(step as i32);
            rest -= step;
        }
        volume
    }
}

/// Divides the finite gains of each objective by a power of two, which is exact, so that products
/// of them neither overflow nor vanish.
fn normalize(gains: &mut [f64], m: usize) -> Unit {
    let mut exponents = vec![0; m];
    for (objective, exponent) in exponents.iter_mut().enumerate() {
        let own = gains.iter().skip(objective).step_by(m);
        let largest = own.copied().filter(|g| g.is_finite()).fold(0.0, f64::max);
        // The exponent's bits; 0 for subnormal numbers, which stay unchanged.
        let bits = (largest.to_bits() >> 52) as i32;
        if bits > 0 {
            *exponent = bits - 1_023;
        }
        // In two halves, because a power above 1023 is not representable.
        let halves = [*exponent / 2, *exponent - *exponent / 2];
        for half in halves {
            let factor = 2.0_f64.powi(-half);
            gains
                .iter_mut()
                .skip(objective)
                .step_by(m)
                .for_each(|g| *g *= factor);
        }
    }
    Unit { exponents }
}

/// The volume between the origin and the gains.
fn volume(gains: &[f64], m: usize) -> f64 {
    if m <= 3 {
        return Recursion::new(m).volume(gains);
    }
    // The sweep below also removes dominated points, but removing most of them here is cheaper.
    // Larger gains are better, so they are negated to become values.
    let negated: Vec<f64> = gains.iter().map(|g| -g).collect();
    let rest = survivors(Values::checked(&negated, m));
    let rest = Values::checked(gains, m).select(&rest);
    Recursion::new(m).volume(&by_last(&rest, m))
}

/// The points by decreasing last coordinate.
fn by_last(gains: &[f64], m: usize) -> Vec<f64> {
    Values::checked(gains, m).select(&by_last_order(gains, m))
}

/// The positions of the points by decreasing last coordinate.
fn by_last_order(gains: &[f64], m: usize) -> Vec<usize> {
    let last = gains.chunks_exact(m).map(|p| key(p[m - 1]));
    let mut order: Vec<(u64, usize)> = last.zip(0..).collect();
    order.sort_unstable_by(|a, b| b.cmp(a));
    order.into_iter().map(|(_, i)| i).collect()
}

/// Two objectives: by decreasing first gain, each point adds the part above the previous points.
fn area(gains: &[f64]) -> f64 {
    let mut points: Vec<(u64, f64)> = gains.chunks_exact(2).map(|p| (key(p[0]), p[1])).collect();
    points.sort_unstable_by_key(|p| std::cmp::Reverse(p.0));
    let (mut area, mut height) = (0.0, 0.0);
    for (first, second) in points {
        if second > height {
            area += f64::from_bits(first & !(1 << 63)) * (second - height);
            height = second;
        }
    }
    area
}

/// Three objectives: sums, by decreasing last gain, the area covered by the points so far.
fn sweep(gains: &[f64]) -> f64 {
    let sorted = by_last(gains, 3);
    let mut staircase = Staircase::default();
    let (mut area, mut volume) = (0.0, 0.0);
    let mut points = sorted.chunks_exact(3).peekable();
    while let Some(p) = points.next() {
        if !staircase.covers(p[0], p[1]) {
            area += staircase.raise(p[0], p[1]);
        }
        let next = points.peek().map_or(0.0, |q| q[2]);
        volume += area * (p[2] - next);
    }
    volume
}

#[cfg(test)]
mod tests;
