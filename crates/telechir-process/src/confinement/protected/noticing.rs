//! Notices what sandboxed programs create at protected paths, and moves it to a name that nothing obeys.

mod links;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::mem;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{Mode, OFlags, RenameFlags, fchmod, fstat, renameat_with};
use rustix::io::Errno;
use telechir_protocol::{
    BLOCKED_ENDING, fold, is_protected_entry, protected_below, protected_name_count,
};

use self::links::Links;
use super::dangers::{self, Danger};
use super::finder::ProtectedFinder;
use super::git::Setting;
use super::masks;
use super::mount::MountAccess;
use super::scanner::{Finding, MadeBy, Scanner, Stamp, Unsearched, open_folder};
use crate::confinement::file_identity::FileIdentity;
use crate::tree;

/// Number of names to try before random ones, which nobody can occupy in advance.
const PLAIN_NAMES: usize = 10;
/// Maximum number of names to try.
const MAX_NAMES: usize = 20;
/// Folders and files of version control, in their folded spelling.
const VERSION_CONTROL: [&str; 9] = [
    ".git", "git~1", ".hg", ".hgrc", ".jj", ".sl", ".svn", ".bzr", ".repo",
];
/// Files of a repository whose content matters, besides the folder itself.
const WATCHED_IN_REPOSITORY: [&str; 9] = [
    "config",
    "hooks",
    "index",
    "rebase-merge/git-rebase-todo",
    "rebase-merge/strategy",
    "rebase-apply/git-rebase-todo",
    "rebase-apply/apply-opt",
    "sequencer/todo",
    "sequencer/opts",
];

/// Paths that stay in folders of this session, by the uppermost of these folders.
type Left = BTreeMap<PathBuf, Vec<PathBuf>>;

/// Files that an approved edit wrote, by absolute path.
static EDITED: Mutex<BTreeMap<PathBuf, Stamp>> = Mutex::new(BTreeMap::new());

/// What stayed in folders of this session, by workspace: a shell that is started again finds it as if
/// it were the user's.
static LEFT: Mutex<BTreeMap<PathBuf, BTreeSet<PathBuf>>> = Mutex::new(BTreeMap::new());

/// Accepts a file as it is now, because the user approved the edit that wrote it. `folder` is the
/// workspace and `inside` the file's path in it.
pub fn accept_edit(folder: &Path, inside: &Path) {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(folder, flags, Mode::empty());
    let mut edited = EDITED.lock().unwrap_or_else(PoisonError::into_inner);
    // The new file may be in a folder that the edit created, too.
    for path in inside.ancestors().filter(|path| *path != Path::new("")) {
        let stamp = opened.as_ref().ok().and_then(|root| Stamp::of(root, path));
        let is_protected = is_protected_entry(&path.to_string_lossy());
        match stamp.filter(|_| is_protected) {
            Some(stamp) => edited.insert(folder.join(path), stamp),
            None => edited.remove(&folder.join(path)),
        };
    }
}

/// Something that a sandboxed program left at a protected path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The path, relative to the workspace.
    pub path: PathBuf,
    /// What became of it.
    pub outcome: Outcome,
    reason: String,
}

/// What became of something at a protected path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has this path now, relative to the workspace.
    MovedTo(PathBuf),
    /// It could not be moved because of this.
    NotMoved(String),
    /// It was there before the session, so it stays as the program left it.
    Stays,
    /// Somebody outside replaced it while programs ran in the sandbox, so that these could write to
    /// it, too. It stays.
    Replaced,
    /// A folder that was not searched because of this; others may not have been, either.
    NotSearched(String),
    /// A folder that is new in this session, with this number of such files; they stay, because
    /// nothing obeys them before somebody works in that folder.
    InNewFolder(usize),
}

impl fmt::Display for Undone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, reason) = (shown(&self.path), &self.reason);
        match &self.outcome {
            Outcome::MovedTo(to) => write!(f, "{path} was moved to {}: {reason}", shown(to)),
            Outcome::NotMoved(error) => write!(
                f,
                "{path} is dangerous and could not be moved ({error}): {reason}"
            ),
            Outcome::Stays => write!(
                f,
                "{path} was changed and stays so, because it is older than the session: {reason}"
            ),
            Outcome::Replaced => write!(
                f,
                "{path} was replaced by a program outside of the sandbox while programs in it ran, \
                 which could have changed it then; it stays: {reason}"
            ),
            Outcome::NotSearched(why) => write!(
                f,
                "{path} and maybe other folders were not searched ({why}): {reason}"
            ),
            Outcome::InNewFolder(count) => write!(
                f,
                "{path} is new and has {count} paths such as {reason}, which programs outside of \
                 the sandbox obey once somebody works in that folder; they stay"
            ),
        }
    }
}

fn all_left() -> MutexGuard<'static, BTreeMap<PathBuf, BTreeSet<PathBuf>>> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The folder in which programs obey a path of the list, or a link that is part of one.
fn folder_obeying(path: &Path) -> Option<PathBuf> {
    let text = path.to_string_lossy();
    let below = protected_below(&text).into_iter().map(|(names, _)| names);
    let count = protected_name_count(&text).into_iter().chain(below).max()?;
    path.ancestors().nth(count).map(Path::to_owned)
}

/// A path that a program chose, without control characters.
fn shown(path: &Path) -> String {
    path.to_string_lossy().escape_debug().to_string()
}

/// The state of a workspace at the last look.
#[derive(Debug)]
pub(super) struct Noticing {
    folder: PathBuf,
    scanner: Scanner,
    /// What is mounted, and what it is.
    mounted: HashMap<PathBuf, FileIdentity>,
    /// Those among them that are read-only.
    read_only: HashSet<PathBuf>,
    /// What lost its mount while programs may have run in the sandbox.
    unmounted: BTreeSet<PathBuf>,
    /// What each configuration of Git set at the start.
    configurations: HashMap<PathBuf, BTreeSet<Setting>>,
    /// What was accepted in its present state.
    accepted: HashMap<PathBuf, Stamp>,
    /// Repositories that were there from the start.
    own: HashSet<PathBuf>,
    /// Repositories, with the state in which they were judged last.
    repositories: HashMap<PathBuf, Vec<Option<Stamp>>>,
    /// Paths that are the user's and are not mounted.
    unprotected: BTreeSet<PathBuf>,
    /// The folder that was not searched at the last look.
    unsearched: Option<(PathBuf, Unsearched)>,
    /// Paths that stay in folders of this session.
    left: BTreeSet<PathBuf>,
    /// The uppermost ones of these folders that were reported.
    reported: HashSet<PathBuf>,
    links: Links,
    /// Paths that `.git` files name as repositories, which may be missing.
    named: BTreeSet<PathBuf>,
}

impl Noticing {
    /// Starts with everything that a search found.
    pub(super) fn new(found: ProtectedFinder<'_>) -> Self {
        let (folder, scanner) = (found.folder, found.scanner);
        let inside = |path: &PathBuf| path.strip_prefix(folder).ok().map(Path::to_owned);
        let with_stamp = |path: PathBuf| Some((path.clone(), Stamp::of(scanner.root(), &path)?));
        let read_only = found.mounts.iter();
        let read_only = read_only.filter(|(_, access)| **access == MountAccess::ReadOnly);
        let read_only = read_only.filter_map(|(path, _)| inside(path)).collect();
        let mounted = found.mounts.keys().filter_map(inside);
        let mounted = mounted
            .filter_map(|path| {
                let mounted = FileIdentity::at(scanner.root(), &path).ok()?;
                Some((path, mounted))
            })
            .collect();
        let named = found.named.iter().filter_map(inside).collect();
        let listed = found.existing.clone();
        let accepted = found.existing.into_iter().filter_map(with_stamp).collect();
        let repositories: Vec<PathBuf> = found.repositories.iter().filter_map(inside).collect();
        let configurations = found.configurations.into_iter();
        let configurations = configurations
            .filter_map(|(path, settings)| Some((inside(&path)?, settings)))
            .collect();
        let mut new = Self {
            folder: folder.to_owned(),
            mounted,
            read_only,
            unmounted: BTreeSet::new(),
            configurations,
            accepted,
            own: repositories.iter().cloned().collect(),
            repositories: repositories
                .into_iter()
                .map(|path| (path, Vec::new()))
                .collect(),
            unprotected: found.unprotected,
            unsearched: scanner.unsearched.clone(),
            left: all_left().get(folder).cloned().unwrap_or_default(),
            reported: HashSet::new(),
            links: Links::default(),
            named,
            scanner,
        };
        for path in listed {
            new.note_listed(&path);
        }
        for link in found.links {
            new.note_link(link, MadeBy::User);
        }
        // What is there from the start is the user's.
        new.accept_changes();
        new
    }

    /// Accepts the workspace as it is now; returns what is new, was replaced, or lost its mount.
    pub(super) fn accept_changes(&mut self) -> Vec<PathBuf> {
        let mut changed = mem::take(&mut self.unmounted);
        changed.extend(self.lost_mounts());
        let found = self.look(MadeBy::User);
        changed.extend(found.into_iter().map(|found| found.path));
        for path in &changed {
            if let Some(stamp) = Stamp::of(self.scanner.root(), path) {
                self.accepted.insert(path.clone(), stamp);
            }
        }
        changed.into_iter().collect()
    }

    /// Moves away what is new and dangerous.
    pub(super) fn undo_changes(&mut self) -> Vec<Undone> {
        let replaced = self.lost_mounts();
        self.unmounted.extend(replaced.iter().cloned());
        let found = self.look(MadeBy::Session);
        let mut left = Left::new();
        let undo = |danger| self.undo(danger, &replaced, &mut left);
        let mut undone: Vec<Undone> = found.into_iter().filter_map(undo).collect();
        // Only now it is known what stays.
        let misleading = self.misleading_links();
        let undo = |danger| self.undo(danger, &replaced, &mut left);
        undone.extend(misleading.into_iter().filter_map(undo));
        undone.extend(self.newly_unsearched());
        left.retain(|folder, _| self.reported.insert(folder.clone()));
        undone.extend(left.into_iter().map(|(folder, paths)| Undone {
            outcome: Outcome::InNewFolder(paths.len()),
            reason: paths.first().map(|path| shown(path)).unwrap_or_default(),
            path: folder,
        }));
        undone
    }

    /// Moves away what is dangerous, unless it is the user's or may stay in a new folder.
    fn undo(
        &mut self,
        danger: Danger,
        replaced: &BTreeSet<PathBuf>,
        left: &mut Left,
    ) -> Option<Undone> {
        let Danger { path, reason } = danger;
        let stamp = Stamp::of(self.scanner.root(), &path)?;
        if self.was_edited(&path, &stamp)
            || (replaced.contains(&path) && self.executes_what_it_did(&path))
        {
            self.accepted.insert(path, stamp);
            return None;
        }
        let is_user_s = replaced.contains(&path)
            && !self.is_in_repository(&path)
            && !masks::is_reserved(&self.folder.join(&path));
        let is_older = || self.unprotected.contains(&path) || self.scanner.may_be_older(&path);
        let outcome = if is_user_s {
            Outcome::Replaced
        } else if is_older() {
            Outcome::Stays
        } else if let Some(new) = self.new_folder_around(&path) {
            self.accepted.insert(path.clone(), stamp);
            self.left.insert(path.clone());
            let mut all_left = all_left();
            let of_folder = all_left.entry(self.folder.clone()).or_default();
            of_folder.insert(path.clone());
            left.entry(new).or_default().push(path);
            return None;
        } else {
            match move_away(self.scanner.root(), &path) {
                Ok(moved) => {
                    // On some file systems the new name means the same.
                    let stamp = Stamp::of(self.scanner.root(), &moved);
                    self.accepted
                        .extend(stamp.map(|stamp| (moved.clone(), stamp)));
                    Outcome::MovedTo(moved)
                }
                Err(errno) => Outcome::NotMoved(errno.to_string()),
            }
        };
        if matches!(outcome, Outcome::Replaced | Outcome::Stays) {
            self.accepted.insert(path.clone(), stamp);
        }
        Some(Undone {
            path,
            outcome,
            reason,
        })
    }

    /// The uppermost folder of this session around a path of the list that may stay there: what a
    /// clone or an installation brings. Version control obeys its own folders as soon as somebody
    /// looks at them.
    fn new_folder_around(&self, path: &Path) -> Option<PathBuf> {
        let parent = folder_obeying(path)?;
        let own = path.strip_prefix(&parent).ok()?;
        let first = fold(&own.iter().next()?.to_string_lossy());
        if VERSION_CONTROL.contains(&first.as_str())
            || self.scanner.was_of_user(&parent)
            || self.is_end_of_listed_link(path)
        {
            return None;
        }
        let mut around: Vec<&Path> = parent.ancestors().collect();
        around.reverse();
        let mut around = around.into_iter();
        let new = around.find(|folder| !self.scanner.was_of_user(folder));
        new.map(Path::to_owned)
    }

    /// The folder that was not searched, if that is new.
    fn newly_unsearched(&mut self) -> Option<Undone> {
        let now = self.scanner.unsearched.clone();
        let is_same = |(path, why): &(PathBuf, Unsearched)| match why {
            // Which one does not fit depends on their order.
            Unsearched::TooMany => matches!(&self.unsearched, Some((_, Unsearched::TooMany))),
            Unsearched::Denied(_) => {
                matches!(&self.unsearched, Some((before, _)) if before == path)
            }
        };
        let new = now.clone().filter(|now| !is_same(now));
        self.unsearched = now;
        new.map(|(path, why)| Undone {
            path,
            outcome: Outcome::NotSearched(why.to_string()),
            reason: "files that programs outside of the sandbox execute or obey may be in there"
                .to_owned(),
        })
    }

    /// Everything at protected paths that is neither mounted, reserved nor accepted as it is.
    fn look(&mut self, made_by: MadeBy) -> Vec<Danger> {
        let mut found = Vec::new();
        let mut suspects: BTreeSet<PathBuf> = BTreeSet::new();
        for finding in self.scanner.scan(made_by) {
            match finding {
                Finding::Protected(path) => {
                    self.note_listed(&path);
                    suspects.insert(path);
                }
                Finding::Repository(path) => drop(self.repositories.entry(path).or_default()),
                Finding::LinkInRepository(path)
                    if !self.is_known(&path) && !is_moved_link(&path) =>
                {
                    found.push(Danger {
                        path,
                        reason: "it is a link, over which Git would write elsewhere".to_owned(),
                    });
                }
                Finding::LinkInRepository(_) => {}
                Finding::Link(path) => self.note_link(path, made_by),
            }
        }
        suspects.extend(self.accepted.keys().cloned());
        for path in suspects {
            let is_listed = is_protected_entry(&path.to_string_lossy());
            if is_listed && !self.is_known(&path) {
                found.push(Danger {
                    path,
                    reason: "programs outside of the sandbox execute or obey this name".to_owned(),
                });
            }
        }
        found.extend(self.look_at_repositories());
        found.extend(self.listed_over_links());
        found.extend(self.over_listed_links());
        found.sort_by(|one, other| one.path.cmp(&other.path));
        found.dedup_by(|one, other| one.path == other.path);
        found.retain(|danger| Stamp::of(self.scanner.root(), &danger.path).is_some());
        found
    }

    fn look_at_repositories(&mut self) -> Vec<Danger> {
        for named in &self.named {
            self.repositories.entry(named.clone()).or_default();
        }
        let mut found = Vec::new();
        let mut judged = Vec::new();
        for (repository, before) in &self.repositories {
            let now = self.stamps(repository);
            if now.iter().all(Option::is_some) && now == *before {
                continue;
            }
            let root = self.scanner.root();
            let is_new = !self.own.contains(repository);
            found.extend(dangers::in_repository(root, repository, is_new, |path| {
                self.is_known(path)
            }));
            let index = repository.join("index");
            if !self.is_known(&index) {
                found.extend(dangers::in_index(root, &self.folder, repository));
            }
            judged.push((repository.clone(), now));
        }
        for (repository, now) in judged {
            if Stamp::of(self.scanner.root(), &repository).is_some() {
                self.repositories.insert(repository, now);
            } else {
                self.repositories.remove(&repository);
            }
        }
        found
    }

    /// The state of a repository; a missing file has the state of the folder.
    fn stamps(&self, repository: &Path) -> Vec<Option<Stamp>> {
        let root = self.scanner.root();
        let own = Stamp::settled(root, repository);
        let inner = WATCHED_IN_REPOSITORY.iter().map(|name| {
            let path = repository.join(name);
            match Stamp::of(root, &path) {
                Some(_) => Stamp::settled(root, &path),
                None => own,
            }
        });
        // Parts of a split index can be changed in place.
        let names = open_folder(root, repository).and_then(tree::entries);
        let parts = names.unwrap_or_default().into_iter();
        let parts = parts.filter(|(name, _)| name.to_string_lossy().starts_with("sharedindex."));
        let parts = parts.map(|(name, _)| Stamp::settled(root, &repository.join(name)));
        std::iter::once(own).chain(inner).chain(parts).collect()
    }

    /// Whether a path is ours, read-only inside, or accepted as it is.
    fn is_known(&self, path: &Path) -> bool {
        let root = self.scanner.root();
        let Some(now) = Stamp::of(root, path) else {
            return true;
        };
        let is_mounted =
            |mounted: &FileIdentity| FileIdentity::at(root, path).is_ok_and(|now| now == *mounted);
        self.mounted.get(path).is_some_and(is_mounted)
            || self.accepted.get(path) == Some(&now)
            || masks::is_placeholder(&self.folder.join(path))
    }

    /// Whether no program in the sandbox can change a path, because a folder around it is read-only.
    fn is_below_read_only(&self, path: &Path) -> bool {
        let mut above = path.ancestors().skip(1);
        above.any(|above| self.read_only.contains(above) && self.is_known(above))
    }

    fn was_edited(&self, path: &Path, now: &Stamp) -> bool {
        let edited = EDITED.lock().unwrap_or_else(PoisonError::into_inner);
        edited.get(&self.folder.join(path)) == Some(now)
    }

    /// Removes the paths that are no longer what was mounted, and returns them. Only somebody outside
    /// can remove or replace a mount point, and the mount is gone by that.
    fn lost_mounts(&mut self) -> BTreeSet<PathBuf> {
        let root = self.scanner.root();
        let lost = self.mounted.extract_if(|path, mounted| {
            !FileIdentity::at(root, path).is_ok_and(|now| now == *mounted)
        });
        lost.map(|(path, _)| path).collect()
    }

    /// Whether Git executes nothing for a configuration that it did not execute at the start.
    fn executes_what_it_did(&self, path: &Path) -> bool {
        let known = self.configurations.get(path);
        known.is_some_and(|known| dangers::executes_only(self.scanner.root(), path, known))
    }

    fn is_in_repository(&self, path: &Path) -> bool {
        let mut around = path.ancestors().skip(1);
        around.any(|around| self.repositories.contains_key(around))
    }
}

/// Whether a name is one that [`move_away`] gives. No program obeys such names.
pub(super) fn is_moved_away(name: &str) -> bool {
    let end = name
        .rfind(BLOCKED_ENDING)
        .map(|at| &name[at + BLOCKED_ENDING.len()..]);
    let is_number = |end: &str| {
        let number = end.strip_prefix('-').unwrap_or(end);
        number.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    end.is_some_and(is_number)
}

/// Whether a link has such a name where the name of a reference has another form.
fn is_moved_link(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut above = path.components().rev().skip(1);
    is_moved_away(&name)
        && !above.any(|part| matches!(part.as_os_str().to_str(), Some("refs" | "logs")))
}

/// Renames an entry in its folder; returns its new path.
fn move_away(root: &OwnedFd, path: &Path) -> Result<PathBuf, Errno> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Errno::INVAL);
    };
    let folder = open_folder(root, parent)?;
    for number in 0..MAX_NAMES {
        let mut new = OsString::from(name);
        new.push(BLOCKED_ENDING);
        if number >= PLAIN_NAMES {
            new.push(format!("-{:016x}", RandomState::new().hash_one(number)));
        } else if number > 0 {
            new.push(format!("-{number}"));
        }
        let rename = || renameat_with(&folder, name, &folder, &new, RenameFlags::NOREPLACE);
        let renamed = match rename() {
            Err(Errno::ACCESS | Errno::PERM) => {
                // A command can take this permission from itself.
                let mode = Mode::from_raw_mode(fstat(&folder)?.st_mode) | Mode::RWXU;
                fchmod(&folder, mode)?;
                rename()
            }
            renamed => renamed,
        };
        match renamed {
            Ok(()) => return Ok(parent.join(new)),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::EXIST)
}

/// An outcome as [`Noticing::undo_changes`] returns it.
#[cfg(test)]
pub(super) fn sample(path: &str, outcome: Outcome) -> Undone {
    Undone {
        path: path.into(),
        outcome,
        reason: "why".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::mount::MissingFiles;
    use super::super::scanner::tests::as_an_unprivileged_user;
    use super::*;

    #[test]
    fn a_folder_that_is_not_searched_is_named_once() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let found = ProtectedFinder::search(&real, MissingFiles::Creatable).unwrap();
        let mut noticing = Noticing::new(found);
        noticing.scanner.max_folders = 1;
        std::fs::create_dir(real.join("one")).unwrap();
        let undone = noticing.undo_changes();
        let [undone] = &undone[..] else {
            panic!("{undone:?}");
        };
        let why = "the workspace has more than 50000 folders".to_owned();
        let expected = (Path::new("one"), &Outcome::NotSearched(why));
        assert_eq!((&*undone.path, &undone.outcome), expected);
        std::fs::create_dir(real.join("two")).unwrap();
        assert_eq!(noticing.undo_changes(), []);
        noticing.scanner.max_folders = 3;
        assert_eq!(noticing.undo_changes(), []);
        std::fs::create_dir(real.join("three")).unwrap();
        assert_eq!(noticing.undo_changes().len(), 1);
    }

    #[test]
    fn a_path_is_moved_away_in_a_folder_that_a_command_made_read_only() {
        let folder = tempfile::tempdir().unwrap();
        let closed = folder.path().join("closed");
        std::fs::create_dir_all(closed.join(".hg")).unwrap();
        as_an_unprivileged_user(&[folder.path(), &closed], || {
            std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o500)).unwrap();
            let root = tree::open_folder(folder.path()).unwrap();
            let moved = move_away(&root, Path::new("closed/.hg"));
            assert_eq!(moved, Ok("closed/.hg.blocked".into()));
            let mode = std::fs::metadata(&closed).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        });
    }

    #[test]
    fn only_names_that_a_move_gives_count_as_moved_away() {
        for name in [
            "a.blocked",
            "a.blocked-1",
            ".hg.blocked-0123456789abcdef",
            "a.blocked.blocked",
        ] {
            assert!(is_moved_away(name), "{name}");
        }
        for name in [
            "a",
            "blocked",
            "a.blocked.sh",
            "a.blocked-x",
            "a.blocked--1",
        ] {
            assert!(!is_moved_away(name), "{name}");
        }
        assert!(is_moved_link(Path::new(".git/HEAD.blocked")));
        for path in [
            ".git/HEAD",
            ".git/refs/heads/a.blocked",
            ".git/logs/HEAD.blocked",
        ] {
            assert!(!is_moved_link(Path::new(path)), "{path}");
        }
    }
}
