//! Shared code of the fuzz targets: the properties, the mutations, and the limits on memory and
//! time.
//!
//! Properties and mutations are those of the crates' own tests. The first byte of an input selects
//! the dialect or type of a target, the second the dialect to translate to, or how the input is
//! split.

#[path = "../../crates/telechir-providers/tests/it/mutations/change.rs"]
mod change;
#[path = "../../crates/telechir-providers/tests/it/mutations/check.rs"]
mod check;
#[path = "../../crates/telechir-policy/tests/it/properties.rs"]
mod command;
#[path = "../../crates/telechir-egress/src"]
mod egress {
    pub(crate) mod greeting;
}
#[path = "../../crates/telechir-providers/tests/it/mutations/framing.rs"]
mod framing;
mod greetings;
#[path = "../../crates/telechir-shell/src/editor/hunks.rs"]
mod hunks;
mod limits;
#[path = "../../crates/telechir-shell/src/editor/lines.rs"]
mod lines;
#[path = "../../crates/telechir-browser/src/framing/message_splitter.rs"]
mod message_splitter;
mod messages;
#[path = "../../crates/telechir-providers/tests/it/mutations/neutral.rs"]
mod neutral;
#[path = "../../crates/telechir-shell/src/editor/patch.rs"]
mod patch;
mod patches;
#[path = "../../crates/telechir-policy/tests/it/file_properties.rs"]
mod policy_files;
#[path = "../../crates/telechir-shell/src/editor/properties.rs"]
mod properties;
pub mod seeds;
mod targets;
#[path = "../../crates/telechir-providers/tests/it/mutations/seeds.rs"]
mod vectors;

pub use libfuzzer_sys;
pub use targets::*;

use change::Dice;

/// Number of selector bytes before the input itself.
pub const HEAD: usize = 2;

/// Checks one input, within its limits of memory and time.
pub fn check(target: &Target, input: &[u8]) {
    if let Some((head, bytes)) = input.split_first_chunk::<HEAD>() {
        limits::within(bytes.len(), || {
            (target.check)(target.dialects, *head, bytes)
        });
    }
}

/// Mutates an input in place: half of the time with the fuzzer's coverage-guided mutations, half of
/// the time in a way that preserves its structure.
pub fn damage(target: &Target, data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut dice = Dice::new(u64::from(seed));
    if size <= HEAD || max_size <= HEAD || dice.roll(2) == 0 {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    }
    let mut bytes = data[HEAD..size].to_vec();
    (target.damage)(&mut bytes, &mut dice);
    if dice.roll(8) == 0 {
        data[dice.roll(HEAD)] = dice.roll(256) as u8;
    }
    let length = bytes.len().min(max_size - HEAD);
    data[HEAD..HEAD + length].copy_from_slice(&bytes[..length]);
    HEAD + length
}

/// Defines the entry points of a target's program.
#[macro_export]
macro_rules! fuzz {
    ($target:ident) => {
        $crate::libfuzzer_sys::fuzz_target!(|input: &[u8]| $crate::check(&$crate::$target, input));

        $crate::libfuzzer_sys::fuzz_mutator!(|data: &mut [u8],
                                              size: usize,
                                              max_size: usize,
                                              seed: u32| {
            $crate::damage(&$crate::$target, data, size, max_size, seed)
        });
    };
}
