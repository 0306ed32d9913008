//! Tool declarations for chat completions.

use serde_json::{Map, Value, json};
use telechir_protocol::{ComputerUseTool, HostedTool, RawTool, Tool};

use super::Flavour;
use crate::fallback_tools::{self, FunctionDeclaration};
use crate::json::Fields;
use crate::{Declaration, EncodeError, Report, ToolOffer};

/// Maximum length of a function name in characters.
const MAX_NAME_CHARS: usize = 64;

/// Tools that Mistral executes itself in chat completions.
const MISTRAL_HOSTED: [&str; 3] = ["image_generation", "document_library", "connector"];

/// Declares tools; no extra headers are needed.
pub(super) fn declare(
    flavour: Flavour,
    offer: &ToolOffer,
) -> Result<(Declaration, Report), EncodeError> {
    let hosted: &[&str] = match flavour {
        Flavour::Functions | Flavour::Inline => &[],
        Flavour::Mistral | Flavour::Conversations => &MISTRAL_HOSTED,
    };
    declare_as(flavour.dialect(), flavour.provider(), hosted, offer)
}

/// Declares functions under a `function` field, next to the given hosted tool types.
pub(crate) fn declare_as(
    dialect: &'static str,
    provider: &'static str,
    hosted: &[&str],
    offer: &ToolOffer,
) -> Result<(Declaration, Report), EncodeError> {
    let mut declarer = FunctionDeclarer {
        dialect,
        provider,
        hosted,
        tools: Vec::new(),
        report: Report::default(),
    };
    for (index, tool) in offer.tools.iter().enumerate() {
        declarer.tool(tool, &format!("tools[{index}]"))?;
    }
    let declaration = Declaration {
        tools: declarer.tools,
        ..Declaration::default()
    };
    Ok((declaration, declarer.report))
}

struct FunctionDeclarer<'a> {
    dialect: &'static str,
    provider: &'static str,
    hosted: &'a [&'a str],
    tools: Vec<Value>,
    report: Report,
}

impl FunctionDeclarer<'_> {
    fn tool(&mut self, tool: &Tool, path: &str) -> Result<(), EncodeError> {
        if let Some(function) = fallback_tools::declare_function(tool) {
            if let Tool::ComputerUse(tool) = tool {
                self.note_screen(tool, path);
            }
            return self.function(function, tool);
        }
        match tool {
            Tool::ImageGeneration {
                additional_properties,
            } => self.hosted_tool("image_generation", additional_properties, path),
            Tool::CodeInterpreter {
                additional_properties,
            } => self.hosted_tool("code_interpreter", additional_properties, path),
            Tool::Hosted(HostedTool {
                hosted_type,
                additional_properties,
            }) => self.hosted_tool(hosted_type, additional_properties, path),
            Tool::Raw(RawTool { dialect, json }) if dialect == self.dialect => {
                self.tools.push(json.clone());
            }
            Tool::Raw(RawTool { dialect, .. }) => {
                let what = format!("a raw tool of {dialect}");
                self.report
                    .lost(what, path, "it belongs to another dialect");
            }
            Tool::ComputerUse(_) | Tool::Shell(_) | Tool::Function(_) => {}
        }
        Ok(())
    }

    fn note_screen(&mut self, tool: &ComputerUseTool, path: &str) {
        if tool.display_width.is_some() && tool.display_height.is_some() {
            let how = "in the function's description";
            self.report.preserved(
                "display size",
                path,
                "functions have no size parameter",
                how,
            );
        }
    }

    /// Declares a tool executed by the provider, if the provider offers it.
    fn hosted_tool(&mut self, kind: &str, additional: &Map<String, Value>, path: &str) {
        if !self.hosted.contains(&kind) {
            let why = "the dialect supports only functions";
            return self.report.lost(format!("tool `{kind}`"), path, why);
        }
        let mut tool = json!({"type": kind});
        add_settings(&mut tool, self.provider, additional);
        self.tools.push(tool);
    }

    fn function(&mut self, function: FunctionDeclaration, tool: &Tool) -> Result<(), EncodeError> {
        let name = function.name.clone();
        let refused = |problem: String| {
            Err(EncodeError::Missing {
                dialect: self.dialect,
                problem,
            })
        };
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > MAX_NAME_CHARS || !name.chars().all(allowed) {
            return refused(format!(
                "invalid function name `{name}`: expected 1 to {MAX_NAME_CHARS} letters, digits, `_` or `-`"
            ));
        }
        let mut inner = json!({"name": name});
        if let Some(description) = function.description {
            inner["description"] = description.into();
        }
        inner["parameters"] = function.parameters;
        if let Some(additional) = settings_of(tool) {
            add_settings(&mut inner, self.provider, additional);
        }
        let declared = json!({"type": "function", "function": inner});
        if self.tools.contains(&declared) {
            return Ok(());
        }
        if self
            .tools
            .iter()
            .any(|tool| tool["function"]["name"] == name.as_str())
        {
            return refused(format!(
                "duplicate function name `{name}`; names must be unique"
            ));
        }
        self.tools.push(declared);
        Ok(())
    }
}

fn settings_of(tool: &Tool) -> Option<&Map<String, Value>> {
    match tool {
        Tool::ComputerUse(tool) => Some(&tool.additional_properties),
        Tool::Shell(tool) => Some(&tool.additional_properties),
        Tool::Function(tool) => Some(&tool.additional_properties),
        Tool::Hosted(tool) => Some(&tool.additional_properties),
        Tool::ImageGeneration { .. } | Tool::CodeInterpreter { .. } | Tool::Raw(_) => None,
    }
}

/// Adds this provider's entries of the additional properties.
fn add_settings(declared: &mut Value, provider: &str, additional: &Fields) {
    let settings = additional.get(provider).and_then(Value::as_object);
    for (name, value) in settings.into_iter().flatten() {
        declared[name.as_str()] = value.clone();
    }
}
