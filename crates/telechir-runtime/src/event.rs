//! Everything that can happen in a session, as one enum. Never holds typed text or pictures.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use telechir_policy::{Digest, Verdict};
use telechir_protocol::{ActionKind, CallId, Failure, FrameId, Size, UnsettledReason};

/// A device of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// The desktop.
    Desktop,
    /// The browser.
    Browser,
    /// The shell.
    Shell,
    /// The editor.
    Editor,
}

impl DeviceKind {
    /// The name in events and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Desktop => "desktop",
            Self::Browser => "browser",
            Self::Shell => "shell",
            Self::Editor => "editor",
        }
    }
}

/// What a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// A screen or browser.
    Computer,
    /// A shell.
    Shell,
    /// An editor.
    Edit,
    /// Any other tool.
    Function,
}

/// The strongest thing that is true of an action that was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionEffect {
    /// Handed over; nothing confirms its effect.
    Delivered,
    /// Seen to take effect.
    Confirmed,
    /// It failed.
    Failed,
    /// It was stopped before its end.
    Cancelled,
    /// It had happened before; the answer comes from the journal.
    Recorded,
    /// A crash came between its start and its end: nobody knows.
    Interrupted,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum SessionEvent {
    /// The session began.
    #[serde(alias = "session_opened")]
    SessionStarted {
        /// Its name.
        run: String,
        /// The policy it is under.
        policy: Digest,
        /// What it has.
        devices: Vec<DeviceKind>,
        /// What commands may use up all together, in words; absent where nobody can say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shell_bounds: Option<String>,
    },
    /// The session ended; nothing follows.
    SessionClosed {
        /// Why.
        reason: String,
    },
    /// A model's turn arrived.
    #[serde(alias = "turn_began")]
    TurnStarted {
        /// Counted from 0.
        turn: u64,
        /// How many of its calls are ours to answer.
        calls: usize,
    },
    /// Every call of the turn has its result.
    #[serde(alias = "turn_answered")]
    TurnCompleted {
        /// Counted from 0.
        turn: u64,
        /// How long it took.
        ms: u64,
    },
    /// A call arrived.
    CallReceived {
        /// The call.
        call_id: CallId,
        /// What it is for.
        kind: CallKind,
        /// One line a step.
        steps: Vec<String>,
    },
    /// A call was judged.
    CallJudged {
        /// The call.
        call_id: CallId,
        /// The strictest verdict of its steps.
        verdict: Verdict,
        /// Which rule decided.
        rule: String,
        /// Why.
        reason: String,
    },
    /// A person is asked.
    QuestionAsked {
        /// The call.
        call_id: CallId,
        /// The digest of what would be done.
        digest: Digest,
        /// One line a step, without typed text.
        steps: Vec<String>,
        /// Why.
        reasons: Vec<String>,
    },
    /// The person answered, or nobody did.
    QuestionAnswered {
        /// The call.
        call_id: CallId,
        /// Whether it may run.
        approved: bool,
        /// Why not.
        reason: Option<String>,
    },
    /// An action is about to be carried out; its intent is durable.
    ActionStarted {
        /// The call.
        call_id: CallId,
        /// Its place in the call, from 0.
        step: usize,
        /// Where.
        device: DeviceKind,
        /// The kind of an action on a screen; none for a command.
        kind: Option<ActionKind>,
        /// One line, without typed text.
        summary: String,
        /// Under which verdict; `ask` means that a person agreed.
        verdict: Verdict,
    },
    /// An action ended; its outcome is written, and durable before the call is answered.
    ActionFinished {
        /// The call.
        call_id: CallId,
        /// Its place in the call, from 0.
        step: usize,
        /// Where.
        device: DeviceKind,
        /// The kind of an action on a screen; none for a command.
        kind: Option<ActionKind>,
        /// One line, without typed text.
        summary: String,
        /// Under which verdict; `ask` means that a person agreed.
        verdict: Verdict,
        /// What is known of its effect.
        effect: ActionEffect,
        /// Why it failed.
        failure: Option<Failure>,
        /// How a command ended, such as `exit 0`.
        outcome: Option<String>,
        /// How long it took.
        ms: u64,
    },
    /// A picture was taken for the model.
    #[serde(alias = "picture_taken")]
    ScreenshotTaken {
        /// The call it answers.
        call_id: CallId,
        /// Of which device.
        device: DeviceKind,
        /// Its name for labels and refs.
        frame: FrameId,
        /// Its BLAKE3 digest: its name in the journal.
        blob: String,
        /// Its size.
        size: Size,
        /// Whether the screen had stopped changing.
        settled: bool,
        /// How long it was waited for.
        #[serde(default)]
        settle_ms: u64,
        /// Why it had not.
        #[serde(default, alias = "held", skip_serializing_if = "Option::is_none")]
        unsettled: Option<UnsettledReason>,
        /// An earlier picture that shows the same, so that this one was not encoded again.
        #[serde(default, alias = "same_as", skip_serializing_if = "Option::is_none")]
        identical_to: Option<FrameId>,
        /// How long settling, capturing and encoding took.
        ms: u64,
    },
    /// A call has its result.
    CallAnswered {
        /// The call.
        call_id: CallId,
        /// Why it did not do what was asked.
        failure: Option<Failure>,
        /// How long it took, asking included.
        ms: u64,
    },
    /// A device is gone; later calls to it are answered with an error.
    DeviceLost {
        /// Which.
        device: DeviceKind,
        /// What it said.
        message: String,
    },
    /// A program of a device asked for a connection. Holds no path: what is asked for may be secret.
    ConnectionJudged {
        /// Whose program.
        device: DeviceKind,
        /// The host, as it was judged.
        host: String,
        /// The port; none when what was asked for names none.
        port: Option<u16>,
        /// The address that it was connected with.
        address: Option<IpAddr>,
        /// Whether it was let through.
        passed: bool,
        /// Which rule decided.
        rule: String,
        /// Why.
        reason: String,
    },
    /// A request was sent to the model.
    RequestSent {
        /// Counted from 1.
        step: u64,
        /// How many there may be.
        limit: u64,
    },
    /// The model's response arrived.
    ResponseReceived {
        /// Counted from 1.
        step: u64,
        /// How long it took.
        ms: u64,
        /// Tokens read.
        input_tokens: Option<u64>,
        /// Tokens written.
        output_tokens: Option<u64>,
    },
    /// A request is sent again.
    Retrying {
        /// Counted from 1.
        attempt: u32,
        /// After so long.
        wait_ms: u64,
        /// Why.
        reason: String,
    },
    /// The model said something that is not a call.
    #[serde(alias = "model_spoke")]
    AssistantMessage {
        /// Its text.
        text: String,
    },
    /// Something the operator should know.
    Warning {
        /// A sentence.
        message: String,
    },
    /// This reader was too slow: so many events are missing here. Never recorded.
    EventsDropped {
        /// How many.
        count: u64,
    },
}
