//! The edge: the only reader of flags, files and environment; wires the parts.

mod approver;
mod args;
mod commands;
mod devices;
mod doctor;
mod failure;
mod folder;
mod guardian;
mod holder;
mod input;
mod network;
mod policy;
mod progress;
mod report;
mod service;
mod session;
mod settings;

use std::process::ExitCode;

use clap::Parser;

use crate::args::Arguments;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    settings::start_logging(arguments.verbose);
    let outcome = commands::run(arguments.command);
    outcome.unwrap_or_else(|failure| failure.report())
}
