//! Long texts: their beginning and end, and ranges of them.

/// Maximum characters of a text in an answer.
pub const MAX_TEXT_CHARS: usize = 20_000;
/// Characters of a long text that an answer has from its beginning and from its end.
const HEAD_CHARS: usize = 12_000;
const TAIL_CHARS: usize = 6_000;

/// The beginning and the end of a text that is longer than [`MAX_TEXT_CHARS`], with a line between
/// them that counts what is missing and names the address of all of it. None for a shorter text.
///
/// ```
/// assert_eq!(telechir_tools::shortened("short", "x:1"), None);
/// let long = "line\n".repeat(10_000);
/// let short = telechir_tools::shortened(&long, "x:1").expect("a long text");
/// assert!(short.len() < 19_000 && short.contains("[32000 of 50000 characters"), "{short}");
/// ```
pub fn shortened(text: &str, address: &str) -> Option<String> {
    if text.len() <= MAX_TEXT_CHARS {
        return None;
    }
    let count = text.chars().count();
    if count <= MAX_TEXT_CHARS {
        return None;
    }
    let (head, tail) = (HEAD_CHARS, count - TAIL_CHARS);
    Some(format!(
        "{}\n[{} of {count} characters are left out here; read characters {head} to {tail} of the \
         resource {address}]\n{}",
        range(text, 0, head),
        tail - head,
        range(text, tail, count),
    ))
}

/// The characters from `from` to `to`, excluded; ends beyond the text are its end.
///
/// ```
/// assert_eq!(telechir_tools::range("héllo", 1, 3), "él");
/// assert_eq!(telechir_tools::range("héllo", 4, 99), "o");
/// assert_eq!(telechir_tools::range("héllo", 3, 1), "");
/// ```
pub fn range(text: &str, from: usize, to: usize) -> &str {
    let at = |position: usize| {
        let found = text.char_indices().nth(position);
        found.map_or(text.len(), |(at, _)| at)
    };
    let start = at(from);
    text.get(start..at(to)).unwrap_or_default()
}
