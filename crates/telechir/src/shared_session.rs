//! The session of `run` between its model and people: whoever takes control has it until they give it
//! back, and the model's turns wait.

use std::future::Future;

use telechir_agent::{AgentError, AgentSession};
use telechir_host::PersonTurns;
use telechir_protocol::{AnsweredTurn, ModelTurn};
use telechir_runtime::{ConversationEntry, Session, SessionEvent};

/// A session whose turns are executed while nobody has control.
#[derive(Debug)]
pub(crate) struct SharedSession<'a> {
    pub(crate) session: &'a mut Session,
    /// None if nobody can take control.
    pub(crate) people: Option<&'a mut PersonTurns>,
}

impl<'a> AgentSession for SharedSession<'a> {
    async fn record(&mut self, entry: ConversationEntry) -> Result<(), AgentError> {
        self.session.record(entry).await
    }

    async fn hidden_input(&mut self, turn: &ModelTurn) -> Result<Vec<String>, AgentError> {
        Ok(Session::hidden_input(self.session, turn))
    }

    async fn execute(
        &mut self,
        turn: ModelTurn,
        response: u64,
        started: Option<u64>,
    ) -> Result<AnsweredTurn, AgentError> {
        if let Some(people) = &mut self.people {
            people.until_given_back(self.session).await;
        }
        AgentSession::execute(self.session, turn, response, started).await
    }

    fn emit(&self, event: SessionEvent) {
        self.session.emit(event);
    }

    fn emitter(&self) -> impl Fn(SessionEvent) + Send + Sync + use<'a> {
        AgentSession::emitter(&*self.session)
    }

    async fn wait_for<T: Send>(&mut self, response: impl Future<Output = T> + Send) -> T {
        match &mut self.people {
            Some(people) => people.serve_during(self.session, response).await,
            None => response.await,
        }
    }

    fn is_stopped(&self) -> bool {
        self.session.is_stopped()
    }

    fn until_stopped(&self) -> impl Future<Output = ()> + Send + use<'a> {
        AgentSession::until_stopped(&*self.session)
    }

    async fn finish_dropped_turn(&mut self) {
        AgentSession::finish_dropped_turn(self.session).await;
    }
}
