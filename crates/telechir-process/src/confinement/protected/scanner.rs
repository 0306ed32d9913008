//! Finds protected paths and repositories in a workspace, and later only in folders that changed.
//!
//! The kernel tells which folders changed. Where it cannot, a folder's change time tells whether a
//! name in it was added or replaced; no program can set that.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, open, statat};
use rustix::io::Errno;
use telechir_protocol::{GIT_DIR, fold, is_protected_entry};

use super::git_names::is_writable;
use super::watches::{Watch, Watches};
use crate::tree;

/// Maximum number of folders to search; a check after a command costs about 2 µs for each.
const MAX_FOLDERS: usize = 50_000;
/// A folder that changed this recently may change again without another change time.
const CLOCK_STEP: Duration = Duration::from_millis(50);

/// Names in a folder with their types.
pub(super) type Names = Vec<(PathBuf, FileType)>;

/// When and what a file or folder was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
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
        let stat = match statat(root, or_dot(path), AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NAMETOOLONG) => {
                let (parent, name) = tree::open_parent(root, path).ok()?;
                statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
            }
            stat => stat,
        };
        stat.ok().map(|stat| Self::new(&stat))
    }

    /// The stamp of a path, if it has not changed so recently that the next change could have the
    /// same.
    pub(super) fn settled(root: &OwnedFd, path: &Path) -> Option<Self> {
        Self::of(root, path).filter(|stamp| !stamp.is_recent(SystemTime::now()))
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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Finding {
    /// A path of the list, or one that replaces it on some file system.
    Protected(PathBuf),
    /// A folder that Git accepts as a repository.
    Repository(PathBuf),
    /// A link where Git writes its own files, so that Git would write to its target.
    LinkInRepository(PathBuf),
    /// Any other link.
    Link(PathBuf),
}

/// Who made what a scan finds for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MadeBy {
    /// The user, before the session or while nothing ran in the sandbox.
    User,
    /// Perhaps a program in the sandbox.
    Session,
}

impl Finding {
    /// The path, relative to the workspace.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Protected(path)
            | Self::Repository(path)
            | Self::LinkInRepository(path)
            | Self::Link(path) => path,
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

#[derive(Clone, Debug)]
struct Folder {
    kind: FolderKind,
    /// Absent if the folder must be read again in any case.
    stamp: Option<Stamp>,
    /// By which the kernel reports its changes, if it does.
    watch: Option<Watch>,
}

impl Folder {
    const fn unread(kind: FolderKind) -> Self {
        Self {
            kind,
            stamp: None,
            watch: None,
        }
    }
}

/// The folders of a workspace. All paths are relative to it.
#[derive(Debug)]
pub(super) struct Scanner {
    root: OwnedFd,
    folders: HashMap<PathBuf, Folder>,
    watches: Option<Watches>,
    /// Paths at which the user had a folder or a link at some time.
    of_user: HashSet<PathBuf>,
    /// What was not searched at the first scan: its contents may be older than the session.
    unknown: HashSet<PathBuf>,
    /// A folder that the last scan did not search, and why.
    pub(super) unsearched: Option<(PathBuf, Unsearched)>,
    was_scanned: bool,
    /// Whether the present scan is the first.
    is_first: bool,
    pub(super) max_folders: usize,
}

/// Why a folder is not searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unsearched {
    /// There are too many; others are not searched, either.
    TooMany,
    /// It cannot be read.
    Denied(Errno),
}

impl fmt::Display for Unsearched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => write!(f, "the workspace has more than {MAX_FOLDERS} folders"),
            Self::Denied(errno) => write!(f, "{}", std::io::Error::from(*errno)),
        }
    }
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
            of_user: HashSet::from([PathBuf::new()]),
            unknown: HashSet::new(),
            unsearched: None,
            was_scanned: false,
            is_first: true,
            max_folders: MAX_FOLDERS,
        })
    }

    /// The folders that were found, relative to the workspace.
    pub(super) fn folders(&self) -> impl Iterator<Item = &PathBuf> {
        self.folders.keys()
    }

    pub(super) fn root(&self) -> &OwnedFd {
        &self.root
    }

    /// Reads the folders that changed since the last call, and new ones; the first time all.
    pub(super) fn scan(&mut self, made_by: MadeBy) -> Vec<Finding> {
        let now = SystemTime::now();
        self.is_first = !self.was_scanned;
        self.was_scanned = true;
        self.unsearched = None;
        let reported = self.watches.as_mut().and_then(Watches::changed);
        let changed = self.folders.iter().filter(|(path, folder)| {
            folder.stamp.is_none()
                || match &reported {
                    Some(reported) if self.is_watched(path, folder) => reported.contains(*path),
                    Some(_) | None => folder.stamp != Stamp::of(&self.root, path),
                }
        });
        let mut open: Vec<PathBuf> = changed.map(|(path, _)| path.clone()).collect();
        let mut findings = Vec::new();
        while let Some(path) = open.pop() {
            let Some(kind) = self.folders.get(&path).map(|folder| folder.kind) else {
                continue;
            };
            match self.read(&path) {
                Ok((stamp, watch, names)) => {
                    let mut stamp = (!stamp.is_recent(now)).then_some(stamp);
                    for (path, kind) in judge(&path, kind, &names, &mut findings) {
                        if !self.add(path, kind, made_by, &mut open) {
                            // Read again until there is room for its subfolders.
                            stamp = None;
                        }
                    }
                    self.folders.insert(path, Folder { kind, stamp, watch });
                }
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if path != Path::new("") => {
                    self.folders.remove(&path);
                }
                // It stays without a stamp, so that it is tried again.
                Err(errno) => {
                    if self.is_first {
                        self.unknown.insert(path.clone());
                    }
                    if !self.unknown.contains(&path) {
                        let denied = (path.clone(), Unsearched::Denied(errno));
                        self.unsearched.get_or_insert(denied);
                    }
                    self.folders.insert(path, Folder::unread(kind));
                }
            }
        }
        findings
    }

    /// Treats a path as one of the user: what is created there is obeyed.
    pub(super) fn add_of_user(&mut self, path: PathBuf) {
        self.of_user.insert(path);
    }

    /// Whether the user had a folder or a link at a path before the session or during it.
    pub(super) fn was_of_user(&self, path: &Path) -> bool {
        self.of_user.contains(path)
    }

    /// Whether something may have been in the workspace before the session, in a folder that was
    /// not searched then.
    pub(super) fn may_be_older(&self, path: &Path) -> bool {
        let mut above = path.ancestors().skip(1);
        above.any(|above| self.unknown.contains(above))
    }

    /// Adds a folder to those to read; `false` if there is no room for it.
    fn add(
        &mut self,
        path: PathBuf,
        kind: FolderKind,
        made_by: MadeBy,
        open: &mut Vec<PathBuf>,
    ) -> bool {
        let is_known = self.folders.get(&path).is_some_and(|old| {
            old.kind == kind
                && (old.watch.is_none() || self.is_watched(&path, old))
                && old.stamp.is_some()
                && old.stamp == Stamp::of(&self.root, &path)
        });
        if is_known {
            return true;
        }
        let is_new = !self.folders.contains_key(&path);
        if is_new && self.folders.len() >= self.max_folders {
            if self.is_first && self.unknown.len() < self.max_folders {
                self.unknown.insert(path.clone());
            } else if self.is_first {
                self.unknown.extend(path.parent().map(Path::to_owned));
            }
            self.unsearched = Some((path, Unsearched::TooMany));
            return false;
        }
        if is_new && made_by == MadeBy::User {
            self.of_user.insert(path.clone());
        }
        self.folders.insert(path.clone(), Folder::unread(kind));
        open.push(path);
        true
    }

    /// Whether the kernel reports the changes of a folder with this path.
    fn is_watched(&self, path: &Path, folder: &Folder) -> bool {
        let (watches, watch) = (self.watches.as_ref(), folder.watch);
        let reports = watches.zip(watch);
        reports.is_some_and(|(watches, watch)| watches.reports(watch, path))
    }

    /// Reads a folder, reached over no link: its stamp, its watch, its names and types.
    fn read(&mut self, path: &Path) -> Result<(Stamp, Option<Watch>, Names), Errno> {
        let folder = match open_folder(&self.root, path) {
            // A command can take the permission to read from a folder that others can still use.
            Err(Errno::ACCESS) if !self.unknown.contains(path) && !self.is_first => {
                tree::allow_owner(tree::open_beneath(&self.root, path, OFlags::PATH)?)?;
                open_folder(&self.root, path)?
            }
            opened => opened?,
        };
        // From before the names are read, so that no change is missed.
        let watches = self.watches.as_mut();
        let watch = watches.and_then(|watches| watches.watch(&folder, path));
        let stamp = Stamp::new(&fstat(&folder)?);
        Ok((stamp, watch, tree::entries(&folder)?))
    }
}

/// Opens a folder of the workspace to read its names, without following any link.
pub(super) fn open_folder(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    tree::open_beneath(root, path, OFlags::RDONLY | OFlags::DIRECTORY)
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
                findings.push(match is_git_s {
                    true => Finding::LinkInRepository(path),
                    false => Finding::Link(path),
                });
            } else if is_folder && holds_data {
                if !holds_lfs_objects(folder) {
                    inner.push((path, FolderKind::RepositoryData));
                }
            } else if is_folder && (!is_in_git_dir || holds_repositories(name)) {
                inner.push((path, FolderKind::Plain));
            }
        } else if is_folder {
            inner.push((path, FolderKind::Plain));
        } else if *file_type == FileType::Symlink {
            findings.push(Finding::Link(path));
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
    const DATA: [&str; 9] = [
        "lfs",
        "logs",
        "objects",
        "rebase-apply",
        "rebase-merge",
        "refs",
        "reftable",
        "rr-cache",
        "sequencer",
    ];
    DATA.iter().any(|data| name == Path::new(data))
}

/// Whether the entries of a folder hold files that Git LFS names by their digest: it renames them into
/// place, so no link among them counts, and there may be tens of thousands of such folders.
fn holds_lfs_objects(folder: &Path) -> bool {
    folder
        .parent()
        .is_some_and(|objects| objects.ends_with("lfs/objects"))
}

/// Whether a folder of a repository is searched for others.
fn holds_repositories(name: &Path) -> bool {
    name == Path::new("modules") || name == Path::new("worktrees")
}

#[cfg(test)]
pub(super) mod tests;
