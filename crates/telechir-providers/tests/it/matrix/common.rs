//! The common history: a typical session of a model with a screen and a shell.

use serde_json::{Value, json};
use telechir_protocol::{Content, Message, Role};

/// A PNG of one pixel.
pub(crate) const IMAGE: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The history in neutral values, one message per line.
pub(crate) fn common() -> Vec<Message> {
    let mut messages = vec![
        text_message(Role::User, "Find the penguin and count its files."),
        Message::new(
            Role::Assistant,
            vec![
                content(json!({"type": "text", "text": "I look first."})),
                computer("call_look", json!([{"action": "screenshot"}])),
            ],
        ),
        seen("call_look", json!({})),
    ];
    messages.extend(screen());
    messages.extend(shell());
    messages.extend(refused());
    messages.push(text_message(Role::Assistant, "There are two files."));
    messages
}

/// Calls with various actions on the screen.
fn screen() -> Vec<Message> {
    let steps = [
        (
            "call_click",
            json!([{"action": "click", "coordinate": [405, 157], "button": "left", "modifiers": ["shift"]}]),
        ),
        (
            "call_drag",
            json!([{"action": "drag", "path": [[100, 200], [150, 240], [300, 400]], "button": "left"}]),
        ),
        (
            "call_zoom",
            json!([{"action": "zoom", "region": [10, 20, 110, 220]}]),
        ),
        (
            "call_batch",
            json!([
                {"action": "click", "coordinate": [20, 30], "button": "right"},
                {"action": "type", "text": "penguin"},
                {"action": "key", "key": "Enter"},
                {"action": "scroll", "coordinate": [20, 30], "dx": 0, "dy": 3, "unit": "clicks"},
                {"action": "wait", "duration": 2000},
            ]),
        ),
    ];
    let pairs = steps.into_iter().flat_map(|(call_id, actions)| {
        let call = Message::new(Role::Assistant, vec![computer(call_id, actions)]);
        [call, seen(call_id, json!({}))]
    });
    pairs.collect()
}

/// Three commands: one succeeds, one fails, one times out.
fn shell() -> Vec<Message> {
    let call = json!({"type": "shell_call", "call_id": "call_shell", "commands": ["ls", "cat nothing", "sleep 99"], "timeout_ms": 1000});
    let result = json!({"type": "shell_result", "call_id": "call_shell", "outputs": [
        {"stdout": "a\nb\n", "stderr": "", "exit_code": 0, "outcome": "success"},
        {"stdout": "", "stderr": "cat: nothing: No such file or directory\n", "exit_code": 1, "outcome": "error"},
        {"stdout": "", "stderr": "", "outcome": "timeout"},
    ]});
    pair(call, result)
}

/// A failed call, a denied call and one with an acknowledged safety check.
fn refused() -> Vec<Message> {
    let click = json!([{"action": "click", "coordinate": [1, 2], "button": "left"}]);
    let check = json!([{"id": "sc_1", "code": "malicious_instructions", "message": "Look first."}]);
    let mut failed = Message::new(
        Role::Assistant,
        vec![computer("call_failed", click.clone())],
    );
    failed
        .contents
        .insert(0, content(json!({"type": "text", "text": "Now this."})));
    let mut messages = vec![
        failed,
        seen(
            "call_failed",
            json!({"error": {"kind": "device", "message": "The window is gone."}}),
        ),
    ];
    messages.extend(pair(
        json!({"type": "shell_call", "call_id": "call_denied", "commands": ["rm -rf /"]}),
        json!({"type": "shell_result", "call_id": "call_denied", "outputs": [], "error": {"kind": "denied", "message": "The policy forbids it."}}),
    ));
    let mut checked = json!({"type": "computer_call", "call_id": "call_checked", "actions": click});
    checked["pending_safety_checks"] = check.clone();
    messages.push(Message::new(Role::Assistant, vec![content(checked)]));
    messages.push(seen(
        "call_checked",
        json!({"acknowledged_safety_checks": check}),
    ));
    messages
}

fn text_message(role: Role, text: &str) -> Message {
    Message::new(role, vec![Content::text(text)])
}

fn pair(call: Value, result: Value) -> Vec<Message> {
    vec![
        Message::new(Role::Assistant, vec![content(call)]),
        Message::new(Role::User, vec![content(result)]),
    ]
}

fn computer(call_id: &str, actions: Value) -> Content {
    content(json!({"type": "computer_call", "call_id": call_id, "actions": actions}))
}

/// A result with a screenshot and more fields.
fn seen(call_id: &str, more: Value) -> Message {
    let mut result = json!({
        "type": "computer_result", "call_id": call_id, "current_url": "https://example.com/",
        "screenshot": {"type": "data", "uri": IMAGE, "media_type": "image/png"},
    });
    if let (Value::Object(result), Value::Object(more)) = (&mut result, more) {
        result.extend(more);
    }
    Message::new(Role::User, vec![content(result)])
}

fn content(json: Value) -> Content {
    serde_json::from_value(json).unwrap()
}
