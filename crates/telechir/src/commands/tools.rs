//! `tools`: prints the tool definitions and headers to send to a model.

use std::process::ExitCode;

use serde::Serialize;
use serde_json::{Map, Value};
use telechir_protocol::{ActionKind, ComputerUseTool, HostedTool, ShellTool, Tool};
use telechir_providers::{Availability, ToolOffer, capabilities, desktop_tool, page_tool};

use crate::args::ToolsArguments;
use crate::error::CliError;
use crate::input::{report_lines, write_json, write_text};
use crate::tools_file;

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
    let Some(dialect) = arguments.dialect else {
        write_text(&capability_table(
            arguments.model.as_deref().unwrap_or_default(),
        ))?;
        return Ok(ExitCode::SUCCESS);
    };
    let mut tools = match &arguments.from {
        Some(file) => tools_file::read(file)?,
        None => computer(arguments)?,
    };
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
        let message = match &arguments.from {
            Some(file) => format!("--from: {} has no tools", file.display()),
            None => "nothing to declare with --no-computer; add --shell, --editor or --memory"
                .to_owned(),
        };
        return Err(CliError::usage(message));
    }
    let (declaration, mut report) = dialect.declare(&offer)?;
    // A loss of the default environment is irrelevant.
    let has_environment = arguments.environment.is_some() || arguments.from.is_some();
    let is_relevant = |what: &str| has_environment || !what.starts_with("environment");
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

/// The computer tool that the flags describe.
fn computer(arguments: &ToolsArguments) -> Result<Vec<Tool>, CliError> {
    let environment = arguments.environment.clone();
    let environment = environment.unwrap_or_else(|| "linux".to_owned());
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
    if arguments.no_computer {
        return Ok(Vec::new());
    }
    Ok(vec![Tool::ComputerUse(ComputerUseTool {
        display_width: arguments.display.map(|size| size.width),
        display_height: arguments.display.map(|size| size.height),
        environment: Some(environment),
        excluded_actions: arguments.exclude.clone(),
        ..ComputerUseTool::default()
    })])
}

/// The tools that a model can have, one line per dialect and tool.
pub(crate) fn capability_table(model: &str) -> String {
    let mut text = String::new();
    for capability in capabilities(model) {
        let how = match capability.availability {
            Availability::Native => capability
                .declared_as
                .unwrap_or_else(|| "native".to_owned()),
            Availability::Function => "function".to_owned(),
            Availability::Unavailable => {
                let why = capability.why.unwrap_or_default();
                format!("- ({why})")
            }
        };
        text.push_str(&format!(
            "{:24}{:18}{how}\n",
            capability.dialect, capability.tool
        ));
    }
    text
}
