//! The command line: commands, flags and their help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use fairfront_model::ModelId;
use fairfront_run::Demand;

use crate::audit_args::AuditArgs;
use crate::bridge::ClusterArgs;
use crate::help::{
    AUDIT, AUDIT_EXAMPLES, COMPARE, COMPARE_EXAMPLES, DATA_GET, DATA_GET_EXAMPLES, EXPORT,
    EXPORT_EXAMPLES, FIT, INSPECT_EXAMPLES, LDA, LDA_EXAMPLES, PACK, PACK_EXAMPLES, PREDICT,
    PREDICT_EXAMPLES, REPORT, REPORT_EXAMPLES, SELECT, SELECT_EXAMPLES, STREAM, STREAM_EXAMPLES,
    TUNE, TUNE_EXAMPLES, VERIFY, VERIFY_EXAMPLES, fit_help,
};
use crate::solver_args::SolverArgs;
use crate::table_args::{FitConfig, TableArgs};

/// Explore accuracy–fairness trade-offs: from a raw table to a chosen model.
#[derive(Debug, Parser)]
#[command(
    name = "fairfront",
    bin_name = "fairfront",
    version,
    max_term_width = 100,
    subcommand_required = true
)]
pub(crate) struct Cli {
    /// Print details, such as the work of the solver and every check of `verify`
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the full workflow on simulated data: fit a front, choose a model, score applicants
    Demo {
        /// Folder for the run; the model and its decisions go next to it. Files of an earlier demo
        /// are overwritten
        #[arg(long, value_name = "DIR", default_value = "fairfront-demo")]
        out: PathBuf,
    },
    /// Summarize a table: types, missing values, groups, base rates, proxies
    ///
    /// Pass one or more files with the same columns (CSV, CSV.gz or Parquet; - for standard input)
    /// or a known data set (see `fairfront data list`). `inspect` shows the columns. With --target
    /// and --sensitive, it also shows the balance of the target, the groups and related warnings.
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect {
        #[command(flatten)]
        table: Box<TableArgs>,
        /// Print JSON instead of tables
        #[arg(long)]
        json: bool,
    },
    /// Compute the front of a table and write it to a run folder
    #[command(long_about = FIT, after_help = fit_help())]
    Fit {
        #[command(flatten)]
        table: Box<TableArgs>,
        #[command(flatten)]
        fit: Box<FitArgs>,
    },
    /// Encode a table into a block file, to fit more rows than memory holds
    #[command(
        long_about = PACK,
        after_help = PACK_EXAMPLES,
        mut_arg("balance", |arg| arg.hide(true)),
        mut_arg("mark", |arg| arg.hide(true))
    )]
    Pack {
        #[command(flatten)]
        table: Box<TableArgs>,
        #[command(flatten)]
        pack: Box<PackArgs>,
    },
    /// Find the settings and the penalty of a solver by grid search
    #[command(long_about = TUNE, after_help = TUNE_EXAMPLES)]
    Tune {
        #[command(flatten)]
        table: Box<TableArgs>,
        #[command(flatten)]
        tune: Box<TuneArgs>,
    },
    /// Update a front batch by batch as rows arrive
    #[command(
        long_about = STREAM,
        after_help = STREAM_EXAMPLES,
        mut_arg("balance", |arg| arg.hide(true))
    )]
    Stream {
        /// Folder for the state of the stream, which is also a run folder
        state: PathBuf,
        #[command(flatten)]
        table: Box<TableArgs>,
        #[command(flatten)]
        stream: Box<StreamArgs>,
    },
    /// Show the front of a run as a table and a small plot
    Show {
        /// Run folder
        run: PathBuf,
        /// Print all models with all columns as CSV; the last row, with the id unmitigated, is the
        /// unmitigated model
        #[arg(long, conflicts_with = "json")]
        csv: bool,
        /// Print all models as JSON
        #[arg(long)]
        json: bool,
        /// Draw the plot in ASCII, which is the default if the locale is not UTF-8
        #[arg(long, conflicts_with_all = ["csv", "json"])]
        ascii: bool,
    },
    /// Choose one model of a front by requirements, knee, weights, regret or id
    #[command(long_about = SELECT, after_help = SELECT_EXAMPLES)]
    Select(SelectArgs),
    /// Write the interactive report: report.html, one self-contained file
    #[command(long_about = REPORT, after_help = REPORT_EXAMPLES)]
    Report(ReportArgs),
    /// Compare fronts by purity, spread, hypervolume and cost, or runs by measures
    #[command(long_about = COMPARE, after_help = COMPARE_EXAMPLES)]
    Compare(CompareArgs),
    /// Recompute a run from its folder and its data, and report differences
    #[command(long_about = VERIFY, after_help = VERIFY_EXAMPLES)]
    Verify(VerifyArgs),
    /// Search a front for less discriminatory alternatives to a baseline
    #[command(long_about = LDA, after_help = LDA_EXAMPLES)]
    Lda(LdaArgs),
    /// Export a model as an ONNX graph, SQL, or a table of coefficients
    #[command(long_about = EXPORT, after_help = EXPORT_EXAMPLES)]
    Export(ExportArgs),
    /// Score new rows with a model, one output row per input row
    #[command(long_about = PREDICT, after_help = PREDICT_EXAMPLES)]
    Predict(PredictArgs),
    /// Compare the decisions of any model by group: impact ratios, error rates, intervals
    #[command(long_about = AUDIT, after_help = AUDIT_EXAMPLES)]
    Audit(Box<AuditArgs>),
    /// List and download known data sets, and export prepared rows for other tools
    Data {
        #[command(subcommand)]
        command: DataCommand,
    },
}

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is an independent flag"
)]
pub(crate) struct SelectArgs {
    /// Run folder
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) certify: CertifyArgs,
    /// Choose the best model by this measure or objective [default: accuracy]
    #[arg(long, value_name = "MEASURE", group = "rule")]
    pub(crate) best: Option<String>,
    /// Choose the knee: the model farthest below the straight line (for three or more objectives,
    /// the plane) through the ends of the front, with each value scaled to its range
    #[arg(long, group = "rule")]
    pub(crate) knee: bool,
    /// Choose the model with the smallest weighted sum of objectives or measures, each scaled from
    /// 0 to 1 over the front
    #[arg(long, value_name = "NAME=WEIGHT,…", group = "rule")]
    pub(crate) weights: Option<String>,
    /// Choose the model with the smallest regret: its largest distance from the best value of any
    /// objective, as a share of the range over the front
    #[arg(long, group = "rule")]
    pub(crate) regret: bool,
    /// Choose the model with this id; ids start at 1
    #[arg(long, value_name = "N", group = "rule", conflicts_with = "require")]
    pub(crate) model_id: Option<ModelId>,
    /// Write the chosen model to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) model: Option<PathBuf>,
    /// Overwrite an existing model file
    #[arg(long, requires = "model")]
    pub(crate) force: bool,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

/// Requirements that a model must meet on new people, and how to certify them.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct CertifyArgs {
    /// Requirement that the model must meet on new people, such as 'accuracy >= 0.8' or
    /// 'accuracy >= 80%'; repeat for several
    #[arg(long, value_name = "REQUIREMENT", help_heading = "Requirements")]
    pub(crate) require: Vec<String>,
    /// Confidence of the certification, or none to check requirements on validation rows without a
    /// test [default: 0.95]
    #[arg(
        long,
        value_name = "SHARE",
        allow_hyphen_values = true,
        requires = "require",
        help_heading = "Requirements"
    )]
    pub(crate) confidence: Option<String>,
    /// Certify with finite-sample tests, which are valid for any number of rows but need more rows
    #[arg(long, requires = "require", help_heading = "Requirements")]
    pub(crate) exact: bool,
}

impl CertifyArgs {
    /// The confidence; `None` with `--confidence none`.
    pub(crate) fn level(&self) -> Result<Option<f64>, fairfront_data::Error> {
        match self.confidence.as_deref() {
            None => Ok(Some(0.95)),
            Some("none") if self.exact => Err(fairfront_data::Error::Usage(
                "--exact: --confidence none does not test anything; remove one of the two".into(),
            )),
            Some("none") => Ok(None),
            Some(text) => match text.parse::<f64>() {
                Ok(share) if share > 0.0 && share < 1.0 => Ok(Some(share)),
                _ => Err(fairfront_data::Error::usage(format!(
                    "--confidence {text}: choose a number between 0 and 1, such as 0.95, or none"
                ))),
            },
        }
    }

    /// The requirements to certify; `None` without requirements or without a test.
    pub(crate) fn demand(&self, best: Option<&str>) -> anyhow::Result<Option<Demand>> {
        let level = self.level()?;
        let Some(confidence) = level.filter(|_| !self.require.is_empty()) else {
            return Ok(None);
        };
        Ok(Some(Demand::parse(
            &self.require,
            confidence,
            self.exact,
            best,
        )?))
    }
}

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is an independent flag"
)]
pub(crate) struct ReportArgs {
    /// Run folder
    pub(crate) run: PathBuf,
    /// Output file, or - for standard output [default: report.html in the run folder]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite an existing file (the report inside the run folder is always overwritten)
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Draw figures as SVG instead, in the folder figures inside the run folder
    #[arg(long, conflicts_with = "output")]
    pub(crate) figures: bool,
    /// With --figures, also write PNG; needs rsvg-convert (package librsvg2-bin or librsvg)
    #[arg(long, requires = "figures")]
    pub(crate) png: bool,
    /// Write a model card of --model-id instead: HTML, or Markdown if the file ends with .md
    #[arg(long, conflicts_with = "figures", requires_all = ["output", "model_id"])]
    pub(crate) card: bool,
    /// With --card, an intended use of the model; repeat the flag for several
    #[arg(long, value_name = "TEXT", requires = "card")]
    pub(crate) intended_use: Vec<String>,
    /// With --card, a use that is out of scope; repeat the flag for several
    #[arg(long, value_name = "TEXT", requires = "card")]
    pub(crate) out_of_scope: Vec<String>,
    /// With --card, the contact for questions about the model
    #[arg(long, value_name = "TEXT", requires = "card")]
    pub(crate) contact: Option<String>,
    /// With --card, the model; with --figures, the model whose predicted numbers or decisions between classes
    /// are drawn by group [default: the model that the report opens at]
    #[arg(long, value_name = "N")]
    pub(crate) model_id: Option<ModelId>,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Model file
    pub(crate) model: PathBuf,
    /// Output format
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: FormatName,
    /// Output file, or - for standard output (sql and table only)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatName {
    /// Graph for ONNX runtimes
    Onnx,
    /// SELECT statement
    Sql,
    /// Coefficients as CSV
    Table,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Run folders, and CSV files with one row per model and one column per objective
    #[arg(required = true, value_name = "RUN|FILE.csv")]
    pub(crate) fronts: Vec<PathBuf>,
    /// Compare fronts by their objectives on training rows, or runs with any objectives by measures
    /// on test rows
    #[arg(long, value_name = "VALUES", default_value = "objectives")]
    pub(crate) by: CompareBy,
    /// Reference point of the hypervolume: one number per objective, separated by commas
    #[arg(
        long,
        value_name = "N,N…",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub(crate) reference: Vec<f64>,
    /// First reduce every front to the size of the smallest, keeping models that are well spread
    #[arg(long)]
    pub(crate) same_size: bool,
    /// Extremes from which the spread of a front is computed
    #[arg(long, value_name = "ENDS", default_value = "union")]
    pub(crate) extremes: Extremes,
    /// Treat differences below this share of an objective's range as ties when computing purity
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) tolerance: f64,
    /// Draw all fronts in one SVG file (- for standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Run folder
    pub(crate) run: PathBuf,
    /// Data files or known data set, if the files of the run are not in the current folder or next
    /// to the run folder
    #[arg(value_name = "FILE|NAME")]
    pub(crate) files: Vec<String>,
    /// Also check this document against the run: a model card, or the output folder of `lda`; repeat the
    /// flag for several
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) document: Vec<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LdaArgs {
    /// Run folder
    pub(crate) run: PathBuf,
    /// Data files or known data set, if the files of the run are not in the current folder or next
    /// to the run folder
    #[arg(value_name = "FILE|NAME")]
    pub(crate) files: Vec<String>,
    /// The model that decides now: a fairfront model file; `FILE:COLUMN` with scores or decisions, one row
    /// per row of the table in the same order; or `:COLUMN` for a column of the table
    #[arg(long, value_name = "MODEL|FILE:COLUMN")]
    pub(crate) baseline: String,
    /// Rows with at least this score are selected by the baseline; needed for scores
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(crate) baseline_threshold: Option<f64>,
    /// Decision of the baseline that means selected; repeat the flag for several [default: 1, true or yes]
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) baseline_selected: Vec<String>,
    /// Confirm that the baseline was not trained on the validation, test and certify rows of the run
    #[arg(long)]
    pub(crate) baseline_unseen: bool,
    /// The most that an alternative may perform worse than the baseline, as accuracy=X, auc=X or
    /// cost(fp=A,fn=B)=X; X is a number or a percentage [default: accuracy=0.5%]
    #[arg(long, value_name = "MEASURE=X")]
    pub(crate) tolerance: Option<String>,
    /// A difference between groups that must be smaller, such as
    /// `demographic_parity_difference(race)`;
    /// repeat the flag for several [default: the measures of the objectives]
    #[arg(long, value_name = "MEASURE")]
    pub(crate) measure: Vec<String>,
    /// Compare each group only with this one, as ATTRIBUTE=GROUP; repeat the flag for several attributes
    #[arg(long, value_name = "ATTRIBUTE=GROUP")]
    pub(crate) reference: Vec<String>,
    /// Confidence that all alternatives found are less discriminatory, between 0 and 1
    #[arg(long, value_name = "C", default_value_t = 0.95)]
    pub(crate) confidence: f64,
    /// Text for the record, such as the reason for the tolerance; repeat the flag for several
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Vec<String>,
    /// Output folder: page, memo, data and a table of all candidates
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Replace the files of an earlier search in the output folder
    #[arg(long)]
    pub(crate) force: bool,
    /// Print JSON instead of a summary
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PredictArgs {
    /// Model file
    pub(crate) model: PathBuf,
    /// Rows to score: CSV (plain or .gz) or Parquet, or - for standard input
    pub(crate) file: String,
    /// Output file: CSV, Parquet (.parquet), or - for CSV on standard output
    #[arg(short, long, value_name = "FILE", required_unless_present = "audit")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    pub(crate) force: bool,
    /// Decimal sign of numbers in a CSV file: . or , [default: detected]
    #[arg(long, value_name = "CHAR")]
    pub(crate) decimal: Option<String>,
    /// Input columns to copy to the start of each output row, such as an id
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) keep: Vec<String>,
    /// Compare decisions or predicted numbers with the target, by group; the file must contain the
    /// target and the sensitive columns. For impact ratios with intervals, see `fairfront audit`
    #[arg(long)]
    pub(crate) audit: bool,
    /// Column of sample weights for the audit
    #[arg(long, value_name = "COLUMN", requires = "audit")]
    pub(crate) weight: Option<String>,
    /// Print the audit as JSON instead of tables
    #[arg(long, requires = "audit")]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Extremes {
    /// Ends of the best models of all fronts
    Union,
    /// Ends of the front itself
    Own,
}

/// The values by which fronts are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareBy {
    /// Minimized functions, on training rows
    Objectives,
    /// Error rate and differences between groups, on test rows
    Measures,
}

/// Flags of `fit` beyond those of the table.
#[derive(Debug, Clone, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is an independent flag"
)]
pub(crate) struct FitArgs {
    /// Folder to write the run to; must be empty or not exist yet, except with --force or --resume
    #[arg(long, value_name = "DIR", help_heading = "Run")]
    pub(crate) out: PathBuf,
    /// Replace an existing run
    #[arg(long, help_heading = "Run")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) solver: SolverArgs,
    #[command(flatten)]
    pub(crate) certify: CertifyArgs,
    /// Measure by which models are ordered for these tests [default: accuracy]
    #[arg(
        long,
        value_name = "MEASURE",
        requires = "require",
        help_heading = "Requirements"
    )]
    pub(crate) best: Option<String>,
    /// Stop after S seconds, including reading, and keep the results so far; finishing may take 2
    /// more seconds and one pass over the rows
    #[arg(long, value_name = "S", help_heading = "Run")]
    pub(crate) max_seconds: Option<f64>,
    /// Write a checkpoint to DIR at most every S seconds, so that an interrupted fit can be resumed
    #[arg(long, value_name = "S", help_heading = "Run")]
    pub(crate) checkpoint_every: Option<f64>,
    /// Resume from the checkpoint in DIR, with the same result as an uninterrupted fit; writes
    /// checkpoints every 60 seconds unless you pass --checkpoint-every
    #[arg(long, help_heading = "Run")]
    pub(crate) resume: bool,
    /// Number of threads; does not affect the result [default: one per core]
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub(crate) threads: Option<usize>,
    /// Do not print progress or a summary
    #[arg(long, help_heading = "Run")]
    pub(crate) quiet: bool,
    /// Print run.json instead of a summary
    #[arg(long, help_heading = "Run")]
    pub(crate) json: bool,
    /// Print the time, the passes over rows and the rows per second of each phase
    #[arg(long, help_heading = "Run")]
    pub(crate) timings: bool,
    /// Folder for the temporary block file of a table that needs more than --memory [default: the
    /// folder for temporary files]
    #[arg(long, value_name = "DIR", help_heading = "Memory")]
    pub(crate) work_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Flags of `pack` beyond those of the table.
#[derive(Debug, Clone, Args)]
pub(crate) struct PackArgs {
    /// Block file to write
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: PathBuf,
    /// Overwrite an existing file
    #[arg(long, help_heading = "Output")]
    pub(crate) force: bool,
    /// Folder for temporary files [default: the folder of the block file]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) work_dir: Option<PathBuf>,
    /// Number of threads; does not affect the result [default: one per core]
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub(crate) threads: Option<usize>,
    /// Do not print progress or a summary
    #[arg(long, help_heading = "Run")]
    pub(crate) quiet: bool,
    /// Print a summary as JSON
    #[arg(long, help_heading = "Run")]
    pub(crate) json: bool,
}

impl FitArgs {
    /// Completes these flags with those of the TOML file.
    pub(crate) fn over(&self, config: FitConfig) -> Self {
        Self {
            max_seconds: self.max_seconds.or(config.max_seconds),
            checkpoint_every: self.checkpoint_every.or(config.checkpoint_every),
            certify: CertifyArgs {
                require: match self.certify.require.is_empty() {
                    true => config.require.clone(),
                    false => self.certify.require.clone(),
                },
                confidence: self
                    .certify
                    .confidence
                    .clone()
                    .or(config.confidence.clone()),
                exact: self.certify.exact || config.exact,
            },
            best: self.best.clone().or(config.best.clone()),
            solver: self.solver.over(config.into()),
            ..self.clone()
        }
    }
}

/// Flags of `tune` beyond those of the table.
#[derive(Debug, Clone, Args)]
pub(crate) struct TuneArgs {
    /// Setting of the solver, or penalty, with the values to try; repeat for several [default: the
    /// default grid of the solver]
    #[arg(
        long = "try",
        value_name = "NAME=VALUE,VALUE,…",
        help_heading = "Search"
    )]
    pub(crate) tries: Vec<String>,
    /// Try only N of the combinations, drawn at random with --seed [default: all]
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub(crate) most: Option<usize>,
    /// Write all trials to this CSV file (- for standard output)
    #[arg(long, value_name = "FILE", help_heading = "Search")]
    pub(crate) csv: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, requires = "csv", help_heading = "Search")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) solver: SolverArgs,
    /// Stop after S seconds, including reading, and choose among the finished combinations
    #[arg(long, value_name = "S", help_heading = "Run")]
    pub(crate) max_seconds: Option<f64>,
    /// Number of threads; does not affect the result [default: one per core]
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub(crate) threads: Option<usize>,
    /// Do not print progress
    #[arg(long, help_heading = "Run")]
    pub(crate) quiet: bool,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Run")]
    pub(crate) json: bool,
}

/// Flags of `stream` beyond those of the table.
#[derive(Debug, Clone, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is an independent flag"
)]
pub(crate) struct StreamArgs {
    /// Number of rows per batch [default: 2000]
    #[arg(long, value_name = "ROWS", help_heading = "Stream")]
    pub(crate) batch: Option<usize>,
    /// Use only the last ROWS rows instead of all
    #[arg(
        long,
        value_name = "ROWS",
        conflicts_with = "reservoir",
        help_heading = "Stream"
    )]
    pub(crate) window: Option<usize>,
    /// Use a uniform random sample of ROWS rows instead of all
    #[arg(long, value_name = "ROWS", help_heading = "Stream")]
    pub(crate) reservoir: Option<usize>,
    /// Wait for more rows at the end of the last file, until Ctrl-C
    #[arg(long, help_heading = "Stream")]
    pub(crate) follow: bool,
    /// Use the last batch even if it is not full
    #[arg(long, help_heading = "Stream")]
    pub(crate) flush: bool,
    /// Stop when more than ROWS rows have been rejected in total
    #[arg(long, value_name = "ROWS", help_heading = "Stream")]
    pub(crate) max_rejected: Option<u64>,
    /// Write all rows of the next batch to rejected.csv and leave the front unchanged
    #[arg(long, help_heading = "Stream")]
    pub(crate) skip_batch: bool,
    /// Skip the first ROWS rows of standard input, which are already stored, because the input
    /// restarts from its beginning
    #[arg(long, value_name = "ROWS", help_heading = "Stream")]
    pub(crate) skip: Option<u64>,
    #[command(flatten)]
    pub(crate) solver: SolverArgs,
    /// Number of threads; does not affect the result [default: one per core]
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub(crate) threads: Option<usize>,
    /// Do not print progress or lines about batches
    #[arg(long, help_heading = "Run")]
    pub(crate) quiet: bool,
    /// Print one line of JSON per batch
    #[arg(long, help_heading = "Run")]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// List the known data sets and whether their files are present
    List {
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Check the published files of a known data set and print their paths
    Path {
        /// Name of the data set
        name: String,
    },
    /// Download the published files of a known data set and print their paths
    #[command(long_about = DATA_GET, after_help = DATA_GET_EXAMPLES)]
    Get {
        /// Name of the data set
        name: String,
        /// Do not print progress or lines about files
        #[arg(long)]
        quiet: bool,
    },
    /// Write the prepared rows with a `split` column, so that other tools use the same rows
    Export {
        #[command(flatten)]
        table: Box<TableArgs>,
        /// Output CSV file, or - for standard output
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        /// Write encoded features (scaled, one-hot) and labels as 0 or 1 instead of the original
        /// columns; rows keep the order of the file
        #[arg(long)]
        encoded: bool,
        /// Also write the fitted encoding to this JSON file
        #[arg(long, value_name = "FILE")]
        encoding: Option<PathBuf>,
        /// Overwrite existing files
        #[arg(long)]
        force: bool,
    },
}
