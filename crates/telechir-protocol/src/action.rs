//! One step on a screen or in a browser: the union of what every provider can ask.

mod alias;
mod kind;
mod map;
mod read;
mod vocabulary;
mod write;

use std::time::Duration;

use serde_json::{Map, Value};

pub use alias::{NormalizedAction, action_aliases, normalize_action_type};
pub use kind::{ActionKind, UnknownActionKind};
pub(crate) use read::is_own_member;
pub use vocabulary::{UnsupportedAction, Vocabulary};

use crate::{Chord, Modifier, Point, Region, Target};

/// A mouse button.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Button {
    /// X11 button 1.
    #[default]
    Left,
    /// The wheel pressed down; X11 button 2, OpenAI's `wheel`.
    Middle,
    /// X11 button 3.
    Right,
    /// The thumb button that goes back; X11 button 8.
    Back,
    /// The thumb button that goes forward; X11 button 9.
    Forward,
}

/// How often a button is pressed in one click action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ClickCount {
    /// A click.
    #[default]
    Single,
    /// A double click.
    Double,
    /// A triple click.
    Triple,
}

/// What a scroll distance counts. Positive is down and right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ScrollUnit {
    /// Notches of a mouse wheel.
    #[default]
    Clicks,
    /// Pixels of the picture.
    Pixels,
    /// Thousandths of the picture's width and height.
    Thousandths,
}

/// What a look at the screen is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ObserveMode {
    /// To act: a number on everything that can be acted on, each said with its place.
    #[default]
    Grounding,
    /// To understand: what is there, in words.
    Understanding,
}

/// One step. `T` is what it aims at, `R` a rectangle.
///
/// As a model asks it, `T` is [`Target`] and `R` is [`Region`]; a device gets the same step with
/// points and rectangles of its screen, which only `telechir_device::Viewport` makes.
/// An absent target means the pointer's place.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    missing_docs,
    reason = "the fields are said by their action's sentence"
)]
pub enum Action<T = Target, R = Region> {
    /// Look.
    Screenshot,
    /// Look, and be told what is there: with numbers to aim at, or in words.
    ObserveScreen {
        mode: ObserveMode,
        intent: Option<String>,
    },
    /// Look closer at a part of the picture.
    Zoom { region: R },
    /// Where is the pointer? Answered in text.
    CursorPosition,
    /// Put the pointer somewhere.
    Move { at: T },
    /// Press and release a button, once or more.
    Click {
        at: Option<T>,
        button: Button,
        count: ClickCount,
        modifiers: Vec<Modifier>,
    },
    /// Press a button and keep it down.
    MouseDown { at: Option<T>, button: Button },
    /// Release a button.
    MouseUp { at: Option<T>, button: Button },
    /// Press at the first point, move through the others, release at the last.
    /// One point alone means: from the pointer's place to there.
    Drag {
        path: Vec<T>,
        button: Button,
        modifiers: Vec<Modifier>,
        duration: Option<Duration>,
    },
    /// Turn the wheel; `dx` to the right and `dy` down, in `unit`.
    Scroll {
        at: Option<T>,
        dx: f64,
        dy: f64,
        unit: ScrollUnit,
        modifiers: Vec<Modifier>,
    },
    /// Enter literal text.
    Type {
        text: String,
        at: Option<T>,
        clear_first: bool,
        submit: bool,
    },
    /// Press a chord and release it, `repeat` times (at least 1).
    Key { chord: Chord, repeat: u32 },
    /// Keep a chord down for a while.
    HoldKey { chord: Chord, duration: Duration },
    /// Press a chord and keep it down.
    KeyDown { chord: Chord },
    /// Release a chord.
    KeyUp { chord: Chord },
    /// Let time pass; absent means the provider's usual wait.
    Wait { duration: Option<Duration> },
    /// Go to an address.
    Navigate { url: String, tab: Option<String> },
    /// Go back in the tab's history.
    Back { tab: Option<String> },
    /// Go forward in the tab's history.
    Forward { tab: Option<String> },
    /// Load the page again.
    Reload { tab: Option<String> },
    /// Open the search page, with a query when one is given.
    Search { query: Option<String> },
    /// Bring up the browser.
    OpenBrowser { url: Option<String> },
    /// Which tabs are open?
    ListTabs,
    /// Open a tab.
    NewTab { url: Option<String> },
    /// Make a tab the active one.
    SwitchTab { tab: String },
    /// Close a tab.
    CloseTab { tab: String },
    /// The page's elements as text, with refs.
    ReadPage {
        filter: Option<String>,
        depth: Option<u32>,
        root: Option<T>,
        tab: Option<String>,
    },
    /// The page's text.
    PageText { tab: Option<String> },
    /// Elements that fit a description.
    Find { query: String, tab: Option<String> },
    /// Set a form control's value.
    FormInput {
        at: T,
        value: Value,
        tab: Option<String>,
    },
    /// Give files to a file control.
    FileUpload {
        at: T,
        paths: Vec<String>,
        documents: Vec<String>,
        tab: Option<String>,
    },
    /// Bring an element into view.
    ScrollTo { at: T, tab: Option<String> },
    /// Rest the pointer on something.
    Hover { at: T },
    /// Run a script in the page.
    Javascript { script: String, tab: Option<String> },
    /// What the page logged.
    ReadConsole { tab: Option<String> },
    /// What the page fetched.
    ReadNetwork { tab: Option<String> },
    /// Which windows are open, and what is known of each? Answered in text.
    ListWindows,
    /// Give a window the keyboard and bring it to the front.
    ///
    /// Here and below, `window` is a window's id as [`Action::ListWindows`] gives it, or words that
    /// exactly one window's title or class contains; absent means the active window.
    FocusWindow { window: String },
    /// Make a window as large as the screen allows.
    MaximizeWindow { window: Option<String> },
    /// Undo a window's maximising and minimising.
    RestoreWindow { window: Option<String> },
    /// Put a window out of sight.
    MinimizeWindow { window: Option<String> },
    /// Ask a window to close, as its close button does.
    CloseWindow { window: Option<String> },
    /// Move and resize a window so that it fills a part of the picture, its frame included.
    PlaceWindow { window: Option<String>, region: R },
    /// Look at a window alone, as the screen shows it.
    CaptureWindow { window: Option<String> },
    /// Which monitors does the screen reach over? Answered in text.
    ListMonitors,
    /// Look at one monitor alone, by its name or its number; absent means the primary one.
    CaptureMonitor { monitor: Option<String> },
    /// What text does the clipboard hold?
    ReadClipboard,
    /// Put text on the clipboard.
    WriteClipboard { text: String },
    /// Use an element's own action, such as press, toggle, expand, select or focus; absent means
    /// its first.
    Invoke { at: T, name: Option<String> },
    /// Start an application.
    OpenApp { name: String },
    /// Touch and hold (mobile).
    LongPress { at: T, duration: Option<Duration> },
    /// An action nobody here knows, kept as it came. It is answered with an error.
    Other {
        name: String,
        args: Map<String, Value>,
    },
}

/// What is wrong with an action that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read the action {action}: {problem}")]
pub struct InvalidAction {
    /// The action's name as it came.
    pub action: String,
    /// What is wrong, naming the member.
    pub problem: String,
}

impl<T, R> Action<T, R> {
    /// What it aims at first; none when it aims at nothing or at the pointer's place.
    pub fn target(&self) -> Option<&T> {
        match self {
            Self::Click { at, .. }
            | Self::MouseDown { at, .. }
            | Self::MouseUp { at, .. }
            | Self::Scroll { at, .. }
            | Self::Type { at, .. }
            | Self::ReadPage { root: at, .. } => at.as_ref(),
            Self::Move { at }
            | Self::FormInput { at, .. }
            | Self::FileUpload { at, .. }
            | Self::ScrollTo { at, .. }
            | Self::Hover { at }
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
    /// The decision record's `coordinate`: where the action is, or where a drag starts.
    ///
    /// None for a drag that starts at the pointer's place, and for labels, refs and names.
    pub fn coordinate(&self) -> Option<Point> {
        let from_the_pointer = matches!(self, Self::Drag { path, .. } if path.len() < 2);
        if from_the_pointer {
            None
        } else {
            self.target()?.point()
        }
    }

    /// The decision record's `end_coordinate`: where a drag ends.
    pub fn end_coordinate(&self) -> Option<Point> {
        let Self::Drag { path, .. } = self else {
            return None;
        };
        path.last()?.point()
    }
}
