//! The best split of a node.

use crate::bin::{Binned, Bins};
use crate::booster::BoostSettings;
use crate::histogram::{Cell, Histogram, OfInput, Sums, Units, add, subtract};

/// A set of bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct BinSet([u64; 4]);

impl BinSet {
    pub(crate) fn insert(&mut self, bin: u8) {
        self.0[usize::from(bin >> 6)] |= 1 << (bin & 63);
    }

    pub(crate) fn contains(&self, bin: u8) -> bool {
        self.0[usize::from(bin >> 6)] >> (bin & 63) & 1 == 1
    }

    /// The bins up to one.
    fn up_to(last: u8) -> Self {
        let mut set = Self::default();
        (0..=last).for_each(|bin| set.insert(bin));
        set
    }
}

/// A split of a node: rows whose bin of `input` is in `left` go left.
#[derive(Debug, Clone)]
pub(crate) struct Split {
    pub(crate) input: usize,
    pub(crate) left: BinSet,
    /// The last bin that goes left, if the input is a number.
    pub(crate) last: Option<u8>,
    /// Decrease of the second-order loss, twice.
    pub(crate) gain: f64,
    /// Sums of the rows that go left.
    pub(crate) left_sums: Cell,
    /// The penalty of both leaves.
    pub(crate) l2: f64,
}

/// Finds the best split of a node.
pub(crate) struct Search<'a> {
    pub(crate) binned: &'a Binned,
    pub(crate) settings: &'a BoostSettings,
    pub(crate) units: Units,
}

/// A candidate within one input.
struct Best {
    gain: f64,
    left: Cell,
    /// Number of leading bins, in the order of the scan.
    n_leading: usize,
}

impl Search<'_> {
    /// The split with the largest gain; of equal ones the first. None if no split is allowed.
    pub(crate) fn best(&self, histogram: &Histogram, node: Cell) -> Option<Split> {
        let mut best: Option<Split> = None;
        for (input, cells) in histogram.iter().enumerate() {
            let found = match self.binned.bins(input) {
                Bins::Numbers(thresholds) => {
                    self.of_numbers(input, &cells[..=thresholds.len()], node)
                }
                Bins::Categories(categories) => {
                    self.of_categories(input, cells, categories.len(), node)
                }
            };
            if let Some(split) = found
                && best.as_ref().is_none_or(|b| split.gain > b.gain)
            {
                best = Some(split);
            }
        }
        best
    }

    fn of_numbers(&self, input: usize, cells: &[Cell], node: Cell) -> Option<Split> {
        let numbers = cells.iter().copied();
        let best = self.scan(numbers, cells.len() - 1, node, self.settings.l2, 0)?;
        let last = (best.n_leading - 1) as u8;
        Some(Split {
            input,
            left: BinSet::up_to(last),
            last: Some(last),
            gain: best.gain,
            left_sums: best.left,
            l2: self.settings.l2,
        })
    }

    fn of_categories(
        &self,
        input: usize,
        cells: &OfInput,
        n_categories: usize,
        node: Cell,
    ) -> Option<Split> {
        let BoostSettings {
            category_smoothing,
            category_rows,
            one_vs_rest,
            ..
        } = *self.settings;
        let present = |bin: &usize| self.units.sums(cells[*bin]).n > 0;
        let mut bins: Vec<usize> = (0..n_categories).filter(present).collect();
        if bins.len() <= one_vs_rest {
            return self.of_single_categories(input, cells, &bins, node);
        }
        let l2 = self.settings.l2 + self.settings.category_l2;
        bins.retain(|bin| self.units.sums(cells[*bin]).n as f64 >= category_smoothing);
        let ratio = |bin: usize| {
            let sums = self.units.sums(cells[bin]);
            sums.g / (sums.h + category_smoothing)
        };
        let mut order: Vec<(f64, usize)> = bins.into_iter().map(|b| (ratio(b), b)).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let most = self.settings.most_categories.min(order.len().div_ceil(2));
        let mut found: Option<Split> = None;
        for _ in 0..2 {
            let in_order = order.iter().map(|(_, bin)| cells[*bin]);
            let best = self.scan(in_order, most, node, l2, category_rows);
            if let Some(best) = best
                && found.as_ref().is_none_or(|f| best.gain > f.gain)
            {
                let mut left = BinSet::default();
                let leading = order[..best.n_leading].iter();
                leading.for_each(|(_, bin)| left.insert(*bin as u8));
                found = Some(Split {
                    input,
                    left,
                    last: None,
                    gain: best.gain,
                    left_sums: best.left,
                    l2,
                });
            }
            order.reverse();
        }
        found
    }

    /// One category against all others.
    fn of_single_categories(
        &self,
        input: usize,
        cells: &OfInput,
        bins: &[usize],
        node: Cell,
    ) -> Option<Split> {
        let l2 = self.settings.l2;
        let mut found: Option<Split> = None;
        for bin in bins {
            let one = std::iter::once(cells[*bin]);
            if let Some(best) = self.scan(one, 1, node, l2, 0)
                && found.as_ref().is_none_or(|f| best.gain > f.gain)
            {
                let mut left = BinSet::default();
                left.insert(*bin as u8);
                found = Some(Split {
                    input,
                    left,
                    last: None,
                    gain: best.gain,
                    left_sums: best.left,
                    l2,
                });
            }
        }
        found
    }

    /// The best of the splits that send 1, 2, …, `most` leading cells to the left. Both sides must
    /// have `min_rows` rows, and a side or the cells added since the last candidate `group_rows`.
    fn scan(
        &self,
        cells: impl Iterator<Item = Cell>,
        most: usize,
        node: Cell,
        l2: f64,
        group_rows: u32,
    ) -> Option<Best> {
        let settings = self.settings;
        let (min_rows, group_rows) = (u64::from(settings.min_rows), u64::from(group_rows));
        let whole = self.units.sums(node);
        let of_node = score(whole, settings.l2);
        let mut left = [0; 2];
        let mut best: Option<Best> = None;
        let mut added = 0;
        for (i, cell) in cells.take(most).enumerate() {
            let n = self.units.sums(cell).n;
            if n == 0 {
                continue;
            }
            add(&mut left, cell);
            added += n;
            let on_left = self.units.sums(left);
            if on_left.n < min_rows || on_left.h < settings.min_hessian {
                continue;
            }
            let mut right = node;
            subtract(&mut right, left);
            let on_right = self.units.sums(right);
            if on_right.n < min_rows.max(group_rows) || on_right.h < settings.min_hessian {
                break;
            }
            if added < group_rows {
                continue;
            }
            added = 0;
            let of_children = score(on_left, l2) + score(on_right, l2);
            let gain = of_children - of_node;
            // Less than this is rounding.
            let is_gain = gain > settings.min_gain.max(1e-10 * of_children);
            if is_gain && best.as_ref().is_none_or(|b| gain > b.gain) {
                best = Some(Best {
                    gain,
                    left,
                    n_leading: i + 1,
                });
            }
        }
        best
    }
}

/// The decrease of the second-order loss by a leaf's value, twice.
fn score(sums: Sums, l2: f64) -> f64 {
    sums.g * sums.g / (sums.h + l2)
}
