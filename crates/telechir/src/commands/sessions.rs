//! `sessions`: what `exec --session` holds.

use std::io::{self, Write as _};
use std::process::ExitCode;

use serde::Serialize;

use crate::args::SessionsCommand;
use crate::error::Failure;
use crate::input::write_json;
use crate::session_host::{Description, Found, Name, Place, State, find, look};

pub(crate) async fn sessions(command: SessionsCommand) -> Result<ExitCode, Failure> {
    match command {
        SessionsCommand::List { json } => list(json).await,
        SessionsCommand::Close { name } => close(&name).await,
    }
}

/// A session in the list; one that is gone or about to change says no more than that.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    devices: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    age_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_limit_seconds: Option<u64>,
    waiting: usize,
}

async fn list(json: bool) -> Result<ExitCode, Failure> {
    let mut rows = Vec::new();
    for place in Place::all()? {
        let name = place.name.to_string();
        match look(&place).await {
            Ok(Found::Alive(visit)) => rows.push(Row::of(visit.description)),
            Ok(Found::Dead) => rows.push(Row::bare(name, State::Gone)),
            Ok(Found::Changing) => rows.push(Row::bare(name, State::Closing)),
            Ok(Found::Nothing) => {}
            // One that cannot be asked must not hide the others.
            Err(failure) => {
                let _best_effort = writeln!(io::stderr(), "telechir: {}", failure.text());
            }
        }
    }
    if json {
        write_json(&rows, true)?;
    } else {
        write_table(&rows)?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn close(name: &Name) -> Result<ExitCode, Failure> {
    match find(&Place::of(name)?).await? {
        Found::Alive(visit) => visit.close().await.map(|()| ExitCode::SUCCESS),
        Found::Dead => Err(Failure::message(format!(
            "session {name} is gone already: its holder ended without closing it, and nothing of it is left to close"
        ))),
        Found::Changing | Found::Nothing => Err(Failure::message(format!(
            "there is no session {name}; `telechir sessions list` names those that there are"
        ))),
    }
}

impl Row {
    fn of(description: Description) -> Self {
        Self {
            name: description.name,
            state: description.state,
            pid: Some(description.pid),
            devices: description.devices,
            age_seconds: Some(description.age_seconds),
            idle_seconds: Some(description.idle_seconds),
            idle_limit_seconds: Some(description.idle_limit_seconds),
            waiting: description.waiting,
        }
    }

    fn bare(name: String, state: State) -> Self {
        Self {
            name,
            state,
            pid: None,
            devices: Vec::new(),
            age_seconds: None,
            idle_seconds: None,
            idle_limit_seconds: None,
            waiting: 0,
        }
    }
}

fn write_table(rows: &[Row]) -> Result<(), Failure> {
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
            row.devices.join(", ")
        ));
    }
    let written = io::stdout().lock().write_all(text.as_bytes());
    match written {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => {
            other.map_err(|e| Failure::message(format!("failed to write standard output: {e}")))
        }
    }
}

/// Seconds as people say them.
pub(super) fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}
