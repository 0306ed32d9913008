//! Tool declarations, depending on the model.

use serde_json::{Map, Value, json};
use telechir_protocol::{
    ComputerUseTool, Environment, FunctionTool, HostedTool, RawTool, ShellTool, Tool,
};

use super::models::{self, ModelComputer, ModelShell};
use super::{DIALECT, PROVIDER, rules};
use crate::declaration::{
    DeclaredFunctions, RefuseTool, add_settings, hosted_settings, locate, own_settings,
    tool_location,
};
use crate::extra_tools;
use crate::service_rules::LONG_FUNCTION_NAME;
use crate::{Declaration, EncodeError, Report, ToolOffer};

/// Declares tools for a model; no extra headers are needed.
pub(super) fn declare(
    offer: &ToolOffer,
    refuse: RefuseTool<'_>,
) -> Result<(Declaration, Report), EncodeError> {
    let model = offer.model.as_deref().unwrap_or_default();
    let mut declarer = ToolDeclarer {
        model,
        computer: models::computer(model),
        shell: models::shell(model),
        tools: Vec::new(),
        functions: DeclaredFunctions::default(),
        has_computer: false,
        body: Map::new(),
        report: Report::default(),
    };
    for (index, tool) in offer.tools.iter().enumerate() {
        let (tools, losses) = (declarer.tools.len(), declarer.report.losses.len());
        let has_computer = declarer.has_computer;
        let declared = declarer.tool(tool, &tool_location(index));
        locate(&mut declarer.report, losses, index, declared.is_err());
        if let Err(error) = declared {
            declarer.tools.truncate(tools);
            declarer.has_computer = has_computer;
            refuse(index, error)?;
        }
    }
    let declaration = Declaration {
        tools: declarer.tools,
        body: declarer.body,
        ..Declaration::default()
    };
    Ok((declaration, declarer.report))
}

struct ToolDeclarer<'a> {
    model: &'a str,
    computer: ModelComputer,
    shell: ModelShell,
    tools: Vec<Value>,
    functions: DeclaredFunctions,
    /// Whether the computer tool is among the tools.
    has_computer: bool,
    body: Map<String, Value>,
    report: Report,
}

impl ToolDeclarer<'_> {
    fn tool(&mut self, tool: &Tool, path: &str) -> Result<(), EncodeError> {
        match tool {
            Tool::ComputerUse(tool) => self.computer(tool, path)?,
            Tool::Shell(tool) => self.shell(tool, path)?,
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
                // The models with the shell tool have it.
                "text_editor" if self.shell != ModelShell::Shell => {
                    let why = format!("{} has no file editor", self.model);
                    self.report.lost("a text editor", path, why);
                }
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
                    return Err(EncodeError::missing(DIALECT, problem));
                }
                let kind = json["type"].as_str().unwrap_or_default();
                self.has_computer |= matches!(kind, "computer" | "computer_use_preview");
                let name = json["name"].as_str().filter(|_| kind == "function");
                self.functions.add_raw(name, json.clone(), &mut self.tools);
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
        match self.computer {
            ModelComputer::Preview => return self.preview(tool, path),
            ModelComputer::Missing if !in_browser => {
                let problem = format!(
                    "{} has no computer tool; choose a model from gpt-5.4 on, or the dialect functions \
                     ({path})",
                    self.model
                );
                return Err(EncodeError::missing(DIALECT, problem));
            }
            ModelComputer::Missing => {}
            ModelComputer::Computer => {
                if !std::mem::replace(&mut self.has_computer, true) {
                    self.tools.push(json!({"type": "computer"}));
                }
            }
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
        if own_settings(&tool.additional_properties, PROVIDER)
            .next()
            .is_some()
        {
            self.report.lost(
                "settings of the computer tool",
                path,
                "the computer tool has no other parameters",
            );
        }
        Ok(())
    }

    fn preview(&mut self, tool: &ComputerUseTool, path: &str) -> Result<(), EncodeError> {
        let missing = |what: &str| {
            let problem = format!("computer_use_preview requires the display's {what} ({path})");
            EncodeError::missing(DIALECT, problem)
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
        add_settings(&mut declared, &tool.additional_properties, PROVIDER);
        if std::mem::replace(&mut self.has_computer, true) {
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

    fn shell(&mut self, tool: &ShellTool, path: &str) -> Result<(), EncodeError> {
        let declared = match self.shell {
            ModelShell::Shell => Some(json!({"type": "shell", "environment": {"type": "local"}})),
            ModelShell::LocalShell => Some(json!({"type": "local_shell"})),
            ModelShell::Functions => {
                let why = format!("{} has no shell tool", self.model);
                let how = "as the function shell_session, which starts commands";
                self.report.preserved("a shell", path, why, how);
                None
            }
        };
        if let Some(mut declared) = declared {
            add_settings(&mut declared, &tool.additional_properties, PROVIDER);
            self.tools.push(declared);
        }
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
        add_settings(&mut declared, &tool.additional_properties, PROVIDER);
        self.add_function(declared)
    }

    fn add_function(&mut self, function: Value) -> Result<(), EncodeError> {
        let name = function["name"].as_str().unwrap_or_default().to_owned();
        let function = (name.as_str(), function);
        let rule = &LONG_FUNCTION_NAME;
        self.functions.add(rule, DIALECT, function, &mut self.tools)
    }
}
