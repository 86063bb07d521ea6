use super::recursion::{Level, Recursion};
use super::space::Space;
use super::{gain, inside};
use crate::staircase::Staircase;
use crate::{Error, Values};

/// The hypervolume of points that come one by one.
///
/// O(log n) a point for two objectives (and as many steps as there are points it dominates), O(n)
/// for three; for more, the cost of what the point adds.
///
/// ```
/// use fairfront_pareto::RunningHypervolume;
/// let mut running = RunningHypervolume::new(&[4.0, 4.0])?;
/// assert_eq!(running.insert(&[2.0, 2.0])?, 4.0);
/// assert_eq!(running.insert(&[1.0, 3.0])?, 1.0);
/// assert_eq!(running.insert(&[3.0, 3.0])?, 0.0);
/// assert_eq!(running.volume(), 5.0);
/// # Ok::<(), fairfront_pareto::Error>(())
/// ```
#[derive(Debug)]
pub struct RunningHypervolume {
    reference: Vec<f64>,
    volume: f64,
    met: Met,
}

#[derive(Debug)]
enum Met {
    /// The largest gain.
    Line(f64),
    Plane(Staircase),
    Space(Space),
    Many(Level, Recursion),
}

impl RunningHypervolume {
    /// No points yet, and the reference point.
    pub fn new(reference: &[f64]) -> Result<Self, Error> {
        let m = reference.len();
        Values::new(reference, m)?;
        Ok(Self {
            reference: reference.to_vec(),
            volume: 0.0,
            met: match m {
                1 => Met::Line(0.0),
                2 => Met::Plane(Staircase::default()),
                3 => Met::Space(Space::default()),
                _ => Met::Many(Level::new(m), Recursion::new(m)),
            },
        })
    }

    /// The volume of all points so far.
    pub fn volume(&self) -> f64 {
        self.volume
    }

    /// Takes one more point and says how much it adds: 0 where the volume is infinite already.
    pub fn insert(&mut self, point: &[f64]) -> Result<f64, Error> {
        let m = self.reference.len();
        Values::new(&self.reference, m)?.same_space(point.len())?;
        Values::new(point, m)?;
        if !inside(point, &self.reference) || self.volume.is_infinite() {
            return Ok(0.0);
        }
        let p: Vec<f64> = gain(point, &self.reference).collect();
        let gained = match &mut self.met {
            _ if p.iter().any(|v| v.is_infinite()) => f64::INFINITY,
            Met::Line(most) => {
                let gained = (p[0] - *most).max(0.0);
                *most = most.max(p[0]);
                gained
            }
            Met::Plane(staircase) => match staircase.covers(p[0], p[1]) {
                true => 0.0,
                false => staircase.raise(p[0], p[1]),
            },
            Met::Space(space) => space.add([p[0], p[1], p[2]]),
            Met::Many(level, recursion) => match level.share(&p) {
                None => 0.0,
                Some(free) => {
                    let shared = recursion.volume(&level.shared);
                    level.put(&p);
                    free - shared
                }
            },
        };
        // Products of huge gains overflow, and differences of them are no numbers.
        let gained = if gained.is_nan() {
            f64::INFINITY
        } else {
            gained.max(0.0)
        };
        self.volume += gained;
        Ok(gained)
    }
}
