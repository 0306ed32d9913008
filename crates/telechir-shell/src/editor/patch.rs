//! Diffs without line numbers, in the format of OpenAI's `apply_patch`: `@@` lines narrow the
//! position, other lines begin with a space (context), a minus (removed) or a plus (added).
//!
//! Lines without an exact match are searched again without trailing whitespace, then without
//! leading and trailing whitespace. Context lines keep the file's whitespace.

use super::lines::LineSearch;

/// Maximum size of a diff in bytes; larger than any model's output.
const MAX_DIFF_BYTES: usize = 4 * 1024 * 1024;

/// Number of added and removed lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiffStats {
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

const END_OF_FILE: &str = "*** End of File";
/// Lines that some models put around the diff of a file; ignored.
const ENVELOPE: [&str; 4] = [
    "*** Begin Patch",
    "*** End Patch",
    "*** Update File:",
    "*** Add File:",
];

/// The text of a new file, in whose diff every line begins with a plus.
///
/// # Errors
/// A message for the model with the first other line.
pub(crate) fn new_file(diff: &str) -> Result<String, String> {
    let mut text = String::new();
    for (at, line) in lines_of(diff).enumerate() {
        if is_envelope(line) || line == END_OF_FILE {
            continue;
        }
        let Some(line) = line.strip_prefix('+') else {
            return Err(format!(
                "line {} of the diff does not begin with `+`, which every line of a new file needs: {line:?}",
                at + 1
            ));
        };
        text.push_str(line);
        text.push('\n');
    }
    Ok(text)
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
    let parse_hunks = parse_hunks(diff)?;
    if parse_hunks.iter().all(|hunk| hunk.lines.is_empty()) {
        return Err("the diff changes nothing: no line begins with `+` or `-`".into());
    }
    let file: Vec<&str> = text.split_inclusive('\n').collect();
    let bare: Vec<&str> = file.iter().map(|line| bare(line)).collect();
    let ending = if file.first().is_some_and(|line| line.ends_with("\r\n")) {
        "\r\n"
    } else {
        "\n"
    };
    let mut out = String::with_capacity(text.len() + diff.len());
    let lines = LineSearch::new(&bare, parse_hunks.iter().flat_map(Hunk::runs).collect());
    let (mut copied, mut stats) = (0, DiffStats::default());
    let mut run = 0;
    for hunk in &parse_hunks {
        let at = hunk.position(&lines, run, copied)?;
        run += hunk.anchors.len() + 1;
        push_lines(&mut out, &file[copied..at]);
        let mut line = at;
        for parse_line in &hunk.lines {
            match parse_line {
                DiffLine::Context(_) => {
                    push_lines(&mut out, &file[line..=line]);
                    line += 1;
                }
                DiffLine::Removed(_) => {
                    line += 1;
                    stats.removed += 1;
                }
                DiffLine::Added(new) => {
                    if !out.is_empty() && !out.ends_with('\n') {
                        out.push_str(ending);
                    }
                    out.push_str(new);
                    out.push_str(ending);
                    stats.added += 1;
                }
            }
        }
        copied = line;
    }
    push_lines(&mut out, &file[copied..]);
    Ok((out, stats))
}

fn push_lines(out: &mut String, lines: &[&str]) {
    for line in lines {
        out.push_str(line);
    }
}

fn bare(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

fn lines_of(diff: &str) -> impl Iterator<Item = &str> {
    diff.split_inclusive('\n').map(bare)
}

fn is_envelope(line: &str) -> bool {
    ENVELOPE.iter().any(|around| line.starts_with(around))
}

enum DiffLine<'a> {
    Context(&'a str),
    Removed(&'a str),
    Added(&'a str),
}

/// A group of adjacent lines.
#[derive(Default)]
struct Hunk<'a> {
    /// Its first line in the diff, from 1.
    diff_line: usize,
    /// Lines of the file that precede it, each after the previous one.
    anchors: Vec<&'a str>,
    lines: Vec<DiffLine<'a>>,
    /// Whether its last line must be the file's last.
    at_end: bool,
}

fn parse_hunks(diff: &str) -> Result<Vec<Hunk<'_>>, String> {
    let mut parse_hunks: Vec<Hunk<'_>> = Vec::new();
    let mut current = Hunk::default();
    for (at, line) in lines_of(diff).enumerate() {
        if is_envelope(line) {
            continue;
        }
        if let Some(anchor) = anchor(line) {
            if !current.lines.is_empty() {
                parse_hunks.push(std::mem::take(&mut current));
            }
            current.anchors.extend(anchor);
        } else if line == END_OF_FILE {
            current.at_end = true;
            parse_hunks.push(std::mem::take(&mut current));
            continue;
        } else {
            current.lines.push(parse_line(line).ok_or_else(|| {
                format!(
                    "line {} of the diff must begin with a space, `-`, `+` or `@@`: {line:?}",
                    at + 1
                )
            })?);
        }
        if current.diff_line == 0 {
            current.diff_line = at + 1;
        }
    }
    if !current.lines.is_empty() {
        parse_hunks.push(current);
    }
    Ok(parse_hunks)
}

/// The text of an `@@` line; `Some(None)` if it only starts a hunk.
fn anchor(line: &str) -> Option<Option<&str>> {
    let rest = line.strip_prefix("@@")?;
    let anchor = rest.strip_prefix(' ').unwrap_or(rest);
    Some(Some(anchor).filter(|anchor| !anchor.trim().is_empty()))
}

/// Parses a line. An empty line is an empty context line: models omit its leading space.
fn parse_line(line: &str) -> Option<DiffLine<'_>> {
    let Some(first) = line.chars().next() else {
        return Some(DiffLine::Context(""));
    };
    let rest = &line[first.len_utf8()..];
    match first {
        ' ' => Some(DiffLine::Context(rest)),
        '-' => Some(DiffLine::Removed(rest)),
        '+' => Some(DiffLine::Added(rest)),
        _ => None,
    }
}

impl<'a> Hunk<'a> {
    /// The lines that must be in the file.
    fn old(&self) -> Vec<&'a str> {
        let old = |parse_line: &DiffLine<'a>| match parse_line {
            DiffLine::Context(line) | DiffLine::Removed(line) => Some(*line),
            DiffLine::Added(_) => None,
        };
        self.lines.iter().filter_map(old).collect()
    }

    /// The runs to search: each anchor, then the old lines.
    fn runs(&self) -> impl Iterator<Item = Vec<&'a str>> {
        let anchors = self.anchors.iter().map(|anchor| vec![*anchor]);
        anchors.chain([self.old()])
    }

    /// Position of its old lines in the file, at or after `from`; `run` is the index of its first
    /// run.
    fn position(&self, lines: &LineSearch<'_>, run: usize, from: usize) -> Result<usize, String> {
        let file = lines.file();
        let mut after = from;
        for (at, anchor) in self.anchors.iter().enumerate() {
            let found = lines.find(run + at, after);
            after = 1 + found.ok_or_else(|| {
                let hint = near_hint(file, anchor, after);
                format!(
                    "the hunk at line {} of the diff follows {anchor:?}, which was not found in the file{hint}",
                    self.diff_line
                )
            })?;
        }
        let run = run + self.anchors.len();
        let old = lines.run(run);
        if old.is_empty() {
            let at_anchor = !self.anchors.is_empty() && !self.at_end;
            return Ok(if at_anchor { after } else { file.len() });
        }
        if self.at_end {
            let last = file.len().checked_sub(old.len()).filter(|at| *at >= after);
            if let Some(at) = last.filter(|at| lines.is_at(run, *at)) {
                return Ok(at);
            }
        }
        let found = lines.find(run, after);
        found.ok_or_else(|| self.not_found(file, old, after))
    }

    fn not_found(&self, file: &[&str], old: &[&str], after: usize) -> String {
        let wanted = old.iter().find(|line| !line.trim().is_empty());
        let first = wanted.copied().unwrap_or_default();
        let hint = near_hint(file, first, after);
        format!(
            "the {} old lines of the hunk at line {} of the diff were not found in the file; they begin with {first:?}{hint}. View the file again and send the lines unchanged",
            old.len(),
            self.diff_line
        )
    }
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
    use super::{DiffStats, apply, new_file};

    #[track_caller]
    fn check(before: &str, diff: &str, after: &str) {
        assert_eq!(
            apply(before, diff).map(|(text, _)| text).as_deref(),
            Ok(after)
        );
    }

    #[test]
    fn lines_are_added_and_removed() {
        check("a\nb\nc\n", "@@\n a\n-b\n+B\n c\n", "a\nB\nc\n");
        check("a\nb\nc\n", " a\n+x\n", "a\nx\nb\nc\n");
        check("a\n", "-a\n", "");
        let twice = apply("a\nb\na\nb\n", "@@\n-b\n+1\n@@\n-b\n+2\n+3\n");
        let stats = DiffStats {
            added: 3,
            removed: 2,
        };
        assert_eq!(twice, Ok(("a\n1\na\n2\n3\n".to_owned(), stats)));
    }

    #[test]
    fn anchors_narrow_the_position() {
        let file = "class A\n def f\n  pass\nclass B\n def f\n  pass\n";
        let diff = "@@ class B\n@@  def f\n-  pass\n+  return\n";
        check(
            file,
            diff,
            "class A\n def f\n  pass\nclass B\n def f\n  return\n",
        );
        check("a\nb\n", "@@ a\n+x\n", "a\nx\nb\n");
    }

    #[test]
    fn a_hunk_can_be_anchored_at_the_end() {
        check("x\ny\nx\n", "@@\n-x\n+z\n*** End of File\n", "x\ny\nz\n");
        check("a", "+b\n*** End of File", "a\nb\n");
        check("", "+b\n", "b\n");
    }

    #[test]
    fn whitespace_differences_are_tolerated_and_preserved() {
        check("a  \n\tb\nc\n", " a\n b\n-c\n+C\n", "a  \n\tb\nC\n");
        check("a\n\nb\n", " a\n\n-b\n+B\n", "a\n\nB\n");
    }

    #[test]
    fn line_endings_of_the_file_are_preserved() {
        check("a\r\nb\r\n", " a\n-b\n+B\n", "a\r\nB\r\n");
        check("a\r\nb\r\n", " a\r\n+x\r\n", "a\r\nx\r\nb\r\n");
        check("a\nb", "-a\n+A\n", "A\nb");
    }

    #[test]
    fn a_mismatch_is_reported_with_its_diff_line() {
        for (file, diff, expected) in [
            ("a\nb\n", " x\n-y\n+z\n", "\"x\""),
            ("a\nb\n", "@@\n-b\n+B\n@@\n-a\n+A\n", "only at line 1"),
            ("a\n", "@@ nowhere\n-a\n", "\"nowhere\""),
            ("a\n", "?a\n", "line 1 of the diff"),
            ("a\n", "", "changes nothing"),
            ("a\n", &"+a\n".repeat(2_000_000), "in parts"),
        ] {
            let error = apply(file, diff).err().unwrap_or_default();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn every_line_of_a_new_file_begins_with_a_plus() {
        assert_eq!(new_file("+a\n+\n+b").as_deref(), Ok("a\n\nb\n"));
        assert!(new_file("+a\nb").is_err_and(|error| error.contains("line 2")));
    }
}
