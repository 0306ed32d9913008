//! What whoever starts a browser decides.

use std::path::PathBuf;
use std::time::Duration;

use telechir_device::{BoxScreen, DeviceError};
use telechir_egress::Egress;
use telechir_process::Identity;
use telechir_protocol::Size;

use crate::emulation::Emulation;
use crate::scale::Scale;

/// Where the page's pixels are.
#[derive(Debug)]
pub enum Surface {
    /// In no window; pixels come through the protocol.
    Headless(Size),
    /// In one window that fills this screen; pixels and the signs that they changed come from it.
    /// The screen needs a window manager.
    Window(BoxScreen),
}

/// Whether Chromium confines its own renderers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Sandbox {
    /// Namespaces and a system-call filter of Chromium's own.
    #[default]
    On,
    /// None: a page that breaks its renderer has the session's rights. Logged as a warning.
    Off,
}

/// Addresses that may be asked for by hand. Links and redirects obey Chromium's own rules; hosts
/// are judged by the policy and held back by the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Addresses {
    /// `http`, `https` and `about:blank`.
    #[default]
    Web,
    /// Also `data`, for pages that a caller writes itself.
    WebAndData,
    /// Whatever a policy let through: for who judges every address before it comes here.
    Judged,
}

/// Where what pages store goes.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Profile {
    /// Into a fresh one that is removed at the end.
    #[default]
    Fresh,
    /// Into this one, which is the browser's user's own and lasts. Whoever gives it sees to it
    /// that no other browser has it.
    Kept(PathBuf),
    /// Into a copy of this one, which is removed at the end.
    CopyOf(PathBuf),
}

/// Files between pages and the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The folder whose files may be given to pages.
    pub workspace: PathBuf,
    /// Whether files that pages give are kept, in the workspace's folder `downloads`.
    pub keeps_downloads: bool,
}

/// How a browser is started and what it may do.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The program; absent means the first Chromium found in the usual places.
    pub program: Option<PathBuf>,
    /// Whom it runs as. Must be given when we are root, because Chromium never runs as root.
    pub identity: Option<Identity>,
    /// Chromium's own sandbox.
    pub sandbox: Sandbox,
    /// The folder for a fresh profile and for all that is removed at the end.
    pub profiles: PathBuf,
    /// Where what pages store goes.
    pub profile: Profile,
    /// The proxy that all traffic takes, loopback too, such as `http://127.0.0.1:3128`. Not
    /// looked at where there is a way out of the session's own.
    pub proxy: Option<String>,
    /// The session's way out, which all traffic takes and nobody else can.
    pub egress: Option<Egress>,
    /// Pixels of the screen to one of a page, from 0.25 to 4.
    pub scale: f64,
    /// What pages are told of whoever looks at them.
    pub persona: Emulation,
    /// Which addresses may be asked for.
    pub addresses: Addresses,
    /// Files that may be given to pages and kept from them. Absent means none.
    pub files: Option<Files>,
    /// The search page, with `{query}` where the words go. Absent means there is none.
    pub search: Option<String>,
    /// Bytes of memory for all of its processes together, where a control group can be had.
    pub memory_bytes: u64,
    /// Whether a model may run scripts in a page.
    pub scripts: bool,
    /// A page that is not there after so long is given up.
    pub navigation_limit: Duration,
    /// A page that does not answer a command for so long is given up.
    pub answer_limit: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            program: None,
            identity: None,
            sandbox: Sandbox::On,
            profiles: PathBuf::from("/tmp"),
            profile: Profile::Fresh,
            proxy: None,
            egress: None,
            scale: 1.0,
            persona: Emulation::default(),
            addresses: Addresses::Web,
            files: None,
            search: None,
            memory_bytes: 4 << 30,
            scripts: false,
            navigation_limit: Duration::from_secs(30),
            answer_limit: Duration::from_secs(10),
        }
    }
}

impl Options {
    /// The scale, when Chromium draws at it.
    pub(crate) fn scale(&self) -> Result<Scale, DeviceError> {
        Scale::new(self.scale).ok_or_else(|| DeviceError::Unavailable {
            what: "Chromium",
            message: format!(
                "it does not draw at a scale of {}, only from 0.25 to 4",
                self.scale
            ),
        })
    }
}
