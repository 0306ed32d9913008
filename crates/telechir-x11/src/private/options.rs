//! How a private display is started.

use std::path::PathBuf;

use telechir_egress::Egress;
use telechir_process::Identity;
use telechir_process::confinement::MissingFiles;
use telechir_protocol::Size;

/// Options for starting a private display.
#[derive(Clone, Debug)]
pub struct DisplayOptions {
    /// The size of each monitor in pixels, from left to right; the first is the primary one. The
    /// screen holds all of them.
    pub monitors: Vec<Size>,
    /// The user that the server and all applications run as. Required for root, absent otherwise.
    pub identity: Option<Identity>,
    /// A folder that `identity` can access. The display creates a subfolder for the cookie and the
    /// applications' home, and deletes it at the end.
    pub session_dir: PathBuf,
    /// The working folder of applications and, besides their home, the only folder they can access;
    /// absent means their home.
    pub workspace: Option<PathBuf>,
    /// How protected files that do not exist in the workspace are handled.
    pub missing: MissingFiles,
    /// The egress proxy for applications; without it they have no network.
    pub network: Option<Egress>,
    /// Whether to start a window manager, which provides frames, focus and shortcuts such as
    /// alt+Tab.
    pub window_manager: bool,
    /// Whether to start a session bus with accessibility enabled.
    pub accessibility: bool,
    /// Whether the guardian stops the server only after the other programs, if this process is
    /// killed: set it if a program on the display must save data at exit.
    pub ends_last: bool,
}

impl DisplayOptions {
    /// 1280 by 800 pixels, with a window manager, without accessibility.
    pub fn new(session_dir: impl Into<PathBuf>, identity: Option<Identity>) -> Self {
        Self {
            monitors: vec![Size::new(1280, 800)],
            workspace: None,
            missing: MissingFiles::Creatable,
            network: None,
            identity,
            session_dir: session_dir.into(),
            window_manager: true,
            accessibility: false,
            ends_last: false,
        }
    }

    /// The size of the screen.
    pub(super) fn size(&self) -> Size {
        let widths = self.monitors.iter().map(|monitor| monitor.width);
        let heights = self.monitors.iter().map(|monitor| monitor.height);
        Size::new(widths.sum(), heights.max().unwrap_or_default())
    }
}
