//! Computer calls, their results, and safety checks.

mod json;

use serde::{Deserialize, Serialize};

use crate::json::or_default;
use crate::{Action, CallId, Failure, FrameId, Media, Meta, Point, Size, TargetId};

/// Who requires the user's approval before a call is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SafetySource {
    /// OpenAI, by `pending_safety_checks` in a call.
    #[default]
    Openai,
    /// Google, by `safety_decision` in a call's arguments.
    Google,
    /// Bedrock, by an invocation of type `USER_CONFIRMATION_AND_RESULT`.
    Bedrock,
    /// A policy of the operator of this program.
    Policy,
}

/// A provider's requirement that the user approves first. Never acknowledged without the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SafetyCheck {
    /// The provider's id of the check.
    pub id: String,
    /// Kind of the check, such as `malicious_instructions`; any string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The provider's message to the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Who requires the check.
    #[serde(default)]
    pub source: SafetySource,
}

/// A model's call to a screen or browser: one or more actions, one result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ComputerCall", transform = crate::schema::forms::never_null)
)]
#[serde(remote = "Self")]
pub struct ComputerCall {
    /// Pairs the call with its result.
    pub call_id: CallId,
    /// The provider's id of the item, if it differs from the call's id (OpenAI `cu_…`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// The actions in order. Empty only in a call with an `exception`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(required))]
    pub actions: Vec<Action>,
    /// Checks that the user must acknowledge first.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub pending_safety_checks: Vec<SafetyCheck>,
    /// The model's own description of its intent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// The target computer, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetId>,
    /// Tool group: after a failure, the remaining calls of the same group in a turn are not
    /// started. Anthropic's `toolset_name`, or `computer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The provider's status of the call, such as `completed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Why the call cannot be executed: it could not be decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exception: Option<String>,
    /// Members common to all contents.
    #[serde(flatten)]
    pub meta: Meta,
}

impl ComputerCall {
    /// Creates a call with only these actions.
    pub fn new(call_id: impl Into<CallId>, actions: Vec<Action>) -> Self {
        Self {
            call_id: call_id.into(),
            item_id: None,
            actions,
            pending_safety_checks: Vec::new(),
            intent: None,
            target: None,
            group: None,
            status: None,
            exception: None,
            meta: Meta::default(),
        }
    }

    /// The decision record's `coordinate`: that of the first action.
    pub fn coordinate(&self) -> Option<Point> {
        self.action().and_then(Action::coordinate)
    }

    /// The decision record's `end_coordinate`: the end of the first action, if it is a drag.
    pub fn end_coordinate(&self) -> Option<Point> {
        self.action().and_then(Action::end_coordinate)
    }

    /// The first action, which is the only one in dialects with one action per call.
    pub fn action(&self) -> Option<&Action> {
        self.actions.first()
    }
}

/// How far one action of a call got.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum StepState {
    /// Sent to the device; nothing confirms its effect.
    Delivered,
    /// Its effect was observed.
    Confirmed,
    /// Failed, or was refused.
    Failed {
        /// Its kind, and a sentence for the model.
        failure: Failure,
    },
    /// Not started, because an earlier action failed.
    NotStarted,
}

/// The outcome of one action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepOutcome {
    /// Name of the action.
    pub action: String,
    /// How far the action got.
    #[serde(flatten)]
    pub state: StepState,
    /// Text output, such as the pointer's position or a page's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A screenshot that this action itself requested, such as a zoom or a screenshot within a
    /// batch.
    #[serde(default, alias = "picture", skip_serializing_if = "Option::is_none")]
    pub screenshot: Option<Media>,
    /// Duration of the action in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// A browser tab at the end of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TabState {
    /// Id of the tab for calls.
    pub tab_id: String,
    /// Title of the page.
    pub title: String,
    /// URL of the page.
    pub url: String,
    /// Whether this is the active tab.
    #[serde(default)]
    pub active: bool,
}

/// An event in the browser that the call did not request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StateChange {
    /// A new tab was opened, by a call or by a page.
    TabOpened {
        /// Id of the tab for calls.
        tab_id: String,
    },
    /// A download started; a later change reports its end.
    DownloadStarted {
        /// Id of the download.
        download_id: String,
        /// URL of the file.
        url: String,
    },
    /// A download completed, and its file was saved.
    DownloadCompleted {
        /// Id of the download.
        download_id: String,
        /// URL of the file.
        url: String,
        /// Path of the file as programs of the session see it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// Size of the file in bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size_bytes: Option<u64>,
    },
    /// A download failed or was refused.
    DownloadFailed {
        /// Id of the download.
        download_id: String,
        /// URL of the file.
        url: String,
        /// Why the download failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

/// The result of a [`ComputerCall`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComputerResult {
    /// Pairs the result with its call.
    pub call_id: CallId,
    /// The provider's id of the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// The screen after the last action; never an earlier one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screenshot: Option<Media>,
    /// Id of the screenshot, to which labels and refs belong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<FrameId>,
    /// Size of the screenshot in pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<Size>,
    /// How the screen settled before the screenshot.
    #[serde(default, alias = "sighting", skip_serializing_if = "Option::is_none")]
    pub settling: Option<Settling>,
    /// Text output: the pointer's position, a page's text, a short confirmation. Also read from a
    /// text content.
    #[serde(
        default,
        deserialize_with = "json::text_output",
        skip_serializing_if = "Option::is_none"
    )]
    pub text_output: Option<String>,
    /// Why the call, or one of its actions, failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// The outcome of each action, in order; empty in a history without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepOutcome>,
    /// URL of the page; absent for a desktop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_url: Option<String>,
    /// Tabs of the browser; empty for a desktop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tabs: Vec<TabState>,
    /// Events in the browser that the call did not request. The text output contains them, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub state_changes: Vec<StateChange>,
    /// Safety checks that the user acknowledged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acknowledged_safety_checks: Vec<SafetyCheck>,
    /// Tool group of the call.
    #[serde(default, alias = "family", skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Members common to all contents.
    #[serde(flatten)]
    pub meta: Meta,
}

/// How a screen settled before its screenshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settling {
    /// Whether the screen stopped changing.
    pub settled: bool,
    /// How long settling was waited for, in milliseconds.
    pub settle_ms: u64,
    /// Why the screen did not settle; absent if it did.
    #[serde(default, alias = "held", skip_serializing_if = "Option::is_none")]
    pub unsettled: Option<UnsettledReason>,
    /// Region of the screenshot that keeps changing by itself, such as a spinner or a video: left,
    /// top, right and bottom in pixels, right and bottom excluded.
    #[serde(default, alias = "restless", skip_serializing_if = "Option::is_none")]
    pub animated_region: Option<[u32; 4]>,
    /// An earlier, identical screenshot.
    #[serde(default, alias = "same_as", skip_serializing_if = "Option::is_none")]
    pub identical_to: Option<FrameId>,
}

/// Why a screen did not settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UnsettledReason {
    /// It was still changing at the end of the wait.
    #[serde(alias = "changing")]
    StillChanging,
    /// A region keeps changing by itself; see `animated_region`.
    #[serde(alias = "restless")]
    Animated,
    /// Programs on it were still busy.
    #[serde(alias = "working")]
    Busy,
    /// A program has a timer pending.
    #[serde(alias = "waiting")]
    TimerPending,
    /// A page was still loading.
    Loading,
}

impl ComputerResult {
    /// A result of successful actions with the screen after them.
    pub fn ok(call_id: impl Into<CallId>, screenshot: Media) -> Self {
        Self {
            screenshot: Some(screenshot),
            ..Self::new(call_id)
        }
    }

    /// A result of successful actions with the screen after them and their text output.
    pub fn with_text(
        call_id: impl Into<CallId>,
        screenshot: Media,
        text: impl Into<String>,
    ) -> Self {
        Self {
            text_output: Some(text.into()),
            ..Self::ok(call_id, screenshot)
        }
    }

    /// A result of a call that failed, completely or in part.
    pub fn err(call_id: impl Into<CallId>, failure: Failure) -> Self {
        Self {
            error: Some(failure),
            ..Self::new(call_id)
        }
    }

    /// A result without screenshot, text, error or steps.
    pub fn new(call_id: impl Into<CallId>) -> Self {
        Self {
            call_id: call_id.into(),
            item_id: None,
            screenshot: None,
            frame: None,
            display: None,
            settling: None,
            text_output: None,
            error: None,
            steps: Vec::new(),
            current_url: None,
            tabs: Vec::new(),
            state_changes: Vec::new(),
            acknowledged_safety_checks: Vec::new(),
            group: None,
            meta: Meta::default(),
        }
    }
}
