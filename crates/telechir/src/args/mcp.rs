//! Flags of `mcp` and `mcp install`.

use clap::{Args, Parser, Subcommand};
use telechir_host::SessionName;

use super::{DeviceArguments, SafetyArguments};
use crate::mcp_client::CLIENTS;
use crate::service::SERVICES;

pub(super) const EXAMPLES: &str = "\
Examples:
  telechir mcp --desktop --browser --shell
  telechir mcp --browser --headless --read-only
  telechir mcp install claude --desktop --shell
  telechir mcp install codex --write --browser --shell
  telechir mcp --session work

The session starts with the first call and ends with the client, unless --session names it. Some
calls need an approval: a client that can ask its user does; with others the answer is no, unless a
rule of the policy allows the call.";

const INSTALL_EXAMPLES: &str = "\
Examples:
  telechir mcp install claude --desktop --shell
  telechir mcp install zed --write --browser --headless
  telechir mcp install vscode --write --name work --shell --workspace ~/project

Prints the configuration and changes nothing. With --write, prints the difference and writes it: the
rest of the file stays as it is, comments included.";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArguments {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
    #[command(flatten)]
    pub(crate) server: McpServerArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Print or write the configuration with which a client starts this server.
    #[command(after_help = INSTALL_EXAMPLES)]
    Install(McpInstallArguments),
}

#[derive(Debug, Args)]
pub(crate) struct McpServerArguments {
    /// Offer only these tools.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
    /// Do not offer these tools.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) exclude_tools: Vec<String>,
    /// Offer only tools that change nothing.
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Wait up to SECONDS for your answer to a question; then the call fails with the code of the
    /// question, which stays open for `telechir approve`.
    #[arg(long, value_name = "SECONDS", default_value_t = 45, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) approval_wait: u64,
    /// Serve the live page on loopback, and print its address on stderr; the page is read-only.
    #[arg(long)]
    pub(crate) view: bool,
    /// Use the session with this name, which other callers can use, too, and which does not end
    /// with the client. One that is open needs no device flag.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<SessionName>,
    /// Provider of the model for execute_computer_use [default: the first whose API key is set].
    #[arg(long, value_name = "PROVIDER", value_parser = SERVICES.map(|service| service.name))]
    pub(crate) task_provider: Option<String>,
    /// Model for execute_computer_use [default: the provider's model for computer use].
    #[arg(long, value_name = "MODEL", value_parser = super::model_name)]
    pub(crate) task_model: Option<String>,
    #[command(flatten)]
    pub(crate) devices: DeviceArguments,
    #[command(flatten)]
    pub(crate) safety: SafetyArguments,
}

#[derive(Debug, Args)]
pub(crate) struct McpInstallArguments {
    /// The client to configure.
    #[arg(value_parser = CLIENTS.map(|client| client.name))]
    pub(crate) client: String,
    /// Write the configuration, after printing the difference.
    #[arg(long)]
    pub(crate) write: bool,
    /// The server's name in the client.
    #[arg(long, default_value = "telechir", value_parser = server_name)]
    pub(crate) name: String,
    /// The flags of `telechir mcp` with which the client starts it.
    #[arg(
        value_name = "FLAGS",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true
    )]
    pub(crate) flags: Vec<String>,
}

/// The flags of `telechir mcp` alone, to check them.
#[derive(Debug, Parser)]
#[command(name = "telechir mcp")]
pub(crate) struct McpFlags {
    #[command(flatten)]
    pub(crate) server: McpServerArguments,
}

/// Clients put the name before the names of tools, which together have at most 64 characters.
fn server_name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=24).contains(&text.len()) && text.chars().all(is_plain) {
        Ok(text.to_owned())
    } else {
        Err("a server's name has 1 to 24 letters, digits, `_` or `-`".to_owned())
    }
}
