//! Shared setup of the tables: a runtime, a folder, and a session user when run as root.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use telechir_policy::Policy;
use telechir_process::{Identity, is_root};
use telechir_protocol::{Content, ModelTurn};
use telechir_runtime::{Journal, Session, SessionBuilder};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Policy that allows everything inside the sandbox.
const POLICY: &str =
    "[[shell]]\nshell = \"sandboxed\"\nverdict = \"sandbox\"\nreason = \"A bench.\"\n";

/// Path of the measured binary.
pub(crate) const TELECHIR: &str = env!("CARGO_BIN_EXE_telechir");

/// Arguments of the measured command.
pub(crate) const EXEC: [&str; 3] = ["exec", "--dialect", "anthropic-messages"];

/// One fixture for all tables.
pub(crate) struct BenchFixture {
    pub(crate) runtime: Runtime,
    pub(crate) identity: Option<Identity>,
    folder: TempDir,
}

impl BenchFixture {
    pub(crate) fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let folder = tempfile::Builder::new().prefix("bench-").tempdir();
        let fixture = Self {
            runtime,
            identity: is_root().then(|| Identity::unprivileged(3_900)).flatten(),
            folder: folder.expect("a folder"),
        };
        fixture.give(fixture.folder.path());
        fixture
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A new folder of the session's user with this name prefix.
    pub(crate) fn make(&self, name: &str) -> PathBuf {
        let folder = tempfile::Builder::new()
            .prefix(name)
            .tempdir_in(self.folder());
        let path = folder.expect("a folder").keep();
        self.give(&path);
        path
    }

    pub(crate) fn give(&self, path: &Path) {
        if let Some(identity) = self.identity {
            std::os::unix::fs::chown(path, Some(identity.uid), Some(identity.gid))
                .expect("a new owner");
        }
    }

    /// A session with its journal in a folder below `parent`.
    pub(crate) fn session(&self, parent: &Path) -> SessionBuilder {
        let policy = Policy::from_toml(POLICY, "bench").expect("a policy");
        let journal = tempfile::tempdir_in(parent).expect("a folder").keep();
        Session::builder(policy).journal(Journal::open(journal).expect("a journal"))
    }

    /// The flag with a policy that allows local pages.
    pub(crate) fn page_policy_flag(&self) -> String {
        let policy = self.folder().join("pages.toml");
        let rule = "[[url]]\nhost = ['127.0.0.1']\nverdict = 'allow'\nreason = 'A bench.'\n";
        fs::write(&policy, rule).expect("a policy");
        format!("--policy={}", policy.display())
    }

    /// Executes one call in a session.
    pub(crate) fn execute(&self, session: &mut Session, call: Content) {
        let turn = ModelTurn::new(vec![call]).expect("a turn");
        let answered = self.runtime.block_on(session.execute(turn));
        assert_eq!(answered.expect("results").results().len(), 1);
    }
}

/// Generates unique ids.
pub(crate) fn ids() -> impl FnMut() -> String {
    let mut count = 0;
    move || {
        count += 1;
        format!("call_{count}")
    }
}

/// A response with a screenshot call.
pub(crate) fn screenshot() -> String {
    response(
        &json!({"type": "tool_use", "id": "toolu_1", "name": "screenshot",
        "toolset_name": "computer", "input": {}}),
    )
}

/// A response with the command `true`.
pub(crate) fn command() -> String {
    response(&json!({"type": "tool_use", "id": "toolu_1", "name": "bash",
        "input": {"command": "true"}}))
}

pub(crate) fn response(call: &Value) -> String {
    json!({"type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
        "content": [call]})
    .to_string()
}

/// Runs the binary to its end.
pub(crate) fn telechir(arguments: &[&str], input: &str) -> Vec<u8> {
    let mut child = Command::new(TELECHIR)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input.as_bytes()).expect("input");
    drop(stdin);
    let output = child.wait_with_output().expect("the binary exits");
    assert!(output.status.success(), "{arguments:?} fails");
    output.stdout
}

/// Runs a program to its end and asserts success.
pub(crate) fn run(command: &mut Command) {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(
        status.expect("the program starts").success(),
        "{command:?} fails"
    );
}

/// Panics after a wait that cannot succeed.
pub(crate) const CEILING: Duration = Duration::from_secs(20);
