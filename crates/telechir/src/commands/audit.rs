//! `audit verify`: follows the chain of hashes through a recording.

use std::io::Write;
use std::process::ExitCode;

use telechir_runtime::{verify, verify_since};

use crate::args::AuditCommand;
use crate::error::Failure;

pub(crate) fn audit(command: &AuditCommand) -> Result<ExitCode, Failure> {
    let AuditCommand::Verify { recording, head } = command;
    let verified = match head {
        None => verify(recording)?,
        Some(head) => verify_since(recording, head)?,
    };
    let folder = recording.display();
    if let Some(fault) = &verified.fault {
        return Err(Failure::message(format!("{folder}: {fault}")));
    }
    writeln!(
        std::io::stdout(),
        "{folder}: {} events are as they were written; the last has the hash {}",
        verified.rows,
        verified.head
    )?;
    Ok(ExitCode::SUCCESS)
}
