//! The folder of the sockets of all sessions of this user.

use std::io;
use std::path::{Path, PathBuf};

use telechir_process::{is_private_dir, make_private_dir};

use crate::env;
use crate::error::CliError;

/// The folder of all sockets: below `XDG_RUNTIME_DIR`, otherwise `/tmp/telechir-UID`.
pub(crate) fn folder() -> Result<PathBuf, CliError> {
    let uid = rustix::process::geteuid().as_raw();
    let runtime = env::runtime_dir().filter(|dir| is_private_dir(dir, uid));
    let folder = below(runtime.as_deref(), uid);
    match make_private_dir(&folder) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(CliError::message(format!(
            "failed to create {} for session sockets: {e}",
            folder.display()
        ))),
        _ if is_private_dir(&folder, uid) => Ok(folder),
        _ => Err(CliError::message(format!(
            "{} is not private, so it cannot contain session sockets; remove it, or set XDG_RUNTIME_DIR \
             to a folder that you own with mode 0700",
            folder.display()
        ))),
    }
}

/// The folders that sessions of this user have in the environment of a login, and without one, as those
/// of cron do.
pub(crate) fn of_logins() -> [PathBuf; 2] {
    let uid = rustix::process::geteuid().as_raw();
    let of_login = PathBuf::from(format!("/run/user/{uid}"));
    [Some(of_login.as_path()), None].map(|runtime| below(runtime, uid))
}

fn below(runtime: Option<&Path>, uid: u32) -> PathBuf {
    runtime.map_or_else(
        || PathBuf::from(format!("/tmp/telechir-{uid}")),
        |dir| dir.join("telechir"),
    )
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_folder_that_others_can_enter_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let uid = rustix::process::geteuid().as_raw();
        let inside = folder.path().join("open");
        fs::create_dir(&inside).unwrap();
        for (mode, wanted) in [(0o700, true), (0o755, false), (0o770, false)] {
            fs::set_permissions(&inside, Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_private_dir(&inside, uid), wanted, "{mode:o}");
        }
        fs::set_permissions(&inside, Permissions::from_mode(0o700)).unwrap();
        assert!(!is_private_dir(&inside, uid + 1), "of another owner");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&inside, &link).unwrap();
        assert!(!is_private_dir(&link, uid), "a link");
    }
}
