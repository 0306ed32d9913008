//! One step on a screen or in a browser: the union of all providers' actions.

mod json;
mod kind;
mod map;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use kind::{ActionKind, UnknownActionKind};

use crate::json::{milliseconds, optional_milliseconds, serialize_number};
use crate::{Chord, Modifier, Point, Region, Target};

/// A mouse button; a call without one means the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Button {
    /// The primary button; X11 button 1.
    #[default]
    Left,
    /// The wheel as a button; X11 button 2. Also read as OpenAI's `wheel`.
    #[serde(alias = "wheel")]
    Middle,
    /// The secondary button; X11 button 3.
    Right,
    /// The thumb button that goes back; X11 button 8.
    Back,
    /// The thumb button that goes forward; X11 button 9.
    Forward,
}

/// How often a button is pressed in one click action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u32")]
pub enum ClickCount {
    /// One press and release.
    #[default]
    Single,
    /// Two presses in quick succession.
    Double,
    /// Three presses in quick succession.
    Triple,
}

/// The unit of a scroll distance. Positive distances go down and right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ScrollUnit {
    /// Notches of a mouse wheel.
    #[default]
    Clicks,
    /// Pixels of the screenshot.
    Pixels,
    /// Thousandths of the screenshot's width and height.
    Thousandths,
}

/// The purpose of an `observe_screen` action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ObserveMode {
    /// To act: labels on all interactive elements, each listed with its position.
    #[default]
    Grounding,
    /// To understand: the contents of the screen as text.
    Understanding,
}

/// One step. `T` is the type of a target, `R` the type of a rectangle.
///
/// In a model's call, `T` is [`Target`] and `R` is [`Region`]; a device gets the same step with
/// points and rectangles of its screen, which only `telechir_device::Viewport` creates. An absent
/// target means the pointer's position.
///
/// In JSON the action's name is the member `action`, beside its fields; a click is named by its
/// count. The derived functions read and write the fields under the name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "Action", tag = "action", transform = crate::schema::forms::action_forms)
)]
#[serde(remote = "Self", rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "the doc comment of each action describes its fields"
)]
pub enum Action<T = Target, R = Region> {
    /// Take a screenshot of the complete screen.
    Screenshot,
    /// Take a screenshot with labels, or describe the screen as text.
    ObserveScreen {
        #[serde(default)]
        mode: ObserveMode,
        intent: Option<String>,
    },
    /// Take a screenshot of a region at higher resolution.
    Zoom { region: R },
    /// Report the pointer's position as text.
    CursorPosition,
    /// Move the pointer without pressing or releasing a button.
    Move {
        #[serde(rename = "coordinate")]
        at: T,
    },
    /// Press and release a button, once or more.
    Click {
        #[serde(rename = "coordinate")]
        at: Option<T>,
        #[serde(default)]
        button: Button,
        #[serde(default, skip_serializing)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        count: ClickCount,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        modifiers: Vec<Modifier>,
    },
    /// Press a button without releasing it.
    MouseDown {
        #[serde(rename = "coordinate")]
        at: Option<T>,
        #[serde(default)]
        button: Button,
    },
    /// Release a pressed button.
    MouseUp {
        #[serde(rename = "coordinate")]
        at: Option<T>,
        #[serde(default)]
        button: Button,
    },
    /// Press at the first point, move through the others, release at the last. A single point means
    /// from the pointer's position to that point.
    Drag {
        #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
        path: Vec<T>,
        #[serde(default)]
        button: Button,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        modifiers: Vec<Modifier>,
        #[serde(default, with = "optional_milliseconds")]
        #[cfg_attr(
            feature = "schema",
            schemars(schema_with = "crate::schema::forms::milliseconds")
        )]
        duration: Option<Duration>,
    },
    /// Turn the wheel by `dx` to the right and `dy` down, in `unit`.
    Scroll {
        #[serde(rename = "coordinate")]
        at: Option<T>,
        #[serde(serialize_with = "serialize_number")]
        dx: f64,
        #[serde(serialize_with = "serialize_number")]
        dy: f64,
        #[serde(default)]
        unit: ScrollUnit,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        modifiers: Vec<Modifier>,
    },
    /// Type text into `at`, else into the focus; `submit` presses Enter at the end.
    Type {
        text: String,
        #[serde(rename = "coordinate")]
        at: Option<T>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        clear_first: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        submit: bool,
    },
    /// Press and release a chord, `repeat` times (at least 1).
    Key {
        #[serde(rename = "key")]
        chord: Chord,
        #[serde(default = "once", skip_serializing_if = "is_once")]
        #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
        repeat: u32,
    },
    /// Press a chord for a duration.
    HoldKey {
        #[serde(rename = "key")]
        chord: Chord,
        #[serde(with = "milliseconds")]
        #[cfg_attr(
            feature = "schema",
            schemars(schema_with = "crate::schema::forms::milliseconds")
        )]
        duration: Duration,
    },
    /// Press a chord without releasing it.
    KeyDown {
        #[serde(rename = "key")]
        chord: Chord,
    },
    /// Release a pressed chord.
    KeyUp {
        #[serde(rename = "key")]
        chord: Chord,
    },
    /// Wait; an absent duration means the default wait of the session.
    Wait {
        #[serde(default, with = "optional_milliseconds")]
        #[cfg_attr(
            feature = "schema",
            schemars(schema_with = "crate::schema::forms::milliseconds")
        )]
        duration: Option<Duration>,
    },
    /// Wait until all of what is given holds: the page has a text, or shows an element, or with
    /// `gone` no longer has them; its URL contains a text; it loads nothing. An absent duration
    /// means 10 seconds.
    WaitFor {
        text: Option<String>,
        #[serde(rename = "coordinate")]
        at: Option<T>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        gone: bool,
        url: Option<String>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        idle: bool,
        #[serde(default, with = "optional_milliseconds")]
        #[cfg_attr(
            feature = "schema",
            schemars(schema_with = "crate::schema::forms::milliseconds")
        )]
        duration: Option<Duration>,
        tab: Option<String>,
    },
    /// Navigate to a URL.
    Navigate { url: String, tab: Option<String> },
    /// Go back in the tab's history.
    Back { tab: Option<String> },
    /// Go forward in the tab's history.
    Forward { tab: Option<String> },
    /// Reload the tab's page; an absent tab means the active one.
    Reload { tab: Option<String> },
    /// Open the search page, with a query if given.
    Search { query: Option<String> },
    /// Bring the browser to the front.
    OpenBrowser { url: Option<String> },
    /// List the open tabs.
    ListTabs,
    /// Open a new tab.
    NewTab { url: Option<String> },
    /// Bring the tab with this id to the front.
    SwitchTab { tab: String },
    /// Close the tab with this id; an empty tab replaces the last one.
    CloseTab { tab: String },
    /// Return the page's elements as text with refs.
    ReadPage {
        filter: Option<String>,
        depth: Option<u32>,
        #[serde(rename = "coordinate")]
        root: Option<T>,
        tab: Option<String>,
    },
    /// Return the page's text.
    PageText { tab: Option<String> },
    /// Find elements that match a description.
    Find { query: String, tab: Option<String> },
    /// Set a form control's value.
    FormInput {
        #[serde(rename = "coordinate")]
        at: T,
        value: Value,
        tab: Option<String>,
    },
    /// Choose files for a file control.
    FileUpload {
        #[serde(rename = "coordinate")]
        at: T,
        #[serde(default)]
        paths: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        documents: Vec<String>,
        tab: Option<String>,
    },
    /// Scroll an element into view.
    ScrollTo {
        #[serde(rename = "coordinate")]
        at: T,
        tab: Option<String>,
    },
    /// Hover the pointer over a target.
    Hover {
        #[serde(rename = "coordinate")]
        at: T,
    },
    /// Run a script in the page.
    Javascript { script: String, tab: Option<String> },
    /// Return the page's console messages.
    ReadConsole { tab: Option<String> },
    /// Return the page's network requests, numbered.
    ReadNetwork { tab: Option<String> },
    /// Return the headers and bodies of one request, by its number in the list of requests.
    ReadRequest { request: u32, tab: Option<String> },
    /// Answer the dialog of a page that waits: OK or Cancel; for `beforeunload`, leave or stay. The
    /// text is that of a prompt; absent means its default.
    AnswerDialog { accept: bool, text: Option<String> },
    /// Change what pages see of the browser, such as its viewport, locale, time zone, location or
    /// network. Settings that are not named stay as they are; null resets one.
    Emulate { settings: Map<String, Value> },
    /// List the browser's cookies without their values; with a URL, those that it is sent.
    ListCookies { url: Option<String> },
    /// Set cookies, each an object with the members of the Playwright API: name, value, and url, or
    /// domain and path.
    SetCookies { cookies: Vec<Value> },
    /// Delete the browser's cookies; with a URL, those that it is sent.
    ClearCookies { url: Option<String> },
    /// Save cookies and the stored data of pages to a file, as Playwright's storage state.
    SaveStorageState { path: Option<String> },
    /// Add the cookies and the stored data of a file in Playwright's form to those of the browser.
    LoadStorageState { path: String },
    /// Save the page as a PDF file.
    SavePdf {
        path: Option<String>,
        tab: Option<String>,
    },
    /// Take a screenshot of one element of the page, after scrolling it into view.
    CaptureElement {
        #[serde(rename = "coordinate")]
        at: T,
    },
    /// List the open windows with their properties, as text.
    ListWindows,
    /// Raise a window and give it the keyboard focus.
    ///
    /// Here and below, `window` is a window id as [`Action::ListWindows`] reports it, or text that
    /// exactly one window's title or class contains; absent means the active window.
    FocusWindow { window: String },
    /// Maximize a window, even if it is minimized.
    MaximizeWindow { window: Option<String> },
    /// Restore a maximized or minimized window.
    RestoreWindow { window: Option<String> },
    /// Minimize a window until it is restored or focused.
    MinimizeWindow { window: Option<String> },
    /// Ask a window to close, like its close button.
    CloseWindow { window: Option<String> },
    /// Move and resize a window, including its frame, to fill a region of the screenshot.
    PlaceWindow { window: Option<String>, region: R },
    /// Take a screenshot of one window, as the screen shows it.
    CaptureWindow { window: Option<String> },
    /// List the monitors of the screen, as text.
    ListMonitors,
    /// Take a screenshot of one monitor, by its name or number; absent means the primary one.
    CaptureMonitor { monitor: Option<String> },
    /// Return the clipboard's text.
    ReadClipboard,
    /// Put text on the clipboard.
    WriteClipboard { text: String },
    /// Invoke an element's own action, such as press, toggle, expand, select or focus; absent means
    /// its first action.
    Invoke {
        #[serde(rename = "coordinate")]
        at: T,
        name: Option<String>,
    },
    /// Start the named application and wait until it shows a window or exits.
    OpenApp { name: String },
    /// Touch and hold (mobile).
    LongPress {
        #[serde(rename = "coordinate")]
        at: T,
        #[serde(default, with = "optional_milliseconds")]
        #[cfg_attr(
            feature = "schema",
            schemars(schema_with = "crate::schema::forms::milliseconds")
        )]
        duration: Option<Duration>,
    },
    /// An unknown action, retained verbatim. It is answered with an error.
    #[serde(skip)]
    Other {
        name: String,
        args: Map<String, Value>,
    },
}

fn once() -> u32 {
    1
}

fn is_once(repeat: &u32) -> bool {
    *repeat == once()
}

/// Why an action could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read the action {action}: {problem}")]
pub struct InvalidAction {
    /// The action's name in the input.
    pub action: String,
    /// The problem, which names the member.
    pub problem: String,
}

impl Button {
    /// The canonical name in JSON, such as `left`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Middle => "middle",
            Self::Right => "right",
            Self::Back => "back",
            Self::Forward => "forward",
        }
    }
}

impl From<ClickCount> for u8 {
    fn from(count: ClickCount) -> Self {
        count.number()
    }
}

impl TryFrom<u32> for ClickCount {
    type Error = &'static str;

    fn try_from(number: u32) -> Result<Self, Self::Error> {
        [Self::Single, Self::Double, Self::Triple]
            .into_iter()
            .find(|count| u32::from(count.number()) == number)
            .ok_or("a click count is 1, 2 or 3")
    }
}

impl ClickCount {
    /// The count as a number from 1 to 3.
    pub fn number(self) -> u8 {
        match self {
            Self::Single => 1,
            Self::Double => 2,
            Self::Triple => 3,
        }
    }

    /// The decision record's name for this number of clicks.
    pub fn action_name(self) -> &'static str {
        match self {
            Self::Single => "click",
            Self::Double => "double_click",
            Self::Triple => "triple_click",
        }
    }
}

impl ScrollUnit {
    /// The canonical name of the unit.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clicks => "clicks",
            Self::Pixels => "pixels",
            Self::Thousandths => "thousandths",
        }
    }
}

impl<T, R> Action<T, R> {
    /// The first target; none if the action has no target or uses the pointer's position.
    pub fn target(&self) -> Option<&T> {
        match self {
            Self::Click { at, .. }
            | Self::MouseDown { at, .. }
            | Self::MouseUp { at, .. }
            | Self::Scroll { at, .. }
            | Self::Type { at, .. }
            | Self::WaitFor { at, .. }
            | Self::ReadPage { root: at, .. } => at.as_ref(),
            Self::Move { at }
            | Self::FormInput { at, .. }
            | Self::FileUpload { at, .. }
            | Self::ScrollTo { at, .. }
            | Self::Hover { at }
            | Self::CaptureElement { at }
            | Self::Invoke { at, .. }
            | Self::LongPress { at, .. } => Some(at),
            Self::Drag { path, .. } => path.first(),
            Self::Screenshot
            | Self::ObserveScreen { .. }
            | Self::Zoom { .. }
            | Self::CursorPosition
            | Self::Key { .. }
            | Self::HoldKey { .. }
            | Self::KeyDown { .. }
            | Self::KeyUp { .. }
            | Self::Wait { .. }
            | Self::Navigate { .. }
            | Self::Back { .. }
            | Self::Forward { .. }
            | Self::Reload { .. }
            | Self::Search { .. }
            | Self::OpenBrowser { .. }
            | Self::ListTabs
            | Self::NewTab { .. }
            | Self::SwitchTab { .. }
            | Self::CloseTab { .. }
            | Self::PageText { .. }
            | Self::Find { .. }
            | Self::Javascript { .. }
            | Self::ReadConsole { .. }
            | Self::ReadNetwork { .. }
            | Self::ReadRequest { .. }
            | Self::AnswerDialog { .. }
            | Self::Emulate { .. }
            | Self::ListCookies { .. }
            | Self::SetCookies { .. }
            | Self::ClearCookies { .. }
            | Self::SaveStorageState { .. }
            | Self::LoadStorageState { .. }
            | Self::SavePdf { .. }
            | Self::ListWindows
            | Self::FocusWindow { .. }
            | Self::MaximizeWindow { .. }
            | Self::RestoreWindow { .. }
            | Self::MinimizeWindow { .. }
            | Self::CloseWindow { .. }
            | Self::PlaceWindow { .. }
            | Self::CaptureWindow { .. }
            | Self::ListMonitors
            | Self::CaptureMonitor { .. }
            | Self::ReadClipboard
            | Self::WriteClipboard { .. }
            | Self::OpenApp { .. }
            | Self::Other { .. } => None,
        }
    }
}

impl Action {
    /// The decision record's `coordinate`: the position of the action, or the start of a drag.
    ///
    /// None for a drag that starts at the pointer's position, and for labels, refs and names.
    pub fn coordinate(&self) -> Option<Point> {
        let from_the_pointer = matches!(self, Self::Drag { path, .. } if path.len() < 2);
        if from_the_pointer {
            None
        } else {
            self.target()?.point()
        }
    }

    /// The decision record's `end_coordinate`: the end of a drag.
    pub fn end_coordinate(&self) -> Option<Point> {
        let Self::Drag { path, .. } = self else {
            return None;
        };
        path.last()?.point()
    }
}
