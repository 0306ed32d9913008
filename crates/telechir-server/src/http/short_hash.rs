//! Short names that stand for something: 26 letters and digits, which file systems and people can take.

/// Number of letters and digits: 5 bits each.
const LENGTH: usize = 26;
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Letters and digits that stand for a text.
pub(super) fn short_hash(text: &str) -> String {
    short_digits(&blake3::hash(text.as_bytes()))
}

/// A hash as letters and digits.
pub(super) fn short_digits(hash: &blake3::Hash) -> String {
    let digits = hash.as_bytes().iter().take(LENGTH);
    digits
        .map(|byte| char::from(ALPHABET[usize::from(byte % 32)]))
        .collect()
}
