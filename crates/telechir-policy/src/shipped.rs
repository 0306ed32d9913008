//! The policies that come with the program, chosen by name.

use crate::{Policy, PolicyError};

/// A policy that comes with the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShippedPolicy {
    /// Reads only; denies everything else.
    Look,
    /// The default, confined: what would act outside of a sandbox is denied.
    Sandbox,
    /// Asks before everything that is more than reading.
    Ask,
    /// Asks about nothing that a sandbox holds.
    TrustSandbox,
}

impl ShippedPolicy {
    /// All of them, from the strictest to the most permissive inside a sandbox.
    pub const ALL: [Self; 4] = [Self::Look, Self::Ask, Self::Sandbox, Self::TrustSandbox];

    /// The name on the command line, such as `trust-sandbox`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Look => "look",
            Self::Sandbox => "sandbox",
            Self::Ask => "ask",
            Self::TrustSandbox => "trust-sandbox",
        }
    }

    /// The policy with this name; none if there is no such policy.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }

    /// One sentence for a list of the policies.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Look => "reads screens, public pages and files; denies everything else",
            Self::Ask => "asks before everything that is more than reading",
            Self::Sandbox => {
                "as by default; denies what would act outside of a sandbox instead of asking"
            }
            Self::TrustSandbox => "asks about nothing that a sandbox holds",
        }
    }

    /// The policy file, with its comments.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Look => include_str!("shipped/look.toml"),
            Self::Sandbox => include_str!("shipped/sandbox.toml"),
            Self::Ask => include_str!("shipped/ask.toml"),
            Self::TrustSandbox => include_str!("shipped/trust-sandbox.toml"),
        }
    }

    /// The policy itself.
    ///
    /// # Errors
    /// When its file is invalid, which a test excludes.
    pub fn policy(self) -> Result<Policy, PolicyError> {
        Policy::from_toml(self.text(), self.name())
    }
}
