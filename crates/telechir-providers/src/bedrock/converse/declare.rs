//! Tool declarations: functions in `toolConfig`, Anthropic's tools in
//! `additionalModelRequestFields` with their betas, and for models of other vendors our tools as
//! functions.

use serde_json::{Map, Value, json};
use telechir_protocol::{HostedTool, Tool};

use super::{DIALECT, rules};
use crate::anthropic;
use crate::bedrock::models::{self, ModelVendor};
use crate::bedrock::{detect, names};
use crate::declaration::{RefuseTool, end_declaration, locate};
use crate::json::text_of;
use crate::service_rules;
use crate::{Declaration, EncodeError, Report, ToolOffer, extra_tools, fallback_tools};

/// Function declared if there is no other, because `toolConfig` requires one.
const UNUSED: &str = "unused_tool";

/// Declares the offered tools.
pub(super) fn declare(
    offer: &ToolOffer,
    refuse: RefuseTool<'_>,
) -> Result<(Declaration, Report), EncodeError> {
    let vendor = models::vendor(offer.model.as_deref());
    let mut declaring = ConverseDeclarationBuilder {
        model: offer.model.clone(),
        vendor,
        tools: Vec::new(),
        model_tools: Vec::new(),
        betas: Vec::new(),
        report: Report::default(),
    };
    for (at, tool) in offer.tools.iter().enumerate() {
        let losses = declaring.report.losses.len();
        let declared = declaring.tool(tool);
        locate(&mut declaring.report, losses, at, declared.is_err());
        if let Err(error) = declared {
            refuse(at, error)?;
        }
    }
    Ok(declaring.declaration())
}

struct ConverseDeclarationBuilder {
    model: Option<String>,
    vendor: ModelVendor,
    /// Entries of `toolConfig`.
    tools: Vec<Value>,
    /// Anthropic's tools, for `additionalModelRequestFields`.
    model_tools: Vec<Value>,
    betas: Vec<Value>,
    report: Report,
}

impl ConverseDeclarationBuilder {
    fn declaration(mut self) -> (Declaration, Report) {
        let mut body = Map::new();
        if !self.model_tools.is_empty() {
            let mut fields = json!({"tools": self.model_tools});
            if !self.betas.is_empty() {
                fields["anthropic_beta"] = self.betas.into();
            }
            body.insert("additionalModelRequestFields".to_owned(), fields);
            if self.tools.is_empty() {
                self.tools.push(unused());
            }
        }
        let declaration = Declaration {
            tools: self.tools,
            body,
            ..Declaration::default()
        };
        (declaration, self.report)
    }

    fn tool(&mut self, tool: &Tool) -> Result<(), EncodeError> {
        match (tool, self.vendor) {
            (Tool::Raw(raw), _) if raw.dialect == DIALECT => {
                if detect::is_typed(&raw.json) {
                    return self.anthropic_entry(&raw.json);
                }
                self.tools.push(raw.json.clone());
                Ok(())
            }
            (_, ModelVendor::Anthropic) => {
                models::check_legacy_tool_support(tool, self.model.as_deref(), DIALECT)?;
                self.anthropic(tool)
            }
            (Tool::ComputerUse(_) | Tool::Shell(_), _) => {
                self.function_tool(tool);
                Ok(())
            }
            (Tool::CodeInterpreter { .. }, ModelVendor::Amazon) => {
                self.system("nova_code_interpreter");
                Ok(())
            }
            (Tool::Hosted(HostedTool { hosted_type, .. }), ModelVendor::Amazon)
                if hosted_type.starts_with("nova_") =>
            {
                self.system(hosted_type);
                Ok(())
            }
            _ => self.anthropic(tool),
        }
    }

    /// Declares our tools as functions, for models without tools of their own. They are not named
    /// `computer`, which is Anthropic's tool with other actions.
    fn function_tool(&mut self, tool: &Tool) {
        let Some(function) = fallback_tools::declare_function(tool) else {
            return;
        };
        let name = match function.name.as_str() {
            fallback_tools::COMPUTER => extra_tools::COMPUTER,
            fallback_tools::SHELL => extra_tools::SHELL,
            other => other,
        };
        self.tools.push(spec(&json!({
            "name": name,
            "description": function.description,
            "parameters": function.parameters,
        })));
    }

    fn system(&mut self, name: &str) {
        self.tools.push(json!({"systemTool": {"name": name}}));
    }

    fn anthropic_entry(&mut self, json: &Value) -> Result<(), EncodeError> {
        if let Some(toolset) = service_rules::toolset(std::slice::from_ref(json)) {
            return Err(rules::missing(format!(
                "remove {toolset} from the tools; only bedrock-messages supports toolsets"
            )));
        }
        let raw = telechir_protocol::RawTool {
            dialect: anthropic::DIALECT.to_owned(),
            json: json.clone(),
        };
        self.anthropic(&Tool::Raw(raw))
    }

    /// Declares a tool as Anthropic's Messages API does.
    fn anthropic(&mut self, tool: &Tool) -> Result<(), EncodeError> {
        let offer = ToolOffer {
            tools: vec![tool.clone()],
            model: self.model.clone(),
        };
        let newest = anthropic::NEWEST_WITHOUT_TOOLSETS;
        let (declared, report) = anthropic::declare(&offer, newest, &mut end_declaration)
            .map_err(|error| detect::encode_error_as(error, DIALECT))?;
        self.report.absorb(report);
        for entry in &declared.tools {
            self.entry(entry);
        }
        for beta in models::betas(&declared.headers) {
            if !self.betas.contains(&beta) {
                self.betas.push(beta);
            }
        }
        Ok(())
    }

    fn entry(&mut self, entry: &Value) {
        let kind = text_of(entry, "type");
        if entry.get("input_schema").is_some() {
            self.function(entry);
        } else if self.vendor == ModelVendor::Anthropic && is_served(kind) {
            self.model_tools.push(entry.clone());
        } else {
            let why = "Converse does not support it";
            self.report.lost(format!("tool {kind}"), "tools", why);
        }
    }

    fn function(&mut self, entry: &Value) {
        let name = text_of(entry, "name");
        let legal = names::encode_name(name).unwrap_or_else(|| name.to_owned());
        let legal = names::shortened(&legal).unwrap_or(legal);
        if legal.len() < name.len() {
            self.report.preserved(
                format!("function name {name}"),
                "tools",
                "names have at most 64 characters",
                format!("as {legal}"),
            );
        }
        for (setting, value) in entry.as_object().into_iter().flatten() {
            let is_supported = matches!(
                setting.as_str(),
                "name" | "type" | "description" | "input_schema" | "strict" | "cache_control"
            );
            if !is_supported && !value.is_null() {
                let location = format!("tool {name}");
                let why = "a tool has no field for it";
                self.report
                    .lost(format!("setting {setting}"), location, why);
            }
        }
        // For a model without a computer tool, ours already has this name.
        let is_twin = |tool: &&mut Value| tool["toolSpec"]["name"] == extra_tools::COMPUTER;
        if legal == extra_tools::COMPUTER
            && let Some(twin) = self.tools.iter_mut().find(is_twin)
        {
            let schema = &mut twin["toolSpec"]["inputSchema"]["json"];
            return join(schema, &entry["input_schema"]);
        }
        self.tools.push(spec(&json!({
            "name": legal,
            "description": entry.get("description"),
            "parameters": entry.get("input_schema"),
            "strict": entry.get("strict"),
        })));
        if let Some(marker) = entry
            .get("cache_control")
            .filter(|marker| !marker.is_null())
        {
            self.tools.push(super::encode_block::cache_point(marker));
        }
    }
}

/// Adds the actions and properties of a second function's schema to the first.
fn join(schema: &mut Value, second: &Value) {
    let actions = second["properties"]["action"]["enum"].as_array();
    if let Some(first) = schema["properties"]["action"]["enum"].as_array_mut() {
        first.extend(actions.into_iter().flatten().cloned());
    }
    let members = second["properties"].as_object();
    if let Some(first) = schema["properties"].as_object_mut() {
        for (name, member) in members.into_iter().flatten() {
            first.entry(name).or_insert_with(|| member.clone());
        }
    }
}

/// Whether a tool of Anthropic's is executed by the client.
fn is_served(kind: &str) -> bool {
    ["computer_", "bash_", "text_editor_", "memory_"]
        .iter()
        .any(|start| kind.starts_with(start))
}

/// A function as an entry of `toolConfig.tools`.
fn spec(function: &Value) -> Value {
    let mut spec = json!({
        "name": function["name"],
        "inputSchema": {"json": function["parameters"]},
    });
    let description = text_of(function, "description");
    if !description.is_empty() {
        spec["description"] = description.into();
    }
    if function.get("strict") == Some(&Value::Bool(true)) {
        spec["strict"] = true.into();
    }
    json!({"toolSpec": spec})
}

fn unused() -> Value {
    spec(&json!({
        "name": UNUSED,
        "description": "Does nothing. Never call it.",
        "parameters": {"type": "object", "properties": {}},
    }))
}
