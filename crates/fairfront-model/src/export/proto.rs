//! The required part of the ONNX format: messages and field numbers of its public specification,
//! `onnx.proto`.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Model {
    #[prost(int64, tag = "1")]
    pub(super) ir_version: i64,
    #[prost(string, tag = "2")]
    pub(super) producer_name: String,
    #[prost(string, tag = "3")]
    pub(super) producer_version: String,
    #[prost(string, tag = "6")]
    pub(super) doc_string: String,
    #[prost(message, optional, tag = "7")]
    pub(super) graph: Option<Graph>,
    #[prost(message, repeated, tag = "8")]
    pub(super) opset_import: Vec<OperatorSet>,
    #[prost(message, repeated, tag = "14")]
    pub(super) metadata_props: Vec<Property>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct OperatorSet {
    #[prost(string, tag = "1")]
    pub(super) domain: String,
    #[prost(int64, tag = "2")]
    pub(super) version: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Property {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Graph {
    #[prost(message, repeated, tag = "1")]
    pub(super) node: Vec<Node>,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) initializer: Vec<Tensor>,
    #[prost(message, repeated, tag = "11")]
    pub(super) input: Vec<ValueInfo>,
    #[prost(message, repeated, tag = "12")]
    pub(super) output: Vec<ValueInfo>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Node {
    #[prost(string, repeated, tag = "1")]
    pub(super) input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(super) output: Vec<String>,
    #[prost(string, tag = "4")]
    pub(super) op_type: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) attribute: Vec<Attribute>,
    #[prost(string, tag = "7")]
    pub(super) domain: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Attribute {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(int64, optional, tag = "3")]
    pub(super) i: Option<i64>,
    #[prost(message, optional, tag = "5")]
    pub(super) t: Option<Tensor>,
    #[prost(int64, repeated, tag = "8")]
    pub(super) ints: Vec<i64>,
    #[prost(string, repeated, tag = "9")]
    pub(super) strings: Vec<String>,
    #[prost(int32, tag = "20")]
    pub(super) kind: i32,
}

impl Attribute {
    pub(super) fn int(name: &str, i: i64) -> Self {
        Self {
            name: name.into(),
            i: Some(i),
            kind: 2,
            ..Self::default()
        }
    }

    pub(super) fn ints(name: &str, ints: Vec<i64>) -> Self {
        Self {
            name: name.into(),
            ints,
            kind: 7,
            ..Self::default()
        }
    }

    pub(super) fn tensor(name: &str, tensor: Tensor) -> Self {
        Self {
            name: name.into(),
            t: Some(tensor),
            kind: 4,
            ..Self::default()
        }
    }

    pub(super) fn strings(name: &str, strings: Vec<String>) -> Self {
        Self {
            name: name.into(),
            strings,
            kind: 8,
            ..Self::default()
        }
    }
}

/// Element types of a tensor.
pub(super) const UINT8: i32 = 2;
pub(super) const INT64: i32 = 7;
pub(super) const STRING: i32 = 8;
pub(super) const DOUBLE: i32 = 11;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Tensor {
    #[prost(int64, repeated, tag = "1")]
    pub(super) dims: Vec<i64>,
    #[prost(int32, tag = "2")]
    pub(super) data_type: i32,
    /// Also holds shorter integers.
    #[prost(int32, repeated, tag = "5")]
    pub(super) int32_data: Vec<i32>,
    #[prost(int64, repeated, tag = "7")]
    pub(super) int64_data: Vec<i64>,
    #[prost(string, tag = "8")]
    pub(super) name: String,
    #[prost(double, repeated, tag = "10")]
    pub(super) double_data: Vec<f64>,
}

impl Tensor {
    /// A vector of doubles.
    pub(super) fn doubles(values: Vec<f64>) -> Self {
        Self {
            dims: vec![values.len() as i64],
            data_type: DOUBLE,
            double_data: values,
            ..Self::default()
        }
    }
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ValueInfo {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, optional, tag = "2")]
    pub(super) kind: Option<Type>,
    #[prost(string, tag = "3")]
    pub(super) doc_string: String,
}

impl ValueInfo {
    /// A tensor with as many rows as the batch; its rows are vectors if `width` is given.
    pub(super) fn rows(name: &str, elem_type: i32, width: Option<i64>, about: &str) -> Self {
        let mut dim = vec![Dimension {
            value: None,
            param: Some("N".into()),
        }];
        dim.extend(width.map(|value| Dimension {
            value: Some(value),
            param: None,
        }));
        let tensor = TensorType {
            elem_type,
            shape: Some(Shape { dim }),
        };
        Self {
            name: name.into(),
            kind: Some(Type {
                tensor: Some(tensor),
            }),
            doc_string: about.into(),
        }
    }
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Type {
    #[prost(message, optional, tag = "1")]
    pub(super) tensor: Option<TensorType>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorType {
    #[prost(int32, tag = "1")]
    pub(super) elem_type: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) shape: Option<Shape>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Shape {
    #[prost(message, repeated, tag = "1")]
    pub(super) dim: Vec<Dimension>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Dimension {
    #[prost(int64, optional, tag = "1")]
    pub(super) value: Option<i64>,
    #[prost(string, optional, tag = "2")]
    pub(super) param: Option<String>,
}
