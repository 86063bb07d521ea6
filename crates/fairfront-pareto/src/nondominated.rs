use crate::Values;
use crate::order::{key, lexicographic};
use crate::spread::scaled;
use crate::staircase::Staircase;

/// Number of points that are likely to dominate many others; all others are compared with these
/// before sorting.
const CHAMPIONS: usize = 8;
/// Up to this many points, each is compared with all points kept so far.
const FEW: usize = 96;

/// Positions of the points that no other point dominates, increasing; of equal points, only the
/// first.
///
/// O(n log n) for two and three objectives. For more, a k-d tree holds the points kept so far,
/// which takes O(n²) at worst and far less on fronts.
///
/// ```
/// use fairfront_pareto::{Values, nondominated};
/// let values = Values::new(&[1.0, 3.0, 2.0, 2.0, 2.0, 4.0], 2)?;
/// assert_eq!(nondominated(values), [0, 1]);
/// # Ok::<(), fairfront_pareto::Error>(())
/// ```
pub fn nondominated(values: Values) -> Vec<usize> {
    let mut order: Vec<(u64, usize)> = survivors(values)
        .into_iter()
        .map(|i| (key(values.point(i)[0]), i))
        .collect();
    let m = values.n_objectives();
    // In lexicographic order (then by position), no later point dominates an earlier one.
    order.sort_unstable_by(|a, b| {
        a.0.cmp(&b.0)
            .then_with(|| lexicographic(values.point(a.1), values.point(b.1)))
            .then(a.1.cmp(&b.1))
    });
    let order = order.into_iter().map(|(_, i)| i);
    let mut kept: Vec<usize> = match m {
        1 => order.take(1).collect(),
        2 => {
            let mut lowest = None;
            let falls = |i: &usize| {
                let second = values.point(*i)[1];
                let new = lowest.is_none_or(|lowest| second < lowest);
                if new {
                    lowest = Some(second);
                }
                new
            };
            order.filter(falls).collect()
        }
        3 => {
            let mut under = Staircase::default();
            let is_new = |i: &usize| {
                let p = values.point(*i);
                // The staircase covers points below it, so the signs are flipped.
                let new = !under.covers(-p[1], -p[2]);
                if new {
                    under.raise(-p[1], -p[2]);
                }
                new
            };
            order.filter(is_new).collect()
        }
        _ => by_tree(values, &order.collect::<Vec<_>>()),
    };
    kept.sort_unstable();
    kept
}

/// The points that none of a few good ones dominates. If most points are dominated, this avoids
/// sorting them.
pub(crate) fn survivors(values: Values) -> Vec<usize> {
    let n = values.len();
    let m = values.n_objectives();
    if n <= FEW {
        return (0..n).collect();
    }
    let ranges = crate::ranges(values, None);
    let sum = |p: &[f64]| -> f64 {
        let share = p.iter().zip(&ranges).map(|(v, range)| scaled(*v, *range));
        let sum: f64 = share.sum();
        // NaN here is the sum of infinities of both signs.
        if sum.is_nan() { f64::INFINITY } else { sum }
    };
    let mut sums: Vec<(f64, usize)> = values.iter().map(sum).zip(0..n).collect();
    // Any choice is correct; the smallest sums are a good one.
    sums.select_nth_unstable_by(CHAMPIONS, |a, b| a.0.total_cmp(&b.0));
    let champions: Vec<f64> = sums[..CHAMPIONS]
        .iter()
        .flat_map(|(_, i)| values.point(*i))
        .copied()
        .collect();
    let dominated = |p: &[f64]| {
        champions.chunks_exact(m).any(|c| {
            let (mut worse, mut better) = (false, false);
            for (x, y) in c.iter().zip(p) {
                worse |= x > y;
                better |= x < y;
            }
            better && !worse
        })
    };
    (0..n).filter(|i| !dominated(values.point(*i))).collect()
}

/// The filter for four or more objectives, for points in lexicographic order.
fn by_tree(values: Values, order: &[usize]) -> Vec<usize> {
    let mut kept = Vec::new();
    if order.len() <= FEW {
        for &i in order {
            let p = values.point(i);
            let covered = |k: &usize| crate::weakly_dominates(values.point(*k), p);
            if !kept.iter().any(covered) {
                kept.push(i);
            }
        }
        return kept;
    }
    // The order takes care of the first coordinate.
    let mut tree = Tree::new(values, order, 1);
    for (rank, &i) in order.iter().enumerate() {
        if !tree.covers(values.point(i)) {
            tree.insert(rank, values.point(i));
            kept.push(i);
        }
    }
    kept
}

/// Finds out whether one of its points covers another point.
pub(crate) struct Cover {
    tree: Tree,
}

impl Cover {
    pub(crate) fn new(values: Values) -> Self {
        let order: Vec<usize> = (0..values.len()).collect();
        let mut tree = Tree::new(values, &order, 0);
        for (rank, point) in values.iter().enumerate() {
            tree.insert(rank, point);
        }
        Self { tree }
    }

    /// Whether one of the points is at least as good in every objective.
    pub(crate) fn covers(&self, point: &[f64]) -> bool {
        self.tree.covers(point)
    }
}

/// Number of points per leaf.
const LEAF: usize = 8;

/// A k-d tree over points known in advance, which are inserted one by one. It finds out whether an
/// inserted point is at least as good as another point in every coordinate.
///
/// The first `skipped` coordinates of the points are ignored.
struct Tree {
    skipped: usize,
    d: usize,
    /// For each node, its smallest coordinates so far; node 1 is the root, nodes 2i and 2i + 1 are
    /// the children of i.
    corners: Vec<f64>,
    /// Index of the first leaf among the nodes.
    first_leaf: usize,
    /// For each leaf, the coordinates of its points, coordinate by coordinate; NaN until inserted.
    leaves: Vec<[f64; LEAF]>,
    /// The slot of each point, by its rank.
    slots: Vec<usize>,
}

impl Tree {
    fn new(values: Values, order: &[usize], skipped: usize) -> Self {
        let d = values.n_objectives() - skipped;
        let n_leaves = order.len().div_ceil(LEAF).next_power_of_two();
        let mut slots = vec![0; order.len()];
        let mut ranks: Vec<usize> = (0..order.len()).collect();
        // Ranges of ranks, with their node and the coordinate to split along.
        let mut open = vec![(0, order.len(), 1, 0)];
        while let Some((start, end, node, axis)) = open.pop() {
            if node >= n_leaves {
                for (place, rank) in ranks[start..end].iter().enumerate() {
                    slots[*rank] = (node - n_leaves) * LEAF + place;
                }
                continue;
            }
            // Splits at whole leaves, so that every leaf except the last of a branch is full.
            let middle = start + (end - start) / 2;
            let value = |rank: &usize| key(values.point(order[*rank])[axis + skipped]);
            if end - start > 1 {
                ranks[start..end].select_nth_unstable_by_key(middle - start, value);
            }
            let next = (axis + 1) % d;
            open.push((start, middle, 2 * node, next));
            open.push((middle, end, 2 * node + 1, next));
        }
        Self {
            skipped,
            d,
            corners: vec![f64::INFINITY; 2 * n_leaves * d],
            first_leaf: n_leaves,
            leaves: vec![[f64::NAN; LEAF]; n_leaves * d],
            slots,
        }
    }

    fn insert(&mut self, rank: usize, point: &[f64]) {
        let d = self.d;
        let point = &point[self.skipped..];
        let (leaf, place) = (self.slots[rank] / LEAF, self.slots[rank] % LEAF);
        for (coordinates, value) in self.leaves[leaf * d..][..d].iter_mut().zip(point) {
            coordinates[place] = *value;
        }
        let mut node = self.first_leaf + leaf;
        while node > 0 {
            for (corner, value) in self.corners[node * d..][..d].iter_mut().zip(point) {
                *corner = corner.min(*value);
            }
            node /= 2;
        }
    }

    fn covers(&self, point: &[f64]) -> bool {
        let d = self.d;
        let point = &point[self.skipped..];
        let mut open = [0; 2 * usize::BITS as usize];
        open[0] = 1;
        let mut n_open = 1;
        while n_open > 0 {
            n_open -= 1;
            let node = open[n_open];
            if !crate::weakly_dominates(&self.corners[node * d..][..d], point) {
                continue;
            }
            if node < self.first_leaf {
                open[n_open] = 2 * node;
                open[n_open + 1] = 2 * node + 1;
                n_open += 2;
                continue;
            }
            let leaf = node - self.first_leaf;
            let mut below = [true; LEAF];
            for (coordinates, value) in self.leaves[leaf * d..][..d].iter().zip(point) {
                for (below, c) in below.iter_mut().zip(coordinates) {
                    *below &= c <= value;
                }
            }
            if below.contains(&true) {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dominates;
    use proptest::prelude::*;

    fn of(points: &[f64], m: usize) -> Vec<usize> {
        nondominated(Values::new(points, m).unwrap())
    }

    fn brute_force(points: &[f64], m: usize) -> Vec<usize> {
        let p: Vec<&[f64]> = points.chunks(m).collect();
        (0..p.len())
            .filter(|&i| !(0..p.len()).any(|j| dominates(p[j], p[i]) || (j < i && p[j] == p[i])))
            .collect()
    }

    #[test]
    fn the_empty_set_and_infinities() {
        const UP: f64 = f64::INFINITY;
        assert!(of(&[], 2).is_empty());
        assert_eq!(of(&[UP, UP], 2), [0]);
        assert_eq!(of(&[UP, UP, UP, UP, 1.0, UP], 3), [1]);
        assert_eq!(of(&[UP, -UP, 0.0, 0.0, -UP, UP], 2), [0, 1, 2]);
        assert_eq!(of(&[0.0, 1.0, -0.0, 1.0], 2), [0]);
        assert_eq!(of(&[2.0, 1.0, 1.0], 1), [1]);
    }

    #[test]
    fn infinite_values_among_many() {
        // More than `FEW` points, so that every stage runs.
        for m in 2..6 {
            let steps = [f64::NEG_INFINITY, -1.0, 0.0, 1.0, f64::INFINITY];
            let mut state = 7_u32;
            let mut points = vec![0.0; 400 * m];
            for value in &mut points {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *value = steps[(state >> 16) as usize % steps.len()];
            }
            assert_eq!(of(&points, m), brute_force(&points, m), "{m} objectives");
        }
    }

    proptest! {
        #[test]
        fn the_filter_matches_the_definition(m in 1_usize..7, levels in 2_u8..40, raw in prop::collection::vec(any::<u8>(), 0..1_200)) {
            let n = raw.len() / m * m;
            // Few different values, so that ties are frequent; n is above and below `FEW`.
            let points: Vec<f64> = raw[..n].iter().map(|v| f64::from(*v % levels)).collect();
            prop_assert_eq!(of(&points, m), brute_force(&points, m));
        }

        #[test]
        fn a_front_is_kept_whole(m in 2_usize..6, raw in prop::collection::vec(0.01..1.0_f64, 0..900)) {
            let n = raw.len() / m * m;
            let mut points = raw[..n].to_vec();
            for p in points.chunks_mut(m) {
                let length = p.iter().map(|v| v * v).sum::<f64>().sqrt();
                p.iter_mut().for_each(|v| *v /= length);
            }
            prop_assert_eq!(of(&points, m), brute_force(&points, m));
        }
    }
}
