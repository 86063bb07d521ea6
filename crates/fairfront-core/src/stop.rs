use std::sync::Arc;

/// Says from any thread whether to stop.
#[derive(Clone)]
pub struct StopSignal(Arc<dyn Fn() -> bool + Send + Sync>);

impl StopSignal {
    /// A signal that asks this.
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
