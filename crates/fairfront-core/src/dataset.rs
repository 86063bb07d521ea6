#![expect(
    clippy::inline_always,
    reason = "kernels must compile row access for their own instruction set"
)]

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::engine::{BothSides, Engine, Host, Nearest, Pass, Strata};
use crate::{Error, SmallGroups, Target};

/// Rows in every block except the last. The size is fixed, so that sums over blocks have the same
/// order for any number of threads, and small enough for a block to stay in a core's second-level
/// cache.
pub const BLOCK_ROWS: usize = 1024;

/// Number of blocks that a walk over all blocks requests at once.
const READ_AHEAD: usize = 64;

/// The group code of a row whose sensitive value is unknown. The row counts in the loss, but not in
/// the objectives and measures of that attribute.
pub const UNKNOWN_GROUP: u32 = u32::MAX;

/// The label of a row of a binary target: +1 if it is positive, −1 otherwise.
pub fn label_of(positive: bool) -> f64 {
    if positive { 1.0 } else { -1.0 }
}

/// A sensitive attribute and its groups; group codes are positions in `groups`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    /// Canonical name: a column, or several joined by `:` for an intersection.
    pub name: String,
    /// Group names, sorted.
    pub groups: Vec<String>,
    /// Groups that are too small to be compared.
    #[serde(default, skip_serializing_if = "SmallGroups::is_empty")]
    pub small: SmallGroups,
    /// The position of the reference group, if the user named one: the group that others are compared with in
    /// adverse impact ratios, shortfalls and odds ratios.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<usize>,
}

impl Attribute {
    /// An attribute whose groups are all compared.
    pub fn new(name: impl Into<String>, groups: Vec<String>) -> Self {
        Self {
            name: name.into(),
            groups,
            small: SmallGroups::default(),
            reference: None,
        }
    }

    /// The groups that are compared with the reference group: all others with enough rows. None without a
    /// reference group.
    pub fn compared_with_reference(&self) -> impl Iterator<Item = usize> + use<'_> {
        let all = 0..self.groups.len();
        all.filter(|g| {
            self.reference.is_some_and(|reference| reference != *g)
                && !self.small.all.contains(&(*g as u32))
        })
    }

    /// Groups that are left out of at least one comparison.
    pub fn left_out(&self) -> impl Iterator<Item = &String> {
        let SmallGroups {
            all,
            positives,
            negatives,
            classes,
        } = &self.small;
        let is_small = move |g: &u32| {
            let sets = [all, positives, negatives].into_iter().chain(classes);
            sets.into_iter().any(|small| small.contains(g))
        };
        let groups = (0..).zip(&self.groups);
        groups
            .filter(move |(g, _)| is_small(g))
            .map(|(_, name)| name)
    }
}

/// A categorical column as features: one indicator per category, with no category dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CategoricalFeature {
    /// Column name.
    pub column: String,
    /// Category names, in the order of the features.
    pub categories: Vec<String>,
}

/// The meaning of the numbers in a row block.
///
/// Parameters of a linear predictor are ordered: numeric features, then the categories of each
/// categorical column, then the intercept.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Schema {
    /// Names of the numeric features.
    pub numeric: Vec<String>,
    /// The categorical columns.
    pub categorical: Vec<CategoricalFeature>,
    /// The sensitive attributes.
    pub attributes: Vec<Attribute>,
    /// The kind of the target.
    #[serde(default, skip_serializing_if = "Target::is_binary")]
    pub target: Target,
    /// Hidden units of the models of these rows; 0 for linear models.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hidden: u32,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl Schema {
    /// Memory per encoded row, in bytes: numbers and codes, label, weight and groups.
    pub fn row_bytes(&self) -> u64 {
        let numbers = (self.numeric.len() + 2) * size_of::<f64>();
        let codes = (self.categorical.len() + self.attributes.len()) * size_of::<u32>();
        (numbers + codes) as u64
    }

    /// Number of features, including one-hot categories, without the intercept.
    pub fn n_features(&self) -> usize {
        self.numeric.len()
            + self
                .categorical
                .iter()
                .map(|c| c.categories.len())
                .sum::<usize>()
    }

    /// Position of the intercept among the parameters: the last.
    pub fn intercept(&self) -> usize {
        self.n_features()
    }

    /// The feature index of a category without a parameter (unseen in training): one past the
    /// intercept. Kernels keep a coefficient of 0 there, so that they need not check codes.
    pub fn null_feature(&self) -> u32 {
        self.n_features() as u32 + 1
    }

    /// First feature index of each categorical column.
    pub fn offsets(&self) -> Vec<u32> {
        let mut next = self.numeric.len() as u32;
        self.categorical
            .iter()
            .map(|c| {
                let first = next;
                next += c.categories.len() as u32;
                first
            })
            .collect()
    }

    /// Feature names in the order of the parameters: `age`, …, `education=Bachelors`, ….
    pub fn feature_names(&self) -> Vec<String> {
        let categories = self.categorical.iter().flat_map(|c| {
            c.categories
                .iter()
                .map(move |l| format!("{}={l}", c.column))
        });
        self.numeric.iter().cloned().chain(categories).collect()
    }
}

/// Encoded rows: the unit of all computation.
///
/// Features are stored row by row, because a row's numbers and codes are used together. Groups are
/// stored attribute by attribute, because an objective uses one attribute at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct RowBlock {
    n_rows: usize,
    n_numeric: usize,
    n_categorical: usize,
    features: Features,
    labels: Vec<f64>,
    groups: Vec<Vec<u32>>,
    weights: Vec<f64>,
}

/// The numbers and codes of rows.
#[derive(Debug, Clone, PartialEq)]
enum Features {
    /// Stored in this block.
    Own { numeric: Vec<f64>, codes: Vec<u32> },
    /// Features of rows that are stored in other blocks, by row number, so that a sample needs no
    /// copy.
    Of {
        blocks: Arc<[Arc<RowBlock>]>,
        rows: Vec<u32>,
    },
}

impl RowBlock {
    /// Checks rows and makes a block of them.
    ///
    /// - `numeric`: n × numeric features, row by row, finite.
    /// - `codes`: n × categorical columns, row by row; each is the index of the category's feature
    ///   among all features, or [`Schema::null_feature`].
    /// - `labels`: n labels; −1 or +1 for a binary target, positions of classes, or standardized numbers.
    /// - `groups`: for each attribute n group codes, or [`UNKNOWN_GROUP`].
    /// - `weights`: n weights, finite and not negative.
    pub fn new(
        schema: &Schema,
        numeric: Vec<f64>,
        codes: Vec<u32>,
        labels: Vec<f64>,
        groups: Vec<Vec<u32>>,
        weights: Vec<f64>,
    ) -> Result<Self, Error> {
        let block = Self::of_checked(schema, numeric, codes, labels, groups, weights)?;
        block.check(schema)?;
        Ok(block)
    }

    /// Makes a block of rows whose values the caller has checked as [`RowBlock::new`] would: a file with
    /// checksums, for example, is read again and again. Only the shapes are checked. Wrong values give wrong
    /// results, or a panic.
    pub fn of_checked(
        schema: &Schema,
        numeric: Vec<f64>,
        codes: Vec<u32>,
        labels: Vec<f64>,
        groups: Vec<Vec<u32>>,
        weights: Vec<f64>,
    ) -> Result<Self, Error> {
        let n_rows = weights.len();
        let (n_numeric, n_categorical) = (schema.numeric.len(), schema.categorical.len());
        let shape = |what, expected, found| {
            if expected == found {
                Ok(())
            } else {
                Err(Error::Shape {
                    what,
                    expected,
                    found,
                })
            }
        };
        shape("numeric features", n_rows * n_numeric, numeric.len())?;
        shape("categorical codes", n_rows * n_categorical, codes.len())?;
        shape("labels", n_rows, labels.len())?;
        shape("attributes", schema.attributes.len(), groups.len())?;
        for g in &groups {
            shape("group codes", n_rows, g.len())?;
        }

        Ok(Self {
            n_rows,
            n_numeric,
            n_categorical,
            features: Features::Own { numeric, codes },
            labels,
            groups,
            weights,
        })
    }

    /// Checks the values of a block.
    fn check(&self, schema: &Schema) -> Result<(), Error> {
        let Features::Own { numeric, codes } = &self.features else {
            return Ok(());
        };
        let (labels, groups, weights) = (&self.labels, &self.groups, &self.weights);
        finite("a numeric feature", numeric, self.n_numeric)?;
        finite("the label", labels, 1)?;
        if let Some(classes) = schema.target.classes() {
            let is_class = |y: &f64| (0..classes.len()).any(|class| class as f64 == *y);
            if let Some(row) = labels.iter().position(|y| !is_class(y)) {
                return Err(Error::Value {
                    what: "the label",
                    row,
                    value: labels[row],
                    rule: "the position of a class",
                });
            }
        }
        if let Some(row) = weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
            return Err(Error::Value {
                what: "the weight",
                row,
                value: weights[row],
                rule: "finite and not negative",
            });
        }
        for (column, first) in schema.offsets().into_iter().enumerate() {
            let categories = schema.categorical[column].categories.len() as u32;
            let own = first..first + categories;
            let column_codes = codes.iter().skip(column).step_by(self.n_categorical.max(1));
            for (row, &code) in column_codes.enumerate() {
                if !own.contains(&code) && code != schema.null_feature() {
                    return Err(Error::Code {
                        what: "a categorical code",
                        row,
                        code,
                        largest: (own.end as usize).saturating_sub(1),
                    });
                }
            }
        }
        for (attribute, codes) in schema.attributes.iter().zip(groups) {
            let n_groups = attribute.groups.len();
            let outside = |&c: &u32| c != UNKNOWN_GROUP && c as usize >= n_groups;
            if let Some(row) = codes.iter().position(outside) {
                return Err(Error::Code {
                    what: "a group code",
                    row,
                    code: codes[row],
                    largest: n_groups.saturating_sub(1),
                });
            }
        }
        Ok(())
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The numeric features of a row.
    #[inline(always)]
    pub fn numeric(&self, row: usize) -> &[f64] {
        match &self.features {
            Features::Own { .. } => self.own_numeric(row),
            Features::Of { blocks, rows } => {
                let row = rows[row] as usize;
                blocks[row / BLOCK_ROWS].own_numeric(row % BLOCK_ROWS)
            }
        }
    }

    /// The feature indices of a row's categorical values, one per column.
    #[inline(always)]
    pub fn codes(&self, row: usize) -> &[u32] {
        match &self.features {
            Features::Own { .. } => self.own_codes(row),
            Features::Of { blocks, rows } => {
                let row = rows[row] as usize;
                blocks[row / BLOCK_ROWS].own_codes(row % BLOCK_ROWS)
            }
        }
    }

    /// Labels: −1 or +1 for a binary target, positions of classes, or standardized numbers.
    pub fn labels(&self) -> &[f64] {
        &self.labels
    }

    /// Group codes of an attribute, one per row.
    pub fn groups(&self, attribute: usize) -> &[u32] {
        &self.groups[attribute]
    }

    /// Number of attributes.
    pub fn n_attributes(&self) -> usize {
        self.groups.len()
    }

    /// Weights, one per row.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Multiplies each row's weight.
    pub(crate) fn scale_weights(&mut self, factors: &[f64]) {
        for (weight, factor) in self.weights.iter_mut().zip(factors) {
            *weight *= factor;
        }
    }

    /// Selects rows of other blocks by number, in this order. Copies labels, groups and weights,
    /// but not features.
    fn of_rows(blocks: &Arc<[Arc<Self>]>, numbers: &[usize]) -> Self {
        let first = &blocks[0];
        let place = |row: &usize| (&blocks[row / BLOCK_ROWS], row % BLOCK_ROWS);
        let mut labels = Vec::with_capacity(numbers.len());
        let mut weights = Vec::with_capacity(numbers.len());
        for (block, row) in numbers.iter().map(place) {
            labels.push(block.labels[row]);
            weights.push(block.weights[row]);
        }
        Self {
            n_rows: numbers.len(),
            features: Features::Of {
                blocks: Arc::clone(blocks),
                rows: numbers.iter().map(|row| *row as u32).collect(),
            },
            labels,
            groups: (0..first.groups.len())
                .map(|a| {
                    let places = numbers.iter().map(place);
                    places.map(|(block, row)| block.groups[a][row]).collect()
                })
                .collect(),
            weights,
            ..**first
        }
    }

    /// The same rows, with their features stored in this block.
    fn owned(self) -> Self {
        if matches!(self.features, Features::Own { .. }) {
            return self;
        }
        let rows = 0..self.n_rows;
        let numeric = rows.clone().flat_map(|row| self.numeric(row));
        let codes = rows.flat_map(|row| self.codes(row));
        let features = Features::Own {
            numeric: numeric.copied().collect(),
            codes: codes.copied().collect(),
        };
        Self { features, ..self }
    }

    #[inline(always)]
    fn own_numeric(&self, row: usize) -> &[f64] {
        match &self.features {
            Features::Own { numeric, .. } => {
                &numeric[row * self.n_numeric..(row + 1) * self.n_numeric]
            }
            Features::Of { .. } => &[],
        }
    }

    #[inline(always)]
    fn own_codes(&self, row: usize) -> &[u32] {
        match &self.features {
            Features::Own { codes, .. } => {
                &codes[row * self.n_categorical..(row + 1) * self.n_categorical]
            }
            Features::Of { .. } => &[],
        }
    }
}

fn finite(what: &'static str, values: &[f64], per_row: usize) -> Result<(), Error> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(i) => Err(Error::Value {
            what,
            row: i / per_row.max(1),
            value: values[i],
            rule: "finite",
        }),
    }
}

/// Access to encoded rows in blocks, in memory or from any other source.
pub trait RowSource: Engine {
    /// Number of blocks; all but the last have [`BLOCK_ROWS`] rows.
    fn n_blocks(&self) -> usize {
        self.n_rows().div_ceil(BLOCK_ROWS as u64) as usize
    }
    /// A block, shared rather than copied if it is in memory.
    fn block(&self, index: usize) -> Result<Arc<RowBlock>, Error>;
    /// Whether reading a block costs nothing.
    fn is_in_memory(&self) -> bool {
        false
    }
    /// Announces that these blocks will be requested soon, so that a file can be read ahead.
    fn prefetch(&self, _blocks: Range<usize>) {}
    /// Number of rows of each stratum in each block.
    fn strata(&self, by: Strata) -> Result<Vec<Vec<u32>>, Error> {
        let blocks = 0..self.n_blocks();
        blocks
            .map(|index| Ok(by.counts(&*self.block(index)?)))
            .collect()
    }
    /// The rows with these numbers (from 0), in this order, as one block: a mini-batch. Reads each block
    /// once, and keeps the blocks instead of copying features.
    fn gather(&self, rows: &[usize]) -> Result<RowBlock, Error> {
        if let Some(row) = rows.iter().find(|row| **row as u64 >= self.n_rows()) {
            return Err(Error::OutOfRange {
                what: "row",
                index: *row,
                count: self.n_rows() as usize,
            });
        }
        let mut touched: Vec<usize> = rows.iter().map(|row| row / BLOCK_ROWS).collect();
        touched.sort_unstable();
        touched.dedup();
        let blocks = touched.iter().map(|index| self.block(*index));
        let blocks: Arc<[Arc<RowBlock>]> = blocks.collect::<Result<_, _>>()?;
        if blocks.is_empty() {
            let groups = vec![vec![]; self.schema().attributes.len()];
            return RowBlock::new(self.schema(), vec![], vec![], vec![], groups, vec![]);
        }
        let local = |row: &usize| {
            let place = touched.partition_point(|index| *index < row / BLOCK_ROWS);
            place * BLOCK_ROWS + row % BLOCK_ROWS
        };
        let rows: Vec<usize> = rows.iter().map(local).collect();
        Ok(RowBlock::of_rows(&blocks, &rows))
    }
}

/// Encoded rows, wherever they are held.
#[derive(Clone)]
pub struct Dataset {
    schema: Arc<Schema>,
    source: Arc<dyn RowSource>,
}

impl fmt::Debug for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dataset")
            .field("schema", &self.schema)
            .field("n_rows", &self.n_rows())
            .finish_non_exhaustive()
    }
}

/// Encoded rows in memory.
#[derive(Debug)]
struct Memory {
    rows: Loaded,
    n_rows: usize,
    host: Host,
}

impl Dataset {
    /// Rows in memory; every block except the last must have [`BLOCK_ROWS`] rows.
    pub fn new(schema: Schema, blocks: Vec<RowBlock>) -> Result<Self, Error> {
        for (i, block) in blocks.iter().enumerate() {
            let last = i + 1 == blocks.len();
            if block.n_rows != BLOCK_ROWS && !(last && (1..=BLOCK_ROWS).contains(&block.n_rows)) {
                return Err(Error::Shape {
                    what: "rows of a block",
                    expected: BLOCK_ROWS,
                    found: block.n_rows,
                });
            }
        }
        Ok(Self::in_memory(Loaded {
            schema: Arc::new(schema),
            blocks: blocks.into_iter().map(|b| Arc::new(b.owned())).collect(),
        }))
    }

    /// A data set of rows in memory.
    fn in_memory(rows: Loaded) -> Self {
        let memory = Memory {
            n_rows: rows.n_rows(),
            rows,
            host: Host::default(),
        };
        Self {
            schema: Arc::clone(&memory.rows.schema),
            source: Arc::new(memory),
        }
    }

    /// The rows of a source.
    pub fn over(source: Arc<dyn RowSource>) -> Self {
        Self {
            schema: Arc::new(source.schema().clone()),
            source,
        }
    }

    /// The same rows for models with this many hidden units; 0 for linear models. Rows are not
    /// copied.
    #[must_use]
    pub fn with_hidden(&self, hidden: u32) -> Self {
        Self {
            schema: Arc::new(Schema {
                hidden,
                ..Schema::clone(&self.schema)
            }),
            ..self.clone()
        }
    }

    /// The meaning of the numbers in a row.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.source.n_rows() as usize
    }

    /// All rows in memory; those that already are there are not copied.
    pub fn loaded(&self) -> Result<Loaded, Error> {
        Ok(Loaded {
            schema: Arc::clone(&self.schema),
            blocks: self.blocks().collect::<Result<_, _>>()?,
        })
    }

    /// The rows of the first blocks in memory. Rows are in random order, so they are a fair sample.
    pub fn loaded_head(&self, n_blocks: usize) -> Result<Loaded, Error> {
        Ok(Loaded {
            schema: Arc::clone(&self.schema),
            blocks: self.blocks().take(n_blocks).collect::<Result<_, _>>()?,
        })
    }

    /// The same as a data set of its own; the rows themselves if these are all blocks.
    pub fn head(&self, n_blocks: usize) -> Result<Self, Error> {
        if self.n_blocks() <= n_blocks && self.is_in_memory() {
            return Ok(self.clone());
        }
        Ok(Self::in_memory(self.loaded_head(n_blocks)?))
    }

    /// The blocks in order.
    pub fn blocks(&self) -> impl Iterator<Item = Result<Arc<RowBlock>, Error>> {
        let n = self.n_blocks();
        (0..n).map(move |index| {
            if index % READ_AHEAD == 0 {
                self.prefetch(index..n.min(index + 2 * READ_AHEAD));
            }
            self.block(index)
        })
    }
}

/// Rows that are all in memory, for code that walks over them many times, such as learners.
#[derive(Debug, Clone)]
pub struct Loaded {
    schema: Arc<Schema>,
    blocks: Vec<Arc<RowBlock>>,
}

impl Loaded {
    /// The meaning of the numbers in a row.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.blocks.iter().map(|block| block.n_rows).sum()
    }

    /// The first blocks.
    #[must_use]
    pub fn first(&self, n_blocks: usize) -> Self {
        Self {
            schema: Arc::clone(&self.schema),
            blocks: self.blocks.iter().take(n_blocks).cloned().collect(),
        }
    }

    /// The blocks in order.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = &RowBlock> {
        self.blocks.iter().map(AsRef::as_ref)
    }
}

impl Engine for Dataset {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn n_rows(&self) -> u64 {
        self.source.n_rows()
    }

    fn sum(&self, pass: &Pass<'_>) -> Result<Vec<f64>, Error> {
        self.source.sum(pass)
    }

    fn nearest(&self, nearest: &Nearest<'_>) -> Result<Vec<BothSides>, Error> {
        self.source.nearest(nearest)
    }
}

impl RowSource for Dataset {
    fn block(&self, index: usize) -> Result<Arc<RowBlock>, Error> {
        self.source.block(index)
    }

    fn is_in_memory(&self) -> bool {
        self.source.is_in_memory()
    }

    fn prefetch(&self, blocks: Range<usize>) {
        self.source.prefetch(blocks);
    }

    fn strata(&self, by: Strata) -> Result<Vec<Vec<u32>>, Error> {
        self.source.strata(by)
    }
}

impl Engine for Memory {
    fn schema(&self) -> &Schema {
        &self.rows.schema
    }

    fn n_rows(&self) -> u64 {
        self.n_rows as u64
    }

    fn sum(&self, pass: &Pass<'_>) -> Result<Vec<f64>, Error> {
        self.host.sum(self, pass)
    }

    fn nearest(&self, nearest: &Nearest<'_>) -> Result<Vec<BothSides>, Error> {
        self.host.nearest(self, nearest)
    }
}

impl RowSource for Memory {
    fn block(&self, index: usize) -> Result<Arc<RowBlock>, Error> {
        let blocks = &self.rows.blocks;
        blocks.get(index).cloned().ok_or(Error::OutOfRange {
            what: "block",
            index,
            count: blocks.len(),
        })
    }

    fn is_in_memory(&self) -> bool {
        true
    }

    fn strata(&self, by: Strata) -> Result<Vec<Vec<u32>>, Error> {
        self.host.strata(self, by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn schema() -> Schema {
        let named = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        Schema {
            numeric: named(&["age", "hours"]),
            categorical: vec![
                CategoricalFeature {
                    column: "job".into(),
                    categories: named(&["a", "b", "c"]),
                },
                CategoricalFeature {
                    column: "town".into(),
                    categories: named(&["x", "y"]),
                },
            ],
            attributes: vec![Attribute::new("sex", named(&["F", "M"]))],
            target: Target::Binary,
            hidden: 0,
        }
    }

    /// Rows whose features and codes identify their row number.
    fn rows(first: usize, n: usize) -> RowBlock {
        let range = first..first + n;
        RowBlock::new(
            &schema(),
            range
                .clone()
                .flat_map(|r| [r as f64, -(r as f64)])
                .collect(),
            range
                .clone()
                .flat_map(|r| {
                    [
                        2 + (r % 3) as u32,
                        if r % 5 == 0 { 8 } else { 5 + (r % 2) as u32 },
                    ]
                })
                .collect(),
            range
                .clone()
                .map(|r| if r % 2 == 0 { 1.0 } else { -1.0 })
                .collect(),
            vec![range.clone().map(|r| (r % 2) as u32).collect()],
            range.map(|r| r as f64 + 0.5).collect(),
        )
        .unwrap()
    }

    fn dataset(n: usize) -> Dataset {
        let blocks = (0..n)
            .step_by(BLOCK_ROWS)
            .map(|first| rows(first, BLOCK_ROWS.min(n - first)))
            .collect();
        Dataset::new(schema(), blocks).unwrap()
    }

    #[test]
    fn parameters_are_numeric_then_categories_then_intercept() {
        let s = schema();
        assert_eq!(
            s.feature_names(),
            [
                "age", "hours", "job=a", "job=b", "job=c", "town=x", "town=y"
            ]
        );
        assert_eq!((s.n_features(), s.intercept(), s.null_feature()), (7, 7, 8));
        assert_eq!(s.offsets(), [2, 5]);
    }

    proptest! {
        #[test]
        fn gather_returns_the_requested_rows(n in 1_usize..2500, picks in prop::collection::vec(0_usize..2500, 0..50)) {
            let data = dataset(n);
            let picks: Vec<usize> = picks.into_iter().map(|p| p % n).collect();
            let block = data.gather(&picks).unwrap();
            prop_assert_eq!(block.n_rows(), picks.len());
            for (i, &p) in picks.iter().enumerate() {
                let one = rows(p, 1);
                prop_assert_eq!(block.numeric(i), one.numeric(0));
                prop_assert_eq!(block.codes(i), one.codes(0));
                prop_assert_eq!(block.labels()[i], one.labels()[0]);
                prop_assert_eq!(block.groups(0)[i], one.groups(0)[0]);
                prop_assert_eq!(block.weights()[i], one.weights()[0]);
            }
        }
    }

    #[test]
    fn blocks_hold_all_rows_in_order() {
        let data = dataset(2 * BLOCK_ROWS + 3);
        assert_eq!((data.n_rows(), data.n_blocks()), (2 * BLOCK_ROWS + 3, 3));
        assert_eq!(*data.block(1).unwrap(), rows(BLOCK_ROWS, BLOCK_ROWS));
        assert_eq!(data.block(2).unwrap().n_rows(), 3);
        assert!(data.block(3).is_err());
        assert!(data.gather(&[2 * BLOCK_ROWS + 3]).is_err());
    }

    #[test]
    fn invalid_rows_are_rejected_with_their_position() {
        let block = |number: f64, code: u32, group: u32, weight: f64| {
            RowBlock::new(
                &schema(),
                vec![0.0, 0.0, 0.0, number],
                vec![2, 5, code, 6],
                vec![1.0, -1.0],
                vec![vec![0, group]],
                vec![1.0, weight],
            )
            .map_err(|e| e.to_string())
        };
        assert!(block(1.0, 4, UNKNOWN_GROUP, 0.0).is_ok());
        assert!(block(1.0, 8, 1, 0.0).is_ok(), "the null feature is allowed");
        let error = |r: Result<RowBlock, String>| r.unwrap_err();
        assert_eq!(
            error(block(f64::NAN, 2, 0, 1.0)),
            "a numeric feature of row 2 is NaN; it must be finite"
        );
        assert_eq!(
            error(block(0.0, 5, 0, 1.0)),
            "a categorical code of row 2 is 5; the largest allowed is 4"
        );
        assert!(error(block(0.0, 2, 2, 1.0)).starts_with("a group code of row 2"));
        assert!(error(block(0.0, 2, 0, -1.0)).starts_with("the weight of row 2"));
        let short = RowBlock::new(&schema(), vec![0.0], vec![], vec![], vec![vec![]], vec![]);
        assert!(
            short
                .unwrap_err()
                .to_string()
                .starts_with("numeric features: expected 0")
        );
    }
}
