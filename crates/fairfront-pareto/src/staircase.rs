/// The part of the plane below some points: all (a, b) with a ≤ x and b ≤ y for at least one of
/// them.
///
/// Only the points on its edge are kept, by increasing x and so by decreasing y. They are stored in
/// chunks, so that an insertion moves few of the others. An insertion takes O(log n + chunk +
/// points covered).
#[derive(Debug, Clone, Default)]
pub(crate) struct Staircase {
    /// No chunk is empty.
    chunks: Vec<Vec<(f64, f64)>>,
}

const CHUNK: usize = 256;

impl Staircase {
    /// Whether the point lies below the edge or on it.
    pub(crate) fn covers(&self, x: f64, y: f64) -> bool {
        let (chunk, at) = self.first_from(x);
        let step = self.chunks.get(chunk).map(|steps| steps[at]);
        step.is_some_and(|step| step.1 >= y)
    }

    /// Inserts a point that is not covered, and returns the area between the axes that it adds.
    pub(crate) fn raise(&mut self, x: f64, y: f64) -> f64 {
        let (mut chunk, mut at) = self.first_from(x);
        // The height to the right of the point, then the covered steps from there to the left.
        let right = self.chunks.get(chunk).map(|steps| steps[at]);
        let equal = right.filter(|step| step.0 == x);
        let mut floor = match equal {
            None => right.map_or(0.0, |step| step.1),
            Some(_) => {
                let after = self.chunks[chunk].get(at + 1);
                let next = after.or_else(|| self.chunks.get(chunk + 1)?.first());
                next.map_or(0.0, |step| step.1)
            }
        };
        let mut edge = x;
        let mut area = 0.0;
        if let Some(step) = equal {
            floor_to(&mut area, &mut edge, &mut floor, step, y);
            self.chunks[chunk].remove(at);
        }
        let left = loop {
            if at == 0 {
                if chunk == 0 {
                    break 0.0;
                }
                chunk -= 1;
                at = self.chunks[chunk].len();
                continue;
            }
            let steps = &mut self.chunks[chunk];
            let end = at;
            while at > 0 && steps[at - 1].1 <= y {
                at -= 1;
                floor_to(&mut area, &mut edge, &mut floor, steps[at], y);
            }
            steps.drain(at..end);
            if at > 0 {
                break steps[at - 1].0;
            }
        };
        area += (edge - left) * (y - floor);
        let last = self.insert(chunk, at, (x, y));
        // The emptied chunks come directly after the last one touched.
        let empty = self.chunks[last + 1..].iter().take_while(|c| c.is_empty());
        let n_empty = empty.count();
        self.chunks.drain(last + 1..last + 1 + n_empty);
        area
    }

    /// Inserts a step at its place, and returns the last chunk that it touched.
    fn insert(&mut self, chunk: usize, at: usize, step: (f64, f64)) -> usize {
        match self.chunks.get_mut(chunk) {
            None => self.chunks.push(vec![step]),
            Some(steps) => {
                steps.insert(at, step);
                if steps.len() > CHUNK {
                    let rest = steps.split_off(CHUNK / 2);
                    self.chunks.insert(chunk + 1, rest);
                    return chunk + 1;
                }
            }
        }
        chunk
    }

    /// The chunk and the position in it of the first step with this x or a larger one; the index
    /// after the last chunk if there is no such step.
    fn first_from(&self, x: f64) -> (usize, usize) {
        let chunk = self
            .chunks
            .partition_point(|steps| steps.last().is_some_and(|last| last.0 < x));
        let at = self
            .chunks
            .get(chunk)
            .map_or(0, |steps| steps.partition_point(|step| step.0 < x));
        (chunk, at)
    }
}

/// Adds the strip between a covered step and the part to its right.
fn floor_to(area: &mut f64, edge: &mut f64, floor: &mut f64, step: (f64, f64), y: f64) {
    *area += (*edge - step.0) * (y - *floor);
    (*edge, *floor) = step;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn areas_equal_counted_squares(points in prop::collection::vec((1_usize..20, 1_usize..20), 0..60)) {
            let mut squares = [[false; 20]; 20];
            let mut staircase = Staircase::default();
            for (x, y) in points {
                let mut new = 0;
                for square in squares[..x].iter_mut().flat_map(|column| &mut column[..y]) {
                    new += usize::from(!*square);
                    *square = true;
                }
                prop_assert_eq!(staircase.covers(x as f64, y as f64), new == 0);
                if new > 0 {
                    prop_assert_eq!(staircase.raise(x as f64, y as f64), new as f64);
                }
            }
        }
    }

    #[test]
    fn many_steps_are_split_into_chunks_and_removed() {
        let mut staircase = Staircase::default();
        let n = 2_000_usize;
        let mut area = 0.0;
        // A long edge, filled in a scattered order.
        for i in (0..n).map(|i| i * 7_919 % n) {
            let (x, y) = (i as f64 + 1.0, (n - i) as f64);
            assert!(!staircase.covers(x, y));
            area += staircase.raise(x, y);
        }
        assert_eq!(area, (n * (n + 1) / 2) as f64);
        assert!(staircase.chunks.len() > 4);
        let all = staircase.raise(n as f64, n as f64);
        assert_eq!(area + all, (n * n) as f64);
        assert_eq!(staircase.chunks, [[(n as f64, n as f64)]]);
    }
}
