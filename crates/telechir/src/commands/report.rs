//! `report`: one HTML page of a recording.

use std::process::ExitCode;

use crate::args::ReportArguments;
use crate::error::Failure;

pub(crate) fn report(arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    let page = crate::report::render(&arguments.recording)?;
    std::fs::write(&arguments.out, page).map_err(|e| {
        Failure::message(format!("failed to write {}: {e}", arguments.out.display()))
    })?;
    Ok(ExitCode::SUCCESS)
}
