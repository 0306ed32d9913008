//! Diffs without line numbers, as OpenAI's `apply_patch` has them: `@@` lines say near which line,
//! the lines after them begin with a blank (is there), a minus (goes) or a plus (comes).
//!
//! Where the lines are not there letter by letter, they are looked for again without the blanks at
//! their ends, then without those at both ends. Lines that stay are kept as the file has them.

use super::lines::LineSearch;

/// Bytes of a diff; no model says so many at once.
const MAX_DIFF_BYTES: usize = 4 * 1024 * 1024;

/// How many lines came and went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiffStats {
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

const END_OF_FILE: &str = "*** End of File";
/// Lines that some models put around the diff of a file.
const ENVELOPE: [&str; 4] = [
    "*** Begin Patch",
    "*** End Patch",
    "*** Update File:",
    "*** Add File:",
];

/// The text of a new file: every line of the diff begins with a plus.
///
/// # Errors
/// With a sentence for the model that names the first line that does not.
pub(crate) fn new_file(diff: &str) -> Result<String, String> {
    let mut text = String::new();
    for (at, line) in lines_of(diff).enumerate() {
        if is_envelope(line) || line == END_OF_FILE {
            continue;
        }
        let Some(line) = line.strip_prefix('+') else {
            return Err(format!(
                "line {} of the diff does not begin with `+`, as every line of a new file does: {line:?}",
                at + 1
            ));
        };
        text.push_str(line);
        text.push('\n');
    }
    Ok(text)
}

/// The text after the change.
///
/// # Errors
/// With a sentence for the model: which part of the diff does not fit, and where it nearly does.
pub(crate) fn apply(text: &str, diff: &str) -> Result<(String, DiffStats), String> {
    if diff.len() > MAX_DIFF_BYTES {
        return Err(format!(
            "the diff has {} bytes, and {MAX_DIFF_BYTES} is the most; send it in parts",
            diff.len()
        ));
    }
    let parse_hunks = parse_hunks(diff)?;
    if parse_hunks.iter().all(|hunk| hunk.lines.is_empty()) {
        return Err("the diff changes nothing: it has no line that begins with `+` or `-`".into());
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

/// Lines that stand together.
#[derive(Default)]
struct Hunk<'a> {
    /// The line of the diff where it begins, from 1.
    diff_line: usize,
    /// Lines of the file after which it stands, each after the one before.
    anchors: Vec<&'a str>,
    lines: Vec<DiffLine<'a>>,
    /// Its last line is the file's.
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
                    "line {} of the diff begins with none of ` `, `-`, `+` and `@@`: {line:?}",
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

/// What a line says that begins with `@@`; an empty one only begins a section.
fn anchor(line: &str) -> Option<Option<&str>> {
    let rest = line.strip_prefix("@@")?;
    let anchor = rest.strip_prefix(' ').unwrap_or(rest);
    Some(Some(anchor).filter(|anchor| !anchor.trim().is_empty()))
}

/// An empty line is an empty line that stays: models leave the blank before it out.
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
    /// The lines that have to be there.
    fn old(&self) -> Vec<&'a str> {
        let old = |parse_line: &DiffLine<'a>| match parse_line {
            DiffLine::Context(line) | DiffLine::Removed(line) => Some(*line),
            DiffLine::Added(_) => None,
        };
        self.lines.iter().filter_map(old).collect()
    }

    /// What is looked for: each anchor, then the old lines.
    fn runs(&self) -> impl Iterator<Item = Vec<&'a str>> {
        let anchors = self.anchors.iter().map(|anchor| vec![*anchor]);
        anchors.chain([self.old()])
    }

    /// Where its old lines begin in the file, not before `from`; `run` is the first of its runs.
    fn position(&self, lines: &LineSearch<'_>, run: usize, from: usize) -> Result<usize, String> {
        let file = lines.file();
        let mut after = from;
        for (at, anchor) in self.anchors.iter().enumerate() {
            let found = lines.find(run + at, after);
            after = 1 + found.ok_or_else(|| {
                let hint = near_hint(file, anchor, after);
                format!(
                    "the part at line {} of the diff stands after {anchor:?}, which is not in the file{hint}",
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
            "the {} lines of the part at line {} of the diff are not in the file as they stand there; they begin with {first:?}{hint}. Look at the file again and send the lines as they are",
            old.len(),
            self.diff_line
        )
    }
}

/// Where a line is after all, or that it is nowhere.
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
