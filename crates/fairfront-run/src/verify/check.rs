//! Compares stored numbers with recomputed ones.

use fairfront_model::seal::sum;
use serde::Serialize;
use serde_json::Value;

/// Largest relative difference allowed for a value; counts and strings must be equal.
pub const TOLERANCE: f64 = 1e-9;

/// The least size for relative differences: values below this, such as a covariance of 0, are
/// rounding.
pub const LEAST_SIZE: f64 = 1e-5;

/// A family of stored values, compared with recomputed ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// The family, such as `objectives, test rows`.
    pub what: String,
    /// Number of values compared.
    pub compared: usize,
    /// Number of values that differ by more than allowed.
    pub different: usize,
    /// The largest relative difference; ∞ (null in JSON) if only one of the two is a number.
    pub largest: f64,
    /// The largest of the differences that are not allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst: Option<Difference>,
    /// Any other problem, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A stored value that differs from the recomputed one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The place: `model 17`, `the unmitigated model` or `run.json`.
    pub place: String,
    /// The column or JSON entry.
    pub column: String,
    /// The value in the run folder.
    pub stored: Value,
    /// The value recomputed from the data.
    pub recomputed: Value,
}

impl Check {
    pub(crate) fn new(family: impl Into<String>) -> Self {
        Self {
            what: family.into(),
            compared: 0,
            different: 0,
            largest: 0.0,
            worst: None,
            problem: None,
        }
    }

    /// Whether all values agree, without any other problem.
    pub fn agrees(&self) -> bool {
        self.different == 0 && self.problem.is_none()
    }

    /// Compares the bytes of a file with the checksum of the bytes that the run wrote.
    pub(super) fn written(&mut self, bytes: &[u8], checksum: &str) {
        if sum(bytes) != checksum {
            self.problem = Some("the file is not the one that the run wrote".into());
        }
    }

    /// Compares numbers, each of which may be absent.
    pub(super) fn number(
        &mut self,
        place: &str,
        column: &str,
        stored: Option<f64>,
        recomputed: Option<f64>,
        allowed: f64,
    ) {
        // JSON writes numbers that are not finite as null.
        let has_value = |number: Option<f64>| number.is_some_and(f64::is_finite);
        let share = match (stored, recomputed) {
            (a, b) if !has_value(a) && !has_value(b) => 0.0,
            (Some(a), Some(b)) => share(a, b),
            _ => f64::INFINITY,
        };
        self.note(share, share > allowed, || Difference {
            place: place.into(),
            column: column.into(),
            stored: json(stored),
            recomputed: json(recomputed),
        });
    }

    /// Compares JSON entry by entry: whole numbers and strings exactly, other numbers up to
    /// `allowed`.
    pub(super) fn json(
        &mut self,
        place: &str,
        path: &str,
        stored: &Value,
        recomputed: &Value,
        allowed: f64,
    ) {
        let inside = |key: &str| match path.is_empty() {
            true => key.to_owned(),
            false => format!("{path}.{key}"),
        };
        match (stored, recomputed) {
            (Value::Object(a), Value::Object(b)) => {
                let more = b.keys().filter(|key| !a.contains_key(*key));
                for key in a.keys().chain(more) {
                    let of = |map: &serde_json::Map<String, Value>| {
                        map.get(key).cloned().unwrap_or(Value::Null)
                    };
                    self.json(place, &inside(key), &of(a), &of(b), allowed);
                }
            }
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
                for (i, (a, b)) in a.iter().zip(b).enumerate() {
                    self.json(place, &inside(&label(i, b)), a, b, allowed);
                }
            }
            (Value::Array(a), Value::Array(b)) => {
                // Show the first entry that differs rather than two long lists.
                let at = a.iter().zip(b).take_while(|(a, b)| a == b).count();
                let of = |list: &[Value]| list.get(at).cloned().unwrap_or(Value::Null);
                self.note(f64::INFINITY, true, || Difference {
                    place: place.into(),
                    column: inside(&at.to_string()),
                    stored: of(a),
                    recomputed: of(b),
                });
            }
            _ => {
                let share = match (stored.as_f64(), recomputed.as_f64()) {
                    _ if stored == recomputed => 0.0,
                    (Some(a), Some(b)) => share(a, b),
                    _ => f64::INFINITY,
                };
                let exact = stored.is_u64() || recomputed.is_u64();
                let allowed = if exact { 0.0 } else { allowed };
                self.note(share, share > allowed, || Difference {
                    place: place.into(),
                    column: path.to_owned(),
                    stored: stored.clone(),
                    recomputed: recomputed.clone(),
                });
            }
        }
    }

    fn note(&mut self, share: f64, differs: bool, difference: impl Fn() -> Difference) {
        self.compared += 1;
        let worse = self.worst.is_none() || share > self.largest;
        self.largest = self.largest.max(share);
        if differs {
            self.different += 1;
            if worse {
                self.worst = Some(difference());
            }
        }
    }
}

/// The relative difference of two numbers.
pub(super) fn share(a: f64, b: f64) -> f64 {
    if a == b || (a.is_nan() && b.is_nan()) {
        return 0.0;
    }
    let share = (a - b).abs() / a.abs().max(b.abs()).max(LEAST_SIZE);
    // NaN and ∞ have no relative difference.
    if share.is_finite() {
        share
    } else {
        f64::INFINITY
    }
}

/// A number as JSON; numbers that are not finite become strings.
fn json(number: Option<f64>) -> Value {
    match number {
        Some(number) if !number.is_finite() => number.to_string().into(),
        number => number.into(),
    }
}

/// The label of a list entry: its name, or its index if it has no name.
fn label(index: usize, entry: &Value) -> String {
    let named = ["column", "name"]
        .into_iter()
        .find_map(|key| entry.get(key));
    match named.and_then(Value::as_str) {
        Some(name) => name.to_owned(),
        None => index.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_compared_relative_to_their_size() {
        let mut check = Check::new("numbers");
        check.number("model 0", "a", Some(0.5), Some(0.5 + 1e-10), TOLERANCE);
        check.number("model 1", "a", Some(1e-33), Some(0.0), TOLERANCE);
        check.number("model 2", "a", None, None, TOLERANCE);
        check.number("model 3", "a", Some(f64::NAN), Some(f64::NAN), TOLERANCE);
        assert!(check.agrees());
        // JSON stores these as null.
        let mut infinite = Check::new("numbers");
        infinite.number("model 0", "a", None, Some(f64::INFINITY), TOLERANCE);
        infinite.number("model 1", "a", None, Some(f64::NAN), TOLERANCE);
        assert!(infinite.agrees());
        assert!((check.largest - 2e-10).abs() < 1e-15);
        check.number("model 4", "a", Some(0.5), Some(0.5 + 1e-8), TOLERANCE);
        check.number("model 5", "a", Some(2.0), Some(1.0), TOLERANCE);
        check.number("model 6", "a", Some(0.3), Some(0.31), TOLERANCE);
        assert_eq!((check.compared, check.different), (7, 3));
        assert_eq!(check.worst.as_ref().expect("one").place, "model 5");
        check.number("model 7", "a", Some(f64::INFINITY), Some(1.0), TOLERANCE);
        check.number("model 8", "a", None, Some(1.0), TOLERANCE);
        let worst = check.worst.expect("one");
        assert_eq!(
            (worst.place.as_str(), worst.stored),
            ("model 7", json!("inf"))
        );
    }

    #[test]
    fn json_is_compared_entry_by_entry() {
        let differs = |a: Value, b: Value| {
            let mut check = Check::new("json");
            check.json("run.json", "", &a, &b, TOLERANCE);
            check.worst.map(|worst| worst.column)
        };
        let of = |mean: f64, n: u64| json!({"list": [{"column": "age", "mean": mean}], "n": n});
        assert_eq!(differs(of(1.0, 3), of(1.0 + 1e-12, 3)), None);
        assert_eq!(
            differs(of(1.0, 3), of(1.1, 3)).as_deref(),
            Some("list.age.mean")
        );
        assert_eq!(differs(of(1.0, 3), of(1.0, 4)).as_deref(), Some("n"));
        let n = 10_000_000_000_u64;
        assert_eq!(differs(json!([n]), json!([n + 1])).as_deref(), Some("0"));
        assert_eq!(
            differs(json!(["a", "b"]), json!(["a"])).as_deref(),
            Some("1")
        );
        assert_eq!(differs(json!({"a": 1}), json!({})).as_deref(), Some("a"));
    }
}
