//! Prompts on the controlling terminal, never on stdin. Without a terminal the answer is no.

use std::io;

use rustix::fs::{Mode, OFlags};
use rustix::termios::{QueueSelector, tcflush};
use telechir_policy::{Decision, Question};
use telechir_process::Readiness;
use telechir_runtime::Approver;

/// Maximum length of an answer in bytes; a longer one counts as no.
const MAX_ANSWER: usize = 256;

/// Approval prompts on the terminal that this program was started from, if there is one.
#[derive(Debug)]
pub(crate) struct TerminalApprover {
    tty: Option<Readiness>,
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

    async fn prompt(&self, question: &Question) -> io::Result<Decision> {
        let Some(tty) = &self.tty else {
            return Ok(no(
                "This needs the user's approval, and there is no terminal to prompt on.",
            ));
        };
        // Discard input typed before the prompt was visible.
        let _best_effort = tcflush(tty, QueueSelector::IFlush);
        write_all(tty, render(question).as_bytes()).await?;
        let answer = read_line(tty).await?;
        match answer.trim() {
            "y" | "yes" | "Y" | "YES" => Ok(question.approve()),
            _ => Ok(no("The user denied this at the terminal.")),
        }
    }
}

impl Approver for TerminalApprover {
    async fn decide(&mut self, question: &Question) -> Decision {
        self.prompt(question).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "failed to read the terminal; the answer is no");
            no("This needs the user's approval, and the terminal could not be read.")
        })
    }
}

fn no(reason: &str) -> Decision {
    Decision::Deny {
        reason: reason.to_owned(),
    }
}

/// The prompt's text. All parts of a question are escaped when it is created.
fn render(question: &Question) -> String {
    let mut text = format!(
        "\nThe model requests approval (call {}):\n",
        question.call_id
    );
    for line in &question.lines {
        text.push_str(&format!("    {line}\n"));
    }
    if question.has_hidden_characters {
        text.push_str("  It contains invisible characters; they are escaped above.\n");
    }
    for reason in &question.reasons {
        text.push_str(&format!("  Reason: {reason}\n"));
    }
    for check in &question.safety_checks {
        let code = check.code.as_deref().unwrap_or("safety check");
        let message = check.message.as_deref().unwrap_or_default();
        text.push_str(&format!("  The provider's {code}: {message}\n"));
    }
    text.push_str("Allow it once? [y/N] ");
    text
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
