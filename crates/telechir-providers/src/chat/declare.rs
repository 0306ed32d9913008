//! Tool declarations for chat completions.

use serde_json::{Map, Value, json};
use telechir_protocol::{ComputerUseTool, HostedTool, RawTool, Tool};

use super::Flavour;
use crate::declaration::{DeclaredFunctions, RefuseTool, add_settings, locate, tool_location};
use crate::fallback_tools::{self, FunctionDeclaration};
use crate::service_rules::FUNCTION_NAME;
use crate::{Declaration, EncodeError, Report, ToolOffer};

/// Tools that Mistral executes itself in chat completions.
const MISTRAL_HOSTED: [&str; 3] = ["image_generation", "document_library", "connector"];

/// Declares tools; no extra headers are needed.
pub(super) fn declare(
    flavour: Flavour,
    offer: &ToolOffer,
    refuse: RefuseTool<'_>,
) -> Result<(Declaration, Report), EncodeError> {
    let hosted: &[&str] = match flavour {
        Flavour::Functions | Flavour::Inline => &[],
        Flavour::Mistral | Flavour::Conversations => &MISTRAL_HOSTED,
    };
    let dialect = flavour.dialect();
    declare_as((dialect, flavour.provider()), hosted, offer, refuse)
}

/// Declares functions under a `function` field, next to the given hosted tool types.
pub(crate) fn declare_as(
    (dialect, provider): (&'static str, &'static str),
    hosted: &[&str],
    offer: &ToolOffer,
    refuse: RefuseTool<'_>,
) -> Result<(Declaration, Report), EncodeError> {
    let mut declarer = FunctionDeclarer {
        dialect,
        provider,
        hosted,
        tools: Vec::new(),
        functions: DeclaredFunctions::default(),
        report: Report::default(),
    };
    for (index, tool) in offer.tools.iter().enumerate() {
        let losses = declarer.report.losses.len();
        let declared = declarer.tool(tool, &tool_location(index));
        locate(&mut declarer.report, losses, index, declared.is_err());
        if let Err(error) = declared {
            refuse(index, error)?;
        }
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
    functions: DeclaredFunctions,
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
                let name = json["function"]["name"].as_str();
                self.functions.add_raw(name, json.clone(), &mut self.tools);
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
        add_settings(&mut tool, additional, self.provider);
        self.tools.push(tool);
    }

    fn function(&mut self, function: FunctionDeclaration, tool: &Tool) -> Result<(), EncodeError> {
        let name = function.name.clone();
        let mut inner = json!({"name": name});
        if let Some(description) = function.description {
            inner["description"] = description.into();
        }
        inner["parameters"] = function.parameters;
        if let Some(additional) = settings_of(tool) {
            add_settings(&mut inner, additional, self.provider);
        }
        let declared = json!({"type": "function", "function": inner});
        let function = (name.as_str(), declared);
        self.functions
            .add(&FUNCTION_NAME, self.dialect, function, &mut self.tools)
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
