use super::recursion::{Level, Recursion};
use super::{by_last_order, check, gain, inside, normalise};
use crate::{Error, Values};

/// What each point adds to the hypervolume of all: the part of its box, up to the reference point,
/// that no other point's box covers. So much is lost if the point goes.
///
/// 0 for a point that another dominates or equals, and for one that is not better than the
/// reference point in every objective. Where a point dominates others, what these would still cover
/// without it does not count for it. ∞ for a point with an infinite box that no other holds.
///
/// Cost: one hypervolume a point, of the few points that share something with it.
///
/// ```
/// use fairfront_pareto::{Values, contributions};
/// let values = Values::new(&[1.0, 3.0, 2.0, 2.0, 3.0, 1.0], 2)?;
/// assert_eq!(contributions(values, &[4.0, 4.0])?, [1.0, 1.0, 1.0]);
/// # Ok::<(), fairfront_pareto::Error>(())
/// ```
pub fn contributions(values: Values, reference: &[f64]) -> Result<Vec<f64>, Error> {
    check(values, reference)?;
    let m = values.n_objectives();
    let mut contributions = vec![0.0; values.len()];
    let counting: Vec<usize> = (0..values.len())
        .filter(|i| inside(values.point(*i), reference))
        .collect();
    let mut gains: Vec<f64> = counting
        .iter()
        .flat_map(|i| gain(values.point(*i), reference))
        .collect();
    let unit = normalise(&mut gains, m);
    let order = by_last_order(&gains, m);
    let sorted = Values::checked(&gains, m).select(&order);
    let mut others = Level::new(m);
    others.fill(&sorted);
    let mut recursion = Recursion::new(m);
    for (rank, p) in sorted.chunks_exact(m).enumerate() {
        others.place(rank, std::iter::repeat(0.0));
        if let Some(free) = others.share(p) {
            contributions[counting[order[rank]]] = match p.iter().all(|v| v.is_finite()) {
                // Rounding makes no point harmful.
                true => unit.of((free - recursion.volume(&others.shared)).max(0.0)),
                // Boxes that hold a corner far out hold it all; none does.
                false => f64::INFINITY,
            };
        }
        others.place(rank, p.iter().copied());
    }
    Ok(contributions)
}
