//! Other tools, as they are used: programs that are started for each thing, and Python libraries
//! in a process that stays.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use telechir_testkit::xvfb::value;

use crate::fixture::Stage;

/// Says where the Python with the libraries is.
const PYTHON: &str = "TELECHIR_PEERS_PYTHON";
const HELPER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/walk/peers.py");

/// Python libraries behind one process. The time of a thing includes that of two short lines
/// through pipes, some 0.05 ms.
pub(crate) struct Peers {
    python: Option<String>,
    helper: Option<Helper>,
}

struct Helper {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peers {
    pub(crate) fn start(stage: &Stage) -> Self {
        let named = std::env::var(PYTHON).ok();
        let python = named.filter(|python| Path::new(python).exists());
        let mut peers = Self {
            python,
            helper: None,
        };
        peers.restart(stage, &[]);
        peers
    }

    /// Starts the helper anew, with this environment.
    pub(crate) fn restart(&mut self, stage: &Stage, environment: &[(String, String)]) {
        self.helper = None;
        let python = self.python.as_ref();
        self.helper = python.map(|python| Helper::start(python, stage.folder(), environment));
    }

    /// The Python with the libraries, if there is one.
    pub(crate) fn python(&self) -> Option<&str> {
        self.python.as_deref()
    }

    /// Asks for something; what it said against it otherwise.
    pub(crate) fn ask(&mut self, question: &str) -> Result<(), String> {
        let helper = self
            .helper
            .as_mut()
            .ok_or("no Python with these libraries")?;
        helper.ask(question)
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
            asks: child.stdin.take().expect("a pipe"),
            answers: BufReader::new(child.stdout.take().expect("a pipe")),
            child,
        }
    }

    fn ask(&mut self, question: &str) -> Result<(), String> {
        let mut answer = String::new();
        let asked = writeln!(self.asks, "{question}").and_then(|()| self.asks.flush());
        asked
            .and_then(|()| self.answers.read_line(&mut answer))
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

/// The display's cookie in the one form that python-xlib finds: for this host by its name.
fn plain_authority(folder: &Path, environment: &[(String, String)]) -> PathBuf {
    const LOCAL: u16 = 256;
    let theirs = std::fs::read(value(environment, "XAUTHORITY")).expect("the cookie's file");
    // It has one entry, and the cookie's sixteen bytes are its last field.
    let cookie = &theirs[theirs.len() - 16..];
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

/// Why a program of the system cannot be run.
pub(crate) fn absent(program: &str) -> Option<String> {
    let is_there = |folder: &str| Path::new(folder).join(program).exists();
    let found = ["/usr/local/bin", "/usr/bin", "/bin"]
        .into_iter()
        .any(is_there);
    (!found).then(|| "not installed".to_owned())
}
