//! The graph of a network: the terms of all hidden units side by side, their hyperbolic tangents, and the
//! weighted sum of these.

use super::super::Terms;
use super::{Builder, Number};
use crate::Model;

impl Builder<'_> {
    /// The score of a network.
    pub(super) fn network(
        &mut self,
        model: &Model,
        units: &[Terms],
        numbers: &[Number],
        categories: &[String],
    ) -> String {
        let (_, outputs, biases) = model.of_network();
        let inputs = self.sums(biases, units, numbers, categories);
        let activations = self.node("Tanh", &[&inputs]);
        let outputs = self.matrix(units.len(), outputs);
        let sum = self.node("MatMul", &[&activations, &outputs]);
        // A network has a single score.
        let intercepts = model.intercept.values().into_iter().copied().collect();
        let intercept = self.per_score(intercepts);
        self.node("Add", &[&sum, &intercept])
    }
}
