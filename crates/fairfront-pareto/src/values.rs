use crate::Error;

/// Checked objective values of some points: `m` values per point, one point after the other,
/// without NaN. Infinities are allowed.
///
/// ```
/// use fairfront_pareto::{Error, Values};
/// let values = Values::new(&[1.0, 3.0, 2.0, 2.0], 2)?;
/// assert_eq!((values.len(), values.point(1)), (2, &[2.0, 2.0][..]));
/// assert!(Values::new(&[1.0, f64::NAN], 2).is_err());
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Values<'a> {
    data: &'a [f64],
    m: usize,
}

impl<'a> Values<'a> {
    /// Creates a view of `data` with `m` values per point.
    pub fn new(data: &'a [f64], m: usize) -> Result<Self, Error> {
        if m == 0 || !data.len().is_multiple_of(m) {
            return Err(Error::Shape {
                values: data.len(),
                objectives: m,
            });
        }
        match data.iter().position(|v| v.is_nan()) {
            Some(at) => Err(Error::NotANumber {
                point: at / m,
                objective: at % m,
            }),
            None => Ok(Self { data, m }),
        }
    }

    /// Values known to form whole points without NaN, because they come from checked values.
    pub(crate) fn checked(data: &'a [f64], m: usize) -> Self {
        debug_assert!(Self::new(data, m).is_ok(), "derived from checked values");
        Self { data, m }
    }

    /// Number of points.
    pub fn len(self) -> usize {
        self.data.len() / self.m
    }

    /// Whether it is empty.
    pub fn is_empty(self) -> bool {
        self.data.is_empty()
    }

    /// Number of objectives.
    pub fn n_objectives(self) -> usize {
        self.m
    }

    /// The values of a point.
    pub fn point(self, index: usize) -> &'a [f64] {
        &self.data[index * self.m..(index + 1) * self.m]
    }

    /// Iterates over the points in order.
    pub fn iter(self) -> std::slice::ChunksExact<'a, f64> {
        self.data.chunks_exact(self.m)
    }

    /// All values, point by point.
    pub fn as_slice(self) -> &'a [f64] {
        self.data
    }

    /// The values of one objective, in the order of the points.
    pub fn objective(self, index: usize) -> impl ExactSizeIterator<Item = f64> + Clone + 'a {
        self.iter().map(move |p| p[index])
    }

    /// The values of the points at these positions, one after the other.
    pub fn select(self, positions: &[usize]) -> Vec<f64> {
        let mut selected = Vec::with_capacity(positions.len() * self.m);
        for &position in positions {
            selected.extend_from_slice(self.point(position));
        }
        selected
    }

    /// Fails unless `other` equals the number of objectives.
    pub(crate) fn same_space(self, other: usize) -> Result<(), Error> {
        match self.m == other {
            true => Ok(()),
            false => Err(Error::Objectives {
                expected: self.m,
                found: other,
            }),
        }
    }
}

impl<'a> IntoIterator for Values<'a> {
    type Item = &'a [f64];
    type IntoIter = std::slice::ChunksExact<'a, f64>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_points_are_rejected_with_their_position() {
        let of = |data: &[f64], m| Values::new(data, m).map(Values::len);
        assert_eq!(of(&[], 3), Ok(0));
        assert_eq!(of(&[f64::INFINITY, -f64::INFINITY], 1), Ok(2));
        let shape = |values, objectives| Err(Error::Shape { values, objectives });
        assert_eq!(of(&[1.0], 2), shape(1, 2));
        assert_eq!(of(&[1.0], 0), shape(1, 0));
        let place = Error::NotANumber {
            point: 1,
            objective: 1,
        };
        assert_eq!(of(&[0.0, 1.0, 2.0, f64::NAN], 2), Err(place));
        assert_eq!(place.to_string(), "objective 1 of point 1 is not a number");
    }

    #[test]
    fn points_and_objectives_are_found() {
        let values = Values::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2).unwrap();
        assert_eq!(values.objective(1).collect::<Vec<_>>(), [2.0, 4.0, 6.0]);
        assert_eq!(values.select(&[2, 0]), [5.0, 6.0, 1.0, 2.0]);
        assert_eq!(values.iter().len(), 3);
    }
}
