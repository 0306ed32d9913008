//! Everything that is written is read back unchanged.

use std::fmt::Debug;

use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use telechir_protocol::{
    Action, ActionKind, Chord, CommandOutput, Content, HostedCall, Message, Role, ShellCall,
    ShellResult, action_aliases,
};

use crate::strategies;

/// Through text, as in a file or on the network, not only through values.
fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let text = serde_json::to_string(value).unwrap();
    let back: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(back, *value, "through {text}");
    assert_eq!(serde_json::to_string(&back).unwrap(), text, "written twice");
}

/// An action as in a call, with unknown members.
fn with_unknown(action: &Action, unknown: &Map<String, Value>) -> Value {
    let mut members = action.to_json();
    members.extend(unknown.clone());
    serde_json::json!({"type": "computer_call", "call_id": "c", "actions": [members]})
}

proptest! {
    #[test]
    fn a_target(target in strategies::target()) {
        check(&target);
    }

    #[test]
    fn a_chord(chord in strategies::chord()) {
        check(&chord);
        let canonical = chord.canonical();
        prop_assert_eq!(canonical.canonical(), canonical.clone());
        check::<Chord>(&canonical);
    }

    #[test]
    fn an_action(action in strategies::action()) {
        check(&action);
    }

    #[test]
    fn a_content(content in strategies::content()) {
        check(&content);
        check(&Message { role: Role::Tool, contents: vec![content], meta: Default::default() });
    }

    #[test]
    fn a_tool(tool in strategies::tool()) {
        check(&tool);
    }

    #[test]
    fn unknown_members_of_an_action_in_a_call(
        action in strategies::action(),
        unknown in strategies::unknown_members(),
    ) {
        let json = with_unknown(&action, &unknown);
        let content: Content = serde_json::from_value(json.clone()).unwrap();
        prop_assert_eq!(serde_json::to_value(&content).unwrap(), json);
    }

    #[test]
    fn an_output_through_its_text(output in strategies::command_output()) {
        let back = CommandOutput::from_text(&output.to_text());
        let expected = CommandOutput {
            signal: None,
            truncated_bytes: 0,
            duration_ms: None,
            awaiting: None,
            ..output
        };
        prop_assert_eq!(back, expected);
    }

    #[test]
    fn a_shell_call_through_a_command_call(call in strategies::shell_call()) {
        let command = HostedCall::from(&call);
        check(&command);
        prop_assert_eq!(ShellCall::from_command_call(&command), Some(call));
    }

    #[test]
    fn a_shell_result_through_a_command_result(result in strategies::shell_result()) {
        let command = HostedCall::from(&result);
        prop_assert_eq!(ShellResult::from_command_result(&command), Some(result));
    }

    #[test]
    fn a_damaged_content_is_refused_or_retained(
        content in strategies::content(),
        position in any::<proptest::sample::Index>(),
        damage in strategies::json_value(),
    ) {
        let mut json = serde_json::to_value(&content).unwrap();
        damaged(&mut json, position, damage);
        if let Ok(content) = serde_json::from_value::<Content>(json) {
            check(&content);
        }
    }

    #[test]
    fn any_members_of_a_known_type_are_refused_or_retained(
        name in proptest::sample::select(known_types()),
        members in members(),
    ) {
        let mut json = members;
        json.insert("type".to_owned(), name.into());
        if let Ok(content) = serde_json::from_value::<Content>(json.into()) {
            check(&content);
        }
    }

    #[test]
    fn any_members_of_a_known_action_are_refused_or_retained(
        name in proptest::sample::select(known_actions()),
        members in members(),
    ) {
        let mut json = members;
        json.insert("action".to_owned(), name.into());
        let call = json!({"type": "computer_call", "call_id": "c", "actions": [json]});
        if let Ok(content) = serde_json::from_value::<Content>(call) {
            check(&content);
        }
    }
}

/// Replaces one of the values in `json`, counted in order, by another.
fn damaged(json: &mut Value, position: proptest::sample::Index, damage: Value) {
    fn visit<'a>(json: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
        if *left == 0 {
            return Some(json);
        }
        *left -= 1;
        match json {
            Value::Array(items) => items.iter_mut().find_map(|item| visit(item, left)),
            Value::Object(members) => members.values_mut().find_map(|member| visit(member, left)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        }
    }
    fn count(json: &Value) -> usize {
        1 + match json {
            Value::Array(items) => items.iter().map(count).sum(),
            Value::Object(members) => members.values().map(count).sum::<usize>(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        }
    }
    let mut left = position.index(count(json));
    if let Some(value) = visit(json, &mut left) {
        *value = damage;
    }
}

fn known_types() -> Vec<&'static str> {
    let foreign = [
        "function",
        "computer_tool_call",
        "shell_tool_call",
        "shell_tool_result",
    ];
    Content::TYPE_NAMES.iter().copied().chain(foreign).collect()
}

fn known_actions() -> Vec<&'static str> {
    let neutral = ActionKind::ALL.iter().map(|kind| kind.name());
    neutral
        .chain(action_aliases().map(|(name, _)| name))
        .collect()
}

/// Members with the names of known types and of other vocabularies, with any or likely values.
fn members() -> impl Strategy<Value = Map<String, Value>> {
    const NAMES: &str = "call_id id item_id text name arguments actions action commands command \
        outputs stdout exit_code outcome uri media_type file_id call approved error result items \
        inputs results coordinate coordinates xy x y label ref frame end_coordinate \
        start_coordinate start_xy distance_xy start_x start_y end_x end_y path scroll_amount \
        scroll_direction scroll_x scroll_y amount direction magnitude dx dy unit key keys button \
        count clicks modifiers duration duration_ms seconds region url tab query value paths \
        script window element_name automation_id control_type window_title annotations additional_properties raw_representation status message element_id \
        tool operations type timed_out pending_safety_checks pending_safety_review environment";
    let names: Vec<&str> = NAMES.split_whitespace().collect();
    let likely = proptest::sample::select(vec![
        json!([1, 2]),
        json!([[1, 2], [3, 4]]),
        json!("ctrl+a"),
        json!(["ctrl", "a"]),
        json!("up"),
        json!(2),
        json!("c"),
        json!({"x": 1, "y": 2}),
        json!({}),
        json!([]),
        json!([{"type": "text", "text": "t"}]),
    ]);
    let value = prop_oneof![2 => likely, 1 => strategies::json_value()];
    let member = (proptest::sample::select(names), value);
    proptest::collection::vec(member, 0..7).prop_map(|members| {
        members
            .into_iter()
            .map(|(name, v)| (name.to_owned(), v))
            .collect()
    })
}
