//! Verdicts of a policy, from the mildest to the strictest.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A policy's verdict on a step. The greater is the stricter, and the strictest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It may run, also on the host and on an existing display.
    Allow,
    /// It may run without approval in a sandbox or on a private display; elsewhere the user is
    /// asked.
    Sandbox,
    /// The user is asked; without an approver it does not run.
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

    /// Whether the user may be asked with it.
    pub(crate) fn may_ask(self) -> bool {
        matches!(self, Self::Sandbox | Self::Ask)
    }

    /// The effective verdict in a confined or an unconfined environment.
    #[must_use]
    pub(crate) fn for_confinement(self, is_confined: bool) -> Self {
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
