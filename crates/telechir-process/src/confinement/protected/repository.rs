//! Git's own folders: read-only, except for what Git writes in normal work and never executes.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat};

use super::finder::ProtectedFinder;
use super::git;
use super::git_names::is_writable;
use super::masks::Placeholder;
use super::mount::{MountAccess, ProtectionRefusal, resolve_lexically};

/// Names that change what Git executes, if they appear, and what takes their place: for Git it
/// means the same as a missing one.
const RESERVED: [(&str, Placeholder); 8] = [
    (COMMON, Placeholder::File(".\n")),
    ("config", Placeholder::EMPTY_FILE),
    ("hooks", Placeholder::EMPTY_FILE),
    ("info", Placeholder::EMPTY_FILE),
    ("modules", Placeholder::EMPTY_FILE),
    ("worktrees", Placeholder::EMPTY_FILE),
    ("remotes", Placeholder::EMPTY_FILE),
    ("branches", Placeholder::EMPTY_FILE),
];
/// The file that names the repository with the configuration.
const COMMON: &str = "commondir";

/// The repository that a `.git` file names, or a link to such a file.
pub(super) fn named_by(file: &Path) -> Option<PathBuf> {
    let text = read_small(file)?;
    let named = text.strip_prefix("gitdir:")?;
    Some(resolve_lexically(file.parent()?, Path::new(named.trim())))
}

/// The repository whose configuration counts for another one, if that names one which exists.
pub(super) fn common_of(repository: &Path) -> Option<PathBuf> {
    let text = read_small(&repository.join(COMMON))?;
    fs::canonicalize(repository.join(text.trim())).ok()
}

/// The text of a small regular file, or of the one that a link leads to, as Git follows it. Nothing
/// else is opened for reading: a device or a pipe has no end, and opening some has an effect. Files
/// of the kernel, such as `/proc/kmsg`, have no size and are not read either.
fn read_small(path: &Path) -> Option<String> {
    let path_only = OFlags::PATH | OFlags::CLOEXEC;
    let found = rustix::fs::open(path, path_only, Mode::empty()).ok()?;
    let stat = fstat(&found).ok()?;
    let is_regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    let max = git::MAX_CONFIG_BYTES;
    let is_small = u64::try_from(stat.st_size).is_ok_and(|bytes| (1..=max).contains(&bytes));
    if !is_regular || !is_small {
        return None;
    }
    // The same file, whatever is at the path by now.
    let same = format!("/proc/self/fd/{}", found.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(same, flags, Mode::empty()).ok()?);
    let mut text = String::new();
    file.take(max + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= max).then_some(text)
}

/// Protects a repository. Those of its submodules and linked worktrees are found in its folder.
pub(super) fn protect(
    found: &mut ProtectedFinder<'_>,
    repository: &Path,
) -> Result<(), ProtectionRefusal> {
    if !found.repositories.insert(repository.to_owned()) {
        return Ok(());
    }
    // Pinned even if nothing in it is protected: it must not be moved.
    found.mount(repository, MountAccess::Pinned);
    let mut entries: Vec<PathBuf> = fs::read_dir(repository)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    entries.sort();
    for entry in &entries {
        let name = entry.file_name().unwrap_or_default();
        if !name.to_str().is_some_and(is_writable) {
            found.protect(entry)?;
        }
    }
    let is_linked = repository.join(COMMON).exists();
    for (name, placeholder) in RESERVED {
        let missing = !entries.contains(&repository.join(name));
        if missing && !is_linked {
            found.reserve(&repository.join(name), placeholder)?;
        }
    }
    if repository.join("objects/info").is_dir() {
        found.reserve(
            &repository.join("objects/info/alternates"),
            Placeholder::EMPTY_FILE,
        )?;
    }
    if let Some(common) = common_of(repository).filter(|common| found.is_inside(common)) {
        protect(found, &common)?;
    }
    Ok(())
}
