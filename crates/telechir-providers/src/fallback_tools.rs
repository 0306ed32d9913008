//! Neutral tools as function tools, for models whose provider has no native equivalent.
//!
//! Function names and arguments are the same in all dialects; the dialect only determines how a
//! call and its result are written.

mod call;
mod declare;
mod edit;
mod result;
mod shell;

pub(crate) use call::{
    CallInfo, FunctionInvocation, call_info, decode_call, is_hosted_without_result, is_unread,
    to_function_call, unread_arguments,
};
pub(crate) use declare::{FunctionDeclaration, declare_function};
pub(crate) use result::{FunctionOutput, RenderedResult, decode_result, render_result};

/// Screen actions with mouse and keyboard.
pub(crate) const COMPUTER: &str = "computer";
/// Commands and control of a shell.
pub(crate) const SHELL: &str = "shell";
/// Viewing and editing text files.
pub(crate) const EDITOR: &str = "str_replace_based_edit_tool";
/// Files that persist across conversations.
pub(crate) const MEMORY: &str = "memory";
/// Changing files with a V4A diff.
pub(crate) const PATCH: &str = "apply_patch";
