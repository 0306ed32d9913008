//! Displays for tests, each with its own server, user and folder.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use telechir_device::{ScreenAction, ScreenTarget, Viewport};
use telechir_process::{Identity, is_root};
use telechir_protocol::{Action, Point, Size, Space, Target};
use telechir_testkit::gate::{Component, require};
use telechir_testkit::witness::{ReadMode, XWitness};
use telechir_x11::{Desktop, DisplayOptions, PrivateDisplay};
use tempfile::TempDir;

/// A client that implements the complete protocol.
pub(crate) const POLITE: ReadMode = ReadMode {
    answers_pings: true,
    slowness: std::time::Duration::ZERO,
};

/// The user for desktops: no session uses it, since the end of a session kills all processes of its
/// user.
pub(crate) fn identity() -> Option<Identity> {
    is_root().then(|| Identity::unprivileged(3_830)).flatten()
}

/// A folder that the desktop's user can access, containing the workspace.
pub(crate) fn session_dir() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(workspace(&folder)).unwrap();
    own(folder.path());
    own(&workspace(&folder));
    folder
}

/// The folder that applications can write to.
pub(crate) fn workspace(folder: &TempDir) -> PathBuf {
    folder.path().join("workspace")
}

/// Changes the owner to the desktop's user.
pub(crate) fn own(path: &Path) {
    if let Some(identity) = identity() {
        let (uid, gid) = (Some(identity.uid), Some(identity.gid));
        std::os::unix::fs::chown(path, uid, gid).unwrap();
    }
}

pub(crate) fn options(folder: &TempDir) -> DisplayOptions {
    DisplayOptions {
        workspace: Some(workspace(folder)),
        ..DisplayOptions::new(folder.path(), identity())
    }
}

async fn start(options: DisplayOptions) -> PrivateDisplay {
    require(Component::XServer);
    PrivateDisplay::start(options)
        .await
        .expect("the display starts")
}

/// A display without a window manager between a witness and the server.
pub(crate) async fn bare(folder: &TempDir) -> PrivateDisplay {
    start(DisplayOptions {
        window_manager: false,
        ..options(folder)
    })
    .await
}

pub(crate) async fn managed(folder: &TempDir) -> PrivateDisplay {
    start(options(folder)).await
}

/// A display with accessibility, as sessions use it.
pub(crate) async fn described(folder: &TempDir) -> PrivateDisplay {
    require(Component::Dbus);
    start(DisplayOptions {
        accessibility: true,
        ..options(folder)
    })
    .await
}

/// A desktop with a witness client.
pub(crate) async fn watched(display: PrivateDisplay, manners: ReadMode) -> (Desktop, XWitness) {
    let witness = XWitness::open(&display.environment(), manners).await;
    let desktop = display.into_desktop().await.expect("the desktop opens");
    (desktop, witness)
}

/// An action in screen coordinates.
pub(crate) fn on_screen(size: Size, action: Action) -> ScreenAction {
    Viewport::new(size, size)
        .action(&action)
        .expect("the coordinates are on the screen")
}

pub(crate) fn pixel(x: u32, y: u32) -> Target {
    Target::Point(Point {
        x: f64::from(x),
        y: f64::from(y),
        space: Space::Screen,
    })
}

/// A pointer move to this pixel.
pub(crate) fn move_to(size: Size, x: u32, y: u32) -> ScreenAction {
    on_screen(size, Action::Move { at: pixel(x, y) })
}

/// A type action for the focused window.
pub(crate) fn type_text(text: &str) -> ScreenAction {
    let text = text.to_owned();
    Action::<ScreenTarget, _>::Type {
        text,
        at: None,
        clear_first: false,
        submit: false,
    }
}
