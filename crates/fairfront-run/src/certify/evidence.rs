//! What a run keeps for tests: counts of decisions by group and label, and no row.

use std::path::Path;

use fairfront_core::{
    Dataset, Decisions, Measure, Points, Schema, Tallies, bracketed, hex, n_regions, predictor_of,
    say,
};
use fairfront_data::setting::MERGE;
use fairfront_data::{Encoded, Notice, Part, RowRole};
use fairfront_model::seal::sum;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::family::Family;
use super::interval::{Band, CONFIDENCE, Intervals, REPLICATES, Scope, intervals};
use crate::Error;
use crate::folder::check_sum;

/// The file of a run.
pub const TALLIES: &str = "tallies.json";
const FORMAT: &str = "fairfront-tallies";
const VERSION: u32 = 1;

/// Counts that order models and certify requirements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    format: String,
    version: u32,
    /// The rows that order models: validation rows, or training rows if there are none.
    pub order: Counted,
    /// The rows that certify: `certify` rows, or test rows if there are none; absent without either.
    pub certify: Option<Counted>,
}

/// Decisions on the rows of one split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// Which rows.
    pub split: Part,
    /// How many.
    pub rows: u64,
    /// SHA-256 of their labels and weights: the same rows have the same whatever is fitted.
    pub fingerprint: String,
    /// Counts of all models of the front, the unmitigated model last.
    pub tallies: Tallies,
    /// How far simultaneous bands reach.
    pub bands: Vec<Band>,
}

/// Columns of intervals on one split.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SplitIntervals {
    pub(crate) part: Part,
    pub(crate) intervals: Intervals,
}

/// How the intervals of a run were found, as `run.json` says it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IntervalInfo {
    /// Share of samples in which an interval is to hold its measure.
    pub confidence: f64,
    /// Redraws of the rows.
    pub replicates: usize,
    /// The largest share of redraws that lack the rows a measure needs, and are left out of it.
    pub left_out: f64,
}

/// All that tests and intervals need of a front.
pub(crate) struct Weighed {
    pub(crate) evidence: Evidence,
    pub(crate) intervals: Vec<SplitIntervals>,
    pub(crate) info: IntervalInfo,
    pub(crate) notices: Vec<Notice>,
}

/// Counts decisions on the rows that order and certify, and redraws those that are shown. `models` has the
/// unmitigated model last; `judged` are the measures that models are compared in. `None` if the work was
/// over before all replicates were made.
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
    let certifying = first(RowRole::Certification);
    let reported = first(RowRole::Reporting);
    let mut weighed = Weighed {
        evidence: Evidence {
            format: FORMAT.into(),
            version: VERSION,
            order: Counted::of(order, encoded.part(order), models)?.0,
            certify: None,
        },
        intervals: Vec::new(),
        info: IntervalInfo {
            confidence: CONFIDENCE,
            replicates,
            left_out: 0.0,
        },
        notices: Vec::new(),
    };
    let mut parts: Vec<Part> = reported.into_iter().collect();
    parts.extend(certifying.filter(|part| !parts.contains(part)));
    if order == Part::Validation {
        parts.push(order);
    }
    for part in parts {
        let (mut counted, decisions) = Counted::of(part, encoded.part(part), models)?;
        let scope = match part {
            Part::Validation => Scope::Changes,
            Part::Certify => Scope::Bands,
            _ => Scope::All,
        };
        let schema = encoded.part(part).schema();
        let tallies = &counted.tallies;
        let (key, limits) = (part as u64, (replicates, is_over));
        let found = intervals(&decisions, tallies, schema, judged, key, scope, limits)?;
        let Some(found) = found else {
            return Ok(None);
        };
        if part != Part::Validation {
            weighed.info.left_out = weighed.info.left_out.max(found.left_out);
        }
        if found.left_out > 0.01 && part == Part::Test {
            let percent = 100.0 * found.left_out;
            weighed.notices.push(Notice::warning(say![
                "{percent:.1}% of the redrawn test rows lack a group that a measure needs; intervals of \
                 that measure leave them out. Merge small groups",
                bracketed(MERGE)
            ]));
        }
        if certifying == Some(part) {
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
    fn of(split: Part, rows: &Dataset, models: &Points) -> Result<(Self, Decisions), Error> {
        let decisions = Decisions::of(&*predictor_of(rows.schema()), rows, models)?;
        let counted = Self {
            split,
            rows: rows.n_rows() as u64,
            fingerprint: fingerprint(rows),
            tallies: decisions.tallies(),
            bands: Vec::new(),
        };
        Ok((counted, decisions))
    }

    fn fits(&self, n_models: usize, schema: &Schema) -> bool {
        let (tallies, n) = (&self.tallies, n_regions(schema));
        let sizes = tallies.selected.iter().all(|of_model| of_model.len() == n);
        let numbers = tallies.selected.iter().flatten().chain(&tallies.totals);
        let sound = numbers
            .flatten()
            .flatten()
            .all(|v| v.is_finite() && *v >= 0.0);
        tallies.n_models() == n_models + 1 && tallies.totals.len() == n && sizes && sound
    }
}

/// SHA-256 over labels and weights in order.
fn fingerprint(rows: &Dataset) -> String {
    let mut hash = Sha256::new();
    hash.update((rows.n_rows() as u64).to_le_bytes());
    for block in rows.blocks() {
        for value in block.labels().iter().chain(block.weights()) {
            hash.update(value.to_le_bytes());
        }
    }
    hex(&hash.finalize())
}

impl Counted {
    /// The ends of the simultaneous band of a measure at a model, which hold for all models at once; `None`
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
    /// Evidence from decisions on rows that order and rows that certify, for simulations; with bands if
    /// asked for, which take most of the time.
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
            let found = intervals(certify, tallies, schema, &[], key, Scope::Bands, limits)?;
            certifying.bands = found.map(|found| found.bands).unwrap_or_default();
        }
        Ok(Self {
            format: FORMAT.into(),
            version: VERSION,
            order: counted(Part::Validation, order),
            certify: Some(certifying),
        })
    }

    /// The bytes of the file, and their checksum.
    pub(crate) fn to_bytes(&self) -> Result<(Vec<u8>, String), serde_json::Error> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        let checksum = sum(&bytes);
        Ok((bytes, checksum))
    }

    /// Reads what [`Evidence::to_bytes`] wrote for a front of so many models.
    pub(crate) fn from_bytes(
        path: &Path,
        bytes: &[u8],
        checksum: &str,
        n_models: usize,
        schema: &Schema,
    ) -> Result<Self, Error> {
        let damaged =
            |why: &str| Error::file(path, format!("the file is corrupted ({why}); fit again"));
        check_sum(path, bytes, checksum)?;
        let evidence: Self = serde_json::from_slice(bytes).map_err(|e| damaged(&e.to_string()))?;
        if evidence.format != FORMAT || evidence.version != VERSION {
            return Err(damaged("its format is not known"));
        }
        let all = std::iter::once(&evidence.order).chain(&evidence.certify);
        match all
            .into_iter()
            .all(|counted| counted.fits(n_models, schema))
        {
            true => Ok(evidence),
            false => Err(damaged("its counts do not match the front")),
        }
    }
}
