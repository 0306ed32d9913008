//! A computer call, its one result, and the safety checks that may come with it.

mod json;

use serde::{Deserialize, Serialize};

pub(crate) use json::entry;

use crate::{Action, CallId, Failure, FrameId, Media, Meta, Point, Size, TargetId};

/// Who wants a person to look before a call is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SafetySource {
    /// OpenAI's `pending_safety_checks`.
    #[default]
    Openai,
    /// Google's `safety_decision`.
    Google,
    /// Bedrock's `USER_CONFIRMATION_AND_RESULT`.
    Bedrock,
    /// A policy of whoever runs this program.
    Policy,
}

/// A provider's demand that a person agrees first. Never acknowledged on a person's behalf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SafetyCheck {
    /// The provider's name of the check.
    pub id: String,
    /// Its sort, such as `malicious_instructions`; any string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The provider's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Who demands it.
    #[serde(default)]
    pub source: SafetySource,
}

/// What a model asks of a screen or browser: one call, one or more actions, one result.
#[derive(Clone, Debug, PartialEq)]
pub struct ComputerCall {
    /// Joins call and result.
    pub call_id: CallId,
    /// The provider's name of the item, when it has one beside the call's (OpenAI `cu_…`).
    pub item_id: Option<String>,
    /// The steps in order. Empty only in a call with an `exception`.
    pub actions: Vec<Action>,
    /// Checks that a person must acknowledge first.
    pub pending_safety_checks: Vec<SafetyCheck>,
    /// The model's own words on what it wants.
    pub intent: Option<String>,
    /// Which of several computers.
    pub target: Option<TargetId>,
    /// Calls of one family in one turn are a batch: after a failure the rest is not begun.
    /// Anthropic's `toolset_name`, or `computer`.
    pub group: Option<String>,
    /// How far the model was with writing it.
    pub status: Option<String>,
    /// Why the call cannot be carried out at all: it could not be understood.
    pub exception: Option<String>,
    /// What every content carries.
    pub meta: Meta,
}

impl ComputerCall {
    /// A call of these actions with nothing else.
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

    /// The decision record's `coordinate`: the first action's.
    pub fn coordinate(&self) -> Option<Point> {
        self.action().and_then(Action::coordinate)
    }

    /// The decision record's `end_coordinate`: where the first action, a drag, ends.
    pub fn end_coordinate(&self) -> Option<Point> {
        self.action().and_then(Action::end_coordinate)
    }

    /// The first action: the whole call where a dialect has one action a call.
    pub fn action(&self) -> Option<&Action> {
        self.actions.first()
    }
}

/// How far one action of a call came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum StepState {
    /// Handed to the device; nothing confirms its effect.
    Delivered,
    /// Its effect was seen.
    Confirmed,
    /// It failed, or was refused.
    Failed {
        /// Why.
        failure: Failure,
    },
    /// Never begun, because an earlier one failed.
    NotStarted,
}

/// What became of one action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepOutcome {
    /// The action's name.
    pub action: String,
    /// How far it came.
    #[serde(flatten)]
    pub state: StepState,
    /// What it says in words: a pointer's place, a page's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A picture this very action asked for, such as a zoom or a screenshot within a batch.
    #[serde(default, alias = "picture", skip_serializing_if = "Option::is_none")]
    pub screenshot: Option<Media>,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// A tab of a browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TabState {
    /// The name to use in calls.
    pub tab_id: String,
    /// The page's title.
    pub title: String,
    /// The page's address.
    pub url: String,
    /// Whether it is the one in front.
    #[serde(default)]
    pub active: bool,
}

/// What happened in a browser beside what was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StateChange {
    /// A tab is there that was not: opened by a call, or by a page.
    TabOpened {
        /// The name to use in calls.
        tab_id: String,
    },
    /// A page began to give a file.
    DownloadStarted {
        /// The download's name.
        download_id: String,
        /// Where the file comes from.
        url: String,
    },
    /// A file is there, whole.
    DownloadCompleted {
        /// The download's name.
        download_id: String,
        /// Where the file came from.
        url: String,
        /// Where it is, as programs of the session name it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// How long it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size_bytes: Option<u64>,
    },
    /// A file did not come, or was refused.
    DownloadFailed {
        /// The download's name.
        download_id: String,
        /// Where the file was to come from.
        url: String,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

/// The one result of a [`ComputerCall`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComputerResult {
    /// Joins call and result.
    pub call_id: CallId,
    /// The provider's name of the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// The screen after the last action; a fresh one, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screenshot: Option<Media>,
    /// The screenshot's frame, for labels and refs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<FrameId>,
    /// The screenshot's size in pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<Size>,
    /// How the screen was when the screenshot was taken.
    #[serde(default, alias = "sighting", skip_serializing_if = "Option::is_none")]
    pub settling: Option<Settling>,
    /// What is said in words: a pointer's place, a page's text, a short confirmation. Also read
    /// from a text content.
    #[serde(
        default,
        deserialize_with = "json::text_output",
        skip_serializing_if = "Option::is_none"
    )]
    pub text_output: Option<String>,
    /// Why the call, or a step of it, did not do what was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// What became of each action, in order; empty in a history that does not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepOutcome>,
    /// The page's address, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_url: Option<String>,
    /// The browser's tabs, where there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tabs: Vec<TabState>,
    /// What happened in the browser beside what was asked. The result's words say it, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub state_changes: Vec<StateChange>,
    /// Checks that a person acknowledged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acknowledged_safety_checks: Vec<SafetyCheck>,
    /// The family of the call it answers.
    #[serde(default, alias = "family", skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// What every content carries.
    #[serde(flatten)]
    pub meta: Meta,
}

/// How a screen was when its picture was taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settling {
    /// Whether it had stopped changing.
    pub settled: bool,
    /// How long it was waited for, in milliseconds.
    pub settle_ms: u64,
    /// Why it does not count as settled; absent when it does.
    #[serde(default, alias = "held", skip_serializing_if = "Option::is_none")]
    pub unsettled: Option<UnsettledReason>,
    /// Where on the picture something goes on changing by itself, such as a spinner or a video:
    /// left, top, right and bottom in its pixels, the last two outside.
    #[serde(default, alias = "restless", skip_serializing_if = "Option::is_none")]
    pub animated_region: Option<[u32; 4]>,
    /// An earlier picture that shows exactly the same.
    #[serde(default, alias = "same_as", skip_serializing_if = "Option::is_none")]
    pub identical_to: Option<FrameId>,
}

/// What kept a screen from being settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UnsettledReason {
    /// It still changed when the wait came to its end.
    #[serde(alias = "changing")]
    StillChanging,
    /// Something goes on changing by itself: `restless` says where.
    #[serde(alias = "restless")]
    Animated,
    /// Programs on it still worked.
    #[serde(alias = "working")]
    Busy,
    /// A program had set itself a time at which it goes on.
    #[serde(alias = "waiting")]
    TimerPending,
    /// A page still loaded.
    Loading,
}

impl ComputerResult {
    /// A result of actions that were done: the screen after them.
    pub fn ok(call_id: impl Into<CallId>, screenshot: Media) -> Self {
        Self {
            screenshot: Some(screenshot),
            ..Self::new(call_id)
        }
    }

    /// The screen after the actions, and what they say in words.
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

    /// A result of a call that was not done, or not whole, and why.
    pub fn err(call_id: impl Into<CallId>, failure: Failure) -> Self {
        Self {
            error: Some(failure),
            ..Self::new(call_id)
        }
    }

    /// A result that says nothing yet.
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
