//! Columns as small integers.

use fairfront_core::{Loaded, Schema};
use rayon::prelude::*;

/// Largest number of bins of a numeric column, and of categories with a bin of their own.
pub const MOST_BINS: usize = 255;

/// The inputs of a data set as bins: one byte per row and input.
///
/// Bins depend on the features only, so that all folds and learners share them.
///
/// - A numeric feature has at most [`MOST_BINS`] bins with about equal numbers of rows. Thresholds
///   are midpoints between neighboring distinct values.
/// - A categorical column has one bin for each of its [`MOST_BINS`] most frequent categories. All
///   others, and unseen ones, share one more bin, which every split sends to the right.
#[derive(Debug, Clone)]
pub struct Binned {
    n_rows: usize,
    names: Vec<String>,
    bins: Vec<Bins>,
    /// Input by input, for the rows of a split.
    by_input: Vec<u8>,
    /// Row by row, for histograms: successive additions then go to different histograms, and none
    /// has to wait for the previous one.
    by_row: Vec<u8>,
}

/// The meaning of the bins of an input.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Bins {
    /// A number is in bin b if it is at most threshold b, and larger than those before.
    Numbers(Vec<f64>),
    /// The category of each bin, as a position in its column. The next bin is for all others.
    Categories(Vec<u32>),
}

impl Bins {
    /// Number of bins.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Numbers(thresholds) => thresholds.len() + 1,
            Self::Categories(categories) => categories.len() + 1,
        }
    }
}

impl Binned {
    /// The bins of a data set. Sorts every numeric feature once.
    pub fn of(rows: &Loaded) -> Self {
        let schema = rows.schema();
        let n_rows = rows.n_rows();
        let n_numeric = schema.numeric.len();
        let names = input_names(schema);
        let offsets = schema.offsets();
        let columns: Vec<(Bins, Vec<u8>)> = (0..names.len())
            .into_par_iter()
            .map(|input| match input.checked_sub(n_numeric) {
                None => bin_numbers(&numbers(rows, input)),
                Some(column) => {
                    let n_categories = schema.categorical[column].categories.len();
                    bin_categories(&categories(rows, column, offsets[column]), n_categories)
                }
            })
            .collect();
        let mut by_row = vec![0; n_rows * names.len()];
        let mut by_input = Vec::with_capacity(n_rows * names.len());
        for (input, (_, codes)) in columns.iter().enumerate() {
            by_input.extend_from_slice(codes);
            let cells = by_row.iter_mut().skip(input).step_by(names.len());
            cells.zip(codes).for_each(|(cell, code)| *cell = *code);
        }
        Self {
            n_rows,
            bins: columns.into_iter().map(|(bins, _)| bins).collect(),
            names,
            by_input,
            by_row,
        }
    }

    /// The same bins, except that these columns and their indicators of missing values are constant,
    /// so that no tree splits on them.
    #[must_use]
    pub fn without(mut self, columns: &[String]) -> Self {
        let n = self.names.len();
        for input in 0..n {
            let name = &self.names[input];
            let is_of = |column: &String| {
                let rest = name.strip_prefix(column.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest == " (missing)")
            };
            if columns.iter().any(is_of) {
                self.bins[input] = Bins::Numbers(Vec::new());
                self.by_input[input * self.n_rows..][..self.n_rows].fill(0);
                self.by_row
                    .iter_mut()
                    .skip(input)
                    .step_by(n)
                    .for_each(|code| *code = 0);
            }
        }
        self
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Names of the inputs: numeric features, then categorical columns.
    pub fn inputs(&self) -> &[String] {
        &self.names
    }

    /// Number of bins of an input, with the bin of rare and unseen categories.
    pub fn n_bins(&self, input: usize) -> usize {
        self.bins[input].len()
    }

    /// The bins of an input.
    pub(crate) fn bins(&self, input: usize) -> &Bins {
        &self.bins[input]
    }

    /// The bin of every row, for one input.
    pub(crate) fn of_input(&self, input: usize) -> &[u8] {
        &self.by_input[input * self.n_rows..][..self.n_rows]
    }

    /// The bin of every input, for one row.
    pub(crate) fn of_row(&self, row: u32) -> &[u8] {
        let n = self.names.len();
        &self.by_row[row as usize * n..][..n]
    }
}

/// Names of the inputs of learners: numeric features, then categorical columns.
fn input_names(schema: &Schema) -> Vec<String> {
    let categorical = schema.categorical.iter().map(|c| &c.column);
    schema.numeric.iter().chain(categorical).cloned().collect()
}

fn numbers(rows: &Loaded, feature: usize) -> Vec<f64> {
    let of_block = |b: &fairfront_core::RowBlock| -> Vec<f64> {
        (0..b.n_rows()).map(|r| b.numeric(r)[feature]).collect()
    };
    rows.blocks().flat_map(of_block).collect()
}

/// Categories as positions in their column; unseen ones are past the last.
fn categories(rows: &Loaded, column: usize, offset: u32) -> Vec<u32> {
    let of_block = |b: &fairfront_core::RowBlock| -> Vec<u32> {
        (0..b.n_rows())
            .map(|r| b.codes(r)[column] - offset)
            .collect()
    };
    rows.blocks().flat_map(of_block).collect()
}

fn bin_numbers(values: &[f64]) -> (Bins, Vec<u8>) {
    let thresholds = thresholds(values);
    let code = |value: &f64| thresholds.partition_point(|t| t < value) as u8;
    let codes = values.iter().map(code).collect();
    (Bins::Numbers(thresholds), codes)
}

/// Thresholds between bins with about equal numbers of values. A value that alone fills a bin of
/// average size gets its own bin.
fn thresholds(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut distinct: Vec<(f64, usize)> = Vec::new();
    for value in sorted {
        match distinct.last_mut() {
            Some((last, count)) if *last == value => *count += 1,
            _ => distinct.push((value, 1)),
        }
    }
    let between = |i: usize| middle(distinct[i].0, distinct[i + 1].0);
    if distinct.len() <= MOST_BINS {
        return (1..distinct.len()).map(|i| between(i - 1)).collect();
    }
    // Values that fill a bin of average size have their own; the others share the rest.
    let average = values.len() as f64 / MOST_BINS as f64;
    let is_large = |count: usize| count as f64 >= average;
    let large = distinct.iter().filter(|(_, count)| is_large(*count));
    let (n_large, rows_large) = large.fold((0, 0), |(n, rows), (_, count)| (n + 1, rows + count));
    let mut rest = (values.len() - rows_large) as f64;
    let mut bins_left = (MOST_BINS - n_large) as f64;
    let mut found = Vec::with_capacity(MOST_BINS - 1);
    let (mut filled, mut target) = (0_usize, rest / bins_left.max(1.0));
    for i in 0..distinct.len() - 1 {
        let count = distinct[i].1;
        filled += count;
        if !is_large(count) {
            rest -= count as f64;
        }
        let next = distinct[i + 1].1;
        let is_full = filled as f64 >= target;
        // A small bin before a large value is closed only if it is half full.
        let ends_before_large = is_large(next) && filled as f64 >= (target * 0.5).max(1.0);
        if is_large(count) || is_full || ends_before_large {
            found.push(between(i));
            if found.len() == MOST_BINS - 1 {
                break;
            }
            if !is_large(count) {
                bins_left -= 1.0;
                target = rest / bins_left.max(1.0);
            }
            filled = 0;
        }
    }
    found
}

/// A number that is at least `low` and less than `high`, in the middle if possible.
fn middle(low: f64, high: f64) -> f64 {
    let middle = low * 0.5 + high * 0.5;
    if low <= middle && middle < high {
        middle
    } else {
        low
    }
}

fn bin_categories(values: &[u32], n_categories: usize) -> (Bins, Vec<u8>) {
    let mut counts = vec![0_usize; n_categories];
    for value in values {
        if let Some(count) = counts.get_mut(*value as usize) {
            *count += 1;
        }
    }
    let mut frequent: Vec<u32> = (0..n_categories as u32)
        .filter(|c| counts[*c as usize] > 0)
        .collect();
    frequent.sort_by_key(|c| (std::cmp::Reverse(counts[*c as usize]), *c));
    frequent.truncate(MOST_BINS);
    let other = frequent.len() as u8;
    let mut bin_of = vec![other; n_categories];
    for (bin, category) in (0..=u8::MAX).zip(&frequent) {
        bin_of[*category as usize] = bin;
    }
    let code = |value: &u32| bin_of.get(*value as usize).copied().unwrap_or(other);
    let codes = values.iter().map(code).collect();
    (Bins::Categories(frequent), codes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bins_are_exact_for_every_threshold(
            values in prop::collection::vec(
                prop_oneof![-1e3..1e3_f64, (-20_i32..20).prop_map(f64::from)], 1..600),
        ) {
            let (bins, codes) = bin_numbers(&values);
            let Bins::Numbers(thresholds) = bins else { unreachable!() };
            prop_assert!(thresholds.len() < MOST_BINS);
            prop_assert!(thresholds.is_sorted_by(|a, b| a < b));
            for (value, code) in values.iter().zip(&codes) {
                for (bin, threshold) in thresholds.iter().enumerate() {
                    prop_assert_eq!(value <= threshold, usize::from(*code) <= bin);
                }
            }
        }

        #[test]
        fn categories_are_binned_by_frequency(
            values in prop::collection::vec(0_u32..400, 1..2000),
        ) {
            let (bins, codes) = bin_categories(&values, 390);
            let Bins::Categories(of_bin) = bins else { unreachable!() };
            prop_assert!(of_bin.len() <= MOST_BINS);
            for (value, code) in values.iter().zip(&codes) {
                match of_bin.get(usize::from(*code)) {
                    Some(category) => prop_assert_eq!(category, value),
                    None => prop_assert!(*value >= 390 || of_bin.len() == MOST_BINS),
                }
            }
        }
    }

    #[test]
    fn bins_have_about_equal_numbers_of_rows() {
        // A tenth of the rows share one value.
        let values: Vec<f64> = (0..100_000_u32)
            .map(|i| if i % 10 == 0 { 0.5 } else { f64::from(i) / 1e5 })
            .collect();
        let (bins, codes) = bin_numbers(&values);
        let mut counts = vec![0_usize; bins.len()];
        codes.iter().for_each(|c| counts[usize::from(*c)] += 1);
        assert!(bins.len() > 250, "{} bins", bins.len());
        let largest = counts.iter().max();
        assert_eq!(largest, Some(&10_000));
        let others: Vec<usize> = counts.into_iter().filter(|c| *c != 10_000).collect();
        assert!(others.iter().all(|c| *c <= 2 * 100_000 / 255), "{others:?}");
    }

    #[test]
    fn the_middle_is_below_the_larger_value() {
        let high = 1.0 + f64::EPSILON;
        assert!(middle(1.0, high) < high);
        assert!(middle(-f64::MAX, f64::MAX).abs() < 1.0);
    }
}
