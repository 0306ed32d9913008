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
    /// Whether the question stays open when the call waits no longer.
    outlives_call: bool,
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
    /// Asks for a call of a session: without a terminal, it waits this long for answers of others.
    pub(crate) fn new(wait: Duration) -> Self {
        Self {
            wait,
            outlives_call: true,
            shown: None,
        }
    }

    /// Asks for a call whose devices end with it.
    pub(crate) fn of_call(wait: Duration) -> Self {
        Self {
            outlives_call: false,
            ..Self::new(wait)
        }
    }
}

impl QuestionPrompt for TerminalPrompt {
    async fn show(&mut self, open: OpenApproval) {
        // Two replies at most: there is no terminal, and the call waits no longer.
        let (sender, replies) = mpsc::channel(2);
        let can_be_answered = self.outlives_call || !self.wait.is_zero();
        let is_announced = can_be_answered && open.closed_to_commands.is_none();
        let task = tokio::spawn(ask(open, self.wait, is_announced, sender));
        self.shown = Some(ShownQuestion { replies, task });
    }

    fn withdraw(&mut self, settled: Option<&str>) {
        let shown = self.shown.take();
        if shown.is_some_and(|shown| !shown.task.is_finished()) {
            let how = settled.map_or_else(String::new, |how| format!(": {how}"));
            let text = format!("\ntelechir: the question was settled elsewhere{how}");
            let _best_effort = writeln!(io::stderr(), "{text}");
        }
    }

    async fn refused(&mut self, reason: &str, open: Option<OpenApproval>) {
        let text = format!("\ntelechir: the answer does not count: {reason}\n");
        let terminal = TerminalApprover::open();
        if !terminal.print(&text).await {
            let _best_effort = io::stderr().write_all(text.as_bytes());
        }
        // Asks again, or shows where else to answer.
        self.shown = None;
        if let Some(open) = open {
            self.show(open).await;
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
async fn ask(
    open: OpenApproval,
    wait: Duration,
    is_announced: bool,
    replies: mpsc::Sender<CallerReply>,
) {
    let elsewhere = format!("telechir approve {}", open.code);
    let mut notes: Vec<String> = open.problem.iter().cloned().collect();
    if open.closed_to_commands.is_none() {
        notes.push(format!("In another terminal: {elsewhere}"));
    }
    let answer = match open.open_to_caller {
        true => {
            let terminal = TerminalApprover::open();
            terminal
                .ask(&open.question, Coverage::of(&open), &notes)
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
            scope: answer.scope,
            by: "the caller".to_owned(),
        };
        // The call may be over.
        let _withdrawn = replies.send(reply).await;
        return;
    }
    if is_announced {
        let text = format!("telechir: a call needs your approval: {elsewhere}");
        let _best_effort = writeln!(io::stderr(), "{text}");
    }
    let _withdrawn = replies.send(CallerReply::Closed).await;
    sleep(wait).await;
    let _withdrawn = replies.send(CallerReply::Parked).await;
}
