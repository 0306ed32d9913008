//! A run of the binary on a pseudo-terminal, with the screen that a person sees.

use std::fs::DirBuilder;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use telechir_testkit::assert_eventually_blocking;

use crate::telechir::Telechir;

/// A run of the binary; `script` gives it a terminal of its own.
pub(super) struct TerminalRun {
    script: Child,
    keyboard: ChildStdin,
    seen: Arc<Mutex<Seen>>,
    reader: JoinHandle<()>,
}

struct Seen {
    transcript: Vec<u8>,
    screen: vt100::Parser,
}

/// The private folder of the sockets of one test.
pub(super) fn sockets(telechir: &Telechir) -> PathBuf {
    let folder = telechir.folder().join("run");
    if !folder.exists() {
        let mut private = DirBuilder::new();
        private.mode(0o700).create(&folder).expect("a folder");
    }
    folder
}

impl TerminalRun {
    pub(super) fn start(
        telechir: &Telechir,
        line: &str,
        variables: &[(&str, &str)],
        (rows, columns): (u16, u16),
    ) -> Self {
        let program = env!("CARGO_BIN_EXE_telechir");
        let line = format!("stty rows {rows} cols {columns} && exec {program} {line}");
        let mut script = Command::new("/usr/bin/script")
            .args(["--quiet", "--return", "--command", &line, "/dev/null"])
            .current_dir(telechir.folder())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("SHELL", "/bin/sh")
            .env("TERM", "xterm")
            .env("HOME", telechir.folder())
            .env("TMPDIR", telechir.folder())
            .env("XDG_RUNTIME_DIR", sockets(telechir))
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("script runs");
        let keyboard = script.stdin.take().expect("a pipe");
        let mut output = script.stdout.take().expect("a pipe");
        let seen = Arc::new(Mutex::new(Seen {
            transcript: Vec::new(),
            screen: vt100::Parser::new(rows, columns, 0),
        }));
        let writer = Arc::clone(&seen);
        let reader = std::thread::spawn(move || {
            let mut some = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut some) {
                let mut seen = writer.lock().expect("no panic");
                seen.transcript.extend_from_slice(&some[..length]);
                seen.screen.process(&some[..length]);
            }
        });
        Self {
            script,
            keyboard,
            seen,
            reader,
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().expect("no panic")
    }

    /// Waits until the run has written `text` this often, and returns the screen of that moment.
    pub(super) fn wait_for(&self, text: &str, count: usize) -> String {
        let look = || {
            let seen = self.seen();
            let transcript = String::from_utf8_lossy(&seen.transcript);
            let screen = seen.screen.screen().contents();
            (transcript.matches(text).count(), screen)
        };
        assert_eventually_blocking!(look(), |(found, _)| *found >= count).1
    }

    pub(super) fn types(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).expect("typed");
        self.keyboard.flush().expect("typed");
    }

    /// Waits for the end; returns all that was written, and whether the exit code was 0.
    pub(super) fn finish(mut self) -> (String, bool) {
        let status = self.script.wait().expect("script ends");
        self.reader.join().expect("the terminal is read");
        let transcript =
            String::from_utf8_lossy(&self.seen.lock().expect("no panic").transcript).into_owned();
        (transcript, status.success())
    }
}
