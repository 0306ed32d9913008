//! Checks the user that sessions run as, and whether that user can create namespaces.

use std::fs;

use telechir_process::{Identity, Spawn, is_root};

use super::finding::{CheckFailure, CheckResult, Observation};
use super::fix::{explain, namespace_switches};
use super::program::run;
use crate::session_dir::{SessionDir, SharedFolders};

/// A session directory, created as for every session.
pub(super) async fn folder() -> Result<SessionDir, CheckFailure> {
    SessionDir::create(SharedFolders::default(), None)
        .await
        .map_err(|failure| no_session(failure.text()))
}

/// Removes it; a failure is reported like any other.
pub(super) fn remove(folder: SessionDir) -> Result<(), CheckFailure> {
    folder.remove().map_err(|error| {
        CheckFailure::broken(format!("the session's directory was not removed: {error}"))
    })
}

/// Root's sessions run as another user; other sessions run as the user that started them.
pub(super) async fn user() -> CheckResult {
    let folder = folder().await?;
    let checked = match folder.identity() {
        Some(identity) => borrowed(&folder, identity).await,
        None => Ok(Observation::new(format!(
            "sessions run as user {}, who started doctor",
            Identity::current().uid
        ))),
    };
    remove(folder)?;
    checked
}

/// Checks a user id of the range: runs a program as it and writes to its workspace.
async fn borrowed(folder: &SessionDir, identity: Identity) -> CheckResult {
    let file = folder.workspace().join("written");
    let spawn = Spawn::new("touch").arg(&file).identity(Some(identity));
    let output = run(spawn).await.map_err(|cause| explain(&cause, &[]))?;
    if !output.is_success || fs::metadata(&file).is_err() {
        return Err(CheckFailure::broken(format!(
            "user {} cannot write in its own workspace: {}",
            identity.uid, output.err
        )));
    }
    Ok(Observation::new(format!(
        "doctor runs as root; each session runs as its own user, such as {}",
        identity.uid
    )))
}

/// The failure of a session that cannot start. Root of a container may lack other user ids.
fn no_session(cause: &str) -> CheckFailure {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let first = Identity::unprivileged(0).map_or(0, |identity| identity.uid);
    if !is_root() || has_user(&map, first) {
        return explain(cause, &[]);
    }
    CheckFailure::broken(format!(
        "{cause}. This is root of a container without user {first}: start telechir as an ordinary user, \
         or map the users 61000 to 64999 into the container"
    ))
}

/// Whether `uid_map` contains the user. Its lines are: first id inside, first id outside, count.
fn has_user(map: &str, user: u32) -> bool {
    map.lines().any(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<u32>);
        let (Some(Ok(first)), Some(_), Some(Ok(count))) =
            (numbers.next(), numbers.next(), numbers.next())
        else {
            return false;
        };
        user.checked_sub(first).is_some_and(|offset| offset < count)
    })
}

/// Creates a user namespace as the session's user.
pub(super) async fn namespaces() -> CheckResult {
    let folder = folder().await?;
    let spawn = Spawn::new("unshare")
        .args([
            "--user",
            "--map-root-user",
            "--mount",
            "--pid",
            "--fork",
            "true",
        ])
        .identity(folder.identity())
        .cwd("/");
    let output = run(spawn).await;
    remove(folder)?;
    let output = output.map_err(|cause| explain(&cause, &["unshare"]))?;
    if output.is_success {
        return Ok(Observation::new(
            "an ordinary user can create user namespaces",
        ));
    }
    let why = if namespace_switches().is_empty() {
        ". No setting of this kernel blocks it, so the environment does: a container's seccomp profile \
         or a sandbox. Allow `unshare` there"
    } else {
        ""
    };
    Err(explain(&format!("{}{why}", output.err.trim()), &[]))
}

#[cfg(test)]
mod tests {
    use super::has_user;

    #[test]
    fn a_uid_map_is_parsed() {
        assert!(has_user("         0          0 4294967295\n", 61_000));
        assert!(has_user("0 100000 1\n1 100001 65536\n", 61_000));
        assert!(!has_user("0 1000 1\n", 61_000));
        assert!(!has_user("61001 0 10\n", 61_000));
        assert!(!has_user("", 61_000));
    }
}
