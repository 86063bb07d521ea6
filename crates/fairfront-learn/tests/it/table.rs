//! Small tables.

use fairfront_core::{
    Attribute, BLOCK_ROWS, CategoricalFeature, Dataset, Loaded, Purpose, RowBlock, Schema, Stream,
    Target,
};
use fairfront_learn::{Calibrated, Forest, Labels};

/// Columns by name, and classes.
#[derive(Default, Clone)]
pub(crate) struct Table {
    pub(crate) numbers: Vec<Vec<f64>>,
    /// Categories and their number; a category past the last is unseen.
    pub(crate) categories: Vec<(Vec<u32>, u32)>,
    pub(crate) labels: Vec<u32>,
    /// The group of each row; without any, rows alternate between two groups.
    pub(crate) groups: Vec<u32>,
}

impl Table {
    pub(crate) fn n_rows(&self) -> usize {
        self.labels.len()
    }

    pub(crate) fn dataset(&self) -> Loaded {
        let label = |row: usize| if self.labels[row] == 1 { 1.0 } else { -1.0 };
        self.dataset_of(Target::Binary, label)
    }

    /// The rows with other labels.
    pub(crate) fn dataset_of(&self, target: Target, label: impl Fn(usize) -> f64) -> Loaded {
        let categorical = self.categories.iter().enumerate().map(|(i, (_, n))| {
            let categories = (0..*n).map(|c| format!("k{c}")).collect();
            CategoricalFeature {
                column: format!("c{i}"),
                categories,
            }
        });
        let schema = Schema {
            numeric: (0..self.numbers.len()).map(|i| format!("x{i}")).collect(),
            categorical: categorical.collect(),
            attributes: vec![Attribute::new("sex", vec!["F".into(), "M".into()])],
            target,
            hidden: 0,
        };
        let offsets = schema.offsets();
        let rows: Vec<usize> = (0..self.n_rows()).collect();
        let blocks = rows.chunks(BLOCK_ROWS).map(|rows| {
            let of_row = |r: &usize| self.numbers.iter().map(|c| c[*r]).collect::<Vec<_>>();
            let numeric = rows.iter().flat_map(of_row).collect();
            let codes_of_row = |r: &usize| {
                let columns = self.categories.iter().zip(&offsets);
                let code = |((codes, n), first): (&(Vec<u32>, u32), &u32)| match codes[*r] {
                    c if c < *n => c + first,
                    _ => schema.null_feature(),
                };
                columns.map(code).collect::<Vec<_>>()
            };
            let codes = rows.iter().flat_map(codes_of_row).collect();
            let labels = rows.iter().map(|row| label(*row)).collect();
            let group = |r: &usize| self.groups.get(*r).copied().unwrap_or(*r as u32 % 2);
            let groups = vec![rows.iter().map(group).collect()];
            RowBlock::new(
                &schema,
                numeric,
                codes,
                labels,
                groups,
                vec![1.0; rows.len()],
            )
            .unwrap()
        });
        let blocks = blocks.collect();
        Dataset::new(schema.clone(), blocks)
            .unwrap()
            .loaded()
            .unwrap()
    }

    pub(crate) fn all_rows(&self) -> Vec<u32> {
        (0..self.n_rows() as u32).collect()
    }

    pub(crate) fn classes(&self, n_classes: usize) -> Labels {
        Labels::Classes {
            of_row: self.labels.clone(),
            n_classes,
        }
    }

    pub(crate) fn options(&self) -> Vec<Option<u32>> {
        self.labels.iter().map(|l| Some(*l)).collect()
    }
}

/// Raw scores of a forest for all rows.
pub(crate) fn raw(forest: &Forest, rows: &Loaded) -> Vec<f64> {
    let of_block = |b: &RowBlock| forest.raw(rows.schema(), b);
    rows.blocks().flat_map(of_block).collect()
}

/// Probabilities of a forest, uncalibrated.
pub(crate) fn probabilities(forest: &Forest, rows: &Loaded) -> Vec<f64> {
    Calibrated::identity(forest.n_classes()).probabilities(&raw(forest, rows))
}

/// Share of rows whose most probable class is their label.
pub(crate) fn accuracy(probabilities: &[f64], labels: &[u32]) -> f64 {
    let n = probabilities.len() / labels.len();
    let rows = probabilities.chunks_exact(n).zip(labels);
    let hits = rows.filter(|(p, label)| p.iter().all(|q| *q <= p[**label as usize]));
    hits.count() as f64 / labels.len() as f64
}

/// Two numbers, a category of 20 and a class of `n_classes` that depends on all of them.
pub(crate) fn mixed(n: usize, n_classes: u32, seed: u64) -> Table {
    let mut stream = Stream::new(seed, Purpose::Synthetic, [1, 0]);
    let mut table = Table::default();
    let (mut x, mut y, mut c) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..n {
        let (a, b) = (stream.normal(), (stream.uniform() * 9.0).floor());
        let k = stream.below(20) as u32;
        let effect = if k.is_multiple_of(3) { 1.5 } else { -0.5 };
        let scores: Vec<f64> = (0..n_classes)
            .map(|class| {
                let class = f64::from(class);
                class * (a + effect) + 0.3 * (b - 4.0 * class).abs() + stream.normal()
            })
            .collect();
        let best = (0..n_classes).fold(0, |best, class| {
            if scores[class as usize] > scores[best as usize] {
                class
            } else {
                best
            }
        });
        x.push(a);
        y.push(b);
        c.push(k);
        table.labels.push(best);
    }
    table.numbers = vec![x, y];
    table.categories = vec![(c, 20)];
    table
}
