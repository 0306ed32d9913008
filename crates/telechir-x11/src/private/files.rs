//! What a private display keeps on disk, and what its server leaves in `/tmp`.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use telechir_process::{Identity, Pid};
use tempfile::TempDir;

use super::DisplayOptions;
use crate::authority::MagicCookie;

/// Nothing on the screen moves without a reason: no animations, no blinking caret, no fading
/// scroll bars. Waiting for a settled screen would take those for progress.
const GTK_SETTINGS: &str = "[Settings]
gtk-enable-animations=0
gtk-cursor-blink=0
gtk-overlay-scrolling=0
";
const OPENBOX: &str = include_str!("openbox.xml");

/// Makes the display's folder with all its files, owned by whom the display runs as.
pub(super) fn make(options: &DisplayOptions, cookie: &MagicCookie) -> io::Result<TempDir> {
    let folder = tempfile::Builder::new()
        .prefix("display-")
        .tempdir_in(&options.session_dir)?;
    let path = folder.path();
    let owner = options.identity;
    own(path, owner)?;
    for name in [
        "run",
        "home",
        "home/.config",
        "home/.config/gtk-3.0",
        "home/.config/gtk-4.0",
    ] {
        make_folder(&path.join(name), owner)?;
    }
    for version in ["gtk-3.0", "gtk-4.0"] {
        let settings = path.join("home/.config").join(version).join("settings.ini");
        make_file(&settings, GTK_SETTINGS, owner)?;
    }
    make_file(&path.join("openbox.xml"), OPENBOX, owner)?;
    cookie.write(&authority(path))?;
    own(&authority(path), owner)?;
    Ok(folder)
}

/// The file with the cookie.
pub(super) fn authority(folder: &Path) -> PathBuf {
    folder.join("authority")
}

/// What every program on the display gets, and nothing of our own environment.
pub(super) fn environment(number: u16, folder: &Path) -> Vec<(String, String)> {
    let at = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let display = format!(":{number}");
    [
        ("DISPLAY", display.as_str()),
        ("XAUTHORITY", &at("authority")),
        ("HOME", &at("home")),
        ("XDG_RUNTIME_DIR", &at("run")),
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("LANG", "C.UTF-8"),
        ("XDG_SESSION_TYPE", "x11"),
        ("GDK_BACKEND", "x11"),
        ("GSETTINGS_BACKEND", "memory"),
        ("GTK_OVERLAY_SCROLLING", "0"),
        // Keys reach programs as they are, in order: no input method in between.
        ("GTK_IM_MODULE", "gtk-im-context-simple"),
        ("XMODIFIERS", "@im=none"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

/// Makes the folder of all sockets of X servers, as a server would: two servers that do it at
/// the same moment fail, and a server of ours may not be allowed to.
pub(super) fn make_socket_folder() -> io::Result<()> {
    let path = Path::new("/tmp/.X11-unix");
    match fs::DirBuilder::new().mode(0o1777).create(path) {
        // The mask of our process may have taken bits away.
        Ok(()) => fs::set_permissions(path, fs::Permissions::from_mode(0o1777)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn make_folder(path: &Path, owner: Option<Identity>) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(path)?;
    own(path, owner)
}

fn make_file(path: &Path, text: &str, owner: Option<Identity>) -> io::Result<()> {
    fs::write(path, text)?;
    own(path, owner)
}

fn own(path: &Path, owner: Option<Identity>) -> io::Result<()> {
    match owner {
        Some(owner) => chown(path, Some(owner.uid), Some(owner.gid)),
        None => Ok(()),
    }
}

/// The lock and the socket of a server, which it does not remove when it is killed.
#[derive(Debug)]
pub(super) struct Leftovers {
    lock: PathBuf,
    socket: PathBuf,
    server: Pid,
}

impl Leftovers {
    pub(super) fn of(number: u16, server: Pid) -> Self {
        Self {
            lock: format!("/tmp/.X{number}-lock").into(),
            socket: format!("/tmp/.X11-unix/X{number}").into(),
            server,
        }
    }

    /// Removes them, unless another server has taken the number since.
    pub(super) fn remove(&self) {
        let Ok(owner) = fs::read_to_string(&self.lock) else {
            return;
        };
        if owner.trim() == self.server.as_raw_nonzero().to_string() {
            // The socket first: with the lock there, nobody else makes one of that name.
            let _best_effort = fs::remove_file(&self.socket);
            let _best_effort = fs::remove_file(&self.lock);
        }
    }
}
