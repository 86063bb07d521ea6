//! Small tables of rows.

use std::sync::Arc;

use fairfront_core::{
    Attribute, BLOCK_ROWS, Condition, Covariance, Dataset, FairProblem, Linear, LogLoss, Objective,
    Predictor, Purpose, RowBlock, Schema, Stream, UNKNOWN_GROUP,
};

/// Rows with numeric features, a label, a group for each attribute and a weight.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub(crate) features: Vec<Vec<f64>>,
    pub(crate) labels: Vec<f64>,
    /// For each attribute, the number of its groups and the group of every row.
    pub(crate) groups: Vec<(usize, Vec<u32>)>,
    pub(crate) weights: Vec<f64>,
    pub(crate) lambda: f64,
}

impl Table {
    /// Random rows: features depend on groups, labels depend on features, and some groups are
    /// unknown.
    pub(crate) fn random(seed: u64, n: usize, d: usize, n_groups: &[usize]) -> Self {
        let mut random = Stream::new(seed, Purpose::Synthetic, [5, 5]);
        let mut table = Self {
            groups: n_groups.iter().map(|k| (*k, Vec::new())).collect(),
            weights: vec![1.0; n],
            lambda: 1e-3,
            ..Self::default()
        };
        for row in 0..n {
            let mut lean = 0.0;
            for (k, groups) in &mut table.groups {
                let group = if row < *k { row } else { random.below(*k) };
                lean += group as f64 / *k as f64;
                let unknown = row >= *k && random.chance(0.05);
                groups.push(if unknown { UNKNOWN_GROUP } else { group as u32 });
            }
            let z: Vec<f64> = (0..d)
                .map(|j| random.normal() + lean * (1.0 - 0.4 * j as f64))
                .collect();
            let score = z.iter().sum::<f64>() / (d as f64).sqrt() - 0.5;
            let positive = row == 0 || (row > 1 && random.chance(1.0 / (1.0 + (-score).exp())));
            table.labels.push(if positive { 1.0 } else { -1.0 });
            table.features.push(z);
        }
        table
    }

    pub(crate) fn attributes(&self) -> Vec<Attribute> {
        let attribute = |(i, (k, _)): (usize, &(usize, Vec<u32>))| {
            Attribute::new(format!("a{i}"), (0..*k).map(|g| format!("g{g}")).collect())
        };
        self.groups.iter().enumerate().map(attribute).collect()
    }

    /// A covariance objective for one attribute, for further changes.
    pub(crate) fn covariance(&self, given: Condition, attribute: usize) -> Covariance {
        Covariance::new(given, attribute, &self.attributes()[attribute])
    }

    /// A problem with the log loss and these objectives.
    pub(crate) fn with(&self, covariances: Vec<Covariance>) -> FairProblem {
        let mut objectives: Vec<Box<dyn Objective>> = vec![Box::new(LogLoss {
            lambda: self.lambda,
        })];
        for covariance in covariances {
            objectives.push(Box::new(covariance));
        }
        self.problem(objectives)
    }

    /// A problem with these objectives.
    pub(crate) fn problem(&self, objectives: Vec<Box<dyn Objective>>) -> FairProblem {
        self.problem_of(Box::new(Linear), objectives)
    }

    /// A problem with these objectives and a predictor.
    pub(crate) fn problem_of(
        &self,
        predictor: Box<dyn Predictor>,
        objectives: Vec<Box<dyn Objective>>,
    ) -> FairProblem {
        let d = self.features[0].len();
        let schema = Schema {
            numeric: (0..d).map(|i| format!("n{i}")).collect(),
            categorical: Vec::new(),
            attributes: self.attributes(),
            target: fairfront_core::Target::Binary,
            hidden: 0,
        };
        let rows: Vec<usize> = (0..self.labels.len()).collect();
        let block = |rows: &[usize]| {
            RowBlock::new(
                &schema,
                rows.iter()
                    .flat_map(|r| self.features[*r].clone())
                    .collect(),
                Vec::new(),
                rows.iter().map(|r| self.labels[*r]).collect(),
                self.groups
                    .iter()
                    .map(|(_, groups)| rows.iter().map(|r| groups[*r]).collect())
                    .collect(),
                rows.iter().map(|r| self.weights[*r]).collect(),
            )
            .unwrap()
        };
        let data = Dataset::new(schema.clone(), rows.chunks(BLOCK_ROWS).map(block).collect());
        FairProblem::new(Arc::new(data.unwrap()), predictor, objectives).unwrap()
    }

    /// The log loss and the score covariance of every attribute.
    pub(crate) fn impact(&self) -> FairProblem {
        let of = |i: usize| self.covariance(Condition::All, i);
        self.with((0..self.groups.len()).map(of).collect())
    }
}
