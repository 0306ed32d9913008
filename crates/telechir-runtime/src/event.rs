//! Everything that can happen in a session, as one enum. Never contains typed text or images.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use telechir_policy::{Digest, Verdict};
use telechir_protocol::{ActionKind, CallId, Failure, FrameId, Size, UnsettledReason};

use crate::AnswerOrigin;

/// A kind of device of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A desktop: its windows, pointer and keyboard.
    Desktop,
    /// A browser with its tabs.
    Browser,
    /// A shell that runs commands.
    Shell,
    /// An editor of text files.
    Editor,
}

impl DeviceKind {
    /// The name used in events and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Desktop => "desktop",
            Self::Browser => "browser",
            Self::Shell => "shell",
            Self::Editor => "editor",
        }
    }
}

/// The kind of tool that a call uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// A call to a desktop or browser.
    Computer,
    /// A call to the shell.
    Shell,
    /// A call to the editor.
    Edit,
    /// A call to any other tool.
    Function,
}

/// The strongest statement that is true of a started action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionEffect {
    /// Sent to the device; nothing confirms its effect.
    Delivered,
    /// Observed to take effect.
    Confirmed,
    /// Failed; the failure says why.
    Failed,
    /// Stopped before it was complete.
    Cancelled,
    /// Performed earlier; the result comes from the journal.
    Recorded,
    /// A crash happened between its start and its end, so its effect is unknown.
    Interrupted,
}

/// How a caller identifies a turn, to fetch its results later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnIdentity {
    /// Chosen by the caller, unique in the session.
    pub key: String,
    /// Digest of the turn's contents.
    pub digest: Digest,
}

/// A step in the life of a browser at a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RemoteStep {
    /// It is about to be created; durable before the request.
    Requested,
    /// The service created it and answered.
    Opened,
    /// One that existed is used.
    Attached,
    /// It was not created, or that is not known.
    Failed,
    /// Its time was extended.
    Extended,
    /// It was ended at the service.
    Released,
    /// It could not be ended; the next start tries again.
    NotReleased,
}

impl RemoteStep {
    /// The step as a word or two.
    pub fn name(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Opened => "opened",
            Self::Attached => "attached",
            Self::Failed => "failed",
            Self::Extended => "extended",
            Self::Released => "released",
            Self::NotReleased => "not released",
        }
    }
}

/// An event of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum SessionEvent {
    /// The session started with this policy and these devices.
    #[serde(alias = "session_opened")]
    SessionStarted {
        /// Name of the session in the journal.
        run: String,
        /// Digest of the session's policy.
        policy: Digest,
        /// Devices of the session.
        devices: Vec<DeviceKind>,
        /// Resource limits of all commands together, as text; absent when unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shell_bounds: Option<String>,
    },
    /// The session ended; no event follows.
    SessionClosed {
        /// Why the session ended.
        reason: String,
    },
    /// The session has another policy from now on.
    PolicyReloaded {
        /// Digest of the new policy.
        policy: Digest,
    },
    /// A turn of the model arrived.
    #[serde(alias = "turn_began")]
    TurnStarted {
        /// Number of the turn, from 0.
        turn: u64,
        /// Number of calls that this session answers.
        calls: usize,
        /// Key and digest of the turn, if its caller identifies it.
        #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
        identity: Option<TurnIdentity>,
    },
    /// Every call of the turn has its result.
    #[serde(alias = "turn_answered")]
    TurnCompleted {
        /// Number of the turn, from 0.
        turn: u64,
        /// Duration of the turn in milliseconds.
        ms: u64,
    },
    /// A call arrived; it is not judged yet.
    CallReceived {
        /// Id of the call.
        call_id: CallId,
        /// Kind of tool that it uses.
        kind: CallKind,
        /// One line per step.
        steps: Vec<String>,
    },
    /// A call was judged by the policy.
    CallJudged {
        /// Id of the call.
        call_id: CallId,
        /// The strictest verdict of its steps.
        verdict: Verdict,
        /// The rule that decided.
        rule: String,
        /// The reason given by the rule.
        reason: String,
    },
    /// The user is asked for approval.
    QuestionAsked {
        /// Id of the call.
        call_id: CallId,
        /// Digest of the proposal that needs approval.
        digest: Digest,
        /// One line per step, without typed text.
        steps: Vec<String>,
        /// The reasons for asking.
        reasons: Vec<String>,
    },
    /// The user decided, or the approval timed out.
    QuestionAnswered {
        /// Id of the call.
        call_id: CallId,
        /// Whether the proposal was approved.
        approved: bool,
        /// Why it was denied; absent when approved.
        reason: Option<String>,
        /// Where the answer came from; absent if nobody answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<AnswerOrigin>,
    },
    /// An action is about to be performed; its intent is durable.
    ActionStarted {
        /// Id of the call.
        call_id: CallId,
        /// Index of the step in the call, from 0.
        step: usize,
        /// The device that performs it.
        device: DeviceKind,
        /// Kind of a screen action; absent for a command or edit.
        kind: Option<ActionKind>,
        /// One line about the action, without typed text.
        summary: String,
        /// Verdict of the policy; `ask` means that the user approved.
        verdict: Verdict,
    },
    /// An action ended. Its outcome is written, and durable before the call is answered.
    ActionFinished {
        /// Id of the call.
        call_id: CallId,
        /// Index of the step in the call, from 0.
        step: usize,
        /// The device that performed it.
        device: DeviceKind,
        /// Kind of a screen action; absent for a command or edit.
        kind: Option<ActionKind>,
        /// One line about the action, without typed text.
        summary: String,
        /// Verdict of the policy; `ask` means that the user approved.
        verdict: Verdict,
        /// What is known about the effect.
        effect: ActionEffect,
        /// Why it failed; absent otherwise.
        failure: Option<Failure>,
        /// How a command ended, for example `exit 0`; absent for screen actions.
        outcome: Option<String>,
        /// Duration of the action in milliseconds.
        ms: u64,
    },
    /// A screenshot was taken for the model.
    #[serde(alias = "picture_taken")]
    ScreenshotTaken {
        /// Id of the call that it answers.
        call_id: CallId,
        /// The device that it shows.
        device: DeviceKind,
        /// Id of the screenshot, to which labels and refs belong.
        frame: FrameId,
        /// BLAKE3 digest of the encoded image: its name in the journal.
        blob: String,
        /// Size of the screenshot in pixels.
        size: Size,
        /// Whether the screen had settled.
        settled: bool,
        /// How long settling was waited for, in milliseconds.
        #[serde(default)]
        settle_ms: u64,
        /// Why the screen had not settled; absent when it had.
        #[serde(default, alias = "held", skip_serializing_if = "Option::is_none")]
        unsettled: Option<UnsettledReason>,
        /// An earlier, identical screenshot, which was sent instead of a new encoding.
        #[serde(default, alias = "same_as", skip_serializing_if = "Option::is_none")]
        identical_to: Option<FrameId>,
        /// Time for settling, capturing and encoding in milliseconds.
        ms: u64,
    },
    /// A call has ended: it has its result, or its turn was cancelled, and then it is `cancelled`.
    CallAnswered {
        /// Id of the call.
        call_id: CallId,
        /// Why the call failed; absent when it succeeded.
        failure: Option<Failure>,
        /// Duration of the call in milliseconds, including approval.
        ms: u64,
    },
    /// A device is gone; later calls to it are answered with an error.
    DeviceLost {
        /// The device that is gone.
        device: DeviceKind,
        /// The device's last error.
        message: String,
    },
    /// A program on a device requested a connection. Contains no path, which might be secret.
    ConnectionJudged {
        /// The device whose program requested it.
        device: DeviceKind,
        /// The host as the policy judged it.
        host: String,
        /// The port; absent when the request names none.
        port: Option<u16>,
        /// The IP address of the connection; absent when none was opened.
        address: Option<IpAddr>,
        /// Whether the connection was allowed.
        passed: bool,
        /// The rule that decided.
        rule: String,
        /// The reason given by the rule.
        reason: String,
    },
    /// The session has read content from a source that its policy does not trust. Rules for this case
    /// count from now on.
    UntrustedContent {
        /// The source, such as a host.
        source: String,
    },
    /// The user decided to trust everything that the session has read so far.
    ContentTrusted {
        /// Id of the call whose approval said so.
        call_id: CallId,
    },
    /// A model works on a task from here on.
    TaskStarted {
        /// The task, as the user wrote it.
        task: String,
        /// The model's name, as the provider spells it.
        model: String,
        /// Name of the dialect in which it is called.
        dialect: String,
        /// Whether an earlier run of this conversation is continued.
        #[serde(default)]
        resumed: bool,
    },
    /// The model does not work on the task any more.
    TaskEnded {
        /// Why: `done`, `refused`, `step_limit` and the like; an error has `failed`.
        reason: String,
        /// The model's last message; possibly empty.
        text: String,
        /// Number of turns whose calls were executed.
        steps: u32,
        /// Input tokens of all requests; absent when not reported.
        input_tokens: Option<u64>,
        /// Output tokens of all responses; absent when not reported.
        output_tokens: Option<u64>,
    },
    /// A person took control: no call acts or observes until they give it back.
    ControlTaken {
        /// Who it is: role and name.
        by: String,
    },
    /// The person gave control back, or it ended. What they did is not recorded.
    ControlGivenBack {
        /// Who had it: role and name.
        by: String,
        /// How long they had it, in milliseconds.
        ms: u64,
        /// Number of their inputs, such as keys and moves of the pointer.
        inputs: u64,
    },
    /// A request was sent to the model.
    RequestSent {
        /// Number of the request, from 1.
        step: u64,
        /// Maximum number of requests in this run.
        limit: u64,
    },
    /// The model's response arrived.
    ResponseReceived {
        /// Number of the request, from 1.
        step: u64,
        /// Time to the complete response in milliseconds.
        ms: u64,
        /// Input tokens that the provider counted; absent when not reported.
        input_tokens: Option<u64>,
        /// Output tokens that the provider counted; absent when not reported.
        output_tokens: Option<u64>,
    },
    /// A request to the model is sent again.
    Retrying {
        /// Number of the retry, from 1.
        attempt: u32,
        /// Delay before the retry in milliseconds.
        wait_ms: u64,
        /// Why the previous attempt failed.
        reason: String,
    },
    /// The model sent a text message.
    #[serde(alias = "model_spoke")]
    AssistantMessage {
        /// Text of the message.
        text: String,
    },
    /// A browser at a service was rented, extended or released. Has no key and no address.
    RemoteBrowser {
        /// The point in its life that was reached.
        step: RemoteStep,
        /// Name of the service.
        service: String,
        /// The service's id of the session, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        /// The id that we gave it, by which the service finds it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mark: Option<String>,
        /// Why the step failed; of a browser that was opened or attached to, what the policy does not hold
        /// back there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A warning for the operator.
    Warning {
        /// Text of the warning, as a sentence.
        message: String,
    },
    /// This reader was too slow and lost events. Never recorded.
    EventsDropped {
        /// Number of lost events.
        count: u64,
    },
}
