//! Whatever the order of a history, what is written is in the order that the provider takes.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;
use telechir_protocol::{
    Action, Command, CommandOutput, ComputerCall, ComputerResult, Content, Message, Meta, Role,
    ShellCall, ShellResult, TextContent,
};
use telechir_providers::{Envelope, History};

use super::{history, image_media, written};

/// One content, with whoever says it.
#[derive(Clone, Debug)]
enum Event {
    Says(Role),
    Acts { id: u8, actions: u8 },
    Runs { id: u8, commands: u8 },
    Shows { id: u8 },
    Printed { id: u8, outputs: u8 },
}

fn any_event() -> impl Strategy<Value = Event> {
    let role = prop_oneof![
        Just(Role::User),
        Just(Role::Assistant),
        Just(Role::System),
        Just(Role::Developer)
    ];
    prop_oneof![
        role.prop_map(Event::Says),
        (0..6_u8, 1..4_u8).prop_map(|(id, actions)| Event::Acts { id, actions }),
        (6..9_u8, 1..4_u8).prop_map(|(id, commands)| Event::Runs { id, commands }),
        (0..6_u8).prop_map(|id| Event::Shows { id }),
        (6..9_u8, 0..4_u8).prop_map(|(id, outputs)| Event::Printed { id, outputs }),
    ]
}

fn message(event: &Event) -> Message {
    let id = |id: &u8| format!("call.{id}");
    let (role, content) = match event {
        Event::Says(role) => {
            let text = "words".to_owned();
            let meta = Meta::default();
            (role.clone(), Content::Text(TextContent { text, meta }))
        }
        Event::Acts { id: call, actions } => {
            let actions = (0..*actions).map(|at| match at {
                0 => Action::Screenshot,
                1 => Action::Back { tab: None },
                _ => Action::CursorPosition,
            });
            let call = ComputerCall::new(id(call), actions.rev().collect());
            (Role::Assistant, Content::ComputerCall(call))
        }
        Event::Runs { id: call, commands } => {
            let commands = (0..*commands).map(|at| Command::Line(format!("echo {at}")));
            let call = ShellCall::execute(id(call), commands.collect());
            (Role::Assistant, Content::ShellCall(call))
        }
        Event::Shows { id: call } => {
            let mut result = ComputerResult::new(id(call));
            result.screenshot = Some(image_media());
            (Role::Tool, Content::ComputerResult(result))
        }
        Event::Printed { id: call, outputs } => {
            let outputs = (0..*outputs).map(|_| CommandOutput::default()).collect();
            let result = ShellResult::new(id(call), outputs);
            (Role::Tool, Content::ShellResult(result))
        }
    };
    Message::new(role, vec![content])
}

/// Calls with ids of their own: a history names each once.
fn first_of_each(events: Vec<Event>) -> Vec<Event> {
    let mut seen = Vec::new();
    let is_new = |event: &Event| match event {
        Event::Acts { id, .. } | Event::Runs { id, .. } => {
            let is_new = !seen.contains(id);
            seen.push(*id);
            is_new
        }
        Event::Says(_) | Event::Shows { .. } | Event::Printed { .. } => true,
    };
    events.into_iter().filter(is_new).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_is_written_in_order(events in vec(any_event(), 0..12)) {
        let messages = first_of_each(events).iter().map(message).collect();
        let (out, _) = written(&History { messages, envelope: Envelope::List }).unwrap();
        let roles: Vec<&Value> = out.as_array().unwrap().iter().map(|message| &message["role"]).collect();
        prop_assert!(roles.windows(2).all(|pair| pair[0] != pair[1]), "{roles:?}");
        // Writing again checks that every call is answered in the next message.
        prop_assert_eq!(&written(&history(&out)).unwrap().0, &out);
        for message in out.as_array().unwrap() {
            let kinds: Vec<&Value> = message["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
            let results = kinds.iter().take_while(|kind| **kind == "tool_result").count();
            prop_assert!(!kinds[results..].iter().any(|kind| *kind == "tool_result"), "{kinds:?}");
        }
    }
}
