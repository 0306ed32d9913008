//! Our tools as ordinary function tools, for a model whose provider has none of its own.
//!
//! What a function is called and what its arguments say is the same wherever functions are; how
//! a call and its result stand on the wire is the dialect's matter.

mod call;
mod declare;
mod edit;
mod result;
mod shell;

pub(crate) use call::{Known, called, known, read};
pub(crate) use declare::{Function, function};
pub(crate) use result::{Answer, Told, answer, tell};

/// Actions on a screen.
pub(crate) const COMPUTER: &str = "computer";
/// Commands in a shell, and what else it can be asked.
pub(crate) const SHELL: &str = "shell";
/// Edits of text files.
pub(crate) const EDITOR: &str = "str_replace_based_edit_tool";
/// Files that outlive a conversation.
pub(crate) const MEMORY: &str = "memory";
/// Files changed by a patch.
pub(crate) const PATCH: &str = "apply_patch";
