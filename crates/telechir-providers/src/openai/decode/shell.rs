//! `shell` and the older `local_shell`.

use serde_json::Value;
use telechir_protocol::{
    CallId, Command, CommandOutput, Content, Message, Role, ShellCall, ShellEnvironment,
    ShellOutcome, ShellResult,
};

use super::computer::unfinished;
use super::{CallContext, ItemReader, message_of};
use crate::json::{kind, list, object, owned, present, text};
use crate::openai::PROVIDER;
use crate::openai::call_form::form_property;
use crate::openai::item::{Item, keep, limit, raw};

impl ItemReader {
    pub(super) fn shell_call(&mut self, item: &Item) -> Option<Content> {
        let call_id = text(item, "call_id")?;
        let none = Item::new();
        let action = object(item, "action").unwrap_or(&none);
        let (commands, problem) = commands(action);
        let mut call = ShellCall::execute(call_id, commands);
        let problem = problem.or_else(|| unreadable_setting(action));
        call.exception = problem.or_else(|| unfinished(item));
        call.timeout_ms = limit(action, "timeout_ms");
        call.max_output = limit(action, "max_output_length");
        call.item_id = owned(item, "id");
        call.status = owned(item, "status");
        call.environment = self.environment(item, call_id);
        call.meta = raw(item);
        keep(&mut call.meta, item, &["caller", "environment"]);
        Some(Content::ShellCall(call))
    }

    /// Local, unless the item names another environment or the provider already answered the call.
    fn environment(&self, item: &Item, call_id: &str) -> ShellEnvironment {
        let environment = object(item, "environment");
        let local = environment.is_none_or(|environment| kind(environment) == "local");
        let answered = self.call_contexts.get(call_id) == Some(&CallContext::AnsweredByProvider);
        if local && !answered {
            return ShellEnvironment::Local;
        }
        let container_id = environment.and_then(|environment| owned(environment, "container_id"));
        ShellEnvironment::Hosted { container_id }
    }

    pub(super) fn shell_output(&mut self, item: &Item) -> Option<Message> {
        let call_id = text(item, "call_id")?;
        let outputs = list(item, "output")
            .iter()
            .filter_map(Value::as_object)
            .map(output_entry)
            .collect();
        let mut result = ShellResult::new(CallId::from(call_id), outputs);
        result.item_id = owned(item, "id");
        result.max_output = limit(item, "max_output_length");
        result.meta = raw(item);
        keep(&mut result.meta, item, &["caller", "status"]);
        let answered = self.call_contexts.get(call_id) == Some(&CallContext::AnsweredByProvider);
        let role = if answered {
            Role::Assistant
        } else {
            Role::Tool
        };
        Some(message_of(role, Content::ShellResult(result)))
    }

    /// The result of a local shell call. The API's types have only `id` for the call: its call id,
    /// or the id of its item.
    pub(super) fn local_output(&self, item: &Item) -> Option<Content> {
        let id = text(item, "id");
        let of_item = id.and_then(|id| self.local_shell_calls.get(id));
        let call_id = text(item, "call_id").or_else(|| of_item.map(String::as_str));
        let call_id = call_id.or(id)?;
        let printed_text = text(item, "output").unwrap_or_default();
        let own_format = serde_json::from_str::<CommandOutput>(printed_text).ok();
        let combined = own_format.is_none();
        let printed = || CommandOutput {
            stdout: printed_text.to_owned(),
            ..CommandOutput::default()
        };
        let mut result = ShellResult::new(
            CallId::from(call_id),
            vec![own_format.unwrap_or_else(printed)],
        );
        result.combined = combined;
        result.item_id = owned(item, "id");
        result.meta = raw(item);
        result.meta.set_property(
            PROVIDER,
            form_property::NAME,
            form_property::LOCAL_SHELL.into(),
        );
        keep(&mut result.meta, item, &["status"]);
        Some(Content::ShellResult(result))
    }
}

/// The commands; a single string instead of a list occurs in practice and is one command.
fn commands(action: &Item) -> (Vec<Command>, Option<String>) {
    let unread = |problem: &str| (Vec::new(), Some(problem.to_owned()));
    match action.get("commands") {
        Some(Value::String(line)) => (vec![Command::Line(line.clone())], None),
        Some(Value::Array(lines)) if lines.is_empty() => unread("`action.commands` is empty"),
        Some(Value::Array(lines)) => {
            let lines: Option<Vec<&str>> = lines.iter().map(Value::as_str).collect();
            match lines {
                Some(lines) => (
                    lines
                        .into_iter()
                        .map(|line| Command::Line(line.to_owned()))
                        .collect(),
                    None,
                ),
                None => unread("a command in `action.commands` is not a string"),
            }
        }
        _ => unread("`action.commands` is missing"),
    }
}

/// A setting, whether a value has its type, and the type's name.
type ExpectedType = (&'static str, fn(&Value) -> bool, &'static str);

/// The reason a call must not be executed whose folder, user, variables or limits are of another
/// type: without them it would do something else.
fn unreadable_setting(action: &Item) -> Option<String> {
    let expected: [ExpectedType; 5] = [
        ("working_directory", Value::is_string, "a string"),
        ("user", Value::is_string, "a string"),
        ("env", Value::is_object, "an object"),
        ("timeout_ms", Value::is_number, "a number"),
        ("max_output_length", Value::is_number, "a number"),
    ];
    let mut wrong = expected.iter().filter(|(name, is_expected, _)| {
        present(action, name).is_some_and(|found| !is_expected(found))
    });
    let (name, _, kind) = wrong.next()?;
    Some(format!("`action.{name}` is not {kind}"))
}

fn output_entry(entry: &Item) -> CommandOutput {
    let none = Item::new();
    let outcome = object(entry, "outcome").unwrap_or(&none);
    let exit_code = outcome
        .get("exit_code")
        .and_then(Value::as_i64)
        .and_then(|code| i32::try_from(code).ok());
    CommandOutput {
        stdout: owned(entry, "stdout").unwrap_or_default(),
        stderr: owned(entry, "stderr").unwrap_or_default(),
        exit_code,
        outcome: match (kind(outcome), exit_code) {
            ("exit", Some(0)) => ShellOutcome::Success,
            ("exit", _) => ShellOutcome::Error,
            ("timeout", _) => ShellOutcome::Timeout,
            (other, _) => ShellOutcome::Other(match present(entry, "outcome") {
                Some(Value::String(outcome)) => outcome.clone(),
                Some(odd) if !odd.is_object() => odd.to_string(),
                _ => other.to_owned(),
            }),
        },
        ..CommandOutput::default()
    }
}

pub(super) fn local_call(item: &Item) -> Option<Content> {
    let none = Item::new();
    let action = object(item, "action").unwrap_or(&none);
    let argv: Option<Vec<String>> = list(action, "command")
        .iter()
        .map(|arg| arg.as_str().map(str::to_owned))
        .collect();
    let argv = argv.filter(|argv| !argv.is_empty());
    let problem = argv
        .is_none()
        .then(|| "`action.command` is not a list of strings".to_owned());
    let mut call = ShellCall::execute(
        text(item, "call_id")?,
        argv.map(Command::Argv).into_iter().collect(),
    );
    let problem = problem.or_else(|| unreadable_setting(action));
    call.exception = problem.or_else(|| unfinished(item));
    call.timeout_ms = limit(action, "timeout_ms");
    call.cwd = owned(action, "working_directory");
    call.env = object(action, "env").cloned().unwrap_or_default();
    call.user = owned(action, "user");
    call.item_id = owned(item, "id");
    call.status = owned(item, "status");
    call.meta = raw(item);
    call.meta.set_property(
        PROVIDER,
        form_property::NAME,
        form_property::LOCAL_SHELL.into(),
    );
    Some(Content::ShellCall(call))
}
