//! Flags of `audit`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use fairfront_data::{Error, grammar};
use fairfront_model::Model;
use fairfront_run::{AuditOptions, AuditRequest, AuditSource, LocalLawRequest};

use crate::table_args::TableArgs;

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is an independent flag"
)]
pub(crate) struct AuditArgs {
    /// Model file; `FILE:COLUMN` with scores or decisions, or `:COLUMN` for a column of ROWS
    #[arg(value_name = "MODEL|FILE:COLUMN")]
    pub(crate) decisions: String,
    /// One or more files with the rows to audit (CSV, CSV.gz or Parquet), or - for standard input
    #[arg(required = true, value_name = "ROWS")]
    pub(crate) files: Vec<String>,

    /// Select rows whose score is at least T; for a model, applies to probabilities [default: the
    /// threshold of the model]
    #[arg(
        long,
        value_name = "T",
        allow_hyphen_values = true,
        help_heading = "Decisions"
    )]
    pub(crate) threshold: Option<f64>,
    /// Decision that means selected, for a column of decisions; repeat for several [default: 1, true
    /// or yes]
    #[arg(
        long,
        value_name = "VALUE",
        allow_hyphen_values = true,
        help_heading = "Decisions"
    )]
    pub(crate) selected: Vec<String>,
    /// Column of both files that identifies rows [default: match rows by position]
    #[arg(long, value_name = "COLUMN", help_heading = "Decisions")]
    pub(crate) key: Option<String>,

    /// Sensitive column; repeat for several. Intersections of all of them are shown as well
    /// [default: those of the model]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) sensitive: Vec<String>,
    /// Divide a numeric sensitive column into groups, e.g. age=25,45
    #[arg(long, value_name = "COLUMN=CUTS", help_heading = "Columns")]
    pub(crate) bins: Vec<String>,
    /// Merge several categories into one, e.g. race=other:Samoan,Aleut (* stands for all categories
    /// that are not listed)
    #[arg(long, value_name = "COLUMN=NEW:OLD,…", help_heading = "Columns")]
    pub(crate) merge: Vec<String>,
    /// Column with outcomes, for error rates [default: the target of the model, if ROWS have it]
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) target: Option<String>,
    /// Value of the target that counts as positive; repeat for several, or pass a comparison, e.g.
    /// '>= 5000'
    #[arg(
        long,
        value_name = "VALUE",
        allow_hyphen_values = true,
        help_heading = "Columns"
    )]
    pub(crate) positive: Vec<String>,
    /// Column of sample weights
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) weight: Option<String>,

    /// Group that others are compared with, e.g. race=White; repeat for several attributes [default:
    /// the group with the highest selection rate]
    #[arg(long, value_name = "ATTRIBUTE=GROUP", help_heading = "Comparison")]
    pub(crate) reference: Vec<String>,
    /// Confidence of the intervals and tests [default: 0.95]
    #[arg(long, value_name = "LEVEL", help_heading = "Comparison")]
    pub(crate) confidence: Option<f64>,
    /// List groups with less than this share of the rows, but leave them out of ratios [default: 2%]
    #[arg(long, value_name = "SHARE", help_heading = "Comparison")]
    pub(crate) min_share: Option<String>,

    /// Policy for rows with a missing sensitive value: group makes them the group (missing)
    /// [default: count them as unknown]
    #[arg(long, value_name = "POLICY", help_heading = "Missing values")]
    pub(crate) missing_sensitive: Option<String>,
    /// Additional string that marks a missing value; repeat for several
    #[arg(
        long,
        value_name = "STRING",
        allow_hyphen_values = true,
        help_heading = "Missing values"
    )]
    pub(crate) missing_value: Vec<String>,
    /// Do not treat ? NA N/A NaN null as missing, only empty fields and --missing-value
    #[arg(long, help_heading = "Missing values")]
    pub(crate) no_default_missing: bool,

    /// Add the tables of a regulation: nyc-ll144 for New York City's Local Law 144
    #[arg(long, value_name = "FORMAT", help_heading = "Local Law 144")]
    pub(crate) format: Option<AuditFormat>,
    /// Compare scoring rates, the shares of scores above the median, instead of selection rates
    #[arg(long, requires = "format", help_heading = "Local Law 144")]
    pub(crate) scoring: bool,
    /// Column with sex categories [default: the sensitive column sex or gender]
    #[arg(
        long,
        value_name = "COLUMN",
        requires = "format",
        help_heading = "Local Law 144"
    )]
    pub(crate) sex: Option<String>,
    /// Column with race and ethnicity categories [default: the sensitive column race or ethnicity]
    #[arg(
        long,
        value_name = "COLUMN",
        requires = "format",
        help_heading = "Local Law 144"
    )]
    pub(crate) race: Option<String>,
    /// Date of the audit [default: today]
    #[arg(
        long,
        value_name = "YYYY-MM-DD",
        requires = "format",
        help_heading = "Local Law 144"
    )]
    pub(crate) date: Option<String>,
    /// Source and explanation of the data
    #[arg(
        long,
        value_name = "TEXT",
        requires = "format",
        help_heading = "Local Law 144"
    )]
    pub(crate) source: Option<String>,
    /// Date from which the tool is used
    #[arg(
        long,
        value_name = "YYYY-MM-DD",
        requires = "format",
        help_heading = "Local Law 144"
    )]
    pub(crate) distribution_date: Option<String>,
    /// Why categories below --min-share are left out [default: a sentence with the share]
    #[arg(
        long,
        value_name = "TEXT",
        requires = "format",
        help_heading = "Local Law 144"
    )]
    pub(crate) justification: Option<String>,

    /// Write a page (.html), Markdown (.md) or JSON (.json), or all three into an existing folder;
    /// repeat for several
    #[arg(short, long, value_name = "FILE|DIR", help_heading = "Output")]
    pub(crate) output: Vec<PathBuf>,
    /// Overwrite existing files
    #[arg(long, requires = "output", help_heading = "Output")]
    pub(crate) force: bool,
    /// Print JSON instead of tables
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    /// Separator of CSV fields: a character, or tab [default: detected]
    #[arg(long, value_name = "CHAR", help_heading = "Reading CSV")]
    pub(crate) separator: Option<String>,
    /// Decimal sign of numbers in CSV files: . or , [default: detected]
    #[arg(long, value_name = "CHAR", help_heading = "Reading CSV")]
    pub(crate) decimal: Option<String>,
    /// Memory that the tables may use, e.g. 2GiB or 500MB [default: half of the available memory]
    #[arg(long, value_name = "SIZE", help_heading = "Memory")]
    pub(crate) memory: Option<String>,
}

/// The tables of a regulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuditFormat {
    /// New York City's Local Law 144
    #[value(name = "nyc-ll144")]
    NycLl144,
}

impl AuditArgs {
    /// The request. `today` is used if the format needs a date and none is set.
    pub(crate) fn request(&self, today: &str) -> anyhow::Result<AuditRequest> {
        let options = AuditOptions {
            references: references(&self.reference)?,
            confidence: self
                .confidence
                .unwrap_or(AuditOptions::default().confidence),
            min_share: match &self.min_share {
                Some(text) => share("--min-share", text)?,
                None => AuditOptions::default().min_share,
            },
            scoring: self.scoring,
            local_law_144: self.format.map(|_| LocalLawRequest {
                sex: self.sex.clone(),
                race: self.race.clone(),
                date: self.date.clone().unwrap_or_else(|| today.to_owned()),
                source: self.source.clone(),
                distribution_date: self.distribution_date.clone(),
                justification: self.justification.clone(),
            }),
        };
        let (mut spec, reading) = TableArgs::of_audit(self).settings(None, false)?;
        let source = source(&self.decisions)?;
        // Columns of the layout are sensitive, also next to those of a model.
        if !(spec.sensitive.is_empty() && matches!(source, AuditSource::Model { .. })) {
            for column in self.sex.iter().chain(&self.race) {
                let own = vec![column.clone()];
                if !spec.sensitive.contains(&own) {
                    spec.sensitive.push(own);
                }
            }
        }
        Ok(AuditRequest {
            source,
            files: self.files.clone(),
            spec,
            reading,
            key: self.key.clone(),
            threshold: self.threshold,
            selected: self.selected.clone(),
            options,
        })
    }
}

/// Parses a share: `2%` or `0.02`.
fn share(flag: &str, text: &str) -> Result<f64, Error> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text, 1.0),
    };
    let parsed = number
        .trim()
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite());
    parsed.map(|number| number * unit).ok_or_else(|| {
        Error::usage(format!(
            "{flag} {text}: not a share; choose a percentage, such as 2%"
        ))
    })
}

/// Parses reference groups: `race=White`.
pub(crate) fn references(written: &[String]) -> Result<Vec<(String, String)>, Error> {
    let parse = |text: &String| {
        let parsed = text
            .split_once('=')
            .map(|(attribute, group)| (attribute.trim(), group.trim()));
        match parsed.filter(|(attribute, group)| !attribute.is_empty() && !group.is_empty()) {
            Some((attribute, group)) => Ok((attribute.to_owned(), group.to_owned())),
            None => Err(Error::usage(format!(
                "--reference {text:?}: pass an attribute and a group, such as race=White"
            ))),
        }
    };
    written.iter().map(parse).collect()
}

/// A model, or a file and a column.
pub(crate) fn source(text: &str) -> anyhow::Result<AuditSource> {
    let column = |file: Option<&str>, column: &str| -> anyhow::Result<AuditSource> {
        let column = match column.starts_with('"') {
            true => grammar::names(column)?.concat(),
            false => column.to_owned(),
        };
        if column.is_empty() {
            let message = format!("{text}: no column after the colon; add its name");
            return Err(Error::usage(message).into());
        }
        Ok(AuditSource::Column {
            file: file.map(PathBuf::from),
            column,
        })
    };
    if let Some(name) = text.strip_prefix(':') {
        return column(None, name);
    }
    let path = Path::new(text);
    if !path.exists() {
        // Names of files and columns may contain colons.
        let cuts: Vec<(&str, &str)> = text
            .match_indices(':')
            .map(|(at, _)| (&text[..at], &text[at + 1..]))
            .collect();
        let is_file = |(file, _): &&(&str, &str)| Path::new(file).is_file();
        if let Some((file, name)) = cuts.iter().find(is_file) {
            return column(Some(file), name);
        }
        if let Some((file, _)) = cuts.last() {
            let message = format!("{file}: no such file; check the path");
            return Err(anyhow::anyhow!(message));
        }
    }
    let is_table = |name: &str| {
        [".csv", ".csv.gz", ".parquet", ".tsv", ".txt"]
            .iter()
            .any(|end| name.to_lowercase().ends_with(end))
    };
    if path.is_file() && is_table(text) {
        let message = format!(
            "{text}: is not a model file; for a table of scores, add the column, as in {text}:score"
        );
        return Err(Error::usage(message).into());
    }
    Ok(AuditSource::Model {
        model: Box::new(Model::read(path)?),
        name: text.to_owned(),
    })
}
