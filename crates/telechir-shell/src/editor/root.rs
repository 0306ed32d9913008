//! Access to the files in one folder and nothing else: the kernel confines every path to it.

use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fchmod, fstat, fsync, mkdirat, open,
    openat, openat2, readlinkat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use telechir_process::tree;

/// Maximum size of a file, in bytes.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Maximum retries of a path while other processes move folders.
const MAX_RETRIES: usize = 16;
/// Maximum number of entries in a directory listing.
const MAX_ENTRIES: usize = 1_000;

const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);
/// For resolved paths: a component that has become a link since is refused.
const NO_LINKS: ResolveFlags = BENEATH.union(ResolveFlags::NO_SYMLINKS);

/// The reason why an operation failed, as a message for the model.
pub(super) type EditRefusal = String;

/// An open workspace or memory folder.
#[derive(Debug)]
pub(super) struct WorkspaceRoot {
    folder: OwnedFd,
    /// The folder's absolute path, without links.
    path: PathBuf,
}

impl WorkspaceRoot {
    /// Opens a folder and resolves its path.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(path, flags, Mode::empty())?;
        let path = path_of(&folder)?;
        Ok(Self { folder, path })
    }

    /// The folder's absolute path, without links.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Normalizes a relative path lexically, without `.` and `..`.
    pub(super) fn relative(&self, path_given: &Path) -> Result<PathBuf, EditRefusal> {
        let mut relative = PathBuf::new();
        for part in path_given.components() {
            match part {
                Component::Normal(name) => relative.push(name),
                Component::CurDir => {}
                Component::ParentDir if relative.pop() => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(format!(
                        "{} leads outside the workspace",
                        path_given.display()
                    ));
                }
            }
        }
        Ok(relative)
    }

    /// Resolves all links of a path; none may lead outside.
    pub(super) fn resolve(&self, relative: &Path) -> Result<PathBuf, EditRefusal> {
        let mut rest = PathBuf::new();
        let mut head = relative.to_owned();
        loop {
            match self.real(&head) {
                Ok(real) => return Ok(join(&real, &rest)),
                Err(Errno::NOENT) if head.as_os_str().is_empty() => {
                    return Err("the workspace itself no longer exists".to_owned());
                }
                Err(Errno::NOENT) if self.is_link(&head) => {
                    return Err(format!("{} is a dangling link", head.display()));
                }
                Err(Errno::NOENT) => {
                    let name = head.file_name().map(OsStr::to_owned).unwrap_or_default();
                    rest = join(Path::new(&name), &rest);
                    head.pop();
                }
                Err(error) => return Err(refused(relative, error)),
            }
        }
    }

    fn real(&self, head: &Path) -> Result<PathBuf, Errno> {
        if head.as_os_str().is_empty() {
            return Ok(PathBuf::new());
        }
        let file = self.open_beneath(head, OFlags::PATH, BENEATH)?;
        let path = path_of(&file)?;
        let relative = path.strip_prefix(&self.path).map_err(|_| Errno::XDEV)?;
        Ok(relative.to_owned())
    }

    fn is_link(&self, head: &Path) -> bool {
        let flags = OFlags::PATH | OFlags::NOFOLLOW;
        let names = self.open_beneath(head, flags, BENEATH).and_then(fstat);
        names.is_ok_and(|stat| kind(&stat) == FileType::Symlink)
    }

    fn open_beneath(
        &self,
        path: &Path,
        flags: OFlags,
        resolve: ResolveFlags,
    ) -> Result<OwnedFd, Errno> {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        let mut tries = 0;
        loop {
            let flags = flags | OFlags::CLOEXEC;
            match openat2(&self.folder, path, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN) if tries < MAX_RETRIES => tries += 1,
                walked => return walked,
            }
        }
    }

    /// The type of a file; `None` if it does not exist.
    pub(super) fn kind(&self, located: &Path) -> Result<Option<FileType>, EditRefusal> {
        match self
            .open_beneath(located, OFlags::PATH, NO_LINKS)
            .and_then(fstat)
        {
            Ok(stat) => Ok(Some(kind(&stat))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(refused(located, error)),
        }
    }

    /// Reads a text file.
    pub(super) fn read(&self, located: &Path) -> Result<String, EditRefusal> {
        let name = located.display();
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = self.open_beneath(located, flags, NO_LINKS);
        let file = file.map_err(|error| refused(located, error))?;
        let stat = fstat(&file).map_err(|error| refused(located, error))?;
        match kind(&stat) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(format!("{name} is a directory")),
            FileType::Symlink
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => {
                return Err(format!(
                    "{name} is not a regular file, but a device, pipe or socket"
                ));
            }
        }
        let mut bytes = Vec::new();
        let mut limited = std::fs::File::from(file).take(MAX_FILE_BYTES + 1);
        limited
            .read_to_end(&mut bytes)
            .map_err(|error| format!("cannot read {name}: {error}"))?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(format!(
                "{name} is larger than {MAX_FILE_BYTES} bytes; use shell commands for it"
            ));
        }
        String::from_utf8(bytes).map_err(|_| {
            format!("{name} is not UTF-8 text; use shell commands to view or change it")
        })
    }

    /// Writes a file atomically; creates missing parent folders.
    pub(super) fn write(&self, located: &Path, text: &str) -> Result<(), EditRefusal> {
        let failed = |error: io::Error| format!("cannot write {}: {error}", located.display());
        let (folder, name) = self.parent(located, true)?;
        let mode = match statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if kind(&stat) == FileType::RegularFile => {
                Mode::from_raw_mode(stat.st_mode) & Mode::from_raw_mode(0o777)
            }
            Ok(_) => return Err(format!("{} is not a regular file", located.display())),
            Err(Errno::NOENT) => Mode::from_raw_mode(0o644),
            Err(error) => return Err(refused(located, error)),
        };
        let temp_name = temp_name(&name);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let created = openat(
            &folder,
            &temp_name,
            flags | OFlags::CLOEXEC,
            Mode::RUSR | Mode::WUSR,
        );
        let file = created.map_err(|error| failed(error.into()))?;
        let write = || -> io::Result<()> {
            let mut file = std::fs::File::from(file);
            file.write_all(text.as_bytes())?;
            fchmod(&file, mode)?;
            fsync(&file)?;
            renameat(&folder, &temp_name, &folder, &name)?;
            Ok(())
        };
        write().map_err(|error| {
            // Best effort: the file cannot be removed otherwise.
            unlinkat(&folder, &temp_name, AtFlags::empty()).ok();
            failed(error)
        })
    }

    /// Removes a file, or a folder with its contents.
    pub(super) fn remove(&self, located: &Path) -> Result<(), EditRefusal> {
        let (folder, name) = self.parent(located, false)?;
        statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| refused(located, error))?;
        let removed = tree::remove(&folder, name.as_os_str());
        removed.map_err(|error| {
            let errno = Errno::from_io_error(&error);
            errno.map_or_else(|| error.to_string(), |errno| refused(located, errno))
        })
    }

    /// Renames a file or folder; the new name must not exist.
    pub(super) fn rename(&self, located: &Path, to: &Path) -> Result<(), EditRefusal> {
        if self.kind(to)?.is_some() {
            return Err(format!("{} already exists", to.display()));
        }
        let (from_folder, from) = self.parent(located, false)?;
        let (to_folder, name) = self.parent(to, true)?;
        renameat(&from_folder, &from, &to_folder, &name).map_err(|error| refused(located, error))
    }

    /// Lists a folder two levels deep, without hidden files.
    pub(super) fn list(&self, located: &Path) -> Result<Vec<String>, EditRefusal> {
        let mut names = Vec::new();
        self.list_into(located, Path::new(""), 2, &mut names)?;
        names.sort();
        Ok(names)
    }

    fn list_into(
        &self,
        folder: &Path,
        prefix: &Path,
        depth: usize,
        names: &mut Vec<String>,
    ) -> Result<(), EditRefusal> {
        let file = self.open_beneath(folder, OFlags::RDONLY | OFlags::DIRECTORY, NO_LINKS);
        let file = file.map_err(|error| refused(folder, error))?;
        let entries = Dir::read_from(&file).map_err(|error| refused(folder, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| refused(folder, error))?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name.as_bytes().starts_with(b".") {
                continue;
            }
            if names.len() >= MAX_ENTRIES {
                return Ok(());
            }
            let path = prefix.join(name);
            let is_folder = statat(&file, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| kind(&stat) == FileType::Directory);
            names.push(format!(
                "{}{}",
                path.display(),
                if is_folder { "/" } else { "" }
            ));
            if is_folder && depth > 1 {
                // A folder that cannot be read is only listed by name.
                self.list_into(&folder.join(name), &path, depth - 1, names)
                    .ok();
            }
        }
        Ok(())
    }

    /// Opens a file's parent folder; returns it with the file's name.
    fn parent(&self, located: &Path, make: bool) -> Result<(OwnedFd, PathBuf), EditRefusal> {
        let Some(name) = located.file_name() else {
            return Err("the workspace itself cannot be changed".to_owned());
        };
        let folder = located.parent().unwrap_or_else(|| Path::new(""));
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let opened = match self.open_beneath(folder, flags, NO_LINKS) {
            Err(Errno::NOENT) if make => self.make(folder),
            opened => opened,
        };
        let opened = opened.map_err(|error| refused(folder, error))?;
        Ok((opened, PathBuf::from(name)))
    }

    fn make(&self, folder: &Path) -> Result<OwnedFd, Errno> {
        let mut path = PathBuf::new();
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let mut opened = self.open_beneath(&path, flags, NO_LINKS)?;
        for name in folder.components() {
            let name = name.as_os_str();
            match mkdirat(&opened, name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
            path.push(name);
            opened = self.open_beneath(&path, flags, NO_LINKS)?;
        }
        Ok(opened)
    }
}

/// The name of the temporary file beside a file.
fn temp_name(name: &Path) -> PathBuf {
    let unique = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |time| time.as_nanos());
    let mut temp_name = std::ffi::OsString::from(".");
    temp_name.push(OsStr::from_bytes(
        &name.as_os_str().as_bytes()[..name.as_os_str().len().min(100)],
    ));
    temp_name.push(format!(".{unique:x}"));
    PathBuf::from(temp_name)
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn join(head: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() {
        head.to_owned()
    } else {
        head.join(rest)
    }
}

/// The path of an open file.
fn path_of(file: &OwnedFd) -> Result<PathBuf, Errno> {
    use std::os::fd::AsRawFd as _;
    let link = format!("/proc/thread-self/fd/{}", file.as_fd().as_raw_fd());
    let path = readlinkat(rustix::fs::CWD, link, Vec::new())?;
    Ok(PathBuf::from(OsStr::from_bytes(path.as_bytes())))
}

/// A system error as a message for the model.
fn refused(path: &Path, error: Errno) -> EditRefusal {
    let path = path.display();
    match error {
        Errno::NOENT => format!("{path} does not exist"),
        Errno::XDEV => format!("{path} leads outside the workspace"),
        Errno::LOOP => {
            format!("{path} has become a link since it was resolved, or is part of a link cycle")
        }
        Errno::NOTDIR => format!("{path} uses a file as a directory"),
        Errno::ACCESS | Errno::PERM => {
            format!("permission denied for {path} as this session's user")
        }
        Errno::NAMETOOLONG => format!("the name {path} is too long"),
        Errno::NOSYS => {
            "this kernel cannot confine paths to a folder (requires openat2, Linux 5.6 or newer)"
                .to_owned()
        }
        error => format!("{path}: {error}"),
    }
}
