//! Finds programs, and the package that contains a missing one.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Searched in order. `PATH` is ignored: the environment must not determine what a sandbox runs.
const PROGRAM_DIRS: [&str; 7] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/run/current-system/sw/bin",
];

/// Path of an executable: `name` itself if it contains a slash, else in the system's folders.
pub fn find_program(name: &Path) -> Option<PathBuf> {
    let executable = |path: &Path| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if name.components().count() > 1 {
        return executable(name).then(|| name.to_owned());
    }
    PROGRAM_DIRS
        .iter()
        .map(|folder| Path::new(folder).join(name))
        .find(|path| executable(path))
}

/// Name of the Debian package that contains a program used by telechir, by its name or path.
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
    fn finds_the_package_by_name_and_by_path() {
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
