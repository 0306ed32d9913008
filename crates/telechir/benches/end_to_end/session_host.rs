//! What a session host adds to a call: one message there and one back.

use std::cell::RefCell;
use std::fs;
use std::future::pending;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command as Program;
use std::time::Instant;

use telechir_host::approvals::{CallerReply, OpenApproval};
use telechir_host::{
    HostClient, Probe, QuestionPrompt, ScreenshotsFor, SessionPaths, TurnKey, TurnRequest, find,
};
use telechir_policy::Interface;
use telechir_process::make_private_dir;
use telechir_protocol::{Command, Content, ShellCall};

use crate::fixture::{BenchFixture, EXEC, TELECHIR, command, ids};
use crate::shell::Caller;
use crate::table::{Contestant, compare, remark, table};

const RUNS: usize = 400;
const NAME: &str = "bench";

/// A client without a user: no call needs an approval.
struct Nobody;

impl QuestionPrompt for Nobody {
    async fn show(&mut self, _open: OpenApproval) {}

    fn withdraw(&mut self, _settled: Option<&str>) {}

    async fn reply(&mut self) -> CallerReply {
        pending().await
    }
}

/// A session of its own process, with its journal in memory.
struct Hosted<'a> {
    fixture: &'a BenchFixture,
    client: HostClient,
    next: Box<dyn FnMut() -> String>,
}

impl<'a> Hosted<'a> {
    fn start(fixture: &'a BenchFixture, folder: &Path) -> Self {
        let runtime = folder.join("run");
        make_private_dir(&runtime).expect("a folder");
        let input = folder.join("call.json");
        fs::write(&input, command()).expect("input");
        let status = Program::new(TELECHIR)
            .args(EXEC)
            .args(["--session", NAME, "--shell"])
            .env("XDG_RUNTIME_DIR", &runtime)
            .env("TMPDIR", folder)
            .stdin(fs::File::open(input).expect("input"))
            .stdout(std::process::Stdio::null())
            .status();
        assert!(status.expect("the binary starts").success());
        let name = NAME.parse().expect("a name");
        let paths = SessionPaths::new(runtime.join("telechir"), name).expect("paths");
        let found = fixture.runtime.block_on(find(&paths));
        let Ok(Probe::Alive(client)) = found else {
            panic!("no session: {found:?}");
        };
        Self {
            fixture,
            client,
            next: Box::new(ids()),
        }
    }

    fn call(&mut self) {
        let line = vec![Command::Line("true".to_owned())];
        let request = TurnRequest {
            key: TurnKey::unique(),
            screenshots: ScreenshotsFor::Mcp { on_request: true },
            interface: Interface::Other,
            queue_ms: 60_000,
            runs_on: false,
            may_be_retry: false,
            contents: vec![Content::ShellCall(ShellCall::execute((self.next)(), line))],
            is_new: false,
            hosted_source: None,
        };
        let results = self.fixture.runtime.block_on(async {
            let mut call = self.client.execute(request).await.expect("a call");
            call.results(&mut Nobody, || {}).await
        });
        assert_eq!(results.expect("results").len(), 1);
    }

    fn describe(&self) {
        let described = self.fixture.runtime.block_on(self.client.describe());
        drop(described.expect("a description"));
    }
}

/// A call through a session host beside the same call in this process.
pub(crate) fn hop(fixture: &BenchFixture) {
    table("A call through a session host");
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    // The session's user must be able to enter it.
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.path(), mode).expect("permissions");
    let memory = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    let hosted = RefCell::new(Hosted::start(fixture, folder.path()));
    let own = RefCell::new(Caller::new(fixture, "beside a host", memory.path()));
    let added = || {
        let start = Instant::now();
        own.borrow_mut().call();
        let without = start.elapsed();
        let start = Instant::now();
        hosted.borrow_mut().call();
        start.elapsed().saturating_sub(without)
    };
    compare(
        RUNS,
        vec![
            Contestant::new("`true` through the session host", || {
                hosted.borrow_mut().call();
            }),
            Contestant::new("`true` in a session of this process", || {
                own.borrow_mut().call();
            }),
            Contestant::new("a request that the host answers at once", || {
                hosted.borrow().describe();
            }),
            Contestant::timed("what the session host adds to a call", added),
        ],
    );
    remark(
        "Both sessions have a sandboxed shell, a policy and a journal in memory. The last row is the difference of two calls made one after the other; the goal is less than 0.3 ms.",
    );
    own.into_inner().close();
    let hosted = hosted.into_inner();
    let closed = fixture.runtime.block_on(hosted.client.close());
    closed.expect("a clean close");
}
