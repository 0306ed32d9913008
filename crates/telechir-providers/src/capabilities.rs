//! Which neutral tools a model can have in each dialect, from the declarations themselves.

mod model_names;

use serde::Serialize;
use serde_json::{Map, Value};
use telechir_protocol::{ComputerUseTool, Environment, HostedTool, ShellTool, Tool};

use crate::{Declaration, Dialect, ToolOffer};

pub use model_names::ModelName;

/// How a model can have a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Availability {
    /// As a tool that the provider defines.
    Native,
    /// As a function of telechir's.
    Function,
    /// Not at all: the dialect reports the tool instead, or the model has no such tool.
    Unavailable,
}

/// A neutral tool in one dialect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Capability {
    /// The dialect of the declaration.
    pub dialect: &'static str,
    /// The tool's type, such as `computer_use`.
    pub tool: &'static str,
    /// How the model can have it.
    pub availability: Availability,
    /// The provider's type of a native tool, such as `bash_20250124`; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declared_as: Option<String>,
    /// Why the model cannot have it; absent if it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The neutral tools, each in every dialect that may serve the model. The entries are sorted by
/// dialect.
pub fn capabilities(model: &str) -> Vec<Capability> {
    let dialects = Dialect::ALL
        .into_iter()
        .filter(|dialect| serves(*dialect, model));
    dialects
        .flat_map(|dialect| tools().map(|(name, tool)| capability(dialect, model, name, tool)))
        .collect()
}

/// Names that the models of a provider start with, and the start of its dialects.
const FAMILIES: [(&[&str], &[&str]); 5] = [
    (&["claude"], &["anthropic", "bedrock"]),
    (
        &["gpt", "o1", "o3", "o4", "codex", "computer-use", "chatgpt"],
        &["openai", "agent-framework", "functions"],
    ),
    (&["gemini", "models/gemini"], &["google"]),
    (
        &[
            "mistral",
            "ministral",
            "pixtral",
            "magistral",
            "codestral",
            "devstral",
            "open-m",
        ],
        &["mistral"],
    ),
    (
        &[
            "anthropic.",
            "amazon.",
            "us.",
            "eu.",
            "apac.",
            "global.",
            "meta.",
        ],
        &["bedrock"],
    ),
];

/// Whether a dialect may serve a model; any may serve one of an unknown provider.
fn serves(dialect: Dialect, model: &str) -> bool {
    if dialect == Dialect::Neutral {
        return false;
    }
    let starts = |names: &[&str], text: &str| names.iter().any(|name| text.starts_with(name));
    let family = FAMILIES.iter().find(|(models, _)| starts(models, model));
    family.is_none_or(|(_, dialects)| starts(dialects, dialect.name()))
}

fn tools() -> [(&'static str, Tool); 11] {
    let screen = |environment| {
        Tool::ComputerUse(ComputerUseTool {
            display_width: Some(1280),
            display_height: Some(800),
            environment: Some(environment),
            ..ComputerUseTool::default()
        })
    };
    let hosted = |name: &str| Tool::Hosted(HostedTool::new(name));
    let additional_properties = Map::new();
    let mcp = HostedTool::new("mcp")
        .with("server_label", "example")
        .with("server_url", "https://example.com/mcp");
    [
        ("computer_use", screen(Environment::Linux)),
        ("browser", screen(Environment::Browser)),
        ("shell", Tool::Shell(ShellTool::default())),
        ("text_editor", hosted("text_editor")),
        ("memory", hosted("memory")),
        (
            "image_generation",
            Tool::ImageGeneration {
                additional_properties: Map::new(),
            },
        ),
        (
            "code_interpreter",
            Tool::CodeInterpreter {
                additional_properties,
            },
        ),
        ("web_search", hosted("web_search")),
        ("file_search", hosted("file_search")),
        ("tool_search", hosted("tool_search")),
        ("mcp", Tool::Hosted(mcp)),
    ]
}

fn capability(dialect: Dialect, model: &str, name: &'static str, tool: Tool) -> Capability {
    let offer = ToolOffer {
        tools: vec![tool],
        model: Some(model.to_owned()),
    };
    let (availability, declared_as, why) = match dialect.declare(&offer) {
        Err(error) => (Availability::Unavailable, None, Some(error.to_string())),
        Ok((declaration, report)) => match entries(&declaration).as_slice() {
            [] => {
                let why = report.losses.into_iter().next().map(|loss| loss.why);
                (Availability::Unavailable, None, why)
            }
            entries => match entries.iter().find(|entry| !is_function(entry)) {
                Some(native) => (Availability::Native, type_of(native), None),
                None => (Availability::Function, None, None),
            },
        },
    };
    Capability {
        dialect: dialect.name(),
        tool: name,
        availability,
        declared_as,
        why,
    }
}

/// All declared tools, also those in the request's body.
fn entries(declaration: &Declaration) -> Vec<&Value> {
    let in_body = declaration
        .body
        .values()
        .filter_map(|fields| fields.get("tools")?.as_array());
    let unused = |entry: &&Value| entry["toolSpec"]["name"] != "unused_tool";
    declaration
        .tools
        .iter()
        .filter(unused)
        .chain(in_body.flatten())
        .collect()
}

fn is_function(entry: &Value) -> bool {
    let members = [
        "function",
        "functionDeclarations",
        "input_schema",
        "toolSpec",
        "functionSchema",
    ];
    entry["type"] == "function" || members.iter().any(|member| entry.get(member).is_some())
}

fn type_of(entry: &Value) -> Option<String> {
    let named = ["type", "parentActionGroupSignature"];
    let named = named.iter().find_map(|member| entry.get(*member)?.as_str());
    let only = || entry.as_object()?.keys().next().map(String::as_str);
    named.or_else(only).map(str::to_owned)
}
