//! The graph of a network: the terms of all hidden units side by side, their hyperbolic tangents, and the
//! weighted sum of these.

use super::super::Terms;
use super::super::proto::{DOUBLE, INT64, Tensor};
use super::{Builder, Number};
use crate::Model;

impl Builder<'_> {
    /// The score of a network.
    pub(super) fn network(
        &mut self,
        model: &Model,
        numbers: &[Number],
        categories: &[String],
    ) -> String {
        let hidden = model.encoding.hidden as usize;
        let units: Vec<Terms> = (0..hidden)
            .map(|unit| Terms::of_unit(model, unit))
            .collect();
        // Weights of outputs and biases of hidden units follow those of the features.
        let n_weights = hidden * model.encoding.schema().n_features();
        let rest = model.coefficients.0.iter().skip(n_weights);
        let rest: Vec<f64> = rest.map(|(_, value)| *value).collect();
        let (outputs, biases) = rest.split_at(hidden);

        let mut inputs = self.matrix(1, biases.to_vec());
        for (at, number) in numbers.iter().enumerate() {
            let weights = units.iter().map(|terms| terms.numbers[at].coefficient);
            let weights = self.matrix(1, weights.collect());
            let products = self.node("Mul", &[&number.scaled, &weights]);
            inputs = self.node("Add", &[&inputs, &products]);
            let indicators: Option<Vec<f64>> = units
                .iter()
                .map(|terms| terms.numbers[at].indicator)
                .collect();
            if let Some(indicators) = indicators {
                let indicators = self.matrix(1, indicators);
                inputs = self.add_if_missing(&inputs, number, &indicators);
            }
        }
        let flat = self.constant(Tensor {
            dims: vec![1],
            data_type: INT64,
            int64_data: vec![-1],
            ..Tensor::default()
        });
        for (at, index) in categories.iter().enumerate() {
            let n = units[0].categories[at].coefficients.len();
            let of = |category: usize| {
                let units = units.iter();
                units.map(move |terms| terms.categories[at].coefficients[category])
            };
            let weights = self.matrix(n, (0..n).flat_map(of).collect());
            let index = self.node("Reshape", &[index, &flat]);
            let added = self.node("Gather", &[&weights, &index]);
            inputs = self.node("Add", &[&inputs, &added]);
        }
        let activations = self.node("Tanh", &[&inputs]);
        let outputs = self.matrix(hidden, outputs.to_vec());
        let sum = self.node("MatMul", &[&activations, &outputs]);
        let intercept = self.double(model.intercept);
        self.node("Add", &[&sum, &intercept])
    }

    /// A constant matrix with this many rows.
    fn matrix(&mut self, rows: usize, values: Vec<f64>) -> String {
        self.constant(Tensor {
            dims: vec![rows as i64, (values.len() / rows.max(1)) as i64],
            data_type: DOUBLE,
            double_data: values,
            ..Tensor::default()
        })
    }
}
