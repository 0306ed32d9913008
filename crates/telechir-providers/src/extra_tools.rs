//! Function tools that complement a provider's native tools: `browser` and `execute_browser` for
//! web pages, `shell_session` for shell control, and `computer_action` for desktop actions and for
//! actions in histories of other dialects.

mod desktop;
mod page;
mod shell;

use serde_json::{Map, Value, json};
use telechir_protocol::{Action, Arguments, ComputerCall, TargetId};

pub use desktop::desktop_tool;
pub(crate) use page::EXECUTE_BROWSER;
pub use page::{PAGE_ACTIONS, page_actions, page_tool};
pub(crate) use shell::{
    SHELL, action as shell_action, decode_shell_call, encode_shell_call, lacks, shell_tool,
};

use crate::json::{Fields, arguments, list, owned, text};

/// Pages and tabs of a browser.
pub(crate) const BROWSER: &str = "browser";
/// Screen actions that the native computer tool lacks.
pub(crate) const COMPUTER: &str = "computer_action";

/// The tool group of the computer tool's calls.
pub(crate) const COMPUTER_GROUP: &str = "computer";

/// Actions of the `browser` function.
const ACTIONS: [&str; 18] = [
    "screenshot",
    "navigate",
    "back",
    "forward",
    "reload",
    "click",
    "double_click",
    "triple_click",
    "move",
    "drag",
    "scroll",
    "type",
    "key",
    "page_text",
    "list_tabs",
    "new_tab",
    "switch_tab",
    "close_tab",
];

/// The declaration of `browser` without the excluded actions.
pub(crate) fn browser_tool(excluded: &[String]) -> Value {
    let actions: Vec<&str> = ACTIONS
        .into_iter()
        .filter(|action| !excluded.iter().any(|name| name == action))
        .collect();
    let point = json!({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2});
    let text = |description: &str| json!({"type": "string", "description": description});
    let number = |description: &str| json!({"type": "number", "description": description});
    json!({
        "type": "function",
        "name": BROWSER,
        "description": "Controls the web browser, its tabs and pages. Every \
            call returns a screenshot of the page; coordinates are pixels of the newest one.",
        "parameters": {
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": actions},
                "coordinate": described(point.clone(), "[x, y] for click, double_click, triple_click, move and scroll."),
                "path": {"type": "array", "items": point, "description": "Points for drag, at least two."},
                "button": {"type": "string", "enum": ["left", "right", "middle", "back", "forward"]},
                "modifiers": {"type": "array", "items": {"type": "string", "enum": ["ctrl", "alt", "shift", "super"]}},
                "dx": number("Wheel clicks to scroll right; negative is left."),
                "dy": number("Wheel clicks to scroll down; negative is up."),
                "text": text("Text to type."),
                "key": text("Keys to press together, such as ctrl+a or Enter."),
                "url": text("URL for navigate and new_tab."),
                "tab": text("A tab's name from list_tabs; default: the active tab."),
            },
            "required": ["action"],
            "additionalProperties": false,
        },
        "strict": false,
    })
}

fn described(mut schema: Value, description: &str) -> Value {
    if let Some(members) = schema.as_object_mut() {
        members.insert("description".to_owned(), description.into());
    }
    schema
}

/// Decodes a call of `browser`, `execute_browser` or `computer_action`; `None` for any other
/// function, or if the arguments contain no action.
pub(crate) fn decode_computer_call(
    name: &str,
    call_id: &str,
    arguments: &Arguments,
) -> Option<ComputerCall> {
    if name != BROWSER && name != COMPUTER && name != EXECUTE_BROWSER {
        return None;
    }
    let is_browser = is_browser(name);
    let Value::Object(mut arguments) = arguments.to_value().ok()? else {
        return None;
    };
    let target = arguments.shift_remove("target");
    let steps: Vec<Fields> = if text(&arguments, "action").is_some() {
        vec![arguments]
    } else {
        list(&arguments, "actions")
            .iter()
            .map(|step| step.as_object().cloned())
            .collect::<Option<_>>()?
    };
    if steps.is_empty() || steps.iter().any(|step| text(step, "action").is_none()) {
        return None;
    }
    let mut call = ComputerCall::new(call_id, Vec::new());
    for step in steps {
        let actions = match name {
            EXECUTE_BROWSER => page_steps(step),
            _ => vec![action(step)],
        };
        for (action, problem) in actions {
            call.actions.push(action);
            call.exception = call.exception.or(problem);
        }
    }
    let group = if is_browser { BROWSER } else { COMPUTER_GROUP };
    call.group = Some(group.to_owned());
    let default = is_browser.then(|| TargetId::from(BROWSER));
    call.target = match target {
        None | Some(Value::Null) => default,
        Some(Value::String(target)) => Some(TargetId::from(target)),
        Some(other) => {
            let problem = arguments::wrong("target", &other, "a string");
            call.exception = call.exception.or(Some(problem));
            default
        }
    };
    Some(call)
}

/// Whether the function controls the browser.
pub(crate) fn is_browser(name: &str) -> bool {
    name == BROWSER || name == EXECUTE_BROWSER
}

/// Decodes a step of `execute_browser`, with the reason if it cannot be executed.
fn page_steps(step: Fields) -> Vec<(Action, Option<String>)> {
    match page::steps(step) {
        Ok(steps) => steps.into_iter().map(action).collect(),
        Err((mut fields, problem)) => {
            let name = owned(&fields, "action").unwrap_or_default();
            fields.shift_remove("action");
            vec![(Action::Other { name, args: fields }, Some(problem))]
        }
    }
}

/// Decodes a step, with the reason if it cannot be executed.
fn action(step: Fields) -> (Action, Option<String>) {
    let name = owned(&step, "action").unwrap_or_default();
    let args = || {
        step.iter()
            .filter(|(name, _)| *name != "action")
            .map(|(n, v)| (n.clone(), v.clone()))
    };
    match Action::from_json(step.clone()) {
        Ok((Action::Other { name, args }, _)) => {
            let problem = format!("unknown action `{name}`");
            (Action::Other { name, args }, Some(problem))
        }
        Ok((action, unknown)) if unknown.is_empty() => (action, None),
        Ok((_, unknown)) => {
            let members = unknown.keys().cloned().collect::<Vec<_>>().join("`, `");
            let problem = format!("`{name}` does not accept `{members}`");
            (
                Action::Other {
                    name,
                    args: args().collect(),
                },
                Some(problem),
            )
        }
        Err(invalid) => (
            Action::Other {
                name,
                args: args().collect(),
            },
            Some(invalid.problem),
        ),
    }
}

/// The names of a call's actions, for a report.
pub(crate) fn action_names(call: &ComputerCall) -> String {
    let names: Vec<&str> = call.actions.iter().map(Action::name).collect();
    names.join(", ")
}

/// The function name and arguments that `decode_computer_call` decodes to the same call.
pub(crate) fn encode_computer_call(call: &ComputerCall) -> (&'static str, String) {
    let in_browser = call.group.as_deref() == Some(BROWSER)
        || call
            .target
            .as_ref()
            .is_some_and(|target| target.as_str() == BROWSER);
    let mut arguments = match call.actions.as_slice() {
        [only] => only.to_json(),
        actions => {
            let actions = actions
                .iter()
                .map(|action| Value::Object(action.to_json()))
                .collect();
            Map::from_iter([("actions".to_owned(), Value::Array(actions))])
        }
    };
    let target = call
        .target
        .as_ref()
        .map(TargetId::as_str)
        .filter(|target| *target != BROWSER);
    if let Some(target) = target {
        arguments.insert("target".to_owned(), target.into());
    }
    let name = if in_browser { BROWSER } else { COMPUTER };
    (name, Value::Object(arguments).to_string())
}
