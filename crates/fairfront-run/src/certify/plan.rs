//! Tests of requirements on a run: the order of models, the tests, and the number of rows needed.

use std::cmp::Ordering;

use fairfront_core::{
    Cell, Contrast, Message, NumberTallies, Rate, Tallies, bracketed, normal_quantile, say,
};
use fairfront_data::Part;
use fairfront_data::setting::MERGE;
use fairfront_model::{Checked, GroupSize, ModelCertificate, ModelId, Stated, TestKind, Verdict};
use fairfront_pareto::{Values, nondominated};

use super::bound::{Bound, bound, group_label, people, people_of, rate_of_class};
use super::{
    Band, Certificate, CertifyingRows, Choice, Closest, Counted, Demand, Tested, Uncertified, Use,
    no_rows,
};
use crate::select::{FrontColumns, Rule, select_among};
use crate::setting::{EXACT, REQUIRE};
use crate::{Error, Requirement, Run};

/// Weighted rates need at least this many effective rows.
const LEAST_EFFECTIVE: f64 = 30.0;
/// The power of a test with the suggested number of rows.
const POWER: f64 = 0.8;

/// Requirements that can be tested on a run.
pub(crate) struct Plan<'a> {
    run: &'a Run,
    demand: &'a Demand,
    pub(super) certifying: &'a Counted,
    columns: FrontColumns,
    pub(super) bounds: Vec<Bound<'a>>,
}

impl<'a> Plan<'a> {
    /// Rejects requirements that cannot be tested, with a remedy.
    pub(crate) fn new(run: &'a Run, demand: &'a Demand) -> Result<Self, Error> {
        if run.front.is_empty() {
            return Err(Error::data("the front has no models; fit again"));
        }
        if demand.requirements.is_empty() {
            return Err(Error::usage(say![
                REQUIRE, ": the list of requirements is empty";
                "pass at least one"
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

    /// Fails if a cell has too few rows to be tested.
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
                    return Err(weights_and_exact());
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
                return Err(self.untestable(reason));
            }
        }
        self.check_means()
    }

    /// Fails if a mean has too few rows to be tested.
    fn check_means(&self) -> Result<(), Error> {
        let schema = self.run.encoding.schema();
        let numbers = self.certifying.tallies.numbers.as_ref();
        let least = match numbers.is_some_and(NumberTallies::is_weighted) {
            true if self.demand.exact => return Err(weights_and_exact()),
            true => LEAST_EFFECTIVE,
            false => 2.0,
        };
        for (of, region) in self.bounds.iter().flat_map(|bound| bound.family.means()) {
            let rows = self.certifying.tallies.mean(0, of, region).rows;
            if rows < least {
                let people = people_of(region, &schema);
                let split = self.certifying.split.name();
                return Err(self.untestable(say![
                    "the {people} among the {split} rows count as {rows:.1} equal rows, fewer than {least}";
                    "merge groups", bracketed(MERGE), " or collect more rows"
                ]));
            }
        }
        Ok(())
    }

    fn untestable(&self, reason: Message) -> Error {
        Error::Uncertified(Box::new(Uncertified {
            requirements: self.requirements(),
            certificate: None,
            reason: Some(reason),
            closest: None,
        }))
    }

    fn requirements(&self) -> Vec<String> {
        let bounds = self.bounds.iter();
        bounds.map(|bound| bound.requirement.to_string()).collect()
    }

    /// The largest p-value over all contrasts of all requirements.
    pub(super) fn p_value(&self, tallies: &Tallies, model: usize, exact: bool) -> f64 {
        let contrasts = self.bounds.iter().flat_map(|b| b.contrasts(tallies, model));
        let of = |contrast: Contrast| match exact {
            true => contrast.exact_p_value(),
            false => contrast.p_value(),
        };
        contrasts.map(of).fold(0.0, f64::max)
    }

    /// Tests the requirements, or returns the certificate of an earlier identical test; `looked` is
    /// true if test rows have been shown. The flag returned is true for a new use.
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
        let kind = match (self.demand.exact, self.certifying.tallies.numbers.is_some()) {
            (true, false) => TestKind::Exact,
            (true, true) => TestKind::Bernstein,
            (false, true) => TestKind::Welch,
            (false, false) => TestKind::Score,
        };
        let sorted = |mut strings: Vec<String>| {
            strings.sort();
            strings
        };
        let wanted = sorted(self.requirements());
        let same = |certificate: &&&Certificate| {
            !certificate.against_baseline
                && certificate.test == kind
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
            requirements: self.requirements(),
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
            against_baseline: false,
        };
        for (model, order_p_value) in self.in_order(&order.1)? {
            let p_value = self.p_value(&self.certifying.tallies, model, self.demand.exact);
            certificate.tested.push(Tested {
                model_id: ModelId::of_index(model),
                p_value,
                order_p_value,
            });
            if p_value > level {
                break;
            }
            certificate.certified.push(ModelId::of_index(model));
        }
        certificate.certified.sort_unstable();
        Ok((certificate, true))
    }

    /// The column to optimize, and its values with the sign such that less is better.
    fn order_column(&self) -> Result<(String, Vec<Option<f64>>), Error> {
        let column = self.columns.best_column(self.demand.best.as_ref())?;
        let sign = if column.large_is_better { -1.0 } else { 1.0 };
        let bad = column.values.iter().map(|v| v.map(|v| sign * v)).collect();
        Ok((column.name, bad))
    }

    /// The models in the order of their tests, with their p-values on the ordering rows.
    fn in_order(&self, bad: &[Option<f64>]) -> Result<Vec<(usize, f64)>, Error> {
        let p = |model: usize| self.p_value(&self.run.evidence.order.tallies, model, false);
        let bad: Vec<Option<Vec<f64>>> = bad.iter().map(|bad| bad.map(|bad| vec![bad])).collect();
        in_order(&bad, p)
    }

    /// Certifies models by the ends of simultaneous bands. These hold for every limit at once, so
    /// that only a new measure counts as a new use.
    fn by_band(&self, rows: CertifyingRows, own: &[&Certificate]) -> (Certificate, bool) {
        let measures = |certificate: &Certificate| {
            let strings = certificate.requirements.iter();
            let names = strings.filter_map(|text| Requirement::parse(text).ok());
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
            requirements: self.requirements(),
            confidence: self.demand.confidence,
            test: TestKind::Band,
            stated: Stated::AfterLooking,
            order: None,
            rows,
            front_sha256: self.run.info.front_sha256.clone(),
            number,
            level,
            tested: Vec::new(),
            certified: (0..self.run.front.len())
                .filter(|m| keeps(*m))
                .map(ModelId::of_index)
                .collect(),
            not_covered: self.not_covered(),
            against_baseline: false,
        };
        let is_new = own.iter().all(|other| **other != certificate);
        (certificate, is_new)
    }

    /// The ends of the simultaneous band of a requirement's measure for one model.
    pub(super) fn band(&self, bound: &Bound, model: usize, level: f64) -> Option<[f64; 2]> {
        let name = &bound.family.name;
        let band = self.certifying.bands.iter().find(|b| b.measure == *name)?;
        let reach = band.reach(1.0 - level);
        let (low, high) = bound
            .family
            .interval(&self.certifying.tallies, model, reach)?;
        Some([low, high])
    }

    /// A requirement checked for one model.
    fn checked(&self, bound: &Bound, model: usize, certificate: &Certificate) -> Checked {
        let schema = self.run.encoding.schema();
        let tallies = &self.certifying.tallies;
        let rate = |rate: Rate, region: usize| tallies.cell(model, rate, region).rate();
        let estimate = bound.family.estimate(tallies, model);
        // A band at the stated confidence. After looking, the band that decided the test.
        let level = match certificate.test {
            TestKind::Band => certificate.level / self.bounds.len() as f64,
            _ => 1.0 - certificate.confidence,
        };
        let band = self.band(bound, model, level);
        let verdict = match (
            certificate.certified.contains(&ModelId::of_index(model)),
            band,
        ) {
            (true, _) => Verdict::Certified,
            (false, Some([low, _])) if bound.at_most && low > bound.limit() => Verdict::Violated,
            (false, Some([_, high])) if !bound.at_most && high < bound.limit() => Verdict::Violated,
            _ => Verdict::NotCertified,
        };
        let groups = bound
            .family
            .deciding_cells(tallies, model)
            .into_iter()
            .map(|(of, region)| GroupSize {
                group: group_label(region, &schema),
                measure: rate_of_class(of, &schema),
                rows: tallies.cell(model, of, region).trials,
                rate: rate(of, region),
            });
        let means = bound.family.means().into_iter().map(|(of, region)| {
            let mean = tallies.mean(model, of, region);
            GroupSize {
                group: group_label(region, &schema),
                measure: None,
                rows: mean.rows,
                rate: (mean.rows > 0.0).then(|| bound.family.measure_of(mean.value)),
            }
        });
        Checked {
            requirement: bound.requirement.to_string(),
            verdict,
            estimate,
            band,
            is_number: tallies.numbers.is_some(),
            groups: groups.chain(means).collect(),
            not_covered: bound.not_covered(&schema),
        }
    }

    /// Groups that some requirement does not cover.
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

    /// The certificate stored in a model.
    pub(crate) fn of_model(&self, model: usize, certificate: &Certificate) -> ModelCertificate {
        let checked = self
            .bounds
            .iter()
            .map(|b| self.checked(b, model, certificate));
        let requirements: Vec<Checked> = checked.collect();
        let verdict = match certificate.certified.contains(&ModelId::of_index(model)) {
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

    /// Applies a rule to the certified models.
    pub(super) fn choose(&self, certificate: Certificate, rule: &Rule) -> Result<Choice, Error> {
        if certificate.certified.is_empty() {
            return Err(Error::Uncertified(Box::new(self.uncertified(certificate))));
        }
        let selection = select_among(
            &self.columns,
            &certificate.certified,
            &self.requirements(),
            rule,
        )?;
        Ok(Choice {
            of_model: Some(self.of_model(selection.model_id.index(), &certificate)),
            selection,
            certificate: Some(certificate),
        })
    }

    /// The error if no model is certified.
    pub(crate) fn uncertified(&self, certificate: Certificate) -> Uncertified {
        let tallies = &self.certifying.tallies;
        let closest = match certificate.tested.first() {
            Some(first) => Some((first.model_id.index(), first.p_value)),
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
                model_id: ModelId::of_index(model),
                p_value,
                checked: self.checked(bound, model, &certificate),
                rows_needed: self.rows_needed(model, certificate.level, certificate.test),
            })
        });
        Uncertified {
            requirements: self.requirements(),
            certificate: Some(certificate),
            reason: None,
            closest,
        }
    }

    /// The number of certifying rows that would certify a model in four of five samples, if its
    /// rates are as estimated.
    pub(super) fn rows_needed(&self, model: usize, level: f64, test: TestKind) -> Option<u64> {
        let reach = match test {
            // The half-width of the widest of these measures' bands.
            TestKind::Band => {
                let level = 1.0 - level / self.bounds.len() as f64;
                let bands = self.certifying.bands.iter();
                let own = |band: &&Band| self.bounds.iter().any(|b| b.family.name == band.measure);
                bands
                    .filter(own)
                    .map(|b| b.reach(level))
                    .fold(0.0, f64::max)
            }
            TestKind::Bernstein => return self.rows_needed_if_capped(model, level),
            TestKind::Score | TestKind::Welch | TestKind::Exact => -normal_quantile(level),
        };
        let z = reach + normal_quantile(POWER);
        let tallies = &self.certifying.tallies;
        let contrasts = self.bounds.iter().flat_map(|b| b.contrasts(tallies, model));
        let mut times = 0.0_f64;
        for contrast in contrasts {
            // How far inside the limit the estimate is, and its variance with the current rows.
            let (room, variance) = match contrast {
                Contrast::Difference { a, b, limit } => {
                    (limit - (a.rate()? - b.rate()?), a.variance() + b.variance())
                }
                Contrast::Ratio { a, b, limit } => (
                    a.rate()? - limit * b.rate()?,
                    a.variance() + limit * limit * b.variance(),
                ),
                Contrast::OddsRatio { a, b, limit } => {
                    // On the scale of logarithms; infinite if no row or every row is selected.
                    let [(one, of_one), (other, of_other)] = [log_odds(&a)?, log_odds(&b)?];
                    (one - other - libm::log(limit), of_one + of_other)
                }
                Contrast::AtLeast { cell, limit } => (cell.rate()? - limit, cell.variance()),
                Contrast::AtMost { cell, limit } => (limit - cell.rate()?, cell.variance()),
                Contrast::MeanDifference { a, b, limit } => {
                    (limit - (a.value - b.value), a.variance + b.variance)
                }
                Contrast::MeanAtLeast { mean, limit } => (mean.value - limit, mean.variance),
                Contrast::MeanAtMost { mean, limit } => (limit - mean.value, mean.variance),
            };
            if !variance.is_finite() {
                return None;
            }
            if room <= 0.0 {
                return None;
            }
            times = times.max(z * z * variance / (room * room));
        }
        Some((times * self.certifying.rows as f64).ceil() as u64)
    }

    /// The same for finite-sample tests of capped values.
    fn rows_needed_if_capped(&self, model: usize, level: f64) -> Option<u64> {
        let tallies = &self.certifying.tallies;
        let contrasts = self.bounds.iter().flat_map(|b| b.contrasts(tallies, model));
        let contrasts: Vec<Contrast> = contrasts.collect();
        let suffice = |times: f64| {
            let p = |c: &Contrast| c.with_rows(times, normal_quantile(POWER)).exact_p_value();
            contrasts.iter().all(|contrast| p(contrast) <= level)
        };
        // Powers of two up to more rows than people exist.
        let mut powers = (0..40).map(|power| libm::exp2(f64::from(power)));
        let most = powers.find(|times| suffice(*times))?;
        let (mut low, mut high) = (0.5 * most, most);
        for _ in 0..20 {
            let middle = 0.5 * (low + high);
            match suffice(middle) {
                true => high = middle,
                false => low = middle,
            }
        }
        Some((high * self.certifying.rows as f64).ceil() as u64)
    }
}

/// The logarithm of the odds of a cell, and its variance.
fn log_odds(cell: &Cell) -> Option<(f64, f64)> {
    let rate = cell.rate()?;
    let spread = rate * (1.0 - rate);
    let value = libm::log(rate / (1.0 - rate));
    Some((value, cell.variance() / (spread * spread)))
}

/// Models that are nondominated in some values to minimize and in the p-value on the ordering rows, smallest p-value
/// first. All models have the same number of values; those without values are left out.
pub(crate) fn in_order(
    bad: &[Option<Vec<f64>>],
    p: impl Fn(usize) -> f64,
) -> Result<Vec<(usize, f64)>, Error> {
    let models: Vec<(usize, &Vec<f64>, f64)> = bad
        .iter()
        .enumerate()
        .filter_map(|(model, bad)| Some((model, bad.as_ref()?, p(model))))
        .collect();
    let Some((_, first, _)) = models.first() else {
        return Ok(Vec::new());
    };
    let values = models.iter();
    let values = values.flat_map(|(_, bad, p)| bad.iter().chain([p]).copied());
    let values: Vec<f64> = values.collect();
    let mut kept: Vec<(usize, &Vec<f64>, f64)> =
        nondominated(Values::new(&values, first.len() + 1)?)
            .into_iter()
            .map(|at| models[at])
            .collect();
    kept.sort_by(|a, b| {
        let by_value = a.1.iter().zip(b.1).map(|(a, b)| a.total_cmp(b));
        a.2.total_cmp(&b.2)
            .then(by_value.fold(Ordering::Equal, Ordering::then))
            .then(a.0.cmp(&b.0))
    });
    Ok(kept.into_iter().map(|(model, _, p)| (model, p)).collect())
}

fn weights_and_exact() -> Error {
    Error::usage(say![
        EXACT, ": rows have weights, which finite-sample tests do not support";
        "remove ", EXACT
    ])
}

/// δ/2^(use − 1).
pub(crate) fn spent(confidence: f64, number: usize) -> f64 {
    // In floating point, 1 − 0.95 is not exactly 0.05.
    let delta = ((1.0 - confidence) * 1e12).round() / 1e12;
    delta * libm::exp2(-((number - 1) as f64))
}
