//! The command line tool of Google's own terminal agent, and the names of our functions.

use serde_json::{Map, Value};
use telechir_protocol::{Command, ShellAction, ShellCall};

use super::args::Args;

/// The function of Google's terminal agent.
pub(super) const COMMAND_LINE: &str = "run_shell_command";

/// Whether a function of this name is one of ours, or reads as one.
pub(super) fn is_ours(name: &str) -> bool {
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

/// A call of it, and the arguments that have no neutral name.
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

/// The arguments that say a call; none when they cannot say all of it.
pub(super) fn write(call: &ShellCall) -> Option<Map<String, Value>> {
    let [Command::Line(line)] = call.commands.as_slice() else {
        return None;
    };
    let unsaid = call.timeout_ms.is_some()
        || call.max_output.is_some()
        || !call.env.is_empty()
        || call.user.is_some();
    let is_background = match call.action {
        ShellAction::Execute => false,
        ShellAction::Start => true,
        _ => return None,
    };
    if unsaid {
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
