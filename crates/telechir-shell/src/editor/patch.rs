//! Diffs without line numbers, as OpenAI's `apply_patch` has them: `@@` lines say near which line,
//! the lines after them begin with a blank (is there), a minus (goes) or a plus (comes).
//!
//! Where the lines are not there letter by letter, they are looked for again without the blanks at
//! their ends, then without those at both ends. Lines that stay are kept as the file has them.

use super::lines::Lines;

/// Bytes of a diff; no model says so many at once.
const MAX_DIFF: usize = 4 * 1024 * 1024;

/// How many lines came and went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

const END_OF_FILE: &str = "*** End of File";
/// Lines that some models put around the diff of a file.
const AROUND: [&str; 4] = [
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
        if is_around(line) || line == END_OF_FILE {
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
pub(crate) fn apply(text: &str, diff: &str) -> Result<(String, Change), String> {
    if diff.len() > MAX_DIFF {
        return Err(format!(
            "the diff has {} bytes, and {MAX_DIFF} is the most; send it in parts",
            diff.len()
        ));
    }
    let sections = sections(diff)?;
    if sections.iter().all(|section| section.lines.is_empty()) {
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
    let lines = Lines::new(&bare, sections.iter().flat_map(Section::runs).collect());
    let (mut done, mut change) = (0, Change::default());
    let mut run = 0;
    for section in &sections {
        let at = section.place(&lines, run, done)?;
        run += section.anchors.len() + 1;
        keep(&mut out, &file[done..at]);
        let mut line = at;
        for part in &section.lines {
            match part {
                Part::Stays(_) => {
                    keep(&mut out, &file[line..=line]);
                    line += 1;
                }
                Part::Goes(_) => {
                    line += 1;
                    change.removed += 1;
                }
                Part::Comes(new) => {
                    if !out.is_empty() && !out.ends_with('\n') {
                        out.push_str(ending);
                    }
                    out.push_str(new);
                    out.push_str(ending);
                    change.added += 1;
                }
            }
        }
        done = line;
    }
    keep(&mut out, &file[done..]);
    Ok((out, change))
}

fn keep(out: &mut String, lines: &[&str]) {
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

fn is_around(line: &str) -> bool {
    AROUND.iter().any(|around| line.starts_with(around))
}

enum Part<'a> {
    Stays(&'a str),
    Goes(&'a str),
    Comes(&'a str),
}

/// Lines that stand together.
#[derive(Default)]
struct Section<'a> {
    /// The line of the diff where it begins, from 1.
    number: usize,
    /// Lines of the file after which it stands, each after the one before.
    anchors: Vec<&'a str>,
    lines: Vec<Part<'a>>,
    /// Its last line is the file's.
    at_end: bool,
}

fn sections(diff: &str) -> Result<Vec<Section<'_>>, String> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    let mut open = Section::default();
    for (at, line) in lines_of(diff).enumerate() {
        if is_around(line) {
            continue;
        }
        if let Some(anchor) = anchor(line) {
            if !open.lines.is_empty() {
                sections.push(std::mem::take(&mut open));
            }
            open.anchors.extend(anchor);
        } else if line == END_OF_FILE {
            open.at_end = true;
            sections.push(std::mem::take(&mut open));
            continue;
        } else {
            open.lines.push(part(line).ok_or_else(|| {
                format!(
                    "line {} of the diff begins with none of ` `, `-`, `+` and `@@`: {line:?}",
                    at + 1
                )
            })?);
        }
        if open.number == 0 {
            open.number = at + 1;
        }
    }
    if !open.lines.is_empty() {
        sections.push(open);
    }
    Ok(sections)
}

/// What a line says that begins with `@@`; an empty one only begins a section.
fn anchor(line: &str) -> Option<Option<&str>> {
    let rest = line.strip_prefix("@@")?;
    let anchor = rest.strip_prefix(' ').unwrap_or(rest);
    Some(Some(anchor).filter(|anchor| !anchor.trim().is_empty()))
}

/// An empty line is an empty line that stays: models leave the blank before it out.
fn part(line: &str) -> Option<Part<'_>> {
    let Some(first) = line.chars().next() else {
        return Some(Part::Stays(""));
    };
    let rest = &line[first.len_utf8()..];
    match first {
        ' ' => Some(Part::Stays(rest)),
        '-' => Some(Part::Goes(rest)),
        '+' => Some(Part::Comes(rest)),
        _ => None,
    }
}

impl<'a> Section<'a> {
    /// The lines that have to be there.
    fn old(&self) -> Vec<&'a str> {
        let old = |part: &Part<'a>| match part {
            Part::Stays(line) | Part::Goes(line) => Some(*line),
            Part::Comes(_) => None,
        };
        self.lines.iter().filter_map(old).collect()
    }

    /// What is looked for: each anchor, then the old lines.
    fn runs(&self) -> impl Iterator<Item = Vec<&'a str>> {
        let anchors = self.anchors.iter().map(|anchor| vec![*anchor]);
        anchors.chain([self.old()])
    }

    /// Where its old lines begin in the file, not before `from`; `run` is the first of its runs.
    fn place(&self, lines: &Lines<'_>, run: usize, from: usize) -> Result<usize, String> {
        let file = lines.file();
        let mut after = from;
        for (at, anchor) in self.anchors.iter().enumerate() {
            let found = lines.find(run + at, after);
            after = 1 + found.ok_or_else(|| {
                let hint = elsewhere(file, anchor, after);
                format!(
                    "the part at line {} of the diff stands after {anchor:?}, which is not in the file{hint}",
                    self.number
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
        found.ok_or_else(|| self.not_there(file, old, after))
    }

    fn not_there(&self, file: &[&str], old: &[&str], after: usize) -> String {
        let wanted = old.iter().find(|line| !line.trim().is_empty());
        let first = wanted.copied().unwrap_or_default();
        let hint = elsewhere(file, first, after);
        format!(
            "the {} lines of the part at line {} of the diff are not in the file as they stand there; they begin with {first:?}{hint}. Look at the file again and send the lines as they are",
            old.len(),
            self.number
        )
    }
}

/// Where a line is after all, or that it is nowhere.
fn elsewhere(file: &[&str], line: &str, after: usize) -> String {
    let near = |(_, other): &(usize, &&str)| other.trim() == line.trim();
    match file.iter().enumerate().find(near) {
        Some((at, _)) if at < after => format!(" after line {after}, only at line {}", at + 1),
        Some((at, _)) => format!(", which is at line {}", at + 1),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, apply, new_file};

    #[track_caller]
    fn check(before: &str, diff: &str, after: &str) {
        assert_eq!(
            apply(before, diff).map(|(text, _)| text).as_deref(),
            Ok(after)
        );
    }

    #[test]
    fn lines_go_and_come_where_they_stand() {
        check("a\nb\nc\n", "@@\n a\n-b\n+B\n c\n", "a\nB\nc\n");
        check("a\nb\nc\n", " a\n+x\n", "a\nx\nb\nc\n");
        check("a\n", "-a\n", "");
        let twice = apply("a\nb\na\nb\n", "@@\n-b\n+1\n@@\n-b\n+2\n+3\n");
        let change = Change {
            added: 3,
            removed: 2,
        };
        assert_eq!(twice, Ok(("a\n1\na\n2\n3\n".to_owned(), change)));
    }

    #[test]
    fn anchors_narrow_down_and_stack() {
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
    fn the_end_of_the_file_is_a_place() {
        check("x\ny\nx\n", "@@\n-x\n+z\n*** End of File\n", "x\ny\nz\n");
        check("a", "+b\n*** End of File", "a\nb\n");
        check("", "+b\n", "b\n");
    }

    #[test]
    fn blanks_at_the_ends_do_not_matter_and_stay_as_they_are() {
        check("a  \n\tb\nc\n", " a\n b\n-c\n+C\n", "a  \n\tb\nC\n");
        check("a\n\nb\n", " a\n\n-b\n+B\n", "a\n\nB\n");
    }

    #[test]
    fn line_ends_of_the_file_are_kept() {
        check("a\r\nb\r\n", " a\n-b\n+B\n", "a\r\nB\r\n");
        check("a\r\nb\r\n", " a\r\n+x\r\n", "a\r\nx\r\nb\r\n");
        check("a\nb", "-a\n+A\n", "A\nb");
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_place() {
        for (file, diff, words) in [
            ("a\nb\n", " x\n-y\n+z\n", "\"x\""),
            ("a\nb\n", "@@\n-b\n+B\n@@\n-a\n+A\n", "only at line 1"),
            ("a\n", "@@ nowhere\n-a\n", "\"nowhere\""),
            ("a\n", "?a\n", "line 1 of the diff"),
            ("a\n", "", "changes nothing"),
            ("a\n", &"+a\n".repeat(2_000_000), "in parts"),
        ] {
            let error = apply(file, diff).err().unwrap_or_default();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_new_file_is_all_pluses() {
        assert_eq!(new_file("+a\n+\n+b").as_deref(), Ok("a\n\nb\n"));
        assert!(new_file("+a\nb").is_err_and(|error| error.contains("line 2")));
    }
}
