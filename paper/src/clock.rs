//! What a thread has spent.

/// CPU seconds of the calling thread, from some moment on.
#[cfg(unix)]
pub(crate) fn thread_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Where there is no such clock, seconds that have passed.
#[cfg(not(unix))]
pub(crate) fn thread_seconds() -> f64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}
