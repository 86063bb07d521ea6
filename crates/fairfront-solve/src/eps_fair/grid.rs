use crate::Error;

/// The bounds of all subproblems, ordered so that neighbors differ in one step.
pub(super) struct Grid {
    /// One ε per fairness objective. The first bounds are those of the unmitigated model.
    pub(super) bounds: Vec<Vec<f64>>,
}

impl Grid {
    /// k values for each objective, evenly spaced from its largest value down to 0, with k as large
    /// as at most `points` combinations allow. If the unmitigated model is already fair in an
    /// objective, its largest value is 0, which is its only value.
    pub(super) fn new(largest: &[f64], points: usize) -> Result<Self, Error> {
        let exponent = largest.iter().filter(|l| **l > 0.0).count() as u32;
        let fits = |k: usize| k.checked_pow(exponent).is_some_and(|n| n <= points);
        if !fits(2) {
            return Err(Error::Setting {
                setting: "models",
                value: points.to_string(),
                rule: "at least 2 to the power of the number of fairness objectives".into(),
            });
        }
        // The floating-point root can be off by one.
        let mut k = (points as f64).powf(1.0 / f64::from(exponent.max(1))) as usize + 1;
        while !fits(k) {
            k -= 1;
        }
        let mut bounds = vec![Vec::new()];
        for &largest in largest.iter().rev() {
            let k = if largest > 0.0 { k } else { 1 };
            let levels = (0..k).map(|i| largest * (1.0 - i as f64 / (k - 1).max(1) as f64));
            let mut longer = Vec::with_capacity(k * bounds.len());
            for (i, level) in levels.enumerate() {
                let add = |rest: &Vec<f64>| [&[level], rest.as_slice()].concat();
                match i % 2 {
                    0 => longer.extend(bounds.iter().map(add)),
                    _ => longer.extend(bounds.iter().rev().map(add)),
                }
            }
            bounds = longer;
        }
        Ok(Self { bounds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_objective_has_evenly_spaced_bounds() {
        let bounds = Grid::new(&[2.0], 5).unwrap().bounds;
        assert_eq!(bounds.concat(), [2.0, 1.5, 1.0, 0.5, 0.0]);
        assert_eq!(Grid::new(&[0.0], 5).unwrap().bounds, [[0.0]]);
    }

    #[test]
    fn bounds_vary_only_for_nonzero_objectives() {
        let bounds = Grid::new(&[2.0, 0.0], 5).unwrap().bounds;
        assert_eq!(
            bounds,
            [[2.0, 0.0], [1.5, 0.0], [1.0, 0.0], [0.5, 0.0], [0.0, 0.0]]
        );
        assert_eq!(Grid::new(&[0.0; 9], 5).unwrap().bounds, [[0.0; 9]]);
    }

    #[test]
    fn neighbors_differ_in_one_step_and_all_combinations_occur() {
        for (m, points, k) in [(2, 100, 10), (2, 99, 9), (3, 64, 4), (3, 30, 3), (4, 16, 2)] {
            let largest: Vec<f64> = (1..=m).map(f64::from).collect();
            let bounds = Grid::new(&largest, points).unwrap().bounds;
            assert_eq!(bounds.len(), (k as usize).pow(m as u32));
            assert_eq!(bounds[0], largest);
            for pair in bounds.windows(2) {
                let steps: Vec<f64> = (pair[0].iter().zip(&pair[1]).zip(&largest))
                    .map(|((a, b), l)| (a - b).abs() / l * f64::from(k - 1))
                    .collect();
                assert!((steps.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{pair:?}");
            }
            let mut sorted = bounds.clone();
            sorted.sort_by(|a, b| a.partial_cmp(b).unwrap());
            sorted.dedup();
            assert_eq!(sorted.len(), bounds.len());
        }
        let few = Grid::new(&[1.0, 1.0, 1.0], 7).err().unwrap().to_string();
        assert!(
            few.starts_with("models is 7; it must be at least 2 to the power"),
            "{few}"
        );
    }
}
