use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::OnceLock;

use fairfront_core::{
    CategoricalFeature, Dataset, MOST_HIDDEN, Message, Schema, Target, counted, say,
};
use fairfront_learn::Learned;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::date::DateOrder;
use crate::date_part;
use crate::encoder::{self, Coded, Encoder, Unseen};
use crate::error::Error;
use crate::fingerprint::{Fingerprint, fingerprint_rows};
use crate::fit::{Fitted, Rule, Training};
use crate::group::AttributeRule;
use crate::memory::MemoryLimit;
use crate::prepare::Prepared;
use crate::read::fewer;
use crate::rule::{CategoricalRule, MISSING_CATEGORY, NumericRule};
use crate::setting::TARGET;
use crate::spec::Spec;
use crate::split::Part;
use crate::table::{Diagnostic, Table};
use crate::target::TargetRule;

/// Defines how raw columns become features, labels and groups. An encoding is fitted on the training rows,
/// saved with every model, and applied to any later rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Encoding {
    format: String,
    version: u32,
    /// The target; `None` if the table has no target.
    pub target: Option<TargetRule>,
    /// The sensitive attributes.
    pub attributes: Vec<AttributeRule>,
    /// The numeric features, first among the parameters.
    pub numeric: Vec<NumericRule>,
    /// The categorical columns.
    pub categorical: Vec<CategoricalRule>,
    /// Date columns whose weekday and month are categorical columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub date_parts: Vec<String>,
    /// Learners, whose features come after the numeric ones; `None` if models are linear in the
    /// encoded columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<Learned>,
    /// Hidden units of the models; 0 for linear models.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hidden: u32,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

const FORMAT: &str = "fairfront-encoding";
const VERSION: u32 = 1;

/// Labels, groups and weights of the rows to encode, one entry per row.
#[derive(Debug, Clone, Default)]
pub struct RowFacts {
    /// −1 or +1, positions of classes, or standardized numbers ([`Unit::label`](fairfront_core::Unit::label)).
    pub labels: Vec<f64>,
    /// Group codes for each attribute.
    pub groups: Vec<Vec<u32>>,
    /// Weights.
    pub weights: Vec<f64>,
}

impl Encoding {
    /// Fits the encoding on the training rows. The diagnostics report dropped columns and rare categories.
    pub fn fit(prepared: &Prepared) -> Result<(Self, Vec<Diagnostic>), Error> {
        let training = Training {
            prepared,
            positions: prepared.split.part(Part::Train),
        };
        let features = prepared.table.columns().par_iter();
        let features = features.filter(|column| prepared.spec.is_feature(&column.name));
        let fitted: Vec<Fitted> = features.map(|column| training.fit(column)).collect();
        let (target, attributes) = (prepared.target.clone(), prepared.attributes.clone());
        let fit = Self::of_rules(&prepared.spec, target, attributes, fitted);
        fit.map_err(|error| error.in_table(&prepared.table.name))
    }

    /// The encoding with these rules, and the messages about them.
    pub(crate) fn of_rules(
        spec: &Spec,
        target: Option<TargetRule>,
        attributes: Vec<AttributeRule>,
        fitted: Vec<Fitted>,
    ) -> Result<(Self, Vec<Diagnostic>), Error> {
        let mut diagnostics = Vec::new();
        let mut encoding = Self {
            format: FORMAT.into(),
            version: VERSION,
            target,
            attributes,
            numeric: Vec::new(),
            categorical: Vec::new(),
            date_parts: spec.date_parts.clone(),
            learned: None,
            hidden: 0,
        };
        for fitted in fitted {
            diagnostics.extend(fitted.diagnostic);
            match fitted.rule? {
                None => {}
                Some(Rule::Numeric(rule)) => encoding.numeric.push(rule),
                Some(Rule::Categorical(rule)) => encoding.categorical.push(rule),
            }
        }
        // Parts of a date that is the same in every row are not features.
        let categorical = &encoding.categorical;
        encoding.date_parts.retain(|date| {
            let dates = std::slice::from_ref(date);
            let mut rules = categorical.iter();
            rules.any(|rule| date_part::source(&rule.column, dates).is_some())
        });
        if encoding.numeric.is_empty() && encoding.categorical.is_empty() {
            let mut why = Message::default();
            for (i, diagnostic) in diagnostics.iter().take(4).enumerate() {
                why.push(if i == 0 { " (" } else { "; " });
                why.push(&diagnostic.message);
            }
            why.push((!diagnostics.is_empty()).then_some(")"));
            return Err(Error::NoFeatures(why));
        }
        if let Some(name) = repeated(encoding.schema().feature_names().iter()) {
            let problem = "another feature has the same name: a category of another column, or an \
                           indicator of missing values; rename one of the columns";
            return Err(Error::column(name, problem));
        }
        Ok((encoding, diagnostics))
    }

    /// Adds the columns derived from dates to the table.
    pub fn complete<'a>(&self, table: Cow<'a, Table>) -> Result<Cow<'a, Table>, Error> {
        if self.date_parts.is_empty() {
            return Ok(table);
        }
        let mut table = table.into_owned();
        date_part::add(&mut table, &self.date_parts)?;
        Ok(Cow::Owned(table))
    }

    /// The column of the file that a column of this encoding comes from: the date for a weekday or month,
    /// otherwise the column itself.
    pub fn source_of<'a>(&'a self, column: &'a str) -> &'a str {
        date_part::source(column, &self.date_parts).unwrap_or(column)
    }

    /// The order in which the dates of a column were written, if the column holds dates that are features.
    pub fn date(&self, column: &str) -> Option<DateOrder> {
        let rule = self.numeric.iter().find(|rule| rule.column == column);
        rule.and_then(|rule| rule.date)
    }

    /// Describes the numbers of an encoded row.
    pub fn schema(&self) -> Schema {
        let columns = self.columns_schema();
        match &self.learned {
            Some(learned) => columns.with_numeric(&learned.feature_names()),
            None => columns,
        }
    }

    /// Describes the encoded columns of a row, without the features of learners.
    pub fn columns_schema(&self) -> Schema {
        let mut numeric = Vec::new();
        for rule in &self.numeric {
            numeric.push(rule.column.clone());
            if rule.indicator {
                numeric.push(format!("{} {MISSING_CATEGORY}", rule.column));
            }
        }
        let categorical = self.categorical.iter().map(|rule| CategoricalFeature {
            column: rule.column.clone(),
            categories: rule.categories.clone(),
        });
        Schema {
            numeric,
            categorical: categorical.collect(),
            attributes: self
                .attributes
                .iter()
                .map(|r| r.attribute.clone())
                .collect(),
            target: self
                .target
                .as_ref()
                .map_or(Target::Binary, TargetRule::target),
            hidden: self.hidden,
        }
    }

    /// Encodes rows of a table together with their labels, groups and weights (one entry per row of
    /// `rows`).
    pub fn encode(
        &self,
        table: &Table,
        rows: &[u32],
        facts: &RowFacts,
    ) -> Result<(Dataset, Vec<Unseen>), Error> {
        let encoder = self.encoder(table)?;
        Ok((encoder.encode(rows, facts)?, encoder.unseen(rows)))
    }

    /// Finds the columns of a table once, so that callers can encode its rows in several steps.
    pub fn encoder<'a>(&'a self, table: &'a Table) -> Result<Encoder<'a>, Error> {
        let schema = self.columns_schema();
        let mut numeric = Vec::with_capacity(self.numeric.len());
        for rule in &self.numeric {
            let column = table.require(&rule.column, "a feature of the encoding")?;
            numeric.push((rule, encoder::numbers(column, rule, table.n_rows())?));
        }
        let offsets = schema.offsets();
        let null = schema.null_feature();
        let columns = self.categorical.par_iter().zip(offsets);
        let coded = columns
            .map(|(rule, offset)| Coded::new(rule, offset, null, table))
            .collect::<Result<Vec<_>, Error>>()?;
        Ok(Encoder {
            schema,
            numeric,
            coded,
            learned: self
                .learned
                .as_ref()
                .map(|learned| (learned, self.schema())),
        })
    }

    /// Writes the encoding as readable JSON, from which every number is restored exactly.
    pub fn to_json(&self) -> String {
        // The types contain only string keys and finite numbers, which JSON can represent.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Reads the JSON of [`Encoding::to_json`]. Rejects corrupted text and other versions.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Header {
            format: String,
            version: u32,
        }
        let header: Header = serde_json::from_str(text)
            .map_err(|e| Error::BadEncoding(format!("not an encoding: {e}")))?;
        if header.format != FORMAT {
            return Err(Error::BadEncoding(format!(
                "the format is {:?}, expected {FORMAT:?}",
                header.format
            )));
        }
        if header.version != VERSION {
            let advice = match header.version > VERSION {
                true => "upgrade fairfront",
                false => "fit the model again",
            };
            return Err(Error::BadEncoding(format!(
                "version {} is not supported, only version {VERSION}; {advice}",
                header.version
            )));
        }
        let encoding: Self =
            serde_json::from_str(text).map_err(|e| Error::BadEncoding(e.to_string()))?;
        encoding.check()?;
        Ok(encoding)
    }

    /// Reports inconsistencies in an encoding that was read from a file.
    pub fn check(&self) -> Result<(), Error> {
        if self.format != FORMAT || self.version != VERSION {
            return Err(Error::BadEncoding(format!(
                "{} of version {} is not {FORMAT} of version {VERSION}",
                self.format, self.version
            )));
        }
        if self.hidden > MOST_HIDDEN {
            return Err(Error::BadEncoding(format!(
                "models have {} hidden units, more than {MOST_HIDDEN}",
                self.hidden
            )));
        }
        let target = self.target.as_ref();
        if let Some(rule) = target
            && rule.unit().is_some_and(|unit| !unit.is_sound())
        {
            return Err(Error::BadEncoding(format!(
                "the unit of the target {:?} is invalid",
                rule.column
            )));
        }
        if let Some(rule) = target
            && rule.classes().is_some_and(|classes| !classes.is_sound())
        {
            return Err(Error::BadEncoding(format!(
                "the classes of the target {:?} are invalid",
                rule.column
            )));
        }
        for rule in &self.attributes {
            let attribute = &rule.attribute;
            if attribute
                .reference
                .is_some_and(|g| g >= attribute.groups.len())
            {
                return Err(Error::BadEncoding(format!(
                    "the reference group of {:?} is not one of its {}",
                    attribute.name,
                    counted(attribute.groups.len(), "group")
                )));
            }
        }
        for rule in &self.numeric {
            let sound = rule.shift.is_finite() && rule.mean.is_finite();
            if !sound || !rule.factor.is_finite() || rule.factor <= 0.0 {
                return Err(Error::BadEncoding(format!(
                    "column {:?} is scaled by {}",
                    rule.column, rule.factor
                )));
            }
        }
        let numeric = self.numeric.iter().map(|rule| &rule.column);
        let categorical = self.categorical.iter().map(|rule| &rule.column);
        if let Some(column) = repeated(numeric.chain(categorical)) {
            let problem = format!("column {column:?} is encoded more than once");
            return Err(Error::BadEncoding(problem));
        }
        for rule in &self.categorical {
            if let Some(category) = repeated(rule.categories.iter()) {
                let problem = format!(
                    "column {:?} lists category {category:?} more than once",
                    rule.column
                );
                return Err(Error::BadEncoding(problem));
            }
        }
        if let Some(learned) = &self.learned {
            let checked = learned.check(&self.columns_schema());
            checked.map_err(|e| Error::BadEncoding(e.to_string()))?;
            if let Some(name) = repeated(self.schema().feature_names().iter()) {
                let problem = format!("two features have the name {name:?}");
                return Err(Error::BadEncoding(problem));
            }
        }
        Ok(())
    }
}

fn repeated<'a>(mut strings: impl Iterator<Item = &'a String>) -> Option<&'a String> {
    let mut seen = BTreeSet::new();
    strings.find(|text| !seen.insert(*text))
}

/// A prepared table with the rows of all splits encoded.
#[derive(Debug, Clone)]
pub struct Encoded {
    /// The encoding of the rows.
    pub encoding: Encoding,
    /// The rows of each split, in the order of [`Part::ALL`].
    pub parts: [Dataset; 4],
    /// Messages about rare categories, constant columns and categories unseen in training.
    pub diagnostics: Vec<Diagnostic>,
    /// The memory limit for the work on these rows.
    pub memory: MemoryLimit,
    /// Approximate memory of these rows and of their table, in bytes.
    pub held: u64,
    /// Fingerprints of the rows of each split, once they are known ([`Encoded::fingerprints`]).
    pub found_fingerprints: OnceLock<[Fingerprint; 4]>,
}

impl Encoded {
    /// The same rows for models with this many hidden units; 0 for linear models. Rows are not
    /// copied.
    #[must_use]
    pub fn with_hidden(mut self, hidden: u32) -> Self {
        self.encoding.hidden = hidden;
        self.parts = self.parts.map(|part| part.with_hidden(hidden));
        self
    }

    /// Fits the encoding on the training rows and applies it to all splits.
    pub fn new(prepared: &Prepared) -> Result<Self, Error> {
        if prepared.target.is_none() {
            return Err(Error::Usage(
                say!["no target column is set"; "choose one with ", TARGET],
            ));
        }
        let (encoding, mut diagnostics) = Encoding::fit(prepared)?;
        let table = prepared.bytes();
        let rows = prepared.n_rows() as u64 * encoding.schema().row_bytes();
        // Gather labels, groups and weights before they are cut into blocks.
        let facts = prepared.n_rows() * size_of::<f64>() * (3 + prepared.groups.len());
        prepared.memory.check(
            table,
            rows + facts as u64,
            &prepared.table.name,
            &format!(
                "{} of {}",
                counted(prepared.n_rows(), "encoded row"),
                counted(encoding.schema().n_features(), "feature")
            ),
            fewer,
        )?;
        let mut encode = |part: Part| -> Result<Dataset, Error> {
            let positions = prepared.split.part(part);
            let pick = |position: &u32| *position as usize;
            let rows: Vec<u32> = positions
                .par_iter()
                .map(|p| prepared.rows[pick(p)])
                .collect();
            let label = |p: &u32| prepared.standardized(pick(p));
            let facts = RowFacts {
                labels: positions.par_iter().map(label).collect(),
                groups: prepared
                    .groups
                    .iter()
                    .map(|groups| positions.par_iter().map(|p| groups[pick(p)]).collect())
                    .collect(),
                weights: positions
                    .par_iter()
                    .map(|p| prepared.weights[pick(p)])
                    .collect(),
            };
            let (dataset, unseen) = encoding.encode(&prepared.table, &rows, &facts)?;
            diagnostics.extend(unseen.iter().map(|unseen| unseen.warning(part)));
            Ok(dataset)
        };
        let parts = [
            encode(Part::Train)?,
            encode(Part::Validation)?,
            encode(Part::Certify)?,
            encode(Part::Test)?,
        ];
        Ok(Self {
            encoding,
            parts,
            diagnostics,
            memory: prepared.memory,
            held: table + rows,
            found_fingerprints: OnceLock::new(),
        })
    }

    /// Wraps rows that are already encoded, limited only by the available memory.
    pub fn of_parts(encoding: Encoding, parts: [Dataset; 4], diagnostics: Vec<Diagnostic>) -> Self {
        let rows: usize = parts.iter().map(Dataset::n_rows).sum();
        Self {
            held: rows as u64 * encoding.schema().row_bytes(),
            memory: MemoryLimit::default(),
            encoding,
            parts,
            diagnostics,
            found_fingerprints: OnceLock::new(),
        }
    }

    /// Fingerprints of the rows of each split, in the order of [`Part::ALL`]. They are computed at most once.
    pub fn fingerprints(&self) -> Result<&[Fingerprint; 4], Error> {
        if self.found_fingerprints.get().is_none() {
            let [a, b, c, d] = self.parts.each_ref().map(fingerprint_rows);
            let _ = self.found_fingerprints.set([a?, b?, c?, d?]);
        }
        // Set above, or by another thread.
        let found = self.found_fingerprints.get();
        found.ok_or_else(|| Error::usage("the fingerprints of the rows are missing"))
    }

    /// The rows of a split.
    pub fn part(&self, part: Part) -> &Dataset {
        &self.parts[part as usize]
    }
}
