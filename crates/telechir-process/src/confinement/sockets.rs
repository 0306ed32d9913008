//! Sockets among the files of a folder: a program inside could connect to servers outside by them.
//!
//! A sandbox has a network namespace of its own, but the kernel finds a socket in a folder by its
//! file, and a read-only mount does not prevent a connection. Each socket is therefore covered by
//! a mount that is not a socket.

use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, OFlags};

use super::Confinement;
use super::file_identity::FileIdentity;
use crate::tree;

/// Maximum number of entries to search, the upper folders first: about a fifth of a second.
const MAX_ENTRIES: usize = 200_000;
/// What covers a socket: a file of another type that cannot be opened, because devices have no
/// effect in a sandbox.
const COVER: &str = "/dev/null";

/// The sockets in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sockets {
    /// Absolute paths of the sockets.
    pub paths: Vec<PathBuf>,
    /// The files at these paths, in the same order.
    pub(super) files: Vec<FileIdentity>,
    /// The first folder that was not searched, if any: there were too many files, or the path leads
    /// over a link.
    pub stopped: Option<PathBuf>,
}

impl Sockets {
    /// Finds the sockets in a folder, whose path must contain no link. Folders that cannot be read
    /// are skipped.
    pub fn find(folder: &Path) -> Self {
        Self::find_among(folder, MAX_ENTRIES)
    }

    /// The paths and their files.
    pub(super) fn into_files(self) -> impl Iterator<Item = (PathBuf, FileIdentity)> {
        self.paths.into_iter().zip(self.files)
    }

    fn find_among(folder: &Path, max_entries: usize) -> Self {
        let mut found = Self::default();
        let Ok(top) = tree::open_folder(folder) else {
            found.stopped = Some(folder.to_owned());
            return found;
        };
        let mut open = VecDeque::from([PathBuf::new()]);
        let mut seen = 0;
        while let Some(relative) = open.pop_front() {
            if seen >= max_entries {
                found.stopped = Some(folder.join(relative));
                break;
            }
            // A folder that was replaced by a link meanwhile is not followed.
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK;
            let Ok(inner) = tree::open_beneath(&top, &relative, flags) else {
                continue;
            };
            let Ok(entries) = tree::entries(&inner) else {
                continue;
            };
            seen += entries.len();
            for (name, kind) in entries {
                if kind == FileType::Directory {
                    open.push_back(relative.join(name));
                } else if kind == FileType::Socket
                    && let Ok(file) = FileIdentity::at(&inner, &name)
                {
                    found.files.push(file);
                    found.paths.push(folder.join(&relative).join(name));
                }
            }
        }
        found
    }
}

impl Confinement {
    /// Covers sockets of mounted folders that are still there. The mounts themselves must have been
    /// added before.
    #[must_use]
    pub fn without_sockets(self, sockets: &Sockets) -> Self {
        let is_socket = |path: &&PathBuf| {
            let metadata = fs::symlink_metadata(path);
            metadata.is_ok_and(|found| found.file_type().is_socket())
        };
        let mounts = sockets.paths.iter().filter(is_socket);
        mounts.fold(self, |confinement, path| confinement.read_only(COVER, path))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn finds_sockets_at_any_depth_and_follows_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b/.c");
        fs::create_dir_all(&deep).unwrap();
        let sockets = [folder.path().join("top"), deep.join("deep")];
        let _listeners = sockets
            .clone()
            .map(|path| UnixListener::bind(path).unwrap());
        let _outside = UnixListener::bind(other.path().join("outside")).unwrap();
        std::os::unix::fs::symlink(other.path(), folder.path().join("link")).unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        let found = Sockets::find(folder.path());
        assert_eq!((found.paths, found.stopped), (sockets.to_vec(), None));
    }

    #[test]
    fn the_search_is_bounded_and_names_where_it_stopped() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let found = Sockets::find_among(folder.path(), 3);
        assert!(found.stopped.unwrap().starts_with(folder.path()));
        assert_eq!(Sockets::find_among(folder.path(), 4).stopped, None);
    }

    #[test]
    fn a_folder_behind_a_link_is_not_searched() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        let found = Sockets::find(&link);
        assert_eq!((found.paths, found.stopped), (Vec::new(), Some(link)));
    }

    #[test]
    fn the_search_counts_the_entries_of_every_folder() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a/1/x", "a/2/x", "a/3/x"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let stopped = |most: usize| {
            let stopped = Sockets::find_among(folder.path(), most).stopped;
            stopped.map(|path| path.strip_prefix(folder.path()).unwrap().to_owned())
        };
        assert_eq!(stopped(1), Some("a".into()));
        assert_eq!(
            stopped(4).and_then(|path| path.parent().map(Path::to_owned)),
            Some("a".into())
        );
        assert_eq!(stopped(8), None);
    }
}
