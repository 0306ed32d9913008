//! Function responses: their text and their required fields.

use serde_json::Value;

use super::super::Rejection;
use super::super::shape::{Validated, ensure, object, text_or_empty};

/// Predefined functions of the computer tool: each response must contain the page's URL.
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

/// All text of a response.
pub(super) fn text_of(response: &Value) -> String {
    match response {
        Value::String(text) => text.clone(),
        Value::Object(members) => {
            let texts = members.values().map(text_of);
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) => response.to_string(),
    }
}

/// Whether the response to a call must confirm the user's approval.
pub(super) fn needs_agreement(arguments: &Value) -> bool {
    let decision = arguments.get("safety_decision");
    decision.is_some_and(|decision| text_or_empty(decision, "decision") == "require_confirmation")
}

/// Validates a function's response. `agreed`: whether it contains an acknowledgement.
pub(super) fn check(
    name: &str,
    arguments: &Value,
    response: &Value,
    agreed: bool,
    location: &str,
) -> Validated {
    let members = object(response, location)?;
    if PREDEFINED.contains(&name) {
        let has_url = ["url", "current_url"]
            .iter()
            .any(|url| members.get(*url).is_some_and(Value::is_string));
        ensure(has_url, || {
            format!(
                "{location}: Computer Use Model requires function response to contain the URL of the web page in field 'url' or 'current_url'."
            )
        })?;
    }
    let within = members.get("safety_acknowledgement");
    let within = within
        .is_some_and(|history| history.as_bool() == Some(true) || history.as_str() == Some("true"));
    if needs_agreement(arguments) && !(agreed || within) {
        return Err(Rejection::invalid(format!(
            "The safety decision from function call {name} must be acknowledged in the corresponding function response."
        )));
    }
    Ok(())
}
