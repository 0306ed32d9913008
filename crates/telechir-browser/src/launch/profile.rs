//! Chromium's private folder, removed on drop; it contains the profile unless a persistent one is used.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::fchown;
use rustix::process::{Gid, Uid};
use serde_json::json;
use telechir_process::{Identity, PrivateFolder, make_private_dir, tree};

use crate::emulation::HttpCredentials;
use crate::fs_tree;
use crate::options::{self, Options};

/// Killed processes close their files within milliseconds.
const REMOVE_ATTEMPTS: u32 = 100;
const REMOVE_ATTEMPTS_IN_DROP: u32 = 10;
const REMOVE_INTERVAL: Duration = Duration::from_millis(20);

/// The private folder of one browser, and its profile.
#[derive(Debug)]
pub(crate) struct ProfileDir {
    folder: Option<PrivateFolder>,
    /// The folder of a persistent profile, if one is used.
    persistent: Option<PathBuf>,
}

impl ProfileDir {
    /// Creates the folder and prepares the profile.
    pub(super) fn create(options: &Options) -> io::Result<Self> {
        let folder = PrivateFolder::create(&options.temp_dir, "chromium-")?;
        make_private_dir(&folder.path().join("tmp"))?;
        let persistent = match &options.profile {
            options::Profile::Fresh => None,
            options::Profile::Persistent(persistent) => Some(persistent.clone()),
            options::Profile::CopyOf(original) => {
                fs_tree::copy(original, folder.folder())?;
                None
            }
        };
        let profile = persistent.as_deref().unwrap_or_else(|| folder.path());
        fs_tree::remove_singleton_links(profile);
        prepare(profile, options)?;
        if let Some(identity) = options.identity {
            tree::give(folder.folder(), identity)?;
        }
        Ok(Self {
            folder: Some(folder),
            persistent,
        })
    }

    /// The private folder, which is removed at the end.
    pub(super) fn folder(&self) -> PathBuf {
        self.folder
            .as_ref()
            .map(|folder| folder.path().to_owned())
            .unwrap_or_default()
    }

    /// Whether the profile outlives the browser.
    pub(super) const fn is_persistent(&self) -> bool {
        self.persistent.is_some()
    }

    /// The flag for the profile folder; the caches of a persistent profile stay in the private
    /// folder.
    pub(super) fn flags(&self) -> Vec<OsString> {
        let mut profile = OsString::from("--user-data-dir=");
        profile.push(self.persistent.clone().unwrap_or_else(|| self.folder()));
        let mut cache = OsString::from("--disk-cache-dir=");
        cache.push(self.folder().join("cache"));
        std::iter::once(profile)
            .chain(self.is_persistent().then_some(cache))
            .collect()
    }

    /// Redirects everything else that Chromium writes to the private folder.
    pub(super) fn environment(&self) -> [(&'static str, PathBuf); 4] {
        let path = self.folder();
        [
            ("TMPDIR", path.join("tmp")),
            ("XDG_CONFIG_HOME", path.join("config")),
            ("XDG_CACHE_HOME", path.join("cache")),
            ("HOME", path),
        ]
    }

    /// Removes the folder; the browser must have exited.
    pub(super) async fn remove(mut self) -> io::Result<()> {
        let Some(folder) = self.folder.take() else {
            return Ok(());
        };
        let path = folder.keep();
        let removal = tokio::task::spawn_blocking(move || remove_within(&path, REMOVE_ATTEMPTS));
        removal.await.map_err(io::Error::other)?
    }
}

impl Drop for ProfileDir {
    /// The browser was just killed and may still be writing for some milliseconds. Our own process
    /// may be about to exit, so this waits here; what takes longer runs in a thread.
    fn drop(&mut self) {
        if let Some(folder) = self.folder.take() {
            let path = folder.keep();
            if remove_within(&path, REMOVE_ATTEMPTS_IN_DROP).is_err() {
                let _without_threads_the_folder_stays = thread::Builder::new()
                    .name("telechir-profile".to_owned())
                    .spawn(move || remove_within(&path, REMOVE_ATTEMPTS));
            }
        }
    }
}

fn remove_within(path: &Path, attempts: u32) -> io::Result<()> {
    let mut left = attempts;
    loop {
        match tree::remove_path(path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if left == 0 => return Err(error),
            Err(_) => left -= 1,
        }
        thread::park_timeout(REMOVE_INTERVAL);
    }
}

/// Writes the initial preferences, unless the profile has some.
fn prepare(profile: &Path, options: &Options) -> io::Result<()> {
    let identity = options.identity;
    let state = first_state(&options.emulation.credentials);
    let profile = tree::open_folder(&profile.canonicalize()?)?;
    write_new(&profile, "Local State", &state, identity)?;
    let (folder, is_new) = fs_tree::open_or_create(&profile, "Default")?;
    if is_new {
        own(&folder, identity)?;
    }
    write_new(&folder, "Preferences", &first_preferences(), identity)
}

/// Creates a file, unless there is an entry with this name.
fn write_new(
    folder: &OwnedFd,
    name: &str,
    text: &str,
    identity: Option<Identity>,
) -> io::Result<()> {
    match fs_tree::create_new(folder, name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        file => {
            let mut file = file?;
            file.write_all(text.as_bytes())?;
            own(&file, identity)
        }
    }
}

fn own(file: impl AsFd, identity: Option<Identity>) -> io::Result<()> {
    let Some(Identity { uid, gid }) = identity else {
        return Ok(());
    };
    Ok(fchown(
        file,
        Some(Uid::from_raw(uid)),
        Some(Gid::from_raw(gid)),
    )?)
}

/// Settings without a flag: nothing is saved, suggested, translated, printed or looked up, and
/// pages get no devices.
fn first_preferences() -> String {
    /// Chromium's value for a setting that no site may use.
    const BLOCK: u8 = 2;
    json!({
        "alternate_error_pages": { "enabled": false },
        "autofill": { "credit_card_enabled": false, "profile_enabled": false },
        "browser": { "check_default_browser": false, "has_seen_welcome_page": true },
        "credentials_enable_service": false,
        "net": { "network_prediction_options": 2 },
        "printing": { "enabled": false },
        // No device or screen-sharing chooser covers a page.
        "hardware": { "screen_capture_enabled": false },
        "profile": {
            "password_manager_enabled": false, "password_manager_leak_detection": false,
            "default_content_setting_values": {
                "usb_guard": BLOCK, "serial_guard": BLOCK, "hid_guard": BLOCK,
                "bluetooth_guard": BLOCK, "bluetooth_scanning": BLOCK,
            },
        },
        "safebrowsing": { "enabled": false },
        "search": { "suggest_enabled": false },
        "signin": { "allowed": false },
        "translate": { "enabled": false },
    })
    .to_string()
}

/// Disables HTTP authentication but for the origins with credentials: no others are sent, and no
/// prompt is shown.
fn first_state(credentials: &[HttpCredentials]) -> String {
    let origins: Vec<&str> = credentials.iter().map(HttpCredentials::origin).collect();
    json!({ "auth": { "schemes": "none", "http_auth_allowed_for_origins": origins } }).to_string()
}
