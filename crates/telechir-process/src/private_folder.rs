//! Folders and files that no other local user can read: the only place where sessions make them.
//!
//! Modes never depend on the process's umask.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Gid, Mode, OFlags, fchmod, fchown, open, openat};

use crate::{Identity, tree};

const MAX_NAMES: u32 = 100;
/// Maximum length of a name that a user gives to something with files.
const MAX_NAME_BYTES: usize = 32;
const READ_FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Whether a user can give this name to something with files: 1 to 32 letters, digits, `_` and `-`.
pub fn is_plain_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.chars().all(is_plain)
}

/// A folder of mode 0700 that is removed on drop, with everything in it.
#[derive(Debug)]
pub struct PrivateFolder {
    path: PathBuf,
    parent: OwnedFd,
    folder: OwnedFd,
    is_retained: bool,
}

impl PrivateFolder {
    /// Creates a folder in `parent` whose name begins with `prefix`, followed by six letters.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(parent: &Path, prefix: &str) -> io::Result<Self> {
        Self::create_with::<6>(parent, prefix)
    }

    /// Like [`Self::create`], with one letter: paths of sockets are limited to 108 bytes.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create_short(parent: &Path, prefix: &str) -> io::Result<Self> {
        Self::create_with::<1>(parent, prefix)
    }

    fn create_with<const LETTERS: usize>(parent: &Path, prefix: &str) -> io::Result<Self> {
        let parent = parent.canonicalize()?;
        let parent_fd = tree::open_folder(&parent)?;
        for _ in 0..MAX_NAMES {
            let mut name = OsString::from(prefix);
            name.push(random_letters::<LETTERS>()?);
            let path = parent.join(&name);
            match make_private_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => {
                    made?;
                    return Ok(Self {
                        folder: tree::open_folder(&path)?,
                        path,
                        parent: parent_fd,
                        is_retained: false,
                    });
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// The folder's path, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A descriptor of the folder, without access to its entries, for functions of [`tree`].
    pub fn folder(&self) -> &OwnedFd {
        &self.folder
    }

    /// Lets another user enter the folder by that user's own group, and, with `can_list`, list it.
    /// Nobody else can. Does nothing for our own user, whose group may have other members.
    ///
    /// # Errors
    /// If we are not root.
    pub fn let_in(&self, reader: Identity, can_list: bool) -> io::Result<()> {
        if reader.uid == Identity::current().uid {
            return Ok(());
        }
        let folder = openat(&self.folder, c".", READ_FOLDER, Mode::empty())?;
        let mode = if can_list { 0o750 } else { 0o710 };
        fchown(&folder, None, Some(Gid::from_raw(reader.gid)))?;
        Ok(fchmod(&folder, Mode::from_raw_mode(mode))?)
    }

    /// Removes the folder now and reports failures.
    ///
    /// # Errors
    /// If something in it could not be removed.
    pub fn close(mut self) -> io::Result<()> {
        self.is_retained = true;
        self.remove()
    }

    /// Keeps the folder; returns its path.
    pub fn keep(mut self) -> PathBuf {
        self.is_retained = true;
        self.path.clone()
    }

    fn remove(&self) -> io::Result<()> {
        let name = self.path.file_name().unwrap_or_default();
        tree::remove(&self.parent, name)
    }
}

impl AsFd for PrivateFolder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        if !self.is_retained {
            let _the_guardian_removes_the_rest = self.remove();
        }
    }
}

/// Creates a folder of mode 0700.
///
/// # Errors
/// If it exists or cannot be created.
pub fn make_private_dir(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(path)?;
    // The umask may have cleared bits of the owner.
    let folder = open(path, READ_FOLDER, Mode::empty())?;
    Ok(fchmod(&folder, Mode::RWXU)?)
}

/// Creates a file of mode 0600 for reading and writing.
///
/// # Errors
/// If it exists, as a link, too, or cannot be created.
pub fn make_private_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    let file = options
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Lets another user read a file of ours by that user's own group; nobody else can. Does nothing
/// for our own user, whose group may have other members.
///
/// # Errors
/// If we are not root.
pub fn let_read(file: &File, reader: Identity) -> io::Result<()> {
    if reader.uid == Identity::current().uid {
        return Ok(());
    }
    fchown(file, None, Some(Gid::from_raw(reader.gid)))?;
    file.set_permissions(Permissions::from_mode(0o640))
}

/// Whether this is a folder, not a link, that only `uid` can enter or change.
pub fn is_private_dir(path: &Path, uid: u32) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|found| found.is_dir() && found.uid() == uid && found.mode() & 0o077 == 0)
}

fn random_letters<const LETTERS: usize>() -> io::Result<OsString> {
    let mut bytes = [0; LETTERS];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let letters = bytes.map(|byte| b'a' + byte % 26);
    Ok(OsString::from_vec(letters.to_vec()))
}
