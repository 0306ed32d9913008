//! The protocol's own sessions over HTTP, in the versions that have them. In each, a request in flight has
//! an id of its own.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Mutex, PoisonError};

use futures_util::stream::{Stream, StreamExt as _, once};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};

use crate::mcp::ids_in_flight::IdsInFlight;

/// The sessions of one principal's clients.
#[derive(Debug, Default)]
pub(super) struct McpSessions {
    sessions: LocalSessionManager,
    ids: Mutex<HashMap<SessionId, IdsInFlight>>,
}

impl McpSessions {
    /// The number of sessions.
    pub(super) async fn len(&self) -> usize {
        self.sessions.sessions.read().await.len()
    }

    fn with_ids<T>(&self, change: impl FnOnce(&mut HashMap<SessionId, IdsInFlight>) -> T) -> T {
        change(&mut self.ids.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl SessionManager for McpSessions {
    type Error = LocalSessionManagerError;
    type Transport = WithIdsInFlight<WorkerTransport<LocalSessionWorker>>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let (session, transport) = self.sessions.create_session().await?;
        let ids = IdsInFlight::default();
        self.with_ids(|all| all.insert(session.clone(), ids.clone()));
        Ok((session, WithIdsInFlight { transport, ids }))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.sessions.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.sessions.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.with_ids(|all| all.remove(id));
        self.sessions.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let ids = self.with_ids(|all| all.get(id).cloned());
        let checked = ids.map_or(Ok(()), |ids| ids.receive(&mut message));
        if let Err(error) = checked {
            let error = ServerSseMessage::from_message(*error);
            return Ok(once(ready(error)).left_stream());
        }
        let stream = self.sessions.create_stream(id, message).await?;
        Ok(stream.right_stream())
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.sessions.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.sessions.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.sessions.resume(id, last_event_id).await
    }
}

/// The messages of a session, which show when its requests are answered or cancelled.
#[derive(Debug)]
pub(super) struct WithIdsInFlight<T> {
    transport: T,
    ids: IdsInFlight,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for WithIdsInFlight<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.ids.send(&message);
        self.transport.send(message)
    }

    /// As cancel-safe as the transport. The ids of requests were checked before.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let message = self.transport.receive().await?;
        self.ids.note_cancellation(&message);
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}
