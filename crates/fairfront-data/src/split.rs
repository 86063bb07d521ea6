use fairfront_core::{Purpose, Stream, say};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::quoted_list;
use crate::setting::SPLIT;
use crate::spec::SplitRule;
use crate::table::{MISSING, Table};

/// The split that a row belongs to. [`RowRole`](crate::RowRole) defines which decisions each split may
/// influence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The only rows that solvers see.
    Train,
    /// Rows that decide which models are kept, and in which order they are tested.
    Validation,
    /// Rows that certify requirements. They are never shown before a model is chosen.
    Certify,
    /// Rows for the reported measures. They also certify requirements if there are no `certify` rows.
    Test,
}

impl Part {
    /// All four splits, in order.
    pub const ALL: [Self; 4] = [Self::Train, Self::Validation, Self::Certify, Self::Test];
    /// The splits whose measures are shown.
    pub const SHOWN: [Self; 3] = [Self::Train, Self::Validation, Self::Test];

    /// `train`, `validation`, `certify`, `test`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Validation => "validation",
            Self::Certify => "certify",
            Self::Test => "test",
        }
    }
}

/// The split of a row that arrives in a stream. It is drawn only from the seed and the row number, with
/// these percentages, so that it does not depend on earlier or later rows.
///
/// ```
/// use fairfront_data::{Part, drawn_part};
/// assert_eq!(drawn_part([100.0, 0.0, 0.0, 0.0], 7, 12), Part::Train);
/// let shares = [60.0, 10.0, 0.0, 30.0];
/// assert_eq!(drawn_part(shares, 7, 12), drawn_part(shares, 7, 12));
/// ```
pub fn drawn_part(shares: [f64; 4], seed: u64, row: u64) -> Part {
    let drawn = Stream::new(seed, Purpose::Arrival, [row, 0]).uniform() * 100.0;
    let within = |part: &Part| drawn < shares[..=*part as usize].iter().sum::<f64>();
    let found = Part::ALL.into_iter().find(within);
    // Shares may differ from 100 by rounding; the last split with a share takes the rest.
    let last = || Part::ALL.into_iter().rfind(|p| shares[*p as usize] > 0.0);
    found.or_else(last).unwrap_or(Part::Train)
}

/// Names and row counts of all splits; `certify` only if it has rows.
pub fn named_counts(count: impl Fn(Part) -> usize) -> Vec<(&'static str, usize)> {
    let of = |part: Part| (part.name(), count(part));
    let shown = |part: &Part| *part != Part::Certify || count(*part) > 0;
    Part::ALL.into_iter().filter(shown).map(of).collect()
}

/// The splits of the prepared rows, as positions among these rows.
///
/// The rows of a split are in random order ([`Split::shuffle`]), so that any few blocks of them are a fair
/// sample even if the table is sorted. The order is the same wherever rows are held.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Split {
    parts: [Vec<u32>; 4],
}

impl Split {
    /// Creates the splits from the split of each prepared row.
    pub fn from_parts(parts: &[Part]) -> Self {
        let mut split = Self::default();
        for (row, part) in parts.iter().enumerate() {
            split.parts[*part as usize].push(row as u32);
        }
        split
    }

    /// Puts the rows of each split in random order, which depends only on the seed, the split and its number
    /// of rows.
    pub fn shuffle(&mut self, seed: u64) {
        for (part, rows) in self.parts.iter_mut().enumerate() {
            rows.sort_unstable();
            Stream::new(seed, Purpose::Order, [part as u64, 0]).shuffle(rows);
        }
    }

    /// The rows of a split.
    pub fn part(&self, part: Part) -> &[u32] {
        &self.parts[part as usize]
    }

    /// The number of rows in each split; `certify` only if it has rows.
    pub fn counts(&self) -> Vec<(&'static str, usize)> {
        named_counts(|part| self.part(part).len())
    }

    /// The split of each prepared row, and the place of the row within it.
    pub fn places(&self) -> Vec<(Part, usize)> {
        let n = self.parts.iter().map(Vec::len).sum();
        let mut by_row = vec![(Part::Train, 0); n];
        for part in Part::ALL {
            for (place, &row) in self.part(part).iter().enumerate() {
                by_row[row as usize] = (part, place);
            }
        }
        by_row
    }

    /// The split of each prepared row.
    pub fn parts_by_row(&self) -> Vec<Part> {
        self.places().into_iter().map(|(part, _)| part).collect()
    }

    /// Divides `rows` (of `table`) by the rule.
    pub(crate) fn new(
        rule: &SplitRule,
        seed: u64,
        table: &Table,
        rows: &[u32],
    ) -> Result<Self, Error> {
        let n = rows.len();
        let split = match rule {
            SplitRule::None => Self {
                parts: [(0..n as u32).collect(), Vec::new(), Vec::new(), Vec::new()],
            },
            SplitRule::Shares(shares) => Self::by_shares(*shares, seed, n),
            SplitRule::Column(column) => Self::by_column(column, table, rows)?,
        };
        check_counts(rule, Part::ALL.map(|part| split.part(part).len()))?;
        Ok(split)
    }

    fn by_shares(shares: [f64; 4], seed: u64, n: usize) -> Self {
        Self::from_parts(&parts_by_shares(shares, seed, n))
    }

    pub(crate) fn by_column(column: &str, table: &Table, rows: &[u32]) -> Result<Self, Error> {
        let parts = ColumnParts::new(column, table)?;
        let mut split = Self::default();
        for (position, &row) in rows.iter().enumerate() {
            let part = parts.of(row).map_err(|problem| Error::Cell {
                place: table.place(row as usize),
                column: column.into(),
                problem: problem.into(),
            })?;
            split.parts[part as usize].push(position as u32);
        }
        Ok(split)
    }
}

/// Rejects a split without the rows that its rule requires; `counts` are the rows of each split.
pub(crate) fn check_counts(rule: &SplitRule, counts: [usize; 4]) -> Result<(), Error> {
    let n: usize = counts.iter().sum();
    if counts[Part::Train as usize] == 0 {
        return Err(Error::NoRowsLeft(say![
            "the split leaves 0 of {n} rows for training";
            "choose another ", SPLIT
        ]));
    }
    if let SplitRule::Shares([_, _, certify, _]) = rule
        && *certify > 0.0
        && counts[Part::Certify as usize] == 0
    {
        return Err(Error::NoRowsLeft(say![
            "the split leaves 0 of {n} rows to certify on ({certify}%)";
            "choose another ", SPLIT
        ]));
    }
    Ok(())
}

/// The split of each of `n` rows, drawn with these percentages.
pub(crate) fn parts_by_shares(shares: [f64; 4], seed: u64, n: usize) -> Vec<Part> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    Stream::new(seed, Purpose::Split, [0, 0]).shuffle(&mut order);
    let share = |percent: f64| (n as f64 * percent / 100.0).round() as usize;
    let n_train = share(shares[0]).min(n);
    let n_validation = share(shares[1]).min(n - n_train);
    // Without test rows, the rows lost to rounding belong to `certify`.
    let n_certify = match shares[3] > 0.0 {
        true => share(shares[2]).min(n - n_train - n_validation),
        false if shares[2] > 0.0 => n - n_train - n_validation,
        false => 0,
    };
    let mut part_of = vec![Part::Test; n];
    let (chosen, last) = (n_train + n_validation, n_train + n_validation + n_certify);
    for (i, &row) in order[..last].iter().enumerate() {
        part_of[row as usize] = match i {
            i if i < n_train => Part::Train,
            i if i < chosen => Part::Validation,
            _ => Part::Certify,
        };
    }
    part_of
}

/// The place of each row of a split in its random order, where `n` counts the rows of the split
/// ([`Split::shuffle`]).
pub(crate) fn shuffled_places(part: Part, seed: u64, n: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    Stream::new(seed, Purpose::Order, [part as u64, 0]).shuffle(&mut order);
    let mut places = vec![0; n];
    for (place, row) in order.into_iter().enumerate() {
        places[row as usize] = place as u32;
    }
    places
}

/// A column that contains the split of each row.
pub(crate) struct ColumnParts<'a> {
    codes: &'a [u32],
    categories: &'a [String],
    of_category: Vec<Option<Part>>,
}

impl<'a> ColumnParts<'a> {
    pub(crate) fn new(column: &str, table: &'a Table) -> Result<Self, Error> {
        let values = table.require(column, SPLIT)?;
        let Some((codes, categories)) = values.categorical() else {
            return Err(Error::column(
                column,
                "the split column does not contain strings; use the values train, validation, certify \
                 and test",
            ));
        };
        let part = |category: &String| Part::ALL.into_iter().find(|p| p.name() == category);
        Ok(Self {
            codes,
            categories,
            of_category: categories.iter().map(part).collect(),
        })
    }

    /// The split of a row of the table, or the problem.
    pub(crate) fn of(&self, row: u32) -> Result<Part, String> {
        let found = match self.codes[row as usize] {
            MISSING => Err("missing".to_owned()),
            code => {
                let category = &self.categories[code as usize];
                self.of_category[code as usize].ok_or_else(|| format!("{category:?}"))
            }
        };
        found.map_err(|value| {
            let names = Part::ALL.map(Part::name);
            let names = quoted_list(&names, 4);
            format!("the split is {value}; use one of {names}")
        })
    }
}

/// Positions to keep so that every group has as many rows as the smallest group: chosen by seed, in order.
pub(crate) fn balanced(groups: &[u32], n_groups: usize, seed: u64) -> Vec<u32> {
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); n_groups];
    for (position, &group) in groups.iter().enumerate() {
        if let Some(members) = members.get_mut(group as usize) {
            members.push(position as u32);
        }
    }
    let smallest = members.iter().map(Vec::len).min().unwrap_or(0);
    let mut kept = Vec::with_capacity(smallest * n_groups);
    for (group, mut members) in members.into_iter().enumerate() {
        Stream::new(seed, Purpose::Balance, [group as u64, 0]).shuffle(&mut members);
        kept.extend_from_slice(&members[..smallest]);
    }
    kept.sort_unstable();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;
    use fairfront_core::UNKNOWN_GROUP;
    use proptest::prelude::*;

    fn table(strings: &[&str]) -> Table {
        Table::from_columns(
            "t.csv",
            vec![Column::from_strings(
                "part",
                strings.iter().map(|t| Some(*t)),
            )],
        )
    }

    #[test]
    fn adult_has_as_many_training_rows_as_in_the_paper() {
        let split = Split::by_shares([60.0, 10.0, 0.0, 30.0], 0, 45_222);
        let sizes = Part::ALL.map(|p| split.part(p).len());
        assert_eq!(sizes, [27_133, 4_522, 0, 13_567]);
    }

    proptest! {
        #[test]
        fn every_row_is_in_one_split(n in 1_usize..3000, seed: u64, a in 1_u32..100, b in 0_u32..100, c in 0_u32..100) {
            let b = b.min(100 - a);
            let c = c.min(100 - a - b);
            let shares = [a, b, c, 100 - a - b - c].map(f64::from);
            let split = Split::by_shares(shares, seed, n);
            let mut all: Vec<u32> = Part::ALL.iter().flat_map(|p| split.part(*p).to_vec()).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..n as u32).collect::<Vec<_>>());
            prop_assert_eq!(&split, &Split::by_shares(shares, seed, n));
            for (part, share) in Part::ALL.into_iter().zip(shares) {
                // Each of three roundings changes a split by at most half a row.
                prop_assert!((split.part(part).len() as f64 - n as f64 * share / 100.0).abs() <= 1.5);
            }
        }

        #[test]
        fn balanced_groups_have_equal_sizes(groups in prop::collection::vec(0_u32..3, 1..500), seed: u64) {
            let kept = balanced(&groups, 3, seed);
            let count = |rows: &[u32], g| rows.iter().filter(|r| groups[**r as usize] == g).count();
            let smallest = (0..3).map(|g| groups.iter().filter(|x| **x == g).count()).min().unwrap();
            for g in 0..3 {
                prop_assert_eq!(count(&kept, g), smallest);
            }
            prop_assert!(kept.windows(2).all(|w| w[0] < w[1]));
        }
    }

    #[test]
    fn rows_of_unknown_group_are_not_balanced() {
        assert_eq!(balanced(&[0, UNKNOWN_GROUP, 1], 2, 0), [0, 2]);
    }

    #[test]
    fn column_can_define_the_split() {
        let rule = SplitRule::Column("part".into());
        let split =
            |t: &Table| Split::new(&rule, 0, t, &(0..t.n_rows() as u32).collect::<Vec<_>>());
        let found = split(&table(&["train", "test", "train", "validation", "certify"])).unwrap();
        assert_eq!(found.part(Part::Train), [0, 2]);
        assert_eq!(found.part(Part::Test), [1]);
        assert_eq!(found.part(Part::Certify), [4]);
        assert_eq!(
            split(&table(&["train", "dev"])).unwrap_err().to_string(),
            r#"t.csv, row 2, column "part": the split is "dev"; use one of "train", "validation", "certify", "test""#
        );
        assert!(
            split(&table(&["test"]))
                .unwrap_err()
                .to_string()
                .contains("0 of 1 rows")
        );
    }
}
