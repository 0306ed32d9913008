//! Tool declarations for the two APIs.

use serde_json::{Value, json};
use telechir_protocol::{
    ApprovalMode, ComputerUseTool, Environment, FunctionTool, HostedTool, ShellTool, Tool,
};
use telechir_providers::{Dialect, EncodeError, Report, ToolOffer};

use super::{PARTS, STEPS};

fn declared(dialect: Dialect, tools: Vec<Tool>, model: Option<&str>) -> (Vec<Value>, Report) {
    let model = model.map(str::to_owned);
    let (declaration, report) = dialect.declare(&ToolOffer { tools, model }).unwrap();
    assert!(declaration.headers.is_empty());
    (declaration.tools, report)
}

fn screen(environment: Environment, excluded: &[&str]) -> Tool {
    Tool::ComputerUse(ComputerUseTool {
        environment: Some(environment),
        excluded_actions: excluded.iter().map(|name| (*name).to_owned()).collect(),
        ..ComputerUseTool::default()
    })
}

fn function(name: &str, parameters: Value) -> Tool {
    Tool::Function(FunctionTool {
        name: name.to_owned(),
        description: Some("d".to_owned()),
        parameters,
        approval_mode: ApprovalMode::Never,
        ..FunctionTool::default()
    })
}

#[test]
fn a_screen_is_declared_for_its_environment() {
    let table = [
        (Environment::Linux, "ENVIRONMENT_DESKTOP", "desktop"),
        (Environment::Mac, "ENVIRONMENT_DESKTOP", "desktop"),
        (Environment::Mobile, "ENVIRONMENT_MOBILE", "mobile"),
        (Environment::Browser, "ENVIRONMENT_BROWSER", "browser"),
    ];
    for (environment, long, short) in table {
        let (parts, _) = declared(PARTS, vec![screen(environment.clone(), &[])], None);
        assert_eq!(parts[0], json!({"computerUse": {"environment": long}}));
        let (steps, _) = declared(STEPS, vec![screen(environment, &[])], None);
        assert_eq!(
            steps[0],
            json!({"type": "computer_use", "environment": short})
        );
    }
}

#[test]
fn excludes_the_functions_of_excluded_actions() {
    let tool = || vec![screen(Environment::Linux, &["drag", "mouse_down", "key"])];
    let (parts, report) = declared(PARTS, tool(), None);
    assert_eq!(
        parts[0]["computerUse"]["excludedPredefinedFunctions"],
        json!(["drag_and_drop", "mouse_down", "press_key", "hotkey"])
    );
    assert!(
        report
            .losses
            .iter()
            .all(|loss| !loss.what.contains("excluded"))
    );
    let (steps, _) = declared(STEPS, tool(), None);
    assert_eq!(
        steps[0]["excluded_predefined_functions"][0],
        "drag_and_drop"
    );
    let old = declared(
        PARTS,
        vec![screen(Environment::Browser, &["key"])],
        Some("gemini-3-flash-preview"),
    );
    assert_eq!(
        old.0[0]["computerUse"]["excludedPredefinedFunctions"],
        json!(["key_combination"])
    );
    // An action without a function is excluded anyway, which is reported.
    let (_, report) = declared(PARTS, vec![screen(Environment::Linux, &["zoom"])], None);
    assert!(report.losses.iter().any(|loss| loss.what.contains("zoom")));
}

#[test]
fn provider_settings_use_the_spelling_of_each_api() {
    let settings = json!({"google": {"enable_prompt_injection_detection": true, "disabled_safety_policies": ["DATA_MODIFICATION"]}});
    let tool = || {
        Tool::ComputerUse(ComputerUseTool {
            environment: Some(Environment::Linux),
            additional_properties: settings.as_object().unwrap().clone(),
            ..ComputerUseTool::default()
        })
    };
    let (parts, _) = declared(PARTS, vec![tool()], None);
    assert_eq!(
        parts[0]["computerUse"]["enablePromptInjectionDetection"],
        true
    );
    let (steps, _) = declared(STEPS, vec![tool()], None);
    assert_eq!(steps[0]["enable_prompt_injection_detection"], true);
}

#[test]
fn declares_page_and_tab_actions_as_a_function_beside_the_browser() {
    let (parts, _) = declared(
        PARTS,
        vec![screen(Environment::Browser, &["new_tab"])],
        None,
    );
    let function = &parts[1]["functionDeclarations"][0];
    assert_eq!(function["name"], "browser");
    let actions = &function["parametersJsonSchema"]["properties"]["action"]["enum"];
    let actions: Vec<&str> = actions
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(
        actions.contains(&"list_tabs")
            && !actions.contains(&"click")
            && !actions.contains(&"new_tab")
    );
}

#[test]
fn declares_the_browser_as_a_function_beside_a_desktop() {
    let both = vec![
        screen(Environment::Browser, &[]),
        screen(Environment::Linux, &[]),
    ];
    let (steps, _) = declared(STEPS, both, None);
    assert_eq!(
        steps[0],
        json!({"type": "computer_use", "environment": "desktop"})
    );
    assert_eq!(steps[1]["name"], "browser");
    let actions = steps[1]["parameters"]["properties"]["action"]["enum"].to_string();
    assert!(actions.contains("\"click\"") && actions.contains("\"navigate\""));
}

#[test]
fn functions_shells_and_hosted_tools_are_declared() {
    let tools = || {
        vec![
            Tool::Shell(ShellTool::default()),
            function(
                "get_weather",
                json!({"type": "object", "properties": {"city": {"type": "string"}}}),
            ),
            function("ping", json!({"type": "object", "properties": {}})),
            Tool::CodeInterpreter {
                additional_properties: serde_json::Map::new(),
            },
            Tool::Hosted(HostedTool::new("web_search")),
            Tool::ImageGeneration {
                additional_properties: serde_json::Map::new(),
            },
        ]
    };
    let (parts, report) = declared(PARTS, tools(), None);
    assert_eq!(
        parts[..2],
        [json!({"codeExecution": {}}), json!({"googleSearch": {}})]
    );
    let functions = parts[2]["functionDeclarations"].as_array().unwrap();
    let names: Vec<&str> = functions
        .iter()
        .filter_map(|function| function["name"].as_str())
        .collect();
    assert_eq!(names, ["shell", "get_weather", "ping"]);
    assert_eq!(functions[2].get("parametersJsonSchema"), None);
    assert_eq!(report.losses.len(), 1, "{report:?}");
    assert_eq!(report.losses[0].what, "image generation");
    let (steps, _) = declared(STEPS, tools(), None);
    assert_eq!(
        steps[..2],
        [
            json!({"type": "code_execution"}),
            json!({"type": "google_search"})
        ]
    );
    assert_eq!(
        steps[3]["parameters"]["properties"]["city"]["type"],
        "string"
    );
}

#[test]
fn rejects_invalid_function_names() {
    let object = || json!({"type": "object", "properties": {"a": {}}});
    for tools in [
        vec![function("1st", object())],
        vec![function("a b", object())],
        vec![
            function("a", object()),
            function("a", json!({"type": "object", "properties": {"b": {}}})),
        ],
    ] {
        for dialect in [PARTS, STEPS] {
            let offer = ToolOffer {
                tools: tools.clone(),
                model: None,
            };
            let error = dialect.declare(&offer).unwrap_err();
            assert!(matches!(error, EncodeError::Missing { .. }), "{error}");
        }
    }
}
