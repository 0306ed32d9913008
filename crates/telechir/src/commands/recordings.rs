//! `recordings`: lists the recordings in a folder and removes old ones.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;
use telechir_process::tree;

use super::sessions::duration;
use crate::args::{PruneArguments, RecordingsCommand};
use crate::error::CliError;
use crate::input::{write_json, write_text};
use crate::recording_folder::{Recording, RecordingFolder};

pub(crate) fn recordings(command: RecordingsCommand) -> Result<ExitCode, CliError> {
    match command {
        RecordingsCommand::List { folder, json } => list(&folder, json)?,
        RecordingsCommand::Prune(arguments) => prune(&arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// One recording of the list.
#[derive(Debug, Serialize)]
struct ListedRecording {
    path: PathBuf,
    bytes: u64,
    age_seconds: u64,
    in_use: bool,
}

impl ListedRecording {
    fn of(folder: &RecordingFolder, recording: &Recording) -> Self {
        Self {
            path: folder.path.join(&recording.name),
            bytes: recording.bytes,
            age_seconds: recording.age.as_secs(),
            in_use: recording.lock.is_none(),
        }
    }

    fn line(&self) -> String {
        let size = format!("{:.1} MB", self.bytes as f64 / 1e6);
        let age = duration(self.age_seconds);
        let user = if self.in_use { "in use" } else { "" };
        let line = format!("{size:>12}  {age:>12}  {user:<6}  {}", self.path.display());
        format!("{line}\n")
    }
}

fn list(path: &Path, json: bool) -> Result<(), CliError> {
    let (folder, recordings) = match itself(path)? {
        Some((folder, recording)) => (folder, vec![recording]),
        None => {
            let folder = RecordingFolder::open(path)?;
            let recordings = oldest_first(&folder)?;
            (folder, recordings)
        }
    };
    let rows: Vec<ListedRecording> = recordings
        .iter()
        .map(|recording| ListedRecording::of(&folder, recording))
        .collect();
    write_rows(&rows, json)
}

/// The recording that a path names, with the folder that it is in; none for a folder of recordings.
fn itself(path: &Path) -> Result<Option<(RecordingFolder, Recording)>, CliError> {
    let path = RecordingFolder::open(path)?.path;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(None);
    };
    // Who cannot read the folder above can still name one of recordings.
    let Ok(folder) = RecordingFolder::open(parent) else {
        return Ok(None);
    };
    let found = folder.find(name)?;
    Ok(found.map(|recording| (folder, recording)))
}

fn oldest_first(folder: &RecordingFolder) -> Result<Vec<Recording>, CliError> {
    let mut found = folder.map(|recording| recording)?;
    found.sort_by(|one, other| other.age.cmp(&one.age).then(one.name.cmp(&other.name)));
    Ok(found)
}

fn write_rows(rows: &[ListedRecording], json: bool) -> Result<(), CliError> {
    if json {
        return write_json(&rows, true);
    }
    let mut text = rows.iter().map(ListedRecording::line).collect::<String>();
    if rows.is_empty() {
        text.push_str("no recordings\n");
    }
    write_text(&text)
}

/// Removes recordings that are too old, then the oldest until the rest is small enough. One that a
/// session writes stays.
fn prune(arguments: &PruneArguments) -> Result<(), CliError> {
    if let Some((folder, _)) = itself(&arguments.folder)? {
        return Err(CliError::usage(format!(
            "{} is a recording; expected the folder that it is in, {}",
            arguments.folder.display(),
            folder.path.display()
        )));
    }
    let folder = RecordingFolder::open(&arguments.folder)?;
    let max_age = Duration::from_secs(arguments.older_than.saturating_mul(24 * 60 * 60));
    let max_bytes = arguments.max_size.saturating_mul(1 << 20);
    let recordings = oldest_first(&folder)?;
    let mut total: u64 = recordings.iter().map(|recording| recording.bytes).sum();
    let mut removed = Vec::new();
    for recording in &recordings {
        let is_over = recording.age > max_age || total > max_bytes;
        if !is_over || recording.lock.is_none() {
            continue;
        }
        if !arguments.dry_run {
            tree::remove(&folder.fd, &recording.name).map_err(|e| {
                let path = folder.path.join(&recording.name);
                CliError::message(format!("failed to remove {}: {e}", path.display()))
            })?;
        }
        total = total.saturating_sub(recording.bytes);
        removed.push(ListedRecording::of(&folder, recording));
    }
    write_rows(&removed, arguments.json)
}
