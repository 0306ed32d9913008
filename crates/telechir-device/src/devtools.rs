//! An optional ability of a browser: programs of others drive it by its DevTools protocol.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::DeviceError;

/// Opens channels to a browser, beside the calls of the session.
#[async_trait]
pub trait DevtoolsSource: Send + Sync + fmt::Debug {
    /// Opens a channel of its own, with its own subscriptions to events.
    ///
    /// # Errors
    /// When the browser is gone, or belongs to somebody else.
    async fn open(&self) -> Result<DevtoolsChannel, DeviceError>;
}

/// An open channel. It ends when all its parts are dropped.
#[derive(Debug)]
pub struct DevtoolsChannel {
    /// Where commands are sent; clones share the channel.
    pub commands: Arc<dyn DevtoolsCommands>,
    /// Receives the events of the channel's sessions.
    pub events: Box<dyn DevtoolsEvents>,
    /// The browser context that the session's tabs belong to, as events name it.
    pub context: String,
    /// The name of the isolated world in which this system's own scripts run, in each page.
    pub world: String,
}

/// Where the events of a channel arrive.
#[async_trait]
pub trait DevtoolsEvents: Send + fmt::Debug {
    /// The next event; none once the browser is gone, or too many were not read. Cancel-safe.
    async fn next(&mut self) -> Option<DevtoolsEvent>;
}

/// Sends the commands of a channel.
#[async_trait]
pub trait DevtoolsCommands: Send + Sync + fmt::Debug {
    /// Sends a command; without a session, to the browser itself. Its reply can be awaited later.
    ///
    /// # Errors
    /// With a sentence, if it was not sent.
    async fn send(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<DevtoolsReply, String>;
}

/// The reply to a command, or the browser's message of why it failed.
pub type DevtoolsReply = Pin<Box<dyn Future<Output = Result<Value, String>> + Send>>;

/// An event of a browser.
#[derive(Clone, Debug, PartialEq)]
pub struct DevtoolsEvent {
    /// The session of a page; absent for the browser itself.
    pub session: Option<String>,
    /// The name of the event.
    pub method: String,
    /// The parameters, as the browser sent them.
    pub params: Value,
}
