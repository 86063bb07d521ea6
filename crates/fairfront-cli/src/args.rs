//! The command line: commands, flags and their help.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use fairfront_model::ModelId;
use fairfront_run::Demand;
use fairfront_solve::{AnySolver, Setting};

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
    /// Export a model as an ONNX graph, SQL, or a table of coefficients
    #[command(long_about = EXPORT, after_help = EXPORT_EXAMPLES)]
    Export(ExportArgs),
    /// Score new rows with a model, one output row per input row
    #[command(long_about = PREDICT, after_help = PREDICT_EXAMPLES)]
    Predict(PredictArgs),
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
    /// Print JSON instead of a table
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
    /// Compare decisions with the target, by group; the file must contain the target and the
    /// sensitive columns
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

const FIT: &str = "\
Compute the front of a table and write it to a run folder

A front shows the trade-offs between a loss and any number of objectives that compare the groups of
an attribute A. The loss is error_rate(fp=1, fn=1, tau=0.1, lambda), where fp and fn are the costs
of false positives and false negatives, or log_loss(lambda). Unless you set lambda, it follows from
--penalty. The objectives compare:

  demographic_parity(A)          selection rates
  equal_opportunity(A)           true positive rates, and therefore false negative rates
  predictive_equality(A)         false positive rates
  equalized_odds(A)              true positive rates and false positive rates
    settings of these four: tau=0.1, spread=range|variance, beta=50, shrink=0
  mutual_information(A)          decision and attribute; tau=0.1, clamp=1e-6, shrink=0
  group_risk(A)                  log losses; risk=variance|cvar, alpha=0.5, mu=1e-3, shrink=0
  worst_group_loss(A)            the largest log loss; beta=50, shrink=0
  score_covariance(A)            the paper's covariances; given=positive|negative, beta=8,
                                 smooth_max=boltzmann|lse, mu=1e-5, center=conditioned|all

Without --objective, fit minimizes error_rate and demographic_parity of each attribute. With
--preset paper, or with a solver that needs covariances (trace, eps-fair), it minimizes log_loss and
score_covariance of each attribute.";

fn fit_help() -> String {
    let mut text = String::new();
    for solver in AnySolver::all() {
        let _ = writeln!(text, "Settings of {} (--set NAME=VALUE):", solver.name());
        for setting in solver.settings() {
            let Setting { name, kind, help } = setting;
            let default = solver.get(name).map(|value| value.short());
            let (default, rule) = (default.unwrap_or_default(), kind.rule());
            let _ = writeln!(text, "  {name:20} {help}");
            let _ = writeln!(text, "  {:20} [default: {default}; {rule}]", "");
        }
        text.push('\n');
    }
    text.push_str(FIT_EXAMPLES);
    text
}

const FIT_EXAMPLES: &str = "\
Examples:
  fairfront fit loans.csv --target approved --positive yes --sensitive sex --out runs/sex
  fairfront fit adult:sex --preset paper --out runs/gender
  fairfront fit compas:race --out runs/fnr \\
    --objective error_rate --objective 'equal_opportunity(race)'
  fairfront fit adult:sex --solver eps-fair --models 200 --out runs/bounds
  fairfront fit adult:sex --solver pf-smg --polish --out runs/polished";

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

const TUNE: &str = "\
Find the settings and the penalty of a solver by grid search

`tune` tunes the solver that `fit` would use with the same flags. For each combination of the values
to try, it computes a front on the training rows. It chooses the combination whose front has the
most accurate model on the validation rows. Ties go to the larger hypervolume share on validation
rows, then to the first combination. `tune` prints the `fit` command with the chosen settings.

--try takes the settings listed by `fairfront fit --help`, and penalty. If values contain commas,
separate them with ; instead. A setting that only one solver has selects that solver. All other
settings come from --set, --penalty, --preset or the defaults. Without --try, `tune` tries:

  weighted         stages=2,4  softening=3,9  penalty=auto,0.0001,0.001,0.01
  trace, eps-fair  penalty=auto,0.0001,0.001,0.01
  pf-smg           runs=1,2,3 (p1)  steps=1,2,4 (p2)  step=0.5,1,2  batches=80*1.02;200*1.02
  --preset paper   runs=1,2,3 (p1)  steps=1,2,3 (p2)  step=0.3,2.1,4
                   batches=80*1.018,50*1.018;80*1.005

Each combination takes as long as a fit; --most limits their number. A combination that fails is
reported, and the search continues. Ctrl-C and --max-seconds end the search: `tune` discards the
current combination and chooses among the finished ones.";

const TUNE_EXAMPLES: &str = "\
Examples:
  fairfront tune loans.csv --target approved --positive yes --sensitive sex
  fairfront tune loans.csv --target approved --positive yes --sensitive sex \\
    --try penalty=0.001,0.01,0.1
  fairfront tune adult:sex --preset paper --try runs=1,2,3 --try steps=1,2,3
  fairfront tune adult:sex --preset paper --try step=2.1,2.6 \\
    --try 'batches=80*1.018,50*1.018;80*1.005' --csv tried.csv
  fairfront tune demo --solver pf-smg --most 12 --json";

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

const STREAM: &str = "\
Update a front batch by batch as rows arrive

Rows come from files (CSV, CSV.gz or Parquet), from standard input (-) or from a known data set.
Only the number of rows decides where a batch ends. The first batch makes the front and fixes
columns, types and encoding. Each later batch updates the front, starting from a selection of its
models: on all rows so far, on the last rows (--window) or on a uniform sample (--reservoir). A last
batch that is not full waits for more rows unless you pass --flush.

The first call takes the flags of `fit`. Later calls do not need them, and a different value is an
error. Every batch is on disk before the next one begins: if the process is killed at any time, the
same command still ends with the same front. The state records what was read: if you pass a file
again, reading resumes where it stopped. Unusable rows go to rejected.csv with the reason.

`show`, `select`, `compare` and `verify` work on the state at any time. Unlike a run of `fit`, the
state contains rows of the data.";

const STREAM_EXAMPLES: &str = "\
Examples:
  fairfront stream state monday.csv --target approved --positive yes --sensitive sex
  fairfront stream state tuesday.csv wednesday.csv
  fairfront stream state log.csv --follow
  fairfront stream recent loans.csv --target approved --sensitive sex --window 20000
  producer | fairfront stream state - --json";

const SELECT: &str = "\
Choose one model of a front by requirements, knee, weights, regret or id

A requirement is a measure, then <=, >=, < or >, then a number or a percentage (5% is 0.05).
`select` certifies it: it tests models, in an order that validation rows determine, on rows that no
decision was based on. These are the certify rows (--split 50/10/20/20), or the test rows if there
are none. A requirement that `fit --require` fixed, or one on certify rows, is tested directly. A
requirement that you state after test rows were shown must hold for the whole simultaneous band.
Uses of the same rows are logged in the run folder and spend confidence. If no model can be
certified, the exit code is 4, nothing is written, and the error names the closest model and the
number of rows that would be needed.

With --confidence none, `select` checks requirements on validation rows without a test and labels
the result not certified. You can then require any column of `fairfront show RUN --csv`, and the
exit code is 3 if no model meets the requirements.

One rule chooses among the remaining models: --best, --knee, --weights or --regret. Ties go to the
better first objective on training rows, then to the smaller id.";

const SELECT_EXAMPLES: &str = "\
Examples:
  fairfront select runs/sex --require 'demographic_parity_ratio(sex) >= 0.8'
  fairfront select runs/sex --require 'demographic_parity_difference(sex) <= 5%' \\
    --require 'accuracy >= 0.8' --confidence 0.9 --model model.json
  fairfront select runs/sex --require 'test.log_loss <= 0.4' --confidence none
  fairfront select runs/sex --knee
  fairfront select runs/sex --weights 'error_rate=0.7,demographic_parity(sex)=0.3'
  fairfront select runs/sex --model-id 12 --json";

const REPORT: &str = "\
Write the interactive report: report.html, one self-contained file

Open it in a browser. It shows the front with any two measures on its axes, sliders for requirements
with the best remaining model and its price, the selected model by group, whether the objectives
conflict, and how the run was made. You can download models and the front from it. The report needs
no server, makes no network request and contains no row of the data.

With --figures, `report` draws figures for papers and slides instead: the front and, for each
objective that compares groups, its trade-off in four panels (loss, rates by group, difference,
accuracy).";

const REPORT_EXAMPLES: &str = "\
Examples:
  fairfront report runs/sex
  fairfront report runs/sex -o sex.html
  fairfront report runs/sex --figures --png";

const COMPARE: &str = "\
Compare fronts by purity, spread, hypervolume and cost, or runs by measures

  purity       share of the models of a front that no model of any front dominates
  gamma        largest hole: the largest distance between neighbors along any objective
  delta        unevenness of these distances; 0 if all are equal and both extremes are reached
  hypervolume  volume dominated up to the reference point; by default, this is the value with all
               parameters 0 for the loss, and 1.1 times the largest value of all fronts for others

Fronts must have the same objectives on the same rows to be compared by objectives. The columns of
a CSV file are matched by name if it has a header; nothing else about it is known.

--by measures compares runs with any objectives by the error rate and each difference between groups
that all runs have, on test rows (validation rows if a run has no test rows). It prints the
hypervolume share of each front: the share of the box up to the printed limits that its models
dominate. If the rows of all runs can be read again and are the same, each difference from the first
run has a 95% interval from 1,000 paired redraws of the rows.";

const COMPARE_EXAMPLES: &str = "\
Examples:
  fairfront compare runs/smg runs/eps
  fairfront compare runs/smg runs/eps --same-size --svg fronts.svg
  fairfront compare runs/smg theirs.csv --reference 0.7,0.1 --json
  fairfront compare runs/parity runs/odds --by measures";

const VERIFY: &str = "\
Recompute a run from its folder and its data, and report differences

`verify` trusts only the parameters in the run folder and the data. It recomputes every objective,
measure, count and optimality proof of every model and of the unmitigated model on all splits, the
encoding, the certificates, and the entries of run.json about rows, objectives and front. Roles,
policies, split, seed and the format of files come from the run. A run stores the names of its files
without their folders: `verify` looks for them in the current folder, then next to the run folder;
pass the paths if the files are elsewhere. The state of a stream is recomputed from the rows that it
stores.

Values must agree to 1e-9 of their size; counts and strings must be equal. The exit code is 0 if
everything agrees, and 1 if something differs or the data are not those of the run. `verify` names
the largest difference.";

const VERIFY_EXAMPLES: &str = "\
Examples:
  fairfront verify runs/sex
  fairfront verify runs/sex archive/loans.csv
  fairfront verify runs/gender --json";

const EXPORT: &str = "\
Export a model as an ONNX graph, SQL, or a table of coefficients

  onnx   input: raw columns, one tensor [N,1] each, of doubles (NaN is missing) or strings (\"\" is
         missing); output: label (1 is the positive value), probabilities (negative, positive),
         score
  sql    SELECT statement for SQLite, DuckDB and PostgreSQL that adds score, probability and
         decision to the rows of a table called input
  table  CSV with one line per coefficient; intercept and threshold come last

The exported model itself treats missing values and merged, pooled and unseen categories as in
training. Strings must not have spaces around them.";

const EXPORT_EXAMPLES: &str = "\
Examples:
  fairfront export model.json --format onnx -o model.onnx
  fairfront export model.json --format sql -o model.sql --force
  fairfront export model.json --format table -o -";

const PREDICT: &str = "\
Score new rows with a model, one output row per input row

  score        output of the linear model
  probability  calibrated probability of the positive value of the target
  decision     1 (the positive value) if the score is at least the threshold of the model, else 0
  note         values that are missing or were not seen in training; otherwise empty

Output rows have the order of the input. The file must contain the feature columns of the model, by
name and in any order; sensitive columns are not needed. A missing number counts as the mean of the
training rows, and a missing or unseen category is encoded as the model specifies. Rows are read,
scored and written in batches, so memory use does not grow with the file. The output file is written
completely or not at all.";

const PREDICT_EXAMPLES: &str = "\
Examples:
  fairfront predict model.json new.csv -o scores.csv --keep id
  fairfront predict model.json new.parquet -o scores.parquet
  fairfront predict model.json labeled.csv --audit
  fairfront predict model.json - -o -";

const INSPECT_EXAMPLES: &str = "\
Examples:
  fairfront inspect loans.csv
  fairfront inspect loans.csv --target approved --positive yes --sensitive sex --sensitive race
  fairfront inspect loans.parquet --target approved --sensitive age --bins age=25,45 --json
  fairfront inspect adult:race";

const DATA_GET: &str = "\
Download the published files of a known data set and print their paths

Files are downloaded over HTTPS to the cache folder ($XDG_CACHE_HOME/fairfront or
~/.cache/fairfront; on macOS ~/Library/Caches/fairfront, on Windows %LOCALAPPDATA%\\fairfront). All
commands find them there unless FAIRFRONT_DATA names another folder. A file whose size or SHA-256
differs from the first publication is rejected. Valid files are not downloaded again, and
interrupted downloads are resumed, in this call or the next. A build without the feature download
prints curl commands instead.

  HTTPS_PROXY, ALL_PROXY, NO_PROXY  proxies, and hosts to reach without a proxy
  SSL_CERT_FILE                     certificates of authorities to trust instead of the system's
  FAIRFRONT_MIRROR                  address of a folder to download all files from instead
                                    (https://, or http:// on this machine)";

const DATA_GET_EXAMPLES: &str = "\
Examples:
  fairfront data get adult:sex
  fairfront data get compas:race --quiet";

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
