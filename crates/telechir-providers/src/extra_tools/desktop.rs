//! `computer_action`: desktop actions beyond mouse, keyboard and screenshots, for models whose
//! computer tool has only those.

use serde_json::{Map, Value, json};
use telechir_protocol::{ActionKind, FunctionTool, Tool};

use super::COMPUTER;

/// The actions that can be offered, each with its arguments besides `action`.
const ACTIONS: [(ActionKind, &[&str]); 19] = [
    (ActionKind::ObserveScreen, &["mode", "intent"]),
    (ActionKind::ListWindows, &[]),
    (ActionKind::FocusWindow, &["window"]),
    (ActionKind::MaximizeWindow, &["window"]),
    (ActionKind::RestoreWindow, &["window"]),
    (ActionKind::MinimizeWindow, &["window"]),
    (ActionKind::CloseWindow, &["window"]),
    (ActionKind::PlaceWindow, &["window", "region"]),
    (ActionKind::CaptureWindow, &["window"]),
    (ActionKind::ListMonitors, &[]),
    (ActionKind::CaptureMonitor, &["monitor"]),
    (ActionKind::ReadClipboard, &[]),
    (ActionKind::WriteClipboard, &["text"]),
    (ActionKind::OpenApp, &["name"]),
    (ActionKind::ReadPage, &["filter", "depth", "window"]),
    (ActionKind::Find, &["query"]),
    (ActionKind::Invoke, &["coordinate", "name"]),
    (ActionKind::FormInput, &["coordinate", "value"]),
    (ActionKind::ScrollTo, &["coordinate"]),
];

const DESCRIPTION: &str = "Desktop actions beyond mouse and keyboard. One action per call; every call \
    returns a screenshot and a text result.";

/// The function tool for the desktop actions that `can` accepts; `None` if it accepts none.
///
/// Every dialect decodes a call of it as a computer call.
pub fn desktop_tool(can: impl Fn(ActionKind) -> bool) -> Option<Tool> {
    let offered: Vec<_> = ACTIONS.into_iter().filter(|(kind, _)| can(*kind)).collect();
    if offered.is_empty() {
        return None;
    }
    let names: Vec<&str> = offered.iter().map(|(kind, _)| kind.name()).collect();
    let takes = |member: &str| offered.iter().any(|(_, members)| members.contains(&member));
    let mut properties = Map::new();
    properties.insert(
        "action".to_owned(),
        json!({"type": "string", "enum": names, "description": "What to do."}),
    );
    let members = members().into_iter().filter(|(name, _)| takes(name));
    properties.extend(members.map(|(name, schema)| (name.to_owned(), schema)));
    Some(Tool::Function(FunctionTool {
        name: COMPUTER.to_owned(),
        description: Some(DESCRIPTION.to_owned()),
        parameters: json!({
            "type": "object",
            "properties": properties,
            "required": ["action"],
            "additionalProperties": false,
        }),
        ..FunctionTool::default()
    }))
}

fn members() -> Vec<(&'static str, Value)> {
    let text = |description: &str| json!({"type": "string", "description": description});
    let element = json!({
        "type": "object",
        "properties": {
            "name": text("Its name."),
            "role": text("Its role, such as button."),
            "id": text("The id assigned by its application."),
            "window": text("The window that contains it."),
            "ref": text("Its ref from read_page or find, given without the other fields."),
        },
        "additionalProperties": false,
        "description": "The element for invoke, form_input and scroll_to.",
    });
    vec![
        (
            "window",
            text(
                "A window's id from list_windows, or text that occurs only in its title or class. \
                 Default: the active window, for read_page all windows.",
            ),
        ),
        (
            "region",
            json!({
                "type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4,
                "description": "Only for place_window: [left, top, right, bottom] in pixels of the newest screenshot.",
            }),
        ),
        (
            "monitor",
            text(
                "Only for capture_monitor: a monitor's name or number from list_monitors. Default: \
                 the primary monitor.",
            ),
        ),
        (
            "text",
            text("Only for write_clipboard: the new clipboard text."),
        ),
        (
            "name",
            text(
                "For open_app: the application or program. For invoke: the element's own action, \
                 such as press, toggle or expand; default: its first.",
            ),
        ),
        ("coordinate", element),
        (
            "value",
            json!({"description": "Only for form_input: the value."}),
        ),
        (
            "query",
            text("Only for find: a description of the element."),
        ),
        (
            "mode",
            json!({
                "type": "string", "enum": ["grounding", "understanding"],
                "description": "Only for observe_screen: grounding (default) numbers the \
                    interactive elements and lists their positions; understanding describes the \
                    screen in text.",
            }),
        ),
        (
            "intent",
            text("Only for observe_screen: a description of what to look for."),
        ),
        (
            "filter",
            text("Only for read_page: interactive; default: all elements."),
        ),
        (
            "depth",
            json!({"type": "integer", "description": "Only for read_page: the maximum depth."}),
        ),
    ]
}
