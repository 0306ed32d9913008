//! What a private display keeps on disk, and what its server leaves in `/tmp`.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use telechir_process::confinement::Account;
use telechir_process::{Identity, guardian};
use tempfile::TempDir;

use super::DisplayOptions;
use crate::address::socket_path;
use crate::authority::MagicCookie;

/// Nothing on the screen moves without a reason: no animations, no blinking caret, no fading
/// scroll bars. Waiting for a settled screen would take those for progress.
const GTK_SETTINGS: &str = "[Settings]
gtk-enable-animations=0
gtk-cursor-blink=0
gtk-overlay-scrolling=0
";
/// Chromium describes its pages only when it is told to. Debian's reads this folder at its start.
const CHROMIUM: &str = "export CHROMIUM_FLAGS=\"$CHROMIUM_FLAGS --force-renderer-accessibility\"\n";
const OPENBOX: &str = include_str!("openbox.xml");

/// Files of the folder that programs see in `/etc`. The system's own may not name the user, which
/// many programs do not put up with.
pub(super) const ETC: [&str; 5] = ["passwd", "group", "hosts", "machine-id", CHROMIUM_FLAGS];
const CHROMIUM_FLAGS: &str = "chromium.d";

/// Makes the display's folder with all its files, owned by whom the display runs as.
pub(super) fn make(options: &DisplayOptions, cookie: &MagicCookie) -> io::Result<TempDir> {
    let folder = tempfile::Builder::new()
        .prefix("display-")
        // Without links: it is at the same place for the programs, who do not see those.
        .tempdir_in(options.session_dir.canonicalize()?)?;
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
    make_folder(&path.join(CHROMIUM_FLAGS), owner)?;
    if options.accessibility {
        make_file(&path.join(CHROMIUM_FLAGS).join("telechir"), CHROMIUM, owner)?;
    }
    let home = path.join("home");
    let account = Account {
        name: "desktop",
        identity: owner,
        home: &home.to_string_lossy(),
    };
    make_file(&path.join("passwd"), &account.passwd(), owner)?;
    make_file(&path.join("group"), &account.group(), owner)?;
    make_file(&path.join("hosts"), Account::hosts(), owner)?;
    make_file(&path.join("machine-id"), &machine_id()?, owner)?;
    cookie.write(&authority(path))?;
    own(&authority(path), owner)?;
    Ok(folder)
}

/// The socket of the session bus.
pub(super) fn session_bus(folder: &Path) -> PathBuf {
    folder.join("run/bus")
}

/// The file with the cookie.
pub(super) fn authority(folder: &Path) -> PathBuf {
    folder.join("authority")
}

/// A name of the machine that says nothing about it; the bus wants one.
fn machine_id() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}\n", u128::from_ne_bytes(bytes)))
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
        // Without a graphics card: a calculator shows a digit after 75 ms, through OpenGL after 125.
        ("GSK_RENDERER", "cairo"),
        ("GTK_OVERLAY_SCROLLING", "0"),
        // Keys reach programs as they are, in order: no input method in between.
        ("GTK_IM_MODULE", "gtk-im-context-simple"),
        ("XMODIFIERS", "@im=none"),
        // Nor is anything composed of several. Openbox would read five thousand ways to do so anew,
        // for 25 ms, whenever a key gets another character.
        ("XCOMPOSEFILE", "/dev/null"),
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

/// A display's number that is ours until this is dropped.
///
/// A server tells when it is ready only on `-displayfd`, and with that it neither makes nor heeds
/// a lock: it takes the socket away from whoever has it. So we take the lock, in the form that all
/// servers heed. It holds our own number, so a lock that outlives us counts as forgotten; and a
/// guardian knows of it before it is there, and removes it with its socket should we not.
#[derive(Debug)]
pub(super) struct Reservation {
    number: u16,
}

impl Reservation {
    /// Takes a number that nobody has. High, because servers that count up from 0 without heeding
    /// locks would take our socket when they came by.
    pub(super) fn take() -> io::Result<Self> {
        const LOWEST: u16 = 1_000;
        const SPAN: u16 = 50_000;
        let mut random = File::open("/dev/urandom")?;
        let made = Made::new()?;
        loop {
            let mut bytes = [0; 2];
            random.read_exact(&mut bytes)?;
            let number = LOWEST + u16::from_ne_bytes(bytes) % SPAN;
            // A keymap that a killed server of another user left would keep ours from starting.
            if socket_path(number).exists() || keymap(number).exists() {
                continue;
            }
            let lock = lock(number);
            guardian::owns_file(&lock, &made.0, &socket_path(number))?;
            match fs::hard_link(&made.0, &lock) {
                Ok(()) => return Ok(Self { number }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    guardian::unowns_file(&lock);
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
        // A server that was killed leaves its socket, and when that was at its start its keymap.
        // While the lock is there, they are nobody else's.
        for file in [socket_path(self.number), keymap(self.number)] {
            let _best_effort = fs::remove_file(file);
        }
        let _best_effort = fs::remove_file(lock(self.number));
        guardian::unowns_file(&lock(self.number));
    }
}

/// What a server has its keymap compiled into while it starts.
fn keymap(number: u16) -> PathBuf {
    format!("/tmp/server-{number}.xkm").into()
}

/// A lock before it has its name, whole from the moment it has it.
struct Made(PathBuf);

impl Made {
    fn new() -> io::Result<Self> {
        let named = tempfile::Builder::new()
            .prefix(&guardian::folder_prefix())
            .suffix("-lock")
            .permissions(fs::Permissions::from_mode(0o444))
            .tempfile_in("/tmp")?;
        let (mut file, path) = named.keep().map_err(|error| error.error)?;
        let made = Self(path);
        file.write_all(format!("{:>10}\n", std::process::id()).as_bytes())?;
        Ok(made)
    }
}

impl Drop for Made {
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
    fn nothing_of_a_display_is_left() {
        let reservation = Reservation::take().unwrap();
        let left = [keymap(reservation.number()), lock(reservation.number())];
        fs::write(&left[0], "half of it").unwrap();
        assert!(left[1].exists());
        drop(reservation);
        assert!(!left.iter().any(|file| file.exists()), "{left:?}");
    }
}
