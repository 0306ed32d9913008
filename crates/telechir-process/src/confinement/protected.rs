//! Protected files of a workspace: files that other programs execute or read as configuration are read-only inside.

mod configured;
mod dangers;
mod explain;
mod finder;
mod git;
mod git_names;
mod links;
mod masks;
mod mount;
mod noticing;
mod repository;
mod scanner;
#[cfg(test)]
mod tests;
mod watches;

use std::collections::BTreeMap;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use finder::ProtectedFinder;
use masks::Masks;
use mount::MountAccess;
use noticing::Noticing;

pub use mount::MissingFiles;
pub use noticing::{Outcome, Undone, accept_edit};

use super::{Confinement, ConfinementError, Sockets};

/// Number of devices that use each workspace.
static DEVICES: Mutex<BTreeMap<PathBuf, usize>> = Mutex::new(BTreeMap::new());

/// The protected paths of a workspace, shared by all sandboxes around it. Drop it after the last of
/// them: this undoes what they changed at last, and removes the empty files that stand for missing
/// ones.
#[derive(Debug)]
pub struct Protected {
    folder: PathBuf,
    /// Sorted by path, so that a folder is mounted before its contents.
    mounts: BTreeMap<PathBuf, MountAccess>,
    /// What could not be protected, in sentences for the user.
    pub gaps: Vec<String>,
    /// Sockets in the folder, which are covered.
    pub sockets: Sockets,
    /// Absent if other programs do not use the workspace.
    noticing: Option<Mutex<Noticing>>,
    masks: Masks,
}

impl Protected {
    /// Finds the protected paths of a folder, whose path must contain no link.
    ///
    /// # Errors
    /// If the folder cannot be searched or a missing file cannot be masked. If missing files are
    /// masked, also if a protected path is a link or leads over one, because that link could be
    /// replaced.
    pub fn find(folder: &Path, missing: MissingFiles) -> Result<Self, ConfinementError> {
        let found = ProtectedFinder::search(folder, missing);
        let mut found = found.map_err(|refusal| ConfinementError(refusal.0))?;
        let mounts = found.mounts.clone();
        let (gaps, masks) = (mem::take(&mut found.gaps), mem::take(&mut found.masks));
        let noticing = (missing == MissingFiles::Masked).then(|| Mutex::new(Noticing::new(found)));
        *lock(&DEVICES).entry(folder.to_owned()).or_default() += 1;
        Ok(Self {
            folder: folder.to_owned(),
            mounts,
            gaps,
            sockets: Sockets::find(folder),
            noticing,
            masks,
        })
    }

    /// The placeholders for missing files, as patterns of Git for files to ignore.
    pub fn ignore_patterns(&self) -> String {
        let paths = self.masks.paths().iter();
        let inside = paths.filter_map(|path| path.strip_prefix(&self.folder).ok());
        inside
            .map(|path| format!("/{}\n", path.display()))
            .collect()
    }

    /// Accepts everything that is in the workspace now: call it while no program of this device
    /// runs. Returns the paths that are new or were replaced; only a new sandbox protects these.
    /// Does nothing while another device uses the workspace, because its programs may be at work.
    pub fn accept_changes(&self) -> Vec<PathBuf> {
        if lock(&DEVICES)
            .get(&self.folder)
            .is_some_and(|devices| *devices > 1)
        {
            return Vec::new();
        }
        self.with_noticing(Noticing::accept_changes)
    }

    /// Undoes what sandboxed programs created at protected paths since the last call.
    pub fn undo_changes(&self) -> Vec<Undone> {
        self.with_noticing(Noticing::undo_changes)
    }

    fn with_noticing<T>(&self, act: impl FnOnce(&mut Noticing) -> Vec<T>) -> Vec<T> {
        let noticing = self.noticing.as_ref().map(|noticing| lock(noticing));
        noticing.map_or_else(Vec::new, |mut noticing| act(&mut noticing))
    }
}

impl Drop for Protected {
    fn drop(&mut self) {
        let _nobody_reads_it = self.undo_changes();
        let mut devices = lock(&DEVICES);
        if let Some(left) = devices.get_mut(&self.folder) {
            *left -= 1;
            if *left == 0 {
                devices.remove(&self.folder);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Confinement {
    /// Mounts a workspace writable, except for its protected paths.
    #[must_use]
    pub fn workspace(self, protected: &Protected) -> Self {
        let base = self.writable(&protected.folder);
        let mounts = protected.mounts.iter();
        let mounted = mounts.fold(base, |confinement, (path, access)| match access {
            MountAccess::Pinned => confinement.writable(path),
            MountAccess::ReadOnly => confinement.read_only(path, path),
        });
        mounted.without_sockets(&protected.sockets)
    }
}
