//! What a run needs of a session, so that the session can be in another process.

use std::future::Future;

use telechir_protocol::{AnsweredTurn, ModelTurn};
use telechir_runtime::{ConversationEntry, Session, SessionEvent};

use crate::AgentError;

/// Executes the turns of a run.
pub trait AgentSession: Send {
    /// Makes an entry of the conversation durable.
    ///
    /// # Errors
    /// If the session cannot record it.
    fn record(
        &mut self,
        entry: ConversationEntry,
    ) -> impl Future<Output = Result<(), AgentError>> + Send;

    /// The texts that calls of this turn type where input is hidden, which no recording has.
    ///
    /// # Errors
    /// If the session cannot be asked.
    fn hidden_input(
        &mut self,
        turn: &ModelTurn,
    ) -> impl Future<Output = Result<Vec<String>, AgentError>> + Send;

    /// Executes the calls of a response; `response` counts them from 0, and `started` is the number
    /// of the turn if an earlier process started it. Dropping the future cancels it.
    ///
    /// # Errors
    /// If the session cannot execute or record the turn; errors of a call are part of its result.
    fn execute(
        &mut self,
        turn: ModelTurn,
        response: u64,
        started: Option<u64>,
    ) -> impl Future<Output = Result<AnsweredTurn, AgentError>> + Send;

    /// Reports the progress of the run to the session's subscribers.
    fn emit(&self, event: SessionEvent);

    /// Reports progress like [`Self::emit`], while the session does something else.
    fn emitter(&self) -> impl Fn(SessionEvent) + Send + Sync + use<Self>;

    /// Waits for a response of the model, which does not need the session meanwhile.
    fn wait_for<T: Send>(
        &mut self,
        response: impl Future<Output = T> + Send,
    ) -> impl Future<Output = T> + Send;

    /// Whether the user stopped the session.
    fn is_stopped(&self) -> bool;

    /// Completes when the user stops the session.
    fn until_stopped(&self) -> impl Future<Output = ()> + Send + use<Self>;

    /// Ends what still runs after the session was stopped.
    fn finish_dropped_turn(&mut self) -> impl Future<Output = ()> + Send;
}

impl AgentSession for Session {
    async fn record(&mut self, entry: ConversationEntry) -> Result<(), AgentError> {
        Ok(self.record_conversation(&entry).await?)
    }

    async fn hidden_input(&mut self, turn: &ModelTurn) -> Result<Vec<String>, AgentError> {
        Ok(Self::hidden_input(self, turn))
    }

    async fn execute(
        &mut self,
        turn: ModelTurn,
        response: u64,
        started: Option<u64>,
    ) -> Result<AnsweredTurn, AgentError> {
        Ok(self.execute_response(turn, response, started).await?)
    }

    fn emit(&self, event: SessionEvent) {
        Self::emit(self, event);
    }

    fn emitter(&self) -> impl Fn(SessionEvent) + Send + Sync + use<> {
        let events = self.event_sender();
        move |event| events.emit(event)
    }

    async fn wait_for<T: Send>(&mut self, response: impl Future<Output = T> + Send) -> T {
        response.await
    }

    fn is_stopped(&self) -> bool {
        self.stopped().is_some()
    }

    fn until_stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let stopped = Self::until_stopped(self);
        async move {
            stopped.await;
        }
    }

    async fn finish_dropped_turn(&mut self) {
        Self::finish_dropped_turn(self).await;
    }
}
