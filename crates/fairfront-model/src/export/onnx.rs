//! A graph for ONNX runtimes, from raw columns to decisions. It uses doubles throughout, and adds terms in
//! the same order as our own kernels.

use std::collections::BTreeSet;

use prost::Message;

use super::proto::{
    Attribute, DOUBLE, Graph, INT64, Model as Proto, Node, OperatorSet, Property, STRING, Tensor,
    ValueInfo,
};
use super::{CategoryTerm, NumberTerm, Terms, missing_strings, spellings};
use crate::{Error, Model};

/// Old enough for every runtime in use, and new enough for doubles in all required operators.
const IR_VERSION: i64 = 7;
const OPERATORS: [(&str, i64); 2] = [("", 13), (ML, 2)];
const ML: &str = "ai.onnx.ml";

pub(super) fn write(model: &Model) -> Result<Vec<u8>, Error> {
    let terms = Terms::of(model);
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
    let mut sum = builder.double(model.intercept);
    for term in &terms.numbers {
        sum = builder.number(&sum, term, &missing_numbers);
    }
    for term in &terms.categories {
        sum = builder.category(&sum, term, &missing_strings);
    }
    builder.results(model, &terms, &sum);
    let program = env!("CARGO_PKG_VERSION");
    let proto = Proto {
        ir_version: IR_VERSION,
        producer_name: "fairfront".into(),
        producer_version: program.into(),
        doc_string: model.title(),
        graph: Some(builder.graph),
        opset_import: OPERATORS
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
        ("threshold", model.threshold.to_string()),
        ("calibration.slope", model.calibration.slope.to_string()),
        (
            "calibration.intercept",
            model.calibration.intercept.to_string(),
        ),
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
        properties.push(("positive", target.positive_text()));
    }
    let property = |(key, value): (&str, String)| Property {
        key: format!("fairfront.{key}"),
        value,
    };
    properties.into_iter().map(property).collect()
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
        let domain = if op == "LabelEncoder" { ML } else { "" };
        self.graph.node.push(Node {
            input: input.iter().map(|&name| name.to_owned()).collect(),
            output: vec![output.to_owned()],
            op_type: op.into(),
            attribute,
            domain: domain.into(),
        });
    }

    /// Adds the term of a numeric column to `sum`.
    fn number(&mut self, sum: &str, term: &NumberTerm, missing_numbers: &[f64]) -> String {
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
        let [mean, shift, factor, coefficient] =
            [rule.mean, rule.shift, rule.factor, term.coefficient].map(|n| self.double(n));
        let present = self.node("Where", &[&missing, &mean, &rule.column]);
        let centered = self.node("Sub", &[&present, &shift]);
        let scaled = self.node("Div", &[&centered, &factor]);
        let product = self.node("Mul", &[&scaled, &coefficient]);
        let sum = self.node("Add", &[sum, &product]);
        let Some(indicator) = term.indicator else {
            return sum;
        };
        let [indicator, zero] = [indicator, 0.0].map(|n| self.double(n));
        let added = self.node("Where", &[&missing, &indicator, &zero]);
        self.node("Add", &[&sum, &added])
    }

    /// Adds the term of a categorical column to `sum`.
    fn category(
        &mut self,
        sum: &str,
        term: &CategoryTerm,
        missing_strings: &BTreeSet<String>,
    ) -> String {
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
        let coefficients = self.constant(Tensor {
            dims: vec![term.coefficients.len() as i64],
            data_type: DOUBLE,
            double_data: term.coefficients.clone(),
            ..Tensor::default()
        });
        let added = self.node("Gather", &[&coefficients, &index]);
        self.node("Add", &[sum, &added])
    }

    fn results(&mut self, model: &Model, terms: &Terms, sum: &str) {
        let [label, probabilities, score] =
            ["label", "probabilities", "score"].map(|name| terms.result(name));
        let flat = self.constant(Tensor {
            dims: vec![1],
            data_type: INT64,
            int64_data: vec![-1],
            ..Tensor::default()
        });
        self.push("Reshape", &[sum, &flat], &score, Vec::new());

        let threshold = self.double(model.threshold);
        let decision = self.node("GreaterOrEqual", &[&score, &threshold]);
        let to = Attribute::int("to", INT64.into());
        self.push("Cast", &[&decision], &label, vec![to]);

        let [slope, intercept] =
            [model.calibration.slope, model.calibration.intercept].map(|n| self.double(n));
        let scaled = self.node("Mul", &[&slope, sum]);
        let odds = self.node("Add", &[&scaled, &intercept]);
        // Compute 1 / (1 + exp(∓odds)) for each, so that small probabilities keep their digits.
        let minus = self.node("Neg", &[&odds]);
        let one = self.double(1.0);
        let [negative, positive] = [odds.as_str(), minus.as_str()].map(|exponent| {
            let power = self.node("Exp", &[exponent]);
            let more = self.node("Add", &[&one, &power]);
            self.node("Div", &[&one, &more])
        });
        let axis = Attribute::int("axis", 1);
        self.push(
            "Concat",
            &[&negative, &positive],
            &probabilities,
            vec![axis],
        );

        self.graph.output = vec![
            ValueInfo::rows(
                &label,
                INT64,
                None,
                "1 if the score is at least the threshold",
            ),
            ValueInfo::rows(
                &probabilities,
                DOUBLE,
                Some(2),
                "probabilities of the negative and the positive value",
            ),
            ValueInfo::rows(&score, DOUBLE, None, "the score"),
        ];
    }
}
