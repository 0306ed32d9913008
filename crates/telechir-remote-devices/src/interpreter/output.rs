//! Keeps the beginning and the end of outputs that are too long.

/// Standard output and standard error in up to `max` bytes together, and how many bytes were omitted.
pub(super) fn bounded(stdout: &str, stderr: &str, max: usize) -> (String, String, u64) {
    if stdout.len() + stderr.len() <= max {
        return (stdout.to_owned(), stderr.to_owned(), 0);
    }
    // Each gets half, and what the other leaves.
    let half = max / 2;
    let for_stderr = stderr.len().min(half.max(max.saturating_sub(stdout.len())));
    let for_stdout = stdout.len().min(max - for_stderr);
    let (stdout, out) = shortened(stdout, for_stdout);
    let (stderr, err) = shortened(stderr, for_stderr);
    (stdout, stderr, out + err)
}

/// The first and the last bytes of a text, with a line between them that says what is missing.
fn shortened(text: &str, max: usize) -> (String, u64) {
    if text.len() <= max {
        return (text.to_owned(), 0);
    }
    let boundary = |at: &usize| text.is_char_boundary(*at);
    let head = (0..=max / 2).rev().find(boundary).unwrap_or_default();
    let tail = text.len() - (max - max / 2)..=text.len();
    let tail = tail.into_iter().find(boundary).unwrap_or(text.len());
    let omitted = tail - head;
    let shown = format!(
        "{}\n[{omitted} bytes left out]\n{}",
        &text[..head],
        &text[tail..]
    );
    (shown, u64::try_from(omitted).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_outputs_are_unchanged() {
        assert_eq!(bounded("a", "b", 2), ("a".to_owned(), "b".to_owned(), 0));
    }

    #[test]
    fn long_outputs_keep_their_ends() {
        let (stdout, stderr, omitted) = bounded(&"x".repeat(1000), "error", 100);
        assert_eq!(stderr, "error");
        assert_eq!(omitted, 905);
        assert!(stdout.contains("[905 bytes left out]"), "{stdout}");
        let (_, _, omitted) = bounded(&"€".repeat(100), &"é".repeat(100), 51);
        assert!(omitted >= 500 - 51, "{omitted}");
    }
}
