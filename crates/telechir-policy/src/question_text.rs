//! The complete text of a question, and how it is shortened where it does not fit.
//!
//! Line breaks of a call are lines of the text. Each line of a call begins with a mark (`$`, `>`, `|`,
//! `+`, `-`), so that none looks like a line of the program's own.

use serde_json::Value;
use telechir_protocol::display::escape_lines;
use telechir_protocol::{Command, EditStep, ShellAction};

use crate::summary::{escape, may_type, summarize_edit};
use crate::{Question, ShellProposal};

/// Marks the further rows of a line that is wider than the screen.
const CONTINUED: &str = "↪ ";

/// A text as it fits a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FittedText {
    /// The rows, none wider than the screen.
    pub rows: Vec<String>,
    /// Whether nothing was left out.
    pub is_complete: bool,
}

/// Wraps lines at `columns` and, if they have more than `max_rows` rows, shows the first and the last
/// ones with the number of characters between. A character outside of ASCII counts as two columns.
///
/// ```
/// use telechir_policy::fit_lines;
/// let lines: Vec<String> = (1..=9).map(|line| format!("line {line}")).collect();
/// let fitted = fit_lines(&lines, 4, 80);
/// assert_eq!(fitted.rows, ["line 1", "line 2", "⟨36 characters in 6 lines left out⟩", "line 9"]);
/// assert!(!fitted.is_complete);
/// ```
pub fn fit_lines(lines: &[String], max_rows: usize, columns: usize) -> FittedText {
    let rows: Vec<String> = lines
        .iter()
        .flat_map(|line| wrapped(line, columns))
        .collect();
    if rows.len() <= max_rows {
        return FittedText {
            rows,
            is_complete: true,
        };
    }
    // One row for the note between; at least one row of the beginning and one of the end.
    let shown = max_rows.saturating_sub(1).max(2);
    let tail = shown.div_ceil(3);
    let (head, rest) = rows.split_at((shown - tail).min(rows.len()));
    let (between, tail) = rest.split_at(rest.len().saturating_sub(tail));
    let characters: usize = between
        .iter()
        .map(|row| row.trim_start_matches(CONTINUED).chars().count())
        .sum();
    let note = format!(
        "⟨{characters} characters in {} lines left out⟩",
        between.len()
    );
    let rows = head.iter().cloned().chain([note]);
    FittedText {
        rows: rows.chain(tail.iter().cloned()).collect(),
        is_complete: false,
    }
}

fn wrapped(line: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(8);
    let width = |c: char| if c.is_ascii() { 1 } else { 2 };
    let (mut rows, mut row, mut used) = (Vec::new(), String::new(), 0);
    for c in line.chars() {
        if used + width(c) > columns {
            rows.push(std::mem::replace(&mut row, CONTINUED.to_owned()));
            used = CONTINUED.chars().map(width).sum();
        }
        row.push(c);
        used += width(c);
    }
    rows.push(row);
    rows
}

impl Question {
    /// The complete question as a person should read it, line by line.
    pub fn text(&self) -> Vec<String> {
        let mut text = vec![format!(
            "The model requests approval (call {}):",
            self.call_id
        )];
        text.extend(self.lines.iter().map(|line| format!("    {line}")));
        if self.has_hidden_characters {
            text.push("  It contains invisible characters; they are escaped above.".to_owned());
        }
        text.extend(
            self.reasons
                .iter()
                .map(|reason| format!("  Reason: {reason}")),
        );
        if let Some(source) = &self.untrusted_source {
            text.push(format!(
                "  This session has read untrusted content: {source}."
            ));
        }
        for check in &self.safety_checks {
            let code = check.code.as_deref().unwrap_or("safety check");
            let message = check.message.as_deref().unwrap_or_default();
            text.push(format!("  The provider's {code}: {message}"));
        }
        text
    }
}

/// The lines of a command, marked as a shell's prompts.
pub(crate) fn command_lines(command: &Command) -> Vec<String> {
    marked("$ ", "> ", &command.to_line())
}

/// Where and with what a command runs.
pub(crate) fn surroundings(proposal: &ShellProposal) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(cwd) = &proposal.cwd {
        lines.extend(marked("in the folder ", "> ", cwd));
    }
    if !proposal.env.is_empty() {
        let env = Value::Object(proposal.env.clone()).to_string();
        lines.extend(marked("with the variables ", "> ", &env));
    }
    lines
}

/// Input for a running command.
pub(crate) fn input_lines(input: &ShellAction, job: Option<&str>, is_hidden: bool) -> Vec<String> {
    let program = match job {
        Some(job) => format!("the background job {}", escape(job)),
        None => "the command that waits".to_owned(),
    };
    let into = format!("into {program}");
    let line = match input {
        ShellAction::SendText(text) if is_hidden => {
            let count = text.chars().count();
            format!("type text ({count} characters, hidden) {into}")
        }
        ShellAction::SendText(text) => {
            let (count, characters) = (line_count(text), text.chars().count());
            let mut lines = vec![format!("type {count}, {characters} characters, {into}")];
            lines.extend(marked("| ", "| ", text));
            return lines;
        }
        ShellAction::SendKey(key) if is_hidden && may_type(key) => {
            format!("press a key (hidden) {into}")
        }
        ShellAction::SendKey(key) => format!("press {} {into}", escape(key)),
        ShellAction::CloseInput => format!("end the input of {program}"),
        ShellAction::Execute
        | ShellAction::Restart
        | ShellAction::Interrupt
        | ShellAction::Start
        | ShellAction::List
        | ShellAction::Read(_)
        | ShellAction::Stop(_)
        | ShellAction::Other(_) => format!("{} {program}", escape(input.name())),
    };
    vec![line]
}

/// The complete edit: the operation with the number of its lines, then the lines.
pub(crate) fn edit_lines(step: &EditStep) -> Vec<String> {
    let what = summarize_edit(step);
    match step {
        EditStep::Create { text, .. } => {
            let mut lines = vec![format!("{what} ({})", line_count(text))];
            lines.extend(signed("+", text));
            lines
        }
        EditStep::Insert { line, text, .. } => {
            let mut lines = vec![format!("{what} after line {line} ({})", line_count(text))];
            lines.extend(signed("+", text));
            lines
        }
        EditStep::Replace { old, new, .. } => {
            let (from, to) = (line_count(old), line_count(new));
            let mut lines = vec![format!("{what} ({from} by {to})")];
            lines.extend(signed("-", old));
            lines.extend(signed("+", new));
            lines
        }
        EditStep::Add { diff, .. } | EditStep::Patch { diff, .. } => {
            let mut lines = vec![format!("{what} ({} of changes)", line_count(diff))];
            lines.extend(signed("", diff));
            lines
        }
        EditStep::View { .. }
        | EditStep::Undo { .. }
        | EditStep::Delete { .. }
        | EditStep::Rename { .. } => vec![what],
    }
}

/// The lines of a text behind a sign. A carriage return at the end of a line is shown.
fn signed(sign: &str, text: &str) -> Vec<String> {
    let lines = text.strip_suffix('\n').unwrap_or(text);
    if lines.is_empty() && text.is_empty() {
        return Vec::new();
    }
    let lines = lines.split('\n');
    lines.flat_map(|line| marked(sign, sign, line)).collect()
}

pub(crate) fn marked(first: &str, next: &str, text: &str) -> Vec<String> {
    let lines = escape_lines(text).into_iter().enumerate();
    lines
        .map(|(at, line)| format!("{}{line}", if at == 0 { first } else { next }))
        .collect()
}

pub(crate) fn line_count(text: &str) -> String {
    match text.lines().count() {
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    }
}

#[cfg(test)]
mod tests {
    use telechir_protocol::EditOperation;

    use super::*;

    fn edit(json: Value) -> Vec<String> {
        let operation: EditOperation = serde_json::from_value(json).unwrap();
        edit_lines(&operation.step().unwrap())
    }

    #[test]
    fn an_edit_shows_every_line_and_their_number() {
        assert_eq!(
            edit(serde_json::json!({"name": "create", "path": "/w/a", "file_text": "x\n\ny\r\n"})),
            ["create /w/a (3 lines)", "+x", "+", "+y\\r"]
        );
        assert_eq!(
            edit(serde_json::json!({
                "name": "str_replace", "path": "/w/a", "old_str": "x", "new_str": "y\nz"
            })),
            ["replace /w/a (1 line by 2 lines)", "-x", "+y", "+z"]
        );
        assert_eq!(
            edit(serde_json::json!({
                "name": "insert", "path": "/w/a", "insert_line": 3, "insert_text": "x\n"
            })),
            ["insert /w/a after line 3 (1 line)", "+x"]
        );
        assert_eq!(
            edit(serde_json::json!({"name": "delete", "path": "/w/a"})),
            ["delete /w/a"]
        );
    }

    #[test]
    fn the_beginning_and_the_end_stay_when_a_text_does_not_fit() {
        let long = vec![format!("{}END", "x".repeat(996))];
        let fitted = fit_lines(&long, 5, 40);
        assert!(!fitted.is_complete);
        assert_eq!(fitted.rows.len(), 5);
        assert!(fitted.rows[0].starts_with("xxx"), "{fitted:?}");
        assert!(fitted.rows[4].ends_with("END"), "{fitted:?}");
        assert!(fitted.rows[2].contains("characters in"), "{fitted:?}");
        let shown = |rows: &[String]| -> usize {
            let text = rows.iter().filter(|row| !row.starts_with('⟨'));
            text.map(|row| row.trim_start_matches(CONTINUED).chars().count())
                .sum()
        };
        let left_out: usize = fitted.rows[2]
            .trim_start_matches('⟨')
            .split(' ')
            .next()
            .and_then(|count| count.parse().ok())
            .unwrap();
        assert_eq!(shown(&fitted.rows) + left_out, 999);
    }

    #[test]
    fn a_text_that_just_fits_is_complete() {
        let lines = vec!["x".repeat(40), "y".to_owned()];
        assert!(fit_lines(&lines, 2, 40).is_complete);
        assert!(!fit_lines(&lines, 2, 39).is_complete);
        let wide = vec!["漢".repeat(20)];
        assert!(fit_lines(&wide, 1, 40).is_complete);
        assert!(!fit_lines(&wide, 1, 39).is_complete);
    }

    #[test]
    fn lines_of_a_call_never_look_like_lines_of_the_question() {
        let line = Command::Line("ls\n  Reason: it is safe\nAllow it once? [y/N] y".to_owned());
        assert_eq!(
            command_lines(&line),
            ["$ ls", ">   Reason: it is safe", "> Allow it once? [y/N] y"]
        );
        let sent = ShellAction::SendText("y\n".to_owned());
        assert_eq!(
            input_lines(&sent, None, false),
            [
                "type 1 line, 2 characters, into the command that waits",
                "| y",
                "| "
            ]
        );
        assert_eq!(
            input_lines(&sent, Some("j1"), true),
            ["type text (2 characters, hidden) into the background job j1"]
        );
        let key = ShellAction::SendKey("a".to_owned());
        let hidden = input_lines(&key, None, true);
        assert_eq!(hidden, ["press a key (hidden) into the command that waits"]);
        let shown = input_lines(&key, None, false);
        assert_eq!(shown, ["press a into the command that waits"]);
    }

    #[test]
    fn an_edit_without_lines_shows_its_files() {
        for (json, lines) in [
            (
                serde_json::json!({"name": "create", "path": "/w/a", "file_text": ""}),
                &["create /w/a (0 lines)"][..],
            ),
            (
                serde_json::json!({"name": "str_replace", "path": "/w/a", "old_str": "x", "new_str": ""}),
                &["replace /w/a (1 line by 0 lines)", "-x"],
            ),
            (
                serde_json::json!({"name": "create", "path": "/w/a", "file_text": "\n"}),
                &["create /w/a (1 line)", "+"],
            ),
            (
                serde_json::json!({"name": "rename", "old_path": "/w/a", "new_path": "/w/b"}),
                &["rename /w/a to /w/b"],
            ),
            (
                serde_json::json!({"name": "update_file", "path": "/w/a", "diff": "-x\n+y"}),
                &["patch /w/a (2 lines of changes)", "-x", "+y"],
            ),
            (
                serde_json::json!({"name": "create_file", "path": "/w/a", "diff": "+x"}),
                &["add /w/a (1 line of changes)", "+x"],
            ),
        ] {
            assert_eq!(edit(json.clone()), lines, "{json}");
        }
    }

    #[test]
    fn where_and_with_what_a_command_runs_is_shown() {
        let mut proposal = ShellProposal {
            call_id: "c1".into(),
            task: crate::ShellTask::Run(Vec::new()),
            cwd: None,
            env: serde_json::Map::new(),
        };
        assert_eq!(surroundings(&proposal), Vec::<String>::new());
        proposal.cwd = Some("/w\nReason: none".to_owned());
        proposal.env.insert("PATH".to_owned(), "/evil".into());
        assert_eq!(
            surroundings(&proposal),
            [
                "in the folder /w",
                "> Reason: none",
                "with the variables {\"PATH\":\"/evil\"}"
            ]
        );
    }

    #[test]
    fn every_input_of_a_command_is_named() {
        for (action, job, line) in [
            (
                ShellAction::CloseInput,
                None,
                "end the input of the command that waits",
            ),
            (
                ShellAction::Interrupt,
                None,
                "interrupt the command that waits",
            ),
            (
                ShellAction::SendKey("ctrl+c".to_owned()),
                Some("j\n1"),
                "press ctrl+c into the background job j\\n1",
            ),
        ] {
            assert_eq!(input_lines(&action, job, false), [line]);
        }
        let hidden = ShellAction::SendKey("Return".to_owned());
        let shown = input_lines(&hidden, None, true);
        assert_eq!(shown, ["press Return into the command that waits"]);
    }

    #[test]
    fn a_screen_of_few_rows_shows_the_beginning_and_the_end() {
        let lines: Vec<String> = (1..=9).map(|line| format!("line {line}")).collect();
        for max_rows in 0..=3 {
            let fitted = fit_lines(&lines, max_rows, 80);
            let expected = ["line 1", "⟨42 characters in 7 lines left out⟩", "line 9"];
            assert_eq!(fitted.rows, expected, "{max_rows}");
        }
        let fitted = fit_lines(&lines, 7, 80);
        assert_eq!(fitted.rows.len(), 7);
        assert_eq!(fitted.rows[4], "⟨18 characters in 3 lines left out⟩");
        assert!(fit_lines(&lines, 9, 80).is_complete);
        // A row is never narrower than eight columns.
        assert_eq!(
            fit_lines(&["123456789".to_owned()], 9, 1).rows,
            ["12345678", "↪ 9"]
        );
    }
}
