//! Finds columns of whole numbers that are not quantities: identifiers, and codes of categories.

use fairfront_core::{say, with};
use rayon::prelude::*;

use crate::error::listed;
use crate::setting::{CATEGORICAL, DROP, TYPE};
use crate::table::{Column, Diagnostic, LeftOut, Values};

/// A column of strings, or one named like an identifier, is examined if it has at least this many values.
pub(crate) const FEW_ROWS: usize = 20;
/// Any other column is examined if it has at least this many.
const MANY_ROWS: usize = 100;
/// The share of distinct values from which "nearly all" values are distinct.
pub(crate) const NEARLY_UNIQUE: f64 = 0.9;
/// The share for a name with the word `id`; it is smaller because the same person may occur in several
/// rows.
const MOSTLY_UNIQUE: f64 = 0.5;
/// Whole numbers count up if they fill this share of the range from the smallest to the largest.
const DENSE: f64 = 0.9;
/// The number of values to examine first.
const HEAD: usize = 4_096;
/// The number of values that decide whether nearly all of them are distinct.
const JUDGED: usize = 1 << 20;
/// Codes have at most this many distinct values …
const MOST_CODES: usize = 20;
/// … each of them in at least this many rows on average.
const ROWS_PER_CODE: usize = 5;
/// The maximum number of columns that a note lists.
const SHOWN: usize = 12;

/// Words that make a column an identifier if most values are distinct.
const ID_WORDS: [&str; 6] = ["id", "ids", "uuid", "guid", "uid", "pk"];
/// Words at the end of a name that make a column an identifier if nearly all values are distinct.
const NUMBER_WORDS: [&str; 11] = [
    "no", "nr", "nbr", "num", "number", "key", "code", "row", "index", "idx", "rownum",
];
/// Words for quantities and ordered scales, whose whole numbers are not codes.
const QUANTITY_WORDS: [&str; 44] = [
    "num",
    "number",
    "nr",
    "n",
    "no",
    "count",
    "counts",
    "total",
    "sum",
    "age",
    "year",
    "years",
    "month",
    "months",
    "day",
    "days",
    "week",
    "weeks",
    "hour",
    "hours",
    "minutes",
    "score",
    "rating",
    "grade",
    "level",
    "rank",
    "size",
    "quantity",
    "qty",
    "amount",
    "points",
    "prior",
    "priors",
    "children",
    "dependents",
    "persons",
    "people",
    "credits",
    "attempts",
    "visits",
    "duration",
    "length",
    "times",
    "decile",
];

/// Splits a name into its words, in lowercase: `id_student`, `PassengerId`, `customerID`, `Unnamed: 0`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let starts = before.is_lowercase() && c.is_uppercase();
        if (starts || !c.is_alphanumeric()) && words.last().is_some_and(|w| !w.is_empty()) {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The share of distinct values from which a column of this name is an identifier; `None` if the name is
/// not that of an identifier.
fn by_name(name: &str) -> Option<f64> {
    let words = words(name);
    let is = |list: &[&str], word: &String| list.contains(&word.as_str());
    if words.iter().any(|word| is(&ID_WORDS, word)) {
        return Some(MOSTLY_UNIQUE);
    }
    let unnamed = words.first().is_some_and(|word| word == "unnamed");
    let numbered = words.last().is_some_and(|word| is(&NUMBER_WORDS, word));
    (unnamed || numbered).then_some(NEARLY_UNIQUE)
}

/// Kinds of whole numbers that are not plain quantities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// An identifier.
    Identifier,
    /// Nearly every row has its own value, but nothing else suggests an identifier.
    Distinct,
    /// Possibly codes of categories, with the number of categories.
    Codes(usize),
}

/// The facts about the numbers of a column that decide whether they are identifiers or codes, collected row
/// by row in little memory.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Whether all numbers are whole. If not, nothing else counts.
    is_whole: bool,
    /// Numbers that are not missing.
    n: usize,
    /// The first of them, unless they are few distinct ones.
    first: Vec<f64>,
    /// Distinct numbers with their counts, in increasing order; `None` if they are too many for codes.
    codes: Option<Vec<(f64, usize)>>,
    /// Whether the first numbers showed that there are few distinct ones.
    is_few: bool,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            is_whole: true,
            n: 0,
            first: Vec::new(),
            codes: Some(Vec::new()),
            is_few: false,
        }
    }
}

impl Watch {
    /// Whether further numbers can change the result.
    pub(crate) fn is_open(&self) -> bool {
        self.is_whole
    }

    /// Takes the next number, which may be missing (NaN).
    pub(crate) fn push(&mut self, number: f64) {
        if number.is_nan() || !self.is_whole {
            return;
        }
        if number.fract() != 0.0 {
            self.is_whole = false;
            self.first = Vec::new();
            self.codes = None;
            return;
        }
        // Negative zero becomes zero.
        let number = number + 0.0;
        if let Some(codes) = &mut self.codes {
            match codes.binary_search_by(|(known, _)| known.total_cmp(&number)) {
                Ok(at) => codes[at].1 += 1,
                Err(_) if codes.len() == MOST_CODES => self.codes = None,
                Err(at) => codes.insert(at, (number, 1)),
            }
        }
        self.n += 1;
        if !self.is_few && self.first.len() < JUDGED {
            self.first.push(number);
            // For most columns, the first values already decide.
            if self.n == HEAD && self.has_few() {
                self.is_few = true;
                self.first = Vec::new();
            }
        }
    }

    /// Whether few of the first numbers are distinct.
    fn has_few(&self) -> bool {
        let mut head = self.first[..self.n.min(HEAD)].to_vec();
        head.sort_unstable_by(f64::total_cmp);
        let different = head.chunk_by(|a, b| a == b).count();
        (different as f64) < MOSTLY_UNIQUE / 2.0 * head.len() as f64
    }

    /// The kind of a column with this name.
    fn found(&self, name: &str) -> Option<Found> {
        if !self.is_whole {
            return None;
        }
        if self.n < FEW_ROWS || self.is_few || self.has_few() {
            let counts = self.codes.as_ref()?;
            let few =
                self.n >= MANY_ROWS && counts.len() > 2 && self.n >= ROWS_PER_CODE * counts.len();
            return (few && !is_quantity(name, counts)).then_some(Found::Codes(counts.len()));
        }
        let mut sorted = self.first.clone();
        let n = sorted.len();
        sorted.sort_unstable_by(f64::total_cmp);
        let different = sorted.chunk_by(|a, b| a == b).count();
        let share = different as f64 / n as f64;
        if by_name(name).is_some_and(|least| share >= least) {
            return Some(Found::Identifier);
        }
        if n < MANY_ROWS || share < NEARLY_UNIQUE {
            return None;
        }
        let range = sorted[n - 1] - sorted[0] + 1.0;
        match different as f64 >= DENSE * range {
            true => Some(Found::Identifier),
            // A column with a few repeated amounts gets no note.
            false => (different == n).then_some(Found::Distinct),
        }
    }
}

fn look(column: &Column) -> Option<Found> {
    let numbers = column.numeric().filter(|_| column.date.is_none())?;
    let mut watch = Watch::default();
    for number in numbers {
        watch.push(number);
        if !watch.is_open() {
            return None;
        }
    }
    watch.found(&column.name)
}

/// Whether few whole numbers are counts or a scale: because of the name, because some are negative, or
/// because they start at 0 without gaps and become rarer.
fn is_quantity(name: &str, counts: &[(f64, usize)]) -> bool {
    let words = words(name);
    if words.iter().any(|w| QUANTITY_WORDS.contains(&w.as_str())) || counts[0].0 < 0.0 {
        return true;
    }
    let without_gap = counts.windows(2).all(|pair| pair[1].0 - pair[0].0 == 1.0);
    let more = |pair: &&[(f64, usize)]| pair[1].1 > pair[0].1;
    let (first, last) = (counts[0].1, counts[counts.len() - 1].1);
    let rarer = 2 * last <= first && counts.windows(2).filter(more).count() <= 1;
    counts[0].0 == 0.0 && without_gap && rarer
}

/// Leaves out the identifiers among the columns whose type is not set, and notes which other columns may be
/// identifiers or codes.
pub(crate) fn leave_out(
    columns: &mut [Column],
    is_free: impl Fn(&str) -> bool + Sync,
) -> Vec<Diagnostic> {
    let all: Vec<Option<Found>> = columns
        .par_iter()
        .map(|column| is_free(&column.name).then(|| look(column)).flatten())
        .collect();
    leave_out_found(columns, all)
}

/// The same for columns whose numbers were watched when they were read; `None` for those whose type is set.
pub(crate) fn leave_out_watched(
    columns: &mut [Column],
    watched: &[Option<Watch>],
) -> Vec<Diagnostic> {
    let found = |(column, watch): (&Column, &Option<Watch>)| {
        column.numeric().filter(|_| column.date.is_none())?;
        watch.as_ref()?.found(&column.name)
    };
    let all = columns.iter().zip(watched).map(found).collect();
    leave_out_found(columns, all)
}

fn leave_out_found(columns: &mut [Column], all: Vec<Option<Found>>) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let (mut distinct, mut codes): (Vec<&str>, Vec<(&str, usize)>) = Default::default();
    for (column, found) in columns.iter_mut().zip(all) {
        if found == Some(Found::Identifier) {
            let name = &column.name;
            diagnostics.push(Diagnostic::warning(say![
                "column {name:?} is left out: it looks like an identifier (nearly every row has its own \
                 whole number)";
                "pass ", TYPE.of(name).is("numeric"), " to use it as a feature";
                DROP.of(name), " to leave it out without this warning"
            ]));
            column.values = Values::LeftOut(LeftOut::Identifier);
        }
        match found {
            Some(Found::Distinct) => distinct.push(&column.name),
            Some(Found::Codes(n)) => codes.push((&column.name, n)),
            _ => {}
        }
    }
    if !distinct.is_empty() {
        let names = listed(distinct.iter().map(|c| format!("{c:?}")), SHOWN);
        let shown = distinct.iter().copied().take(SHOWN);
        diagnostics.push(Diagnostic::note(say![
            "every row has its own whole number in {names}, which are used as features; if one is an \
             identifier, leave it out",
            with(DROP.of_all(shown))
        ]));
    }
    if !codes.is_empty() {
        let counts = codes.iter().map(|(c, n)| format!("{c:?} ({n} values)"));
        let counts = listed(counts, SHOWN);
        let shown = codes.iter().map(|(c, _)| *c).take(SHOWN);
        diagnostics.push(Diagnostic::note(say![
            "whole numbers with few values are read as quantities: {counts}";
            "if they are codes of categories, pass ", CATEGORICAL.of_all(shown)
        ]));
    }
    diagnostics
}

/// Warns about features that look like identifiers, for tables whose columns are all used unchanged.
pub fn identifier_warnings(columns: &[Column]) -> Vec<Diagnostic> {
    let found: Vec<Option<Found>> = columns.par_iter().map(look).collect();
    let identifiers = columns.iter().zip(found);
    let identifiers = identifiers.filter(|(_, found)| *found == Some(Found::Identifier));
    let warning = |(column, _): (&Column, _)| {
        Diagnostic::warning(format!(
            "column {:?} looks like an identifier (nearly every row has its own whole number), but is \
             used as a feature; if it is one, remove it from the table",
            column.name
        ))
    };
    identifiers.map(warning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, values: impl Iterator<Item = f64>) -> Option<Found> {
        look(&Column::from_numbers(name, values.collect()))
    }

    /// Distinct whole numbers in no particular order.
    fn scattered(n: u64) -> impl Iterator<Item = f64> {
        (0..n).map(|i| (i * 7919 % 100_003) as f64)
    }

    #[test]
    fn names_are_cut_into_words() {
        for name in [
            "id",
            "ID",
            "id_student",
            "student_id",
            "PassengerId",
            "customerID",
            "Unnamed: 0",
            "case_no",
            "Matrikel-Nr",
            "row",
            "index",
            "uuid",
            "SK_ID_CURR",
            "EmployeeNumber",
        ] {
            assert!(by_name(name).is_some(), "{name}");
        }
        for name in [
            "income",
            "idle_time",
            "width",
            "node",
            "no_children",
            "nrw",
            "paid",
            "browser",
        ] {
            assert!(by_name(name).is_none(), "{name}");
        }
    }

    #[test]
    fn identifiers_differ_from_amounts() {
        assert_eq!(found("id", scattered(50)), Some(Found::Identifier));
        assert_eq!(found("x", scattered(500)), Some(Found::Distinct));
        assert_eq!(found("x", scattered(50)), None);
        assert_eq!(
            found("x", (1000..1200).map(f64::from)),
            Some(Found::Identifier)
        );
        // The order does not matter.
        assert_eq!(
            found("x", (0..200).map(|i| f64::from(i * 7 % 200))),
            Some(Found::Identifier)
        );
        // The same people occur several times.
        let twice = || scattered(100).chain(scattered(50));
        assert_eq!(found("id_student", twice()), Some(Found::Identifier));
        assert_eq!(found("amount", twice()), None);
        assert_eq!(found("id", scattered(50).map(|v| v + 0.5)), None);
        let seasons = (0..300).map(|i| f64::from(i % 4));
        assert_eq!(found("shop_id", seasons), Some(Found::Codes(4)));
    }

    #[test]
    fn codes_differ_from_counts() {
        let codes = || (0..300).map(|i| f64::from([10, 20, 30, 90][i % 4]));
        assert_eq!(found("region", codes()), Some(Found::Codes(4)));
        assert_eq!(found("n_rooms", codes()), None);
        assert_eq!(found("age", codes()), None);
        let counts = || (1..300_u32).map(|i| f64::from(i.trailing_zeros()));
        assert_eq!(found("cars", counts()), None);
        assert_eq!(found("flag", (0..300).map(|i| f64::from(i % 2))), None);
        assert_eq!(found("delta", (0..300).map(|i| f64::from(i % 5 - 2))), None);
    }

    #[test]
    fn columns_with_a_type_stay() {
        let mut columns = vec![
            Column::from_numbers("id", scattered(50).collect()),
            Column::from_numbers("case_id", scattered(50).collect()),
        ];
        let diagnostics = leave_out(&mut columns, |name| name != "id");
        assert_eq!(diagnostics.len(), 1);
        assert!(
            diagnostics[0]
                .message
                .to_string()
                .contains("type of \"case_id\"=numeric"),
            "{diagnostics:?}"
        );
        assert!(columns[0].numeric().is_some() && columns[1].numeric().is_none());
    }
}
