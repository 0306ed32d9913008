//! Limits on memory and time, proportional to the input's length.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::time::{ClockId, clock_gettime};

/// CPU time of this thread: three seconds for 100 kB, including the sanitizers' overhead.
const NANOSECONDS_A_BYTE: u64 = 30_000;
/// Allowance for an empty input.
const NANOSECONDS: u64 = 100_000_000;

/// Peak memory. The input exists several times: as text, as JSON, as neutral values with the
/// provider's JSON, as output, and as that output parsed again.
const BYTES_A_BYTE: usize = 2_000;
/// Allowance for an empty input.
const BYTES: usize = 4 * 1024 * 1024;

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn grown(by: usize) {
    let now = NOW.fetch_add(by, Ordering::Relaxed).wrapping_add(by);
    PEAK.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: every call is forwarded unchanged to the system's allocator; only sizes are recorded.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller upholds the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the same contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        grown(size);
        // SAFETY: the caller upholds the same contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// CPU time of this thread in nanoseconds.
fn worked() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Runs a check of `length` bytes; panics if it exceeds their limits.
pub(crate) fn within(length: usize, check: impl FnOnce()) {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let started = worked();
    check();
    let took = worked() - started;
    let used = PEAK.load(Ordering::Relaxed).saturating_sub(before);
    let max = NANOSECONDS + NANOSECONDS_A_BYTE * length as u64;
    assert!(took <= max, "{length} bytes took {} ms", took / 1_000_000);
    let max = BYTES + BYTES_A_BYTE * length;
    assert!(used <= max, "{length} bytes used {used} bytes of memory");
}
