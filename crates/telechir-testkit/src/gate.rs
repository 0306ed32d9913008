//! What a test needs. A missing component fails the test; a missing privilege skips and counts it.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

/// A real component that a test runs against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Component {
    /// An X server: Xvfb.
    XServer,
    /// A real browser: Chromium or Google Chrome.
    Chromium,
    /// bash in a bubblewrap sandbox.
    Sandbox,
    /// A D-Bus message bus: dbus-daemon.
    Dbus,
    /// Tesseract, the OCR engine.
    Tesseract,
}

impl Component {
    /// All components, in the order of the tally.
    pub const ALL: [Self; 5] = [
        Self::XServer,
        Self::Chromium,
        Self::Sandbox,
        Self::Dbus,
        Self::Tesseract,
    ];

    /// Name of the component in the tally.
    pub const fn name(self) -> &'static str {
        match self {
            Self::XServer => "x-server",
            Self::Chromium => "chromium",
            Self::Sandbox => "sandbox",
            Self::Dbus => "dbus",
            Self::Tesseract => "tesseract",
        }
    }

    const fn programs(self) -> &'static [&'static str] {
        match self {
            Self::XServer => &["/usr/bin/Xvfb"],
            Self::Chromium => &[
                "/usr/lib/chromium/chromium",
                "/usr/bin/chromium",
                "/usr/bin/google-chrome",
            ],
            Self::Sandbox => &["/usr/bin/bwrap"],
            Self::Dbus => &["/usr/bin/dbus-daemon"],
            Self::Tesseract => &["/usr/bin/tesseract"],
        }
    }
}

/// Requires a component and counts its use for the tally of `make test`.
///
/// # Panics
/// If the component is not installed; `make setup` installs it.
#[track_caller]
pub fn require(part: Component) {
    let found = part
        .programs()
        .iter()
        .any(|program| Path::new(program).exists());
    assert!(
        found,
        "this test needs {}: none of {:?} exists; run `make setup`",
        part.name(),
        part.programs()
    );
    record(part.name());
}

/// What some tests need and not every user or machine grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Privilege {
    /// The user root, for processes of several users.
    Root,
    /// Limits of memory and processes by cgroups, which root has and which a login manager may
    /// delegate to a user.
    CgroupLimits,
}

impl Privilege {
    /// Name of the tests without it in the tally.
    pub const fn skipped(self) -> &'static str {
        match self {
            Self::Root => "skipped-without-root",
            Self::CgroupLimits => "skipped-without-cgroup-limits",
        }
    }
}

/// Whether the test lacks this privilege and therefore ends here; counts it in the tally of `make
/// test`, which names the number.
pub fn lacks(privilege: Privilege, is_granted: bool) -> bool {
    if !is_granted {
        record(privilege.skipped());
    }
    !is_granted
}

/// Appends a line to the tally in the folder `TELECHIR_TALLY`; without the variable, does nothing.
fn record(part: &str) {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test process has no other configuration"
    )]
    let variable = |name| std::env::var(name).ok();
    let Some(folder) = variable("TELECHIR_TALLY") else {
        return;
    };
    let thread = std::thread::current();
    let test = variable("NEXTEST_TEST_NAME").or_else(|| thread.name().map(str::to_owned));
    let binary = std::env::current_exe()
        .ok()
        .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let line = format!(
        "{part}\t{}\t{}\n",
        binary.unwrap_or_default(),
        test.unwrap_or_default()
    );
    let _best_effort = fs::create_dir_all(&folder);
    let file = Path::new(&folder).join("used");
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(file) {
        // One write per line, so that lines of concurrent tests do not mix.
        let _best_effort = file.write_all(line.as_bytes());
    }
}
