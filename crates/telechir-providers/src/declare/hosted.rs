//! Hosted tools by each provider's name, and those that only one provider has.

use serde_json::{Map, Value, json};
use telechir_protocol::{HostedTool, RawTool, Tool};

use super::settings;

/// The names that providers give the address and the name of an MCP server.
const URL: [&str; 4] = ["server_url", "url", "server_address", "address"];
const NAME: [&str; 4] = ["server_label", "name", "server_name", "mcp_server_name"];

/// Hosted types that only this provider has. Anthropic's end with a date.
const OWNED: [(&str, &[&str]); 4] = [
    (
        "openai",
        &[
            "computer",
            "computer_use_preview",
            "shell",
            "local_shell",
            "custom",
            "web_search_preview",
            "tool_search",
        ],
    ),
    (
        "google",
        &[
            "google_search",
            "google_maps",
            "url_context",
            "mcp_server",
            "mcp_servers",
        ],
    ),
    (
        "mistral",
        &["web_search_premium", "document_library", "connector"],
    ),
    ("anthropic", &["mcp_toolset", "advisor"]),
];

/// The type of a hosted tool; empty for any other.
pub(super) fn type_of(tool: &Tool) -> &str {
    match tool {
        Tool::Hosted(tool) => &tool.hosted_type,
        Tool::ComputerUse(_)
        | Tool::Shell(_)
        | Tool::ImageGeneration { .. }
        | Tool::CodeInterpreter { .. }
        | Tool::Function(_)
        | Tool::Raw(_) => "",
    }
}

/// The only provider that has a hosted tool of this type.
pub(super) fn owner_of(tool: &Tool) -> Option<&'static str> {
    let hosted_type = type_of(tool);
    let date = hosted_type.rsplit_once('_').map(|(_, date)| date);
    let is_dated = |date: &str| date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit());
    if date.is_some_and(is_dated) {
        return Some("anthropic");
    }
    let owned = OWNED.iter().find(|(_, types)| types.contains(&hosted_type));
    owned.map(|(owner, _)| *owner)
}

/// The same tool by the name that the dialect's provider gives it. Anthropic's MCP servers are
/// beside the tools, in `servers`.
pub(super) fn named_as(
    tool: Tool,
    dialect: &str,
    provider: &str,
    servers: &mut Vec<Value>,
) -> Tool {
    let Tool::Hosted(HostedTool {
        hosted_type,
        additional_properties,
    }) = tool
    else {
        return tool;
    };
    let hosted = |hosted_type: &str, additional_properties| {
        Tool::Hosted(HostedTool {
            hosted_type: hosted_type.to_owned(),
            additional_properties,
        })
    };
    match (hosted_type.as_str(), provider) {
        ("image_generation", _) => Tool::ImageGeneration {
            additional_properties,
        },
        ("code_interpreter", _) => Tool::CodeInterpreter {
            additional_properties,
        },
        ("file_search", "mistral") => hosted("document_library", additional_properties),
        ("mcp", _) => {
            let mut tool = hosted("mcp", additional_properties);
            mcp_server(&mut tool, dialect, provider, servers)
        }
        _ => hosted(&hosted_type, additional_properties),
    }
}

/// An MCP server as the dialect's provider declares it.
fn mcp_server(tool: &mut Tool, dialect: &str, provider: &str, servers: &mut Vec<Value>) -> Tool {
    let own = settings::of_mut(tool).and_then(|settings| settings.shift_remove(provider));
    let mut own = match own {
        Some(Value::Object(own)) => own,
        _ => Map::new(),
    };
    let mut take = |names: [&str; 4]| names.iter().find_map(|name| own.shift_remove(*name));
    let (name, url) = (take(NAME), take(URL));
    if name.is_none() && url.is_none() {
        // Without a server there is nothing to declare under another name.
        return tool.clone();
    }
    let (hosted_type, name_member, url_member) = match dialect {
        "anthropic-messages" => {
            let mut server = json!({"type": "url", "url": url, "name": name});
            if let Some(token) = own.shift_remove("authorization_token") {
                server["authorization_token"] = token;
            }
            servers.push(server);
            own.extend(name.map(|name| ("mcp_server_name".to_owned(), name)));
            ("mcp_toolset", None, None)
        }
        "google-generate-content" => {
            let mut transport = json!({"url": url});
            if let Some(transport) = transport.as_object_mut() {
                transport.extend(own);
            }
            let server = json!({"name": name, "streamableHttpTransport": transport});
            return Tool::Raw(RawTool {
                dialect: dialect.to_owned(),
                json: json!({"mcpServers": [server]}),
            });
        }
        "google-interactions" => ("mcp_server", Some(("name", name)), Some(("url", url))),
        _ => (
            "mcp",
            Some(("server_label", name)),
            Some(("server_url", url)),
        ),
    };
    for (member, value) in name_member.into_iter().chain(url_member) {
        own.extend(value.map(|value| (member.to_owned(), value)));
    }
    Tool::Hosted(HostedTool {
        hosted_type: hosted_type.to_owned(),
        additional_properties: Map::from_iter([(provider.to_owned(), own.into())]),
    })
}
