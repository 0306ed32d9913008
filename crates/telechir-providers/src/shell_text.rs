//! Encodes a shell result as one text, and decodes it.
//!
//! ```text
//! standard output
//! [stderr]
//! standard error
//! [exit code 1; in "/home/user"]
//! ```
//!
//! The last line is a status line. If the text would be ambiguous (no final newline, or output
//! that looks like a status line), the status line also has byte counts. Text without a status
//! line is from another program and contains both streams.

use telechir_protocol::{
    CallId, CommandOutput, Failure, FailureKind, InputRequest, InputRequestKind, ShellOutcome,
    ShellResult,
};

const STDERR_LINE: &str = "[stderr]\n";

/// Encodes a result whose failure only the text can show. Never empty, except for another program's
/// empty text.
pub(crate) fn encode(result: &ShellResult) -> String {
    match result.combined && is_error(result) {
        true => encode_sections(result),
        false => encode_beside_flag(result),
    }
}

/// Encodes a result beside a flag that shows whether it failed: another program's text stays as it
/// is.
pub(crate) fn encode_beside_flag(result: &ShellResult) -> String {
    if let ([output], true, None) = (result.outputs.as_slice(), result.combined, &result.error) {
        return output.stdout.clone();
    }
    encode_sections(result)
}

fn encode_sections(result: &ShellResult) -> String {
    let plain = assemble(result, ByteCounts::Omitted);
    if parse_sections(result.call_id.clone(), &plain, false)
        .is_some_and(|again| is_same(&again, result))
    {
        return plain;
    }
    assemble(result, ByteCounts::Included)
}

/// Decodes an encoded result; another program's text becomes one combined output.
pub(crate) fn decode(call_id: CallId, text: &str, is_error: bool) -> ShellResult {
    parse_sections(call_id.clone(), text, true).unwrap_or_else(|| {
        let outcome = if is_error {
            ShellOutcome::Error
        } else {
            ShellOutcome::Success
        };
        let stdout = text.to_owned();
        let mut result = ShellResult::new(
            call_id,
            vec![CommandOutput {
                stdout,
                outcome,
                ..CommandOutput::default()
            }],
        );
        result.combined = true;
        result
    })
}

/// Whether the result is an error: it was not executed, or a command failed.
pub(crate) fn is_error(result: &ShellResult) -> bool {
    let ended = |output: &CommandOutput| {
        matches!(
            output.outcome,
            ShellOutcome::Success | ShellOutcome::AwaitingInput | ShellOutcome::Running
        )
    };
    result.error.is_some() || !result.outputs.iter().all(ended)
}

#[derive(Clone, Copy, PartialEq)]
enum ByteCounts {
    Omitted,
    Included,
}

fn is_same(one: &ShellResult, other: &ShellResult) -> bool {
    one.outputs == other.outputs && one.cwd == other.cwd && one.error == other.error
}

fn assemble(result: &ShellResult, counts: ByteCounts) -> String {
    let mut text = String::new();
    let last = result
        .outputs
        .len()
        .checked_sub(1)
        .filter(|_| result.error.is_none());
    for (index, output) in result.outputs.iter().enumerate() {
        let cwd = result.cwd.as_deref().filter(|_| Some(index) == last);
        section(&mut text, output, counts, cwd);
    }
    let cwd = result.cwd.as_deref().map(quoted);
    if let Some(failure) = &result.error {
        let mut facts = vec![format!("failed: {}", kind_name(failure.kind))];
        facts.extend(cwd);
        if counts == ByteCounts::Included {
            facts.push(format!("message {} bytes", failure.message.len()));
        }
        part(&mut text, &failure.message, counts);
        end_line(&mut text, &facts);
    } else if last.is_none() {
        end_line(
            &mut text,
            &["nothing was run".to_owned()]
                .into_iter()
                .chain(cwd)
                .collect::<Vec<_>>(),
        );
    }
    text.pop();
    text
}

fn quoted(cwd: &str) -> String {
    format!("in {}", serde_json::Value::from(cwd))
}

fn section(text: &mut String, output: &CommandOutput, counts: ByteCounts, cwd: Option<&str>) {
    part(text, &output.stdout, counts);
    if !output.stderr.is_empty() {
        text.push_str(STDERR_LINE);
        part(text, &output.stderr, counts);
    }
    let mut facts = status_facts(output);
    facts.extend(cwd.map(quoted));
    if counts == ByteCounts::Included {
        facts.push(format!("stdout {} bytes", output.stdout.len()));
        facts.push(format!("stderr {} bytes", output.stderr.len()));
    }
    end_line(text, &facts);
}

/// Appends a part, and a newline if it has none or if parts are counted.
fn part(text: &mut String, part: &str, counts: ByteCounts) {
    text.push_str(part);
    if !part.is_empty() && (counts == ByteCounts::Included || !part.ends_with('\n')) {
        text.push('\n');
    }
}

fn end_line(text: &mut String, facts: &[String]) {
    text.push('[');
    text.push_str(&facts.join("; "));
    text.push_str("]\n");
}

fn status_facts(output: &CommandOutput) -> Vec<String> {
    let mut facts = Vec::new();
    facts.extend(output.exit_code.map(|code| format!("exit code {code}")));
    facts.extend(output.signal.map(|signal| format!("signal {signal}")));
    if output.exit_code.is_none() || implied(output.exit_code) != output.outcome {
        facts.push(outcome_name(&output.outcome));
    }
    if let Some(awaiting) = &output.awaiting {
        facts.push(format!("it waits for {}", awaiting.kind.description()));
        if !awaiting.prompt.is_empty() {
            let prompt = serde_json::Value::from(awaiting.prompt.as_str());
            facts.push(format!("prompt {prompt}"));
        }
    }
    if output.truncated_bytes > 0 {
        facts.push(format!("{} bytes left out", output.truncated_bytes));
    }
    facts.extend(output.duration_ms.map(|ms| format!("{ms} ms")));
    facts
}

fn implied(exit_code: Option<i32>) -> ShellOutcome {
    if exit_code == Some(0) {
        ShellOutcome::Success
    } else {
        ShellOutcome::Error
    }
}

fn outcome_name(outcome: &ShellOutcome) -> String {
    match outcome {
        ShellOutcome::Success => "done".to_owned(),
        ShellOutcome::Error => "failed".to_owned(),
        ShellOutcome::Timeout => "timed out".to_owned(),
        ShellOutcome::Cancelled => "cancelled".to_owned(),
        ShellOutcome::NotStarted => "not started".to_owned(),
        ShellOutcome::AwaitingInput => "waiting for input".to_owned(),
        ShellOutcome::Running => "running in the background".to_owned(),
        ShellOutcome::Other(name) => format!("outcome {}", serde_json::Value::from(name.as_str())),
    }
}

fn outcome_of(name: &str) -> Option<ShellOutcome> {
    Some(match name {
        "done" => ShellOutcome::Success,
        "failed" => ShellOutcome::Error,
        "timed out" => ShellOutcome::Timeout,
        "cancelled" => ShellOutcome::Cancelled,
        "not started" => ShellOutcome::NotStarted,
        "waiting for input" => ShellOutcome::AwaitingInput,
        "running in the background" => ShellOutcome::Running,
        _ => ShellOutcome::Other(serde_json::from_str(name.strip_prefix("outcome ")?).ok()?),
    })
}

const KINDS: [(FailureKind, &str); 9] = [
    (FailureKind::InvalidInput, "invalid input"),
    (FailureKind::Denied, "denied"),
    (FailureKind::Unsupported, "unsupported"),
    (FailureKind::Stale, "stale"),
    (FailureKind::Device, "device"),
    (FailureKind::Timeout, "timeout"),
    (FailureKind::Cancelled, "cancelled"),
    (FailureKind::NotExecuted, "not executed"),
    (FailureKind::Interrupted, "interrupted"),
];

fn kind_name(kind: FailureKind) -> &'static str {
    KINDS
        .iter()
        .find(|(other, _)| *other == kind)
        .map_or("device", |(_, name)| name)
}

fn kind_of(name: &str) -> Option<FailureKind> {
    KINDS
        .iter()
        .find(|(_, other)| *other == name)
        .map(|(kind, _)| *kind)
}

/// The contents of a status line.
#[derive(Default)]
struct ShellStatusLine {
    output: CommandOutput,
    outcome: Option<ShellOutcome>,
    failure: Option<FailureKind>,
    cwd: Option<String>,
    nothing: bool,
    lengths: [Option<usize>; 3],
}

fn fact(status: &mut ShellStatusLine, fact: &str) -> Option<()> {
    let bytes = |rest: &str| rest.strip_suffix(" bytes")?.parse().ok();
    if let Some(code) = fact.strip_prefix("exit code ") {
        status.output.exit_code = Some(code.parse().ok()?);
    } else if let Some(signal) = fact.strip_prefix("signal ") {
        status.output.signal = Some(signal.parse().ok()?);
    } else if let Some(cwd) = fact.strip_prefix("in ") {
        status.cwd = Some(serde_json::from_str(cwd).ok()?);
    } else if let Some(kind) = fact.strip_prefix("failed: ") {
        status.failure = Some(kind_of(kind)?);
    } else if let Some(count) = fact.strip_suffix(" bytes left out") {
        status.output.truncated_bytes = count.parse().ok()?;
    } else if let Some(count) = fact.strip_prefix("stdout ") {
        status.lengths[0] = Some(bytes(count)?);
    } else if let Some(count) = fact.strip_prefix("stderr ") {
        status.lengths[1] = Some(bytes(count)?);
    } else if let Some(count) = fact.strip_prefix("message ") {
        status.lengths[2] = Some(bytes(count)?);
    } else if let Some(ms) = fact.strip_suffix(" ms") {
        status.output.duration_ms = Some(ms.parse().ok()?);
    } else if let Some(name) = fact.strip_prefix("it waits for ") {
        let (kind, prompt) = (InputRequestKind::from_description(name)?, String::new());
        status.output.awaiting = Some(InputRequest { kind, prompt });
    } else if let Some(prompt) = fact.strip_prefix("prompt ") {
        status.output.awaiting.as_mut()?.prompt = serde_json::from_str(prompt).ok()?;
    } else if fact == "nothing was run" {
        status.nothing = true;
    } else {
        status.outcome = Some(outcome_of(fact)?);
    }
    Some(())
}

/// Splits the status line off the end of a text.
fn split_ending(text: &str) -> Option<(&str, ShellStatusLine)> {
    let line_end = text.strip_suffix('\n').unwrap_or(text);
    let start = line_end.rfind('\n').map_or(0, |at| at + 1);
    let line = line_end[start..].strip_prefix('[')?.strip_suffix(']')?;
    let mut status = ShellStatusLine::default();
    for part in parts(line) {
        fact(&mut status, part)?;
    }
    let implied = implied(status.output.exit_code);
    if status.outcome.is_none()
        && status.output.exit_code.is_none()
        && status.failure.is_none()
        && !status.nothing
    {
        return None;
    }
    status.output.outcome = status.outcome.take().unwrap_or(implied);
    Some((&text[..start], status))
}

/// Splits a line at `; ` outside quotes.
fn parts(line: &str) -> Vec<&str> {
    let (mut parts, mut start, mut quoted, mut escaped) = (Vec::new(), 0, false, false);
    for (at, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ';' if !quoted && line[at..].starts_with("; ") => {
                parts.push(&line[start..at]);
                start = at + 2;
            }
            _ => {}
        }
    }
    parts.push(&line[start..]);
    parts
}

/// Decodes the sections of a text. `checked`: require that encoding the result gives the text.
fn parse_sections(call_id: CallId, text: &str, checked: bool) -> Option<ShellResult> {
    let mut result = ShellResult::new(call_id, Vec::new());
    let mut left = text;
    loop {
        let (before, status) = split_ending(left)?;
        result.cwd = result.cwd.or_else(|| status.cwd.clone());
        if status.nothing {
            break;
        }
        left = take_section(before, status, &mut result)?;
        if left.is_empty() {
            break;
        }
    }
    result.outputs.reverse();
    let again = || encode(&result) == text;
    (!checked || again()).then_some(result)
}

/// Decodes the last section of a text; returns the text before it.
fn take_section<'a>(
    before: &'a str,
    status: ShellStatusLine,
    result: &mut ShellResult,
) -> Option<&'a str> {
    if let Some(kind) = status.failure {
        let (rest, message) = match status.lengths[2] {
            Some(length) => tail(before, length)?,
            None => ("", before.strip_suffix('\n').unwrap_or(before)),
        };
        result.error = Some(Failure::new(kind, message));
        return Some(rest);
    }
    let mut output = status.output;
    let rest = match status.lengths {
        [Some(stdout), Some(stderr), _] => {
            let (mut rest, errors) = tail(before, stderr)?;
            if stderr > 0 {
                rest = rest.strip_suffix(STDERR_LINE)?;
            }
            let (rest, printed) = tail(rest, stdout)?;
            (output.stdout, output.stderr) = (printed.to_owned(), errors.to_owned());
            rest
        }
        _ => {
            let (printed, errors) = match find_line(before, STDERR_LINE) {
                Some(at) => (&before[..at], &before[at + STDERR_LINE.len()..]),
                None => (before, ""),
            };
            (output.stdout, output.stderr) = (printed.to_owned(), errors.to_owned());
            ""
        }
    };
    result.outputs.push(output);
    Some(rest)
}

/// Splits a part of `length` bytes and its newline off the end of a text.
fn tail(text: &str, length: usize) -> Option<(&str, &str)> {
    if length == 0 {
        return Some((text, ""));
    }
    let inner = text.strip_suffix('\n')?;
    let at = inner.len().checked_sub(length)?;
    inner.is_char_boundary(at).then(|| inner.split_at(at))
}

fn find_line(text: &str, line: &str) -> Option<usize> {
    if text.starts_with(line) {
        return Some(0);
    }
    text.find(&format!("\n{line}")).map(|at| at + 1)
}
