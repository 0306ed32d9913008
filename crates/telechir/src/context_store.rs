//! Browser contexts of the HTTP API: profiles, and a file for each with its name, which has the
//! profile. The files of an owner are in a folder of their own.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use telechir_browser::{ProfileError, ProfileId, Profiles};
use telechir_process::{make_private_dir, make_private_file};
use telechir_server::http::{ContextKey, ContextStore, ContextSummary};

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
    fn list(&self, owner: &str) -> Result<Vec<ContextSummary>, String> {
        let folder = self.names.join(owner);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|e| format!("failed to read {}: {e}", folder.display()))?,
        };
        let profiles = self.profiles.list().map_err(|e| failed(&e))?;
        let mut contexts = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let id = fs::read_to_string(entry.path()).unwrap_or_default();
            let profile = profiles.iter().find(|one| one.id.to_string() == id);
            let ago = |used| SystemTime::now().duration_since(used).unwrap_or_default();
            contexts.push(ContextSummary {
                name: name.to_owned(),
                bytes: profile.map_or(0, |profile| profile.bytes),
                used_seconds_ago: profile
                    .and_then(|profile| profile.used)
                    .map(|used| ago(used).as_secs()),
                in_use: profile.is_some_and(|profile| profile.holder.is_some()),
            });
        }
        contexts.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(contexts)
    }

    fn create(&self, context: &ContextKey) -> Result<(), String> {
        let id: ProfileId = context.profile.parse()?;
        match self.profiles.create(&id) {
            Ok(()) | Err(ProfileError::Exists(_)) => {}
            Err(error) => return Err(failed(&error)),
        }
        let folder = self.names.join(&context.owner);
        let file = folder.join(&context.name);
        let written = unless_exists(make_private_dir(&self.names))
            .and_then(|()| unless_exists(make_private_dir(&folder)))
            .and_then(|()| unless_exists(make_private_file(&file).map(drop)))
            .and_then(|()| fs::write(&file, &context.profile));
        written.map_err(|e| format!("failed to write {}: {e}", file.display()))
    }

    fn is_in_use(&self, profile: &str) -> bool {
        let listed = self.profiles.list().unwrap_or_default();
        let mut listed = listed.iter();
        listed.any(|one| one.id.to_string() == profile && one.holder.is_some())
    }

    fn delete(&self, context: &ContextKey) -> Result<bool, String> {
        let id: ProfileId = context.profile.parse()?;
        let is_there = match self.profiles.delete(&id) {
            Ok(()) => true,
            Err(ProfileError::Missing(_)) => false,
            Err(error) => return Err(failed(&error)),
        };
        let file = self.names.join(&context.owner).join(&context.name);
        match fs::remove_file(&file) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(is_there),
            Err(error) => Err(format!("failed to remove {}: {error}", file.display())),
        }
    }
}

fn unless_exists(made: io::Result<()>) -> io::Result<()> {
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

fn failed(error: &ProfileError) -> String {
    format!("failed to {}", chain(error))
}
