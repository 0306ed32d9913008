//! Tool declarations: an entry per tool in the version the model accepts, and the headers.

mod hosted;

use serde_json::{Map, Value, json};
use telechir_protocol::{ComputerUseTool, Environment, FunctionTool, Tool};

use super::media::missing;
use super::models::{self, OCTOBER_2024_BETA, ToolVersion};
use super::{DIALECT, PROVIDER};
use crate::declaration::{RefuseTool, hosted_settings, locate, own_settings};
use crate::extra_tools;
use crate::json::{Fields as Block, text};
use crate::service_rules::NEWEST_ANTHROPIC_VERSION;
use crate::{Declaration, EncodeError, Report, ToolOffer};

const BROWSER_TOOLSET: &str = "browser_toolset_20260801";

pub(crate) const COMPUTER_MEMBERS: [&str; 17] = [
    "screenshot",
    "zoom",
    "left_click",
    "right_click",
    "middle_click",
    "double_click",
    "triple_click",
    "left_click_drag",
    "mouse_move",
    "left_mouse_down",
    "left_mouse_up",
    "cursor_position",
    "scroll",
    "type",
    "key",
    "hold_key",
    "wait",
];
pub(crate) const BROWSER_MEMBERS: [&str; 31] = [
    "navigate",
    "list_tabs",
    "new_tab",
    "switch_tab",
    "close_tab",
    "read_page",
    "get_page_text",
    "read_console",
    "read_network",
    "find",
    "form_input",
    "file_upload",
    "scroll_to",
    "screenshot",
    "zoom",
    "left_click",
    "right_click",
    "middle_click",
    "double_click",
    "triple_click",
    "hover",
    "left_click_drag",
    "left_mouse_down",
    "left_mouse_up",
    "mouse_move",
    "scroll",
    "type",
    "key",
    "hold_key",
    "wait",
    "javascript_exec",
];

/// Declares the offered tools in the version `newest` or an older one.
pub(crate) fn declare(
    offer: &ToolOffer,
    newest: ToolVersion,
    refuse: RefuseTool<'_>,
) -> Result<(Declaration, Report), EncodeError> {
    let mut declaring = AnthropicDeclarationBuilder {
        version: models::version(offer.model.as_deref()).map(|version| version.min(newest)),
        model: offer.model.as_deref().unwrap_or_default(),
        tools: Vec::new(),
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
    let AnthropicDeclarationBuilder {
        tools,
        betas,
        report,
        ..
    } = declaring;
    let mut headers = vec![(
        "anthropic-version".to_owned(),
        NEWEST_ANTHROPIC_VERSION.to_owned(),
    )];
    if !betas.is_empty() {
        headers.push(("anthropic-beta".to_owned(), betas.join(",")));
    }
    let declaration = Declaration {
        tools,
        headers,
        ..Declaration::default()
    };
    Ok((declaration, report))
}

struct AnthropicDeclarationBuilder<'a> {
    version: Option<ToolVersion>,
    model: &'a str,
    tools: Vec<Value>,
    betas: Vec<&'static str>,
    report: Report,
}

impl AnthropicDeclarationBuilder<'_> {
    fn tool(&mut self, tool: &Tool) -> Result<(), EncodeError> {
        match tool {
            Tool::ComputerUse(tool) if tool.environment == Some(Environment::Browser) => {
                self.browser(tool)?
            }
            Tool::ComputerUse(tool) => self.computer(tool)?,
            Tool::Shell(tool) => {
                let is_first = self.version == Some(ToolVersion::October2024);
                let kind = if is_first {
                    "bash_20241022"
                } else {
                    "bash_20250124"
                };
                if is_first {
                    self.beta(OCTOBER_2024_BETA);
                }
                let entry = Map::from_iter([
                    ("type".to_owned(), json!(kind)),
                    ("name".to_owned(), json!("bash")),
                ]);
                self.add(entry, &tool.additional_properties, CLIENT_TOOL);
                self.companion(extra_tools::shell_tool(), &Map::new());
            }
            Tool::Function(tool) => self.function(tool),
            Tool::CodeInterpreter {
                additional_properties,
            } => self.hosted("code_execution", additional_properties),
            Tool::Hosted(tool) => self.hosted(&tool.hosted_type, &tool.additional_properties),
            Tool::ImageGeneration { .. } => self.report_unavailable("image_generation"),
            Tool::Raw(tool) if tool.dialect == DIALECT => {
                if let Some(problem) = tool.json.as_object().and_then(rejection) {
                    return Err(missing(problem));
                }
                let kind = tool.json.get("type").and_then(Value::as_str);
                kind.and_then(models::beta)
                    .into_iter()
                    .for_each(|beta| self.beta(beta));
                self.tools.push(tool.json.clone());
            }
            Tool::Raw(tool) => self.report.lost(
                format!("a raw tool of {}", tool.dialect),
                "tools",
                "it is in another dialect's format",
            ),
        }
        Ok(())
    }

    fn report_unavailable(&mut self, what: &str) {
        self.report.lost(
            format!("tool {what}"),
            "tools",
            "the provider has no such tool",
        );
    }

    fn beta(&mut self, beta: &'static str) {
        if !self.betas.contains(&beta) {
            self.betas.push(beta);
        }
    }

    fn needed_version(&self) -> Result<ToolVersion, EncodeError> {
        self.version.ok_or_else(|| {
            missing(format!(
                "use a model with a computer tool; {} has none",
                self.model
            ))
        })
    }

    fn computer(&mut self, tool: &ComputerUseTool) -> Result<(), EncodeError> {
        let version = self.needed_version()?;
        let mut entry = Map::from_iter([("type".to_owned(), json!(version.computer_type()))]);
        if version == ToolVersion::Toolset {
            self.configs(&mut entry, tool, &COMPUTER_MEMBERS)?;
            self.add(entry, &tool.additional_properties, TOOLSET);
            return Ok(());
        }
        let size = tool.display_width.zip(tool.display_height);
        let Some((width, height)) = size else {
            return Err(missing(format!(
                "set the display's width and height; {} requires them",
                version.computer_type()
            )));
        };
        entry.insert("name".to_owned(), json!("computer"));
        entry.insert("display_width_px".to_owned(), width.into());
        entry.insert("display_height_px".to_owned(), height.into());
        let mut allowed = vec!["display_number"];
        if version == ToolVersion::November2025 {
            allowed.push("enable_zoom");
            entry.insert(
                "enable_zoom".to_owned(),
                (!tool.excluded_actions.iter().any(|name| name == "zoom")).into(),
            );
        }
        for name in tool.excluded_actions.iter().filter(|name| *name != "zoom") {
            self.report.lost(
                format!("exclusion of {name}"),
                "computer tool",
                "this tool version cannot exclude actions",
            );
        }
        version.beta().into_iter().for_each(|beta| self.beta(beta));
        allowed.extend(CLIENT_TOOL);
        self.add(entry, &tool.additional_properties, &allowed);
        Ok(())
    }

    fn browser(&mut self, tool: &ComputerUseTool) -> Result<(), EncodeError> {
        if self.version == Some(ToolVersion::Toolset) {
            let mut entry = Map::from_iter([("type".to_owned(), json!(BROWSER_TOOLSET))]);
            self.configs(&mut entry, tool, &BROWSER_MEMBERS)?;
            self.add(entry, &tool.additional_properties, TOOLSET);
            return Ok(());
        }
        let function = extra_tools::browser_tool(&tool.excluded_actions);
        self.companion(function, &tool.additional_properties);
        Ok(())
    }

    /// Adds one of our function tools in this provider's format.
    fn companion(&mut self, mut function: Value, settings: &Map<String, Value>) {
        let entry = Map::from_iter([
            ("name".to_owned(), function["name"].take()),
            ("description".to_owned(), function["description"].take()),
            ("input_schema".to_owned(), function["parameters"].take()),
        ]);
        self.add(entry, settings, CLIENT_TOOL);
    }

    /// Adds `configs` for the excluded actions and the caller's own `configs`.
    fn configs(
        &mut self,
        entry: &mut Block,
        tool: &ComputerUseTool,
        members: &[&str],
    ) -> Result<(), EncodeError> {
        let mut configs = Map::new();
        for name in &tool.excluded_actions {
            let excluded = members_of(name, members);
            if excluded.is_empty() {
                self.report.lost(
                    format!("exclusion of {name}"),
                    "toolset",
                    "the toolset has no such member",
                );
            }
            configs.extend(
                excluded
                    .into_iter()
                    .map(|member| (member.to_owned(), json!({"enabled": false}))),
            );
        }
        let own = tool
            .additional_properties
            .get(PROVIDER)
            .and_then(|own| own.get("configs"));
        for (name, config) in own.and_then(Value::as_object).into_iter().flatten() {
            if !configs.contains_key(name) {
                configs.insert(name.clone(), config.clone());
            }
        }
        if !configs.is_empty() {
            entry.insert("configs".to_owned(), Value::Object(configs));
        }
        rejection(entry).map_or(Ok(()), |problem| Err(missing(problem)))
    }

    fn function(&mut self, tool: &FunctionTool) {
        let mut entry = Map::from_iter([("name".to_owned(), json!(tool.name))]);
        entry.extend(
            tool.description
                .as_ref()
                .map(|description| ("description".to_owned(), json!(description))),
        );
        entry.insert("input_schema".to_owned(), tool.parameters.clone());
        self.add(entry, &tool.additional_properties, FUNCTION);
    }

    /// Adds a tool that the provider defines; a type without a date means its newest version.
    fn hosted(&mut self, kind: &str, settings: &Map<String, Value>) {
        let kind = match kind {
            "text_editor" => models::text_editor(self.model),
            kind => kind,
        };
        let Some((dated, name)) = hosted::named(kind) else {
            return self.report_unavailable(kind);
        };
        models::beta(dated)
            .into_iter()
            .for_each(|beta| self.beta(beta));
        let mut entry = Map::from_iter([("type".to_owned(), json!(dated))]);
        entry.extend(name.map(|name| ("name".to_owned(), json!(name))));
        entry.extend(hosted_settings(settings, PROVIDER));
        self.tools.push(Value::Object(entry));
    }

    /// Adds an entry with the caller's settings that it supports.
    fn add(&mut self, mut entry: Block, settings: &Map<String, Value>, allowed: &[&str]) {
        for (name, value) in own_settings(settings, PROVIDER) {
            if allowed.contains(&name.as_str()) {
                entry.entry(name.clone()).or_insert_with(|| value.clone());
            } else if name != "configs" || !entry.contains_key("configs") {
                let kind = text(&entry, "type")
                    .or_else(|| text(&entry, "name"))
                    .unwrap_or_default();
                self.report.lost(
                    format!("setting {name}"),
                    format!("tool {kind}"),
                    "the provider rejects it for this tool",
                );
            }
        }
        self.tools.push(Value::Object(entry));
    }
}

const TOOLSET: &[&str] = &["configs", "cache_control"];
const CLIENT_TOOL: &[&str] = &[
    "cache_control",
    "defer_loading",
    "strict",
    "input_examples",
    "allowed_callers",
];
const FUNCTION: &[&str] = &[
    "cache_control",
    "defer_loading",
    "strict",
    "input_examples",
    "allowed_callers",
    "eager_input_streaming",
    "type",
];

/// The toolset members of an excluded action: its own name, or all that a neutral name covers.
fn members_of<'a>(action: &str, members: &[&'a str]) -> Vec<&'a str> {
    let covered: &[&str] = match action {
        "click" => &[
            "left_click",
            "right_click",
            "middle_click",
            "double_click",
            "triple_click",
        ],
        "move" => &["mouse_move"],
        "mouse_down" => &["left_mouse_down"],
        "mouse_up" => &["left_mouse_up"],
        "drag" => &["left_click_drag"],
        "page_text" => &["get_page_text"],
        "javascript" => &["javascript_exec"],
        other => &[other],
    };
    members
        .iter()
        .copied()
        .filter(|member| covered.contains(member))
        .collect()
}

/// Why the provider would reject a toolset entry; none if it is valid.
pub(super) fn rejection(entry: &Block) -> Option<String> {
    let kind = text(entry, "type")?;
    let members: &[&str] = match kind {
        BROWSER_TOOLSET => &BROWSER_MEMBERS,
        "computer_toolset_20260801" => &COMPUTER_MEMBERS,
        _ => return None,
    };
    let allowed = ["type", "configs", "cache_control", "allowed_callers"];
    if let Some(odd) = entry.keys().find(|name| !allowed.contains(&name.as_str())) {
        return Some(format!(
            "remove `{odd}` from {kind}; the toolset rejects it"
        ));
    }
    let configs = match entry.get("configs") {
        None | Some(Value::Null) => return None,
        Some(Value::Object(configs)) => configs,
        Some(_) => return Some(format!("`configs` of {kind} must be an object")),
    };
    for (name, config) in configs {
        if !members.contains(&name.as_str()) {
            return Some(format!(
                "remove `{name}` from the configs of {kind}; it is not a member of the toolset"
            ));
        }
        let odd = config
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name);
        if let Some(odd) = odd
            .into_iter()
            .find(|name| !matches!(name.as_str(), "enabled" | "defer_loading"))
        {
            return Some(format!(
                "remove `{odd}` from the config of `{name}` in {kind}"
            ));
        }
    }
    let off = |member: &&&str| {
        configs
            .get(**member)
            .is_some_and(|config| config.get("enabled") == Some(&Value::Bool(false)))
    };
    let all_off = members.iter().filter(off).count() == members.len();
    all_off.then(|| format!("enable at least one member of {kind}"))
}
