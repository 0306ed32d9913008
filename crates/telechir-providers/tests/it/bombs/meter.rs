//! An allocator that counts what each thread holds, so that a test knows its own.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn changed(by: isize) {
    // A thread that ends has nothing left to count with.
    let _ended = NOW.try_with(|now| {
        now.set(now.get().saturating_add(by));
        MOST.try_with(|most| most.set(most.get().max(now.get())))
    });
}

fn signed(size: usize) -> isize {
    isize::try_from(size).unwrap_or(isize::MAX)
}

#[expect(
    unsafe_code,
    reason = "an allocator is unsafe; it passes everything on"
)]
// SAFETY: every call goes to the system's allocator as it came; only sizes are noted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        changed(signed(layout.size()));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        changed(-signed(layout.size()));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        changed(signed(size) - signed(layout.size()));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// What `work` gives, and the most bytes that this thread held at once while it ran, beyond
/// those it held before.
pub(super) fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = NOW.get();
    MOST.set(before);
    let done = work();
    let most = MOST.get().saturating_sub(before);
    (done, usize::try_from(most).unwrap_or(0))
}
