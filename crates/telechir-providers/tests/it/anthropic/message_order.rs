//! A history in any order is encoded in the order that the provider requires.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;
use telechir_protocol::{
    Action, Command, CommandOutput, ComputerCall, ComputerResult, Content, Message, Meta, Role,
    ShellCall, ShellResult, TextContent,
};
use telechir_providers::{Envelope, History};

use super::{history, image_media, written};

/// One content of a generated history.
#[derive(Clone, Debug)]
enum HistoryStep {
    Text(Role),
    ComputerCall { id: u8, actions: u8 },
    ShellCall { id: u8, commands: u8 },
    Screenshot { id: u8 },
    ShellOutput { id: u8, outputs: u8 },
}

fn any_step() -> impl Strategy<Value = HistoryStep> {
    let role = prop_oneof![
        Just(Role::User),
        Just(Role::Assistant),
        Just(Role::System),
        Just(Role::Developer)
    ];
    prop_oneof![
        role.prop_map(HistoryStep::Text),
        (0..6_u8, 1..4_u8).prop_map(|(id, actions)| HistoryStep::ComputerCall { id, actions }),
        (6..9_u8, 1..4_u8).prop_map(|(id, commands)| HistoryStep::ShellCall { id, commands }),
        (0..6_u8).prop_map(|id| HistoryStep::Screenshot { id }),
        (6..9_u8, 0..4_u8).prop_map(|(id, outputs)| HistoryStep::ShellOutput { id, outputs }),
    ]
}

fn message(step: &HistoryStep) -> Message {
    let id = |id: &u8| format!("call.{id}");
    let (role, content) = match step {
        HistoryStep::Text(role) => {
            let text = "text".to_owned();
            let meta = Meta::default();
            (role.clone(), Content::Text(TextContent { text, meta }))
        }
        HistoryStep::ComputerCall { id: call, actions } => {
            let actions = (0..*actions).map(|at| match at {
                0 => Action::Screenshot,
                1 => Action::Back { tab: None },
                _ => Action::CursorPosition,
            });
            let call = ComputerCall::new(id(call), actions.rev().collect());
            (Role::Assistant, Content::ComputerCall(call))
        }
        HistoryStep::ShellCall { id: call, commands } => {
            let commands = (0..*commands).map(|at| Command::Line(format!("echo {at}")));
            let call = ShellCall::execute(id(call), commands.collect());
            (Role::Assistant, Content::ShellCall(call))
        }
        HistoryStep::Screenshot { id: call } => {
            let mut result = ComputerResult::new(id(call));
            result.screenshot = Some(image_media());
            (Role::Tool, Content::ComputerResult(result))
        }
        HistoryStep::ShellOutput { id: call, outputs } => {
            let outputs = (0..*outputs).map(|_| CommandOutput::default()).collect();
            let result = ShellResult::new(id(call), outputs);
            (Role::Tool, Content::ShellResult(result))
        }
    };
    Message::new(role, vec![content])
}

/// Drops calls with an id that an earlier call has.
fn first_of_each(steps: Vec<HistoryStep>) -> Vec<HistoryStep> {
    let mut seen = Vec::new();
    let is_new = |step: &HistoryStep| match step {
        HistoryStep::ComputerCall { id, .. } | HistoryStep::ShellCall { id, .. } => {
            let is_new = !seen.contains(id);
            seen.push(*id);
            is_new
        }
        HistoryStep::Text(_) | HistoryStep::Screenshot { .. } | HistoryStep::ShellOutput { .. } => {
            true
        }
    };
    steps.into_iter().filter(is_new).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_is_encoded_in_valid_order(steps in vec(any_step(), 0..12)) {
        let messages = first_of_each(steps).iter().map(message).collect();
        let (out, _) = written(&History { messages, envelope: Envelope::List }).unwrap();
        let roles: Vec<&Value> = out.as_array().unwrap().iter().map(|message| &message["role"]).collect();
        prop_assert!(roles.windows(2).all(|pair| pair[0] != pair[1]), "{roles:?}");
        // Encoding again checks that every call has a result in the next message.
        prop_assert_eq!(&written(&history(&out)).unwrap().0, &out);
        for message in out.as_array().unwrap() {
            let kinds: Vec<&Value> = message["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
            let results = kinds.iter().take_while(|kind| **kind == "tool_result").count();
            prop_assert!(!kinds[results..].iter().any(|kind| *kind == "tool_result"), "{kinds:?}");
        }
    }
}
