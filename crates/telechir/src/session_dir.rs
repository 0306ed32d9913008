//! The private folder of a session, and whose it is.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use telechir_browser::{Profile, ProfileLock, ProfileUse};
use telechir_process::guardian::{Guard, folder_prefix};
use telechir_process::{Identity, is_root};
use tempfile::TempDir;

use crate::error::Failure;
use crate::guardian;

/// Locks of the identities that sessions hold; only root needs them.
const LOCKS: &str = "/run/telechir";

/// A folder that is removed at the end, with the identity that the session's programs run as, and
/// with the guardian that sees to it that both are true however we end.
#[derive(Debug)]
pub(crate) struct SessionFolder {
    folder: TempDir,
    workspace: Option<PathBuf>,
    identity: Option<Identity>,
    // After the folder: it looks at what is left. Before the lock: it ends that user's processes.
    guard: Guard,
    // After the guardian, by whose end nobody writes to it any more.
    profile: Option<ProfileLock>,
    // Held for its lock alone: another session takes another identity.
    _lock: Option<File>,
}

impl SessionFolder {
    /// Makes the folder. `workspace` is one that the user named; it is kept. `profile` is the
    /// browser's, and goes to the session's user.
    pub(crate) async fn create(
        workspace: Option<&Path>,
        profile: Option<ProfileLock>,
    ) -> Result<Self, Failure> {
        let (identity, lock) = if is_root() {
            let earlier = profile.as_ref().and_then(ProfileLock::owner);
            claim(workspace.and_then(owner).or(earlier))?
        } else {
            (None, None)
        };
        let parent = short_enough(std::env::temp_dir());
        let guard = guardian::start(identity, lock.as_ref(), profile.as_ref(), &parent).await?;
        if let Some(profile) = &profile {
            profile.give_to(identity)?;
        }
        let folder = tempfile::Builder::new()
            .prefix(&folder_prefix())
            .rand_bytes(1)
            .tempdir_in(&parent)
            .map_err(|e| {
                Failure::message(format!("failed to make a folder for the session: {e}"))
            })?;
        // Its parts are private; the session's user must be able to reach them.
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
        // One that the user named is given to the session's user, with all in it, by the device
        // that confines programs to it.
        if session.workspace.is_none() {
            session.make("workspace")?;
        }
        Ok(session)
    }

    /// Whom the session's programs run as; none means as ourselves, who are not root.
    pub(crate) fn identity(&self) -> Option<Identity> {
        self.identity
    }

    /// The folder itself.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Whether the workspace is our own, and nobody else uses it.
    pub(crate) fn is_private(&self) -> bool {
        self.workspace.is_none()
    }

    /// What shell and desktop share.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.workspace
            .clone()
            .unwrap_or_else(|| self.path().join("workspace"))
    }

    /// The browser's profile, as the browser is told of it.
    pub(crate) fn profile(&self) -> Profile {
        let Some(claim) = &self.profile else {
            return Profile::Fresh;
        };
        match claim.usage() {
            ProfileUse::Persist => Profile::Kept(claim.data()),
            ProfileUse::ReadOnly => Profile::CopyOf(claim.data()),
        }
    }

    /// Lets go of a profile that was copied, so that others can have it.
    pub(crate) fn copied(&mut self) {
        self.profile
            .take_if(|claim| claim.usage() == ProfileUse::ReadOnly);
    }

    /// Removes the folder; the guardian looks for what else is left, and ends.
    pub(crate) fn remove(self) -> io::Result<()> {
        guardian::cleaned();
        let removed = self.folder.close();
        if self.guard.end() {
            return Ok(());
        }
        removed?;
        Err(io::Error::other("the guardian could not clean up"))
    }

    /// Makes a private folder of the session's user.
    pub(crate) fn make(&self, name: &str) -> Result<PathBuf, Failure> {
        let path = self.path().join(name);
        fs::create_dir(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o700))?;
        self.give(&path)?;
        Ok(path)
    }

    fn give(&self, path: &Path) -> Result<(), Failure> {
        let Some(identity) = self.identity else {
            return Ok(());
        };
        chown(path, Some(identity.uid), Some(identity.gid)).map_err(|e| {
            Failure::message(format!(
                "failed to give {} to the session's user {}: {e}",
                path.display(),
                identity.uid
            ))
        })
    }
}

/// A place whose sockets can be named: the system takes 108 bytes, and Chromium's lie deep.
fn short_enough(folder: PathBuf) -> PathBuf {
    const LONGEST: usize = 20;
    if folder.as_os_str().len() > LONGEST {
        PathBuf::from("/tmp")
    } else {
        folder
    }
}

/// The absolute form of a folder that must exist.
fn existing(folder: &Path) -> Result<PathBuf, Failure> {
    let problem = |e: io::Error| {
        Failure::message(format!(
            "failed to use {} as workspace: {e}; name a folder that is there",
            folder.display()
        ))
    };
    let path = fs::canonicalize(folder).map_err(problem)?;
    if path == Path::new("/") || !path.is_dir() {
        return Err(Failure::message(format!(
            "{} cannot be a workspace: name a folder of its own",
            path.display()
        )));
    }
    Ok(path)
}

/// Whose a workspace is, when an earlier session had it: with the same user again, nothing in it
/// has to be given away.
fn owner(workspace: &Path) -> Option<Identity> {
    Identity::unprivileged_with(fs::metadata(workspace).ok()?.uid())
}

/// The first identity that no other session holds; `preferred` when it is one of these.
fn claim(preferred: Option<Identity>) -> Result<(Option<Identity>, Option<File>), Failure> {
    fs::create_dir_all(LOCKS)
        .map_err(|e| Failure::message(format!("failed to make {LOCKS}: {e}")))?;
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
    Err(Failure::message(
        "every user id of the range 61000 to 64999 is held by another session",
    ))
}
