//! Where programs are, and which package brings one that is missing.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Searched in order; our own environment has no say in what a sandbox is made of.
const FOLDERS: [&str; 7] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/run/current-system/sw/bin",
];

/// The path of an executable: `name` itself when it has a slash, else from the system's folders.
pub fn find_program(name: &Path) -> Option<PathBuf> {
    let executable = |path: &Path| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if name.components().count() > 1 {
        return executable(name).then(|| name.to_owned());
    }
    FOLDERS
        .iter()
        .map(|folder| Path::new(folder).join(name))
        .find(|path| executable(path))
}

/// The package (Debian's name) that brings a program we use, by its name or its path.
pub fn package_of(program: &str) -> Option<&'static str> {
    let name = Path::new(program).file_name()?.to_str()?;
    Some(match name {
        "bwrap" => "bubblewrap",
        "bash" => "bash",
        "setsid" | "setpriv" | "unshare" => "util-linux",
        "Xvfb" => "xvfb",
        "xauth" => "xauth",
        "openbox" => "openbox",
        "dbus-daemon" => "dbus-daemon",
        "dbus-send" => "dbus-bin",
        "chromium" => "chromium",
        "chromium-headless-shell" => "chromium-headless-shell",
        "at-spi-bus-launcher" => "at-spi2-core",
        "tesseract" => "tesseract-ocr",
        "xterm" => "xterm",
        "mousepad" => "mousepad",
        "fc-list" | "fc-match" => "fontconfig",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_programs_by_name_and_by_path() {
        assert!(find_program(Path::new("sh")).is_some());
        assert_eq!(
            find_program(Path::new("/bin/sh")),
            Some(PathBuf::from("/bin/sh"))
        );
        assert_eq!(find_program(Path::new("no-such-program")), None);
        assert_eq!(find_program(Path::new("/etc/passwd")), None);
    }

    #[test]
    fn a_program_brings_its_package_by_name_and_by_path() {
        assert_eq!(package_of("bwrap"), Some("bubblewrap"));
        assert_eq!(package_of("dbus-send"), Some("dbus-bin"));
        assert_eq!(package_of("mousepad"), Some("mousepad"));
        assert_eq!(package_of("fc-list"), Some("fontconfig"));
        assert_eq!(package_of("/usr/lib/chromium/chromium"), Some("chromium"));
        let launcher = "/usr/libexec/at-spi-bus-launcher";
        assert_eq!(package_of(launcher), Some("at-spi2-core"));
        assert_eq!(package_of("no-such-program"), None);
        assert_eq!(package_of("/"), None);
    }
}
