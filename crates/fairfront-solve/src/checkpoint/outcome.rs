use fairfront_core::{Points, Problem};

use super::code::ensure;
use super::{Checkpoint, Reader, Writer};
use crate::outcome::{Outcome, StopReason};
use crate::{Certificate, Error};

const KIND: &str = "outcome";

const REASONS: [StopReason; 5] = [
    StopReason::Points,
    StopReason::Steps,
    StopReason::Converged,
    StopReason::Complete,
    StopReason::Stopped,
];

impl Checkpoint {
    /// A solver's result, for work that begins with it.
    pub fn of_outcome(problem: &dyn Problem, outcome: &Outcome) -> Self {
        let Outcome {
            front,
            unmitigated,
            stop,
            counters,
            certificates,
            candidates,
        } = outcome;
        let mut writer = Writer::default();
        writer.front(front);
        writer.front(unmitigated);
        writer.count(REASONS.iter().position(|r| r == stop).unwrap_or_default());
        writer.counters(counters);
        writer.count(certificates.len());
        for certificate in certificates {
            writer.numbers(&certificate.multipliers);
            writer.number(certificate.residual);
            writer.option(certificate.gap.as_ref(), |w, gap| w.number(*gap));
        }
        writer.points(candidates);
        Self::new(KIND, problem, writer)
    }

    /// The result that [`Checkpoint::of_outcome`] was given.
    pub fn outcome(&self, problem: &dyn Problem) -> Result<Outcome, Error> {
        let (n, m) = (problem.n_params(), problem.n_objectives());
        let mut reader = self.read(KIND, problem)?;
        let front = reader.front(n, m)?;
        let unmitigated = reader.front(n, m)?;
        let reason = REASONS.get(reader.count()?).copied();
        ensure(reason.is_some() && unmitigated.len() == 1)?;
        let outcome = Outcome {
            front,
            unmitigated,
            stop: reason.unwrap_or(StopReason::Stopped),
            counters: reader.counters(m)?,
            certificates: certificates(&mut reader, m)?,
            candidates: candidates(&mut reader, n)?,
        };
        reader.end()?;
        Ok(outcome)
    }
}

fn certificates(reader: &mut Reader, m: usize) -> Result<Vec<Certificate>, Error> {
    let n = reader.length(8)?;
    let certificate = |_| {
        let multipliers = reader.numbers()?;
        ensure(multipliers.len() <= m)?;
        Ok(Certificate {
            multipliers,
            residual: reader.number()?,
            gap: reader.option(Reader::number)?,
        })
    };
    (0..n).map(certificate).collect()
}

fn candidates(reader: &mut Reader, n_params: usize) -> Result<Points, Error> {
    let points = reader.points(n_params)?;
    ensure([0, n_params].contains(&points.n_params()))?;
    Ok(points)
}
