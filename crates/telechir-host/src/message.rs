//! Messages between clients and a session host. They use the neutral vocabulary: the dialect's own
//! JSON stays with the client.
//!
//! Both sides exchange [`Hello`] and [`Greeting`], which no version changes. Then a client sends
//! numbered requests, any number at once; each reply has the number of its request.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use telechir_policy::{Digest, Interface};
use telechir_protocol::{Content, Size, Tool, ToolResult};
use telechir_runtime::{
    ChangedArea, ConversationEntry, DeviceKind, OutputTail, PersonInput, RecordedToolCall,
    ScreenChanges, SessionEvent,
};

use crate::HostErrorKind;
use crate::approvals::{
    ApprovalCode, CallerReply, CommandAnswer, FoundApproval, OpenApproval, OperatorAnswer,
    RememberedApproval,
};
use crate::tokens::BearerToken;

/// Version of the messages. Increases when one changes its meaning; other versions are refused.
pub const PROTOCOL: u32 = 5;

/// Maximum length of a key in bytes.
const MAX_KEY_BYTES: usize = 128;

static KEYS: AtomicU64 = AtomicU64::new(0);

/// The first message of a client.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) protocol: u32,
    pub(crate) version: String,
}

impl Hello {
    pub(crate) fn current() -> Self {
        Self {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// The first message of a session host.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Greeting {
    /// The versions agree; describes the session.
    Welcome(Box<SessionDescription>),
    /// The versions differ; the last message of the connection.
    Refused {
        /// For clients of other versions, which print it.
        message: String,
        /// Protocol of the host; absent in versions before 2.
        #[serde(default)]
        protocol: Option<u32>,
        /// Version of the host; absent in versions before 2 of the protocol.
        #[serde(default)]
        version: Option<String>,
    },
}

/// A request with its number, which its replies have, too.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) id: u64,
    pub(crate) request: HostRequest,
}

/// A reply with the number of its request.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Reply {
    pub(crate) id: u64,
    pub(crate) reply: HostReply,
}

/// What a client can request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HostRequest {
    /// Describe the session.
    Describe,
    /// Execute the calls of a turn. The same key with the same contents joins the earlier request.
    Execute(TurnRequest),
    /// Follow the turn with this key.
    Await { key: TurnKey },
    /// Cancel the turn with this key.
    Cancel { key: TurnKey },
    /// Follow the turn with this key no longer in the request with this number, and cancel it unless
    /// another request follows it, too.
    Leave {
        key: TurnKey,
        #[serde(default)]
        request: Option<u64>,
    },
    /// List the open questions.
    ListApprovals,
    /// Find the question with this code.
    FindApproval { code: ApprovalCode },
    /// The reply of the client whose turn has this question.
    ReplyToQuestion {
        code: ApprovalCode,
        reply: CallerReply,
    },
    /// Answer the question with this code from another terminal.
    AnswerApproval {
        code: ApprovalCode,
        answer: CommandAnswer,
    },
    /// Answer the question with this code as an operator of the HTTP API.
    AnswerAsOperator {
        code: ApprovalCode,
        answer: OperatorAnswer,
    },
    /// List the approvals for the rest of the session.
    ListRemembered,
    /// End the approval for the rest of the session that has this number.
    RevokeApproval { number: u64 },
    /// Send the events of the session's recording, from this row on; absent for new events alone. With
    /// a window, so many at most that were not reported as read.
    Subscribe {
        from: Option<u64>,
        #[serde(default)]
        window: Option<u32>,
    },
    /// Send the row of the first event that counts, and then the events like [`Self::Subscribe`].
    FollowEvents { from: EventsFrom, window: u32 },
    /// So many more events were read of the request with this number.
    EventsRead { id: u64, count: u32 },
    /// Send no more events for the request with this number.
    Unsubscribe { id: u64 },
    /// Capture a screen for people; without a device the first one. The running call goes on.
    CaptureScreen {
        device: Option<DeviceKind>,
        max_width: Option<u32>,
    },
    /// Wait until a screen differs from the version that the client has, a few seconds at most;
    /// without a version send all of it at once.
    WatchScreen {
        device: Option<DeviceKind>,
        since: Option<u64>,
    },
    /// Read the browser's page for people. The running call goes on.
    ReadPage,
    /// Wait until no call runs and the operator with this token has control.
    TakeControl { token: BearerToken },
    /// Have the effect of input of whoever has control; without a device on the first screen.
    ControlInput {
        id: ControlId,
        device: Option<DeviceKind>,
        input: PersonInput,
    },
    /// End control as the operator with this token, whoever has it.
    GiveControlBack { token: BearerToken },
    /// Send a screenshot of the session's recording.
    ReadScreenshot { digest: String },
    /// Send the call whose event has this row in the session's recording.
    ReadCall { row: u64 },
    /// Wait until the output of the running command differs from the version that the client has, a few
    /// seconds at most; without a version send it at once.
    WatchOutput { since: Option<u64> },
    /// The same for the message that the model of a task is writing.
    WatchMessage { since: Option<u64> },
    /// Open the browser's DevTools protocol for a program, if the policy permits it. It ends with this
    /// connection.
    OpenDevtools,
    /// A message of the program whose connection was opened by the request with this number.
    SendDevtools { id: u64, text: String },
    /// Wait for messages for the program; none once its connection has ended.
    ReceiveDevtools { id: u64 },
    /// Begin a task: what its model can use here. One client at a time works on a task, until it reports
    /// the end or disconnects.
    OfferDevices { screenshots: ScreenshotsFor },
    /// The texts that calls of these contents type where the shell hides its input.
    FindHiddenInput { contents: Vec<Content> },
    /// Make an entry of a model's conversation durable.
    RecordConversation { entry: Box<ConversationEntry> },
    /// Report progress of a task to those who follow the session.
    ReportTask { event: Box<SessionEvent> },
    /// Show the next piece of the message that the model of a task is writing; an empty one ends it.
    ShowMessage { piece: String },
    /// Read the policy again; an invalid one changes nothing.
    ReloadPolicy,
    /// Close the session after this time without a call at the earliest; extend what it rents, too,
    /// if asked for.
    Extend { seconds: u64, with_rented: bool },
    /// Close the session.
    Close,
    /// End the session when this connection ends.
    Own,
}

/// A session host's reply.
#[expect(
    clippy::large_enum_variant,
    reason = "made once per message and taken apart at once"
)]
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HostReply {
    /// The description of the session.
    Described(Box<SessionDescription>),
    /// Other calls are executed first.
    Queued,
    /// The first reply to a turn that may be a retry and has not ended: its key, or that of the turn that
    /// it has joined.
    Accepted { key: TurnKey },
    /// The turn has started; also withdraws its last question.
    Started,
    /// The turn needs the user's approval.
    Question(OpenApproval),
    /// The results, one per call.
    Answered { results: Vec<Content> },
    /// The turn was cancelled: its keys are released and its commands killed.
    Cancelled,
    /// Other calls took longer than this one could wait; it did not start.
    Busy,
    /// The events from this row on follow.
    EventsFrom { row: u64 },
    /// An event with its row in the recording.
    Event { row: u64, at_ms: i64, event: Value },
    /// No more events follow; `next` is the row to read on from.
    EventsEnded { next: u64 },
    /// The image that was requested; none if the recording has no screenshot with this digest.
    Image(Option<SessionImage>),
    /// The call that was requested; none if no call's event has the row.
    RecordedCall(Option<RecordedToolCall>),
    /// The output as it is now.
    OutputChanged(OutputTail),
    /// The browser's page as text.
    Page { text: String },
    /// What differs from the version that the client has.
    ScreenChanged(ScreenUpdate),
    /// The operator has control.
    ControlTaken { id: ControlId },
    /// The connection of a program is open.
    DevtoolsOpened { id: u64 },
    /// The next messages for a program, in order; none once its connection has ended.
    DevtoolsMessages { messages: Vec<String> },
    /// What a model can use.
    Offered(Box<DeviceOffer>),
    /// The texts that are typed where the shell hides its input.
    HiddenInput { texts: Vec<String> },
    /// The session has this policy now.
    Reloaded { policy: Digest },
    /// The open questions.
    Approvals { open: Vec<OpenApproval> },
    /// What is known about the code.
    Approval(Box<FoundApproval>),
    /// The approvals for the rest of the session.
    Remembered { approvals: Vec<RememberedApproval> },
    /// The request is done, and there is nothing to report.
    Done,
    /// The request failed.
    Failed {
        message: String,
        #[serde(default)]
        kind: HostErrorKind,
    },
    /// The session is closed; `problem` describes devices that did not stop cleanly.
    Closed { problem: Option<String> },
}

/// The calls of a turn, for whom they are executed, and how long that may take to start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TurnRequest {
    /// Identifies the turn; the same key again fetches its results and executes nothing.
    pub key: TurnKey,
    /// Whom the screenshots are for.
    pub screenshots: ScreenshotsFor,
    /// Where the client asks the user.
    pub interface: Interface,
    /// How long the turn may wait for others, in milliseconds.
    pub queue_ms: u64,
    /// Whether the turn continues when its client is gone. Otherwise it is then cancelled, unless
    /// it waits for an approval.
    #[serde(default)]
    pub runs_on: bool,
    /// Whether the response may have been sent before. If all its calls have ids and a turn with the
    /// same contents has not ended, it joins that turn, whatever the key.
    #[serde(default)]
    pub may_be_retry: bool,
    /// Whether the turn was certainly not sent before: in a session that continues a run, too, its calls
    /// are none of the recording's, whatever their ids.
    #[serde(default)]
    pub is_new: bool,
    /// The contents of the model's response.
    pub contents: Vec<Content>,
    /// What the model read at its provider, as far as the contents do not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosted_source: Option<String>,
}

/// The first event that a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventsFrom {
    /// The first in this row of the recording or a later one.
    Row(u64),
    /// The first of this session, whose recording may have those of earlier ones.
    Session,
    /// The first that happens after the request; earlier ones are not sent.
    Now,
}

/// The key of a turn: chosen by the client, unique in the session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TurnKey(String);

impl TurnKey {
    /// Wraps a key of the client's choice.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    /// Creates a key that no other client chooses.
    pub fn unique() -> Self {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let (process, within) = (std::process::id(), KEYS.fetch_add(1, Ordering::Relaxed));
        Self(format!("{:x}-{process:x}-{within:x}", now.as_nanos()))
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the key is neither empty nor too long.
    pub(crate) fn is_valid(&self) -> bool {
        (1..=MAX_KEY_BYTES).contains(&self.0.len())
    }
}

impl fmt::Display for TurnKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An image of a session: a screen as it is now, or a recorded screenshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionImage {
    /// The media type, such as `image/png`.
    pub media_type: String,
    /// The file of the image, in the format of its media type.
    #[serde(with = "base64_bytes")]
    pub bytes: Vec<u8>,
}

/// Names the control of a person; only who has the name has control.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ControlId(pub(crate) String);

/// The person who has control of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonInControl {
    /// Role and name of their token.
    pub by: String,
    /// Seconds since they took it.
    pub seconds: u64,
    /// Seconds until it ends without further input.
    pub ends_in_seconds: u64,
}

/// What changed on a screen since the version that a client has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScreenUpdate {
    /// The version that the client has with these areas.
    pub version: u64,
    /// Width and height of the screen in pixels.
    pub size: Size,
    /// The areas that changed; none if nothing did for a few seconds.
    pub areas: Vec<ScreenArea>,
}

/// An area of a screen as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScreenArea {
    /// Distance of its left edge from that of the screen, in pixels.
    pub x: u32,
    /// Distance of its top edge from that of the screen, in pixels.
    pub y: u32,
    /// Width and height in pixels.
    pub size: Size,
    /// The image of the area, as large as it.
    pub image: SessionImage,
}

impl From<ScreenChanges> for ScreenUpdate {
    fn from(changes: ScreenChanges) -> Self {
        let area = |area: ChangedArea| ScreenArea {
            x: area.region.origin().x(),
            y: area.region.origin().y(),
            size: area.region.size(),
            image: SessionImage {
                media_type: area.media_type.to_owned(),
                bytes: area.bytes,
            },
        };
        Self {
            version: changes.version,
            size: changes.size,
            areas: changes.areas.into_iter().map(area).collect(),
        }
    }
}

mod base64_bytes {
    //! Bytes as base64 text.

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        STANDARD.decode(text).map_err(de::Error::custom)
    }
}

/// What a session offers to a model that works on a task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeviceOffer {
    /// The tools to declare.
    pub tools: Vec<Tool>,
    /// Size of the desktop's screenshots; absent without a desktop.
    pub desktop: Option<Size>,
    /// Size of the browser's screenshots; absent without a browser.
    pub browser: Option<Size>,
    /// The folder that shell, editor and desktop share.
    pub workspace: PathBuf,
    /// The row of the session's recording that is written next.
    pub next_row: u64,
}

/// Whom the screenshots of a call are for, which decides their size, encoding and number.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScreenshotsFor {
    /// A model that is reached in this dialect.
    Dialect(String),
    /// The model with this name.
    Model {
        /// Name of the dialect in which it is reached.
        dialect: String,
        /// The model's name, as the provider spells it.
        name: String,
    },
    /// A client of the Model Context Protocol.
    Mcp {
        /// Whether only actions that take a screenshot return one.
        on_request: bool,
    },
    /// A person or a script that saves them: lossless, and only of actions that take one.
    OnRequest,
}

/// Description of a session for its clients.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SessionDescription {
    /// Name of the session.
    pub name: String,
    /// Process id of its host.
    pub pid: u32,
    /// What the host is doing.
    pub state: SessionState,
    /// Some of `desktop`, `browser`, `shell`, `editor`.
    pub devices: Vec<String>,
    /// Time since the host started, in seconds.
    pub age_seconds: u64,
    /// When the host started, in milliseconds since 1970. With the name it tells this session from
    /// earlier ones.
    #[serde(default)]
    pub started_ms: u64,
    /// Time since the last call ended, in seconds; zero during a call.
    pub idle_seconds: u64,
    /// The time without a call after which the session is closed, in seconds.
    pub idle_limit_seconds: u64,
    /// Time until the session is closed if no call comes, in seconds; absent unless it is idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closes_in_seconds: Option<u64>,
    /// Number of calls that wait for others.
    pub waiting: usize,
    /// The turn that is executed; absent if none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<TurnKey>,
    /// Who has control instead of the calls; absent if nobody has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<PersonInControl>,
    /// The configuration that the session was started with.
    pub config: Value,
    /// Digest of the session's policy.
    pub policy: Digest,
}

/// State of a session host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
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
    /// Every state, from the start of a session to its end.
    pub const ALL: [Self; 5] = [
        Self::Starting,
        Self::Idle,
        Self::Busy,
        Self::Closing,
        Self::Gone,
    ];

    /// The name in lists.
    pub const fn name(self) -> &'static str {
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
pub(crate) fn to_result(content: Content) -> Option<ToolResult> {
    match content {
        Content::ComputerResult(result) => Some(ToolResult::Computer(result)),
        Content::ShellResult(result) => Some(ToolResult::Shell(result)),
        Content::EditResult(result) => Some(ToolResult::Edit(result)),
        Content::FunctionResult(result) => Some(ToolResult::Function(result)),
        _ => None,
    }
}
