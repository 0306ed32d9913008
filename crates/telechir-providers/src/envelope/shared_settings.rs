//! Settings of tools that several providers have, each under its own name: where a search looks,
//! which MCP server a model uses, what is cached.

use serde_json::{Map, Value, json};
use telechir_protocol::Tool;

use super::api::Api;
use super::history::{CACHE, report_cache_members};
use super::members::Members;
use super::tools::{ReadTool, own, unknown};
use crate::Report;

/// A setting that was read from a tool.
pub(super) struct SharedSetting {
    /// The name that most providers use.
    name: &'static str,
    value: Value,
    /// Where it stood in the tool, as a pointer without its first slash.
    path: String,
}

/// Settings of searches and fetches, with the APIs whose tool has them.
const SEARCH: [(&str, &[Api]); 5] = [
    (
        "allowed_domains",
        &[Api::Anthropic, Api::Responses, Api::Framework],
    ),
    ("blocked_domains", &[Api::Anthropic]),
    ("max_uses", &[Api::Anthropic]),
    (
        "user_location",
        &[Api::Anthropic, Api::Responses, Api::Framework],
    ),
    ("search_context_size", &[Api::Responses, Api::Framework]),
];

/// OpenAI's member around the domains of a search.
const FILTERS: &str = "filters";

/// Google's member around the address of an MCP server.
const TRANSPORT: &str = "streamableHttpTransport";

const NAME: &str = "name";
const URL: &str = "url";
const AUTHORIZATION: &str = "authorization";
const HEADER: &str = "Authorization";
const BEARER: &str = "Bearer ";

impl SharedSetting {
    pub(super) fn new(name: &'static str, value: Value) -> Self {
        Self {
            name,
            value,
            path: name.to_owned(),
        }
    }

    /// Adds the setting to the tool as the target names it, or reports it.
    pub(super) fn write(
        self,
        api: Api,
        tool: &mut Tool,
        tool_name: &str,
        pointer: &str,
        report: &mut Report,
    ) {
        if self.name == CACHE && api == Api::Converse {
            let pointer = format!("{pointer}/{}", self.path);
            report_cache_members(&self.value, &pointer, report);
        }
        let Some((name, value)) = self.named_for(api, tool) else {
            let what = format!("`{}` of the tool `{tool_name}`", self.name);
            let pointer = format!("{pointer}/{}", self.path);
            return report.lost(what, pointer, "the target's tool has no such setting");
        };
        if let Some(settings) = crate::declare::settings_of(tool) {
            settings.insert(name.to_owned(), value);
        }
    }

    /// The name and value of the setting in the target's tool; none if it has no such setting.
    fn named_for(&self, api: Api, tool: &Tool) -> Option<(&'static str, Value)> {
        let value = self.value.clone();
        match (self.name, api) {
            (CACHE, Api::Anthropic | Api::Invoke | Api::Converse) => Some((CACHE, value)),
            (CACHE, _) => None,
            // The declaration of an MCP server gives them the target's names.
            (NAME | URL, _) => Some((self.name, value)),
            (AUTHORIZATION, Api::Anthropic) => Some(("authorization_token", value)),
            (AUTHORIZATION, Api::Responses) => Some((AUTHORIZATION, value)),
            (AUTHORIZATION, Api::Generate | Api::Interactions) => {
                let header = format!("{BEARER}{}", value.as_str()?);
                Some(("headers", json!({ HEADER: header })))
            }
            (name, api) => {
                let (_, apis) = SEARCH.iter().find(|(known, _)| *known == name)?;
                let is_fetch =
                    matches!(tool, Tool::Hosted(tool) if tool.hosted_type == "web_fetch");
                let has = apis.contains(&api) && !(is_fetch && name == "user_location");
                match name {
                    _ if !has => None,
                    "allowed_domains" if api != Api::Anthropic => {
                        Some((FILTERS, json!({ name: value })))
                    }
                    "user_location" if value.is_object() => {
                        let mut location = json!({"type": "approximate"});
                        for (name, value) in value.as_object().into_iter().flatten() {
                            location[name.as_str()] = value.clone();
                        }
                        Some(("user_location", location))
                    }
                    _ => Some((self.name, value)),
                }
            }
        }
    }
}

/// Takes the settings of a search or fetch.
pub(super) fn take(members: &mut Map<String, Value>) -> Vec<SharedSetting> {
    let mut taken = take_named(members);
    if let Some(Value::Object(filters)) = members.get_mut(FILTERS) {
        for mut setting in take_named(filters) {
            setting.path = format!("{FILTERS}/{}", setting.path);
            taken.push(setting);
        }
        if filters.values().all(Value::is_null) {
            members.shift_remove(FILTERS);
        }
    }
    taken
}

fn take_named(members: &mut Map<String, Value>) -> Vec<SharedSetting> {
    let mut taken = Vec::new();
    for (name, _) in SEARCH {
        let value = members.shift_remove(name).filter(|value| !value.is_null());
        taken.extend(value.map(|value| SharedSetting::new(name, value)));
    }
    taken
}

/// Takes the name, the address and the token of an MCP server; nothing if it has no address.
pub(super) fn take_server(members: &mut Map<String, Value>) -> Vec<SharedSetting> {
    if let Some(Value::Object(transport)) = members.get(TRANSPORT)
        && transport.contains_key(URL)
        && let Some(Value::Object(transport)) = members.shift_remove(TRANSPORT)
    {
        members.extend(transport);
    }
    let is_server = ["server_url", URL]
        .iter()
        .any(|name| members.get(*name).is_some_and(Value::is_string));
    if !is_server {
        return Vec::new();
    }
    const MEMBERS: [(&str, &str); 6] = [
        ("server_label", NAME),
        (NAME, NAME),
        ("server_url", URL),
        (URL, URL),
        (AUTHORIZATION, AUTHORIZATION),
        ("authorization_token", AUTHORIZATION),
    ];
    let mut taken = Vec::new();
    for (member, name) in MEMBERS {
        let value = members
            .shift_remove(member)
            .filter(|value| !value.is_null());
        taken.extend(value.map(|value| SharedSetting {
            path: member.to_owned(),
            ..SharedSetting::new(name, value)
        }));
    }
    if let Some(Value::Object(headers)) = members.get_mut("headers") {
        let token = headers.get(HEADER).and_then(Value::as_str);
        let token = token.and_then(|header| header.strip_prefix(BEARER));
        if let Some(token) = token.map(Value::from) {
            headers.shift_remove(HEADER);
            if headers.is_empty() {
                members.shift_remove("headers");
            }
            taken.push(SharedSetting {
                path: format!("headers/{HEADER}"),
                ..SharedSetting::new(AUTHORIZATION, token)
            });
        }
    }
    taken
}

/// Reads Anthropic's MCP servers, which stand beside the tools. A toolset that only names its
/// server says nothing else.
pub(super) fn move_servers(members: &mut Members, tools: &mut Vec<ReadTool>) {
    let servers = members.take_list("/mcp_servers");
    for (at, server) in servers.into_iter().enumerate() {
        let pointer = format!("/mcp_servers/{at}");
        let Value::Object(mut server) = server else {
            tools.push(unknown("an MCP server that is not an object", &pointer));
            continue;
        };
        if server.get("type").is_some_and(|kind| kind == URL) {
            server.shift_remove("type");
        }
        tools.retain(|tool| !tool.only_names_server(server.get(NAME)));
        tools.push(own("mcp", server, &pointer));
    }
}
