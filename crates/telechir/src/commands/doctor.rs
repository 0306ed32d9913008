//! `doctor`: tells what works on this machine and what mends the rest.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use crate::args::DoctorArguments;
use crate::doctor::{self, Finding, Machine, Show};
use crate::env;
use crate::error::Failure;
use crate::input::write_json;
use crate::session::{self, Stopped};

pub(crate) async fn doctor(arguments: DoctorArguments) -> Result<ExitCode, Failure> {
    let show = Show {
        colours: io::stdout().is_terminal() && env::colours(),
    };
    let as_text = !arguments.json;
    let machine = Machine::look();
    if as_text {
        say(&show.machine(&machine));
    }
    let tell = |finding: &Finding| {
        if as_text {
            say(&show.finding(finding));
        }
    };
    let checked = session::until_stopped(doctor::check(machine, arguments.record, tell)).await;
    let report = match checked {
        Ok(report) => report,
        Err(Stopped(signal)) => return Err(Failure::signal(signal)),
    };
    if as_text {
        say(&show.end(&report));
    } else {
        write_json(&report, true)?;
    }
    Ok(if report.ready {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Whoever reads may stop reading; the exit code is still an answer.
fn say(text: &str) {
    let mut out = io::stdout().lock();
    let _best_effort = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
