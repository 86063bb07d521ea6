use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fairfront_solve::{Observer, Progress, StopSignal};

/// Stops after some rounds, or once its signal has been checked often enough.
pub(crate) struct Impatient {
    rounds: usize,
    asks: usize,
    asked: Arc<AtomicUsize>,
}

impl Impatient {
    pub(crate) fn new(rounds: usize, asks: usize) -> Self {
        Self {
            rounds,
            asks,
            asked: Arc::default(),
        }
    }
}

impl Observer for Impatient {
    fn round(&mut self, progress: &Progress) -> ControlFlow<()> {
        assert!((0.0..=1.0).contains(&progress.share));
        assert!(progress.values.len().is_multiple_of(progress.n_objectives));
        match progress.round >= self.rounds {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn stop_signal(&self) -> StopSignal {
        let (asks, asked) = (self.asks, Arc::clone(&self.asked));
        StopSignal::new(move || asked.fetch_add(1, Ordering::Relaxed) >= asks)
    }
}
