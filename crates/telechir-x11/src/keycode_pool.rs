//! Keys that the layout leaves free, lent to characters it does not have.
//!
//! A program looks up the mapping of *now* when it reads a key event, not that of the moment the
//! key was pressed. So a slot must not be given to another character before the program has read
//! what was typed with it; that is what `take_barrier` is for.

use crate::layout::{Layout, Stroke};

/// All slots: two levels of each spare key. The mapping stays, and the least recently used goes.
#[derive(Debug, Default)]
pub(crate) struct Spares {
    slots: Vec<Slot>,
    /// Counts uses, so that they can be compared.
    now: u64,
    /// Uses up to this one were read by the program they were for.
    read: u64,
    /// Uses from this one on belong to the batch in the making.
    batch: u64,
    /// A slot was lent anew while what was typed with it may be unread.
    barrier: bool,
}

#[derive(Debug)]
struct Slot {
    code: u8,
    shift: bool,
    keysym: u32,
    used: u64,
}

/// Whether a character has a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lent {
    /// Since before this batch.
    Already(Stroke),
    /// From now on; the server must be told.
    Newly(Stroke),
    /// All slots are taken by this batch.
    Full,
}

impl Spares {
    pub(crate) fn new(layout: &Layout) -> Self {
        let slot = |code| {
            [false, true].map(|shift| Slot {
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

    /// Whether there are no keys to lend.
    pub(crate) const fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The keys of all slots.
    pub(crate) fn codes(&self) -> Vec<u8> {
        self.slots
            .chunks_exact(2)
            .map(|pair| pair[0].code)
            .collect()
    }

    /// Whether the layout still has what was written into it.
    pub(crate) fn are_in(&self, layout: &Layout) -> bool {
        self.slots.iter().all(|slot| {
            let row = layout.row(slot.code);
            slot.keysym == 0 || row.get(usize::from(slot.shift)) == Some(&slot.keysym)
        })
    }

    /// Starts a batch: what it uses stays until it ends.
    pub(crate) const fn begin_batch(&mut self) {
        self.now += 1;
        self.batch = self.now;
    }

    /// A slot for a keysym.
    pub(crate) fn lend(&mut self, keysym: u32) -> Lent {
        self.lend_of(keysym, |_| true)
    }

    /// A slot that needs no shift: a shortcut with one more modifier is another shortcut.
    pub(crate) fn lend_plain(&mut self, keysym: u32) -> Lent {
        self.lend_of(keysym, |slot| !slot.shift)
    }

    fn lend_of(&mut self, keysym: u32, fits: impl Fn(&Slot) -> bool) -> Lent {
        self.now += 1;
        let known = |slot: &&mut Slot| slot.keysym == keysym && fits(slot);
        if let Some(slot) = self.slots.iter_mut().find(known) {
            slot.used = self.now;
            return Lent::Already(slot.stroke());
        }
        let batch = self.batch;
        let is_free = |slot: &&mut Slot| slot.used < batch && fits(slot);
        let free = self.slots.iter_mut().filter(is_free);
        match free.min_by_key(|slot| slot.used) {
            Some(slot) => {
                self.barrier |= slot.used > self.read;
                slot.keysym = keysym;
                slot.used = self.now;
                Lent::Newly(slot.stroke())
            }
            None => Lent::Full,
        }
    }

    /// Whether what was typed must be read before the layout may change, since the last call.
    pub(crate) const fn take_barrier(&mut self) -> bool {
        std::mem::replace(&mut self.barrier, false)
    }

    /// Everything typed before this batch was read. The batch itself is still to be typed.
    pub(crate) const fn mark_read(&mut self) {
        self.read = self.batch;
    }

    /// Puts the slots into a layout.
    pub(crate) fn write_to(&self, layout: &mut Layout) {
        for pair in self.slots.chunks_exact(2) {
            let levels = match [pair[0].keysym, pair[1].keysym] {
                // Never one level alone: a server makes a small and a capital letter of that.
                [only, 0] | [0, only] => [only, only],
                both => both,
            };
            layout.set_row(pair[0].code, levels);
        }
    }

    /// Frees all slots.
    pub(crate) fn clear(&mut self) {
        for slot in &mut self.slots {
            slot.keysym = 0;
        }
    }

    /// Whether any slot is lent.
    pub(crate) fn any_lent(&self) -> bool {
        self.slots.iter().any(|slot| slot.keysym != 0)
    }
}

impl Slot {
    fn stroke(&self) -> Stroke {
        Stroke {
            code: self.code,
            shift: self.shift,
            level3: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two spare keys: four slots.
    fn spares() -> (Layout, Spares) {
        let layout = Layout::new(8, 4, vec![0; 8]);
        let mut spares = Spares::new(&layout);
        spares.begin_batch();
        (layout, spares)
    }

    fn lend_all(spares: &mut Spares, keysyms: std::ops::RangeInclusive<u32>) {
        for keysym in keysyms {
            assert_ne!(spares.lend(keysym), Lent::Full);
        }
    }

    fn stroke(code: u8, shift: bool) -> Stroke {
        Stroke {
            code,
            shift,
            level3: false,
        }
    }

    #[test]
    fn lends_each_slot_once_and_then_none() {
        let (_, mut spares) = spares();
        let lent: Vec<Lent> = (1..=5).map(|keysym| spares.lend(keysym)).collect();
        let newly = |code, shift| Lent::Newly(stroke(code, shift));
        let expected = [
            newly(8, false),
            newly(8, true),
            newly(9, false),
            newly(9, true),
            Lent::Full,
        ];
        assert_eq!(lent, expected);
        assert_eq!(spares.lend(2), Lent::Already(stroke(8, true)));
    }

    #[test]
    fn a_shortcut_gets_a_slot_without_shift_also_when_another_has_its_letter() {
        let (_, mut spares) = spares();
        lend_all(&mut spares, 1..=4);
        spares.begin_batch();
        assert_eq!(spares.lend_plain(2), Lent::Newly(stroke(8, false)));
        assert_eq!(spares.lend_plain(2), Lent::Already(stroke(8, false)));
    }

    #[test]
    fn a_slot_in_use_needs_a_barrier_before_it_is_lent_anew() {
        let (_, mut spares) = spares();
        lend_all(&mut spares, 1..=4);
        assert!(!spares.take_barrier());
        spares.begin_batch();
        spares.lend(2);
        assert!(!spares.take_barrier());
        assert_eq!(spares.lend(5), Lent::Newly(stroke(8, false)));
        assert!(spares.take_barrier());
        assert!(!spares.take_barrier());
    }

    #[test]
    fn what_a_batch_types_is_unread_although_its_barrier_was_passed() {
        let (_, mut spares) = spares();
        lend_all(&mut spares, 1..=4);
        spares.begin_batch();
        lend_all(&mut spares, 5..=8);
        assert!(spares.take_barrier());
        spares.mark_read();
        // Now 5 to 8 are typed; whoever takes their slots must wait again.
        spares.begin_batch();
        spares.lend(9);
        assert!(spares.take_barrier());
    }

    #[test]
    fn a_lone_character_takes_both_levels() {
        let (mut layout, mut spares) = spares();
        spares.lend(7);
        spares.write_to(&mut layout);
        assert_eq!(layout.row(8), [7, 7, 0, 0]);
        assert_eq!(layout.row(9), [0, 0, 0, 0]);
        assert!(spares.are_in(&layout));
        assert!(!spares.are_in(&Layout::new(8, 4, vec![0; 8])));
    }
}
