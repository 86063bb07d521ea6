use super::recursion::{Level, Recursion};
use super::{by_last_order, check, gain, inside, normalize};
use crate::{Error, Values};

/// The contribution of each point to the hypervolume of all: the part of its box, up to the
/// reference point, that the box of no other point covers. Removing the point loses exactly this
/// volume.
///
/// A contribution is 0 for a point that another point dominates or equals, and for one that is not
/// better than the reference point in every objective. If a point dominates others, the volume that
/// these would still cover without it does not count as its contribution. A contribution is ∞ for a
/// point with an infinite box that no other point's box contains.
///
/// Cost: one hypervolume per point, of the few points whose boxes overlap with its box.
///
/// ```
/// use fairfront_pareto::{Values, contributions};
/// let values = Values::new(&[1.0, 3.0, 2.0, 2.0, 3.0, 1.0], 2)?;
/// assert_eq!(contributions(values, &[4.0, 4.0])?, [1.0, 1.0, 1.0]);
/// # Ok::<(), fairfront_pareto::Error>(())
/// ```
pub fn contributions(values: Values, reference: &[f64]) -> Result<Vec<f64>, Error> {
    check(values, reference)?;
    let infinite = |v: &f64| v.is_infinite();
    if !values.as_slice().iter().chain(reference).any(infinite) {
        return Ok(finite(values, reference));
    }
    // Sufficiently far out, a box no longer changes: a volume that grows with the distance is
    // infinite.
    let at_distance = |factor: f64| {
        let m = values.n_objectives();
        let mut data = values.as_slice().to_vec();
        let mut limits = reference.to_vec();
        for objective in 0..m {
            let own = values.objective(objective).chain([reference[objective]]);
            let own = own.filter(|v| v.is_finite());
            let (low, high) = own.fold((0.0_f64, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
            let far = factor * (1.0 + high / 2.0 - low / 2.0);
            let place = |v: &mut f64| match *v {
                f64::INFINITY => *v = high + far,
                f64::NEG_INFINITY => *v = low - far,
                _ => {}
            };
            data.iter_mut().skip(objective).step_by(m).for_each(place);
            place(&mut limits[objective]);
        }
        // Points at ∞ stay outside a reference point at ∞.
        finite(Values::checked(&data, m), &limits)
    };
    let (near, far) = (at_distance(1.0), at_distance(2.0));
    let each = near
        .iter()
        .zip(&far)
        .map(|(near, far)| match *far > near * (1.0 + 1e-9) {
            true => f64::INFINITY,
            false => *near,
        });
    Ok(each.collect())
}

/// Contributions of finite points with a finite reference point.
fn finite(values: Values, reference: &[f64]) -> Vec<f64> {
    let m = values.n_objectives();
    let mut contributions = vec![0.0; values.len()];
    let counting: Vec<usize> = (0..values.len())
        .filter(|i| inside(values.point(*i), reference))
        .collect();
    let mut gains: Vec<f64> = counting
        .iter()
        .flat_map(|i| gain(values.point(*i), reference))
        .collect();
    let unit = normalize(&mut gains, m);
    let order = by_last_order(&gains, m);
    let sorted = Values::checked(&gains, m).select(&order);
    let mut others = Level::new(m);
    others.fill(&sorted);
    let mut recursion = Recursion::new(m);
    for (rank, p) in sorted.chunks_exact(m).enumerate() {
        others.place(rank, std::iter::repeat(0.0));
        if let Some(free) = others.share(p) {
            // Rounding must not make a contribution negative.
            let own = (free - recursion.volume(&others.shared)).max(0.0);
            contributions[counting[order[rank]]] = unit.of(own);
        }
        others.place(rank, p.iter().copied());
    }
    contributions
}
