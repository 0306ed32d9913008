//! Strategies for shell calls and results.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use telechir_protocol::*;

use super::{call_id, failure, json_value, members_of, meta, text};

pub(crate) fn shell_action() -> impl Strategy<Value = ShellAction> {
    prop_oneof![
        Just(ShellAction::Execute),
        Just(ShellAction::Restart),
        text().prop_map(ShellAction::SendText),
        text().prop_map(ShellAction::SendKey),
        Just(ShellAction::CloseInput),
        Just(ShellAction::Interrupt),
        Just(ShellAction::Start),
        Just(ShellAction::List),
        text().prop_map(ShellAction::Read),
        text().prop_map(ShellAction::Stop),
        "x_[a-z]{1,9}".prop_map(ShellAction::Other),
    ]
}

pub(crate) fn shell_call() -> BoxedStrategy<ShellCall> {
    let command = prop_oneof![
        text().prop_map(Command::Line),
        vec(text(), 0..3).prop_map(Command::Argv),
    ];
    let environment = prop_oneof![
        Just(ShellEnvironment::Local),
        of(text()).prop_map(|container_id| ShellEnvironment::Hosted { container_id }),
    ];
    let description = (of(text()), of(text()), of(text()), of(text()), of(text()));
    let limits = (
        of(any::<u64>()),
        of(any::<u64>()),
        members_of(json_value()),
        environment,
        of(text()),
    );
    (
        call_id(),
        shell_action(),
        vec(command, 0..3),
        description,
        limits,
        meta(),
    )
        .prop_map(
            |(call_id, action, commands, description, limits, meta)| ShellCall {
                item_id: description.0,
                job: limits.4.filter(|_| action.is_input()),
                action,
                timeout_ms: limits.0,
                max_output: limits.1,
                cwd: description.1,
                env: limits.2,
                user: description.2,
                environment: limits.3,
                status: description.3,
                exception: description.4,
                meta,
                ..ShellCall::execute(call_id, commands)
            },
        )
        .boxed()
}

pub(crate) fn outcome() -> impl Strategy<Value = ShellOutcome> {
    prop_oneof![
        Just(ShellOutcome::Success),
        Just(ShellOutcome::Error),
        Just(ShellOutcome::Timeout),
        Just(ShellOutcome::Cancelled),
        Just(ShellOutcome::NotStarted),
        Just(ShellOutcome::AwaitingInput),
        Just(ShellOutcome::Running),
    ]
}

fn awaiting() -> impl Strategy<Value = InputRequest> {
    use InputRequestKind::{Editor, Hidden, Keys, Line, Pager};
    let kind = prop::sample::select(vec![Line, Hidden, Pager, Editor, Keys]);
    (kind, text()).prop_map(|(kind, prompt)| InputRequest { kind, prompt })
}

/// Output with lines like those of the text format.
pub(crate) fn stream() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        text(),
        Just("\n".to_owned()),
        "(\\[stderr'{0,2}\\]|\\[no newline'?\\]|\\[exit -?[0-9]'?\\]|\\[timeout\\])\n?",
    ];
    vec(line, 0..5).prop_map(|lines| lines.concat())
}

pub(crate) fn command_output() -> BoxedStrategy<CommandOutput> {
    let counts = (
        of(any::<i32>()),
        of(1..64i32),
        any::<u64>(),
        of(any::<u64>()),
    );
    (stream(), stream(), outcome(), counts, of(awaiting()))
        .prop_map(
            |(stdout, stderr, outcome, counts, awaiting)| CommandOutput {
                stdout,
                stderr,
                exit_code: counts.0,
                signal: counts.1,
                outcome,
                truncated_bytes: counts.2,
                duration_ms: counts.3,
                awaiting,
            },
        )
        .boxed()
}

pub(crate) fn shell_result() -> BoxedStrategy<ShellResult> {
    let description = (
        of(text()),
        of(text()),
        of(any::<u64>()),
        of(failure()),
        any::<bool>(),
    );
    (call_id(), vec(command_output(), 0..3), description, meta())
        .prop_map(|(call_id, outputs, description, meta)| ShellResult {
            item_id: description.0,
            cwd: description.1,
            max_output: description.2,
            error: description.3,
            combined: description.4,
            meta,
            ..ShellResult::new(call_id, outputs)
        })
        .boxed()
}
