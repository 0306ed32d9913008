//! `policy check`: parses a policy file and checks the examples in it.

use std::io::Write;
use std::process::ExitCode;

use crate::args::PolicyCommand;
use crate::error::CliError;

pub(crate) fn policy(command: &PolicyCommand) -> Result<ExitCode, CliError> {
    let PolicyCommand::Check { file } = command;
    crate::policy::read(file)?;
    writeln!(
        std::io::stdout(),
        "{}: the policy is valid, and its examples are judged as expected",
        file.display()
    )?;
    Ok(ExitCode::SUCCESS)
}
