//! Tool declarations, depending on the model.

use serde_json::{Map, Value, json};
use telechir_protocol::{
    ComputerUseTool, Environment, FunctionTool, HostedTool, RawTool, ShellTool, Tool,
};

use super::{DIALECT, PROVIDER, rules};
use crate::declaration::hosted_settings;
use crate::extra_tools;
use crate::{Declaration, EncodeError, Report, ToolOffer};

/// Declares tools for a model; no extra headers are needed.
pub(super) fn declare(offer: &ToolOffer) -> Result<(Declaration, Report), EncodeError> {
    let model = offer.model.as_deref().unwrap_or_default();
    let mut declarer = ToolDeclarer {
        preview: model.starts_with("computer-use-preview"),
        local_shell: model.starts_with("codex-mini-latest"),
        tools: Vec::new(),
        body: Map::new(),
        report: Report::default(),
    };
    for (index, tool) in offer.tools.iter().enumerate() {
        declarer.tool(tool, &format!("tools[{index}]"))?;
    }
    let declaration = Declaration {
        tools: declarer.tools,
        body: declarer.body,
        ..Declaration::default()
    };
    Ok((declaration, declarer.report))
}

struct ToolDeclarer {
    /// The model accepts only `computer_use_preview`.
    preview: bool,
    /// The model accepts only `local_shell`.
    local_shell: bool,
    tools: Vec<Value>,
    body: Map<String, Value>,
    report: Report,
}

impl ToolDeclarer {
    fn tool(&mut self, tool: &Tool, path: &str) -> Result<(), EncodeError> {
        match tool {
            Tool::ComputerUse(tool) => self.computer(tool, path)?,
            Tool::Shell(tool) => self.shell(tool)?,
            Tool::ImageGeneration {
                additional_properties,
            } => {
                self.hosted("image_generation", Map::new(), additional_properties);
            }
            Tool::CodeInterpreter {
                additional_properties,
            } => {
                let container = Map::from_iter([("container".to_owned(), json!({"type": "auto"}))]);
                self.hosted("code_interpreter", container, additional_properties);
            }
            Tool::Hosted(HostedTool {
                hosted_type,
                additional_properties,
            }) => match hosted_type.as_str() {
                "text_editor" => self.hosted("apply_patch", Map::new(), additional_properties),
                "memory" => {
                    let why = "the provider has no such tool";
                    self.report.lost("a memory tool", path, why);
                }
                kind => self.hosted(kind, Map::new(), additional_properties),
            },
            Tool::Function(tool) => self.function(tool)?,
            Tool::Raw(RawTool { dialect, json }) if dialect == DIALECT => {
                if let Some(problem) = json.as_object().and_then(rules::refused_tool) {
                    let problem = format!("{path}: {problem}");
                    let dialect = DIALECT;
                    return Err(EncodeError::Missing { dialect, problem });
                }
                self.tools.push(json.clone());
            }
            Tool::Raw(RawTool { dialect, .. }) => {
                self.report.lost(
                    format!("a raw tool of {dialect}"),
                    path,
                    "it belongs to another dialect",
                );
            }
        }
        Ok(())
    }

    fn computer(&mut self, tool: &ComputerUseTool, path: &str) -> Result<(), EncodeError> {
        let in_browser = tool.environment == Some(Environment::Browser);
        if !tool.excluded_actions.is_empty() {
            let names = tool.excluded_actions.join(", ");
            let why = "the computer tool cannot exclude actions";
            self.report
                .lost(format!("excluded actions {names}"), path, why);
        }
        if self.preview {
            return self.preview(tool, path);
        }
        let computer = json!({"type": "computer"});
        if !self.tools.contains(&computer) {
            self.tools.push(computer);
        }
        if tool.display_width.is_some() || tool.display_height.is_some() {
            let how = "as the size of the screenshots";
            self.report.preserved(
                "display size",
                path,
                "the computer tool has no size parameter",
                how,
            );
        }
        if in_browser {
            self.add_function(extra_tools::browser_tool(&tool.excluded_actions))?;
        } else if let Some(environment) = &tool.environment {
            self.report.lost(
                format!("environment `{}`", environment.name()),
                path,
                "the computer tool has no environment parameter",
            );
        }
        if settings(&tool.additional_properties).next().is_some() {
            self.report.lost(
                "settings of the computer tool",
                path,
                "the computer tool has no other parameters",
            );
        }
        Ok(())
    }

    fn preview(&mut self, tool: &ComputerUseTool, path: &str) -> Result<(), EncodeError> {
        let missing = |what: &str| EncodeError::Missing {
            dialect: DIALECT,
            problem: format!("computer_use_preview requires the display's {what} ({path})"),
        };
        let environment = match tool
            .environment
            .as_ref()
            .ok_or_else(|| missing("environment"))?
        {
            Environment::Browser => "browser",
            Environment::Mac => "mac",
            Environment::Windows => "windows",
            Environment::Linux => "linux",
            Environment::Mobile => "mobile",
            Environment::Other(name) => name,
        };
        let mut declared = json!({
            "type": "computer_use_preview",
            "display_width": tool.display_width.ok_or_else(|| missing("width"))?,
            "display_height": tool.display_height.ok_or_else(|| missing("height"))?,
            "environment": environment,
        });
        add_settings(&mut declared, &tool.additional_properties);
        if self
            .tools
            .iter()
            .any(|tool| tool["type"] == "computer_use_preview")
        {
            self.report.lost(
                "a second screen",
                path,
                "computer_use_preview supports one screen",
            );
            return Ok(());
        }
        self.tools.push(declared);
        // Required by the tool.
        self.body.insert("truncation".to_owned(), "auto".into());
        Ok(())
    }

    fn shell(&mut self, tool: &ShellTool) -> Result<(), EncodeError> {
        let mut declared = if self.local_shell {
            json!({"type": "local_shell"})
        } else {
            json!({"type": "shell", "environment": {"type": "local"}})
        };
        add_settings(&mut declared, &tool.additional_properties);
        self.tools.push(declared);
        self.add_function(extra_tools::shell_tool())
    }

    fn hosted(&mut self, kind: &str, members: Map<String, Value>, additional: &Map<String, Value>) {
        let mut declared = json!({"type": kind});
        if let Some(declared) = declared.as_object_mut() {
            declared.extend(members);
            declared.extend(hosted_settings(additional, PROVIDER));
        }
        self.tools.push(declared);
    }

    /// `strict` is always set: if it is absent, the provider tries strict mode first.
    fn function(&mut self, tool: &FunctionTool) -> Result<(), EncodeError> {
        let mut declared = json!({"type": "function", "name": tool.name});
        if let Some(description) = &tool.description {
            declared["description"] = description.as_str().into();
        }
        declared["parameters"] = tool.parameters.clone();
        declared["strict"] = false.into();
        add_settings(&mut declared, &tool.additional_properties);
        self.add_function(declared)
    }

    fn add_function(&mut self, function: Value) -> Result<(), EncodeError> {
        let refused = |problem: String| {
            Err(EncodeError::Missing {
                dialect: DIALECT,
                problem,
            })
        };
        let name = function["name"].as_str().unwrap_or_default();
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > 128 || !name.chars().all(allowed) {
            return refused(format!(
                "invalid function name `{name}`: expected 1 to 128 letters, digits, `_` or `-`"
            ));
        }
        if self.tools.contains(&function) {
            return Ok(());
        }
        if self
            .tools
            .iter()
            .any(|tool| tool["type"] == "function" && tool["name"] == name)
        {
            return refused(format!(
                "duplicate function name `{name}`; names must be unique"
            ));
        }
        self.tools.push(function);
        Ok(())
    }
}

/// This provider's entries of the additional properties.
fn settings(additional: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    additional
        .get(PROVIDER)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

fn add_settings(declared: &mut Value, additional: &Map<String, Value>) {
    for (name, value) in settings(additional) {
        declared[name.as_str()] = value.clone();
    }
}
