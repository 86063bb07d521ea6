//! Flags and TOML keys for the table and its columns, shared by all commands that read a table.

use std::path::{Path, PathBuf};

use clap::Args;
use fairfront_data::{
    ColumnType, Decimal, Error, Input, Known, MemoryLimit, Merge, MinGroup, Prepared, ReadOptions,
    Source, Spec, attribute_name, data_folder, grammar, pack_files,
};
use fairfront_run::{FamilyName, SolverName};
use serde::{Deserialize, Deserializer, Serialize};
use tempfile::TempDir;

use crate::audit_args::AuditArgs;
use crate::progress::{self, Packing};
use crate::solver_args::{FrontInName, OldMethod, OldPoints, PenaltyValue, Preset};

/// The flags as typed. Every flag is also a key of the same name in the TOML file, where a repeated
/// flag is a list. Flags override the file, which overrides the settings of a known data set.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct TableArgs {
    /// One or more files with the same columns, - for standard input, or a known data set
    #[arg(value_name = "FILE|NAME")]
    #[serde(deserialize_with = "one_or_many")]
    files: Vec<String>,
    /// Read settings from a TOML file; flags override them
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    config: Option<PathBuf>,

    /// Column to predict
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    target: Option<String>,
    /// Value of the target that counts as positive; repeat for several, or pass a comparison, e.g.
    /// '>= 5000' or '> median'
    #[arg(
        long,
        value_name = "VALUE",
        allow_hyphen_values = true,
        help_heading = "Columns"
    )]
    #[serde(deserialize_with = "strings_or_numbers")]
    positive: Vec<String>,
    /// Predict the target as a number
    #[arg(long, help_heading = "Columns")]
    numeric: bool,
    /// Predict the target as a class, also if its values are numbers
    #[arg(long, help_heading = "Columns")]
    classes: bool,
    /// All classes of the target, from the lowest to the highest, e.g. low,mid,high: predict a class,
    /// and compare groups by the shares above each class
    #[arg(
        long,
        value_name = "CLASSES",
        allow_hyphen_values = true,
        help_heading = "Columns"
    )]
    #[serde(deserialize_with = "strings_or_numbers")]
    order: Vec<String>,
    /// Sensitive column; repeat for several, join with : for an intersection (sex:race)
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    #[serde(deserialize_with = "one_or_many")]
    sensitive: Vec<String>,
    /// Sensitive attribute of which only probabilities are known, one column per group; results are weighted by
    /// them: `race=White:p_white,Black:p_black`
    #[arg(
        long,
        value_name = "ATTRIBUTE=GROUP:COLUMN,…",
        help_heading = "Columns"
    )]
    #[serde(deserialize_with = "one_or_many")]
    sensitive_probability: Vec<String>,
    /// Divide a numeric sensitive column into groups, e.g. age=25,45
    #[arg(long, value_name = "COLUMN=CUTS", help_heading = "Columns")]
    #[serde(deserialize_with = "one_or_many")]
    bins: Vec<String>,
    /// Reference group of a sensitive attribute, e.g. race=White: measure the adverse impact ratio,
    /// shortfall and odds ratio of every other group against it; repeat for several attributes
    #[arg(long, value_name = "ATTRIBUTE=GROUP", help_heading = "Columns")]
    #[serde(deserialize_with = "one_or_many")]
    reference: Vec<String>,
    /// Report groups with fewer than N training rows, but leave them out of differences and ratios;
    /// for true (false) positive rates, only positive (negative) rows count [default: 30]
    #[arg(long, value_name = "N", help_heading = "Columns")]
    min_group: Option<usize>,
    /// Pool groups with fewer than N training rows into one, (other) [default: 0, do not pool]
    #[arg(long, value_name = "N", help_heading = "Columns")]
    pool_groups: Option<usize>,
    /// Columns to exclude from the features, e.g. fnlwgt,id
    #[arg(long, value_name = "COLUMNS", help_heading = "Columns")]
    #[serde(deserialize_with = "one_or_many")]
    drop: Vec<String>,
    /// Use only these columns as features
    #[arg(long, value_name = "COLUMNS", help_heading = "Columns")]
    #[serde(deserialize_with = "one_or_many")]
    feature: Vec<String>,
    /// Column of sample weights
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    weight: Option<String>,
    /// Column with probabilities of another model, from 0 to 1: show its decisions next to the front.
    /// For more than two classes, one column per class, in their order
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    #[serde(deserialize_with = "one_or_many")]
    mark: Vec<String>,
    /// Also use sensitive columns as features
    #[arg(long, help_heading = "Columns")]
    use_sensitive: bool,

    /// Set the type of a column, e.g. zip=categorical; types: numeric, boolean, categorical, date,
    /// date-dmy, date-mdy
    #[arg(long = "type", value_name = "COLUMN=TYPE", help_heading = "Encoding")]
    #[serde(deserialize_with = "one_or_many")]
    r#type: Vec<String>,
    /// Columns whose numbers are codes of categories, e.g. zip,region
    #[arg(long, value_name = "COLUMNS", help_heading = "Encoding")]
    #[serde(deserialize_with = "one_or_many")]
    categorical: Vec<String>,
    /// Date columns whose weekday and month also become categorical features, e.g. joined,born
    #[arg(long, value_name = "COLUMNS", help_heading = "Encoding")]
    #[serde(deserialize_with = "one_or_many")]
    date_parts: Vec<String>,
    /// Merge several categories into one, e.g. education=school:9th,10th,11th (* stands for all
    /// categories that are not listed)
    #[arg(long, value_name = "COLUMN=NEW:OLD,…", help_heading = "Encoding")]
    #[serde(deserialize_with = "one_or_many")]
    merge: Vec<String>,
    /// Scaling of numeric columns: standard, min-max or none [default: standard]
    #[arg(long, value_name = "SCALING", help_heading = "Encoding")]
    scale: Option<String>,
    /// Pool categories with fewer than N training rows into one [default: 0, do not pool]
    #[arg(long, value_name = "N", help_heading = "Encoding")]
    pool_rare: Option<usize>,

    /// Policy for missing features, for all columns or one: keep, drop, category or mean; keep uses
    /// a separate category, or the mean with an indicator [default: keep]
    #[arg(long, value_name = "[COLUMN=]POLICY", help_heading = "Missing values")]
    #[serde(deserialize_with = "one_or_many")]
    missing: Vec<String>,
    /// Policy for rows with a missing sensitive value: drop, group or loss-only [default: drop]
    #[arg(long, value_name = "POLICY", help_heading = "Missing values")]
    missing_sensitive: Option<String>,
    /// Additional string that marks a missing value; repeat for several
    #[arg(
        long,
        value_name = "STRING",
        allow_hyphen_values = true,
        help_heading = "Missing values"
    )]
    #[serde(deserialize_with = "one_or_many")]
    missing_value: Vec<String>,
    /// Do not treat ? NA N/A NaN null as missing, only empty fields and --missing-value
    #[arg(long, help_heading = "Missing values")]
    no_default_missing: bool,

    /// Percentages of training/validation/test rows, or of training/validation/certify/test rows
    /// (50/10/20/20), or none, or column:NAME [default: 60/10/30]
    #[arg(long, value_name = "SPLIT", help_heading = "Rows")]
    split: Option<String>,
    /// Reduce the groups of this sensitive attribute to the same size
    #[arg(long, value_name = "ATTRIBUTE", help_heading = "Rows")]
    balance: Option<String>,
    /// Random seed [default: 0]
    #[arg(long, value_name = "N", help_heading = "Rows")]
    seed: Option<u64>,

    /// Separator of CSV fields: a character, or tab [default: detected]
    #[arg(long, value_name = "CHAR", help_heading = "Reading CSV")]
    separator: Option<String>,
    /// Decimal sign of numbers in CSV files: . or , [default: detected]
    #[arg(long, value_name = "CHAR", help_heading = "Reading CSV")]
    decimal: Option<String>,
    /// Treat the first row of a CSV file as data
    #[arg(long, help_heading = "Reading CSV")]
    no_header: bool,
    /// Column names of a CSV file without a header, e.g. age,job,pay
    #[arg(long, value_name = "COLUMNS", help_heading = "Reading CSV")]
    #[serde(deserialize_with = "one_or_many")]
    columns: Vec<String>,

    /// Memory that the work may use, e.g. 2GiB or 500MB. A table that needs more is packed into a
    /// temporary block file by fit, tune and verify, and refused by other commands [default: half
    /// of the available memory for a table, all of it for other work]
    #[arg(long, value_name = "SIZE", help_heading = "Memory")]
    #[serde(skip_serializing)]
    memory: Option<String>,

    /// The flags of `fit` in the table `[fit]` of a TOML file.
    #[arg(skip)]
    pub(crate) fit: FitConfig,
}

/// The flags of `fit` that a TOML file can contain, with the same names.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct FitConfig {
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) objective: Vec<String>,
    pub(crate) solver: Option<SolverName>,
    /// The former name of `solver`.
    #[serde(skip_serializing)]
    method: Option<OldMethod>,
    /// The former name of `models`.
    #[serde(skip_serializing)]
    points: Option<OldPoints>,
    pub(crate) preset: Option<Preset>,
    pub(crate) models: Option<usize>,
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) set: Vec<String>,
    pub(crate) polish: bool,
    pub(crate) front_in: Option<FrontInName>,
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) require: Vec<String>,
    pub(crate) confidence: Option<String>,
    pub(crate) exact: bool,
    pub(crate) best: Option<String>,
    pub(crate) penalty: Option<PenaltyValue>,
    pub(crate) family: Option<FamilyName>,
    pub(crate) hidden: Option<usize>,
    pub(crate) score: Option<String>,
    pub(crate) out_of_fold: bool,
    pub(crate) max_seconds: Option<f64>,
    pub(crate) checkpoint_every: Option<f64>,
}

impl TableArgs {
    /// Arguments with only the name of a known data set.
    pub(crate) fn known(name: &str) -> Self {
        Self {
            files: vec![name.into()],
            ..Self::default()
        }
    }

    /// The arguments about the rows of an audit.
    pub(crate) fn of_audit(args: &AuditArgs) -> Self {
        Self {
            files: args.files.clone(),
            target: args.target.clone(),
            positive: args.positive.clone(),
            sensitive: args.sensitive.clone(),
            bins: args.bins.clone(),
            merge: args.merge.clone(),
            weight: args.weight.clone(),
            missing_sensitive: args.missing_sensitive.clone(),
            missing_value: args.missing_value.clone(),
            no_default_missing: args.no_default_missing,
            separator: args.separator.clone(),
            decimal: args.decimal.clone(),
            memory: args.memory.clone(),
            ..Self::default()
        }
    }

    /// Reads the table and determines the roles of its columns and the rows to use.
    pub(crate) fn prepare(&self) -> anyhow::Result<Prepared> {
        self.prepare_for(false)
    }

    /// Like [`prepare`](Self::prepare), but if `paper` is true and the data set is COMPAS, the
    /// sensitive column is also a feature.
    pub(crate) fn prepare_for(&self, paper: bool) -> anyhow::Result<Prepared> {
        let args = self.with_config()?;
        let Some(first) = args.files.first() else {
            let message = "no input; pass a file, - for standard input, or a known data set";
            return Err(Error::usage(message).into());
        };
        let known = Known::parse(first)?;
        let (spec, options) = args.settings(known.as_ref(), paper)?;
        Ok(match known {
            Some(_) if args.files.len() > 1 => {
                let message =
                    "a known data set cannot be combined with files; pass one or the other";
                return Err(Error::usage(message).into());
            }
            Some(known) => {
                let known = known.within(options.memory);
                Prepared::from_known(&known, &spec, data_folder().as_deref())?
            }
            None => Prepared::from_files(&args.files, &spec, options)?,
        })
    }

    /// Reads the table for a fit: into memory, or from a block file. A table that needs more than the memory
    /// limit is packed into a temporary block file.
    pub(crate) fn source(&self, paper: bool, packing: &mut Packing) -> anyhow::Result<Source> {
        let args = self.with_config()?;
        if let [file] = args.files.as_slice()
            && Input::is_block_file(Path::new(file))
        {
            args.check_block_file(file)?;
            return Ok(Source::open(Path::new(file), args.memory_limit()?)?);
        }
        let is_known = |file: &String| Ok::<_, Error>(Known::parse(file)?.is_some());
        if args.files.first().map(is_known).transpose()? != Some(false) {
            let prepared = args.prepare_for(paper)?;
            return Ok(Source {
                input: Input::of(&prepared, true)?,
                prepared: Some(prepared),
            });
        }
        let (spec, options) = args.settings(None, paper)?;
        let work = packing.work.clone();
        let mut show = |progress| packing.show(progress);
        let files = &args.files;
        Ok(Source::read(
            files,
            &spec,
            options,
            true,
            work.as_deref(),
            &mut show,
        )?)
    }

    /// Packs the table into a temporary block file.
    pub(crate) fn packed(&self, paper: bool, packing: &mut Packing) -> anyhow::Result<Source> {
        let args = self.with_config()?;
        let (spec, options) = args.settings(None, paper)?;
        let work = packing.work.clone();
        let mut show = |progress| packing.show(progress);
        Ok(Source::pack(
            &args.files,
            &spec,
            options,
            work.as_deref(),
            &mut show,
        )?)
    }

    /// Reads the table for a fit on a cluster: from a block file with a path, which is packed into a temporary
    /// folder if the table is not one.
    pub(crate) fn shared(&self, paper: bool, packing: &mut Packing) -> anyhow::Result<Shared> {
        let args = self.with_config()?;
        let Some(first) = args.files.first() else {
            return Err(Error::usage("no input; pass a file, or - for standard input").into());
        };
        if args.files.len() == 1 && Input::is_block_file(Path::new(first)) {
            let source = self.source(paper, packing)?;
            return Ok(Shared {
                source,
                path: first.into(),
                _folder: None,
            });
        }
        if Known::parse(first)?.is_some() {
            let message = format!(
                "{first}: a known data set cannot be fitted on a cluster; write it to a file with fairfront data \
                 export"
            );
            return Err(Error::usage(message).into());
        }
        let (spec, options) = args.settings(None, paper)?;
        let memory = options.memory;
        let work = packing.work.clone().unwrap_or_else(std::env::temp_dir);
        let folder = tempfile::Builder::new()
            .prefix("fairfront-")
            .tempdir_in(&work)
            .map_err(|source| Error::Io {
                path: work.display().to_string(),
                source,
            })?;
        progress::remove_at_signal(Some(folder.path()));
        let path = folder.path().join("rows.ffb");
        let mut show = |progress| packing.show(progress);
        let files = &args.files;
        pack_files(files, &spec, options, &path, folder.path(), &mut show)?;
        Ok(Shared {
            source: Source::open(&path, memory)?,
            path,
            _folder: Some(folder),
        })
    }

    /// Rejects flags about columns and rows, which a block file has already.
    fn check_block_file(&self, file: &str) -> anyhow::Result<()> {
        let own = Self {
            files: Vec::new(),
            memory: None,
            fit: FitConfig::default(),
            ..self.clone()
        };
        let words = crate::word::of_args(&own)?;
        match words.iter().find(|word| word.starts_with("--")) {
            None => Ok(()),
            Some(flag) => {
                let flag = flag.split('=').next().unwrap_or(flag);
                let message = format!(
                    "{file}: a block file already has its columns, rows and split; remove {flag}, or pack the \
                     table again"
                );
                Err(Error::usage(message).into())
            }
        }
    }

    /// These arguments without files and without `[fit]`.
    pub(crate) fn without_files(self) -> Self {
        Self {
            files: Vec::new(),
            fit: FitConfig::default(),
            ..self
        }
    }

    /// The path of the TOML file, if there is one.
    pub(crate) fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// The files, `-`, or the name of a known data set.
    pub(crate) fn files(&self) -> &[String] {
        &self.files
    }

    /// The spec and the options for reading files. A known data set has its own defaults.
    pub(crate) fn settings(
        &self,
        known: Option<&Known>,
        paper: bool,
    ) -> Result<(Spec, ReadOptions), Error> {
        let Some(known) = known else {
            return Ok((self.spec(Spec::default())?, self.read_options()?));
        };
        if self.reads_csv() {
            return Err(Error::Usage(
                "the format of a known data set is fixed; remove --separator, --decimal, \
                 --no-header, --columns, --missing-value and --no-default-missing"
                    .into(),
            ));
        }
        let mut base = known.spec();
        base.use_sensitive |= paper && known.name().starts_with("compas");
        let options = ReadOptions {
            memory: self.memory_limit()?,
            ..ReadOptions::default()
        };
        Ok((self.spec(base)?, options))
    }

    /// Whether the file at this canonical path is one of the inputs.
    pub(crate) fn reads(&self, path: &Path) -> anyhow::Result<bool> {
        let args = self.with_config()?;
        let is_it = |file: &String| Path::new(file).canonicalize().is_ok_and(|p| p == path);
        Ok(args.files.iter().any(is_it))
    }

    /// These arguments, completed with those of the TOML file.
    pub(crate) fn with_config(&self) -> anyhow::Result<Self> {
        Ok(match &self.config {
            None => self.clone(),
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(|source| Error::Io {
                    path: path.display().to_string(),
                    source,
                })?;
                self.clone().over(Self::from_toml(path, &text)?)
            }
        })
    }

    /// Parses the contents of a TOML file.
    pub(crate) fn from_toml(path: &Path, text: &str) -> anyhow::Result<Self> {
        refuse_nul(path, text)?;
        let mut args: Self = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let line = 1 + text[..start].matches('\n').count();
            let message = error.message().replace('\n', " ");
            let key = match message.starts_with("unknown field") {
                true => None,
                false => key_at(text, start),
            };
            let key = key.map_or_else(String::new, |key| format!("{key}: "));
            Error::usage(format!("{}, line {line}: {key}{message}", path.display()))
        })?;
        // File names are relative to the folder of the TOML file.
        let folder = path.parent().unwrap_or(Path::new(""));
        for file in &mut args.files {
            if file != "-" && Known::parse(file)?.is_none() {
                *file = folder.join(&*file).display().to_string();
            }
        }
        Ok(args)
    }

    fn reads_csv(&self) -> bool {
        self.separator.is_some()
            || self.decimal.is_some()
            || self.no_header
            || !self.columns.is_empty()
            || !self.missing_value.is_empty()
            || self.no_default_missing
    }

    /// Completes these arguments with those of `other`.
    pub(crate) fn over(self, other: Self) -> Self {
        fn list(own: Vec<String>, other: Vec<String>) -> Vec<String> {
            if own.is_empty() { other } else { own }
        }
        // Any of the first settings overrides all others about the kind of the target, but an order goes with
        // its classes.
        let has_classes = self.classes || !self.order.is_empty();
        let is_other = self.numeric || !self.positive.is_empty();
        let is_set = has_classes || is_other;
        Self {
            files: list(self.files, other.files),
            config: self.config,
            target: self.target.or(other.target),
            numeric: self.numeric || (other.numeric && !is_set),
            positive: match is_set {
                true => self.positive,
                false => other.positive,
            },
            classes: self.classes || (other.classes && !is_other),
            order: match is_other {
                true => self.order,
                false => list(self.order, other.order),
            },
            sensitive: list(self.sensitive, other.sensitive),
            sensitive_probability: list(self.sensitive_probability, other.sensitive_probability),
            bins: list(self.bins, other.bins),
            reference: list(self.reference, other.reference),
            min_group: self.min_group.or(other.min_group),
            pool_groups: self.pool_groups.or(other.pool_groups),
            drop: list(self.drop, other.drop),
            feature: list(self.feature, other.feature),
            weight: self.weight.or(other.weight),
            mark: list(self.mark, other.mark),
            use_sensitive: self.use_sensitive || other.use_sensitive,
            r#type: list(self.r#type, other.r#type),
            categorical: list(self.categorical, other.categorical),
            date_parts: list(self.date_parts, other.date_parts),
            merge: list(self.merge, other.merge),
            scale: self.scale.or(other.scale),
            pool_rare: self.pool_rare.or(other.pool_rare),
            missing: list(self.missing, other.missing),
            missing_sensitive: self.missing_sensitive.or(other.missing_sensitive),
            missing_value: list(self.missing_value, other.missing_value),
            no_default_missing: self.no_default_missing || other.no_default_missing,
            split: self.split.or(other.split),
            balance: self.balance.or(other.balance),
            seed: self.seed.or(other.seed),
            separator: self.separator.or(other.separator),
            decimal: self.decimal.or(other.decimal),
            no_header: self.no_header || other.no_header,
            columns: list(self.columns, other.columns),
            memory: self.memory.or(other.memory),
            fit: other.fit,
        }
    }

    /// Applies these arguments to `base`.
    fn spec(&self, base: Spec) -> Result<Spec, Error> {
        let mut spec = base;
        if let Some(target) = &self.target {
            let target = of_flag("--target", one_name(target))?;
            if spec.target.as_ref() != Some(&target) {
                (spec.positive, spec.also_positive) = (None, Vec::new());
            }
            spec.target = Some(target);
        }
        if self.numeric {
            (spec.positive, spec.also_positive) = (None, Vec::new());
            spec.numeric = true;
        }
        if self.classes || !self.order.is_empty() {
            (spec.positive, spec.also_positive) = (None, Vec::new());
            spec.classes |= self.classes;
            spec.order = names("--order", &self.order)?;
        }
        if let Some((first, others)) = self.positive.split_first() {
            (spec.positive, spec.also_positive) = (Some(first.clone()), others.to_vec());
        }
        self.settle_groups(&mut spec)?;
        if !self.mark.is_empty() {
            spec.marks = names("--mark", &self.mark)?;
        }
        if let Some(weight) = &self.weight {
            spec.weight = Some(of_flag("--weight", one_name(weight))?);
        }
        spec.use_sensitive |= self.use_sensitive;
        if let Some(split) = &self.split {
            spec.split = of_flag("--split", split.parse())?;
        }
        self.settle_features(&mut spec)?;

        for text in &self.r#type {
            let (column, word) = of_flag("--type", grammar::assignment(text))?;
            let before = spec.types.insert(column.clone(), word.parse()?);
            once("--type", &column, before.is_some())?;
        }
        for column in names("--categorical", &self.categorical)? {
            match spec.types.insert(column.clone(), ColumnType::Categorical) {
                None | Some(ColumnType::Categorical) => {}
                Some(other) => {
                    return Err(Error::usage(format!(
                        "--categorical {column:?}: --type sets the column to {other}; remove one \
                         of them"
                    )));
                }
            }
        }
        spec.date_parts
            .extend(names("--date-parts", &self.date_parts)?);
        for (column, merge) in merges(&self.merge)? {
            spec.merges.insert(column, merge);
        }
        if let Some(scale) = &self.scale {
            spec.scale = scale.parse()?;
        }
        spec.pool_rare = self.pool_rare.unwrap_or(spec.pool_rare);
        spec.min_group = self.min_group.map_or(spec.min_group, MinGroup);
        spec.pool_groups = self.pool_groups.unwrap_or(spec.pool_groups);
        let (mut general, mut named) = (false, Vec::new());
        for text in &self.missing {
            match of_flag("--missing", grammar::setting(text))? {
                (None, policy) => {
                    once("--missing", "all columns", general)?;
                    general = true;
                    spec.missing = policy.parse()?;
                }
                (Some(column), policy) => {
                    once("--missing", &column, named.contains(&column))?;
                    spec.missing_by_column
                        .insert(column.clone(), policy.parse()?);
                    named.push(column);
                }
            }
        }
        if let Some(policy) = &self.missing_sensitive {
            spec.missing_sensitive = policy.parse()?;
        }
        if let Some(balance) = &self.balance {
            spec.balance = Some(of_flag("--balance", grammar::attribute(balance))?);
        }
        spec.seed = self.seed.unwrap_or(spec.seed);
        Ok(spec)
    }

    /// Applies the flags about sensitive attributes and their groups.
    fn settle_groups(&self, spec: &mut Spec) -> Result<(), Error> {
        if !self.sensitive.is_empty() {
            let attributes = self.sensitive.iter().map(|text| grammar::attribute(text));
            spec.sensitive = attributes.collect::<Result<_, _>>()?;
        }
        if !self.sensitive_probability.is_empty() {
            let before = std::mem::take(&mut spec.probabilities);
            spec.sensitive
                .retain(|columns| !columns.iter().any(|name| before.contains_key(name)));
        }
        for text in &self.sensitive_probability {
            let flag = "--sensitive-probability";
            let (name, groups) = of_flag(flag, grammar::probabilities(text))?;
            spec.add_probabilities(&name, groups)?;
        }
        for text in &self.bins {
            let (column, edges) = of_flag("--bins", grammar::bins(text))?;
            let before = spec.bins.insert(column.clone(), edges);
            once("--bins", &column, before.is_some() && self.bins.len() > 1)?;
        }
        for text in &self.reference {
            let (columns, group) = of_flag("--reference", grammar::reference(text))?;
            let name = attribute_name(&columns);
            let before = spec.references.insert(name.clone(), group);
            once("--reference", &name, before.is_some())?;
        }
        Ok(())
    }

    /// Applies `--drop` and `--feature`. A column with a role from a flag is removed from the lists
    /// of a known data set.
    fn settle_features(&self, spec: &mut Spec) -> Result<(), Error> {
        let features = names("--feature", &self.feature)?;
        let mut given: Vec<&String> = spec.sensitive_columns().collect();
        given.extend(spec.target.iter().chain(&spec.weight).chain(&features));
        given.extend(&spec.marks);
        let is_free = |column: &String| !given.contains(&column);
        spec.drop = spec.drop.iter().filter(|c| is_free(c)).cloned().collect();
        spec.drop.extend(names("--drop", &self.drop)?);
        let roles: Vec<String> = spec
            .sensitive_columns()
            .filter(|_| !spec.use_sensitive)
            .chain(spec.target.iter().chain(&spec.weight).chain(&spec.marks))
            .cloned()
            .collect();
        if let Some(known) = &mut spec.features {
            known.retain(|column| !roles.contains(column) && !spec.drop.contains(column));
        }
        if !features.is_empty() {
            spec.features = Some(features);
        }
        Ok(())
    }

    /// The memory limit of `--memory`.
    pub(crate) fn memory_limit(&self) -> Result<MemoryLimit, Error> {
        let limit = self.memory.as_deref().map(str::parse);
        of_flag("--memory", limit.unwrap_or(Ok(MemoryLimit::default())))
    }

    fn read_options(&self) -> Result<ReadOptions, Error> {
        let mut options = ReadOptions {
            header: !self.no_header,
            memory: self.memory_limit()?,
            ..ReadOptions::default()
        };
        if let Some(text) = &self.separator {
            options.separator = Some(match (text.as_str(), text.as_bytes()) {
                ("tab" | "\\t", _) => b'\t',
                (_, &[byte])
                    if byte.is_ascii() && !byte.is_ascii_alphanumeric() && byte != b'"' =>
                {
                    byte
                }
                _ => {
                    return Err(Error::usage(format!(
                        "--separator {text:?}: not a separator; choose one character other than a \
                         letter, digit or quote, or tab"
                    )));
                }
            });
        }
        if let Some(text) = &self.decimal {
            options.decimal = Some(decimal(text)?);
        }
        if !self.columns.is_empty() {
            options.columns = Some(names("--columns", &self.columns)?);
        }
        if self.no_default_missing {
            options.missing_values.clear();
        }
        options
            .missing_values
            .extend(self.missing_value.iter().cloned());
        Ok(options)
    }
}

/// Parses a decimal sign.
pub(crate) fn decimal(text: &str) -> Result<Decimal, Error> {
    match text {
        "." | "point" => Ok(Decimal::Point),
        "," | "comma" => Ok(Decimal::Comma),
        _ => Err(Error::usage(format!(
            "--decimal {text:?}: not a decimal sign; choose . or ,"
        ))),
    }
}

fn of_flag<T>(flag: &str, result: Result<T, Error>) -> Result<T, Error> {
    result.map_err(|error| error.of_setting(flag))
}

/// Returns an error if a flag already has a value for `subject`.
fn once(flag: &str, subject: &str, given: bool) -> Result<(), Error> {
    match given {
        false => Ok(()),
        true => Err(Error::usage(format!(
            "{flag}: set twice for {subject}; remove one of them"
        ))),
    }
}

/// The names in several lists, concatenated.
fn names(flag: &str, lists: &[String]) -> Result<Vec<String>, Error> {
    let lists = lists.iter().map(|text| of_flag(flag, grammar::names(text)));
    Ok(lists.collect::<Result<Vec<_>, _>>()?.concat())
}

/// A single name: used as typed, unless it is in double quotes.
fn one_name(text: &str) -> Result<String, Error> {
    if !text.starts_with('"') {
        return Ok(text.to_owned());
    }
    match <[String; 1]>::try_from(grammar::names(text)?) {
        Ok([name]) => Ok(name),
        Err(_) => Err(Error::usage(format!("{text:?}: expected a single name"))),
    }
}

/// The merges by column; `*` stands for all other categories.
fn merges(flags: &[String]) -> Result<Vec<(String, Merge)>, Error> {
    let mut merges: Vec<(String, Merge)> = Vec::new();
    for text in flags {
        let (column, new, old) = of_flag("--merge", grammar::merge(text))?;
        let at = merges
            .iter()
            .position(|(c, _)| *c == column)
            .unwrap_or_else(|| {
                merges.push((column.clone(), Merge::default()));
                merges.len() - 1
            });
        let merge = &mut merges[at].1;
        for category in old {
            let before = if category == "*" {
                merge.rest.replace(new.clone())
            } else {
                merge.categories.insert(category.clone(), new.clone())
            };
            if before.is_some_and(|before| before != new) {
                return Err(Error::usage(format!(
                    "--merge {text:?}: the category {category:?} is merged twice; remove one merge"
                )));
            }
        }
    }
    Ok(merges)
}

/// Rejects strings in a TOML file that contain a NUL character, which can be written as an escape.
/// Invalid TOML is accepted here, because parsing it gives its own error.
fn refuse_nul(path: &Path, text: &str) -> Result<(), Error> {
    fn holds(value: &toml::Value) -> bool {
        match value {
            toml::Value::String(text) => text.contains('\0'),
            toml::Value::Array(values) => values.iter().any(holds),
            toml::Value::Table(table) => {
                table.iter().any(|(key, v)| key.contains('\0') || holds(v))
            }
            _ => false,
        }
    }
    let Ok(table) = toml::from_str::<toml::Table>(text) else {
        return Ok(());
    };
    for (key, value) in &table {
        if key.contains('\0') || holds(value) {
            return Err(Error::usage(format!(
                "{}: {}: the string contains a NUL character; remove it",
                path.display(),
                key.replace('\0', "\\0")
            )));
        }
    }
    Ok(())
}

/// The key whose value or table begins at `start`; `None` if `text` is not valid TOML.
fn key_at(text: &str, start: usize) -> Option<String> {
    toml::from_str::<toml::Table>(text).ok()?;
    let begin = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line = text[begin..].lines().next()?.trim();
    let before = text[begin..start].trim_end();
    let key = if let Some(header) = line.strip_prefix('[') {
        header.split(']').next()?.trim_start_matches('[')
    } else if let Some(before) = before.strip_suffix('=') {
        // In an inline table, other keys may precede it.
        before.rsplit(['{', ',']).next()?
    } else {
        line.split('=').next()?
    };
    let key = key.trim();
    (!key.is_empty()).then(|| key.to_owned())
}

/// Accepts `key = "a"` for `key = ["a"]`.
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a string or a list of strings")]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(one) => vec![one],
        OneOrMany::Many(many) => many,
    })
}

/// Accepts `positive = 1` for `positive = "1"`, and a list of several values.
fn strings_or_numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Value {
        String(String),
        Whole(i64),
        Number(f64),
        Flag(bool),
    }
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "expected a string, a number or true/false, or a list of them"
    )]
    enum Values {
        One(Value),
        Many(Vec<Value>),
    }
    let text = |value| match value {
        Value::String(string) => string,
        Value::Whole(number) => number.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Flag(flag) => flag.to_string(),
    };
    Ok(match Values::deserialize(deserializer)? {
        Values::One(one) => vec![text(one)],
        Values::Many(many) => many.into_iter().map(text).collect(),
    })
}

/// Rows in a block file that other processes read, too.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) source: Source,
    pub(crate) path: PathBuf,
    /// Removed at the end.
    _folder: Option<TempDir>,
}
