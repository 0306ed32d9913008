//! Where the browser writes: a private folder that is gone when this is dropped, and in it a fresh
//! profile, unless one that lasts was given.

use std::ffi::OsString;
use std::fs::{Permissions, create_dir, remove_dir_all, set_permissions, write};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, chown, lchown};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde_json::json;
use telechir_process::Identity;
use tempfile::TempDir;

use crate::options::{self, Options};
use crate::fs_tree;

/// Killed processes let go of their files within milliseconds.
const ATTEMPTS: u32 = 100;
const AT_ONCE: u32 = 10;
const PAUSE: Duration = Duration::from_millis(20);

/// The folder of one browser, and its profile.
#[derive(Debug)]
pub(crate) struct Profile {
    folder: Option<TempDir>,
    /// A profile that lasts.
    kept: Option<PathBuf>,
}

impl Profile {
    /// Makes it.
    pub(super) fn create(options: &Options) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("chromium-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&options.profiles)?;
        create_dir(folder.path().join("tmp"))?;
        let kept = match &options.profile {
            options::Profile::Fresh => None,
            options::Profile::Kept(kept) => Some(kept.clone()),
            options::Profile::CopyOf(original) => {
                fs_tree::copy(original, folder.path())?;
                None
            }
        };
        let profile = kept.as_deref().unwrap_or_else(|| folder.path());
        fs_tree::let_go(profile);
        prepare(profile, options.identity)?;
        if let Some(identity) = options.identity {
            let us = Identity::current().uid;
            fs_tree::give(folder.path(), us, identity)?;
            chown(folder.path(), Some(identity.uid), Some(identity.gid))?;
        }
        Ok(Self {
            folder: Some(folder),
            kept,
        })
    }

    /// What is removed at the end.
    pub(super) fn folder(&self) -> PathBuf {
        self.folder
            .as_ref()
            .map(|folder| folder.path().to_owned())
            .unwrap_or_default()
    }

    /// Whether what pages stored must be written before the end.
    pub(super) const fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Where the profile is; caches are not part of one that lasts.
    pub(super) fn flags(&self) -> Vec<OsString> {
        let mut profile = OsString::from("--user-data-dir=");
        profile.push(self.kept.clone().unwrap_or_else(|| self.folder()));
        let mut cache = OsString::from("--disk-cache-dir=");
        cache.push(self.folder().join("cache"));
        std::iter::once(profile)
            .chain(self.is_kept().then_some(cache))
            .collect()
    }

    /// Everything Chromium writes elsewhere goes here too.
    pub(super) fn environment(&self) -> [(&'static str, PathBuf); 4] {
        let path = self.folder();
        [
            ("TMPDIR", path.join("tmp")),
            ("XDG_CONFIG_HOME", path.join("config")),
            ("XDG_CACHE_HOME", path.join("cache")),
            ("HOME", path),
        ]
    }

    /// Removes it; the browser must have ended.
    pub(super) async fn remove(mut self) -> io::Result<()> {
        let Some(folder) = self.folder.take() else {
            return Ok(());
        };
        let path = folder.keep();
        let removal = tokio::task::spawn_blocking(move || remove_within(&path, ATTEMPTS));
        removal.await.map_err(io::Error::other)?
    }
}

impl Drop for Profile {
    /// The browser was killed just now and may still be writing. That takes milliseconds, and our
    /// own process may be about to end, so it is waited for here; what takes longer is not.
    fn drop(&mut self) {
        if let Some(folder) = self.folder.take() {
            let path = folder.keep();
            if remove_within(&path, AT_ONCE).is_err() {
                let _without_threads_the_folder_stays = thread::Builder::new()
                    .name("telechir-profile".to_owned())
                    .spawn(move || remove_within(&path, ATTEMPTS));
            }
        }
    }
}

fn remove_within(path: &Path, attempts: u32) -> io::Result<()> {
    let mut left = attempts;
    loop {
        match remove_dir_all(path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if left == 0 => return Err(error),
            Err(_) => left -= 1,
        }
        thread::park_timeout(PAUSE);
    }
}

/// Writes the first preferences into a profile that has none.
fn prepare(profile: &Path, identity: Option<Identity>) -> io::Result<()> {
    let state = profile.join("Local State");
    if !state.exists() {
        write(&state, first_state())?;
        if let Some(identity) = identity {
            lchown(&state, Some(identity.uid), Some(identity.gid))?;
        }
    }
    let folder = profile.join("Default");
    let file = folder.join("Preferences");
    if file.exists() {
        return Ok(());
    }
    if !folder.exists() {
        create_dir(&folder)?;
    }
    write(&file, first_preferences())?;
    set_permissions(&folder, Permissions::from_mode(0o700))?;
    if let Some(identity) = identity {
        for path in [&folder, &file] {
            lchown(path, Some(identity.uid), Some(identity.gid))?;
        }
    }
    Ok(())
}

/// What has no flag: nothing is saved, suggested, translated, printed or looked up,
/// and no device is given to a page.
fn first_preferences() -> String {
    /// Chromium's number for what no site may.
    const BLOCK: u8 = 2;
    json!({
        "alternate_error_pages": { "enabled": false },
        "autofill": { "credit_card_enabled": false, "profile_enabled": false },
        "browser": { "check_default_browser": false, "has_seen_welcome_page": true },
        "credentials_enable_service": false,
        "net": { "network_prediction_options": 2 },
        "printing": { "enabled": false },
        // No choice of a device or of what to share is put over a page.
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

/// A site that wants a name and a password gets none, and nobody is asked: the page is what it
/// shows without them.
fn first_state() -> String {
    json!({ "auth": { "schemes": "none" } }).to_string()
}
