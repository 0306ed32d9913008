//! The private directory of a session, and the user that the session's programs run as.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use telechir_browser::{Profile, ProfileLock, ProfileUse};
use telechir_process::guardian::{Guardian, folder_prefix};
use telechir_process::{Identity, PrivateFolder, is_root, make_private_dir};

use crate::error::CliError;
use crate::guardian;
use crate::workspace_lock::WorkspaceLock;

/// Folder of the locks on session user ids; only root needs them.
const LOCKS: &str = "/run/telechir";

/// Folders of the operator that the session's programs use.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SharedFolders<'a> {
    /// The workspace; without one, the session gets a private one.
    pub(crate) workspace: Option<&'a Path>,
    /// The memory of the editor.
    pub(crate) memory: Option<&'a Path>,
    /// Whether other live sessions may use the workspace, too.
    pub(crate) with_others: bool,
    /// The name of this session for those that are refused because of it.
    pub(crate) holder: &'a str,
}

/// A directory that is removed at the end, the identity of the session's programs, and the
/// guardian that cleans up if this process dies.
#[derive(Debug)]
pub(crate) struct SessionDir {
    folder: PrivateFolder,
    workspace: Option<PathBuf>,
    identity: Option<Identity>,
    // Dropped after the folder, which it inspects, and before the locks, because it kills that
    // user's processes and gives the workspace back.
    guard: Guardian,
    // Dropped after the guardian: when that ends, nothing writes to the profile any more.
    profile: Option<ProfileLock>,
    // Keep other sessions from using the same folders.
    _workspaces: Vec<WorkspaceLock>,
    // Keeps other sessions from using the same identity.
    _lock: Option<File>,
}

impl SessionDir {
    /// Creates the directory. The shared folders are the operator's and are kept; root gives them
    /// to the session's user until the end. `profile` is the browser's; the session's user becomes
    /// its owner.
    pub(crate) async fn create(
        shared: SharedFolders<'_>,
        profile: Option<ProfileLock>,
    ) -> Result<Self, CliError> {
        let workspace = shared
            .workspace
            .map(|folder| existing("workspace", folder))
            .transpose()?;
        let mut workspaces = lock_all(shared, workspace.as_deref()).await?;
        let (identity, lock) = if is_root() {
            let earlier = profile.as_ref().and_then(ProfileLock::owner);
            claim(workspace.as_deref().and_then(owner).or(earlier))?
        } else {
            (None, None)
        };
        let parent = parent();
        let guard = guardian::start(
            identity,
            lock.as_ref(),
            &workspaces,
            profile.as_ref(),
            &parent,
        )
        .await?;
        if let Some(profile) = &profile {
            profile.transfer_to(identity)?;
        }
        let folder = PrivateFolder::create_short(&parent, &folder_prefix()).map_err(|e| {
            CliError::message(format!(
                "failed to create the session's folder in {}: {e}; set TMPDIR to an existing folder \
                 that you can write to",
                parent.display()
            ))
        })?;
        if let Some(identity) = identity {
            // The subfolders are private; the session's user must be able to reach them.
            folder.let_in(identity, false)?;
            for workspace in &mut workspaces {
                workspace.lend(identity)?;
            }
        }
        let session = Self {
            folder,
            workspace,
            identity,
            guard,
            profile,
            _workspaces: workspaces,
            _lock: lock,
        };
        session.make("home")?;
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
        make_private_dir(&path)?;
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

/// Locks the workspace, and the memory where it changes its owner.
async fn lock_all(
    shared: SharedFolders<'_>,
    workspace: Option<&Path>,
) -> Result<Vec<WorkspaceLock>, CliError> {
    let mut locks = Vec::new();
    if let Some(workspace) = workspace {
        locks.push(WorkspaceLock::take(workspace, shared.holder, shared.with_others).await?);
    }
    if let Some(memory) = shared.memory.filter(|_| is_root()) {
        let memory = existing("memory folder", memory)?;
        locks.push(WorkspaceLock::take(&memory, shared.holder, shared.with_others).await?);
    }
    Ok(locks)
}

/// The folder in which the folders of sessions are made.
pub(crate) fn parent() -> PathBuf {
    short_enough(std::env::temp_dir())
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
fn existing(what: &str, folder: &Path) -> Result<PathBuf, CliError> {
    let problem = |e: io::Error| {
        CliError::message(format!(
            "failed to open the {what} {}: {e}; choose an existing folder",
            folder.display()
        ))
    };
    let path = fs::canonicalize(folder).map_err(problem)?;
    if path == Path::new("/") || !path.is_dir() {
        return Err(CliError::message(format!(
            "{} cannot be the {what}; choose an existing folder other than /",
            path.display()
        )));
    }
    Ok(path)
}

/// The user of an earlier session that has not given the workspace back: with the same user again,
/// ownership of its files need not change.
fn owner(workspace: &Path) -> Option<Identity> {
    Identity::unprivileged_with(fs::metadata(workspace).ok()?.uid())
}

/// Creates the folder of root's locks, which only root can enter.
pub(crate) fn make_locks_folder() -> Result<(), CliError> {
    let made = match make_private_dir(Path::new(LOCKS)) {
        // An earlier version made it readable for everybody.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::set_permissions(LOCKS, Permissions::from_mode(0o700))
        }
        made => made,
    };
    made.map_err(|e| CliError::message(format!("failed to create {LOCKS}: {e}")))
}

/// Whether a live session has this user.
pub(crate) fn is_claimed(uid: u32) -> bool {
    File::open(Path::new(LOCKS).join(format!("uid-{uid}")))
        .is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockShared).is_err())
}

/// The first identity that no other session has locked, starting with `preferred`.
fn claim(preferred: Option<Identity>) -> Result<(Option<Identity>, Option<File>), CliError> {
    make_locks_folder()?;
    for identity in preferred.into_iter().chain(Identity::all_unprivileged()) {
        let path = Path::new(LOCKS).join(format!("uid-{}", identity.uid));
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            // An earlier version made it readable for everybody.
            file.set_permissions(Permissions::from_mode(0o600))?;
            return Ok((Some(identity), Some(file)));
        }
    }
    Err(CliError::message(
        "no user id is free: other sessions use all from 61000 to 64999",
    ))
}
