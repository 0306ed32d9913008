//! `audit verify`: verifies the hash chain of a recording.

use std::process::ExitCode;

use telechir_runtime::{verify, verify_since};

use crate::args::AuditCommand;
use crate::error::CliError;
use crate::input::write_text;

pub(crate) fn audit(command: &AuditCommand) -> Result<ExitCode, CliError> {
    let AuditCommand::Verify { recording, head } = command;
    let verified = match head {
        None => verify(recording)?,
        Some(head) => verify_since(recording, head)?,
    };
    let folder = recording.display();
    if let Some(fault) = &verified.fault {
        return Err(CliError::message(format!("{folder}: {fault}")));
    }
    write_text(&format!(
        "{folder}: {} events are unchanged since they were written; the last hash is {}\n",
        verified.rows, verified.head
    ))?;
    Ok(ExitCode::SUCCESS)
}
