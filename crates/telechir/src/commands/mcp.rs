//! `mcp`: serves the Model Context Protocol; its tools act on a session host.

use std::process::ExitCode;
use std::sync::Arc;

use telechir_host::tokens::Role;
use telechir_server::mcp::McpServer;
use telechir_tools::{Capabilities, ToolCatalog, ToolSelection};

use crate::args::{DeviceArguments, McpServerArguments};
use crate::error::CliError;
use crate::live_page::{LivePage, PageInBackground, PageOptions};
use crate::log::print_note;
use crate::mcp_session::McpSession;
use crate::mcp_task::TaskModel;
use crate::session_host::devices_of;

/// Longest time in seconds that a command may take by default: most clients end a call after 60.
const MAX_COMMAND_SECONDS: u64 = 50;

pub(crate) async fn mcp(arguments: McpServerArguments) -> Result<ExitCode, CliError> {
    let found = match &arguments.session {
        Some(name) if arguments.devices.is_empty() => Some(devices_of(name).await?),
        Some(_) | None => None,
    };
    let catalog = catalog(&arguments, found.as_ref())?;
    let is_viewed = arguments.view;
    let session = Arc::new(McpSession::new(arguments, found)?);
    let _until_the_end = match is_viewed {
        true => Some(serve_page(&session.name()).await?),
        false => None,
    };
    let server = McpServer::new(catalog, session, env!("CARGO_PKG_VERSION"));
    server.serve_stdio().await.map_err(CliError::message)?;
    Ok(ExitCode::SUCCESS)
}

/// Serves the live page. Clients read what their servers print on stderr, and so may the model: nobody
/// answers questions with this address.
async fn serve_page(session: &str) -> Result<PageInBackground, CliError> {
    let page = LivePage::open(PageOptions::of_session(Role::Viewer, session)).await?;
    print_note(&format!(
        "live page, read-only: {}; to answer questions and take over, run on a terminal: telechir view \
         {session}",
        page.url
    ));
    Ok(page.serve_beside())
}

/// The tools that a server with these flags offers; `found` are the devices of a session that was found
/// by its name alone.
///
/// # Errors
/// For flags with which no server can start.
pub(crate) fn catalog(
    arguments: &McpServerArguments,
    found: Option<&DeviceArguments>,
) -> Result<ToolCatalog, CliError> {
    check(arguments, found.is_some())?;
    let devices = found.unwrap_or(&arguments.devices);
    let is_private = devices.desktop.as_deref().is_none_or(str::is_empty);
    let is_private = is_private && !devices.has_attached_browser();
    let has = Capabilities {
        desktop: devices.desktop.is_some(),
        browser: devices.browser.is_some(),
        shell: devices.shell.is_some(),
        model: TaskModel::of(arguments)?.is_some(),
        screen: is_private.then(|| devices.screen_size()),
    };
    let selection = ToolSelection {
        only: arguments.tools.clone(),
        excluded: arguments.exclude_tools.clone(),
        read_only: arguments.read_only,
    };
    ToolCatalog::new(has, &selection).map_err(CliError::usage)
}

/// Checks the flags of a server; without any for devices, its session must have been found.
pub(crate) fn check(arguments: &McpServerArguments, is_found: bool) -> Result<(), CliError> {
    let devices = &arguments.devices;
    if devices.is_empty() && !is_found {
        return Err(CliError::usage(
            "no device: pass --desktop, --browser or --shell, or several of them, or --session with the \
             name of a session that is open",
        ));
    }
    devices.check().map_err(CliError::usage)?;
    if devices
        .command_timeout
        .is_some_and(|seconds| seconds > MAX_COMMAND_SECONDS)
    {
        return Err(CliError::usage(format!(
            "--command-timeout: expected at most {MAX_COMMAND_SECONDS} for mcp, because clients end \
             a call after 60 seconds; longer commands run in the background"
        )));
    }
    Ok(())
}
