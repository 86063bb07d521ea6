use crate::spread::scaled;
use crate::{Values, nondominated, ranges};

/// Position of the knee: the point farthest below the straight line (for three or more objectives,
/// the plane) through the ends of the front, with each value scaled to its range. Of equally far
/// points the first counts; dominated points and points with an infinite value are ignored; `None`
/// if no point is left.
///
/// The ends are the points where each objective is smallest. If they do not span a plane, or the
/// plane does not fall in every direction (for example, because one point is best in two
/// objectives), and on fronts of one or two points, the point with the smallest sum of scaled
/// values is the knee.
///
/// ```
/// use fairfront_pareto::{Values, knee};
/// let values = Values::new(&[0.0, 10.0, 1.0, 1.0, 10.0, 0.0], 2)?;
/// assert_eq!(knee(values), Some(1));
/// # Ok::<(), fairfront_pareto::Error>(())
/// ```
pub fn knee(values: Values) -> Option<usize> {
    let m = values.n_objectives();
    let mut front = nondominated(values);
    front.retain(|i| values.point(*i).iter().all(|v| v.is_finite()));
    let ranges = ranges(Values::checked(&values.select(&front), m), None);
    let within: Vec<f64> = front
        .iter()
        .flat_map(|i| values.point(*i).iter().zip(&ranges))
        .map(|(v, range)| scaled(*v, *range))
        .collect();
    let within = Values::checked(&within, m);
    let normal = match front.len() {
        0..=2 => None,
        _ => normal(within),
    };
    let normal = normal.unwrap_or_else(|| vec![1.0; m]);
    let height = |p: &[f64]| -> f64 { p.iter().zip(&normal).map(|(v, n)| v * n).sum() };
    let heights: Vec<f64> = within.iter().map(height).collect();
    let lowest = (0..front.len()).min_by(|a, b| heights[*a].total_cmp(&heights[*b]))?;
    Some(front[lowest])
}

/// The normal n of the plane n·v = 1 through the points at which each objective is least, if all
/// of its components are positive.
fn normal(scaled: Values) -> Option<Vec<f64>> {
    let m = scaled.n_objectives();
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for objective in 0..m {
        let value = |p: &&[f64]| p[objective];
        let least = scaled.iter().min_by(|a, b| value(a).total_cmp(&value(b)))?;
        rows.push(least.iter().copied().chain([1.0]).collect());
    }
    // Gaussian elimination with pivoting; values have magnitude up to 1, so pivots below 1e-9 count
    // as 0.
    for column in 0..m {
        let pivot = (column..m).max_by(|a, b| {
            let size = |row: &usize| rows[*row][column].abs();
            size(a).total_cmp(&size(b))
        })?;
        rows.swap(column, pivot);
        let top = rows[column].clone();
        if top[column].abs() < 1e-9 {
            return None;
        }
        for row in (0..m).filter(|row| *row != column) {
            let factor = rows[row][column] / top[column];
            for (v, t) in rows[row].iter_mut().zip(&top) {
                *v -= factor * t;
            }
        }
    }
    let normal: Vec<f64> = (0..m).map(|i| rows[i][m] / rows[i][i]).collect();
    normal.iter().all(|n| *n > 0.0).then_some(normal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(points: &[f64], m: usize) -> Option<usize> {
        knee(Values::new(points, m).unwrap())
    }

    #[test]
    fn the_knee_of_a_hyperbola_is_its_vertex() {
        let points: Vec<f64> = (1..=81)
            .flat_map(|i| {
                let x = 9.0_f64.powf(f64::from(i - 41) / 40.0);
                [x, 1.0 / x]
            })
            .collect();
        assert_eq!(of(&points, 2), Some(40));
    }

    #[test]
    fn small_and_degenerate_fronts_have_a_knee() {
        assert_eq!(of(&[], 2), None);
        assert_eq!(of(&[f64::INFINITY, 1.0], 2), None);
        assert_eq!(of(&[3.0, 4.0], 2), Some(0));
        assert_eq!(of(&[3.0, 4.0, 4.0, 3.0], 2), Some(0));
        assert_eq!(of(&[5.0, 5.0, 3.0, 4.0, 3.0, 4.0], 2), Some(1));
        assert_eq!(of(&[2.0, 1.0], 1), Some(1));
        // A range wider than the largest number.
        assert_eq!(of(&[-1e308, 1.0, 0.0, 0.0, 1e308, -1.0], 2), Some(0));
        // One point is best in the last two objectives, so that no plane falls in every direction.
        assert!(of(&[0.0, 9.0, 9.0, 1.0, 1.0, 1.0, 9.0, 0.0, 0.0], 3) == Some(1));
    }

    #[test]
    fn with_three_objectives_the_plane_goes_through_the_extremes() {
        // Extremes scaled to (0, 1, 1), (1, 0, 1), (1, 1, 0); n = (1, 1, 1)/2.
        let points = [
            0.0, 10.0, 10.0, 10.0, 0.0, 10.0, 10.0, 10.0, 0.0, 4.0, 4.0, 4.0, 5.0, 5.0, 3.0,
        ];
        assert_eq!(of(&points, 3), Some(3));
    }

    proptest! {
        #[test]
        fn scale_and_dominated_points_do_not_matter(raw in prop::collection::vec(1_u16..1_000, 6..60), factor in 1_u8..6) {
            let n = raw.len() / 2 * 2;
            let points: Vec<f64> = raw[..n].iter().map(|v| f64::from(*v)).collect();
            let found = of(&points, 2).unwrap();
            // Scaling by a power of two does not change rounding.
            let power = f64::from(1_u32 << factor);
            let scaled: Vec<f64> = points.chunks(2).flat_map(|p| [p[0] * power, p[1]]).collect();
            prop_assert_eq!(of(&scaled, 2), Some(found));
            let worse: Vec<f64> = points.iter().map(|v| v + 1.0).collect();
            prop_assert_eq!(of(&[points, worse].concat(), 2), Some(found));
        }
    }
}
