//! `doctor`: tests this machine and prints what is missing and how to fix it.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use super::tools::print_capabilities;
use crate::args::{DoctorArguments, serve_flags};
use crate::doctor::{self, Finding, MachineInfo, TextRenderer};
use crate::env;
use crate::error::CliError;
use crate::input::write_json;
use crate::session::{self, Stopped};

pub(crate) async fn doctor(arguments: DoctorArguments) -> Result<ExitCode, CliError> {
    if let Some(model) = &arguments.model {
        print_capabilities(model)?;
        return Ok(ExitCode::SUCCESS);
    }
    let server = arguments.config.as_deref().map(serve_flags).transpose()?;
    let is_server = server.is_some();
    let renderer = TextRenderer {
        colours: io::stdout().is_terminal() && env::colours(),
    };
    let as_text = !arguments.json;
    let machine = MachineInfo::inspect();
    if as_text {
        print(&renderer.machine(&machine));
    }
    let report = |finding: &Finding| {
        if as_text {
            print(&renderer.finding(finding));
        }
    };
    let check = async {
        match server {
            Some(flags) => doctor::check_server(machine, &flags, report).await,
            None => doctor::check(machine, arguments.record, report).await,
        }
    };
    let checked = session::until_stopped(check).await;
    let report = match checked {
        Ok(report) => report,
        Err(Stopped(signal)) => return Err(CliError::signal(signal)),
    };
    match as_text {
        false => write_json(&report, true)?,
        true if is_server => {}
        true => print(&renderer.end(&report)),
    }
    Ok(if report.ready {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Prints text. Write errors are ignored, because the exit code still carries the result.
fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _best_effort = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
