//! Finds the long strings of a JSON document without reading it as JSON.

use std::ops::Range;

/// Shorter strings are cheaper to copy than to care for.
const LONG: usize = 4096;

/// What comes before a slot of the string itself: it says what kind of picture it is, and how
/// large.
const IN_CLEAR: usize = 64;

/// How much of a string's either end is looked at to tell what it is.
const SAMPLE: usize = 64;

/// The places of the strings that may have slots. Of a document that is not JSON any places may
/// come out: it is not JSON with slots either.
pub(super) fn long_strings(document: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(quote) = next_quote(document, at) {
        let start = quote + 1;
        let (end, is_plain) = end_of_string(document, start);
        if is_plain && end - start >= LONG && !is_name(document, end) {
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

/// Whether what ends here is the name of a member.
fn is_name(document: &[u8], end: usize) -> bool {
    let mut after = document.get(end + 1..).unwrap_or_default().iter();
    after.find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

/// Where a string ends, and whether it has nothing but printable ASCII without escapes.
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

/// How many bytes come before the first that is not plain. Whole blocks are judged at once, which
/// the compiler turns into vector instructions.
fn plain_bytes(bytes: &[u8]) -> usize {
    const BLOCK: usize = 64;
    let blocks = bytes.chunks_exact(BLOCK);
    let whole = blocks
        .take_while(|block| block.iter().fold(true, |all, byte| all & is_plain(*byte)))
        .count()
        * BLOCK;
    let rest = &bytes[whole..];
    whole
        + rest
            .iter()
            .position(|byte| !is_plain(*byte))
            .unwrap_or(rest.len())
}

/// Neither a control, nor a byte of a letter beyond ASCII, nor what ends or escapes, nor `-` and
/// `_`: those are of the other alphabet of base64, which some dialects replace. `]` and `^`, of
/// no alphabet, go with `\` and `_`: the four are told by one comparison.
fn is_plain(byte: u8) -> bool {
    let is_printable = byte.cast_signed() >= 0x20;
    let others = (byte == b'"') | (byte == b'-') | (byte & 0xFC == b'\\');
    is_printable & !others
}

/// The base64 in a string: all of it, or what comes behind the head of a `data:` address. Only
/// its ends are looked at: a slot may stand for any plain string.
fn base64_in(document: &[u8], string: Range<usize>) -> Option<Range<usize>> {
    let bytes = &document[string.clone()];
    let start = if bytes.starts_with(b"data:") {
        let head = &bytes[..SAMPLE * 2];
        head.iter().position(|byte| *byte == b',')? + 1
    } else {
        0
    };
    let data = &bytes[start..];
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let (first, last) = (&data[..SAMPLE], &data[data.len() - SAMPLE..]);
    let looks_so = first.iter().chain(last).all(is_base64);
    // A JPEG may say its size anywhere, and a dialect may want to know it.
    let is_known = looks_so && !data.starts_with(b"/9j/");
    is_known.then_some(string.start + start + IN_CLEAR..string.end)
}
