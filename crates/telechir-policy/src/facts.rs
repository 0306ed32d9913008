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

/// Facts about a screen or browser at the time of judging.
#[derive(Clone, Debug, PartialEq)]
pub struct ScreenFacts {
    /// Owner of the screen.
    pub display: DisplayOwner,
    /// Keys that earlier calls left pressed.
    pub pressed: Vec<Key>,
    /// Addresses of the hosts that the call names.
    pub resolved: Vec<Resolved>,
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
    /// Time since the session started.
    pub now: Duration,
}
