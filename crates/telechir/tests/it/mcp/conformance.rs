//! The official conformance suite, of which a server without the suite's own fixtures can pass six
//! scenarios.
//!
//! The suite speaks HTTP alone. A bridge for tests carries its requests to standard input and output,
//! so what it checks of HTTP is the bridge, and everything else the server.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::clients::{Runtime, installed};
use crate::telechir::Telechir;

/// Scenarios by the protocol's revision.
const SCENARIOS: [(&str, &[&str]); 2] = [
    (super::MODERN, &["tools-list", "server-stateless"]),
    (
        super::LEGACY,
        &[
            "server-initialize",
            "ping",
            "tools-list",
            "server-session-lifecycle",
        ],
    ),
];

/// A bridge, which ends with its standard input.
struct Bridge {
    process: Child,
    url: String,
    telechir: Telechir,
}

impl Bridge {
    fn start() -> Self {
        let telechir = Telechir::new();
        let mut server = telechir.command(&["mcp", "--shell"]);
        let program = server.get_program().to_owned();
        let arguments: Vec<_> = server.get_args().map(ToOwned::to_owned).collect();
        let environment = server.get_envs();
        let environment: Vec<_> = environment
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        server = Command::new(Runtime::Node.program());
        let mut process = server
            .arg(script("http_bridge.mjs"))
            .arg(program)
            .args(arguments)
            .env_clear()
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // The suite makes mistakes on purpose, which the server logs.
            .stderr(Stdio::null())
            .spawn()
            .expect("Node starts");
        let mut url = String::new();
        let stdout = process.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut url).expect("a URL");
        Self {
            process,
            url: url.trim_end().to_owned(),
            telechir,
        }
    }

    fn stop(mut self) {
        drop(self.process.stdin.take());
        self.process.wait().expect("a status");
        self.telechir.assert_nothing_left();
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        let _already_ended = self.process.kill();
        let _status = self.process.wait();
    }
}

fn script(name: &str) -> String {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp_clients");
    scripts.join(name).to_string_lossy().into_owned()
}

#[test]
fn the_conformance_suite_passes_without_fixtures() {
    let bridge = Bridge::start();
    let suite = "node/node_modules/@modelcontextprotocol/conformance/dist/index.js";
    for (version, scenarios) in SCENARIOS {
        for scenario in scenarios {
            let output = Command::new(Runtime::Node.program())
                .arg(installed().join(suite))
                .args(["server", "--url", &bridge.url, "--scenario", scenario])
                .args(["--spec-version", version])
                .args(["--expected-failures", &script("expected-failures.yml")])
                .env("NO_COLOR", "1")
                .output()
                .expect("Node starts");
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{version} {scenario}: {text}");
            assert!(text.contains("Passed: "), "{version} {scenario}: {text}");
        }
    }
    bridge.stop();
}
