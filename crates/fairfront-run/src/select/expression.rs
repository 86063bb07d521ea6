//! Parses requirements and weights, such as `test.demographic_parity_ratio(sex) >= 0.8`.
//!
//! ```text
//! requirement = term ("<=" | ">=" | "<" | ">") number ["%"]
//! weights     = term "=" number { "," term "=" number }
//! term        = [split "."] ["objective."] name ["[" class "]"] ["(" attribute ["=" group] | interval ")"]
//!             | [split "."] ["objective."] "error_rate" "(" cost "=" number {"," cost "=" number} ")"
//! cost        = "fp" | "fn"
//! interval    = name ("<" | ">=") number | number "<=" name "<" number
//! ```
//!
//! A class is written in double quotes if it contains `]` or `"`. An interval is the name of a group of a binned column: `selection_rate(age<30)` is the same as
//! `selection_rate(age="age<30")`.

use std::fmt;

use fairfront_core::Costs;
use fairfront_data::grammar::{Scanner, quote};
use fairfront_data::{Error, Part, attribute_name};

/// A measure or an objective as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// The rows, if the term names a split.
    pub split: Option<Part>,
    /// Whether the name is prefixed with `objective.`.
    pub objective: bool,
    /// The name before the parenthesis; for an error rate with costs, the whole name, as in
    /// columns.
    pub name: String,
    /// The class, if the target has several and the term names one.
    pub class: Option<String>,
    /// Columns of the attribute; empty if the term names no attribute.
    pub attribute: Vec<String>,
    /// The group, or its parts if the attribute is an intersection; empty if the term names no
    /// group.
    pub group: Vec<String>,
}

impl Term {
    /// A measure of all rows, on the rows that choose models.
    pub(crate) fn measure(name: &str) -> Self {
        Self {
            split: None,
            objective: false,
            name: name.into(),
            class: None,
            attribute: Vec::new(),
            group: Vec::new(),
        }
    }

    /// Parses a whole string.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut scanner = Scanner::new(text);
        let term = Self::read(&mut scanner)?;
        scanner.finish()?;
        Ok(term)
    }

    fn read(scanner: &mut Scanner) -> Result<Self, Error> {
        let before = scanner.clone();
        let is_quoted = scanner.clone().take('"');
        let whole = scanner.name_before(&['['])?;
        // A quoted string is a single name, or a whole column name.
        let has_class = whole.find('[').is_some_and(|at| at > 0) && whole.ends_with(']');
        if whole.contains('(') || (is_quoted && has_class) {
            return Self::parse(&whole);
        }
        let mut name = whole.as_str();
        let mut split = None;
        for part in Part::ALL {
            let rest = name.strip_prefix(part.name());
            if let Some(rest) = rest.and_then(|rest| rest.strip_prefix('.')) {
                (split, name) = (Some(part), rest);
                break;
            }
        }
        let of_objective = name.strip_prefix("objective.");
        let mut term = Self {
            split,
            objective: of_objective.is_some(),
            name: of_objective.unwrap_or(name).to_owned(),
            class: None,
            attribute: Vec::new(),
            group: Vec::new(),
        };
        if term.name.is_empty() {
            return Err(before.fail("expected a measure or an objective"));
        }
        if scanner.take('[') {
            let before = scanner.clone();
            term.class = Some(
                scanner
                    .name_up_to(']')
                    .map_err(|_| before.fail("expected a class"))?,
            );
            if !scanner.take(']') {
                return Err(scanner
                    .fail("expected ']'; put a class that contains ] or \" in double quotes"));
            }
        }
        if term.name == "error_rate" && term.class.is_none() && scanner.take('(') {
            term.name = costs(scanner)?.name();
            return Ok(term);
        }
        if scanner.take('(') {
            let start = scanner.clone();
            let parts = joined(scanner)?;
            let columns: Vec<String> = parts.iter().filter_map(|p| p.column.clone()).collect();
            let names = |parts: Vec<Name>| parts.into_iter().map(|part| part.name).collect();
            if columns.is_empty() {
                term.attribute = names(parts);
                if scanner.take('=') {
                    term.group = names(joined(scanner)?);
                }
            } else if columns.len() == parts.len() {
                term.attribute = columns;
                term.group = names(parts);
            } else {
                return Err(start.fail(
                    "a group of an intersection needs the columns in front of it, as in \
                     age:sex=age<30:F",
                ));
            }
            close(scanner)?;
        }
        Ok(term)
    }

    /// The group as typed without its attribute, if it is an interval of that attribute.
    fn interval(&self) -> Option<String> {
        let ([attribute], [group]) = (self.attribute.as_slice(), self.group.as_slice()) else {
            return None;
        };
        let at = group
            .find(attribute.as_str())
            .filter(|_| !attribute.is_empty())?;
        let (low, rest) = group.split_at(at);
        let text = format!("{low}{}{}", quote(attribute), &rest[attribute.len()..]);
        let mut scanner = Scanner::new(&text);
        let part = Name::read(&mut scanner).ok()?;
        let is_it = part.name == *group && part.column.as_ref() == Some(attribute);
        (is_it && scanner.at_end()).then_some(text)
    }

    /// The column name in a front without the split, such as `selection_rate(sex=F)`.
    pub fn canonical(&self) -> String {
        let class = self.class.as_ref();
        let class = class.map_or_else(String::new, |class| format!("[{class}]"));
        let inside = self.inside();
        let inside = inside.map_or_else(String::new, |inside| format!("({inside})"));
        format!("{}{class}{inside}", self.name)
    }

    /// The part of the column name in parentheses.
    fn inside(&self) -> Option<String> {
        if self.attribute.is_empty() {
            return None;
        }
        let attribute = attribute_name(&self.attribute);
        // The label of an intersection quotes parts that contain a colon.
        let part = |name: &String| match name.contains([':', '"']) {
            true => quote(name),
            false => name.clone(),
        };
        Some(match self.group.as_slice() {
            [] => attribute,
            [one] => format!("{attribute}={one}"),
            several => {
                let parts: Vec<String> = several.iter().map(part).collect();
                format!("{attribute}={}", parts.join(":"))
            }
        })
    }
}

/// Writes a name in double quotes if it has special characters, or more of them than in other places.
fn in_quotes_if(more: bool, name: &str) -> String {
    match quote(name) {
        bare if more && bare == name => format!("\"{}\"", name.replace('\\', r"\\")),
        quoted => quoted,
    }
}

/// Parses `fp=1, fn=5)`: the costs of wrong decisions, 1 by default.
fn costs(scanner: &mut Scanner) -> Result<Costs, Error> {
    let mut costs = Costs::EQUAL;
    loop {
        let before = scanner.clone();
        let cost = match scanner.name()?.as_str() {
            "fp" => &mut costs.false_positive,
            "fn" => &mut costs.false_negative,
            _ => return Err(before.fail("expected fp or fn, the cost of a wrong decision")),
        };
        scanner.expect('=')?;
        let before = scanner.clone();
        *cost = number(scanner)?;
        if *cost <= 0.0 {
            return Err(before.fail("expected a cost above 0"));
        }
        if !scanner.take(',') {
            break;
        }
    }
    scanner.expect(')')?;
    Ok(costs)
}

/// Reads the closing parenthesis. If something else follows, a name most likely contains special
/// characters.
fn close(scanner: &mut Scanner) -> Result<(), Error> {
    match scanner.take(')') {
        true => Ok(()),
        false => Err(scanner
            .fail("expected ')'; put a name that contains one of , = : ( ) < > in double quotes")),
    }
}

/// A name, or an interval of a numeric column.
struct Name {
    /// The name of the group.
    name: String,
    /// The column of an interval.
    column: Option<String>,
}

impl Name {
    fn read(scanner: &mut Scanner) -> Result<Self, Error> {
        let mut before = scanner.clone();
        let first = scanner.name()?;
        let interval = |name: String, column: String| Self {
            name,
            column: Some(column),
        };
        if scanner.take('>') {
            scanner.expect('=')?;
            let low = number(scanner)?;
            return Ok(interval(format!("{first}>={low}"), first));
        }
        if !scanner.take('<') {
            return Ok(Self {
                name: first,
                column: None,
            });
        }
        if !scanner.take('=') {
            let high = number(scanner)?;
            return Ok(interval(format!("{first}<{high}"), first));
        }
        let low = number(&mut before)?;
        let column = scanner.name()?;
        scanner.expect('<')?;
        let high = number(scanner)?;
        Ok(interval(format!("{low}<={column}<{high}"), column))
    }
}

/// Names or intervals with colons between them.
fn joined(scanner: &mut Scanner) -> Result<Vec<Name>, Error> {
    let mut parts = vec![Name::read(scanner)?];
    while scanner.take(':') {
        parts.push(Name::read(scanner)?);
    }
    Ok(parts)
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let split = self
            .split
            .map_or_else(String::new, |s| format!("{}.", s.name()));
        let objective = if self.objective { "objective." } else { "" };
        let name = format!("{split}{objective}{}", self.name);
        // Only the name of an error rate contains parentheses, with its costs.
        match self.name.contains('(') {
            true => f.write_str(&name)?,
            false => f.write_str(&in_quotes_if(name.contains('['), &name))?,
        }
        if let Some(class) = &self.class {
            write!(f, "[{}]", in_quotes_if(class.contains(']'), class))?;
        }
        let list = |names: &[String]| -> String {
            let quoted: Vec<String> = names.iter().map(|name| quote(name)).collect();
            quoted.join(":")
        };
        if let Some(interval) = self.interval() {
            return write!(f, "({interval})");
        }
        match (self.attribute.is_empty(), self.group.is_empty()) {
            (true, _) => Ok(()),
            (false, true) => write!(f, "({})", list(&self.attribute)),
            (false, false) => write!(f, "({}={})", list(&self.attribute), list(&self.group)),
        }
    }
}

/// The side of the bound on which a value must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparator {
    /// `<=`
    AtMost,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `>`
    Above,
}

impl Comparator {
    fn read(scanner: &mut Scanner) -> Result<Self, Error> {
        if scanner.take('<') {
            return Ok(match scanner.take('=') {
                true => Self::AtMost,
                false => Self::Below,
            });
        }
        if scanner.take('>') {
            return Ok(match scanner.take('=') {
                true => Self::AtLeast,
                false => Self::Above,
            });
        }
        Err(scanner.fail("expected <=, >=, < or >"))
    }

    /// Whether a value is on the required side.
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::AtMost => value <= bound,
            Self::AtLeast => value >= bound,
            Self::Below => value < bound,
            Self::Above => value > bound,
        }
    }

    /// How far a value is on the wrong side; 0 if it is on the required side.
    pub fn miss(self, value: f64, bound: f64) -> f64 {
        match self {
            Self::AtMost | Self::Below => (value - bound).max(0.0),
            Self::AtLeast | Self::Above => (bound - value).max(0.0),
        }
    }
}

impl fmt::Display for Comparator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
            Self::Below => "<",
            Self::Above => ">",
        })
    }
}

/// A bound on a measure or an objective.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirement {
    /// The bounded measure or objective.
    pub term: Term,
    /// The side.
    pub comparator: Comparator,
    /// The bound, finite.
    pub bound: f64,
}

impl Requirement {
    /// Parses `accuracy >= 0.8` or `accuracy >= 80%`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut scanner = Scanner::new(text);
        let requirement = Self {
            term: Term::read(&mut scanner)?,
            comparator: Comparator::read(&mut scanner)?,
            bound: limit(&mut scanner)?,
        };
        scanner.finish()?;
        Ok(requirement)
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.term, self.comparator, self.bound)
    }
}

/// Parses weights such as `log_loss=0.7, demographic_parity(sex)=0.3`. They must not be negative,
/// and at least one must be above 0.
pub fn weights(text: &str) -> Result<Vec<(Term, f64)>, Error> {
    let mut scanner = Scanner::new(text);
    let mut weights: Vec<(Term, f64)> = Vec::new();
    loop {
        let before = scanner.clone();
        let term = Term::read(&mut scanner)?;
        if weights.iter().any(|(other, _)| *other == term) {
            return Err(before.fail(&format!("{term} has two weights; remove one")));
        }
        scanner.expect('=')?;
        let before = scanner.clone();
        match number(&mut scanner)? {
            weight if weight >= 0.0 => weights.push((term, weight)),
            weight => {
                let problem = format!("{weight} is negative; choose a weight of at least 0");
                return Err(before.fail(&problem));
            }
        }
        if !scanner.take(',') {
            break;
        }
    }
    if weights.iter().all(|(_, weight)| *weight == 0.0) {
        return Err(scanner.fail("all weights are 0; set at least one above 0"));
    }
    scanner.finish()?;
    Ok(weights)
}

/// A number, or a percentage: `5%` is 0.05.
fn limit(scanner: &mut Scanner) -> Result<f64, Error> {
    let before = scanner.clone();
    let Some(percent) =
        (scanner.name().ok()).and_then(|text| text.strip_suffix('%').map(String::from))
    else {
        *scanner = before;
        return number(scanner);
    };
    let percent = percent.trim_end();
    // Shift the decimal point, so that 12.3% is exactly the number 0.123.
    let share = match percent.parse::<f64>() {
        Ok(_) if !percent.contains(['e', 'E']) => format!("{percent}e-2").parse().ok(),
        Ok(number) => Some(number / 100.0),
        Err(_) => None,
    };
    let share = share.filter(|share: &f64| share.is_finite());
    share.ok_or_else(|| before.fail(&format!("{percent:?} is not a number")))
}

fn number(scanner: &mut Scanner) -> Result<f64, Error> {
    let before = scanner.clone();
    let text = scanner
        .name()
        .map_err(|_| before.fail("expected a number"))?;
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(before.fail(&format!("{text:?} is not a number"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requirements_are_parsed() {
        let read = Requirement::parse("test.demographic_parity_ratio( sex:race )>=0.8").unwrap();
        assert_eq!(read.term.split, Some(Part::Test));
        assert_eq!(read.term.canonical(), "demographic_parity_ratio(sex:race)");
        assert_eq!((read.comparator, read.bound), (Comparator::AtLeast, 0.8));
        let read = Requirement::parse("validation.objective.log_loss < -1e-3").unwrap();
        assert!(read.term.objective && read.comparator == Comparator::Below);
        let read = Requirement::parse(r#"selection_rate(sex="a,b") > 0"#).unwrap();
        assert_eq!(read.term.canonical(), "selection_rate(sex=a,b)");
        let read = Term::parse(r#"count(sex:race=F:"a:b")"#).unwrap();
        assert_eq!(read.canonical(), r#"count(sex:race=F:"a:b")"#);
        for (text, canonical, shown) in [
            ("r(age<30)", "r(age=age<30)", "r(age<30)"),
            ("r( age < 30.0 )", "r(age=age<30)", "r(age<30)"),
            ("r(age >= 60)", "r(age=age>=60)", "r(age>=60)"),
            ("r(30<=age<60.5)", "r(age=30<=age<60.5)", "r(30<=age<60.5)"),
            ("r(age=age<30)", "r(age=age<30)", "r(age<30)"),
            (r#"r(age="age<30")"#, "r(age=age<30)", "r(age<30)"),
            (
                r#"r("pay (k)"<-1.5)"#,
                "r(pay (k)=pay (k)<-1.5)",
                r#"r("pay (k)"<-1.5)"#,
            ),
            (
                "r(age:sex=age<30:F)",
                "r(age:sex=age<30:F)",
                r#"r(age:sex="age<30":F)"#,
            ),
            (
                "r(age<30:pay>=5)",
                "r(age:pay=age<30:pay>=5)",
                r#"r(age:pay="age<30":"pay>=5")"#,
            ),
        ] {
            let read = Term::parse(text).unwrap();
            let found = (read.canonical(), read.to_string());
            assert_eq!((found.0.as_str(), found.1.as_str()), (canonical, shown));
            assert_eq!(Term::parse(shown).unwrap(), read);
        }
        for (text, canonical, shown) in [
            (
                "recall[low](sex=F)",
                "recall[low](sex=F)",
                "recall[low](sex=F)",
            ),
            ("d[ low ]( sex )", "d[low](sex)", "d[low](sex)"),
            (
                r#"d["Assoc, voc"](sex)"#,
                "d[Assoc, voc](sex)",
                r#"d["Assoc, voc"](sex)"#,
            ),
            // Special characters are only needed in quotes if they end a class.
            (
                "d[Assoc, voc](sex)",
                "d[Assoc, voc](sex)",
                r#"d["Assoc, voc"](sex)"#,
            ),
            (
                r#""d[Assoc, voc](sex)""#,
                "d[Assoc, voc](sex)",
                r#"d["Assoc, voc"](sex)"#,
            ),
            (r#""recall[low]""#, "recall[low]", "recall[low]"),
            (r#"f1["a]"]"#, "f1[a]]", r#"f1["a]"]"#),
            (r#""a[b""#, "a[b", r#""a[b""#),
        ] {
            let read = Term::parse(text).unwrap();
            let found = (read.canonical(), read.to_string());
            assert_eq!((found.0.as_str(), found.1.as_str()), (canonical, shown));
            assert_eq!(Term::parse(shown).unwrap(), read);
        }
        assert_eq!(
            Term::parse("recall[low]").unwrap().class,
            Some("low".into())
        );
        // A quoted name may be a whole column name.
        assert_eq!(
            weights(r#"log_loss=0.7,"demographic_parity(sex)"=0.3"#).unwrap(),
            weights("log_loss=0.7,demographic_parity(sex)=0.3").unwrap()
        );
    }

    #[test]
    fn names_with_special_characters_are_quoted() {
        for text in [r#""a=b""#, r#""objective.c, d""#, "validation.accuracy"] {
            let term = Term::parse(text).unwrap();
            assert_eq!(term.to_string(), text);
            assert_eq!(Term::parse(&term.to_string()).unwrap(), term);
        }
    }

    #[test]
    fn limits_may_be_percentages() {
        let bound = |text: &str| Requirement::parse(text).unwrap().bound;
        let all = [
            ("5%", 0.05),
            ("12.3%", 0.123),
            ("80 %", 0.8),
            ("1e1%", 0.1),
            ("-.5%", -0.005),
        ];
        for (text, value) in all {
            assert_eq!(bound(&format!("accuracy >= {text}")), value, "{text}");
        }
        let refused = |text: &str| Requirement::parse(text).unwrap_err().to_string();
        assert!(refused("accuracy >= %").contains("character 12: \"\" is not a number"));
        assert!(refused("accuracy >= x%").contains("\"x\" is not a number"));
        assert!(refused("accuracy >= inf%").contains("is not a number"));
        assert!(weights("accuracy=5%").is_err());
    }

    #[test]
    fn errors_point_at_the_character() {
        let refused = |text: &str| Requirement::parse(text).unwrap_err().to_string();
        let all = [
            ("accuracy", "character 9: expected <=, >=, < or >"),
            ("accuracy = 1", "character 10: expected <=, >=, < or >"),
            ("accuracy >= ", "character 12: expected a number"),
            ("accuracy >= x", "character 12: \"x\" is not a number"),
            ("accuracy >= NaN", "is not a number"),
            ("accuracy >= 0.8, 0.9", "character 16: expected the end"),
            ("test. > 1", "character 1: expected a measure"),
            ("accuracy(sex : 1", "character 17: expected ')'"),
            (">= 1", "character 1: expected a name"),
            (
                "r(age<30:F) > 1",
                "character 3: a group of an intersection needs the columns",
            ),
            ("r[a(b) > 1", "character 11: expected ']'"),
            ("r[](b) > 1", "character 3: expected a class"),
            ("r[a]b > 1", "character 5: expected <=, >=, < or >"),
            ("r(age<x) > 1", "character 7: \"x\" is not a number"),
            ("r(age>30) > 1", "character 7: expected '='"),
            (
                "r(pay (k)=high) > 1",
                "put a name that contains one of , = : ( ) < > in double quotes",
            ),
        ];
        for (text, problem) in all {
            assert!(refused(text).contains(problem), "{}", refused(text));
        }
        let refused = |text: &str| weights(text).unwrap_err().to_string();
        assert!(refused("a=1,b").contains("character 6: expected '='"));
        assert!(refused("a=1,b=-2").contains("character 7: -2 is negative"));
        assert!(refused("a=1,a=2").contains("character 5: a has two weights"));
        assert!(refused("a=0").contains("all weights are 0"));
    }

    fn terms() -> impl Strategy<Value = Term> {
        let split = prop::sample::select(vec![
            None,
            Some(Part::Train),
            Some(Part::Validation),
            Some(Part::Test),
        ]);
        let names = || prop::collection::vec(".*", 1..4);
        let inside = prop::option::of((names(), prop::option::of(names())));
        let class = prop::option::of(".*");
        (split, any::<bool>(), "[a-z_]{1,9}", class, inside).prop_map(
            |(split, objective, name, class, inside)| {
                let (attribute, group) = inside.unwrap_or_default();
                Term {
                    split,
                    objective,
                    name,
                    class,
                    attribute,
                    group: group.unwrap_or_default(),
                }
            },
        )
    }

    proptest! {
        #[test]
        fn requirements_round_trip(
            term in terms(),
            comparator in 0..4_usize,
            bound in prop::num::f64::NORMAL | prop::num::f64::ZERO,
        ) {
            use Comparator::{Above, AtLeast, AtMost, Below};
            let comparator = [AtMost, AtLeast, Below, Above][comparator];
            let requirement = Requirement { term, comparator, bound };
            prop_assert_eq!(Requirement::parse(&requirement.to_string()).unwrap(), requirement);
        }

        #[test]
        fn no_input_panics(text in ".*", like in r#"[a-z.()\[\]{}=<>:"\\,0-9 -]*"#) {
            for text in [text, like] {
                let _ = (Term::parse(&text), Requirement::parse(&text), weights(&text));
            }
        }
    }
}
