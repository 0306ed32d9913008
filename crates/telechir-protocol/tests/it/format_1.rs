//! Recordings of format 1 have other names: they are read, and written with the present ones.

use serde_json::{Value, json};
use telechir_protocol::Content;

fn check(old: Value, new: &Value) {
    let content: Content = serde_json::from_value(old).unwrap();
    assert_eq!(&serde_json::to_value(&content).unwrap(), new);
    let again: Content = serde_json::from_value(new.clone()).unwrap();
    assert_eq!(&serde_json::to_value(&again).unwrap(), new);
}

#[test]
fn a_call_of_format_1_is_read_and_written_with_the_present_names() {
    let action = json!({"action": "click", "coordinate": [1, 2], "button": "left"});
    let old = json!({
        "type": "computer_call", "call_id": "c1", "actions": [action], "family": "browser",
        "pending_safety_checks": [{"id": "s1", "source": "openai"}],
        "additional_properties": {
            "part_members": {"pending_safety_checks": {"0": {"severity": "high"}}},
        },
    });
    let new = json!({
        "type": "computer_call", "call_id": "c1", "actions": [action], "group": "browser",
        "pending_safety_checks": [{"id": "s1", "source": "openai", "severity": "high"}],
    });
    check(old, &new);
}

#[test]
fn a_result_of_format_1_is_read_and_written_with_the_present_names() {
    let screenshot = json!({"type": "data", "uri": "data:image/png;base64,AA=="});
    let settling = |region: &str, reason: &str, identical: &str, value: &str| {
        json!({
            "settled": false, "settle_ms": 2000, reason: value, region: [1, 2, 3, 4],
            identical: "frame_1",
        })
    };
    let result = |settling_name: &str, settling: &Value, group: &str, image: &str| {
        json!({
            "type": "computer_result", "call_id": "c1", "screenshot": screenshot,
            settling_name: settling, group: "browser",
            "steps": [{"action": "zoom", "state": "confirmed", image: screenshot}],
        })
    };
    for (old_reason, reason) in [
        ("changing", "still_changing"),
        ("restless", "animated"),
        ("working", "busy"),
        ("waiting", "timer_pending"),
        ("loading", "loading"),
    ] {
        let old = settling("restless", "held", "same_as", old_reason);
        let old = result("sighting", &old, "family", "picture");
        let new = settling("animated_region", "unsettled", "identical_to", reason);
        let new = result("settling", &new, "group", "screenshot");
        check(old, &new);
    }
}

#[test]
fn a_wrapped_content_of_format_1_is_read_and_written_with_the_present_name() {
    let inner = json!({"type": "text", "text": {"of": "a dialect"}});
    check(
        json!({"type": "other_content", "json": inner}),
        &json!({"type": "unknown_content", "json": inner}),
    );
}

#[test]
fn an_unknown_content_with_the_type_of_a_wrapper_survives() {
    for name in ["unknown_content", "other_content"] {
        let json = json!({"type": name, "json": {"a": 1}, "more": true});
        let content = Content::Other(json.as_object().unwrap().clone().into());
        let written = serde_json::to_value(&content).unwrap();
        let read: Content = serde_json::from_value(written).unwrap();
        assert_eq!(read, content);
    }
}
