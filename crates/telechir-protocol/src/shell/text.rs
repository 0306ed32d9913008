//! A command's output as one text and back, exactly.

use super::{CommandOutput, ShellOutcome};

/// Trailers of the outcomes without an exit code.
const ENDING_NAMES: [(&str, ShellOutcome); 7] = [
    ("success", ShellOutcome::Success),
    ("error", ShellOutcome::Error),
    ("timeout", ShellOutcome::Timeout),
    ("cancelled", ShellOutcome::Cancelled),
    ("not started", ShellOutcome::NotStarted),
    ("awaiting input", ShellOutcome::AwaitingInput),
    ("running", ShellOutcome::Running),
];

impl CommandOutput {
    /// Both streams and the outcome as one text: standard output, then standard error under
    /// `[stderr]`, then `[exit 1]` or the name of the outcome. A success with only standard output
    /// is that output alone, unless it could be mistaken for more.
    ///
    /// [`Self::from_text`] restores both streams, the exit code and the outcome exactly. Signals,
    /// durations, byte counts, prompts and outcomes of other vocabularies are not included.
    ///
    /// ```
    /// use telechir_protocol::{CommandOutput, ShellOutcome};
    /// let output = CommandOutput {
    ///     stdout: "a\n".into(),
    ///     stderr: "no b\n".into(),
    ///     exit_code: Some(1),
    ///     outcome: ShellOutcome::Error,
    ///     ..CommandOutput::default()
    /// };
    /// assert_eq!(output.to_text(), "a\n[stderr]\nno b\n[exit 1]");
    /// ```
    pub fn to_text(&self) -> String {
        let plain = self.exit_code == Some(0) && self.outcome == ShellOutcome::Success;
        if plain && self.stderr.is_empty() && split_trailer(&self.stdout).is_none() {
            return self.stdout.clone();
        }
        let mark = self.mark();
        let mut text = String::new();
        section(&mut text, &self.stdout, &mark);
        if !self.stderr.is_empty() {
            text.push_str(&format!("[stderr{mark}]\n"));
            section(&mut text, &self.stderr, &mark);
        }
        text.push_str(&format!("[{}{mark}]", self.end()));
        text
    }

    /// Restores the output from its text. Any other text is the standard output of a success.
    pub fn from_text(text: &str) -> Self {
        let success = |stdout: &str| Self {
            stdout: stdout.to_owned(),
            exit_code: Some(0),
            ..Self::default()
        };
        let Some((body, end, mark)) = split_trailer(text) else {
            return success(text);
        };
        let header = format!("[stderr{mark}]\n");
        let (stdout, stderr) = match find_line(body, &header) {
            Some(index) => (&body[..index], &body[index + header.len()..]),
            None => (body, ""),
        };
        let (exit_code, outcome) = end;
        Self {
            stdout: unsection(stdout, mark),
            stderr: unsection(stderr, mark),
            exit_code,
            outcome,
            ..Self::default()
        }
    }

    /// The text of the last line: the exit code if the outcome follows from it.
    fn end(&self) -> String {
        let follows = |code| {
            if code == 0 {
                ShellOutcome::Success
            } else {
                ShellOutcome::Error
            }
        };
        let name = || match &self.outcome {
            ShellOutcome::Other(name) => name.as_str(),
            known @ (ShellOutcome::Success
            | ShellOutcome::Error
            | ShellOutcome::Timeout
            | ShellOutcome::Cancelled
            | ShellOutcome::NotStarted
            | ShellOutcome::AwaitingInput
            | ShellOutcome::Running) => ENDING_NAMES
                .iter()
                .find(|(_, outcome)| outcome == known)
                .map_or("", |(name, _)| name),
        };
        match self.exit_code {
            Some(code) if self.outcome == follows(code) => format!("exit {code}"),
            Some(code) => format!("{}, exit {code}", name()),
            None => name().to_owned(),
        }
    }

    /// The number of `'` that distinguishes the format's own lines from all lines of the output.
    fn mark(&self) -> String {
        let mut mark = String::new();
        while self.could_be_mistaken(&mark) {
            mark.push('\'');
        }
        mark
    }

    fn could_be_mistaken(&self, mark: &str) -> bool {
        let trailers = [format!("[stderr{mark}]"), format!("[no newline{mark}]")];
        let lines = self.stdout.lines().chain(self.stderr.lines());
        lines
            .into_iter()
            .any(|line| trailers.iter().any(|trailer| trailer == line))
    }
}

/// A stream whose last line is complete, or is marked as incomplete.
fn section(text: &mut String, stream: &str, mark: &str) {
    text.push_str(stream);
    if !stream.is_empty() && !stream.ends_with('\n') {
        text.push_str(&format!("\n[no newline{mark}]\n"));
    }
}

fn unsection(text: &str, mark: &str) -> String {
    let cut = text.strip_suffix(&format!("\n[no newline{mark}]\n"));
    cut.unwrap_or(text).to_owned()
}

fn find_line(text: &str, line: &str) -> Option<usize> {
    if text.starts_with(line) {
        return Some(0);
    }
    text.find(&format!("\n{line}")).map(|index| index + 1)
}

type Ending = (Option<i32>, ShellOutcome);

/// The text before the trailer, the trailer's meaning, and its mark.
fn split_trailer(text: &str) -> Option<(&str, Ending, &str)> {
    let start = text.rfind('\n').map_or(0, |newline| newline + 1);
    let inner = text[start..].strip_prefix('[')?.strip_suffix(']')?;
    let output_text = inner.trim_end_matches('\'');
    Some((
        &text[..start],
        parse_end(output_text)?,
        &inner[output_text.len()..],
    ))
}

fn parse_end(output_text: &str) -> Option<Ending> {
    if let Some(code) = output_text.strip_prefix("exit ") {
        let code: i32 = code.parse().ok()?;
        let outcome = if code == 0 {
            ShellOutcome::Success
        } else {
            ShellOutcome::Error
        };
        return Some((Some(code), outcome));
    }
    let (name, code) = match output_text.split_once(", exit ") {
        Some((name, code)) => (name, Some(code.parse().ok()?)),
        None => (output_text, None),
    };
    let known = ENDING_NAMES.iter().find(|(known, _)| *known == name);
    known.map(|(_, outcome)| (code, outcome.clone()))
}
