//! Mutations of JSON that keep it JSON: changed values; removed, repeated or swapped members.
//!
//! The text is cut into values without building a tree, so that the order of keys and the format of
//! numbers do not change.

use std::ops::Range;

use crate::random::Random;

/// Numbers that readers may not expect.
const NUMBERS: &[&str] = &[
    "0",
    "-0.0",
    "1",
    "-1",
    "2",
    "0.5",
    "1e308",
    "-1e308",
    "1e-308",
    "5e-324",
    "1e400",
    "1e160",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775807",
    "-9223372036854775808",
    "4294967295",
    "4294967296",
    "1000000000000",
    "9007199254740993",
];

/// Strings that readers may not expect.
const STRINGS: &[&str] = &[
    "\"\"",
    "\"0\"",
    "\"NaN\"",
    "\"\\u0000\"",
    "\"\\u202e\"",
    "\"../../x\"",
    "\"a,b\"",
];

/// Values of all kinds.
const OTHERS: &[&str] = &[
    "null", "true", "false", "[]", "{}", "[null]", "[[]]", "{\"\":0}", "0", "\"\"",
];

/// A value, and the member or element that it is part of.
#[derive(Debug, Clone)]
struct Value {
    at: Range<usize>,
    /// With its key.
    member: Range<usize>,
}

/// One mutation; `false` if the text is not JSON or has no value to change.
pub(crate) fn mutate(bytes: &mut Vec<u8>, words: &[&str], random: &mut Random) -> bool {
    let values = values(bytes);
    let Some(value) = random.pick(&values).cloned() else {
        return false;
    };
    match random.below(10) {
        0..=2 => replace_by_extreme(bytes, &value, words, random),
        3..=5 => change_slightly(bytes, &value, words, random),
        6 => remove_member(bytes, &value),
        7 => {
            let mut copy = bytes[value.member.clone()].to_vec();
            copy.push(b',');
            bytes.splice(value.member.start..value.member.start, copy);
        }
        8 => {
            let Some(other) = random.pick(&values).cloned() else {
                return false;
            };
            let text = bytes[other.at].to_vec();
            bytes.splice(value.at, text);
        }
        _ => {
            let Some(other) = random.pick(&values).cloned() else {
                return false;
            };
            let (first, second) = match value.at.start < other.at.start {
                true => (value, other),
                false => (other, value),
            };
            if first.at.end <= second.at.start {
                let (a, b) = (
                    bytes[first.at.clone()].to_vec(),
                    bytes[second.at.clone()].to_vec(),
                );
                bytes.splice(second.at, a);
                bytes.splice(first.at, b);
            }
        }
    }
    true
}

fn replace_by_extreme(bytes: &mut Vec<u8>, value: &Value, words: &[&str], random: &mut Random) {
    let text = match random.below(40) {
        0 => format!("\"{}\"", "x".repeat(1 + random.below(5_000))),
        1 => "[".repeat(200) + &"]".repeat(200),
        // Mostly of the same type, which readers do not reject immediately.
        n => {
            let of_kind = match bytes.get(value.at.start) {
                Some(b'"') if n < 20 && !words.is_empty() => words,
                Some(b'"') => STRINGS,
                Some(b'-' | b'0'..=b'9') => NUMBERS,
                _ => OTHERS,
            };
            let list = if n < 30 { of_kind } else { OTHERS };
            (*random.pick(list).unwrap_or(&"0")).to_owned()
        }
    };
    bytes.splice(value.at.clone(), text.into_bytes());
}

/// Changes a number to a close one, a string to another string, or shortens a list.
fn change_slightly(bytes: &mut Vec<u8>, value: &Value, words: &[&str], random: &mut Random) {
    let text = String::from_utf8_lossy(&bytes[value.at.clone()]).into_owned();
    let new = if let Ok(number) = text.parse::<i64>() {
        match random.below(4) {
            0 => number.saturating_add(1).to_string(),
            1 => number.saturating_sub(1).to_string(),
            2 => number.saturating_neg().to_string(),
            _ => number
                .saturating_mul(1 + random.below(1_000) as i64)
                .to_string(),
        }
    } else if let Ok(number) = text.parse::<f64>() {
        let changed = match random.below(4) {
            0 => -number,
            1 => number * 10.0,
            2 => f64::from_bits(number.to_bits() ^ (1 << random.below(52))),
            _ => number + 1.0,
        };
        match changed.is_finite() {
            true => format!("{changed:?}"),
            false => "0.25".to_owned(),
        }
    } else if text.chars().count() > 2 && text.starts_with('"') {
        // The last character may be anything because the bytes are already mutated.
        let inside: Vec<char> = text.chars().skip(1).collect();
        let inside = &inside[..inside.len() - 1];
        let cut = random.below(inside.len());
        let mut inside: String = inside[..cut].iter().collect();
        if !inside.ends_with('\\') {
            inside.push(
                *random
                    .pick(&['a', '0', ' ', 'é', '(', '\u{7f}'])
                    .unwrap_or(&'a'),
            );
        }
        format!("\"{inside}\"")
    } else {
        let end = text.chars().next_back();
        return match (text.starts_with('['), end) {
            (true, Some(']')) if text.len() > 2 => {
                let half = value.at.start + 1..value.at.start + 1 + random.below(text.len() - 2);
                drop(bytes.splice(half, []));
            }
            _ => replace_by_extreme(bytes, value, words, random),
        };
    };
    bytes.splice(value.at.clone(), new.into_bytes());
}

fn remove_member(bytes: &mut Vec<u8>, value: &Value) {
    let mut range = value.member.clone();
    let is_space = |byte: &u8| byte.is_ascii_whitespace();
    let after = bytes[range.end..].iter().position(|b| !is_space(b));
    let before = bytes[..range.start].iter().rposition(|b| !is_space(b));
    if let Some(comma) = after.map(|n| range.end + n).filter(|at| bytes[*at] == b',') {
        range.end = comma + 1;
    } else if let Some(comma) = before.filter(|at| bytes[*at] == b',') {
        range.start = comma;
    }
    bytes.splice(range, []);
}

/// All values of a text, outer values after those within them. Stops where the text is not JSON.
fn values(bytes: &[u8]) -> Vec<Value> {
    let mut found = Vec::new();
    // Start of each open list or object.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    let mut key: Option<usize> = None;
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b'{' | b'[' => {
                open.push((start, key.take().unwrap_or(start)));
                at += 1;
                continue;
            }
            b'}' | b']' => {
                at += 1;
                let Some((start, member)) = open.pop() else {
                    break;
                };
                found.push(Value {
                    at: start..at,
                    member: member..at,
                });
                continue;
            }
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += 1 + usize::from(bytes[at] == b'\\');
                }
                at = (at + 1).min(bytes.len());
                let rest = bytes[at..].trim_ascii_start();
                if rest.first() == Some(&b':') {
                    key = Some(start);
                    at = bytes.len() - rest.len() + 1;
                    continue;
                }
            }
            b'-' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                let of_word = |b: &u8| b.is_ascii_alphanumeric() || b"+-.".contains(b);
                at += bytes[at..].iter().take_while(|b| of_word(b)).count();
            }
            _ => {
                at += 1;
                continue;
            }
        }
        found.push(Value {
            at: start..at,
            member: key.take().unwrap_or(start)..at,
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"a": [1, -2.5e3, "x\"y"], "b": {"c": null}, "d": true}"#;

    #[test]
    fn all_values_are_found() {
        let bytes = TEXT.as_bytes();
        let found: Vec<&str> = values(bytes).iter().map(|v| &TEXT[v.at.clone()]).collect();
        let expected = [
            "1",
            "-2.5e3",
            r#""x\"y""#,
            r#"[1, -2.5e3, "x\"y"]"#,
            "null",
            r#"{"c": null}"#,
            "true",
            TEXT,
        ];
        assert_eq!(found, expected);
        assert_eq!(&TEXT[values(bytes)[6].member.clone()], r#""d": true"#);
    }

    #[test]
    fn most_mutations_are_valid_json() {
        let mut sound = 0;
        for case in 0..1_000 {
            let mut bytes = TEXT.as_bytes().to_vec();
            let mut random = Random::of_case(1, "json", case);
            assert!(mutate(&mut bytes, &[], &mut random));
            sound += usize::from(serde_json::from_slice::<serde_json::Value>(&bytes).is_ok());
        }
        assert!(sound > 800, "{sound} of 1,000");
    }
}
