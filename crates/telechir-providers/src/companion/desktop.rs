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
    (ActionKind::ReadPage, &["filter", "depth"]),
    (ActionKind::Find, &["query"]),
    (ActionKind::Invoke, &["coordinate", "name"]),
    (ActionKind::FormInput, &["coordinate", "value"]),
    (ActionKind::ScrollTo, &["coordinate"]),
];

const DESCRIPTION: &str = "What the desktop can do beside mouse and keyboard. One action a call; \
    every call returns a screenshot, and what it has to say in words.";

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
            "name": text("What it is called."),
            "role": text("Its role, such as button."),
            "id": text("The id its program gave it."),
            "window": text("The window it is in."),
            "ref": text("Its ref, as read_page and find give it; then nothing else is said."),
        },
        "additionalProperties": false,
        "description": "Which element invoke, form_input and scroll_to mean.",
    });
    vec![
        (
            "window",
            text(
                "A window's id as list_windows gives it, or words that only its title or class \
                 contains. Left out: the active window.",
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
                "Only for capture_monitor: a monitor's name or number as list_monitors gives it. \
                 Left out: the primary one.",
            ),
        ),
        (
            "text",
            text("Only for write_clipboard: what the clipboard shall hold."),
        ),
        (
            "name",
            text(
                "For open_app: the application or program. For invoke: the element's own action, \
                 such as press, toggle or expand; left out, its first.",
            ),
        ),
        ("coordinate", element),
        (
            "value",
            json!({"description": "Only for form_input: the value."}),
        ),
        (
            "query",
            text("Only for find: words that describe the element."),
        ),
        (
            "mode",
            json!({
                "type": "string", "enum": ["grounding", "understanding"],
                "description": "Only for observe_screen: grounding draws numbers on what can be \
                    acted on and tells their places (the default); understanding tells in words \
                    what is there.",
            }),
        ),
        (
            "intent",
            text("Only for observe_screen: words that describe what is looked for."),
        ),
        (
            "filter",
            text("Only for read_page: interactive, or left out for all."),
        ),
        (
            "depth",
            json!({"type": "integer", "description": "Only for read_page: how deep to look."}),
        ),
    ]
}
