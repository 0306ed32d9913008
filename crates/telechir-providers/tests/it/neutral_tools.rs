//! Neutral tools declared in every dialect: each is declared or reported.
#![expect(clippy::expect_used, reason = "a failed setup step fails the test")]

use serde_json::{Value, json};
use telechir_protocol::Tool;
use telechir_providers::{Availability, Declaration, Dialect, Report, ToolOffer, capabilities};

fn declared(dialect: Dialect, model: Option<&str>, tools: Value) -> (Declaration, Report) {
    let tools: Vec<Tool> = serde_json::from_value(tools).expect("neutral tools");
    let model = model.map(str::to_owned);
    dialect
        .declare(&ToolOffer { tools, model })
        .unwrap_or_else(|error| panic!("{dialect}: {error}"))
}

/// The only declared tool.
fn only(dialect: Dialect, model: Option<&str>, tool: Value) -> Value {
    let (declaration, report) = declared(dialect, model, json!([tool]));
    let tools = declaration.tools;
    assert!(!tools.is_empty(), "{dialect}: {report:?}");
    tools[0].clone()
}

fn names(report: &Report) -> Vec<&str> {
    report
        .losses
        .iter()
        .map(|loss| loss.what.as_str())
        .collect()
}

#[test]
fn every_tool_of_the_records_is_declared_or_reported_everywhere() {
    let computer = json!({"type": "ComputerUseTool", "display_width": 1024, "display_height": 768,
        "environment": "linux"});
    let table = [
        computer,
        json!({"type": "ShellTool"}),
        json!({"type": "BashTool"}),
        json!({"type": "FunctionTool", "name": "weather", "description": "Weather.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}),
        json!({"type": "HostedImageGenerationTool"}),
        json!({"type": "HostedCodeInterpreterTool"}),
        json!({"type": "HostedWebSearchTool"}),
        json!({"type": "HostedFileSearchTool", "vector_store_ids": ["vs_1"]}),
        json!({"type": "HostedMcpServerTool", "name": "maps", "url": "https://mcp.example/v1"}),
        json!({"type": "HostedToolSearchTool"}),
        json!({"type": "HostedTool", "hosted_type": "local_shell"}),
        json!({"type": "HostedTool", "hosted_type": "bash_20250124"}),
        json!({"type": "HostedTool", "hosted_type": "google_maps"}),
        json!({"type": "raw", "dialect": "openai-responses", "json": {"type": "web_search"}}),
    ];
    for tool in table {
        for dialect in Dialect::ALL {
            let (declaration, report) = declared(dialect, None, json!([tool]));
            let real = |entry: &&Value| entry["toolSpec"]["name"] != "unused_tool";
            let count = declaration.tools.iter().filter(real).count() + declaration.body.len();
            assert!(
                count > 0 || !report.is_lossless(),
                "{dialect}: {tool} vanished"
            );
        }
    }
}

#[test]
fn flat_settings_belong_to_the_provider_that_the_tool_is_declared_to() {
    let computer = json!({"type": "ComputerUseTool", "display_width": 800, "display_height": 600,
        "environment": "linux", "display_number": 2});
    let old = Some("claude-sonnet-4-5");
    let anthropic = only(Dialect::AnthropicMessages, old, computer.clone());
    assert_eq!(anthropic["display_number"], 2);
    let preview = Some("computer-use-preview");
    let (openai, report) = declared(Dialect::OpenaiResponses, preview, json!([computer]));
    assert_eq!(
        openai.tools[0].get("display_number"),
        None,
        "OpenAI rejects it"
    );
    assert!(
        names(&report).contains(&"setting `display_number`"),
        "{report:?}"
    );

    let images =
        json!({"type": "HostedImageGenerationTool", "additional_properties": {"quality": "high"}});
    let code = json!({"type": "HostedCodeInterpreterTool", "additional_properties": {"language": "python"}});
    assert_eq!(
        only(Dialect::OpenaiResponses, None, images.clone())["quality"],
        "high"
    );
    assert_eq!(
        only(Dialect::MistralConversations, None, images)["quality"],
        "high"
    );
    assert_eq!(
        only(Dialect::MistralConversations, None, code.clone())["language"],
        "python"
    );
    let google = only(Dialect::GoogleGenerateContent, None, code);
    assert_eq!(google["codeExecution"]["language"], "python");

    let own = json!({"type": "HostedCodeInterpreterTool", "additional_properties":
        {"language": "python", "google": {"language": "julia"}}});
    let google = only(Dialect::GoogleInteractions, None, own);
    assert_eq!(
        google["language"], "julia",
        "the provider's own setting wins"
    );
}

#[test]
fn a_setting_that_no_declaration_contains_is_reported() {
    let shell = json!([{"type": "ShellTool", "nap": true}]);
    for dialect in Dialect::ALL {
        let (declaration, report) = declared(dialect, None, shell.clone());
        let is_written = json!(declaration.tools).to_string().contains("nap");
        let is_reported = names(&report).iter().any(|what| what.contains("nap"));
        assert!(
            is_written != is_reported,
            "{dialect}: {:?} {report:?}",
            declaration.tools
        );
    }
}

#[test]
fn the_approval_mode_is_not_sent() {
    let tools = json!([
        {"type": "ComputerUseTool", "display_width": 800, "display_height": 600,
            "environment": "browser", "approval_mode": "always_require"},
        {"type": "FunctionTool", "name": "pay", "approval_mode": "always_require"},
    ]);
    let foreign = Dialect::ALL
        .into_iter()
        .filter(|dialect| *dialect != Dialect::Neutral);
    for dialect in foreign {
        let (declaration, report) = declared(dialect, None, tools.clone());
        let text = json!([declaration.tools, declaration.body]).to_string();
        assert!(!text.contains("approval_mode"), "{dialect}: {text}");
        assert!(
            !names(&report).iter().any(|what| what.contains("approval")),
            "{report:?}"
        );
    }
}

#[test]
fn an_mcp_server_is_declared_as_each_provider_does() {
    let server =
        json!({"type": "HostedMcpServerTool", "name": "maps", "url": "https://mcp.example/v1"});
    let openai = only(Dialect::OpenaiResponses, None, server.clone());
    assert_eq!(
        openai,
        json!({"type": "mcp", "server_label": "maps", "server_url": "https://mcp.example/v1"})
    );
    let (anthropic, _) = declared(Dialect::AnthropicMessages, None, json!([server]));
    assert_eq!(
        anthropic.tools,
        [json!({"type": "mcp_toolset", "mcp_server_name": "maps"})]
    );
    assert_eq!(
        anthropic.body["mcp_servers"],
        json!([{"type": "url", "url": "https://mcp.example/v1", "name": "maps"}])
    );
    let generate = only(Dialect::GoogleGenerateContent, None, server.clone());
    assert_eq!(
        generate["mcpServers"][0]["streamableHttpTransport"]["url"],
        "https://mcp.example/v1"
    );
    let steps = only(Dialect::GoogleInteractions, None, server);
    assert_eq!(
        steps,
        json!({"type": "mcp_server", "name": "maps", "url": "https://mcp.example/v1"})
    );
}

#[test]
fn class_names_exclude_actions_and_a_part_that_stays_is_reported() {
    let computer = |excluded: Value| {
        json!([{"type": "ComputerUseTool", "display_width": 800,
        "display_height": 600, "environment": "linux", "excluded_actions": excluded}])
    };
    let (anthropic, report) = declared(
        Dialect::AnthropicMessages,
        None,
        computer(json!(["CURightClick", "left_mouse_click", "CUDrag"])),
    );
    let configs = &anthropic.tools[0]["configs"];
    for member in ["right_click", "left_click", "left_click_drag"] {
        assert_eq!(configs[member]["enabled"], false, "{configs} {report:?}");
    }
    assert_eq!(configs.get("middle_click"), None);
    let (_, report) = declared(Dialect::Functions, None, computer(json!(["CUMiddleClick"])));
    assert!(
        names(&report).contains(&"exclusion of middle_click"),
        "{report:?}"
    );
    let (functions, _) = declared(
        Dialect::Functions,
        None,
        computer(json!(["CUKeypressHold"])),
    );
    let actions = &functions.tools[0]["function"]["parameters"]["properties"]["action"]["enum"];
    let actions = actions.as_array().expect("a list of actions");
    assert!(
        !actions.is_empty() && !actions.contains(&json!("hold_key")),
        "{actions:?}"
    );
}

#[test]
fn the_capabilities_of_a_model_are_those_of_its_declarations() {
    let how = |model: &str, dialect: &str, tool: &str| {
        let all = capabilities(model);
        let found = all
            .into_iter()
            .find(|entry| entry.dialect == dialect && entry.tool == tool);
        found.map(|entry| entry.availability)
    };
    let opus = "claude-opus-5-5";
    assert_eq!(
        how(opus, "anthropic-messages", "computer_use"),
        Some(Availability::Native)
    );
    assert_eq!(
        how(opus, "anthropic-messages", "image_generation"),
        Some(Availability::Unavailable)
    );
    assert_eq!(how(opus, "google-interactions", "shell"), None);
    assert_eq!(
        how("gemini-3-pro", "google-interactions", "shell"),
        Some(Availability::Function)
    );
    assert_eq!(
        how("gpt-5.6-sol", "openai-responses", "shell"),
        Some(Availability::Native)
    );
    assert_eq!(
        how("gpt-5.6-sol", "functions", "shell"),
        Some(Availability::Function)
    );
    let without = capabilities("claude-3-opus-20240229");
    let computer = without
        .iter()
        .find(|entry| entry.tool == "computer_use")
        .expect("an entry");
    assert_eq!(computer.availability, Availability::Unavailable);
    assert!(computer.why.is_some());
}

#[test]
fn a_function_without_parameters_is_declared_as_every_service_accepts_it() {
    for parameters in [json!(null), json!({}), json!({"type": "object"})] {
        let tool = json!({"type": "function", "name": "tick", "parameters": parameters});
        for dialect in Dialect::ALL
            .into_iter()
            .filter(|dialect| *dialect != Dialect::Neutral)
        {
            let declared = only(dialect, None, tool.clone());
            let name = declared.pointer("/functionDeclarations/0/name");
            let name = name
                .or_else(|| declared.pointer("/function/name"))
                .or_else(|| declared.pointer("/toolSpec/name"))
                .or_else(|| declared.pointer("/functionSchema/functions/0/name"))
                .or_else(|| declared.get("name"));
            assert_eq!(name, Some(&json!("tick")), "{dialect}: {declared}");
            let schemas = [
                "/input_schema",
                "/parameters",
                "/function/parameters",
                "/toolSpec/inputSchema/json",
            ];
            let schema = schemas.iter().find_map(|pointer| declared.pointer(pointer));
            let omits = dialect.name().starts_with("google") || dialect == Dialect::BedrockAgents;
            match schema {
                Some(schema) => {
                    assert_eq!(
                        *schema,
                        json!({"type": "object", "properties": {}}),
                        "{dialect}"
                    );
                }
                None => assert!(omits, "{dialect}: {declared}"),
            }
        }
    }
}

#[test]
fn arguments_of_any_name_are_declared_to_google() {
    let tool = json!({"type": "function", "name": "label", "parameters":
        {"type": "object", "additionalProperties": {"type": "string"}}});
    for dialect in [Dialect::GoogleGenerateContent, Dialect::GoogleInteractions] {
        let declared = only(dialect, None, tool.clone()).to_string();
        assert!(
            declared.contains("additionalProperties"),
            "{dialect}: {declared}"
        );
    }
}

#[test]
fn a_model_of_openais_gets_the_tools_that_it_has() {
    let computer = json!({"type": "computer_use", "display_width": 1024, "display_height": 768});
    let openai = Dialect::OpenaiResponses;
    let declare = |model: &str, tool: &Value| {
        let tools = vec![serde_json::from_value(tool.clone()).expect("a tool")];
        let model = Some(model.to_owned());
        openai.declare(&ToolOffer { tools, model })
    };
    assert!(declare("gpt-6-luna", &computer).is_ok());
    let error = declare("gpt-5.1", &computer).expect_err("no computer tool");
    assert!(
        error.to_string().contains("gpt-5.1 has no computer tool"),
        "{error}"
    );
    let shell = json!({"type": "shell"});
    let (declaration, report) = declare("gpt-5.1", &shell).expect("a shell");
    assert_eq!(declaration.tools[0]["type"], "shell");
    assert!(report.is_lossless(), "{report:?}");
    let (declaration, report) = declare("gpt-4o", &shell).expect("a function");
    assert_eq!(declaration.tools[0]["name"], "shell_session");
    assert_eq!(names(&report), ["a shell"]);
    let editor = json!({"type": "hosted", "hosted_type": "text_editor"});
    let (declaration, report) = declare("gpt-4o", &editor).expect("a report");
    assert_eq!(declaration.tools, Vec::<Value>::new());
    assert_eq!(names(&report), ["a text editor"]);
}
