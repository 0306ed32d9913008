//! Arguments of `policy`, and the policy that a session is judged by.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use telechir_host::SessionName;
use telechir_policy::ShippedPolicy;

pub(super) const EXAMPLES: &str = "\
Examples:
  telechir policy show look
  telechir policy check my-policy.toml
  telechir policy test 'git push' --policy ask
  telechir policy test https://example.com/ --policy my-policy.toml
  telechir policy test ctrl+alt+t
  telechir policy test '{\"action\": \"open_app\", \"name\": \"mousepad\"}'";

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Parse a policy and check the examples in it.
    Check {
        /// The policy file, or the name of a policy that comes with the program.
        #[arg(value_name = "FILE or NAME", value_parser = PolicyChoice::parse)]
        file: PolicyChoice,
    },
    /// Print a policy that comes with the program; without a name, list them.
    Show {
        /// Its name.
        #[arg(value_parser = shipped)]
        name: Option<ShippedPolicy>,
    },
    /// Judge a command, an address, keys or a call without doing it: verdict, rule and reason.
    Test(PolicyTestArguments),
    /// Make running sessions read their policy again; an invalid policy changes nothing.
    Reload {
        /// Name of the session [default: all sessions].
        session: Option<SessionName>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PolicyTestArguments {
    /// What is judged: a call as neutral JSON, an address with ://, keys such as ctrl+s, or else a
    /// command.
    #[arg(allow_hyphen_values = true)]
    pub(crate) subject: String,
    /// The policy [default: the built-in policy].
    #[arg(long, value_name = "FILE or NAME", value_parser = PolicyChoice::parse)]
    pub(crate) policy: Option<PolicyChoice>,
    /// Take it for this, whatever it looks like.
    #[arg(long = "as", value_name = "KIND")]
    pub(crate) kind: Option<SubjectKind>,
    /// As on the user's own machine: --shell=host, or an existing display.
    #[arg(long)]
    pub(crate) host: bool,
    /// As in a session with a folder that you named (--workspace).
    #[arg(long)]
    pub(crate) workspace: bool,
    /// As after the session has read untrusted content.
    #[arg(long)]
    pub(crate) untrusted: bool,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a tested text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SubjectKind {
    /// A line for the shell.
    Command,
    /// An address that the browser opens.
    Url,
    /// A key combination.
    Keys,
    /// A call or an action as neutral JSON.
    Call,
}

/// A policy file, or a policy that comes with the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PolicyChoice {
    Shipped(ShippedPolicy),
    File(PathBuf),
}

impl PolicyChoice {
    /// A value without `/` and `.toml` is a name.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.contains('/') || text.ends_with(".toml") {
            return Ok(Self::File(PathBuf::from(text)));
        }
        let found = shipped(text).map(Self::Shipped);
        found.map_err(|problem| format!("{problem}, or a file as ./{text}"))
    }

    /// The file; none for a policy that comes with the program.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::Shipped(_) => None,
            Self::File(file) => Some(file),
        }
    }
}

impl fmt::Display for PolicyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shipped(policy) => f.write_str(policy.name()),
            Self::File(file) => file.display().fmt(f),
        }
    }
}

fn shipped(name: &str) -> Result<ShippedPolicy, String> {
    ShippedPolicy::named(name).ok_or_else(|| {
        let names = ShippedPolicy::ALL.map(ShippedPolicy::name).join(", ");
        format!("there is no policy of this name; expected one of {names}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_without_a_slash_or_toml_is_a_name() {
        let file = |name: &str| Ok(PolicyChoice::File(PathBuf::from(name)));
        assert_eq!(PolicyChoice::parse("a.toml"), file("a.toml"));
        assert_eq!(PolicyChoice::parse("./look"), file("./look"));
        let look = Ok(PolicyChoice::Shipped(ShippedPolicy::Look));
        assert_eq!(PolicyChoice::parse("look"), look);
        let problem = PolicyChoice::parse("lokk").expect_err("no such policy");
        assert!(
            problem.contains("look, ask, sandbox, trust-sandbox"),
            "{problem}"
        );
        assert!(problem.contains("./lokk"), "{problem}");
    }
}
