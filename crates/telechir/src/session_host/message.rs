//! Messages between callers and a session host. They use the neutral vocabulary: the dialect's own
//! JSON stays with the caller.

use serde::{Deserialize, Serialize};
use telechir_policy::{Decision, Digest, Interface, Question};
use telechir_protocol::{Content, ToolResult};

use super::flags::Flags;

/// Increases when a message changes its meaning; other versions are rejected.
pub(super) const PROTOCOL: u32 = 2;

/// The first message of a caller.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) protocol: u32,
    pub(super) version: String,
}

impl Hello {
    pub(super) fn current() -> Self {
        Self {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// A caller's message after the version check.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HostRequest {
    /// Requests a turn.
    Enter,
    /// Executes the contents of a model's response; valid during the caller's turn.
    CarryOut {
        screenshots: ScreenshotsFor,
        /// Where the caller asks the user.
        interface: Interface,
        contents: Vec<Content>,
    },
    /// The user's decision on the approval question with this number.
    Decide { number: u64, decision: Decision },
    /// Closes the session.
    Close,
    /// Makes the session end when this connection does.
    Own,
}

/// Whom the screenshots of a call are for, which decides their size, encoding and number.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ScreenshotsFor {
    /// A model that is reached in this dialect.
    Dialect(String),
    /// A client of the Model Context Protocol. With `on_request`, only actions that take a
    /// screenshot return one.
    Mcp { on_request: bool },
}

/// A session host's message.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HostReply {
    /// The version check passed; describes the session.
    Welcome(SessionDescription),
    /// The caller is rejected; the last message of the connection.
    Refused { message: String },
    /// Another caller has the turn; this one is queued.
    Busy,
    /// The caller's turn starts: it sends its call now.
    YourTurn,
    /// A call needs the user's approval.
    Ask { number: u64, question: Question },
    /// The results, one per call.
    Answered { results: Vec<Content> },
    /// The call was cancelled: its keys are released and its commands killed.
    Cancelled,
    /// The request failed.
    Failed { message: String },
    /// The session is closed; `problem` describes devices that did not stop cleanly.
    Closed { problem: Option<String> },
}

/// Description of a session for callers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SessionDescription {
    pub(crate) name: String,
    pub(crate) pid: u32,
    pub(crate) state: SessionState,
    /// `desktop`, `browser`, `shell`, `editor`.
    pub(crate) devices: Vec<String>,
    pub(crate) age_seconds: u64,
    /// Time since the last call ended; zero during a call.
    pub(crate) idle_seconds: u64,
    pub(crate) idle_limit_seconds: u64,
    /// Number of callers waiting for their turn.
    pub(crate) waiting: usize,
    pub(crate) flags: Flags,
    pub(crate) policy: Digest,
}

/// State of a session host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SessionState {
    /// The devices are starting.
    Starting,
    /// No call is running.
    Idle,
    /// A call is running.
    Busy,
    /// The devices are stopping.
    Closing,
    /// The session host exited without closing the session, for example because it was killed.
    Gone,
}

impl SessionState {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Idle => "idle",
            Self::Busy => "busy",
            Self::Closing => "closing",
            Self::Gone => "gone",
        }
    }
}

/// The tool result in a content, if it is one.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all other contents are not results"
)]
pub(super) fn to_result(content: Content) -> Option<ToolResult> {
    match content {
        Content::ComputerResult(result) => Some(ToolResult::Computer(result)),
        Content::ShellResult(result) => Some(ToolResult::Shell(result)),
        Content::EditResult(result) => Some(ToolResult::Edit(result)),
        Content::FunctionResult(result) => Some(ToolResult::Function(result)),
        _ => None,
    }
}
