//! `sessions`: lists, extends and closes the sessions of `exec --session`.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;
use telechir_host::{
    ClosedSession, HostClient, Probe, SessionDescription, SessionName, SessionPaths, SessionState,
    probe,
};
use telechir_remote::{RemoteService, RentedRecord};

use crate::args::SessionsCommand;
use crate::error::CliError;
use crate::input::{write_json, write_text};
use crate::remote;
use crate::session_host::{self, host_failure, paths};
use crate::socket_folder::folder;

pub(crate) async fn sessions(command: SessionsCommand) -> Result<ExitCode, CliError> {
    match command {
        SessionsCommand::List { json } => list(json).await,
        SessionsCommand::Close { name } => close(&name).await,
        SessionsCommand::Extend { name, time } => extend(&name, time).await,
        SessionsCommand::LiveView { name } => live_view(&name).await,
    }
}

/// A session of the list; without details if it is gone, starting or closing.
#[derive(Debug, Serialize)]
struct SessionRow {
    name: String,
    state: SessionState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    devices: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    age_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_limit_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    closes_in_seconds: Option<u64>,
    waiting: usize,
    /// The rented browser of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    rented: Option<RentedRow>,
}

/// A browser that is rented at a service.
#[derive(Clone, Debug, Serialize)]
struct RentedRow {
    service: String,
    seconds_left: u64,
    /// What the service charges for.
    billed: &'static str,
}

impl RentedRow {
    fn of(record: &RentedRecord) -> Self {
        Self {
            service: record.service.clone(),
            seconds_left: record.seconds_left(),
            billed: RemoteService::recorded(&record.service).map_or("", |service| service.billing),
        }
    }
}

async fn list(json: bool) -> Result<ExitCode, CliError> {
    let mut rows = Vec::new();
    for paths in SessionPaths::all(&folder()?)? {
        let name = paths.name.to_string();
        match probe(&paths).await {
            Ok(Probe::Alive(client)) => rows.push(SessionRow::of(client.description().clone())),
            Ok(Probe::Dead) => rows.push(SessionRow::bare(name, SessionState::Gone)),
            Ok(Probe::Changing) => rows.push(SessionRow::bare(name, SessionState::Closing)),
            Ok(Probe::Nothing) => {}
            // An unreachable session must not hide the others.
            Err(failure) => {
                let _best_effort = writeln!(io::stderr(), "telechir: {failure}");
            }
        }
    }
    for (record, is_used) in remote::rented() {
        let rented = RentedRow::of(&record);
        let owner = rows
            .iter_mut()
            .find(|row| is_used && record.owner == session_host::owner(&row.name));
        match owner {
            Some(row) => row.rented = Some(rented),
            None => note_rented(&record, is_used),
        }
    }
    if json {
        write_json(&rows, true)?;
    } else {
        write_table(&rows)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Tells of a rented browser that no session of the list has.
fn note_rented(record: &RentedRecord, is_used: bool) {
    let (service, left) = (&record.service, duration(record.seconds_left()));
    let text = match is_used {
        true => format!("{} rents a browser at {service}, {left} left", record.owner),
        false => format!(
            "a browser at {service} was left rented, {left} left; the next start of a session with \
             the service's key in its environment releases it"
        ),
    };
    let _best_effort = writeln!(io::stderr(), "telechir: {text}");
}

pub(super) async fn close(name: &SessionName) -> Result<ExitCode, CliError> {
    let closed = HostClient::close_session(&paths(name)?).await;
    match closed.map_err(host_failure)? {
        ClosedSession::Closed => Ok(ExitCode::SUCCESS),
        ClosedSession::Dead => Err(CliError::message(format!(
            "session {name} is already gone: its session host exited without closing it; nothing is left to close"
        ))),
        ClosedSession::Nothing => Err(CliError::message(format!(
            "no session named {name}; run `telechir sessions list`"
        ))),
    }
}

/// Prints the live view of a rented browser, and nothing else that has its address.
async fn live_view(name: &SessionName) -> Result<ExitCode, CliError> {
    let view = remote::live_view(&session_host::owner(&name.to_string())).await?;
    write_text(&format!("{}\n", view.reveal()))?;
    Ok(ExitCode::SUCCESS)
}

async fn extend(name: &SessionName, time: Duration) -> Result<ExitCode, CliError> {
    match probe(&paths(name)?).await.map_err(host_failure)? {
        Probe::Alive(client) => client.extend(time).await.map_err(host_failure)?,
        Probe::Dead | Probe::Changing | Probe::Nothing => {
            return Err(CliError::message(format!(
                "no session named {name}; run `telechir sessions list`"
            )));
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl SessionRow {
    fn of(description: SessionDescription) -> Self {
        Self {
            name: description.name,
            state: description.state,
            pid: Some(description.pid),
            devices: description.devices,
            age_seconds: Some(description.age_seconds),
            idle_seconds: Some(description.idle_seconds),
            idle_limit_seconds: Some(description.idle_limit_seconds),
            closes_in_seconds: description.closes_in_seconds,
            waiting: description.waiting,
            rented: None,
        }
    }

    /// Its devices, the browser with its service and the time that is left.
    fn devices_text(&self) -> String {
        let devices = self.devices.join(", ");
        match &self.rented {
            Some(RentedRow {
                service,
                seconds_left,
                billed,
            }) => format!(
                "{devices} (at {service}, {} left, billed {billed})",
                duration(*seconds_left)
            ),
            None => devices,
        }
    }

    fn bare(name: String, state: SessionState) -> Self {
        Self {
            name,
            state,
            pid: None,
            devices: Vec::new(),
            age_seconds: None,
            idle_seconds: None,
            idle_limit_seconds: None,
            closes_in_seconds: None,
            waiting: 0,
            rented: None,
        }
    }
}

fn write_table(rows: &[SessionRow]) -> Result<(), CliError> {
    let mut text = String::new();
    if rows.is_empty() {
        text.push_str("no sessions\n");
    } else {
        text.push_str(&format!(
            "{:<32}  {:<8}  {:>8}  {:>9}  {:>9}  {}\n",
            "NAME", "STATE", "PROCESS", "AGE", "IDLE", "DEVICES"
        ));
    }
    for row in rows {
        let time = |seconds: Option<u64>| seconds.map(duration).unwrap_or_default();
        let pid = row.pid.map(|pid| pid.to_string()).unwrap_or_default();
        text.push_str(&format!(
            "{:<32}  {:<8}  {pid:>8}  {:>9}  {:>9}  {}\n",
            row.name,
            row.state.name(),
            time(row.age_seconds),
            time(row.idle_seconds),
            row.devices_text()
        ));
    }
    write_text(&text)
}

/// A duration for display, rounded down to its unit.
pub(super) fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}
