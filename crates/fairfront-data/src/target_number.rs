//! Targets that are numbers: their values, and the unit of their labels.

use fairfront_core::{ExactSum, Unit};
use rayon::prelude::*;

use crate::error::{Error, shorten};
use crate::fit::{Center, NumericSummary};
use crate::number::Numbers;
use crate::read::parse_number;
use crate::rule::too_large_target;
use crate::setting::TARGET;
use crate::table::{Table, Values};

/// The maximum number of training rows that determine the thresholds of a unit.
const MOST_SAMPLED: usize = 1 << 20;

/// At most two different numbers.
#[derive(Debug, Default)]
pub(crate) struct FewNumbers(Vec<f64>);

impl FewNumbers {
    /// Takes a number. Returns whether at most two are different so far.
    pub(crate) fn take(&mut self, number: f64) -> bool {
        if self.0.contains(&number) {
            return true;
        }
        let is_new = self.0.len() < 2;
        if is_new {
            self.0.push(number);
        }
        is_new
    }
}

/// The numbers of a target's column, which may also hold them as strings.
pub(crate) struct TargetColumn<'a> {
    values: TargetValues<'a>,
}

enum TargetValues<'a> {
    Numbers(&'a Numbers),
    Strings {
        codes: &'a [u32],
        strings: &'a [String],
        /// The number of each string; NaN for other strings.
        numbers: Vec<f64>,
    },
}

impl<'a> TargetColumn<'a> {
    pub(crate) fn of(table: &'a Table, column: &str) -> Result<Self, Error> {
        let found = table.require(column, TARGET)?;
        let problem = match &found.values {
            Values::Numeric(numbers) if found.date.is_none() => {
                let values = TargetValues::Numbers(numbers);
                return Ok(Self { values });
            }
            Values::Categorical {
                codes, categories, ..
            } => {
                let number = |text: &String| parse_number(text.as_bytes()).unwrap_or(f64::NAN);
                let values = TargetValues::Strings {
                    codes,
                    strings: categories,
                    numbers: categories.iter().map(number).collect(),
                };
                return Ok(Self { values });
            }
            Values::Numeric(_) => {
                "the target is a date and not a number; choose another target".to_owned()
            }
            Values::LeftOut(reason) => format!("this column cannot be used: {reason}"),
        };
        Err(Error::column(column, problem))
    }

    /// The number of a row; NaN if it has none.
    pub(crate) fn get(&self, row: u32) -> f64 {
        let number = match &self.values {
            TargetValues::Numbers(numbers) => numbers.get(row as usize),
            TargetValues::Strings { codes, numbers, .. } => {
                let number = numbers.get(codes[row as usize] as usize);
                number.copied().unwrap_or(f64::NAN)
            }
        };
        // Negative zero becomes zero.
        number + 0.0
    }

    /// The problem with the value of a row, if there is one. A missing value is not a problem.
    pub(crate) fn problem(&self, row: u32, unit: Option<&Unit>) -> Option<String> {
        let number = self.get(row);
        if !number.is_nan() {
            return match number.is_finite() {
                true => too_large_target(number, unit),
                false => Some(format!(
                    "the target is {number}; fix the value, or leave it empty if it is missing"
                )),
            };
        }
        let TargetValues::Strings { codes, strings, .. } = &self.values else {
            return None;
        };
        let text = strings.get(codes[row as usize] as usize)?;
        Some(format!(
            "the target is {:?}, which is not a number; fix the value, or leave it empty if it is missing",
            shorten(text)
        ))
    }

    /// The numbers of these rows. A value that is not a number or too large is an error.
    pub(crate) fn numbers(
        &self,
        table: &Table,
        column: &str,
        rows: &[u32],
        unit: Option<&Unit>,
    ) -> Result<Vec<f64>, Error> {
        let wrong = rows
            .par_iter()
            .find_map_first(|row| Some((*row, self.problem(*row, unit)?)));
        match wrong {
            None => Ok(rows.par_iter().map(|row| self.get(*row)).collect()),
            Some((row, problem)) => Err(Error::Cell {
                place: table.place(row as usize),
                column: column.into(),
                problem: problem.into(),
            }),
        }
    }
}

/// The numbers of a target in the training rows, from which its unit follows.
#[derive(Debug, Default)]
pub(crate) struct TargetSums {
    summary: NumericSummary,
    /// The numbers of evenly chosen training rows.
    sample: Vec<f64>,
}

impl TargetSums {
    /// The distance of the training rows that determine the thresholds.
    pub(crate) fn step(n_train: usize) -> usize {
        n_train.div_ceil(MOST_SAMPLED).max(1)
    }

    /// Adds a training row, the `nth` in the order of the table.
    pub(crate) fn add(&mut self, number: f64, weight: f64, nth: usize, step: usize) {
        self.summary.add(number, weight);
        if weight > 0.0 && nth.is_multiple_of(step) {
            self.sample.push(number);
        }
    }

    /// Adds other training rows.
    pub(crate) fn merge(&mut self, other: Self) {
        self.summary.merge(&other.summary);
        self.sample.extend(other.sample);
    }

    /// The mean; an error if models cannot learn anything.
    pub(crate) fn center(&self, column: &str) -> Result<Center, Error> {
        self.summary.target_center(column)
    }

    /// The unit, from the sum of [`Center::add_square`] over the training rows.
    pub(crate) fn unit(
        &self,
        column: &str,
        center: Center,
        squares: &ExactSum,
    ) -> Result<Unit, Error> {
        let (center, scale, range) = self.summary.target_scale(column, center, squares)?;
        let mut unit = Unit {
            center,
            scale,
            range,
            thresholds: Vec::new(),
        };
        let labels = self.sample.iter().map(|number| unit.label(*number));
        let mut labels: Vec<f64> = labels.collect();
        if labels.is_empty() {
            // All rows of the sample have weight 0.
            labels = range.map(|number| unit.label(number)).into();
        }
        labels.sort_unstable_by(f64::total_cmp);
        unit.thresholds = Unit::quantiles(&labels);
        Ok(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;

    fn unit(rows: &[(f64, f64)]) -> Result<Unit, Error> {
        let mut sums = TargetSums::default();
        for (nth, (number, weight)) in rows.iter().enumerate() {
            sums.add(*number, *weight, nth, 1);
        }
        let center = sums.center("y")?;
        let mut squares = ExactSum::default();
        for (number, weight) in rows {
            center.add_square(&mut squares, *number, *weight);
        }
        sums.unit("y", center, &squares)
    }

    #[test]
    fn units_have_the_weighted_mean_and_standard_deviation() {
        let unit = unit(&[(1.0, 1.0), (4.0, 3.0), (100.0, 0.0), (9.0, 1.0)]).unwrap();
        // (1 + 12 + 9) / 5, and (3.4² + 3·0.4² + 4.6²) / 5.
        assert_eq!(unit.center, 4.4);
        assert!((unit.scale * unit.scale - 6.64).abs() < 1e-14);
        assert_eq!(unit.range, [1.0, 9.0]);
        let thresholds: Vec<f64> = unit.thresholds.iter().map(|t| unit.number(*t)).collect();
        assert_eq!(thresholds.len(), 3);
        assert!((thresholds[1] - 4.0).abs() < 1e-14);
        assert!(unit.is_sound());
    }

    #[test]
    fn constant_targets_are_errors() {
        let problem = |rows: &[(f64, f64)]| unit(rows).unwrap_err().to_string();
        let said = problem(&[(5.0, 1.0), (7.0, 0.0), (5.0, 2.0)]);
        assert!(
            said.contains("the target is 5 in every training row"),
            "{said}"
        );
        let said = problem(&[(5.0, 0.0), (7.0, 0.0)]);
        assert!(
            said.contains("the weight of every training row is 0"),
            "{said}"
        );
        for rows in [
            [(0.0, 1.0), (1e-200, 1.0)],
            // The other number has almost no weight.
            [(0.0, 1.0), (1e-90, 1e-90)],
        ] {
            let said = problem(&rows);
            assert!(said.contains("too close together"), "{said}");
        }
    }

    #[test]
    fn order_of_rows_does_not_matter() {
        let mut rows: Vec<(f64, f64)> = (0..50)
            .map(|i| (f64::from(i * 7 % 50).sqrt() - 3.0, f64::from(i % 4)))
            .collect();
        let first = unit(&rows).unwrap();
        rows.reverse();
        assert_eq!(unit(&rows).unwrap(), first);
    }

    #[test]
    fn large_targets_are_sampled_evenly() {
        assert_eq!(
            [1, MOST_SAMPLED, MOST_SAMPLED + 1].map(TargetSums::step),
            [1, 1, 2]
        );
        assert_eq!(TargetSums::step(0), 1);
    }

    #[test]
    fn strings_are_parsed() {
        let strings = [Some("2"), None, Some("-0"), Some("two")];
        let columns = vec![Column::from_strings("y", strings)];
        let table = Table::from_columns("t", columns);
        let column = TargetColumn::of(&table, "y").unwrap();
        let numbers: Vec<f64> = (0..4).map(|row| column.get(row)).collect();
        assert_eq!(numbers[0], 2.0);
        assert_eq!(numbers[2].to_bits(), 0);
        assert!(numbers[1].is_nan() && numbers[3].is_nan());
        assert_eq!(column.problem(1, None), None);
        let said = column.numbers(&table, "y", &[0, 3], None).unwrap_err();
        assert!(
            said.to_string().contains("\"two\", which is not a number"),
            "{said}"
        );
    }

    #[test]
    fn infinite_and_huge_numbers_are_problems() {
        let columns = vec![Column::from_numbers("y", vec![f64::INFINITY, 1e60, 1e20])];
        let table = Table::from_columns("t", columns);
        let column = TargetColumn::of(&table, "y").unwrap();
        let said = |row| column.problem(row, None).unwrap_or_default();
        assert!(said(0).starts_with("the target is inf"), "{}", said(0));
        assert!(said(1).contains("too large for a target"), "{}", said(1));
        assert_eq!(said(2), "");
        let unit = Unit {
            center: 0.0,
            scale: 1e-40,
            range: [0.0, 1e-40],
            thresholds: vec![0.0],
        };
        let said = column.problem(2, Some(&unit)).unwrap();
        assert!(said.contains("1e60 standard deviations"), "{said}");
    }
}
