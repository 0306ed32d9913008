//! Arguments in the forms of the systems whose tools these are, changed to the listed ones.

use serde_json::{Map, Value};

/// Renames and flattens the arguments that a tool accepts without listing them.
pub(crate) fn listed(tool: &str, arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut arguments = arguments.clone();
    match tool {
        "execute_gui" => gui(&mut arguments),
        "execute_browser" => {
            flatten(&mut arguments, "params");
            rename(&mut arguments, "tab_id", "tab");
            rename(&mut arguments, "element_id", "ref");
            rename(&mut arguments, "network_idle", "idle");
        }
        "execute_accessible" => rename(&mut arguments, "target", "element_name"),
        "computer_use" => {
            rename(&mut arguments, "scroll_direction", "direction");
            rename(&mut arguments, "scroll_amount", "amount");
            drag(&mut arguments);
        }
        _ => {}
    }
    arguments
}

fn gui(arguments: &mut Map<String, Value>) {
    flatten(arguments, "coordinates");
    for (foreign, name) in [
        ("start_x", "x"),
        ("start_y", "y"),
        ("amount", "clicks"),
        ("element_id", "ref"),
    ] {
        rename(arguments, foreign, name);
    }
    // `target` is what the action is about: the text to type, the key to press.
    match arguments.get("action").and_then(Value::as_str) {
        Some("type" | "write_clipboard") => rename(arguments, "target", "text"),
        Some("press_key" | "hotkey" | "hold_key") => rename(arguments, "target", "key"),
        Some("open_app") => rename(arguments, "target", "name"),
        Some("focus_window" | "close_window") => rename(arguments, "target", "window"),
        // With a point it only describes what is there.
        _ if arguments.contains_key("x") => {
            arguments.shift_remove("target");
        }
        _ => {}
    }
    // A label is a number, a ref is not.
    if let Some(id) = arguments.get("ref") {
        let is_number = id.is_u64() || id.as_str().is_some_and(|id| id.parse::<u64>().is_ok());
        if is_number {
            rename(arguments, "ref", "label");
        }
    }
}

/// Anthropic's drag begins at `start_coordinate` and ends at `coordinate`.
fn drag(arguments: &mut Map<String, Value>) {
    if arguments.contains_key("start_coordinate") {
        rename(arguments, "coordinate", "end_coordinate");
        rename(arguments, "start_coordinate", "coordinate");
    }
}

/// Moves the members of an object to the arguments.
fn flatten(arguments: &mut Map<String, Value>, name: &str) {
    let Some(Value::Object(members)) = arguments.get(name).cloned() else {
        return;
    };
    arguments.shift_remove(name);
    for (name, value) in members {
        arguments.entry(name).or_insert(value);
    }
}

fn rename(arguments: &mut Map<String, Value>, foreign: &str, name: &str) {
    if arguments.contains_key(name) {
        return;
    }
    if let Some(value) = arguments.shift_remove(foreign) {
        arguments.insert(name.to_owned(), value);
    }
}
