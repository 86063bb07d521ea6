use crate::{Error, Values, dominates, weakly_dominates};

/// A set of points none of which dominates another, kept so under insertion.
///
/// ```
/// use fairfront_pareto::{Archive, Insertion};
/// let mut archive = Archive::new(2);
/// archive.insert(&[2.0, 2.0], "a")?;
/// archive.insert(&[1.0, 3.0], "b")?;
/// assert_eq!(archive.insert(&[3.0, 3.0], "c")?, Insertion::Dominated);
/// assert_eq!(archive.insert(&[1.0, 1.0], "d")?, Insertion::Kept { removed: vec!["a", "b"] });
/// assert_eq!(archive.len(), 1);
/// # Ok::<(), fairfront_pareto::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Archive<T> {
    m: usize,
    values: Vec<f64>,
    items: Vec<T>,
}

/// What became of a point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Insertion<T> {
    /// It is in; these were dominated by it and are out.
    Kept {
        /// The items of the points removed, in the order in which they were inserted.
        removed: Vec<T>,
    },
    /// A point in the archive dominates it or equals it.
    Dominated,
}

impl<T> Archive<T> {
    /// An empty archive of points with `m` objectives.
    ///
    /// # Panics
    /// If `m` is 0.
    pub fn new(m: usize) -> Self {
        assert!(m > 0, "points have at least one objective");
        Self {
            m,
            values: Vec::new(),
            items: Vec::new(),
        }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is no point.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The values of all points in the order of insertion.
    pub fn values(&self) -> Values<'_> {
        Values::checked(&self.values, self.m)
    }

    /// The items of all points, in the same order.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// Puts in a point unless one that is there is at least as good. O(n).
    /// Fails where `point` has a NaN or not `m` values.
    pub fn insert(&mut self, point: &[f64], item: T) -> Result<Insertion<T>, Error> {
        self.values().same_space(point.len())?;
        Values::new(point, self.m)?;
        if self.values().iter().any(|e| weakly_dominates(e, point)) {
            return Ok(Insertion::Dominated);
        }
        let mut removed = Vec::new();
        let old = std::mem::take(&mut self.values);
        let items = std::mem::take(&mut self.items);
        for (values, item) in old.chunks_exact(self.m).zip(items) {
            if dominates(point, values) {
                removed.push(item);
            } else {
                self.values.extend_from_slice(values);
                self.items.push(item);
            }
        }
        self.values.extend_from_slice(point);
        self.items.push(item);
        Ok(Insertion::Kept { removed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nondominated;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_point_of_the_space_is_refused() {
        let mut archive = Archive::new(2);
        assert!(archive.insert(&[1.0], ()).is_err());
        assert!(archive.insert(&[1.0, f64::NAN], ()).is_err());
        let far = [f64::INFINITY, f64::NEG_INFINITY];
        assert!(archive.is_empty() && archive.insert(&far, ()).is_ok());
        assert_eq!(archive.insert(&far, ()), Ok(Insertion::Dominated));
    }

    proptest! {
        #[test]
        fn inserting_all_is_filtering_all(m in 1_usize..4, raw in prop::collection::vec(0_u8..6, 0..90)) {
            let n = raw.len() / m;
            let points: Vec<f64> = raw[..n * m].iter().map(|v| f64::from(*v)).collect();
            let mut archive = Archive::new(m);
            let mut alive: Vec<usize> = Vec::new();
            for (i, point) in points.chunks(m).enumerate() {
                if let Insertion::Kept { removed } = archive.insert(point, i).unwrap() {
                    alive.retain(|k| !removed.contains(k));
                    alive.push(i);
                }
            }
            prop_assert_eq!(archive.items(), &alive[..]);
            prop_assert_eq!(alive, nondominated(Values::new(&points, m).unwrap()));
        }
    }
}
