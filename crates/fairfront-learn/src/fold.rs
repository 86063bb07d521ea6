//! Folds of rows.

use std::collections::HashMap;

use fairfront_core::{Loaded, Purpose, Stream, Target, UNKNOWN_GROUP};

use crate::error::Error;

/// Number of ranges of a target that is a number, as strata.
const LABEL_STRATA: usize = 8;

/// The fold of every row of a data set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folds {
    of_row: Vec<u8>,
    n_folds: usize,
}

impl Folds {
    /// Usual number of folds.
    pub const DEFAULT: usize = 5;

    /// Folds that are stratified by label, or by eighths of the target if it is a number, and by the
    /// groups of every attribute. A row's fold depends only on the seed, its stratum, and its position
    /// within the stratum.
    pub fn of(rows: &Loaded, n_folds: usize, seed: u64) -> Result<Self, Error> {
        let schema = rows.schema();
        let of_label = |label: f64| match &schema.target {
            Target::Binary => u64::from(label > 0.0),
            Target::Classes(_) => label as u64,
            Target::Number(unit) => {
                let below = unit.thresholds.partition_point(|t| *t < label);
                (below * LABEL_STRATA / (unit.thresholds.len() + 1)) as u64
            }
        };
        let mut strata = Vec::with_capacity(rows.n_rows());
        for block in rows.blocks() {
            for row in 0..block.n_rows() {
                let mut stratum = of_label(block.labels()[row]);
                // Numbers in mixed radix; if they wrap, two strata may become one.
                for (a, attribute) in schema.attributes.iter().enumerate() {
                    let n = attribute.groups.len() as u64;
                    let group = match block.groups(a)[row] {
                        UNKNOWN_GROUP => n,
                        group => u64::from(group),
                    };
                    stratum = stratum.wrapping_mul(n + 1).wrapping_add(group);
                }
                strata.push(stratum);
            }
        }
        let Some(people) = rows.people() else {
            return Self::by_stratum(&strata, n_folds, seed);
        };
        // Copies of a person are in the fold of the first one.
        let is_first = |row: usize| row == 0 || people[row - 1] != people[row];
        let firsts = (0..strata.len()).filter(|row| is_first(*row));
        let of_people: Vec<u64> = firsts.map(|row| strata[row]).collect();
        let folds = Self::by_stratum(&of_people, n_folds, seed)?;
        let mut person = 0;
        let of_row = (0..strata.len()).map(|row| {
            person += usize::from(row > 0 && is_first(row));
            folds.of_row[person]
        });
        Ok(Self {
            of_row: of_row.collect(),
            n_folds,
        })
    }

    /// Folds that are stratified by a number per row.
    pub fn by_stratum(strata: &[u64], n_folds: usize, seed: u64) -> Result<Self, Error> {
        if !(2..=255).contains(&n_folds) {
            return Err(Error::Setting {
                name: "n_folds",
                value: n_folds as f64,
                rule: "between 2 and 255",
            });
        }
        // Each stratum deals its rows to all folds in a new random order each time.
        let mut dealers: HashMap<u64, (Stream, Vec<u8>)> = HashMap::new();
        let of_row = strata
            .iter()
            .map(|stratum| {
                let (stream, hand) = dealers.entry(*stratum).or_insert_with(|| {
                    let stream = Stream::new(seed, Purpose::CrossFit, [*stratum, 0]);
                    (stream, Vec::new())
                });
                if hand.is_empty() {
                    hand.extend(0..n_folds as u8);
                    stream.shuffle(hand);
                }
                hand.pop().unwrap_or(0)
            })
            .collect();
        Ok(Self { of_row, n_folds })
    }

    /// The fold of every row.
    pub fn of_row(&self) -> &[u8] {
        &self.of_row
    }

    /// Number of folds.
    pub fn n_folds(&self) -> usize {
        self.n_folds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_divide_every_stratum_evenly() {
        let strata: Vec<u64> = (0..5000).map(|i| i % 7 * (i % 3)).collect();
        let folds = Folds::by_stratum(&strata, 5, 1).unwrap();
        for stratum in 0..13 {
            let mut counts = [0_usize; 5];
            for (fold, s) in folds.of_row().iter().zip(&strata) {
                if *s == stratum {
                    counts[usize::from(*fold)] += 1;
                }
            }
            let (low, high) = (counts.iter().min(), counts.iter().max());
            assert!(high.unwrap() - low.unwrap() <= 1, "{stratum}: {counts:?}");
        }
        assert_ne!(folds, Folds::by_stratum(&strata, 5, 2).unwrap());
    }

    #[test]
    fn copies_of_a_person_are_in_the_same_fold() {
        use fairfront_core::{Attribute, Dataset, RowBlock, Schema};

        let groups = vec!["a".to_owned(), "b".to_owned()];
        let schema = Schema {
            numeric: vec!["x".into()],
            attributes: vec![Attribute::new("g", groups)],
            ..Schema::default()
        };
        // Every third person is two rows.
        let people: Vec<u32> = (0..600)
            .flat_map(|person| vec![person; 1 + usize::from(person % 3 == 0)])
            .collect();
        let n = people.len();
        let group = |row: usize| u32::from(row > 0 && people[row - 1] == people[row]);
        let block = RowBlock::new(
            &schema,
            people.iter().map(|person| f64::from(*person)).collect(),
            Vec::new(),
            people
                .iter()
                .map(|p| if p % 2 == 0 { 1.0 } else { -1.0 })
                .collect(),
            vec![(0..n).map(group).collect()],
            vec![0.5; n],
        );
        let rows = Dataset::new(schema, vec![block.unwrap()]).unwrap();
        let rows = rows.with_people(people.clone()).unwrap().loaded().unwrap();
        let folds = Folds::of(&rows, 5, 1).unwrap();
        let mut sizes = [0_usize; 5];
        for (row, fold) in folds.of_row().iter().enumerate() {
            match group(row) {
                0 => sizes[usize::from(*fold)] += 1,
                _ => assert_eq!(*fold, folds.of_row()[row - 1]),
            }
        }
        // Two strata of people.
        assert!(
            sizes.iter().all(|size| size.abs_diff(120) <= 2),
            "{sizes:?}"
        );
    }

    #[test]
    fn a_fold_depends_on_the_position_within_the_stratum() {
        let strata: Vec<u64> = (0..100).map(|i| u64::from(i % 4 == 0)).collect();
        let all = Folds::by_stratum(&strata, 5, 3).unwrap();
        // Rows of stratum 1 alone, and rows of stratum 0 alone.
        for stratum in [0, 1] {
            let kept = |f: (&u8, &u64)| (*f.1 == stratum).then_some(*f.0);
            let among_all: Vec<u8> = all.of_row().iter().zip(&strata).filter_map(kept).collect();
            let alone = Folds::by_stratum(&vec![stratum; among_all.len()], 5, 3).unwrap();
            assert_eq!(among_all, alone.of_row());
        }
    }
}
