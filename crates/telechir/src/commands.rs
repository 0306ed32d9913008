//! One module per subcommand; each returns an exit code or an error.

mod approvals;
mod audit;
mod conform;
mod do_action;
mod doctor;
mod exec;
mod generate;
mod mcp;
mod mcp_install;
mod policy;
mod profiles;
mod recordings;
mod report;
mod run;
pub(crate) mod serve;
mod sessions;
mod stream;
pub(crate) mod tokens;
mod tools;
mod translate;
mod view;

use std::future::Future;
use std::process::ExitCode;

use tokio::runtime::Builder;

use crate::args::{CliCommand, McpArguments, McpCommand};
use crate::error::CliError;

pub(crate) fn run(command: CliCommand) -> Result<ExitCode, CliError> {
    match command {
        CliCommand::Run(arguments) => wait(|| run::run(arguments)),
        CliCommand::Do(arguments) => wait(|| do_action::do_action(*arguments)),
        CliCommand::Exec(arguments) => wait(|| exec::exec(arguments)),
        CliCommand::Mcp(McpArguments { command, server }) => match command {
            Some(McpCommand::Install(arguments)) => mcp_install::install(&arguments),
            None => wait_on(one_thread(), || mcp::mcp(server)),
        },
        CliCommand::Serve(arguments) => wait(|| serve::serve(arguments)),
        CliCommand::View(arguments) => wait(|| view::view(arguments)),
        CliCommand::Tokens(arguments) => tokens::tokens(&arguments),
        CliCommand::Sessions(command) => wait(|| sessions::sessions(command)),
        CliCommand::Approvals(command) => wait(|| approvals::approvals(command)),
        CliCommand::Approve(arguments) => wait(|| approvals::approve(arguments)),
        CliCommand::Deny(arguments) => wait(|| approvals::deny(arguments)),
        CliCommand::Profiles(command) => profiles::profiles(command),
        CliCommand::Recordings(command) => recordings::recordings(command),
        CliCommand::SessionHost(arguments) => wait(|| crate::session_host::run(arguments)),
        CliCommand::Decode(arguments) => translate::decode(&arguments),
        CliCommand::Encode(arguments) => translate::encode(&arguments),
        CliCommand::Translate(arguments) => translate::translate(&arguments),
        CliCommand::Conform(arguments) => conform::conform(&arguments),
        CliCommand::Tools(arguments) => tools::tools(&arguments),
        CliCommand::Report(arguments) => report::report(&arguments),
        CliCommand::Doctor(arguments) => wait(|| doctor::doctor(arguments)),
        CliCommand::Audit(command) => audit::audit(&command),
        CliCommand::Generate(command) => generate::generate(&command),
        CliCommand::Guardian => crate::guardian::watch(),
        CliCommand::Policy(command) => wait(|| policy::policy(command)),
    }
}

/// Runs a command that waits for devices and networks.
fn wait<F: Future<Output = Result<ExitCode, CliError>>>(
    command: impl FnOnce() -> F,
) -> Result<ExitCode, CliError> {
    let mut threads = Builder::new_multi_thread();
    threads.worker_threads(2);
    wait_on(threads, command)
}

/// A single thread, on which tasks start in the order in which they were spawned: requests of one
/// client keep their order.
fn one_thread() -> Builder {
    Builder::new_current_thread()
}

/// Not a part of its caller, whose stack would then have room for the futures of all commands.
#[inline(never)]
fn wait_on<F: Future<Output = Result<ExitCode, CliError>>>(
    mut threads: Builder,
    command: impl FnOnce() -> F,
) -> Result<ExitCode, CliError> {
    let runtime = threads
        .enable_all()
        .build()
        .map_err(|e| CliError::message(format!("failed to start the runtime's threads: {e}")))?;
    let outcome = runtime.block_on(command());
    // A prompt that waits for a key on the terminal must not delay the exit.
    runtime.shutdown_background();
    outcome
}
