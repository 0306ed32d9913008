//! One module a subcommand; each ends in an exit code or a failure.

mod audit;
mod conform;
mod doctor;
mod exec;
mod policy;
mod profiles;
mod report;
mod run;
mod sessions;
mod stream;
mod tools;
mod translate;

use std::future::Future;
use std::process::ExitCode;

use crate::args::Command;
use crate::error::Failure;

pub(crate) fn run(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Run(arguments) => wait(run::run(arguments)),
        Command::Exec(arguments) => wait(exec::exec(arguments)),
        Command::Sessions(command) => wait(sessions::sessions(command)),
        Command::Profiles(command) => profiles::profiles(command),
        Command::SessionHost(arguments) => wait(crate::session_host::hold(arguments)),
        Command::Decode(arguments) => translate::decode(&arguments),
        Command::Encode(arguments) => translate::encode(&arguments),
        Command::Translate(arguments) => translate::translate(&arguments),
        Command::Conform(arguments) => conform::conform(&arguments),
        Command::Tools(arguments) => tools::tools(&arguments),
        Command::Report(arguments) => report::report(&arguments),
        Command::Doctor(arguments) => wait(doctor::doctor(arguments)),
        Command::Audit(command) => audit::audit(&command),
        Command::Guardian => crate::guardian::watch(),
        Command::Policy(command) => policy::policy(&command),
    }
}

/// Runs a command that waits for devices and networks.
fn wait(command: impl Future<Output = Result<ExitCode, Failure>>) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|e| Failure::message(format!("failed to start threads: {e}")))?;
    let outcome = runtime.block_on(command);
    // A question that waits for a key on the terminal must not hold up the end.
    runtime.shutdown_background();
    outcome
}
