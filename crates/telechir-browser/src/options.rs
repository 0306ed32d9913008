//! How a browser is started and what it may do.

use std::path::{Path, PathBuf};
use std::time::Duration;

use telechir_device::{DeviceError, Screen};
use telechir_egress::Egress;
use telechir_process::Identity;
use telechir_protocol::Size;

use crate::emulation::Emulation;
use crate::scale::Scale;

/// Where the page is rendered.
#[derive(Debug)]
pub enum Surface {
    /// Headless, at this size in pixels; screenshots come through CDP.
    Headless(Size),
    /// In a window that fills this screen, which provides pixels and damage events. The screen
    /// needs a window manager.
    Window(Box<dyn Screen>),
}

/// Whether Chromium sandboxes its renderers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ChromiumSandbox {
    /// Chromium's own namespaces and seccomp filter.
    #[default]
    On,
    /// No sandbox: a page that exploits its renderer has the session's rights. Logged as a warning.
    Off,
}

/// Whether a browser with an egress proxy has a network namespace of its own. Without one Chromium's
/// flags alone send its requests through the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OwnNetwork {
    /// If the machine can create one. Otherwise a warning is logged, and the browser says so.
    #[default]
    IfPossible,
    /// Always: without one the browser does not start.
    Required,
    /// It shares the machine's network namespace, as where none can be created.
    Off,
}

/// The URLs that a call may name. Links and redirects follow Chromium's own rules; the policy
/// judges hosts and the egress proxy enforces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AllowedUrls {
    /// `http:`, `https:` and `about:blank`.
    #[default]
    Web,
    /// Also `data:`, for pages that the caller writes itself.
    WebAndData,
    /// Any URL, if a policy judges every URL beforehand.
    Judged,
}

/// Files with cookies and the stored data of pages, in the form of Playwright's storage state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageStateFiles {
    /// Loaded at the start.
    pub load: Option<PathBuf>,
    /// Written at the end, readable by its owner alone.
    pub save: Option<PathBuf>,
}

impl StorageStateFiles {
    /// Checks that the file to write can be made, before anything is done whose result it is.
    ///
    /// # Errors
    /// If its folder does not exist, or it is a folder itself. The text names the path.
    pub fn check(&self) -> Result<(), String> {
        let Some(file) = &self.save else {
            return Ok(());
        };
        let folder = file.parent().filter(|folder| *folder != Path::new(""));
        let folder = folder.unwrap_or_else(|| Path::new("."));
        if !folder.is_dir() {
            let folder = folder.display();
            return Err(format!("there is no folder {folder}; create it first"));
        }
        match file.is_dir() {
            true => Err(format!("{} is a folder; name a file in it", file.display())),
            false => Ok(()),
        }
    }
}

/// Where cookies and other data of pages are stored.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Profile {
    /// In a fresh profile, which is deleted at the end.
    #[default]
    Fresh,
    /// In this persistent folder, which belongs to the browser's user. The caller ensures that no
    /// other browser uses it.
    Persistent(PathBuf),
    /// In a copy of this folder, which is deleted at the end.
    CopyOf(PathBuf),
}

/// The files that pages and session exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileAccess {
    /// The folder whose files may be uploaded.
    pub workspace: PathBuf,
    /// Whether downloads are saved, in the workspace's folder `downloads`.
    pub saves_downloads: bool,
}

/// How a browser is started and what it may do.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Chromium's program; `None` searches the usual installation paths.
    pub program: Option<PathBuf>,
    /// The user that runs Chromium. Required for root, because Chromium never runs as root.
    pub identity: Option<Identity>,
    /// Whether Chromium sandboxes its renderers.
    pub sandbox: ChromiumSandbox,
    /// The folder for private folders and fresh profiles, which are deleted at the end.
    pub temp_dir: PathBuf,
    /// Where cookies and other data of pages are stored.
    pub profile: Profile,
    /// The proxy for all traffic including loopback, such as `http://127.0.0.1:3128`. Ignored if
    /// `egress` is set.
    pub proxy: Option<String>,
    /// The session's egress proxy, which enforces the policy for all traffic.
    pub egress: Option<Egress>,
    /// Whether the browser's network namespace has this proxy alone.
    pub own_network: OwnNetwork,
    /// Screen pixels per CSS pixel, from 0.25 to 4.
    pub scale: f64,
    /// Locale, location, network and so on that pages see.
    pub emulation: Emulation,
    /// Files with cookies and the stored data of pages.
    pub storage_state: StorageStateFiles,
    /// The URLs that a call may name.
    pub allowed_urls: AllowedUrls,
    /// File transfer with pages; `None` disables it.
    pub files: Option<FileAccess>,
    /// The search URL with `{query}` for the query; `None` disables searching.
    pub search: Option<String>,
    /// Memory limit in bytes for all processes together, where a control group is available.
    pub max_memory_bytes: u64,
    /// Whether a model may run scripts in a page.
    pub allows_scripts: bool,
    /// The limit for loading a page.
    pub navigation_timeout: Duration,
    /// The limit for a reply of the page to a command.
    pub reply_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            program: None,
            identity: None,
            sandbox: ChromiumSandbox::On,
            temp_dir: PathBuf::from("/tmp"),
            profile: Profile::Fresh,
            proxy: None,
            egress: None,
            own_network: OwnNetwork::IfPossible,
            scale: 1.0,
            emulation: Emulation::default(),
            storage_state: StorageStateFiles::default(),
            allowed_urls: AllowedUrls::Web,
            files: None,
            search: None,
            max_memory_bytes: 4 << 30,
            allows_scripts: false,
            navigation_timeout: Duration::from_secs(30),
            reply_timeout: Duration::from_secs(10),
        }
    }
}

impl Options {
    /// The scale, if Chromium supports it.
    pub(crate) fn scale(&self) -> Result<Scale, DeviceError> {
        Scale::new(self.scale).ok_or_else(|| DeviceError::Unavailable {
            what: "Chromium",
            message: format!(
                "unsupported scale {}; expected a scale from 0.25 to 4",
                self.scale
            ),
        })
    }
}
