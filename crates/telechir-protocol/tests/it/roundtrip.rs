//! Whatever is written is read back as it was.

use std::fmt::Debug;

use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use telechir_protocol::{
    Action, Chord, CommandOutput, HostedCall, Message, Role, ShellCall, ShellResult,
};

use crate::strategies;

/// Through text, as a file or a wire would have it, not only through values.
fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let text = serde_json::to_string(value).unwrap();
    let back: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(back, *value, "through {text}");
    assert_eq!(serde_json::to_string(&back).unwrap(), text, "written twice");
}

/// An action as a call has it, with members nobody knows.
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
        let content: telechir_protocol::Content = serde_json::from_value(json.clone()).unwrap();
        prop_assert_eq!(serde_json::to_value(&content).unwrap(), json);
    }

    #[test]
    fn an_output_through_its_text(output in strategies::command_output()) {
        let back = CommandOutput::from_text(&output.to_text());
        let kept = CommandOutput {
            signal: None,
            truncated_bytes: 0,
            duration_ms: None,
            ..output
        };
        prop_assert_eq!(back, kept);
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
    fn reading_never_panics(name in "[a-z_]{1,12}", members in strategies::unknown_members()) {
        let mut json = members;
        json.insert("type".to_owned(), name.into());
        let _either = serde_json::from_value::<telechir_protocol::Content>(json.into());
    }
}
