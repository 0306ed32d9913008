//! Facts that rules use besides the call. The caller provides them; nothing is looked up here.

use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use telechir_protocol::Key;

/// Who owns a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisplayOwner {
    /// Created for this session, with nothing else on it.
    Private,
    /// Existed before the session, with the user's own windows.
    Existing,
}

/// The addresses of a host, resolved just now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The host's name as in the URL.
    pub host: String,
    /// All its addresses; empty if it could not be resolved.
    pub addresses: Vec<IpAddr>,
}

/// The windows of a screen that input can reach, by the names that their programs give them (class
/// and instance).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScreenWindows {
    /// The screen belongs to one program, such as a browser, or to a device without windows.
    None,
    /// The windows could not be listed.
    Unknown,
    /// The windows of a desktop.
    Listed {
        /// The window with the keyboard focus; absent if it is unknown.
        focused: Option<Vec<String>>,
        /// The names of all windows, with or without the focus.
        all: Vec<Vec<String>>,
        /// The windows under the points of each action of the proposal, in its order. Absent, and
        /// beyond the end: unknown.
        under: Vec<Option<PointedWindows>>,
    },
}

/// The windows under the points of one action, or under the pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PointedWindows {
    /// Their names; none where a point is on no window.
    pub names: Vec<Vec<String>>,
    /// Whether one of them may pass input on to the window with the focus, as menus and on-screen
    /// keyboards do.
    pub passes_on: bool,
}

/// What the commands of a sandboxed shell can reach besides the sandbox itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShellReach {
    /// Only files that were created for this session, and no network.
    Nothing,
    /// A folder that somebody named, a network, or the host; also if this is unknown.
    Something,
}

/// Facts about a screen or browser at the time of judging.
#[derive(Clone, Debug, PartialEq)]
pub struct ScreenFacts {
    /// Owner of the screen.
    pub display: DisplayOwner,
    /// Keys that earlier calls left pressed.
    pub pressed: Vec<Key>,
    /// Addresses of the hosts that the call names.
    pub resolved: Vec<Resolved>,
    /// The windows of the screen.
    pub windows: ScreenWindows,
    /// Whether the session has read untrusted content.
    pub is_untrusted: bool,
    /// Time since the session started.
    pub now: Duration,
}

/// Facts about a shell at the time of judging.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellFacts {
    /// Whether commands run in a sandbox.
    pub is_sandboxed: bool,
    /// Whether an earlier command may have changed the meaning of words (aliases, functions, PATH).
    pub is_tainted: bool,
    /// What commands can reach.
    pub reach: ShellReach,
    /// Whether the session has read untrusted content.
    pub is_untrusted: bool,
    /// Time since the session started.
    pub now: Duration,
}

/// Facts about files at the time of judging.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditFacts {
    /// Absolute path of the workspace folder.
    pub workspace: String,
    /// Absolute path of the memory folder.
    pub memory: String,
    /// Whether the session has read untrusted content.
    pub is_untrusted: bool,
    /// Time since the session started.
    pub now: Duration,
}
