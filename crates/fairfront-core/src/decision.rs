//! Decisions of many models on the same rows, and their counts in each cell of rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::class_tally::{ClassBits, ClassTallies, label_place};
use crate::contrast::Cell;
use crate::lanes::{LANES, Lanes, ZERO, vectorized};
use crate::number_tally::{Mean, NumberTallies, Quantity};
use crate::people::{Copies, Shared};
use crate::predictor::{Predictor, Rows, TILE_ROWS};
use crate::{Error, Points, RowSource, Schema};

/// A rate that a requirement or an interval is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rate {
    /// Share selected among all rows.
    Selection,
    /// Share not selected among rows labeled positive.
    FalseNegative,
    /// Share selected among rows labeled negative.
    FalsePositive,
    /// Share of all rows with a decision that matches the label.
    Accuracy,
    /// Share decided for a class, or at least as high as it if classes are ordered.
    Decided {
        /// The decision.
        class: usize,
        /// The class of the rows; `None` if all rows count.
        of: Option<usize>,
    },
    /// Share decided for a class among the rows of this class.
    Recall {
        /// The class.
        class: usize,
    },
}

impl Rate {
    /// All rates of binary decisions.
    pub const ALL: [Self; 4] = [
        Self::Selection,
        Self::FalseNegative,
        Self::FalsePositive,
        Self::Accuracy,
    ];

    /// The label of the rows that it is a share of; `None` if all rows count.
    pub fn label(self) -> Option<f64> {
        match self {
            Self::Selection | Self::Accuracy => None,
            Self::FalseNegative => Some(1.0),
            Self::FalsePositive => Some(-1.0),
            Self::Decided { of, .. } => of.map(|class| class as f64),
            Self::Recall { class } => Some(class as f64),
        }
    }

    /// Successes and trials, from sums of the selected and of all rows by label (negative, positive). There
    /// are none for rates of classes.
    pub fn of(self, selected: [f64; 2], total: [f64; 2]) -> (f64, f64) {
        match self {
            Self::Selection => (selected[0] + selected[1], total[0] + total[1]),
            Self::FalseNegative => (total[1] - selected[1], total[1]),
            Self::FalsePositive => (selected[0], total[0]),
            Self::Accuracy => (total[0] - selected[0] + selected[1], total[0] + total[1]),
            Self::Decided { .. } | Self::Recall { .. } => (0.0, 0.0),
        }
    }
}

/// The regions of the groups of an attribute. Regions count all rows first, then the groups of each
/// attribute.
pub fn regions_of(schema: &Schema, attribute: usize) -> std::ops::Range<usize> {
    let before: usize = schema.attributes[..attribute]
        .iter()
        .map(|a| a.groups.len())
        .sum();
    1 + before..1 + before + schema.attributes[attribute].groups.len()
}

/// Number of regions.
pub fn n_regions(schema: &Schema) -> usize {
    1 + schema
        .attributes
        .iter()
        .map(|a| a.groups.len())
        .sum::<usize>()
}

/// Decisions of models on rows, with the weights and the regions of the rows. A decision is one bit; between
/// classes, it is one bit per class, of which one is set. To the code that redraws rows, a class of a model
/// is a model of its own.
#[derive(Debug, Clone)]
pub struct Decisions {
    pub(crate) n_models: usize,
    /// Number of bits per row.
    pub(crate) n_bits: usize,
    /// The order of the bits, if models decide between classes.
    pub(crate) classes: Option<ClassBits>,
    /// Words of 32 bits per row, in the order of the strata.
    pub(crate) bits: Vec<u32>,
    /// Weights in the same order; 1 for all if the rows are not weighted.
    pub(crate) weights: Vec<f64>,
    pub(crate) strata: Vec<Stratum>,
    pub(crate) n_regions: usize,
    /// Which rows are copies of the same person; `None` if every row is a person.
    pub(crate) copies: Option<Copies>,
}

/// Rows with the same label and the same groups, next to each other.
#[derive(Debug, Clone)]
pub(crate) struct Stratum {
    /// The end of their range.
    pub(crate) end: usize,
    /// 1 if labeled positive, or the class.
    pub(crate) label: usize,
    /// The regions that contain them.
    pub(crate) regions: Vec<usize>,
}

/// Labels, groups and weights of rows.
struct Facts {
    schema: Schema,
    /// The place of a row's label, and its group of each attribute.
    keys: Vec<(usize, Vec<u32>)>,
    weights: Vec<f64>,
    people: Option<Arc<[u32]>>,
}

impl Facts {
    fn of(rows: &dyn RowSource) -> Result<Self, Error> {
        let schema = rows.schema().clone();
        let n = rows.n_rows() as usize;
        let (mut keys, mut weights) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for index in 0..rows.n_blocks() {
            let block = rows.block(index)?;
            weights.extend_from_slice(block.weights());
            for row in 0..block.n_rows() {
                let groups = (0..schema.attributes.len()).map(|a| block.groups(a)[row]);
                let label = label_place(&schema.target, block.labels()[row]);
                keys.push((label, groups.collect::<Vec<u32>>()));
            }
        }
        Ok(Self {
            schema,
            keys,
            weights,
            people: rows.people().cloned(),
        })
    }
}

/// Compares rows without their features.
impl PartialEq for Facts {
    fn eq(&self, other: &Self) -> bool {
        self.schema.attributes == other.schema.attributes
            && self.schema.target.classes() == other.schema.target.classes()
            && self.keys == other.keys
            && self.weights == other.weights
            && self.people == other.people
    }
}

/// Words of 32 models, one word per row.
type Words = Vec<u32>;

/// Decisions as words: for each 32 models, those of each class, or one for binary decisions.
fn words_of(
    predictor: &dyn Predictor,
    rows: &dyn RowSource,
    models: &Points,
) -> Result<Vec<Vec<Words>>, Error> {
    let all: Vec<&[f64]> = models.iter().collect();
    all.par_chunks(LANES)
        .map(|block| selected_words(predictor, rows, block))
        .collect()
}

impl Decisions {
    /// Decisions of all models on all rows.
    pub fn of(
        predictor: &dyn Predictor,
        rows: &dyn RowSource,
        models: &Points,
    ) -> Result<Self, Error> {
        let words = words_of(predictor, rows, models)?;
        Ok(Self::sorted(&Facts::of(rows)?, words, models.len()))
    }

    /// Decisions of the models of several sources on the same rows, which each source may encode in
    /// its own way, and the number of each source's first model. Models between those of two
    /// sources select no rows. `None` if the sources differ in the labels, weights or groups of
    /// their rows.
    pub fn paired(
        predictor: &dyn Predictor,
        sources: &[(&dyn RowSource, &Points)],
    ) -> Result<Option<(Self, Vec<usize>)>, Error> {
        let mut facts: Option<Facts> = None;
        let (mut words, mut firsts) = (Vec::new(), Vec::new());
        for (rows, models) in sources {
            let own = Facts::of(*rows)?;
            if facts.as_ref().is_some_and(|first| *first != own) {
                return Ok(None);
            }
            facts.get_or_insert(own);
            firsts.push(words.len() * LANES);
            words.extend(words_of(predictor, *rows, models)?);
        }
        let n_models = words.len() * LANES;
        Ok(facts.map(|facts| (Self::sorted(&facts, words, n_models), firsts)))
    }

    /// Sorts words of 32 models into the order of the strata.
    fn sorted(facts: &Facts, words: Vec<Vec<Words>>, n_models: usize) -> Self {
        let Facts {
            schema,
            keys,
            weights,
            people,
        } = facts;
        let classes = ClassBits::of(schema, words.len() * LANES);
        // Class by class, because neighboring models mostly make the same decision.
        let mut by_class: Vec<Vec<Words>> = Vec::new();
        for block in words {
            by_class.resize_with(block.len(), Vec::new);
            for (all, own) in by_class.iter_mut().zip(block) {
                all.push(own);
            }
        }
        let words: Vec<Words> = by_class.into_iter().flatten().collect();
        let (n, n_words) = (keys.len(), words.len());
        // Rows with the same decisions of all models are adjacent, so that they are redrawn
        // together.
        let pattern = |row: usize| words.iter().map(move |words| words[row]);
        let mut order: Vec<usize> = (0..n).collect();
        order.par_sort_by(|a, b| {
            let by_pattern = || pattern(*a).cmp(pattern(*b)).then(a.cmp(b));
            keys[*a].cmp(&keys[*b]).then_with(by_pattern)
        });
        let mut strata: Vec<Stratum> = Vec::new();
        for (at, row) in order.iter().enumerate() {
            let (label, groups) = &keys[*row];
            if at == 0 || keys[order[at - 1]] != keys[*row] {
                let known = groups.iter().enumerate().filter_map(|(a, group)| {
                    let regions = regions_of(schema, a);
                    ((*group as usize) < regions.len()).then(|| regions.start + *group as usize)
                });
                strata.push(Stratum {
                    end: 0,
                    label: *label,
                    regions: std::iter::once(0).chain(known).collect(),
                });
            }
            if let Some(last) = strata.last_mut() {
                last.end = at + 1;
            }
        }
        let mut bits = Vec::with_capacity(n * n_words);
        for row in &order {
            bits.extend(words.iter().map(|words| words[*row]));
        }
        Self {
            n_models,
            n_bits: classes.map_or(n_models, |_| n_words * LANES),
            classes,
            bits,
            weights: order.iter().map(|row| weights[*row]).collect(),
            strata,
            n_regions: n_regions(schema),
            copies: people
                .as_ref()
                .map(|people| Copies::new(schema, people, &order)),
        }
    }

    /// The decisions on some rows of several sources, which are numbered one source after the
    /// other. A row may be taken more than once.
    ///
    /// # Panics
    /// If a row is past the last one, if the sources differ in their models or regions, or if a person is
    /// several rows.
    pub fn gathered(sources: &[&Self], rows: &[usize]) -> Self {
        let first = sources[0];
        assert!(
            sources
                .iter()
                .all(|s| s.n_models == first.n_models && s.n_regions == first.n_regions)
                && sources.iter().all(|s| s.classes == first.classes),
            "the sources must have the same models, classes and regions"
        );
        assert!(
            sources.iter().all(|s| s.copies.is_none()),
            "every row must be a person"
        );
        // The rows with their sources, by label and regions.
        let mut strata: BTreeMap<_, Vec<(usize, usize)>> = BTreeMap::new();
        for &row in rows {
            let (mut source, mut at) = (0, row);
            while at >= sources[source].n_rows() {
                at -= sources[source].n_rows();
                source += 1;
            }
            let all = &sources[source].strata;
            let stratum = &all[all.partition_point(|stratum| stratum.end <= at)];
            let key = (stratum.label, stratum.regions.clone());
            strata.entry(key).or_default().push((source, at));
        }
        let n_words = first.n_words();
        let mut gathered = Self {
            n_models: first.n_models,
            n_bits: first.n_bits,
            classes: first.classes,
            bits: Vec::with_capacity(rows.len() * n_words),
            weights: Vec::with_capacity(rows.len()),
            strata: Vec::with_capacity(strata.len()),
            n_regions: first.n_regions,
            copies: None,
        };
        for ((label, regions), mut members) in strata {
            let pattern = |&(source, at): &(usize, usize)| {
                &sources[source].bits[at * n_words..(at + 1) * n_words]
            };
            members.sort_by(|a, b| pattern(a).cmp(pattern(b)));
            for (source, at) in members {
                let from = sources[source];
                gathered
                    .bits
                    .extend_from_slice(&from.bits[at * n_words..(at + 1) * n_words]);
                gathered.weights.push(from.weights[at]);
            }
            gathered.strata.push(Stratum {
                end: gathered.weights.len(),
                label,
                regions,
            });
        }
        gathered
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.weights.len()
    }

    /// Number of models.
    pub fn n_models(&self) -> usize {
        self.n_models
    }

    /// Number of words per row.
    pub(crate) fn n_words(&self) -> usize {
        self.n_bits.div_ceil(LANES)
    }

    /// The strata with their ranges of rows.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (&Stratum, std::ops::Range<usize>)> {
        let mut start = 0;
        self.strata.iter().map(move |stratum| {
            let range = start..stratum.end;
            start = stratum.end;
            (stratum, range)
        })
    }

    /// Counts the rows that each model selects in each region, by label.
    pub fn tallies(&self) -> Tallies {
        if let Some(copies) = &self.copies {
            return copies.tallies(self);
        }
        let n_words = self.n_words();
        let mut tallies = Tallies::new(self.n_models, self.n_regions, self.classes);
        for (stratum, range) in self.ranges() {
            let mut total = [0.0; 2];
            let mut selected = vec![[0.0; 2]; self.n_bits];
            for row in range {
                let sums = [self.weights[row], self.weights[row] * self.weights[row]];
                let add = |to: &mut [f64; 2]| {
                    to[0] += sums[0];
                    to[1] += sums[1];
                };
                add(&mut total);
                for (word, bits) in self.bits[row * n_words..(row + 1) * n_words]
                    .iter()
                    .enumerate()
                {
                    let mut left = *bits;
                    while left != 0 {
                        add(&mut selected[word * LANES + left.trailing_zeros() as usize]);
                        left &= left - 1;
                    }
                }
            }
            tallies.add(
                stratum.label,
                &stratum.regions,
                total,
                self.classes,
                |bit| selected[bit],
            );
        }
        tallies.finished()
    }
}

vectorized! {
    /// Sets one bit for each score of a row that is at least 0.
    fn selected(scores: &[Lanes], used: u32, words: &mut [u32]) {
        for (scores, word) in scores.iter().zip(words) {
            let mut bits = 0;
            for (lane, score) in scores.iter().enumerate() {
                bits |= u32::from(*score >= 0.0) << lane;
            }
            *word = bits & used;
        }
    }
}

vectorized! {
    /// Sets one bit for each model and row, in the word of the first class with the highest score. Words are
    /// stored class by class, `n` each.
    pub(crate) fn decided(scores: &[Lanes], n: usize, used: u32, words: &mut [u32]) {
        let k = scores.len() / TILE_ROWS;
        for row in 0..n {
            let mut high = scores[row];
            for class in 1..k {
                let score = &scores[class * TILE_ROWS + row];
                for lane in 0..LANES {
                    high[lane] = high[lane].max(score[lane]);
                }
            }
            let mut left = used;
            for class in 0..k {
                let score = &scores[class * TILE_ROWS + row];
                let mut bits = 0;
                for lane in 0..LANES {
                    bits |= u32::from(score[lane] == high[lane]) << lane;
                }
                words[class * n + row] = bits & left;
                left &= !bits;
            }
        }
    }
}

/// One bit for each of up to [`LANES`] models, row by row; for classes, one such list per class.
fn selected_words(
    predictor: &dyn Predictor,
    rows: &dyn RowSource,
    block: &[&[f64]],
) -> Result<Vec<Words>, Error> {
    let params = crate::fair_problem::side_by_side(block, predictor.n_params(rows.schema()));
    let k = predictor.n_scores();
    let mut words = vec![Vec::with_capacity(rows.n_rows() as usize); k];
    let mut scores = vec![ZERO; TILE_ROWS * k];
    let mut of_tile = vec![0; TILE_ROWS * k];
    let used = match block.len() {
        LANES => u32::MAX,
        n => (1 << n) - 1,
    };
    for index in 0..rows.n_blocks() {
        let rows = rows.block(index)?;
        for tile in Rows::tiles(&rows) {
            predictor.scores(&tile, &params, &mut scores);
            let n = tile.len();
            let of_tile = &mut of_tile[..n * k];
            match k {
                1 => selected(&scores[..n], used, of_tile),
                _ => decided(&scores, n, used, of_tile),
            }
            for (words, own) in words.iter_mut().zip(of_tile.chunks_exact(n)) {
                words.extend_from_slice(own);
            }
        }
    }
    Ok(words)
}

/// Sums of weights and of squared weights of the rows that each model selects, by region and label
/// (negative, positive). Tests and closed-form intervals need only these sums, no rows. If the target is a
/// number, there are sums of predictions instead; if it has classes, sums by class and decision.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Tallies {
    /// For each region and label, Σw and Σw² of all rows.
    pub totals: Vec<[[f64; 2]; 2]>,
    /// The same sums of the rows that each model selects.
    pub selected: Vec<Vec<[[f64; 2]; 2]>>,
    /// Sums of predicted numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbers: Option<NumberTallies>,
    /// Sums of decisions between classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<ClassTallies>,
    /// Sums over people in two regions at once, if groups are only estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<Box<Shared>>,
}

impl Tallies {
    /// No rows.
    pub(crate) fn new(n_models: usize, n_regions: usize, classes: Option<ClassBits>) -> Self {
        match classes {
            Some(classes) => Self {
                classes: Some(ClassTallies::new(classes, n_models, n_regions)),
                ..Self::default()
            },
            None => Self {
                totals: vec![[[0.0; 2]; 2]; n_regions],
                selected: vec![vec![[[0.0; 2]; 2]; n_regions]; n_models],
                ..Self::default()
            },
        }
    }

    /// Adds the rows of a stratum: Σw and Σw² of all rows, and of those with each bit.
    pub(crate) fn add(
        &mut self,
        label: usize,
        regions: &[usize],
        total: [f64; 2],
        classes: Option<ClassBits>,
        of_bit: impl Fn(usize) -> [f64; 2],
    ) {
        let sum = |to: &mut [f64; 2], more: [f64; 2]| {
            to[0] += more[0];
            to[1] += more[1];
        };
        for &region in regions {
            if let (Some(bits), Some(classes)) = (classes, &mut self.classes) {
                for model in 0..classes.n_models() {
                    for decision in 0..bits.n_classes {
                        let own = of_bit(decision * bits.stride + model);
                        classes.add((model, region), (label, decision), own);
                    }
                }
                continue;
            }
            sum(&mut self.totals[region][label], total);
            for (model, of_model) in self.selected.iter_mut().enumerate() {
                sum(&mut of_model[region][label], of_bit(model));
            }
        }
    }

    pub(crate) fn finished(mut self) -> Self {
        if let Some(classes) = &mut self.classes {
            classes.finish();
        }
        self
    }

    /// Number of models.
    pub fn n_models(&self) -> usize {
        match (&self.numbers, &self.classes) {
            (Some(numbers), _) => numbers.n_models(),
            (None, Some(classes)) => classes.n_models(),
            (None, None) => self.selected.len(),
        }
    }

    /// The mean of a quantity in a region; without rows if the target is not a number.
    pub fn mean(&self, model: usize, of: Quantity, region: usize) -> Mean {
        let numbers = self.numbers.as_ref();
        numbers.map_or_else(Mean::none, |numbers| numbers.mean(model, of, region))
    }

    /// The covariance of a model's rates in two regions: 0 unless people count in both.
    pub fn covariance(&self, model: usize, rate: Rate, a: usize, b: usize) -> f64 {
        let shared = self.shared.as_ref();
        shared.map_or(0.0, |shared| shared.covariance(self, model, rate, a, b))
    }

    /// The cell of a model's rate in a region.
    pub fn cell(&self, model: usize, rate: Rate, region: usize) -> Cell {
        if let Some(classes) = &self.classes {
            return classes.cell(model, rate, region);
        }
        let of = |which: usize| {
            let pick = |sums: &[[f64; 2]; 2]| [sums[0][which], sums[1][which]];
            rate.of(
                pick(&self.selected[model][region]),
                pick(&self.totals[region]),
            )
        };
        let ((successes, trials), (successes_squared, trials_squared)) = (of(0), of(1));
        Cell {
            successes,
            trials,
            successes_squared,
            trials_squared,
        }
    }
}
