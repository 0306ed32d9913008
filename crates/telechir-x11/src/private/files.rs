//! The files of a private display: its folder, lock file and socket in `/tmp`.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use telechir_process::confinement::Account;
use telechir_process::{PrivateFolder, guardian, make_private_dir, make_private_file, tree};

use super::options::DisplayOptions;
use crate::address::socket_path;
use crate::authority::MagicCookie;

/// Disables animations, the blinking caret and fading scroll bars: settling would take them for
/// progress.
const GTK_SETTINGS: &str = "[Settings]
gtk-enable-animations=0
gtk-cursor-blink=0
gtk-overlay-scrolling=0
";
/// File dialogs start in the folder of the program, which is the workspace, and not in the list of
/// recently used files, which is empty.
const STORED_SETTINGS: &str = "[org/gtk/settings/file-chooser]
startup-mode='cwd'

[org/gtk/gtk4/settings/file-chooser]
startup-mode='cwd'
";
/// Desktop, Documents and the others are the home, so that file dialogs list it alone.
const USER_FOLDERS: &str = r#"XDG_DESKTOP_DIR="$HOME/"
XDG_DOCUMENTS_DIR="$HOME/"
XDG_DOWNLOAD_DIR="$HOME/"
XDG_MUSIC_DIR="$HOME/"
XDG_PICTURES_DIR="$HOME/"
XDG_PUBLICSHARE_DIR="$HOME/"
XDG_TEMPLATES_DIR="$HOME/"
XDG_VIDEOS_DIR="$HOME/"
"#;
/// Chromium exposes its pages only with this flag. Debian's wrapper sources the files of this
/// folder.
const CHROMIUM_SCRIPT: &str =
    "export CHROMIUM_FLAGS=\"$CHROMIUM_FLAGS --force-renderer-accessibility\"\n";
const OPENBOX: &str = include_str!("openbox.xml");

/// Files of the display folder that appear in `/etc` for programs. The host's own files may not
/// list the user, which many programs require.
pub(super) const ETC: [&str; 5] = ["passwd", "group", "hosts", "machine-id", CHROMIUM_FLAGS];
const CHROMIUM_FLAGS: &str = "chromium.d";

/// Creates the display folder with all its files, then gives it to the display's user: as long as
/// we write in it, no other program can.
pub(super) fn make(
    options: &DisplayOptions,
    workspace: Option<&Path>,
    cookie: &MagicCookie,
) -> io::Result<PrivateFolder> {
    // Its path has no links: programs see the same path but not the links.
    let folder = PrivateFolder::create(&options.session_dir, "display-")?;
    let path = folder.path();
    for name in [
        "run",
        "home",
        "home/.config",
        "home/.config/gtk-3.0",
        "home/.config/gtk-4.0",
        "home/.config/glib-2.0",
        "home/.config/glib-2.0/settings",
        CHROMIUM_FLAGS,
    ] {
        make_private_dir(&path.join(name))?;
    }
    for version in ["gtk-3.0", "gtk-4.0"] {
        let settings = path.join("home/.config").join(version).join("settings.ini");
        make_file(&settings, GTK_SETTINGS)?;
    }
    make_file(
        &path.join("home/.config/glib-2.0/settings/keyfile"),
        STORED_SETTINGS,
    )?;
    make_file(&path.join("home/.config/user-dirs.dirs"), USER_FOLDERS)?;
    make_file(&path.join("openbox.xml"), OPENBOX)?;
    if options.accessibility {
        make_file(&path.join(CHROMIUM_FLAGS).join("telechir"), CHROMIUM_SCRIPT)?;
    }
    let home = path.join("home");
    let account = Account {
        name: "desktop",
        identity: options.identity,
        home: &workspace.unwrap_or(&home).to_string_lossy(),
    };
    make_file(&path.join("passwd"), &account.passwd())?;
    make_file(&path.join("group"), &account.group())?;
    make_file(&path.join("hosts"), Account::hosts())?;
    make_file(&path.join("machine-id"), &machine_id()?)?;
    cookie.write(&authority(path))?;
    if let Some(owner) = options.identity {
        tree::give(folder.folder(), owner)?;
    }
    Ok(folder)
}

/// Socket path of the session bus.
pub(super) fn session_bus(folder: &Path) -> PathBuf {
    folder.join("run/bus")
}

/// Path of the X authority file.
pub(super) fn authority(folder: &Path) -> PathBuf {
    folder.join("authority")
}

/// A random machine ID, which D-Bus requires.
fn machine_id() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}\n", u128::from_ne_bytes(bytes)))
}

/// The environment of every program on the display; nothing is inherited. The home is the
/// workspace, as for commands; settings and caches stay out of it.
pub(super) fn environment(number: u16, folder: &Path, workspace: &Path) -> Vec<(String, String)> {
    let at = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let display = format!(":{number}");
    [
        ("DISPLAY", display.as_str()),
        ("XAUTHORITY", &at("authority")),
        ("HOME", &workspace.to_string_lossy()),
        ("XDG_CONFIG_HOME", &at("home/.config")),
        ("XDG_CACHE_HOME", &at("home/.cache")),
        ("XDG_DATA_HOME", &at("home/.local/share")),
        ("XDG_STATE_HOME", &at("home/.local/state")),
        ("XDG_RUNTIME_DIR", &at("run")),
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("LANG", "C.UTF-8"),
        ("XDG_SESSION_TYPE", "x11"),
        ("GDK_BACKEND", "x11"),
        ("GSETTINGS_BACKEND", "keyfile"),
        // Without a graphics card gnome-calculator shows a digit after 75 ms, with OpenGL after 125
        // ms.
        ("GSK_RENDERER", "cairo"),
        ("GTK_OVERLAY_SCROLLING", "0"),
        // No input method between key events and the program.
        ("GTK_IM_MODULE", "gtk-im-context-simple"),
        ("XMODIFIERS", "@im=none"),
        // No compose sequences: Openbox would read about 5,000 of them (25 ms) on every mapping
        // change.
        ("XCOMPOSEFILE", "/dev/null"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

/// Creates `/tmp/.X11-unix` with the mode that X servers use. Two servers that create it at the
/// same time fail, and an unprivileged server may not be allowed to.
pub(super) fn make_socket_folder() -> io::Result<()> {
    let path = Path::new("/tmp/.X11-unix");
    match fs::DirBuilder::new().mode(0o1777).create(path) {
        // The umask may have cleared mode bits.
        Ok(()) => fs::set_permissions(path, fs::Permissions::from_mode(0o1777)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn make_file(path: &Path, text: &str) -> io::Result<()> {
    make_private_file(path)?.write_all(text.as_bytes())
}

/// A reserved display number, until dropped.
///
/// We use `-displayfd` to learn when the server is ready; with it the server neither creates nor
/// checks a lock file and takes over existing sockets. We therefore create the lock file in the
/// common format, with our own process ID, so that a leftover lock counts as stale. The guardian is
/// registered before the file exists and deletes it and the socket if this process dies.
#[derive(Debug)]
pub(super) struct Reservation {
    number: u16,
}

impl Reservation {
    /// Reserves an unused number. Starts at 1000, because servers that count up from 0 and ignore
    /// locks would take over the socket.
    pub(super) fn take() -> io::Result<Self> {
        const LOWEST: u16 = 1_000;
        const SPAN: u16 = 50_000;
        let mut random = File::open("/dev/urandom")?;
        let lock_file = LockFile::new()?;
        loop {
            let mut bytes = [0; 2];
            random.read_exact(&mut bytes)?;
            let number = LOWEST + u16::from_ne_bytes(bytes) % SPAN;
            // A keymap left by another user's killed server would prevent the start.
            if socket_path(number).exists() || keymap(number).exists() {
                continue;
            }
            let lock = lock(number);
            guardian::register_file(&lock, &lock_file.0, &socket_path(number))?;
            match fs::hard_link(&lock_file.0, &lock) {
                Ok(()) => return Ok(Self { number }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    guardian::unregister_file(&lock);
                }
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) const fn number(&self) -> u16 {
        self.number
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // A killed server leaves its socket and, during startup, its keymap. The lock still
        // protects them here.
        for file in [socket_path(self.number), keymap(self.number)] {
            let _best_effort = fs::remove_file(file);
        }
        let _best_effort = fs::remove_file(lock(self.number));
        guardian::unregister_file(&lock(self.number));
    }
}

/// The keymap that the server compiles during startup.
fn keymap(number: u16) -> PathBuf {
    format!("/tmp/server-{number}.xkm").into()
}

/// A lock file under a temporary name; linking it makes it appear complete.
struct LockFile(PathBuf);

impl LockFile {
    fn new() -> io::Result<Self> {
        let named = tempfile::Builder::new()
            .prefix(&guardian::folder_prefix())
            .suffix("-lock")
            .permissions(fs::Permissions::from_mode(0o444))
            .tempfile_in("/tmp")?;
        let (mut file, path) = named.keep().map_err(|error| error.error)?;
        let lock_file = Self(path);
        file.write_all(format!("{:>10}\n", std::process::id()).as_bytes())?;
        Ok(lock_file)
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        let _best_effort = fs::remove_file(&self.0);
    }
}

fn lock(number: u16) -> PathBuf {
    format!("/tmp/.X{number}-lock").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropping_a_reservation_deletes_its_files() {
        let reservation = Reservation::take().unwrap();
        let left = [keymap(reservation.number()), lock(reservation.number())];
        fs::write(&left[0], "half of it").unwrap();
        assert!(left[1].exists());
        drop(reservation);
        assert!(!left.iter().any(|file| file.exists()), "{left:?}");
    }
}
