//! `doctor`: tests this machine and prints what is missing and how to fix it.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use super::tools::capability_table;
use crate::args::DoctorArguments;
use crate::doctor::{self, Finding, MachineInfo, TextRenderer};
use crate::env;
use crate::error::CliError;
use crate::input::{write_json, write_text};
use crate::session::{self, Stopped};

pub(crate) async fn doctor(arguments: DoctorArguments) -> Result<ExitCode, CliError> {
    if let Some(model) = &arguments.model {
        write_text(&capability_table(model))?;
        return Ok(ExitCode::SUCCESS);
    }
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
    let checked = session::until_stopped(doctor::check(machine, arguments.record, report)).await;
    let report = match checked {
        Ok(report) => report,
        Err(Stopped(signal)) => return Err(CliError::signal(signal)),
    };
    if as_text {
        print(&renderer.end(&report));
    } else {
        write_json(&report, true)?;
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
