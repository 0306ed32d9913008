//! `exec`: carries out the calls of one provider response and prints the provider's reply items.

use std::process::ExitCode;

use telechir_policy::Policy;
use telechir_protocol::{AnsweredTurn, ModelTurn};

use crate::args::ExecArguments;
use crate::error::Failure;
use crate::input::{read_stdin, report_lines, write_json};
use crate::session::{self, Stopped};
use crate::session_host;

pub(crate) async fn exec(arguments: ExecArguments) -> Result<ExitCode, Failure> {
    // Everything that can be wrong with the words is found before a device is started.
    let dialect = arguments.dialect;
    let (turn, reading) = dialect.decode_response(&read_stdin()?)?;
    let policy = crate::policy::load(arguments.safety.policy.as_deref())?;
    report_lines(&reading.losses);
    if arguments.strict && !reading.is_lossless() {
        return Err(Failure::loss(
            "the response could not be read without loss; nothing was carried out",
        ));
    }
    let answered = match &arguments.session {
        Some(name) => {
            let digest = arguments.safety.policy.is_some().then(|| policy.digest());
            session_host::carry_out(&arguments, name, turn, digest).await?
        }
        None => carry_out(&arguments, turn, policy).await?,
    };
    let reply = dialect.encode_answers(&answered)?;
    report_lines(&reply.report.losses);
    if arguments.strict && !reply.report.is_lossless() {
        return Err(Failure::loss(
            "the calls were carried out, but an answer could not be said without loss",
        ));
    }
    write_json(&reply.items, false)?;
    Ok(ExitCode::SUCCESS)
}

/// Carries a turn out on devices that are started for it and ended after it.
async fn carry_out(
    arguments: &ExecArguments,
    turn: ModelTurn,
    policy: Policy,
) -> Result<AnsweredTurn, Failure> {
    let (devices, safety) = (&arguments.devices, &arguments.safety);
    let mut open = session::open(devices, safety, policy, arguments.dialect, None).await?;
    let work = async {
        if let Some(url) = devices.opening_page() {
            open.navigate(url).await?;
        }
        Ok::<_, Failure>(open.session.execute_once(turn).await?)
    };
    let answered = session::until_stopped(work).await;
    // However the work ended: a session that is not closed has no end in its recording.
    let closed = open.close().await;
    let answered = match answered {
        Ok(answered) => answered?,
        Err(Stopped(signal)) => return Err(Failure::signal(signal)),
    };
    closed?;
    Ok(answered)
}
