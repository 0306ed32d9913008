//! `shell_session`: shell control beyond running commands.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use telechir_protocol::{Arguments, CallId, Command, ShellAction, ShellCall};

use crate::json::{Fields, arguments, present, text};

/// The name of the function.
pub(crate) const SHELL: &str = "shell_session";

const DESCRIPTION: &str = "Controls the shell beyond running commands. A command whose result says that \
    it waits for input is answered with send_text, send_key, close_input or interrupt; the result \
    contains the new output and whether the command ended. start runs a command in the background \
    as a job, in the shell's working directory; list, read (output since the last read) and stop \
    control jobs, and `job` directs input to one. restart starts a new shell.";

/// The declaration, in the format of OpenAI functions.
pub(crate) fn shell_tool() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    json!({
        "type": "function",
        "name": SHELL,
        "description": DESCRIPTION,
        "parameters": {
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": [
                    "send_text", "send_key", "close_input", "interrupt",
                    "start", "list", "read", "stop", "restart",
                ]},
                "text": text("Text for send_text, typed unchanged; most prompts require a line break at the end."),
                "key": text("Key for send_key, such as ctrl+c, enter, down or q."),
                "command": text("Command for start."),
                "job": text("The job of read and stop; for input, the job that receives it instead of the foreground command."),
            },
            "required": ["action"],
            "additionalProperties": false,
        },
        "strict": false,
    })
}

/// Decodes a call of `shell_session`; `None` for any other function.
pub(crate) fn decode_shell_call(
    name: &str,
    call_id: &str,
    arguments: &Arguments,
) -> Option<ShellCall> {
    let Value::Object(arguments) = arguments.to_value().ok().filter(|_| name == SHELL)? else {
        return None;
    };
    let name = text(&arguments, "action")?;
    let mut call = ShellCall::execute(CallId::from(call_id), Vec::new());
    call.exception = fill_call(&mut call, &arguments, name).err();
    Some(call)
}

fn fill_call(call: &mut ShellCall, arguments: &Fields, name: &str) -> Result<(), String> {
    let lacks;
    (call.action, lacks) = action(arguments, name)?;
    if call.action == ShellAction::Start {
        let command = argument(arguments, "command")?;
        call.commands = vec![Command::Line(command.unwrap_or_default())];
    } else if matches!(call.action, ShellAction::Other(_)) {
        let command = arguments::text(arguments, "command")?;
        call.commands = command.map(Command::Line).into_iter().collect();
    }
    if call.action.is_input() {
        call.job = arguments::text(arguments, "job")?;
    }
    decode_details(call, arguments)?;
    match lacks {
        Some(member) => Err(self::lacks(&call.action, member)),
        None => Ok(()),
    }
}

/// The problem of an action without a member that it requires.
pub(crate) fn lacks(action: &ShellAction, member: &str) -> String {
    format!("`{}` requires `{member}`", action.name())
}

/// The action of this name, and the member that it requires and lacks.
pub(crate) fn action(
    arguments: &Fields,
    name: &str,
) -> Result<(ShellAction, Option<&'static str>), String> {
    let mut missing = None;
    let mut required = |member: &'static str| {
        let value = argument(arguments, member)?;
        if value.is_none() {
            missing = Some(member);
        }
        Ok::<_, String>(value.unwrap_or_default())
    };
    let action = match name {
        "restart" => ShellAction::Restart,
        "send_text" => ShellAction::SendText(required("text")?),
        "send_key" => ShellAction::SendKey(required("key")?),
        "close_input" => ShellAction::CloseInput,
        "interrupt" => ShellAction::Interrupt,
        "start" => {
            required("command")?;
            ShellAction::Start
        }
        "list" => ShellAction::List,
        "read" => ShellAction::Read(required("job")?),
        "stop" => ShellAction::Stop(required("job")?),
        other => ShellAction::Other(other.to_owned()),
    };
    Ok((action, missing))
}

/// An argument; older histories pass every one as `text`.
fn argument(arguments: &Fields, member: &str) -> Result<Option<String>, String> {
    match arguments::text(arguments, member)? {
        Some(value) => Ok(Some(value)),
        None => arguments::text(arguments, "text"),
    }
}

/// The commands of an unknown action, and the members that any call may have.
fn decode_details(call: &mut ShellCall, arguments: &Fields) -> Result<(), String> {
    if let (ShellAction::Other(_), Some(commands)) = (&call.action, present(arguments, "commands"))
        && let Ok(commands) = Vec::<Command>::deserialize(commands)
    {
        call.commands = commands;
    }
    call.timeout_ms = arguments::limit(arguments, "timeout_ms")?;
    call.max_output = arguments::limit(arguments, "max_output")?;
    call.cwd = arguments::text(arguments, "cwd")?;
    call.user = arguments::text(arguments, "user")?;
    call.env = arguments::object(arguments, "env")?;
    Ok(())
}

/// The arguments of this call; `None` if the native shell tool supports it.
pub(crate) fn encode_shell_call(call: &ShellCall) -> Option<String> {
    let argument = match &call.action {
        ShellAction::Execute => return None,
        ShellAction::SendText(text) => Some(("text", text.clone())),
        ShellAction::SendKey(key) => Some(("key", key.clone())),
        ShellAction::Read(job) | ShellAction::Stop(job) => Some(("job", job.clone())),
        ShellAction::Start
        | ShellAction::Restart
        | ShellAction::CloseInput
        | ShellAction::Interrupt
        | ShellAction::List
        | ShellAction::Other(_) => None,
    };
    let lines: Vec<String> = call.commands.iter().map(Command::to_line).collect();
    let has_command = !lines.is_empty() || call.action == ShellAction::Start;
    let command = has_command.then(|| ("command", lines.join("\n")));
    let job = call.job.clone().map(|job| ("job", job));
    let mut arguments = Map::from_iter([("action".to_owned(), call.action.name().into())]);
    for (member, value) in argument.into_iter().chain(command).chain(job) {
        arguments.insert(member.to_owned(), value.into());
    }
    encode_details(call, &mut arguments);
    Some(Value::Object(arguments).to_string())
}

/// The members that [`decode_details`] decodes.
fn encode_details(call: &ShellCall, arguments: &mut Fields) {
    if matches!(call.action, ShellAction::Other(_)) && !call.commands.is_empty() {
        arguments.insert("commands".to_owned(), json!(call.commands));
    }
    let texts = [("cwd", &call.cwd), ("user", &call.user)];
    let texts = texts.map(|(name, text)| (name, text.as_deref().map(Value::from)));
    let limits = [
        ("timeout_ms", call.timeout_ms),
        ("max_output", call.max_output),
    ];
    let limits = limits.map(|(name, limit)| (name, limit.map(Value::from)));
    for (name, value) in texts.into_iter().chain(limits) {
        if let Some(value) = value {
            arguments.insert(name.to_owned(), value);
        }
    }
    if !call.env.is_empty() {
        arguments.insert("env".to_owned(), call.env.clone().into());
    }
}
