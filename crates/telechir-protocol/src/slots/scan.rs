//! Finds the long strings of a JSON document without decoding it.

use std::ops::Range;

/// Copying shorter strings is cheaper than managing slots for them.
const MIN_SLOT_BYTES: usize = 4096;

/// Bytes of the string that stay in the text: they show the image's format and size.
const UNREPLACED_BYTES: usize = 64;

/// Bytes at either end of a string that are inspected to recognize base64.
const SAMPLE_BYTES: usize = 64;

/// The byte ranges of the strings that may be replaced. The ranges of an invalid document are
/// arbitrary: it is also invalid with slots.
pub(super) fn long_strings(document: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(quote) = next_quote(document, at) {
        let start = quote + 1;
        let (end, is_plain) = end_of_string(document, start);
        if is_plain && end - start >= MIN_SLOT_BYTES && !is_name(document, end) {
            found.extend(base64_in(document, start..end));
        }
        at = end + 1;
    }
    found
}

fn next_quote(document: &[u8], from: usize) -> Option<usize> {
    let rest = document.get(from..)?;
    rest.iter()
        .position(|byte| *byte == b'"')
        .map(|at| from + at)
}

/// Whether the string that ends here is the name of a member.
fn is_name(document: &[u8], end: usize) -> bool {
    let mut after = document.get(end + 1..).unwrap_or_default().iter();
    after.find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

/// The end of a string, and whether it is printable ASCII without escapes.
fn end_of_string(document: &[u8], start: usize) -> (usize, bool) {
    let mut at = start;
    let mut is_plain = true;
    loop {
        at += plain_bytes(document.get(at..).unwrap_or_default());
        match document.get(at) {
            None => return (document.len(), false),
            Some(b'"') => return (at, is_plain),
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
        is_plain = false;
    }
}

/// Number of leading plain bytes. Complete blocks are tested at once, which the compiler
/// vectorizes.
fn plain_bytes(bytes: &[u8]) -> usize {
    const BLOCK: usize = 64;
    let blocks = bytes.chunks_exact(BLOCK);
    let complete = blocks
        .take_while(|block| block.iter().fold(true, |all, byte| all & is_plain(*byte)))
        .count()
        * BLOCK;
    let rest = &bytes[complete..];
    complete
        + rest
            .iter()
            .position(|byte| !is_plain(*byte))
            .unwrap_or(rest.len())
}

/// Plain bytes are printable ASCII without quotes and backslashes, and without `-` and `_`: those
/// belong to base64url, which some dialects replace. `]` and `^`, of neither alphabet, are excluded
/// with `\` and `_`, because one comparison tests all four.
fn is_plain(byte: u8) -> bool {
    let is_printable = byte.cast_signed() >= 0x20;
    let others = (byte == b'"') | (byte == b'-') | (byte & 0xFC == b'\\');
    is_printable & !others
}

/// The base64 in a string: all of it, or the part after the head of a `data:` URI. Only its ends
/// are inspected: a slot may stand for any plain string.
fn base64_in(document: &[u8], string: Range<usize>) -> Option<Range<usize>> {
    let bytes = &document[string.clone()];
    let start = if bytes.starts_with(b"data:") {
        let head = &bytes[..SAMPLE_BYTES * 2];
        head.iter().position(|byte| *byte == b',')? + 1
    } else {
        0
    };
    let data = &bytes[start..];
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let (first, last) = (&data[..SAMPLE_BYTES], &data[data.len() - SAMPLE_BYTES..]);
    let looks_so = first.iter().chain(last).all(is_base64);
    // A JPEG may have its size anywhere, and a dialect may need it.
    let is_known = looks_so && !data.starts_with(b"/9j/");
    is_known.then_some(string.start + start + UNREPLACED_BYTES..string.end)
}
