//! Tool declarations of a request, read into neutral tools and declared again by the target's
//! dialect.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use telechir_protocol::{
    ComputerUseTool, Environment, FunctionTool, HostedTool, RawTool, ShellTool, Tool,
};

use super::api::Api;
use super::declared_tools::declare;
use super::format::lower_types;
use super::google_tools::{self, OtherForm};
use super::history::CACHE;
use super::members::{Members, put};
use super::shared_settings::{self, SharedSetting};
use crate::bedrock;
use crate::fallback_tools::{FunctionDeclaration, declare_function};
use crate::{Dialect, Report, extra_tools};

/// A declared tool.
pub(super) struct ReadTool {
    tool: Option<Tool>,
    /// Its name or type, for the report.
    name: String,
    pointer: String,
    /// Its settings that no neutral tool has.
    settings: Vec<String>,
    /// Its settings that a hosted tool of another provider may have.
    shared: Vec<SharedSetting>,
    /// The tool as the provider's other API declares it.
    other_form: Option<OtherForm>,
    /// The MCP server whose tools it offers.
    server: Option<Value>,
}

/// Anthropic's member with the name of an MCP server.
const SERVER_NAME: &str = "mcp_server_name";

impl ReadTool {
    /// Whether it is a toolset of Anthropic's with all tools of this MCP server.
    pub(super) fn only_names_server(&self, server: Option<&Value>) -> bool {
        self.name == "mcp_toolset"
            && self.settings.iter().all(|name| name == SERVER_NAME)
            && self.server.as_ref() == server
    }
}

/// Members of a declaration that were not read yet.
struct Entry {
    members: Map<String, Value>,
}

impl Entry {
    /// Takes a text; a value of another type stays, so that it is reported.
    fn text(&mut self, name: &str) -> Option<String> {
        let text = self.members.get(name)?.as_str()?.to_owned();
        self.members.shift_remove(name);
        Some(text)
    }

    fn number(&mut self, name: &str) -> Option<u32> {
        let value = self.members.get(name)?;
        let text = value.as_str().and_then(|text| text.parse().ok());
        let number = text.or_else(|| value.as_u64().and_then(|value| u32::try_from(value).ok()))?;
        self.members.shift_remove(name);
        Some(number)
    }

    /// Takes Anthropic's `cache_control`.
    fn cache(&mut self) -> Vec<SharedSetting> {
        let marker = self.members.shift_remove(CACHE);
        let marker = marker.filter(|marker| !marker.is_null());
        marker
            .map(|marker| SharedSetting::new(CACHE, marker))
            .into_iter()
            .collect()
    }

    /// Removes members whose value only repeats what the tool is.
    fn remove(&mut self, name: &str, is_implied: impl Fn(&Value) -> bool) {
        if self.members.get(name).is_some_and(is_implied) {
            self.members.shift_remove(name);
        }
    }

    fn settings(self) -> Vec<String> {
        let present = self
            .members
            .into_iter()
            .filter(|(_, value)| !value.is_null());
        present.map(|(name, _)| name).collect()
    }
}

/// Types of tools that providers execute: Anthropic's without its date, OpenAI's, Google's and
/// Mistral's, with the neutral type.
const HOSTED: [(&str, &str); 14] = [
    ("web_search_preview", "web_search"),
    ("web_search_premium", "web_search"),
    ("web_search", "web_search"),
    ("google_search", "web_search"),
    ("googleSearch", "web_search"),
    ("nova_grounding", "web_search"),
    ("web_fetch", "web_fetch"),
    ("url_context", "web_fetch"),
    ("urlContext", "web_fetch"),
    ("code_interpreter", "code_interpreter"),
    ("code_execution", "code_interpreter"),
    ("codeExecution", "code_interpreter"),
    ("nova_code_interpreter", "code_interpreter"),
    ("image_generation", "image_generation"),
];

/// Tools that search stores of files, which no other provider reaches.
const STORES: [&str; 4] = ["file_search", "fileSearch", "document_library", "retrieval"];

/// The names that Anthropic requires its own tools to have.
const FIXED_NAMES: [&str; 7] = [
    "computer",
    "bash",
    "str_replace_editor",
    "str_replace_based_edit_tool",
    "code_execution",
    "web_search",
    "web_fetch",
];

/// The hosted tools that an API has.
fn hosted_tools(api: Api) -> &'static [&'static str] {
    match api {
        Api::Anthropic => &["web_search", "web_fetch", "code_interpreter"],
        Api::Responses | Api::Framework => &["web_search", "code_interpreter", "image_generation"],
        Api::Generate | Api::Interactions => &["web_search", "web_fetch", "code_interpreter"],
        Api::Conversations => &["web_search", "code_interpreter", "image_generation"],
        Api::Mistral => &["image_generation"],
        Api::Agents => &["code_interpreter"],
        Api::Invoke | Api::Converse | Api::Chat => &[],
    }
}

/// Takes all declared tools out of a request.
pub(super) fn read(api: Api, members: &mut Members) -> Vec<ReadTool> {
    let mut tools = Vec::new();
    let pointer = api.tools_pointer();
    for (at, entry) in members.take_list(pointer).into_iter().enumerate() {
        entries(api, entry, &format!("{pointer}/{at}"), &mut tools);
    }
    if api == Api::Anthropic {
        shared_settings::move_servers(members, &mut tools);
    }
    if api == Api::Converse {
        let pointer = "/additionalModelRequestFields/tools";
        for (at, entry) in members.take_list(pointer).into_iter().enumerate() {
            entries(
                Api::Anthropic,
                entry,
                &format!("{pointer}/{at}"),
                &mut tools,
            );
        }
    }
    tools
}

/// Reads one entry, which in Google's and OpenAI's lists may hold several tools.
fn entries(api: Api, entry: Value, pointer: &str, tools: &mut Vec<ReadTool>) {
    let Value::Object(members) = entry else {
        return tools.push(unknown("a tool that is not an object", pointer));
    };
    let kind = members
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    match api {
        Api::Generate => {
            for (name, value) in members {
                generate_entry(&name, value, &format!("{pointer}/{name}"), tools);
            }
        }
        Api::Converse => converse_entry(members, pointer, tools),
        Api::Agents => agents_entry(members, pointer, tools),
        Api::Responses if kind == "namespace" => {
            let mut entry = Entry { members };
            let list = entry.members.shift_remove("tools");
            let list = list.as_ref().and_then(Value::as_array).cloned();
            for (at, inner) in list.unwrap_or_default().into_iter().enumerate() {
                entries(api, inner, &format!("{pointer}/tools/{at}"), tools);
            }
            tools.push(ReadTool {
                settings: entry.settings(),
                ..unknown("the namespace around its functions", pointer)
            });
        }
        _ => tools.push(typed(members, pointer)),
    }
}

pub(super) fn unknown(name: &str, pointer: &str) -> ReadTool {
    ReadTool {
        tool: None,
        name: name.to_owned(),
        pointer: pointer.to_owned(),
        settings: Vec::new(),
        shared: Vec::new(),
        other_form: None,
        server: None,
    }
}

/// A tool whose `type` names it; a function if it has none.
fn typed(mut members: Map<String, Value>, pointer: &str) -> ReadTool {
    let kind = match members.shift_remove("type") {
        Some(Value::String(kind)) => kind,
        None | Some(Value::Null) => "custom".to_owned(),
        Some(_) => return unknown("of an unreadable type", pointer),
    };
    if kind == "function" && members.get("function").is_some_and(Value::is_object) {
        return wrapped("function", members, pointer, function);
    }
    if kind == "function" || (kind == "custom" && members.contains_key("input_schema")) {
        return function(members, pointer);
    }
    if kind == "custom" && members.get("custom").is_some_and(Value::is_object) {
        return wrapped("custom", members, pointer, custom);
    }
    if kind == "custom" {
        return custom(members, pointer);
    }
    own(&kind, members, pointer)
}

/// A tool that is declared in a member of its entry. What is beside it are further settings.
fn wrapped(
    name: &str,
    mut members: Map<String, Value>,
    pointer: &str,
    read: fn(Map<String, Value>, &str) -> ReadTool,
) -> ReadTool {
    let inner = match members.shift_remove(name) {
        Some(Value::Object(inner)) => inner,
        _ => Map::new(),
    };
    let mut entry = Entry { members };
    let shared = entry.cache();
    let mut tool = read(inner, pointer);
    tool.shared.extend(shared);
    tool.settings.extend(entry.settings());
    tool
}

/// A tool of OpenAI's whose input is a text: a function with one argument, under the name that
/// encoded calls give to a text.
fn custom(members: Map<String, Value>, pointer: &str) -> ReadTool {
    let mut entry = Entry { members };
    entry.remove("format", |format| *format == json!({"type": "text"}));
    let mut members = entry.members;
    let parameters = json!({"type": "object", "properties": {"arguments": {"type": "string"}},
        "required": ["arguments"]});
    members.insert("parameters".to_owned(), parameters);
    function(members, pointer)
}

/// A tool of ours or a hosted one.
pub(super) fn own(kind: &str, members: Map<String, Value>, pointer: &str) -> ReadTool {
    let other_form = google_tools::other_form(kind, &members);
    let mut entry = Entry { members };
    let name = kind.to_owned();
    let base = undated(kind);
    let mut shared = entry.cache();
    let tool = match base {
        "computer"
        | "computer_use_preview"
        | "computer_use"
        | "computerUse"
        | "computer_toolset"
        | "browser_toolset" => Some(computer(base, &mut entry)),
        "bash" | "local_shell" => Some(Tool::Shell(ShellTool::default())),
        "shell" => {
            entry.remove("environment", |environment| {
                *environment == json!({"type": "local"})
            });
            let environment = entry.members.get("environment");
            let is_hosted = environment.is_some_and(|found| found["type"] != "local");
            (!is_hosted).then(|| Tool::Shell(ShellTool::default()))
        }
        "text_editor" | "apply_patch" => Some(Tool::Hosted(HostedTool::new("text_editor"))),
        "memory" => Some(Tool::Hosted(HostedTool::new("memory"))),
        "mcp" | "mcp_server" => {
            let server = shared_settings::take_server(&mut entry.members);
            let has_address = !server.is_empty();
            shared.extend(server);
            has_address.then(|| Tool::Hosted(HostedTool::new("mcp")))
        }
        other => {
            let tool = hosted(other, &mut entry);
            if tool.is_some() {
                shared.extend(shared_settings::take(&mut entry.members));
            }
            tool
        }
    };
    if tool.is_some() {
        let is_fixed = |name: &str| FIXED_NAMES.contains(&name) || name == base || name == kind;
        entry.remove("name", |name| name.as_str().is_some_and(is_fixed));
    }
    let server = entry.members.get(SERVER_NAME).cloned();
    ReadTool {
        tool,
        name,
        pointer: pointer.to_owned(),
        settings: entry.settings(),
        shared,
        other_form,
        server,
    }
}

/// The type without its date: `bash_20250124` is `bash`.
fn undated(kind: &str) -> &str {
    let is_date = |text: &str| {
        let digits = text.chars().filter(char::is_ascii_digit).count();
        digits == 8 && text.chars().all(|c| c.is_ascii_digit() || c == '_')
    };
    let date = |separator: usize| {
        kind.get(separator..)
            .filter(|text| is_date(text.trim_start_matches('_')))
    };
    let mut at = kind.len();
    while let Some(found) = kind[..at].rfind('_') {
        if date(found).is_some() {
            return &kind[..found];
        }
        at = found;
    }
    kind
}

fn computer(base: &str, entry: &mut Entry) -> Tool {
    let mut tool = ComputerUseTool {
        display_width: entry
            .number("display_width_px")
            .or_else(|| entry.number("display_width")),
        display_height: entry
            .number("display_height_px")
            .or_else(|| entry.number("display_height")),
        ..ComputerUseTool::default()
    };
    let environment = entry.text("environment").map(|name| {
        let name = name.trim_start_matches("ENVIRONMENT_").to_lowercase();
        Environment::from(name.as_str())
    });
    tool.environment = match (base, environment) {
        ("browser_toolset", _) => Some(Environment::Browser),
        // Google's desktop does not name a system, and an unspecified one is a browser.
        (_, Some(Environment::Other(name))) if name == "desktop" => None,
        ("computerUse" | "computer_use", None) => Some(Environment::Browser),
        (_, environment) => environment,
    };
    if let Some(Value::Object(configs)) = entry.members.get_mut("configs") {
        let disabled = json!({"enabled": false});
        let excluded = configs.iter().filter(|(_, config)| **config == disabled);
        tool.excluded_actions = excluded.map(|(name, _)| name.clone()).collect();
        configs.retain(|_, config| *config != disabled && *config != json!({"enabled": true}));
    }
    entry.remove("configs", |configs| *configs == json!({}));
    if entry
        .members
        .get("enable_zoom")
        .is_some_and(Value::is_boolean)
        && entry.members.shift_remove("enable_zoom") == Some(Value::Bool(false))
    {
        tool.excluded_actions.push("zoom".to_owned());
    }
    Tool::ComputerUse(tool)
}

fn hosted(base: &str, entry: &mut Entry) -> Option<Tool> {
    let (_, neutral) = HOSTED.iter().find(|(name, _)| *name == base)?;
    if *neutral == "code_interpreter" {
        entry.remove("container", |container| {
            *container == json!({"type": "auto"})
        });
    }
    Some(match *neutral {
        "code_interpreter" => Tool::CodeInterpreter {
            additional_properties: Map::new(),
        },
        "image_generation" => Tool::ImageGeneration {
            additional_properties: Map::new(),
        },
        other => Tool::Hosted(HostedTool::new(other)),
    })
}

/// A function, or one of our tools that was declared as a function.
fn function(mut members: Map<String, Value>, pointer: &str) -> ReadTool {
    let schema = [
        "parameters",
        "input_schema",
        "parametersJsonSchema",
        "inputSchema",
    ]
    .iter()
    .find_map(|name| {
        let is_schema = members.get(*name).is_some_and(is_schema);
        is_schema.then(|| members.shift_remove(*name)).flatten()
    });
    let parameters = schema.unwrap_or_else(|| json!({"type": "object", "properties": {}}));
    let mut entry = Entry { members };
    let shared = entry.cache();
    let name = entry.text("name").unwrap_or_default();
    if name.is_empty() {
        return unknown("a function without a name", pointer);
    }
    let description = entry.text("description");
    // The companion of a shell tool, which only telechir declares.
    let is_companion =
        name == extra_tools::SHELL && parameters == extra_tools::shell_tool()["parameters"];
    let own = match is_companion {
        true => Some((Tool::Shell(ShellTool::default()), Vec::new())),
        false => declared_by_us(&name, description.as_deref(), &parameters),
    };
    if let Some((tool, mut settings)) = own {
        entry.remove("strict", Value::is_boolean);
        settings.extend(entry.settings());
        return ReadTool {
            tool: Some(tool),
            name,
            pointer: pointer.to_owned(),
            settings,
            shared,
            other_form: None,
            server: None,
        };
    }
    let mut tool = FunctionTool {
        name: name.clone(),
        description,
        parameters,
        ..FunctionTool::default()
    };
    if entry.members.get("strict").is_some_and(Value::is_boolean) {
        let strict = entry.members.shift_remove_entry("strict");
        tool.additional_properties.extend(strict);
    }
    ReadTool {
        tool: Some(Tool::Function(tool)),
        name,
        pointer: pointer.to_owned(),
        settings: entry.settings(),
        shared,
        other_form: None,
        server: None,
    }
}

/// Whether a value is a JSON schema whose properties can be read.
fn is_schema(value: &Value) -> bool {
    let is_readable = |properties: &Value| properties.is_object() || properties.is_null();
    value.is_object() && value.get("properties").is_none_or(is_readable)
}

/// Our tools as functions.
static OUR_TOOLS: LazyLock<Vec<(Tool, FunctionDeclaration)>> = LazyLock::new(|| {
    let browser = ComputerUseTool {
        environment: Some(Environment::Browser),
        ..ComputerUseTool::default()
    };
    let tools = [
        Tool::ComputerUse(ComputerUseTool::default()),
        Tool::ComputerUse(browser),
        Tool::Shell(ShellTool::default()),
        Tool::Hosted(HostedTool::new("text_editor")),
        Tool::Hosted(HostedTool::new("memory")),
        Tool::Hosted(HostedTool::new("apply_patch")),
    ];
    let declared = tools.into_iter().filter_map(|tool| {
        let function = declare_function(&tool)?;
        Some((tool, function))
    });
    declared.collect()
});

/// One of our tools, if the function has its name and the names of its parameters; and what the
/// function declares in another way than we do.
fn declared_by_us(
    name: &str,
    description: Option<&str>,
    parameters: &Value,
) -> Option<(Tool, Vec<String>)> {
    let names = |schema: &Value| -> Vec<String> {
        let members = schema.get("properties").and_then(Value::as_object);
        let mut names: Vec<String> = members.into_iter().flat_map(Map::keys).cloned().collect();
        names.sort();
        names
    };
    OUR_TOOLS.iter().find_map(|(tool, declared)| {
        let is_same = declared.name == name && names(&declared.parameters) == names(parameters);
        let is_described = description.is_none() || description == declared.description.as_deref();
        let differences = [
            ("description", !is_described),
            ("parameters", declared.parameters != *parameters),
        ];
        let differences = differences.iter().filter(|(_, differs)| *differs);
        let settings = differences.map(|(name, _)| (*name).to_owned()).collect();
        is_same.then(|| (tool.clone(), settings))
    })
}

fn generate_entry(name: &str, value: Value, pointer: &str, tools: &mut Vec<ReadTool>) {
    match (name, value) {
        ("functionDeclarations" | "function_declarations", Value::Array(list)) => {
            for (at, declared) in list.into_iter().enumerate() {
                let pointer = format!("{pointer}/{at}");
                let Value::Object(mut members) = declared else {
                    tools.push(unknown("a function that is not an object", &pointer));
                    continue;
                };
                if let Some(schema) = members.shift_remove("parameters") {
                    members.insert("parameters".to_owned(), lower_types(schema));
                }
                tools.push(function(members, &pointer));
            }
        }
        ("mcpServers" | "mcp_servers", Value::Array(servers)) => {
            for (at, server) in servers.into_iter().enumerate() {
                let pointer = format!("{pointer}/{at}");
                tools.push(match server {
                    Value::Object(server) => own("mcp_server", server, &pointer),
                    _ => unknown("an MCP server that is not an object", &pointer),
                });
            }
        }
        (name, Value::Object(members)) => tools.push(own(name, members, pointer)),
        (name, _) => tools.push(unknown(name, pointer)),
    }
}

fn converse_entry(members: Map<String, Value>, pointer: &str, tools: &mut Vec<ReadTool>) {
    for (kind, value) in members {
        match (kind.as_str(), value) {
            ("toolSpec", Value::Object(mut spec)) => {
                // A request that needs no function still has to declare one.
                if is_unused(&spec) {
                    continue;
                }
                let mut beside = Vec::new();
                match spec.shift_remove("inputSchema") {
                    Some(Value::Object(mut schema)) => {
                        let json = schema.shift_remove("json");
                        spec.extend(json.map(|json| ("inputSchema".to_owned(), json)));
                        beside.extend(Entry { members: schema }.settings());
                    }
                    Some(odd) => {
                        spec.insert("inputSchema".to_owned(), odd);
                    }
                    None => {}
                }
                let mut tool = function(spec, pointer);
                tool.settings.extend(beside);
                tools.push(tool);
            }
            ("systemTool", Value::Object(members)) => {
                let name = members.get("name").and_then(Value::as_str);
                let name = name.unwrap_or_default().to_owned();
                tools.push(own(&name, members, pointer));
            }
            ("cachePoint", point) if !tools.is_empty() && point.is_object() => {
                let marker = SharedSetting::new(CACHE, bedrock::cache_marker(&point));
                if let Some(last) = tools.last_mut() {
                    last.shared.push(marker);
                }
            }
            (kind, _) => tools.push(unknown(kind, pointer)),
        }
    }
}

fn agents_entry(members: Map<String, Value>, pointer: &str, tools: &mut Vec<ReadTool>) {
    let params = members
        .get("parentActionGroupSignatureParams")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let signature = members
        .get("parentActionGroupSignature")
        .and_then(Value::as_str);
    let kind = match signature {
        Some("ANTHROPIC.Computer") => "computer",
        Some("ANTHROPIC.Bash") => "bash",
        Some("ANTHROPIC.TextEditor") => "text_editor",
        Some("AMAZON.CodeInterpreter") => "code_interpreter",
        _ => return tools.push(unknown("action group", pointer)),
    };
    let mut params = params;
    params.shift_remove("type");
    tools.push(own(kind, params, pointer));
}

/// Whether this is the function that a request declares because it must declare one.
fn is_unused(spec: &Map<String, Value>) -> bool {
    let names = ["name", "description", "inputSchema"];
    spec.get("name").is_some_and(|name| name == "unused_tool")
        && spec.keys().all(|name| names.contains(&name.as_str()))
}

/// Declares the tools in the target's form, and reports what it cannot have.
pub(super) fn write(
    to: Dialect,
    tools: Vec<ReadTool>,
    model: Option<&str>,
    document: &mut Value,
    headers: &mut Vec<(String, String)>,
    report: &mut Report,
) {
    let api = Api::of(to);
    let mut offered: Vec<(Tool, String)> = Vec::new();
    let has_companion = tools.iter().any(|read| read.name == extra_tools::SHELL);
    for mut read in tools {
        if let Some(form) = read.other_form.take_if(|form| form.api == api) {
            read.settings = form.left;
            read.tool = Some(Tool::Raw(RawTool {
                dialect: to.name().to_owned(),
                json: form.json,
            }));
        }
        for setting in &read.settings {
            let pointer = format!("{}/{setting}", read.pointer);
            let what = format!("`{setting}` of the tool `{}`", read.name);
            report.lost(what, pointer, "the target's tool has no such setting");
        }
        match read.tool.and_then(|tool| supported(api, tool, model)) {
            Some(mut tool) => {
                for setting in read.shared {
                    setting.write(api, &mut tool, &read.name, &read.pointer, report);
                }
                offered.push((with_strict(api, tool, &read.pointer, report), read.pointer))
            }
            None => {
                let what = format!("tool `{}`", read.name);
                let why = match STORES.contains(&read.name.as_str()) {
                    true => "the stores that it searches exist only at their provider",
                    false => "the target has no such tool",
                };
                report.lost(what, read.pointer, why);
            }
        }
    }
    if offered.is_empty() {
        return;
    }
    let mut declaration = declare(to, &offered, model, report);
    // A client that was not told of the companion cannot execute its calls.
    if !has_companion {
        declaration.tools.retain(|tool| !is_companion(tool));
    }
    if !declaration.tools.is_empty() {
        put(document, api.tools_pointer(), declaration.tools);
    }
    if let Some(members) = document.as_object_mut() {
        members.extend(declaration.body);
    }
    headers.extend(declaration.headers);
}

fn is_companion(tool: &Value) -> bool {
    let names = ["/name", "/toolSpec/name"];
    let mut names = names.iter().filter_map(|pointer| tool.pointer(pointer));
    let is_shell = names.any(|name| name == extra_tools::SHELL);
    let schemas = ["/input_schema", "/parameters", "/toolSpec/inputSchema/json"];
    let mut schemas = schemas.iter().filter_map(|pointer| tool.pointer(pointer));
    is_shell && schemas.any(|schema| *schema == extra_tools::shell_tool()["parameters"])
}

/// The tool as the target's dialect declares it; none if it is a hosted tool that it lacks.
fn supported(api: Api, tool: Tool, model: Option<&str>) -> Option<Tool> {
    let has = |name: &str| {
        hosted_tools(api).contains(&name)
            || (api == Api::Converse && name == "code_interpreter" && is_nova(model))
    };
    match tool {
        Tool::CodeInterpreter { .. } if !has("code_interpreter") => None,
        Tool::ImageGeneration { .. } if !has("image_generation") => None,
        Tool::Hosted(hosted) => match hosted.hosted_type.as_str() {
            "mcp" if !has_mcp(api) => None,
            "web_search" if api == Api::Converse && is_nova(model) => {
                Some(Tool::Hosted(HostedTool::new("nova_grounding")))
            }
            name @ ("web_search" | "web_fetch") if !has(name) => None,
            // Only Anthropic's API and functions have a memory.
            "memory" if matches!(api, Api::Responses | Api::Framework | Api::Agents) => None,
            _ => Some(Tool::Hosted(hosted)),
        },
        tool => Some(tool),
    }
}

/// Whether the API connects to the MCP servers that a request names.
fn has_mcp(api: Api) -> bool {
    matches!(
        api,
        Api::Anthropic | Api::Responses | Api::Generate | Api::Interactions
    )
}

fn is_nova(model: Option<&str>) -> bool {
    model.is_some_and(|model| model.contains("nova"))
}

/// Moves a function's `strict` to where the target's dialect looks for it.
fn with_strict(api: Api, tool: Tool, pointer: &str, report: &mut Report) -> Tool {
    let Tool::Function(mut function) = tool else {
        return tool;
    };
    let Some(strict) = function.additional_properties.shift_remove("strict") else {
        return Tool::Function(function);
    };
    match api {
        Api::Anthropic
        | Api::Invoke
        | Api::Converse
        | Api::Responses
        | Api::Framework
        | Api::Chat
        | Api::Mistral
        | Api::Conversations => {
            let settings = json!({"strict": strict});
            // Converse's functions are declared as Anthropic's.
            let provider = match api {
                Api::Converse => Api::Anthropic.provider(),
                _ => api.provider(),
            };
            function
                .additional_properties
                .insert(provider.to_owned(), settings);
        }
        Api::Agents | Api::Generate | Api::Interactions if strict == Value::Bool(false) => {}
        Api::Agents | Api::Generate | Api::Interactions => {
            let what = format!("`strict` of the tool `{}`", function.name);
            let pointer = format!("{pointer}/strict");
            report.lost(what, pointer, "the target's tool has no such setting");
        }
    }
    Tool::Function(function)
}

pub(super) fn name_of(tool: &Tool) -> String {
    let name = match tool {
        Tool::ComputerUse(_) => "computer",
        Tool::Shell(_) => "shell",
        Tool::ImageGeneration { .. } => "image_generation",
        Tool::CodeInterpreter { .. } => "code_interpreter",
        Tool::Hosted(hosted) => &hosted.hosted_type,
        Tool::Function(function) => &function.name,
        Tool::Raw(_) => "raw",
    };
    format!("tool `{name}`")
}
