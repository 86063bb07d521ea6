//! Numbers as bytes and back: little-endian, lists with their lengths before them.

use fairfront_core::Points;

use crate::ground::Ground;
use crate::outcome::{Counters, Front, Polished, Subproblems};
use crate::{Error, MOST_OBJECTIVES};

/// No count is larger: sums of a few of them cannot overflow.
const MOST: u64 = 1 << 53;

#[derive(Debug, Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.raw(bytes);
    }

    pub(crate) fn flag(&mut self, flag: bool) {
        self.0.push(u8::from(flag));
    }

    pub(crate) fn flags(&mut self, flags: &[bool]) {
        self.count(flags.len());
        flags.iter().for_each(|flag| self.flag(*flag));
    }

    pub(crate) fn long(&mut self, count: u64) {
        self.raw(&count.to_le_bytes());
    }

    pub(crate) fn count(&mut self, count: usize) {
        self.long(count as u64);
    }

    pub(crate) fn number(&mut self, number: f64) {
        self.raw(&number.to_le_bytes());
    }

    pub(crate) fn numbers(&mut self, numbers: &[f64]) {
        self.count(numbers.len());
        numbers.iter().for_each(|number| self.number(*number));
    }

    pub(crate) fn points(&mut self, points: &Points) {
        self.count(points.n_params());
        self.numbers(points.as_slice());
    }

    pub(crate) fn front(&mut self, front: &Front) {
        self.points(&front.points);
        self.count(front.n_objectives);
        self.numbers(&front.values);
    }

    pub(crate) fn ground(&mut self, ground: &Ground) {
        let Ground {
            unmitigated,
            reference,
            zeros,
            fair,
            fixed,
        } = ground;
        self.front(unmitigated);
        self.numbers(reference);
        self.numbers(zeros);
        self.flags(fair);
        self.flags(fixed);
    }

    pub(crate) fn subproblems(&mut self, tally: &Subproblems) {
        let Subproblems {
            solved,
            failed,
            dominated,
            copies,
        } = *tally;
        for count in [solved, failed, dominated, copies] {
            self.long(count);
        }
    }

    pub(crate) fn counters(&mut self, counters: &Counters) {
        let Counters {
            gradient_evaluations,
            evaluations,
            points_by_round,
            hypervolume_by_round,
            non_finite,
            subproblems,
            largest_hole,
            polished,
        } = counters;
        self.count(gradient_evaluations.len());
        gradient_evaluations.iter().for_each(|n| self.long(*n));
        self.long(*evaluations);
        self.count(points_by_round.len());
        points_by_round.iter().for_each(|n| self.count(*n));
        self.count(hypervolume_by_round.len());
        hypervolume_by_round.iter().for_each(|v| self.number(*v));
        self.long(*non_finite);
        self.option(subproblems.as_ref(), Self::subproblems);
        self.option(largest_hole.as_ref(), |w, hole| w.number(*hole));
        self.option(polished.as_ref(), |w, polished| {
            let Polished {
                points,
                improved,
                dominated,
                rounds,
            } = *polished;
            for count in [points, improved, dominated, rounds] {
                w.count(count);
            }
        });
    }

    pub(crate) fn option<T>(&mut self, value: Option<&T>, write: impl FnOnce(&mut Self, &T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }
}

/// What a [`Writer`] wrote. Nothing is believed: lengths are checked against what is there before
/// anything is made of them, and shapes against those of the problem.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

fn damaged() -> Error {
    Error::Checkpoint("it is damaged (its numbers do not fit together)".into())
}

/// Refuses what does not hold.
pub(crate) fn ensure(holds: bool) -> Result<(), Error> {
    match holds {
        true => Ok(()),
        false => Err(damaged()),
    }
}

impl<'a> Reader<'a> {
    pub(crate) fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    pub(crate) fn raw(&mut self, n: usize) -> Result<&'a [u8], Error> {
        let (bytes, rest) = self.rest.split_at_checked(n).ok_or_else(damaged)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn eight(&mut self) -> Result<[u8; 8], Error> {
        self.raw(8)?.try_into().map_err(|_| damaged())
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Error> {
        let n = self.count()?;
        self.raw(n)
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Error> {
        match self.raw(1)? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(damaged()),
        }
    }

    pub(crate) fn flags(&mut self) -> Result<Vec<bool>, Error> {
        let n = self.length(1)?;
        (0..n).map(|_| self.flag()).collect()
    }

    pub(crate) fn long(&mut self) -> Result<u64, Error> {
        let count = u64::from_le_bytes(self.eight()?);
        ensure(count <= MOST)?;
        Ok(count)
    }

    pub(crate) fn count(&mut self) -> Result<usize, Error> {
        usize::try_from(self.long()?).map_err(|_| damaged())
    }

    /// The length of a list whose items take at least so many bytes each.
    pub(crate) fn length(&mut self, least: usize) -> Result<usize, Error> {
        let n = self.count()?;
        ensure(n <= self.rest.len() / least.max(1))?;
        Ok(n)
    }

    pub(crate) fn number(&mut self) -> Result<f64, Error> {
        Ok(f64::from_le_bytes(self.eight()?))
    }

    pub(crate) fn numbers(&mut self) -> Result<Vec<f64>, Error> {
        let n = self.length(8)?;
        (0..n).map(|_| self.number()).collect()
    }

    /// Numbers, of which there must be so many.
    pub(crate) fn exactly(&mut self, n: usize) -> Result<Vec<f64>, Error> {
        let numbers = self.numbers()?;
        ensure(numbers.len() == n)?;
        Ok(numbers)
    }

    /// Points with so many parameters.
    pub(crate) fn points(&mut self, n_params: usize) -> Result<Points, Error> {
        let own = self.count()?;
        let numbers = self.numbers()?;
        if numbers.is_empty() {
            return Ok(Points::new(own));
        }
        ensure(own == n_params && n_params > 0 && numbers.len().is_multiple_of(n_params))?;
        Ok(Points::from_vec(n_params, numbers))
    }

    pub(crate) fn front(&mut self, n_params: usize, n_objectives: usize) -> Result<Front, Error> {
        let points = self.points(n_params)?;
        ensure(points.n_params() == n_params && self.count()? == n_objectives)?;
        let values = self.exactly(points.len() * n_objectives)?;
        Ok(Front {
            points,
            values,
            n_objectives,
        })
    }

    pub(crate) fn ground(&mut self, n_params: usize, m: usize) -> Result<Ground, Error> {
        let ground = Ground {
            unmitigated: self.front(n_params, m)?,
            reference: self.exactly(m)?,
            zeros: self.exactly(m)?,
            fair: self.flags()?,
            fixed: self.flags()?,
        };
        let shapes = [ground.fair.len(), ground.fixed.len()];
        ensure((1..=MOST_OBJECTIVES).contains(&m) && shapes == [m; 2])?;
        ensure(ground.unmitigated.len() == 1)?;
        Ok(ground)
    }

    pub(crate) fn subproblems(&mut self) -> Result<Subproblems, Error> {
        Ok(Subproblems {
            solved: self.long()?,
            failed: self.long()?,
            dominated: self.long()?,
            copies: self.long()?,
        })
    }

    pub(crate) fn counters(&mut self, n_objectives: usize) -> Result<Counters, Error> {
        let n = self.length(8)?;
        ensure(n == n_objectives)?;
        let gradient_evaluations = (0..n).map(|_| self.long()).collect::<Result<_, _>>()?;
        let evaluations = self.long()?;
        let n = self.length(8)?;
        let points_by_round = (0..n).map(|_| self.count()).collect::<Result<_, _>>()?;
        let n = self.length(8)?;
        let hypervolume_by_round = (0..n).map(|_| self.number()).collect::<Result<_, _>>()?;
        Ok(Counters {
            gradient_evaluations,
            evaluations,
            points_by_round,
            hypervolume_by_round,
            non_finite: self.long()?,
            subproblems: self.option(Self::subproblems)?,
            largest_hole: self.option(Self::number)?,
            polished: self.option(|r| {
                Ok(Polished {
                    points: r.count()?,
                    improved: r.count()?,
                    dominated: r.count()?,
                    rounds: r.count()?,
                })
            })?,
        })
    }

    pub(crate) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        match self.flag()? {
            true => read(self).map(Some),
            false => Ok(None),
        }
    }

    /// Nothing may be left.
    pub(crate) fn end(&self) -> Result<(), Error> {
        ensure(self.rest.is_empty())
    }
}
