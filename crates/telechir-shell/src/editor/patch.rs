//! Applies diffs in the format of OpenAI's `apply_patch`.
//!
//! A text is its lines with line feeds between them, so a text that ends with a line feed has an
//! empty last line, which a diff can add or remove. Lines without an exact match are searched again
//! without trailing whitespace, then without leading whitespace, then with plain punctuation.
//! Context lines keep the file's own text.

use super::hunks::{self, DiffLine, Hunk};
use super::lines::LineSearch;

/// Maximum size of a diff in bytes; larger than any model's output.
const MAX_DIFF_BYTES: usize = 4 * 1024 * 1024;

/// Number of added and removed lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiffStats {
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

/// The text of a new file; it ends with a line feed if the diff's last line is a plus alone.
///
/// # Errors
/// A message for the model with the first line that does not begin with a plus.
pub(crate) fn new_file(diff: &str) -> Result<String, String> {
    Ok(hunks::new_lines(diff)?.join(line_ending(diff)))
}

/// Applies a diff; returns the new text.
///
/// # Errors
/// A message for the model with the hunk that does not match, and a near match if there is one.
pub(crate) fn apply(text: &str, diff: &str) -> Result<(String, DiffStats), String> {
    if diff.len() > MAX_DIFF_BYTES {
        return Err(format!(
            "the diff has {} bytes, the maximum is {MAX_DIFF_BYTES}; send it in parts",
            diff.len()
        ));
    }
    let hunks = hunks::parse(diff)?;
    if hunks.iter().all(|hunk| hunk.lines.is_empty()) {
        return Err("the diff changes nothing: no line begins with `+` or `-`".into());
    }
    let file = lines_of(text);
    let ending = match file.first() {
        Some(first) if !first.ending.is_empty() => first.ending,
        _ => line_ending(diff),
    };
    let texts: Vec<&str> = file.iter().map(|line| line.text).collect();
    let search = LineSearch::new(&texts, hunks.iter().flat_map(runs).collect());
    let mut out: Vec<Line<'_>> = Vec::with_capacity(file.len());
    let (mut copied, mut stats) = (0, DiffStats::default());
    let mut run = 0;
    // Lines for the end of the file, which later hunks may precede.
    let mut appended = Vec::new();
    for hunk in &hunks {
        let Some(mut at) = position(hunk, &search, run, copied)? else {
            appended.extend(hunk.added().map(|text| Line { text, ending }));
            run += hunk.anchors.len() + 1;
            continue;
        };
        run += hunk.anchors.len() + 1;
        out.extend_from_slice(&file[copied..at]);
        for line in &hunk.lines {
            match line {
                DiffLine::Context(_) => {
                    out.push(file[at]);
                    at += 1;
                }
                DiffLine::Removed(_) => {
                    at += 1;
                    stats.removed += 1;
                }
                DiffLine::Added(text) => {
                    out.push(Line { text, ending });
                    stats.added += 1;
                }
            }
        }
        copied = at;
    }
    stats.added += appended.len();
    let end = end_of(&texts).max(copied);
    out.extend_from_slice(&file[copied..end]);
    out.append(&mut appended);
    out.extend_from_slice(&file[end..]);
    Ok((join(&out, ending), stats))
}

/// A line and the characters between it and the next one; none after the last.
#[derive(Clone, Copy, Debug)]
struct Line<'a> {
    text: &'a str,
    ending: &'static str,
}

fn lines_of(text: &str) -> Vec<Line<'_>> {
    let (before, last) = text
        .rsplit_once('\n')
        .map_or((None, text), |(before, last)| (Some(before), last));
    let line = |line: &'_ str| match line.strip_suffix('\r') {
        Some(_) => "\r\n",
        None => "\n",
    };
    let lines = before.into_iter().flat_map(|before| before.split('\n'));
    lines
        .map(|text| Line {
            text: text.strip_suffix('\r').unwrap_or(text),
            ending: line(text),
        })
        .chain([Line {
            text: last,
            ending: "",
        }])
        .collect()
}

fn join(lines: &[Line<'_>], ending: &str) -> String {
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        text.push_str(line.text);
        if at + 1 < lines.len() {
            text.push_str(if line.ending.is_empty() {
                ending
            } else {
                line.ending
            });
        }
    }
    text
}

fn line_ending(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The runs of lines to search for a hunk: each anchor, then the old lines.
fn runs<'a>(hunk: &Hunk<'a>) -> impl Iterator<Item = Vec<&'a str>> {
    let anchors: Vec<_> = hunk.anchors.iter().map(|anchor| vec![*anchor]).collect();
    anchors.into_iter().chain([hunk.old()])
}

/// Number of lines without the empty one after the last line feed.
fn end_of(file: &[&str]) -> usize {
    match file {
        [before @ .., ""] => before.len(),
        _ => file.len(),
    }
}

/// Position of a hunk's old lines in the file, at or after `from`; `None` if the hunk only adds
/// lines and nothing but the end of the file locates it. `run` is the index of its first run.
fn position(
    hunk: &Hunk<'_>,
    search: &LineSearch<'_>,
    run: usize,
    from: usize,
) -> Result<Option<usize>, String> {
    let old = search.run(run + hunk.anchors.len());
    // A single anchor that is not in the file is only a hint, unless nothing else locates the hunk.
    let is_required = hunk.headers > 1 || old.is_empty();
    let after = after_anchors(hunk, search, run, from, is_required)?;
    let file = search.file();
    let end = end_of(file);
    if old.is_empty() {
        return Ok(match hunk.lines_before {
            _ if hunk.is_at_end => None,
            Some(before) => Some(before.min(end).max(after)),
            None => Some(after).filter(|_| !hunk.anchors.is_empty()),
        });
    }
    let run = run + hunk.anchors.len();
    if hunk.is_at_end {
        let starts = [end, file.len()].map(|end| end.checked_sub(old.len()));
        let mut starts = starts.into_iter().flatten().filter(|at| *at >= after);
        if let Some(at) = starts.find(|at| search.is_at(run, *at)) {
            return Ok(Some(at));
        }
    }
    let found = search.find_near(run, after, hunk.lines_before);
    found
        .map(Some)
        .ok_or_else(|| not_found(hunk, file, old, after))
}

/// The line after a hunk's anchors, at or after `from`. An anchor before `from` may be that of an
/// earlier hunk; then the next anchor follows it.
fn after_anchors(
    hunk: &Hunk<'_>,
    search: &LineSearch<'_>,
    run: usize,
    from: usize,
    is_required: bool,
) -> Result<usize, String> {
    let (mut scope, mut after) = (0, from);
    for (at, anchor) in hunk.anchors.iter().enumerate() {
        match search.find_line(run + at, scope, after) {
            Some(line) => {
                scope = line + 1;
                after = after.max(scope);
            }
            None if is_required => {
                let hint = near_hint(search.file(), anchor, after);
                return Err(format!(
                    "the hunk at line {} of the diff follows {anchor:?}, which was not found in the file{hint}",
                    hunk.diff_line
                ));
            }
            None => {}
        }
    }
    Ok(after)
}

fn not_found(hunk: &Hunk<'_>, file: &[&str], old: &[&str], after: usize) -> String {
    let wanted = old.iter().find(|line| !line.trim().is_empty());
    let first = wanted.copied().unwrap_or_default();
    let hint = near_hint(file, first, after);
    format!(
        "the {} old lines of the hunk at line {} of the diff were not found in the file; they begin with {first:?}{hint}. View the file again and send the lines unchanged",
        old.len(),
        hunk.diff_line
    )
}

/// Position of a similar line, as a suffix of an error message.
fn near_hint(file: &[&str], line: &str, after: usize) -> String {
    let near = |(_, other): &(usize, &&str)| other.trim() == line.trim();
    match file.iter().enumerate().find(near) {
        Some((at, _)) if at < after => format!(" after line {after}, only at line {}", at + 1),
        Some((at, _)) => format!(", which is at line {}", at + 1),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{DiffStats, apply};

    #[test]
    fn added_and_removed_lines_are_counted() {
        let twice = apply("a\nb\na\nb\n", "@@\n-b\n+1\n@@\n-b\n+2\n+3\n");
        let stats = DiffStats {
            added: 3,
            removed: 2,
        };
        assert_eq!(twice, Ok(("a\n1\na\n2\n3\n".to_owned(), stats)));
    }

    #[test]
    fn a_diff_has_a_maximum_size() {
        let error = apply("a\n", &"+a\n".repeat(2_000_000)).unwrap_err();
        assert!(error.contains("in parts"), "{error}");
    }
}
