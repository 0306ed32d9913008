//! An allocator that tracks each thread's memory, so that a test measures only itself.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

thread_local! {
    static CURRENT: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

fn changed(by: isize) {
    // Thread-local storage is gone while a thread exits.
    let grown = usize::try_from(by).unwrap_or(0);
    let _ended = ALLOCATED.try_with(|all| all.set(all.get().saturating_add(grown)));
    let _ended = CURRENT.try_with(|now| {
        now.set(now.get().saturating_add(by));
        PEAK.try_with(|most| most.set(most.get().max(now.get())))
    });
}

fn signed(size: usize) -> isize {
    isize::try_from(size).unwrap_or(isize::MAX)
}

#[expect(
    unsafe_code,
    reason = "an allocator is unsafe; this one forwards to the system's"
)]
// SAFETY: every call goes to the system's allocator unchanged; only sizes are recorded.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        changed(signed(layout.size()));
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        changed(-signed(layout.size()));
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        changed(signed(size) - signed(layout.size()));
        // SAFETY: the caller upholds the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// The result of `work` and this thread's peak memory during it, relative to the start.
pub(super) fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = CURRENT.get();
    PEAK.set(before);
    let done = work();
    let most = PEAK.get().saturating_sub(before);
    (done, usize::try_from(most).unwrap_or(0))
}

/// The result of `work` and the bytes that this thread allocated for it, also those that it freed.
pub(super) fn allocated<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = ALLOCATED.get();
    let done = work();
    (done, ALLOCATED.get().saturating_sub(before))
}
