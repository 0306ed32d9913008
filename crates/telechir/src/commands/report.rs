//! `report`: writes a recording as one HTML page.

use std::process::ExitCode;

use crate::args::ReportArguments;
use crate::error::CliError;

pub(crate) fn report(arguments: &ReportArguments) -> Result<ExitCode, CliError> {
    let page = crate::report::render(&arguments.recording)?;
    std::fs::write(&arguments.out, page).map_err(|e| {
        CliError::message(format!("failed to write {}: {e}", arguments.out.display()))
    })?;
    Ok(ExitCode::SUCCESS)
}
