//! Finds protected paths and repositories in a workspace, and later only in folders that changed.
//!
//! The kernel tells which folders changed. Where it cannot, a folder's change time tells whether a
//! name in it was added or replaced; no program can set that.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, open, openat2, statat,
};
use rustix::io::Errno;
use telechir_protocol::{GIT_DIR, fold, is_protected_entry};

use super::git_names::is_writable;
use super::watches::Watches;

/// Maximum number of folders to search; a check after a command costs about 2 µs for each.
const MAX_FOLDERS: usize = 50_000;
/// A folder that changed this recently may change again without another change time.
const CLOCK_STEP: Duration = Duration::from_millis(50);

/// Names in a folder with their types.
pub(super) type Names = Vec<(PathBuf, FileType)>;

/// When and what a file or folder was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) device: u64,
    pub(super) inode: u64,
    changed: (i64, u64),
}

impl Stamp {
    fn new(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            changed: (stat.st_ctime, stat.st_ctime_nsec),
        }
    }

    /// The stamp of a path, of a link itself.
    pub(super) fn of(root: &OwnedFd, path: &Path) -> Option<Self> {
        let stat = statat(root, or_dot(path), AtFlags::SYMLINK_NOFOLLOW);
        stat.ok().map(|stat| Self::new(&stat))
    }

    /// The stamp of a path, if it has not changed so recently that the next change could have the
    /// same.
    pub(super) fn settled(root: &OwnedFd, path: &Path) -> Option<Self> {
        Self::of(root, path).filter(|stamp| !stamp.is_recent(SystemTime::now()))
    }

    /// Whether it is the same file, possibly with other content.
    pub(super) fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// Whether the change is too recent to recognize the next one.
    fn is_recent(&self, now: SystemTime) -> bool {
        let changed = Duration::new(
            u64::try_from(self.changed.0).unwrap_or_default(),
            u32::try_from(self.changed.1).unwrap_or_default(),
        );
        UNIX_EPOCH + changed + CLOCK_STEP >= now
    }
}

/// What a name in the workspace is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// A path of the list, or one that replaces it on some file system.
    Protected(PathBuf),
    /// A folder that Git accepts as a repository.
    Repository(PathBuf),
    /// A link where Git writes its own files, so that Git would write to its target.
    LinkInRepository(PathBuf),
}

impl Finding {
    /// The path, relative to the workspace.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Protected(path) | Self::Repository(path) | Self::LinkInRepository(path) => path,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FolderKind {
    Plain,
    Repository,
    /// Below a repository; Git writes here.
    RepositoryData,
}

#[derive(Debug)]
struct Folder {
    kind: FolderKind,
    /// Absent if the folder must be read again in any case.
    stamp: Option<Stamp>,
    /// Whether the kernel reports its changes.
    is_watched: bool,
}

impl Folder {
    const fn unread(kind: FolderKind) -> Self {
        Self {
            kind,
            stamp: None,
            is_watched: false,
        }
    }
}

/// The folders of a workspace. All paths are relative to it.
#[derive(Debug)]
pub(super) struct Scanner {
    root: OwnedFd,
    folders: HashMap<PathBuf, Folder>,
    watches: Option<Watches>,
    /// A folder that is not searched, because there are too many.
    pub(super) too_large: Option<PathBuf>,
}

impl Scanner {
    pub(super) fn new(folder: &Path) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = open(folder, flags, Mode::empty())?;
        let top = Folder::unread(FolderKind::Plain);
        Ok(Self {
            root,
            folders: HashMap::from([(PathBuf::new(), top)]),
            watches: Watches::new(),
            too_large: None,
        })
    }

    pub(super) fn root(&self) -> &OwnedFd {
        &self.root
    }

    /// Reads the folders that changed since the last call, and new ones; the first time all.
    pub(super) fn scan(&mut self) -> Vec<Finding> {
        let now = SystemTime::now();
        let reported = self.watches.as_mut().and_then(Watches::changed);
        let root = &self.root;
        let changed = self.folders.iter().filter(|(path, folder)| {
            folder.stamp.is_none()
                || match &reported {
                    Some(reported) if folder.is_watched => reported.contains(*path),
                    Some(_) | None => folder.stamp != Stamp::of(root, path),
                }
        });
        let mut open: Vec<PathBuf> = changed.map(|(path, _)| path.clone()).collect();
        let mut findings = Vec::new();
        while let Some(path) = open.pop() {
            let Some(kind) = self.folders.get(&path).map(|folder| folder.kind) else {
                continue;
            };
            match self.read(&path) {
                Ok((stamp, is_watched, names)) => {
                    let read = Folder {
                        kind,
                        stamp: (!stamp.is_recent(now)).then_some(stamp),
                        is_watched,
                    };
                    self.folders.insert(path.clone(), read);
                    let inner = judge(&path, kind, &names, &mut findings);
                    for (path, kind) in inner {
                        self.add(path, kind, &mut open);
                    }
                }
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if path != Path::new("") => {
                    self.folders.remove(&path);
                }
                // It stays without a stamp, so that it is tried again.
                Err(_) => {
                    self.folders.insert(path, Folder::unread(kind));
                }
            }
        }
        findings
    }

    fn add(&mut self, path: PathBuf, kind: FolderKind, open: &mut Vec<PathBuf>) {
        let is_known = self.folders.get(&path).is_some_and(|old| {
            old.kind == kind && old.stamp.is_some() && old.stamp == Stamp::of(&self.root, &path)
        });
        if is_known {
            return;
        }
        if self.folders.len() >= MAX_FOLDERS && !self.folders.contains_key(&path) {
            self.too_large.get_or_insert(path);
            return;
        }
        self.folders.insert(path.clone(), Folder::unread(kind));
        open.push(path);
    }

    /// Reads a folder, reached over no link: its stamp, whether it is watched, its names and types.
    fn read(&mut self, path: &Path) -> Result<(Stamp, bool, Names), Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open_beneath(&self.root, path, flags)?;
        // From before the names are read, so that no change is missed.
        let watches = self.watches.as_mut();
        let is_watched = watches.is_some_and(|watches| watches.watch(&folder, path));
        let stamp = Stamp::new(&fstat(&folder)?);
        Ok((stamp, is_watched, names(&folder)?))
    }
}

/// The names in an open folder with their types.
pub(super) fn names(folder: &OwnedFd) -> Result<Names, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
            kind = stat.map_or(kind, |stat| FileType::from_raw_mode(stat.st_mode));
        }
        names.push((PathBuf::from(OsStr::from_bytes(name.to_bytes())), kind));
    }
    Ok(names)
}

/// Opens a path of the workspace without following any link.
pub(super) fn open_beneath(root: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(root, or_dot(path), flags, Mode::empty(), resolve)
}

fn or_dot(path: &Path) -> &Path {
    if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    }
}

/// Adds what a folder's names mean to the findings; returns the folders to read.
fn judge(
    folder: &Path,
    kind: FolderKind,
    names: &[(PathBuf, FileType)],
    findings: &mut Vec<Finding>,
) -> Vec<(PathBuf, FolderKind)> {
    let has = |wanted: &str| {
        let fits = |(name, _): &&(PathBuf, FileType)| fold(&name.to_string_lossy()) == wanted;
        names.iter().find(fits).is_some()
    };
    let is_in_git_dir = kind == FolderKind::Repository || is_in_git_dir(folder);
    let is_repository = kind == FolderKind::Repository
        || (has("head") && (has("commondir") || (has("objects") && has("refs"))));
    if is_repository {
        findings.push(Finding::Repository(folder.to_owned()));
    }
    let mut inner = Vec::new();
    for (name, file_type) in names {
        let path = folder.join(name);
        let text = path.to_string_lossy();
        let is_folder = *file_type == FileType::Directory;
        let is_git_dir = fold(&name.to_string_lossy()) == GIT_DIR;
        if is_git_dir && is_folder {
            inner.push((path, FolderKind::Repository));
        } else if !(kind == FolderKind::RepositoryData && is_in_git_dir)
            && is_protected_entry(&text)
        {
            findings.push(Finding::Protected(path));
        } else if is_repository || kind == FolderKind::RepositoryData {
            let holds_data = kind == FolderKind::RepositoryData || holds_data(name);
            // A folder that only looks like a repository may have links of its own.
            let is_git_s = is_in_git_dir || holds_data || is_writable(&name.to_string_lossy());
            if *file_type == FileType::Symlink {
                if is_git_s {
                    findings.push(Finding::LinkInRepository(path));
                }
            } else if is_folder && holds_data {
                inner.push((path, FolderKind::RepositoryData));
            } else if is_folder && (!is_in_git_dir || holds_repositories(name)) {
                inner.push((path, FolderKind::Plain));
            }
        } else if is_folder {
            inner.push((path, FolderKind::Plain));
        }
    }
    inner
}

/// Whether a path is in a folder for Git alone. A bare repository is not: any folder with the right
/// three names is one, and may hold files of a project, too.
pub(super) fn is_in_git_dir(path: &Path) -> bool {
    let mut parts = path.components();
    parts.any(|part| fold(&part.as_os_str().to_string_lossy()) == GIT_DIR)
}

/// Whether Git writes files at names in this folder that it does not create anew.
fn holds_data(name: &Path) -> bool {
    ["logs", "refs", "objects"]
        .iter()
        .any(|data| name == Path::new(data))
}

/// Whether a folder of a repository is searched for others.
fn holds_repositories(name: &Path) -> bool {
    name == Path::new("modules") || name == Path::new("worktrees")
}
