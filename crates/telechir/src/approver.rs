//! Prompts on the controlling terminal, never on stdin. Without a terminal the answer is no.

use std::io;
use std::time::Instant;

use rustix::fs::{Mode, OFlags};
use rustix::termios::{QueueSelector, tcflush, tcgetwinsize};
use telechir_policy::{ApproveAt, Decision, Interface, Question, fit_lines};
use telechir_process::Readiness;
use telechir_runtime::{Answer, AnswerOrigin, AnswerWay, Approver};

/// Maximum length of an answer in bytes; a longer one counts as no.
const MAX_ANSWER: usize = 256;
/// Maximum number of answers to one question that are no decision.
const MAX_ATTEMPTS: usize = 5;
/// The size of a terminal that does not tell its own.
const DEFAULT_SIZE: TerminalSize = TerminalSize {
    rows: 24,
    columns: 80,
};

/// What a person decided at a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TerminalAnswer {
    pub(crate) decision: Decision,
    /// Whether the approval counts for the rest of the session.
    pub(crate) remembers: bool,
}

impl From<Decision> for TerminalAnswer {
    fn from(decision: Decision) -> Self {
        Self {
            decision,
            remembers: false,
        }
    }
}

/// What an approval can cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// This call alone.
    Call,
    /// This call, or its shape for the rest of the session.
    Session,
}

/// Approval prompts on the terminal that this program was started from, if there is one.
#[derive(Debug)]
pub(crate) struct TerminalApprover {
    tty: Option<Readiness>,
}

/// The size of a terminal in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TerminalSize {
    rows: usize,
    columns: usize,
}

impl TerminalApprover {
    /// Opens the controlling terminal. Must be called inside the async runtime.
    pub(crate) fn open() -> Self {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let tty = rustix::fs::open("/dev/tty", flags, Mode::empty());
        Self {
            tty: tty.ok().and_then(|tty| Readiness::both(tty).ok()),
        }
    }

    /// Asks at the terminal; `notes` are shown after the question. None without a terminal.
    ///
    /// # Errors
    /// When the terminal cannot be read or written.
    pub(crate) async fn ask(
        &self,
        question: &Question,
        coverage: Coverage,
        notes: &[String],
    ) -> io::Result<Option<TerminalAnswer>> {
        let Some(tty) = &self.tty else {
            return Ok(None);
        };
        let shape = question.session_shape();
        let shape = shape.filter(|_| coverage == Coverage::Session);
        // Discard input typed before the prompt was visible.
        let _best_effort = tcflush(tty, QueueSelector::IFlush);
        let mut text = question.text();
        text.extend(notes.iter().map(|note| format!("  {note}")));
        text.extend(
            shape.map(|shape| format!("  s allows this for the rest of the session: {shape}")),
        );
        let size = size_of(tty);
        // The prompt itself and the line above it.
        let fitted = fit_lines(&text, size.rows.saturating_sub(3).max(4), size.columns);
        let mut is_shown = fitted.is_complete;
        write_all(tty, format!("\n{}\n", fitted.rows.join("\n")).as_bytes()).await?;
        for _ in 0..MAX_ATTEMPTS {
            write_all(tty, prompt_line(question, is_shown).as_bytes()).await?;
            let answer = read_line(tty).await?;
            match choice(answer.trim(), question, is_shown, shape.is_some()) {
                Choice::View => {
                    let rows = fit_lines(&text, usize::MAX, size.columns).rows;
                    is_shown |= show_all(tty, &rows, size.rows).await?;
                    // What was typed ahead is no answer to what was not yet on the screen.
                    let _best_effort = tcflush(tty, QueueSelector::IFlush);
                }
                Choice::Unseen => {
                    let text = "Not approved: the question does not fit here; v shows all of it.\n";
                    write_all(tty, text.as_bytes()).await?;
                }
                Choice::Decided(answer) => return Ok(Some(answer)),
            }
        }
        let unclear = no("The user gave no clear answer at the terminal.");
        Ok(Some(unclear.into()))
    }

    async fn prompt(&self, question: &Question) -> io::Result<Decision> {
        let answer = self.ask(question, Coverage::Call, &[]).await?;
        Ok(answer.map_or_else(
            || no("This needs the user's approval, and there is no terminal to prompt on."),
            |answer| answer.decision,
        ))
    }
}

impl Approver for TerminalApprover {
    async fn decide(&mut self, question: &Question) -> Answer {
        let shown = Instant::now();
        match self.prompt(question).await {
            Ok(decision) => Answer {
                decision,
                origin: Some(AnswerOrigin {
                    way: AnswerWay::Terminal,
                    by: "the caller".to_owned(),
                    after_ms: u64::try_from(shown.elapsed().as_millis()).unwrap_or(u64::MAX),
                }),
            },
            Err(error) => {
                tracing::warn!(%error, "failed to read the terminal; the answer is no");
                let why = "This needs the user's approval, and the terminal could not be read.";
                Answer::from(no(why))
            }
        }
    }

    fn can_ask(&self, at: ApproveAt) -> bool {
        at.admits(Interface::Terminal)
    }
}

/// What an answer means.
#[derive(Debug, PartialEq, Eq)]
enum Choice {
    /// Show the complete question.
    View,
    /// A yes to a question of which a part was never shown.
    Unseen,
    Decided(TerminalAnswer),
}

fn choice(answer: &str, question: &Question, is_shown: bool, offers_session: bool) -> Choice {
    match answer {
        "v" | "V" => Choice::View,
        "y" | "yes" | "Y" | "YES" if is_shown => Choice::Decided(question.approve().into()),
        "s" | "S" if is_shown && offers_session => Choice::Decided(TerminalAnswer {
            decision: question.approve(),
            remembers: true,
        }),
        "t" | "T" if is_shown && question.untrusted_source.is_some() => {
            Choice::Decided(question.approve_and_trust().into())
        }
        "y" | "yes" | "Y" | "YES" | "t" | "T" | "s" | "S" if !is_shown => Choice::Unseen,
        _ => Choice::Decided(no("The user denied this at the terminal.").into()),
    }
}

fn prompt_line(question: &Question, is_shown: bool) -> &'static str {
    match (is_shown, question.untrusted_source.is_some()) {
        (false, _) => "It does not fit; v shows all of it. [v/N] ",
        (true, false) => "Allow it once? [y/N] ",
        (true, true) => "Allow it once? (t: and trust all that was read so far) [y/t/N] ",
    }
}

fn no(reason: &str) -> Decision {
    Decision::Deny {
        reason: reason.to_owned(),
    }
}

/// Shows all rows, page by page. Returns whether the last one was shown.
async fn show_all(tty: &Readiness, rows: &[String], height: usize) -> io::Result<bool> {
    let page = height.saturating_sub(2).max(1);
    let pages = rows.chunks(page).count();
    for (at, some) in rows.chunks(page).enumerate() {
        write_all(tty, format!("{}\n", some.join("\n")).as_bytes()).await?;
        if at + 1 == pages {
            return Ok(true);
        }
        let prompt = format!("({} of {pages}) Enter shows more, q ends ", at + 1);
        write_all(tty, prompt.as_bytes()).await?;
        if !read_line(tty).await?.trim().is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn size_of(tty: &Readiness) -> TerminalSize {
    let Ok(size) = tcgetwinsize(tty) else {
        return DEFAULT_SIZE;
    };
    let or = |given: u16, default| match usize::from(given) {
        0 => default,
        given => given,
    };
    TerminalSize {
        rows: or(size.ws_row, DEFAULT_SIZE.rows),
        columns: or(size.ws_col, DEFAULT_SIZE.columns),
    }
}

async fn write_all(tty: &Readiness, mut text: &[u8]) -> io::Result<()> {
    while !text.is_empty() {
        let written = tty.write(|fd| Ok(rustix::io::write(fd, text)?)).await?;
        text = text.get(written..).unwrap_or_default();
    }
    Ok(())
}

/// Reads one line. The rest of a cancelled prompt's input is flushed before the next prompt.
async fn read_line(tty: &Readiness) -> io::Result<String> {
    let mut line = Vec::new();
    loop {
        let mut buffer = [0; MAX_ANSWER];
        let read = tty
            .read(|fd| Ok(rustix::io::read(fd, &mut buffer)?))
            .await?;
        line.extend_from_slice(buffer.get(..read).unwrap_or_default());
        if read == 0 || line.contains(&b'\n') || line.len() > MAX_ANSWER {
            return Ok(String::from_utf8_lossy(&line).into_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use telechir_policy::Digest;

    use super::*;

    fn question(untrusted: bool) -> Question {
        Question {
            call_id: "c".into(),
            digest: Digest::of_json(&serde_json::Value::Null),
            action: None,
            shape: None,
            lines: vec!["$ rm x".to_owned()],
            reasons: Vec::new(),
            has_hidden_characters: false,
            approve: ApproveAt::Any,
            untrusted_source: untrusted.then(|| "a page".to_owned()),
            safety_checks: Vec::new(),
            min_answer_ms: 0,
        }
    }

    fn is_denied(choice: &Choice) -> bool {
        let denied = |answer: &TerminalAnswer| matches!(answer.decision, Decision::Deny { .. });
        matches!(choice, Choice::Decided(answer) if denied(answer) && !answer.remembers)
    }

    #[test]
    fn a_question_that_does_not_fit_cannot_be_approved_unseen() {
        let question = question(true);
        for answer in ["y", "yes", "Y", "t", "s"] {
            let choice = choice(answer, &question, false, true);
            assert_eq!(choice, Choice::Unseen, "{answer}");
        }
        assert_eq!(choice("v", &question, false, true), Choice::View);
        for answer in ["", "n", "x", "yv"] {
            let choice = choice(answer, &question, false, true);
            assert!(is_denied(&choice), "{answer}");
        }
    }

    #[test]
    fn only_a_clear_yes_approves_and_only_t_trusts() {
        let (plain, untrusted) = (question(false), question(true));
        let yes = Choice::Decided(plain.approve().into());
        assert_eq!(choice("y", &plain, true, false), yes);
        let trusts = Choice::Decided(untrusted.approve_and_trust().into());
        assert_eq!(choice("t", &untrusted, true, false), trusts);
        for (answer, question) in [
            ("t", &plain),
            ("", &plain),
            ("yy", &plain),
            ("n", &untrusted),
            ("s", &plain),
        ] {
            let choice = choice(answer, question, true, false);
            assert!(is_denied(&choice), "{answer}");
        }
    }

    #[test]
    fn only_s_approves_for_the_session_and_only_where_it_is_offered() {
        let question = question(false);
        let decision = question.approve();
        let remembered = Choice::Decided(TerminalAnswer {
            decision,
            remembers: true,
        });
        assert_eq!(choice("s", &question, true, true), remembered);
        let once = Choice::Decided(question.approve().into());
        assert_eq!(choice("y", &question, true, true), once);
    }
}
