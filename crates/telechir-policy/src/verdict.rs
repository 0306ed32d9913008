//! What a policy says, from the mildest to the strictest.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a policy says of a step. The greater is the stricter, and the strictest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It may run, on the host and on an existing display too, where the user chose those.
    Allow,
    /// It may run unasked inside a sandbox or on a private display; elsewhere a person is asked.
    Sandbox,
    /// A person is asked; with nobody to ask it does not run.
    Ask,
    /// It does not run.
    Deny,
}

impl Verdict {
    /// The name in policy files and events.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Sandbox => "sandbox",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// What it comes to in a place that is confined, or that is not.
    #[must_use]
    pub(crate) fn in_place(self, is_confined: bool) -> Self {
        match self {
            Self::Sandbox if !is_confined => Self::Ask,
            Self::Allow | Self::Sandbox | Self::Ask | Self::Deny => self,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
