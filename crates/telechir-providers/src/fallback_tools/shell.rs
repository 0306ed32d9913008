//! Arguments of `shell`: usually one command, or any other shell action.

use serde_json::{Map, Value};
use telechir_protocol::{Command, ShellAction, ShellCall};

use crate::extra_tools;
use crate::json::{Fields, arguments, object_of, present};

/// Decodes the arguments; an invalid call carries the reason in `exception`.
pub(super) fn read(call_id: &str, arguments: &Result<Fields, String>) -> ShellCall {
    let mut call = ShellCall::execute(call_id, Vec::new());
    call.exception = match arguments {
        Err(problem) => Some(problem.clone()),
        Ok(members) => fill_call(&mut call, members).err(),
    };
    call
}

fn fill_call(call: &mut ShellCall, members: &Fields) -> Result<(), String> {
    call.commands = commands(members)?;
    let action = arguments::text(members, "action")?;
    let lacks;
    (call.action, lacks) = match action.as_deref().unwrap_or_default() {
        "" | "execute" | "run" => (ShellAction::Execute, None),
        name => extra_tools::shell_action(members, name)?,
    };
    let job = arguments::text(members, "job")?;
    call.job = job.filter(|_| call.action.is_input());
    call.timeout_ms = arguments::limit(members, "timeout_ms")?;
    call.max_output = arguments::limit(members, "max_output")?;
    call.cwd = arguments::text(members, "cwd")?;
    call.user = arguments::text(members, "user")?;
    call.env = arguments::object(members, "env")?;
    let runs = matches!(call.action, ShellAction::Execute | ShellAction::Start);
    if runs && call.commands.is_empty() {
        return Err("`command` is missing: expected the line to run".to_owned());
    }
    // A command to start may be given in any spelling.
    match lacks.filter(|_| !runs) {
        Some(member) => Err(extra_tools::lacks(&call.action, member)),
        None => Ok(()),
    }
}

fn commands(members: &Fields) -> Result<Vec<Command>, String> {
    if let Some(lines) = present(members, "commands") {
        let Value::Array(lines) = lines else {
            return Err("`commands` is not a list of lines".to_owned());
        };
        return lines.iter().map(command).collect();
    }
    let one = present(members, "command").or_else(|| present(members, "cmd"));
    match one {
        None => Ok(Vec::new()),
        Some(Value::String(line)) if line.is_empty() => Ok(Vec::new()),
        Some(one) => Ok(vec![command(one)?]),
    }
}

fn command(value: &Value) -> Result<Command, String> {
    let string = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(line) = string(value) {
        return Ok(Command::Line(line));
    }
    let args = value.as_array().filter(|args| !args.is_empty());
    let args: Option<Vec<String>> = args
        .ok_or("`command` is neither a string nor a list of strings")?
        .iter()
        .map(string)
        .collect();
    let command = args.map(Command::Argv);
    command.ok_or_else(|| "an element of `command` is not a string".to_owned())
}

/// Encodes a call as arguments that `read` decodes to the same call.
pub(super) fn write(call: &ShellCall) -> Fields {
    let mut members = Map::new();
    if call.action != ShellAction::Execute {
        members.insert("action".to_owned(), call.action.name().into());
    }
    match call.commands.as_slice() {
        [] => {}
        [only] => {
            members.insert("command".to_owned(), command_value(only));
        }
        lines => {
            let lines: Vec<Value> = lines.iter().map(command_value).collect();
            members.insert("commands".to_owned(), lines.into());
        }
    }
    let carried = match call.action {
        ShellAction::SendKey(_) => "key",
        ShellAction::Read(_) | ShellAction::Stop(_) => "job",
        ShellAction::SendText(_)
        | ShellAction::Execute
        | ShellAction::Restart
        | ShellAction::CloseInput
        | ShellAction::Interrupt
        | ShellAction::Start
        | ShellAction::List
        | ShellAction::Other(_) => "text",
    };
    let env = (!call.env.is_empty()).then(|| Value::Object(call.env.clone()));
    members.extend(object_of([
        (carried, call.action.text().into()),
        ("job", call.job.as_deref().into()),
        ("timeout_ms", call.timeout_ms.into()),
        ("max_output", call.max_output.into()),
        ("cwd", call.cwd.as_deref().into()),
        ("user", call.user.as_deref().into()),
        ("env", env.into()),
    ]));
    members
}

fn command_value(command: &Command) -> Value {
    match command {
        Command::Line(line) => line.as_str().into(),
        Command::Argv(args) => args.clone().into(),
    }
}
