//! The kind of an action without its arguments, for capability lists and policy rules.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Action;
use crate::alias::action_names;

macro_rules! kinds {
    ($($kind:ident = $name:literal,)*) => {
        /// The kind of an [`Action`]. A double click has the kind `click`.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
        )]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "snake_case", try_from = "String")]
        #[expect(missing_docs, reason = "each kind is the action of the same name")]
        pub enum ActionKind {
            $($kind,)*
        }

        impl ActionKind {
            /// All kinds, in the order of [`Action`].
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// The canonical name, such as `mouse_down`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }

        impl<T, R> Action<T, R> {
            /// The kind of this action.
            pub fn kind(&self) -> ActionKind {
                match self {
                    $(Self::$kind { .. } => ActionKind::$kind,)*
                }
            }
        }
    };
}

kinds! {
    Screenshot = "screenshot",
    ObserveScreen = "observe_screen",
    Zoom = "zoom",
    CursorPosition = "cursor_position",
    Move = "move",
    Click = "click",
    MouseDown = "mouse_down",
    MouseUp = "mouse_up",
    Drag = "drag",
    Scroll = "scroll",
    Type = "type",
    Key = "key",
    HoldKey = "hold_key",
    KeyDown = "key_down",
    KeyUp = "key_up",
    Wait = "wait",
    WaitFor = "wait_for",
    Navigate = "navigate",
    Back = "back",
    Forward = "forward",
    Reload = "reload",
    Search = "search",
    OpenBrowser = "open_browser",
    ListTabs = "list_tabs",
    NewTab = "new_tab",
    SwitchTab = "switch_tab",
    CloseTab = "close_tab",
    ReadPage = "read_page",
    PageText = "page_text",
    Find = "find",
    FormInput = "form_input",
    FileUpload = "file_upload",
    ScrollTo = "scroll_to",
    Hover = "hover",
    Javascript = "javascript",
    ReadConsole = "read_console",
    ReadNetwork = "read_network",
    ReadRequest = "read_request",
    AnswerDialog = "answer_dialog",
    Emulate = "emulate",
    ListCookies = "list_cookies",
    SetCookies = "set_cookies",
    ClearCookies = "clear_cookies",
    SaveStorageState = "save_storage_state",
    LoadStorageState = "load_storage_state",
    SavePdf = "save_pdf",
    CaptureElement = "capture_element",
    ListWindows = "list_windows",
    FocusWindow = "focus_window",
    MaximizeWindow = "maximize_window",
    RestoreWindow = "restore_window",
    MinimizeWindow = "minimize_window",
    CloseWindow = "close_window",
    PlaceWindow = "place_window",
    CaptureWindow = "capture_window",
    ListMonitors = "list_monitors",
    CaptureMonitor = "capture_monitor",
    ReadClipboard = "read_clipboard",
    WriteClipboard = "write_clipboard",
    Invoke = "invoke",
    OpenApp = "open_app",
    LongPress = "long_press",
    Other = "other",
}

/// The error for a name that no action has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown action {name:?}")]
pub struct UnknownActionKind {
    /// The name as given; neither a canonical name nor an alias.
    pub name: String,
}

impl fmt::Display for ActionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Parses every name that [`Action`] accepts: `double_click` is a `click`.
impl FromStr for ActionKind {
    type Err = UnknownActionKind;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match action_names::find(name) {
            Some(alias) => Ok(alias.kind),
            None if name == Self::Other.name() => Ok(Self::Other),
            None => Err(UnknownActionKind {
                name: name.to_owned(),
            }),
        }
    }
}

impl TryFrom<String> for ActionKind {
    type Error = UnknownActionKind;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        name.parse()
    }
}
