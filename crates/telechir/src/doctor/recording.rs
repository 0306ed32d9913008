//! Whether a recording can be kept: a file made durable, and a session written and verified.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::statfs;
use telechir_policy::Policy;
use telechir_runtime::{Journal, Session, verify};
use tempfile::TempDir;

use super::finding::{Checked, Seen, Trouble};
use crate::error::chain;

/// File systems on which SQLite's log in shared memory does not work.
const NETWORK: [(u64, &str); 4] = [
    (0x6969, "nfs"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x0102_1997, "9p"),
];
const TMPFS: u64 = 0x0102_1994;

/// Keeps a recording of nothing in `folder`, or the nearest folder above it that exists.
pub(super) async fn check(folder: Option<PathBuf>) -> Checked {
    let place = folder.unwrap_or_else(std::env::temp_dir);
    // A file system that does not answer must not hold up the rest.
    let (durable, made) = wait(move || {
        let place = nearest(&place);
        let made = TempDir::with_prefix_in("telechir-doctor-", &place)
            .map_err(|error| format!("cannot write in {}: {error}", place.display()))?;
        let took = make_durable(made.path()).map_err(|error| {
            format!("cannot make a file durable in {}: {error}", place.display())
        })?;
        Ok((took, made))
    })
    .await?;
    let journal = made.path().join("recording");
    let kept = keep(&journal).await;
    let (place, rows) = wait(move || {
        let rows = match kept {
            Ok(()) => rows(&journal),
            Err(cause) => Err(cause),
        };
        let place = made.path().parent().map(Path::to_owned).unwrap_or_default();
        made.close()
            .map_err(|error| format!("its folder was not removed: {error}"))?;
        Ok((place, rows?))
    })
    .await?;
    let seen = format!(
        "{}: fsync in {durable} ms, SQLite kept and verified {rows} events",
        place.display()
    );
    Ok(match reservation(&place) {
        Some(cause) => {
            let trouble = Trouble::broken(cause).costs("a recording may be lost; all else works");
            Seen::but(seen, trouble)
        }
        None => Seen::new(seen),
    })
}

async fn wait<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, Trouble> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Trouble::broken(error.to_string()))?
        .map_err(Trouble::broken)
}

fn nearest(folder: &Path) -> PathBuf {
    let exists = folder.ancestors().find(|folder| folder.is_dir());
    // A relative path ends in nothing, which is where we are.
    exists.map_or_else(|| PathBuf::from("."), Path::to_owned)
}

fn make_durable(folder: &Path) -> io::Result<u128> {
    let began = Instant::now();
    let mut file = File::create_new(folder.join("durable"))?;
    file.write_all(&[0; 4096])?;
    file.sync_all()?;
    File::open(folder)?.sync_all()?;
    Ok(began.elapsed().as_millis())
}

/// A session without devices, from its opening to its close.
async fn keep(folder: &Path) -> Result<(), String> {
    let said = |error: &dyn std::error::Error| format!("failed to {}", chain(error));
    let journal = Journal::open(folder).map_err(|error| said(&error))?;
    let session = Session::builder(Policy::default_policy())
        .journal(journal)
        .build()
        .map_err(|error| said(&error))?;
    session.close().await.map_err(|error| said(&error))
}

fn rows(folder: &Path) -> Result<usize, String> {
    let verified = verify(folder).map_err(|error| format!("failed to {}", chain(&error)))?;
    match verified.fault {
        Some(fault) => Err(format!("what was written is not what is read: {fault}")),
        None if verified.rows == 0 => Err("what was written cannot be read".to_owned()),
        None => Ok(verified.rows),
    }
}

fn reservation(place: &Path) -> Option<String> {
    let kind = u64::try_from(statfs(place).ok()?.f_type).ok()?;
    if kind == TMPFS {
        return Some("this folder is in memory: a recording is gone after a restart".to_owned());
    }
    let (_, name) = NETWORK.iter().find(|(number, _)| *number == kind)?;
    Some(format!(
        "this folder is on a network ({name}), where SQLite may lose what it wrote"
    ))
}
