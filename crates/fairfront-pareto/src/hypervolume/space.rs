//! Points in three dimensions: the volume that each one adds.

/// Points in three dimensions by decreasing z, none of which lies in the box of another, with
/// buffers to compute how much one more point adds to the volume of their boxes.
#[derive(Debug, Default)]
pub(super) struct Space {
    x: Vec<f64>,
    y: Vec<f64>,
    z: Vec<f64>,
    corner: Corner,
}

/// Number of values per vector operation.
const LANES: usize = 4;

impl Space {
    pub(super) fn clear(&mut self) {
        self.x.clear();
        self.y.clear();
        self.z.clear();
    }

    /// Inserts a point and returns the volume that it adds.
    pub(super) fn add(&mut self, p: [f64; 3]) -> f64 {
        let above = self.z.partition_point(|z| *z >= p[2]);
        let Some(gained) = self.gain(p, above) else {
            return 0.0;
        };
        self.put(p, above);
        gained
    }

    /// The volume that a point adds; `None` if it lies in the box of another. The points up to
    /// `above` reach at least as far along z.
    ///
    /// In the plane of x and y, the part of the point's rectangle that the points above leave
    /// uncovered is the area gained at height z. Further down, the other points cover more and more
    /// of it, until all of it is covered or z is 0.
    fn gain(&mut self, [px, py, pz]: [f64; 3], above: usize) -> Option<f64> {
        // Points that reach across the rectangle along one side cut a strip off it.
        let (strip_x, strip_y) = strips(&self.x[..above], &self.y[..above], px, py);
        if strip_x >= px || strip_y >= py {
            return None;
        }
        self.corner.start(strip_x, strip_y, px, py);
        // Few points lie strictly within the rest.
        let corner = &mut self.corner;
        each_beyond(&self.x[..above], &self.y[..above], corner, |corner, i| {
            corner.raise(self.x[i], self.y[i]);
            true
        });
        let mut height = pz;
        let mut volume = 0.0;
        let (x, y, z) = (&self.x[above..], &self.y[above..], &self.z[above..]);
        let mut covered = false;
        each_beyond(x, y, corner, |corner, i| {
            volume += corner.free * (height - z[i]);
            height = z[i];
            covered = x[i] >= px && y[i] >= py;
            if !covered {
                corner.raise(x[i].min(px), y[i].min(py));
            }
            !covered
        });
        if !covered {
            volume += self.corner.free * height;
        }
        Some(volume)
    }

    /// Inserts a point at its place and drops the points in its box.
    fn put(&mut self, p: [f64; 3], above: usize) {
        // Points above with the same z may lie in its box too, which is harmless.
        let n = self.z.len();
        let inside = |x: f64, y: f64| x <= p[0] && y <= p[1];
        let mut pairs = self.x[above..].iter().zip(&self.y[above..]);
        let first = pairs
            .position(|(x, y)| inside(*x, *y))
            .map_or(n, |at| above + at);
        let mut end = first;
        for i in first..n {
            self.x[end] = self.x[i];
            self.y[end] = self.y[i];
            self.z[end] = self.z[i];
            end += usize::from(!inside(self.x[i], self.y[i]));
        }
        for (coordinates, value) in [&mut self.x, &mut self.y, &mut self.z].into_iter().zip(p) {
            coordinates.truncate(end);
            coordinates.insert(above, value);
        }
    }
}

/// The largest x of the points with y at least `py`, and the largest y of those with x at least
/// `px`; 0 if there are no such points.
fn strips(x: &[f64], y: &[f64], px: f64, py: f64) -> (f64, f64) {
    let (mut strip_x, mut strip_y) = ([0.0; LANES], [0.0; LANES]);
    let (xs, rest_x) = x.as_chunks::<LANES>();
    let (ys, rest_y) = y.as_chunks::<LANES>();
    for (x, y) in xs.iter().zip(ys) {
        for l in 0..LANES {
            let across_x = if y[l] >= py { x[l] } else { 0.0 };
            let across_y = if x[l] >= px { y[l] } else { 0.0 };
            strip_x[l] = if across_x > strip_x[l] {
                across_x
            } else {
                strip_x[l]
            };
            strip_y[l] = if across_y > strip_y[l] {
                across_y
            } else {
                strip_y[l]
            };
        }
    }
    let mut largest = (0.0_f64, 0.0_f64);
    for l in 0..LANES {
        largest = (largest.0.max(strip_x[l]), largest.1.max(strip_y[l]));
    }
    for (x, y) in rest_x.iter().zip(rest_y) {
        if *y >= py {
            largest.0 = largest.0.max(*x);
        }
        if *x >= px {
            largest.1 = largest.1.max(*y);
        }
    }
    largest
}

/// Whether one of the points exceeds these values in both coordinates.
#[inline]
fn any_beyond(x: &[f64; LANES], y: &[f64; LANES], above_x: f64, above_y: f64) -> bool {
    let mut by = [0.0; LANES];
    for l in 0..LANES {
        let (by_x, by_y) = (x[l] - above_x, y[l] - above_y);
        by[l] = if by_x < by_y { by_x } else { by_y };
    }
    let pairs: [f64; LANES / 2] = std::array::from_fn(|l| by[l].max(by[l + LANES / 2]));
    pairs.iter().any(|by| *by > 0.0)
}

/// Calls `work` for the points that reach beyond both strips of the corner, in order, until it
/// returns false.
fn each_beyond(
    x: &[f64],
    y: &[f64],
    corner: &mut Corner,
    mut work: impl FnMut(&mut Corner, usize) -> bool,
) {
    let (xs, rest) = x.as_chunks::<LANES>();
    let (ys, _) = y.as_chunks::<LANES>();
    for (chunk, (x, y)) in xs.iter().zip(ys).enumerate() {
        if !any_beyond(x, y, corner.strip_x, corner.strip_y) {
            continue;
        }
        for l in 0..LANES {
            // The strips may have grown in the meantime.
            let beyond = x[l] > corner.strip_x && y[l] > corner.strip_y;
            if beyond && !work(corner, chunk * LANES + l) {
                return;
            }
        }
    }
    for i in x.len() - rest.len()..x.len() {
        if x[i] > corner.strip_x && y[i] > corner.strip_y && !work(corner, i) {
            return;
        }
    }
}

/// The uncovered part of a rectangle at the origin.
#[derive(Debug, Default)]
struct Corner {
    /// Everything up to this x is covered.
    strip_x: f64,
    /// Everything up to this y is covered.
    strip_y: f64,
    /// The edge of the covered part, by increasing x and decreasing y; its ends lie on the far
    /// sides of the rectangle.
    edge: Vec<(f64, f64)>,
    /// Uncovered area.
    free: f64,
}

impl Corner {
    fn start(&mut self, strip_x: f64, strip_y: f64, px: f64, py: f64) {
        self.strip_x = strip_x;
        self.strip_y = strip_y;
        self.edge.clear();
        self.edge.extend([(strip_x, py), (px, strip_y)]);
        self.free = (px - strip_x) * (py - strip_y);
    }

    /// Covers the part below a point of the rectangle, beyond both strips.
    fn raise(&mut self, x: f64, y: f64) {
        let mut at = 1;
        while self.edge[at].0 < x {
            at += 1;
        }
        if self.edge[at].1 >= y {
            return;
        }
        let end = if self.edge[at].0 == x { at + 1 } else { at };
        let mut right = x;
        loop {
            let left = self.edge[at - 1];
            self.free -= (right - left.0) * (y - self.edge[at].1);
            if left.1 >= y {
                break;
            }
            right = left.0;
            at -= 1;
        }
        let last = self.edge.len();
        let top = self.edge[0].1;
        if at < end {
            self.edge[at] = (x, y);
            self.edge.drain(at + 1..end);
        } else {
            self.edge.insert(at, (x, y));
        }
        if end == last {
            self.strip_y = y;
        }
        if y == top {
            self.strip_x = x;
        }
    }
}
