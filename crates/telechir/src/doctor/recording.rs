//! Whether recordings work: syncs a file, then writes and verifies a session's journal.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::statfs;
use telechir_policy::Policy;
use telechir_runtime::{Journal, Session, verify};
use tempfile::TempDir;

use super::finding::{CheckFailure, CheckResult, Observation};
use crate::error::chain;

/// File systems on which SQLite's write-ahead log is unreliable, by `statfs` type.
const NETWORK: [(u64, &str); 4] = [
    (0x6969, "nfs"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x0102_1997, "9p"),
];
const TMPFS: u64 = 0x0102_1994;

/// Records an empty session in `folder`, or in its nearest existing parent.
pub(super) async fn check(folder: Option<PathBuf>) -> CheckResult {
    let path = folder.unwrap_or_else(std::env::temp_dir);
    // A file system that hangs must not block the other checks.
    let (durable, test_dir) = wait(move || {
        let path = nearest(&path)?;
        let test_dir = TempDir::with_prefix_in("telechir-doctor-", &path)
            .map_err(|error| format!("failed to write to {}: {error}", path.display()))?;
        let took = make_durable(test_dir.path())
            .map_err(|error| format!("failed to sync a file in {}: {error}", path.display()))?;
        Ok((took, test_dir))
    })
    .await?;
    let journal = test_dir.path().join("recording");
    let recorded = record(&journal).await;
    let (path, rows) = wait(move || {
        let rows = match recorded {
            Ok(()) => rows(&journal),
            Err(cause) => Err(cause),
        };
        let path = test_dir
            .path()
            .parent()
            .map(Path::to_owned)
            .unwrap_or_default();
        test_dir
            .close()
            .map_err(|error| format!("failed to remove the test folder: {error}"))?;
        Ok((path, rows?))
    })
    .await?;
    let seen = format!(
        "{}: fsync in {durable} ms, SQLite wrote and verified {rows} events",
        path.display()
    );
    Ok(match warning(&path) {
        Some(cause) => {
            let failure =
                CheckFailure::broken(cause).impact("recordings may be lost; everything else works");
            Observation::degraded(seen, failure)
        }
        None => Observation::new(seen),
    })
}

async fn wait<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, CheckFailure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| CheckFailure::broken(error.to_string()))?
        .map_err(CheckFailure::broken)
}

/// The folder, or its nearest existing parent.
fn nearest(folder: &Path) -> Result<PathBuf, String> {
    let exists = folder
        .ancestors()
        .find(|path| path.symlink_metadata().is_ok());
    match exists {
        Some(path) if path.is_dir() => Ok(path.to_owned()),
        Some(path) => Err(format!(
            "{} is not a folder, so no recording can be made in {}",
            path.display(),
            folder.display()
        )),
        // A relative path without an existing parent is relative to the working directory.
        None => Ok(PathBuf::from(".")),
    }
}

fn make_durable(folder: &Path) -> io::Result<u128> {
    let started = Instant::now();
    let mut file = File::create_new(folder.join("durable"))?;
    file.write_all(&[0; 4096])?;
    file.sync_all()?;
    File::open(folder)?.sync_all()?;
    Ok(started.elapsed().as_millis())
}

/// Records a session without devices from start to close.
async fn record(folder: &Path) -> Result<(), String> {
    let describe = |error: &dyn std::error::Error| format!("failed to {}", chain(error));
    let journal = Journal::open(folder).map_err(|error| describe(&error))?;
    let session = Session::builder(Policy::default_policy())
        .journal(journal)
        .build()
        .map_err(|error| describe(&error))?;
    session.close().await.map_err(|error| describe(&error))
}

fn rows(folder: &Path) -> Result<usize, String> {
    let verified = verify(folder).map_err(|error| format!("failed to {}", chain(&error)))?;
    match verified.fault {
        Some(fault) => Err(format!(
            "the recording differs from what was written: {fault}"
        )),
        None if verified.rows == 0 => Err("the recording is empty".to_owned()),
        None => Ok(verified.rows),
    }
}

fn warning(path: &Path) -> Option<String> {
    let kind = u64::try_from(statfs(path).ok()?.f_type).ok()?;
    if kind == TMPFS {
        return Some("this folder is in memory: recordings are lost on restart".to_owned());
    }
    let (_, name) = NETWORK.iter().find(|(number, _)| *number == kind)?;
    Some(format!(
        "this folder is on a network file system ({name}), where SQLite may lose data"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_needs_a_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "").expect("a file");
        std::os::unix::fs::symlink("nowhere", at("dangling")).expect("a link");
        assert_eq!(nearest(&at("new/er")), Ok(folder.path().to_owned()));
        for name in ["file", "file/below", "dangling"] {
            let error = nearest(&at(name)).expect_err(name);
            assert!(error.contains("is not a folder"), "{error}");
        }
    }
}
