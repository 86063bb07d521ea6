//! What can be typed.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use fairfront_run::Demand;
use fairfront_solve::{AnySolver, Setting};

use crate::solver_args::SolverArgs;
use crate::table_args::{FitConfig, TableArgs};

/// All worthwhile compromises between accuracy and fairness, from a table to a chosen model.
#[derive(Debug, Parser)]
#[command(
    name = "fairfront",
    bin_name = "fairfront",
    version,
    max_term_width = 100,
    subcommand_required = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The whole way on built-in data: a table, its front, a chosen model, its decisions
    Demo {
        /// Folder of the run, with the model and its decisions beside it; what an earlier demo wrote is
        /// replaced
        #[arg(long, value_name = "DIR", default_value = "fairfront-demo")]
        out: PathBuf,
    },
    /// Show what is in a table: types, missing values, groups, base rates, proxies
    ///
    /// Name a file (CSV, CSV.gz or Parquet; several with the same columns; - for standard input)
    /// or a known data set (see `fairfront data list`). Without --target and --sensitive the
    /// columns are shown; with them the target's balance, the groups and what to be wary of.
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
    /// Update a front batch by batch while rows arrive
    #[command(long_about = STREAM, after_help = STREAM_EXAMPLES, mut_arg("balance", |arg| arg.hide(true)))]
    Stream {
        /// Folder of the stream's state; it is a run folder too
        state: PathBuf,
        #[command(flatten)]
        table: Box<TableArgs>,
        #[command(flatten)]
        stream: Box<StreamArgs>,
    },
    /// Show a run: its front as a table and a small plot
    Show {
        /// Run folder
        run: PathBuf,
        /// Print all models with all columns as CSV; the last row, with the id unmitigated, is the
        /// unmitigated model
        #[arg(long, conflicts_with = "json")]
        csv: bool,
        /// Print all points as JSON
        #[arg(long)]
        json: bool,
        /// Draw the plot in ASCII, as is done where the locale is not one of UTF-8
        #[arg(long, conflicts_with_all = ["csv", "json"])]
        ascii: bool,
    },
    /// Choose one point of a front: by requirements, knee, weights, regret or id
    #[command(long_about = SELECT, after_help = SELECT_EXAMPLES)]
    Select(SelectArgs),
    /// Make the page people decide with: report.html, one file with everything in it
    #[command(long_about = REPORT, after_help = REPORT_EXAMPLES)]
    Report(ReportArgs),
    /// Judge fronts side by side: purity, spread, hypervolume, cost
    #[command(long_about = COMPARE, after_help = COMPARE_EXAMPLES)]
    Compare(CompareArgs),
    /// Recompute a run from its folder and its data, and say what agrees
    #[command(long_about = VERIFY, after_help = VERIFY_EXAMPLES)]
    Verify(VerifyArgs),
    /// Write a model for other programs: an ONNX graph, SQL, or a table of coefficients
    #[command(long_about = EXPORT, after_help = EXPORT_EXAMPLES)]
    Export(ExportArgs),
    /// Score new rows with a model: one row out for every row in
    #[command(long_about = PREDICT, after_help = PREDICT_EXAMPLES)]
    Predict(PredictArgs),
    /// The known data sets, and prepared rows for other tools
    Data {
        #[command(subcommand)]
        command: DataCommand,
    },
}

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag that is given or not"
)]
pub(crate) struct SelectArgs {
    /// Run folder
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) certify: CertifyArgs,
    /// Take the best point in this measure or objective [default: accuracy]
    #[arg(long, value_name = "MEASURE", group = "rule")]
    pub(crate) best: Option<String>,
    /// Take the knee: the model farthest below the straight line (for three or more objectives the
    /// plane) through the ends of the front, each value scaled to its range
    #[arg(long, group = "rule")]
    pub(crate) knee: bool,
    /// Take the least weighted sum of objectives or measures, each from 0 to 1 over the front
    #[arg(long, value_name = "NAME=WEIGHT,…", group = "rule")]
    pub(crate) weights: Option<String>,
    /// Take the point whose largest loss in any objective, as a share of the front's range, is least
    #[arg(long, group = "rule")]
    pub(crate) regret: bool,
    /// Take the point with this id
    #[arg(long, value_name = "N", group = "rule", conflicts_with = "require")]
    pub(crate) id: Option<usize>,
    /// Write the chosen model to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) model: Option<PathBuf>,
    /// Replace a model file that is there already
    #[arg(long, requires = "model")]
    pub(crate) force: bool,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

/// What has to hold on new people, and how sure that has to be.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct CertifyArgs {
    /// A requirement that the model has to keep on new people, as in 'accuracy >= 0.8' or
    /// 'accuracy >= 80%'; repeat for several
    #[arg(long, value_name = "REQUIREMENT", help_heading = "Requirements")]
    pub(crate) require: Vec<String>,
    /// Certify requirements at this confidence, or none to check them on validation rows without a test
    /// [default: 0.95]
    #[arg(
        long,
        value_name = "SHARE",
        allow_hyphen_values = true,
        requires = "require",
        help_heading = "Requirements"
    )]
    pub(crate) confidence: Option<String>,
    /// Certify by finite-sample tests, which hold for any number of rows and need more of them
    #[arg(long, requires = "require", help_heading = "Requirements")]
    pub(crate) exact: bool,
}

impl CertifyArgs {
    /// The confidence; `None` for none.
    pub(crate) fn level(&self) -> Result<Option<f64>, fairfront_data::Error> {
        match self.confidence.as_deref() {
            None => Ok(Some(0.95)),
            Some("none") if self.exact => Err(fairfront_data::Error::Usage(
                "--exact: nothing is tested with --confidence none; leave one of them out".into(),
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

    /// What is to be certified; `None` without requirements and without a test.
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
    /// Where to write: a file, or - for standard output [default: report.html in the run folder]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace a file that is there already; the run's own page always is
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Draw the figures of the run instead, as SVG in its folder figures
    #[arg(long, conflicts_with = "output")]
    pub(crate) figures: bool,
    /// With --figures, as PNG too; takes rsvg-convert (package librsvg2-bin or librsvg)
    #[arg(long, requires = "figures")]
    pub(crate) png: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Model file
    pub(crate) model: PathBuf,
    /// What to write
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: FormatName,
    /// Where to write: a file, or - for standard output (sql and table)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Replace a file that is there already
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatName {
    /// A graph for ONNX runtimes
    Onnx,
    /// A SELECT statement
    Sql,
    /// The coefficients as CSV
    Table,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Run folders, and CSV files with a row a point and a column an objective
    #[arg(required = true, value_name = "RUN|FILE.csv")]
    pub(crate) fronts: Vec<PathBuf>,
    /// Compare fronts in their objectives on training rows, or runs in measures on test rows, whatever
    /// objectives they were fitted with
    #[arg(long, value_name = "WHAT", default_value = "objectives")]
    pub(crate) by: CompareBy,
    /// Reference point of the hypervolume: one number for each objective, separated by commas
    #[arg(
        long,
        value_name = "N,N…",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub(crate) reference: Vec<f64>,
    /// Bring all fronts to the size of the smallest first, well spread
    #[arg(long)]
    pub(crate) same_size: bool,
    /// Whose extremes a front's spread is judged by
    #[arg(long, value_name = "WHOSE", default_value = "union")]
    pub(crate) extremes: Extremes,
    /// Differences below this share of an objective's range are none, as far as purity goes
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) tolerance: f64,
    /// Draw the fronts over each other in an SVG file (- for standard output)
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
    /// The data, if the files of the run are not in the current folder or next to the run folder
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
    /// Where to write: a CSV file, a Parquet file (.parquet), or - for CSV on standard output
    #[arg(short, long, value_name = "FILE", required_unless_present = "audit")]
    pub(crate) output: Option<PathBuf>,
    /// Replace a file that is there already
    #[arg(long)]
    pub(crate) force: bool,
    /// Decimal sign of numbers in a CSV file: . or , [default: found by looking]
    #[arg(long, value_name = "CHAR")]
    pub(crate) decimal: Option<String>,
    /// Columns of the input to copy in front, such as an id
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) keep: Vec<String>,
    /// Compare decisions with the target, by group; the file needs the target and the sensitive
    /// columns
    #[arg(long)]
    pub(crate) audit: bool,
    /// Column of sample weights, for the audit
    #[arg(long, value_name = "COLUMN", requires = "audit")]
    pub(crate) weight: Option<String>,
    /// Print the audit as JSON instead of tables
    #[arg(long, requires = "audit")]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Extremes {
    /// The ends of the best points of all fronts
    Union,
    /// Each front's own ends
    Own,
}

/// In what fronts are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareBy {
    /// The functions that were minimized, on training rows
    Objectives,
    /// Error rate and differences between groups, on test rows
    Measures,
}

/// Flags of `fit` beyond those of the table.
#[derive(Debug, Clone, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag that is given or not"
)]
pub(crate) struct FitArgs {
    /// Folder to write the run to; it is made if it does not exist, and filled if it is empty
    #[arg(long, value_name = "DIR", help_heading = "Run")]
    pub(crate) out: PathBuf,
    /// Replace a run that is there already
    #[arg(long, help_heading = "Run")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) solver: SolverArgs,
    #[command(flatten)]
    pub(crate) certify: CertifyArgs,
    /// Order models for these tests by this measure [default: accuracy]
    #[arg(
        long,
        value_name = "MEASURE",
        requires = "require",
        help_heading = "Requirements"
    )]
    pub(crate) best: Option<String>,
    /// End after this many seconds, reading included, and keep what is done; finishing may take 2 seconds
    /// more, plus one pass over the rows
    #[arg(long, value_name = "S", help_heading = "Run")]
    pub(crate) max_seconds: Option<f64>,
    /// Keep a checkpoint in DIR at most every so many seconds, to go on from after a kill
    #[arg(long, value_name = "S", help_heading = "Run")]
    pub(crate) checkpoint_every: Option<f64>,
    /// Go on from the checkpoint in DIR, to the result of a fit without a break; keeps checkpoints, every
    /// 60 seconds if nothing else is said
    #[arg(long, help_heading = "Run")]
    pub(crate) resume: bool,
    /// Threads [default: one a core]; the result does not depend on it
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub(crate) threads: Option<usize>,
    /// No progress and no summary
    #[arg(long, help_heading = "Run")]
    pub(crate) quiet: bool,
    /// Print run.json instead of a summary
    #[arg(long, help_heading = "Run")]
    pub(crate) json: bool,
}

impl FitArgs {
    /// These flags where given, those of the TOML file where not.
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

A front is between a loss and any number of objectives that compare the groups of an attribute A.
Losses: error_rate(fp=1, fn=1, tau=0.1, lambda=1e-5), where fp and fn are the costs of false
positives and false negatives, and log_loss(lambda=1e-4). What is compared:

  demographic_parity(A)          selection rates
  true_positive_rate_parity(A)   true positive rates (the same as false negative rates)
  false_positive_rate_parity(A)  false positive rates
  equalized_odds(A)              both of these
    with the settings tau=0.1, spread=range|variance, beta=50, shrink=0
  mutual_information(A)          decision and attribute; tau=0.1, clamp=1e-6, shrink=0
  group_risk(A)                  log losses; risk=variance|cvar, alpha=0.5, mu=1e-3, shrink=0
  worst_group_loss(A)            the largest log loss; beta=50, shrink=0
  disparate_impact(A), equal_opportunity(A), predictive_equality(A)
                                 the paper's covariances; beta=8, smooth_max=boltzmann|lse, mu=1e-5,
                                 center=conditioned|all

Without --objective: error_rate, and demographic_parity of each attribute; with --preset paper or a
solver that needs covariances (trace, eps-fair), log_loss and disparate_impact of each attribute.";

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
  fairfront fit adult:gender --preset paper --out runs/gender
  fairfront fit compas:race --out runs/fnr \\
    --objective error_rate --objective 'true_positive_rate_parity(race)'
  fairfront fit adult:gender --solver eps-fair --points 200 --out runs/bounds
  fairfront fit adult:gender --solver pf-smg --polish --out runs/polished";

/// Flags of `tune` beyond those of the table.
#[derive(Debug, Clone, Args)]
pub(crate) struct TuneArgs {
    /// A setting or the penalty, and the values to try; repeat for several [default: the usual grid of
    /// the solver]
    #[arg(
        long = "try",
        value_name = "NAME=VALUE,VALUE,…",
        help_heading = "Search"
    )]
    pub(crate) tries: Vec<String>,
    /// Try so many of the combinations, drawn by --seed [default: all]
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub(crate) most: Option<usize>,
    /// Write what was tried to this CSV file (- for standard output)
    #[arg(long, value_name = "FILE", help_heading = "Search")]
    pub(crate) csv: Option<PathBuf>,
    /// Replace a file that is there already
    #[arg(long, requires = "csv", help_heading = "Search")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) solver: SolverArgs,
    /// End the search after this many seconds, reading included, and choose among what is done
    #[arg(long, value_name = "S", help_heading = "Run")]
    pub(crate) max_seconds: Option<f64>,
    /// Threads [default: one a core]; the result does not depend on it
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub(crate) threads: Option<usize>,
    /// No progress
    #[arg(long, help_heading = "Run")]
    pub(crate) quiet: bool,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Run")]
    pub(crate) json: bool,
}

const TUNE: &str = "\
Find the settings and the penalty of a solver by grid search

`tune` tunes the solver that `fit` would use with the same flags: the one of --solver, or the one
that a default fit takes. Each combination of the values to try computes a front on the training
rows. `tune` chooses the combination whose front has the most accurate model on the validation
rows; of equally accurate ones, the one with the larger hypervolume share on validation rows; then
the first. It prints the `fit` command that uses the chosen settings.

--try takes the settings that `fairfront fit --help` lists, and penalty. Separate values that hold
commas with ; instead. A setting of one solver chooses this solver. All other settings are those of
--set, --penalty, --preset or the defaults. Without --try these are tried:

  weighted         stages=2,4  softening=3,9  penalty=auto,0.0001,0.001,0.01
  trace, eps-fair  penalty=auto,0.0001,0.001,0.01
  pf-smg           runs=1,2,3 (p1)  steps=1,2,4 (p2)  step=0.5,1,2  batches=80*1.02;200*1.02
  --preset paper   runs=1,2,3 (p1)  steps=1,2,3 (p2)  step=0.3,2.1,4
                   batches=80*1.018,50*1.018;80*1.005

Each combination takes as long as a fit; --most tries some of them. A combination that fails is
reported and does not end the search. Ctrl-C or --max-seconds ends the search, leaves out the
current combination, and chooses among the finished ones.";

const TUNE_EXAMPLES: &str = "\
Examples:
  fairfront tune loans.csv --target approved --positive yes --sensitive sex
  fairfront tune loans.csv --target approved --positive yes --sensitive sex \\
    --try penalty=0.001,0.01,0.1
  fairfront tune adult:gender --preset paper --try runs=1,2,3 --try steps=1,2,3
  fairfront tune adult:gender --preset paper --try step=2.1,2.6 \\
    --try 'batches=80*1.018,50*1.018;80*1.005' --csv tried.csv
  fairfront tune demo --solver pf-smg --most 12 --json";

/// Flags of `stream` beyond those of the table.
#[derive(Debug, Clone, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag that is given or not"
)]
pub(crate) struct StreamArgs {
    /// Rows of a batch [default: 2000]
    #[arg(long, value_name = "ROWS", help_heading = "Stream")]
    pub(crate) batch: Option<usize>,
    /// Keep the last ROWS rows in use instead of all
    #[arg(
        long,
        value_name = "ROWS",
        conflicts_with = "reservoir",
        help_heading = "Stream"
    )]
    pub(crate) window: Option<usize>,
    /// Keep a uniform sample of ROWS rows instead of all
    #[arg(long, value_name = "ROWS", help_heading = "Stream")]
    pub(crate) reservoir: Option<usize>,
    /// Wait for more rows at the end of the last file, until Ctrl-C
    #[arg(long, help_heading = "Stream")]
    pub(crate) follow: bool,
    /// Use a last batch that is not full
    #[arg(long, help_heading = "Stream")]
    pub(crate) flush: bool,
    /// End when more rows than this were rejected in all
    #[arg(long, value_name = "ROWS", help_heading = "Stream")]
    pub(crate) max_rejected: Option<u64>,
    /// Send all rows of the next batch to rejected.csv; the front stays as it is
    #[arg(long, help_heading = "Stream")]
    pub(crate) skip_batch: bool,
    /// Standard input starts at its beginning again: pass over its first ROWS rows, which were taken
    #[arg(long, value_name = "ROWS", help_heading = "Stream")]
    pub(crate) skip: Option<u64>,
    #[command(flatten)]
    pub(crate) solver: SolverArgs,
    /// Threads [default: one a core]; the result does not depend on it
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub(crate) threads: Option<usize>,
    /// No progress and no lines about batches
    #[arg(long, help_heading = "Run")]
    pub(crate) quiet: bool,
    /// Print a line of JSON for every batch
    #[arg(long, help_heading = "Run")]
    pub(crate) json: bool,
}

const STREAM: &str = "\
Update a front batch by batch while rows arrive

Rows come from files (CSV, CSV.gz or Parquet), from standard input (-) or from a known data set,
and are cut into batches by their number alone. The first batch makes the front and settles
columns, types and encoding; each later one updates the front from a selection of its own points:
on all rows so far, on the last ones (--window) or on a uniform sample (--reservoir). A last batch
that is not full waits for more rows unless --flush is given.

The first call says what `fit` would be told; later calls need no such flags, and none that
contradict. Every batch is on the disk before the next begins: after a kill at any moment the same
command ends in the same front. Inputs are remembered: the same file again goes on where it was
left. A row that cannot be used goes to rejected.csv with the reason.

`show`, `select`, `compare` and `verify` work on the state at any moment. Unlike a run of `fit`, the
state holds rows of the data.";

const STREAM_EXAMPLES: &str = "\
Examples:
  fairfront stream state monday.csv --target approved --positive yes --sensitive sex
  fairfront stream state tuesday.csv wednesday.csv
  fairfront stream state log.csv --follow
  fairfront stream recent loans.csv --target approved --sensitive sex --window 20000
  producer | fairfront stream state - --json";

const SELECT: &str = "\
Choose one point of a front: by requirements, knee, weights, regret or id

A requirement is a measure, <=, >=, < or >, and a number or a percentage (5% is 0.05). It is certified: models are tested, in an order \
that validation rows give, on rows that nothing was chosen by. These are certify rows (--split \
50/10/20/20), or test rows. A requirement that `fit --require` fixed, or one on certify rows, is tested \
as it stands; a requirement that is stated after test rows were shown has to hold for the whole \
simultaneous band. Uses of the same rows are logged in the run folder and spend confidence. If no model \
can be certified, the exit code is 4, nothing is written, and the error names the closest model and the \
number of rows that would be needed.

With --confidence none, requirements are checked on validation rows without a test, and the result is \
labeled not certified; any column of `fairfront show RUN --csv` can be required then, and the exit code \
is 3 if no model meets the requirements.

Among the models that remain, one rule decides: --best, --knee, --weights or --regret. Ties go to the \
better first objective on training rows, then to the smaller id.";

const SELECT_EXAMPLES: &str = "\
Examples:
  fairfront select runs/sex --require 'demographic_parity_ratio(sex) >= 0.8'
  fairfront select runs/sex --require 'demographic_parity_difference(sex) <= 5%' \\
    --require 'accuracy >= 0.8' --confidence 0.9 --model model.json
  fairfront select runs/sex --require 'test.log_loss <= 0.4' --confidence none
  fairfront select runs/sex --knee
  fairfront select runs/sex --weights 'error_rate=0.7,demographic_parity(sex)=0.3'
  fairfront select runs/sex --id 12 --json";

const REPORT: &str = "\
Make the page people decide with: report.html, one file with everything in it

Open it in a browser: the front with any two measures on its axes, sliders for requirements with the
best remaining model and its price, the chosen model group by group, whether the objectives are in
conflict, and how all of it was made. Models and the front can be downloaded from it. It needs no
server and makes no request; it holds no row of the data.

With --figures it is pictures for papers and slides: the front, and for each objective that compares
groups its trade-off in four panels (loss, rates by group, gap, accuracy).";

const REPORT_EXAMPLES: &str = "\
Examples:
  fairfront report runs/sex
  fairfront report runs/sex -o sex.html
  fairfront report runs/sex --figures --png";

const COMPARE: &str = "\
Judge fronts side by side: purity, spread, hypervolume, cost

  purity       share of a front's points that no point of any of the fronts dominates
  gamma        widest gap between neighbours along any objective
  of range     the same with each objective as a share of its range
  delta        how uneven the gaps are; 0 where all are alike and both extremes are reached
  hypervolume  volume dominated up to the reference point: unless given, for the loss its value
               where all parameters are 0, for other objectives 1.1 times the largest of all fronts

Only fronts of the same objectives on the same rows can be compared in objectives. Of a CSV file
only the names of its columns are known, where it has any: they are matched by name.

--by measures compares runs of any objectives in the error rate and each difference between groups
that all runs have, on test rows (validation rows if a run has no test rows). It prints the
hypervolume share of each front: the share of the box up to the printed limits that its models
dominate. If the rows of all runs can be read again and are the same, each difference to the first
run has a 95% interval from 1,000 paired redraws of the rows.";

const COMPARE_EXAMPLES: &str = "\
Examples:
  fairfront compare runs/smg runs/eps
  fairfront compare runs/smg runs/eps --same-size --svg fronts.svg
  fairfront compare runs/smg theirs.csv --reference 0.7,0.1 --json
  fairfront compare runs/parity runs/odds --by measures";

const VERIFY: &str = "\
Recompute a run from its folder and its data, and say what agrees

From the parameters in the run folder and the data alone: every objective, measure, count and
certificate of every point and of the unmitigated model on all splits, the encoding, and what
run.json says of its rows, objectives and front. Roles, policies, split, seed and how files are read
come from the run. A run stores the names of its files without their folders: `verify` looks for
them in the current folder, then next to the run folder; pass the paths if the files are elsewhere.
The state of a stream is recomputed from the rows that it keeps.

Values agree to 1e-9 of their size, counts and texts exactly. The exit code is 0 where all agrees, 1
where something does not or the data are not the run's; what is worst is named.";

const VERIFY_EXAMPLES: &str = "\
Examples:
  fairfront verify runs/sex
  fairfront verify runs/sex archive/loans.csv
  fairfront verify runs/gender --json";

const EXPORT: &str = "\
Write a model for other programs: an ONNX graph, SQL, or a table of coefficients

  onnx   raw columns in, one tensor [N,1] each: doubles (NaN is missing) and texts (\"\" is missing);
         out: label (1 is the positive value), probabilities (negative, positive), score
  sql    a SELECT statement for SQLite, DuckDB and PostgreSQL that adds score, probability and
         decision to the rows of a table called input
  table  a line for each coefficient as CSV, intercept and threshold last

Missing values, merged, pooled and unseen levels are treated as in training, inside of what is
written. Texts have to be as they are read: without spaces around them.";

const EXPORT_EXAMPLES: &str = "\
Examples:
  fairfront export model.json --format onnx -o model.onnx
  fairfront export model.json --format sql -o model.sql --force
  fairfront export model.json --format table -o -";

const PREDICT: &str = "\
Score new rows with a model: one row out for every row in, in order

  score        what the model computes; the decision is 1 where it reaches the model's threshold
  probability  1/(1+e^(-score))
  decision     1 for the target's positive value, 0 for any other
  note         what was missing or not seen in training in this row; empty otherwise

The file needs the columns of the model's features, by name, in any order; sensitive columns are not
needed. A missing number counts as the training mean, a missing or unseen category as the encoding
of the model says. Rows are read, scored and written in batches: memory does not grow with the file.
A file appears whole or not at all.";

const PREDICT_EXAMPLES: &str = "\
Examples:
  fairfront predict model.json new.csv -o scores.csv --keep id
  fairfront predict model.json new.parquet -o scores.parquet
  fairfront predict model.json labelled.csv --audit
  fairfront predict model.json - -o -";

const INSPECT_EXAMPLES: &str = "\
Examples:
  fairfront inspect loans.csv
  fairfront inspect loans.csv --target approved --positive yes --sensitive sex --sensitive race
  fairfront inspect loans.parquet --target approved --sensitive age --bins age=25,45 --json
  fairfront inspect adult:race";

const DATA_GET: &str = "\
Download the published files of a known data set, and print their paths

Files come over HTTPS into the user's cache folder ($XDG_CACHE_HOME/fairfront or ~/.cache/fairfront;
on macOS ~/Library/Caches/fairfront, on Windows %LOCALAPPDATA%\\fairfront), where every command finds
them unless FAIRFRONT_DATA names a folder of your own. Size and SHA-256 are those of the first
publication, or the file is refused. What is there and right is not downloaded again; what was cut
off goes on where it was, in this call or the next. A build without the feature download prints curl
commands instead.

  HTTPS_PROXY, ALL_PROXY, NO_PROXY  proxies, and hosts that go without
  SSL_CERT_FILE                     certificates of authorities to trust instead of the system's
  FAIRFRONT_MIRROR                  where to get all files instead: their names are added to this
                                    address (https://, or http:// on this machine)";

const DATA_GET_EXAMPLES: &str = "\
Examples:
  fairfront data get adult:gender
  fairfront data get compas:race --quiet";

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// List the known data sets, and whether their files are there
    List {
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Print the path of each published file of a known data set, after checking it
    Path {
        /// Name of the data set
        name: String,
    },
    /// Download the published files of a known data set, and print their paths
    #[command(long_about = DATA_GET, after_help = DATA_GET_EXAMPLES)]
    Get {
        /// Name of the data set
        name: String,
        /// No progress and no lines about files
        #[arg(long)]
        quiet: bool,
    },
    /// Write the prepared rows with a `split` column, so that other tools see the same rows
    Export {
        #[command(flatten)]
        table: Box<TableArgs>,
        /// Where to write: a CSV file, or - for standard output
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        /// Write the features as encoded (scaled, one-hot) and the label as 0 or 1, instead of the
        /// columns as read; rows keep the order of the file
        #[arg(long)]
        encoded: bool,
        /// Write the fitted encoding as JSON too
        #[arg(long, value_name = "FILE")]
        encoding: Option<PathBuf>,
        /// Replace existing files
        #[arg(long)]
        force: bool,
    },
}
