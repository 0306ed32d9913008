//! The arguments of `shell`: a command in the simple case, everything a shell can be asked else.

use serde_json::{Map, Value};
use telechir_protocol::{Command, ShellAction, ShellCall};

use crate::fields::{Fields, object_of, owned, present, text};

/// What the arguments ask of a shell, or why that cannot be told.
pub(super) fn read(call_id: &str, arguments: &Result<Fields, String>) -> ShellCall {
    let mut call = ShellCall::execute(call_id, Vec::new());
    match arguments {
        Err(problem) => call.exception = Some(problem.clone()),
        Ok(members) => fill(&mut call, members),
    }
    call
}

fn fill(call: &mut ShellCall, members: &Fields) {
    call.commands = match commands(members) {
        Ok(commands) => commands,
        Err(problem) => {
            call.exception = Some(problem);
            return;
        }
    };
    call.action = action(members);
    if call.action.is_input() {
        call.job = owned(members, "job");
    }
    call.timeout_ms = limit(members, "timeout_ms");
    call.max_output = limit(members, "max_output");
    call.cwd = owned(members, "cwd");
    call.user = owned(members, "user");
    call.env = members
        .get("env")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let runs = matches!(call.action, ShellAction::Execute | ShellAction::Start);
    if runs && call.commands.is_empty() {
        call.exception = Some("its `command` is missing: the line to run".to_owned());
    }
}

/// A number of milliseconds or characters; some models write it as a text.
fn limit(members: &Fields, name: &str) -> Option<u64> {
    let value = members.get(name)?;
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    (number > 0).then_some(number)
}

fn action(members: &Fields) -> ShellAction {
    let said = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| owned(members, name))
            .unwrap_or_default()
    };
    match text(members, "action").unwrap_or_default() {
        "" | "execute" | "run" => ShellAction::Execute,
        "restart" => ShellAction::Restart,
        "send_text" => ShellAction::SendText(said(&["text"])),
        "send_key" => ShellAction::SendKey(said(&["key", "text"])),
        "close_input" => ShellAction::CloseInput,
        "interrupt" => ShellAction::Interrupt,
        "start" => ShellAction::Start,
        "list" => ShellAction::List,
        "read" => ShellAction::Read(said(&["job", "text"])),
        "stop" => ShellAction::Stop(said(&["job", "text"])),
        other => ShellAction::Other(other.to_owned()),
    }
}

fn commands(members: &Fields) -> Result<Vec<Command>, String> {
    if let Some(several) = present(members, "commands") {
        let Value::Array(several) = several else {
            return Err("its `commands` is no list of lines".to_owned());
        };
        return several.iter().map(command).collect();
    }
    let one = present(members, "command").or_else(|| present(members, "cmd"));
    match one {
        None => Ok(Vec::new()),
        Some(Value::String(line)) if line.is_empty() => Ok(Vec::new()),
        Some(one) => Ok(vec![command(one)?]),
    }
}

fn command(value: &Value) -> Result<Command, String> {
    let word = |word: &Value| word.as_str().map(str::to_owned);
    if let Some(line) = word(value) {
        return Ok(Command::Line(line));
    }
    let words = value.as_array().filter(|words| !words.is_empty());
    let words: Option<Vec<String>> = words
        .ok_or("its `command` is no line")?
        .iter()
        .map(word)
        .collect();
    let words = words.map(Command::Argv);
    words.ok_or_else(|| "a word of its `command` is no text".to_owned())
}

/// The arguments that ask the same; [`read`] reads them back.
pub(super) fn write(call: &ShellCall) -> Fields {
    let mut members = Map::new();
    if call.action != ShellAction::Execute {
        members.insert("action".to_owned(), call.action.name().into());
    }
    match call.commands.as_slice() {
        [] => {}
        [only] => {
            members.insert("command".to_owned(), of_command(only));
        }
        several => {
            let several: Vec<Value> = several.iter().map(of_command).collect();
            members.insert("commands".to_owned(), several.into());
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

fn of_command(command: &Command) -> Value {
    match command {
        Command::Line(line) => line.as_str().into(),
        Command::Argv(words) => words.clone().into(),
    }
}
