//! The edge: the only reader of flags, files and environment; wires the parts.

mod approver;
mod args;
mod call_approver;
mod commands;
mod context_store;
mod counted;
mod declared_tools;
mod devices;
mod doctor;
mod env;
mod error;
mod first_page;
mod folders;
mod guardian;
mod input;
mod json_events;
mod live_page;
mod log;
mod mcp_client;
mod mcp_config;
mod mcp_session;
mod mcp_task;
mod network;
mod policy;
mod progress;
mod recording_folder;
mod remote;
mod report;
mod secrets;
mod service;
mod session;
mod session_config;
mod session_dir;
mod session_events;
mod session_host;
mod shared_session;
mod socket_folder;
mod streamed_message;
mod system_prompt;
mod terminal_line;
mod terminal_prompt;
mod tools_file;
mod workspace_lock;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match args::parse(std::env::args_os().collect()) {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    env::start_logging(arguments.log.verbose, arguments.log.log_format);
    let outcome = commands::run(arguments.command);
    outcome.unwrap_or_else(|failure| failure.report())
}
