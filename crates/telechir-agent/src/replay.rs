//! Rebuilds the conversation of a recorded run. Nothing is executed here.

use telechir_protocol::{Content, ToolResult};
use telechir_providers::{Response, StopReason};
use telechir_runtime::{RecordedConversation, RecordedEntry, RecordedResponse, RecordedTurn};

use crate::AgentError;
use crate::task_run::{OpenTurn, TaskRun, unacknowledged};

impl TaskRun<'_> {
    /// Adds everything after the first message. A turn that was not answered completely stays open.
    ///
    /// # Errors
    /// If the conversation has ended and there is no further task, or it cannot be continued.
    pub(crate) fn replay(
        &mut self,
        recorded: &RecordedConversation,
        has_task: bool,
    ) -> Result<(), AgentError> {
        let mut ended = None;
        for entry in recorded.entries.iter().skip(1) {
            if self.open.is_some() {
                return refuse("a response follows calls without results; verify the recording");
            }
            match entry {
                RecordedEntry::Message(text) => {
                    self.conversation.push_message(text);
                    self.finished.steps = 0;
                    ended = None;
                }
                RecordedEntry::Response(response) => ended = self.replay_response(response)?,
            }
        }
        if ended.is_some() && !has_task {
            return refuse("the model has ended its task; give another task to continue");
        }
        // What was answered is behind the limit of the earlier process.
        if has_task || self.open.is_none() {
            self.finished.steps = 0;
        }
        Ok(())
    }

    /// Adds a response and the results of its calls; returns why the conversation ended with it.
    fn replay_response(
        &mut self,
        recorded: &RecordedResponse,
    ) -> Result<Option<StopReason>, AgentError> {
        let bytes = serde_json::to_vec(&recorded.body)?;
        let mut response = self.conversation.push_response(&bytes)?;
        self.carry_hosted_source(&mut response);
        let number = self.responses;
        self.responses += 1;
        self.count(&response);
        match response.stop {
            StopReason::Calls => {
                self.finished.steps += 1;
                match &recorded.turn {
                    Some(turn) if turn.has_ended => self.replay_results(response, turn)?,
                    _ if recorded.is_redacted => {
                        return refuse(
                            "its last calls typed hidden text, which no recording has; start a new run",
                        );
                    }
                    turn => {
                        self.open = Some(OpenTurn {
                            turn: response.turn,
                            response: number,
                            started: turn.as_ref().map(|turn| turn.number),
                        });
                    }
                }
                Ok(None)
            }
            StopReason::Continue => {
                self.finished.steps += 1;
                Ok(None)
            }
            stop @ (StopReason::Done
            | StopReason::Refused { .. }
            | StopReason::MaxTokens
            | StopReason::ContextExceeded
            | StopReason::Failed { .. }
            | StopReason::Incomplete { .. }) => {
                if !response.turn.calls().is_empty() {
                    return refuse(
                        "its last response was cut off or refused and has calls without results; start a new run",
                    );
                }
                Ok(Some(stop))
            }
        }
    }

    fn replay_results(
        &mut self,
        response: Response,
        turn: &RecordedTurn,
    ) -> Result<(), AgentError> {
        let results = turn.results.iter().cloned().filter_map(tool_result);
        let answered = response.turn.answer(results.collect());
        let answered = answered.map_err(|error| AgentError::NotResumable {
            why: format!("the recorded results do not match its calls: {error}"),
        })?;
        if let Some(message) = unacknowledged(&answered) {
            return refuse(&format!(
                "a safety check of the provider was not acknowledged: {message}"
            ));
        }
        let _known_losses = self.conversation.push_results(&answered)?;
        Ok(())
    }
}

fn refuse<T>(why: &str) -> Result<T, AgentError> {
    let why = why.to_owned();
    Err(AgentError::NotResumable { why })
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "no other content is the result of a call"
)]
fn tool_result(content: Content) -> Option<ToolResult> {
    match content {
        Content::ComputerResult(result) => Some(ToolResult::Computer(result)),
        Content::ShellResult(result) => Some(ToolResult::Shell(result)),
        Content::EditResult(result) => Some(ToolResult::Edit(result)),
        Content::FunctionResult(result) => Some(ToolResult::Function(result)),
        _ => None,
    }
}
