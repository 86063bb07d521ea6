use crate::nondominated;

/// The number of objectives for which there is no hypervolume here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsupported(pub usize);

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the hypervolume of {} objectives is not available",
            self.0
        )
    }
}

impl std::error::Error for Unsupported {}

/// The volume that the points dominate inside the reference point, exactly, for one to three
/// objectives. Points beyond the reference point (in any objective) or with a NaN add nothing; the
/// empty set has volume 0. O(n log n) for two objectives, O(n²) at worst for three.
///
/// # Panics
/// If the length of `points` is no multiple of that of `reference`.
pub fn hypervolume(points: &[f64], reference: &[f64]) -> Result<f64, Unsupported> {
    let m = reference.len();
    if !(1..=3).contains(&m) {
        return Err(Unsupported(m));
    }
    assert!(points.len().is_multiple_of(m), "n · m values");
    let inside: Vec<f64> = points
        .chunks_exact(m)
        .filter(|p| p.iter().zip(reference).all(|(v, r)| v < r))
        .flatten()
        .copied()
        .collect();
    let mut front: Vec<&[f64]> = nondominated(&inside, m)
        .into_iter()
        .map(|i| &inside[i * m..(i + 1) * m])
        .collect();
    Ok(match m {
        1 => front.first().map_or(0.0, |p| reference[0] - p[0]),
        2 => {
            front.sort_by(|a, b| a[0].total_cmp(&b[0]));
            let mut staircase = Staircase::new(reference[0], reference[1]);
            for p in &front {
                staircase.add(p[0], p[1]);
            }
            staircase.area
        }
        _ => {
            // Sweep along the third objective: between two levels, the area dominated so far.
            front.sort_by(|a, b| a[2].total_cmp(&b[2]));
            let mut staircase = Staircase::new(reference[0], reference[1]);
            let mut volume = 0.0;
            for (i, p) in front.iter().enumerate() {
                staircase.add(p[0], p[1]);
                let next = front.get(i + 1).map_or(reference[2], |q| q[2]);
                volume += staircase.area * (next - p[2]);
            }
            volume
        }
    })
}

/// The area that points in the plane dominate, point by point.
struct Staircase {
    reference: (f64, f64),
    /// Nondominated points, first coordinate increasing, second decreasing.
    steps: Vec<(f64, f64)>,
    area: f64,
}

impl Staircase {
    fn new(x: f64, y: f64) -> Self {
        Self {
            reference: (x, y),
            steps: Vec::new(),
            area: 0.0,
        }
    }

    fn add(&mut self, x: f64, y: f64) {
        let at = self.steps.partition_point(|s| s.0 < x);
        let ceiling = at
            .checked_sub(1)
            .map_or(self.reference.1, |i| self.steps[i].1);
        if ceiling <= y {
            return;
        }
        // New area: strips from the point to the right, under the ceiling, down to y, until a step
        // lies lower than y.
        let mut end = at;
        let (mut left, mut top) = (x, ceiling);
        while end < self.steps.len() && self.steps[end].1 >= y {
            self.area += (self.steps[end].0 - left) * (top - y);
            (left, top) = self.steps[end];
            end += 1;
        }
        let right = self.steps.get(end).map_or(self.reference.0, |s| s.0);
        self.area += (right - left) * (top - y);
        self.steps.splice(at..end, [(x, y)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Inclusion and exclusion over all subsets.
    fn brute_force(points: &[f64], reference: &[f64]) -> f64 {
        let m = reference.len();
        let points: Vec<&[f64]> = points.chunks(m).collect();
        let mut volume = 0.0;
        for subset in 1_u32..1 << points.len() {
            let members = (0..points.len()).filter(|i| subset >> i & 1 == 1);
            let mut corner = vec![f64::NEG_INFINITY; m];
            for i in members {
                for (c, v) in corner.iter_mut().zip(points[i]) {
                    *c = c.max(*v);
                }
            }
            let sides = corner.iter().zip(reference).map(|(c, r)| (r - c).max(0.0));
            let sign = if subset.count_ones() % 2 == 1 {
                1.0
            } else {
                -1.0
            };
            volume += sign * sides.product::<f64>();
        }
        volume
    }

    #[test]
    fn closed_forms() {
        assert_eq!(hypervolume(&[], &[1.0, 1.0]), Ok(0.0));
        assert_eq!(hypervolume(&[0.25], &[1.0]), Ok(0.75));
        assert_eq!(hypervolume(&[0.0, 0.0, 0.0], &[1.0, 2.0, 3.0]), Ok(6.0));
        assert_eq!(
            hypervolume(&[2.0, 0.0, f64::NAN, 0.0], &[1.0, 1.0]),
            Ok(0.0)
        );
        assert_eq!(hypervolume(&[0.5, f64::INFINITY], &[1.0, 1.0]), Ok(0.0));
        assert_eq!(hypervolume(&[], &[1.0; 4]), Err(Unsupported(4)));
    }

    proptest! {
        #[test]
        fn as_inclusion_and_exclusion(m in 1_usize..4, raw in prop::collection::vec(0_u8..8, 0..24)) {
            let n = (raw.len() / m).min(8);
            let points: Vec<f64> = raw[..n * m].iter().map(|v| f64::from(*v)).collect();
            let reference = vec![6.0; m];
            // Small whole numbers: every sum is exact.
            prop_assert_eq!(hypervolume(&points, &reference), Ok(brute_force(&points, &reference)));
        }

        #[test]
        fn one_more_point_never_lowers_it(m in 2_usize..4, raw in prop::collection::vec(0.0..1.0_f64, 3..60)) {
            let n = raw.len() / m;
            let reference = vec![0.9; m];
            let all = hypervolume(&raw[..n * m], &reference).unwrap();
            let fewer = hypervolume(&raw[..(n - 1) * m], &reference).unwrap();
            // Sums in another order may differ in the last digits.
            prop_assert!(all >= fewer - 1e-12);
        }
    }
}
