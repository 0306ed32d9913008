//! Files between pages and the session's workspace: what a page gives and what it is given.
//!
//! Chromium reads and writes in a private folder only. From there to the workspace and back the
//! files are copied by descriptors that no link leads astray: the workspace is written by programs
//! that must not choose what we read or overwrite.

use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    FileType, Mode, OFlags, RawMode, ResolveFlags, Stat, fchown, fstat, mkdirat, open, openat,
    openat2,
};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};
use telechir_process::Identity;
use tempfile::TempDir;

use crate::tab_registry::LARGEST;
use crate::options::{Files, Options};

/// The folder of the workspace that files come to.
const DOWNLOADS: &str = "downloads";
/// A file's name is cut here, its ending kept.
const LONGEST_NAME: usize = 120;
/// Files that are sent to a Chromium which may be on another machine have at most so many bytes
/// together: they go in one message, which must not be larger than its 100 MB.
pub(crate) const MOST_SENT: u64 = 50 << 20;
/// How many files of one name there may be.
const MOST_OF_A_NAME: u32 = 1000;

/// The private folder and the workspace.
#[derive(Debug)]
pub(crate) struct Exchange {
    folder: TempDir,
    identity: Option<Identity>,
    files: Files,
}

impl Exchange {
    /// Makes the private folder; none when there is no workspace to exchange files with.
    pub(crate) fn create(options: &Options) -> io::Result<Option<Self>> {
        let Some(files) = options.files.clone() else {
            return Ok(None);
        };
        let folder = tempfile::Builder::new()
            .prefix("files-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&options.profiles)?;
        let exchange = Self {
            folder,
            identity: options.identity,
            files,
        };
        for part in [exchange.incoming(), exchange.outgoing()] {
            std::fs::create_dir(&part)?;
            exchange.give(&part)?;
        }
        exchange.give(exchange.folder.path())?;
        Ok(Some(exchange))
    }

    /// Whether files that pages give are kept.
    pub(crate) const fn keeps(&self) -> bool {
        self.files.keeps_downloads
    }

    /// Where Chromium puts what pages give.
    pub(crate) fn incoming(&self) -> PathBuf {
        self.folder.path().join("in")
    }

    fn outgoing(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// Moves a file that came into the workspace; gives its path there and its length.
    pub(crate) fn keep(&self, file: &str, name: &str) -> Result<(String, u64), String> {
        let kept = self.try_keep(file, name);
        kept.map_err(|error| format!("it could not be kept: {error}"))
    }

    fn try_keep(&self, file: &str, name: &str) -> io::Result<(String, u64)> {
        let source = self.incoming().join(plain(file)?);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let from = open(&source, flags, Mode::empty())?;
        if !is_file(&fstat(&from)?) {
            return Err(io::Error::other("it is no plain file"));
        }
        let folder = self.downloads(&self.files.workspace)?;
        let (to, name) = self.fresh(&folder, &tame(name))?;
        let bytes = io::copy(&mut File::from(from), &mut File::from(to))?;
        let _it_ends_with_the_folder = std::fs::remove_file(&source);
        Ok((format!("{DOWNLOADS}/{name}"), bytes))
    }

    /// The folder for files in the workspace, made when it is not there; never a link.
    fn downloads(&self, workspace: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = open(workspace, flags, Mode::empty())?;
        let made = mkdirat(&root, DOWNLOADS, Mode::from_raw_mode(0o700));
        let folder = openat(&root, DOWNLOADS, flags | OFlags::NOFOLLOW, Mode::empty())?;
        match made {
            Ok(()) => self.give_to_its_user(&folder)?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(folder)
    }

    /// A new file with this name, or with a number beside it when there is one already.
    fn fresh(&self, folder: &OwnedFd, name: &str) -> io::Result<(OwnedFd, String)> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for nth in 1..=MOST_OF_A_NAME {
            let name = numbered(name, nth);
            match openat(folder, &name, flags, Mode::from_raw_mode(0o600)) {
                Ok(file) => {
                    self.give_to_its_user(&file)?;
                    return Ok((file, name));
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::new(
            ErrorKind::AlreadyExists,
            format!("there are {MOST_OF_A_NAME} files of its name"),
        ))
    }

    /// Copies a file of the workspace to where Chromium may read it.
    pub(crate) fn stage(&self, path: &str) -> Result<PathBuf, String> {
        let staged = self.open(path).and_then(|file| self.copy(file));
        staged.map_err(|error| not_given(path, &error))
    }

    /// Reads a file of the workspace: its name and its bytes, of which there are at most so many.
    pub(crate) fn read(&self, path: &str, most: u64) -> Result<(String, Vec<u8>), String> {
        let read = self.open(path).and_then(|(file, name)| {
            let mut bytes = Vec::new();
            file.take(most + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > most {
                return Err(io::Error::other(format!(
                    "files for a browser that telechir did not start may have {MOST_SENT} bytes together"
                )));
            }
            Ok((name, bytes))
        });
        read.map_err(|error| not_given(path, &error))
    }

    /// Opens a file of the workspace that may be given to a page, and says what pages see as its name.
    fn open(&self, path: &str) -> io::Result<(File, String)> {
        let workspace = &self.files.workspace;
        let inner = Path::new(path);
        let inner = inner.strip_prefix(workspace).unwrap_or(inner);
        let outside =
            || io::Error::other("only files of the workspace may be, by their paths there");
        if inner.is_absolute() {
            return Err(outside());
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = open(workspace, flags, Mode::empty())?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let from = match openat2(&root, inner, flags, Mode::empty(), how) {
            Err(Errno::XDEV | Errno::LOOP) => return Err(outside()),
            opened => opened?,
        };
        let stat = fstat(&from)?;
        if !is_file(&stat) {
            return Err(io::Error::other("it is no plain file"));
        }
        if !self.may_read(&stat) {
            return Err(io::Error::other("the session's user may not read it"));
        }
        if u64::try_from(stat.st_size).unwrap_or(u64::MAX) > LARGEST {
            return Err(io::Error::other(format!(
                "it has more than {LARGEST} bytes"
            )));
        }
        let name = inner
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or("file");
        Ok((from.into(), tame(name)))
    }

    fn copy(&self, (mut from, name): (File, String)) -> io::Result<PathBuf> {
        // A folder of its own: pages see a file's name.
        let place = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(self.outgoing())?
            .keep();
        self.give(&place)?;
        let copy = place.join(name);
        io::copy(&mut from, &mut File::create(&copy)?)?;
        self.give(&copy)?;
        Ok(copy)
    }

    /// We may be root; whom the session runs as is not.
    fn may_read(&self, stat: &Stat) -> bool {
        self.identity.is_none_or(|identity| {
            stat.st_uid == identity.uid || stat.st_mode & (Mode::ROTH.as_raw_mode() as RawMode) != 0
        })
    }

    fn give(&self, path: &Path) -> io::Result<()> {
        self.identity.map_or(Ok(()), |identity| {
            chown(path, Some(identity.uid), Some(identity.gid))
        })
    }

    fn give_to_its_user(&self, file: &OwnedFd) -> io::Result<()> {
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

fn not_given(path: &str, error: &io::Error) -> String {
    format!("The file {path:?} cannot be given to a page: {error}.")
}

fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// A name that is one, and no way to another folder.
fn plain(name: &str) -> io::Result<&str> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(_)), None) => Ok(name),
        _ => Err(io::Error::other("it has no name")),
    }
}

/// A page's name of a file as one that harms nobody: no folder, nothing hidden, nothing unseen.
fn tame(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_odd = |c: char| {
        c.is_control()
            || matches!(u32::from(c), 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff)
    };
    let clean: String = last.chars().filter(|c| !is_odd(*c)).collect();
    let clean = clean.trim_matches(|c: char| c == '.' || c.is_whitespace() || c == '-');
    if clean.is_empty() {
        return "download".to_owned();
    }
    shortened(clean)
}

/// The name, cut in its middle when it is long.
fn shortened(name: &str) -> String {
    if name.len() <= LONGEST_NAME {
        return name.to_owned();
    }
    let (stem, ending) = split(name);
    let ending = if ending.len() > LONGEST_NAME / 2 {
        ""
    } else {
        ending
    };
    let room = LONGEST_NAME - ending.len();
    let end = (0..=room)
        .rev()
        .find(|at| stem.is_char_boundary(*at))
        .unwrap_or(0);
    format!("{}{ending}", &stem[..end])
}

/// A name and its ending with the dot.
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_page_s_name_of_a_file_harms_nobody() {
        for (said, kept) in [
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
            assert_eq!(tame(said), kept, "{said:?}");
        }
        let long = tame(&format!("{}.tar", "ä".repeat(300)));
        assert!(
            long.len() <= LONGEST_NAME && long.ends_with(".tar"),
            "{long}"
        );
        assert_eq!(numbered("a.txt", 3), "a (3).txt");
    }

    fn exchange() -> (TempDir, Exchange) {
        let root = tempfile::tempdir().unwrap();
        let workspace = root.path().join("work");
        std::fs::create_dir(&workspace).unwrap();
        let options = Options {
            profiles: root.path().to_owned(),
            files: Some(Files {
                workspace,
                keeps_downloads: true,
            }),
            ..Options::default()
        };
        let exchange = Exchange::create(&options).unwrap().unwrap();
        (root, exchange)
    }

    #[test]
    fn what_came_goes_to_the_workspace_beside_what_is_there() {
        let (root, exchange) = exchange();
        for (guid, path) in [("g1", "downloads/a.txt"), ("g2", "downloads/a (2).txt")] {
            std::fs::write(exchange.incoming().join(guid), guid).unwrap();
            assert_eq!(exchange.keep(guid, "x/a.txt"), Ok((path.to_owned(), 2)));
            let kept = std::fs::read_to_string(root.path().join("work").join(path));
            assert_eq!(kept.unwrap(), guid);
        }
        assert!(exchange.keep("../work/downloads/a.txt", "b").is_err());
        symlink("/etc/hostname", exchange.incoming().join("g3")).unwrap();
        assert!(exchange.keep("g3", "b").is_err());
    }

    #[test]
    fn a_folder_that_is_a_link_takes_no_file() {
        let (root, exchange) = exchange();
        std::fs::create_dir(root.path().join("other")).unwrap();
        symlink(
            root.path().join("other"),
            root.path().join("work/downloads"),
        )
        .unwrap();
        std::fs::write(exchange.incoming().join("g"), "x").unwrap();
        assert!(exchange.keep("g", "a").is_err());
        assert_eq!(
            std::fs::read_dir(root.path().join("other"))
                .unwrap()
                .count(),
            0
        );
    }

    #[test]
    fn only_files_of_the_workspace_are_given_to_pages() {
        let (root, exchange) = exchange();
        let workspace = root.path().join("work");
        std::fs::write(workspace.join("note.txt"), "note").unwrap();
        std::fs::write(root.path().join("secret"), "secret").unwrap();
        symlink("../secret", workspace.join("link")).unwrap();
        symlink("note.txt", workspace.join("inner")).unwrap();
        let whole = workspace.join("note.txt");
        for good in ["note.txt", "./note.txt", "inner", whole.to_str().unwrap()] {
            let copy = exchange.stage(good).unwrap();
            assert_eq!(std::fs::read_to_string(copy).unwrap(), "note", "{good}");
            let (name, bytes) = exchange.read(good, 4).unwrap();
            assert_eq!(
                (&*bytes, name.as_str()),
                (&b"note"[..], good.rsplit('/').next().unwrap())
            );
        }
        let error = exchange.read("note.txt", 3).unwrap_err();
        assert!(error.contains("together"), "{error}");
        for bad in [
            "/etc/passwd",
            "../secret",
            "link",
            ".",
            "nothing",
            "/proc/self/environ",
        ] {
            let error = exchange.stage(bad).unwrap_err();
            assert!(error.contains(bad), "{error}");
            assert_eq!(exchange.read(bad, 4).unwrap_err(), error);
        }
    }
}
