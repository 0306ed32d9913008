//! Declarations: where each tool is declared, and which offers a model rejects.

use serde_json::{Value, json};
use telechir_providers::{Declaration, Dialect, Report, ToolOffer};

fn declared(dialect: Dialect, model: &str, tools: &Value) -> (Declaration, Report) {
    let offer = ToolOffer {
        tools: serde_json::from_value(tools.clone()).unwrap(),
        model: Some(model.to_owned()),
    };
    dialect.declare(&offer).unwrap()
}

fn screen() -> Value {
    json!({"type": "computer_use", "display_width": 1024, "display_height": 768, "environment": "linux"})
}

#[test]
fn claude_tools_go_into_additional_fields() {
    let function = json!({"type": "function", "name": "fs.read", "description": "Reads.", "parameters": {"type": "object"}});
    let tools = json!([screen(), {"type": "shell"}, function]);
    let model = "us.anthropic.claude-opus-4-6-v1:0";
    let (declaration, report) = declared(Dialect::BedrockConverse, model, &tools);
    let spec = json!({"toolSpec": {"name": "fs_x2e_read", "description": "Reads.", "inputSchema": {"json": {"type": "object", "properties": {}}}}});
    assert!(declaration.tools.contains(&spec), "{:?}", declaration.tools);
    let fields = json!({
        "tools": [
            {"type": "computer_20251124", "name": "computer", "display_width_px": 1024, "display_height_px": 768, "enable_zoom": true},
            {"type": "bash_20250124", "name": "bash"},
        ],
        "anthropic_beta": ["computer-use-2025-11-24"],
    });
    assert_eq!(declaration.body["additionalModelRequestFields"], fields);
    assert_eq!((declaration.headers, report.losses), (vec![], vec![]));
}

#[test]
fn an_unused_function_is_declared_if_there_is_no_other() {
    let model = "anthropic.claude-sonnet-4-5-20250929-v1:0";
    let (declaration, _) = declared(Dialect::BedrockConverse, model, &json!([screen()]));
    assert_eq!(declaration.tools[0]["toolSpec"]["name"], "unused_tool");
    let fields = &declaration.body["additionalModelRequestFields"];
    assert_eq!(fields["tools"][0]["type"], "computer_20250124");
}

#[test]
fn other_vendors_models_get_our_tools_as_functions() {
    let tools = json!([screen(), {"type": "shell"}, {"type": "code_interpreter"}]);
    let (declaration, report) = declared(
        Dialect::BedrockConverse,
        "us.amazon.nova-2-lite-v1:0",
        &tools,
    );
    let names: Vec<&Value> = declaration
        .tools
        .iter()
        .map(|tool| {
            tool.pointer("/toolSpec/name")
                .unwrap_or_else(|| &tool["systemTool"]["name"])
        })
        .collect();
    assert_eq!(
        names,
        ["computer_action", "shell_session", "nova_code_interpreter"]
    );
    assert_eq!((declaration.body.len(), report.losses), (0, vec![]));
    let (_, report) = declared(
        Dialect::BedrockConverse,
        "meta.llama3-1-8b-instruct-v1:0",
        &tools,
    );
    assert_eq!(report.losses.len(), 1, "{report:?}");
}

#[test]
fn invoke_bodies_contain_version_and_betas() {
    let model = "anthropic.claude-opus-4-8";
    let tools = json!([screen(), {"type": "shell"}]);
    let (declaration, report) = declared(Dialect::BedrockInvoke, model, &tools);
    assert_eq!(declaration.tools[0]["type"], "computer_20251124");
    let body = json!({"anthropic_version": "bedrock-2023-05-31", "anthropic_beta": ["computer-use-2025-11-24"]});
    assert_eq!(Value::Object(declaration.body), body);
    assert_eq!((declaration.headers, report.losses), (vec![], vec![]));
    let (declaration, _) = declared(Dialect::BedrockMessages, model, &tools);
    assert_eq!(declaration.tools[0]["type"], "computer_toolset_20260801");
    assert!(declaration.body.is_empty());
}

#[test]
fn a_toolset_only_model_is_rejected_without_toolset_support() {
    let offer = ToolOffer {
        tools: serde_json::from_value(json!([screen()])).unwrap(),
        model: Some("anthropic.claude-haiku-5-5".to_owned()),
    };
    for dialect in [Dialect::BedrockConverse, Dialect::BedrockInvoke] {
        let error = dialect.declare(&offer).unwrap_err().to_string();
        assert!(error.contains("bedrock-messages"), "{error}");
    }
    Dialect::BedrockMessages.declare(&offer).unwrap();
}

#[test]
fn agent_settings_are_strings() {
    let tools = json!([screen(), {"type": "shell"}, {"type": "function", "name": "lookup", "parameters": {
        "type": "object", "properties": {"q": {"type": "string", "description": "What."}, "deep": {"type": "object"}}, "required": ["q"]}}]);
    let (declaration, report) = declared(Dialect::BedrockAgents, "claude-3-7-sonnet", &tools);
    let computer = json!({
        "actionGroupName": "computer",
        "parentActionGroupSignature": "ANTHROPIC.Computer",
        "parentActionGroupSignatureParams": {"type": "computer_20250124", "display_width_px": "1024", "display_height_px": "768"},
        "actionGroupState": "ENABLED",
    });
    assert_eq!(declaration.tools[0], computer);
    assert_eq!(
        declaration.tools[1]["parentActionGroupSignature"],
        "ANTHROPIC.Bash"
    );
    let function = &declaration.tools[2]["functionSchema"]["functions"][0];
    let q = json!({"type": "string", "required": true, "description": "What."});
    assert_eq!(
        (&function["name"], &function["parameters"]["q"]),
        (&json!("lookup"), &q)
    );
    assert_eq!(report.losses.len(), 1, "{report:?}");
}
