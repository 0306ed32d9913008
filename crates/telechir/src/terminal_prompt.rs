//! The questions of a session at the terminal of the caller whose call has them.

use std::io::{self, Write as _};
use std::time::Duration;

use telechir_host::QuestionPrompt;
use telechir_host::approvals::{CallerReply, OpenApproval};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::approver::{Coverage, TerminalApprover};

/// Asks at the terminal of this process, or waits for others if it has none.
#[derive(Debug)]
pub(crate) struct TerminalPrompt {
    /// How long the call waits for others.
    wait: Duration,
    shown: Option<ShownQuestion>,
}

#[derive(Debug)]
struct ShownQuestion {
    replies: mpsc::Receiver<CallerReply>,
    task: JoinHandle<()>,
}

impl Drop for ShownQuestion {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl TerminalPrompt {
    /// Without a terminal, calls wait this long for answers of others.
    pub(crate) fn new(wait: Duration) -> Self {
        Self { wait, shown: None }
    }
}

impl QuestionPrompt for TerminalPrompt {
    async fn show(&mut self, open: OpenApproval) {
        // Two replies at most: there is no terminal, and the call waits no longer.
        let (sender, replies) = mpsc::channel(2);
        let task = tokio::spawn(ask(open, self.wait, sender));
        self.shown = Some(ShownQuestion { replies, task });
    }

    fn withdraw(&mut self) {
        let shown = self.shown.take();
        if shown.is_some_and(|shown| !shown.task.is_finished()) {
            let text = "\ntelechir: the question was settled elsewhere";
            let _best_effort = writeln!(io::stderr(), "{text}");
        }
    }

    async fn reply(&mut self) -> CallerReply {
        if let Some(shown) = &mut self.shown
            && let Some(reply) = shown.replies.recv().await
        {
            return reply;
        }
        std::future::pending().await
    }
}

/// Asks, and sends the replies.
async fn ask(open: OpenApproval, wait: Duration, replies: mpsc::Sender<CallerReply>) {
    let elsewhere = format!("telechir approve {}", open.code);
    let notes = match &open.closed_to_commands {
        None => vec![format!("In another terminal: {elsewhere}")],
        Some(_) => Vec::new(),
    };
    let answer = match open.open_to_caller {
        true => {
            let terminal = TerminalApprover::open();
            terminal
                .ask(&open.question, Coverage::Session, &notes)
                .await
        }
        false => Ok(None),
    };
    let answer = answer.unwrap_or_else(|error| {
        tracing::warn!(%error, "failed to use the terminal");
        None
    });
    if let Some(answer) = answer {
        let reply = CallerReply::Decided {
            decision: answer.decision,
            remembers: answer.remembers,
            by: "the caller".to_owned(),
        };
        // The call may be over.
        let _withdrawn = replies.send(reply).await;
        return;
    }
    if open.closed_to_commands.is_none() {
        let text = format!("telechir: a call needs your approval: {elsewhere}");
        let _best_effort = writeln!(io::stderr(), "{text}");
    }
    let _withdrawn = replies.send(CallerReply::Closed).await;
    sleep(wait).await;
    let _withdrawn = replies.send(CallerReply::Parked).await;
}
