//! `do`: one action in a session, without a provider's JSON.

mod call;
mod print;

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::time::Duration;

use telechir_host::{ScreenshotsFor, SessionName};
use telechir_protocol::ModelTurn;

use crate::args::{DoAction, DoArguments};
use crate::commands::sessions;
use crate::error::CliError;
use crate::session_host::{self, Caller, SessionCall};

/// The session of calls that name none.
const DEFAULT_SESSION: &str = "default";

pub(crate) async fn do_action(arguments: DoArguments) -> Result<ExitCode, CliError> {
    let DoArguments {
        call,
        devices,
        safety,
        action,
    } = arguments;
    let name = call.session.clone().map_or_else(default_session, Ok)?;
    if matches!(action, DoAction::Close) {
        return sessions::close(&name).await;
    }
    // Everything that can be wrong with the arguments is reported before a device starts.
    let content = call::content(&action, call.on)?;
    check_output(&action, call.json)?;
    let policy = crate::policy::load(&safety)?;
    let digest = safety.policy.is_some().then(|| policy.digest());
    let turn = ModelTurn::new(vec![content])?;
    let session_call = SessionCall {
        name: &name,
        caller: Caller {
            devices: &devices,
            safety: &safety,
            idle_timeout: call.idle_timeout,
            policy: digest,
        },
        screenshots: ScreenshotsFor::OnRequest,
        queue_timeout: call.queue_timeout,
        approval_wait: Duration::from_secs(call.approval_wait),
        // Whoever types an action twice means it twice.
        may_be_retry: false,
    };
    let answered = session_host::execute(session_call, turn).await?;
    let Some(result) = answered.results().first() else {
        return Err(CliError::message(
            "the session returned no result; report this as a bug",
        ));
    };
    match call.json {
        true => print::json(result, &action),
        false => print::text(result, &action),
    }
}

fn default_session() -> Result<SessionName, CliError> {
    DEFAULT_SESSION.parse().map_err(CliError::message)
}

/// An image is no text for a terminal.
fn check_output(action: &DoAction, json: bool) -> Result<(), CliError> {
    let is_image = matches!(action, DoAction::Screenshot { file: None, .. });
    match is_image && !json && io::stdout().is_terminal() {
        true => Err(CliError::usage(
            "a screenshot is an image, which a terminal cannot show: name a file, as in \
             `telechir do screenshot a.png`, or redirect it, as in `telechir do screenshot > a.png`",
        )),
        false => Ok(()),
    }
}
