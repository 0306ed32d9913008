//! Profiles that last: what pages stored, under a name, for one browser at a time.
//!
//! Each has a folder with a lock and the browser's own data. At rest only we can enter it; while a
//! browser of another user has it, that user can, too, and the data is that user's alone.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{FlockOperation, flock};
use telechir_process::{Identity, is_root};

use crate::fs_tree;

/// The browser's own data.
const DATA: &str = "data";
/// A program that is being started has all our descriptors for a moment, those of locks that were
/// given up too.
const BEING_STARTED: Duration = Duration::from_millis(200);
const BETWEEN: Duration = Duration::from_millis(5);
/// Held while a browser has the profile, with the words of who that is.
const LOCK: &str = "lock";

/// A profile's name: 1 to 32 letters, digits, `_` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProfileId(String);

impl FromStr for ProfileId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if (1..=32).contains(&text.len()) && text.chars().all(is_plain) {
            Ok(Self(text.to_owned()))
        } else {
            Err("a profile's name has 1 to 32 letters, digits, `_` or `-`".to_owned())
        }
    }
}

impl fmt::Display for ProfileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a profile cannot be had. Texts read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// Nobody made it.
    #[error("find profile {0}: there is none; make it with: telechir profiles create {0}")]
    Missing(ProfileId),
    /// It was made before.
    #[error("make profile {0}: it is there already")]
    Exists(ProfileId),
    /// A browser has it, or a copy of it is being made.
    #[error("use profile {id}: {holder} has it, and a profile serves one browser at a time")]
    Held {
        /// Which one.
        id: ProfileId,
        /// Who has it, in words.
        holder: String,
    },
    /// The browser runs as a user who cannot come to it.
    #[error(
        "use the profiles in {}: the browser's user cannot enter {}; set XDG_DATA_HOME to a folder \
         that everybody may pass through",
        folder.display(),
        closed.display()
    )]
    Unreachable {
        /// Where the profiles are.
        folder: PathBuf,
        /// What is in the way.
        closed: PathBuf,
    },
    /// The system says no.
    #[error("{what} {}", path.display())]
    System {
        /// What was tried.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// Why it did not go.
        #[source]
        source: io::Error,
    },
}

/// What a browser does with a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ProfileUse {
    /// What pages store goes into it.
    #[default]
    Persist,
    /// The browser gets a copy that is thrown away.
    ReadOnly,
}

/// A profile as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileInfo {
    /// Its name.
    pub id: ProfileId,
    /// Bytes of its files.
    pub bytes: u64,
    /// When a browser had it last; none when none had.
    pub used: Option<SystemTime>,
    /// Who has it now, in words.
    pub holder: Option<String>,
}

/// All profiles of a folder.
#[derive(Clone, Debug)]
pub struct Profiles {
    folder: PathBuf,
}

/// A profile that is ours for now. It is let go when this is dropped.
#[derive(Debug)]
pub struct ProfileLock {
    folder: PathBuf,
    usage: ProfileUse,
    lock: File,
}

impl Profiles {
    /// Those in this folder, which is made with the first one.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Makes an empty one.
    ///
    /// # Errors
    /// When there is one of this name, or the folder cannot be written.
    pub fn create(&self, id: &ProfileId) -> Result<(), ProfileError> {
        // Who is root gives them to users who must pass through here.
        let mode = if is_root() { 0o711 } else { 0o700 };
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(mode).create(&self.folder);
        made.map_err(at("make", &self.folder))?;
        let folder = self.folder.join(&id.0);
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(ProfileError::Exists(id.clone()));
            }
            made => made.map_err(at("make", &folder))?,
        }
        let data = folder.join(DATA);
        let made = DirBuilder::new().mode(0o700).create(&data);
        made.map_err(at("make", &data))?;
        let lock = folder.join(LOCK);
        private()
            .create(true)
            .open(&lock)
            .map_err(at("make", &lock))?;
        Ok(())
    }

    /// All of them, by name.
    ///
    /// # Errors
    /// When the folder cannot be read; that it is not there is no error.
    pub fn list(&self) -> Result<Vec<ProfileInfo>, ProfileError> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(at("read", &self.folder))?,
        };
        let names = entries.flatten().map(|entry| entry.file_name());
        let ids = names.filter_map(|name| name.to_str()?.parse().ok());
        let mut listed: Vec<ProfileInfo> = ids.filter_map(|id| self.look(id)).collect();
        listed.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(listed)
    }

    /// Removes one with all that pages stored in it.
    ///
    /// # Errors
    /// When there is none, or a browser has it.
    pub fn delete(&self, id: &ProfileId) -> Result<(), ProfileError> {
        let _lock = self.lock_soon(id, FlockOperation::NonBlockingLockExclusive)?;
        let folder = self.folder.join(&id.0);
        fs::remove_dir_all(&folder).map_err(at("remove", &folder))
    }

    /// Takes one for a browser. `holder` is what others are told of whose it is.
    ///
    /// # Errors
    /// When there is none, or another browser has it.
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
        let mut lock = self.lock_soon(id, operation)?;
        let folder = self.folder.join(&id.0);
        if usage == ProfileUse::Persist {
            // Also says when the profile was used.
            let said = lock.set_len(0).and_then(|()| {
                lock.write_all(format!("{}\n{holder}", std::process::id()).as_bytes())
            });
            said.map_err(at("write", &folder.join(LOCK)))?;
        }
        Ok(ProfileLock {
            folder,
            usage,
            lock,
        })
    }

    fn look(&self, id: ProfileId) -> Option<ProfileInfo> {
        let folder = self.folder.join(&id.0);
        let found = fs::metadata(folder.join(LOCK)).ok()?;
        let holder = match self.lock(&id, FlockOperation::NonBlockingLockShared) {
            Err(ProfileError::Held { holder, .. }) => Some(holder),
            _ => None,
        };
        Some(ProfileInfo {
            bytes: fs_tree::bytes(&folder.join(DATA)),
            used: found.modified().ok().filter(|_| found.len() > 0),
            holder,
            id,
        })
    }

    /// Locks the profile, though it may have been given up only now.
    #[expect(
        clippy::disallowed_methods,
        reason = "nobody says when a lock is free, and the wait is bounded"
    )]
    fn lock_soon(&self, id: &ProfileId, operation: FlockOperation) -> Result<File, ProfileError> {
        let began = Instant::now();
        loop {
            match self.lock(id, operation) {
                Err(ProfileError::Held { .. }) if began.elapsed() < BEING_STARTED => {
                    std::thread::sleep(BETWEEN);
                }
                locked => return locked,
            }
        }
    }

    /// Locks the profile, while it is the one of this name.
    fn lock(&self, id: &ProfileId, operation: FlockOperation) -> Result<File, ProfileError> {
        let path = self.folder.join(&id.0).join(LOCK);
        loop {
            let mut file = match private().open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(ProfileError::Missing(id.clone()));
                }
                file => file.map_err(at("open", &path))?,
            };
            if flock(&file, operation).is_err() {
                return Err(ProfileError::Held {
                    id: id.clone(),
                    holder: holder(&mut file),
                });
            }
            // It may have been removed, and made again, between the two steps.
            let is_current = file.metadata().and_then(|ours| {
                fs::metadata(&path).map(|now| (now.dev(), now.ino()) == (ours.dev(), ours.ino()))
            });
            if is_current.unwrap_or(false) {
                return Ok(file);
            }
        }
    }
}

impl ProfileLock {
    /// The lock, for who must hold it as long as the browser may be writing.
    ///
    /// # Errors
    /// When there are no more descriptors.
    pub fn lock(&self) -> io::Result<OwnedFd> {
        self.lock.try_clone().map(OwnedFd::from)
    }

    /// What the browser does with it.
    pub const fn usage(&self) -> ProfileUse {
        self.usage
    }

    /// The folder of this profile, which [`close_folder`] closes.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The browser's data.
    pub fn data(&self) -> PathBuf {
        self.folder.join(DATA)
    }

    /// Whose the data is: with the same user again, nothing has to be given away.
    pub fn owner(&self) -> Option<Identity> {
        Identity::unprivileged_with(fs::symlink_metadata(self.data()).ok()?.uid())
    }

    /// Gives the data to the browser's user, when that is not us.
    ///
    /// # Errors
    /// When that user cannot come to it, or we may not give it away.
    pub fn give_to(&self, identity: Option<Identity>) -> Result<(), ProfileError> {
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
        let failed = || at("give to the browser's user", &data);
        let before = fs::symlink_metadata(&data).map_err(failed())?.uid();
        if before != identity.uid {
            fs_tree::give(&data, before, identity).map_err(failed())?;
            lchown(&data, Some(identity.uid), Some(identity.gid)).map_err(failed())?;
        }
        fs::set_permissions(&self.folder, Permissions::from_mode(0o711)).map_err(failed())
    }
}

impl Drop for ProfileLock {
    fn drop(&mut self) {
        if self.usage == ProfileUse::Persist {
            close_folder(&self.folder);
        }
    }
}

/// Closes a profile's folder to all users but us: a session that is over gives its user back, and
/// another one must not find the profile open.
pub fn close_folder(folder: &Path) {
    let _it_may_be_gone = fs::set_permissions(folder, Permissions::from_mode(0o700));
}

/// The first folder above this one that other users cannot pass through.
fn closed_above(folder: &Path) -> Option<PathBuf> {
    let is_closed =
        |above: &&Path| fs::metadata(above).is_ok_and(|found| found.mode() & 0o001 == 0);
    let mut above = folder.ancestors().skip(1);
    above.find(is_closed).map(Path::to_owned)
}

/// Who holds a lock, by the words in it.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let _none_when_unreadable = file.read_to_string(&mut text);
    let (pid, words) = text.split_once('\n').unwrap_or_default();
    if !pid.is_empty() && Path::new("/proc").join(pid).exists() {
        format!("{words} (process {pid})")
    } else {
        "another call of telechir, which starts or ends with it,".to_owned()
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

fn at(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ProfileError {
    let path = path.to_owned();
    move |source| ProfileError::System { what, path, source }
}

#[cfg(test)]
mod tests;
