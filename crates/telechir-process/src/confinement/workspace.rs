//! The workspace: the only writable folder, owned by the session's user while the session lasts.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

use rustix::fs::{Mode, OFlags, StatVfsMountFlags, statvfs};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use super::ConfinementError;
use crate::tree::{self, Location, Owner};
use crate::{Identity, guardian, is_root};

/// Who had each workspace before this process gave it to a session's user.
static OWNERS: Mutex<BTreeMap<PathBuf, Owner>> = Mutex::new(BTreeMap::new());

/// System folders, which cannot be a workspace.
const SYSTEM_DIRS: [&str; 32] = [
    "/",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib64",
    "/media",
    "/mnt",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/tmp",
    "/usr",
    "/var",
    "/nix",
    "/run/user",
    "/snap",
    "/var/cache",
    "/var/lib",
    "/var/local",
    "/var/log",
    "/var/mail",
    "/var/opt",
    "/var/run",
    "/var/spool",
    "/var/www",
];
/// System trees, in which no folder can be a workspace.
const SYSTEM_TREES: [&str; 16] = [
    "/bin",
    "/boot",
    "/dev",
    "/efi",
    "/etc",
    "/lib",
    "/lib64",
    "/nix/store",
    "/proc",
    "/run/systemd",
    "/sbin",
    "/sys",
    "/usr",
    "/var/lib/dpkg",
    "/var/lib/systemd",
    "/var/spool/cron",
];

/// Returns the canonical path of a workspace, after giving it to `identity`, if any, until the end
/// of the session: then the guardian gives everything back to the present owner.
///
/// # Errors
/// If it is not a directory, or a system folder.
pub fn checked(path: &Path, identity: Option<Identity>) -> Result<PathBuf, ConfinementError> {
    let real = resolved(path)?;
    if let Some(identity) = identity.filter(|_| is_root()) {
        borrow(&real, identity).map_err(|error| not_given(path, &error))?;
        if let Some(closed) = closed_folder(&real, identity) {
            let (folder, user) = (closed.display(), identity.uid);
            return Err(refused(
                path,
                format_args!(
                    "is in {folder}, which the session's user {user} cannot enter; permit that \
                     (chmod o+x {folder}), start telechir as the owner of the workspace instead of \
                     as root, or choose another folder with --workspace"
                ),
            ));
        }
    }
    Ok(real)
}

/// The first folder above a path that a user cannot enter, as the kernel decides it.
fn closed_folder(real: &Path, identity: Identity) -> Option<PathBuf> {
    let mut above: Vec<PathBuf> = real.ancestors().map(Path::to_owned).collect();
    above.reverse();
    let find = move || {
        // For this thread alone, which ends with the search.
        let (uid, gid) = (Uid::from_raw(identity.uid), Gid::from_raw(identity.gid));
        set_thread_groups(&[]).ok()?;
        set_thread_res_gid(gid, gid, gid).ok()?;
        set_thread_res_uid(uid, uid, uid).ok()?;
        let is_denied = |path: &Path| {
            let opened = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
            matches!(opened, Err(Errno::ACCESS))
        };
        let denied = above.into_iter().find(|path| is_denied(path))?;
        denied.parent().map(Path::to_owned)
    };
    thread::Builder::new().spawn(find).ok()?.join().ok()?
}

/// Like [`checked`], for a workspace whose owner is known: an earlier session whose guardian was
/// killed, too, may have left it to its own user.
///
/// # Errors
/// If it is not a directory, or a system folder.
pub fn lend(path: &Path, identity: Identity, owner: Owner) -> Result<(), ConfinementError> {
    let give = |top: &OwnedFd| {
        let present = Owner::of(top)?.uid;
        let earlier = Identity::unprivileged_with(present).filter(|_| present != owner.uid);
        if let Some(earlier) = earlier {
            tree::give_back(top, earlier, owner, None)?;
        }
        tree::take(top, &[owner.uid], identity)
    };
    register(path, identity, owner)
        .and_then(|top| give(&top).map_err(|error| not_given(path, &error)))
}

/// Uses a workspace whose files belong to another session: they stay as they are, and the files
/// that this session makes go to `owner` at its end.
///
/// # Errors
/// If it is not a directory, or a system folder.
pub fn join(path: &Path, identity: Identity, owner: Owner) -> Result<(), ConfinementError> {
    register(path, identity, owner).map(drop)
}

fn register(path: &Path, identity: Identity, owner: Owner) -> Result<OwnedFd, ConfinementError> {
    let real = resolved(path)?;
    let registered = tree::open_folder(&real).and_then(|top| {
        guardian::register_tree(&real, &top, identity, owner)?;
        remember_owner(&real, owner);
        Ok(top)
    });
    registered.map_err(|error| not_given(path, &error))
}

fn refused(path: &Path, why: impl std::fmt::Display) -> ConfinementError {
    ConfinementError(format!("the workspace {} {why}", path.display()))
}

fn not_given(path: &Path, error: &io::Error) -> ConfinementError {
    refused(
        path,
        format_args!("cannot be given to the session's user: {error}"),
    )
}

fn resolved(path: &Path) -> Result<PathBuf, ConfinementError> {
    let real = fs::canonicalize(path)
        .map_err(|error| refused(path, format_args!("cannot be opened: {error}")))?;
    if !real.is_dir() {
        return Err(refused(
            path,
            "is not a directory; choose one with --workspace",
        ));
    }
    if statvfs(&real).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY)) {
        return Err(refused(
            path,
            "is mounted read-only; mount it writable, or choose another folder with --workspace",
        ));
    }
    if real.to_str().is_none() {
        return Err(refused(path, "has a path that is not UTF-8"));
    }
    let is_system = is_system(&real)
        .map_err(|error| refused(path, format_args!("cannot be opened: {error}")))?;
    if is_system {
        return Err(refused(
            path,
            "is a system directory; choose another one with --workspace",
        ));
    }
    Ok(real)
}

/// Whether a folder is a system folder, by its path or as a mount of one elsewhere.
fn is_system(real: &Path) -> io::Result<bool> {
    let is_shared_memory = real.starts_with("/dev/shm") && real != Path::new("/dev/shm");
    let by_path = SYSTEM_TREES.iter().any(|tree| real.starts_with(tree));
    if (by_path && !is_shared_memory) || SYSTEM_DIRS.iter().any(|folder| real == Path::new(folder))
    {
        return Ok(true);
    }
    let location = Location::of(real)?;
    let target = |path: &&str| {
        let real = fs::canonicalize(path).ok()?;
        Location::of(&real).ok()
    };
    let is_one = SYSTEM_DIRS
        .iter()
        .filter_map(target)
        .any(|folder| folder.is_same(&location));
    let is_in_one = || {
        let mut trees = SYSTEM_TREES.iter().filter_map(target);
        trees.any(|tree| location.target_is_inside(&tree))
    };
    Ok(is_one || (!is_shared_memory && is_in_one()))
}

/// Gives a workspace to a session's user, unless it already is that user's or was given before.
fn borrow(real: &Path, identity: Identity) -> io::Result<()> {
    let top = tree::open_folder(real)?;
    let owner = Owner::of(&top)?;
    // Registered first: the guardian also gives back what was taken before a failure.
    if owner.uid != identity.uid && guardian::register_tree(real, &top, identity, owner)? {
        remember_owner(real, owner);
        tree::take(&top, &[owner.uid], identity)?;
    }
    Ok(())
}

fn remember_owner(real: &Path, owner: Owner) {
    let mut owners = OWNERS.lock().unwrap_or_else(PoisonError::into_inner);
    owners.insert(real.to_owned(), owner);
}

/// Who owns a workspace apart from this session. A workspace that a killed session left may still
/// belong to that session's user.
pub(super) fn owner_of(real: &Path) -> Option<Owner> {
    let owners = OWNERS.lock().unwrap_or_else(PoisonError::into_inner);
    let before = owners.get(real).copied();
    before.or_else(|| tree::open_folder(real).and_then(Owner::of).ok())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

    use telechir_testkit::gate::{Privilege, lacks};

    use super::*;

    #[test]
    fn refuses_system_folders() {
        for path in [
            "/",
            "/etc",
            "/usr/share",
            "/tmp",
            "/home",
            "/var/lib",
            "/proc/self",
            "/dev/shm",
            "/no/such",
        ] {
            assert!(checked(Path::new(path), None).is_err(), "{path}");
        }
        let folder = tempfile::tempdir().expect("a folder");
        assert!(checked(folder.path(), None).is_ok());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/etc", &link).expect("a link");
        assert!(checked(&link, None).is_err(), "a link counts as its target");
    }

    #[test]
    fn the_owner_of_a_workspace_is_known_after_it_was_given_away() {
        let folder = tempfile::tempdir().expect("a folder");
        let real = folder.path().canonicalize().expect("a path");
        if lacks(Privilege::Root, is_root()) {
            return;
        }
        let [owner, user] = [3_840, 3_841].map(|at| Identity::unprivileged(at).expect("a user"));
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&real, open).expect("permissions");
        chown(&real, Some(owner.uid), Some(owner.gid)).expect("an owner");
        assert_eq!(checked(&real, Some(user)), Ok(real.clone()));
        let present = fs::metadata(&real).expect("a folder");
        assert_eq!(present.uid(), user.uid);
        let known = owner_of(&real).map(|owner| (owner.uid, owner.gid));
        assert_eq!(known, Some((owner.uid, owner.gid)));
    }

    #[test]
    fn a_workspace_of_the_session_s_user_is_not_borrowed() {
        let folder = tempfile::tempdir().expect("a folder");
        let real = folder.path().canonicalize().expect("a path");
        if lacks(Privilege::Root, is_root()) {
            return;
        }
        let [user, later] = [3_843, 3_844].map(|at| Identity::unprivileged(at).expect("a user"));
        chown(&real, Some(user.uid), Some(user.gid)).expect("an owner");
        assert_eq!(checked(&real, Some(user)), Ok(real.clone()));
        chown(&real, Some(later.uid), Some(later.gid)).expect("an owner");
        assert_eq!(owner_of(&real).map(|owner| owner.uid), Some(later.uid));
    }

    #[test]
    fn a_folder_in_shared_memory_may_be_a_workspace() {
        let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
        assert!(checked(folder.path(), None).is_ok());
    }

    #[test]
    fn a_folder_that_the_session_s_user_cannot_enter_is_named() {
        if lacks(Privilege::Root, is_root()) {
            return;
        }
        let user = Identity::unprivileged(3_842).expect("a user");
        let folder = tempfile::tempdir().expect("a folder");
        let real = folder.path().canonicalize().expect("a path");
        let inner = real.join("inner");
        fs::create_dir(&inner).expect("a folder");
        let mode = |mode| fs::set_permissions(&real, fs::Permissions::from_mode(mode));
        mode(0o700).expect("permissions");
        let error = checked(&inner, Some(user)).map_err(|error| error.to_string());
        let named = format!("is in {}, which the session's user", real.display());
        assert!(
            error.as_ref().is_err_and(|error| error.contains(&named)),
            "{error:?}"
        );
        // To enter a folder, nobody needs to list it.
        mode(0o711).expect("permissions");
        assert_eq!(checked(&inner, Some(user)), Ok(inner));
    }
}
