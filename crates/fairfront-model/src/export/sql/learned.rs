//! The learned features of a model in SQL.
//!
//! Their sum is a scalar subquery, so that no intermediate value becomes a column of the result. Each
//! level computes values from those of the level inside it: encoded columns, calibrated scores of
//! learners, probabilities, and the sum. LIMIT keeps databases from merging the levels, which would
//! compute the trees again for each use of a score.

use std::fmt::Write as _;

use fairfront_learn::{FeatureKind, Forest, Learner, ProbabilityColumn, Source, Stratum, Tree};

use super::super::{LearnedTerms, Terms};
use super::{category, literal, number, softmax};

/// The encoded columns.
pub(super) struct Columns {
    /// The expressions of numeric features, then of the indices of categories.
    expressions: Vec<String>,
    n_numeric: usize,
    /// A prefix that no column of the table has, for the names of intermediate values.
    prefix: String,
}

pub(super) fn columns(
    terms: &Terms,
    missing_numbers: &[String],
    missing_strings: &[&str],
) -> Columns {
    let mut expressions = Vec::new();
    for term in &terms.numbers {
        let (scaled, present) = number(term.rule, missing_numbers);
        expressions.push(scaled);
        if term.indicator.is_some() {
            expressions.push(format!("CASE WHEN {present} THEN 0e0 ELSE 1e0 END"));
        }
    }
    let n_numeric = expressions.len();
    for term in &terms.categories {
        expressions.push(category(term, missing_strings, |index| index.to_string()));
    }
    // Some databases would look up a name among the values of the same level.
    let mut prefix = String::new();
    let starts = |column: &&str, prefix: &str| {
        let start = column.get(..prefix.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    let names = terms.columns();
    while ["x", "z", "p"]
        .iter()
        .any(|kind| names.iter().any(|c| starts(c, &format!("{prefix}{kind}"))))
    {
        prefix.push('_');
    }
    Columns {
        expressions,
        n_numeric,
        prefix,
    }
}

/// Adds the terms of all learned features to `sum`.
pub(super) fn add(sum: &mut String, terms: &LearnedTerms, columns: &Columns) {
    let learned = terms.learned;
    let prefix = &columns.prefix;
    // Names of values are x1, …; z0_0, … of learner and output; and p0_0, … of learner and class.
    let inputs: Vec<String> = (0..columns.expressions.len())
        .map(|at| format!("{prefix}x{at}"))
        .collect();
    let score = |learner: usize, output: usize| format!("{prefix}z{learner}_{output}");
    let probability = |learner: usize, class: usize| format!("{prefix}p{learner}_{class}");

    let encoded = columns.expressions.iter().zip(&inputs);
    let encoded = encoded.map(|(expression, name)| format!("{expression} AS {name}"));

    let mut scores = Vec::new();
    let mut probabilities = Vec::new();
    for (at, learner) in learned.learners().enumerate() {
        let names: Vec<String> = (0..learner.source.n_outputs())
            .map(|output| score(at, output))
            .collect();
        let raw = raw_scores(learner, &inputs, columns.n_numeric);
        let slope = literal(learner.calibration.slope);
        let both = raw.iter().zip(&learner.calibration.intercepts);
        for ((raw, intercept), name) in both.zip(&names) {
            let intercept = literal(*intercept);
            scores.push(format!("{slope} * ({raw}) + {intercept} AS {name}"));
        }
        let classes: Vec<usize> = match at {
            0 if learner.n_predictions() > 1 => (0..learner.n_predictions()).collect(),
            0 => vec![1],
            _ => terms.classes(at - 1).into_iter().collect(),
        };
        for class in classes {
            let value = match learner.is_number() {
                true => names[0].clone(),
                false => class_probability(&names, class),
            };
            probabilities.push(format!("{value} AS {}", probability(at, class)));
        }
    }

    let eta = probability(0, 1);
    let difference = |learner: usize, class: usize| {
        let group = &learned.groups[learner];
        let [own, reference] = [class, group.reference].map(|class| {
            let share = literal(group.shares[class]);
            format!("{} / {share}", probability(learner + 1, class))
        });
        let difference = format!("({own} - {reference})");
        match group.given {
            Stratum::All => difference,
            Stratum::Positive => format!("{eta} * {difference}"),
            Stratum::Negative => format!("(1e0 - {eta}) * {difference}"),
            Stratum::Class(class) => format!("{} * {difference}", probability(0, class as usize)),
        }
    };
    let values = terms.features().map(|(feature, coefficient)| {
        let value = match feature.kind {
            FeatureKind::Outcome => eta.clone(),
            FeatureKind::Probability { class } => probability(0, class),
            FeatureKind::LogProbability { class } => {
                let (own, least) = (probability(0, class), literal(FeatureKind::LEAST));
                format!("LN(CASE WHEN {own} < {least} THEN {least} ELSE {own} END)")
            }
            FeatureKind::Group { learner, class } => difference(learner, class),
            FeatureKind::Product { learner, class } => {
                format!("{eta} * {}", difference(learner, class))
            }
        };
        let [shift, factor, coefficient] =
            [feature.shift, feature.factor, coefficient].map(literal);
        format!("({value} - {shift}) / {factor} * {coefficient}")
    });
    let listed = |values: Vec<String>, indent: &str| values.join(&format!(",\n{indent}"));
    let _ = write!(
        sum,
        "    + (
      SELECT {}
      FROM (
        SELECT
          {}
        FROM (
          SELECT
            {}
          FROM (
            SELECT
              {}
            LIMIT 1
          ) AS encoded
          LIMIT 1
        ) AS learners
        LIMIT 1
      ) AS probabilities
      LIMIT 1
    )
",
        values.collect::<Vec<_>>().join("\n        + "),
        listed(probabilities, "          "),
        listed(scores, "            "),
        listed(encoded.collect(), "              "),
    );
}

/// The probability of a class from the scores of the classes, or from the log odds of the second class.
fn class_probability(scores: &[String], class: usize) -> String {
    if let [odds] = scores {
        let (minus, sign) = if class == 1 { ("-", "") } else { ("", "-") };
        // Above 700, exp overflows, which is an error in PostgreSQL.
        return format!(
            "CASE WHEN {sign}{odds} > 700 THEN 1e0 WHEN {sign}{odds} < -700 THEN 0e0 \
             ELSE 1e0 / (1e0 + EXP({minus}{odds})) END"
        );
    }
    softmax(scores, class, 1.0)
}

/// The raw scores of a learner.
fn raw_scores(learner: &Learner, inputs: &[String], n_numeric: usize) -> Vec<String> {
    match &learner.source {
        Source::Trees(forest) => raw_trees(forest, inputs, n_numeric),
        Source::Columns(columns) => {
            let raw = columns.iter();
            raw.map(|column| raw_column(column, &inputs[column.position], columns.len()))
                .collect()
        }
        Source::Number(column) => vec![value_of(column, &inputs[column.position])],
    }
}

/// The value of a column before it was scaled.
fn value_of(column: &ProbabilityColumn, input: &str) -> String {
    let [shift, factor] = [column.shift, column.factor].map(literal);
    format!("({shift} + {factor} * {input})")
}

fn raw_column(column: &ProbabilityColumn, input: &str, n_columns: usize) -> String {
    let (low, high) = (ProbabilityColumn::LEAST, 1.0 - ProbabilityColumn::LEAST);
    let p = value_of(column, input);
    let (value, least, most) = match n_columns {
        1 => (
            format!("LN({p} / (1e0 - {p}))"),
            libm::log(low / (1.0 - low)),
            libm::log(high / (1.0 - high)),
        ),
        _ => (format!("LN({p})"), libm::log(low), libm::log(high)),
    };
    let [low, high, least, most] = [low, high, least, most].map(literal);
    format!("CASE WHEN {p} < {low} THEN {least} WHEN {p} > {high} THEN {most} ELSE {value} END")
}

fn raw_trees(forest: &Forest, inputs: &[String], n_numeric: usize) -> Vec<String> {
    let n_outputs = forest.n_outputs();
    let outputs = forest.base.iter().enumerate();
    outputs
        .map(|(output, base)| {
            let trees = forest.trees.iter().skip(output).step_by(n_outputs);
            let trees = trees.map(|tree| Cases::of(tree, inputs, n_numeric));
            let terms: Vec<String> = std::iter::once(literal(*base)).chain(trees).collect();
            balanced(&terms)
        })
        .collect()
}

/// A sum in which parentheses nest only as deep as the logarithm of the number of terms, because
/// databases limit the depth of expressions.
fn balanced(terms: &[String]) -> String {
    match terms {
        [] => "0e0".into(),
        [term] => term.clone(),
        _ => {
            let (left, right) = terms.split_at(terms.len() / 2);
            format!("({}\n              + {})", balanced(left), balanced(right))
        }
    }
}

/// Writes a tree as nested CASE expressions.
struct Cases<'a> {
    tree: &'a Tree,
    inputs: &'a [String],
    n_numeric: usize,
    /// Number of leaves below each inner node.
    leaves: Vec<usize>,
}

impl<'a> Cases<'a> {
    fn of(tree: &'a Tree, inputs: &'a [String], n_numeric: usize) -> String {
        if tree.input.is_empty() {
            return literal(tree.leaves.first().copied().unwrap_or_default());
        }
        let mut leaves = vec![0; tree.input.len()];
        // Children come after their parents.
        for at in (0..leaves.len()).rev() {
            let below = |child: i32| usize::try_from(child).map_or(1, |child| leaves[child]);
            leaves[at] = below(tree.left[at]) + below(tree.right[at]);
        }
        let cases = Self {
            tree,
            inputs,
            n_numeric,
            leaves,
        };
        let mut text = String::new();
        cases.write(&mut text, 0);
        text
    }

    /// Writes the part of the tree below a child. One CASE follows the larger child of each node, and
    /// only smaller ones are nested. So the depth is at most the logarithm of the number of leaves.
    fn write(&self, text: &mut String, mut child: i32) {
        let Tree { left, right, .. } = self.tree;
        let Ok(_) = usize::try_from(child) else {
            text.push_str(&self.leaf(child));
            return;
        };
        text.push_str("CASE");
        while let Ok(node) = usize::try_from(child) {
            let is_left_smaller = self.n_leaves(left[node]) <= self.n_leaves(right[node]);
            let (smaller, larger) = match is_left_smaller {
                true => (left[node], right[node]),
                false => (right[node], left[node]),
            };
            let _ = write!(text, " WHEN {} THEN ", self.test(node, is_left_smaller));
            self.write(text, smaller);
            child = larger;
        }
        let _ = write!(text, " ELSE {} END", self.leaf(child));
    }

    fn leaf(&self, child: i32) -> String {
        let at = usize::try_from(!child).unwrap_or_default();
        literal(self.tree.leaves[at])
    }

    fn n_leaves(&self, child: i32) -> usize {
        usize::try_from(child).map_or(1, |child| self.leaves[child])
    }

    /// The condition that a row goes left, or right.
    fn test(&self, node: usize, left: bool) -> String {
        let input = self.tree.input[node] as usize;
        let name = &self.inputs[input];
        if input < self.n_numeric {
            let sign = if left { "<=" } else { ">" };
            return format!("{name} {sign} {}", literal(self.tree.threshold[node]));
        }
        let categories = &self.tree.categories[node];
        match (categories.is_empty(), left) {
            (true, true) => "1 = 0".into(),
            (true, false) => "1 = 1".into(),
            (false, _) => {
                let not = if left { "" } else { "NOT " };
                let categories: Vec<String> = categories.iter().map(u32::to_string).collect();
                format!("{name} {not}IN ({})", categories.join(", "))
            }
        }
    }
}
