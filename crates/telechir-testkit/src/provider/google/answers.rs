//! What an answer of a function says, and what it must say.

use serde_json::Value;

use super::super::Refusal;
use super::super::shape::{Checked, ensure, object, word};

/// Functions that the computer tool itself has: each answer tells where the page is.
const PREDEFINED: [&str; 33] = [
    "open_web_browser",
    "wait_5_seconds",
    "go_back",
    "go_forward",
    "search",
    "navigate",
    "click_at",
    "hover_at",
    "type_text_at",
    "key_combination",
    "scroll_document",
    "scroll_at",
    "drag_and_drop",
    "click",
    "double_click",
    "triple_click",
    "middle_click",
    "right_click",
    "mouse_down",
    "mouse_up",
    "move",
    "type",
    "wait",
    "press_key",
    "key_down",
    "key_up",
    "hotkey",
    "take_screenshot",
    "scroll",
    "long_press",
    "open_app",
    "list_apps",
    "move_to",
];

/// All that an answer says, as text.
pub(super) fn words(response: &Value) -> String {
    match response {
        Value::String(text) => text.clone(),
        Value::Object(members) => {
            let texts = members.values().map(words);
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join("\n"),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) => response.to_string(),
    }
}

/// Whether the answer to a call must say that a person agreed.
pub(super) fn needs_agreement(arguments: &Value) -> bool {
    let decision = arguments.get("safety_decision");
    decision.is_some_and(|decision| word(decision, "decision") == "require_confirmation")
}

/// Checks what a function gave. `agreed` is whether an agreement stands beside it.
pub(super) fn check(
    name: &str,
    arguments: &Value,
    response: &Value,
    agreed: bool,
    place: &str,
) -> Checked {
    let members = object(response, place)?;
    if PREDEFINED.contains(&name) {
        let has_url = ["url", "current_url"]
            .iter()
            .any(|url| members.get(*url).is_some_and(Value::is_string));
        ensure(has_url, || {
            format!(
                "{place}: Computer Use Model requires function response to contain the URL of the web page in field 'url' or 'current_url'."
            )
        })?;
    }
    let within = members.get("safety_acknowledgement");
    let within =
        within.is_some_and(|said| said.as_bool() == Some(true) || said.as_str() == Some("true"));
    if needs_agreement(arguments) && !(agreed || within) {
        return Err(Refusal::invalid(format!(
            "The safety decision from function call {name} must be acknowledged in the corresponding function response."
        )));
    }
    Ok(())
}
