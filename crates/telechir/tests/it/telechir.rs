//! Runs the binary with its own folder and asserts that nothing of it is left.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use telechir_testkit::assert_eventually_blocking;
use tempfile::TempDir;

/// The binary with a folder for all its files.
pub(crate) struct Telechir {
    folder: TempDir,
}

/// Output and exit code of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Telechir {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // Sessions of another user must be able to traverse it.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
        Self { folder }
    }

    /// The folder for the test's files.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A policy that allows everything inside the session's own devices.
    pub(crate) fn permissive_policy(&self) -> String {
        let file = self.folder().join("policy.toml");
        fs::write(&file, include_str!("permissive.toml")).expect("a policy file");
        file.to_string_lossy().into_owned()
    }

    /// The command with its environment; for tests that need the process itself.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_telechir"));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.folder())
            .env("TMPDIR", self.folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the binary to its end with `input` on stdin and asserts that nothing of it is left.
    pub(crate) fn run(&self, arguments: &[&str], input: &str) -> Ran {
        let ran = Ran::of(&mut self.command(arguments), input);
        self.assert_nothing_left();
        ran
    }

    /// Asserts that no process with our folder in its command line and no session folder remains.
    pub(crate) fn assert_nothing_left(&self) {
        assert_eventually_blocking!(self.processes(), |left| left.is_empty());
        let sessions = fs::read_dir(self.folder()).expect("the folder").flatten();
        let left: Vec<_> = sessions
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("telechir-"))
            .collect();
        assert!(left.is_empty(), "session folders are left: {left:?}");
    }

    /// Command lines of all processes.
    pub(crate) fn command_lines(&self) -> Vec<String> {
        let processes = fs::read_dir("/proc").expect("/proc").flatten();
        let read = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
        read.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .collect()
    }

    /// Names of all processes with our folder in their command line.
    pub(crate) fn processes(&self) -> Vec<String> {
        let marker = self.folder().to_string_lossy().into_owned();
        let mentions = |path: &Path, file: &str| {
            fs::read(path.join(file))
                .is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(&marker))
        };
        let all = fs::read_dir("/proc")
            .expect("/proc")
            .flatten()
            .map(|entry| entry.path());
        let own_folder = all.filter(|path| mentions(path, "cmdline") || mentions(path, "environ"));
        own_folder
            .map(|path| fs::read_to_string(path.join("comm")).unwrap_or_default())
            // Rootless Podman leaves one process for each user that called it.
            .filter(|name| !name.is_empty() && name.trim_end() != "podman pause")
            .collect()
    }
}

impl Ran {
    /// Runs a command to its end with `input` on stdin.
    pub(crate) fn of(command: &mut Command, input: &str) -> Self {
        let mut child = command.spawn().expect("the binary starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_owned();
        let writer = std::thread::spawn(move || {
            // A run that fails early does not read all its input.
            let _best_effort = stdin.write_all(input.as_bytes());
        });
        let output = child.wait_with_output().expect("the binary ends");
        writer.join().expect("the writer ends");
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Stdout as JSON, asserting success.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        serde_json::from_str(&self.stdout).expect("JSON on stdout")
    }

    /// Asserts exit code `code` and one line on stderr that contains all `fragments`.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, fragments: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        let lines: Vec<&str> = self.stderr.lines().collect();
        assert_eq!(lines.len(), 1, "one clear message, not: {}", self.stderr);
        for fragment in fragments {
            assert!(
                self.stderr.contains(fragment),
                "`{fragment}` is not in: {}",
                self.stderr
            );
        }
    }
}

/// Width and height of a base64 PNG or WebP, decoded completely.
#[track_caller]
pub(crate) fn image_size(base64: &str) -> (u32, u32) {
    match base64.starts_with("UklGR") {
        true => webp_size(base64),
        false => png_size(base64),
    }
}

/// Width and height of a base64 WebP, decoded completely.
#[track_caller]
pub(crate) fn webp_size(base64: &str) -> (u32, u32) {
    let bytes = std::io::Cursor::new(decoded(base64));
    let mut decoder = image_webp::WebPDecoder::new(bytes).expect("a WebP");
    let mut pixels = vec![0; decoder.output_buffer_size().expect("a size")];
    decoder.read_image(&mut pixels).expect("pixels");
    decoder.dimensions()
}

#[track_caller]
fn decoded(base64: &str) -> Vec<u8> {
    use base64::Engine;
    let engine = base64::engine::general_purpose::STANDARD;
    engine.decode(base64).expect("base64")
}

/// Width and height of a base64 PNG, decoded completely.
#[track_caller]
pub(crate) fn png_size(base64: &str) -> (u32, u32) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(decoded(base64)))
        .read_info()
        .expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut pixels).expect("pixels");
    (info.width, info.height)
}
