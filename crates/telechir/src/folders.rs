//! Checks the folders of a session before anything starts: what a model can write to must not
//! decide about the session, and must not be more than a model needs.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use telechir_browser::StorageStateFiles;
use telechir_process::tree::{Location, contains_file, open_folder};

use crate::args::{DeviceArguments, PolicyChoice, SafetyArguments};
use crate::env;
use crate::error::CliError;
use crate::socket_folder;

/// A folder that the model can write to.
struct Writable {
    name: &'static str,
    location: Location,
}

/// A file or folder that decides about sessions, or records them.
struct Protected {
    name: &'static str,
    path: PathBuf,
    location: Location,
    /// Whether a workspace may be inside of it.
    is_shared: bool,
}

/// Refuses folders in which a model could change the session's policy, recording, memory or
/// profiles, and folders that hold more than one piece of work. Also a storage state that could not be
/// saved at the end.
pub(crate) fn check(devices: &DeviceArguments, safety: &SafetyArguments) -> Result<(), CliError> {
    let files = StorageStateFiles {
        load: None,
        save: devices.page.save_storage_state.clone(),
    };
    files
        .check()
        .map_err(|problem| CliError::usage(format!("--save-storage-state: {problem}")))?;
    let mut writable = Vec::new();
    for (name, folder) in [
        ("the workspace", &devices.workspace),
        ("the memory folder", &devices.memory_dir),
    ] {
        let Some(folder) = folder else {
            continue;
        };
        let location = located(name, folder)?;
        if !devices.yes_this_folder
            && let Some(what) = is_wide(&location)
        {
            return Err(CliError::message(format!(
                "{name} {} {what}; choose a folder for this work alone, or pass --yes-this-folder if the \
                 model may read and change everything in it",
                location.path().display()
            )));
        }
        writable.push(Writable { name, location });
    }
    if writable.is_empty() {
        return Ok(());
    }
    if let [workspace, memory] = writable.as_slice() {
        for folder in workspace.with_mounts() {
            separate(&folder, &Protected::of(memory))?;
        }
        for folder in memory.with_mounts() {
            separate(&folder, &Protected::of(workspace))?;
        }
    }
    let writable: Vec<Writable> = writable.iter().flat_map(Writable::with_mounts).collect();
    for protected in protected(devices, safety)? {
        for folder in &writable {
            separate(folder, &protected)?;
        }
    }
    Ok(())
}

/// Whether the file of the user's answers for all sessions is out of reach of a session's model.
pub(crate) fn is_outside(file: &Path, devices: &DeviceArguments) -> bool {
    let Ok(file) = Location::of(file) else {
        return false;
    };
    let folders = [&devices.workspace, &devices.memory_dir];
    folders.into_iter().flatten().all(|folder| {
        let Ok(folder) = Location::of(folder) else {
            return false;
        };
        let mut mounted = folder.mounts_below().into_iter();
        !file.is_inside(&folder) && mounted.all(|mounted| !file.is_inside(&mounted))
    })
}

impl Writable {
    /// The folder, and what is mounted in it.
    fn with_mounts(&self) -> Vec<Self> {
        let mounted = self.location.mounts_below().into_iter();
        let all = std::iter::once(self.location.clone()).chain(mounted);
        let name = self.name;
        all.map(|location| Self { name, location }).collect()
    }
}

impl Protected {
    fn of(writable: &Writable) -> Self {
        Self {
            name: writable.name,
            path: writable.location.path().to_owned(),
            location: writable.location.clone(),
            is_shared: false,
        }
    }
}

fn protected(
    devices: &DeviceArguments,
    safety: &SafetyArguments,
) -> Result<Vec<Protected>, CliError> {
    let mut found = Vec::new();
    let mut add = |name: &'static str, path: &Path, is_shared: bool| {
        found.push(Protected {
            name,
            path: path.to_owned(),
            location: located(name, path)?,
            is_shared,
        });
        Ok::<_, CliError>(())
    };
    if let Some(file) = safety.policy.as_ref().and_then(PolicyChoice::file) {
        add("the policy", file, false)?;
    }
    if let Some(folder) = &safety.record {
        add("the recording", folder, false)?;
    }
    let states = [
        &devices.page.storage_state,
        &devices.page.save_storage_state,
    ];
    for file in states.into_iter().flatten() {
        add("the storage state", file, false)?;
    }
    let profiles = env::profiles().ok();
    if let Some(folder) = profiles.as_ref().map(telechir_browser::Profiles::folder)
        && (devices.page.profile.is_some() || folder.exists())
    {
        add("the folder of browser profiles", folder, false)?;
    }
    if let Some(file) = env::choice_file().filter(|file| file.exists()) {
        add("the file of remembered choices", &file, false)?;
    }
    let rented = env::rented_folder();
    let is_used = devices.page.remote.remote.is_some();
    if let Some(folder) = rented.filter(|folder| is_used || folder.exists()) {
        add("the folder of rented browsers", &folder, false)?;
    }
    let temporary = crate::session_dir::parent();
    add("the folder of temporary files (TMPDIR)", &temporary, true)?;
    add(
        "the folder of session sockets",
        &socket_folder::folder()?,
        false,
    )?;
    Ok(found)
}

/// Refuses a protected path that is in a writable folder, and the other way round.
fn separate(folder: &Writable, protected: &Protected) -> Result<(), CliError> {
    let root = || folder.location.path().display();
    let path = protected.path.display();
    let (name, kind) = (folder.name, protected.name);
    if protected.location.is_inside(&folder.location) {
        return Err(CliError::message(format!(
            "{kind} {path} is inside {name} {}, so that a model could change it; move one of them",
            root()
        )));
    }
    if !protected.is_shared && folder.location.is_inside(&protected.location) {
        return Err(CliError::message(format!(
            "{name} {} is inside {kind} {path}, so that a model could change it; move one of them",
            root()
        )));
    }
    if has_a_name_inside(protected, folder)
        .map_err(|error| unreadable(name, folder.location.path(), &error))?
    {
        return Err(CliError::message(format!(
            "{kind} {path} is a hard link to a file inside {name} {}, so that a model could change \
             it; use a copy",
            root()
        )));
    }
    Ok(())
}

/// Whether a file has another name in a writable folder.
fn has_a_name_inside(protected: &Protected, folder: &Writable) -> io::Result<bool> {
    let Ok(found) = fs::metadata(protected.location.path()) else {
        return Ok(false);
    };
    if !found.is_file() || found.nlink() < 2 || !folder.location.path().is_dir() {
        return Ok(false);
    }
    let file = rustix::fs::stat(protected.location.path())?;
    contains_file(&open_folder(folder.location.path())?, &file)
}

fn located(name: &str, path: &Path) -> Result<Location, CliError> {
    Location::of(path).map_err(|error| unreadable(name, path, &error))
}

fn unreadable(name: &str, path: &Path, error: &io::Error) -> CliError {
    CliError::message(format!(
        "failed to look up {name} {}: {error}",
        path.display()
    ))
}

/// Folders with a hidden name that hold data, not what programs obey.
const DATA_FOLDERS: [&str; 3] = [".cache", ".local/src", ".local/state"];

/// Whether a folder is a hidden one of this home, or in one.
fn holds_settings(home: &Location, folder: &Location) -> bool {
    let mut ancestors = folder.path().ancestors();
    let Some(top) = ancestors.find(|above| {
        let parent = above.parent().and_then(|parent| Location::of(parent).ok());
        parent.is_some_and(|parent| home.is_same(&parent))
    }) else {
        return false;
    };
    let is_hidden = |name: &OsStr| name.as_encoded_bytes().starts_with(b".");
    let parent = top.parent().unwrap_or(top);
    let is_data = DATA_FOLDERS.iter().any(|data| {
        let data = parent.join(data);
        folder.path().starts_with(&data) && folder.path() != data
    });
    top.file_name().is_some_and(is_hidden) && !is_data
}

/// Why a folder is more than one piece of work, if it is.
fn is_wide(location: &Location) -> Option<&'static str> {
    let homes: Vec<Location> = homes().iter().flat_map(|home| Location::of(home)).collect();
    if homes.iter().any(|home| home.is_same(location)) {
        return Some("is a home folder");
    }
    if homes.iter().any(|home| home.target_is_inside(location)) {
        return Some("contains a home folder");
    }
    if homes.iter().any(|home| holds_settings(home, location)) {
        return Some("holds the settings of programs in a home folder");
    }
    let found = fs::metadata(location.path()).ok()?;
    if found.mode() & 0o1002 == 0o1002 {
        return Some("is shared by all users");
    }
    let runtime = env::runtime_dir().and_then(|folder| Location::of(&folder).ok());
    if runtime.is_some_and(|runtime| runtime.is_same(location))
        || location.path().parent() == Some(Path::new("/run/user"))
    {
        return Some("holds the sockets of a user's programs");
    }
    None
}

/// The home folders of this machine: of the accounts, below `/home`, and the one in the environment.
fn homes() -> Vec<PathBuf> {
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let of_accounts = accounts.lines().filter_map(|line| line.split(':').nth(5));
    let of_accounts = of_accounts.map(PathBuf::from);
    let below_home = fs::read_dir("/home").into_iter().flatten().flatten();
    of_accounts
        .chain(below_home.map(|entry| entry.path()))
        .chain(env::home())
        .filter(|home| home.is_absolute() && is_home(home))
        .collect()
}

/// Whether a folder may be somebody's home. System accounts have `/`, `/bin` or a missing one.
fn is_home(folder: &Path) -> bool {
    folder.parent().is_some() && folder.is_dir()
}
