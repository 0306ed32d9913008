//! What a caller and a holder say to each other. In the neutral vocabulary: the dialect's own JSON
//! stays with the caller.

use serde::{Deserialize, Serialize};
use telechir_policy::{Decision, Digest, Question};
use telechir_protocol::{Content, ToolResult};

use super::flags::Flags;

/// Goes up when a message changes its meaning; another number is refused.
pub(super) const PROTOCOL: u32 = 1;

/// The first word of a caller.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) protocol: u32,
    pub(super) version: String,
}

impl Hello {
    pub(super) fn ours() -> Self {
        Self {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// What a caller says after the greeting.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    /// Wants a turn.
    Enter,
    /// Has the turn: these are the contents of a model's response.
    CarryOut {
        dialect: String,
        contents: Vec<Content>,
    },
    /// A person's answer to the question with this number.
    Decide { number: u64, decision: Decision },
    /// Ends the session.
    Close,
}

/// What a holder says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    /// What is held here.
    Welcome(Description),
    /// No more than this is said to this caller.
    Refused { message: String },
    /// Another caller has the turn; this one waits.
    Busy,
    /// Say now what to carry out.
    YourTurn,
    /// A person has to be asked.
    Ask { number: u64, question: Question },
    /// One result for each call.
    Answered { results: Vec<Content> },
    /// The caller left or stopped: nothing is pressed and no command runs any more.
    Cancelled,
    /// It did not work.
    Failed { message: String },
    /// Every process is gone; or what could not be ended.
    Closed { problem: Option<String> },
}

/// A session from outside.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Description {
    pub(crate) name: String,
    pub(crate) pid: u32,
    pub(crate) state: State,
    /// `desktop`, `browser`, `shell`, `editor`.
    pub(crate) devices: Vec<String>,
    pub(crate) age_seconds: u64,
    /// Since the last call ended; zero while one runs.
    pub(crate) idle_seconds: u64,
    pub(crate) idle_limit_seconds: u64,
    /// Callers that wait for their turn.
    pub(crate) waiting: usize,
    pub(crate) flags: Flags,
    pub(crate) policy: Digest,
}

/// What a holder does at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// Its devices are being started.
    Starting,
    /// It waits for a call.
    Idle,
    /// It carries out a call.
    Busy,
    /// Its devices are being ended.
    Closing,
    /// It ended without closing: killed, or the machine was.
    Gone,
}

impl State {
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

/// The result that a content is.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other content is no result"
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
