//! A choice that holds on new people: requirements tested on rows that nothing was chosen by.
//!
//! Each requirement is a set of contrasts of binomial cells ([`family`]); a model's p-value is the
//! largest over all of them (an intersection–union test). Validation rows order the models; they are
//! tested in this order until the first fails ([`certify`]). Uses of the same rows are logged ([`log`])
//! and spend confidence. `docs/certify.md` has the procedure.

mod certificate;
mod evidence;
mod family;
mod interval;
mod log;

use std::path::Path;

use fairfront_core::{Contrast, Message, Rate, Schema, Tallies, bracketed, normal_quantile, say};
use fairfront_data::{Part, Prepared, RowRole, near_names};
use fairfront_model::{Checked, GroupSize, ModelCertificate, Stated, TestKind, Verdict};
use fairfront_pareto::{Values, nondominated};

pub use certificate::{Certificate, CertifyingRows, Closest, Tested, Uncertified};
pub use evidence::{Counted, Evidence, IntervalInfo, TALLIES};
pub(crate) use evidence::{SplitIntervals, Weighed, weigh};
pub(crate) use family::{Family, Kind};
pub use interval::Band;
pub(crate) use interval::{CONFIDENCE, REPLICATES, SEED};
pub use log::Use;
pub(crate) use log::{Log, USES, from_bytes as uses_from_bytes, to_bytes as uses_to_bytes};

use fairfront_data::setting::{MERGE, SPLIT};

use crate::select::{FrontColumns, Rule, Selection, measure_instead, select_among};
use crate::setting::{self, BEST, EXACT, REQUIRE, SELECT_CONFIDENCE};
use crate::{Comparator, Error, Requirement, Run, Term};

/// Fewer effective rows than this say too little about a weighted rate.
const LEAST_EFFECTIVE: f64 = 30.0;
/// The power that a stated number of rows gives.
const POWER: f64 = 0.8;

/// What has to hold on new people.
#[derive(Debug, Clone, PartialEq)]
pub struct Demand {
    /// The requirements, all of which have to hold.
    pub requirements: Vec<Requirement>,
    /// 1 − δ, above 0 and below 1.
    pub confidence: f64,
    /// Whether finite-sample tests decide.
    pub exact: bool,
    /// What is to be best; orders models together with their p-values.
    pub best: Term,
}

impl Demand {
    /// Reads requirements; `best` is the accuracy unless another measure is named.
    pub fn parse(
        requirements: &[String],
        confidence: f64,
        exact: bool,
        best: Option<&str>,
    ) -> Result<Self, Error> {
        if !(confidence > 0.0 && confidence < 1.0) {
            return Err(Error::usage(say![
                setting::CONFIDENCE.is(confidence),
                ": choose a number between 0 and 1, such as 0.95, or none"
            ]));
        }
        let parse = |text: &String| Requirement::parse(text).map_err(|e| e.of_setting(REQUIRE));
        Ok(Self {
            requirements: requirements.iter().map(parse).collect::<Result<_, _>>()?,
            confidence,
            exact,
            best: Term::parse(best.unwrap_or("accuracy")).map_err(|e| e.of_setting(BEST))?,
        })
    }
}

impl Demand {
    /// Says before a fit what could not be certified after it.
    pub fn check(&self, prepared: &Prepared) -> Result<(), Error> {
        let attributes = prepared
            .attributes
            .iter()
            .map(|rule| rule.attribute.clone());
        let schema = Schema {
            numeric: Vec::new(),
            categorical: Vec::new(),
            attributes: attributes.collect(),
            n_outputs: 1,
        };
        for requirement in &self.requirements {
            bound(requirement, &schema, None)?;
        }
        let parts = RowRole::Certification.parts().iter();
        match parts
            .into_iter()
            .all(|part| prepared.split.part(*part).is_empty())
        {
            true => Err(no_rows()),
            false => Ok(()),
        }
    }
}

fn no_rows() -> Error {
    Error::usage(say![
        REQUIRE, ": there are no rows to certify on";
        "fit with test rows", bracketed(SPLIT.is("60/10/30")),
        " or certify rows", bracketed(SPLIT.is("50/10/20/20"));
        "choose without a test", bracketed(SELECT_CONFIDENCE.is("none"))
    ])
}

/// A chosen model, with its certificate if there were requirements.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The model and why it was chosen.
    pub selection: Selection,
    /// The test that it passed; `None` without requirements and without a test.
    pub certificate: Option<Certificate>,
    /// What travels with the model.
    pub of_model: Option<ModelCertificate>,
}

/// Chooses a model among those that are certified, and logs the use of the certifying rows in the folder
/// of the run or of its stream.
pub fn choose_certified(
    folder: &Path,
    run: &Run,
    demand: &Demand,
    rule: &Rule,
) -> Result<Choice, Error> {
    let plan = Plan::new(run, demand)?;
    let mut log = Log::open(folder)?;
    let (certificate, is_new) = plan.certify(&log.uses, true)?;
    if is_new {
        log.add(certificate.clone())?;
    }
    plan.choose(certificate, rule)
}

/// The same for a run in memory, which keeps its own log.
pub fn choose_in_memory(run: &mut Run, demand: &Demand, rule: &Rule) -> Result<Choice, Error> {
    let mut uses = std::mem::take(&mut run.uses);
    let choice = choose_with_uses(run, &mut uses, true, demand, rule);
    run.uses = uses;
    choice
}

/// The same with a log that the caller keeps; `looked` says whether test rows have been shown.
pub fn choose_with_uses(
    run: &Run,
    uses: &mut Vec<Use>,
    looked: bool,
    demand: &Demand,
    rule: &Rule,
) -> Result<Choice, Error> {
    let plan = Plan::new(run, demand)?;
    let (certificate, is_new) = plan.certify(uses, looked)?;
    if is_new {
        uses.push(Use::after(uses, certificate.clone()));
    }
    plan.choose(certificate, rule)
}

/// Tests requirements that were fixed before a fit, before anything about the certifying rows is shown, and
/// keeps the result in the run. `uses` are those of a run that this one replaces.
pub fn certify_fit(run: &mut Run, demand: &Demand, uses: Vec<Use>) -> Result<(), Error> {
    run.uses = uses;
    let (certificate, is_new) = Plan::new(run, demand)?.certify(&run.uses, false)?;
    if is_new {
        run.uses.push(Use::after(&run.uses, certificate.clone()));
    }
    run.info.certified = Some(certificate);
    Ok(())
}

/// The uses that the log of a folder holds; none without a log.
pub fn logged_uses(folder: &Path) -> Result<Vec<Use>, Error> {
    Log::read(folder)
}

/// The certificate of a model under requirements that nothing tested: they were met on rows that chose it.
pub fn uncertified_model(
    run: &Run,
    requirements: &[Requirement],
    selection: &Selection,
) -> Option<ModelCertificate> {
    let counted = &run.evidence.order;
    let checked = requirements.iter().zip(&selection.judged.requirements);
    let checked = checked.map(|(requirement, miss)| Checked {
        requirement: requirement.to_string(),
        verdict: Verdict::NotCertified,
        estimate: miss.value,
        band: None,
        groups: Vec::new(),
        not_covered: Vec::new(),
    });
    (!requirements.is_empty()).then(|| ModelCertificate {
        verdict: Verdict::NotCertified,
        requirements: checked.collect(),
        split: counted.split,
        rows: counted.rows,
        confidence: None,
        level: None,
        number: None,
        test: None,
        stated: None,
        fingerprint: None,
    })
}

/// A requirement with the measure that it is about.
struct Bound<'a> {
    requirement: &'a Requirement,
    family: Family,
    at_most: bool,
}

impl Bound<'_> {
    fn limit(&self) -> f64 {
        self.requirement.bound
    }

    fn not_covered(&self, schema: &Schema) -> Vec<String> {
        let regions = self.family.left_out.iter();
        regions
            .filter_map(|region| group_label(*region, schema))
            .collect()
    }

    fn contrasts(&self, tallies: &Tallies, model: usize) -> Vec<Contrast> {
        let all = self
            .family
            .contrasts(tallies, model, self.at_most, self.limit());
        all.unwrap_or_default()
    }
}

/// Requirements that can be tested on a run.
pub(crate) struct Plan<'a> {
    run: &'a Run,
    demand: &'a Demand,
    certifying: &'a Counted,
    columns: FrontColumns,
    bounds: Vec<Bound<'a>>,
}

impl<'a> Plan<'a> {
    /// Refuses what cannot be tested, with a remedy.
    pub(crate) fn new(run: &'a Run, demand: &'a Demand) -> Result<Self, Error> {
        if run.front.is_empty() {
            return Err(Error::data("the front has no models; fit again"));
        }
        if demand.requirements.is_empty() {
            return Err(Error::usage(say![
                REQUIRE,
                ": name a requirement to certify"
            ]));
        }
        let schema = run.encoding.schema();
        let columns = FrontColumns::of(&run.info, &run.front);
        let bounds = demand.requirements.iter();
        let bounds = bounds
            .map(|requirement| bound(requirement, &schema, Some(&columns)))
            .collect::<Result<_, _>>()?;
        let Some(certifying) = &run.evidence.certify else {
            return Err(no_rows());
        };
        let plan = Self {
            run,
            demand,
            certifying,
            columns,
            bounds,
        };
        plan.check_rows()?;
        Ok(plan)
    }

    /// Says which cells have too few rows to be tested at all.
    fn check_rows(&self) -> Result<(), Error> {
        let schema = self.run.encoding.schema();
        for bound in &self.bounds {
            for (rate, region) in bound.family.cells() {
                let cell = self.certifying.tallies.cell(0, rate, region);
                let people = people(rate, region, &schema);
                let split = self.certifying.split.name();
                let problem = if cell.trials <= 0.0 {
                    format!("the {split} rows have no {people}")
                } else if cell.is_weighted() && self.demand.exact {
                    return Err(Error::usage(say![
                        EXACT, ": rows have weights, and there is no finite-sample test for weighted rows";
                        "leave out ", EXACT
                    ]));
                } else if cell.is_weighted() && cell.effective() < LEAST_EFFECTIVE {
                    format!(
                        "the weighted {people} among the {split} rows count as {:.1} equal rows, fewer \
                         than {LEAST_EFFECTIVE}",
                        cell.effective()
                    )
                } else {
                    continue;
                };
                let reason = say![
                    problem;
                    "merge groups", bracketed(MERGE), " or collect more rows"
                ];
                return Err(Error::Uncertified(Box::new(Uncertified {
                    requirements: self.texts(),
                    certificate: None,
                    reason: Some(reason),
                    closest: None,
                })));
            }
        }
        Ok(())
    }

    fn texts(&self) -> Vec<String> {
        let texts = self.bounds.iter();
        texts.map(|bound| bound.requirement.to_string()).collect()
    }

    /// The largest p-value over all contrasts of all requirements.
    fn p_value(&self, tallies: &Tallies, model: usize, exact: bool) -> f64 {
        let contrasts = self.bounds.iter().flat_map(|b| b.contrasts(tallies, model));
        let of = |contrast: Contrast| match exact {
            true => contrast.exact_p_value(),
            false => contrast.p_value(),
        };
        contrasts.map(of).fold(0.0, f64::max)
    }

    /// Tests the requirements, or finds that the same was tested before; `looked` says whether test rows have
    /// been shown. Returns whether the use is a new one.
    pub(crate) fn certify(&self, uses: &[Use], looked: bool) -> Result<(Certificate, bool), Error> {
        let rows = CertifyingRows {
            split: self.certifying.split,
            count: self.certifying.rows,
            fingerprint: self.certifying.fingerprint.clone(),
        };
        let own: Vec<&Certificate> = uses
            .iter()
            .map(|used| &used.certificate)
            .filter(|certificate| certificate.rows.fingerprint == rows.fingerprint)
            .collect();
        let order = self.order_column()?;
        let kind = if self.demand.exact {
            TestKind::Exact
        } else {
            TestKind::Score
        };
        let sorted = |mut texts: Vec<String>| {
            texts.sort();
            texts
        };
        let wanted = sorted(self.texts());
        let same = |certificate: &&&Certificate| {
            certificate.test == kind
                && certificate.confidence == self.demand.confidence
                && certificate.order.as_ref() == Some(&order.0)
                && certificate.front_sha256 == self.run.info.front_sha256
                && sorted(certificate.requirements.clone()) == wanted
        };
        if let Some(certificate) = own.iter().find(same) {
            return Ok(((*certificate).clone(), false));
        }
        if self.certifying.split == Part::Test && looked {
            return Ok(self.by_band(rows, &own));
        }
        let number = own.iter().map(|c| c.number).max().unwrap_or(0) + 1;
        let level = spent(self.demand.confidence, number);
        let mut certificate = Certificate {
            requirements: self.texts(),
            confidence: self.demand.confidence,
            test: kind,
            stated: Stated::Before,
            order: Some(order.0),
            rows,
            front_sha256: self.run.info.front_sha256.clone(),
            number,
            level,
            tested: Vec::new(),
            certified: Vec::new(),
            not_covered: self.not_covered(),
        };
        for (model, order_p_value) in self.in_order(&order.1)? {
            let p_value = self.p_value(&self.certifying.tallies, model, self.demand.exact);
            certificate.tested.push(Tested {
                model,
                p_value,
                order_p_value,
            });
            if p_value > level {
                break;
            }
            certificate.certified.push(model);
        }
        certificate.certified.sort_unstable();
        Ok((certificate, true))
    }

    /// The column of what is to be best, and how bad each model is in it.
    fn order_column(&self) -> Result<(String, Vec<Option<f64>>), Error> {
        let column = self.columns.best_column(&self.demand.best)?;
        let sign = if column.large_is_better { -1.0 } else { 1.0 };
        let bad = column.values.iter().map(|v| v.map(|v| sign * v)).collect();
        Ok((column.name, bad))
    }

    /// Models nondominated in what is to be best and in the p-value on the rows that order, smallest p
    /// first.
    fn in_order(&self, bad: &[Option<f64>]) -> Result<Vec<(usize, f64)>, Error> {
        let p = |model: usize| self.p_value(&self.run.evidence.order.tallies, model, false);
        let models: Vec<(usize, f64, f64)> = bad
            .iter()
            .enumerate()
            .filter_map(|(model, bad)| Some((model, (*bad)?, p(model))))
            .collect();
        let values: Vec<f64> = models.iter().flat_map(|(_, bad, p)| [*bad, *p]).collect();
        let mut kept: Vec<(usize, f64, f64)> = nondominated(Values::new(&values, 2)?)
            .into_iter()
            .map(|at| models[at])
            .collect();
        kept.sort_by(|a, b| {
            a.2.total_cmp(&b.2)
                .then(a.1.total_cmp(&b.1))
                .then(a.0.cmp(&b.0))
        });
        Ok(kept.into_iter().map(|(model, _, p)| (model, p)).collect())
    }

    /// Judges models by the ends of simultaneous bands, which hold for every limit at once: only other
    /// measures are a new use.
    fn by_band(&self, rows: CertifyingRows, own: &[&Certificate]) -> (Certificate, bool) {
        let measures = |certificate: &Certificate| {
            let texts = certificate.requirements.iter();
            let names = texts.filter_map(|text| Requirement::parse(text).ok());
            let mut names: Vec<String> = names.map(|r| r.term.canonical()).collect();
            names.sort();
            names.dedup();
            names
        };
        let mut wanted: Vec<String> = self.bounds.iter().map(|b| b.family.name.clone()).collect();
        wanted.sort();
        wanted.dedup();
        let earlier = own.iter().find(|certificate| {
            certificate.test == TestKind::Band
                && certificate.confidence == self.demand.confidence
                && certificate.front_sha256 == self.run.info.front_sha256
                && measures(certificate) == wanted
        });
        let next = own.iter().map(|c| c.number).max().unwrap_or(0) + 1;
        let number = earlier.map_or(next, |certificate| certificate.number);
        let level = spent(self.demand.confidence, number);
        let keeps = |model: usize| {
            self.bounds.iter().all(|bound| {
                let found = self.band(bound, model, level / self.bounds.len() as f64);
                found.is_some_and(|[low, high]| match bound.at_most {
                    true => high <= bound.limit(),
                    false => low >= bound.limit(),
                })
            })
        };
        let certificate = Certificate {
            requirements: self.texts(),
            confidence: self.demand.confidence,
            test: TestKind::Band,
            stated: Stated::AfterLooking,
            order: None,
            rows,
            front_sha256: self.run.info.front_sha256.clone(),
            number,
            level,
            tested: Vec::new(),
            certified: (0..self.run.front.len()).filter(|m| keeps(*m)).collect(),
            not_covered: self.not_covered(),
        };
        let is_new = own.iter().all(|other| **other != certificate);
        (certificate, is_new)
    }

    /// The ends of the simultaneous band of a requirement's measure at a model.
    fn band(&self, bound: &Bound, model: usize, level: f64) -> Option<[f64; 2]> {
        let name = &bound.family.name;
        let band = self.certifying.bands.iter().find(|b| b.measure == *name)?;
        let reach = band.reach(1.0 - level);
        let (low, high) = bound
            .family
            .interval(&self.certifying.tallies, model, reach)?;
        Some([low, high])
    }

    /// A requirement at a model.
    fn checked(&self, bound: &Bound, model: usize, certificate: &Certificate) -> Checked {
        let schema = self.run.encoding.schema();
        let tallies = &self.certifying.tallies;
        let rate = |rate: Rate, region: usize| tallies.cell(model, rate, region).rate();
        let estimate = bound.family.value(rate);
        // A band at the stated confidence; that of a use after looking is the one that decided.
        let level = match certificate.test {
            TestKind::Band => certificate.level / self.bounds.len() as f64,
            _ => 1.0 - certificate.confidence,
        };
        let band = self.band(bound, model, level);
        let verdict = match (certificate.certified.contains(&model), band) {
            (true, _) => Verdict::Certified,
            (false, Some([low, _])) if bound.at_most && low > bound.limit() => Verdict::Violated,
            (false, Some([_, high])) if !bound.at_most && high < bound.limit() => Verdict::Violated,
            _ => Verdict::NotCertified,
        };
        let groups = bound
            .family
            .cells()
            .into_iter()
            .map(|(of, region)| GroupSize {
                group: group_label(region, &schema),
                rows: tallies.cell(model, of, region).trials,
                rate: rate(of, region),
            });
        Checked {
            requirement: bound.requirement.to_string(),
            verdict,
            estimate,
            band,
            groups: groups.collect(),
            not_covered: bound.not_covered(&schema),
        }
    }

    /// Groups that some requirement says nothing about.
    fn not_covered(&self) -> Vec<String> {
        let schema = self.run.encoding.schema();
        let mut groups: Vec<String> = Vec::new();
        for group in self.bounds.iter().flat_map(|b| b.not_covered(&schema)) {
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        groups
    }

    /// What travels with a model.
    pub(crate) fn of_model(&self, model: usize, certificate: &Certificate) -> ModelCertificate {
        let checked = self
            .bounds
            .iter()
            .map(|b| self.checked(b, model, certificate));
        let requirements: Vec<Checked> = checked.collect();
        let verdict = match certificate.certified.contains(&model) {
            true => Verdict::Certified,
            false if requirements.iter().any(|c| c.verdict == Verdict::Violated) => {
                Verdict::Violated
            }
            false => Verdict::NotCertified,
        };
        ModelCertificate {
            verdict,
            requirements,
            split: certificate.rows.split,
            rows: certificate.rows.count,
            confidence: Some(certificate.confidence),
            level: Some(certificate.level),
            number: Some(certificate.number),
            test: Some(certificate.test),
            stated: Some(certificate.stated),
            fingerprint: Some(certificate.rows.fingerprint.clone()),
        }
    }

    /// The model that a rule takes of the certified ones.
    fn choose(&self, certificate: Certificate, rule: &Rule) -> Result<Choice, Error> {
        if certificate.certified.is_empty() {
            return Err(Error::Uncertified(Box::new(self.uncertified(certificate))));
        }
        let selection = select_among(&self.columns, &certificate.certified, &self.texts(), rule)?;
        Ok(Choice {
            of_model: Some(self.of_model(selection.id, &certificate)),
            selection,
            certificate: Some(certificate),
        })
    }

    /// What to say if no model is certified.
    pub(crate) fn uncertified(&self, certificate: Certificate) -> Uncertified {
        let tallies = &self.certifying.tallies;
        let closest = match certificate.tested.first() {
            Some(first) => Some((first.model, first.p_value)),
            None => {
                let all = (0..self.run.front.len()).map(|m| (m, self.p_value(tallies, m, false)));
                all.min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)))
            }
        };
        let closest = closest.and_then(|(model, p_value)| {
            // The requirement whose contrasts are hardest to reject.
            let worst = |bound: &&Bound| -> f64 {
                let all = bound.contrasts(tallies, model).into_iter();
                all.map(|c| c.p_value()).fold(0.0, f64::max)
            };
            let bound = self
                .bounds
                .iter()
                .max_by(|a, b| worst(a).total_cmp(&worst(b)))?;
            Some(Closest {
                model,
                p_value,
                checked: self.checked(bound, model, &certificate),
                rows_needed: self.rows_needed(model, certificate.level, certificate.test),
            })
        });
        Uncertified {
            requirements: self.texts(),
            certificate: Some(certificate),
            reason: None,
            closest,
        }
    }

    /// Certifying rows that would certify a model in four of five samples, if its rates are as estimated.
    fn rows_needed(&self, model: usize, level: f64, test: TestKind) -> Option<u64> {
        let reach = match test {
            // As far as the widest of the bands that have to keep their limits.
            TestKind::Band => {
                let level = 1.0 - level / self.bounds.len() as f64;
                let bands = self.certifying.bands.iter();
                let own = |band: &&Band| self.bounds.iter().any(|b| b.family.name == band.measure);
                bands
                    .filter(own)
                    .map(|b| b.reach(level))
                    .fold(0.0, f64::max)
            }
            TestKind::Score | TestKind::Exact => -normal_quantile(level),
        };
        let z = reach + normal_quantile(POWER);
        let tallies = &self.certifying.tallies;
        let contrasts = self.bounds.iter().flat_map(|b| b.contrasts(tallies, model));
        let mut times = 0.0_f64;
        for contrast in contrasts {
            // How far inside the limit the estimate is, and its variance with the rows there are.
            let (room, variance) = match contrast {
                Contrast::Difference { a, b, limit } => {
                    (limit - (a.rate()? - b.rate()?), a.variance() + b.variance())
                }
                Contrast::Ratio { a, b, limit } => (
                    a.rate()? - limit * b.rate()?,
                    a.variance() + limit * limit * b.variance(),
                ),
                Contrast::AtLeast { cell, limit } => (cell.rate()? - limit, cell.variance()),
                Contrast::AtMost { cell, limit } => (limit - cell.rate()?, cell.variance()),
            };
            if room <= 0.0 {
                return None;
            }
            times = times.max(z * z * variance / (room * room));
        }
        Some((times * self.certifying.rows as f64).ceil() as u64)
    }
}

/// δ/2^(use − 1).
fn spent(confidence: f64, number: usize) -> f64 {
    // 1 − 0.95 is not quite 0.05.
    let delta = ((1.0 - confidence) * 1e12).round() / 1e12;
    delta * libm::exp2(-((number - 1) as f64))
}

/// The measure that a requirement is about, if it can be tested.
fn bound<'a>(
    requirement: &'a Requirement,
    schema: &Schema,
    columns: Option<&FrontColumns>,
) -> Result<Bound<'a>, Error> {
    let Requirement {
        term, comparator, ..
    } = requirement;
    let refuse = |problem: Message| {
        let text = requirement.to_string();
        Err(Error::usage(say![REQUIRE, " {text:?}: ", problem]))
    };
    let untested = || {
        say![
            "choose without a test",
            bracketed(setting::CONFIDENCE.is("none"))
        ]
    };
    if let Some(split) = term.split {
        let bare = Term {
            split: None,
            ..term.clone()
        };
        let split = split.name();
        return refuse(say![
            "a requirement on {split} rows cannot be certified";
            "write {bare} without a split";
            untested()
        ]);
    }
    let families = Family::all(schema);
    let name = term.canonical();
    let found = families.iter().find(|family| family.name == name);
    let Some(family) = found.filter(|_| !term.objective) else {
        if let Some(columns) = columns {
            columns.require_column(requirement)?;
        }
        if let Some(problem) = measure_instead(term).filter(|_| !term.objective) {
            let is_there = columns.is_some_and(|columns| columns.objectives.contains(&name));
            return refuse(match is_there {
                true => say![
                    "{problem} (objectives cannot be certified, only limited without a test: ",
                    setting::CONFIDENCE.is("none"),
                    ")"
                ],
                false => problem.into(),
            });
        }
        let names = families.iter().map(|family| family.name.as_str());
        let near = near_names(&name, names.filter(|name| !name.contains('=')));
        return refuse(say![
            "{name} cannot be certified, only rates and differences and ratios of rates can";
            near;
            untested()
        ]);
    };
    let at_most = matches!(comparator, Comparator::AtMost | Comparator::Below);
    let compares = !matches!(family.kind, Kind::Rate { .. });
    let is_ratio = matches!(family.kind, Kind::Ratio { .. });
    if compares && at_most == is_ratio {
        let (side, other) = if is_ratio {
            (">=", "at most")
        } else {
            ("<=", "at least")
        };
        return refuse(say![
            "a value of {other} a limit cannot be certified for {name}";
            "use {side}";
            untested()
        ]);
    }
    Ok(Bound {
        requirement,
        family: family.clone(),
        at_most,
    })
}

/// `sex=Female`; `None` for all rows.
fn group_label(region: usize, schema: &Schema) -> Option<String> {
    let all = schema.attributes.iter();
    let labels = all.flat_map(|a| {
        a.groups
            .iter()
            .map(move |group| format!("{}={group}", a.name))
    });
    region
        .checked_sub(1)
        .and_then(|at| labels.into_iter().nth(at))
}

/// The people that a rate is about.
fn people(rate: Rate, region: usize, schema: &Schema) -> String {
    let of = group_label(region, schema).map_or_else(String::new, |label| format!(" of {label}"));
    match rate {
        Rate::FalseNegative => format!("rows{of} that are labeled positive"),
        Rate::FalsePositive => format!("rows{of} that are labeled negative"),
        Rate::Selection | Rate::Accuracy => format!("rows{of}"),
    }
}

#[cfg(test)]
mod tests;
