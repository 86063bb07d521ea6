//! Decisions between classes, counted by class: the sums that tests need.

use serde::{Deserialize, Serialize};

use crate::contrast::Cell;
use crate::decision::Rate;
use crate::{Classes, Schema, Target};

/// Sums of weights by region of rows, class and decision.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ClassTallies {
    n_classes: usize,
    ordered: bool,
    /// For each model and region, Σw of the rows with each pair of class and decision, class by class.
    weights: Vec<Vec<Vec<f64>>>,
    /// Σw² of the same rows; empty if all weights are 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    squares: Vec<Vec<Vec<f64>>>,
}

impl ClassTallies {
    pub(crate) fn new(classes: ClassBits, n_models: usize, n_regions: usize) -> Self {
        let k = classes.n_classes;
        let none = vec![vec![vec![0.0; k * k]; n_regions]; n_models];
        Self {
            n_classes: k,
            ordered: classes.ordered,
            weights: none.clone(),
            squares: none,
        }
    }

    /// Adds Σw and Σw² of rows of a class with a decision.
    pub(crate) fn add(
        &mut self,
        (model, region): (usize, usize),
        (class, decision): (usize, usize),
        sums: [f64; 2],
    ) {
        let at = class * self.n_classes + decision;
        self.weights[model][region][at] += sums[0];
        self.squares[model][region][at] += sums[1];
    }

    /// Drops the squares if they are not needed.
    pub(crate) fn finish(&mut self) {
        if self.weights == self.squares {
            self.squares.clear();
        }
    }

    /// Number of models.
    pub fn n_models(&self) -> usize {
        self.weights.len()
    }

    /// Whether all sums are those of this many models and regions, and of these classes.
    pub fn fits(&self, n_models: usize, n_regions: usize, classes: &Classes) -> bool {
        let n_pairs = classes.len() * classes.len();
        let shape = |of: &[Vec<Vec<f64>>]| {
            let is_sound = |v: &f64| v.is_finite() && *v >= 0.0;
            let of_region = |sums: &Vec<f64>| sums.len() == n_pairs && sums.iter().all(is_sound);
            let of_model =
                |model: &Vec<Vec<f64>>| model.len() == n_regions && model.iter().all(of_region);
            of.len() == n_models && of.iter().all(of_model)
        };
        (self.n_classes, self.ordered) == (classes.len(), classes.ordered)
            && shape(&self.weights)
            && (self.squares.is_empty() || shape(&self.squares))
    }

    /// The cell of a model's rate in a region; without trials for rates of binary decisions.
    pub fn cell(&self, model: usize, rate: Rate, region: usize) -> Cell {
        let (successes, trials) = self.numbers(&self.weights[model][region], rate);
        let squares = self.squares.get(model);
        let (successes_squared, trials_squared) = squares.map_or((successes, trials), |model| {
            self.numbers(&model[region], rate)
        });
        Cell {
            successes,
            trials,
            successes_squared,
            trials_squared,
        }
    }

    /// Successes and trials.
    fn numbers(&self, sums: &[f64], rate: Rate) -> (f64, f64) {
        let k = self.n_classes;
        let (classes, is_success): (_, &dyn Fn(usize, usize) -> bool) = match rate {
            Rate::Accuracy => (0..k, &|class, decision| class == decision),
            Rate::Recall { class } => (class..class + 1, &|class, decision| class == decision),
            Rate::Decided { class, of } => {
                let rows = of.map_or(0..k, |of| of..of + 1);
                match self.ordered {
                    true => (rows, &move |_, decision| decision >= class),
                    false => (rows, &move |_, decision| decision == class),
                }
            }
            Rate::Selection | Rate::FalseNegative | Rate::FalsePositive => return (0.0, 0.0),
        };
        let (mut successes, mut failures) = (0.0, 0.0);
        for class in classes {
            for (decision, sum) in sums[class * k..(class + 1) * k].iter().enumerate() {
                match is_success(class, decision) {
                    true => successes += sum,
                    false => failures += sum,
                }
            }
        }
        (successes, successes + failures)
    }
}

/// How the decisions between classes are stored in bits: a bit for each model and class, class by class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClassBits {
    pub(crate) n_classes: usize,
    pub(crate) ordered: bool,
    /// Distance between the bits of the same model and of neighboring classes.
    pub(crate) stride: usize,
}

impl ClassBits {
    /// `None` if the target has no classes.
    pub(crate) fn of(schema: &Schema, stride: usize) -> Option<Self> {
        let classes = schema.target.classes()?;
        Some(Self {
            n_classes: classes.len(),
            ordered: classes.ordered,
            stride,
        })
    }
}

/// Number of bits per row and model.
pub(crate) fn bits_per_model(schema: &Schema) -> usize {
    schema.target.classes().map_or(1, Classes::len)
}

/// The place of a label in sums by label: its class, or 1 if it is positive and 0 otherwise.
pub(crate) fn label_place(target: &Target, label: f64) -> usize {
    match target {
        Target::Classes(_) => label as usize,
        Target::Binary | Target::Number(_) => usize::from(label > 0.0),
    }
}
