//! What an interface needs of a session, and what a session needs of an interface.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};
use telechir_host::approvals::{CallerReply, OpenApproval};
use telechir_host::{Probe, SessionPaths, probe};
use telechir_protocol::{Content, ToolResult};
use telechir_tools::OpenOptions;

/// The answer of a session without a model for tasks.
pub const NO_MODEL: &str = "No model is configured for tasks.";

/// A session that may not have been started yet.
#[async_trait]
pub trait SessionAccess: Send + Sync + 'static {
    /// Executes one call, after starting the session if necessary; `shows_screen` asks for a
    /// screenshot of the screen afterwards. Questions go to `approvals`. Dropping the future cancels
    /// the call. A call with an id is executed once in the session: sent again, it has the result of
    /// the first time. One without an id gets its own.
    ///
    /// # Errors
    /// With a sentence for the model, if the session cannot be reached or started.
    async fn execute(
        &self,
        call: Content,
        shows_screen: bool,
        approvals: Box<dyn Approvals>,
    ) -> Result<ToolResult, String>;

    /// Prepares the session for these options; its devices start with the first call.
    ///
    /// # Errors
    /// With a sentence for the model, for an option that this session cannot have.
    async fn open(&self, options: &OpenOptions) -> Result<(), String>;

    /// Lets the session live for so many seconds without a call.
    ///
    /// # Errors
    /// With a sentence for the model, if the session does not run or cannot live that long.
    async fn extend(&self, seconds: u64) -> Result<(), String>;

    /// The next steps of another model for an instruction, as members of an answer. The model sees
    /// the screen; nothing is acted on. A session has no model unless this is implemented.
    ///
    /// # Errors
    /// With a sentence, if the model or the session cannot be reached.
    async fn plan(
        &self,
        _instruction: &str,
        _approvals: Box<dyn Approvals>,
    ) -> Result<Map<String, Value>, String> {
        Err(NO_MODEL.to_owned())
    }

    /// Lets another model work on an instruction until it is done or has taken `max_steps` turns; the
    /// report as members of an answer. Each of its calls is judged. Dropping the future stops it.
    ///
    /// # Errors
    /// With a sentence, if the model or the session cannot be reached, or the model did not finish.
    async fn work(
        &self,
        _instruction: &str,
        _max_steps: u32,
        _approvals: Box<dyn Approvals>,
    ) -> Result<Map<String, Value>, String> {
        Err(NO_MODEL.to_owned())
    }

    /// The session as members of an answer: its name, its devices, whether it runs.
    async fn describe(&self) -> Map<String, Value>;

    /// How long one request waits for an answer of the user: most clients end a call after 60
    /// seconds.
    fn approval_wait(&self) -> Duration {
        Duration::from_secs(45)
    }

    /// Closes the session, if it runs.
    ///
    /// # Errors
    /// With a sentence, if it did not close cleanly.
    async fn close(&self) -> Result<(), String>;
}

/// Asks the user of a client whether a call may be executed.
#[async_trait]
pub trait Approvals: Send {
    /// Shows a question, which replaces the one before.
    async fn show(&mut self, open: OpenApproval);

    /// The next reply to the question that is shown. Waits for ever if there is none; cancel-safe.
    async fn reply(&mut self) -> CallerReply;
}

/// The session with these paths as members of an answer: its name, whether it runs, and if so its
/// devices, state and age.
pub async fn session_members(paths: &SessionPaths) -> Map<String, Value> {
    let description = match probe(paths).await {
        Ok(Probe::Alive(client)) => serde_json::to_value(client.description()).ok(),
        Ok(Probe::Dead | Probe::Changing | Probe::Nothing) | Err(_) => None,
    };
    let mut members = Map::new();
    members.insert("name".to_owned(), paths.name.to_string().into());
    members.insert("running".to_owned(), description.is_some().into());
    for name in ["devices", "state", "age_seconds", "idle_seconds"] {
        if let Some(value) = description.as_ref().and_then(|all| all.get(name)) {
            members.insert(name.to_owned(), value.clone());
        }
    }
    members
}
