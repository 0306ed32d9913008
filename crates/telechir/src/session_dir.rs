//! The private directory of a session, and the user that the session's programs run as.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use telechir_browser::{Profile, ProfileLock, ProfileUse};
use telechir_process::guardian::{Guardian, folder_prefix};
use telechir_process::{Identity, is_root};
use tempfile::TempDir;

use crate::error::CliError;
use crate::guardian;

/// Folder of the locks on session user ids; only root needs them.
const LOCKS: &str = "/run/telechir";

/// A directory that is removed at the end, the identity of the session's programs, and the
/// guardian that cleans up if this process dies.
#[derive(Debug)]
pub(crate) struct SessionDir {
    folder: TempDir,
    workspace: Option<PathBuf>,
    identity: Option<Identity>,
    // Dropped after the folder, which it inspects, and before the lock, because it kills that user's
    // processes.
    guard: Guardian,
    // Dropped after the guardian: when that ends, nothing writes to the profile any more.
    profile: Option<ProfileLock>,
    // Keeps other sessions from using the same identity.
    _lock: Option<File>,
}

impl SessionDir {
    /// Creates the directory. `workspace` is a folder of the operator's and is kept. `profile` is
    /// the browser's; the session's user becomes its owner.
    pub(crate) async fn create(
        workspace: Option<&Path>,
        profile: Option<ProfileLock>,
    ) -> Result<Self, CliError> {
        let (identity, lock) = if is_root() {
            let earlier = profile.as_ref().and_then(ProfileLock::owner);
            claim(workspace.and_then(owner).or(earlier))?
        } else {
            (None, None)
        };
        let parent = short_enough(std::env::temp_dir());
        let guard = guardian::start(identity, lock.as_ref(), profile.as_ref(), &parent).await?;
        if let Some(profile) = &profile {
            profile.transfer_to(identity)?;
        }
        let folder = tempfile::Builder::new()
            .prefix(&folder_prefix())
            .rand_bytes(1)
            .tempdir_in(&parent)
            .map_err(|e| {
                CliError::message(format!("failed to create a directory for the session: {e}"))
            })?;
        // The subfolders are private; the session's user must be able to reach them.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o711))?;
        let workspace = workspace.map(existing).transpose()?;
        let session = Self {
            folder,
            workspace,
            identity,
            guard,
            profile,
            _lock: lock,
        };
        session.make("home")?;
        // The device that confines programs to a named workspace transfers its ownership to the
        // session's user.
        if session.workspace.is_none() {
            session.make("workspace")?;
        }
        Ok(session)
    }

    /// The user of the session's programs; none means this process's user, which is not root.
    pub(crate) fn identity(&self) -> Option<Identity> {
        self.identity
    }

    /// Path of the directory.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Whether the workspace was created for this session, so that nobody else uses it.
    pub(crate) fn is_private(&self) -> bool {
        self.workspace.is_none()
    }

    /// The folder shared by shell, editor and desktop.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.workspace
            .clone()
            .unwrap_or_else(|| self.path().join("workspace"))
    }

    /// The profile in the form in which the browser takes it.
    pub(crate) fn profile(&self) -> Profile {
        let Some(claim) = &self.profile else {
            return Profile::Fresh;
        };
        match claim.usage() {
            ProfileUse::Persist => Profile::Persistent(claim.data()),
            ProfileUse::ReadOnly => Profile::CopyOf(claim.data()),
        }
    }

    /// Unlocks a profile that was copied, so that other sessions can use it.
    pub(crate) fn copied(&mut self) {
        self.profile
            .take_if(|claim| claim.usage() == ProfileUse::ReadOnly);
    }

    /// Removes the directory; the guardian removes whatever else is left, and exits.
    pub(crate) fn remove(self) -> io::Result<()> {
        guardian::cleaned();
        let removed = self.folder.close();
        if self.guard.end() {
            return Ok(());
        }
        removed?;
        Err(io::Error::other("the guardian could not clean up"))
    }

    /// Creates a private folder of the session's user.
    pub(crate) fn make(&self, name: &str) -> Result<PathBuf, CliError> {
        let path = self.path().join(name);
        fs::create_dir(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o700))?;
        self.give(&path)?;
        Ok(path)
    }

    fn give(&self, path: &Path) -> Result<(), CliError> {
        let Some(identity) = self.identity else {
            return Ok(());
        };
        chown(path, Some(identity.uid), Some(identity.gid)).map_err(|e| {
            CliError::message(format!(
                "failed to give {} to the session's user {}: {e}",
                path.display(),
                identity.uid
            ))
        })
    }
}

/// The folder, or `/tmp` if paths below it would be too long: socket paths are limited to 108 bytes,
/// and Chromium's are deep.
fn short_enough(folder: PathBuf) -> PathBuf {
    const MAX_PATH_BYTES: usize = 20;
    if folder.as_os_str().len() > MAX_PATH_BYTES {
        PathBuf::from("/tmp")
    } else {
        folder
    }
}

/// The absolute path of a folder that must exist.
fn existing(folder: &Path) -> Result<PathBuf, CliError> {
    let problem = |e: io::Error| {
        CliError::message(format!(
            "failed to use {} as workspace: {e}; choose an existing folder",
            folder.display()
        ))
    };
    let path = fs::canonicalize(folder).map_err(problem)?;
    if path == Path::new("/") || !path.is_dir() {
        return Err(CliError::message(format!(
            "{} cannot be a workspace; choose an existing folder other than /",
            path.display()
        )));
    }
    Ok(path)
}

/// The owner of a workspace of an earlier session: with the same user again, ownership of its
/// files need not change.
fn owner(workspace: &Path) -> Option<Identity> {
    Identity::unprivileged_with(fs::metadata(workspace).ok()?.uid())
}

/// The first identity that no other session has locked, starting with `preferred`.
fn claim(preferred: Option<Identity>) -> Result<(Option<Identity>, Option<File>), CliError> {
    fs::create_dir_all(LOCKS)
        .map_err(|e| CliError::message(format!("failed to create {LOCKS}: {e}")))?;
    for identity in preferred.into_iter().chain(Identity::all_unprivileged()) {
        let path = Path::new(LOCKS).join(format!("uid-{}", identity.uid));
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return Ok((Some(identity), Some(file)));
        }
    }
    Err(CliError::message(
        "no user id is free: other sessions use all from 61000 to 64999",
    ))
}
