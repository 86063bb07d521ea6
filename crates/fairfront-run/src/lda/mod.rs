//! Less discriminatory alternatives: which models of a front treat groups more equally than a baseline does, at
//! almost the same performance, tested on rows that neither of them was trained on.
//!
//! Both models decide about the same rows. A candidate counts if its performance is not worse than the
//! baseline's by the tolerance or more, and its difference between groups is smaller, in paired score tests
//! ([`PairedSum`](fairfront_core::PairedSum)). The baseline's worst pair of groups (e, f) is fixed on the ordering
//! rows; a candidate's rates c have to satisfy `c_a − c_b < b_e − b_f` for every ordered pair (a, b), so that its
//! p-value is the largest over all pairs (an intersection–union test). Candidates are tested in the order of
//! the ordering rows until the first fails, as certified choices are ([`certify`](crate::certify)).

mod baseline;
mod column;
mod compare;
mod limit;
mod outcome;
mod page;
mod result;
mod rows;
mod words;

use std::path::Path;

use fairfront_core::{RateIn, bracketed, say};
use fairfront_data::setting::{SENSITIVE, SPLIT};
use fairfront_data::{Encoded, Part, Prepared};
use fairfront_model::{ModelId, Stated, TestKind};
use rayon::prelude::*;

pub use baseline::BaselineRequest;
pub use column::{ColumnEffects, WithoutColumn};
pub use limit::{Estimated, Limits, Proven};
pub use page::{lda_memo, lda_page};
pub use result::{
    BaselineInfo, Both, Candidate, Changed, Finding, GroupOutcome, Lda, MeasureInfo, Moved,
    Outcomes, Performance, SearchedRun, TestInfo, Tolerance, WorstPair,
};

use crate::certify::{Certificate, CertifyingRows, Counted, Log, Tested, in_order, spent};
use crate::setting::{CONFIDENCE, TOLERANCE as TOLERANCE_SETTING};
use crate::verify::{columns_again, prepared_again};
use crate::{Error, Run};
use baseline::Columns;
use compare::{Comparison, Disparity};
use rows::Rows;

/// The kind of the documents of a search.
pub(crate) const LDA: &str = "lda";

const FORMAT: &str = "fairfront-lda";
const VERSION: u32 = 1;

/// A search for less discriminatory alternatives.
#[derive(Debug, Clone)]
pub struct LdaRequest {
    /// The model that decides now.
    pub baseline: BaselineRequest,
    /// How much worse candidates may perform.
    pub tolerance: Tolerance,
    /// The differences that must be smaller; those of the run's objectives if empty.
    pub measures: Vec<String>,
    /// Named reference groups: attribute and group.
    pub references: Vec<(String, String)>,
    /// 1 − δ, above 0 and below 1.
    pub confidence: f64,
    /// Free text for the record.
    pub notes: Vec<String>,
}

impl LdaRequest {
    fn check(&self) -> Result<(), Error> {
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(Error::usage(say![
                CONFIDENCE.is(self.confidence),
                ": choose a number between 0 and 1, such as 0.95"
            ]));
        }
        if !(self.tolerance.amount >= 0.0 && self.tolerance.amount.is_finite()) {
            return Err(Error::usage(say![
                TOLERANCE_SETTING.is(self.tolerance.amount),
                ": choose a number that is not negative, such as accuracy=0.5%"
            ]));
        }
        Ok(())
    }
}

/// Searches the front of the run in a folder. A use of `certify` rows, or of test rows, is logged in the folder.
/// `files` are those of the run's table, if they are not in the current folder or next to the run folder;
/// `published` is the folder of the published files.
pub fn search(
    folder: &Path,
    files: &[String],
    request: &LdaRequest,
    published: Option<&Path>,
) -> Result<Lda, Error> {
    request.check()?;
    let run = Run::read(folder)?;
    check_run(&run)?;
    let columns = request
        .baseline
        .columns(|columns, types| columns_again(folder, &run.info, files, columns, types))?;
    let (prepared, encoded) = prepared_again(folder, &run.info, files, published)?;
    let mut log = Log::open(folder)?;
    let (lda, certificate) = searched(&run, &prepared, &encoded, (request, columns), &log)?;
    if let Some(certificate) = certificate {
        log.add(certificate)?;
    }
    Ok(lda)
}

/// Rejects runs without binary decisions, without a front, or whose rows are not in a table.
fn check_run(run: &Run) -> Result<(), Error> {
    if run.front.is_empty() {
        return Err(Error::data("the front has no models; fit again"));
    }
    let work = "a search for less discriminatory alternatives";
    run.info.spec.needs_known_groups(work)?;
    if !run.info.meaning.target.is_binary() {
        return Err(Error::usage(say![
            "less discriminatory alternatives are defined for binary decisions, but this target is not binary";
            "fit a target with two values, or a comparison such as \"> median\""
        ]));
    }
    let mut attributes = run.encoding.attributes.iter();
    if let Some(rule) = attributes.find(|rule| rule.attribute.estimated) {
        let name = &rule.attribute.name;
        return Err(Error::usage(say![
            format!("the groups of {name} are estimated, and a search tests differences between known groups");
            "fit with ", SENSITIVE, " if the groups are known"
        ]));
    }
    if run.info.stream.is_some() {
        return Err(Error::usage(say![
            "the rows of a stream have no scores of a baseline";
            "fit a table that has the same rows"
        ]));
    }
    Ok(())
}

/// The disparities, each with the baseline's worst pair on the ordering rows.
type Fixed = Vec<(Disparity, [RateIn; 2])>;

/// The search, and the new use of the certifying rows, unless it repeats an earlier one.
fn searched(
    run: &Run,
    prepared: &Prepared,
    encoded: &Encoded,
    (request, columns): (&LdaRequest, Columns),
    log: &Log,
) -> Result<(Lda, Option<Certificate>), Error> {
    let disparities = Disparity::all(run, &request.measures, &request.references)?;
    let baseline = request
        .baseline
        .read(prepared, columns, request.tolerance)?;
    let order_part = run.evidence.order.split;
    let certifying = run.evidence.certify.as_ref().ok_or_else(|| {
        Error::usage(say![
            "the run has no rows to test candidates on";
            "fit with test rows", bracketed(SPLIT.is("60/10/30"));
            "fit with certify rows", bracketed(SPLIT.is("50/10/20/20"))
        ])
    })?;
    let order_rows = Rows::of(run, prepared, &baseline, order_part)?;
    let rows = Rows::of(run, prepared, &baseline, certifying.split)?;
    let ordering = Comparison::new(&order_rows, run, request.tolerance)?;
    let testing = Comparison::new(&rows, run, request.tolerance)?;
    let fixed = fixed(&disparities, &ordering)?;

    let requirements = requirements(&fixed, &baseline, request);
    let (number, is_new) = number_of_use(run, certifying, &requirements, request, log);
    let level = spent(request.confidence, number);
    let results = results(run, (&ordering, &testing), &fixed, level)?;
    let describe = |(model, tested): (usize, outcome::Test)| {
        outcome::candidate(run, &testing, &fixed, model, tested, request.confidence)
    };
    let described: Vec<Option<Candidate>> = results.into_par_iter().map(describe).collect();
    let mut candidates: Vec<Candidate> = described.into_iter().flatten().collect();
    outcome::add_redraws(&mut candidates, &testing, &fixed);
    outcome::add_ranks(&mut candidates, run, &testing, &fixed)?;

    let test = TestInfo {
        order_split: order_part,
        order_rows: order_rows.n,
        split: rows.part,
        rows: rows.n,
        fingerprint: certifying.fingerprint.clone(),
        stated: match certifying.split {
            Part::Certify => Stated::Before,
            _ => Stated::AfterLooking,
        },
        confidence: request.confidence,
        number,
        level,
    };
    let lda = Lda {
        format: FORMAT.into(),
        version: VERSION,
        program: env!("CARGO_PKG_VERSION").into(),
        run: outcome::searched_run(run, prepared),
        baseline: baseline.info(request),
        tolerance: request.tolerance,
        measures: fixed
            .iter()
            .map(|(disparity, worst)| outcome::measure_info(run, disparity, *worst))
            .collect(),
        test,
        candidates,
        columns: column::effects(run, prepared, encoded, &disparities)?,
        limits: limit::limits(run, encoded, &disparities)?,
        notes: request.notes.clone(),
    };
    let certificate = is_new.then(|| lda.certificate(requirements));
    Ok((lda, certificate))
}

/// Fixes the baseline's worst pair of each disparity on the ordering rows.
fn fixed(disparities: &[Disparity], ordering: &Comparison) -> Result<Fixed, Error> {
    let of = |disparity: &Disparity| {
        let worst = ordering.worst(disparity).ok_or_else(|| {
            let split = ordering.rows.part.name();
            Error::data(say![
                format!("the {split} rows do not have rows of every compared group");
                "merge groups";
                "fit with more ", split, " rows"
            ])
        })?;
        Ok((disparity.clone(), worst))
    };
    disparities.iter().map(of).collect()
}

/// The number of this use of the certifying rows, and whether it is new: the same search is free, and every
/// other one spends confidence.
fn number_of_use(
    run: &Run,
    certifying: &Counted,
    requirements: &[String],
    request: &LdaRequest,
    log: &Log,
) -> (usize, bool) {
    let uses = log.uses.iter().map(|used| &used.certificate);
    let own = || {
        let uses = uses.clone();
        uses.filter(|c| c.rows.fingerprint == certifying.fingerprint)
    };
    let earlier = own().find(|c| {
        c.against_baseline
            && c.requirements == requirements
            && c.confidence == request.confidence
            && c.front_sha256 == run.info.front_sha256
    });
    match earlier {
        Some(earlier) => (earlier.number, false),
        None => (own().map(|c| c.number).max().unwrap_or(0) + 1, true),
    }
}

/// Models in the order of their tests, each with its p-values; then the other models of the front. The order
/// comes from the ordering rows alone.
fn results(
    run: &Run,
    (ordering, testing): (&Comparison, &Comparison),
    fixed: &Fixed,
    level: f64,
) -> Result<Vec<(usize, outcome::Test)>, Error> {
    let bad = |model: usize| -> Option<Vec<f64>> {
        let own = ordering.performance_of(model, true)?;
        let performance = match ordering.tolerance().of.larger_is_better() {
            true => -own,
            false => own,
        };
        let differences = fixed.iter();
        let differences =
            differences.map(|(of, _)| of.value(|rate| ordering.rate(model, true, rate)));
        std::iter::once(Some(performance))
            .chain(differences)
            .collect()
    };
    let bad: Vec<Option<Vec<f64>>> = (0..run.front.len()).map(bad).collect();
    let p_in_order = |model: usize| ordering.p_value(model, fixed).unwrap_or(1.0);
    let p: Vec<f64> = (0..run.front.len())
        .into_par_iter()
        .map(p_in_order)
        .collect();
    let order = in_order(&bad, |model| p[model])?;
    let mut results = Vec::with_capacity(run.front.len());
    let mut is_open = true;
    for (model, order_p_value) in &order {
        let p_value = match is_open {
            true => Some(testing.p_value(*model, fixed).unwrap_or(1.0)),
            false => None,
        };
        let finding = match p_value {
            None => Finding::NotTested,
            Some(p) if p <= level => Finding::LessDiscriminatory,
            Some(_) => Finding::NotShown,
        };
        is_open &= finding == Finding::LessDiscriminatory;
        results.push((*model, (finding, *order_p_value, p_value)));
    }
    for model in 0..run.front.len() {
        if order.iter().all(|(ordered, _)| *ordered != model) {
            results.push((model, (Finding::NotTested, p[model], None)));
        }
    }
    Ok(results)
}

fn found_ids(candidates: &[Candidate]) -> Vec<ModelId> {
    let found = candidates.iter();
    let found = found.filter(|c| c.finding == Finding::LessDiscriminatory);
    let mut ids: Vec<ModelId> = found.map(|candidate| candidate.model_id).collect();
    ids.sort_unstable();
    ids
}

/// The hypotheses of a search in words; equal searches have equal ones.
fn requirements(fixed: &Fixed, baseline: &baseline::Baseline, request: &LdaRequest) -> Vec<String> {
    let print = &baseline.sha256[..16.min(baseline.sha256.len())];
    let tolerance = request.tolerance;
    let performance = format!(
        "{} within {} of baseline {print}",
        tolerance.of.name(),
        tolerance.amount
    );
    let smaller = fixed.iter().map(|(disparity, _)| {
        let reference = match disparity.reference {
            Some(region) => format!(" to region {region}"),
            None => String::new(),
        };
        format!(
            "{}{reference} below baseline {print}",
            disparity.family.name
        )
    });
    std::iter::once(performance).chain(smaller).collect()
}

/// The files of a search.
#[derive(Debug, Clone)]
pub struct LdaFiles {
    /// Names and contents.
    pub files: Vec<(&'static str, Vec<u8>)>,
}

impl Lda {
    /// The names of the files of a search.
    pub const FILES: [&str; 5] = [
        "lda.json",
        "lda.html",
        "candidates.csv",
        "memo.html",
        "memo.md",
    ];

    /// The files of the search: its page, its memo, its data, and a table of its candidates.
    pub fn files(&self) -> Result<LdaFiles, Error> {
        let json = serde_json::to_vec_pretty(self).map_err(|e| Error::data(e.to_string()))?;
        let memo = lda_memo(self);
        let contents = [
            [json, b"\n".to_vec()].concat(),
            lda_page(self).to_html().into_bytes(),
            page::candidates_csv(self).into_bytes(),
            memo.to_html().into_bytes(),
            memo.to_markdown().into_bytes(),
        ];
        Ok(LdaFiles {
            files: Self::FILES.into_iter().zip(contents).collect(),
        })
    }

    /// The use of the certifying rows, for the log.
    fn certificate(&self, requirements: Vec<String>) -> Certificate {
        Certificate {
            requirements,
            confidence: self.test.confidence,
            test: TestKind::Score,
            stated: self.test.stated,
            order: Some(self.tolerance.of.name()),
            rows: CertifyingRows {
                split: self.test.split,
                count: self.test.rows as u64,
                fingerprint: self.test.fingerprint.clone(),
            },
            front_sha256: self.run.front_sha256.clone(),
            number: self.test.number,
            level: self.test.level,
            tested: self.tested(),
            certified: self.found_ids(),
            not_covered: Vec::new(),
            against_baseline: true,
        }
    }

    /// The alternatives, as the log lists them.
    pub(crate) fn found_ids(&self) -> Vec<ModelId> {
        found_ids(&self.candidates)
    }

    /// The tests, as the log lists them.
    pub(crate) fn tested(&self) -> Vec<Tested> {
        outcome::tested(&self.candidates)
    }

    /// Reads the content of `lda.json`.
    pub fn from_json(path: &Path, bytes: &[u8]) -> Result<Self, Error> {
        let corrupted =
            |why: String| Error::file(path, format!("the file is corrupted ({why}); search again"));
        let lda: Self = serde_json::from_slice(bytes).map_err(|e| corrupted(e.to_string()))?;
        match lda.format == FORMAT && lda.version == VERSION {
            true => Ok(lda),
            false => Err(corrupted("unknown format".into())),
        }
    }
}
