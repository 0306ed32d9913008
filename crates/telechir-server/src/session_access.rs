//! What an interface needs of a session, and what a session needs of an interface.

use async_trait::async_trait;
use serde_json::{Map, Value};
use telechir_policy::{Decision, Question};
use telechir_protocol::{Content, ToolResult};

/// A session that may not have been started yet.
#[async_trait]
pub trait SessionAccess: Send + Sync + 'static {
    /// Executes one call, after starting the session if necessary; `shows_screen` asks for a
    /// screenshot of the screen afterwards. Questions go to `approvals`. Dropping the future cancels
    /// the call.
    ///
    /// # Errors
    /// With a sentence for the model, if the session cannot be reached or started.
    async fn execute(
        &self,
        call: Content,
        shows_screen: bool,
        approvals: Box<dyn Approvals>,
    ) -> Result<ToolResult, String>;

    /// The session as members of an answer: its name, its devices, whether it runs.
    async fn describe(&self) -> Map<String, Value>;

    /// Closes the session, if it runs.
    ///
    /// # Errors
    /// With a sentence, if it did not close cleanly.
    async fn close(&self) -> Result<(), String>;
}

/// Asks the user whether a call may be executed.
#[async_trait]
pub trait Approvals: Send {
    /// The user's decision. Anything but an explicit yes is a denial.
    async fn decide(&mut self, question: &Question) -> Decision;
}
