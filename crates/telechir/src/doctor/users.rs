//! Whom sessions run as, and whether that user gets namespaces.

use std::fs;

use telechir_process::{Identity, Spawn, is_root};

use super::finding::{Checked, Seen, Trouble};
use super::fix::{explain, namespace_switches};
use super::program::run;
use crate::session_dir::SessionFolder;

/// The folder of a session, made as every session makes it.
pub(super) async fn folder() -> Result<SessionFolder, Trouble> {
    SessionFolder::create(None, None)
        .await
        .map_err(|failure| no_session(failure.text()))
}

/// Removes it; what is left behind is a finding of its own.
pub(super) fn remove(folder: SessionFolder) -> Result<(), Trouble> {
    folder
        .remove()
        .map_err(|error| Trouble::broken(format!("the session's folder was not removed: {error}")))
}

/// Sessions of root run as somebody else; sessions of a person as that person.
pub(super) async fn user() -> Checked {
    let folder = folder().await?;
    let checked = match folder.identity() {
        Some(identity) => borrowed(&folder, identity).await,
        None => Ok(Seen::new(format!(
            "sessions run as user {}, who started this",
            Identity::current().uid
        ))),
    };
    remove(folder)?;
    checked
}

/// A user of the range: a program runs as it and can write in its workspace.
async fn borrowed(folder: &SessionFolder, identity: Identity) -> Checked {
    let file = folder.workspace().join("written");
    let spawn = Spawn::new("touch").arg(&file).identity(Some(identity));
    let said = run(spawn).await.map_err(|cause| explain(&cause, &[]))?;
    if !said.is_success || fs::metadata(&file).is_err() {
        return Err(Trouble::broken(format!(
            "user {} cannot write in its own workspace: {}",
            identity.uid, said.err
        )));
    }
    Ok(Seen::new(format!(
        "we are root; sessions run as a user of their own, such as {}",
        identity.uid
    )))
}

/// Why no session can start. A root of a container may have no other users to give.
fn no_session(cause: &str) -> Trouble {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let first = Identity::unprivileged(0).map_or(0, |identity| identity.uid);
    if !is_root() || has_user(&map, first) {
        return explain(cause, &[]);
    }
    Trouble::broken(format!(
        "{cause}. This root is that of a container, which has no user {first}: start telechir as \
         an ordinary user, or give the container the users 61000 to 64999"
    ))
}

/// Whether a namespace with this `uid_map` knows the user: lines of first inside, first outside,
/// how many.
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

/// Makes a user namespace as the session's user would.
pub(super) async fn namespaces() -> Checked {
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
    let said = run(spawn).await;
    remove(folder)?;
    let said = said.map_err(|cause| explain(&cause, &["unshare"]))?;
    if said.is_success {
        return Ok(Seen::new("an ordinary user can make a user namespace"));
    }
    let why = if namespace_switches().is_empty() {
        ". No switch of this kernel forbids it, so what runs us does: a container's system call \
         filter, or a sandbox. Let that allow `unshare`"
    } else {
        ""
    };
    Err(explain(&format!("{}{why}", said.err.trim()), &[]))
}

#[cfg(test)]
mod tests {
    use super::has_user;

    #[test]
    fn a_map_of_users_is_read() {
        assert!(has_user("         0          0 4294967295\n", 61_000));
        assert!(has_user("0 100000 1\n1 100001 65536\n", 61_000));
        assert!(!has_user("0 1000 1\n", 61_000));
        assert!(!has_user("61001 0 10\n", 61_000));
        assert!(!has_user("", 61_000));
    }
}
