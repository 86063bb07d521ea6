//! Compares the meaning of an input with that of the value read from it.

use serde_json::Value;

/// The difference between a JSON text and the text written after reading it; `None` if they mean
/// the same. Unknown keys and keys with default values are ignored.
pub(crate) fn difference(input: &[u8], again: &[u8]) -> Option<String> {
    let (Ok(input), Ok(again)) = (serde_json::from_slice(input), serde_json::from_slice(again))
    else {
        return Some("one of them is not JSON".into());
    };
    between("$", &input, &again)
}

fn between(path: &str, input: &Value, again: &Value) -> Option<String> {
    let same = match (input, again) {
        (Value::Object(input), Value::Object(again)) => {
            return input.iter().find_map(|(key, value)| {
                let path = format!("{path}.{key}");
                between(&path, value, again.get(key)?)
            });
        }
        (Value::Array(input), Value::Array(again)) if input.len() == again.len() => {
            let mut both = input.iter().zip(again).enumerate();
            return both.find_map(|(i, (a, b))| between(&format!("{path}[{i}]"), a, b));
        }
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (a, b) => a == b,
    };
    match same {
        true => None,
        false => Some(format!("{path}: {input} was read as {again}")),
    }
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn different_values_are_found() {
        let same = [
            (r#"{"a": 1, "unknown": 2}"#, r#"{"a": 1.0, "default": 3}"#),
            ("[1e3, null]", "[1000, null]"),
        ];
        for (input, again) in same {
            assert_eq!(difference(input.as_bytes(), again.as_bytes()), None);
        }
        let other = [
            (
                r#"{"a": [1, 2]}"#,
                r#"{"a": [1, 3]}"#,
                "$.a[1]: 2 was read as 3",
            ),
            (r#"{"a": -1}"#, r#"{"a": 1}"#, "$.a: -1 was read as 1"),
            ("[1, 2]", "[1]", "$: [1,2] was read as [1]"),
        ];
        for (input, again, expected) in other {
            let found = difference(input.as_bytes(), again.as_bytes());
            assert_eq!(found.as_deref(), Some(expected));
        }
    }
}
