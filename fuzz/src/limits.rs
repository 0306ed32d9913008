//! How much memory and time an input may take, by its length.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::time::{ClockId, clock_gettime};

/// Time of this thread's own work: three seconds for 100 kB, with the sanitizers' share in it.
const NANOSECONDS_A_BYTE: u64 = 30_000;
/// What even an empty input may take.
const NANOSECONDS: u64 = 100_000_000;

/// Memory at the worst moment. Everything is there several times: as text, as JSON, as neutral
/// values with the provider's JSON beside them, as what is written, and as JSON read again.
const BYTES_A_BYTE: usize = 2_000;
/// What even an empty input may take.
const BYTES: usize = 4 * 1024 * 1024;

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn grown(by: usize) {
    let now = NOW.fetch_add(by, Ordering::Relaxed).wrapping_add(by);
    MOST.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: every call goes to the system's allocator as it came; only sizes are noted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        grown(size);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Nanoseconds that this thread has worked.
fn worked() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Runs a check of `length` bytes; panics when it took more than they may.
pub(crate) fn within(length: usize, check: impl FnOnce()) {
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let began = worked();
    check();
    let took = worked() - began;
    let held = MOST.load(Ordering::Relaxed).saturating_sub(before);
    let most = NANOSECONDS + NANOSECONDS_A_BYTE * length as u64;
    assert!(took <= most, "{length} bytes took {} ms", took / 1_000_000);
    let most = BYTES + BYTES_A_BYTE * length;
    assert!(held <= most, "{length} bytes held {held} bytes");
}
