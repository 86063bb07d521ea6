//! Any number of objectives: a sweep along the last one. The volume that a point adds is its box
//! minus its overlap with the points before it, which is a volume with one objective less.

use super::space::Space;
use super::{area, sweep};

/// Computes the volume of points with m gains; holds buffers for all levels of the recursion.
#[derive(Debug)]
pub(super) struct Recursion {
    m: usize,
    /// Levels with 4 or more coordinates, for points with 5 or more gains.
    levels: Vec<Level>,
    space: Space,
}

impl Recursion {
    pub(super) fn new(m: usize) -> Self {
        Self {
            m,
            levels: (4..m).map(Level::new).collect(),
            space: Space::default(),
        }
    }

    /// The volume of points sorted by decreasing last gain (any order for up to three gains).
    pub(super) fn volume(&mut self, sorted: &[f64]) -> f64 {
        volume(sorted, self.m, &mut self.levels, &mut self.space)
    }
}

fn volume(sorted: &[f64], m: usize, levels: &mut [Level], space: &mut Space) -> f64 {
    if sorted.len() <= 2 * m {
        return of_two(sorted, m);
    }
    match m {
        1 => return sorted.iter().copied().fold(0.0, f64::max),
        2 => return area(sorted),
        3 => return sweep(sorted),
        4 => space.clear(),
        _ => {}
    }
    let mut levels = levels.split_last_mut();
    if let Some((level, _)) = &mut levels {
        level.clear();
    }
    let d = m - 1;
    let (mut solid, mut total) = (0.0, 0.0);
    let mut points = sorted.chunks_exact(m).peekable();
    while let Some(p) = points.next() {
        match &mut levels {
            None => solid += space.add([p[0], p[1], p[2]]),
            Some((level, deeper)) => {
                if let Some(free) = level.share(&p[..d]) {
                    solid += free - volume(&level.shared, d, deeper, space);
                    level.put(&p[..d]);
                }
            }
        }
        let next = points.peek().map_or(0.0, |q| q[d]);
        total += solid * (p[d] - next);
    }
    total
}

/// The volume of at most two points.
fn of_two(points: &[f64], m: usize) -> f64 {
    let size = |p: &[f64]| p.iter().product::<f64>();
    match points.split_at_checked(m) {
        None => 0.0,
        Some((p, [])) => size(p),
        Some((p, q)) => {
            let both: f64 = p.iter().zip(q).map(|(p, q)| p.min(*q)).product();
            size(p) + (size(q) - both)
        }
    }
}

/// Points with `d` coordinates, one less than the gains of the points in the sweep.
///
/// They are stored coordinate by coordinate, and every pass handles one coordinate at a time:
/// compilers turn such loops into vector instructions.
#[derive(Debug)]
pub(super) struct Level {
    /// Points so far by decreasing last coordinate; none lies in the box of another.
    met: Vec<Vec<f64>>,
    /// The overlap of the next point with these, without the slabs that [`Level::share`] cuts off.
    pub(super) shared: Vec<f64>,
    /// How far the slabs reach along each coordinate.
    cut: Vec<f64>,
    /// For each point so far, along how many coordinates it reaches across the next point's box.
    reach: Vec<f64>,
    /// By how much each point so far reaches beyond all cuts; not positive if it does not.
    beyond: Vec<f64>,
    /// The largest box in `shared`.
    largest: Vec<f64>,
}

impl Level {
    pub(super) fn new(d: usize) -> Self {
        Self {
            met: vec![Vec::new(); d],
            shared: Vec::new(),
            cut: vec![0.0; d],
            reach: Vec::new(),
            beyond: Vec::new(),
            largest: Vec::new(),
        }
    }

    fn clear(&mut self) {
        self.met.iter_mut().for_each(Vec::clear);
    }

    /// Replaces the points so far by these, which are sorted by decreasing last coordinate.
    pub(super) fn fill(&mut self, sorted: &[f64]) {
        let d = self.met.len();
        for (c, met) in self.met.iter_mut().enumerate() {
            met.clear();
            met.extend(sorted.iter().skip(c).step_by(d));
        }
    }

    /// Removes one of the points or puts it back, without regard to the order; a point at 0 covers
    /// nothing.
    pub(super) fn place(&mut self, index: usize, point: impl IntoIterator<Item = f64>) {
        for (met, value) in self.met.iter_mut().zip(point) {
            met[index] = value;
        }
    }

    /// Computes the overlap of a point with the points so far. `None` if it lies in the box of one.
    ///
    /// A point that reaches across the box along every coordinate except one cuts a slab off it.
    /// The rest is again a box, whose size is returned. `shared` holds the parts of that box which
    /// the other points cover, relative to its own corner: often little, from few points.
    pub(super) fn share(&mut self, p: &[f64]) -> Option<f64> {
        let n = self.met[0].len();
        self.reach.clear();
        self.reach.resize(n, 0.0);
        for (met, p) in self.met.iter().zip(p) {
            for (reach, q) in self.reach.iter_mut().zip(met) {
                *reach += if q >= p { 1.0 } else { 0.0 };
            }
        }
        self.cut.fill(0.0);
        let across = (p.len() - 1) as f64;
        for (i, reach) in self.reach.iter().enumerate() {
            if *reach >= across {
                if *reach > across {
                    return None;
                }
                for ((cut, met), p) in self.cut.iter_mut().zip(&self.met).zip(p) {
                    if met[i] < *p && met[i] > *cut {
                        *cut = met[i];
                    }
                }
            }
        }
        self.beyond.clear();
        self.beyond.resize(n, f64::INFINITY);
        for (met, cut) in self.met.iter().zip(&self.cut) {
            for (beyond, q) in self.beyond.iter_mut().zip(met) {
                let by = q - cut;
                *beyond = if by < *beyond { by } else { *beyond };
            }
        }
        self.shared.clear();
        for (i, _) in self.beyond.iter().enumerate().filter(|b| *b.1 > 0.0) {
            let corner = self.met.iter().zip(p).zip(&self.cut);
            self.shared
                .extend(corner.map(|((met, p), cut)| met[i].min(*p) - cut));
        }
        self.drop_held(p.len());
        Some(p.iter().zip(&self.cut).map(|(p, cut)| p - cut).product())
    }

    /// Drops the boxes that lie in the largest one, and repeats this while many are dropped. If
    /// objectives agree, nearly all are.
    fn drop_held(&mut self, d: usize) {
        for _ in 0..4 {
            let before = self.shared.len();
            let size = |p: &[f64]| p.iter().product::<f64>();
            let boxes = self.shared.chunks_exact(d).map(size).enumerate();
            let Some((at, _)) = boxes.max_by(|a, b| a.1.total_cmp(&b.1)) else {
                return;
            };
            self.largest.clear();
            self.largest
                .extend_from_slice(&self.shared[at * d..(at + 1) * d]);
            let mut end = 0;
            for start in (0..before).step_by(d) {
                let mut pairs = self.shared[start..start + d].iter().zip(&self.largest);
                if start == at * d || pairs.any(|(v, l)| v > l) {
                    self.shared.copy_within(start..start + d, end);
                    end += d;
                }
            }
            self.shared.truncate(end);
            if 4 * end > 3 * before {
                return;
            }
        }
    }

    /// Inserts a point at its place after [`Level::share`] and drops points well inside its box.
    pub(super) fn put(&mut self, p: &[f64]) {
        if self.reach.contains(&0.0) {
            for met in &mut self.met {
                let mut end = 0;
                for i in 0..met.len() {
                    met[end] = met[i];
                    end += usize::from(self.reach[i] > 0.0);
                }
                met.truncate(end);
            }
        }
        let last = p.len() - 1;
        let place = self.met[last].partition_point(|q| *q >= p[last]);
        for (met, p) in self.met.iter_mut().zip(p) {
            met.insert(place, *p);
        }
    }
}
