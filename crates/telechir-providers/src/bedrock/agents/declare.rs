//! Tool declarations: action groups, whose settings are strings.

use serde_json::{Map, Value, json};
use telechir_protocol::{ComputerUseTool, Environment, FunctionTool, Tool};

use super::DIALECT;
use super::encode::missing;
use crate::anthropic;
use crate::declaration::{RefuseTool, locate};
use crate::extra_tools;
use crate::json::text_of;
use crate::{Declaration, EncodeError, Report, ToolOffer};

/// Types of Anthropic's tools in one version.
struct AnthropicToolTypes {
    computer: &'static str,
    bash: &'static str,
    editor: &'static str,
}

const OCTOBER_2024: AnthropicToolTypes = AnthropicToolTypes {
    computer: "computer_20241022",
    bash: "bash_20241022",
    editor: "text_editor_20241022",
};
const JANUARY_2025: AnthropicToolTypes = AnthropicToolTypes {
    computer: "computer_20250124",
    bash: "bash_20250124",
    editor: "text_editor_20250124",
};

/// Declares the offered tools as request bodies of `CreateAgentActionGroup`.
pub(super) fn declare(
    offer: &ToolOffer,
    refuse: RefuseTool<'_>,
) -> Result<(Declaration, Report), EncodeError> {
    let model = offer.model.as_deref();
    let types = if anthropic::supports_only_october_2024(model) {
        OCTOBER_2024
    } else {
        JANUARY_2025
    };
    let mut tools = Vec::new();
    let mut report = Report::default();
    for (at, tool) in offer.tools.iter().enumerate() {
        let losses = report.losses.len();
        let declared = action_group(tool, &types, &mut report);
        locate(&mut report, losses, at, declared.is_err());
        match declared {
            Ok(group) => tools.extend(group),
            Err(error) => refuse(at, error)?,
        }
    }
    let declaration = Declaration {
        tools,
        ..Declaration::default()
    };
    Ok((declaration, report))
}

/// The action group of a tool; `None` if agents have no such tool, which is reported.
fn action_group(
    tool: &Tool,
    types: &AnthropicToolTypes,
    report: &mut Report,
) -> Result<Option<Value>, EncodeError> {
    let group = match tool {
        Tool::ComputerUse(tool) if tool.environment == Some(Environment::Browser) => {
            function(&extra_tools::browser_tool(&tool.excluded_actions), report)
        }
        Tool::ComputerUse(tool) => computer(tool, types, report)?,
        Tool::Shell(_) => anthropic_group("bash", "ANTHROPIC.Bash", json!({"type": types.bash})),
        Tool::Function(tool) => function(&flat(tool), report),
        Tool::Hosted(tool) if tool.hosted_type.starts_with("text_editor") => {
            let settings = json!({"type": types.editor});
            anthropic_group("text_editor", "ANTHROPIC.TextEditor", settings)
        }
        Tool::CodeInterpreter { .. } => json!({
            "actionGroupName": "code_interpreter",
            "parentActionGroupSignature": "AMAZON.CodeInterpreter",
            "actionGroupState": "ENABLED",
        }),
        Tool::Raw(raw) if raw.dialect == DIALECT => raw.json.clone(),
        Tool::Hosted(tool) => {
            let what = format!("tool {}", tool.hosted_type);
            report.lost(what, "tools", "agents have no such tool");
            return Ok(None);
        }
        Tool::ImageGeneration { .. } => {
            report.lost("tool image_generation", "tools", "agents have no such tool");
            return Ok(None);
        }
        Tool::Raw(raw) => {
            let what = format!("a raw tool of {}", raw.dialect);
            report.lost(what, "tools", "it is in another dialect's format");
            return Ok(None);
        }
    };
    Ok(Some(group))
}

/// An action group of Anthropic's, which must not have a description, schema or executor.
fn anthropic_group(name: &str, signature: &str, settings: Value) -> Value {
    json!({
        "actionGroupName": name,
        "parentActionGroupSignature": signature,
        "parentActionGroupSignatureParams": settings,
        "actionGroupState": "ENABLED",
    })
}

fn computer(
    tool: &ComputerUseTool,
    types: &AnthropicToolTypes,
    report: &mut Report,
) -> Result<Value, EncodeError> {
    let Some((width, height)) = tool.display_width.zip(tool.display_height) else {
        return Err(missing(format!(
            "set the display's width and height; {} requires them",
            types.computer
        )));
    };
    for name in &tool.excluded_actions {
        let why = "this tool version cannot exclude actions";
        report.lost(format!("exclusion of {name}"), "computer tool", why);
    }
    let own = tool.additional_properties.get("bedrock");
    let number = own.and_then(|own| own.get("display_number"));
    let mut settings = json!({
        "type": types.computer,
        "display_width_px": width.to_string(),
        "display_height_px": height.to_string(),
    });
    if let Some(number) = number {
        let number = number
            .as_str()
            .map_or_else(|| number.to_string(), str::to_owned);
        settings["display_number"] = number.into();
    }
    Ok(anthropic_group("computer", "ANTHROPIC.Computer", settings))
}

fn flat(tool: &FunctionTool) -> Value {
    json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters})
}

/// A function that returns control. Its parameters are flat: name, type, description.
fn function(tool: &Value, report: &mut Report) -> Value {
    let name = text_of(tool, "name");
    let none = Map::new();
    let schema = &tool["parameters"];
    let members = schema["properties"].as_object().unwrap_or(&none);
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let parameter = |(member, schema): (&String, &Value)| {
        let kind = match text_of(schema, "type") {
            kind @ ("number" | "integer" | "boolean" | "array" | "string") => kind,
            other => {
                let what = format!("type {other:?} of `{member}`");
                let why = "parameters are strings, numbers, booleans or lists";
                report.preserved(what, format!("tool {name}"), why, "as a JSON string");
                "string"
            }
        };
        let mut parameter = json!({"type": kind, "required": required.contains(&json!(member))});
        let description: String = text_of(schema, "description").chars().take(500).collect();
        if !description.is_empty() {
            parameter["description"] = description.into();
        }
        (member.clone(), parameter)
    };
    let parameters: Map<String, Value> = members.iter().map(parameter).collect();
    let mut function = json!({"name": name, "parameters": parameters});
    let description: String = text_of(tool, "description").chars().take(1200).collect();
    if !description.is_empty() {
        function["description"] = description.into();
    }
    json!({
        "actionGroupName": name,
        "actionGroupExecutor": {"customControl": "RETURN_CONTROL"},
        "functionSchema": {"functions": [function]},
        "actionGroupState": "ENABLED",
    })
}
