//! The guardian of a session: our own binary, started again before the first device, that cleans
//! up however we end.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use telechir_browser::{ProfileLock, ProfileUse, close_folder};
use telechir_process::guardian::{CleanupScope, Guard, Notes, note, stand_watch, unnote};
use telechir_process::{Identity, Spawn};
use telechir_x11::ExistingDisplay;

use crate::error::{Failure, chain};

/// Under which the guardian finds the display that is not ours.
const DISPLAY: &str = "display";
/// Under which it finds the folder of a profile that the session's user could enter.
const PROFILE: &str = "profile";
/// A display that hangs is given up on.
const CEILING: Duration = Duration::from_secs(1);

/// Starts the guardian of this process. It looks for what the session leaves in `parent` and in
/// memory, and holds the locks of the session's user and of the browser's profile until that user
/// has no process.
pub(crate) async fn start(
    identity: Option<Identity>,
    lock: Option<&File>,
    profile: Option<&ProfileLock>,
    parent: &Path,
) -> Result<Guard, Failure> {
    // A copy is made within our own life; who persists may be writing after it.
    let profile = profile.filter(|claim| claim.usage() == ProfileUse::Persist);
    let locks = [
        lock.map(File::try_clone).transpose()?.map(Into::into),
        profile.map(ProfileLock::lock).transpose()?,
    ];
    let mut roots: Vec<PathBuf> = vec![parent.to_owned(), "/tmp".into(), "/dev/shm".into()];
    roots.dedup();
    let charge = CleanupScope {
        identity,
        held: locks.into_iter().flatten().collect(),
        roots,
    };
    // This very program, also when its file was replaced meanwhile.
    let program = || Spawn::new("/proc/self/exe").arg("guardian");
    let guard = Guard::start(program, charge, |outcome| match outcome {
        Ok(()) => tracing::warn!("the session's guardian died; another one was started"),
        Err(error) => tracing::error!(
            error = chain(&error),
            "the session has no guardian any more: should this process be killed, only death \
             signals of the kernel end what it started"
        ),
    });
    let guard = guard.await?;
    if let Some(profile) = profile {
        note(PROFILE, &profile.folder().to_string_lossy());
    }
    Ok(guard)
}

/// Has a display that is not ours left as it was, should we not come to it: keys and buttons up,
/// and `free` keys without the characters that they were lent to.
pub(crate) fn clean_at_end(display: &str, cookie: Option<&Path>, free: &[u8]) {
    let cookie = cookie.map(Path::to_string_lossy).unwrap_or_default();
    let free: Vec<String> = free.iter().map(u8::to_string).collect();
    note(DISPLAY, &format!("{display}\n{}\n{cookie}", free.join(" ")));
}

/// We came to it.
pub(crate) fn cleaned() {
    unnote(DISPLAY);
}

/// Is the guardian.
pub(crate) fn watch() -> Result<ExitCode, Failure> {
    let cleaned = stand_watch(clean)
        .map_err(|_| Failure::usage("the guardian is started by a session, not by hand"))?;
    Ok(if cleaned {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Nobody hears what goes wrong here: the session is gone.
fn clean(notes: Notes) {
    if let Some(folder) = notes.get(PROFILE) {
        close_folder(Path::new(folder));
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
        let _nobody_hears = runtime.block_on(limited);
    }
}
