//! Declarations of the neutral tools.

use serde_json::{Value, json};
use telechir_protocol::{ComputerUseTool, Environment, HostedTool, ShellTool, Tool};
use telechir_providers::{Dialect, ToolOffer};

use super::{DIALECT, call};

fn screen(environment: Environment) -> ComputerUseTool {
    ComputerUseTool {
        display_width: Some(1280),
        display_height: Some(800),
        environment: Some(environment),
        ..ComputerUseTool::default()
    }
}

fn declared(dialect: Dialect, tools: Vec<Tool>) -> Vec<Value> {
    let offer = ToolOffer { tools, model: None };
    dialect.declare(&offer).unwrap().0.tools
}

fn all() -> Vec<Tool> {
    vec![
        Tool::ComputerUse(screen(Environment::Linux)),
        Tool::ComputerUse(screen(Environment::Browser)),
        Tool::Shell(ShellTool::default()),
        Tool::Hosted(HostedTool::new("text_editor")),
        Tool::Hosted(HostedTool::new("memory")),
        Tool::Hosted(HostedTool::new("apply_patch")),
    ]
}

#[test]
fn every_neutral_tool_is_a_function_with_a_description() {
    let tools = declared(DIALECT, all());
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    let expected = [
        "computer",
        "browser",
        "shell",
        "str_replace_based_edit_tool",
        "memory",
        "apply_patch",
    ];
    assert_eq!(names, expected);
    for tool in &tools {
        assert_eq!(tool["type"], "function");
        let function = &tool["function"];
        assert!(function["description"].as_str().unwrap().len() > 20);
        let parameters = &function["parameters"];
        assert_eq!(parameters["type"], "object");
        for required in parameters["required"].as_array().unwrap() {
            assert!(parameters["properties"][required.as_str().unwrap()].is_object());
        }
    }
    let description = tools[0]["function"]["description"].as_str().unwrap();
    assert!(description.contains("1280 x 800"), "{description}");
}

/// A call that follows the declaration can be decoded.
#[test]
fn every_declared_action_can_be_decoded() {
    let tools = declared(DIALECT, all());
    let complete = |action: &str| {
        json!({
            "click": {"coordinate": [1, 2]}, "double_click": {"coordinate": [1, 2]},
            "triple_click": {"coordinate": [1, 2]}, "move": {"coordinate": [1, 2]},
            "drag": {"path": [[1, 2], [3, 4]]}, "scroll": {"dy": 1}, "type": {"text": "a"},
            "key": {"key": "Enter"}, "hold_key": {"key": "shift", "duration": 10},
            "zoom": {"region": [0, 0, 5, 5]}, "navigate": {"url": "https://example.com/"},
            "switch_tab": {"tab": "1"}, "close_tab": {"tab": "1"},
        })[action]
            .clone()
    };
    for tool in &tools[..2] {
        let function = &tool["function"];
        let actions = function["parameters"]["properties"]["action"]["enum"].as_array();
        for action in actions.unwrap() {
            let mut arguments = json!({"action": action});
            if let Value::Object(members) = complete(action.as_str().unwrap()) {
                arguments.as_object_mut().unwrap().extend(members);
            }
            let call = call(function["name"].as_str().unwrap(), arguments);
            let telechir_protocol::Content::ComputerCall(call) = call else {
                panic!("{action}")
            };
            assert_eq!(call.exception, None, "{action}");
        }
    }
}

#[test]
fn excluded_actions_are_not_declared() {
    let tool = ComputerUseTool {
        excluded_actions: vec!["zoom".to_owned(), "drag".to_owned()],
        ..screen(Environment::Linux)
    };
    let tools = declared(DIALECT, vec![Tool::ComputerUse(tool)]);
    let actions = &tools[0]["function"]["parameters"]["properties"]["action"]["enum"];
    let actions = actions.as_array().unwrap();
    assert!(!actions.contains(&json!("zoom")) && !actions.contains(&json!("drag")));
    assert!(actions.contains(&json!("click")));
}

#[test]
fn hosted_tools_are_reported() {
    let offer = ToolOffer {
        tools: vec![Tool::CodeInterpreter {
            additional_properties: Default::default(),
        }],
        model: None,
    };
    let (declaration, report) = DIALECT.declare(&offer).unwrap();
    assert!(declaration.tools.is_empty());
    assert_eq!(report.losses[0].what, "tool `code_interpreter`");
}

#[test]
fn duplicate_function_names_are_refused() {
    let shell = |description: &str| {
        Tool::Function(telechir_protocol::FunctionTool {
            name: "shell".to_owned(),
            description: Some(description.to_owned()),
            parameters: json!({"type": "object"}),
            ..Default::default()
        })
    };
    let offer = ToolOffer {
        tools: vec![Tool::Shell(ShellTool::default()), shell("another")],
        model: None,
    };
    let error = DIALECT.declare(&offer).unwrap_err().to_string();
    assert!(error.contains("`shell`"), "{error}");
}
