//! A folder whose files can be reached, and nothing else: the kernel keeps every path below it.

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

/// The largest file that is read: more than a model can.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// How often a path is walked again when others move folders about meanwhile.
const MAX_RETRIES: usize = 16;
/// Entries of a folder's view.
const MAX_ENTRIES: usize = 1_000;

const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);
/// For paths that were located: whatever became a link since then is refused.
const NO_LINKS: ResolveFlags = BENEATH.union(ResolveFlags::NO_SYMLINKS);

/// Why something with a file did not work, in words for a model.
pub(super) type EditRefusal = String;

/// The folder.
#[derive(Debug)]
pub(super) struct WorkspaceRoot {
    folder: OwnedFd,
    /// Its own path, without links.
    path: PathBuf,
}

impl WorkspaceRoot {
    /// Opens a folder.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(path, flags, Mode::empty())?;
        let path = path_of(&folder)?;
        Ok(Self { folder, path })
    }

    /// Its own path, without links.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A path as it was said, seen from here, `.` and `..` taken away by their letters.
    pub(super) fn relative(&self, path_given: &Path) -> Result<PathBuf, EditRefusal> {
        let mut relative = PathBuf::new();
        for part in path_given.components() {
            match part {
                Component::Normal(name) => relative.push(name),
                Component::CurDir => {}
                Component::ParentDir if relative.pop() => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(format!(
                        "{} leads out of the workspace",
                        path_given.display()
                    ));
                }
            }
        }
        Ok(relative)
    }

    /// The path of the file itself: every link on the way followed, and none may lead out.
    pub(super) fn resolve(&self, relative: &Path) -> Result<PathBuf, EditRefusal> {
        let mut rest = PathBuf::new();
        let mut head = relative.to_owned();
        loop {
            match self.real(&head) {
                Ok(real) => return Ok(join(&real, &rest)),
                Err(Errno::NOENT) if head.as_os_str().is_empty() => {
                    return Err("the workspace itself is gone".to_owned());
                }
                Err(Errno::NOENT) if self.is_link(&head) => {
                    return Err(format!("{} is a link to nothing", head.display()));
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

    /// What a path is; none when nothing is there.
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

    /// The text of a file.
    pub(super) fn read(&self, located: &Path) -> Result<String, EditRefusal> {
        let name = located.display();
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = self.open_beneath(located, flags, NO_LINKS);
        let file = file.map_err(|error| refused(located, error))?;
        let stat = fstat(&file).map_err(|error| refused(located, error))?;
        match kind(&stat) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(format!("{name} is a folder")),
            FileType::Symlink
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => {
                return Err(format!("{name} is no file, but a device, pipe or socket"));
            }
        }
        let mut bytes = Vec::new();
        let mut limited = std::fs::File::from(file).take(MAX_FILE_BYTES + 1);
        limited
            .read_to_end(&mut bytes)
            .map_err(|error| format!("{name} cannot be read: {error}"))?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(format!(
                "{name} is larger than {MAX_FILE_BYTES} bytes; use shell commands for it"
            ));
        }
        String::from_utf8(bytes).map_err(|_| {
            format!("{name} is no text in UTF-8; use shell commands to look at it or change it")
        })
    }

    /// Writes a whole file: afterwards it is as before or as asked, never half of it. Folders on
    /// the way are made.
    pub(super) fn write(&self, located: &Path, text: &str) -> Result<(), EditRefusal> {
        let failed = |error: io::Error| format!("{} cannot be written: {error}", located.display());
        let (folder, name) = self.parent(located, true)?;
        let mode = match statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if kind(&stat) == FileType::RegularFile => {
                Mode::from_raw_mode(stat.st_mode) & Mode::from_raw_mode(0o777)
            }
            Ok(_) => return Err(format!("{} is no file", located.display())),
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
            // Nothing can be done about what cannot be removed either.
            unlinkat(&folder, &temp_name, AtFlags::empty()).ok();
            failed(error)
        })
    }

    /// Removes a file, or a folder with all that is in it.
    pub(super) fn remove(&self, located: &Path) -> Result<(), EditRefusal> {
        let (folder, name) = self.parent(located, false)?;
        remove(&folder, &name).map_err(|error| refused(located, error))
    }

    /// Gives a file or folder another name, which nothing has yet.
    pub(super) fn rename(&self, located: &Path, to: &Path) -> Result<(), EditRefusal> {
        if self.kind(to)?.is_some() {
            return Err(format!("{} is there already", to.display()));
        }
        let (from_folder, from) = self.parent(located, false)?;
        let (to_folder, name) = self.parent(to, true)?;
        renameat(&from_folder, &from, &to_folder, &name).map_err(|error| refused(located, error))
    }

    /// The names in a folder and in its folders, those that begin with a dot left out.
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
                // One that is closed to us, or gone meanwhile, is only named.
                self.list_into(&folder.join(name), &path, depth - 1, names)
                    .ok();
            }
        }
        Ok(())
    }

    /// The folder of a file, and the file's name in it.
    fn parent(&self, located: &Path, make: bool) -> Result<(OwnedFd, PathBuf), EditRefusal> {
        let Some(name) = located.file_name() else {
            return Err("the workspace itself is not to be changed".to_owned());
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

/// Removes what has this name, and never follows a link.
fn remove(folder: &OwnedFd, name: &Path) -> Result<(), Errno> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => {}
        removed => return removed,
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let inner = openat(folder, name, flags, Mode::empty())?;
    for entry in Dir::read_from(&inner)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            remove(&inner, Path::new(name))?;
        }
    }
    unlinkat(folder, name, AtFlags::REMOVEDIR)
}

/// A name beside a file's own for what is not whole yet.
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

/// Where an open file is.
fn path_of(file: &OwnedFd) -> Result<PathBuf, Errno> {
    use std::os::fd::AsRawFd as _;
    let link = format!("/proc/thread-self/fd/{}", file.as_fd().as_raw_fd());
    let path = readlinkat(rustix::fs::CWD, link, Vec::new())?;
    Ok(PathBuf::from(OsStr::from_bytes(path.as_bytes())))
}

/// An error of the kernel in words for a model.
fn refused(path: &Path, error: Errno) -> EditRefusal {
    let path = path.display();
    match error {
        Errno::NOENT => format!("{path} is not there"),
        Errno::XDEV => format!("{path} leads out of the workspace"),
        Errno::LOOP => {
            format!("{path} has become a link since it was looked at, or is one in a circle")
        }
        Errno::NOTDIR => format!("{path} goes through a file as if it were a folder"),
        Errno::ACCESS | Errno::PERM => format!("{path} is closed to this session's user"),
        Errno::NAMETOOLONG => format!("{path} is too long a name"),
        Errno::NOSYS => {
            "this kernel cannot keep paths inside a folder (openat2, Linux 5.6 or newer)".to_owned()
        }
        error => format!("{path}: {error}"),
    }
}
