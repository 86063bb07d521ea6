//! A graph for ONNX runtimes, from raw columns to decisions or predicted numbers. It uses doubles throughout,
//! and adds terms in the same order as our own kernels.

mod learned;
mod network;

use std::collections::BTreeSet;

use fairfront_core::{Calibration, Classes, Unit};
use prost::Message;

use self::learned::Inputs;
use super::proto::{
    Attribute, DOUBLE, Graph, INT64, Model as Proto, Node, OperatorSet, Property, STRING, Tensor,
    ValueInfo,
};
use super::{CategoryTerm, LearnedTerms, NumberTerm, Terms, missing_strings, spellings};
use crate::model::Results;
use crate::{Error, Model};

/// Old enough for every runtime in use, and new enough for doubles in all required operators.
const PLAIN: Version = Version { ir: 7, ml: 2 };
/// The first version with trees whose sums are doubles.
const WITH_TREES: Version = Version { ir: 10, ml: 5 };
const ML: &str = "ai.onnx.ml";
/// The outputs of models that decide.
const DECISION_OUTPUTS: [&str; 3] = ["label", "probabilities", "score"];
const ML_OPERATORS: [&str; 2] = ["LabelEncoder", learned::TREES];

/// Versions of the format, and of its operators for machine learning.
struct Version {
    ir: i64,
    ml: i64,
}

pub(super) fn write(model: &Model) -> Result<Vec<u8>, Error> {
    let scores = match model.encoding.hidden {
        0 => Terms::of_scores(model),
        _ => Terms::of_units(model),
    };
    // `Model::check` ensures that there is a score.
    let Some(terms) = scores.first() else {
        return Err(Error::data("the model has no score"));
    };
    let columns = terms.columns();
    if columns.is_empty() {
        let problem = "an ONNX graph needs columns, but this model does not read any; choose another \
                       format";
        return Err(Error::Data(problem.into()));
    }
    if columns.contains("") {
        let problem = "an ONNX graph needs a name for each column, but a column of this model has none; \
                       name it and fit again, or choose another format";
        return Err(Error::Data(problem.into()));
    }
    let mut builder = Builder {
        graph: Graph {
            name: "fairfront".into(),
            ..Graph::default()
        },
        columns,
        names: 0,
    };
    let missing_numbers = model.reading.missing_numbers();
    let missing_strings = spellings(&missing_strings(&model.reading));
    let numbers = terms.numbers.iter();
    let numbers: Vec<Number> = numbers
        .map(|term| builder.number(term, &missing_numbers))
        .collect();
    let categories = terms.categories.iter();
    let categories: Vec<String> = categories
        .map(|term| builder.category(term, &missing_strings))
        .collect();
    let sum = match model.encoding.hidden {
        0 => {
            let intercepts = model.intercept.values().into_iter().copied().collect();
            builder.sums(intercepts, &scores, &numbers, &categories)
        }
        _ => builder.network(model, &scores, &numbers, &categories),
    };
    builder.results(model, terms, &sum);
    let has_trees = builder
        .graph
        .node
        .iter()
        .any(|n| n.op_type == learned::TREES);
    let version = if has_trees { WITH_TREES } else { PLAIN };
    let program = env!("CARGO_PKG_VERSION");
    let proto = Proto {
        ir_version: version.ir,
        producer_name: "fairfront".into(),
        producer_version: program.into(),
        doc_string: model.title(),
        graph: Some(builder.graph),
        opset_import: [("", 13), (ML, version.ml)]
            .map(|(domain, version)| OperatorSet {
                domain: domain.into(),
                version,
            })
            .to_vec(),
        metadata_props: properties(model),
    };
    Ok(proto.encode_to_vec())
}

fn properties(model: &Model) -> Vec<Property> {
    let from = &model.provenance;
    let mut properties = vec![
        ("run", from.run.clone()),
        ("model_id", from.model_id.to_string()),
        ("models", from.models.to_string()),
        ("source", from.source.clone()),
        ("program", from.program.clone()),
        ("solver", from.solver.clone()),
        ("seed", from.seed.to_string()),
        ("objectives", from.objectives.join("; ")),
        ("fingerprint", from.fingerprint.clone()),
        ("front_sha256", from.front_sha256.clone()),
    ];
    if let Some(target) = &model.encoding.target {
        properties.push(("target", target.column.clone()));
    }
    match model.results() {
        Results::Decisions {
            threshold,
            calibration: Calibration { slope, intercept },
        } => {
            let target = model.encoding.target.as_ref();
            properties.extend(target.map(|target| ("positive", target.positive_text())));
            properties.extend([
                ("threshold", threshold.to_string()),
                ("calibration.slope", slope.to_string()),
                ("calibration.intercept", intercept.to_string()),
            ]);
        }
        Results::Classes { classes, factor } => properties.extend([
            ("classes", serde_json::json!(classes.names).to_string()),
            ("ordered", classes.ordered.to_string()),
            ("calibration.slope", factor.to_string()),
        ]),
        Results::Numbers(unit) => properties.extend([
            ("target.center", unit.center.to_string()),
            ("target.scale", unit.scale.to_string()),
        ]),
    }
    let property = |(key, value): (&str, String)| Property {
        key: format!("fairfront.{key}"),
        value,
    };
    properties.into_iter().map(property).collect()
}

/// The values of a numeric column.
struct Number {
    scaled: String,
    /// Whether the value is missing.
    missing: String,
}

/// A graph under construction. Values that are not columns are called `#1`, `#2`, …
struct Builder<'a> {
    graph: Graph,
    columns: BTreeSet<&'a str>,
    names: usize,
}

impl Builder<'_> {
    fn name(&mut self) -> String {
        loop {
            self.names += 1;
            let name = format!("#{}", self.names);
            if !self.columns.contains(name.as_str()) {
                return name;
            }
        }
    }

    fn constant(&mut self, tensor: Tensor) -> String {
        let name = self.name();
        self.graph.initializer.push(Tensor {
            name: name.clone(),
            ..tensor
        });
        name
    }

    fn double(&mut self, value: f64) -> String {
        self.constant(Tensor {
            data_type: DOUBLE,
            double_data: vec![value],
            ..Tensor::default()
        })
    }

    /// Adds a node, and returns the name of its result.
    fn node(&mut self, op: &str, input: &[&str]) -> String {
        let name = self.name();
        self.push(op, input, &name, Vec::new());
        name
    }

    fn push(&mut self, op: &str, input: &[&str], output: &str, attribute: Vec<Attribute>) {
        let domain = if ML_OPERATORS.contains(&op) { ML } else { "" };
        self.graph.node.push(Node {
            input: input.iter().map(|&name| name.to_owned()).collect(),
            output: vec![output.to_owned()],
            op_type: op.into(),
            attribute,
            domain: domain.into(),
        });
    }

    /// Adds the input of a numeric column.
    fn number(&mut self, term: &NumberTerm, missing_numbers: &[f64]) -> Number {
        let rule = term.rule;
        let about = match rule.date {
            None => "numbers; NaN is missing",
            Some(_) => "dates as days since 1970-01-01; NaN is missing",
        };
        let input = ValueInfo::rows(&rule.column, DOUBLE, Some(1), about);
        self.graph.input.push(input);
        let mut missing = self.node("IsNaN", &[&rule.column]);
        for number in missing_numbers {
            let number = self.double(*number);
            let equal = self.node("Equal", &[&rule.column, &number]);
            missing = self.node("Or", &[&missing, &equal]);
        }
        let [mean, shift, factor] = [rule.mean, rule.shift, rule.factor].map(|n| self.double(n));
        let present = self.node("Where", &[&missing, &mean, &rule.column]);
        let centered = self.node("Sub", &[&present, &shift]);
        let scaled = self.node("Div", &[&centered, &factor]);
        Number { scaled, missing }
    }

    /// Sums that are linear in the features, rows × scores.
    fn sums(
        &mut self,
        intercepts: Vec<f64>,
        scores: &[Terms],
        numbers: &[Number],
        categories: &[String],
    ) -> String {
        let mut sum = self.per_score(intercepts);
        let learned = LearnedTerms::of_scores(scores);
        let has_learners = !learned.is_empty();
        for (at, number) in numbers.iter().enumerate() {
            let terms: Vec<&NumberTerm> = scores.iter().map(|own| &own.numbers[at]).collect();
            if !(has_learners && terms.iter().all(|term| term.is_zero())) {
                sum = self.add_number(&sum, &terms, number);
            }
        }
        if has_learners {
            let inputs = Inputs::new(self, &scores[0], numbers, categories);
            sum = inputs.add(self, &sum, &learned);
        }
        for (at, index) in categories.iter().enumerate() {
            let terms: Vec<&CategoryTerm> = scores.iter().map(|own| &own.categories[at]).collect();
            if !(has_learners && terms.iter().all(|term| term.is_zero())) {
                sum = self.add_category(&sum, &terms, index);
            }
        }
        sum
    }

    /// A constant for each score: a number, or a row.
    fn per_score(&mut self, values: Vec<f64>) -> String {
        match values.as_slice() {
            [value] => self.double(*value),
            _ => self.matrix(1, values),
        }
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

    /// Adds the terms of a numeric column to the sum of each score.
    fn add_number(&mut self, sum: &str, terms: &[&NumberTerm], number: &Number) -> String {
        let coefficients = terms.iter().map(|term| term.coefficient).collect();
        let coefficients = self.per_score(coefficients);
        let products = self.node("Mul", &[&number.scaled, &coefficients]);
        let sum = self.node("Add", &[sum, &products]);
        let indicators: Option<Vec<f64>> = terms.iter().map(|term| term.indicator).collect();
        let Some(indicators) = indicators else {
            return sum;
        };
        let indicators = self.per_score(indicators);
        let zero = self.double(0.0);
        let added = self.node("Where", &[&number.missing, &indicators, &zero]);
        self.node("Add", &[&sum, &added])
    }

    /// Adds the input of a categorical column, and returns the index of its string.
    fn category(&mut self, term: &CategoryTerm, missing_strings: &BTreeSet<String>) -> String {
        let about = "strings without surrounding spaces; an empty string is missing";
        let input = ValueInfo::rows(term.column, STRING, Some(1), about);
        self.graph.input.push(input);
        let named = term.named.iter();
        let mut strings: Vec<(String, usize)> = named.map(|(t, i)| ((*t).to_owned(), *i)).collect();
        strings.push((String::new(), term.missing));
        if term.missing != term.unnamed {
            let missing = missing_strings.iter();
            strings.extend(missing.map(|text| (text.clone(), term.missing)));
        }
        let (keys, values) = strings.into_iter().map(|(t, i)| (t, i as i64)).unzip();
        let attributes = vec![
            Attribute::strings("keys_strings", keys),
            Attribute::ints("values_int64s", values),
            Attribute::int("default_int64", term.unnamed as i64),
        ];
        let index = self.name();
        self.push("LabelEncoder", &[term.column], &index, attributes);
        index
    }

    /// Adds the terms of a categorical column to the sum of each score.
    fn add_category(&mut self, sum: &str, terms: &[&CategoryTerm], index: &str) -> String {
        let added = match terms {
            [term] => {
                let coefficients = self.constant(Tensor::doubles(term.coefficients.clone()));
                self.node("Gather", &[&coefficients, index])
            }
            _ => {
                let n = terms.iter().map(|term| term.coefficients.len()).min();
                let n = n.unwrap_or(0);
                let of = |category: usize| {
                    let terms = terms.iter();
                    terms.map(move |term| term.coefficients[category])
                };
                let coefficients = self.matrix(n, (0..n).flat_map(of).collect());
                let flat = self.all_rows();
                let index = self.node("Reshape", &[index, &flat]);
                self.node("Gather", &[&coefficients, &index])
            }
        };
        self.node("Add", &[sum, &added])
    }

    /// The shape of a vector with as many elements as the reshaped tensor.
    fn all_rows(&mut self) -> String {
        self.constant(Tensor {
            dims: vec![1],
            data_type: INT64,
            int64_data: vec![-1],
            ..Tensor::default()
        })
    }

    fn as_double(&mut self, value: &str) -> String {
        let name = self.name();
        let to = Attribute::int("to", DOUBLE.into());
        self.push("Cast", &[value], &name, vec![to]);
        name
    }

    /// One matrix of several.
    fn side_by_side(&mut self, columns: &[&str]) -> String {
        let name = self.name();
        let axis = Attribute::int("axis", 1);
        self.push("Concat", columns, &name, vec![axis]);
        name
    }

    /// A column of a matrix, as a matrix.
    fn column(&mut self, matrix: &str, at: usize) -> String {
        let index = self.constant(Tensor {
            dims: vec![1],
            data_type: INT64,
            int64_data: vec![at as i64],
            ..Tensor::default()
        });
        let name = self.name();
        let axis = Attribute::int("axis", 1);
        self.push("Gather", &[matrix, &index], &name, vec![axis]);
        name
    }

    /// 1 / (1 + exp(±odds)): the probabilities of the negative and the positive class. Small ones keep
    /// their digits because neither is computed from the other.
    fn two_probabilities(&mut self, odds: &str) -> [String; 2] {
        let minus = self.node("Neg", &[odds]);
        let one = self.double(1.0);
        [odds, minus.as_str()].map(|exponent| {
            let power = self.node("Exp", &[exponent]);
            let more = self.node("Add", &[&one, &power]);
            self.node("Div", &[&one, &more])
        })
    }

    fn results(&mut self, model: &Model, terms: &Terms, sum: &str) {
        self.graph.output = match model.results() {
            Results::Numbers(unit) => {
                let names = terms.results(["prediction".into()]);
                self.predictions(unit, &names[0], sum)
            }
            Results::Classes { classes, factor } => {
                let names = terms.results(DECISION_OUTPUTS.map(Into::into));
                self.classes(classes, factor, &names, sum)
            }
            Results::Decisions {
                threshold,
                calibration,
            } => {
                let names = terms.results(DECISION_OUTPUTS.map(Into::into));
                self.decisions(threshold, calibration, &names, sum)
            }
        };
    }

    /// Adds an output with the single column of a matrix.
    fn flat(&mut self, matrix: &str, output: &str) {
        let flat = self.all_rows();
        self.push("Reshape", &[matrix, &flat], output, Vec::new());
    }

    fn predictions(&mut self, unit: &Unit, prediction: &str, sum: &str) -> Vec<ValueInfo> {
        let [center, scale] = [unit.center, unit.scale].map(|n| self.double(n));
        let scaled = self.node("Mul", &[&scale, sum]);
        let numbers = self.node("Add", &[&center, &scaled]);
        self.flat(&numbers, prediction);
        let about = "the prediction in the unit of the target";
        vec![ValueInfo::rows(prediction, DOUBLE, None, about)]
    }

    fn decisions(
        &mut self,
        threshold: f64,
        calibration: Calibration,
        names: &[String],
        sum: &str,
    ) -> Vec<ValueInfo> {
        let [label, probabilities, score] = names else {
            return Vec::new();
        };
        self.flat(sum, score);

        let threshold = self.double(threshold);
        let decision = self.node("GreaterOrEqual", &[score, &threshold]);
        let to = Attribute::int("to", INT64.into());
        self.push("Cast", &[&decision], label, vec![to]);

        let [slope, intercept] = [calibration.slope, calibration.intercept].map(|n| self.double(n));
        let scaled = self.node("Mul", &[&slope, sum]);
        let odds = self.node("Add", &[&scaled, &intercept]);
        let [negative, positive] = self.two_probabilities(&odds);
        let axis = Attribute::int("axis", 1);
        let both = [negative.as_str(), positive.as_str()];
        self.push("Concat", &both, probabilities, vec![axis]);

        let about = "1 if the score is at least the threshold";
        let about_both = "probabilities of the negative and the positive value";
        vec![
            ValueInfo::rows(label, INT64, None, about),
            ValueInfo::rows(probabilities, DOUBLE, Some(2), about_both),
            ValueInfo::rows(score, DOUBLE, None, "the score"),
        ]
    }

    /// The outputs of a model of more than two classes, from its scores, rows × classes.
    fn classes(
        &mut self,
        classes: &Classes,
        factor: f64,
        names: &[String],
        sums: &str,
    ) -> Vec<ValueInfo> {
        let [label, probabilities, score] = names else {
            return Vec::new();
        };
        self.push("Identity", &[sums], score, Vec::new());

        // The first class of the highest score.
        let highest = self.name();
        let along = vec![Attribute::int("axis", 1), Attribute::int("keepdims", 0)];
        self.push("ArgMax", &[sums], &highest, along);
        let positions = (0..classes.len() as i64).collect();
        let to_names = vec![
            Attribute::ints("keys_int64s", positions),
            Attribute::strings("values_strings", classes.names.clone()),
        ];
        self.push("LabelEncoder", &[&highest], label, to_names);

        let factor = self.double(factor);
        let scaled = self.node("Mul", &[&factor, sums]);
        let axis = Attribute::int("axis", 1);
        self.push("Softmax", &[&scaled], probabilities, vec![axis]);

        let width = Some(classes.len() as i64);
        vec![
            ValueInfo::rows(label, STRING, None, "the class of the highest score"),
            ValueInfo::rows(
                probabilities,
                DOUBLE,
                width,
                "the probability of each class",
            ),
            ValueInfo::rows(score, DOUBLE, width, "the score of each class"),
        ]
    }
}
