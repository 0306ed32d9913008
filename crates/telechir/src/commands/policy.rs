//! `policy check`: reads a policy file and checks the examples inside it.

use std::io::Write;
use std::process::ExitCode;

use crate::args::PolicyCommand;
use crate::error::Failure;

pub(crate) fn policy(command: &PolicyCommand) -> Result<ExitCode, Failure> {
    let PolicyCommand::Check { file } = command;
    crate::policy::read(file)?;
    writeln!(
        std::io::stdout(),
        "{}: the rules can be read and their examples hold",
        file.display()
    )?;
    Ok(ExitCode::SUCCESS)
}
