//! Persistent profiles: data of pages under a name, for one browser at a time.
//!
//! Each profile is a folder with a lock file and Chromium's data. At rest only our user can enter
//! it; while a browser of another user has it, that user can, too, and owns the data.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{FlockOperation, flock};
use telechir_process::tree::{self, Owner};
use telechir_process::{Identity, is_plain_name, is_root, make_private_dir, make_private_file};

/// The folder of Chromium's data.
const DATA_DIR: &str = "data";
/// A program that is just being started still has copies of our descriptors, including those of
/// released locks.
const LOCK_INHERITED_FOR: Duration = Duration::from_millis(200);
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(5);
/// Locked while a browser has the profile; contains the name of the user of the profile.
const LOCK_FILE: &str = "lock";

/// A profile name: 1 to 32 letters, digits, `_` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProfileId(String);

impl FromStr for ProfileId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if is_plain_name(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err("a profile name has 1 to 32 letters, digits, `_` or `-`".to_owned())
        }
    }
}

impl fmt::Display for ProfileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a profile cannot be used. The texts complete "failed to".
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// There is no profile with this name.
    #[error(
        "find profile {0}: run `telechir profiles list`, or create it with `telechir profiles create {0}`"
    )]
    Missing(ProfileId),
    /// A profile with this name already exists.
    #[error("create profile {0}: it already exists")]
    Exists(ProfileId),
    /// A browser uses the profile, or a copy of it is being made.
    #[error("use profile {id}: it is in use by {holder}; a profile serves one browser at a time")]
    InUse {
        /// The name of the profile.
        id: ProfileId,
        /// The session or process that uses it.
        holder: String,
    },
    /// The browser's user cannot enter a parent folder of the profiles.
    #[error(
        "use the profiles in {}: the browser's user cannot enter {}; set XDG_DATA_HOME to a folder \
         that all users can traverse",
        folder.display(),
        closed.display()
    )]
    Unreachable {
        /// The folder of the profiles.
        folder: PathBuf,
        /// The parent folder without permission.
        closed: PathBuf,
    },
    /// A file operation failed.
    #[error("{what} {}", path.display())]
    System {
        /// The operation, such as "open".
        what: &'static str,
        /// The file or folder it was applied to.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
}

/// How a browser uses a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ProfileUse {
    /// The browser writes to the profile itself.
    #[default]
    Persist,
    /// The browser gets a copy, which is discarded.
    ReadOnly,
}

/// A profile in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileInfo {
    /// The name of the profile.
    pub id: ProfileId,
    /// The total size of its files in bytes.
    pub bytes: u64,
    /// When a browser last used it; `None` if none ever did.
    pub used: Option<SystemTime>,
    /// The session or process that uses it now, if any.
    pub holder: Option<String>,
}

/// The profiles of a folder.
#[derive(Clone, Debug)]
pub struct Profiles {
    folder: PathBuf,
}

/// A locked profile, which is released on drop.
#[derive(Debug)]
pub struct ProfileLock {
    folder: PathBuf,
    usage: ProfileUse,
    lock: File,
}

impl Profiles {
    /// The profiles in this folder, which the first `create` makes.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// The folder of all profiles; it may be missing.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Creates an empty profile.
    ///
    /// # Errors
    ///
    /// If the name is taken or the folder cannot be written.
    pub fn create(&self, id: &ProfileId) -> Result<(), ProfileError> {
        // The browser's user must be able to traverse a folder of root.
        let mode = if is_root() { 0o711 } else { 0o700 };
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(mode).create(&self.folder);
        made.map_err(system_error("make", &self.folder))?;
        let folder = self.folder.join(&id.0);
        match make_private_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(ProfileError::Exists(id.clone()));
            }
            made => made.map_err(system_error("make", &folder))?,
        }
        let data = folder.join(DATA_DIR);
        make_private_dir(&data).map_err(system_error("make", &data))?;
        let lock = folder.join(LOCK_FILE);
        make_private_file(&lock).map_err(system_error("make", &lock))?;
        Ok(())
    }

    /// All profiles, sorted by name.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read; a missing folder is no error.
    pub fn list(&self) -> Result<Vec<ProfileInfo>, ProfileError> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(system_error("read", &self.folder))?,
        };
        let names = entries.flatten().map(|entry| entry.file_name());
        let ids = names.filter_map(|name| name.to_str()?.parse().ok());
        let mut listed: Vec<ProfileInfo> = ids.filter_map(|id| self.describe(id)).collect();
        listed.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(listed)
    }

    /// One profile with the size of its data; `None` if it does not exist.
    pub fn describe(&self, id: ProfileId) -> Option<ProfileInfo> {
        let folder = self.folder.join(&id.0);
        let found = fs::metadata(folder.join(LOCK_FILE)).ok()?;
        let holder = match self.lock(&id, FlockOperation::NonBlockingLockShared) {
            Err(ProfileError::InUse { holder, .. }) => Some(holder),
            _ => None,
        };
        Some(ProfileInfo {
            bytes: size_of(&folder.join(DATA_DIR)),
            used: found.modified().ok().filter(|_| found.len() > 0),
            holder,
            id,
        })
    }

    /// Whether a browser that writes to the profile has it. Looks at nothing but its lock. A profile that
    /// does not exist is not in use.
    ///
    /// # Errors
    ///
    /// If the lock cannot be opened.
    pub fn is_in_use(&self, id: &ProfileId) -> Result<bool, ProfileError> {
        match self.lock_with_retry(id, FlockOperation::NonBlockingLockShared) {
            Ok(_) | Err(ProfileError::Missing(_)) => Ok(false),
            Err(ProfileError::InUse { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Deletes a profile with all its data.
    ///
    /// # Errors
    ///
    /// If it does not exist or is in use.
    pub fn delete(&self, id: &ProfileId) -> Result<(), ProfileError> {
        let _lock = self.lock_with_retry(id, FlockOperation::NonBlockingLockExclusive)?;
        let folder = self.folder.join(&id.0);
        tree::remove_path(&folder).map_err(system_error("remove", &folder))
    }

    /// Locks a profile for a browser. `holder` names the user of the profile in errors of others.
    ///
    /// # Errors
    ///
    /// If it does not exist or is in use.
    pub fn claim(
        &self,
        id: &ProfileId,
        usage: ProfileUse,
        holder: &str,
    ) -> Result<ProfileLock, ProfileError> {
        let operation = match usage {
            ProfileUse::Persist => FlockOperation::NonBlockingLockExclusive,
            ProfileUse::ReadOnly => FlockOperation::NonBlockingLockShared,
        };
        let mut lock = self.lock_with_retry(id, operation)?;
        let folder = self.folder.join(&id.0);
        if usage == ProfileUse::Persist {
            // The modification time is the time of the last use.
            let written = lock.set_len(0).and_then(|()| {
                lock.write_all(format!("{}\n{holder}", std::process::id()).as_bytes())
            });
            written.map_err(system_error("write", &folder.join(LOCK_FILE)))?;
        }
        Ok(ProfileLock {
            folder,
            usage,
            lock,
        })
    }

    /// Locks the profile, with retries in case it was just released.
    #[expect(
        clippy::disallowed_methods,
        reason = "there is no event for a released lock, and the wait is bounded"
    )]
    fn lock_with_retry(
        &self,
        id: &ProfileId,
        operation: FlockOperation,
    ) -> Result<File, ProfileError> {
        let started = Instant::now();
        loop {
            match self.lock(id, operation) {
                Err(ProfileError::InUse { .. }) if started.elapsed() < LOCK_INHERITED_FOR => {
                    std::thread::sleep(LOCK_RETRY_INTERVAL);
                }
                locked => return locked,
            }
        }
    }

    /// Locks the profile, if it still is the one with this name.
    fn lock(&self, id: &ProfileId, operation: FlockOperation) -> Result<File, ProfileError> {
        let path = self.folder.join(&id.0).join(LOCK_FILE);
        loop {
            let mut file = match private_file().open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(ProfileError::Missing(id.clone()));
                }
                file => file.map_err(system_error("open", &path))?,
            };
            if flock(&file, operation).is_err() {
                return Err(ProfileError::InUse {
                    id: id.clone(),
                    holder: holder(&mut file),
                });
            }
            // It may have been deleted and recreated between opening and locking.
            let is_current = file.metadata().and_then(|opened| {
                fs::metadata(&path)
                    .map(|now| (now.dev(), now.ino()) == (opened.dev(), opened.ino()))
            });
            if is_current.unwrap_or(false) {
                return Ok(file);
            }
        }
    }
}

impl ProfileLock {
    /// A descriptor of the lock, for a process that must keep it while the browser may write.
    ///
    /// # Errors
    ///
    /// If no descriptor is available.
    pub fn lock(&self) -> io::Result<OwnedFd> {
        self.lock.try_clone().map(OwnedFd::from)
    }

    /// How the browser uses the profile.
    pub const fn usage(&self) -> ProfileUse {
        self.usage
    }

    /// The folder of this profile; [`restrict_folder`] restricts its permissions.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of Chromium's data.
    pub fn data(&self) -> PathBuf {
        self.folder.join(DATA_DIR)
    }

    /// The owner of the data; if the same user is chosen again, no ownership changes.
    pub fn owner(&self) -> Option<Identity> {
        Identity::unprivileged_with(fs::symlink_metadata(self.data()).ok()?.uid())
    }

    /// Gives the data to the browser's user, if that is not ours.
    ///
    /// # Errors
    ///
    /// If that user cannot enter a parent folder, or changing the owner fails.
    pub fn transfer_to(&self, identity: Option<Identity>) -> Result<(), ProfileError> {
        let Some(identity) = identity.filter(|_| is_root() && self.usage == ProfileUse::Persist)
        else {
            return Ok(());
        };
        if let Some(closed) = closed_above(&self.folder) {
            return Err(ProfileError::Unreachable {
                folder: self.folder.parent().unwrap_or(&self.folder).to_owned(),
                closed,
            });
        }
        let data = self.data();
        let failed = || system_error("give to the browser's user", &data);
        let give = || {
            let top = tree::open_folder(&data.canonicalize()?)?;
            let before = Owner::of(&top)?.uid;
            tree::take(&top, &[before], identity)?;
            // Only that user's group can enter the folder.
            lchown(&self.folder, None, Some(identity.gid))?;
            fs::set_permissions(&self.folder, Permissions::from_mode(0o710))
        };
        give().map_err(failed())
    }
}

impl Drop for ProfileLock {
    fn drop(&mut self) {
        if self.usage == ProfileUse::Persist {
            restrict_folder(&self.folder);
        }
    }
}

/// Restricts a profile's folder to our user: after a session its user is reused, and the next
/// session must not find the profile accessible.
pub fn restrict_folder(folder: &Path) {
    let _it_may_be_gone = fs::set_permissions(folder, Permissions::from_mode(0o700));
}

fn size_of(folder: &Path) -> u64 {
    folder
        .canonicalize()
        .map_or(0, |folder| tree::size_bytes(&folder))
}

/// The first parent folder that other users cannot traverse.
fn closed_above(folder: &Path) -> Option<PathBuf> {
    let is_closed =
        |above: &&Path| fs::metadata(above).is_ok_and(|found| found.mode() & 0o001 == 0);
    let mut above = folder.ancestors().skip(1);
    above.find(is_closed).map(Path::to_owned)
}

/// The user of a profile, from the content of the lock file.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let _empty_if_unreadable = file.read_to_string(&mut text);
    let (pid, name) = text.split_once('\n').unwrap_or_default();
    if !pid.is_empty() && Path::new("/proc").join(pid).exists() {
        format!("{name} (process {pid})")
    } else {
        "another telechir process that is starting or stopping".to_owned()
    }
}

fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

fn system_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ProfileError {
    let path = path.to_owned();
    move |source| ProfileError::System { what, path, source }
}

#[cfg(test)]
mod tests;
