//! Counts the memory of the process, so that a case that uses too much is a failure.
//!
//! A case may use [`SOFT`] bytes more than were in use before it; beyond that it fails. An
//! allocation that would bring the process above [`HARD`] bytes fails, which ends the process; the
//! parent process reports the case.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes that one case may use.
pub const SOFT: usize = 512 << 20;
/// Bytes that the process may use.
pub const HARD: usize = 2 << 30;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator with two counters.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

/// Counts bytes that are about to be allocated; returns false if they exceed the limit.
fn take(bytes: usize) -> bool {
    let live = LIVE.fetch_add(bytes, Relaxed).saturating_add(bytes);
    if live > HARD {
        LIVE.fetch_sub(bytes, Relaxed);
        return false;
    }
    PEAK.fetch_max(live, Relaxed);
    true
}

#[expect(unsafe_code, reason = "an allocator is unsafe by its trait")]
// SAFETY: every call goes to `System` with unchanged arguments; the counters only determine whether
// a call returns null, which callers of an allocator must expect.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller guarantees about `layout` what `System` requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: `pointer` came from `System` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !take(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: `pointer` came from `System` with this layout, and the caller guarantees the
        // rest.
        let moved = unsafe { System.realloc(pointer, layout, size) };
        LIVE.fetch_sub(if moved.is_null() { size } else { layout.size() }, Relaxed);
        moved
    }
}

/// Starts the count of a case and returns the bytes in use.
pub fn begin() -> usize {
    let live = LIVE.load(Relaxed);
    PEAK.store(live, Relaxed);
    live
}

/// The most bytes in use since [`begin`], beyond those in use then.
pub fn peak_since(before: usize) -> usize {
    PEAK.load(Relaxed).saturating_sub(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_counted() {
        let before = begin();
        drop(std::hint::black_box(vec![1_u8; 50 << 20]));
        assert!(peak_since(before) >= 50 << 20);
    }

    #[test]
    fn too_large_allocations_fail() {
        let mut bytes: Vec<u8> = Vec::new();
        assert!(bytes.try_reserve_exact(HARD + 1).is_err());
        assert!(bytes.try_reserve_exact(1 << 20).is_ok());
    }
}
