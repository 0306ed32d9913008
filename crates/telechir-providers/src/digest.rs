//! A short, stable hash of a text, for derived ids.

/// FNV-1a with 64 bits; each salt gives a different function.
pub(crate) fn digest(text: &str, salt: u64) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325 ^ salt, step)
}
