//! `profiles`: named, persistent page data for browsers.

use std::process::ExitCode;
use std::time::SystemTime;

use serde::Serialize;
use telechir_browser::ProfileInfo;

use crate::args::ProfilesCommand;
use crate::env;
use crate::error::CliError;
use crate::input::{write_json, write_text};

pub(crate) fn profiles(command: ProfilesCommand) -> Result<ExitCode, CliError> {
    let profiles = env::profiles()?;
    match command {
        ProfilesCommand::List { json } => list(profiles.list()?, json)?,
        ProfilesCommand::Create { id } => profiles.create(&id)?,
        ProfilesCommand::Delete { id } => profiles.delete(&id)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// One profile of the list.
#[derive(Debug, Serialize)]
struct ProfileRow {
    id: String,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    used_seconds_ago: Option<u64>,
    #[serde(rename = "held_by", skip_serializing_if = "Option::is_none")]
    in_use_by: Option<String>,
}

impl From<ProfileInfo> for ProfileRow {
    fn from(listed: ProfileInfo) -> Self {
        let ago = |used| SystemTime::now().duration_since(used).unwrap_or_default();
        Self {
            id: listed.id.to_string(),
            bytes: listed.bytes,
            used_seconds_ago: listed.used.map(|used| ago(used).as_secs()),
            in_use_by: listed.holder,
        }
    }
}

fn list(listed: Vec<ProfileInfo>, json: bool) -> Result<(), CliError> {
    let rows: Vec<ProfileRow> = listed.into_iter().map(ProfileRow::from).collect();
    if json {
        return write_json(&rows, true);
    }
    let mut text = String::new();
    if rows.is_empty() {
        text.push_str("no profiles\n");
    } else {
        text.push_str(&line("NAME", "SIZE", "USED", "IN USE BY"));
    }
    for row in &rows {
        let size = format!("{:.1} MB", row.bytes as f64 / 1e6);
        let used = row.used_seconds_ago.map_or_else(
            || "never".to_owned(),
            |seconds| format!("{} ago", super::sessions::duration(seconds)),
        );
        let user = row.in_use_by.as_deref().unwrap_or_default();
        text.push_str(&line(&row.id, &size, &used, user));
    }
    write_text(&text)
}

fn line(name: &str, size: &str, used: &str, user: &str) -> String {
    let line = format!("{name:<32}  {size:>10}  {used:>14}  {user}");
    format!("{}\n", line.trim_end())
}
