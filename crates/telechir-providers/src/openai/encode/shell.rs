//! Encodes shell results: one entry per command, or a single text.

use serde_json::{Value, json};
use telechir_protocol::{CommandOutput, Failure, ShellOutcome, ShellResult};

use super::result::{error_text, truncated};
use super::{ItemWriter, MissingScreenshot};
use crate::extra_tools;
use crate::json::object_of;
use crate::openai::call_form::CallItem;
use crate::openai::item::{property, restore};

/// Exit code of an interrupted command (128 + SIGINT).
const INTERRUPTED: i32 = 130;

impl ItemWriter {
    pub(super) fn shell_result(&mut self, result: &ShellResult, path: &str) {
        let call_form = self.call_form(&result.call_id).cloned();
        let is_local_shell = property(&result.meta, "form") == Some("local_shell");
        let form = call_form.as_ref().map(|call_form| call_form.item.clone());
        let form = form.or_else(|| {
            is_local_shell.then(|| CallItem::LocalShell {
                item_id: result.item_id.clone(),
            })
        });
        let caller = call_form.and_then(|call_form| call_form.caller);
        let item = match form {
            Some(CallItem::LocalShell { item_id }) => Value::Object(object_of([
                ("type", "local_shell_call_output".into()),
                ("call_id", result.call_id.as_str().into()),
                ("id", item_id.into()),
                ("status", property(&result.meta, "status").into()),
                ("output", truncated(&local_text(result)).into()),
            ])),
            Some(
                CallItem::Function
                | CallItem::Custom
                | CallItem::Computer
                | CallItem::Preview
                | CallItem::Patch
                | CallItem::Other(_),
            ) => self.function_output(
                &result.call_id,
                truncated(&shell_text(result)).into(),
                &result.meta,
            ),
            Some(CallItem::Shell {
                commands,
                max_output,
            }) => self.commands_output(result, commands, max_output, caller, path),
            None => {
                let commands = result.outputs.len().max(1);
                self.commands_output(result, commands, result.max_output, caller, path)
            }
        };
        self.push(item);
    }

    /// One entry per command; without `status`, which the provider rejects in requests.
    fn commands_output(
        &mut self,
        result: &ShellResult,
        commands: usize,
        max_output: Option<u64>,
        caller: Option<Value>,
        path: &str,
    ) -> Value {
        let entries: Vec<Value> = outputs(result, commands.max(1))
            .iter()
            .map(output_entry)
            .collect();
        if result.error.is_some() && self.missing_screenshot == MissingScreenshot::UsePrevious {
            let why = "an output holds only text and an outcome";
            let how = "as standard error and exit code 1";
            self.report.preserved("error", path, why, how);
        }
        for output in &result.outputs {
            if let Some(code) = assumed_code(output) {
                let why = "the source has none, and an outcome needs one";
                let how = format!("as exit code {code}, which is assumed");
                self.report.preserved("a missing exit code", path, why, how);
            }
            let what = match &output.outcome {
                ShellOutcome::Cancelled => "cancelled as exit code 130",
                ShellOutcome::NotStarted => "not_started as exit code 1",
                ShellOutcome::AwaitingInput => "awaiting_input as timeout",
                ShellOutcome::Running => "running as timeout",
                ShellOutcome::Success
                | ShellOutcome::Error
                | ShellOutcome::Timeout
                | ShellOutcome::Other(_) => continue,
            };
            let (name, how) = what.split_once(" as ").unwrap_or((what, ""));
            let why = "an outcome is an exit code or a timeout";
            self.report.preserved(
                format!("outcome {name}"),
                path,
                why,
                format!("as {how}, noted in stderr"),
            );
        }
        let mut item = object_of([
            ("type", "shell_call_output".into()),
            ("id", result.item_id.as_deref().into()),
            ("call_id", result.call_id.as_str().into()),
            ("output", entries.into()),
            ("max_output_length", max_output.into()),
            ("caller", caller.into()),
        ]);
        // The provider's own outputs have a status; in others it is rejected.
        if result.item_id.is_some() {
            restore(&mut item, &result.meta, &["status"]);
        }
        Value::Object(item)
    }
}

/// One output per command; commands that never ran are marked, and the error is attached to the
/// command that caused it.
fn outputs(result: &ShellResult, commands: usize) -> Vec<CommandOutput> {
    let missing = || match &result.error {
        Some(failure) => refused_output(failure),
        None => CommandOutput {
            outcome: ShellOutcome::NotStarted,
            ..CommandOutput::default()
        },
    };
    let mut outputs = result.outputs.clone();
    if let Some(failure) = &result.error
        && let Some(output) = outputs.iter_mut().find(|output| is_unfinished(output))
        && !output.stderr.contains(&failure.message)
    {
        if !output.stderr.is_empty() {
            output.stderr.push('\n');
        }
        output.stderr.push_str(&failure.message);
    }
    outputs.resize_with(outputs.len().max(commands), missing);
    outputs
}

/// Whether the command did not terminate by itself.
fn is_unfinished(output: &CommandOutput) -> bool {
    match &output.outcome {
        ShellOutcome::Cancelled
        | ShellOutcome::NotStarted
        | ShellOutcome::Timeout
        | ShellOutcome::Running
        | ShellOutcome::AwaitingInput => true,
        ShellOutcome::Error => output.exit_code.is_none() && output.signal.is_none(),
        ShellOutcome::Success | ShellOutcome::Other(_) => false,
    }
}

fn refused_output(failure: &Failure) -> CommandOutput {
    CommandOutput {
        stderr: failure.message.clone(),
        exit_code: Some(1),
        outcome: ShellOutcome::Error,
        ..CommandOutput::default()
    }
}

/// The exit code of a command that has none.
fn assumed_code(output: &CommandOutput) -> Option<i32> {
    let has_code = output.exit_code.is_some() || output.signal.is_some();
    match &output.outcome {
        _ if has_code => None,
        ShellOutcome::Success => Some(0),
        ShellOutcome::Error | ShellOutcome::Other(_) => Some(1),
        ShellOutcome::Timeout
        | ShellOutcome::Cancelled
        | ShellOutcome::NotStarted
        | ShellOutcome::AwaitingInput
        | ShellOutcome::Running => None,
    }
}

fn output_entry(output: &CommandOutput) -> Value {
    let signalled = || output.signal.map(|signal| signal.saturating_add(128));
    let code = output.exit_code.or_else(signalled);
    let exit = |code: i32| json!({"type": "exit", "exit_code": code});
    let assumed = || assumed_code(output).unwrap_or_default();
    let (outcome, note) = match &output.outcome {
        ShellOutcome::Success | ShellOutcome::Error | ShellOutcome::Other(_) => {
            (exit(code.unwrap_or_else(assumed)), None)
        }
        ShellOutcome::Timeout => (json!({"type": "timeout"}), None),
        ShellOutcome::Cancelled => (
            exit(INTERRUPTED),
            Some("cancelled before it ended".to_owned()),
        ),
        ShellOutcome::NotStarted => (exit(1), Some("not started".to_owned())),
        ShellOutcome::AwaitingInput => (json!({"type": "timeout"}), Some(input_hint(output))),
        ShellOutcome::Running => (
            json!({"type": "timeout"}),
            Some("running in the background".to_owned()),
        ),
    };
    let stderr = match note {
        Some(note) if output.stderr.is_empty() => format!("[{note}]"),
        Some(note) => format!("{}\n[{note}]", output.stderr),
        None => output.stderr.clone(),
    };
    json!({"stdout": truncated(&output.stdout), "stderr": truncated(&stderr), "outcome": outcome})
}

/// What a command waits for and how to answer it.
fn input_hint(output: &CommandOutput) -> String {
    let answer = format!("answer it with {}", extra_tools::SHELL);
    let Some(awaiting) = &output.awaiting else {
        return format!("still running: it waits for input on its terminal; {answer}");
    };
    let what = awaiting.kind.description();
    let prompt = if awaiting.prompt.is_empty() {
        String::new()
    } else {
        format!(" after {}", Value::from(awaiting.prompt.as_str()))
    };
    format!("still running: it waits for {what}{prompt}; {answer}")
}

/// The single text of `local_shell`: the first command's output as JSON.
fn local_text(result: &ShellResult) -> String {
    let output = outputs(result, 1).into_iter().next().unwrap_or_default();
    if result.combined && result.error.is_none() {
        return output.stdout;
    }
    serde_json::to_string(&output).unwrap_or_default()
}

/// A result as plain text, for outputs that are a single text.
fn shell_text(result: &ShellResult) -> String {
    if let Some(failure) = &result.error {
        return error_text(failure);
    }
    let mut text = String::new();
    for output in &result.outputs {
        text.push_str(&output.to_text());
        if output.outcome == ShellOutcome::AwaitingInput {
            text.push_str(&format!("\n[{}]", input_hint(output)));
        }
    }
    if text.is_empty() {
        "Done.".to_owned()
    } else {
        text
    }
}
