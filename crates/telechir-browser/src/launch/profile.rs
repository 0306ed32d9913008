//! A fresh profile that only the browser's user can read, gone when it is dropped.

use std::ffi::OsString;
use std::fs::{Permissions, create_dir, remove_dir_all, set_permissions, write};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use crate::options::Options;

/// Killed processes let go of their files within milliseconds.
const ATTEMPTS: u32 = 100;
const AT_ONCE: u32 = 10;
const PAUSE: Duration = Duration::from_millis(20);

/// The folder of one browser.
#[derive(Debug)]
pub(crate) struct Profile(Option<TempDir>);

impl Profile {
    /// Makes it.
    pub(super) fn create(options: &Options) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("chromium-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&options.profiles)?;
        let preferences = folder.path().join("Default");
        create_dir(&preferences)?;
        let file = preferences.join("Preferences");
        write(&file, first_preferences())?;
        set_permissions(&preferences, Permissions::from_mode(0o700))?;
        let temporary = folder.path().join("tmp");
        create_dir(&temporary)?;
        if let Some(identity) = options.identity {
            for path in [folder.path(), &preferences, &file, &temporary] {
                chown(path, Some(identity.uid), Some(identity.gid))?;
            }
        }
        Ok(Self(Some(folder)))
    }

    pub(super) fn path(&self) -> PathBuf {
        self.0
            .as_ref()
            .map(|folder| folder.path().to_owned())
            .unwrap_or_default()
    }

    pub(super) fn flag(&self) -> OsString {
        let mut flag = OsString::from("--user-data-dir=");
        flag.push(self.path());
        flag
    }

    /// Everything Chromium writes elsewhere goes here too.
    pub(super) fn environment(&self) -> [(&'static str, PathBuf); 4] {
        let path = self.path();
        [
            ("TMPDIR", path.join("tmp")),
            ("XDG_CONFIG_HOME", path.join("config")),
            ("XDG_CACHE_HOME", path.join("cache")),
            ("HOME", path),
        ]
    }

    /// Removes it; the browser must have ended.
    pub(super) async fn remove(mut self) -> io::Result<()> {
        let Some(folder) = self.0.take() else {
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
        if let Some(folder) = self.0.take() {
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

/// What has no flag: nothing is saved, suggested, translated, printed or looked up.
fn first_preferences() -> String {
    json!({
        "alternate_error_pages": { "enabled": false },
        "autofill": { "credit_card_enabled": false, "profile_enabled": false },
        "browser": { "check_default_browser": false, "has_seen_welcome_page": true },
        "credentials_enable_service": false,
        "net": { "network_prediction_options": 2 },
        "printing": { "enabled": false },
        "profile": { "password_manager_enabled": false, "password_manager_leak_detection": false },
        "safebrowsing": { "enabled": false },
        "search": { "suggest_enabled": false },
        "signin": { "allowed": false },
        "translate": { "enabled": false },
    })
    .to_string()
}
