//! Assigns characters that the layout lacks to its unused keycodes.
//!
//! A client looks up the mapping when it reads a key event, not when the key was pressed. A keycode
//! therefore must not be reassigned until the client has read what was typed with it;
//! `take_barrier` reports when to wait.

use crate::layout::{KeyPress, Layout};

/// Two levels of each unused keycode. Assignments persist; the least recently used one is replaced
/// first.
#[derive(Debug, Default)]
pub(crate) struct KeycodePool {
    slots: Vec<KeycodeSlot>,
    /// Counter of uses, for ordering them.
    now: u64,
    /// Uses up to this count have been read by the client.
    read: u64,
    /// Uses from this count on belong to the current batch.
    batch: u64,
    /// A slot was reassigned while a key typed with it may be unread.
    barrier: bool,
}

#[derive(Debug)]
struct KeycodeSlot {
    code: u8,
    shift: bool,
    keysym: u32,
    used: u64,
}

/// The result of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allocation {
    /// The keysym was already assigned.
    Existing(KeyPress),
    /// Newly assigned; the mapping must be sent to the server.
    New(KeyPress),
    /// The current batch uses all slots.
    Full,
}

impl KeycodePool {
    pub(crate) fn new(layout: &Layout) -> Self {
        let slot = |code| {
            [false, true].map(|shift| KeycodeSlot {
                code,
                shift,
                keysym: 0,
                used: 0,
            })
        };
        let slots = layout.spare_codes().into_iter().flat_map(slot).collect();
        Self {
            slots,
            ..Self::default()
        }
    }

    /// Whether the layout has no unused keycodes.
    pub(crate) const fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The keycodes of all slots.
    pub(crate) fn codes(&self) -> Vec<u8> {
        self.slots
            .chunks_exact(2)
            .map(|pair| pair[0].code)
            .collect()
    }

    /// Whether the layout still contains all assignments.
    pub(crate) fn is_applied_to(&self, layout: &Layout) -> bool {
        self.slots.iter().all(|slot| {
            let row = layout.row(slot.code);
            slot.keysym == 0 || row.get(usize::from(slot.shift)) == Some(&slot.keysym)
        })
    }

    /// Starts a batch: slots it uses are not reassigned within it.
    pub(crate) const fn start_batch(&mut self) {
        self.now += 1;
        self.batch = self.now;
    }

    /// Allocates a slot for a keysym.
    pub(crate) fn allocate(&mut self, keysym: u32) -> Allocation {
        self.allocate_where(keysym, |_| true)
    }

    /// Allocates a slot that needs no Shift, which would change a shortcut.
    pub(crate) fn allocate_unshifted(&mut self, keysym: u32) -> Allocation {
        self.allocate_where(keysym, |slot| !slot.shift)
    }

    fn allocate_where(
        &mut self,
        keysym: u32,
        matches: impl Fn(&KeycodeSlot) -> bool,
    ) -> Allocation {
        self.now += 1;
        let known = |slot: &&mut KeycodeSlot| slot.keysym == keysym && matches(slot);
        if let Some(slot) = self.slots.iter_mut().find(known) {
            slot.used = self.now;
            return Allocation::Existing(slot.key_press());
        }
        let batch = self.batch;
        let is_free = |slot: &&mut KeycodeSlot| slot.used < batch && matches(slot);
        let free = self.slots.iter_mut().filter(is_free);
        match free.min_by_key(|slot| slot.used) {
            Some(slot) => {
                self.barrier |= slot.used > self.read;
                slot.keysym = keysym;
                slot.used = self.now;
                Allocation::New(slot.key_press())
            }
            None => Allocation::Full,
        }
    }

    /// Whether the client must read its input before the mapping changes; resets the flag.
    pub(crate) const fn take_barrier(&mut self) -> bool {
        std::mem::replace(&mut self.barrier, false)
    }

    /// Marks everything typed before the current batch as read. The batch itself is typed later.
    pub(crate) const fn mark_read(&mut self) {
        self.read = self.batch;
    }

    /// Writes the assignments into a layout.
    pub(crate) fn write_to(&self, layout: &mut Layout) {
        for pair in self.slots.chunks_exact(2) {
            let levels = match [pair[0].keysym, pair[1].keysym] {
                // Never one level alone: the server derives lower and upper case from a single
                // level.
                [only, 0] | [0, only] => [only, only],
                both => both,
            };
            layout.set_row(pair[0].code, levels);
        }
    }

    /// Unassigns all slots.
    pub(crate) fn clear(&mut self) {
        for slot in &mut self.slots {
            slot.keysym = 0;
        }
    }

    /// Whether any slot is assigned.
    pub(crate) fn has_allocations(&self) -> bool {
        self.slots.iter().any(|slot| slot.keysym != 0)
    }
}

impl KeycodeSlot {
    fn key_press(&self) -> KeyPress {
        KeyPress {
            code: self.code,
            shift: self.shift,
            level3: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two unused keycodes, four slots.
    fn keycodes() -> (Layout, KeycodePool) {
        let layout = Layout::new(8, 4, vec![0; 8]);
        let mut keycodes = KeycodePool::new(&layout);
        keycodes.start_batch();
        (layout, keycodes)
    }

    fn allocate_all(keycodes: &mut KeycodePool, keysyms: std::ops::RangeInclusive<u32>) {
        for keysym in keysyms {
            assert_ne!(keycodes.allocate(keysym), Allocation::Full);
        }
    }

    fn key_press(code: u8, shift: bool) -> KeyPress {
        KeyPress {
            code,
            shift,
            level3: false,
        }
    }

    #[test]
    fn allocates_each_slot_once_per_batch() {
        let (_, mut keycodes) = keycodes();
        let allocations: Vec<Allocation> =
            (1..=5).map(|keysym| keycodes.allocate(keysym)).collect();
        let new_slot = |code, shift| Allocation::New(key_press(code, shift));
        let expected = [
            new_slot(8, false),
            new_slot(8, true),
            new_slot(9, false),
            new_slot(9, true),
            Allocation::Full,
        ];
        assert_eq!(allocations, expected);
        assert_eq!(
            keycodes.allocate(2),
            Allocation::Existing(key_press(8, true))
        );
    }

    #[test]
    fn a_shortcut_gets_an_unshifted_slot_even_if_its_character_has_a_shifted_one() {
        let (_, mut keycodes) = keycodes();
        allocate_all(&mut keycodes, 1..=4);
        keycodes.start_batch();
        assert_eq!(
            keycodes.allocate_unshifted(2),
            Allocation::New(key_press(8, false))
        );
        assert_eq!(
            keycodes.allocate_unshifted(2),
            Allocation::Existing(key_press(8, false))
        );
    }

    #[test]
    fn reassigning_an_unread_slot_requires_a_barrier() {
        let (_, mut keycodes) = keycodes();
        allocate_all(&mut keycodes, 1..=4);
        assert!(!keycodes.take_barrier());
        keycodes.start_batch();
        keycodes.allocate(2);
        assert!(!keycodes.take_barrier());
        assert_eq!(keycodes.allocate(5), Allocation::New(key_press(8, false)));
        assert!(keycodes.take_barrier());
        assert!(!keycodes.take_barrier());
    }

    #[test]
    fn a_barrier_does_not_mark_its_own_batch_as_read() {
        let (_, mut keycodes) = keycodes();
        allocate_all(&mut keycodes, 1..=4);
        keycodes.start_batch();
        allocate_all(&mut keycodes, 5..=8);
        assert!(keycodes.take_barrier());
        keycodes.mark_read();
        // 5 to 8 are typed now; reassigning their slots requires another wait.
        keycodes.start_batch();
        keycodes.allocate(9);
        assert!(keycodes.take_barrier());
    }

    #[test]
    fn a_single_character_takes_both_levels() {
        let (mut layout, mut keycodes) = keycodes();
        keycodes.allocate(7);
        keycodes.write_to(&mut layout);
        assert_eq!(layout.row(8), [7, 7, 0, 0]);
        assert_eq!(layout.row(9), [0, 0, 0, 0]);
        assert!(keycodes.is_applied_to(&layout));
        assert!(!keycodes.is_applied_to(&Layout::new(8, 4, vec![0; 8])));
    }
}
