//! Prompts on the controlling terminal, never on stdin. Without a terminal the answer is no.

use std::io;
use std::time::Instant;

use rustix::fs::{Mode, OFlags};
use rustix::termios::{QueueSelector, tcflush, tcgetwinsize};
use telechir_host::approvals::{AnswerScope, OpenApproval};
use telechir_policy::{ApproveAt, Decision, Interface, Question, fit_lines};
use telechir_process::Readiness;
use telechir_runtime::{Answer, AnswerOrigin, AnswerWay, Approver};

use crate::terminal_line::TerminalLine;

/// Maximum length of an answer in bytes, which is that of a terminal's line; a longer one counts as
/// no.
const MAX_ANSWER: usize = 4096;
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
    /// For which calls it counts.
    pub(crate) scope: AnswerScope,
}

impl From<Decision> for TerminalAnswer {
    fn from(decision: Decision) -> Self {
        Self {
            decision,
            scope: AnswerScope::Once,
        }
    }
}

/// What an answer can cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// This call alone.
    Call,
    /// This call, or its shape for the rest of the session.
    Session,
    /// This call, or its shape for the rest of the session or in all sessions.
    Always,
}

impl Coverage {
    /// What the session of a question remembers.
    pub(crate) fn of(open: &OpenApproval) -> Self {
        match open.can_be_standing {
            true => Self::Always,
            false => Self::Session,
        }
    }
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
        // The progress writes nothing until the question is answered or withdrawn.
        let mut line = TerminalLine::hold().await;
        let offers = Offers::of(question, coverage);
        // Discard input typed before the prompt was visible.
        let _best_effort = tcflush(tty, QueueSelector::IFlush);
        let mut text = question.text();
        text.extend(notes.iter().map(|note| format!("  {note}")));
        text.extend(offers.lines(question));
        let size = size_of(tty);
        // The prompt itself and the line above it.
        let fitted = fit_lines(&text, size.rows.saturating_sub(3).max(4), size.columns);
        let mut is_shown = fitted.is_complete;
        let (clear, rows) = (line.clear(), fitted.rows.join("\n"));
        write_all(tty, format!("{clear}\n{rows}\n").as_bytes()).await?;
        for _ in 0..MAX_ATTEMPTS {
            write_all(tty, prompt_line(question, is_shown).as_bytes()).await?;
            let answer = read_line(tty).await?;
            match choice(answer.trim(), question, is_shown, offers) {
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
                Choice::Unclear => {
                    let text =
                        "Not answered: type y for yes or n for no, or a letter named above.\n";
                    write_all(tty, text.as_bytes()).await?;
                }
                Choice::Decided(answer) => return Ok(Some(answer)),
            }
        }
        let unclear = no("The user gave no clear answer at the terminal.");
        Ok(Some(unclear.into()))
    }

    /// Prints text on the terminal. False if there is none, or it cannot be written.
    pub(crate) async fn print(&self, text: &str) -> bool {
        match &self.tty {
            Some(tty) => write_all(tty, text.as_bytes()).await.is_ok(),
            None => false,
        }
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

/// What can be answered for more than one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Offers {
    /// An approval for the rest of the session.
    session: bool,
    /// An approval in all sessions.
    always: bool,
    /// A denial in all sessions.
    never: bool,
}

impl Offers {
    fn of(question: &Question, coverage: Coverage) -> Self {
        let can_be_remembered = question.session_shape().is_some();
        let is_always = coverage == Coverage::Always;
        Self {
            session: can_be_remembered && coverage != Coverage::Call,
            always: can_be_remembered && is_always,
            never: question.shape.is_some() && is_always,
        }
    }

    fn lines(self, question: &Question) -> Vec<String> {
        let mut lines = self.remembered_lines(question);
        lines
            .push("  n TEXT denies this with a reason for the model; v shows all of it".to_owned());
        lines
    }

    /// The answers that count for later calls.
    fn remembered_lines(self, question: &Question) -> Vec<String> {
        let Some(shape) = &question.shape else {
            return Vec::new();
        };
        let lines = [
            (self.session, "s allows this for the rest of the session"),
            (
                self.always,
                "a allows this in all sessions with these devices",
            ),
            (self.never, "d denies this in all sessions"),
        ];
        let offered = lines.into_iter().filter(|(is_offered, _)| *is_offered);
        offered
            .map(|(_, line)| format!("  {line}: {shape}"))
            .collect()
    }
}

/// What an answer means.
#[derive(Debug, PartialEq, Eq)]
enum Choice {
    /// Show the complete question.
    View,
    /// A yes to a question of which a part was never shown.
    Unseen,
    /// Neither a yes nor a no.
    Unclear,
    Decided(TerminalAnswer),
}

fn choice(answer: &str, question: &Question, is_shown: bool, offers: Offers) -> Choice {
    let remembered = |decision, scope| Choice::Decided(TerminalAnswer { decision, scope });
    let is_untrusted = question.untrusted_source.is_some();
    match answer {
        "v" | "V" => Choice::View,
        "y" | "yes" | "Y" | "YES" | "t" | "T" | "s" | "S" | "a" | "A" | "d" | "D" if !is_shown => {
            Choice::Unseen
        }
        "y" | "yes" | "Y" | "YES" => Choice::Decided(question.approve().into()),
        "s" | "S" if offers.session => remembered(question.approve(), AnswerScope::Session),
        "a" | "A" if offers.always => remembered(question.approve(), AnswerScope::Always),
        "d" | "D" if offers.never => {
            let decision = no("The user denied this at the terminal, for all sessions.");
            remembered(decision, AnswerScope::Always)
        }
        "t" | "T" if is_untrusted => Choice::Decided(question.approve_and_trust().into()),
        "" | "n" | "no" | "N" | "NO" | "d" | "D" => {
            Choice::Decided(no("The user denied this at the terminal.").into())
        }
        answer => match reason_of(answer) {
            Some(reason) => {
                let reason = format!("The user denied this at the terminal: {reason}.");
                Choice::Decided(no(&reason).into())
            }
            None => Choice::Unclear,
        },
    }
}

/// The reason after a no: `n use the staging server`, `no: not today`.
fn reason_of(answer: &str) -> Option<&str> {
    let (first, rest) = answer.split_at(answer.find([' ', ':', ','])?);
    let is_no = matches!(first, "n" | "N" | "no" | "No" | "NO");
    let reason = rest.trim_matches([' ', ':', ',']).trim_end_matches('.');
    (is_no && !reason.is_empty()).then_some(reason)
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
            contained: telechir_policy::ContainedParts::default(),
            lines: vec!["$ rm x".to_owned()],
            reasons: Vec::new(),
            has_hidden_characters: false,
            approve: ApproveAt::Any,
            untrusted_source: untrusted.then(|| "a page".to_owned()),
            safety_checks: Vec::new(),
            min_answer_ms: 0,
        }
    }

    const NOTHING: Offers = Offers {
        session: false,
        always: false,
        never: false,
    };
    const EVERYTHING: Offers = Offers {
        session: true,
        always: true,
        never: true,
    };

    fn is_denied(choice: &Choice) -> bool {
        let denied = |answer: &TerminalAnswer| matches!(answer.decision, Decision::Deny { .. });
        matches!(choice, Choice::Decided(answer) if denied(answer) && answer.scope == AnswerScope::Once)
    }

    #[test]
    fn a_question_that_does_not_fit_cannot_be_approved_unseen() {
        let question = question(true);
        for answer in ["y", "yes", "Y", "t", "s", "a", "d"] {
            let choice = choice(answer, &question, false, EVERYTHING);
            assert_eq!(choice, Choice::Unseen, "{answer}");
        }
        assert_eq!(choice("v", &question, false, EVERYTHING), Choice::View);
        for answer in ["", "n", "no"] {
            let choice = choice(answer, &question, false, EVERYTHING);
            assert!(is_denied(&choice), "{answer}");
        }
        for answer in ["x", "yv"] {
            let choice = choice(answer, &question, false, EVERYTHING);
            assert_eq!(choice, Choice::Unclear, "{answer}");
        }
    }

    #[test]
    fn only_a_clear_yes_approves_and_only_t_trusts() {
        let (plain, untrusted) = (question(false), question(true));
        let yes = Choice::Decided(plain.approve().into());
        assert_eq!(choice("y", &plain, true, NOTHING), yes);
        let trusts = Choice::Decided(untrusted.approve_and_trust().into());
        assert_eq!(choice("t", &untrusted, true, NOTHING), trusts);
        for (answer, question) in [("", &plain), ("n", &untrusted), ("d", &plain)] {
            let choice = choice(answer, question, true, NOTHING);
            assert!(is_denied(&choice), "{answer}");
        }
        for answer in ["t", "yy", "s", "a"] {
            let choice = choice(answer, &plain, true, NOTHING);
            assert_eq!(choice, Choice::Unclear, "{answer}");
        }
    }

    #[test]
    fn a_no_takes_a_reason_for_the_model() {
        let question = question(false);
        for (answer, reason) in [
            ("n use the staging server", "use the staging server"),
            ("no: not today.", "not today"),
            ("N, ask Ada first", "ask Ada first"),
        ] {
            let text = format!("The user denied this at the terminal: {reason}.");
            let expected = Choice::Decided(no(&text).into());
            assert_eq!(choice(answer, &question, false, EVERYTHING), expected);
        }
        for unclear in ["not sure", "now", "nope", "yes no", "n:", "y please"] {
            let choice = choice(unclear, &question, true, EVERYTHING);
            assert_eq!(choice, Choice::Unclear, "{unclear}");
        }
    }

    #[test]
    fn an_answer_counts_for_more_only_where_that_is_offered() {
        let question = question(false);
        for (answer, offers, scope) in [
            ("s", EVERYTHING, AnswerScope::Session),
            ("a", EVERYTHING, AnswerScope::Always),
            ("y", EVERYTHING, AnswerScope::Once),
        ] {
            let decision = question.approve();
            let expected = Choice::Decided(TerminalAnswer { decision, scope });
            assert_eq!(choice(answer, &question, true, offers), expected);
        }
        let Choice::Decided(denied) = choice("d", &question, true, EVERYTHING) else {
            panic!("no decision");
        };
        assert_eq!(denied.scope, AnswerScope::Always);
        assert!(matches!(denied.decision, Decision::Deny { .. }));
    }

    #[test]
    fn what_needs_an_answer_each_time_can_only_be_denied_for_more() {
        let shape = telechir_policy::ApprovalShape {
            parts: vec!["rm x".to_owned()],
            reasons: Vec::new(),
        };
        let plain = Question {
            shape: Some(shape),
            ..question(false)
        };
        assert_eq!(Offers::of(&plain, Coverage::Always), EVERYTHING);
        assert_eq!(Offers::of(&plain, Coverage::Call), NOTHING);
        let session = Offers {
            session: true,
            ..NOTHING
        };
        assert_eq!(Offers::of(&plain, Coverage::Session), session);
        assert_eq!(EVERYTHING.remembered_lines(&plain).len(), 3);
        let untrusted = Question {
            untrusted_source: Some("a page".to_owned()),
            ..plain
        };
        let never = Offers {
            never: true,
            ..NOTHING
        };
        assert_eq!(Offers::of(&untrusted, Coverage::Always), never);
        assert_eq!(
            never.remembered_lines(&untrusted),
            ["  d denies this in all sessions: rm x"]
        );
        assert_eq!(Offers::of(&question(false), Coverage::Always), NOTHING);
    }
}
