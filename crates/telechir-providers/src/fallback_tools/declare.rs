//! Function declarations with short sentences and flat arguments, which small models can fill in
//! correctly.

use serde_json::{Map, Value, json};
use telechir_protocol::{ComputerUseTool, Environment, Tool};

use super::{COMPUTER, EDITOR, MEMORY, PATCH, SHELL};
use crate::extra_tools;

/// A function declaration common to all APIs with functions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FunctionDeclaration {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    /// JSON Schema of the arguments.
    pub(crate) parameters: Value,
}

/// Actions of `computer`, in the order of preference for the model.
const ACTIONS: [&str; 15] = [
    "screenshot",
    "click",
    "double_click",
    "triple_click",
    "move",
    "drag",
    "scroll",
    "type",
    "key",
    "hold_key",
    "mouse_down",
    "mouse_up",
    "zoom",
    "cursor_position",
    "wait",
];

/// The function for a tool; `None` if only a provider can execute the tool or it is a raw
/// declaration.
pub(crate) fn declare_function(tool: &Tool) -> Option<FunctionDeclaration> {
    match tool {
        Tool::ComputerUse(tool) if tool.environment == Some(Environment::Browser) => {
            Some(browser(tool))
        }
        Tool::ComputerUse(tool) => Some(computer(tool)),
        Tool::Shell(_) => Some(shell()),
        Tool::Function(tool) => Some(FunctionDeclaration {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
        }),
        Tool::Hosted(tool) => match tool.hosted_type.as_str() {
            "text_editor" => Some(editor()),
            MEMORY => Some(memory()),
            PATCH => Some(patch()),
            _ => None,
        },
        Tool::ImageGeneration { .. } | Tool::CodeInterpreter { .. } | Tool::Raw(_) => None,
    }
}

fn function_with(
    name: &str,
    description: String,
    properties: Value,
    required: &[&str],
) -> FunctionDeclaration {
    let parameters = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    FunctionDeclaration {
        name: name.to_owned(),
        description: Some(description),
        parameters,
    }
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn number(description: &str) -> Value {
    json!({"type": "number", "description": description})
}

fn point(description: &str) -> Value {
    json!({
        "type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2,
        "description": description,
    })
}

fn one_of<S: AsRef<str>>(values: &[S], description: &str) -> Value {
    let values: Vec<&str> = values.iter().map(AsRef::as_ref).collect();
    json!({"type": "string", "enum": values, "description": description})
}

/// The sentence with the screen size; empty if the size is unknown.
fn screen_size_sentence(tool: &ComputerUseTool) -> String {
    match (tool.display_width, tool.display_height) {
        (Some(width), Some(height)) => {
            format!(" The screen has {width} x {height} pixels; a screenshot may have fewer.")
        }
        _ => String::new(),
    }
}

fn computer(tool: &ComputerUseTool) -> FunctionDeclaration {
    let actions: Vec<&str> = ACTIONS
        .into_iter()
        .filter(|action| !tool.excluded_actions.iter().any(|name| name == action))
        .collect();
    let description = format!(
        "Uses the mouse and keyboard of a computer and shows its screen. One action per call; every \
         call returns a new screenshot. Coordinates are [x, y] in pixels of the newest screenshot, \
         from its upper left corner.{}",
        screen_size_sentence(tool)
    );
    let properties = json!({
        "action": one_of(&actions, "What to do. screenshot only captures the screen."),
        "coordinate": point("Where to click, double_click, triple_click, move, scroll, mouse_down or mouse_up, as [x, y]. Default: the pointer position."),
        "path": {
            "type": "array", "minItems": 2, "items": point("[x, y]"),
            "description": "Only for drag: the points [x, y] from the start to the end.",
        },
        "button": one_of(&["left", "right", "middle", "back", "forward"], "The mouse button; default: left."),
        "modifiers": {
            "type": "array", "items": one_of(&["ctrl", "alt", "shift", "super"], "A key."),
            "description": "Keys to hold down during a click, drag or scroll.",
        },
        "dx": number("Only for scroll: wheel clicks to the right; negative is left."),
        "dy": number("Only for scroll: wheel clicks down; negative is up."),
        "text": text("Only for type: the text."),
        "key": text("Only for key and hold_key: keys to press together, such as Enter or ctrl+shift+t."),
        "duration": number("Only for wait and hold_key: milliseconds."),
        "region": {
            "type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4,
            "description": "Only for zoom: [left, top, right, bottom] of the part to look at closely.",
        },
    });
    function_with(COMPUTER, description, properties, &["action"])
}

fn browser(tool: &ComputerUseTool) -> FunctionDeclaration {
    let mut flat: Map<String, Value> = extra_tools::browser_tool(&tool.excluded_actions)
        .as_object()
        .cloned()
        .unwrap_or_default();
    let description = flat
        .get("description")
        .and_then(Value::as_str)
        .map(|text| format!("{text}{}", screen_size_sentence(tool)));
    FunctionDeclaration {
        name: extra_tools::BROWSER.to_owned(),
        description,
        parameters: flat.shift_remove("parameters").unwrap_or_default(),
    }
}

fn shell() -> FunctionDeclaration {
    let actions = [
        "run",
        "start",
        "send_text",
        "send_key",
        "close_input",
        "interrupt",
        "list",
        "read",
        "stop",
        "restart",
    ];
    let properties = json!({
        "command": text("The command line that bash runs, for example: ls -la"),
        "action": one_of(&actions, "Default: run the command and wait until it ends. start: run it in the background. send_text, send_key, close_input, interrupt: for a command that waits for input. list, read, stop: background jobs. restart: a new shell."),
        "text": text("Only for send_text: what to type; end it with a line break to confirm."),
        "key": text("Only for send_key: a key such as Enter or ctrl+c."),
        "job": text("The background job of read and stop; for input, the job that receives it instead of the foreground command."),
        "timeout_ms": {"type": "integer", "description": "Milliseconds to wait for the command to end."},
    });
    let description = "Runs a command in a bash shell that stays open: working directory and \
        variables persist between calls. Returns the command's output and, if it fails, its exit code."
        .to_owned();
    function_with(SHELL, description, properties, &[])
}

fn editor() -> FunctionDeclaration {
    let lines = json!({
        "type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2,
        "description": "Only for view: the first and the last line; -1 is the end.",
    });
    let properties = json!({
        "command": one_of(&["view", "create", "str_replace", "insert"], "What to do."),
        "path": text("The file or folder."),
        "file_text": text("Only for create: the complete text."),
        "old_str": text("Only for str_replace: the text to replace; it must be in the file once."),
        "new_str": text("Only for str_replace: the replacement."),
        "insert_line": {"type": "integer", "description": "Only for insert: the line after which to insert; 0 is the top."},
        "insert_text": text("Only for insert: the text."),
        "view_range": lines,
    });
    let description = "Reads and changes text files.".to_owned();
    function_with(EDITOR, description, properties, &["command", "path"])
}

fn memory() -> FunctionDeclaration {
    let properties = json!({
        "command": one_of(&["view", "create", "str_replace", "insert", "delete", "rename"], "What to do."),
        "path": text("The file or folder, below /memories."),
        "file_text": text("Only for create: the complete text."),
        "old_str": text("Only for str_replace: the text to replace."),
        "new_str": text("Only for str_replace: the replacement."),
        "insert_line": {"type": "integer", "description": "Only for insert: the line after which to insert."},
        "insert_text": text("Only for insert: the text."),
        "old_path": text("Only for rename: the current name."),
        "new_path": text("Only for rename: the new name."),
    });
    let description = "Notes in files that persist across conversations.".to_owned();
    function_with(MEMORY, description, properties, &["command"])
}

fn patch() -> FunctionDeclaration {
    let properties = json!({
        "type": one_of(&crate::fallback_tools::edit::PATCH_OPERATIONS, "What to do."),
        "path": text("The file."),
        "diff": text("The change as a V4A diff: lines that begin with a space, - or +, under @@ lines."),
    });
    let description = "Creates, changes or deletes a file.".to_owned();
    function_with(PATCH, description, properties, &["type", "path"])
}
