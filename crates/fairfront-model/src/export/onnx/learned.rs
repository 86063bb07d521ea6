//! The learned features of a model in an ONNX graph.

use fairfront_learn::{FeatureKind, Forest, Learner, ProbabilityColumn, Source, Stratum};

use super::super::proto::{Attribute, Tensor, UINT8};
use super::super::{LearnedTerms, Terms};
use super::{Builder, Number};

/// The operator for trees. The older `TreeEnsembleRegressor` returns sums of doubles as floats.
pub(super) const TREES: &str = "TreeEnsemble";

/// Codes of the tests of nodes.
const AT_MOST: i32 = 0;
const MEMBER: i32 = 6;
/// The code for sums over trees.
const SUM: i64 = 1;

/// The inputs of learners.
pub(super) struct Inputs {
    /// Numeric features, each rows × 1.
    numbers: Vec<String>,
    /// Numeric features and the indices of categories, as doubles; empty if no learner has trees.
    matrix: String,
}

impl Inputs {
    pub(super) fn new(
        builder: &mut Builder,
        terms: &Terms,
        numbers: &[Number],
        categories: &[String],
    ) -> Self {
        let mut columns = Vec::new();
        for (term, number) in terms.numbers.iter().zip(numbers) {
            columns.push(number.scaled.clone());
            if term.indicator.is_some() {
                columns.push(builder.as_double(&number.missing));
            }
        }
        let numbers = columns.clone();
        let mut learners = terms.learned.iter().flat_map(|own| own.learned.learners());
        let mut matrix = String::new();
        if learners.any(|learner| matches!(learner.source, Source::Trees(_))) {
            columns.extend(categories.iter().map(|index| builder.as_double(index)));
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            matrix = builder.side_by_side(&columns);
        }
        Self { numbers, matrix }
    }

    /// Adds the terms of all learned features to the sum of each score.
    pub(super) fn add(&self, builder: &mut Builder, sum: &str, scores: &[&LearnedTerms]) -> String {
        let learned = scores[0].learned;
        // With more than two classes, the probability of each.
        let outcome = match learned.outcome.is_number() {
            true => vec![self.odds(builder, &learned.outcome)],
            false if learned.outcome.n_predictions() > 1 => self.classes(builder, &learned.outcome),
            false => {
                let [_, eta] = self.two_classes(builder, &learned.outcome);
                vec![eta]
            }
        };
        let eta = &outcome[0];
        let one = builder.double(1.0);
        let not_eta = builder.node("Sub", &[&one, eta]);
        // The probability of each class divided by its share.
        let ratios: Vec<Vec<String>> = (learned.groups.iter())
            .map(|group| {
                let probabilities = self.classes(builder, &group.learner);
                let both = probabilities.iter().zip(&group.shares);
                both.map(|(probability, share)| {
                    let share = builder.double(*share);
                    builder.node("Div", &[probability, &share])
                })
                .collect()
            })
            .collect();
        let mut sum = sum.to_owned();
        for (at, feature) in learned.features.iter().enumerate() {
            let mut difference = |learner: usize, class: usize| {
                let group = &learned.groups[learner];
                let ratio = &ratios[learner];
                let pair = [ratio[class].as_str(), ratio[group.reference].as_str()];
                let difference = builder.node("Sub", &pair);
                match group.given {
                    Stratum::All => difference,
                    Stratum::Positive => builder.node("Mul", &[eta, &difference]),
                    Stratum::Negative => builder.node("Mul", &[&not_eta, &difference]),
                    Stratum::Class(class) => {
                        builder.node("Mul", &[&outcome[class as usize], &difference])
                    }
                }
            };
            let value = match feature.kind {
                FeatureKind::Outcome => eta.clone(),
                FeatureKind::Probability { class } => outcome[class].clone(),
                FeatureKind::LogProbability { class } => {
                    let least = builder.double(FeatureKind::LEAST);
                    let clipped = builder.node("Clip", &[&outcome[class], &least, &one]);
                    builder.node("Log", &[&clipped])
                }
                FeatureKind::Group { learner, class } => difference(learner, class),
                FeatureKind::Product { learner, class } => {
                    let difference = difference(learner, class);
                    builder.node("Mul", &[eta, &difference])
                }
            };
            let [shift, factor] = [feature.shift, feature.factor].map(|n| builder.double(n));
            let coefficients = scores.iter().map(|own| own.coefficients[at]).collect();
            let coefficients = builder.per_score(coefficients);
            let centered = builder.node("Sub", &[&value, &shift]);
            let scaled = builder.node("Div", &[&centered, &factor]);
            let products = builder.node("Mul", &[&scaled, &coefficients]);
            sum = builder.node("Add", &[&sum, &products]);
        }
        sum
    }

    fn two_classes(&self, builder: &mut Builder, learner: &Learner) -> [String; 2] {
        let odds = self.odds(builder, learner);
        builder.two_probabilities(&odds)
    }

    /// The probability of each class, rows × 1.
    fn classes(&self, builder: &mut Builder, learner: &Learner) -> Vec<String> {
        let n_outputs = learner.source.n_outputs();
        if n_outputs == 1 {
            return self.two_classes(builder, learner).to_vec();
        }
        let odds = self.odds(builder, learner);
        let all = builder.name();
        let axis = Attribute::int("axis", 1);
        builder.push("Softmax", &[&odds], &all, vec![axis]);
        let classes = 0..n_outputs;
        classes.map(|class| builder.column(&all, class)).collect()
    }

    /// The calibrated scores of a learner, or the numbers that it predicts, rows × outputs.
    fn odds(&self, builder: &mut Builder, learner: &Learner) -> String {
        let raw = match &learner.source {
            Source::Trees(forest) => self.trees(builder, forest),
            Source::Columns(columns) => self.columns(builder, columns),
            Source::Number(column) => self.value(builder, column),
        };
        let slope = builder.double(learner.calibration.slope);
        let intercepts = Tensor::doubles(learner.calibration.intercepts.clone());
        let intercepts = builder.constant(intercepts);
        let scaled = builder.node("Mul", &[&slope, &raw]);
        builder.node("Add", &[&scaled, &intercepts])
    }

    /// The raw scores of columns of probabilities.
    fn columns(&self, builder: &mut Builder, columns: &[ProbabilityColumn]) -> String {
        let least = ProbabilityColumn::LEAST;
        let [low, high, one] = [least, 1.0 - least, 1.0].map(|n| builder.double(n));
        let raw = columns.iter().map(|column| {
            let probability = self.value(builder, column);
            let clipped = builder.node("Clip", &[&probability, &low, &high]);
            if columns.len() > 1 {
                return builder.node("Log", &[&clipped]);
            }
            let rest = builder.node("Sub", &[&one, &clipped]);
            let odds = builder.node("Div", &[&clipped, &rest]);
            builder.node("Log", &[&odds])
        });
        let raw: Vec<String> = raw.collect();
        let raw: Vec<&str> = raw.iter().map(String::as_str).collect();
        builder.side_by_side(&raw)
    }

    /// The value of a column before it was scaled, rows × 1.
    fn value(&self, builder: &mut Builder, column: &ProbabilityColumn) -> String {
        let [shift, factor] = [column.shift, column.factor].map(|n| builder.double(n));
        let number = &self.numbers[column.position];
        let product = builder.node("Mul", &[&factor, number]);
        builder.node("Add", &[&shift, &product])
    }

    /// The raw scores of trees.
    fn trees(&self, builder: &mut Builder, forest: &Forest) -> String {
        let n_outputs = forest.n_outputs();
        let mut base = forest.base.clone();
        let mut nodes = Nodes::default();
        for (t, tree) in forest.trees.iter().enumerate() {
            let output = t % n_outputs;
            if tree.input.is_empty() {
                // Runtimes differ in how they write a tree that is a single leaf.
                base[output] += tree.leaves.first().copied().unwrap_or_default();
                continue;
            }
            let first = nodes.features.len() as i64;
            let first_leaf = nodes.leaves.len() as i64;
            nodes.roots.push(first);
            for (at, input) in tree.input.iter().enumerate() {
                let is_number = (*input as usize) < self.numbers.len();
                nodes.test(*input, is_number, tree.threshold[at], &tree.categories[at]);
                for (side, child) in [tree.left[at], tree.right[at]].into_iter().enumerate() {
                    let (is_leaf, id) = match child < 0 {
                        true => (1, first_leaf + i64::from(!child)),
                        false => (0, first + i64::from(child)),
                    };
                    nodes.children[side].push(id);
                    nodes.are_leaves[side].push(is_leaf);
                }
            }
            nodes.leaves.extend(&tree.leaves);
            let outputs = tree.leaves.iter().map(|_| output as i64);
            nodes.outputs.extend(outputs);
        }
        let base = builder.constant(Tensor::doubles(base));
        let sums = match nodes.roots.is_empty() {
            // A column of zeros gives the base as many rows as the input has.
            true => {
                let zero = builder.double(0.0);
                let any = builder.column(&self.matrix, 0);
                builder.node("Mul", &[&any, &zero])
            }
            false => nodes.push(builder, &self.matrix, n_outputs),
        };
        builder.node("Add", &[&base, &sums])
    }
}

/// All nodes and leaves of a forest.
#[derive(Default)]
struct Nodes {
    roots: Vec<i64>,
    features: Vec<i64>,
    splits: Vec<f64>,
    modes: Vec<i32>,
    /// The categories of all tests of membership, each set with NaN at its end.
    members: Vec<f64>,
    /// Nodes or leaves on the left and on the right.
    children: [Vec<i64>; 2],
    are_leaves: [Vec<i64>; 2],
    leaves: Vec<f64>,
    outputs: Vec<i64>,
}

impl Nodes {
    fn test(&mut self, input: u32, is_number: bool, threshold: f64, categories: &[u32]) {
        self.features.push(i64::from(input));
        let (mode, split) = match (is_number, categories) {
            (true, _) => (AT_MOST, threshold),
            // No index is negative.
            (false, []) => (AT_MOST, -1.0),
            (false, _) => (MEMBER, 0.0),
        };
        self.modes.push(mode);
        self.splits.push(split);
        if mode == MEMBER {
            self.members
                .extend(categories.iter().map(|c| f64::from(*c)));
            self.members.push(f64::NAN);
        }
    }

    /// Adds the operator, which returns rows × outputs.
    fn push(self, builder: &mut Builder, matrix: &str, n_outputs: usize) -> String {
        let [left, right] = self.children;
        let [left_leaves, right_leaves] = self.are_leaves;
        let modes = Tensor {
            dims: vec![self.modes.len() as i64],
            data_type: UINT8,
            int32_data: self.modes,
            ..Tensor::default()
        };
        let mut attributes = vec![
            Attribute::int("aggregate_function", SUM),
            Attribute::ints("leaf_targetids", self.outputs),
            Attribute::tensor("leaf_weights", Tensor::doubles(self.leaves)),
            Attribute::int("n_targets", n_outputs as i64),
            Attribute::ints("nodes_falseleafs", right_leaves),
            Attribute::ints("nodes_falsenodeids", right),
            Attribute::ints("nodes_featureids", self.features),
            Attribute::tensor("nodes_modes", modes),
            Attribute::tensor("nodes_splits", Tensor::doubles(self.splits)),
            Attribute::ints("nodes_trueleafs", left_leaves),
            Attribute::ints("nodes_truenodeids", left),
            Attribute::int("post_transform", 0),
            Attribute::ints("tree_roots", self.roots),
        ];
        if !self.members.is_empty() {
            let members = Tensor::doubles(self.members);
            attributes.push(Attribute::tensor("membership_values", members));
        }
        let name = builder.name();
        builder.push(TREES, &[matrix], &name, attributes);
        name
    }
}
