//! Decodes the bytes of a block.

use fairfront_core::{BLOCK_ROWS, RowBlock, Schema, Target, UNKNOWN_GROUP, label_of};

use super::format::{Layout, NumberWidth};
use crate::encoding::Encoding;
use crate::rule::NumericRule;

/// How the bytes of a block become rows.
#[derive(Debug)]
pub(crate) struct Decoder {
    schema: Schema,
    layout: Layout,
    /// Bytes of each column of a row.
    widths: Vec<usize>,
    row_bytes: usize,
    numeric: Vec<Numeric>,
    /// For each categorical column, then for each attribute, the value of each code.
    values: Vec<Vec<u32>>,
}

/// The value of a code that has none. Features and groups never have it: [`UNKNOWN_GROUP`] is the largest
/// number.
const NONE: u32 = u32::MAX - 1;

/// A numeric column, which is one feature or two.
#[derive(Debug)]
struct Numeric {
    rule: NumericRule,
    /// The encoded numbers of the list.
    listed: Vec<f64>,
    /// Whether each is missing, as a number.
    missing: Vec<f64>,
}

impl Decoder {
    /// `lists` holds the distinct numbers of all columns that are stored as positions.
    pub(crate) fn new(encoding: &Encoding, layout: Layout, lists: &[f64]) -> Self {
        let schema = encoding.schema();
        let widths = layout.widths(&schema);
        let mut rest = lists;
        let numeric = encoding.numeric.iter().zip(&layout.numeric);
        let numeric = numeric.map(|(rule, width)| {
            let n = match width {
                NumberWidth::Listed(n) => (*n).min(rest.len()),
                _ => 0,
            };
            let (own, others) = rest.split_at(n);
            rest = others;
            Numeric {
                rule: rule.clone(),
                listed: own.iter().map(|number| rule.encode(*number)).collect(),
                missing: own.iter().map(|number| indicator(*number)).collect(),
            }
        });
        let numeric = numeric.collect();
        let features = schema.categorical.iter().zip(schema.offsets());
        let features = features.map(|(column, offset)| {
            let n = column.categories.len() as u32;
            let own = (0..n).map(|position| offset + position);
            own.chain([schema.null_feature()]).collect()
        });
        let groups = schema.attributes.iter().map(|attribute| {
            let own = 0..attribute.groups.len() as u32;
            own.chain([UNKNOWN_GROUP]).collect()
        });
        Self {
            values: features.chain(groups).map(filled).collect(),
            numeric,
            row_bytes: widths.iter().sum(),
            widths,
            schema,
            layout,
        }
    }

    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }

    pub(crate) fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// The labels of rows; `None` if one is invalid.
    fn labels(&self, bytes: &[u8]) -> Option<Vec<f64>> {
        let below = |n: usize| bytes.iter().all(|byte| usize::from(*byte) < n);
        let unit = match &self.schema.target {
            Target::Binary => {
                let labels = || bytes.iter().map(|byte| label_of(*byte == 1)).collect();
                return below(2).then(labels);
            }
            Target::Classes(classes) => {
                let labels = || bytes.iter().map(|byte| f64::from(*byte)).collect();
                return below(classes.len()).then(labels);
            }
            Target::Number(unit) => unit,
        };
        let label = |word: &[u8; 8]| {
            let label = unit.label(f64::from_le_bytes(*word));
            label.is_finite().then_some(label)
        };
        bytes.as_chunks::<8>().0.iter().map(label).collect()
    }

    /// The rows of a block; `None` if a code is outside its range.
    pub(crate) fn block(&self, bytes: &[u8], n_rows: usize) -> Option<RowBlock> {
        debug_assert!(n_rows <= BLOCK_ROWS && bytes.len() == n_rows * self.row_bytes);
        let mut rest = bytes;
        let mut widths = self.widths.iter();
        let mut next = || {
            let (column, others) = rest.split_at_checked(n_rows * widths.next()?)?;
            rest = others;
            Some(column)
        };
        let n_numeric = self.schema.numeric.len();
        let mut numbers = vec![0.0; n_rows * n_numeric];
        let mut at = 0;
        for (column, width) in self.numeric.iter().zip(&self.layout.numeric) {
            column.decode(next()?, *width, &mut numbers, (at, n_numeric))?;
            at += 1 + usize::from(column.rule.indicator);
        }
        let n_categorical = self.schema.categorical.len();
        let mut codes = vec![0; n_rows * n_categorical];
        let (features, of_groups) = self.values.split_at(n_categorical);
        for (at, values) in features.iter().enumerate() {
            put_codes(next()?, values, &mut codes, (at, n_categorical))?;
        }
        let labels = self.labels(next()?)?;
        let mut groups = Vec::with_capacity(of_groups.len());
        for values in of_groups {
            let mut own = vec![0; n_rows];
            put_codes(next()?, values, &mut own, (0, 1))?;
            groups.push(own);
        }
        let weights = match self.layout.weights {
            false => vec![1.0; n_rows],
            true => {
                let words = next()?.as_chunks::<8>().0.iter();
                let weights: Vec<f64> = words.map(|word| f64::from_le_bytes(*word)).collect();
                if weights.iter().any(|w| !(w.is_finite() && *w >= 0.0)) {
                    return None;
                }
                weights
            }
        };
        // The writer checked the numbers, and the checksum shows that they are unchanged.
        RowBlock::of_checked(&self.schema, numbers, codes, labels, groups, weights).ok()
    }
}

fn indicator(number: f64) -> f64 {
    f64::from(u8::from(number.is_nan()))
}

/// The values of codes, with a value for every code of its width.
fn filled(mut values: Vec<u32>) -> Vec<u32> {
    if values.len() <= 0x100 {
        values.resize(0x100, NONE);
    }
    values
}

impl Numeric {
    /// Writes the features of a column to their places in rows of features.
    fn decode(
        &self,
        bytes: &[u8],
        width: NumberWidth,
        numbers: &mut [f64],
        (at, n_numeric): (usize, usize),
    ) -> Option<()> {
        let doubles = |out: &mut [f64], at: usize, of: &dyn Fn(f64) -> f64| {
            let mut place = at;
            for word in bytes.as_chunks::<8>().0 {
                out[place] = of(f64::from_le_bytes(*word));
                place += n_numeric;
            }
        };
        let singles = |out: &mut [f64], at: usize, of: &dyn Fn(f64) -> f64| {
            let mut place = at;
            for word in bytes.as_chunks::<4>().0 {
                out[place] = of(f64::from(f32::from_le_bytes(*word)));
                place += n_numeric;
            }
        };
        let encode = |number: f64| self.rule.encode(number);
        match width {
            NumberWidth::Listed(_) => {
                put_listed(bytes, width.bytes(), &self.listed, numbers, (at, n_numeric))?;
            }
            NumberWidth::Single => singles(numbers, at, &encode),
            NumberWidth::Double => doubles(numbers, at, &encode),
        }
        if self.rule.indicator {
            match width {
                NumberWidth::Listed(_) => {
                    let place = (at + 1, n_numeric);
                    put_listed(bytes, width.bytes(), &self.missing, numbers, place)?;
                }
                NumberWidth::Single => singles(numbers, at + 1, &indicator),
                NumberWidth::Double => doubles(numbers, at + 1, &indicator),
            }
        }
        Some(())
    }
}

/// Writes numbers by their positions to their places; `None` if a position is outside the list.
fn put_listed(
    bytes: &[u8],
    width: usize,
    listed: &[f64],
    out: &mut [f64],
    (at, step): (usize, usize),
) -> Option<()> {
    let mut place = at;
    // Plain loops: iterators in steps take twice the time here.
    if width == 1 {
        let mut all = [f64::NAN; 0x100];
        all[..listed.len()].copy_from_slice(listed);
        let mut largest = 0;
        for byte in bytes {
            largest = largest.max(*byte);
            out[place] = all[usize::from(*byte)];
            place += step;
        }
        return (usize::from(largest) < listed.len() || bytes.is_empty()).then_some(());
    }
    for word in bytes.as_chunks::<2>().0 {
        out[place] = *listed.get(usize::from(u16::from_le_bytes(*word)))?;
        place += step;
    }
    Some(())
}

/// Writes the values of codes to their places, `at` in every `step` numbers; `None` if a code has no value.
fn put_codes(
    bytes: &[u8],
    values: &[u32],
    out: &mut [u32],
    (at, step): (usize, usize),
) -> Option<()> {
    let n_rows = out.len() / step.max(1);
    let mut place = at;
    match bytes.len() / n_rows.max(1) {
        1 => {
            // No code of one byte is outside this array.
            let values = values.first_chunk::<0x100>()?;
            let mut is_wrong = false;
            for byte in bytes {
                let value = values[usize::from(*byte)];
                is_wrong |= value == NONE;
                out[place] = value;
                place += step;
            }
            return (!is_wrong).then_some(());
        }
        2 => {
            for word in bytes.as_chunks::<2>().0 {
                out[place] = *values.get(usize::from(u16::from_le_bytes(*word)))?;
                place += step;
            }
        }
        _ => {
            for word in bytes.as_chunks::<4>().0 {
                out[place] = *values.get(u32::from_le_bytes(*word) as usize)?;
                place += step;
            }
        }
    }
    (!out.contains(&NONE)).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_every_width_are_read() {
        let found = |bytes: &[u8], n_rows: usize| {
            let mut codes = vec![0; n_rows];
            let values = filled((1..=100_000).collect());
            put_codes(bytes, &values, &mut codes, (0, 1)).map(|()| codes)
        };
        assert_eq!(found(&[7, 255], 2), Some(vec![8, 256]));
        assert_eq!(found(&[7, 0, 255, 255], 2), Some(vec![8, 65_536]));
        assert_eq!(found(&[7, 0, 1, 0], 1), Some(vec![65_544]));
        assert_eq!(found(&[7, 0, 1, 1], 1), None);
    }

    #[test]
    fn codes_without_a_value_are_found() {
        let values = filled(vec![4, 5, 6]);
        let mut codes = vec![0; 4];
        assert_eq!(put_codes(&[2, 0], &values, &mut codes, (1, 2)), Some(()));
        assert_eq!(codes, [0, 6, 0, 4]);
        assert_eq!(put_codes(&[2, 3], &values, &mut codes, (1, 2)), None);
    }
}
