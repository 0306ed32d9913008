//! The session's guardian: this binary again, started before the first device. It cleans up if
//! the session's process dies.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use telechir_browser::{ProfileLock, ProfileUse, restrict_folder};
use telechir_process::guardian::{
    CleanupScope, Guardian, Hints, clear_hint, run_guardian, set_hint,
};
use telechir_process::{Identity, Spawn};
use telechir_x11::ExistingDisplay;

use crate::error::{CliError, chain};
use crate::workspace_lock::WorkspaceLock;

/// Hint key of an existing display that the session uses.
const DISPLAY: &str = "display";
/// Hint key of the profile folder that the session's user can enter.
const PROFILE: &str = "profile";
/// Timeout for cleaning up a display.
const CEILING: Duration = Duration::from_secs(1);

/// Starts the guardian of this process. It searches `parent` and memory file systems for the
/// session's remains. It keeps the locks of the session's user, of its workspaces and of the
/// browser's profile until that user has no process.
pub(crate) async fn start(
    identity: Option<Identity>,
    lock: Option<&File>,
    workspaces: &[WorkspaceLock],
    profile: Option<&ProfileLock>,
    parent: &Path,
) -> Result<Guardian, CliError> {
    // A copy of a profile is complete before this process ends; a persistent one may still be written.
    let profile = profile.filter(|claim| claim.usage() == ProfileUse::Persist);
    let mut locks: Vec<OwnedFd> = Vec::new();
    if let Some(lock) = lock {
        locks.push(lock.try_clone()?.into());
    }
    if let Some(profile) = profile {
        locks.push(profile.lock()?);
    }
    for workspace in workspaces {
        locks.push(workspace.descriptor()?);
    }
    let mut roots: Vec<PathBuf> = vec![parent.to_owned(), "/tmp".into(), "/dev/shm".into()];
    roots.dedup();
    let scope = CleanupScope {
        identity,
        retained_fds: locks,
        roots,
    };
    // This very binary, even if its file was replaced in the meantime.
    let program = || Spawn::new("/proc/self/exe").arg("guardian");
    let guard = Guardian::start(program, scope, |outcome| match outcome {
        Ok(()) => tracing::warn!("the session's guardian exited; a new one was started"),
        Err(error) => tracing::error!(
            error = chain(&error),
            "the session has no guardian any more: if this process is killed, only the kernel's death \
            signals end the programs it started"
        ),
    });
    let guard = guard.await?;
    if let Some(profile) = profile {
        set_hint(PROFILE, &profile.folder().to_string_lossy());
    }
    Ok(guard)
}

/// Has the guardian restore an existing display if this process dies: releases keys and buttons,
/// and removes the characters assigned to the `free` keycodes.
pub(crate) fn clean_at_end(display: &str, cookie: Option<&Path>, free: &[u8]) {
    let cookie = cookie.map(Path::to_string_lossy).unwrap_or_default();
    let free: Vec<String> = free.iter().map(u8::to_string).collect();
    set_hint(DISPLAY, &format!("{display}\n{}\n{cookie}", free.join(" ")));
}

/// Cancels `clean_at_end`: this process restored the display itself.
pub(crate) fn cleaned() {
    clear_hint(DISPLAY);
}

/// Runs as the guardian.
pub(crate) fn watch() -> Result<ExitCode, CliError> {
    let cleaned = run_guardian(clean).map_err(|_| {
        CliError::usage("`guardian` is started by a session and cannot be run by hand")
    })?;
    Ok(if cleaned {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Cleans up after the session's process died; errors have no recipient.
fn clean(notes: Hints) {
    if let Some(folder) = notes.get(PROFILE) {
        restrict_folder(Path::new(folder));
    }
    let Some((display, rest)) = notes.get(DISPLAY).and_then(|note| note.split_once('\n')) else {
        return;
    };
    let (free, cookie) = rest.split_once('\n').unwrap_or((rest, ""));
    let free: Vec<u8> = free.split(' ').flat_map(str::parse).collect();
    let cookie = Some(Path::new(cookie)).filter(|cookie| !cookie.as_os_str().is_empty());
    let clean = async {
        let display = ExistingDisplay::connect(display, cookie).await?;
        display.clean_up(&free).await
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    if let Ok(runtime) = runtime {
        let limited = async { tokio::time::timeout(CEILING, clean).await };
        let _no_recipient = runtime.block_on(limited);
    }
}
