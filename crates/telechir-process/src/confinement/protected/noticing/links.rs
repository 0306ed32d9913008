//! Links under which programs find what a session left at another path.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use telechir_protocol::protected_below;

use super::super::dangers::Danger;
use super::super::mount::resolve_lexically;
use super::super::scanner::{MadeBy, Stamp};
use super::{Noticing, folder_obeying, shown};

/// Maximum number of links that are followed from one.
const MAX_FOLLOWED: usize = 1_000;
/// Maximum number of links on one way, as for the kernel.
const MAX_LINKS: usize = 40;
/// As many links are remembered before those that are gone are looked for.
const MIN_REMEMBERED: usize = 10_000;

/// The links of a workspace that are at no protected path themselves.
#[derive(Debug, Default)]
pub(super) struct Links {
    all: BTreeMap<PathBuf, Link>,
    /// Those that are a part of protected paths, such as one with the name `.cargo`.
    above_listed: BTreeSet<PathBuf>,
    /// Links at protected paths.
    listed: BTreeSet<PathBuf>,
    /// Number after the last search for those that are gone.
    last_number: usize,
}

/// A link as it was when a scan found it last.
#[derive(Debug)]
struct Link {
    stamp: Option<Stamp>,
    made_by: MadeBy,
}

/// The way on which a link leads to a file.
#[derive(Debug, Default)]
struct Way {
    /// The links on it in the workspace, the first one included.
    links: Vec<PathBuf>,
    /// The path at its end, if that is in the workspace; it may be missing.
    end: Option<PathBuf>,
}

/// A part of a path.
enum Name {
    Root,
    Parent,
    Entry(OsString),
}

/// Adds the names of a path to those that come next, the last of which is the next one.
fn push_names(open: &mut Vec<Name>, path: &Path) {
    let names = path.components().rev().filter_map(|part| match part {
        Component::RootDir => Some(Name::Root),
        Component::ParentDir => Some(Name::Parent),
        Component::Normal(name) => Some(Name::Entry(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    });
    open.extend(names);
}

/// Where a link leads.
enum Target {
    /// To this path of the workspace.
    Inside(PathBuf),
    /// To what no program of a session can change, or nowhere.
    Elsewhere,
    /// To a folder outside of the workspace that is not the system's, such as the home of a session.
    Foreign,
    /// Elsewhere for each process, such as over `/proc/self/cwd`.
    Varying,
}

impl Noticing {
    /// Remembers a link that a scan found. One of the user is a path of the user.
    pub(super) fn note_link(&mut self, path: PathBuf, made_by: MadeBy) {
        let stamp = Stamp::of(self.scanner.root(), &path);
        let known = self.links.all.get(&path);
        if known.is_some_and(|known| known.stamp == stamp) {
            return;
        }
        if made_by == MadeBy::User {
            // Who creates a folder where it leads gives that folder the link's name.
            self.add_missing_target(&path);
            self.scanner.add_of_user(path.clone());
        }
        if !protected_below(&path.to_string_lossy()).is_empty() {
            self.links.above_listed.insert(path.clone());
        }
        self.links.all.insert(path, Link { stamp, made_by });
        if self.links.all.len() > 2 * self.links.last_number.max(MIN_REMEMBERED) {
            let root = self.scanner.root();
            let all = &mut self.links.all;
            all.retain(|path, _| Stamp::of(root, path).is_some());
            self.links
                .above_listed
                .retain(|path| all.contains_key(path));
            self.links.last_number = all.len();
        }
    }

    /// Whether a link is the user's, as the user made it.
    fn is_user_s_link(&self, path: &Path) -> bool {
        let stamp = Stamp::of(self.scanner.root(), path);
        let link = self.links.all.get(path);
        link.is_some_and(|link| link.made_by == MadeBy::User && link.stamp == stamp)
    }

    fn add_missing_target(&mut self, link: &Path) {
        let path = self.folder.join(link);
        if fs::metadata(&path).is_ok() {
            return;
        }
        let (Ok(target), Some(parent)) = (fs::read_link(&path), path.parent()) else {
            return;
        };
        let target = resolve_lexically(parent, &target);
        if let Ok(inside) = target.strip_prefix(&self.folder) {
            self.scanner.add_of_user(inside.to_owned());
        }
    }

    /// What is at a path of the list over a link that is part of this path. A link of the user stays,
    /// and its target is named.
    pub(super) fn listed_over_links(&self) -> Vec<Danger> {
        let mut found = Vec::new();
        for link in &self.links.above_listed {
            let is_user_s = self.is_user_s_link(link);
            let mut add = |path: PathBuf| {
                found.push(Danger {
                    path,
                    reason: "programs outside of the sandbox execute or obey it under the name of \
                             a link"
                        .to_owned(),
                });
            };
            if !is_user_s && matches!(self.target(link), Target::Varying) {
                add(link.clone());
            }
            for (_, rest) in protected_below(&link.to_string_lossy()) {
                let path = self.folder.join(link).join(rest);
                if fs::symlink_metadata(&path).is_err() {
                    continue;
                }
                if !is_user_s && !self.is_known(link) {
                    add(link.clone());
                } else if let Some(real) = self.real(&path).filter(|real| !self.is_known(real)) {
                    add(real);
                }
            }
        }
        found
    }

    /// Remembers a protected path if it is a link.
    pub(super) fn note_listed(&mut self, path: &Path) {
        let found = fs::symlink_metadata(self.folder.join(path));
        if found.is_ok_and(|found| found.is_symlink()) {
            self.links.listed.insert(path.to_owned());
        }
    }

    /// What gives protected paths another content over links at them: a new target, or a link on the
    /// way there that is not as the user made it.
    pub(super) fn over_listed_links(&self) -> Vec<Danger> {
        let mut found = Vec::new();
        for link in &self.links.listed {
            let way = self.follow(link);
            let is_new = |path: &&PathBuf| !self.is_known(path) && !self.is_below_read_only(path);
            let is_changed =
                |path: &&PathBuf| *path != link && !self.is_user_s_link(path) && is_new(path);
            let changed = way.links.iter().find(is_changed);
            found.extend(
                changed
                    .or_else(|| way.end.as_ref().filter(is_new))
                    .map(|path| Danger {
                        path: path.clone(),
                        reason: format!(
                            "programs outside of the sandbox execute or obey it over the link {}",
                            shown(link)
                        ),
                    }),
            );
        }
        found
    }

    /// Whether a link at a protected path leads to a path, which programs obey by that.
    pub(super) fn is_end_of_listed_link(&self, path: &Path) -> bool {
        let mut links = self.links.listed.iter();
        links.any(|link| self.follow(link).end.as_deref() == Some(path))
    }

    /// Where a link leads, name by name.
    fn follow(&self, link: &Path) -> Way {
        let mut way = Way::default();
        let mut current = PathBuf::from("/");
        let mut open = Vec::new();
        push_names(&mut open, &self.folder.join(link));
        let mut followed = 0;
        while let Some(name) = open.pop() {
            match name {
                Name::Root => current = PathBuf::from("/"),
                Name::Parent => drop(current.pop()),
                Name::Entry(name) => current.push(name),
            }
            let Ok(target) = fs::read_link(&current) else {
                continue;
            };
            followed += 1;
            if followed > MAX_LINKS {
                return way;
            }
            way.links.extend(self.inside(&current));
            current.pop();
            push_names(&mut open, &target);
        }
        way.end = self.inside(&current);
        way
    }

    /// A path of the workspace, relative to it.
    fn inside(&self, path: &Path) -> Option<PathBuf> {
        let inside = path.strip_prefix(&self.folder).ok()?;
        Some(inside.to_owned()).filter(|inside| *inside != Path::new(""))
    }

    /// The path in the workspace of an entry, which may be a link itself.
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let parent = path.parent()?.canonicalize().ok()?;
        let real = parent.join(path.file_name()?);
        Some(real.strip_prefix(&self.folder).ok()?.to_owned())
    }

    /// Links at paths of the user under which programs would obey what stays in folders of this
    /// session: at the old name.
    pub(super) fn misleading_links(&self) -> Vec<Danger> {
        let mut found = Vec::new();
        let all = self.links.all.iter();
        let new = all.filter(|(_, link)| link.made_by == MadeBy::Session);
        let new = new.map(|(path, _)| path);
        for link in new.filter(|path| self.scanner.was_of_user(path) && !self.is_known(path)) {
            if let Some(reason) = self.why_misleading(link) {
                found.push(Danger {
                    path: link.clone(),
                    reason: reason.to_owned(),
                });
            }
        }
        found.retain(|danger| Stamp::of(self.scanner.root(), &danger.path).is_some());
        found
    }

    /// Why a link at a path of the user must not stay, if it must not. Follows the links below its
    /// target, too.
    fn why_misleading(&self, first: &Path) -> Option<&'static str> {
        let mut open = vec![(first.to_owned(), first.to_owned())];
        let mut seen = HashSet::new();
        while let Some((link, name)) = open.pop() {
            if !seen.insert(link.clone()) {
                continue;
            }
            if seen.len() > MAX_FOLLOWED {
                return Some("it leads to more links than can be followed");
            }
            let target = match self.target(&link) {
                Target::Inside(target) => target,
                Target::Elsewhere => continue,
                Target::Foreign => {
                    return Some("it leads to a folder outside that a session may have written to");
                }
                Target::Varying => return Some("it leads elsewhere for each program"),
            };
            // Where the user has folders, only the names of such lead to new ones.
            let is_user_s = self.scanner.was_of_user(&target);
            let counts = |below: &Path| {
                !is_user_s
                    || below
                        .strip_prefix(&target)
                        .is_ok_and(|rest| self.scanner.was_of_user(&name.join(rest)))
            };
            let left = self.left.range(target.clone()..);
            let mut left = left.take_while(|left| left.starts_with(&target));
            if left.any(|left| folder_obeying(left).is_some_and(|folder| counts(&folder))) {
                return Some("it leads to a new folder with files that programs obey");
            }
            let links = self.links.all.range(target.clone()..).map(|(path, _)| path);
            let links = links.take_while(|path| path.starts_with(&target));
            for link in links.filter(|link| counts(link)) {
                let rest = link.strip_prefix(&target).unwrap_or(link);
                open.push((link.clone(), name.join(rest)));
            }
        }
        None
    }

    fn target(&self, link: &Path) -> Target {
        let path = self.folder.join(link);
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let settled = ResolveFlags::NO_MAGICLINKS;
        if let Err(Errno::LOOP) = openat2(CWD, &path, flags, Mode::empty(), settled) {
            let is_cycle = fs::metadata(&path)
                .is_err_and(|error| Errno::from_io_error(&error) == Some(Errno::LOOP));
            return match is_cycle {
                true => Target::Elsewhere,
                false => Target::Varying,
            };
        }
        let Ok(real) = path.canonicalize() else {
            return Target::Elsewhere;
        };
        if let Ok(inside) = real.strip_prefix(&self.folder) {
            return Target::Inside(inside.to_owned());
        }
        let found = fs::metadata(real);
        match found.is_ok_and(|found| found.is_dir() && found.uid() != 0) {
            true => Target::Foreign,
            false => Target::Elsewhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::FileType;

    use super::super::super::finder::ProtectedFinder;
    use super::super::super::mount::MissingFiles;
    use super::*;

    fn noticing(folder: &Path) -> Noticing {
        Noticing::new(ProtectedFinder::search(folder, MissingFiles::Creatable).unwrap())
    }

    #[test]
    fn only_the_end_of_a_listed_link_counts_as_one() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let mut noticing = noticing(&real);
        symlink("sub/target", real.join(".envrc")).unwrap();
        noticing.links.listed.insert(".envrc".into());
        assert!(noticing.is_end_of_listed_link(Path::new("sub/target")));
        for other in [".envrc", "sub", "sub/other"] {
            assert!(!noticing.is_end_of_listed_link(Path::new(other)), "{other}");
        }
    }

    #[test]
    fn a_link_to_a_pipe_that_nobody_writes_to_does_not_wait() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let pipe = real.join("pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        symlink("pipe", real.join("link")).unwrap();
        let target = noticing(&real).target(Path::new("link"));
        assert!(matches!(target, Target::Inside(path) if path == Path::new("pipe")));
    }

    #[test]
    fn as_many_links_are_followed_as_the_kernel_follows() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        for number in 0..=MAX_LINKS {
            symlink(format!("{}", number + 1), real.join(number.to_string())).unwrap();
        }
        fs::write(real.join((MAX_LINKS + 1).to_string()), "").unwrap();
        let noticing = noticing(&real);
        let end = PathBuf::from((MAX_LINKS + 1).to_string());
        assert!(fs::metadata(real.join("1")).is_ok());
        assert_eq!(noticing.follow(Path::new("1")).end, Some(end));
        assert!(fs::metadata(real.join("0")).is_err());
        assert_eq!(noticing.follow(Path::new("0")).end, None);
    }

    #[test]
    fn links_that_are_gone_are_forgotten_once_there_are_many() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let mut noticing = noticing(&real);
        let note = |noticing: &mut Noticing, number: usize| {
            noticing.note_link(number.to_string().into(), MadeBy::Session);
        };
        (0..2 * MIN_REMEMBERED).for_each(|number| note(&mut noticing, number));
        assert_eq!(noticing.links.all.len(), 2 * MIN_REMEMBERED);
        note(&mut noticing, 2 * MIN_REMEMBERED);
        assert_eq!(noticing.links.all.len(), 0);
    }
}
