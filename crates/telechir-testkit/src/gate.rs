//! What a test needs of the machine. A missing part is a failure, never a silent skip.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

/// A real part of the machine that a test runs against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// An X server: Xvfb.
    XServer,
    /// Chromium.
    Chromium,
    /// bash inside bubblewrap.
    Sandbox,
    /// A D-Bus daemon.
    Dbus,
    /// Tesseract, which reads words off pixels.
    Tesseract,
}

impl Part {
    /// All parts.
    pub const ALL: [Self; 5] = [
        Self::XServer,
        Self::Chromium,
        Self::Sandbox,
        Self::Dbus,
        Self::Tesseract,
    ];

    /// Its name in the tally.
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

/// Declares that the running test uses `part`, for the tally that `make test` prints.
///
/// # Panics
/// When the part is not installed: `make setup` installs it.
#[track_caller]
pub fn require(part: Part) {
    let found = part
        .programs()
        .iter()
        .any(|program| Path::new(program).exists());
    assert!(
        found,
        "this test needs {}: none of {:?} is there; run `make setup`",
        part.name(),
        part.programs()
    );
    record(part);
}

/// Adds a line to the tally's folder, named by `TELECHIR_TALLY`; without it nothing is counted.
fn record(part: Part) {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test process has no other edge to be told by"
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
        "{}\t{}\t{}\n",
        part.name(),
        binary.unwrap_or_default(),
        test.unwrap_or_default()
    );
    let _best_effort = fs::create_dir_all(&folder);
    let file = Path::new(&folder).join("used");
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(file) {
        // One write of one line: lines of two tests never mix.
        let _best_effort = file.write_all(line.as_bytes());
    }
}
