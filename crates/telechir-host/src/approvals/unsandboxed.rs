//! What the telechir processes of a user drive outside of sandboxes: shells on the host and existing
//! displays. What such a session does cannot be told from what its user does.
//!
//! A process shows each device by a name in the abstract socket namespace. The kernel removes the name
//! when the process ends and nobody else can, so a command on the host cannot hide its own session.

use std::fs;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use serde_json::Value;
use telechir_policy::Digest;

/// Maximum number of processes of a user that show the same device.
const MAX_SHOWN: usize = 256;

/// A device outside of sandboxes, shown to all sessions of the user as long as this exists.
#[derive(Debug)]
pub struct UnsandboxedDevice {
    _names: Vec<UnixDatagram>,
}

/// The devices outside of sandboxes that telechir processes of this user show.
#[derive(Clone, Debug)]
pub struct UnsandboxedDevices {
    /// Of the folder of sockets: one by its inode, which stays if a command renames the folder, and one
    /// by its path, which stays if a command puts another folder in its place.
    prefixes: [String; 2],
    /// Of other folders in which sessions of the user look, by their paths.
    shown_elsewhere: Vec<String>,
}

impl UnsandboxedDevices {
    /// The devices of the sessions with sockets in this folder.
    ///
    /// # Errors
    /// If the folder is missing.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let path = fs::canonicalize(folder)?;
        let found = fs::metadata(&path)?;
        let by_inode = format!("telechir-unsandboxed-{:x}-{:x}", found.dev(), found.ino());
        Ok(Self {
            prefixes: [by_inode, by_path(&path, found.uid())],
            shown_elsewhere: Vec::new(),
        })
    }

    /// Shows devices to the sessions with sockets in these folders of the user, too, which may be
    /// missing still.
    #[must_use]
    pub fn also_shown_to(mut self, folders: &[PathBuf]) -> Self {
        let uid = geteuid().as_raw();
        let others = folders.iter().map(|folder| by_path(&real(folder), uid));
        self.shown_elsewhere = others
            .filter(|other| !self.prefixes.contains(other))
            .collect();
        self
    }

    /// Shows that this process runs a shell outside of a sandbox.
    ///
    /// # Errors
    /// If too many processes do.
    pub fn show_host_shell(&self) -> io::Result<UnsandboxedDevice> {
        self.show("shell")
    }

    /// Shows that this process drives an existing display, by the name in `DISPLAY`.
    ///
    /// # Errors
    /// If too many processes do, or no display has such a name.
    pub fn show_display(&self, name: &str) -> io::Result<UnsandboxedDevice> {
        let number = display_number(name).ok_or_else(|| {
            let problem = format!("expected the name of a display such as :0, found `{name}`");
            io::Error::new(io::ErrorKind::InvalidInput, problem)
        })?;
        self.show(&format!("display-{number}"))
    }

    /// Why a command in another terminal counts for no question; none if it does.
    pub fn closed_to_commands(&self) -> Option<String> {
        match self.is_shown("shell") {
            Ok(false) => None,
            Ok(true) => Some(
                "a session of this user has --shell=host, whose commands cannot be told from a \
                 person's: only the caller's own prompt counts"
                    .to_owned(),
            ),
            Err(error) => Some(format!(
                "it is unknown whether a session runs on the host: {error}"
            )),
        }
    }

    /// Whether a session drives the display with this name, however it is written.
    ///
    /// # Errors
    /// If the system does not show it.
    pub fn is_driven(&self, display: &str) -> io::Result<bool> {
        match display_number(display) {
            Some(number) => self.is_shown(&format!("display-{number}")),
            None => Ok(false),
        }
    }

    fn show(&self, device: &str) -> io::Result<UnsandboxedDevice> {
        let prefixes = self.prefixes.iter().chain(&self.shown_elsewhere);
        let names = prefixes.map(|prefix| bind(prefix, device));
        Ok(UnsandboxedDevice {
            _names: names.collect::<io::Result<_>>()?,
        })
    }

    fn is_shown(&self, device: &str) -> io::Result<bool> {
        for prefix in &self.prefixes {
            if is_bound(prefix, device)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The prefix for a folder by its real path.
fn by_path(path: &Path, owner: u32) -> String {
    // A name has at most 107 bytes.
    let mut digest = Digest::of_json(&Value::from(&*path.to_string_lossy())).to_string();
    digest.truncate(32);
    format!("telechir-unsandboxed-{owner:x}-{digest}")
}

/// A path without links as far as it exists.
fn real(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (fs::canonicalize(above), path.strip_prefix(above)) {
            return real.components().chain(rest.components()).collect();
        }
    }
    path.to_owned()
}

fn bind(prefix: &str, device: &str) -> io::Result<UnixDatagram> {
    for number in 0..MAX_SHOWN {
        match UnixDatagram::bind_addr(&address(prefix, device, number)?) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            bound => return bound,
        }
    }
    let problem = format!("{MAX_SHOWN} sessions of this user drive the same device already");
    Err(io::Error::other(problem))
}

fn is_bound(prefix: &str, device: &str) -> io::Result<bool> {
    let socket = UnixDatagram::unbound()?;
    for number in 0..MAX_SHOWN {
        // Sends nothing: the kernel only looks the name up.
        match socket.connect_addr(&address(prefix, device, number)?) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            found => return found.map(|()| true),
        }
    }
    Ok(false)
}

fn address(prefix: &str, device: &str, number: usize) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("{prefix}-{device}-{number}"))
}

/// The number of a display: 0 for `:0`, `unix:0.0` and `localhost:0`.
pub(super) fn display_number(name: &str) -> Option<u32> {
    let (_, number) = name.rsplit_once(':')?;
    number.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices() -> (UnsandboxedDevices, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        (UnsandboxedDevices::of(folder.path()).unwrap(), folder)
    }

    #[test]
    fn a_shell_on_the_host_closes_commands_while_it_runs() {
        let (devices, _folder) = devices();
        assert_eq!(devices.closed_to_commands(), None);
        let first = devices.show_host_shell().unwrap();
        let second = devices.show_host_shell().unwrap();
        drop(first);
        let why = devices.closed_to_commands().unwrap();
        assert!(why.contains("--shell=host"), "{why}");
        drop(second);
        assert_eq!(devices.closed_to_commands(), None);
    }

    #[test]
    fn nothing_in_the_folder_hides_a_device() {
        let above = tempfile::tempdir().unwrap();
        let (folder, renamed) = (above.path().join("used"), above.path().join("renamed"));
        fs::create_dir(&folder).unwrap();
        let devices = UnsandboxedDevices::of(&folder).unwrap();
        let _shell = devices.show_host_shell().unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        // Not removed: the folder of another test could get its inode, by which the name is bound.
        fs::rename(&folder, &renamed).unwrap();
        assert!(devices.closed_to_commands().is_some());
    }

    #[test]
    fn a_folder_that_is_renamed_or_replaced_hides_no_device() {
        let above = tempfile::tempdir().unwrap();
        let (used, renamed) = (above.path().join("telechir"), above.path().join("old"));
        fs::create_dir(&used).unwrap();
        let devices = UnsandboxedDevices::of(&used).unwrap();
        let _shell = devices.show_host_shell().unwrap();
        fs::rename(&used, &renamed).unwrap();
        fs::create_dir(&used).unwrap();
        for folder in [&used, &renamed] {
            let devices = UnsandboxedDevices::of(folder).unwrap();
            assert!(devices.closed_to_commands().is_some(), "{folder:?}");
        }
    }

    #[test]
    fn a_driven_display_is_found_however_it_is_written() {
        let (devices, _folder) = devices();
        let shown = devices.show_display(":7.0").unwrap();
        assert_eq!(devices.closed_to_commands(), None);
        for (name, is_driven) in [
            (":7", true),
            ("unix:7", true),
            ("localhost:7.1", true),
            (":70", false),
            (":8", false),
            ("7", false),
            ("", false),
        ] {
            assert_eq!(devices.is_driven(name).unwrap(), is_driven, "{name}");
        }
        drop(shown);
        assert!(!devices.is_driven(":7").unwrap());
        for name in ["", "7", ":x", "wayland-0"] {
            let refused = devices.show_display(name).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{name}");
        }
    }

    #[test]
    fn the_sessions_of_another_folder_are_others() {
        let ((devices, _folder), (others, _other_folder)) = (devices(), devices());
        let _shell = others.show_host_shell().unwrap();
        assert_eq!(devices.closed_to_commands(), None);
        assert!(UnsandboxedDevices::of(Path::new("/missing")).is_err());
    }

    #[test]
    fn the_sessions_of_a_login_see_a_device_of_any_folder() {
        let top = tempfile::tempdir().unwrap();
        let login = [top.path().join("run/telechir"), top.path().join("tmp")];
        let (devices, _folder) = devices();
        let devices = devices.also_shown_to(&login);
        let shell = devices.show_host_shell().unwrap();
        for folder in &login {
            fs::create_dir_all(folder).unwrap();
            let seen = UnsandboxedDevices::of(folder).unwrap();
            assert!(seen.closed_to_commands().is_some(), "{folder:?}");
        }
        drop(shell);
        let seen = UnsandboxedDevices::of(&login[0]).unwrap();
        assert_eq!(seen.closed_to_commands(), None);
        // A folder of the login is shown once.
        let own = seen.also_shown_to(&login);
        assert_eq!(own.shown_elsewhere.len(), 1);
        let _shell = own.show_host_shell().unwrap();
    }

    #[test]
    fn more_devices_than_names_are_refused() {
        let (devices, _folder) = devices();
        let shown: Vec<_> = (0..MAX_SHOWN)
            .map(|_| devices.show_host_shell().unwrap())
            .collect();
        let refused = devices.show_host_shell().unwrap_err();
        assert!(refused.to_string().contains("256"), "{refused}");
        drop(shown);
    }
}
