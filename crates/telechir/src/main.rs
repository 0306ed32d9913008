//! The edge: the only reader of flags, files and environment; wires the parts.

mod approver;
mod args;
mod commands;
mod devices;
mod doctor;
mod env;
mod error;
mod first_page;
mod folders;
mod guardian;
mod input;
mod mcp_client;
mod mcp_config;
mod mcp_session;
mod mcp_task;
mod network;
mod policy;
mod progress;
mod report;
mod service;
mod session;
mod session_config;
mod session_dir;
mod session_host;
mod socket_folder;
mod terminal_prompt;
mod tools_file;
mod workspace_lock;

use std::process::ExitCode;

use clap::Parser;

use crate::args::Cli;

fn main() -> ExitCode {
    let arguments = Cli::parse();
    env::start_logging(arguments.verbose);
    let outcome = commands::run(arguments.command);
    outcome.unwrap_or_else(|failure| failure.report())
}
