//! Files of a workspace that let other programs run things later: read-only inside.

mod links;
mod masks;
mod repository;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use masks::Masks;

use super::{Confinement, ConfinementError};

/// A repository's own folder, which must stay where it is for what is protected in it to hold.
const REPOSITORY: &str = ".git";
/// At the top of a workspace: what version control, shells, editors and agents act on unasked.
const AT_TOP: [&str; 27] = [
    ".gitmodules",
    ".gitconfig",
    ".hg",
    ".husky",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".inputrc",
    ".envrc",
    ".ripgreprc",
    ".npmrc",
    ".vscode",
    ".idea",
    ".mcp.json",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".agents",
    ".telechir",
    ".ssh",
];

/// What becomes of protected files that are not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// They can be made inside: for a workspace that nobody else uses.
    MayBeMade,
    /// An empty one stands in their place until the end, so that they cannot be made inside.
    AreMasked,
}

/// How a path of the workspace is seen inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// As it is; but it cannot be renamed, for something is mounted there.
    Pinned,
    ReadOnly,
}

/// What is protected in one workspace, found once for all that is confined around it, and held as
/// long as any of it runs: empty files in the place of missing ones are removed with this.
#[derive(Debug)]
pub struct Protected {
    folder: PathBuf,
    /// In the order of paths: what is mounted on a folder comes before what is mounted in it.
    mounts: BTreeMap<PathBuf, Access>,
    /// A protected folder that holds more than is looked through for links.
    pub too_large: Option<PathBuf>,
    _masks: Masks,
}

impl Protected {
    /// Looks for what is to be protected in a folder, whose path must hold no link.
    ///
    /// # Errors
    /// When a missing one cannot be masked; and in a folder that others use, when a link stands in
    /// a protected place, or leads from there over another link: it could be replaced.
    pub fn find(folder: &Path, missing: Missing) -> Result<Self, ConfinementError> {
        let mut found = Finder {
            folder,
            missing,
            mounts: BTreeMap::new(),
            masks: Masks::default(),
        };
        for name in AT_TOP {
            found.protect(&folder.join(name))?;
        }
        repository::protect(&mut found)?;
        let too_large = links::protect_targets(&mut found)?;
        Ok(Self {
            folder: folder.to_owned(),
            mounts: found.mounts,
            too_large,
            _masks: found.masks,
        })
    }
}

impl Confinement {
    /// Shows a folder to be read and written, but for what is protected in it.
    #[must_use]
    pub fn workspace(self, protected: &Protected) -> Self {
        let whole = self.writable(&protected.folder);
        let mounts = protected.mounts.iter();
        mounts.fold(whole, |confinement, (path, access)| match access {
            Access::Pinned => confinement.writable(path),
            Access::ReadOnly => confinement.read_only(path, path),
        })
    }
}

/// What was found so far.
#[derive(Debug)]
struct Finder<'a> {
    folder: &'a Path,
    missing: Missing,
    mounts: BTreeMap<PathBuf, Access>,
    masks: Masks,
}

impl Finder<'_> {
    /// Protects what is at this path of the folder, or the place of what is missing there.
    fn protect(&mut self, path: &Path) -> Result<(), ConfinementError> {
        let Some(there) = self.first_special(path) else {
            self.hold(path);
            return self.share(path);
        };
        match fs::symlink_metadata(&there) {
            Ok(found) if found.is_symlink() => self.refuse(&there),
            // A file where a folder would have to be: nothing can be made below it.
            Ok(_) => {
                self.hold(&there);
                self.share(&there)
            }
            Err(_) if self.missing == Missing::AreMasked => {
                let masked = self.masks.add(&there);
                masked.map_err(|error| {
                    ConfinementError(format!("could not protect {}: {error}", there.display()))
                })?;
                self.hold(&there);
                Ok(())
            }
            Err(_) => Ok(()),
        }
    }

    /// The first part of a path below the folder that is no plain folder or, as the last one, no
    /// plain file: missing, a link, or a file on the way.
    fn first_special(&self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix(self.folder).ok()?;
        let mut now = self.folder.to_owned();
        for part in below.components() {
            now.push(part);
            let is_plain = fs::symlink_metadata(&now)
                .is_ok_and(|found| found.is_dir() || (now == path && !found.is_symlink()));
            if !is_plain {
                return Some(now);
            }
        }
        None
    }

    /// Another session's empty file stands here, or ours of another device: kept as long as we are.
    fn share(&mut self, path: &Path) -> Result<(), ConfinementError> {
        self.masks.share(path);
        Ok(())
    }

    /// A link can be replaced, and nothing can be mounted on it. In a folder that is ours alone
    /// nobody follows it.
    fn refuse(&self, link: &Path) -> Result<(), ConfinementError> {
        match self.missing {
            Missing::MayBeMade => Ok(()),
            Missing::AreMasked => Err(ConfinementError(format!(
                "{} is a link in a place that other programs act on, and a command could put \
                 another in its stead; put what it leads to there, or name another folder with \
                 --workspace",
                link.display()
            ))),
        }
    }

    /// Makes a path read-only, and keeps the folders around it where they are: one that is renamed
    /// takes what is mounted in it along, and leaves its place to another.
    fn hold(&mut self, path: &Path) {
        let is_read_only = |mounts: &BTreeMap<PathBuf, Access>| {
            path.ancestors()
                .any(|above| mounts.get(above) == Some(&Access::ReadOnly))
        };
        if is_read_only(&self.mounts) {
            return;
        }
        let above = path.ancestors().skip(1);
        for above in
            above.take_while(|above| above.starts_with(self.folder) && *above != self.folder)
        {
            self.mounts
                .entry(above.to_owned())
                .or_insert(Access::Pinned);
        }
        self.mounts.insert(path.to_owned(), Access::ReadOnly);
    }
}

/// The path that someone says in a folder, without looking.
fn by_letters(folder: &Path, said: &Path) -> PathBuf {
    let mut path = PathBuf::new();
    for part in folder.join(said).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => path.push(part),
        }
    }
    path
}
