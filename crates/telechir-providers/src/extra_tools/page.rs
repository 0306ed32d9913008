//! `execute_browser`: page actions by element ref, for models that do not use pixel coordinates.

use serde_json::{Map, Value, json};
use telechir_protocol::{FunctionTool, Tool};

use super::described;
use crate::json::Fields;

/// The function's name; the vocabulary it comes from uses it for its browser tool.
pub(crate) const EXECUTE_BROWSER: &str = "execute_browser";

const ACTIONS: [&str; 25] = [
    "navigate",
    "back",
    "forward",
    "reload",
    "snapshot",
    "extract_text",
    "find",
    "click",
    "double_click",
    "right_click",
    "hover",
    "fill",
    "fill_form",
    "press",
    "drag",
    "scroll",
    "upload",
    "wait",
    "dialog",
    "console",
    "network",
    "list_tabs",
    "open_tab",
    "switch_tab",
    "close_tab",
];

/// The actions of the function that [`page_tool`] declares.
pub const PAGE_ACTIONS: &[&str] = &ACTIONS;

/// What an action cannot be executed without. Any of the names in a list is enough.
const NEEDED: &[(&str, &[&[&str]])] = &[
    ("navigate", &[&["url"]]),
    ("find", &[&["query"]]),
    ("click", &[TARGETS]),
    ("double_click", &[TARGETS]),
    ("right_click", &[TARGETS]),
    ("hover", &[TARGETS]),
    ("fill", &[TARGETS, &["value", "text"]]),
    ("fill_form", &[&["fields"]]),
    ("press", &[&["key", "keys"]]),
    (
        "drag",
        &[
            &["ref", "path", "start_coordinate"],
            &["to", "path", "end_coordinate", "coordinate"],
        ],
    ),
    ("scroll", &[&["direction", "dx", "dy"]]),
    ("upload", &[&["ref"], &["paths"]]),
    ("dialog", &[&["accept"]]),
    ("switch_tab", &[&["tab", "tab_id"]]),
    ("close_tab", &[&["tab", "tab_id"]]),
];
const TARGETS: &[&str] = &[
    "ref",
    "element_id",
    "label",
    "coordinate",
    "coordinates",
    "xy",
    "x",
];

const DESCRIPTION: &str = "Reads and controls web pages by element refs. Start with `snapshot`: it \
    lists usable elements with their names and refs such as b12. Then `click` or `fill` a ref. A \
    ref stays valid until its page or element is gone; the result reports that, and a new snapshot \
    has new refs.";

/// The function tool with which a model reads pages and acts on elements by ref.
///
/// Every dialect with functions decodes a call of it as a browser call.
pub fn page_tool() -> Tool {
    let text = |description: &str| json!({"type": "string", "description": description});
    let params = json!({
        "type": "object",
        "properties": {
            "ref": text("The element to act on. For snapshot: the only part to list. For scroll: the element to scroll in. For wait: the element to wait for."),
            "to": text("For drag: the ref of the element to drop on."),
            "value": {"description": "For fill: the text, number, date or option, or whether it is checked. For dialog: the text of a prompt."},
            "fields": {
                "type": "array", "description": "For fill_form: the fields, filled in order.",
                "items": {"type": "object", "properties": {"ref": {"type": "string"}, "value": {}}, "required": ["ref", "value"]},
            },
            "key": text("For press: keys to press together, such as Enter or ctrl+a."),
            "query": text("For find: words of the element or text."),
            "direction": {"type": "string", "enum": ["up", "down", "left", "right"]},
            "amount": {"type": "number", "description": "For scroll: wheel notches of 100 pixels; default 3."},
            "paths": {"type": "array", "items": {"type": "string"}, "description": "For upload: files of the workspace."},
            "text": text("For wait: a text that the page must show."),
            "gone": {"type": "boolean", "description": "For wait: until text or ref is gone."},
            "url": text("For wait: a part of the URL."),
            "idle": {"type": "boolean", "description": "For wait: until the page loads nothing."},
            "seconds": {"type": "number", "description": "For wait: how long at most; alone, how long."},
            "filter": {
                "type": "string", "enum": ["brief", "interactive", "full", "changes", "json"],
                "description": "For snapshot: brief (default) lists all usable elements and as much other content as fits; changes, what is new since the last snapshot; full, everything.",
            },
            "accept": {"type": "boolean", "description": "For dialog: OK (true) or Cancel (false); of beforeunload, leave or stay."},
            "request": {"type": "integer", "description": "For network: the number of a request in the list; returns its headers and bodies."},
            "tab": text("The tab's name from list_tabs; default: the active tab."),
        },
        "additionalProperties": false,
    });
    let params = described(params, "Arguments of the action.");
    Tool::Function(FunctionTool {
        name: EXECUTE_BROWSER.to_owned(),
        description: Some(DESCRIPTION.to_owned()),
        parameters: json!({
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": ACTIONS, "description": "What to do."},
                "url": text("For navigate and open_tab: the http or https URL."),
                "params": params,
            },
            "required": ["action"],
            "additionalProperties": false,
        }),
        ..FunctionTool::default()
    })
}

/// The neutral actions that the arguments of the function mean, as JSON: several for a form.
///
/// # Errors
/// With the reason they mean none, which names the argument.
///
/// ```
/// let drag = serde_json::json!({"action": "drag", "ref": "e1", "to": "e2"});
/// let actions = telechir_providers::page_actions(drag.as_object().unwrap().clone()).unwrap();
/// assert_eq!(actions[0]["path"], serde_json::json!([{"ref": "e1"}, {"ref": "e2"}]));
/// ```
pub fn page_actions(arguments: Map<String, Value>) -> Result<Vec<Map<String, Value>>, String> {
    steps(arguments).map_err(|(_, problem)| problem)
}

/// Converts a step to steps of the neutral vocabulary, or returns it with the reason it is invalid.
/// Arguments may be in `params` or next to it.
pub(super) fn steps(mut fields: Fields) -> Result<Vec<Fields>, (Fields, String)> {
    let original = fields.clone();
    let refused = |problem: &str| Err((original.clone(), problem.to_owned()));
    match fields.shift_remove("params") {
        None | Some(Value::Null) => {}
        Some(Value::Object(params)) => {
            for (name, value) in params {
                if fields.get(&name).is_some_and(|other| *other != value) {
                    return refused(&format!("`{name}` is given twice with different values"));
                }
                fields.insert(name, value);
            }
        }
        Some(_) => return refused("`params` is not an object"),
    }
    fields.retain(|_, value| !value.is_null());
    let Some(Value::String(action)) = fields.get("action").cloned() else {
        return refused("`action` is not a string");
    };
    if action == "connect_cdp" {
        return refused("the operator selects the browser; connect_cdp is not available");
    }
    let needed = NEEDED.iter().find(|(name, _)| *name == action);
    for names in needed.map_or(&[][..], |(_, needed)| needed) {
        if !names.iter().any(|name| fields.contains_key(*name)) {
            return refused(&format!("`{action}` needs `{}`", names[0]));
        }
    }
    rename(&mut fields, "tab_id", "tab");
    let name = match action.as_str() {
        "fill" => "form_input",
        "fill_form" => return form(&fields).or_else(|problem| refused(&problem)),
        "press" => "key",
        "extract_text" => "page_text",
        "snapshot" => "read_page",
        "open_tab" => "new_tab",
        "upload" => "file_upload",
        "console" => "read_console",
        "network" if fields.contains_key("request") => "read_request",
        "network" => "read_network",
        "dialog" => "answer_dialog",
        "wait" if waits_for(&fields) => "wait_for",
        other => other,
    };
    fields.insert("action".to_owned(), name.into());
    match name {
        "form_input" => rename(&mut fields, "text", "value"),
        "answer_dialog" => rename(&mut fields, "value", "text"),
        "drag" => drag(&mut fields),
        "read_page" => snapshot(&mut fields),
        "wait_for" => {
            rename(&mut fields, "network_idle", "idle");
            if let Some(text) = fields.shift_remove("text_gone") {
                fields.insert("text".to_owned(), text);
                fields.insert("gone".to_owned(), true.into());
            }
        }
        _ => {}
    }
    Ok(vec![fields])
}

/// Whether a wait has a condition beside its duration.
fn waits_for(fields: &Fields) -> bool {
    let conditions = ["text", "text_gone", "ref", "url", "idle", "network_idle"];
    conditions.iter().any(|name| fields.contains_key(*name))
}

/// The fields of a form, each as a step.
fn form(fields: &Fields) -> Result<Vec<Fields>, String> {
    let tab = fields.get("tab");
    let list = fields.get("fields").and_then(Value::as_array);
    let list = list.filter(|list| !list.is_empty());
    let list = list.ok_or("`fields` is not a list of fields")?;
    list.iter()
        .map(|field| {
            let members = (field.get("ref"), field.get("value"));
            let (Some(Value::String(id)), Some(value)) = members else {
                return Err("a field has no `ref` or no `value`".to_owned());
            };
            let step = json!({"action": "form_input", "ref": id, "value": value});
            let Value::Object(mut step) = step else {
                return Err("a field is not an object".to_owned());
            };
            if let Some(tab) = tab {
                step.insert("tab".to_owned(), tab.clone());
            }
            Ok(step)
        })
        .collect()
}

/// A drag between two refs as a path.
fn drag(fields: &mut Fields) {
    if let (Some(from), Some(to)) = (fields.get("ref").cloned(), fields.shift_remove("to")) {
        fields.shift_remove("ref");
        let path = json!([{"ref": from}, {"ref": to}]);
        fields.insert("path".to_owned(), path);
    }
}

fn snapshot(fields: &mut Fields) {
    let only = fields.shift_remove("interactive_only");
    if only == Some(Value::Bool(true)) && !fields.contains_key("filter") {
        fields.insert("filter".to_owned(), "interactive".into());
    }
    // Snapshots contain only visible elements anyway.
    if fields.get("visible") == Some(&Value::Bool(true)) {
        fields.shift_remove("visible");
    }
}

fn rename(fields: &mut Map<String, Value>, from: &str, to: &str) {
    if fields.contains_key(to) {
        return;
    }
    if let Some(value) = fields.shift_remove(from) {
        fields.insert(to.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(step_json: Value) -> Result<Value, String> {
        let Value::Object(fields) = step_json else {
            panic!("not an object: {step_json}")
        };
        let mut steps = steps(fields).map_err(|(_, problem)| problem)?;
        assert_eq!(steps.len(), 1);
        Ok(Value::Object(steps.remove(0)))
    }

    #[test]
    fn a_form_is_filled_field_by_field() {
        let call = json!({"action": "fill_form", "params": {"tab": "tab_2", "fields": [
            {"ref": "t1", "value": "Ada"}, {"ref": "c2", "value": true},
        ]}});
        let Value::Object(call) = call else {
            panic!("an object")
        };
        assert_eq!(
            json!(steps(call).unwrap()),
            json!([
                {"action": "form_input", "ref": "t1", "value": "Ada", "tab": "tab_2"},
                {"action": "form_input", "ref": "c2", "value": true, "tab": "tab_2"},
            ])
        );
    }

    #[test]
    fn what_an_action_lacks_is_named() {
        for (call, problem) in [
            (json!({"action": "click"}), "`click` needs `ref`"),
            (
                json!({"action": "click", "params": {}}),
                "`click` needs `ref`",
            ),
            (
                json!({"action": "fill", "value": "x"}),
                "`fill` needs `ref`",
            ),
            (
                json!({"action": "fill", "ref": "t1", "value": null}),
                "`fill` needs `value`",
            ),
            (json!({"action": "drag", "ref": "e1"}), "`drag` needs `to`"),
            (
                json!({"action": "upload", "ref": "e1"}),
                "`upload` needs `paths`",
            ),
            (
                json!({"action": "dialog", "value": "Ada"}),
                "`dialog` needs `accept`",
            ),
            (
                json!({"action": "fill_form", "fields": []}),
                "`fields` is not a list of fields",
            ),
            (
                json!({"action": "fill_form", "fields": [{"ref": "t1"}]}),
                "a field has no `ref` or no `value`",
            ),
        ] {
            assert_eq!(read(call), Err(problem.to_owned()));
        }
    }

    #[test]
    fn verbs_map_to_neutral_actions() {
        for (page_step, neutral) in [
            (
                json!({"action": "fill", "params": {"ref": "t3", "value": "Ada"}}),
                json!({"action": "form_input", "ref": "t3", "value": "Ada"}),
            ),
            (
                json!({"action": "press", "key": "Enter"}),
                json!({"action": "key", "key": "Enter"}),
            ),
            (
                json!({"action": "snapshot", "params": {"interactive_only": true, "visible": true}}),
                json!({"action": "read_page", "filter": "interactive"}),
            ),
            (
                json!({"action": "snapshot", "url": null, "params": null}),
                json!({"action": "read_page"}),
            ),
            (
                json!({"action": "drag", "ref": "e1", "to": "e2"}),
                json!({"action": "drag", "path": [{"ref": "e1"}, {"ref": "e2"}]}),
            ),
            (
                json!({"action": "wait", "text_gone": "Loading", "seconds": 5}),
                json!({"action": "wait_for", "seconds": 5, "text": "Loading", "gone": true}),
            ),
            (
                json!({"action": "wait", "seconds": 5}),
                json!({"action": "wait", "seconds": 5}),
            ),
            (
                json!({"action": "dialog", "params": {"accept": true, "value": "Ada"}}),
                json!({"action": "answer_dialog", "accept": true, "text": "Ada"}),
            ),
            (
                json!({"action": "network", "tab": "tab_2"}),
                json!({"action": "read_network", "tab": "tab_2"}),
            ),
            (
                json!({"action": "network", "request": 3}),
                json!({"action": "read_request", "request": 3}),
            ),
            (
                json!({"action": "close_tab", "params": {"tab_id": "tab_2"}}),
                json!({"action": "close_tab", "tab": "tab_2"}),
            ),
            (
                json!({"action": "open_tab", "url": "https://example.com/"}),
                json!({"action": "new_tab", "url": "https://example.com/"}),
            ),
        ] {
            assert_eq!(read(page_step), Ok(neutral));
        }
    }

    #[test]
    fn contradictory_steps_are_refused() {
        let twice = json!({"action": "click", "ref": "b1", "params": {"ref": "b2"}});
        assert!(read(twice).unwrap_err().contains("given twice"));
        assert!(read(json!({"action": "click", "params": []})).is_err());
        assert!(read(json!({"action": "connect_cdp", "url": "ws://x"})).is_err());
    }
}
