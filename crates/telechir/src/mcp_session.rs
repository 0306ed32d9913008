//! The session behind `mcp`: found or started with the first call, through a session host.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};
use telechir_host::approvals::{CallerReply, OpenApproval};
use telechir_host::{
    HostClient, Probe, QuestionPrompt, ScreenshotsFor, SessionPaths, TurnKey, TurnRequest, probe,
};
use telechir_policy::{Digest, Interface};
use telechir_protocol::{CallId, Content, ModelTurn, ToolResult};
use telechir_server::{Approvals, SessionAccess};
use tokio::sync::Mutex;

use crate::args::McpArguments;
use crate::error::CliError;
use crate::session_host::{Caller, answered_contents, enter, host_failure, paths};

/// How long a call waits while others use the same session; clients end a call after 60 seconds.
const MAX_WAIT: Duration = Duration::from_secs(45);

/// The session behind a server, which starts with the first call.
#[derive(Debug)]
pub(crate) struct McpSession {
    paths: SessionPaths,
    arguments: McpArguments,
    digest: Option<Digest>,
    /// The connection of all calls. A session that was not named ends with it.
    client: Mutex<Option<Arc<HostClient>>>,
    calls: AtomicU64,
}

impl McpSession {
    /// The session of these arguments, which is not started yet.
    pub(crate) fn new(arguments: McpArguments) -> Result<Self, CliError> {
        // A policy that cannot be read must not be noticed with the first call.
        let policy = crate::policy::load(&arguments.safety)?;
        let digest = arguments.safety.policy.is_some().then(|| policy.digest());
        let name = match &arguments.session {
            Some(name) => name.clone(),
            None => format!("mcp-{}", std::process::id())
                .parse()
                .map_err(CliError::message)?,
        };
        Ok(Self {
            paths: paths(&name)?,
            digest,
            client: Mutex::default(),
            calls: AtomicU64::new(0),
            arguments,
        })
    }

    /// The connection to the session, which is found or started if there is none.
    async fn connect(&self) -> Result<Arc<HostClient>, CliError> {
        let mut connected = self.client.lock().await;
        if let Some(client) = connected.as_ref().filter(|client| client.is_open()) {
            return Ok(Arc::clone(client));
        }
        let caller = Caller {
            devices: &self.arguments.devices,
            safety: &self.arguments.safety,
            idle_timeout: None,
            policy: self.digest,
        };
        let client = Arc::new(enter(&self.paths, caller).await?);
        if self.arguments.session.is_none() {
            client.own().await.map_err(host_failure)?;
        }
        *connected = Some(Arc::clone(&client));
        Ok(client)
    }

    async fn call(
        &self,
        call: Content,
        shows_screen: bool,
        approvals: Box<dyn Approvals>,
    ) -> Result<ToolResult, CliError> {
        let turn = ModelTurn::new(vec![self.identified(call)])?;
        let request = TurnRequest {
            key: TurnKey::unique(),
            screenshots: ScreenshotsFor::Mcp {
                on_request: !shows_screen,
            },
            interface: Interface::Other,
            queue_ms: u64::try_from(MAX_WAIT.as_millis()).unwrap_or(u64::MAX),
            runs_on: false,
            contents: answered_contents(&turn),
        };
        let client = self.connect().await?;
        let mut call = client.execute(request).await.map_err(host_failure)?;
        let mut prompt = ClientPrompt(approvals);
        let results = call.results(&mut prompt, || {}).await;
        let results = results.map_err(host_failure)?;
        let answered = turn.answer(results)?;
        let result = answered.results().first().cloned();
        result.ok_or_else(|| CliError::message("the session returned no result"))
    }

    /// The call with an id of its own: the protocol has none.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "tools make no other contents"
    )]
    fn identified(&self, mut call: Content) -> Content {
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let id = CallId::from(format!("mcp-{number}").as_str());
        match &mut call {
            Content::ComputerCall(call) => call.call_id = id,
            Content::ShellCall(call) => call.call_id = id,
            _ => {}
        }
        call
    }
}

/// The client of the server, which asks its user.
struct ClientPrompt(Box<dyn Approvals>);

impl QuestionPrompt for ClientPrompt {
    async fn show(&mut self, open: OpenApproval) {
        self.0.show(open).await;
    }

    /// The client's own question ends when its call does.
    fn withdraw(&mut self) {}

    async fn reply(&mut self) -> CallerReply {
        self.0.reply().await
    }
}

#[async_trait]
impl SessionAccess for McpSession {
    fn approval_wait(&self) -> Duration {
        Duration::from_secs(self.arguments.approval_wait)
    }

    async fn execute(
        &self,
        call: Content,
        shows_screen: bool,
        approvals: Box<dyn Approvals>,
    ) -> Result<ToolResult, String> {
        let result = self.call(call, shows_screen, approvals).await;
        result.map_err(|error| error.text().to_owned())
    }

    async fn describe(&self) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("session".to_owned(), self.paths.name.to_string().into());
        let description = match probe(&self.paths).await {
            Ok(Probe::Alive(client)) => serde_json::to_value(client.description()).ok(),
            Ok(Probe::Dead | Probe::Changing | Probe::Nothing) | Err(_) => None,
        };
        members.insert("running".to_owned(), description.is_some().into());
        for name in ["devices", "state", "age_seconds", "idle_seconds"] {
            if let Some(value) = description.as_ref().and_then(|all| all.get(name)) {
                members.insert(name.to_owned(), value.clone());
            }
        }
        members
    }

    async fn close(&self) -> Result<(), String> {
        if self.arguments.session.is_some() {
            return Ok(());
        }
        let client = self.client.lock().await.take();
        drop(client);
        let closed = HostClient::close_session(&self.paths).await;
        closed.map(drop).map_err(|error| error.to_string())
    }
}
