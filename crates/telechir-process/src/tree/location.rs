//! Where a path leads, and whether a folder decides about it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

/// As in the kernel.
const MAX_LINKS: u32 = 40;

/// A resolved path: each folder in which one of its names was looked up, and its target. Whoever
/// can write to one of them chooses where the path leads.
///
/// Folders are compared by device and inode, and by their place on their file system, so that links
/// and mounts of the same folder elsewhere make no difference.
#[derive(Clone, Debug)]
pub struct Location {
    path: PathBuf,
    /// The last one is the target, or the folder that its missing part would be in.
    steps: Vec<Step>,
    /// Whether there is a target.
    exists: bool,
}

/// A folder or file on the way.
#[derive(Clone, Debug)]
struct Step {
    device: u64,
    inode: u64,
    disk_path: Option<DiskPath>,
}

/// A file system, and a path on it that does not depend on where it is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DiskPath {
    file_system: OsString,
    path: PathBuf,
}

impl Location {
    /// Resolves a path, the missing end of which does not matter.
    ///
    /// # Errors
    /// If a folder on the way cannot be read, or links form a cycle.
    pub fn of(path: &Path) -> io::Result<Self> {
        let mounts = Mounts::read();
        let mut resolved = Self {
            path: if path.is_absolute() {
                PathBuf::from("/")
            } else {
                std::env::current_dir()?
            },
            steps: Vec::new(),
            exists: false,
        };
        let mut rest = components(path);
        let mut links = 0;
        while let Some(part) = rest.pop() {
            if part == "/" {
                resolved.path = PathBuf::from("/");
                continue;
            }
            if part == ".." {
                resolved.path.pop();
                continue;
            }
            resolved.steps.push(Step::of(&resolved.path, &mounts)?);
            let next = resolved.path.join(&part);
            let found = match fs::symlink_metadata(&next) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(resolved),
                found => found?,
            };
            if !found.is_symlink() {
                resolved.path = next;
                continue;
            }
            links += 1;
            if links > MAX_LINKS {
                return Err(io::Error::other("its links form a cycle"));
            }
            rest.extend(components(&fs::read_link(&next)?));
        }
        resolved.steps.push(Step::of(&resolved.path, &mounts)?);
        resolved.exists = true;
        Ok(resolved)
    }

    /// Whether whoever can write to `folder` decides about this path: it is the folder itself, or
    /// in it, or leads over a name in it.
    pub fn is_inside(&self, folder: &Self) -> bool {
        let folder = folder.target();
        folder.is_some_and(|folder| self.steps.iter().any(|step| step.is_inside(folder)))
    }

    /// Whether the target is this folder, or in it.
    pub fn target_is_inside(&self, folder: &Self) -> bool {
        match (self.target(), folder.target()) {
            (Some(target), Some(folder)) => target.is_inside(folder),
            _ => false,
        }
    }

    /// Whether both are the same file or folder.
    pub fn is_same(&self, other: &Self) -> bool {
        let id = |target: &Step| (target.device, target.inode);
        let own = self.target().map(id);
        own.is_some() && own == other.target().map(id)
    }

    fn target(&self) -> Option<&Step> {
        self.steps.last().filter(|_| self.exists)
    }

    /// The mounts below this folder. Whoever can write to the folder may be able to write to them.
    pub fn mounts_below(&self) -> Vec<Self> {
        let points = Mounts::read().0.into_iter().map(|(.., point)| point);
        let below = points.filter(|point| *point != self.path && point.starts_with(&self.path));
        // One that cannot be looked up has nothing to compare.
        below.filter_map(|point| Self::of(&point).ok()).collect()
    }

    /// The path without links, as far as it exists.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Device and inode of the target, and of all folders above it by path.
    ///
    /// # Errors
    /// If a folder above cannot be read.
    pub fn with_parents(&self) -> io::Result<Vec<(u64, u64)>> {
        let id = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino()));
        self.path.ancestors().map(id).collect()
    }
}

impl Step {
    fn of(path: &Path, mounts: &Mounts) -> io::Result<Self> {
        let found = fs::symlink_metadata(path)?;
        Ok(Self {
            device: found.dev(),
            inode: found.ino(),
            disk_path: mounts.disk_path(path),
        })
    }

    fn is_inside(&self, folder: &Self) -> bool {
        let is_same = (self.device, self.inode) == (folder.device, folder.inode);
        let is_below = match (&self.disk_path, &folder.disk_path) {
            (Some(own), Some(folder)) => {
                own.file_system == folder.file_system && own.path.starts_with(&folder.path)
            }
            _ => false,
        };
        is_same || is_below
    }
}

/// The parts of a path, the first one last.
fn components(path: &Path) -> Vec<OsString> {
    let part = |part: Component<'_>| match part {
        Component::CurDir | Component::Prefix(_) => None,
        Component::RootDir => Some(OsString::from("/")),
        Component::ParentDir => Some(OsString::from("..")),
        Component::Normal(name) => Some(name.to_owned()),
    };
    let mut parts: Vec<OsString> = path.components().filter_map(part).collect();
    parts.reverse();
    parts
}

/// The mounts of this process: number, file system, mounted folder of it, mount point.
struct Mounts(Vec<(u64, OsString, PathBuf, PathBuf)>);

impl Mounts {
    fn read() -> Self {
        let text = fs::read("/proc/thread-self/mountinfo").unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n');
        Self(lines.filter_map(mount).collect())
    }

    /// The path on disk of a path without links.
    fn disk_path(&self, path: &Path) -> Option<DiskPath> {
        let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::MNT_ID).ok()?;
        let (_, file_system, root, point) = self
            .0
            .iter()
            .find(|(number, ..)| *number == found.stx_mnt_id)?;
        Some(DiskPath {
            file_system: file_system.clone(),
            path: root.join(path.strip_prefix(point).ok()?),
        })
    }
}

/// A line of `mountinfo`, see proc(5).
fn mount(line: &[u8]) -> Option<(u64, OsString, PathBuf, PathBuf)> {
    let mut fields = line.split(|byte| *byte == b' ');
    let number = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let _parent = fields.next()?;
    let file_system = OsStr::from_bytes(fields.next()?).to_owned();
    let (root, point) = (unescaped(fields.next()?), unescaped(fields.next()?));
    Some((number, file_system, root, point))
}

/// Replaces `\040` and the like.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((byte, after)) = rest.split_first() {
        let escaped = after
            .get(..3)
            .filter(|_| *byte == b'\\')
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match escaped {
            Some(character) => {
                bytes.push(character);
                rest = &after[3..];
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn location(path: &Path) -> Location {
        Location::of(path).unwrap()
    }

    #[test]
    fn a_path_is_inside_of_every_folder_that_decides_about_it() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("work/sub")).unwrap();
        fs::create_dir(at("other")).unwrap();
        fs::write(at("other/policy"), "").unwrap();
        symlink("../other/policy", at("work/link")).unwrap();
        symlink("work/sub", at("into")).unwrap();
        let work = location(&at("work"));
        for inside in [
            "work",
            "work/sub",
            "work/missing/deeper",
            "work/link",
            "into",
            "into/missing",
            "work/sub/../../other/policy",
        ] {
            assert!(location(&at(inside)).is_inside(&work), "{inside}");
        }
        for outside in [
            "",
            "other",
            "other/policy",
            "work/../other/policy",
            "missing",
        ] {
            assert!(!location(&at(outside)).is_inside(&work), "{outside}");
        }
        assert!(!work.is_inside(&location(&at("missing"))));
        assert!(work.is_inside(&location(root.path())));
    }

    #[test]
    fn names_of_mounts_are_unescaped() {
        assert_eq!(unescaped(br"/a\040b\134c"), Path::new("/a b\\c"));
        assert_eq!(unescaped(br"/a\9"), Path::new(r"/a\9"));
    }
}
