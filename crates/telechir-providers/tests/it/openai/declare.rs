//! Tool declarations by model.

use serde_json::{Value, json};
use telechir_protocol::{
    ComputerUseTool, Environment, FunctionTool, HostedTool, RawTool, ShellTool, Tool,
};
use telechir_providers::{EncodeError, Report, ToolOffer};

use super::DIALECT;

fn declared(model: Option<&str>, tools: Vec<Tool>) -> (Vec<Value>, Report) {
    let offer = ToolOffer {
        tools,
        model: model.map(str::to_owned),
    };
    let (declaration, report) = DIALECT.declare(&offer).unwrap();
    assert_eq!(declaration.headers, []);
    (declaration.tools, report)
}

fn screen(environment: Option<Environment>) -> ComputerUseTool {
    ComputerUseTool {
        environment,
        ..ComputerUseTool::default()
    }
}

fn sized(environment: Option<Environment>) -> Tool {
    let (display_width, display_height) = (Some(1024), Some(768));
    Tool::ComputerUse(ComputerUseTool {
        display_width,
        display_height,
        ..screen(environment)
    })
}

#[test]
fn the_computer_tool_has_no_other_member() {
    for model in [None, Some("gpt-5.6-sol"), Some("gpt-6-astra")] {
        let (tools, report) = declared(model, vec![sized(None)]);
        assert_eq!(tools, [json!({"type": "computer"})]);
        assert_eq!(report.losses.len(), 1);
        assert!(report.losses[0].preserved_as.is_some());
    }
}

#[test]
fn a_browser_adds_its_function_with_or_without_a_desktop() {
    let browser = || Tool::ComputerUse(screen(Some(Environment::Browser)));
    for tools in [
        vec![browser()],
        vec![Tool::ComputerUse(screen(None)), browser()],
    ] {
        let (tools, report) = declared(None, tools);
        assert_eq!(tools.len(), 2);
        assert_eq!(tools[0], json!({"type": "computer"}));
        assert_eq!(
            (&tools[1]["type"], &tools[1]["name"]),
            (&json!("function"), &json!("browser"))
        );
        assert_eq!(tools[1]["strict"], false);
        assert!(report.is_lossless());
    }
}

#[test]
fn excluded_browser_actions_are_not_offered() {
    let mut tool = screen(Some(Environment::Browser));
    tool.excluded_actions = vec!["navigate".to_owned()];
    let (tools, report) = declared(None, vec![Tool::ComputerUse(tool)]);
    let actions = tools[1]["parameters"]["properties"]["action"]["enum"]
        .as_array()
        .unwrap();
    assert!(!actions.contains(&json!("navigate")) && actions.contains(&json!("click")));
    assert_eq!(report.losses[0].what, "excluded actions navigate");
}

#[test]
fn every_offered_browser_action_can_be_decoded() {
    let (tools, _) = declared(
        None,
        vec![Tool::ComputerUse(screen(Some(Environment::Browser)))],
    );
    let all = json!({
        "coordinate": [1, 2], "path": [[1, 2], [3, 4]], "dx": 0, "dy": 3, "text": "hi", "key": "ctrl+a",
        "url": "https://example.com/", "tab": "1",
    });
    let needed = |action: &str| -> &[&str] {
        match action {
            "click" | "double_click" | "triple_click" | "move" => &["coordinate"],
            "drag" => &["path"],
            "scroll" => &["coordinate", "dx", "dy"],
            "type" => &["text"],
            "key" => &["key"],
            "navigate" => &["url", "tab"],
            "new_tab" => &["url"],
            "switch_tab" | "close_tab" | "back" | "forward" | "reload" | "page_text" => &["tab"],
            _ => &[],
        }
    };
    for action in tools[1]["parameters"]["properties"]["action"]["enum"]
        .as_array()
        .unwrap()
    {
        let mut arguments = json!({"action": action});
        for member in needed(action.as_str().unwrap()) {
            arguments[*member] = all[*member].clone();
        }
        let call = json!({
            "type": "function_call", "call_id": "c", "name": "browser", "arguments": arguments.to_string(),
        });
        let telechir_protocol::Content::ComputerCall(call) = super::content(call) else {
            panic!("{action}")
        };
        assert_eq!(call.exception, None, "{action}");
    }
}

#[test]
fn the_preview_tool_requires_a_size_and_an_environment() {
    let model = Some("computer-use-preview-2025-03-11");
    let offer = ToolOffer {
        tools: vec![sized(Some(Environment::Linux))],
        model: model.map(str::to_owned),
    };
    let (declaration, report) = DIALECT.declare(&offer).unwrap();
    let expected = json!({
        "type": "computer_use_preview", "display_width": 1024, "display_height": 768, "environment": "linux",
    });
    assert_eq!(declaration.tools, [expected]);
    assert_eq!(
        Value::Object(declaration.body),
        json!({"truncation": "auto"})
    );
    assert!(report.is_lossless());

    for tool in [
        sized(None),
        Tool::ComputerUse(screen(Some(Environment::Browser))),
    ] {
        let offer = ToolOffer {
            tools: vec![tool],
            model: model.map(str::to_owned),
        };
        assert!(matches!(
            DIALECT.declare(&offer),
            Err(EncodeError::Missing { .. })
        ));
    }
}

#[test]
fn the_shell_is_local_and_the_older_model_gets_local_shell() {
    let shell = || vec![Tool::Shell(ShellTool::default())];
    let local = json!({"type": "shell", "environment": {"type": "local"}});
    for (model, tool) in [
        ("gpt-5.5", local),
        ("codex-mini-latest", json!({"type": "local_shell"})),
    ] {
        let tools = declared(Some(model), shell()).0;
        assert_eq!(tools[0], tool);
        // Shell actions that the native tool lacks.
        assert_eq!(tools[1]["name"], "shell_session");
        assert_eq!(tools.len(), 2);
    }
}

#[test]
fn hosted_tools_and_functions_take_their_settings() {
    let settings = |value: Value| serde_json::Map::from_iter([("openai".to_owned(), value)]);
    let tools = vec![
        Tool::ImageGeneration {
            additional_properties: settings(json!({"size": "1024x1024"})),
        },
        Tool::CodeInterpreter {
            additional_properties: Default::default(),
        },
        Tool::CodeInterpreter {
            additional_properties: settings(json!({"container": "cntr_1"})),
        },
        Tool::Hosted(HostedTool::new("web_search").with("search_context_size", "low")),
        Tool::Hosted(HostedTool {
            additional_properties: settings(json!({"server_label": "files"})),
            ..HostedTool::new("mcp").with("server_label", "any")
        }),
        Tool::Function(FunctionTool {
            name: "lookup".to_owned(),
            description: Some("Looks up.".to_owned()),
            parameters: json!({"type": "object"}),
            ..FunctionTool::default()
        }),
    ];
    let expected = json!([
        {"type": "image_generation", "size": "1024x1024"},
        {"type": "code_interpreter", "container": {"type": "auto"}},
        {"type": "code_interpreter", "container": "cntr_1"},
        {"type": "web_search", "search_context_size": "low"},
        {"type": "mcp", "server_label": "files"},
        {
            "type": "function", "name": "lookup", "description": "Looks up.",
            "parameters": {"type": "object", "properties": {}}, "strict": false,
        },
    ]);
    let (tools, report) = declared(None, tools);
    assert_eq!(json!(tools), expected);
    assert!(report.is_lossless());
}

#[test]
fn invalid_function_names_are_refused() {
    let function = |name: &str| {
        Tool::Function(FunctionTool {
            name: name.to_owned(),
            ..FunctionTool::default()
        })
    };
    let browser = Tool::ComputerUse(screen(Some(Environment::Browser)));
    for tools in [
        vec![function("")],
        vec![function("a b")],
        vec![browser, function("browser")],
    ] {
        let offer = ToolOffer { tools, model: None };
        assert!(matches!(
            DIALECT.declare(&offer),
            Err(EncodeError::Missing { .. })
        ));
    }
}

#[test]
fn a_tool_of_another_dialect_is_reported() {
    let raw = RawTool {
        dialect: "anthropic-messages".to_owned(),
        json: json!({}),
    };
    let (tools, report) = declared(None, vec![Tool::Raw(raw)]);
    assert_eq!((tools.len(), report.losses.len()), (0, 1));
}
