//! `exec`: executes the calls of one provider response and prints the provider's reply items.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use telechir_host::{ScreenshotsFor, SessionName};
use telechir_policy::{Digest, Policy};
use telechir_protocol::{AnsweredTurn, Content, FunctionCall, ModelTurn};
use telechir_providers::Dialect;

use crate::args::ExecArguments;
use crate::call_approver::{OneCall, SessionVisibility};
use crate::error::CliError;
use crate::input::{read_stdin, report_lines, write_json};
use crate::live_page::{page_of, serve_beside_command};
use crate::session::{self, Stopped};
use crate::session_host::{self, Caller, SessionCall};

pub(crate) async fn exec(mut arguments: ExecArguments) -> Result<ExitCode, CliError> {
    if arguments.strict {
        arguments.devices.page.remote.make_strict();
    }
    // Invalid input is rejected before a device starts.
    let dialect = arguments.dialect;
    let (turn, reading) = dialect.decode_response(&read_stdin()?)?;
    let turn = match leaves_functions(&arguments) {
        true => turn.leave_functions(),
        false => turn,
    };
    let policy = crate::policy::load(&arguments.safety)?;
    report_lines(&reading.losses);
    if arguments.strict && !reading.is_lossless() {
        return Err(CliError::loss(
            "the response could not be decoded without loss; nothing was executed",
        ));
    }
    let answered = match &arguments.session {
        Some(name) => {
            let digest = arguments.safety.policy.is_some().then(|| policy.digest());
            let _until_answered = match arguments.view {
                true => Some(serve_beside_command(&name.to_string()).await?),
                false => None,
            };
            session_host::execute(session_call(&arguments, name, digest), turn).await?
        }
        None => execute(&arguments, turn, policy).await?,
    };
    report_lines(&left_to_caller(&answered));
    let reply = dialect.encode_results(&answered)?;
    report_lines(&reply.report.losses);
    if arguments.strict && !reply.report.is_lossless() {
        return Err(CliError::loss(
            "the calls were executed, but a result could not be encoded without loss",
        ));
    }
    write_json(&reply.items, false)?;
    Ok(ExitCode::SUCCESS)
}

fn session_call<'a>(
    arguments: &'a ExecArguments,
    name: &'a SessionName,
    policy: Option<Digest>,
) -> SessionCall<'a> {
    SessionCall {
        name,
        caller: Caller {
            devices: &arguments.devices,
            safety: &arguments.safety,
            idle_timeout: arguments.idle_timeout,
            policy,
        },
        screenshots: ScreenshotsFor::Dialect(arguments.dialect.name().to_owned()),
        queue_timeout: arguments.queue_timeout,
        approval_wait: Duration::from_secs(arguments.approval_wait),
        may_be_retry: true,
    }
}

/// Users of these dialects have functions of their own beside the tools of the session.
fn leaves_functions(arguments: &ExecArguments) -> bool {
    let is_default = matches!(
        arguments.dialect,
        Dialect::Neutral | Dialect::AgentFramework
    );
    arguments.leave_functions.unwrap_or(is_default)
}

/// One line for each call that the caller answers.
fn left_to_caller(answered: &AnsweredTurn) -> Vec<Value> {
    let line = |call: &FunctionCall| {
        let mut call = call.clone();
        call.meta.raw_representation = None;
        json!({"left_to_caller": Content::FunctionCall(call)})
    };
    answered.left_to_caller().iter().map(line).collect()
}

/// Executes a turn on devices that are started for it and stopped afterwards.
async fn execute(
    arguments: &ExecArguments,
    turn: ModelTurn,
    policy: Policy,
) -> Result<AnsweredTurn, CliError> {
    let (devices, safety) = (&arguments.devices, &arguments.safety);
    let caller = OneCall {
        command: "exec",
        wait: Duration::from_secs(arguments.approval_wait),
        visibility: match arguments.view {
            true => SessionVisibility::ForPage,
            false => SessionVisibility::WithQuestions,
        },
    };
    let dialect = arguments.dialect;
    let mut open = session::open(devices, safety, policy, dialect, None, caller).await?;
    let work = async {
        let _until_answered = page_of(caller).await?;
        if let Some(url) = devices.first_page() {
            open.navigate(url).await?;
        }
        let answered = open.session.execute_once(turn).await?;
        // The devices do not end under the hands of a person.
        open.until_given_back().await;
        Ok::<_, CliError>(answered)
    };
    let answered = session::until_stopped(work).await;
    // Always close: otherwise the recording has no end.
    let closed = open.close().await;
    let answered = match answered {
        Ok(answered) => answered?,
        Err(Stopped(signal)) => return Err(CliError::signal(signal)),
    };
    closed?;
    Ok(answered)
}
