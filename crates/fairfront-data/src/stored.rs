//! Stores encoded rows in a form that does not change when the encoding grows.

use std::borrow::Cow;

use fairfront_core::{
    BLOCK_ROWS, Dataset, MOST_CLASSES, Purpose, RowBlock, Schema, Stream, Target, UNKNOWN_GROUP,
    label_of,
};
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::encoding::Encoding;
use crate::error::Error;
use crate::finding::small_groups;
use crate::split::Part;
use crate::table::Diagnostic;
use crate::target::TargetKind;

/// Marks a categorical value without a category.
const NO_CATEGORY: u32 = u32::MAX;
const MAGIC: &[u8; 8] = b"ffrows\r\n";
/// The latest version, which has more than two classes. Rows with two labels are written as version 1, and numbers
/// as version 2. Classes have one byte per label, like two labels.
const VERSION: u32 = 3;
/// Bytes of the magic word, version and shapes.
const HEADER: usize = 8 + 4 + 4 + 4 + 4 + 8;
const SUM: usize = 32;

/// Encoded rows with their splits, in order of arrival. Categories are positions within their column, and
/// groups are positions within their attribute. Both lists only grow at their ends, so that stored rows
/// stay valid.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRows {
    n_numeric: usize,
    n_categorical: usize,
    n_attributes: usize,
    /// Row by row, like categories and groups.
    numeric: Vec<f64>,
    categories: Vec<u32>,
    groups: Vec<u32>,
    weights: Vec<f64>,
    labels: Labels,
    parts: Vec<u8>,
}

/// The labels of rows.
#[derive(Debug, Clone, PartialEq)]
enum Labels {
    /// 1 for +1, 0 for −1.
    Binary(Vec<u8>),
    /// Standardized numbers.
    Numbers(Vec<f64>),
    /// Positions of classes.
    Classes(Vec<u8>),
}

impl Labels {
    fn of(target: &Target) -> Self {
        match target {
            Target::Binary => Self::Binary(Vec::new()),
            Target::Number(_) => Self::Numbers(Vec::new()),
            Target::Classes(_) => Self::Classes(Vec::new()),
        }
    }

    /// Whether these can be labels of this target.
    fn fit(&self, target: &Target) -> bool {
        match (self, target) {
            (Self::Binary(_), Target::Binary) | (Self::Numbers(_), Target::Number(_)) => true,
            (Self::Classes(labels), Target::Classes(classes)) => labels
                .iter()
                .all(|label| usize::from(*label) < classes.len()),
            _ => false,
        }
    }

    /// The version of files with such labels.
    fn version(&self) -> u32 {
        match self {
            Self::Binary(_) => 1,
            Self::Numbers(_) => 2,
            Self::Classes(_) => VERSION,
        }
    }

    /// Bytes per label in a file.
    fn width(&self) -> usize {
        match self {
            Self::Binary(_) | Self::Classes(_) => 1,
            Self::Numbers(_) => 8,
        }
    }

    fn push(&mut self, label: f64) -> Result<(), Error> {
        match (self, label) {
            (Self::Binary(labels), 1.0) => labels.push(1),
            (Self::Binary(labels), -1.0) => labels.push(0),
            (Self::Binary(_), other) => {
                return Err(Error::BadRows(format!("a label is {other}, not 1 or -1")));
            }
            (Self::Numbers(labels), label) => labels.push(label),
            (Self::Classes(labels), label) => {
                let class = label as u8;
                if f64::from(class).total_cmp(&label).is_ne() || usize::from(class) >= MOST_CLASSES
                {
                    return Err(Error::BadRows(format!("a label is {label}, not a class")));
                }
                labels.push(class);
            }
        }
        Ok(())
    }

    fn append(&mut self, other: &Self) -> Result<(), Error> {
        match (self, other) {
            (Self::Binary(own), Self::Binary(other))
            | (Self::Classes(own), Self::Classes(other)) => {
                own.extend_from_slice(other);
            }
            (Self::Numbers(own), Self::Numbers(other)) => own.extend_from_slice(other),
            _ => {
                let problem = "rows with different kinds of labels cannot be combined";
                return Err(Error::BadRows(problem.into()));
            }
        }
        Ok(())
    }

    fn pick(&self, rows: &[usize]) -> Self {
        match self {
            Self::Binary(labels) => Self::Binary(pick(labels, 1, rows)),
            Self::Numbers(labels) => Self::Numbers(pick(labels, 1, rows)),
            Self::Classes(labels) => Self::Classes(pick(labels, 1, rows)),
        }
    }

    /// The label of a row for models.
    fn get(&self, row: usize) -> f64 {
        match self {
            Self::Binary(labels) => label_of(labels[row] == 1),
            Self::Numbers(labels) => labels[row],
            Self::Classes(labels) => f64::from(labels[row]),
        }
    }

    /// The position at which a row is counted by its label, as for [`TargetKind`].
    fn place(&self, row: usize) -> usize {
        match self {
            Self::Binary(labels) | Self::Classes(labels) => usize::from(labels[row]),
            Self::Numbers(_) => 0,
        }
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Binary(labels) | Self::Classes(labels) => bytes.extend_from_slice(labels),
            Self::Numbers(labels) => bytes.extend(labels.iter().flat_map(|x| x.to_le_bytes())),
        }
    }

    fn are_valid(&self) -> bool {
        match self {
            Self::Binary(labels) => labels.iter().all(|label| *label <= 1),
            Self::Numbers(labels) => labels.iter().all(|label| label.is_finite()),
            Self::Classes(labels) => labels
                .iter()
                .all(|label| usize::from(*label) < MOST_CLASSES),
        }
    }
}

impl StoredRows {
    /// Creates an empty store with the shape of this schema.
    pub fn new(schema: &Schema) -> Self {
        Self {
            n_numeric: schema.numeric.len(),
            n_categorical: schema.categorical.len(),
            n_attributes: schema.attributes.len(),
            numeric: Vec::new(),
            categories: Vec::new(),
            groups: Vec::new(),
            weights: Vec::new(),
            labels: Labels::of(&schema.target),
            parts: Vec::new(),
        }
    }

    /// Stores the rows of a data set, each with its split.
    pub fn from_dataset(data: &Dataset, parts: &[Part]) -> Result<Self, Error> {
        let schema = data.schema();
        if parts.len() != data.n_rows() {
            return Err(Error::BadRows(format!(
                "{} splits for {} rows",
                parts.len(),
                data.n_rows()
            )));
        }
        let (offsets, null) = (schema.offsets(), schema.null_feature());
        let mut rows = Self::new(schema);
        for block in data.blocks() {
            let block = block?;
            for row in 0..block.n_rows() {
                rows.numeric.extend_from_slice(block.numeric(row));
                let codes = block.codes(row).iter().zip(&offsets);
                rows.categories
                    .extend(codes.map(|(code, offset)| match *code {
                        code if code == null => NO_CATEGORY,
                        code => code - offset,
                    }));
                let groups = (0..rows.n_attributes).map(|a| block.groups(a)[row]);
                rows.groups.extend(groups);
            }
            rows.weights.extend_from_slice(block.weights());
            for label in block.labels() {
                rows.labels.push(*label)?;
            }
        }
        rows.parts = parts.iter().map(|part| *part as u8).collect();
        Ok(rows)
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.weights.len()
    }

    /// The split of each row.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = Part> {
        self.parts
            .iter()
            .map(|part| Part::ALL[usize::from(*part).min(3)])
    }

    /// Appends the rows of another store.
    pub fn append(&mut self, other: &Self) -> Result<(), Error> {
        if self.shape() != other.shape() {
            return Err(Error::BadRows(format!(
                "rows of shape {:?} cannot be appended to rows of shape {:?} (numeric features, \
                 categorical columns, attributes)",
                other.shape(),
                self.shape()
            )));
        }
        self.labels.append(&other.labels)?;
        self.numeric.extend_from_slice(&other.numeric);
        self.categories.extend_from_slice(&other.categories);
        self.groups.extend_from_slice(&other.groups);
        self.weights.extend_from_slice(&other.weights);
        self.parts.extend_from_slice(&other.parts);
        Ok(())
    }

    fn shape(&self) -> [usize; 3] {
        [self.n_numeric, self.n_categorical, self.n_attributes]
    }

    /// Selects these rows (from 0), in this order.
    pub fn select(&self, rows: &[usize]) -> Result<Self, Error> {
        if let Some(row) = rows.iter().find(|row| **row >= self.n_rows()) {
            let n = self.n_rows();
            return Err(Error::BadRows(format!("there is no row {row} among {n}")));
        }
        Ok(Self {
            numeric: pick(&self.numeric, self.n_numeric, rows),
            categories: pick(&self.categories, self.n_categorical, rows),
            groups: pick(&self.groups, self.n_attributes, rows),
            weights: pick(&self.weights, 1, rows),
            labels: self.labels.pick(rows),
            parts: pick(&self.parts, 1, rows),
            ..*self
        })
    }

    /// The encoding without the groups that have no rows in these splits, and the rows under that encoding.
    /// A group without rows cannot be compared with others. An attribute that would have fewer than two
    /// groups stays unchanged.
    pub fn with_present_groups(
        &self,
        encoding: &Encoding,
        parts: &[Part],
    ) -> (Encoding, Cow<'_, Self>) {
        let mut encoding = encoding.clone();
        let n = self.n_attributes;
        if encoding.attributes.len() != n {
            // `datasets` reports this error.
            return (encoding, Cow::Borrowed(self));
        }
        let mut present: Vec<Vec<bool>> = encoding
            .attributes
            .iter()
            .map(|rule| vec![false; rule.attribute.groups.len()])
            .collect();
        for (row, part) in self.parts().enumerate() {
            if parts.contains(&part) {
                let groups = &self.groups[row * n..(row + 1) * n];
                for (seen, group) in present.iter_mut().zip(groups) {
                    seen.get_mut(*group as usize)
                        .into_iter()
                        .for_each(|s| *s = true);
                }
            }
        }
        for seen in &mut present {
            if seen.iter().filter(|seen| **seen).count() < 2 {
                seen.fill(true);
            }
        }
        if present.iter().flatten().all(|seen| *seen) {
            return (encoding, Cow::Borrowed(self));
        }
        let mut codes: Vec<Vec<u32>> = Vec::with_capacity(n);
        for (rule, seen) in encoding.attributes.iter_mut().zip(&present) {
            let mut next = 0;
            let code = |seen: &bool| match *seen {
                true => {
                    next += 1;
                    next - 1
                }
                false => UNKNOWN_GROUP,
            };
            codes.push(seen.iter().map(code).collect());
            let reference = rule
                .attribute
                .reference
                .filter(|g| seen.get(*g) == Some(&true));
            rule.attribute.reference =
                reference.map(|g| seen[..g].iter().filter(|seen| **seen).count());
            let mut keep = seen.iter().copied();
            let groups = &mut rule.attribute.groups;
            groups.retain(|_| keep.next().unwrap_or(true));
        }
        let mut rows = self.clone();
        for (at, group) in rows.groups.iter_mut().enumerate() {
            let new = codes[at % n.max(1)].get(*group as usize);
            *group = new.copied().unwrap_or(UNKNOWN_GROUP);
        }
        (encoding, Cow::Owned(rows))
    }

    /// Decides which groups are compared, from the training rows among these. The groups of the encoding
    /// must be those of the rows. Returns messages about small groups.
    pub fn fix_small_groups(&self, encoding: &mut Encoding) -> Vec<Diagnostic> {
        let n = self.n_attributes;
        let mut diagnostics = Vec::new();
        let target = encoding.target.as_ref();
        let n_places = TargetKind::n_places(target.map(|rule| &rule.kind));
        for (a, rule) in encoding.attributes.iter_mut().enumerate() {
            let mut counts = vec![vec![0; n_places]; rule.attribute.groups.len()];
            for (row, part) in self.parts().enumerate() {
                let group = self.groups.get(row * n + a);
                if let Some(count) = group.and_then(|g| counts.get_mut(*g as usize))
                    && part == Part::Train
                    && let Some(count) = count.get_mut(self.labels.place(row))
                {
                    *count += 1;
                }
            }
            rule.fix_small(&counts);
            diagnostics.extend(small_groups(rule, &counts, target));
        }
        diagnostics
    }

    /// The rows of each split, in the order of [`Part::ALL`], under a schema that may have grown since the
    /// rows were encoded.
    pub fn datasets(&self, schema: &Schema) -> Result<[Dataset; 4], Error> {
        let expected = [
            schema.numeric.len(),
            schema.categorical.len(),
            schema.attributes.len(),
        ];
        if self.shape() != expected {
            return Err(Error::BadRows(format!(
                "the rows have shape {:?}, but the schema has {expected:?} (numeric features, \
                 categorical columns, attributes)",
                self.shape()
            )));
        }
        if !self.labels.fit(&schema.target) {
            return Err(Error::BadRows(
                "the labels of the rows do not fit the target of the schema".into(),
            ));
        }
        let dataset = |part: Part| -> Result<Dataset, Error> {
            let own = |row: &usize| self.parts[*row] == part as u8;
            let mut rows: Vec<usize> = (0..self.n_rows()).filter(own).collect();
            // Rows that arrive together may be similar, but blocks of rows must be fair samples.
            Stream::new(0, Purpose::Order, [part as u64, 0]).shuffle(&mut rows);
            let blocks = rows
                .par_chunks(BLOCK_ROWS)
                .map(|rows| self.block(schema, rows));
            let blocks = blocks.collect::<Result<Vec<_>, Error>>()?;
            Ok(Dataset::new(schema.clone(), blocks)?)
        };
        Ok([
            dataset(Part::Train)?,
            dataset(Part::Validation)?,
            dataset(Part::Certify)?,
            dataset(Part::Test)?,
        ])
    }

    fn block(&self, schema: &Schema, rows: &[usize]) -> Result<RowBlock, Error> {
        let (offsets, null) = (schema.offsets(), schema.null_feature());
        let n = self.n_categorical;
        let mut codes = Vec::with_capacity(rows.len() * n);
        for row in rows {
            for (column, &category) in self.categories[row * n..(row + 1) * n].iter().enumerate() {
                let feature = &schema.categorical[column];
                codes.push(match category {
                    NO_CATEGORY => null,
                    category if (category as usize) < feature.categories.len() => {
                        offsets[column] + category
                    }
                    category => {
                        return Err(Error::BadRows(format!(
                            "a row has category {category} of column {:?}, which has only {}",
                            feature.column,
                            feature.categories.len()
                        )));
                    }
                });
            }
        }
        let group = |a: usize| {
            rows.iter()
                .map(|r| self.groups[r * self.n_attributes + a])
                .collect()
        };
        let label = |row: &usize| self.labels.get(*row);
        Ok(RowBlock::new(
            schema,
            pick(&self.numeric, self.n_numeric, rows),
            codes,
            rows.iter().map(label).collect(),
            (0..self.n_attributes).map(group).collect(),
            pick(&self.weights, 1, rows),
        )?)
    }

    /// Writes the rows as bytes: shapes, arrays in little-endian order, and a SHA-256 of everything.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.n_rows() * self.row_bytes() + HEADER + SUM);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&self.labels.version().to_le_bytes());
        for n in self.shape() {
            bytes.extend_from_slice(&(n as u32).to_le_bytes());
        }
        bytes.extend_from_slice(&(self.n_rows() as u64).to_le_bytes());
        let numbers = self.numeric.iter().chain(&self.weights);
        bytes.extend(numbers.flat_map(|x| x.to_le_bytes()));
        let codes = self.categories.iter().chain(&self.groups);
        bytes.extend(codes.flat_map(|c| c.to_le_bytes()));
        self.labels.write(&mut bytes);
        bytes.extend_from_slice(&self.parts);
        let sum = Sha256::digest(&bytes);
        bytes.extend_from_slice(&sum);
        bytes
    }

    fn row_bytes(&self) -> usize {
        let codes = self.n_categorical + self.n_attributes;
        8 * (self.n_numeric + 1) + 4 * codes + self.labels.width() + 1
    }

    /// Reads the bytes of [`StoredRows::to_bytes`], and rejects anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let bad = |reason: &str| Error::BadRows(reason.into());
        if !bytes.starts_with(MAGIC) {
            return Err(bad("not a file of stored rows"));
        }
        let mut rest = Bytes(&bytes[MAGIC.len()..]);
        let cut_off = || bad("the file is truncated");
        let version = rest.u32().ok_or_else(cut_off)?;
        if !(1..=VERSION).contains(&version) {
            let advice = match version > VERSION {
                true => "upgrade fairfront",
                false => "start a new state",
            };
            return Err(Error::BadRows(format!(
                "version {version} is not supported, only versions 1 to {VERSION}; {advice}"
            )));
        }
        let mut shape = [0; 3];
        for n in &mut shape {
            *n = rest.u32().ok_or_else(cut_off)? as usize;
        }
        let n_rows = rest.u64().ok_or_else(cut_off)?;
        let mut rows = Self {
            n_numeric: shape[0],
            n_categorical: shape[1],
            n_attributes: shape[2],
            numeric: Vec::new(),
            categories: Vec::new(),
            groups: Vec::new(),
            weights: Vec::new(),
            labels: match version {
                1 => Labels::Binary(Vec::new()),
                2 => Labels::Numbers(Vec::new()),
                _ => Labels::Classes(Vec::new()),
            },
            parts: Vec::new(),
        };
        let expected = u128::from(n_rows) * rows.row_bytes() as u128 + SUM as u128;
        if rest.0.len() as u128 != expected {
            return Err(Error::BadRows(format!(
                "{n_rows} rows need {expected} bytes after the header, but there are {}; the file is \
                 truncated or corrupted",
                rest.0.len()
            )));
        }
        let (text, sum) = bytes.split_at(bytes.len() - SUM);
        if Sha256::digest(text)[..] != *sum {
            return Err(bad("the checksum is wrong; the file is corrupted"));
        }
        // There are at most as many rows as bytes, so the number fits.
        let n = n_rows as usize;
        rows.numeric = rest.array(n * shape[0], f64::from_le_bytes);
        rows.weights = rest.array(n, f64::from_le_bytes);
        rows.categories = rest.array(n * shape[1], u32::from_le_bytes);
        rows.groups = rest.array(n * shape[2], u32::from_le_bytes);
        rows.labels = match rows.labels {
            Labels::Binary(_) => Labels::Binary(rest.array(n, u8::from_le_bytes)),
            Labels::Numbers(_) => Labels::Numbers(rest.array(n, f64::from_le_bytes)),
            Labels::Classes(_) => Labels::Classes(rest.array(n, u8::from_le_bytes)),
        };
        rows.parts = rest.array(n, u8::from_le_bytes);
        if !rows.labels.are_valid() || rows.parts.iter().any(|p| *p > 3) {
            return Err(bad("a row has an invalid label or split"));
        }
        Ok(rows)
    }
}

/// The entries of these rows in an array with `per_row` entries per row.
fn pick<T: Copy>(values: &[T], per_row: usize, rows: &[usize]) -> Vec<T> {
    let mut picked = Vec::with_capacity(rows.len() * per_row);
    for row in rows {
        picked.extend_from_slice(&values[row * per_row..(row + 1) * per_row]);
    }
    picked
}

/// Bytes that are read from the start.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn u32(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*first))
    }

    fn u64(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*first))
    }

    /// Reads this many values, or fewer if there are not enough bytes.
    fn array<T, const N: usize>(&mut self, n: usize, value: impl Fn([u8; N]) -> T) -> Vec<T> {
        let (own, rest) = self.0.split_at((n * N).min(self.0.len()));
        self.0 = rest;
        let chunks = own.chunks_exact(N);
        chunks
            .filter_map(|c| c.try_into().ok().map(&value))
            .collect()
    }
}
