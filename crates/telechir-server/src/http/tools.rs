//! The tool definitions that a model gets for a session.

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use telechir_host::SessionDescription;
use telechir_protocol::{ComputerUseTool, Environment, HostedTool, ShellTool, Tool};
use telechir_providers::{ToolOffer, page_tool};

use super::problem::{Problem, ProblemKind};
use super::request::{ApiRequest, Reach, reply};
use super::turns::LossDocument;

/// What a request to a model has besides the conversation.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ToolsDocument {
    /// The definitions, in the provider's own form.
    tools: Vec<Value>,
    /// Headers that the tools need.
    headers: Map<String, Value>,
    /// Other members of the request that the tools need.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    body: Map<String, Value>,
    /// What the dialect cannot declare.
    report: Vec<LossDocument>,
}

/// `GET /v1/sessions/{id}/tools`
pub(super) async fn declare(request: ApiRequest) -> Result<Response, Problem> {
    let dialect = request.dialect("dialect")?;
    let client = request.session(Reach::Act).await?;
    let offer = ToolOffer {
        tools: tools(client.description()),
        model: request.query("model").map(str::to_owned),
    };
    let (declaration, report) = dialect
        .declare(&offer)
        .map_err(|e| Problem::new(ProblemKind::BadRequest, format!("failed to {e}")))?;
    let headers = declaration.headers.into_iter();
    let document = ToolsDocument {
        tools: declaration.tools,
        headers: headers
            .map(|(name, value)| (name, Value::String(value)))
            .collect(),
        body: declaration.body,
        report: report.losses.into_iter().map(LossDocument::from).collect(),
    };
    Ok(reply(StatusCode::OK, &document))
}

/// The neutral tools of a session's devices.
fn tools(session: &SessionDescription) -> Vec<Tool> {
    let has = |device: &str| session.devices.iter().any(|name| name == device);
    let display = session.config["display"].as_str().unwrap_or_default();
    let (width, height) = display.split_once('x').unwrap_or_default();
    let screen = |environment| {
        Tool::ComputerUse(ComputerUseTool {
            display_width: width.parse().ok(),
            display_height: height.parse().ok(),
            environment: Some(environment),
            ..ComputerUseTool::default()
        })
    };
    let mut tools = Vec::new();
    if has("desktop") {
        tools.push(screen(Environment::Linux));
    } else if has("browser") {
        tools.push(screen(Environment::Browser));
    }
    if has("browser") {
        tools.push(page_tool());
    }
    if has("shell") {
        tools.push(Tool::Shell(ShellTool::default()));
    }
    if has("editor") {
        tools.push(Tool::Hosted(HostedTool::new("text_editor")));
    }
    tools
}
