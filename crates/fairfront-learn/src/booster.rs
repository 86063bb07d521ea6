//! Boosting: trees that are fitted to the gradients of the log loss or of the squared error.

use serde::{Deserialize, Serialize};

use crate::bin::{Binned, Bins};
use crate::error::{Error, expect_len};
use crate::forest::{Forest, Tree};
use crate::function::{ln, sigmoid, softmax};
use crate::histogram::{self, Cell, Histogram, Units};
use crate::split::{BinSet, Search, Split};

/// Most rows: the sums of second derivatives need the bits that counts leave.
const MOST_ROWS: usize = 1 << 24;

/// The share of a class is taken as at least this, so that its log odds are finite.
const LEAST_SHARE: f64 = 1e-6;

/// Settings of boosted trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BoostSettings {
    /// Most rounds of boosting; a round adds one tree per output. Cross-fitting chooses the number
    /// of rounds up to this. Default 300.
    pub most_rounds: usize,
    /// Cross-fitting ends after this many rounds without a smaller held-out loss. Default 20.
    pub patience: usize,
    /// Leaves per tree. Default 8.
    pub leaves: usize,
    /// Factor of every leaf value, in (0, 1]. Default 0.1.
    pub learning_rate: f64,
    /// Least number of rows per leaf. Default 20.
    pub min_rows: u32,
    /// Least sum of second derivatives per leaf, in units of the weights. Default 0.001.
    pub min_hessian: f64,
    /// Least gain of a split, twice the decrease of the second-order loss, in units of the weights.
    /// Default 0.
    pub min_gain: f64,
    /// Added to the sum of second derivatives in leaf values and gains, in units of the weights.
    /// Default 0.1, which bounds the values of leaves of almost certain rows.
    pub l2: f64,
    /// Further penalty of splits into sets of categories, in units of the weights. Default 10.
    pub category_l2: f64,
    /// Added to the sum of second derivatives when categories are ordered; a category with fewer
    /// rows than this in a node goes right. Default 10.
    pub category_smoothing: f64,
    /// Least number of rows by which candidates for a set of categories differ. Default 100.
    pub category_rows: u32,
    /// Most categories that a split sends left. Default 32.
    pub most_categories: usize,
    /// Nodes with at most this many categories of a column send one of them left. Default 4.
    pub one_vs_rest: usize,
}

impl Default for BoostSettings {
    fn default() -> Self {
        Self {
            most_rounds: 300,
            patience: 20,
            leaves: 8,
            learning_rate: 0.1,
            min_rows: 20,
            min_hessian: 1e-3,
            min_gain: 0.0,
            l2: 0.1,
            category_l2: 10.0,
            category_smoothing: 10.0,
            category_rows: 100,
            most_categories: 32,
            one_vs_rest: 4,
        }
    }
}

impl BoostSettings {
    /// Checks the ranges.
    pub fn check(&self) -> Result<(), Error> {
        let expect = |name, value: f64, is_right: bool, rule| {
            if is_right && value.is_finite() {
                Ok(())
            } else {
                Err(Error::Setting { name, value, rule })
            }
        };
        expect("leaves", self.leaves as f64, self.leaves >= 2, "at least 2")?;
        let rate = self.learning_rate;
        expect(
            "learning_rate",
            rate,
            rate > 0.0 && rate <= 1.0,
            "more than 0 and at most 1",
        )?;
        for (name, value) in [
            ("min_hessian", self.min_hessian),
            ("min_gain", self.min_gain),
            ("l2", self.l2),
            ("category_l2", self.category_l2),
            ("category_smoothing", self.category_smoothing),
        ] {
            expect(name, value, value >= 0.0, "not negative")?;
        }
        let is_bounded = self.l2 > 0.0 || self.min_hessian > 0.0;
        expect(
            "min_hessian",
            self.min_hessian,
            is_bounded,
            "more than 0 if l2 is 0",
        )
    }
}

/// The values that trees predict, one per row of the data set.
#[derive(Debug, Clone, PartialEq)]
pub enum Labels {
    /// Classes, which are fitted by log loss.
    Classes {
        /// The class of each row.
        of_row: Vec<u32>,
        /// Number of classes.
        n_classes: usize,
    },
    /// Numbers, which are fitted by squared error.
    Numbers(Vec<f64>),
}

impl Labels {
    fn len(&self) -> usize {
        match self {
            Self::Classes { of_row, .. } => of_row.len(),
            Self::Numbers(of_row) => of_row.len(),
        }
    }

    /// The raw scores before the first tree, from these rows: the log odds or the logarithm of each
    /// class's share of the weight, or the mean of the numbers.
    fn base(&self, rows: &[u32], weights: &[f64]) -> Result<Vec<f64>, Error> {
        match self {
            Self::Classes { of_row, n_classes } => {
                let mut by_class = vec![0.0; *n_classes];
                for row in rows {
                    let row = *row as usize;
                    let label = of_row[row];
                    let Some(sum) = by_class.get_mut(label as usize) else {
                        return Err(Error::Label {
                            row,
                            label,
                            n_classes: *n_classes,
                        });
                    };
                    *sum += weights[row];
                }
                Ok(base_scores(&by_class))
            }
            Self::Numbers(of_row) => {
                let (mut sum, mut total) = (0.0, 0.0);
                for row in rows {
                    let row = *row as usize;
                    let number = of_row[row];
                    if !number.is_finite() {
                        return Err(Error::Number { row, number });
                    }
                    sum += weights[row] * number;
                    total += weights[row];
                }
                Ok(vec![sum / total])
            }
        }
    }

    /// The largest second derivative of a row of weight 1.
    fn curvature(&self) -> f64 {
        match self {
            Self::Classes { n_classes, .. } => 0.25 * curvature_factor(*n_classes),
            Self::Numbers(_) => 1.0,
        }
    }
}

/// Fits boosted trees to the classes of rows, by log loss, or to numbers, by squared error.
///
/// - `rows`: numbers of the rows to use; rows of weight 0 are ignored.
/// - `labels`, `weights`: of every row of the data set; only those of `rows` are read.
/// - `n_rounds`: number of trees per output.
///
/// Two classes have one output, the log odds of class 1; more classes have one output each; numbers
/// have one. The result has the same bytes for any number of threads. If all rows have the same
/// label, all rows get the same score. Cost per round and output: about (rows × inputs) additions,
/// times the average depth of the smaller children.
pub fn boost(
    binned: &Binned,
    rows: &[u32],
    labels: &Labels,
    weights: &[f64],
    n_rounds: usize,
    settings: &BoostSettings,
) -> Result<Forest, Error> {
    let mut booster = Booster::new(binned, rows, &[], labels, weights, settings)?;
    for _ in 0..n_rounds {
        booster.round();
    }
    Ok(booster.into_forest(n_rounds))
}

/// A forest that grows round by round, with the scores of its rows.
pub(crate) struct Booster<'a> {
    binned: &'a Binned,
    labels: &'a Labels,
    weights: &'a [f64],
    settings: &'a BoostSettings,
    units: Units,
    /// The largest weight of a row.
    largest: f64,
    /// The rows that trees are fitted to.
    rows: Vec<u32>,
    /// Rows that are only scored.
    followed: Vec<u32>,
    /// Raw scores of every row of the data set, row by row.
    scores: Vec<f64>,
    /// Gradients of every row of the data set.
    cells: Vec<Cell>,
    forest: Forest,
    /// The splits of each tree, to score the followed rows again.
    steps: Vec<Vec<(usize, Split)>>,
    work: Work,
}

/// Memory that is used again for each tree.
#[derive(Default)]
struct Work {
    /// The rows of the leaves, one leaf after the other.
    rows: Vec<u32>,
    /// The rows of a leaf that go right.
    right: Vec<u32>,
    histograms: Vec<Histogram>,
    probabilities: Vec<f64>,
}

/// A leaf of a tree that grows.
struct Leaf {
    start: usize,
    len: usize,
    sums: Cell,
    l2: f64,
    /// Position of its histogram.
    histogram: usize,
    best: Option<Split>,
    /// The inner node above, and whether the leaf is its left child.
    parent: Option<(usize, bool)>,
}

impl<'a> Booster<'a> {
    pub(crate) fn new(
        binned: &'a Binned,
        rows: &[u32],
        followed: &[u32],
        labels: &'a Labels,
        weights: &'a [f64],
        settings: &'a BoostSettings,
    ) -> Result<Self, Error> {
        settings.check()?;
        let n_rows = binned.n_rows();
        if let Labels::Classes { n_classes, .. } = *labels
            && n_classes < 2
        {
            return Err(Error::Classes { found: n_classes });
        }
        if n_rows > MOST_ROWS {
            return Err(Error::TooManyRows {
                found: n_rows,
                most: MOST_ROWS,
            });
        }
        expect_len("labels", n_rows, labels.len())?;
        expect_len("weights", n_rows, weights.len())?;
        if let Some(&row) = rows.iter().chain(followed).find(|r| **r as usize >= n_rows) {
            return Err(Error::Row { row, n_rows });
        }
        let mut used = Vec::with_capacity(rows.len());
        for &row in rows {
            let at = row as usize;
            let weight = weights[at];
            if !(weight.is_finite() && weight >= 0.0) {
                return Err(Error::Weight { row: at, weight });
            }
            if weight > 0.0 {
                used.push(row);
            }
        }
        if used.is_empty() {
            return Err(Error::NoRows);
        }
        let base = labels.base(&used, weights)?;
        let mut scores = Vec::with_capacity(n_rows * base.len());
        (0..n_rows).for_each(|_| scores.extend_from_slice(&base));
        let largest = used
            .iter()
            .map(|r| weights[*r as usize])
            .fold(0.0, f64::max);
        Ok(Self {
            binned,
            labels,
            weights,
            settings,
            units: Units::new(used.len(), largest, largest * labels.curvature()),
            largest,
            rows: used,
            followed: followed.to_vec(),
            scores,
            cells: vec![[0; 2]; n_rows],
            forest: Forest {
                inputs: binned.inputs().to_vec(),
                base,
                trees: Vec::new(),
                gain: vec![0.0; binned.inputs().len()],
            },
            steps: Vec::new(),
            work: Work::default(),
        })
    }

    /// Raw scores of all rows of the data set after the rounds so far, row by row. Only those of
    /// fitted and followed rows are current.
    pub(crate) fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// Raw scores of the followed rows after some of the rounds, in their order.
    pub(crate) fn followed_scores(&mut self, n_rounds: usize) -> Vec<f64> {
        let n = self.forest.n_outputs();
        for row in &self.followed {
            self.scores[*row as usize * n..][..n].copy_from_slice(&self.forest.base);
        }
        let steps = std::mem::take(&mut self.steps);
        for (t, steps) in steps.iter().take(n_rounds * n).enumerate() {
            let leaves = std::mem::take(&mut self.forest.trees[t].leaves);
            self.follow(steps, &leaves, t % n);
            self.forest.trees[t].leaves = leaves;
        }
        self.steps = steps;
        let scores = |row: &u32| &self.scores[*row as usize * n..][..n];
        self.followed.iter().flat_map(scores).copied().collect()
    }

    /// The forest after some of the rounds.
    pub(crate) fn into_forest(mut self, n_rounds: usize) -> Forest {
        self.forest
            .trees
            .truncate(n_rounds * self.forest.n_outputs());
        self.forest
    }

    /// Adds one tree per output.
    pub(crate) fn round(&mut self) {
        let labels = self.labels;
        let n_outputs = self.forest.n_outputs();
        if n_outputs > 1 {
            self.softmax();
        }
        for output in 0..n_outputs {
            match labels {
                Labels::Classes { of_row, .. } if n_outputs > 1 => {
                    self.softmax_cells(of_row, output);
                }
                Labels::Classes { of_row, .. } => self.binary_cells(of_row),
                Labels::Numbers(of_row) => self.number_cells(of_row),
            }
            let (tree, steps) = self.grow(output);
            if !self.followed.is_empty() {
                self.follow(&steps, &tree.leaves, output);
                self.steps.push(steps);
            }
            self.forest.trees.push(tree);
        }
    }

    fn binary_cells(&mut self, labels: &[u32]) {
        let mut p = [0.0; 64];
        for rows in self.rows.chunks(p.len()) {
            for (p, row) in p.iter_mut().zip(rows) {
                *p = self.scores[*row as usize];
            }
            p.iter_mut().for_each(|p| *p = sigmoid(*p));
            for (p, row) in p.iter().zip(rows) {
                let row = *row as usize;
                let (w, is_positive) = (self.weights[row], labels[row] == 1);
                let y = if is_positive { 1.0 } else { 0.0 };
                self.cells[row] = self.units.cell(w * (p - y), w * (p * (1.0 - p)));
            }
        }
    }

    /// Half the squared error has the residual as its gradient, which has no bound known in advance:
    /// the units of the sums follow the largest one.
    fn number_cells(&mut self, labels: &[f64]) {
        let (scores, weights) = (&self.scores, self.weights);
        let gradient = |row: &u32| {
            let row = *row as usize;
            weights[row] * (scores[row] - labels[row])
        };
        let gradients = self.rows.iter().map(|row| gradient(row).abs());
        let steepest = gradients.fold(f64::MIN_POSITIVE, f64::max);
        self.units = Units::new(self.rows.len(), steepest, self.largest);
        for row in &self.rows {
            self.cells[*row as usize] = self.units.cell(gradient(row), weights[*row as usize]);
        }
    }

    /// The probabilities of all classes, before the first tree of a round.
    fn softmax(&mut self) {
        let n = self.forest.n_outputs();
        self.work.probabilities.resize(self.scores.len(), 0.0);
        for &row in &self.rows {
            let at = row as usize * n..(row as usize + 1) * n;
            softmax(&self.scores[at.clone()], &mut self.work.probabilities[at]);
        }
    }

    fn softmax_cells(&mut self, labels: &[u32], output: usize) {
        let n = self.forest.n_outputs();
        let factor = curvature_factor(n);
        for &row in &self.rows {
            let row = row as usize;
            let p = self.work.probabilities[row * n + output];
            let (w, is_own) = (self.weights[row], labels[row] as usize == output);
            let y = if is_own { 1.0 } else { 0.0 };
            self.cells[row] = self.units.cell(w * (p - y), w * factor * (p * (1.0 - p)));
        }
    }

    /// Grows a tree leaf by leaf and adds its values to the scores of the fitted rows. Returns the
    /// splits in order: split i divides a leaf into itself and leaf i + 1.
    fn grow(&mut self, output: usize) -> (Tree, Vec<(usize, Split)>) {
        let Self {
            binned,
            settings,
            work,
            cells,
            ..
        } = self;
        let search = Search {
            binned,
            settings,
            units: self.units,
        };
        work.rows.clear();
        work.rows.extend_from_slice(&self.rows);
        while work.histograms.len() < settings.leaves {
            work.histograms
                .push(vec![[[0; 2]; 256]; binned.inputs().len()]);
        }
        let sums = histogram::total(&work.rows, cells);
        let mut leaves = vec![Leaf {
            start: 0,
            len: work.rows.len(),
            sums,
            l2: settings.l2,
            histogram: 0,
            best: None,
            parent: None,
        }];
        histogram::fill(&mut work.histograms[0], binned, &work.rows, cells);
        leaves[0].best = search.best(&work.histograms[0], sums);
        let mut tree = Tree::default();
        let mut steps = Vec::new();
        while leaves.len() < settings.leaves {
            let Some((at, split)) = take_best(&mut leaves) else {
                break;
            };
            let node = tree.input.len();
            add_node(&mut tree, binned, &leaves[at], &split);
            self.forest.gain[split.input] += split.gain;
            let Leaf { start, len, .. } = leaves[at];
            let codes = binned.of_input(split.input);
            let n_left = partition(
                &mut work.rows[start..start + len],
                &mut work.right,
                codes,
                &split.left,
            );
            let mut right_sums = leaves[at].sums;
            histogram::subtract(&mut right_sums, split.left_sums);
            let new = leaves.len();
            leaves.push(Leaf {
                start: start + n_left,
                len: len - n_left,
                sums: right_sums,
                l2: split.l2,
                histogram: new,
                best: None,
                parent: Some((node, false)),
            });
            let left = &mut leaves[at];
            left.len = n_left;
            left.sums = split.left_sums;
            left.l2 = split.l2;
            left.parent = Some((node, true));
            if leaves.len() < settings.leaves {
                let [a, b] = [at, new];
                search_children(&mut leaves, a, b, work, &search, cells);
            }
            steps.push((at, split));
        }
        for (i, leaf) in leaves.iter().enumerate() {
            let sums = self.units.sums(leaf.sums);
            let value = -settings.learning_rate * sums.g / (sums.h + leaf.l2);
            let value = if value.is_finite() { value } else { 0.0 };
            tree.leaves.push(value);
            if let Some((node, is_left)) = leaf.parent {
                let child = if is_left {
                    &mut tree.left
                } else {
                    &mut tree.right
                };
                child[node] = !(i as i32);
            }
            let n = self.forest.base.len();
            for row in &work.rows[leaf.start..leaf.start + leaf.len] {
                self.scores[*row as usize * n + output] += value;
            }
        }
        (tree, steps)
    }

    /// Adds a tree's values to the scores of the followed rows.
    fn follow(&mut self, steps: &[(usize, Split)], values: &[f64], output: usize) {
        let work = &mut self.work;
        work.rows.clear();
        work.rows.extend_from_slice(&self.followed);
        let mut leaves = vec![(0, work.rows.len())];
        for (at, split) in steps {
            let (start, len) = leaves[*at];
            let rows = &mut work.rows[start..start + len];
            let codes = self.binned.of_input(split.input);
            let n_left = partition(rows, &mut work.right, codes, &split.left);
            leaves[*at].1 = n_left;
            leaves.push((start + n_left, len - n_left));
        }
        let n = self.forest.base.len();
        for ((start, len), value) in leaves.into_iter().zip(values) {
            for row in &work.rows[start..start + len] {
                self.scores[*row as usize * n + output] += value;
            }
        }
    }
}

/// Takes the best split of all leaves; of equal ones that of the first leaf.
fn take_best(leaves: &mut [Leaf]) -> Option<(usize, Split)> {
    let mut best: Option<(usize, f64)> = None;
    for (i, leaf) in leaves.iter().enumerate() {
        if let Some(split) = &leaf.best
            && best.is_none_or(|(_, gain)| split.gain > gain)
        {
            best = Some((i, split.gain));
        }
    }
    let (at, _) = best?;
    leaves[at].best.take().map(|split| (at, split))
}

/// Adds an inner node in place of a leaf. Its children are set when they are known.
fn add_node(tree: &mut Tree, binned: &Binned, leaf: &Leaf, split: &Split) {
    let node = tree.input.len();
    if let Some((parent, is_left)) = leaf.parent {
        let child = if is_left {
            &mut tree.left
        } else {
            &mut tree.right
        };
        child[parent] = node as i32;
    }
    let (threshold, categories) = match (binned.bins(split.input), split.last) {
        (Bins::Numbers(thresholds), Some(last)) => (thresholds[usize::from(last)], Vec::new()),
        (Bins::Numbers(_), None) => (0.0, Vec::new()),
        (Bins::Categories(of_bin), _) => {
            let bins = (0_u8..=u8::MAX).zip(of_bin);
            let left = bins.filter(|(bin, _)| split.left.contains(*bin));
            let mut categories: Vec<u32> = left.map(|(_, category)| *category).collect();
            categories.sort_unstable();
            (0.0, categories)
        }
    };
    tree.input.push(split.input as u32);
    tree.threshold.push(threshold);
    tree.categories.push(categories);
    tree.left.push(!0);
    tree.right.push(!0);
}

/// Fills the histograms of two new leaves, the smaller one from its rows, and finds their splits.
fn search_children(
    leaves: &mut [Leaf],
    old: usize,
    new: usize,
    work: &mut Work,
    search: &Search<'_>,
    cells: &[Cell],
) {
    let least = 2 * search.settings.min_rows.max(1) as usize;
    let may_split = |leaf: &Leaf| leaf.len >= least;
    if !may_split(&leaves[old]) && !may_split(&leaves[new]) {
        return;
    }
    let [small, large] = if leaves[old].len <= leaves[new].len {
        [old, new]
    } else {
        [new, old]
    };
    // The old leaf has the histogram of the node; the larger child takes it over.
    let of_node = leaves[old].histogram;
    let free = leaves[new].histogram;
    (leaves[small].histogram, leaves[large].histogram) = (free, of_node);
    let mut of_small = std::mem::take(&mut work.histograms[free]);
    let Leaf { start, len, .. } = leaves[small];
    let rows = &work.rows[start..start + len];
    histogram::fill(&mut of_small, search.binned, rows, cells);
    histogram::take(&mut work.histograms[of_node], &of_small, search.binned);
    work.histograms[free] = of_small;
    for at in [small, large] {
        if may_split(&leaves[at]) {
            leaves[at].best = search.best(&work.histograms[leaves[at].histogram], leaves[at].sums);
        }
    }
}

/// Moves the rows that go left to the front; both sides keep their order. Returns their number.
fn partition(rows: &mut [u32], right: &mut Vec<u32>, codes: &[u8], left: &BinSet) -> usize {
    let mut goes_left = [0_u8; 256];
    for (bin, goes) in (0_u8..=u8::MAX).zip(&mut goes_left) {
        *goes = u8::from(left.contains(bin));
    }
    if right.len() < rows.len() {
        right.resize(rows.len(), 0);
    }
    let (mut n_left, mut n_right) = (0, 0);
    for i in 0..rows.len() {
        let row = rows[i];
        let goes = usize::from(goes_left[usize::from(codes[row as usize])]);
        // Both are written, and only one is kept: no branch to predict.
        rows[n_left] = row;
        right[n_right] = row;
        n_left += goes;
        n_right += 1 - goes;
    }
    rows[n_left..].copy_from_slice(&right[..n_right]);
    n_left
}

/// Raw scores that give each class its share of the weight.
fn base_scores(by_class: &[f64]) -> Vec<f64> {
    let total: f64 = by_class.iter().sum();
    let share = |weight: &f64| (weight / total).clamp(LEAST_SHARE, 1.0 - LEAST_SHARE);
    match by_class {
        [_, positive] => {
            let p = share(positive);
            vec![ln(p / (1.0 - p))]
        }
        _ => by_class.iter().map(|w| ln(share(w))).collect(),
    }
}

/// Factor of the diagonal second derivatives, which accounts for the redundant class.
fn curvature_factor(n_classes: usize) -> f64 {
    if n_classes == 2 {
        1.0
    } else {
        n_classes as f64 / (n_classes - 1) as f64
    }
}
