//! Actions on windows, the clipboard and named elements survive a round trip through every dialect.

use serde_json::{Value, json};
use telechir_protocol::{
    Action, ActionKind, ComputerCall, ComputerResult, ComputerUseTool, Content, Environment,
    Message, Role, Tool,
};
use telechir_providers::{Dialect, Envelope, History, ToolOffer, desktop_tool};

fn actions() -> Vec<Value> {
    vec![
        json!({"action": "list_windows"}),
        json!({"action": "focus_window", "window": "w3"}),
        json!({"action": "maximize_window"}),
        json!({"action": "restore_window", "window": "Editor"}),
        json!({"action": "minimize_window", "window": "w1"}),
        json!({"action": "close_window"}),
        json!({"action": "place_window", "window": "w1", "region": [0, 0, 640, 400]}),
        json!({"action": "capture_window", "window": "w2"}),
        json!({"action": "list_monitors"}),
        json!({"action": "capture_monitor", "monitor": "HDMI-1"}),
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
fn desktop_actions_survive_a_round_trip_through_every_dialect() {
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

fn offer(model: Option<&str>, kinds: &[ActionKind]) -> ToolOffer {
    let computer = ComputerUseTool {
        display_width: Some(1280),
        display_height: Some(800),
        environment: Some(Environment::Linux),
        ..ComputerUseTool::default()
    };
    let tools = vec![
        Tool::ComputerUse(computer),
        desktop_tool(|kind| kinds.contains(&kind)).unwrap(),
    ];
    ToolOffer {
        tools,
        model: model.map(str::to_owned),
    }
}

#[test]
fn every_dialect_declares_exactly_the_supported_desktop_actions() {
    let kinds = [ActionKind::ListWindows, ActionKind::OpenApp];
    for dialect in Dialect::ALL {
        let (declared, _) = dialect.declare(&offer(None, &kinds)).unwrap();
        let tools = Value::from(declared.tools).to_string();
        // Parameters of an agent have types but no enumerations.
        let names_them = dialect.name() != "bedrock-agents";
        assert_eq!(
            tools.contains("list_windows"),
            names_them,
            "{dialect}: {tools}"
        );
        assert!(tools.contains("computer_action"), "{dialect}: {tools}");
        assert!(!tools.contains("close_window"), "{dialect}: {tools}");
    }
    assert_eq!(desktop_tool(|_| false), None);
}

#[test]
fn a_model_with_our_computer_tool_gets_a_single_function() {
    let dialect: Dialect = "bedrock-converse".parse().unwrap();
    let offer = offer(Some("amazon.nova-pro-v1:0"), &[ActionKind::ListWindows]);
    let (declared, _) = dialect.declare(&offer).unwrap();
    let [tool] = declared.tools.as_slice() else {
        panic!("{:?}", declared.tools)
    };
    let properties = &tool["toolSpec"]["inputSchema"]["json"]["properties"];
    let actions = properties["action"]["enum"].as_array().unwrap();
    assert!(actions.contains(&json!("click")) && actions.contains(&json!("list_windows")));
}
