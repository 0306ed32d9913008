//! Progress on the terminal: one line per action, and a progress bar of the steps.

use std::io::{IsTerminal, Write, stderr};
use std::time::Duration;

use rustix::termios::tcgetwinsize;
use telechir_policy::Verdict;
use telechir_protocol::display::escape;
use telechir_runtime::{ActionEffect, SessionEvent};
use tokio::task::JoinHandle;

use crate::counted::counted;
use crate::session_events::{RunEvent, RunEvents};
use crate::streamed_message::StreamedMessage;
use crate::terminal_line::{ERASE_LINE, TerminalLine};

/// Maximum width of an action's summary in characters; longer ones are cut.
const MAX_SUMMARY_CHARS: usize = 56;
/// Minimum width of an action's summary, also on a terminal that is too narrow for its line.
const MIN_SUMMARY_CHARS: usize = 20;
/// Width of an action's line beside the summary.
const LINE_CHARS: usize = 49;
/// Width of the progress bar in characters.
const BAR_CHARS: u64 = 20;
/// Timeout for writing the last lines.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// The timeline of a session on stderr.
#[derive(Debug)]
pub(crate) struct Progress(JoinHandle<()>);

impl Progress {
    /// Shows these events in a background task.
    pub(crate) fn start(events: RunEvents) -> Self {
        let style = if stderr().is_terminal() {
            OutputStyle::Terminal
        } else {
            OutputStyle::Plain
        };
        Self(tokio::spawn(async move {
            show(events, &mut stderr(), style).await
        }))
    }

    /// Waits until the last line of the closed session is written, at most two seconds.
    pub(crate) async fn finish(mut self) {
        if tokio::time::timeout(FLUSH_TIMEOUT, &mut self.0)
            .await
            .is_err()
        {
            self.0.abort();
        }
    }
}

/// The kind of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutputStyle {
    /// A terminal: the bar is redrawn below each line.
    Terminal,
    /// A file or a pipe: lines without a bar.
    Plain,
}

/// Writes events until the session ends or the output is closed. Nothing is written while a
/// question is open.
async fn show(mut events: RunEvents, out: &mut (impl Write + Send), style: OutputStyle) {
    let mut timeline = Timeline::default();
    while let Some(event) = events.next().await {
        let mut terminal = TerminalLine::hold().await;
        timeline.columns = (style == OutputStyle::Terminal).then(columns).flatten();
        let lines = match &event {
            RunEvent::Session(event) => timeline.lines(event),
            RunEvent::Text(text) => timeline.message.push(text),
        };
        if write_lines(out, &lines, &timeline, style).is_err() {
            return;
        }
        terminal.set_bar(style == OutputStyle::Terminal && !timeline.ended);
        if let RunEvent::Session(event) = event
            && matches!(*event, SessionEvent::SessionClosed { .. })
        {
            return;
        }
    }
}

/// The width of the terminal in characters; none if it does not report its own.
fn columns() -> Option<usize> {
    let size = tcgetwinsize(stderr()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

fn write_lines(
    out: &mut impl Write,
    lines: &[String],
    timeline: &Timeline,
    style: OutputStyle,
) -> std::io::Result<()> {
    let clear = if style == OutputStyle::Terminal {
        ERASE_LINE
    } else {
        ""
    };
    for line in lines {
        writeln!(out, "{clear}{line}")?;
    }
    if style == OutputStyle::Terminal && !timeline.ended {
        write!(out, "{clear}{}", timeline.last_row())?;
    }
    out.flush()
}

/// Turns events into lines. Events contain no typed text, so neither do the lines.
#[derive(Debug, Default)]
struct Timeline {
    actions: u64,
    step: u64,
    limit: u64,
    ended: bool,
    /// Whether a line was shown about the call that arrived last.
    is_call_shown: bool,
    /// The message that the model is writing.
    message: StreamedMessage,
    /// Whether the message of the last response was shown as it arrived.
    is_message_shown: bool,
    /// Width of the terminal; none for a file, a pipe or an unknown width.
    columns: Option<usize>,
}

impl Timeline {
    fn lines(&mut self, event: &SessionEvent) -> Vec<String> {
        let mut lines = Vec::new();
        if matches!(
            event,
            SessionEvent::ResponseReceived { .. }
                | SessionEvent::Retrying { .. }
                | SessionEvent::TaskEnded { .. }
        ) {
            self.is_message_shown = !self.message.is_empty();
            lines = self.message.finish();
        }
        lines.extend(self.lines_of(event));
        let is_about_call = matches!(
            event,
            SessionEvent::CallJudged { .. } | SessionEvent::ActionFinished { .. }
        );
        self.is_call_shown |= is_about_call && !lines.is_empty();
        if matches!(event, SessionEvent::CallReceived { .. }) {
            self.is_call_shown = false;
        }
        lines
    }

    fn lines_of(&mut self, event: &SessionEvent) -> Vec<String> {
        match event {
            SessionEvent::SessionStarted { run, devices, .. } => {
                let devices: Vec<&str> = devices.iter().map(|device| device.name()).collect();
                vec![format!("session {run}: {}", devices.join(", "))]
            }
            SessionEvent::SessionClosed { reason } => {
                self.ended = true;
                vec![format!("session ended: {}", one_line(reason))]
            }
            SessionEvent::TaskEnded { reason, steps, .. } => {
                let steps = counted(*steps, "step");
                vec![format!("── the task ended after {steps}: {reason}")]
            }
            SessionEvent::RequestSent { step, limit } => {
                (self.step, self.limit) = (*step, *limit);
                Vec::new()
            }
            SessionEvent::ResponseReceived {
                step,
                ms,
                input_tokens,
                output_tokens,
            } => {
                vec![format!(
                    "── step {step}: the model answered in {ms} ms{}",
                    tokens(*input_tokens, *output_tokens)
                )]
            }
            SessionEvent::Retrying {
                attempt,
                wait_ms,
                reason,
            } => {
                vec![format!(
                    "   attempt {attempt} failed; again in {wait_ms} ms: {}",
                    one_line(reason)
                )]
            }
            SessionEvent::AssistantMessage { .. } if self.is_message_shown => Vec::new(),
            SessionEvent::AssistantMessage { text } => {
                let mut lines = self.message.push(text);
                lines.extend(self.message.finish());
                lines
            }
            SessionEvent::CallJudged {
                verdict: verdict @ (Verdict::Ask | Verdict::Deny),
                rule,
                reason,
                ..
            } => {
                vec![format!(
                    "   {verdict} by {}: {}",
                    one_line(rule),
                    one_line(reason)
                )]
            }
            SessionEvent::QuestionAnswered {
                approved,
                reason,
                origin,
                ..
            } => {
                let effect_label = if *approved {
                    "approved by the user"
                } else {
                    "not approved"
                };
                vec![format!(
                    "   {effect_label}{}{}",
                    origin
                        .as_ref()
                        .map(|origin| format!(" {origin}"))
                        .unwrap_or_default(),
                    reason
                        .as_deref()
                        .map(|reason| format!(": {}", one_line(reason)))
                        .unwrap_or_default()
                )]
            }
            SessionEvent::ActionFinished {
                device,
                summary,
                verdict,
                effect,
                failure,
                outcome,
                ms,
                ..
            } => {
                self.actions += 1;
                let outcome = outcome.as_deref().unwrap_or_else(|| effect_label(*effect));
                let width = self.summary_chars();
                let mut lines = vec![format!(
                    "{:>4}  {:<8} {:<width$}  {:<8} {:<12} {ms:>6} ms",
                    self.actions,
                    device.name(),
                    cut(&one_line(summary), width),
                    verdict.name(),
                    one_line(outcome),
                )];
                lines.extend(
                    failure
                        .as_ref()
                        .map(|failure| format!("      └ {}", one_line(&failure.message))),
                );
                lines
            }
            // One that was not understood, or has no device.
            SessionEvent::CallAnswered {
                failure: Some(failure),
                ..
            } if !self.is_call_shown => {
                vec![format!(
                    "   a call was not executed: {}",
                    one_line(&failure.message)
                )]
            }
            SessionEvent::DeviceLost { device, message } => {
                vec![format!(
                    "   the {} is gone: {}",
                    device.name(),
                    one_line(message)
                )]
            }
            SessionEvent::ConnectionJudged {
                device,
                host,
                port,
                passed: false,
                rule,
                reason,
                ..
            } => {
                vec![format!(
                    "   {}: no access to {}{}: {} ({})",
                    device.name(),
                    one_line(host),
                    port.map(|port| format!(":{port}")).unwrap_or_default(),
                    one_line(reason),
                    one_line(rule)
                )]
            }
            SessionEvent::Warning { message } => vec![format!("   note: {}", one_line(message))],
            SessionEvent::RemoteBrowser { step, service, .. } => {
                vec![format!(
                    "   note: the browser at {service}: {}",
                    step.name()
                )]
            }
            SessionEvent::UntrustedContent { source } => {
                vec![format!(
                    "   note: untrusted content was read: {}",
                    one_line(source)
                )]
            }
            SessionEvent::ControlTaken { by } => {
                vec![format!(
                    "   note: {} took control; calls wait",
                    one_line(by)
                )]
            }
            SessionEvent::ControlGivenBack { by, .. } => {
                vec![format!("   note: {} gave control back", one_line(by))]
            }
            SessionEvent::ContentTrusted { .. } => {
                vec!["   note: the user trusts what was read so far".to_owned()]
            }
            SessionEvent::PolicyReloaded { policy } => {
                vec![format!("   note: the policy was reloaded ({policy})")]
            }
            SessionEvent::EventsDropped { count } => {
                vec![format!("   ({count} events dropped: too fast to show)")]
            }
            SessionEvent::TaskStarted { .. }
            | SessionEvent::TurnStarted { .. }
            | SessionEvent::TurnCompleted { .. }
            | SessionEvent::CallReceived { .. }
            | SessionEvent::CallJudged { .. }
            | SessionEvent::QuestionAsked { .. }
            | SessionEvent::ActionStarted { .. }
            | SessionEvent::ConnectionJudged { .. }
            | SessionEvent::ScreenshotTaken { .. }
            | SessionEvent::CallAnswered { .. } => Vec::new(),
        }
    }

    /// The width of an action's summary, so that its line fits the terminal.
    fn summary_chars(&self) -> usize {
        self.columns.map_or(MAX_SUMMARY_CHARS, |columns| {
            let rest = columns.saturating_sub(LINE_CHARS);
            rest.clamp(MIN_SUMMARY_CHARS, MAX_SUMMARY_CHARS)
        })
    }

    /// The last row of a terminal: the line that the model is writing, or else the bar. A longer row
    /// would wrap, and only its last part could be erased.
    fn last_row(&self) -> String {
        // A character in the last column makes some terminals wrap.
        let room = self.columns.map_or(usize::MAX, |columns| columns - 1);
        self.message
            .last_row(room)
            .unwrap_or_else(|| self.bar(room))
    }

    fn bar(&self, room: usize) -> String {
        let done = (self.step.min(self.limit) * BAR_CHARS)
            .checked_div(self.limit)
            .unwrap_or(0);
        let cell = |index| if index < done { '█' } else { '·' };
        let bar: String = (0..BAR_CHARS).map(cell).collect();
        let steps = format!("step {} of {}", self.step, self.limit);
        let forms = [
            format!("[{bar}] {steps}, {}", counted(self.actions, "action")),
            format!("[{bar}] {steps}"),
            steps,
        ];
        let fits = |form: &&String| form.chars().count() <= room;
        forms.iter().find(fits).cloned().unwrap_or_default()
    }
}

fn effect_label(effect: ActionEffect) -> &'static str {
    match effect {
        ActionEffect::Delivered => "delivered",
        ActionEffect::Confirmed => "confirmed",
        ActionEffect::Failed => "failed",
        ActionEffect::Cancelled => "cancelled",
        ActionEffect::Recorded => "recorded",
        ActionEffect::Interrupted => "interrupted",
    }
}

fn tokens(input: Option<u64>, output: Option<u64>) -> String {
    match (input, output) {
        (Some(input), Some(output)) => format!(" ({input} tokens in, {output} out)"),
        _ => String::new(),
    }
}

fn one_line(text: &str) -> String {
    escape(text).replace('\n', " ⏎ ")
}

fn cut(text: &str, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        return text.to_owned();
    }
    let head: String = text.chars().take(max_chars.saturating_sub(1)).collect();
    format!("{head}…")
}

#[cfg(test)]
mod tests {
    use telechir_protocol::{CallId, Failure, FailureKind};
    use telechir_runtime::{CallKind, DeviceKind};

    use super::*;

    fn finished(summary: &str, failure: Option<Failure>) -> SessionEvent {
        SessionEvent::ActionFinished {
            call_id: CallId::from("c"),
            step: 0,
            device: DeviceKind::Desktop,
            kind: None,
            summary: summary.to_owned(),
            verdict: Verdict::Allow,
            effect: if failure.is_some() {
                ActionEffect::Failed
            } else {
                ActionEffect::Delivered
            },
            failure,
            outcome: None,
            ms: 42,
        }
    }

    #[test]
    fn an_action_is_one_line_with_verdict_effect_and_milliseconds() {
        let mut timeline = Timeline::default();
        let lines = timeline.lines(&finished("click left (5, 6)", None));
        let columns: Vec<&str> = lines[0].split_whitespace().collect();
        assert_eq!(lines.len(), 1);
        assert_eq!(
            columns,
            [
                "1",
                "desktop",
                "click",
                "left",
                "(5,",
                "6)",
                "allow",
                "delivered",
                "42",
                "ms"
            ]
        );
    }

    #[test]
    fn a_failure_shows_its_reason_and_cannot_overwrite_other_lines() {
        let failure = Failure::new(FailureKind::Device, "no\u{1b}[2Kwindow\nthere");
        let lines = Timeline::default().lines(&finished("wait", Some(failure)));
        assert_eq!(lines[1], r"      └ no\u{1b}[2Kwindow ⏎ there");
    }

    #[test]
    fn a_call_that_was_not_executed_has_a_line() {
        let received = || SessionEvent::CallReceived {
            call_id: CallId::from("c"),
            kind: CallKind::Shell,
            steps: Vec::new(),
        };
        let answered = || SessionEvent::CallAnswered {
            call_id: CallId::from("c"),
            failure: Some(Failure::new(FailureKind::InvalidInput, "no tool `x`")),
            ms: 0,
        };
        let mut timeline = Timeline::default();
        assert_eq!(timeline.lines(&received()), Vec::<String>::new());
        let line = "   a call was not executed: no tool `x`";
        assert_eq!(timeline.lines(&answered()), [line]);
        timeline.lines(&received());
        timeline.lines(&finished("wait", None));
        assert_eq!(timeline.lines(&answered()), Vec::<String>::new());
    }

    #[test]
    fn the_bar_fits_one_row_of_every_terminal() {
        for (columns, expected) in [
            (80, "[██████████··········] step 5 of 10, 0 actions"),
            (40, "[██████████··········] step 5 of 10"),
            (20, "step 5 of 10"),
            (5, ""),
        ] {
            let timeline = Timeline {
                step: 5,
                limit: 10,
                columns: Some(columns),
                ..Timeline::default()
            };
            assert_eq!(timeline.last_row(), expected, "{columns}");
        }
    }

    #[test]
    fn the_line_of_an_action_fits_eighty_columns() {
        let mut timeline = Timeline {
            columns: Some(80),
            ..Timeline::default()
        };
        let lines = timeline.lines(&finished(&"x".repeat(70), None));
        assert!(lines[0].chars().count() < 80, "{}", lines[0]);
    }

    #[test]
    fn a_pipe_gets_no_bar_and_a_terminal_gets_one_under_each_line() {
        let mut timeline = Timeline {
            step: 5,
            limit: 10,
            ..Timeline::default()
        };
        let lines = timeline.lines(&finished("wait", None));
        let (mut plain, mut terminal) = (Vec::new(), Vec::new());
        write_lines(&mut plain, &lines, &timeline, OutputStyle::Plain).expect("written");
        write_lines(&mut terminal, &lines, &timeline, OutputStyle::Terminal).expect("written");
        assert!(!plain.contains(&b'\x1b'));
        let terminal = String::from_utf8(terminal).expect("text");
        assert!(
            terminal.ends_with("[██████████··········] step 5 of 10, 1 action"),
            "{terminal}"
        );
    }
}
