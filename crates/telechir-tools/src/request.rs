//! The arguments of a tool as a neutral call, or as a request that needs no device.

use std::time::Duration;

use serde_json::{Map, Value, json};
use telechir_protocol::{Action, Command, ComputerCall, Content, ShellAction, ShellCall, TargetId};
use telechir_providers::page_actions;

use crate::arguments::ArgumentError;
use crate::schema::{Argument, integer, point};

/// The target of calls for the browser.
const BROWSER: &str = "browser";
/// Wheel notches of `execute_gui` without `clicks`.
const GUI_SCROLL: i64 = 5;
/// Wheel notches of `computer_use` without `amount`.
const COMPUTER_SCROLL: i64 = 3;
/// Milliseconds of a wait of `computer_use` without `duration`.
const COMPUTER_WAIT_MS: i64 = 1_000;
/// Calls in a history without `last_n`.
const HISTORY_LENGTH: usize = 10;
/// Turns of a task without `max_steps`.
const TASK_STEPS: u32 = 15;

/// What a tool's call asks for.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a call is made once and moved into its turn"
)]
pub enum ToolRequest {
    /// A call for a device of the session, whose id the caller sets.
    Call(Content),
    /// A wait in a session without a screen, which takes this time.
    Wait(Duration),
    /// The last calls of this client.
    History {
        /// How many, from 1 to 50.
        last_n: usize,
    },
    /// The session itself, without a device.
    Session(SessionVerb),
    /// A task for another model, or the state of one.
    Task(TaskVerb),
}

/// What is asked of the session itself.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionVerb {
    /// Start it if necessary with these options, and execute this call, if any, which opens a page.
    Open(OpenOptions, Option<Box<Content>>),
    /// Return its handle, devices, state and age.
    Status,
    /// Continue an earlier session.
    Resume {
        /// The handle that an earlier answer of the session had.
        session_id: String,
    },
    /// Let it live for so many seconds without a call.
    Extend {
        /// From 1 to 86,400.
        seconds: u64,
    },
    /// End it with all its programs, unless it was named.
    Close,
}

/// How a session is opened. What a session cannot do is an error, never ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// The page to open; absent means none.
    pub url: Option<String>,
    /// The persistent page data to use, called a profile elsewhere; absent means none.
    pub context_id: Option<String>,
    /// Whether changes of the page data are saved at the end; absent means yes.
    pub persist: Option<bool>,
    /// The handle of an existing session to attach to, instead of starting one.
    pub session_id: Option<String>,
    /// Seconds without a call after which the session ends; absent means the server's default.
    pub timeout: Option<u64>,
    /// Whether pages are fetched through a proxy; absent means as the server was started.
    pub proxy: Option<bool>,
    /// ISO 3166 code of the country that the proxy should be in.
    pub proxy_country: Option<String>,
}

/// What is asked of another model that uses the session's screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskVerb {
    /// Return the model's next steps without executing them.
    Plan {
        /// What the model should accomplish, in natural language.
        instruction: String,
    },
    /// Let the model work on it until it is done.
    Execute {
        /// What the model should accomplish, in natural language.
        instruction: String,
        /// Maximum number of the model's turns.
        max_steps: u32,
    },
    /// Wait for the end of a task that was started before.
    Follow {
        /// Name of the task, such as `task1`, from the answer that started it.
        task: String,
    },
    /// Stop a task that still runs, and forget its result.
    Stop {
        /// Name of the task, such as `task1`, from the answer that started it.
        task: String,
    },
}

/// Reads checked arguments.
pub(crate) fn read(
    tool: &'static str,
    table: &[Argument],
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
        "browser_session" => match device_action(&arguments)? {
            Some(action) => {
                let verb = verb(tool, &arguments);
                on_page(table, &verb, vec![action]).map(ToolRequest::Call)
            }
            None => session(&arguments).map(ToolRequest::Session),
        },
        "execute_computer_use" => task(&arguments).map(ToolRequest::Task),
        "execute_browser" => {
            let verb = verb(tool, &arguments);
            on_page(table, &verb, browser(arguments)?).map(ToolRequest::Call)
        }
        _ => {
            let verb = verb(tool, &arguments);
            computer(table, &verb, vec![action(tool, arguments)?])
                .map(Content::ComputerCall)
                .map(ToolRequest::Call)
        }
    }
}

fn shell(arguments: &Map<String, Value>) -> Result<Content, ArgumentError> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let is_set = |name: &str| arguments.get(name) == Some(&Value::Bool(true));
    let mut call = ShellCall::execute("", Vec::new());
    let input = input(arguments)?;
    let job = text("job").map(str::to_owned);
    let command = text("command").filter(|command| !command.trim().is_empty());
    call.action = match (command, input, job) {
        (Some(_), Some((name, _)), _) => {
            let message = "run the command first, and send input in a further call without a \
                           command once it waits for it";
            return Err(ArgumentError::at(name, message));
        }
        (Some(_), None, Some(_)) => {
            let message = "a job has its command already; omit `command` to read the job";
            return Err(ArgumentError::at("job", message));
        }
        (Some(command), None, None) => {
            call.commands.push(Command::Line(command.to_owned()));
            match is_set("background") {
                true => ShellAction::Start,
                false => ShellAction::Execute,
            }
        }
        (None, Some((_, input)), job) => {
            call.job = job;
            input
        }
        (None, None, Some(job)) if is_set("stop") => ShellAction::Stop(job),
        (None, None, Some(job)) => ShellAction::Read(job),
        (None, None, None) => {
            let message = "missing; expected a command, or `stdin`, `key`, `close_stdin` or `job` \
                           for one that runs";
            return Err(ArgumentError::at("command", message));
        }
    };
    if is_set("stop") && !matches!(call.action, ShellAction::Stop(_)) {
        let message = "expected `job` alone beside it";
        return Err(ArgumentError::at("stop", message));
    }
    call.cwd = text("cwd").map(str::to_owned);
    let seconds = arguments.get("timeout").and_then(Value::as_f64);
    call.timeout_ms = seconds.map(milliseconds);
    Ok(Content::ShellCall(call))
}

/// The input for a command that runs, and the argument it comes from.
fn input(
    arguments: &Map<String, Value>,
) -> Result<Option<(&'static str, ShellAction)>, ArgumentError> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let typed = text("stdin").map(|text| ("stdin", ShellAction::SendText(text.to_owned())));
    let key = text("key").map(|key| ("key", ShellAction::SendKey(key.to_owned())));
    let closes = arguments.get("close_stdin") == Some(&Value::Bool(true));
    let end = closes.then_some(("close_stdin", ShellAction::CloseInput));
    let mut given = [typed, key, end].into_iter().flatten();
    let first = given.next();
    match given.next() {
        Some((name, _)) => Err(ArgumentError::at(
            name,
            "send one input a call: `stdin`, `key` or `close_stdin`",
        )),
        None => Ok(first),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be from 0 to 3600 seconds"
)]
fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1_000.0) as u64
}

/// The neutral action of a verb that the session's browser performs; none for other verbs.
fn device_action(
    arguments: &Map<String, Value>,
) -> Result<Option<Map<String, Value>>, ArgumentError> {
    let verb = arguments.get("action").and_then(Value::as_str);
    let (needed, taken) = match verb.unwrap_or_default() {
        "emulate" => (&["settings"][..], &["settings"][..]),
        "list_cookies" | "clear_cookies" => (&[][..], &["url"][..]),
        "set_cookies" => (&["cookies"][..], &["cookies"][..]),
        "save_storage_state" | "save_pdf" => (&[][..], &["path"][..]),
        "load_storage_state" => (&["path"][..], &["path"][..]),
        _ => return Ok(None),
    };
    need(arguments, needed)?;
    let mut action = arguments.clone();
    action.retain(|name, _| name == "action" || taken.contains(&name.as_str()));
    Ok(Some(action))
}

fn session(arguments: &Map<String, Value>) -> Result<SessionVerb, ArgumentError> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let flag = |name: &str| arguments.get(name).and_then(Value::as_bool);
    let seconds = arguments.get("timeout").and_then(integer);
    let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
    match text("action") {
        Some("status") => Ok(SessionVerb::Status),
        Some("resume") => match text("session_id") {
            Some(id) => Ok(SessionVerb::Resume {
                session_id: id.to_owned(),
            }),
            None => Err(ArgumentError::at("session_id", "missing; resume needs it")),
        },
        Some("close") => Ok(SessionVerb::Close),
        Some("extend") => match seconds {
            Some(seconds) => Ok(SessionVerb::Extend { seconds }),
            None => Err(ArgumentError::at("timeout", "missing; extend needs it")),
        },
        _ => {
            let options = OpenOptions {
                url: text("url").map(str::to_owned),
                context_id: text("context_id").map(str::to_owned),
                persist: flag("persist"),
                session_id: text("session_id").map(str::to_owned),
                timeout: seconds,
                proxy: flag("proxy"),
                proxy_country: text("proxy_country").map(str::to_owned),
            };
            if options.context_id.is_some() && options.session_id.is_some() {
                let message = "expected either `context_id` for a new session or `session_id` for \
                               an existing one, found both";
                return Err(ArgumentError::at("session_id", message));
            }
            let page = text("url").map(|url| json!({"action": "navigate", "url": url}));
            let page = page
                .map(|action| on_page(&[], "open", vec![object(action)]))
                .transpose()?;
            Ok(SessionVerb::Open(options, page.map(Box::new)))
        }
    }
}

fn task(arguments: &Map<String, Value>) -> Result<TaskVerb, ArgumentError> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let is_stopped = arguments.get("stop") == Some(&Value::Bool(true));
    match (text("instruction"), text("task").map(str::to_owned)) {
        (Some(_), Some(_)) => {
            let message = "expected either `instruction` for a new task or `task`, found both";
            Err(ArgumentError::at("task", message))
        }
        (None, Some(task)) if is_stopped => Ok(TaskVerb::Stop { task }),
        (None, Some(task)) => Ok(TaskVerb::Follow { task }),
        (Some(instruction), None) if text("mode") == Some("plan") => Ok(TaskVerb::Plan {
            instruction: instruction.to_owned(),
        }),
        (Some(instruction), None) => {
            let steps = arguments.get("max_steps").and_then(integer);
            let steps = steps.and_then(|steps| u32::try_from(steps).ok());
            Ok(TaskVerb::Execute {
                instruction: instruction.to_owned(),
                max_steps: steps.unwrap_or(TASK_STEPS),
            })
        }
        (None, None) => {
            let message = "missing; expected what to accomplish, or `task` to follow one";
            Err(ArgumentError::at("instruction", message))
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
            // The default of a page has one line for several elements.
            arguments.entry("filter").or_insert_with(|| "all".into());
        }
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

/// The actions of `execute_browser`: those of the page function, and a few more.
fn browser(mut arguments: Map<String, Value>) -> Result<Vec<Map<String, Value>>, ArgumentError> {
    let verb = arguments.get("action").and_then(Value::as_str);
    let verb = verb.unwrap_or_default().to_owned();
    let name = match verb.as_str() {
        "select" => "fill",
        "screenshot" if arguments.contains_key("ref") => "capture_element",
        "scroll_to" => {
            need(&arguments, &["ref"])?;
            "scroll_to"
        }
        other => other,
    };
    arguments.insert("action".to_owned(), name.into());
    match arguments.shift_remove("visible") {
        Some(Value::Bool(false)) if verb == "snapshot" => {
            let message = "expected true, found false: a snapshot has visible elements only";
            return Err(ArgumentError::at("visible", message));
        }
        _ => {}
    }
    page_actions(arguments).map_err(|problem| match needed_argument(&problem) {
        Some(name) => ArgumentError::at(name, format!("missing; {verb} needs it")),
        None if verb == "fill_form" => ArgumentError::at("fields", problem),
        None => ArgumentError::of_call(format!("{verb}: {problem}")),
    })
}

/// The argument in "`click` needs `ref`".
fn needed_argument(problem: &str) -> Option<&str> {
    let (_, needed) = problem.split_once("` needs `")?;
    needed.strip_suffix('`')
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

/// What the client asks for, in its own words: the action, or the tool if it has no actions.
fn verb(tool: &str, arguments: &Map<String, Value>) -> String {
    let action = arguments.get("action").and_then(Value::as_str);
    action.unwrap_or(tool).to_owned()
}

/// A call for the browser, also in a session with a desktop, which takes calls without a target.
fn on_page(
    table: &[Argument],
    verb: &str,
    actions: Vec<Map<String, Value>>,
) -> Result<Content, ArgumentError> {
    let mut call = computer(table, verb, actions)?;
    call.target = Some(TargetId::from(BROWSER));
    Ok(Content::ComputerCall(call))
}

/// A call of these actions, read as neutral JSON under any of the names that it knows. `table` has
/// the arguments of the tool, of which an error names one; `verb` is what the client wrote.
fn computer(
    table: &[Argument],
    verb: &str,
    actions: Vec<Map<String, Value>>,
) -> Result<ComputerCall, ArgumentError> {
    let read = |action| match Action::from_json(action) {
        Ok((action, _ignored)) => Ok(action),
        Err(invalid) => Err(named_as_in(table, verb, &invalid.problem)),
    };
    let actions: Result<Vec<Action>, ArgumentError> = actions.into_iter().map(read).collect();
    Ok(ComputerCall::new("", actions?))
}

/// An error about a member of a neutral action, about the tool's argument that it comes from.
fn named_as_in(table: &[Argument], action: &str, problem: &str) -> ArgumentError {
    // "`coordinate` is missing" or "`text` is 5, not a string".
    let member = problem
        .strip_prefix('`')
        .and_then(|rest| rest.split_once('`'));
    let Some((member, rest)) = member else {
        return ArgumentError::of_call(format!("{action}: {problem}"));
    };
    let names: &[&str] = match member {
        "coordinate" | "path" => &["coordinate", "x", "ref", "element_name"],
        _ => &[member],
    };
    let argument = names
        .iter()
        .find_map(|name| table.iter().find(|argument| argument.name == *name));
    let name = argument.map_or(member, |argument| argument.name);
    let found = match (rest.trim(), argument) {
        ("is missing", Some(argument)) => {
            format!(
                "missing; {action} needs it: {}",
                argument.kind.expectation()
            )
        }
        ("is missing", None) => format!("missing; {action} needs it"),
        (rest, _) => format!("{action}: the value {rest}"),
    };
    ArgumentError::at(name, found)
}
