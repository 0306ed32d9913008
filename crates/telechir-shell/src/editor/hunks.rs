//! Parses diffs in the format of OpenAI's `apply_patch`: `@@` lines narrow the position, other
//! lines begin with a space (context), a minus (removed) or a plus (added).
//!
//! The headers of unified diffs and the lines around a patch are accepted, as models write them.

const BEGIN_PATCH: &str = "*** Begin Patch";
const END_PATCH: &str = "*** End Patch";
const END_OF_FILE: &str = "*** End of File";
const MOVE_TO: &str = "*** Move to:";
const DELETE_FILE: &str = "*** Delete File:";
const FILE_NAMES: [&str; 3] = ["*** Update File:", "*** Add File:", DELETE_FILE];

#[derive(Debug)]
pub(crate) enum DiffLine<'a> {
    Context(&'a str),
    Removed(&'a str),
    Added(&'a str),
}

/// A group of adjacent lines.
#[derive(Debug, Default)]
pub(crate) struct Hunk<'a> {
    /// Its first line in the diff, from 1.
    pub(crate) diff_line: usize,
    /// Number of its `@@` lines without line numbers.
    pub(crate) headers: usize,
    /// Lines of the file that precede it, each after the previous one.
    pub(crate) anchors: Vec<&'a str>,
    /// Number of lines before it, from the header of a unified diff.
    pub(crate) lines_before: Option<usize>,
    pub(crate) lines: Vec<DiffLine<'a>>,
    /// Whether its last line must be the file's last.
    pub(crate) is_at_end: bool,
}

impl<'a> Hunk<'a> {
    /// The lines that must be in the file.
    pub(crate) fn old(&self) -> Vec<&'a str> {
        let old = |line: &DiffLine<'a>| match line {
            DiffLine::Context(line) | DiffLine::Removed(line) => Some(*line),
            DiffLine::Added(_) => None,
        };
        self.lines.iter().filter_map(old).collect()
    }

    /// The lines that it adds.
    pub(crate) fn added(&self) -> impl Iterator<Item = &'a str> {
        self.lines.iter().filter_map(|line| match line {
            DiffLine::Added(line) => Some(*line),
            DiffLine::Context(_) | DiffLine::Removed(_) => None,
        })
    }

    fn add_header(&mut self, header: &'a str) {
        if let Some(before) = lines_before(header) {
            self.lines_before = Some(before);
            return;
        }
        let anchor = header.strip_prefix("@@").unwrap_or(header);
        let anchor = anchor.strip_prefix(' ').unwrap_or(anchor);
        self.headers += 1;
        self.anchors
            .extend(Some(anchor).filter(|anchor| !anchor.trim().is_empty()));
    }
}

/// The lines of a new file, in whose diff every line begins with a plus.
///
/// # Errors
/// A message for the model with the first other line.
pub(crate) fn new_lines<'a>(diff: &'a str) -> Result<Vec<&'a str>, String> {
    let new = |(number, line): (usize, &'a str)| {
        line.strip_prefix('+').ok_or_else(|| {
            format!(
                "line {number} of the diff does not begin with `+`, which every line of a new file needs: {line:?}"
            )
        })
    };
    let lines = diff_lines(diff)?.into_iter();
    lines
        .filter(|(_, line)| line.trim_end() != END_OF_FILE)
        .map(new)
        .collect()
}

/// Parses the diff of an existing file.
///
/// # Errors
/// A message for the model with the first line that is not part of a diff of one file.
pub(crate) fn parse(diff: &str) -> Result<Vec<Hunk<'_>>, String> {
    let lines = diff_lines(diff)?;
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    let mut current = Hunk::default();
    for &(number, line) in without_file_names(&lines) {
        if line.starts_with("@@") {
            if !current.lines.is_empty() {
                hunks.push(std::mem::take(&mut current));
            }
            current.add_header(line);
        } else if line.trim_end() == END_OF_FILE {
            current.is_at_end = true;
            hunks.push(std::mem::take(&mut current));
            continue;
        } else {
            current.lines.push(parse_line(line).ok_or_else(|| {
                format!(
                    "line {number} of the diff must begin with a space, `-`, `+` or `@@`: {line:?}"
                )
            })?);
        }
        if current.diff_line == 0 {
            current.diff_line = number;
        }
    }
    if !current.lines.is_empty() {
        hunks.push(current);
    }
    Ok(hunks)
}

/// The lines of a diff with their numbers, without those around a patch.
fn diff_lines(diff: &str) -> Result<Vec<(usize, &str)>, String> {
    let mut lines = Vec::new();
    let mut is_named = false;
    for (at, line) in diff.split_inclusive('\n').enumerate() {
        let line = line.strip_suffix('\n').unwrap_or(line);
        let (number, line) = (at + 1, line.trim_end_matches('\r'));
        let marker = line.trim_end();
        if marker == END_PATCH {
            break;
        }
        if FILE_NAMES.iter().any(|name| line.starts_with(name)) {
            if is_named || !lines.is_empty() || line.starts_with(DELETE_FILE) {
                return Err(format!(
                    "line {number} of the diff begins another file: {line:?}; a diff changes one file, so send one operation per file"
                ));
            }
            is_named = true;
        } else if line.starts_with(MOVE_TO) {
            return Err(format!(
                "line {number} of the diff moves the file: {line:?}; a diff cannot do that, so create the new file and delete the old one"
            ));
        } else if marker != BEGIN_PATCH || !lines.is_empty() {
            lines.push((number, line));
        }
    }
    Ok(lines)
}

/// The lines after the file names of a unified diff, if it has some.
fn without_file_names<'l, 'a>(lines: &'l [(usize, &'a str)]) -> &'l [(usize, &'a str)] {
    let is_git = |line: &str| line.starts_with("diff --git ") || line.starts_with("index ");
    let start = lines.iter().take_while(|(_, line)| is_git(line)).count();
    match &lines[start..] {
        [(_, old), (_, new), hunks @ ..]
            if old.starts_with("--- ")
                && new.starts_with("+++ ")
                && hunks
                    .first()
                    .is_some_and(|(_, header)| lines_before(header).is_some()) =>
        {
            hunks
        }
        _ => lines,
    }
}

/// Number of lines before a hunk, from a header such as `@@ -3,2 +3,4 @@`.
fn lines_before(header: &str) -> Option<usize> {
    let (old, rest) = header.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _section) = rest.split_once(" @@")?;
    line_range(new)?;
    let (first, count) = line_range(old)?;
    // A range without lines is named by the line before it.
    Some(if count == 0 {
        first
    } else {
        first.saturating_sub(1)
    })
}

fn line_range(range: &str) -> Option<(usize, usize)> {
    match range.split_once(',') {
        Some((first, count)) => Some((first.parse().ok()?, count.parse().ok()?)),
        None => Some((range.parse().ok()?, 1)),
    }
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
