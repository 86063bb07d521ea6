//! Data that a run stores for tests: counts of decisions by group and label, without any rows.

use std::path::Path;

use fairfront_core::{
    Decided, Decisions, Measure, NumberChanges, NumberTallies, Points, Schema, Tallies, Target,
    bracketed, n_regions, predictor_of, say,
};
use fairfront_data::setting::MERGE;
use fairfront_data::{Diagnostic, Encoded, Part, RowRole};
use fairfront_model::seal::sum;
use serde::{Deserialize, Serialize};

use super::family::Family;
use super::interval::{
    Band, CONFIDENCE, Intervals, Known, REPLICATES, Scope, can_redraw, intervals,
};
use crate::Error;
use crate::folder::check_sum;

/// The file in a run folder.
pub const TALLIES: &str = "tallies.json";
const FORMAT: &str = "fairfront-tallies";
const VERSION: u32 = 1;

/// Counts that determine the order of tests and certify requirements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    format: String,
    version: u32,
    /// Counts on the ordering rows: validation rows, or training rows if there are none.
    pub order: Counted,
    /// Counts on the certifying rows: `certify` rows, or test rows if there are none; absent
    /// without either.
    pub certify: Option<Counted>,
}

/// Decisions on the rows of one split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// The split.
    pub split: Part,
    /// Number of rows.
    pub rows: u64,
    /// SHA-256 of their labels and weights. It depends on the rows only, not on the fit.
    pub fingerprint: String,
    /// Counts for all models of the front, the unmitigated model last.
    pub tallies: Tallies,
    /// Half-widths of simultaneous bands, in standard errors.
    pub bands: Vec<Band>,
}

/// Columns of intervals on one split.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SplitIntervals {
    pub(crate) part: Part,
    pub(crate) intervals: Intervals,
}

/// How the intervals of a run were computed, as stored in `run.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IntervalInfo {
    /// Share of samples in which an interval should contain the true value.
    pub confidence: f64,
    /// Number of redraws of the rows.
    pub replicates: usize,
    /// The largest share of redraws that were left out of a measure because they lack rows it
    /// needs.
    pub left_out: f64,
}

/// The data that tests and intervals need about a front.
pub(crate) struct Weighed {
    pub(crate) evidence: Evidence,
    pub(crate) intervals: Vec<SplitIntervals>,
    pub(crate) info: IntervalInfo,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Counts decisions on the ordering and certifying rows, and redraws the rows that are reported.
/// `models` has the unmitigated model last; `judged` lists the measures by which models are
/// compared. Returns `None` if the work was stopped before all replicates were complete.
pub(crate) fn weigh(
    encoded: &Encoded,
    models: &Points,
    judged: &[Measure],
    replicates: usize,
    is_over: &dyn Fn() -> bool,
) -> Result<Option<Weighed>, Error> {
    if is_over() {
        return Ok(None);
    }
    let first = |role: RowRole| encoded.parts_for(role).first().copied();
    let order = first(RowRole::Order).unwrap_or(Part::Train);
    let schema = encoded.part(order).schema();
    // Means of predicted numbers have closed-form intervals.
    let can_redraw = schema.target.decides() && can_redraw(schema, models.len());
    let replicates = if can_redraw { replicates } else { 0 };
    let certifying = first(RowRole::Certification);
    let reported = first(RowRole::Reporting);
    let mut weighed = Weighed {
        evidence: Evidence {
            format: FORMAT.into(),
            version: VERSION,
            order: Counted::of(order, encoded, models, false)?.0,
            certify: None,
        },
        intervals: Vec::new(),
        info: IntervalInfo {
            confidence: CONFIDENCE,
            replicates,
            left_out: 0.0,
        },
        diagnostics: Vec::new(),
    };
    let mut parts: Vec<Part> = reported.into_iter().collect();
    parts.extend(certifying.filter(|part| !parts.contains(part)));
    if order == Part::Validation {
        parts.push(order);
    }
    for part in parts {
        let certifies = certifying == Some(part);
        let (mut counted, decisions) = Counted::of(part, encoded, models, certifies)?;
        let scope = match part {
            Part::Validation => Scope::Changes,
            Part::Certify => Scope::Bands,
            _ => Scope::All,
        };
        let schema = encoded.part(part).schema();
        let tallies = &counted.tallies;
        let (key, limits) = (part as u64, (replicates, is_over));
        let changes = match &decisions {
            Some(_) => None,
            None => NumberChanges::of(&*predictor_of(schema), encoded.part(part), models)?,
        };
        let known = match &decisions {
            Some(decisions) => Known::Decisions(decisions),
            None => Known::Changes(changes.as_ref()),
        };
        let found = intervals(&known, tallies, schema, judged, key, scope, limits)?;
        let Some(found) = found else {
            return Ok(None);
        };
        if part != Part::Validation {
            weighed.info.left_out = weighed.info.left_out.max(found.left_out);
        }
        if found.left_out > 0.01 && part == Part::Test {
            let percent = 100.0 * found.left_out;
            weighed.diagnostics.push(Diagnostic::warning(say![
                "{percent:.1}% of the redraws of the test rows lack a group that a measure needs, \
                 so its intervals leave them out";
                "merge small groups", bracketed(MERGE)
            ]));
        }
        if certifies {
            counted.bands.clone_from(&found.bands);
            weighed.evidence.certify = Some(counted);
        }
        if part != Part::Certify {
            let intervals = found;
            weighed.intervals.push(SplitIntervals { part, intervals });
        }
    }
    Ok(Some(weighed))
}

impl Counted {
    /// Counts the rows of a split; finite-sample tests of means need more sums than others.
    fn of(
        split: Part,
        encoded: &Encoded,
        models: &Points,
        certifies: bool,
    ) -> Result<(Self, Option<Decided>), Error> {
        let rows = encoded.part(split);
        let predictor = predictor_of(rows.schema());
        let decisions = match rows.schema().target.decides() {
            true => Some(Decided::of(&*predictor, rows, models)?),
            false => None,
        };
        let tallies = match &decisions {
            Some(decisions) => decisions.tallies(),
            None => {
                let numbers = NumberTallies::of(&*predictor, rows, models)?;
                let numbers = match certifies {
                    true => numbers.with_capped(&*predictor, rows, models)?,
                    false => numbers,
                };
                Tallies {
                    numbers: Some(numbers),
                    ..Tallies::default()
                }
            }
        };
        let counted = Self {
            split,
            rows: rows.n_people() as u64,
            fingerprint: encoded.fingerprints()?[split as usize].labels.clone(),
            tallies,
            bands: Vec::new(),
        };
        Ok((counted, decisions))
    }

    fn fits(&self, n_models: usize, schema: &Schema) -> bool {
        let (tallies, n) = (&self.tallies, n_regions(schema));
        match &schema.target {
            Target::Number(_) => {
                let numbers = tallies.numbers.as_ref();
                return numbers.is_some_and(|numbers| numbers.fits(n_models + 1, n));
            }
            Target::Classes(classes) => {
                let counts = tallies.classes.as_ref();
                return counts.is_some_and(|counts| counts.fits(n_models + 1, n, classes));
            }
            Target::Binary => {}
        }
        let sizes = tallies.selected.iter().all(|of_model| of_model.len() == n);
        let numbers = tallies.selected.iter().flatten().chain(&tallies.totals);
        let sound = numbers
            .flatten()
            .flatten()
            .all(|v| v.is_finite() && *v >= 0.0);
        tallies.n_models() == n_models + 1 && tallies.totals.len() == n && sizes && sound
    }

    /// Whether the sums over people in two groups, if there are any, are sound.
    fn shares_fit(&self, n_models: usize, schema: &Schema) -> bool {
        let Some(shared) = &self.tallies.shared else {
            return true;
        };
        let (sums, n) = (shared.sums(), shared.n_pairs());
        let shape = match &schema.target {
            Target::Classes(classes) => {
                let counts = sums.classes.as_ref();
                counts.is_some_and(|counts| counts.fits(n_models + 1, n, classes))
            }
            Target::Binary | Target::Number(_) => {
                let numbers = sums.selected.iter().flatten().chain(&sums.totals);
                let mut numbers = numbers.flatten().flatten();
                sums.selected.len() == n_models + 1
                    && sums.classes.is_none()
                    && sums.totals.len() == n
                    && sums.selected.iter().all(|of_model| of_model.len() == n)
                    && numbers.all(|v| v.is_finite() && *v >= 0.0)
            }
        };
        shared.fits(schema) && shape
    }
}

impl Counted {
    /// The ends of the band of a measure for one model. Bands hold for all models at once. `None`
    /// for measures without a band.
    pub fn band(
        &self,
        schema: &Schema,
        measure: &str,
        model: usize,
        confidence: f64,
    ) -> Option<[f64; 2]> {
        let family = Family::all(schema)
            .into_iter()
            .find(|f| f.name == measure)?;
        let band = self.bands.iter().find(|band| band.measure == measure)?;
        let (low, high) = family.interval(&self.tallies, model, band.reach(confidence))?;
        Some([low, high])
    }
}

impl Evidence {
    /// Evidence from decisions on ordering and certifying rows, for simulations. Bands are optional
    /// because they take most of the time.
    pub fn of_decisions(
        order: &Decisions,
        certify: &Decisions,
        schema: &Schema,
        bands: bool,
    ) -> Result<Self, Error> {
        let counted = |split: Part, decisions: &Decisions| Counted {
            split,
            rows: decisions.n_rows() as u64,
            fingerprint: String::new(),
            tallies: decisions.tallies(),
            bands: Vec::new(),
        };
        let mut certifying = counted(Part::Certify, certify);
        if bands {
            let (tallies, key) = (&certifying.tallies, Part::Certify as u64);
            let limits: (usize, &dyn Fn() -> bool) = (REPLICATES, &|| false);
            let decided = Decided::Rows(certify.clone());
            let found = intervals(
                &Known::Decisions(&decided),
                tallies,
                schema,
                &[],
                key,
                Scope::Bands,
                limits,
            )?;
            certifying.bands = found.map(|found| found.bands).unwrap_or_default();
        }
        Ok(Self {
            format: FORMAT.into(),
            version: VERSION,
            order: counted(Part::Validation, order),
            certify: Some(certifying),
        })
    }

    /// The content of the file, and its checksum.
    pub(crate) fn to_bytes(&self) -> Result<(Vec<u8>, String), serde_json::Error> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        let checksum = sum(&bytes);
        Ok((bytes, checksum))
    }

    /// Reads the output of [`Evidence::to_bytes`] for a front of `n_models` models.
    pub(crate) fn from_bytes(
        path: &Path,
        bytes: &[u8],
        checksum: &str,
        n_models: usize,
        schema: &Schema,
    ) -> Result<Self, Error> {
        let corrupted =
            |why: &str| Error::file(path, format!("the file is corrupted ({why}); fit again"));
        check_sum(path, bytes, checksum)?;
        let evidence: Self =
            serde_json::from_slice(bytes).map_err(|e| corrupted(&e.to_string()))?;
        if evidence.format != FORMAT || evidence.version != VERSION {
            return Err(corrupted("unknown format"));
        }
        let all = std::iter::once(&evidence.order).chain(&evidence.certify);
        match all
            .into_iter()
            .all(|counted| counted.fits(n_models, schema) && counted.shares_fit(n_models, schema))
        {
            true => Ok(evidence),
            false => Err(corrupted("its counts do not match the front")),
        }
    }
}
