//! `execute_browser`: ten page actions by element ref, for models that do not use pixel
//! coordinates.

use serde_json::{Map, Value, json};
use telechir_protocol::{FunctionTool, Tool};

use super::described;
use crate::json::Fields;

/// The function's name; the vocabulary it comes from uses it for its browser tool.
pub(crate) const EXECUTE_BROWSER: &str = "execute_browser";

const ACTIONS: [&str; 10] = [
    "navigate",
    "snapshot",
    "extract_text",
    "click",
    "fill",
    "press",
    "list_tabs",
    "open_tab",
    "switch_tab",
    "close_tab",
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
            "ref": text("For click and fill: the element. For snapshot: the only part to list."),
            "value": {"description": "For fill: the text, number or option, or whether it is checked."},
            "key": text("For press: keys to press together, such as Enter or ctrl+a."),
            "filter": {
                "type": "string", "enum": ["brief", "interactive", "full", "changes", "json"],
                "description": "For snapshot: brief (default) lists all usable elements and as much other content as fits; changes, what is new since the last snapshot; full, everything.",
            },
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

/// Converts a step to the neutral vocabulary, or returns it with the reason it is invalid.
/// Arguments may be in `params` or next to it.
pub(super) fn step(mut fields: Fields) -> Result<Fields, (Fields, String)> {
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
    let name = match action.as_str() {
        "fill" => "form_input",
        "press" => "key",
        "extract_text" => "page_text",
        "snapshot" => "read_page",
        "open_tab" => "new_tab",
        "connect_cdp" => {
            return refused("the operator selects the browser; connect_cdp is not available");
        }
        other => other,
    };
    fields.insert("action".to_owned(), name.into());
    rename(&mut fields, "tab_id", "tab");
    if name == "form_input" {
        rename(&mut fields, "text", "value");
    }
    if name == "read_page" {
        let only = fields.shift_remove("interactive_only");
        if only == Some(Value::Bool(true)) && !fields.contains_key("filter") {
            fields.insert("filter".to_owned(), "interactive".into());
        }
        // Snapshots contain only visible elements anyway.
        if fields.get("visible") == Some(&Value::Bool(true)) {
            fields.shift_remove("visible");
        }
    }
    Ok(fields)
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
        step(fields)
            .map(Value::Object)
            .map_err(|(_, problem)| problem)
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
