//! The shell function of Gemini CLI, and the names of our own functions.

use serde_json::{Map, Value};
use telechir_protocol::{Command, ShellAction, ShellCall};

use super::args::Args;

/// The shell function of Gemini CLI, Google's terminal agent.
pub(super) const COMMAND_LINE: &str = "run_shell_command";

/// Whether this is the name of one of our functions, or of one that is decoded like them.
pub(super) fn is_own_function(name: &str) -> bool {
    const NAMES: [&str; 10] = [
        "browser",
        "execute_browser",
        "computer",
        "computer_action",
        "shell",
        "shell_session",
        COMMAND_LINE,
        "str_replace_based_edit_tool",
        "memory",
        "apply_patch",
    ];
    NAMES.contains(&name)
}

/// Decodes a call of Gemini CLI's shell function; returns arguments without a neutral name, too.
pub(super) fn read(id: &str, args: &Map<String, Value>) -> (ShellCall, Map<String, Value>) {
    let mut call = ShellCall::execute(id, Vec::new());
    let mut args = Args(args.clone());
    let mut fill = || {
        let line = args.needed_text(&["command"])?;
        call.commands = vec![Command::Line(line)];
        call.cwd = args.text(&["dir_path"])?;
        if args.flag("is_background", false)? {
            call.action = ShellAction::Start;
        }
        Ok::<(), String>(())
    };
    if let Err(problem) = fill() {
        call.exception = Some(format!("{COMMAND_LINE}: {problem}."));
    }
    (call, args.0)
}

/// Encodes a call as arguments; `None` if they cannot represent all of it.
pub(super) fn write(call: &ShellCall) -> Option<Map<String, Value>> {
    let [Command::Line(line)] = call.commands.as_slice() else {
        return None;
    };
    let has_more = call.timeout_ms.is_some()
        || call.max_output.is_some()
        || !call.env.is_empty()
        || call.user.is_some();
    let is_background = match call.action {
        ShellAction::Execute => false,
        ShellAction::Start => true,
        _ => return None,
    };
    if has_more {
        return None;
    }
    let mut args = Map::new();
    args.insert("command".to_owned(), line.as_str().into());
    if let Some(cwd) = &call.cwd {
        args.insert("dir_path".to_owned(), cwd.as_str().into());
    }
    if is_background {
        args.insert("is_background".to_owned(), true.into());
    }
    Some(args)
}
