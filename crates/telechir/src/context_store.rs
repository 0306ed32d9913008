//! Browser contexts of the HTTP API: profiles, and a file for each with its name, which has the
//! profile. The files of an owner are in a folder of their own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use telechir_browser::{ProfileError, ProfileId, Profiles};
use telechir_process::{make_private_dir, make_private_file};
use telechir_server::http::{ContextError, ContextKey, ContextStore, ContextSummary};

use crate::error::chain;

/// The contexts of all owners.
#[derive(Clone, Debug)]
pub(crate) struct Contexts {
    profiles: Profiles,
    /// Beside the folder of the profiles.
    names: PathBuf,
}

impl Contexts {
    pub(crate) fn of(profiles: Profiles) -> Self {
        let names = profiles.folder().with_file_name("http-contexts");
        Self { profiles, names }
    }
}

impl ContextStore for Contexts {
    fn list(&self, owner: &str) -> Result<Vec<ContextSummary>, ContextError> {
        let ago = |used| SystemTime::now().duration_since(used).unwrap_or_default();
        let describe = |name: String| {
            let id = fs::read_to_string(self.names.join(owner).join(&name)).ok();
            let id = id.and_then(|id| id.parse().ok());
            let profile = id.and_then(|id| self.profiles.describe(id));
            let profile = profile.as_ref();
            ContextSummary {
                name,
                bytes: profile.map_or(0, |profile| profile.bytes),
                used_seconds_ago: profile
                    .and_then(|profile| profile.used)
                    .map(|used| ago(used).as_secs()),
                in_use: profile.is_some_and(|profile| profile.holder.is_some()),
            }
        };
        let mut names = self.names(owner)?;
        names.sort();
        Ok(names.into_iter().map(describe).collect())
    }

    fn names(&self, owner: &str) -> Result<Vec<String>, ContextError> {
        let folder = self.names.join(owner);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|e| file_failed("read", &folder, &e))?,
        };
        let names = entries.flatten().map(|entry| entry.file_name());
        Ok(names.filter_map(|name| name.into_string().ok()).collect())
    }

    fn create(&self, context: &ContextKey) -> Result<bool, ContextError> {
        let id = profile_of(context)?;
        match self.profiles.create(&id) {
            Ok(()) | Err(ProfileError::Exists(_)) => {}
            Err(error) => return Err(failed(&error)),
        }
        let folder = self.names.join(&context.owner);
        let file = folder.join(&context.name);
        let written = unless_exists(make_private_dir(&self.names))
            .and_then(|_| unless_exists(make_private_dir(&folder)))
            .and_then(|_| unless_exists(make_private_file(&file).map(drop)))
            .and_then(|is_new| fs::write(&file, &context.profile).map(|()| is_new));
        written.map_err(|e| file_failed("write", &file, &e))
    }

    fn is_in_use(&self, context: &ContextKey) -> Result<bool, ContextError> {
        let in_use = self.profiles.is_in_use(&profile_of(context)?);
        in_use.map_err(|e| failed(&e))
    }

    fn delete(&self, context: &ContextKey) -> Result<bool, ContextError> {
        let is_there = match self.profiles.delete(&profile_of(context)?) {
            Ok(()) => true,
            Err(ProfileError::Missing(_)) => false,
            Err(error) => return Err(failed(&error)),
        };
        let file = self.names.join(&context.owner).join(&context.name);
        match fs::remove_file(&file) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(is_there),
            Err(error) => Err(file_failed("remove", &file, &error)),
        }
    }
}

/// Whether it was made.
fn unless_exists(made: io::Result<()>) -> io::Result<bool> {
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        made => made.map(|()| true),
    }
}

fn profile_of(context: &ContextKey) -> Result<ProfileId, ContextError> {
    context.profile.parse().map_err(ContextError::Failed)
}

fn file_failed(what: &str, path: &Path, error: &io::Error) -> ContextError {
    ContextError::Failed(format!("failed to {what} {}: {error}", path.display()))
}

fn failed(error: &ProfileError) -> ContextError {
    if matches!(error, ProfileError::InUse { .. }) {
        return ContextError::InUse;
    }
    ContextError::Failed(format!("failed to {}", chain(error)))
}
