//! The official conformance suite: both sets of scenarios that its versions were frozen with.
//!
//! The suite needs tools, prompts and resources by fixed names, which `fixture` puts around the
//! server. It speaks HTTP alone. Once it checks the HTTP API, through a proxy that adds the token; once
//! standard input and output, to which a bridge for tests carries its requests.

mod fixture;
mod http_front;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// In the environment of the process that serves the fixture.
const SERVES: &str = "TELECHIR_SERVES_CONFORMANCE_FIXTURE";

/// A file of the installed clients; `scripts/mcp-clients.sh`, part of `make test`, installs them.
fn installed(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mcp-clients");
    let file = folder.join(name);
    assert!(
        file.exists(),
        "the clients are not installed: run scripts/mcp-clients.sh, as `make test` does"
    );
    file
}

/// The bridge, which ends with its standard input.
struct Bridge {
    process: Child,
    url: String,
}

impl Bridge {
    #[expect(
        clippy::disallowed_methods,
        reason = "the processes of a test end with it"
    )]
    fn start() -> Self {
        let script = "../telechir/tests/mcp_clients/http_bridge.mjs";
        let mut process = Command::new(installed("python/bin/node"))
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(script))
            .arg(std::env::current_exe().expect("this program"))
            .args(["--exact", "conformance::serves_the_fixture", "--nocapture"])
            .env(SERVES, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // The suite makes mistakes on purpose, which the server logs.
            .stderr(Stdio::null())
            .spawn()
            .expect("Node starts");
        let mut url = String::new();
        let stdout = process.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut url).expect("a URL");
        let url = url.trim_end().to_owned();
        Self { process, url }
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _status = self.process.wait();
    }
}

/// Runs all scenarios of a frozen set against the server on standard input and output.
#[track_caller]
fn check_stdio(version: &str) {
    let bridge = Bridge::start();
    check(version, &bridge.url);
}

/// Runs all scenarios of a frozen set against the HTTP API.
#[track_caller]
fn check_http(version: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let address = http_front::start(&runtime, folder.path());
    check(version, &format!("http://{address}/mcp"));
}

/// Runs all scenarios of a frozen set, none of which may fail.
#[track_caller]
#[expect(
    clippy::disallowed_methods,
    reason = "the processes of a test end with it"
)]
fn check(version: &str, url: &str) {
    let results = tempfile::tempdir().expect("a folder");
    let suite = "node/node_modules/@modelcontextprotocol/conformance/dist/index.js";
    let output = Command::new(installed("python/bin/node"))
        .arg(installed(suite))
        .args(["server", "--url", url, "--requirements", version])
        .arg("-o")
        .arg(results.path())
        .env("NO_COLOR", "1")
        .output()
        .expect("Node starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{version}: {text}");
}

#[test]
fn all_scenarios_of_2026_07_28_pass() {
    check_stdio("2026-07-28");
}

#[test]
fn all_scenarios_of_2025_11_25_pass() {
    check_stdio("2025-11-25");
}

#[test]
fn all_scenarios_of_2026_07_28_pass_over_http() {
    check_http("2026-07-28");
}

#[test]
fn all_scenarios_of_2025_11_25_pass_over_http() {
    check_http("2025-11-25");
}

/// Not a test: the process that the others start.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "only this process has the variable"
)]
fn serves_the_fixture() {
    if std::env::var(SERVES).is_ok() {
        fixture::serve();
    }
}
