//! The `fairfront` command.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;

/// The system's allocator. If it has no memory left, the command ends with an error message instead
/// of aborting.
struct Memory;

#[global_allocator]
static MEMORY: Memory = Memory;

#[expect(
    unsafe_code,
    reason = "the trait is unsafe; every call is passed on to the system's allocator unchanged"
)]
// SAFETY: every method passes its arguments to the system's allocator and returns its result.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract, which is that of the system's allocator.
        or_end(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract, which is that of the system's allocator.
        or_end(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller upholds the contract, which is that of the system's allocator.
        or_end(unsafe { System.realloc(memory, layout, size) }, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract, which is that of the system's allocator.
        unsafe { System.dealloc(memory, layout) }
    }
}

fn or_end(memory: *mut u8, size: usize) -> *mut u8 {
    if memory.is_null() {
        end(size);
    }
    memory
}

/// Ends the command. Nothing here may allocate.
#[cold]
fn end(size: usize) -> ! {
    let _ = writeln!(
        std::io::stderr(),
        "error: memory: the system refused {} MiB more; use fewer columns with --feature and \
         --drop, use fewer rows, or run the command on a machine with more memory",
        size.div_ceil(1 << 20)
    );
    std::process::exit(1)
}

fn main() -> std::process::ExitCode {
    fairfront_cli::run(std::env::args_os()).into()
}
