//! Asks on the controlling terminal, never on standard input. Nobody there means no.

use std::io;

use rustix::fs::{Mode, OFlags};
use rustix::termios::{QueueSelector, tcflush};
use telechir_policy::{Decision, Question};
use telechir_process::Readiness;
use telechir_runtime::Approver;

/// The longest answer that is read; more is no answer.
const MAX_ANSWER: usize = 256;

/// The person at the terminal this program was started from, if there is one.
#[derive(Debug)]
pub(crate) struct Terminal {
    tty: Option<Readiness>,
}

impl Terminal {
    /// Opens the controlling terminal. Must be called inside the async runtime.
    pub(crate) fn open() -> Self {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let tty = rustix::fs::open("/dev/tty", flags, Mode::empty());
        Self {
            tty: tty.ok().and_then(|tty| Readiness::both(tty).ok()),
        }
    }

    async fn ask(&self, question: &Question) -> io::Result<Decision> {
        let Some(tty) = &self.tty else {
            return Ok(no(
                "A person would have to agree, and there is no terminal to ask on.",
            ));
        };
        // What was typed before the question was shown is no answer to it.
        let _best_effort = tcflush(tty, QueueSelector::IFlush);
        write_all(tty, render(question).as_bytes()).await?;
        let answer = read_line(tty).await?;
        match answer.trim() {
            "y" | "yes" | "Y" | "YES" => Ok(question.approve()),
            _ => Ok(no("The person at the terminal said no.")),
        }
    }
}

impl Approver for Terminal {
    async fn decide(&mut self, question: &Question) -> Decision {
        self.ask(question).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the terminal could not be read: the answer is no");
            no("A person would have to agree, and the terminal could not be read.")
        })
    }
}

fn no(reason: &str) -> Decision {
    Decision::Deny {
        reason: reason.to_owned(),
    }
}

/// The question as text. Every part of it was escaped when the question was made.
fn render(question: &Question) -> String {
    let mut text = format!("\nThe model asks to do this (call {}):\n", question.call_id);
    for line in &question.lines {
        text.push_str(&format!("    {line}\n"));
    }
    if question.has_hidden_characters {
        text.push_str(
            "  It holds characters that would not be visible; they are written out above.\n",
        );
    }
    for reason in &question.reasons {
        text.push_str(&format!("  Asked because: {reason}\n"));
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

/// One line from the terminal. A dropped question leaves the rest of it to be flushed.
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
