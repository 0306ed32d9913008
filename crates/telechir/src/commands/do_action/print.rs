//! The result of one action on stdout: its text, its screenshot, or the output of its command.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use telechir_protocol::{
    ComputerResult, Media, ShellOutcome, ShellResult, StepOutcome, StepState, ToolResult,
};

use crate::args::DoAction;
use crate::error::CliError;
use crate::input::{write_bytes, write_json, write_text};

/// The exit code of a command that did not end in time, as `timeout` has it.
const TIMED_OUT: u8 = 124;

/// Prints the result as one document in the neutral form; a screenshot is also written to its file.
pub(super) fn json(result: &ToolResult, action: &DoAction) -> Result<ExitCode, CliError> {
    write_json(&result.clone().into_content(), false)?;
    if let DoAction::Screenshot { file, .. } = action
        && let ToolResult::Computer(result) = result
        && let (Some(bytes), Some(file)) = (image_of(result)?, file)
    {
        write_file(file, &bytes)?;
    }
    Ok(match failure_of(result) {
        Some(_) => ExitCode::FAILURE,
        None => match result {
            ToolResult::Shell(result) => exit_code(result),
            ToolResult::Computer(_) | ToolResult::Edit(_) | ToolResult::Function(_) => {
                ExitCode::SUCCESS
            }
        },
    })
}

/// Prints what a person wants to see of the result.
pub(super) fn text(result: &ToolResult, action: &DoAction) -> Result<ExitCode, CliError> {
    match result {
        ToolResult::Shell(result) => output(result)?,
        ToolResult::Computer(result) => screen(result, action)?,
        ToolResult::Edit(_) | ToolResult::Function(_) => {}
    }
    match (failure_of(result), result) {
        (Some(message), _) => Err(CliError::message(message)),
        (None, ToolResult::Shell(result)) => Ok(exit_code(result)),
        (None, ToolResult::Computer(_) | ToolResult::Edit(_) | ToolResult::Function(_)) => {
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Why nothing, or only a part, was done.
fn failure_of(result: &ToolResult) -> Option<String> {
    let failure = match result {
        ToolResult::Computer(result) => &result.error,
        ToolResult::Shell(result) => &result.error,
        ToolResult::Edit(result) => &result.error,
        ToolResult::Function(_) => &None,
    };
    failure.as_ref().map(|failure| failure.message.clone())
}

fn screen(result: &ComputerResult, action: &DoAction) -> Result<(), CliError> {
    if let DoAction::Screenshot { file, .. } = action {
        return match (image_of(result)?, file) {
            (Some(bytes), Some(file)) => write_file(file, &bytes),
            (Some(bytes), None) => write_bytes(&bytes),
            (None, _) => Ok(()),
        };
    }
    match (&result.text_output, &result.error) {
        (Some(text), _) => write_text(&format!("{}\n", text.trim_end_matches('\n'))),
        (None, Some(_)) => Ok(()),
        (None, None) => write_text(&format!("{}\n", effect(&result.steps))),
    }
}

/// The strongest thing known about what was done.
fn effect(steps: &[StepOutcome]) -> &'static str {
    let is_confirmed = |step: &StepOutcome| step.state == StepState::Confirmed;
    match steps.iter().all(is_confirmed) {
        true => "confirmed",
        false => "delivered",
    }
}

/// The image of a screenshot; none if the action failed. An action that succeeds has one.
fn image_of(result: &ComputerResult) -> Result<Option<Vec<u8>>, CliError> {
    let bytes = match &result.screenshot {
        Some(Media::Data(data)) => data.base64().and_then(|text| STANDARD.decode(text).ok()),
        Some(Media::Uri(_) | Media::HostedFile(_)) | None => None,
    };
    if bytes.is_none() && result.error.is_none() {
        return Err(CliError::message(
            "the session returned no image, so no screenshot was written; report this as a bug",
        ));
    }
    Ok(bytes)
}

fn write_file(file: &Path, bytes: &[u8]) -> Result<(), CliError> {
    fs::write(file, bytes)
        .map_err(|e| CliError::message(format!("failed to write {}: {e}", file.display())))
}

/// Prints the output of a command as the command did: stdout and stderr apart.
fn output(result: &ShellResult) -> Result<(), CliError> {
    for output in &result.outputs {
        write_text(&output.stdout)?;
        let mut stderr = io::stderr().lock();
        let _best_effort = stderr.write_all(output.stderr.as_bytes());
        let note = match output.outcome {
            ShellOutcome::Timeout => "the command did not end in time and was stopped",
            ShellOutcome::AwaitingInput => {
                "the command waits for input on its terminal; give it on the line, or use a command \
                 that asks nothing"
            }
            ShellOutcome::Cancelled => "the command was stopped",
            ShellOutcome::Success
            | ShellOutcome::Error
            | ShellOutcome::NotStarted
            | ShellOutcome::Running
            | ShellOutcome::Other(_) => continue,
        };
        let _best_effort = writeln!(stderr, "telechir: {note}");
    }
    Ok(())
}

/// The exit code of a command, as a shell reports it.
fn exit_code(result: &ShellResult) -> ExitCode {
    let signal = result.outputs.iter().find_map(|output| output.signal);
    let code = match (result.outcome(), result.exit_code(), signal) {
        (ShellOutcome::Timeout, ..) => Some(i32::from(TIMED_OUT)),
        (_, Some(code), _) => Some(code),
        (_, None, Some(signal)) => Some(128 + signal),
        (ShellOutcome::Success, None, None) => Some(0),
        _ => None,
    };
    code.and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from)
}

#[cfg(test)]
mod tests {
    use telechir_protocol::{Failure, FailureKind};

    use super::*;

    #[test]
    fn a_screenshot_has_an_image_unless_it_failed() {
        let mut result = ComputerResult::new("c");
        let missing = image_of(&result).expect_err("no image");
        assert!(missing.text().contains("no image"), "{}", missing.text());
        let action = DoAction::Screenshot {
            file: None,
            of: None,
        };
        let printed = text(&ToolResult::Computer(result.clone()), &action);
        assert!(printed.is_err(), "{printed:?}");
        result.error = Some(Failure::new(FailureKind::Denied, "Denied."));
        assert!(matches!(image_of(&result), Ok(None)));
    }
}
