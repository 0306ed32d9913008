//! Approvals of a call without a session host: at this terminal, or in another one.

use std::time::Duration;

use serde_json::Value;
use telechir_host::approvals::CallerReply;
use telechir_host::tokens::TokenFile;
use telechir_host::{CallQuestions, HostSettings, QuestionPrompt as _, ViewedSession};
use telechir_policy::{ApproveAt, Decision, Policy, Question};
use telechir_runtime::{Answer, Approver};

use crate::args::{DeviceArguments, SafetyArguments};
use crate::env;
use crate::error::CliError;
use crate::session_host::{host_failure, paths, standing_choices};
use crate::terminal_prompt::TerminalPrompt;

/// A command whose devices end with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneCall {
    /// The command, which the name of its questions begins with.
    pub(crate) command: &'static str,
    /// How long a call waits for others if there is no terminal.
    pub(crate) wait: Duration,
    /// Whether people find its session from its start, to look at it and to take control.
    pub(crate) visibility: SessionVisibility,
}

/// When people find the session of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionVisibility {
    /// While a question waits.
    WithQuestions,
    /// From the start, if that is possible.
    IfPossible,
    /// From the start, for its live page.
    ForPage,
}

impl OneCall {
    /// The name under which others find its questions.
    pub(crate) fn name(&self) -> String {
        format!("{}-{}", self.command, std::process::id())
    }
}

/// Asks at the terminal of this process, and shows the questions to `telechir approvals`.
#[derive(Debug)]
pub(crate) struct CallApprover {
    questions: CallQuestions,
    viewed: Option<ViewedSession>,
    /// How long a call waits for others if there is no terminal.
    wait: Duration,
}

impl CallApprover {
    /// The approver of one command with these devices.
    ///
    /// # Errors
    /// If there is no folder for the socket at which others find the questions.
    pub(crate) fn open(
        devices: &DeviceArguments,
        safety: &SafetyArguments,
        policy: &Policy,
        caller: OneCall,
    ) -> Result<Self, CliError> {
        let paths = paths(&caller.name().parse().map_err(CliError::message)?)?;
        let settings = HostSettings {
            devices: devices.names(),
            config: Value::Null,
            policy: policy.digest(),
            idle_limit: Duration::ZERO,
            approval_timeout: safety.approval_timeout(),
            standing: standing_choices(devices),
            tokens: env::token_file()
                .filter(|_| caller.visibility != SessionVisibility::WithQuestions)
                .map(TokenFile::new),
            is_resumed: false,
        };
        let mut questions = CallQuestions::new(paths, settings).map_err(host_failure)?;
        let viewed = match caller.visibility {
            SessionVisibility::WithQuestions => None,
            SessionVisibility::IfPossible | SessionVisibility::ForPage => {
                questions.viewed_session()
            }
        };
        if viewed.is_some() {
            questions.show().map_err(host_failure)?;
        }
        Ok(Self {
            questions,
            viewed,
            wait: caller.wait,
        })
    }

    /// Where the session goes for people who look at it, once it has started.
    pub(crate) fn take_viewed_session(&mut self) -> Option<ViewedSession> {
        self.viewed.take()
    }

    /// The answer to a call that waits no longer. Its devices end with it, so that no later call could
    /// use another one.
    fn unanswered(&self) -> Answer {
        let reason = match self.wait.is_zero() {
            true => "This needs the user's approval, and there is no terminal to prompt on.",
            false => "This needs the user's approval, and nobody answered in time.",
        };
        Answer::from(Decision::Deny {
            reason: reason.to_owned(),
        })
    }
}

impl Approver for CallApprover {
    async fn decide(&mut self, question: &Question) -> Answer {
        if let Err(error) = self.questions.show() {
            tracing::warn!(%error, "the question can be answered at this terminal only");
        }
        let mut queue = self.questions.queue().clone();
        let mut changes = queue.changes();
        let mut deciding = std::pin::pin!(queue.decide(question));
        let mut prompt = TerminalPrompt::of_call(self.wait);
        let mut shown = None;
        loop {
            tokio::select! {
                biased;
                answer = &mut deciding => {
                    if let Some(code) = &shown {
                        let settled = self.questions.queue().settled(code);
                        prompt.withdraw(settled.as_deref());
                    }
                    return answer;
                }
                // The queue exists as long as it decides.
                _changed = changes.changed(), if shown.is_none() => {
                    if let Some(open) = self.questions.queue().waiting() {
                        shown = Some(open.code.clone());
                        prompt.show(open).await;
                    }
                }
                reply = prompt.reply(), if shown.is_some() => match (reply, &shown) {
                    (CallerReply::Parked, _) => return self.unanswered(),
                    (CallerReply::Closed, _) if self.wait.is_zero() => return self.unanswered(),
                    (reply, Some(code)) => {
                        if let Err(reason) = self.questions.reply(code, reply) {
                            let open = self.questions.queue().find(code);
                            prompt.refused(&reason, open).await;
                        }
                    }
                    (_, None) => {}
                },
            }
        }
    }

    fn earlier_answer(&mut self, question: &Question) -> Option<Answer> {
        self.questions.queue().clone().earlier_answer(question)
    }

    fn can_ask(&self, at: ApproveAt) -> bool {
        self.questions.queue().can_ask(at)
    }
}
