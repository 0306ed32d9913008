//! Mount points inside of mounted folders, checked by descriptor before and after bubblewrap mounts.
//!
//! A folder that a session's programs can write to is mounted, and paths in it are mounted over it
//! again. A link in such a path would lead the mount elsewhere. Before 0.12.0 bubblewrap even
//! creates what is missing behind the link, outside the sandbox (CVE-2026-87766). Here every such
//! path must exist and contain no link, so that bubblewrap creates nothing; and after the start
//! every one must show what was mounted there, so that a later exchange of a folder is noticed.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, fstat};
use rustix::io::Errno;

use super::ConfinementError;
use crate::{Pid, tree};

/// One mount in the order of the command line.
#[derive(Debug)]
pub(super) struct Mount {
    pub(super) from: PathBuf,
    pub(super) to: PathBuf,
}

/// A mount point inside of another mount, and the file that must be there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MountPoint {
    path: PathBuf,
    device: u64,
    inode: u64,
}

/// Checks the paths of mount points; returns those that lie in other mounts.
///
/// # Errors
/// If the path of a mount point leads over a link, or a mount point in another mount is missing.
pub(super) fn check(
    mounts: &[Mount],
    links: &[PathBuf],
) -> Result<Vec<MountPoint>, ConfinementError> {
    let mut points = Vec::new();
    for (number, mount) in mounts.iter().enumerate() {
        if let Some(link) = links.iter().find(|link| mount.to.starts_with(link)) {
            return Err(refuse(
                &mount.to,
                &format!("{} is a link inside", link.display()),
            ));
        }
        let is_around = |other: &&Mount| mount.to != other.to && mount.to.starts_with(&other.to);
        // Of the mounts around it, the last one is visible; the same mount again changes nothing.
        let Some(around) = mounts[..number].iter().rfind(is_around) else {
            continue;
        };
        let relative = mount.to.strip_prefix(&around.to).unwrap_or(&mount.to);
        let point = open_beneath(&around.from, relative);
        point.map_err(|errno| refuse(&mount.to, &reason(errno)))?;
        let file = open(&mount.from).and_then(|file| fstat(&file));
        let file = file.map_err(|errno| refuse(&mount.from, &reason(errno)))?;
        // A later mount at the same point covers the earlier one.
        points.retain(|known: &MountPoint| known.path != mount.to);
        points.push(MountPoint {
            path: mount.to.clone(),
            device: file.st_dev,
            inode: file.st_ino,
        });
    }
    Ok(points)
}

/// Checks from outside that each mount point of a running sandbox shows what was mounted there.
///
/// # Errors
/// If another file is there.
pub(super) fn verify(first: Pid, points: &[MountPoint]) -> Result<(), ConfinementError> {
    let root = PathBuf::from(format!("/proc/{}/root", first.as_raw_nonzero()));
    for point in points {
        let seen = point.path.strip_prefix("/").map_err(|_| Errno::INVAL);
        let seen = seen.and_then(|relative| open_beneath(&root, relative));
        let seen = seen.and_then(|file| fstat(&file));
        let is_mounted =
            seen.is_ok_and(|seen| (seen.st_dev, seen.st_ino) == (point.device, point.inode));
        if !is_mounted {
            return Err(ConfinementError(format!(
                "the sandbox is incomplete: {} was exchanged while the sandbox started; end the \
                 programs that change this folder, then try again",
                point.path.display()
            )));
        }
    }
    Ok(())
}

/// Opens a path below a folder; neither leads over a link, except for the folder's own path.
fn open_beneath(folder: &Path, relative: &Path) -> Result<OwnedFd, Errno> {
    tree::open_beneath(open(folder)?, relative, OFlags::PATH)
}

fn open(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

fn reason(errno: Errno) -> String {
    match errno {
        Errno::LOOP | Errno::XDEV => "the path leads over a link".to_owned(),
        errno => std::io::Error::from(errno).to_string(),
    }
}

fn refuse(path: &Path, why: &str) -> ConfinementError {
    ConfinementError(format!(
        "nothing can be mounted safely at {}: {why}; put a folder or file there instead",
        path.display()
    ))
}

/// Whether a path exists; bubblewrap skips optional mounts of paths that do not.
pub(super) fn is_present(path: &Path) -> bool {
    fs::metadata(path).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mount(from: &Path, to: impl Into<PathBuf>) -> Mount {
        Mount {
            from: from.to_owned(),
            to: to.into(),
        }
    }

    #[test]
    fn a_mount_point_in_a_folder_exists_and_leads_over_no_link() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (top, file) = (folder.path(), outside.path().join("file"));
        fs::write(&file, "").unwrap();
        fs::create_dir(top.join("plain")).unwrap();
        fs::write(top.join("plain/file"), "").unwrap();
        symlink(outside.path(), top.join("link")).unwrap();
        symlink("plain", top.join("inner")).unwrap();
        symlink(&file, top.join("last")).unwrap();
        let at = |name: &str| {
            let mounts = [mount(top, top), mount(&file, top.join(name))];
            check(&mounts, &[]).map(|points| points.len())
        };
        assert_eq!(at("plain/file"), Ok(1));
        for name in [
            "link/file",
            "link/new",
            "inner/file",
            "last",
            "new",
            "plain/new",
            "plain/../x",
        ] {
            let error = at(name).unwrap_err().to_string();
            assert!(error.contains("nothing can be mounted safely"), "{error}");
        }
    }

    #[test]
    fn a_mount_point_outside_of_all_mounts_leads_over_no_link_of_the_sandbox() {
        let folder = tempfile::tempdir().unwrap();
        let links = [PathBuf::from("/bin")];
        assert_eq!(
            check(&[mount(folder.path(), "/binary/x")], &links),
            Ok(Vec::new())
        );
        assert!(check(&[mount(folder.path(), "/bin/x")], &links).is_err());
    }

    #[test]
    fn a_refusal_reports_a_link_or_another_cause() {
        for errno in [Errno::LOOP, Errno::XDEV] {
            assert_eq!(reason(errno), "the path leads over a link");
        }
        assert!(reason(Errno::NOENT).contains("No such file"));
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        symlink("elsewhere", top.join("link")).unwrap();
        let refused = |from: &Path, name: &str| {
            let mounts = [mount(top, "/w"), mount(from, Path::new("/w").join(name))];
            check(&mounts, &[]).unwrap_err().to_string()
        };
        let error = refused(top, "link");
        assert!(
            error.contains("/w/link: the path leads over a link;"),
            "{error}"
        );
        let error = refused(top, "none");
        assert!(error.contains("/w/none: No such file"), "{error}");
        fs::write(top.join("file"), "").unwrap();
        let error = refused(Path::new("/no such file"), "file");
        assert!(error.contains("at /no such file: No such file"), "{error}");
        let mounts = [mount(top, "/links/inner")];
        let error = check(&mounts, &["/links".into()]).unwrap_err().to_string();
        assert!(
            error.contains("/links/inner: /links is a link inside;"),
            "{error}"
        );
    }

    #[test]
    fn a_mount_point_shows_the_last_file_that_was_mounted_there() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        for name in ["w", "w/at", "one", "two"] {
            fs::create_dir(top.join(name)).unwrap();
        }
        let at = top.join("w/at");
        let outer = top.join("w");
        let mounts = [
            mount(&outer, &outer),
            mount(&outer, &outer),
            mount(&top.join("one"), &at),
            mount(&top.join("two"), &at),
        ];
        let points = check(&mounts, &[]).unwrap();
        let inode = |name: &str| fstat(open(&top.join(name)).unwrap()).unwrap().st_ino;
        let found: Vec<(&Path, u64)> = points
            .iter()
            .map(|point| (point.path.as_path(), point.inode))
            .collect();
        assert_eq!(found, [(at.as_path(), inode("two"))]);
        // Nothing is mounted here, so that the point shows the folder itself.
        let own = rustix::process::getpid();
        let error = verify(own, &points).unwrap_err().to_string();
        assert!(
            error.contains("was exchanged while the sandbox started"),
            "{error}"
        );
        let plain = check(&[mount(&outer, &outer), mount(&at, &at)], &[]).unwrap();
        assert_eq!(plain.len(), 1);
        assert_eq!(verify(own, &plain), Ok(()));
        fs::rename(&at, top.join("w/away")).unwrap();
        fs::create_dir(&at).unwrap();
        assert!(verify(own, &plain).is_err());
    }

    #[test]
    fn a_file_that_cannot_be_read_is_mounted_by_its_path_alone() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        fs::write(top.join("at"), "").unwrap();
        let _server = std::os::unix::net::UnixListener::bind(top.join("server")).unwrap();
        let mounts = [mount(top, top), mount(&top.join("server"), top.join("at"))];
        assert_eq!(check(&mounts, &[]).map(|points| points.len()), Ok(1));
        assert!(is_present(&top.join("server")));
        assert!(!is_present(&top.join("none")));
    }
}
