//! Checksums inside JSON files, so that a file that was changed after it was written is rejected.
//!
//! The last field of a sealed object is `checksum`, the SHA-256 of everything before it. Spaces, tabs and
//! line ends outside strings do not count, so indentation and line ends may change.

use fairfront_core::hex;
use sha2::{Digest, Sha256};

/// The text around the digits, after spaces are removed.
const BEFORE: &str = ",\"checksum\":\"";
const AFTER: &str = "\"}";
const DIGITS: usize = 64;

/// The reason why a sealed file is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// There is no checksum.
    Missing,
    /// The checksum does not match the content.
    Changed,
}

impl Broken {
    /// The problem in words.
    pub fn problem(self) -> &'static str {
        match self {
            Self::Missing => {
                "the file has no checksum, so it was changed after it was written or comes from an \
                 older fairfront"
            }
            Self::Changed => {
                "the checksum does not match the content, so the file was changed after it was written"
            }
        }
    }
}

/// Adds the checksum to a JSON object with at least one field, indented as by `serde_json`.
pub fn seal(object: &str) -> String {
    let body = object.trim_end().trim_end_matches('}').trim_end();
    let sum = sum(compact(body));
    format!("{body},\n  \"checksum\": \"{sum}\"\n}}\n")
}

/// The object without its checksum, after verifying it.
pub fn open(text: &str) -> Result<String, Broken> {
    let text = compact(text);
    let at = text.len().checked_sub(BEFORE.len() + DIGITS + AFTER.len());
    let cut = at.and_then(|at| text.split_at_checked(at));
    let (body, end) = cut.ok_or(Broken::Missing)?;
    let stored = end
        .strip_prefix(BEFORE)
        .and_then(|end| end.strip_suffix(AFTER))
        .ok_or(Broken::Missing)?;
    match stored == sum(body) {
        true => Ok(format!("{body}}}")),
        false => Err(Broken::Changed),
    }
}

/// The SHA-256 of bytes, as hexadecimal digits.
pub fn sum(content: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(content))
}

/// JSON without spaces, tabs and line ends outside strings.
fn compact(json: &str) -> String {
    let (mut quoted, mut escaped) = (false, false);
    let counts = |c: &char| {
        if quoted {
            quoted = escaped || *c != '"';
            escaped = !escaped && *c == '\\';
            return true;
        }
        quoted = *c == '"';
        !matches!(c, ' ' | '\t' | '\n' | '\r')
    };
    json.chars().filter(counts).collect()
}

/// Changed text with a new, matching checksum.
#[cfg(test)]
pub(crate) fn reseal(text: &str) -> String {
    let body = text.split(",\n  \"checksum\"").next().unwrap_or_default();
    match body.len() < text.len() {
        true => seal(&format!("{body}\n}}")),
        false => seal(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &str = "{\n  \"a b\": \"x \\\" y \\\\\",\n  \"c\": {\n    \"d\": -1.5\n  }\n}\n";

    #[test]
    fn sealed_object_opens_in_any_layout() {
        let sealed = seal(OBJECT);
        assert!(serde_json::from_str::<serde_json::Value>(&sealed).is_ok());
        let body = "{\"a b\":\"x \\\" y \\\\\",\"c\":{\"d\":-1.5}}";
        assert_eq!(open(&sealed).as_deref(), Ok(body));
        for other in [
            sealed.replace('\n', "\r\n"),
            sealed.replace("  ", "\t"),
            format!("{}\n\n", compact(&sealed)),
        ] {
            assert_eq!(open(&other).as_deref(), Ok(body));
        }
    }

    /// The report computes the same number in `web/src/checksum.ts`, whose test contains these digits.
    #[test]
    fn checksum_matches_that_of_the_report() {
        let digits = "9463c019d9892806";
        let sealed = seal(OBJECT);
        assert!(sealed.contains(digits), "{sealed}");
    }

    #[test]
    fn every_change_is_detected() {
        let sealed = seal(OBJECT);
        assert_eq!(open(&sealed.replace("-1.5", "1.5")), Err(Broken::Changed));
        assert_eq!(open(OBJECT), Err(Broken::Missing));
        assert_eq!(open(""), Err(Broken::Missing));
        assert_eq!(open("ü".repeat(200).as_str()), Err(Broken::Missing));
        for at in 0..sealed.len() {
            let byte = sealed.as_bytes()[at];
            if byte.is_ascii_whitespace() && !sealed[..at].ends_with(['a', 'x', '"']) {
                continue;
            }
            let mut changed = sealed.clone().into_bytes();
            changed[at] ^= 1;
            let changed = String::from_utf8(changed).expect("text");
            assert!(open(&changed).is_err(), "{changed}");
        }
    }
}
