//! Describes a call for the user who approves it, from the call alone.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::escape;
use crate::{Action, ComputerCall, Content, ShellCall, ToolCallLike};

/// Describes the call, one step per line, safe to show. Never includes the model's own description.
///
/// ```
/// use telechir_protocol::{display::describe, Action, Button, ClickCount, ComputerCall, Content, Point};
/// let click = Action::Click {
///     at: Some(Point::new(3, 4).into()),
///     button: Button::Right,
///     count: ClickCount::Single,
///     modifiers: vec![],
/// };
/// let call = Content::ComputerCall(ComputerCall::new("c1", vec![Action::Screenshot, click]));
/// assert_eq!(describe(&call), "1. screenshot\n2. click coordinate=[3,4] button=right\n");
/// ```
pub fn describe(call: &Content) -> String {
    if let Content::ComputerCall(call) = call {
        computer(call)
    } else if let Content::ShellCall(call) = call {
        shell(call)
    } else if let Content::FunctionCall(call) = call {
        format!(
            "{} {}\n",
            escape(&call.name),
            escape(&call.arguments_as_str())
        )
    } else if let Content::EditCall(call) = call {
        format!("edit {}\n", escape(&ToolCallLike::arguments_as_str(call)))
    } else {
        let json = serde_json::to_string(call).unwrap_or_default();
        format!("{}\n", escape(&json))
    }
}

fn computer(call: &ComputerCall) -> String {
    let mut text = String::new();
    if let Some(target) = &call.target {
        let _infallible = writeln!(text, "on {}", escape(target.as_str()));
    }
    for (position, action) in call.actions.iter().enumerate() {
        let _infallible = writeln!(text, "{}. {}", position + 1, step(action));
    }
    text
}

fn step(action: &Action) -> String {
    let mut members = action.to_json();
    members.shift_remove("action");
    format!("{}{}", escape(action.name()), listed(&members))
}

fn listed(members: &Map<String, Value>) -> String {
    let mut text = String::new();
    for (name, value) in members {
        let value = match value.as_str() {
            Some(text) if is_plain_word(text) => text.to_owned(),
            Some(_) | None => value.to_string(),
        };
        let _infallible = write!(text, " {}={}", escape(name), escape(&value));
    }
    text
}

fn is_plain_word(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-_.:/".contains(c))
}

fn shell(call: &ShellCall) -> String {
    let mut text = escape(call.action.name());
    let mut settings = Map::new();
    let mut set = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            settings.insert(name.to_owned(), value.into());
        }
    };
    set("user", call.user.as_deref());
    set("cwd", call.cwd.as_deref());
    set("carries", call.action.text());
    if !call.env.is_empty() {
        settings.insert("env".to_owned(), call.env.clone().into());
    }
    text.push_str(&listed(&settings));
    text.push('\n');
    for (position, command) in call.commands.iter().enumerate() {
        // Indented, so that no line of a command looks like the next command.
        let line = escape(&command.to_line()).replace('\n', "\n   ");
        let _infallible = writeln!(text, "{}. {line}", position + 1);
    }
    text
}
