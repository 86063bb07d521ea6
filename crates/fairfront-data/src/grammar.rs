//! The grammar shared by the command line, TOML files and reports: names, lists and settings about tables.
//! `fairfront-run` reads objectives and requirements with the same [`Scanner`].
//!
//! A name is written bare, or in double quotes if it contains one of the special characters
//! `, = : ( ) < > "`. Inside quotes, write `\"` and `\\` for a quote and a backslash.
//!
//! | form | example |
//! | --- | --- |
//! | list | `fnlwgt,"capital, gain"` |
//! | intersection | `sex:race` |
//! | assignment | `age=25,45` |
//! | call | `synthetic:3(rows=5000, rotation=1.2)` |

use crate::Error;

const SPECIAL: &[char] = &[',', '=', ':', '(', ')', '<', '>', '"'];

/// Reads one string from left to right.
#[derive(Debug, Clone)]
pub struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    /// Starts at the beginning of a string.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Takes `c` if it comes next.
    pub fn take(&mut self, c: char) -> bool {
        self.skip_spaces();
        if self.rest().starts_with(c) {
            self.at += c.len_utf8();
            return true;
        }
        false
    }

    /// Takes `c`, or returns an error that it is missing.
    pub fn expect(&mut self, c: char) -> Result<(), Error> {
        if self.take(c) {
            return Ok(());
        }
        Err(self.fail(&format!("expected {c:?}")))
    }

    /// Whether the end is reached.
    pub fn at_end(&mut self) -> bool {
        self.skip_spaces();
        self.rest().is_empty()
    }

    /// Returns an error unless the end is reached.
    pub fn finish(&mut self) -> Result<(), Error> {
        if self.at_end() {
            return Ok(());
        }
        Err(self.fail("expected the end"))
    }

    /// Like [`finish`](Self::finish), after names only: any rest is most likely part of a name.
    fn finish_names(&mut self) -> Result<(), Error> {
        if self.at_end() {
            return Ok(());
        }
        let quoted = crate::error::shell(&quote(self.text));
        Err(self.fail(&format!(
            "this character is special; put a name that contains it in double quotes: {quoted}"
        )))
    }

    /// Reads a bare or quoted name.
    pub fn name(&mut self) -> Result<String, Error> {
        self.name_before(&[])
    }

    /// Reads a name; a bare one also ends before these characters.
    pub fn name_before(&mut self, ends: &[char]) -> Result<String, Error> {
        self.skip_spaces();
        if self.take('"') {
            return self.quoted();
        }
        let is_end = |c: char| SPECIAL.contains(&c) || ends.contains(&c);
        let end = self.rest().find(is_end).unwrap_or(self.rest().len());
        let name = self.rest()[..end].trim_end();
        if name.is_empty() {
            return Err(self.fail("expected a name"));
        }
        self.at += end;
        Ok(name.to_owned())
    }

    /// Reads a quoted name, or everything before `end`, including special characters.
    pub fn name_up_to(&mut self, end: char) -> Result<String, Error> {
        self.skip_spaces();
        if self.take('"') {
            return self.quoted();
        }
        let found = self.rest().find(end).unwrap_or(self.rest().len());
        let name = self.rest()[..found].trim_end();
        if name.is_empty() {
            return Err(self.fail("expected a name"));
        }
        self.at += found;
        Ok(name.to_owned())
    }

    /// Reads names separated by commas.
    pub fn names(&mut self) -> Result<Vec<String>, Error> {
        let mut names = vec![self.name()?];
        while self.take(',') {
            names.push(self.name()?);
        }
        Ok(names)
    }

    fn quoted(&mut self) -> Result<String, Error> {
        let mut out = String::new();
        let mut chars = self.rest().char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += i + 1;
                    return Ok(out);
                }
                '\\' => match chars.next() {
                    Some((_, escaped @ ('"' | '\\'))) => out.push(escaped),
                    Some(_) | None => {
                        self.at += i;
                        return Err(self.fail(r#"expected \" or \\"#));
                    }
                },
                _ => out.push(c),
            }
        }
        self.at = self.text.len();
        Err(self.fail("the quote is never closed"))
    }

    /// An error that points at the next character.
    pub fn fail(&self, problem: &str) -> Error {
        let column = self.text[..self.at].chars().count() + 1;
        Error::usage(format!("{:?}, character {column}: {problem}", self.text))
    }
}

/// Writes `name`, or `"name"` if it contains a special character, so that [`names`] can read it.
pub fn quote(name: &str) -> String {
    let bare = !name.is_empty() && name.trim() == name && !name.contains(SPECIAL);
    if bare {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('\\', r"\\").replace('"', r#"\""#))
}

/// Reads a list of names: `a, "b,c"`.
///
/// ```
/// let names = fairfront_data::grammar::names(r#"fnlwgt, "capital, gain""#).unwrap();
/// assert_eq!(names, ["fnlwgt", "capital, gain"]);
/// ```
pub fn names(text: &str) -> Result<Vec<String>, Error> {
    let mut scanner = Scanner::new(text);
    let names = scanner.names()?;
    scanner.finish_names()?;
    Ok(names)
}

/// Reads the columns of a sensitive attribute: `sex`, or `sex:race` for an intersection.
pub fn attribute(text: &str) -> Result<Vec<String>, Error> {
    let mut scanner = Scanner::new(text);
    let mut names = vec![scanner.name()?];
    while scanner.take(':') {
        names.push(scanner.name()?);
    }
    scanner.finish_names()?;
    Ok(names)
}

/// Reads `ATTRIBUTE=GROUP`: `race=White`, `sex:race=Female:White`. The group is everything after the sign, as
/// groups may contain special characters, unless it is in double quotes.
pub fn reference(text: &str) -> Result<(Vec<String>, String), Error> {
    let mut scanner = Scanner::new(text);
    let mut names = vec![scanner.name()?];
    while scanner.take(':') {
        names.push(scanner.name()?);
    }
    scanner.expect('=')?;
    let group = scanner.name_up_to('\0')?;
    scanner.finish()?;
    Ok((names, group))
}

/// Reads `COLUMN=WORD`, or `WORD` alone: `workclass=category`, `drop`.
pub fn setting(text: &str) -> Result<(Option<String>, String), Error> {
    let mut scanner = Scanner::new(text);
    let first = scanner.name()?;
    let both = if scanner.take('=') {
        (Some(first), scanner.name()?)
    } else {
        (None, first)
    };
    scanner.finish()?;
    Ok(both)
}

/// Reads `COLUMN=WORD`: `zip=categorical`.
pub fn assignment(text: &str) -> Result<(String, String), Error> {
    match setting(text)? {
        (Some(column), word) => Ok((column, word)),
        (None, _) => Err(Error::usage(format!("{text:?}: expected COLUMN=VALUE"))),
    }
}

/// Reads `COLUMN=NUMBER,NUMBER,…`, increasing: `age=25,45`.
pub fn bins(text: &str) -> Result<(String, Vec<f64>), Error> {
    let mut scanner = Scanner::new(text);
    let column = scanner.name()?;
    scanner.expect('=')?;
    let mut edges: Vec<f64> = Vec::new();
    loop {
        let before = scanner.clone();
        let number = scanner.name()?;
        match number.parse::<f64>() {
            Ok(edge) if edge.is_finite() && edges.last().is_none_or(|last| *last < edge) => {
                edges.push(edge);
            }
            Ok(edge) if edge.is_finite() => {
                return Err(before.fail("the edges of the bins must increase"));
            }
            _ => return Err(before.fail(&format!("{number:?} is not a number"))),
        }
        if !scanner.take(',') {
            break;
        }
    }
    scanner.finish()?;
    Ok((column, edges))
}

/// Reads `COLUMN=NEW:OLD,OLD,…`: `education=primary:Preschool,1st-4th`. The old category `*` stands for all
/// categories that no merge of the column lists.
pub fn merge(text: &str) -> Result<(String, String, Vec<String>), Error> {
    let mut scanner = Scanner::new(text);
    let column = scanner.name()?;
    scanner.expect('=')?;
    let new = scanner.name()?;
    scanner.expect(':')?;
    let old = scanner.names()?;
    scanner.finish()?;
    Ok((column, new, old))
}

/// A name with settings, `name(setting=value, …)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The name before the parenthesis.
    pub name: String,
    /// Settings in the order written.
    pub settings: Vec<(String, String)>,
}

/// Reads `name` or `name(setting=value, …)`; the name may contain colons: `synthetic:3(rows=500)`.
pub fn call(text: &str) -> Result<Call, Error> {
    let (name, rest) = match text.find('(') {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let name = name.trim().to_owned();
    let mut settings = Vec::new();
    if !rest.is_empty() {
        let mut scanner = Scanner {
            text,
            at: text.len() - rest.len(),
        };
        scanner.expect('(')?;
        while !scanner.take(')') {
            let setting = scanner.name()?;
            scanner.expect('=')?;
            settings.push((setting, scanner.name()?));
            if !scanner.take(',') {
                scanner.expect(')')?;
                break;
            }
        }
        scanner.finish()?;
    }
    Ok(Call { name, settings })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn settings_are_read() {
        assert_eq!(attribute("sex:race").unwrap(), ["sex", "race"]);
        assert_eq!(bins("age=25,45").unwrap(), ("age".into(), vec![25.0, 45.0]));
        assert_eq!(
            bins("\"a=b\" = -1.5, 2e3").unwrap(),
            ("a=b".into(), vec![-1.5, 2000.0])
        );
        assert_eq!(
            merge("education=primary:Preschool,1st-4th").unwrap(),
            (
                "education".into(),
                "primary".into(),
                vec!["Preschool".into(), "1st-4th".into()]
            )
        );
        assert_eq!(
            reference("race=White").unwrap(),
            (vec!["race".into()], "White".into())
        );
        assert_eq!(
            reference("sex:age = F:<= 25").unwrap(),
            (vec!["sex".into(), "age".into()], "F:<= 25".into())
        );
        assert_eq!(reference(r#"race=" a""#).unwrap().1, " a");
        assert!(reference("race").is_err() && reference("race=").is_err());
        assert_eq!(setting("drop").unwrap(), (None, "drop".into()));
        assert_eq!(
            call("synthetic:3(rows=500, rotation=-1.2)").unwrap(),
            Call {
                name: "synthetic:3".into(),
                settings: vec![
                    ("rows".into(), "500".into()),
                    ("rotation".into(), "-1.2".into())
                ]
            }
        );
        assert_eq!(call("demo").unwrap().name, "demo");
    }

    #[test]
    fn errors_point_at_the_character() {
        let message = |r: Result<_, Error>| r.err().map(|e: Error| e.to_string()).unwrap();
        assert_eq!(
            message(bins("age=45,25").map(drop)),
            r#""age=45,25", character 8: the edges of the bins must increase"#
        );
        assert_eq!(
            message(bins("age=x").map(drop)),
            r#""age=x", character 5: "x" is not a number"#
        );
        assert_eq!(
            message(names("a,,b").map(drop)),
            r#""a,,b", character 3: expected a name"#
        );
        assert!(message(names("\"a").map(drop)).contains("never closed"));
        assert!(message(call("demo(rows 5)").map(drop)).contains("expected '='"));
    }

    proptest! {
        #[test]
        fn quoted_names_are_read_back(list in prop::collection::vec(".*", 1..5)) {
            let text = list.iter().map(|n| quote(n)).collect::<Vec<_>>().join(",");
            prop_assert_eq!(names(&text).unwrap(), list);
        }

        #[test]
        fn no_string_panics(text in ".*") {
            let _ = (names(&text), attribute(&text), setting(&text), bins(&text), reference(&text), merge(&text), call(&text));
        }
    }
}
