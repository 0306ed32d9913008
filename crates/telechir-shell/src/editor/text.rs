//! The commands of a text editor, and its numbered views.

/// Maximum size of a view, in bytes; a longer one is cut with a note.
pub(crate) const MAX_VIEW_BYTES: usize = 100_000;
/// Maximum number of lines in a view without a range: line numbers have six digits.
const MAX_VIEW_LINES: usize = 999_999;
/// Number of lines shown before and after a change.
const CONTEXT_LINES: usize = 2;
/// Maximum number of lines that an error lists.
const MAX_LISTED_LINES: usize = 100;

/// Replaces `old` by `new` in the file that the model calls `path`; returns the text and the line
/// of the change.
///
/// # Errors
/// A message for the model, unless `old` occurs exactly once.
pub(crate) fn replace(
    path: &str,
    text: &str,
    old: &str,
    new: &str,
) -> Result<(String, usize), String> {
    if old.is_empty() && !text.is_empty() {
        return Err(
            "No replacement was performed, old_str is empty. Use insert to add lines.".to_owned(),
        );
    }
    let mut positions = text.match_indices(old).map(|(at, _)| at);
    let Some(first) = positions.next() else {
        return Err(not_found(path, text, old));
    };
    if positions.next().is_some() {
        return Err(format!(
            "No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {}. Please ensure it is unique",
            lines_of(text, old)
        ));
    }
    let line = text[..first].matches('\n').count() + 1;
    Ok((text.replacen(old, new, 1), line))
}

fn not_found(path: &str, text: &str, old: &str) -> String {
    let first = old.lines().find(|line| !line.trim().is_empty());
    let near = first.and_then(|first| {
        let at = text.lines().position(|line| line.trim() == first.trim())?;
        Some(format!(
            " Its line {:?} is at line {}, but the text differs there, perhaps in whitespace.",
            first.trim(),
            at + 1
        ))
    });
    format!(
        "No replacement was performed, old_str `{old}` did not appear verbatim in {path}.{}",
        near.unwrap_or_default()
    )
}

/// The lines on which a text occurs, for an error.
fn lines_of(text: &str, old: &str) -> String {
    let mut positions = text.match_indices(old).map(|(at, _)| at);
    let (mut line, mut counted) = (1, 0);
    let listed = positions.by_ref().take(MAX_LISTED_LINES).map(|at| {
        line += text[counted..at].matches('\n').count();
        counted = at;
        line.to_string()
    });
    let listed = listed.collect::<Vec<_>>().join(", ");
    match positions.count() {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
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
            "Invalid `insert_line` parameter: {after}. It should be within the range [0, {}].",
            lines.len()
        ));
    }
    let mut out: String = lines[..at].concat();
    let is_terminated = text.is_empty() || text.ends_with('\n') || at < lines.len();
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(new);
    if !new.ends_with('\n') && is_terminated {
        out.push('\n');
    }
    out.push_str(&lines[at..].concat());
    Ok(out)
}

/// A view of the file that the model calls `path`, with line numbers from 1. After a final line
/// feed is an empty line.
///
/// # Errors
/// A message for the model if the first line is beyond the end, or there are too many lines.
pub(crate) fn view(
    path: &str,
    text: &str,
    lines: Option<(u64, Option<u64>)>,
) -> Result<String, String> {
    let count = text.split('\n').count();
    if lines.is_none() && count > MAX_VIEW_LINES {
        return Err(format!(
            "File {path} exceeds maximum line limit of 999,999 lines. Use view_range to see a part of it."
        ));
    }
    let (first, last) = lines.unwrap_or((1, None));
    if first > count as u64 {
        let end = last.map_or_else(|| "-1".to_owned(), |last| last.to_string());
        return Err(format!(
            "Invalid `view_range` parameter: [{first}, {end}]. Its first element `{first}` should be within the range of lines of the file: [1, {count}]."
        ));
    }
    let index = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
    let last = last.map_or(count, index);
    let shown = numbered(text, index(first), last);
    Ok(format!(
        "Here's the content of {path} with line numbers:\n{shown}"
    ))
}

/// A numbered view of a change of so many lines, and of the lines around it.
pub(crate) fn snippet(text: &str, line: usize, changed: &str) -> String {
    let lines = changed.trim_end_matches('\n').matches('\n').count();
    let first = line.saturating_sub(CONTEXT_LINES).max(1);
    numbered(text, first, line + lines + CONTEXT_LINES)
}

/// The lines from `first` to `last` with their numbers.
fn numbered(text: &str, first: usize, last: usize) -> String {
    let mut out = String::new();
    let lines = text.split('\n').enumerate().skip(first.max(1) - 1);
    for (at, line) in lines.take_while(|(at, _)| *at < last) {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&format!("{:>6}\t{line}", at + 1));
        if out.len() > MAX_VIEW_BYTES {
            let end = (0..=MAX_VIEW_BYTES).rfind(|end| out.is_char_boundary(*end));
            out.truncate(end.unwrap_or_default());
            out.push_str(&format!(
                "\n[cut at line {} of {}; use view_range to see the rest]",
                at + 1,
                text.split('\n').count()
            ));
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{MAX_VIEW_BYTES, insert, replace, view};

    #[test]
    fn an_error_lists_some_of_many_lines() {
        let error = replace("f", &"a\n".repeat(1_000_000), "a", "b").unwrap_err();
        let expected = "99, 100 and 999900 more. Please ensure it is unique";
        assert!(error.ends_with(expected), "{error}");
    }

    #[test]
    fn inserts_lines_after_the_given_line() {
        for (text, line, new, expected) in [
            ("a\nb\n", 0, "x", "x\na\nb\n"),
            ("a\nb\n", 1, "x\n", "a\nx\nb\n"),
            ("a\nb\n", 2, "x", "a\nb\nx\n"),
            ("a", 1, "x", "a\nx"),
            ("a", 0, "x\n\n", "x\n\na"),
            ("", 0, "x", "x\n"),
        ] {
            assert_eq!(insert(text, line, new).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn a_long_view_is_cut() {
        let long = "é".repeat(MAX_VIEW_BYTES);
        let view = view("f", &long, None).unwrap();
        assert!(view.len() < MAX_VIEW_BYTES + 200 && view.contains("[cut at line 1 of 1"));
    }
}
