//! `approvals`, `approve` and `deny`: the questions of all sessions, answered from another terminal.

use std::io::{self, Write as _};
use std::process::ExitCode;

use serde::Serialize;
use telechir_host::approvals::{
    AnswerScope, ApprovalCode, ChoiceFile, CommandAnswer, OpenApproval, RememberedApproval,
    StandingChoice, StandingDecision,
};
use telechir_host::{HostClient, Probe, SessionName, SessionPaths, probe};
use telechir_policy::Decision;

use crate::approver::{Coverage, TerminalApprover};
use crate::args::{ApprovalsCommand, ApproveArguments, DenyArguments};
use crate::env;
use crate::error::CliError;
use crate::input::{write_json, write_text};
use crate::session_host::{host_failure, paths};
use crate::socket_folder::folder;

pub(crate) async fn approvals(command: ApprovalsCommand) -> Result<ExitCode, CliError> {
    match command {
        ApprovalsCommand::List { session, json } => list(session.as_ref(), json).await,
        ApprovalsCommand::Show {
            code,
            session,
            json,
        } => show(&code, session.as_ref(), json).await,
        ApprovalsCommand::Remembered { session, json } => remembered(session.as_ref(), json).await,
        ApprovalsCommand::Revoke {
            number,
            session: Some(session),
            ..
        } => revoke(&session, number).await,
        ApprovalsCommand::Revoke { number, .. } => revoke_always(number),
    }
}

/// Shows a question at this terminal and takes the answer there.
pub(crate) async fn approve(arguments: ApproveArguments) -> Result<ExitCode, CliError> {
    let (client, open) = find(&arguments.code, arguments.session.as_ref()).await?;
    if let Some(why) = &open.closed_to_commands {
        return Err(CliError::message(format!("not here: {why}")));
    }
    let notes = open.problem.iter().cloned();
    let notes = notes.chain([origin(&client, &open), effect(&open).to_owned()]);
    let notes: Vec<String> = notes.collect();
    let terminal = TerminalApprover::open();
    let answer = terminal
        .ask(&open.question, Coverage::of(&open), &notes)
        .await
        .map_err(|e| CliError::message(format!("failed to use the terminal: {e}")))?;
    let Some(answer) = answer else {
        return Err(CliError::message(format!(
            "an approval needs a terminal, at which a person reads the question and answers; there is \
             none here. To say no without one: telechir deny {} --because TEXT",
            arguments.code
        )));
    };
    let is_approval = matches!(answer.decision, Decision::Approve { .. });
    let answer = CommandAnswer {
        decision: answer.decision,
        scope: answer.scope,
    };
    let answered = client.answer_approval(&open.code, answer).await;
    answered.map_err(host_failure)?;
    report(match is_approval {
        true => "approved",
        false => "denied",
    })
}

pub(crate) async fn deny(arguments: DenyArguments) -> Result<ExitCode, CliError> {
    let (client, open) = find(&arguments.code, arguments.session.as_ref()).await?;
    let because = arguments.because.trim_end_matches('.');
    let reason = format!("The user denied this: {because}.");
    let answer = CommandAnswer {
        decision: Decision::Deny { reason },
        scope: AnswerScope::Once,
    };
    let answered = client.answer_approval(&open.code, answer).await;
    answered.map_err(host_failure)?;
    report("denied")
}

/// A question of the list.
#[derive(Debug, Serialize)]
struct ApprovalRow {
    session: String,
    #[serde(flatten)]
    open: OpenApproval,
}

/// An approval for the rest of a session, in the list.
#[derive(Debug, Serialize)]
struct RememberedRow {
    session: String,
    #[serde(flatten)]
    remembered: RememberedApproval,
}

/// What is remembered, in the list.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Row {
    Session(RememberedRow),
    /// For all sessions.
    Always(StandingChoice),
}

async fn list(session: Option<&SessionName>, json: bool) -> Result<ExitCode, CliError> {
    let mut rows = Vec::new();
    for client in sessions(session).await? {
        let open = client.approvals().await.map_err(host_failure)?;
        rows.extend(open.into_iter().map(|open| ApprovalRow {
            session: client.description().name.clone(),
            open,
        }));
    }
    if json {
        write_json(&rows, true)?;
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        return report("no open questions");
    }
    let mut text = String::new();
    for ApprovalRow { session, open } in &rows {
        let first = open.question.lines.first();
        let first = first.map(String::as_str).unwrap_or_default();
        text.push_str(&format!(
            "{}  {session}  {} s old, {} s left  {first}\n",
            open.code,
            open.age_ms / 1000,
            open.expires_in_ms / 1000
        ));
    }
    report(text.trim_end())
}

async fn show(
    code: &ApprovalCode,
    session: Option<&SessionName>,
    json: bool,
) -> Result<ExitCode, CliError> {
    let (client, open) = find(code, session).await?;
    if json {
        let session = client.description().name.clone();
        write_json(&ApprovalRow { session, open }, true)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut lines = open.question.text();
    lines.push(format!("  {}", origin(&client, &open)));
    lines.push(format!("  {}", effect(&open)));
    let how = match &open.closed_to_commands {
        Some(why) => format!("`telechir approve` does not count: {why}"),
        None => format!("Answer: telechir approve {code}, or telechir deny {code} --because TEXT"),
    };
    lines.push(format!("  {how}"));
    report(&lines.join("\n"))
}

async fn remembered(session: Option<&SessionName>, json: bool) -> Result<ExitCode, CliError> {
    let mut rows = Vec::new();
    for client in sessions(session).await? {
        let all = client.remembered_approvals().await.map_err(host_failure)?;
        rows.extend(all.into_iter().map(|remembered| RememberedRow {
            session: client.description().name.clone(),
            remembered,
        }));
    }
    let standing = match (session, choice_file()) {
        (None, Some(file)) => file.choices().map_err(CliError::message)?,
        _ => Vec::new(),
    };
    if json {
        let rows = rows.into_iter().map(Row::Session);
        let standing = standing.into_iter().map(Row::Always);
        write_json(&rows.chain(standing).collect::<Vec<_>>(), true)?;
        return Ok(ExitCode::SUCCESS);
    }
    let lines = rows.iter().map(|row| {
        let RememberedApproval { number, shape, by } = &row.remembered;
        format!("{}  {number}  {shape}  ({by})", row.session)
    });
    let standing = standing.iter().map(standing_line);
    let lines: Vec<String> = lines.chain(standing).collect();
    match lines.is_empty() {
        true => report("nothing is remembered"),
        false => report(&lines.join("\n")),
    }
}

fn standing_line(choice: &StandingChoice) -> String {
    let StandingChoice {
        number, shape, by, ..
    } = choice;
    let devices = &choice.devices;
    match choice.decision {
        StandingDecision::Allow => {
            format!("all sessions with {devices}  {number}  allow {shape}  ({by})")
        }
        StandingDecision::Deny => format!("all sessions  {number}  deny {shape}  ({by})"),
    }
}

async fn revoke(session: &SessionName, number: u64) -> Result<ExitCode, CliError> {
    for client in sessions(Some(session)).await? {
        let revoked = client.revoke_approval(number).await;
        revoked.map_err(host_failure)?;
    }
    report("revoked")
}

fn revoke_always(number: u64) -> Result<ExitCode, CliError> {
    let revoked = choice_file().map(|file| file.revoke(number));
    match revoked.unwrap_or(Ok(false)).map_err(CliError::message)? {
        true => report("revoked"),
        false => Err(CliError::message(format!(
            "no choice {number} for all sessions; run `telechir approvals remembered`"
        ))),
    }
}

/// The user's choices for all sessions; none without a home folder.
fn choice_file() -> Option<ChoiceFile> {
    env::choice_file().map(ChoiceFile::new)
}

/// The connections to all sessions, or to the one with this name.
async fn sessions(name: Option<&SessionName>) -> Result<Vec<HostClient>, CliError> {
    if let Some(name) = name {
        return match probe(&paths(name)?).await.map_err(host_failure)? {
            Probe::Alive(client) => Ok(vec![client]),
            Probe::Dead | Probe::Changing | Probe::Nothing => Err(CliError::message(format!(
                "no session named {name}; run `telechir sessions list`"
            ))),
        };
    }
    let mut clients = Vec::new();
    for paths in SessionPaths::all(&folder()?)? {
        match probe(&paths).await {
            Ok(Probe::Alive(client)) => clients.push(client),
            Ok(Probe::Dead | Probe::Changing | Probe::Nothing) => {}
            // An unreachable session must not hide the others.
            Err(error) => {
                let _best_effort = writeln!(io::stderr(), "telechir: {error}");
            }
        }
    }
    Ok(clients)
}

/// The one open question with this code.
async fn find(
    code: &ApprovalCode,
    session: Option<&SessionName>,
) -> Result<(HostClient, OpenApproval), CliError> {
    let (mut found, mut settled) = (Vec::new(), None);
    for client in sessions(session).await? {
        let approval = client.find_approval(code).await.map_err(host_failure)?;
        match approval.open {
            Some(open) => found.push((client, open)),
            None => settled = settled.or(approval.settled),
        }
    }
    if found.len() > 1 {
        let names: Vec<_> = found
            .iter()
            .map(|(client, _)| client.description().name.clone())
            .collect();
        return Err(CliError::usage(format!(
            "several sessions have a question {code}: {}; name one with --session",
            names.join(", ")
        )));
    }
    found.pop().ok_or_else(|| {
        CliError::message(match settled {
            Some(how) => format!("the question {code} is already settled: {how}"),
            None => format!("no open question {code}; run `telechir approvals list`"),
        })
    })
}

fn origin(client: &HostClient, open: &OpenApproval) -> String {
    format!(
        "Session {}, question {}, {} s old, open for {} s more.",
        client.description().name,
        open.code,
        open.age_ms / 1000,
        open.expires_in_ms / 1000
    )
}

/// What an approval does at this moment.
fn effect(open: &OpenApproval) -> &'static str {
    match open.is_waiting {
        true => "The call waits for the answer.",
        false => {
            "The call waits no longer: an approval counts for the next identical call within ten \
             minutes, once."
        }
    }
}

/// Prints lines on stdout.
fn report(text: &str) -> Result<ExitCode, CliError> {
    write_text(&format!("{text}\n"))?;
    Ok(ExitCode::SUCCESS)
}
