use fairfront_core::{LANES, Problem};

use crate::outcome::StopSignal;

/// Work that a solver or a run may still do after it was asked to stop, as rows times parameters
/// times models: about a second.
const WORK: u64 = 1 << 26;

/// Rows times models that may be measured after a stop: about a second.
const MEASURED: u64 = 1 << 24;

/// Minimum number of models that are measured, regardless of the number of rows.
const LEAST_MEASURED: usize = 4;

/// More parameters than this count as this many, because rows of wide data are mostly codes.
const MOST_PARAMS: usize = 64;

/// Limits the work after a stop. Work before a stop is not limited, and the same number of models
/// is allowed whenever the stop comes.
#[derive(Debug, Clone)]
pub struct Remainder {
    rows: u64,
    /// Rows times parameters.
    size: u64,
    stop: StopSignal,
}

impl Remainder {
    /// The limits for a problem and this signal.
    pub fn new(problem: &dyn Problem, stop: StopSignal) -> Self {
        Self::of(problem.n_rows(), problem.n_params(), stop)
    }

    /// The limits for this many rows and parameters.
    pub fn of(rows: u64, params: usize, stop: StopSignal) -> Self {
        let params = params.clamp(1, MOST_PARAMS);
        Self {
            rows,
            size: rows.max(1).saturating_mul(params as u64),
            stop,
        }
    }

    /// Maximum number of models that are evaluated after a stop.
    pub fn most_models(&self) -> usize {
        ((WORK / self.size) as usize).max(LANES - 1)
    }

    /// Maximum number of models that are measured after a stop. Measuring takes longer than
    /// evaluating, because every model ranks the rows.
    pub fn most_measured(&self) -> usize {
        ((MEASURED / self.rows.max(1)) as usize).clamp(LEAST_MEASURED, self.most_models())
    }

    /// Number of models that are evaluated between two checks of the signal.
    pub fn chunk(&self) -> usize {
        /// Smaller chunks would read the rows of small tables too often.
        const SOME: usize = 4 * LANES;
        let some = ((8 * WORK / self.size) as usize)
            .min(SOME)
            .max(self.most_models());
        some.div_ceil(LANES) * LANES
    }

    /// Whether the fit was asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_set()
    }

    /// Whether the fit was asked to stop and optional work on this many models would take long.
    pub fn leaves_out(&self, models: usize) -> bool {
        self.size.saturating_mul(models as u64) > WORK && self.stop.is_set()
    }

    /// A signal for optional work on this many models; set once the work should be skipped.
    pub fn signal(&self, models: usize) -> StopSignal {
        let own = self.clone();
        StopSignal::new(move || own.leaves_out(models))
    }

    /// Whether the fit was asked to stop and this many models are too many to evaluate.
    pub fn is_too_much(&self, models: usize) -> bool {
        models > self.most_models() && self.stop.is_set()
    }
}

#[cfg(test)]
mod tests {
    use fairfront_core::{Batches, Error, Gradients, Points};

    use super::*;

    struct Sized(u64);

    impl Problem for Sized {
        fn n_params(&self) -> usize {
            8
        }
        fn n_objectives(&self) -> usize {
            2
        }
        fn n_rows(&self) -> u64 {
            self.0
        }
        fn values(&self, points: &Points) -> Result<Vec<f64>, Error> {
            Ok(vec![0.0; 2 * points.len()])
        }
        fn gradients(&self, points: &Points, _: Batches) -> Result<Gradients, Error> {
            Ok(Gradients::zeros(2, points.len(), 8))
        }
    }

    #[test]
    fn work_is_limited_only_after_a_stop() {
        let going = Remainder::new(&Sized(10_000_000), StopSignal::default());
        assert!(!going.leaves_out(1_000_000) && !going.is_too_much(1_000_000));
        let stop = || StopSignal::new(|| true);
        let large = Remainder::new(&Sized(10_000_000), stop());
        assert_eq!((large.most_models(), large.chunk()), (31, 32));
        assert_eq!(large.most_measured(), 4);
        assert!(large.leaves_out(1) && large.is_too_much(32) && !large.is_too_much(31));
        let small = Remainder::new(&Sized(1_000), stop());
        assert!(!small.leaves_out(200) && !small.is_too_much(8_000));
        assert!(small.is_too_much(1_000_000));
        assert_eq!(small.most_measured(), small.most_models());
        assert!(small.signal(1_000_000).is_set() && !small.signal(200).is_set());
    }
}
