//! Access to the files in one folder and nothing else: the kernel confines every path to it.

use std::collections::BinaryHeap;
use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, ResolveFlags, Stat, fchmod, fstat, fsync,
    mkdirat, open, openat, openat2, readlinkat, renameat, renameat_with, statat, unlinkat,
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
pub(super) const NO_LINKS: ResolveFlags = BENEATH.union(ResolveFlags::NO_SYMLINKS);

/// The reason why an operation failed, as a message for the model.
pub(super) type EditRefusal = String;

/// An open workspace or memory folder.
#[derive(Debug)]
pub(super) struct WorkspaceRoot {
    folder: OwnedFd,
    /// The folder's absolute path, without links.
    path: PathBuf,
    /// The path under which models see the folder, if it is not its real one.
    name: Option<&'static str>,
}

/// The entries of a folder.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Path relative to the folder, with a slash after that of a folder, and size in bytes.
    pub(super) entries: Vec<(String, u64)>,
    /// Whether entries were left out.
    pub(super) is_cut: bool,
}

impl WorkspaceRoot {
    /// Opens a folder and resolves its path. One that models see under a name of its own is
    /// private: what they create in it is for the session's user alone.
    pub(super) fn open(path: &Path, name: Option<&'static str>) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(path, flags, Mode::empty())?;
        let path = path_of(&folder)?;
        Ok(Self { folder, path, name })
    }

    /// The folder's absolute path, without links.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder's path as models see it.
    pub(super) fn shown_path(&self) -> &Path {
        self.name.map_or(&self.path, Path::new)
    }

    /// A path in the folder as models see it.
    pub(super) fn shown(&self, inside: &Path) -> String {
        join(self.shown_path(), inside).display().to_string()
    }

    /// Converts a model's path to one relative to the folder, without `.` and `..`.
    pub(super) fn relative(&self, path: &str) -> Result<PathBuf, EditRefusal> {
        let base = self.shown_path();
        let inside = match Path::new(path).strip_prefix(base) {
            Ok(inside) => inside,
            Err(_) if Path::new(path).is_absolute() => {
                return Err(format!(
                    "Path must start with {}, got: {path}",
                    base.display()
                ));
            }
            Err(_) => Path::new(path),
        };
        let mut relative = PathBuf::new();
        for part in inside.components() {
            match part {
                Component::Normal(name) => relative.push(name),
                Component::CurDir => {}
                Component::ParentDir if relative.pop() => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(self.escape(path));
                }
            }
        }
        Ok(relative)
    }

    fn escape(&self, path: &str) -> EditRefusal {
        let base = self.shown_path().display();
        format!("Path {path} would escape {base} directory")
    }

    /// Resolves all links of a path; none may lead outside.
    pub(super) fn resolve(&self, relative: &Path) -> Result<PathBuf, EditRefusal> {
        let mut rest = PathBuf::new();
        let mut head = relative.to_owned();
        loop {
            match self.real(&head) {
                Ok(real) => return Ok(join(&real, &rest)),
                Err(Errno::NOENT) if head.as_os_str().is_empty() => {
                    return Err(self.refused(relative, Errno::NOENT));
                }
                Err(Errno::NOENT) if self.is_link(&head) => {
                    return Err(format!(
                        "The path {} is a dangling link.",
                        self.shown(&head)
                    ));
                }
                Err(Errno::NOENT) => {
                    let name = head.file_name().map(OsStr::to_owned).unwrap_or_default();
                    rest = join(Path::new(&name), &rest);
                    head.pop();
                }
                Err(error) => return Err(self.refused(relative, error)),
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

    pub(super) fn open_beneath(
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
            Err(error) => Err(self.refused(located, error)),
        }
    }

    /// Reads a text file.
    pub(super) fn read(&self, located: &Path) -> Result<String, EditRefusal> {
        let name = self.shown(located);
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = self.open_beneath(located, flags, NO_LINKS);
        let file = file.map_err(|error| self.refused(located, error))?;
        let stat = fstat(&file).map_err(|error| self.refused(located, error))?;
        if kind(&stat) != FileType::RegularFile {
            return Err(format!("The path {name} is not a file."));
        }
        let mut bytes = Vec::new();
        let mut limited = std::fs::File::from(file).take(MAX_FILE_BYTES + 1);
        limited
            .read_to_end(&mut bytes)
            .map_err(|error| format!("Cannot read {name}: {error}."))?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(format!(
                "The file {name} is larger than {MAX_FILE_BYTES} bytes. Use shell commands for it."
            ));
        }
        String::from_utf8(bytes)
            .map_err(|_| format!("The file {name} is not a valid UTF-8 text file."))
    }

    /// Creates a file with its missing parent folders.
    pub(super) fn create(&self, located: &Path, text: &str) -> Result<(), EditRefusal> {
        let exists = || format!("File {} already exists", self.shown(located));
        if self.kind(located)?.is_some() {
            return Err(exists());
        }
        let mode = Mode::from_raw_mode(if self.name.is_some() { 0o600 } else { 0o644 });
        let (folder, name) = self.parent(located, true)?;
        let temporary = self.write_beside(located, &folder, &name, text, mode)?;
        rename_new(&folder, &temporary, &folder, &name).map_err(|error| {
            remove_temporary(&folder, &temporary);
            match error {
                Errno::EXIST => exists(),
                error => self.refused(located, error),
            }
        })
    }

    /// Replaces the text of a file atomically; creates it if it does not exist.
    pub(super) fn replace(&self, located: &Path, text: &str) -> Result<(), EditRefusal> {
        let (folder, name) = self.parent(located, true)?;
        let mode = match statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if kind(&stat) == FileType::RegularFile => {
                Mode::from_raw_mode(stat.st_mode) & Mode::from_raw_mode(0o777)
            }
            Ok(_) => return Err(format!("The path {} is not a file.", self.shown(located))),
            Err(Errno::NOENT) => return self.create(located, text),
            Err(error) => return Err(self.refused(located, error)),
        };
        let temporary = self.write_beside(located, &folder, &name, text, mode)?;
        renameat(&folder, &temporary, &folder, &name).map_err(|error| {
            remove_temporary(&folder, &temporary);
            self.refused(located, error)
        })
    }

    /// Writes a temporary file beside a file; returns its name.
    fn write_beside(
        &self,
        located: &Path,
        folder: &OwnedFd,
        name: &Path,
        text: &str,
        mode: Mode,
    ) -> Result<PathBuf, EditRefusal> {
        let temporary = temp_name(name);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let created = openat(
            folder,
            &temporary,
            flags | OFlags::CLOEXEC,
            Mode::RUSR | Mode::WUSR,
        );
        let file = created.map_err(|error| self.refused(located, error))?;
        let write = || -> io::Result<()> {
            let mut file = std::fs::File::from(file);
            file.write_all(text.as_bytes())?;
            fchmod(&file, mode)?;
            Ok(fsync(&file)?)
        };
        write().map_err(|error| {
            remove_temporary(folder, &temporary);
            format!("Cannot write {}: {error}.", self.shown(located))
        })?;
        Ok(temporary)
    }

    /// Removes a file, or a folder with its contents.
    pub(super) fn remove(&self, located: &Path) -> Result<(), EditRefusal> {
        if located.as_os_str().is_empty() {
            return Err(self.itself("delete"));
        }
        let gone = |error| match error {
            Errno::NOENT => self.missing(located),
            error => self.refused(located, error),
        };
        if self.kind(located)?.is_none() {
            return Err(self.missing(located));
        }
        let (folder, name) = self.parent(located, false)?;
        statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(gone)?;
        let removed = tree::remove(&folder, name.as_os_str());
        removed.map_err(|error| {
            let errno = Errno::from_io_error(&error);
            errno.map_or_else(|| error.to_string(), gone)
        })
    }

    /// Renames a file or folder; the new name must not exist.
    pub(super) fn rename(&self, located: &Path, to: &Path) -> Result<(), EditRefusal> {
        let exists = || format!("The destination {} already exists", self.shown(to));
        if located.as_os_str().is_empty() {
            return Err(self.itself("rename"));
        }
        if self.kind(to)?.is_some() {
            return Err(exists());
        }
        if self.kind(located)?.is_none() {
            return Err(self.missing(located));
        }
        let (from_folder, from) = self.parent(located, false)?;
        let (to_folder, name) = self.parent(to, true)?;
        rename_new(&from_folder, &from, &to_folder, &name).map_err(|error| match error {
            Errno::EXIST => exists(),
            Errno::NOENT => self.missing(located),
            error => self.refused(located, error),
        })
    }

    fn itself(&self, action: &str) -> EditRefusal {
        let folder = self.shown_path().display();
        format!("Cannot {action} the {folder} directory itself")
    }

    fn missing(&self, located: &Path) -> EditRefusal {
        format!("The path {} does not exist", self.shown(located))
    }

    /// Lists a folder two levels deep, without hidden files; its own size comes first.
    pub(super) fn list(&self, located: &Path) -> Result<(u64, Listing), EditRefusal> {
        let mut listing = Listing::default();
        let size = self.list_into(located, Path::new(""), 2, &mut listing)?;
        Ok((size, listing))
    }

    fn list_into(
        &self,
        folder: &Path,
        prefix: &Path,
        depth: usize,
        listing: &mut Listing,
    ) -> Result<u64, EditRefusal> {
        let refused = |error| self.refused(folder, error);
        let file = self
            .open_beneath(folder, OFlags::RDONLY | OFlags::DIRECTORY, NO_LINKS)
            .map_err(refused)?;
        let folder_size = size(&fstat(&file).map_err(refused)?);
        // The first names in order, whatever the size of the folder.
        let mut names = BinaryHeap::new();
        for entry in Dir::read_from(&file).map_err(refused)? {
            let entry = entry.map_err(refused)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name.as_bytes().starts_with(b".") {
                continue;
            }
            names.push(name.to_owned());
            if names.len() > MAX_ENTRIES {
                names.pop();
                listing.is_cut = true;
            }
        }
        for name in names.into_sorted_vec() {
            if listing.entries.len() >= MAX_ENTRIES {
                listing.is_cut = true;
                break;
            }
            let Ok(stat) = statat(&file, &name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let path = prefix.join(&name);
            let is_folder = kind(&stat) == FileType::Directory;
            let slash = if is_folder { "/" } else { "" };
            let shown = format!("{}{slash}", path.display());
            listing.entries.push((shown, size(&stat)));
            if is_folder && depth > 1 {
                // A folder that cannot be read is only listed by name.
                self.list_into(&folder.join(&name), &path, depth - 1, listing)
                    .ok();
            }
        }
        Ok(folder_size)
    }

    /// Opens a file's parent folder; returns it with the file's name.
    fn parent(&self, located: &Path, make: bool) -> Result<(OwnedFd, PathBuf), EditRefusal> {
        let Some(name) = located.file_name() else {
            return Err(self.itself("change"));
        };
        let folder = located.parent().unwrap_or_else(|| Path::new(""));
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let opened = match self.open_beneath(folder, flags, NO_LINKS) {
            Err(Errno::NOENT) if make => self.make(folder),
            opened => opened,
        };
        let opened = opened.map_err(|error| self.refused(folder, error))?;
        Ok((opened, PathBuf::from(name)))
    }

    fn make(&self, folder: &Path) -> Result<OwnedFd, Errno> {
        let mut path = PathBuf::new();
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let mode = Mode::from_raw_mode(if self.name.is_some() { 0o700 } else { 0o755 });
        let mut opened = self.open_beneath(&path, flags, NO_LINKS)?;
        for name in folder.components() {
            let name = name.as_os_str();
            match mkdirat(&opened, name, mode) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
            path.push(name);
            opened = self.open_beneath(&path, flags, NO_LINKS)?;
        }
        Ok(opened)
    }

    /// A system error as a message for the model.
    pub(super) fn refused(&self, located: &Path, error: Errno) -> EditRefusal {
        let path = self.shown(located);
        match error {
            Errno::NOENT => {
                format!("The path {path} does not exist. Please provide a valid path.")
            }
            Errno::XDEV => self.escape(&path),
            Errno::LOOP => format!(
                "The path {path} has become a link since it was resolved, or is part of a link cycle."
            ),
            Errno::NOTDIR => format!("The path {path} uses a file as a directory."),
            Errno::NXIO => format!("The path {path} is not a file."),
            Errno::ACCESS | Errno::PERM => {
                format!("Permission denied for {path} as this session's user.")
            }
            Errno::NAMETOOLONG => format!("The name {path} is too long."),
            Errno::NOSYS => {
                "This kernel cannot confine paths to a folder (requires openat2, Linux 5.6 or newer)."
                    .to_owned()
            }
            error => format!("{path}: {error}."),
        }
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

/// Renames a file to a name that does not exist.
fn rename_new(
    from_folder: &OwnedFd,
    from: &Path,
    to_folder: &OwnedFd,
    to: &Path,
) -> Result<(), Errno> {
    let renamed = renameat_with(from_folder, from, to_folder, to, RenameFlags::NOREPLACE);
    match renamed {
        // Some file systems have no such flag; the caller has checked the name.
        Err(Errno::INVAL | Errno::NOSYS) => renameat(from_folder, from, to_folder, to),
        renamed => renamed,
    }
}

/// Best effort: the file cannot be removed otherwise.
fn remove_temporary(folder: &OwnedFd, name: &Path) {
    unlinkat(folder, name, AtFlags::empty()).ok();
}

fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or_default()
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

pub(super) fn join(head: &Path, rest: &Path) -> PathBuf {
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
