//! Windows, the clipboard and elements by name: every dialect says them and reads them back.

use serde_json::{Value, json};
use telechir_protocol::{Action, ComputerCall, ComputerResult, Content, Message, Role};
use telechir_providers::{Dialect, Envelope, History};

fn actions() -> Vec<Value> {
    vec![
        json!({"action": "list_windows"}),
        json!({"action": "focus_window", "window": "w3"}),
        json!({"action": "maximize_window"}),
        json!({"action": "restore_window", "window": "Editor"}),
        json!({"action": "minimize_window", "window": "w1"}),
        json!({"action": "close_window"}),
        json!({"action": "place_window", "window": "w1", "region": [0, 0, 640, 400]}),
        json!({"action": "read_clipboard"}),
        json!({"action": "write_clipboard", "text": "a\nb"}),
        json!({"action": "invoke", "coordinate": {"name": "Bold"}, "name": "toggle"}),
        json!({"action": "open_app", "name": "calculator"}),
        json!({"action": "click", "coordinate": {"name": "OK", "role": "button", "window": "Save"},
            "button": "left"}),
    ]
}

fn computer_call(content: &Content) -> Option<&ComputerCall> {
    if let Content::ComputerCall(call) = content {
        Some(call)
    } else {
        None
    }
}

fn computer_calls(messages: &[Message]) -> Vec<&ComputerCall> {
    let contents = messages.iter().flat_map(|message| &message.contents);
    contents.filter_map(computer_call).collect()
}

#[test]
fn a_desktops_own_actions_come_back_from_every_dialect() {
    for action in actions() {
        let action: Action = serde_json::from_value(action).unwrap();
        let call = ComputerCall::new("call_1", vec![action.clone()]);
        let result = ComputerResult::new("call_1");
        let messages = vec![
            Message::new(Role::User, vec![Content::text("Do it.")]),
            Message::new(Role::Assistant, vec![Content::ComputerCall(call)]),
            Message::new(Role::User, vec![Content::ComputerResult(result)]),
        ];
        for dialect in Dialect::ALL {
            let history = History {
                messages: messages.clone(),
                envelope: Envelope::List,
            };
            let (written, _) = dialect.encode_history(&history).unwrap();
            let (read, _) = dialect
                .decode_history(written.to_string().as_bytes())
                .unwrap();
            let calls = computer_calls(&read.messages);
            let actions: Vec<&Action> = calls.iter().flat_map(|call| &call.actions).collect();
            assert_eq!(actions, [&action], "{dialect}: {written}");
            assert_eq!(calls[0].exception, None, "{dialect}");
        }
    }
}
