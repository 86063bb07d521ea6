//! Certified choices: requirements tested on rows that influenced no choice.
//!
//! Each requirement is a set of contrasts of binomial cells ([`family`]); a model's p-value is the
//! largest over all of them (an intersection–union test). Validation rows order the models; they
//! are tested in this order until the first fails ([`certify`]). Uses of the same rows are logged
//! ([`log`]) and spend confidence. `docs/how-to/certify.md` has the procedure.

mod bound;
mod certificate;
mod evidence;
mod family;
mod interval;
mod log;
mod plan;

use std::path::Path;

use fairfront_core::{Schema, bracketed, say};
use fairfront_data::setting::SPLIT;
use fairfront_data::{Facts, RowRole};
use fairfront_model::{Checked, ModelCertificate, Verdict};

pub use certificate::{Certificate, CertifyingRows, Closest, Tested, Uncertified};
pub use evidence::{Counted, Evidence, IntervalInfo, TALLIES};
pub(crate) use evidence::{SplitIntervals, Weighed, weigh};
pub(crate) use family::{Family, Kind};
pub use interval::Band;
pub(crate) use interval::{CONFIDENCE, REPLICATES, SEED};
pub use log::Use;
pub(crate) use log::{Log, USES, from_bytes as uses_from_bytes, to_bytes as uses_to_bytes};
pub(crate) use plan::{Plan, in_order, spent};

use bound::bound;

use crate::select::{Rule, Selection};
use crate::setting::{self, BEST, REQUIRE, SELECT_CONFIDENCE};
use crate::{Error, Requirement, Run, Term};

/// Requirements to certify, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Demand {
    /// The requirements, all of which must hold.
    pub requirements: Vec<Requirement>,
    /// 1 − δ, above 0 and below 1.
    pub confidence: f64,
    /// Whether to use finite-sample tests.
    pub exact: bool,
    /// The measure to optimize; with p-values, it determines the order of tests. `None` stands for the
    /// measure of how good predictions are.
    pub best: Option<Term>,
}

impl Demand {
    /// Parses requirements; `best` defaults to the accuracy, or to the error of predicted numbers.
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
            best: best
                .map(|best| Term::parse(best).map_err(|e| e.of_setting(BEST)))
                .transpose()?,
        })
    }
}

impl Demand {
    /// Rejects, before a fit, requirements that could not be certified after it.
    pub fn check(&self, facts: &Facts) -> Result<(), Error> {
        let attributes = facts.attributes.iter();
        let attributes = attributes.map(|rule| rule.attribute.clone());
        let schema = Schema {
            attributes: attributes.collect(),
            target: facts.predicted(),
            ..Schema::default()
        };
        for requirement in &self.requirements {
            bound(requirement, &schema, None)?;
        }
        let parts = RowRole::Certification.parts().iter();
        match parts
            .into_iter()
            .all(|part| facts.split[*part as usize] == 0)
        {
            true => Err(no_rows()),
            false => Ok(()),
        }
    }
}

fn no_rows() -> Error {
    Error::usage(say![
        REQUIRE, ": the split has no rows to certify on";
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
    /// The certificate stored in the model.
    pub of_model: Option<ModelCertificate>,
}

/// Chooses a certified model, and logs the use of the certifying rows in the folder of the run or
/// of its stream.
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

/// Like [`choose_certified`], for a run in memory, which keeps its own log.
pub fn choose_in_memory(run: &mut Run, demand: &Demand, rule: &Rule) -> Result<Choice, Error> {
    let mut uses = std::mem::take(&mut run.uses);
    let choice = choose_with_uses(run, &mut uses, true, demand, rule);
    run.uses = uses;
    choice
}

/// Like [`choose_certified`], with the caller's log; `looked` is true if test rows have been shown.
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

/// Tests requirements that were fixed before a fit, before any result on the certifying rows is
/// shown, and stores the result in the run. `uses` is the log of a run that this one replaces.
pub fn certify_fit(run: &mut Run, demand: &Demand, uses: Vec<Use>) -> Result<(), Error> {
    run.uses = uses;
    let (certificate, is_new) = Plan::new(run, demand)?.certify(&run.uses, false)?;
    if is_new {
        run.uses.push(Use::after(&run.uses, certificate.clone()));
    }
    run.info.certified = Some(certificate);
    Ok(())
}

/// The uses in the log of a folder; empty without a log.
pub fn logged_uses(folder: &Path) -> Result<Vec<Use>, Error> {
    Log::read(folder)
}

/// The certificate of a model whose requirements were met on the rows that chose it, but not
/// tested.
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
        is_number: counted.tallies.numbers.is_some(),
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

#[cfg(test)]
mod class_tests;
#[cfg(test)]
mod number_tests;
#[cfg(test)]
mod tests;
