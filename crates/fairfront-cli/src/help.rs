//! The long help of the commands, and their examples.

use std::fmt::Write as _;

use fairfront_solve::{AnySolver, Setting};

/// The settings of all solvers, and examples of `fit`.
pub(crate) fn fit_help() -> String {
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

pub(crate) const FIT: &str = "\
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

const FIT_EXAMPLES: &str = "\
Examples:
  fairfront fit loans.csv --target approved --positive yes --sensitive sex --out runs/sex
  fairfront fit adult:sex --preset paper --out runs/gender
  fairfront fit compas:race --out runs/fnr \\
    --objective error_rate --objective 'equal_opportunity(race)'
  fairfront fit adult:sex --solver eps-fair --models 200 --out runs/bounds
  fairfront fit adult:sex --solver pf-smg --polish --out runs/polished";

pub(crate) const TUNE: &str = "\
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

pub(crate) const PACK: &str = "\
Encode a table into a block file, to fit more rows than memory holds

The files (CSV, CSV.gz or Parquet) are read once, in batches, so that memory use hardly grows with
the number of rows: about 8 bytes per row. The block file holds the encoding, the splits and the
encoded rows, usually 10 to 50 bytes per row. `fit` and `tune` accept it in place of a table, and
give the same bytes as on the table itself; `verify` accepts it as well. Pass all flags about
columns and rows to `pack`. The file contains rows of the data: store it like the table.";

pub(crate) const PACK_EXAMPLES: &str = "\
Examples:
  fairfront pack loans.csv --target approved --positive yes --sensitive sex -o loans.ffb
  fairfront fit loans.ffb --memory 2GiB --out runs/loans
  fairfront pack part-*.parquet --target paid --sensitive race --memory 4GiB -o rows.ffb";

pub(crate) const TUNE_EXAMPLES: &str = "\
Examples:
  fairfront tune loans.csv --target approved --positive yes --sensitive sex
  fairfront tune loans.csv --target approved --positive yes --sensitive sex \\
    --try penalty=0.001,0.01,0.1
  fairfront tune adult:sex --preset paper --try runs=1,2,3 --try steps=1,2,3
  fairfront tune adult:sex --preset paper --try step=2.1,2.6 \\
    --try 'batches=80*1.018,50*1.018;80*1.005' --csv tried.csv
  fairfront tune demo --solver pf-smg --most 12 --json";

pub(crate) const STREAM: &str = "\
Update a front batch by batch as rows arrive

Rows come from files (CSV, CSV.gz or Parquet), from standard input (-) or from a known data set.
Only the number of rows ends a batch. The first batch makes the front and fixes columns, types and
encoding. Each later batch updates the front, starting from a selection of its models: on all rows
so far, on the last rows (--window) or on a uniform sample (--reservoir). A last batch that is not
full waits for more rows unless you pass --flush.

The first call takes the flags of `fit`. Later calls do not need them, and a different value is an
error. Every batch is on disk before the next one begins: if the process is killed at any time, the
same command still ends with the same front. The state records the position in each file: if you
pass a file again, reading resumes there. Unusable rows go to rejected.csv with the reason.

`show`, `select`, `compare` and `verify` work on the state at any time. Unlike a run of `fit`, the
state contains rows of the data.";

pub(crate) const STREAM_EXAMPLES: &str = "\
Examples:
  fairfront stream state monday.csv --target approved --positive yes --sensitive sex
  fairfront stream state tuesday.csv wednesday.csv
  fairfront stream state log.csv --follow
  fairfront stream recent loans.csv --target approved --sensitive sex --window 20000
  producer | fairfront stream state - --json";

pub(crate) const SELECT: &str = "\
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

pub(crate) const SELECT_EXAMPLES: &str = "\
Examples:
  fairfront select runs/sex --require 'demographic_parity_ratio(sex) >= 0.8'
  fairfront select runs/sex --require 'demographic_parity_difference(sex) <= 5%' \\
    --require 'accuracy >= 0.8' --confidence 0.9 --model model.json
  fairfront select runs/sex --require 'test.log_loss <= 0.4' --confidence none
  fairfront select runs/sex --knee
  fairfront select runs/sex --weights 'error_rate=0.7,demographic_parity(sex)=0.3'
  fairfront select runs/sex --model-id 12 --json";

pub(crate) const REPORT: &str = "\
Write the interactive report: report.html, one self-contained file

Open it in a browser. It shows the front with any two measures on its axes, sliders for requirements
with the best remaining model and its price, the selected model by group, whether the objectives
conflict, and how the run was made. You can download models and the front from it. The report needs
no server, makes no network request and contains no row of the data.

With --figures, `report` draws figures for papers and slides instead: the front and, for each
objective that compares groups, its trade-off in four panels (loss, rates or means by group,
difference, accuracy or error). For a target that is a number, it also draws the distributions of
the predictions by group, and for classes the shares of decisions by class and group, of the
unmitigated model and another one.

With --card, `report` writes the model card of a model: its details, intended use, data, measures
with intervals, certificates and limits. Each number has a footnote with its source; `verify
--document` checks the card.";

pub(crate) const REPORT_EXAMPLES: &str = "\
Examples:
  fairfront report runs/sex
  fairfront report runs/sex -o sex.html
  fairfront report runs/sex --card --model-id 12 --intended-use \"Small loans\" -o card.html
  fairfront report runs/sex --figures --png
  fairfront report runs/salary --figures --model-id 12";

pub(crate) const COMPARE: &str = "\
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

pub(crate) const COMPARE_EXAMPLES: &str = "\
Examples:
  fairfront compare runs/smg runs/eps
  fairfront compare runs/smg runs/eps --same-size --svg fronts.svg
  fairfront compare runs/smg theirs.csv --reference 0.7,0.1 --json
  fairfront compare runs/parity runs/odds --by measures";

pub(crate) const VERIFY: &str = "\
Recompute a run from its folder and its data, and report differences

`verify` trusts only the parameters in the run folder and the data. It recomputes every objective,
measure, count and optimality proof of every model and of the unmitigated model on all splits, the
encoding, the certificates, and the entries of run.json about rows, objectives and front. Roles,
policies, split, seed and the format of files come from the run. A run stores the names of its files
without their folders: `verify` looks for them in the current folder, then next to the run folder;
pass the paths if the files are elsewhere. The state of a stream is recomputed from the rows that it
stores.

--document also checks a model card, or the output folder of `lda`: fairfront writes it again from
the run and compares it line by line, so that a changed number, word or source is found.

Values must agree to 1e-9 of their size; counts and strings must be equal. The exit code is 0 if
everything agrees, and 1 if something differs or the data are not those of the run. `verify` names
the largest difference.";

pub(crate) const VERIFY_EXAMPLES: &str = "\
Examples:
  fairfront verify runs/sex
  fairfront verify runs/sex archive/loans.csv
  fairfront verify runs/sex --document card.html --document search
  fairfront verify runs/gender --json";

pub(crate) const LDA: &str = "\
Search a front for less discriminatory alternatives to a baseline

A less discriminatory alternative is a model that treats groups more equally than the baseline
does, at almost the same performance. `lda` compares every model of the run's front with the
baseline on the same rows, which neither was trained on. An alternative is not worse than the
baseline by the tolerance or more, and all its differences between groups are smaller, in paired
score tests. The validation rows determine the order of the tests and the baseline's worst pair of
groups; candidates are tested on the `certify` rows, or on the test rows if there are none, until
the first test fails. All alternatives found hold together at the confidence. Each new search on
the same rows is logged in the run folder and spends confidence; repeating a search is free.

The output folder has `lda.html`, a page to print; `memo.html` and `memo.md`, a memo in plain
English; `lda.json`, all numbers; and `candidates.csv`. They report the absolute rates of all
groups, the decisions that would differ by recorded outcome, the effect of each column, a record
of the search, and proven limits of linear models on these columns. These are screening figures,
not legal conclusions.";

pub(crate) const LDA_EXAMPLES: &str = "\
Examples:
  fairfront fit loans.csv --target repaid --sensitive race --split 50/10/20/20 --out runs/loans
  fairfront lda runs/loans --baseline model.json --baseline-unseen --tolerance auc=0.005 -o lda
  fairfront lda runs/loans --baseline scores.csv:p --baseline-threshold 0.6 --baseline-unseen \\
    -o lda --reference race=White --note \"Tolerance: credit committee\"
  fairfront verify runs/loans --document lda";

pub(crate) const EXPORT: &str = "\
Export a model as an ONNX graph, SQL, or a table of coefficients

  onnx   input: raw columns, one tensor [N,1] each, of doubles (NaN is missing) or strings (\"\" is
         missing); output: label (1 is the positive value), probabilities (negative, positive),
         score; for a number: prediction; for more than two classes, label is the name of a class,
         and probabilities and scores have one column per class
  sql    SELECT statement for SQLite, DuckDB and PostgreSQL that adds score, probability and
         decision, or the prediction of a number, to the rows of a table called input
  table  CSV with one line per coefficient; intercept and threshold come last. Those of a number are
         in the unit of the target, without a threshold. Classes have one column each

The exported model itself treats missing values and merged, pooled and unseen categories as in
training. Strings must not have spaces around them.";

pub(crate) const EXPORT_EXAMPLES: &str = "\
Examples:
  fairfront export model.json --format onnx -o model.onnx
  fairfront export model.json --format sql -o model.sql --force
  fairfront export model.json --format table -o -";

pub(crate) const AUDIT: &str = "\
Compare the decisions of any model by group: impact ratios, error rates, intervals

Decisions come from a fairfront model, from a column of scores with --threshold, or from a column of
decisions. The scores may be a column of ROWS, or of another file with one row per row of ROWS, in
the same order or with a --key. Columns of both files must agree in every row.

For each sensitive attribute and each intersection, `audit` prints three separate facts about a
group and its reference group: the adverse impact ratio (the ratio of their selection rates),
whether the difference is statistically significant, and its size in people (shortfall). With a
target, it adds error rates; with scores, standardized mean differences and ratios at other
selection rates.

  four fifths  below, at or above: the whole interval of the ratio is on this side of 0.8;
               too few rows: the interval contains 0.8
  p-value      Fisher's exact test, or the score test for weighted or very many rows
  shortfall    how many more rows of the group the rate of the reference group would select

All of these are screening figures, not legal conclusions. Groups with less than 2% of the rows are
listed, but not compared. Rows of unknown group are counted.";

pub(crate) const AUDIT_EXAMPLES: &str = "\
Examples:
  fairfront audit model.json applicants.csv
  fairfront audit scores.csv:score applicants.csv --threshold 0.5 --sensitive sex --sensitive race
  fairfront audit :hired applicants.csv --selected yes --sensitive race --reference race=White
  fairfront audit scores.parquet:p loans.csv --key id --threshold 620 --sensitive sex \\
    --target repaid --positive yes -o audit.html -o audit.json
  fairfront audit :invited rows.csv --sex sex --race race --format nyc-ll144 -o audit.html";

pub(crate) const PREDICT: &str = "\
Score new rows with a model, one output row per input row

  score        output of the linear model
  probability  calibrated probability of the positive value of the target
  decision     1 (the positive value) if the score is at least the threshold of the model, else 0
  note         values that are missing or were not seen in training; otherwise empty

A model of a number writes prediction, in the unit of the target, instead of the first three columns.
A model of more than two classes writes score[CLASS] and probability[CLASS] for each class, and the
class of the highest score as decision.

Output rows have the order of the input. The file must contain the feature columns of the model, by
name and in any order; sensitive columns are not needed. A missing number counts as the mean of the
training rows, and a missing or unseen category is encoded as the model specifies. Rows are read,
scored and written in batches, so memory use does not grow with the file. The output file is written
completely or not at all.";

pub(crate) const PREDICT_EXAMPLES: &str = "\
Examples:
  fairfront predict model.json new.csv -o scores.csv --keep id
  fairfront predict model.json new.parquet -o scores.parquet
  fairfront predict model.json labeled.csv --audit
  fairfront predict model.json - -o -";

pub(crate) const INSPECT_EXAMPLES: &str = "\
Examples:
  fairfront inspect loans.csv
  fairfront inspect loans.csv --target approved --positive yes --sensitive sex --sensitive race
  fairfront inspect loans.parquet --target approved --sensitive age --bins age=25,45 --json
  fairfront inspect adult:race";

pub(crate) const DATA_GET: &str = "\
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

pub(crate) const DATA_GET_EXAMPLES: &str = "\
Examples:
  fairfront data get adult:sex
  fairfront data get compas:race --quiet";
