//! The arguments of a tool as a neutral call, or as a request that needs no device.

use serde_json::{Map, Value, json};
use telechir_protocol::{Command, Content, ShellAction, ShellCall};

use crate::arguments::ArgumentError;
use crate::schema::{integer, point};

/// Wheel notches of `execute_gui` without `clicks`.
const GUI_SCROLL: i64 = 5;
/// Wheel notches of `computer_use` without `amount`.
const COMPUTER_SCROLL: i64 = 3;
/// Milliseconds of a wait of `computer_use` without `duration`.
const COMPUTER_WAIT_MS: i64 = 1_000;
/// Calls in a history without `last_n`.
const HISTORY_LENGTH: usize = 10;

/// What a tool's call asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolRequest {
    /// A call for a device of the session, whose id the caller sets.
    Call(Content),
    /// The last calls of this client.
    History {
        /// How many, from 1 to 50.
        last_n: usize,
    },
    /// The session itself, without a device.
    Session(SessionVerb),
}

/// What is asked of the session itself.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a call is made once and moved into its turn"
)]
pub enum SessionVerb {
    /// Start it if necessary, and execute this call, if any, which opens a page.
    Open(Option<Content>),
    /// Return its name, devices, state and age.
    Status,
    /// End it with all its programs, unless it was named.
    Close,
}

/// Reads checked arguments.
pub(crate) fn read(
    tool: &'static str,
    arguments: Map<String, Value>,
) -> Result<ToolRequest, ArgumentError> {
    match tool {
        "execute_cli" => shell(&arguments).map(ToolRequest::Call),
        "get_action_history" => {
            let last_n = arguments.get("last_n").and_then(integer);
            let last_n = last_n.and_then(|n| usize::try_from(n).ok());
            Ok(ToolRequest::History {
                last_n: last_n.unwrap_or(HISTORY_LENGTH),
            })
        }
        "browser_session" => session(&arguments).map(ToolRequest::Session),
        _ => computer(action(tool, arguments)?).map(ToolRequest::Call),
    }
}

fn shell(arguments: &Map<String, Value>) -> Result<Content, ArgumentError> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let command = text("command").unwrap_or_default();
    let mut call = ShellCall::execute("", Vec::new());
    match (command.trim().is_empty(), text("stdin")) {
        (false, None) => call.commands.push(Command::Line(command.to_owned())),
        (true, Some(input)) => call.action = ShellAction::SendText(input.to_owned()),
        (false, Some(_)) => {
            return Err(ArgumentError::at(
                "stdin",
                "run the command first; send stdin in a call with an empty command once it waits \
                 for input",
            ));
        }
        (true, None) => {
            return Err(ArgumentError::at(
                "command",
                "expected a command, found none",
            ));
        }
    }
    call.cwd = text("cwd").map(str::to_owned);
    let seconds = arguments.get("timeout").and_then(Value::as_f64);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be from 0.1 to 3600 seconds"
    )]
    let milliseconds = seconds.map(|seconds| (seconds * 1_000.0) as u64);
    call.timeout_ms = milliseconds;
    Ok(Content::ShellCall(call))
}

fn session(arguments: &Map<String, Value>) -> Result<SessionVerb, ArgumentError> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    match text("action") {
        Some("status") => Ok(SessionVerb::Status),
        Some("close") => Ok(SessionVerb::Close),
        _ => {
            let page = text("url").map(|url| json!({"action": "navigate", "url": url}));
            let page = page.map(|action| computer(object(action))).transpose()?;
            Ok(SessionVerb::Open(page))
        }
    }
}

/// The members of the neutral action that a tool's arguments mean.
fn action(
    tool: &str,
    mut arguments: Map<String, Value>,
) -> Result<Map<String, Value>, ArgumentError> {
    match tool {
        "execute_gui" => {
            scrolled(&mut arguments, "clicks", GUI_SCROLL);
            seconds_to_milliseconds(&mut arguments);
        }
        "computer_use" => {
            scrolled(&mut arguments, "amount", COMPUTER_SCROLL);
            points(&mut arguments);
            if arguments.get("action").and_then(Value::as_str) == Some("wait") {
                arguments
                    .entry("duration")
                    .or_insert_with(|| COMPUTER_WAIT_MS.into());
            }
        }
        "observe_screen" => {
            arguments.insert("action".to_owned(), "observe_screen".into());
        }
        "get_ui_context" => {
            arguments.insert("action".to_owned(), "read_page".into());
            rename(&mut arguments, "max_depth", "depth");
            interactive_only(&mut arguments);
        }
        "execute_browser" => browser(&mut arguments)?,
        "execute_accessible" => element(&mut arguments)?,
        "maximize_active_window" => {
            arguments.insert("action".to_owned(), "maximize_window".into());
        }
        "wait" => {
            arguments.insert("action".to_owned(), "wait".into());
            rename(&mut arguments, "seconds", "duration");
            seconds_to_milliseconds(&mut arguments);
        }
        _ => {}
    }
    Ok(arguments)
}

fn browser(arguments: &mut Map<String, Value>) -> Result<(), ArgumentError> {
    let action = arguments.get("action").and_then(Value::as_str);
    let (name, needed) = match action.unwrap_or_default() {
        "fill" | "select" => ("form_input", &["ref", "value"][..]),
        "press" => ("key", &["key"][..]),
        "extract_text" => ("page_text", &[][..]),
        "snapshot" => ("read_page", &[][..]),
        "open_tab" => ("new_tab", &[][..]),
        "navigate" => ("navigate", &["url"][..]),
        "click" => ("click", &["ref"][..]),
        "hover" => ("hover", &["ref"][..]),
        "scroll_to" => ("scroll_to", &["ref"][..]),
        "find" => ("find", &["query"][..]),
        "close_tab" => ("close_tab", &["tab"][..]),
        "switch_tab" => ("switch_tab", &["tab"][..]),
        "back" => ("back", &[][..]),
        "forward" => ("forward", &[][..]),
        "reload" => ("reload", &[][..]),
        "list_tabs" => ("list_tabs", &[][..]),
        _ => ("screenshot", &[][..]),
    };
    need(arguments, needed)?;
    arguments.insert("action".to_owned(), name.into());
    interactive_only(arguments);
    Ok(())
}

fn element(arguments: &mut Map<String, Value>) -> Result<(), ArgumentError> {
    let is_named = ["element_name", "automation_id", "ref"]
        .iter()
        .any(|name| arguments.contains_key(*name));
    if !is_named {
        let message = "missing; expected the name of an element, or automation_id or ref";
        return Err(ArgumentError::at("element_name", message));
    }
    let action = arguments.get("action").and_then(Value::as_str);
    match action.unwrap_or_default() {
        "set_value" | "type" => {
            need(arguments, &["value"])?;
            arguments.insert("action".to_owned(), "form_input".into());
        }
        "click" => {
            arguments.insert("action".to_owned(), "click".into());
        }
        "invoke" => {}
        name => {
            let name = name.to_owned();
            arguments.insert("action".to_owned(), "invoke".into());
            arguments.insert("name".to_owned(), name.into());
        }
    }
    Ok(())
}

fn need(arguments: &Map<String, Value>, names: &[&str]) -> Result<(), ArgumentError> {
    match names.iter().find(|name| !arguments.contains_key(**name)) {
        Some(name) => {
            let action = arguments.get("action").and_then(Value::as_str);
            let message = format!("missing; {} needs it", action.unwrap_or("the action"));
            Err(ArgumentError::at(name, message))
        }
        None => Ok(()),
    }
}

/// A direction and a number of notches as distances.
fn scrolled(arguments: &mut Map<String, Value>, amount: &str, default: i64) {
    if arguments.get("action").and_then(Value::as_str) != Some("scroll") {
        return;
    }
    let notches = arguments.remove(amount).as_ref().and_then(integer);
    let notches = notches.unwrap_or(default);
    let direction = arguments.remove("direction");
    let (dx, dy) = match direction.as_ref().and_then(Value::as_str) {
        Some("up") => (0, -notches),
        Some("left") => (-notches, 0),
        Some("right") => (notches, 0),
        _ => (0, notches),
    };
    arguments.insert("dx".to_owned(), dx.into());
    arguments.insert("dy".to_owned(), dy.into());
}

fn points(arguments: &mut Map<String, Value>) {
    for name in ["coordinate", "end_coordinate"] {
        if let Some(value) = arguments.get_mut(name)
            && let Some(point) = point(value)
        {
            *value = json!(point);
        }
    }
}

fn interactive_only(arguments: &mut Map<String, Value>) {
    if arguments.remove("interactive_only") == Some(Value::Bool(true)) {
        arguments.insert("filter".to_owned(), "interactive".into());
    }
}

fn rename(arguments: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = arguments.remove(from) {
        arguments.insert(to.to_owned(), value);
    }
}

fn seconds_to_milliseconds(arguments: &mut Map<String, Value>) {
    if let Some(seconds) = arguments.get("duration").and_then(Value::as_f64) {
        arguments.insert("duration".to_owned(), (seconds * 1_000.0).into());
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}

/// A call of one action, read as neutral JSON under any of the names that it knows.
fn computer(action: Map<String, Value>) -> Result<Content, ArgumentError> {
    let call = json!({"type": "computer_call", "call_id": "", "actions": [action]});
    let content: Content = serde_json::from_value(call)
        .map_err(|error| ArgumentError::of_call(format!("the arguments do not fit: {error}")))?;
    if let Content::ComputerCall(call) = &content
        && let Some(exception) = &call.exception
    {
        return Err(ArgumentError::of_call(exception.as_str()));
    }
    Ok(content)
}
