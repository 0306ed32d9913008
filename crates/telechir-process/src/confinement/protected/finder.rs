//! Collects the protected paths of a workspace and how each is mounted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use telechir_protocol::{GIT_DIR, PROTECTED_PATHS, WhileMissing, fold, protected_below};

use super::git::{GitUser, Setting};
use super::git_names::is_writable;
use super::masks::{self, Masks, Placeholder};
use super::mount::{MissingFiles, MountAccess, ProtectionRefusal};
use super::scanner::{Finding, MadeBy, Scanner, open_folder};
use super::{configured, git, links, repository};
use crate::confinement::workspace;
use crate::{is_root, tree};

/// Maximum number of protected paths in subfolders: bubblewrap needs a moment for each mount.
const MAX_MOUNTS: usize = 600;
/// Maximum length of a path to mount; bubblewrap adds a prefix, and the kernel's limit is 4096.
const MAX_PATH_BYTES: usize = 4000;
/// Maximum number of repositories whose configuration Git is asked for.
const MAX_QUERIED: usize = 50;

/// The paths found so far.
#[derive(Debug)]
pub(super) struct ProtectedFinder<'a> {
    pub(super) folder: &'a Path,
    missing: MissingFiles,
    pub(super) mounts: BTreeMap<PathBuf, MountAccess>,
    pub(super) masks: Masks,
    pub(super) repositories: BTreeSet<PathBuf>,
    pub(super) scanner: Scanner,
    pub(super) gaps: Vec<String>,
    /// Paths in the workspace that are the user's and cannot all be mounted.
    pub(super) existing: Vec<PathBuf>,
    /// Those among them, and entries of repositories, that can be changed, relative to the folder.
    pub(super) unprotected: BTreeSet<PathBuf>,
    /// What each configuration of Git in the workspace sets.
    pub(super) configurations: BTreeMap<PathBuf, BTreeSet<Setting>>,
    /// Links at other than protected paths, relative to the folder.
    pub(super) links: Vec<PathBuf>,
    /// Paths in the workspace that `.git` files name as repositories; they may be missing.
    pub(super) named: BTreeSet<PathBuf>,
}

impl<'a> ProtectedFinder<'a> {
    /// Finds everything in a folder.
    pub(super) fn search(
        folder: &'a Path,
        missing: MissingFiles,
    ) -> Result<Self, ProtectionRefusal> {
        let scanner = Scanner::new(folder).map_err(|errno| {
            ProtectionRefusal(format!("failed to search {}: {errno}", folder.display()))
        })?;
        let mut found = Self {
            folder,
            missing,
            mounts: BTreeMap::new(),
            masks: Masks::default(),
            repositories: BTreeSet::new(),
            scanner,
            gaps: Vec::new(),
            existing: Vec::new(),
            unprotected: BTreeSet::new(),
            configurations: BTreeMap::new(),
            links: Vec::new(),
            named: BTreeSet::new(),
        };
        found.search_top()?;
        found.search_below()?;
        found.ask_git()?;
        if let Some(stopped) = links::protect_targets(&mut found)? {
            found.gaps.push(format!(
                "{} and other protected folders have too many files to look for links in them",
                stopped.display()
            ));
        }
        Ok(found)
    }

    /// Protects the paths of the list at the top, and the places of missing ones.
    fn search_top(&mut self) -> Result<(), ProtectionRefusal> {
        for (name, while_missing) in PROTECTED_PATHS {
            let path = self.folder.join(name);
            match while_missing {
                WhileMissing::Reserved => self.reserve(&path, Placeholder::EMPTY_FILE)?,
                // An existing one is found below.
                WhileMissing::Noticed => {}
            }
        }
        let own = self.folder.join(GIT_DIR);
        match fs::symlink_metadata(&own) {
            Ok(found) if found.is_dir() && !masks::is_placeholder(&own) => Ok(()),
            Ok(_) => self.protect(&own),
            // A folder that is no repository, which Git passes over.
            Err(_) => self.reserve(&own, Placeholder::EmptyFolder),
        }
    }

    /// Protects the paths of the list and the repositories at any depth.
    fn search_below(&mut self) -> Result<(), ProtectionRefusal> {
        let mut findings = self.scanner.scan(MadeBy::User);
        let links = findings.extract_if(.., |finding| matches!(finding, Finding::Link(_)));
        self.links = links.map(|link| link.path().to_owned()).collect();
        findings.sort_by_key(|finding| finding.path().components().count());
        let paths = findings.iter().map(|finding| finding.path().to_owned());
        self.existing = paths.collect();
        for finding in findings {
            let path = self.folder.join(finding.path());
            if masks_contain(&self.masks, &path) {
                continue;
            }
            if self.mounts.len() >= MAX_MOUNTS || path.as_os_str().len() > MAX_PATH_BYTES {
                self.leave_unprotected(&finding);
                continue;
            }
            match finding {
                Finding::Protected(_) => self.protect_found(&path)?,
                Finding::Repository(_) => repository::protect(self, &path)?,
                Finding::LinkInRepository(_) | Finding::Link(_) => {}
            }
        }
        self.protect_over_links()?;
        if let Some(first) = self.unprotected.first() {
            self.gaps.push(format!(
                "{} protected paths in subfolders, such as {}, are not read-only, because there \
                 are too many or their names are too long; the result of a command names those \
                 that it changed, but they stay changed",
                self.unprotected.len(),
                self.folder.join(first).display()
            ));
        }
        if let Some((stopped, why)) = &self.scanner.unsearched {
            let stopped = self.folder.join(stopped);
            self.gaps.push(format!(
                "protected files in {} and other folders are neither read-only nor noticed: {why}",
                stopped.display()
            ));
        }
        Ok(())
    }

    /// Protects what is at a path of the list only because a link is part of that path.
    fn protect_over_links(&mut self) -> Result<(), ProtectionRefusal> {
        let mut targets = Vec::new();
        for link in &self.links {
            let below = protected_below(&link.to_string_lossy()).into_iter();
            let below = below.map(|(_, rest)| self.folder.join(link).join(rest));
            targets.extend(below.filter_map(|path| fs::canonicalize(path).ok()));
        }
        targets.retain(|target| self.is_inside(target));
        targets.iter().try_for_each(|target| self.protect(target))
    }

    /// Protects every name in the workspace of these files, given by device and inode: by any of them
    /// they could be changed.
    pub(super) fn protect_other_names(
        &mut self,
        files: &BTreeSet<(u64, u64)>,
    ) -> Result<(), ProtectionRefusal> {
        if files.is_empty() {
            return Ok(());
        }
        let inodes: BTreeSet<u64> = files.iter().map(|(_, inode)| *inode).collect();
        let mut names = Vec::new();
        for folder in self.scanner.folders() {
            let opened = open_folder(self.scanner.root(), folder);
            let entries = opened.and_then(tree::inodes).unwrap_or_default();
            let fitting = entries
                .into_iter()
                .filter(|(_, inode)| inodes.contains(inode));
            names.extend(fitting.map(|(name, _)| self.folder.join(folder).join(name)));
        }
        names.sort();
        for path in names {
            let found = fs::symlink_metadata(&path);
            if !found.is_ok_and(|found| files.contains(&(found.dev(), found.ino()))) {
                continue;
            }
            if self.mounts.len() >= MAX_MOUNTS {
                self.gaps.push(format!(
                    "{} and other names of protected files are not read-only, because there are too \
                     many",
                    path.display()
                ));
                break;
            }
            self.protect(&path)?;
        }
        Ok(())
    }

    /// Remembers what is the user's and cannot be mounted.
    fn leave_unprotected(&mut self, finding: &Finding) {
        let path = finding.path().to_owned();
        if let Finding::Repository(repository) = finding {
            self.repositories.insert(self.folder.join(repository));
            let opened = open_folder(self.scanner.root(), repository);
            let names = opened.and_then(tree::entries).unwrap_or_default();
            let names = names.into_iter().map(|(name, _)| name);
            let read_only = names.filter(|name| !name.to_str().is_some_and(is_writable));
            self.unprotected
                .extend(read_only.map(|name| repository.join(name)));
        } else {
            self.unprotected.insert(path);
        }
    }

    /// Protects a path in a subfolder. A link stays as it is: its target is protected, and its
    /// replacement is noticed.
    fn protect_found(&mut self, path: &Path) -> Result<(), ProtectionRefusal> {
        let Ok(metadata) = fs::symlink_metadata(path) else {
            return Ok(());
        };
        self.protect_named(path)?;
        if metadata.is_symlink() {
            if let Ok(target) = fs::canonicalize(path)
                && self.is_inside(&target)
            {
                self.protect(&target)?;
            }
            return Ok(());
        }
        self.protect(path)
    }

    /// Protects the repository that a file with the name `.git` names, now or as soon as it exists.
    pub(super) fn protect_named(&mut self, file: &Path) -> Result<(), ProtectionRefusal> {
        let name = file.file_name().unwrap_or_default();
        if fold(&name.to_string_lossy()) != GIT_DIR {
            return Ok(());
        }
        let named =
            repository::named_by(file).map(|named| fs::canonicalize(&named).unwrap_or(named));
        let Some(named) = named.filter(|named| self.is_inside(named)) else {
            return Ok(());
        };
        self.named.insert(named.clone());
        match git::is_repository(&named) {
            true => repository::protect(self, &named),
            false => Ok(()),
        }
    }

    /// Protects what the configuration of each repository names.
    fn ask_git(&mut self) -> Result<(), ProtectionRefusal> {
        if !git::is_installed() {
            return Ok(());
        }
        let mut queried = vec![around(self.folder)];
        let own = self
            .repositories
            .iter()
            .take(MAX_QUERIED)
            .map(|repository| {
                let is_git_dir = repository.file_name().is_some_and(|name| name == GIT_DIR);
                let parent = repository.parent().filter(|_| is_git_dir);
                let worktree = parent.unwrap_or(self.folder).to_owned();
                (Some(repository.clone()), worktree)
            });
        queried.extend(own);
        for user in self.git_users() {
            for (repository, worktree) in &queried {
                let answer = configured::protect(self, &user, repository.as_deref(), worktree)?;
                if let Some(why) = answer {
                    let name = repository.as_ref().unwrap_or(worktree);
                    self.gaps.push(format!(
                        "Git did not answer which programs the configuration of {} names: {why}",
                        name.display()
                    ));
                }
            }
        }
        if self.repositories.len() > MAX_QUERIED {
            self.gaps.push(format!(
                "Git was asked for the configuration of {MAX_QUERIED} of {} repositories only",
                self.repositories.len()
            ));
        }
        Ok(())
    }

    /// Those whose Git works in the workspace: who runs telechir and, if that is root, the
    /// workspace's owner.
    fn git_users(&mut self) -> Vec<GitUser> {
        let mut users = vec![GitUser::current()];
        let owner = workspace::owner_of(self.folder).filter(|owner| is_root() && owner.uid != 0);
        let is_used_outside = self.missing == MissingFiles::Masked;
        if let Some(owner) = owner.filter(|_| is_used_outside) {
            let user = GitUser::other(owner);
            if user.home.is_none() {
                self.gaps.push(format!(
                    "user {}, who owns the workspace, has no account here: what the Git \
                     configuration of that user names in the workspace can be changed",
                    owner.uid
                ));
            }
            users.push(user);
        }
        users
    }

    /// Whether a path is in the workspace, but not the workspace itself.
    pub(super) fn is_inside(&self, path: &Path) -> bool {
        path.starts_with(self.folder) && path != self.folder
    }

    /// Protects a path of the folder, or the position of a missing one.
    pub(super) fn protect(&mut self, path: &Path) -> Result<(), ProtectionRefusal> {
        self.reserve(path, Placeholder::EMPTY_FILE)
    }

    /// Like [`Self::protect`], with this placeholder for a missing path.
    pub(super) fn reserve(
        &mut self,
        path: &Path,
        placeholder: Placeholder,
    ) -> Result<(), ProtectionRefusal> {
        let Some(there) = self.first_special(path) else {
            self.mount(path, MountAccess::ReadOnly);
            self.masks.share(path);
            return Ok(());
        };
        match fs::symlink_metadata(&there) {
            Ok(found) if found.is_symlink() => self.refuse(&there),
            // A file where a folder would be needed: nothing can be created below it.
            Ok(_) => {
                self.mount(&there, MountAccess::ReadOnly);
                self.masks.share(&there);
                Ok(())
            }
            Err(_) if self.missing == MissingFiles::Masked => {
                let is_itself = there == path;
                let placeholder = if is_itself {
                    placeholder
                } else {
                    Placeholder::EMPTY_FILE
                };
                let masked = self.masks.add(&there, placeholder);
                masked.map_err(|error| {
                    ProtectionRefusal(format!("failed to protect {}: {error}", there.display()))
                })?;
                self.mount(&there, MountAccess::ReadOnly);
                Ok(())
            }
            Err(_) => Ok(()),
        }
    }

    /// The first component of a path below the folder that is missing, a link, or a file in the
    /// middle.
    fn first_special(&self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix(self.folder).ok()?;
        let mut current = self.folder.to_owned();
        for part in below.components() {
            current.push(part);
            let is_plain = fs::symlink_metadata(&current)
                .is_ok_and(|found| found.is_dir() || (current == path && !found.is_symlink()));
            if !is_plain {
                return Some(current);
            }
        }
        None
    }

    /// Refuses a link: it can be replaced, and nothing can be mounted on it. In a folder that only
    /// we use, no other program follows it.
    pub(super) fn refuse(&self, link: &Path) -> Result<(), ProtectionRefusal> {
        match self.missing {
            MissingFiles::Creatable => Ok(()),
            MissingFiles::Masked => Err(ProtectionRefusal(format!(
                "{} is a link at a protected path, and a command could replace it; put its target \
                 there, or choose another folder with --workspace",
                link.display()
            ))),
        }
    }

    /// Mounts a path and pins the folders around it: renaming one of them would move the mount
    /// along and free the path for a new file.
    pub(super) fn mount(&mut self, path: &Path, access: MountAccess) {
        let mut unmounted = Vec::new();
        for above in path.ancestors() {
            match self.mounts.get(above) {
                Some(MountAccess::ReadOnly) if access == MountAccess::ReadOnly => return,
                Some(_) => break,
                None if !self.is_inside(above) => break,
                None => unmounted.push(above.to_owned()),
            }
        }
        for above in unmounted {
            self.mounts.insert(above, MountAccess::Pinned);
        }
        if access == MountAccess::ReadOnly {
            // A writable mount in it would be a hole.
            self.mounts.retain(|other, access| {
                *access == MountAccess::ReadOnly || !other.starts_with(path)
            });
            self.mounts.insert(path.to_owned(), access);
        }
    }
}

/// The repository around a folder, if it is in one, and its worktree.
fn around(folder: &Path) -> (Option<PathBuf>, PathBuf) {
    for above in folder.ancestors() {
        let own = above.join(GIT_DIR);
        let named = repository::named_by(&own);
        let repository = named.unwrap_or(own);
        if git::is_repository(&repository) {
            return (Some(repository), above.to_owned());
        }
    }
    (None, folder.to_owned())
}

fn masks_contain(masks: &Masks, path: &Path) -> bool {
    masks.paths().iter().any(|mask| path.starts_with(mask))
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use rustix::fs::{AtFlags, Mode, mkdirat, unlinkat};

    use super::super::{Outcome, Protected};
    use super::*;

    #[test]
    fn a_path_that_is_too_long_to_mount_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let top = tree::open_folder(&real).unwrap();
        let mut deep = PathBuf::new();
        for name in ["d".repeat(200).as_str(); 20].into_iter().chain([".hg"]) {
            deep.push(name);
            let (parent, name) = tree::open_parent(&top, &deep).unwrap();
            mkdirat(parent, name, Mode::RWXU).unwrap();
        }
        fs::create_dir_all(real.join("sub/.hg")).unwrap();
        let protected = Protected::find(&real, MissingFiles::Masked).unwrap();
        let [gap] = &protected.gaps[..] else {
            panic!("{:?}", protected.gaps);
        };
        assert!(
            gap.starts_with("1 protected paths in subfolders, such as"),
            "{gap}"
        );
        let mounts = &protected.mounts;
        assert_eq!(
            mounts.get(&real.join("sub/.hg")),
            Some(&MountAccess::ReadOnly)
        );
        assert_eq!(mounts.get(&real.join("sub")), Some(&MountAccess::Pinned));
        assert_eq!(mounts.get(&real.join(&deep)), None);
        // Nobody knows who changes it, so it stays.
        let (parent, name) = tree::open_parent(&top, &deep).unwrap();
        unlinkat(&parent, name, AtFlags::REMOVEDIR).unwrap();
        mkdirat(&parent, name, Mode::RWXU).unwrap();
        let undone = protected.undo_changes().into_iter();
        let undone: Vec<_> = undone.map(|undone| (undone.path, undone.outcome)).collect();
        assert_eq!(undone, [(deep, Outcome::Stays)]);
    }

    /// Makes what Git takes for a repository, with two names that it does not write.
    fn make_repository(parent: &OwnedFd, name: &Path) {
        mkdirat(parent, name, Mode::RWXU).unwrap();
        let own = open_folder(parent, name).unwrap();
        for name in ["HEAD", "objects", "refs", "config", "hooks"] {
            mkdirat(&own, name, Mode::RWXU).unwrap();
        }
    }

    #[test]
    fn of_a_repository_that_cannot_be_mounted_what_git_does_not_write_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let top = tree::open_folder(&real).unwrap();
        let mut deep = PathBuf::new();
        for name in ["d".repeat(200).as_str(); 20] {
            deep.push(name);
            let (parent, name) = tree::open_parent(&top, &deep).unwrap();
            mkdirat(parent, name, Mode::RWXU).unwrap();
        }
        make_repository(&open_folder(&top, &deep).unwrap(), Path::new("bare"));
        let protected = Protected::find(&real, MissingFiles::Masked).unwrap();
        let [gap] = &protected.gaps[..] else {
            panic!("{:?}", protected.gaps);
        };
        assert!(gap.starts_with("2 protected paths in subfolders"), "{gap}");
    }

    #[test]
    fn repositories_beyond_those_that_git_reads_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let top = tree::open_folder(&real).unwrap();
        let gaps = || {
            let protected = Protected::find(&real, MissingFiles::Creatable).unwrap();
            protected.gaps.clone()
        };
        for number in 0..MAX_QUERIED {
            make_repository(&top, Path::new(&number.to_string()));
        }
        let why = "repositories only";
        assert!(!gaps().iter().any(|gap| gap.contains(why)));
        for number in 1..=2 {
            make_repository(&top, Path::new(&format!("more{number}")));
            let all = MAX_QUERIED + number;
            let expected =
                format!("Git was asked for the configuration of {MAX_QUERIED} of {all} {why}");
            assert_eq!(gaps().last(), Some(&expected));
        }
    }

    #[test]
    fn a_file_that_nobody_else_uses_may_be_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("elsewhere", real.join(".vscode")).unwrap();
        let error = Protected::find(&real, MissingFiles::Masked).unwrap_err();
        assert!(error.to_string().contains(".vscode is a link"), "{error}");
        let protected = Protected::find(&real, MissingFiles::Creatable).unwrap();
        assert_eq!(protected.mounts.get(&real.join(".vscode")), None);
    }
}
