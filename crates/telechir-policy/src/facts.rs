//! What a rule may look at beside the call itself. Given by the caller, never looked up.

use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use telechir_protocol::Key;

/// Whose screen it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Display {
    /// One we made for this session; nothing else is on it.
    Private,
    /// One that was there before, with a person's own windows.
    Existing,
}

/// A host's addresses as they were found just now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The host's name as it stands in the address.
    pub host: String,
    /// All its addresses; none when it could not be resolved.
    pub addresses: Vec<IpAddr>,
}

/// Facts about a screen or browser at the moment of judging.
#[derive(Clone, Debug, PartialEq)]
pub struct ScreenFacts {
    /// Whose it is.
    pub display: Display,
    /// Keys that earlier calls left pressed.
    pub held: Vec<Key>,
    /// Addresses of the hosts that the call names.
    pub resolved: Vec<Resolved>,
    /// Time since the session began.
    pub now: Duration,
}

/// Facts about a shell at the moment of judging.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellFacts {
    /// Whether commands run in a sandbox.
    pub is_sandboxed: bool,
    /// Whether an earlier command may have changed what words mean (aliases, functions, PATH).
    pub is_tainted: bool,
    /// Time since the session began.
    pub now: Duration,
}

/// Facts about files at the moment of judging.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditFacts {
    /// The folder that paths of the workspace begin with.
    pub workspace: String,
    /// The folder that paths of the memory begin with.
    pub memory: String,
    /// Time since the session began.
    pub now: Duration,
}
