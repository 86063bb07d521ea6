use std::sync::Arc;

/// A signal to stop, which can be checked from any thread.
#[derive(Clone)]
pub struct StopSignal(Arc<dyn Fn() -> bool + Send + Sync>);

impl StopSignal {
    /// A signal that is set once `ask` returns true.
    pub fn new(ask: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    /// Whether to stop.
    pub fn is_set(&self) -> bool {
        (self.0)()
    }
}

impl Default for StopSignal {
    fn default() -> Self {
        Self::new(|| false)
    }
}

impl std::fmt::Debug for StopSignal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StopSignal({})", self.is_set())
    }
}
