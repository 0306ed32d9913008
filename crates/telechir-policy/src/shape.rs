//! The form of a call that a person may approve for the rest of a session: the words of a command,
//! the origin of a page, the kinds of actions.

use std::fmt;

use serde::{Deserialize, Serialize};
use telechir_protocol::{Action, Command};

use crate::summary::quoted;
use crate::{
    CommandReading, EditProposal, ScreenProposal, ShellProposal, ShellTask, navigation,
    read_command,
};

/// A proposal of which some can be approved for the rest of a session.
pub(crate) trait Shaped {
    /// What the proposal consists of, escaped; empty if it cannot be approved for later calls.
    fn parts(&self) -> Vec<String>;
}

/// What a remembered approval covers: calls of these parts that are asked about for these reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalShape {
    /// The words of one command, or for a screen `open ORIGIN` and `KIND on DEVICE`; escaped.
    pub parts: Vec<String>,
    /// The reasons for asking, escaped.
    pub reasons: Vec<String>,
}

impl ApprovalShape {
    /// Whether the approval of this shape covers a call of the other one: all of its parts were
    /// approved, and there is no new reason to ask.
    pub fn covers(&self, other: &Self) -> bool {
        let is_in = |those: &[String], all: &[String]| those.iter().all(|one| all.contains(one));
        !other.parts.is_empty()
            && is_in(&other.parts, &self.parts)
            && is_in(&other.reasons, &self.reasons)
    }
}

impl fmt::Display for ApprovalShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parts.join(", "))
    }
}

impl Shaped for ScreenProposal {
    fn parts(&self) -> Vec<String> {
        let mut parts: Vec<String> = Vec::new();
        for action in &self.actions {
            let Some(part) = part_of(action, self) else {
                return Vec::new();
            };
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        parts
    }
}

/// None for an address without an origin.
pub(crate) fn part_of(action: &Action, proposal: &ScreenProposal) -> Option<String> {
    let Some(url) = navigation::url_of(action) else {
        return Some(format!("{} on the {}", action.kind(), proposal.device));
    };
    let origin = navigation::read_url(url)?.origin();
    let origin = origin.is_tuple().then(|| origin.ascii_serialization())?;
    Some(format!("open {origin}"))
}

impl Shaped for ShellProposal {
    fn parts(&self) -> Vec<String> {
        let ShellTask::Run(commands) = &self.task else {
            return Vec::new();
        };
        match commands.as_slice() {
            [command] if self.cwd.is_none() && self.env.is_empty() => words_of(command),
            _ => Vec::new(),
        }
    }
}

/// The words of one simple command without redirections.
fn words_of(command: &Command) -> Vec<String> {
    match read_command(command) {
        CommandReading::Known(commands) => match commands.as_slice() {
            [only] if only.redirections.is_empty() => vec![quoted(&only.words)],
            _ => Vec::new(),
        },
        CommandReading::Unknown(_) | CommandReading::TooLong => Vec::new(),
    }
}

/// Each edit has its own text, so none covers another.
impl Shaped for EditProposal {
    fn parts(&self) -> Vec<String> {
        Vec::new()
    }
}
