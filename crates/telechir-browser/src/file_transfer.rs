//! Downloads and uploads between pages and the session's workspace.
//!
//! Chromium reads and writes only in a private folder. Files are copied between it and the
//! workspace through descriptors that do not follow links: programs can write to the workspace and
//! must not choose what telechir reads or overwrites.

use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    Dir, FileType, Mode, OFlags, RawMode, ResolveFlags, Stat, fchown, fstat, mkdirat, open, openat,
    openat2,
};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};
use telechir_process::{Identity, PrivateFolder, let_read, make_private_dir, make_private_file};
use telechir_protocol::{BLOCKED_ENDING, is_protected_entry};

use crate::options::{FileAccess, Options};
use crate::tab_registry::MAX_FILE_BYTES;

/// The folder of the workspace for downloads.
const DOWNLOADS_DIR: &str = "downloads";
/// Longer file names are shortened, keeping the extension.
const MAX_NAME_BYTES: usize = 120;
/// Uploads to a remote Chromium are sent inside one CDP message, whose limit is 100 MB.
pub(crate) const MAX_INLINE_BYTES: u64 = 50 << 20;
/// Downloads with the same name; further ones fail.
const MAX_SAME_NAME: u32 = 1000;

/// The private folder of one browser, and the workspace.
#[derive(Debug)]
pub(crate) struct FileTransfer {
    folder: PrivateFolder,
    identity: Option<Identity>,
    files: FileAccess,
}

impl FileTransfer {
    /// Creates the private folder; `None` without a workspace.
    pub(crate) fn create(options: &Options) -> io::Result<Option<Self>> {
        let Some(files) = options.files.clone() else {
            return Ok(None);
        };
        let folder = PrivateFolder::create(&options.temp_dir, "files-")?;
        let file_transfer = Self {
            folder,
            identity: options.identity,
            files,
        };
        let (incoming, outgoing) = (file_transfer.incoming(), file_transfer.outgoing());
        make_private_dir(&incoming)?;
        make_private_dir(&outgoing)?;
        if let Some(identity) = options.identity {
            // Chromium writes only in `in`; if it could rename that, or write in `out`, it would
            // choose which files we read and write.
            chown(&incoming, Some(identity.uid), Some(identity.gid))?;
            chown(&outgoing, None, Some(identity.gid))?;
            std::fs::set_permissions(&outgoing, Permissions::from_mode(0o710))?;
            file_transfer.folder.let_in(identity, false)?;
        }
        Ok(Some(file_transfer))
    }

    /// Whether downloads are saved.
    pub(crate) const fn saves_downloads(&self) -> bool {
        self.files.saves_downloads
    }

    /// The folder in which Chromium stores downloads.
    pub(crate) fn incoming(&self) -> PathBuf {
        self.folder.path().join("in")
    }

    fn outgoing(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// Moves a download into the workspace; returns its path there and its size in bytes.
    pub(crate) fn save(&self, file: &str, name: &str) -> Result<(String, u64), String> {
        let saved = self.try_save(file, name);
        saved.map_err(|error| format!("it could not be saved: {error}"))
    }

    fn try_save(&self, file: &str, name: &str) -> io::Result<(String, u64)> {
        let source = self.incoming().join(single_component(file)?);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let from = open(&source, flags, Mode::empty())?;
        if !is_file(&fstat(&from)?) {
            return Err(io::Error::other("it is not a regular file"));
        }
        let folder = self.downloads(&self.files.workspace)?;
        let (to, name) = self.create_new(&folder, &sanitize(name))?;
        let bytes = io::copy(&mut File::from(from), &mut File::from(to))?;
        let _it_ends_with_the_folder = std::fs::remove_file(&source);
        Ok((format!("{DOWNLOADS_DIR}/{name}"), bytes))
    }

    /// Writes a new file in the download folder of the workspace; returns its path there.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<String, String> {
        let written = self.try_write(name, bytes);
        written.map_err(|error| format!("The file could not be saved: {error}."))
    }

    fn try_write(&self, name: &str, bytes: &[u8]) -> io::Result<String> {
        let folder = self.downloads(&self.files.workspace)?;
        let (to, name) = self.create_new(&folder, &sanitize(name))?;
        File::from(to).write_all(bytes)?;
        Ok(format!("{DOWNLOADS_DIR}/{name}"))
    }

    /// Opens the download folder of the workspace, creating it if needed; a link is refused.
    fn downloads(&self, workspace: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = open(workspace, flags, Mode::empty())?;
        let made = mkdirat(&root, DOWNLOADS_DIR, Mode::from_raw_mode(0o700));
        let folder = openat(
            &root,
            DOWNLOADS_DIR,
            flags | OFlags::NOFOLLOW,
            Mode::empty(),
        )?;
        match made {
            // An empty folder, even if a program put another one in its place.
            Ok(()) if is_empty(&folder)? => self.chown_file(&folder)?,
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(folder)
    }

    /// Creates a file with this name, or with a number appended if it exists. One that programs
    /// would obey under this name gets another one.
    fn create_new(&self, folder: &OwnedFd, name: &str) -> io::Result<(OwnedFd, String)> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for nth in 1..=MAX_SAME_NAME {
            let name = unobeyed(numbered(name, nth));
            match openat(folder, &name, flags, Mode::from_raw_mode(0o600)) {
                Ok(file) => {
                    self.chown_file(&file)?;
                    return Ok((file, name));
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::new(
            ErrorKind::AlreadyExists,
            format!("there are already {MAX_SAME_NAME} files with this name"),
        ))
    }

    /// Copies a file of the workspace to where Chromium may read it.
    pub(crate) fn stage(&self, path: &str) -> Result<PathBuf, String> {
        let staged = self.open(path).and_then(|file| self.copy(file));
        staged.map_err(|error| upload_error(path, &error))
    }

    /// Reads a file of the workspace of at most `max_bytes`: its name and content.
    pub(crate) fn read(&self, path: &str, max_bytes: u64) -> Result<(String, Vec<u8>), String> {
        let read = self.open(path).and_then(|(file, name)| {
            let mut bytes = Vec::new();
            file.take(max_bytes + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > max_bytes {
                return Err(io::Error::other(format!(
                    "uploads to a browser that telechir did not start are limited to {MAX_INLINE_BYTES} bytes in total"
                )));
            }
            Ok((name, bytes))
        });
        read.map_err(|error| upload_error(path, &error))
    }

    /// Opens a file of the workspace for upload and returns the name that pages see.
    fn open(&self, path: &str) -> io::Result<(File, String)> {
        let workspace = &self.files.workspace;
        let inner = Path::new(path);
        let inner = inner.strip_prefix(workspace).unwrap_or(inner);
        let outside = || {
            io::Error::other("only files in the workspace can be uploaded, by their paths there")
        };
        if inner.is_absolute() {
            return Err(outside());
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = open(workspace, flags, Mode::empty())?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let resolve_flags = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let from = match openat2(&root, inner, flags, Mode::empty(), resolve_flags) {
            Err(Errno::XDEV | Errno::LOOP) => return Err(outside()),
            opened => opened?,
        };
        let stat = fstat(&from)?;
        if !is_file(&stat) {
            return Err(io::Error::other("it is not a regular file"));
        }
        if !self.may_read(&stat) {
            return Err(io::Error::other("the session's user cannot read it"));
        }
        if u64::try_from(stat.st_size).unwrap_or(u64::MAX) > MAX_FILE_BYTES {
            return Err(io::Error::other(format!(
                "it is larger than {MAX_FILE_BYTES} bytes"
            )));
        }
        let name = inner
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or("file");
        Ok((from.into(), sanitize(name)))
    }

    fn copy(&self, (mut from, name): (File, String)) -> io::Result<PathBuf> {
        // A separate folder, because pages see the file name.
        let dir = PrivateFolder::create(&self.outgoing(), "upload-")?;
        let copy = dir.path().join(name);
        let mut file = make_private_file(&copy)?;
        io::copy(&mut from, &mut file)?;
        if let Some(identity) = self.identity {
            let_read(&file, identity)?;
            dir.let_in(identity, true)?;
        }
        let _it_ends_with_the_folder = dir.keep();
        Ok(copy)
    }

    /// telechir may be root; the session's user is not.
    fn may_read(&self, stat: &Stat) -> bool {
        self.identity.is_none_or(|identity| {
            stat.st_uid == identity.uid || stat.st_mode & (Mode::ROTH.as_raw_mode() as RawMode) != 0
        })
    }

    fn chown_file(&self, file: &OwnedFd) -> io::Result<()> {
        let Some(Identity { uid, gid, .. }) = self.identity else {
            return Ok(());
        };
        Ok(fchown(
            file,
            Some(Uid::from_raw(uid)),
            Some(Gid::from_raw(gid)),
        )?)
    }
}

fn upload_error(path: &str, error: &io::Error) -> String {
    format!("Failed to upload the file {path:?}: {error}.")
}

fn is_empty(folder: &OwnedFd) -> io::Result<bool> {
    for entry in Dir::read_from(folder)? {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// The name, if it is a single path component.
fn single_component(name: &str) -> io::Result<&str> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(_)), None) => Ok(name),
        _ => Err(io::Error::other("it has no name")),
    }
}

/// A safe file name: without folders, leading dots or invisible characters.
fn sanitize(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_unsafe = |c: char| {
        c.is_control()
            || matches!(u32::from(c), 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff)
    };
    let clean: String = last.chars().filter(|c| !is_unsafe(*c)).collect();
    let clean = clean.trim_matches(|c: char| c == '.' || c.is_whitespace() || c == '-');
    if clean.is_empty() {
        return "download".to_owned();
    }
    shortened(clean)
}

/// Shortens the stem of a long name.
fn shortened(name: &str) -> String {
    if name.len() <= MAX_NAME_BYTES {
        return name.to_owned();
    }
    let (stem, ending) = split(name);
    let ending = if ending.len() > MAX_NAME_BYTES / 2 {
        ""
    } else {
        ending
    };
    let room = MAX_NAME_BYTES - ending.len();
    let end = (0..=room)
        .rev()
        .find(|at| stem.is_char_boundary(*at))
        .unwrap_or(0);
    format!("{}{ending}", &stem[..end])
}

/// Splits a name into stem and extension, which keeps its dot.
fn split(name: &str) -> (&str, &str) {
    name.rfind('.')
        .filter(|at| *at > 0)
        .map_or((name, ""), |at| name.split_at(at))
}

fn numbered(name: &str, nth: u32) -> String {
    if nth == 1 {
        return name.to_owned();
    }
    let (stem, ending) = split(name);
    format!("{stem} ({nth}){ending}")
}

/// A name in the download folder that no program executes or obeys without being asked to.
fn unobeyed(name: String) -> String {
    if is_protected_entry(&format!("{DOWNLOADS_DIR}/{name}")) {
        // Windows file systems drop what follows a colon.
        name.replace(':', "_") + BLOCKED_ENDING
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use telechir_protocol::{PROTECTED_PATHS, is_protected};
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn file_names_from_pages_are_sanitized() {
        for (given, saved) in [
            ("report.pdf", "report.pdf"),
            ("../../etc/passwd", "passwd"),
            ("..\\..\\boot.ini", "boot.ini"),
            (".bashrc", "bashrc"),
            ("-rf", "rf"),
            ("a\u{202e}fdp.exe", "afdp.exe"),
            ("a\nb\0c", "abc"),
            ("..", "download"),
            ("", "download"),
            ("über straße.txt", "über straße.txt"),
        ] {
            assert_eq!(sanitize(given), saved, "{given:?}");
        }
        let long = sanitize(&format!("{}.tar", "ä".repeat(300)));
        assert!(
            long.len() <= MAX_NAME_BYTES && long.ends_with(".tar"),
            "{long}"
        );
        assert_eq!(numbered("a.txt", 3), "a (3).txt");
    }

    fn file_transfer() -> (TempDir, FileTransfer) {
        let root = tempfile::tempdir().unwrap();
        let workspace = root.path().join("work");
        std::fs::create_dir(&workspace).unwrap();
        let options = Options {
            temp_dir: root.path().to_owned(),
            files: Some(FileAccess {
                workspace,
                saves_downloads: true,
            }),
            ..Options::default()
        };
        let file_transfer = FileTransfer::create(&options).unwrap().unwrap();
        (root, file_transfer)
    }

    #[test]
    fn a_download_never_overwrites_a_file() {
        let (root, file_transfer) = file_transfer();
        for (guid, path) in [("g1", "downloads/a.txt"), ("g2", "downloads/a (2).txt")] {
            std::fs::write(file_transfer.incoming().join(guid), guid).unwrap();
            assert_eq!(
                file_transfer.save(guid, "x/a.txt"),
                Ok((path.to_owned(), 2))
            );
            let saved = std::fs::read_to_string(root.path().join("work").join(path));
            assert_eq!(saved.unwrap(), guid);
        }
        assert!(file_transfer.save("../work/downloads/a.txt", "b").is_err());
        symlink("/etc/hostname", file_transfer.incoming().join("g3")).unwrap();
        assert!(file_transfer.save("g3", "b").is_err());
    }

    /// Every file that a page or a model names is written by one of two functions.
    #[test]
    fn nothing_is_saved_under_a_name_that_programs_obey() {
        let (root, file_transfer) = file_transfer();
        let listed = PROTECTED_PATHS.iter().map(|(path, _)| *path);
        let spelled = [
            ".git",
            "claude.MD",
            "CLAUDE.md::$DATA",
            "\u{ff21}GENTS.md",
            "GIT~1 ",
        ];
        for (nth, name) in listed.chain(spelled).enumerate() {
            let guid = format!("g{nth}");
            std::fs::write(file_transfer.incoming().join(&guid), "evil").unwrap();
            let (downloaded, _) = file_transfer.save(&guid, name).unwrap();
            let written = file_transfer.write(name, b"evil").unwrap();
            for path in [downloaded, written] {
                assert!(!is_protected(&path), "{name} as {path}");
                let saved = std::fs::read_to_string(root.path().join("work").join(&path));
                assert_eq!(saved.unwrap(), "evil", "{path}");
            }
        }
        let path = file_transfer.write("CLAUDE.md", b"evil").unwrap();
        assert!(
            path.ends_with(".md.blocked") || path.ends_with(").md"),
            "{path}"
        );
    }

    #[test]
    fn a_downloads_folder_that_is_a_link_is_refused() {
        let (root, file_transfer) = file_transfer();
        std::fs::create_dir(root.path().join("other")).unwrap();
        symlink(
            root.path().join("other"),
            root.path().join("work/downloads"),
        )
        .unwrap();
        std::fs::write(file_transfer.incoming().join("g"), "x").unwrap();
        assert!(file_transfer.save("g", "a").is_err());
        assert_eq!(
            std::fs::read_dir(root.path().join("other"))
                .unwrap()
                .count(),
            0
        );
    }

    #[test]
    fn only_files_of_the_workspace_are_uploaded() {
        let (root, file_transfer) = file_transfer();
        let workspace = root.path().join("work");
        std::fs::write(workspace.join("note.txt"), "note").unwrap();
        std::fs::write(root.path().join("secret"), "secret").unwrap();
        symlink("../secret", workspace.join("link")).unwrap();
        symlink("note.txt", workspace.join("inner")).unwrap();
        let absolute = workspace.join("note.txt");
        for good in [
            "note.txt",
            "./note.txt",
            "inner",
            absolute.to_str().unwrap(),
        ] {
            let copy = file_transfer.stage(good).unwrap();
            assert_eq!(std::fs::read_to_string(copy).unwrap(), "note", "{good}");
            let (name, bytes) = file_transfer.read(good, 4).unwrap();
            assert_eq!(
                (&*bytes, name.as_str()),
                (&b"note"[..], good.rsplit('/').next().unwrap())
            );
        }
        let error = file_transfer.read("note.txt", 3).unwrap_err();
        assert!(error.contains("in total"), "{error}");
        for bad in [
            "/etc/passwd",
            "../secret",
            "link",
            ".",
            "nothing",
            "/proc/self/environ",
        ] {
            let error = file_transfer.stage(bad).unwrap_err();
            assert!(error.contains(bad), "{error}");
            assert_eq!(file_transfer.read(bad, 4).unwrap_err(), error);
        }
    }
}
