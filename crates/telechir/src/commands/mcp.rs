//! `mcp`: serves the Model Context Protocol; its tools act on a session host.

use std::process::ExitCode;
use std::sync::Arc;

use telechir_tools::{Capabilities, ToolCatalog, ToolSelection};

use crate::args::McpArguments;
use crate::error::CliError;
use crate::mcp_session::McpSession;

pub(crate) async fn mcp(arguments: McpArguments) -> Result<ExitCode, CliError> {
    let devices = &arguments.devices;
    if devices.is_empty() {
        return Err(CliError::usage(
            "no device: pass --desktop, --browser or --shell, or several of them",
        ));
    }
    devices.check_shell().map_err(CliError::usage)?;
    let has = Capabilities {
        desktop: devices.desktop.is_some(),
        browser: devices.browser.is_some(),
        shell: devices.shell.is_some(),
    };
    let selection = ToolSelection {
        only: arguments.tools.clone(),
        excluded: arguments.exclude_tools.clone(),
        read_only: arguments.read_only,
    };
    let catalog = ToolCatalog::new(has, &selection).map_err(CliError::usage)?;
    let session = Arc::new(McpSession::new(arguments)?);
    let served = telechir_server::mcp::serve_stdio(catalog, session, env!("CARGO_PKG_VERSION"));
    served.await.map_err(CliError::message)?;
    Ok(ExitCode::SUCCESS)
}
