//! The commands of a text editor, and its numbered views.

/// Maximum size of a view, in bytes; a longer one is cut with a note.
pub(crate) const MAX_VIEW_BYTES: usize = 100_000;
/// Number of lines shown before and after a change.
const CONTEXT_LINES: usize = 4;

/// Replaces `old` by `new`; returns the text and the line of the change.
///
/// # Errors
/// A message for the model, unless `old` occurs exactly once.
pub(crate) fn replace(text: &str, old: &str, new: &str) -> Result<(String, usize), String> {
    if old.is_empty() {
        return Err("`old_str` is empty; to add lines, use insert".to_owned());
    }
    let mut positions = text.match_indices(old).map(|(at, _)| line_at(text, at));
    let Some(line) = positions.next() else {
        return Err(not_found(text, old));
    };
    let others: Vec<String> = positions.map(|line| line.to_string()).collect();
    if !others.is_empty() {
        return Err(format!(
            "`old_str` occurs {} times, at lines {line}, {}; include more surrounding text to make it unique",
            others.len() + 1,
            others.join(", ")
        ));
    }
    Ok((text.replacen(old, new, 1), line))
}

fn not_found(text: &str, old: &str) -> String {
    let first = old.lines().find(|line| !line.trim().is_empty());
    let near = first.and_then(|first| {
        let at = text.lines().position(|line| line.trim() == first.trim())?;
        Some(format!(
            "; its line {:?} is at line {}, but the following text differs, perhaps in whitespace",
            first.trim(),
            at + 1
        ))
    });
    format!(
        "`old_str` was not found in the file{}; view the file again",
        near.unwrap_or_default()
    )
}

fn line_at(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

/// Inserts lines after line `after`; 0 is the beginning.
///
/// # Errors
/// A message for the model if the file has fewer lines.
pub(crate) fn insert(text: &str, after: u64, new: &str) -> Result<String, String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let at = usize::try_from(after).unwrap_or(usize::MAX);
    if at > lines.len() {
        return Err(format!(
            "`insert_line` is {after}, but the file has {} lines; expected 0 to {0}",
            lines.len()
        ));
    }
    let mut out: String = lines[..at].concat();
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(new);
    if !new.ends_with('\n') && at < lines.len() {
        out.push('\n');
    }
    out.push_str(&lines[at..].concat());
    Ok(out)
}

/// A view of lines with their numbers, from 1.
///
/// # Errors
/// A message for the model if the first line is beyond the end.
pub(crate) fn numbered(text: &str, lines: Option<(u64, Option<u64>)>) -> Result<String, String> {
    let count = text.lines().count();
    let (first, last) = lines.unwrap_or((1, None));
    if first > 1 && first > count as u64 {
        return Err(format!(
            "`view_range` starts at line {first}, but the file has {count} lines"
        ));
    }
    let index = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
    let (first, last) = (index(first), last.map_or(count, index).min(count));
    let mut out = String::new();
    let shown = text.lines().enumerate().take(last).skip(first - 1);
    for (at, line) in shown {
        out.push_str(&format!("{:>6}\t{line}\n", at + 1));
        if out.len() > MAX_VIEW_BYTES {
            let is_boundary = |end: &usize| out.is_char_boundary(*end);
            let end = (0..=MAX_VIEW_BYTES)
                .rev()
                .find(is_boundary)
                .unwrap_or_default();
            out.truncate(end);
            out.push_str(&format!(
                "\n[cut at line {} of {count}; use view_range to see the rest]\n",
                at + 1
            ));
            return Ok(out);
        }
    }
    if out.is_empty() {
        out.push_str("[the file is empty]\n");
    }
    Ok(out)
}

/// A numbered view of the lines around a change.
pub(crate) fn excerpt(text: &str, line: usize, lines: usize) -> String {
    let first = line.saturating_sub(CONTEXT_LINES).max(1);
    let last = line.saturating_add(lines).saturating_add(CONTEXT_LINES);
    numbered(text, Some((first as u64, Some(last as u64)))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{MAX_VIEW_BYTES, excerpt, insert, numbered, replace};

    #[test]
    fn text_must_occur_exactly_once() {
        assert_eq!(replace("a\nb\n", "b", "c"), Ok(("a\nc\n".to_owned(), 2)));
        let error = replace("x\ny\nx\n", "x", "z").unwrap_err();
        assert!(error.contains("2 times, at lines 1, 3"), "{error}");
        let error = replace("fn a() {\n  1\n}\n", "fn a() {\n 1", "").unwrap_err();
        assert!(error.contains("at line 1"), "{error}");
        assert!(replace("a", "", "b").is_err());
    }

    #[test]
    fn inserts_lines_after_the_given_line() {
        for (text, line, new, expected) in [
            ("a\nb\n", 0, "x", "x\na\nb\n"),
            ("a\nb\n", 1, "x\n", "a\nx\nb\n"),
            ("a\nb\n", 2, "x", "a\nb\nx"),
            ("a", 1, "x", "a\nx"),
            ("", 0, "x\n", "x\n"),
        ] {
            assert_eq!(insert(text, line, new).as_deref(), Ok(expected));
        }
        assert!(insert("a\n", 2, "x").is_err_and(|error| error.contains("has 1 lines")));
    }

    #[test]
    fn a_view_is_numbered_and_cut() {
        assert_eq!(
            numbered("a\nb\nc\n", Some((2, Some(9)))).as_deref(),
            Ok("     2\tb\n     3\tc\n")
        );
        assert!(numbered("a\n", Some((5, None))).is_err());
        let long = "é".repeat(MAX_VIEW_BYTES);
        let view = numbered(&long, None).unwrap();
        assert!(view.len() < MAX_VIEW_BYTES + 200 && view.contains("[cut at line 1 of 1"));
        assert!(excerpt("a\nb\nc\n", 2, 1).contains("     2\tb"));
    }
}
