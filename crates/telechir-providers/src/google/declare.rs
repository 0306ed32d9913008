//! Encodes tool declarations for the two APIs.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use telechir_protocol::{ComputerUseTool, Environment, FunctionTool, RawTool, Tool};

use super::functions::{FunctionVocabulary, ToolEnvironment, excluded};
use super::{PROVIDER, generate, interactions};
use crate::declaration::{DeclaredFunctions, RefuseTool, locate, own_settings, tool_location};
use crate::service_rules::GOOGLE_FUNCTION_NAME;
use crate::{Declaration, EncodeError, Report, ToolOffer, extra_tools, fallback_tools};

/// Which of the two APIs a declaration is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeclarationStyle {
    /// `generateContent`: a field's name identifies the tool.
    Parts,
    /// Interactions: a `type` identifies the tool.
    Steps,
}

/// Page actions without a predefined function.
const PAGE_ONLY: [&str; 6] = [
    "reload",
    "page_text",
    "list_tabs",
    "new_tab",
    "switch_tab",
    "close_tab",
];

/// Functions that one tool has at most.
const MAX_FUNCTIONS: usize = 512;

/// Encodes tool declarations for a model. They require no headers.
pub(super) fn declare(
    offer: &ToolOffer,
    style: DeclarationStyle,
    refuse: RefuseTool<'_>,
) -> Result<(Declaration, Report), EncodeError> {
    let has_desktop = offer
        .tools
        .iter()
        .any(|tool| matches!(tool, Tool::ComputerUse(tool) if ToolEnvironment::of(tool) != ToolEnvironment::Browser));
    let mut declarer = GoogleDeclarer {
        style,
        vocabulary: FunctionVocabulary::of_model(offer.model.as_deref()),
        has_desktop,
        has_computer: false,
        tools: Vec::new(),
        hosted: HashSet::new(),
        functions: Vec::new(),
        names: DeclaredFunctions::default(),
        report: Report::default(),
    };
    for (index, tool) in offer.tools.iter().enumerate() {
        let (tools, losses) = (declarer.tools.len(), declarer.report.losses.len());
        let declared = declarer.tool(tool, &tool_location(index));
        locate(&mut declarer.report, losses, index, declared.is_err());
        if let Err(error) = declared {
            declarer.tools.truncate(tools);
            refuse(index, error)?;
        }
    }
    let mut tools = declarer.tools;
    match style {
        DeclarationStyle::Parts if !declarer.functions.is_empty() => {
            tools.push(json!({"functionDeclarations": declarer.functions}));
        }
        DeclarationStyle::Parts => {}
        DeclarationStyle::Steps => tools.extend(declarer.functions),
    }
    let headers = Vec::new();
    let declaration = Declaration {
        tools,
        headers,
        ..Declaration::default()
    };
    Ok((declaration, declarer.report))
}

struct GoogleDeclarer {
    style: DeclarationStyle,
    vocabulary: FunctionVocabulary,
    /// The computer tool is for a desktop or a mobile device, so the browser is one of our
    /// functions.
    has_desktop: bool,
    has_computer: bool,
    tools: Vec<Value>,
    /// Those of the tools that the provider executes.
    hosted: HashSet<Value>,
    functions: Vec<Value>,
    names: DeclaredFunctions,
    report: Report,
}

impl GoogleDeclarer {
    fn dialect(&self) -> &'static str {
        match self.style {
            DeclarationStyle::Parts => generate::DIALECT,
            DeclarationStyle::Steps => interactions::DIALECT,
        }
    }

    fn tool(&mut self, tool: &Tool, location: &str) -> Result<(), EncodeError> {
        match tool {
            Tool::ComputerUse(tool) => self.computer(tool, location)?,
            Tool::ImageGeneration { .. } => {
                let why = "there is no such tool; image models generate images instead";
                self.report.lost("image generation", location, why);
            }
            Tool::CodeInterpreter {
                additional_properties,
            } => self.hosted("code_execution", additional_properties),
            Tool::Hosted(tool) => {
                let settings = &tool.additional_properties;
                match fallback_tools::declare_function(&Tool::Hosted(tool.clone())) {
                    Some(function) => self.function(
                        &function.name,
                        function.description.as_deref(),
                        &function.parameters,
                        settings,
                    )?,
                    None => self.hosted(hosted_name(&tool.hosted_type), settings),
                }
            }
            Tool::Shell(shell) => {
                if let Some(function) = fallback_tools::declare_function(tool) {
                    let settings = &shell.additional_properties;
                    self.function(
                        &function.name,
                        function.description.as_deref(),
                        &function.parameters,
                        settings,
                    )?;
                }
            }
            Tool::Function(FunctionTool {
                name,
                description,
                parameters,
                additional_properties,
                ..
            }) => self.function(
                name,
                description.as_deref(),
                parameters,
                additional_properties,
            )?,
            Tool::Raw(RawTool { dialect, json }) if dialect == self.dialect() => {
                self.tools.push(json.clone());
            }
            Tool::Raw(RawTool { dialect, .. }) => {
                let what = format!("a tool in the format of {dialect}");
                self.report
                    .lost(what, location, "it belongs to another dialect");
            }
        }
        Ok(())
    }

    fn computer(&mut self, tool: &ComputerUseTool, location: &str) -> Result<(), EncodeError> {
        let environment = ToolEnvironment::of(tool);
        let is_browser = environment == ToolEnvironment::Browser;
        if is_browser && self.has_desktop {
            return self.browser_function(&tool.excluded_actions);
        }
        if self.has_computer {
            let why = "there is one computer tool with one environment";
            self.report.lost("a second screen", location, why);
            return Ok(());
        }
        self.has_computer = true;
        if tool.display_width.is_some() || tool.display_height.is_some() {
            let why = "the tool has no size";
            let how = "as the size of the screenshots";
            self.report.preserved("display size", location, why, how);
        }
        if self.vocabulary == FunctionVocabulary::Legacy && !is_browser {
            let why = "this model has only browser functions";
            self.report.preserved(
                "a desktop",
                location,
                why,
                "as an environment that the model does not know",
            );
        }
        if let Some(environment @ (Environment::Mac | Environment::Windows | Environment::Linux)) =
            &tool.environment
        {
            let what = format!("environment `{}`", environment.name());
            let why = "the desktop environment does not name a system";
            self.report.preserved(what, location, why, "as a desktop");
        }
        let exclusions = self.exclusions(tool, environment, location);
        let declared = self.computer_tool(environment, exclusions, tool);
        self.tools.push(declared);
        if is_browser {
            let offered =
                extra_tools::browser_tool(&[])["parameters"]["properties"]["action"]["enum"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
            let mut excluded = tool.excluded_actions.clone();
            let native = offered.iter().filter_map(Value::as_str);
            excluded.extend(
                native
                    .filter(|action| !PAGE_ONLY.contains(action))
                    .map(str::to_owned),
            );
            return self.browser_function(&excluded);
        }
        Ok(())
    }

    fn computer_tool(
        &self,
        environment: ToolEnvironment,
        exclusions: Vec<Value>,
        tool: &ComputerUseTool,
    ) -> Value {
        let (environment, list) = match self.style {
            DeclarationStyle::Parts => (
                format!("ENVIRONMENT_{}", environment.name().to_uppercase()),
                "excludedPredefinedFunctions",
            ),
            DeclarationStyle::Steps => (
                environment.name().to_owned(),
                "excluded_predefined_functions",
            ),
        };
        let mut members = Map::new();
        members.insert("environment".to_owned(), environment.into());
        for (name, value) in own_settings(&tool.additional_properties, PROVIDER) {
            let name = match self.style {
                DeclarationStyle::Parts => camel(name),
                DeclarationStyle::Steps => super::snake(name),
            };
            members.insert(name, value.clone());
        }
        if !exclusions.is_empty() {
            let all = members
                .entry(list)
                .or_insert_with(|| Value::Array(Vec::new()));
            if let Some(all) = all.as_array_mut() {
                let is_new = |name: &Value| !all.contains(name);
                let added: Vec<Value> = exclusions.into_iter().filter(is_new).collect();
                all.extend(added);
            }
        }
        match self.style {
            DeclarationStyle::Parts => json!({"computerUse": members}),
            DeclarationStyle::Steps => {
                let mut declared = json!({"type": "computer_use"});
                if let Some(declared) = declared.as_object_mut() {
                    declared.extend(members);
                }
                declared
            }
        }
    }

    /// The predefined functions to exclude for the tool's excluded actions.
    fn exclusions(
        &mut self,
        tool: &ComputerUseTool,
        environment: ToolEnvironment,
        location: &str,
    ) -> Vec<Value> {
        let mut names: Vec<Value> = Vec::new();
        for action in &tool.excluded_actions {
            match excluded(self.vocabulary, environment, action) {
                Some(functions) => {
                    let is_new = |name: &&str| !names.contains(&Value::from(*name));
                    let functions: Vec<&str> = functions.into_iter().filter(is_new).collect();
                    names.extend(functions.into_iter().map(Value::from));
                }
                None if PAGE_ONLY.contains(&action.as_str()) => {}
                None => {
                    let why = "no predefined function of this environment performs it";
                    self.report.preserved(
                        format!("excluded action {action}"),
                        location,
                        why,
                        "as no exclusion",
                    );
                }
            }
        }
        names
    }

    fn browser_function(&mut self, excluded: &[String]) -> Result<(), EncodeError> {
        let declared = extra_tools::browser_tool(excluded);
        let name = declared["name"].as_str().unwrap_or_default().to_owned();
        let description = declared["description"].as_str().map(str::to_owned);
        if declared["parameters"]["properties"]["action"]["enum"]
            .as_array()
            .is_none_or(Vec::is_empty)
        {
            return Ok(());
        }
        self.function(
            &name,
            description.as_deref(),
            &declared["parameters"],
            &Map::new(),
        )
    }

    /// Declares a tool that the provider executes.
    fn hosted(&mut self, kind: &str, additional: &Map<String, Value>) {
        let given = own_settings(additional, PROVIDER);
        let declared = match self.style {
            DeclarationStyle::Parts => {
                let members: Map<String, Value> = given
                    .map(|(name, value)| (camel(name), value.clone()))
                    .collect();
                Value::Object(Map::from_iter([(camel(kind), Value::Object(members))]))
            }
            DeclarationStyle::Steps => {
                let mut members = Map::from_iter([("type".to_owned(), Value::from(kind))]);
                members.extend(given.map(|(name, value)| (name.clone(), value.clone())));
                members.into()
            }
        };
        if self.hosted.insert(declared.clone()) {
            self.tools.push(declared);
        }
    }

    /// Declares a function. Parameters that describe no argument are omitted because the provider
    /// rejects them.
    fn function(
        &mut self,
        function_name: &str,
        description: Option<&str>,
        parameters: &Value,
        additional: &Map<String, Value>,
    ) -> Result<(), EncodeError> {
        if self.functions.len() == MAX_FUNCTIONS {
            let problem = format!("too many functions: a tool has at most {MAX_FUNCTIONS}");
            return Err(EncodeError::missing(self.dialect(), problem));
        }
        let mut declared = json!({"name": function_name});
        if self.style == DeclarationStyle::Steps {
            declared = json!({"type": "function", "name": function_name});
        }
        if let Some(description) = description {
            declared["description"] = description.into();
        }
        if has_parameters(parameters) {
            let member = match self.style {
                DeclarationStyle::Parts => "parametersJsonSchema",
                DeclarationStyle::Steps => "parameters",
            };
            declared[member] = parameters.clone();
        } else {
            let members = parameters.as_object().into_iter().flatten();
            for (member, _) in members.filter(|(member, value)| !is_of_no_argument(member, value)) {
                let what = format!("`{member}` of the parameters of `{function_name}`");
                let why = "a function without parameters has no schema";
                self.report.lost(what, format!("tool {function_name}"), why);
            }
        }
        for (name, value) in own_settings(additional, PROVIDER) {
            let name = match self.style {
                DeclarationStyle::Parts => camel(name),
                DeclarationStyle::Steps => super::snake(name),
            };
            declared[name.as_str()] = value.clone();
        }
        let (rule, dialect) = (&GOOGLE_FUNCTION_NAME, self.dialect());
        let function = (function_name, declared);
        self.names.add(rule, dialect, function, &mut self.functions)
    }
}

/// Whether a schema describes any argument.
fn has_parameters(schema: &Value) -> bool {
    let is_object = schema.get("type").is_none_or(|kind| kind == "object");
    let describes = |(name, value): (&String, &Value)| match name.as_str() {
        "properties" | "patternProperties" => {
            value.as_object().is_some_and(|schemas| !schemas.is_empty())
        }
        "additionalProperties" => value.is_object(),
        "$ref" | "allOf" | "anyOf" | "oneOf" => true,
        _ => false,
    };
    !is_object
        || schema
            .as_object()
            .is_some_and(|schema| schema.iter().any(describes))
}

/// Whether a member of a schema says no more than that there are no arguments.
fn is_of_no_argument(member: &str, value: &Value) -> bool {
    match member {
        "type" => true,
        "properties" => value.is_null() || value.as_object().is_some_and(Map::is_empty),
        "required" => value.is_null() || value.as_array().is_some_and(Vec::is_empty),
        "additionalProperties" => value.is_null() || value.is_boolean(),
        _ => value.is_null(),
    }
}

/// Google's name of a hosted tool that other providers name differently.
fn hosted_name(kind: &str) -> &str {
    match kind {
        "web_search" => "google_search",
        "web_fetch" => "url_context",
        "code_interpreter" => "code_execution",
        other => other,
    }
}

/// Converts `google_search` to `googleSearch`.
fn camel(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let mut upper = false;
    for c in name.chars() {
        if c == '_' {
            upper = true;
        } else if std::mem::take(&mut upper) {
            camel.push(c.to_ascii_uppercase());
        } else {
            camel.push(c);
        }
    }
    camel
}
