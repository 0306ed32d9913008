//! Other tools as typically used: programs started per action, and Python libraries in a
//! long-running process.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use telechir_testkit::xvfb::value;

use crate::fixture::BenchFixture;

/// Variable with the path of the Python with the libraries.
const PYTHON: &str = "TELECHIR_PEERS_PYTHON";
const HELPER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/end_to_end/peers.py");

/// Python libraries in one process. Times include two short lines through pipes, about 0.05 ms.
pub(crate) struct Peers {
    python: Option<String>,
    helper: Option<Helper>,
}

struct Helper {
    child: Child,
    stdin: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peers {
    pub(crate) fn start(fixture: &BenchFixture) -> Self {
        let named = std::env::var(PYTHON).ok();
        let python = named.filter(|python| Path::new(python).exists());
        let mut peers = Self {
            python,
            helper: None,
        };
        peers.restart(fixture, &[]);
        peers
    }

    /// Restarts the helper with this environment.
    pub(crate) fn restart(&mut self, fixture: &BenchFixture, environment: &[(String, String)]) {
        self.helper = None;
        let python = self.python.as_ref();
        self.helper = python.map(|python| Helper::start(python, fixture.folder(), environment));
    }

    /// The Python with the libraries, if there is one.
    pub(crate) fn python(&self) -> Option<&str> {
        self.python.as_deref()
    }

    /// Sends a request; returns the helper's error.
    pub(crate) fn request(&mut self, question: &str) -> Result<(), String> {
        let helper = self
            .helper
            .as_mut()
            .ok_or("no Python with these libraries")?;
        helper.request(question)
    }
}

impl Helper {
    fn start(python: &str, folder: &Path, environment: &[(String, String)]) -> Self {
        let mut command = Command::new(python);
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        if !environment.is_empty() {
            command.env("XAUTHORITY", plain_authority(folder, environment));
        }
        let mut child = command
            .arg(HELPER)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python starts");
        Self {
            stdin: child.stdin.take().expect("a pipe"),
            answers: BufReader::new(child.stdout.take().expect("a pipe")),
            child,
        }
    }

    fn request(&mut self, question: &str) -> Result<(), String> {
        let mut answer = String::new();
        let sent = writeln!(self.stdin, "{question}").and_then(|()| self.stdin.flush());
        sent.and_then(|()| self.answers.read_line(&mut answer))
            .map_err(|error| error.to_string())?;
        match answer.trim() {
            "ok" => Ok(()),
            "" => Err("the helper ended".to_owned()),
            other => Err(other.to_owned()),
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _over_already = self.child.kill();
        let _over_already = self.child.wait();
    }
}

/// Rewrites the display's cookie for the host name, the only form that python-xlib finds.
fn plain_authority(folder: &Path, environment: &[(String, String)]) -> PathBuf {
    const LOCAL: u16 = 256;
    let peer = std::fs::read(value(environment, "XAUTHORITY")).expect("the cookie's file");
    // The file has one entry, which ends with the 16 bytes of the cookie.
    let cookie = &peer[peer.len() - 16..];
    let host = std::fs::read("/proc/sys/kernel/hostname").expect("this host's name");
    let number = value(environment, "DISPLAY").trim_start_matches(':');
    let mut file = LOCAL.to_be_bytes().to_vec();
    for field in [
        host.trim_ascii(),
        number.as_bytes(),
        b"MIT-MAGIC-COOKIE-1",
        cookie,
    ] {
        let length = u16::try_from(field.len()).expect("a short field");
        file.extend(length.to_be_bytes());
        file.extend(field);
    }
    let path = folder.join("python-authority");
    std::fs::write(&path, file).expect("a file");
    path
}

/// Why a system program cannot run.
pub(crate) fn absent(program: &str) -> Option<String> {
    let is_there = |folder: &str| Path::new(folder).join(program).exists();
    let found = ["/usr/local/bin", "/usr/bin", "/bin"]
        .into_iter()
        .any(is_there);
    (!found).then(|| "not installed".to_owned())
}
