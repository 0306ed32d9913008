//! Clients that people use, each as its own program: what it hands to its model arrives complete.
//!
//! `scripts/mcp-clients.sh` (part of `make test`) installs them in pinned versions; the scripts that
//! drive them are in `tests/mcp_clients`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use telechir_testkit::gate::{Component, require};

use super::asking;
use crate::telechir::{Ran, Telechir, image_size};

/// Where a client was installed, and what runs its script.
#[derive(Clone, Copy, Debug)]
pub(super) enum Runtime {
    Python,
    /// LangChain's client needs another version of the SDK.
    LangChain,
    Node,
}

impl Runtime {
    pub(super) fn program(self) -> PathBuf {
        let name = match self {
            Self::Python => "python/bin/python",
            Self::LangChain => "langchain/bin/python",
            Self::Node => "python/bin/node",
        };
        let program = installed().join(name);
        assert!(
            program.exists(),
            "the clients are not installed: run scripts/mcp-clients.sh, as `make test` does"
        );
        program
    }
}

pub(super) fn installed() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.join("../../target/mcp-clients")
}

/// A folder for the files of a client and its server, and the server's arguments.
struct Fixture {
    telechir: Telechir,
    server: Vec<String>,
}

impl Fixture {
    fn new() -> Self {
        require(Component::Chromium);
        require(Component::Sandbox);
        let telechir = Telechir::new();
        let runtime = telechir.folder().join("run");
        fs::create_dir(&runtime).expect("a folder");
        fs::set_permissions(&runtime, fs::Permissions::from_mode(0o700)).expect("permissions");
        let policy = asking(telechir.folder());
        let program = env!("CARGO_BIN_EXE_telechir");
        let server = [
            program,
            "mcp",
            "--shell",
            "--browser",
            "--headless",
            "--approval-wait=2",
            &policy,
        ];
        Self {
            server: server.map(str::to_owned).to_vec(),
            telechir,
        }
    }

    /// Runs a program as a client of the server and asserts that nothing of the session is left.
    fn run(&self, program: &Path, arguments: &[&str]) -> Ran {
        let folder = self.telechir.folder();
        let installed = installed();
        let mut command = Command::new(program);
        command
            .args(arguments)
            .args(&self.server)
            .env_clear()
            .env(
                "PATH",
                format!("{}/python/bin:/usr/bin:/bin", installed.display()),
            )
            .env("HOME", folder)
            .env("TMPDIR", folder)
            .env("XDG_RUNTIME_DIR", folder.join("run"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("TELECHIR_CLIENTS", installed.join("node/package.json"))
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        let ran = Ran::of(&mut command, "");
        self.telechir.assert_nothing_left();
        ran
    }
}

/// What a client's model receives of one call: its texts and the base64 of its images.
#[derive(Debug, Default)]
struct Seen {
    text: String,
    images: Vec<String>,
}

impl Seen {
    /// Reads content blocks in the forms of all clients.
    fn of(result: &Value) -> Self {
        let mut seen = Self::default();
        for block in result["blocks"].as_array().expect("blocks") {
            let url = block["image_url"].as_str();
            let url = url.and_then(|url| Some(url.split_once(";base64,")?.1));
            let forms = [
                url,
                block["base64"].as_str(),
                block["data"].as_str(),
                block["data"]["data"].as_str(),
            ];
            match block["type"].as_str() {
                Some("text") => seen.text += block["text"].as_str().expect("a text"),
                Some("image" | "file") => {
                    let base64 = forms.into_iter().flatten().next();
                    seen.images.push(base64.expect("an image").to_owned());
                }
                _ => panic!("a block of another kind: {block}"),
            }
        }
        seen
    }
}

/// Who answers when the policy asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asking {
    /// The client's user: first yes, then no.
    User,
    /// Nobody: the client cannot ask.
    Nobody,
}

/// Runs a client's script, which makes the same calls as all others, and judges what it received.
#[track_caller]
fn check(runtime: Runtime, script: &str, era: Option<(&str, &str)>, asking: Asking) {
    let fixture = Fixture::new();
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp_clients");
    let script = scripts.join(script).to_string_lossy().into_owned();
    let mut arguments = vec![script.as_str()];
    arguments.extend(era.map(|(era, _)| era));
    let observed = fixture.run(&runtime.program(), &arguments).json();
    if let Some((_, version)) = era {
        assert_eq!(observed["protocol"], version);
    }
    let tools = observed["tools"].as_array().expect("tools");
    for tool in ["execute_cli", "observe_screen", "execute_browser"] {
        assert!(tools.contains(&tool.into()), "{tool} is not in {tools:?}");
    }
    let result = |step: &str| {
        let result = &observed["results"][step];
        (Seen::of(result), result["is_error"].as_bool())
    };

    let (look, is_error) = result("look");
    assert_ne!(is_error, Some(true), "{look:?}");
    assert!(look.text.contains("\"frame\":\"frame_1\""), "{}", look.text);
    let [image] = look.images.as_slice() else {
        panic!("one image, not {}", look.images.len());
    };
    assert_eq!(image_size(image), (1280, 800));

    let (mistake, is_error) = result("mistake");
    assert_ne!(is_error, Some(false), "an error that the model can mend");
    assert!(mistake.text.contains("/seconds"), "{}", mistake.text);

    let (answer, is_error) = result("asked");
    match asking {
        Asking::User => {
            assert_eq!(is_error, Some(false), "{}", answer.text);
            assert!(answer.text.contains(r"approved\n"), "{}", answer.text);
            let (declined, is_error) = result("declined");
            assert_eq!(is_error, Some(true), "{}", declined.text);
            assert!(!declined.text.contains(r"declined\n"), "{}", declined.text);
        }
        Asking::Nobody => {
            assert_ne!(is_error, Some(false), "{}", answer.text);
            assert!(answer.text.contains("approv"), "{}", answer.text);
        }
    }
}

const MODERN: Option<(&str, &str)> = Some(("modern", super::MODERN));
const LEGACY: Option<(&str, &str)> = Some(("legacy", super::LEGACY));

#[test]
fn python_sdk() {
    check(Runtime::Python, "python_sdk.py", MODERN, Asking::User);
    check(Runtime::Python, "python_sdk.py", LEGACY, Asking::User);
}

#[test]
fn typescript_sdk() {
    check(Runtime::Node, "typescript_sdk.mjs", MODERN, Asking::User);
    check(Runtime::Node, "typescript_sdk.mjs", LEGACY, Asking::User);
}

#[test]
fn fastmcp() {
    check(Runtime::Python, "fastmcp_client.py", None, Asking::User);
}

#[test]
fn openai_agents() {
    check(Runtime::Python, "openai_agents.py", None, Asking::Nobody);
}

#[test]
fn langchain() {
    check(
        Runtime::LangChain,
        "langchain_client.py",
        None,
        Asking::Nobody,
    );
}

#[test]
fn ai_sdk() {
    check(Runtime::Node, "ai_sdk.mjs", None, Asking::Nobody);
}

/// The official inspector reads all schemas strictly and reports what other clients may reject.
#[test]
fn inspector() {
    let node = Runtime::Node.program();
    let inspector = installed().join("node/node_modules/.bin/mcp-inspector");
    let inspector = inspector.to_string_lossy().into_owned();
    for era in ["modern", "legacy"] {
        let fixture = Fixture::new();
        let list = ["--cli", "--strict", "--protocol-era", era];
        let mut arguments = vec![inspector.as_str()];
        arguments.extend(list);
        arguments.extend(["--method", "tools/list", "--"]);
        let ran = fixture.run(&node, &arguments);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stdout.contains("\"observe_screen\""), "{}", ran.stdout);
        // It prints each error and warning, and nothing without them.
        assert_eq!(ran.stderr, "", "what other clients may reject");
    }
}
