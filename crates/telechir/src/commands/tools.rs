//! `tools`: prints the tool definitions and headers to send to a model.

use std::process::ExitCode;

use serde::Serialize;
use serde_json::{Map, Value};
use telechir_protocol::{ActionKind, ComputerUseTool, Tool};
use telechir_providers::{
    Availability, Dialect, Loss, ModelName, ToolOffer, capabilities, page_tool,
};

use crate::args::{DEFAULT_SCREEN, ToolsArguments};
use crate::declared_tools::{DeclaredDevices, private_desktop_tool};
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

pub(crate) fn tools(arguments: &ToolsArguments) -> Result<ExitCode, CliError> {
    let Some(dialect) = arguments.dialect else {
        print_capabilities(arguments.model.as_deref().unwrap_or_default())?;
        return Ok(ExitCode::SUCCESS);
    };
    check_excluded(&arguments.exclude)?;
    let mut tools = match &arguments.from {
        Some(file) => tools_file::read(file)?,
        None if arguments.desktop || arguments.browser || arguments.text_only => Vec::new(),
        None => computer(arguments)?,
    };
    if arguments.desktop_tool && !arguments.desktop {
        tools.extend(desktop_functions(arguments));
    }
    if arguments.page_tool {
        tools.push(page_tool());
    }
    tools.extend(of_devices(arguments));
    let offer = ToolOffer {
        tools,
        model: arguments.model.clone(),
    };
    if offer.tools.is_empty() {
        let message = match &arguments.from {
            Some(file) => format!("--from: {} has no tools", file.display()),
            None => "nothing to declare without the computer tool; add --page-tool, --desktop-tool, --shell, --editor or --memory"
                .to_owned(),
        };
        return Err(CliError::usage(message));
    }
    let (declaration, mut report) = dialect.declare(&offer)?;
    if let Some(model) = arguments
        .model
        .as_deref()
        .filter(|_| depends_on_model(dialect))
    {
        let assumption = assumption(model, ModelName::in_dialect(model, dialect));
        report_lines(assumption.as_slice());
    }
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

/// Whether a dialect declares tools by the model's name.
fn depends_on_model(dialect: Dialect) -> bool {
    !matches!(
        dialect,
        Dialect::Functions
            | Dialect::FunctionsInline
            | Dialect::MistralChat
            | Dialect::MistralConversations
            | Dialect::Neutral
    )
}

/// The tools that `run` declares for these devices.
fn of_devices(arguments: &ToolsArguments) -> Vec<Tool> {
    let size = arguments.display.unwrap_or(DEFAULT_SCREEN);
    let declared = DeclaredDevices {
        desktop: arguments.desktop.then_some(size),
        desktop_tool: match arguments.desktop {
            true => desktop_functions(arguments),
            false => None,
        },
        browser: arguments.browser.then_some(size),
        has_shell: arguments.shell,
        has_editor: arguments.editor,
        has_memory: arguments.memory,
        text_only: arguments.text_only,
    };
    let mut tools = declared.tools();
    for tool in &mut tools {
        if let Tool::ComputerUse(tool) = tool {
            tool.excluded_actions.clone_from(&arguments.exclude);
        }
    }
    tools
}

fn desktop_functions(arguments: &ToolsArguments) -> Option<Tool> {
    let excluded = &arguments.exclude;
    private_desktop_tool(|kind| excluded.iter().any(|name| name == kind.name()))
}

/// Refuses names that no action has.
fn check_excluded(names: &[String]) -> Result<(), CliError> {
    let mut names = names.iter();
    let Some(name) = names.find(|name| name.parse::<ActionKind>().is_err()) else {
        return Ok(());
    };
    let known: Vec<&str> = ActionKind::ALL.iter().map(|kind| kind.name()).collect();
    let known = known.join(", ");
    Err(CliError::usage(format!(
        "--exclude: unknown action `{name}`; expected one of {known}"
    )))
}

/// The computer tool that the flags describe.
fn computer(arguments: &ToolsArguments) -> Result<Vec<Tool>, CliError> {
    let environment = arguments.environment.clone();
    let environment = environment.unwrap_or_else(|| "linux".to_owned());
    let environment = serde_json::from_value(Value::String(environment))
        .map_err(|e| CliError::usage(format!("--environment: {e}")))?;
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

/// Prints the tools that a model can have, and on stderr whether they are assumed.
pub(crate) fn print_capabilities(model: &str) -> Result<(), CliError> {
    report_lines(assumption(model, ModelName::of(model)).as_slice());
    write_text(&capability_table(model))
}

/// The line about a model whose tools are assumed, if they are.
fn assumption(model: &str, name: ModelName) -> Option<Loss> {
    let ModelName::Unknown { similar, tools } = name else {
        return None;
    };
    let why = match similar.is_empty() {
        true => "neither the name nor its provider is known".to_owned(),
        false => format!("the name is not known; similar are {}", similar.join(", ")),
    };
    Some(Loss {
        what: format!("model `{model}`"),
        location: "--model".to_owned(),
        why,
        preserved_as: Some(format!("with {tools}")),
    })
}

/// One line per dialect and tool.
fn capability_table(model: &str) -> String {
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
