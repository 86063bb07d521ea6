//! Sums of gradients by bin, in exact integers.
//!
//! A cell holds the sum of gradients, and in one more word the sum of second derivatives above the
//! number of rows. Integer sums have the same bytes in any order, so that any number of threads may
//! add them, and the histogram of a node minus that of one child is exactly that of the other.

use rayon::prelude::*;

use crate::bin::Binned;

/// Sums of a set of rows: gradients (two's complement), then second derivatives and count.
pub(crate) type Cell = [u64; 2];

/// The cells of one input, one per possible bin, so that a byte is always a valid index.
pub(crate) type OfInput = [Cell; 256];

/// The cells of every input.
pub(crate) type Histogram = Vec<OfInput>;

/// Rows per task. Nodes with fewer rows are summed on one thread.
const CHUNK: usize = 1 << 15;

/// Sums as numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sums {
    /// Sum of gradients.
    pub(crate) g: f64,
    /// Sum of second derivatives.
    pub(crate) h: f64,
    /// Number of rows.
    pub(crate) n: u64,
}

/// The units of the integers, powers of two.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Units {
    g: f64,
    h: f64,
    /// 1 / g and 1 / h.
    per_g: f64,
    per_h: f64,
    count_bits: u32,
}

impl Units {
    /// The smallest units with which the sums of `n_rows` rows fit: `largest_g` and `largest_h`
    /// bound a row's gradient and second derivative.
    pub(crate) fn new(n_rows: usize, largest_g: f64, largest_h: f64) -> Self {
        let count_bits = usize::BITS - n_rows.leading_zeros();
        // A row's gradient has as many bits as the sum leaves, but few enough to convert quickly.
        let g_bits = (62 - count_bits).min(50);
        let h_bits = (63 - 2 * count_bits).min(50);
        let g = power_above(largest_g) * exp2_minus(g_bits);
        let h = power_above(largest_h) * exp2_minus(h_bits);
        Self {
            g,
            h,
            per_g: 1.0 / g,
            per_h: 1.0 / h,
            count_bits,
        }
    }

    /// The cell of one row.
    pub(crate) fn cell(self, g: f64, h: f64) -> Cell {
        let g = g * self.per_g;
        let g = (g + 0.5_f64.copysign(g)) as i64;
        let h = (h * self.per_h + 0.5) as i64;
        [g as u64, ((h as u64) << self.count_bits) | 1]
    }

    /// A cell as numbers.
    pub(crate) fn sums(self, cell: Cell) -> Sums {
        let count = (1_u64 << self.count_bits) - 1;
        Sums {
            g: cell[0] as i64 as f64 * self.g,
            h: (cell[1] >> self.count_bits) as i64 as f64 * self.h,
            n: cell[1] & count,
        }
    }
}

/// The smallest power of two that is at least `x`.
fn power_above(x: f64) -> f64 {
    let mut power = 1.0;
    while power < x {
        power *= 2.0;
    }
    while power * 0.5 >= x && power > f64::MIN_POSITIVE {
        power *= 0.5;
    }
    power
}

fn exp2_minus(bits: u32) -> f64 {
    1.0 / (1_u64 << bits) as f64
}

pub(crate) fn add(cell: &mut Cell, other: Cell) {
    cell[0] = cell[0].wrapping_add(other[0]);
    cell[1] = cell[1].wrapping_add(other[1]);
}

pub(crate) fn subtract(cell: &mut Cell, other: Cell) {
    cell[0] = cell[0].wrapping_sub(other[0]);
    cell[1] = cell[1].wrapping_sub(other[1]);
}

/// The sums of rows.
pub(crate) fn total(rows: &[u32], cells: &[Cell]) -> Cell {
    let mut sum = [0; 2];
    rows.iter()
        .for_each(|row| add(&mut sum, cells[*row as usize]));
    sum
}

/// Replaces a histogram by that of `rows`.
pub(crate) fn fill(histogram: &mut Histogram, binned: &Binned, rows: &[u32], cells: &[Cell]) {
    clear(histogram, binned);
    if rows.len() < 2 * CHUNK {
        sum(histogram, binned, rows, cells);
        return;
    }
    let n_inputs = binned.inputs().len();
    let sums: Vec<Histogram> = rows
        .par_chunks(rows.len().div_ceil(rayon::current_num_threads()).max(CHUNK))
        .map(|rows| {
            let mut own = vec![[[0; 2]; 256]; n_inputs];
            sum(&mut own, binned, rows, cells);
            own
        })
        .collect();
    for own in &sums {
        for (input, (to, from)) in histogram.iter_mut().zip(own).enumerate() {
            let n = binned.n_bins(input);
            to[..n].iter_mut().zip(from).for_each(|(t, f)| add(t, *f));
        }
    }
}

/// Makes the histogram of a node that of one child: subtracts that of the other.
pub(crate) fn take(histogram: &mut Histogram, other: &Histogram, binned: &Binned) {
    for (input, (to, from)) in histogram.iter_mut().zip(other).enumerate() {
        let n = binned.n_bins(input);
        to[..n]
            .iter_mut()
            .zip(from)
            .for_each(|(t, f)| subtract(t, *f));
    }
}

fn clear(histogram: &mut Histogram, binned: &Binned) {
    for (input, cells) in histogram.iter_mut().enumerate() {
        cells[..binned.n_bins(input)].fill([0; 2]);
    }
}

fn sum(histogram: &mut Histogram, binned: &Binned, rows: &[u32], cells: &[Cell]) {
    for row in rows {
        let cell = cells[*row as usize];
        for (of_input, bin) in histogram.iter_mut().zip(binned.of_row(*row)) {
            add(&mut of_input[usize::from(*bin)], cell);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_keep_sums_of_many_rows() {
        for (n, weight) in [
            (1_usize, 1.0),
            (1000, 1e-200),
            (1 << 20, 3.0),
            (1 << 24, 1e9),
        ] {
            let units = Units::new(n, weight, weight * 0.25);
            let one = units.cell(-weight * 0.999, weight * 0.25);
            let all = [one[0].wrapping_mul(n as u64), one[1].wrapping_mul(n as u64)];
            let sums = units.sums(all);
            assert_eq!(sums.n, n as u64);
            // Half a unit per row is at most 2⁻¹³ of a row.
            let close = |a: f64, b: f64| (a - b).abs() <= b.abs() * 1.3e-4;
            assert!(close(sums.g, -weight * 0.999 * n as f64), "{sums:?}");
            assert!(close(sums.h, weight * 0.25 * n as f64), "{sums:?}");
        }
    }
}
