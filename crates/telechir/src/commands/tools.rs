//! `tools`: prints the tool definitions and headers to send to a model.

use std::process::ExitCode;

use serde::Serialize;
use serde_json::{Map, Value};
use telechir_protocol::{ActionKind, ComputerUseTool, HostedTool, ShellTool, Tool};
use telechir_providers::{ToolOffer, desktop_tool, page_tool};

use crate::args::ToolsArguments;
use crate::error::CliError;
use crate::input::{report_lines, write_json};

/// The output.
#[derive(Serialize)]
struct ToolsOutput {
    tools: Vec<Value>,
    headers: Map<String, Value>,
    /// Other fields of the request that the tools require.
    #[serde(skip_serializing_if = "Map::is_empty")]
    body: Map<String, Value>,
}

/// Actions of every desktop with a window manager other than mouse and keyboard actions.
const EVERY_DESKTOP: [ActionKind; 13] = [
    ActionKind::ListWindows,
    ActionKind::FocusWindow,
    ActionKind::MaximizeWindow,
    ActionKind::RestoreWindow,
    ActionKind::MinimizeWindow,
    ActionKind::CloseWindow,
    ActionKind::PlaceWindow,
    ActionKind::CaptureWindow,
    ActionKind::ListMonitors,
    ActionKind::CaptureMonitor,
    ActionKind::ReadClipboard,
    ActionKind::WriteClipboard,
    ActionKind::OpenApp,
];

pub(crate) fn tools(arguments: &ToolsArguments) -> Result<ExitCode, CliError> {
    let requested = arguments.environment.clone();
    let environment = requested.clone().unwrap_or_else(|| "linux".to_owned());
    let environment = serde_json::from_value(Value::String(environment))
        .map_err(|e| CliError::usage(format!("--environment: {e}")))?;
    if let Some(name) = arguments
        .exclude
        .iter()
        .find(|name| name.parse::<ActionKind>().is_err())
    {
        let known: Vec<&str> = ActionKind::ALL.iter().map(|kind| kind.name()).collect();
        let known = known.join(", ");
        return Err(CliError::usage(format!(
            "--exclude: unknown action `{name}`; expected one of {known}"
        )));
    }
    let computer = ComputerUseTool {
        display_width: arguments.display.map(|size| size.width),
        display_height: arguments.display.map(|size| size.height),
        environment: Some(environment),
        excluded_actions: arguments.exclude.clone(),
        ..ComputerUseTool::default()
    };
    let mut tools = Vec::new();
    if !arguments.no_computer {
        tools.push(Tool::ComputerUse(computer));
    }
    if arguments.desktop_tool {
        let is_excluded =
            |kind: ActionKind| arguments.exclude.iter().any(|name| name == kind.name());
        tools.extend(desktop_tool(|kind| {
            EVERY_DESKTOP.contains(&kind) && !is_excluded(kind)
        }));
    }
    if arguments.page_tool {
        tools.push(page_tool());
    }
    if arguments.shell {
        tools.push(Tool::Shell(ShellTool::default()));
    }
    for (name, is_requested) in [
        ("text_editor", arguments.editor),
        ("memory", arguments.memory),
    ] {
        if is_requested {
            tools.push(Tool::Hosted(HostedTool::new(name)));
        }
    }
    let offer = ToolOffer {
        tools,
        model: arguments.model.clone(),
    };
    if offer.tools.is_empty() {
        let message = "nothing to declare with --no-computer; add --shell, --editor or --memory";
        return Err(CliError::usage(message));
    }
    let (declaration, mut report) = arguments.dialect.declare(&offer)?;
    // A loss of the default environment is irrelevant.
    let is_relevant = |what: &str| requested.is_some() || !what.starts_with("environment");
    report.losses.retain(|loss| is_relevant(&loss.what));
    report_lines(&report.losses);
    let headers = declaration
        .headers
        .into_iter()
        .map(|(name, value)| (name, Value::String(value)))
        .collect();
    write_json(
        &ToolsOutput {
            tools: declaration.tools,
            headers,
            body: declaration.body,
        },
        true,
    )?;
    Ok(ExitCode::SUCCESS)
}
