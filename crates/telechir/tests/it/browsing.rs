//! Every member of the browser toolsets through the binary, on a page that reports the DOM events
//! it received.

mod anthropic;
mod flows;
mod functions;
mod google;
mod marks;
mod memory;
mod rate;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;
use telechir_testkit::contract::computer::Witness as _;
use telechir_testkit::gate::{Component, require};
use telechir_testkit::page::{PageEvent, PageWitness};
use tokio::runtime::Runtime;

use crate::telechir::{Ran, Telechir};

/// Policy of the tests.
const POLICY: &str = "
[[url]]
host = ['127.0.0.1', 'localhost']
verdict = 'allow'
reason = 'The pages of the test.'

[[computer]]
actions = ['javascript', 'file_upload']
verdict = 'allow'
reason = 'A test.'
";

/// A session with a browser, and the page it opens.
struct BrowsingFixture {
    telechir: Telechir,
    runtime: Runtime,
    witness: PageWitness,
}

impl BrowsingFixture {
    /// Starts the server of the page.
    fn new() -> Self {
        require(Component::Chromium);
        let telechir = Telechir::new();
        for folder in ["run", "work"] {
            fs::create_dir(telechir.folder().join(folder)).expect("a folder");
        }
        let private = fs::Permissions::from_mode(0o700);
        fs::set_permissions(telechir.folder().join("run"), private).expect("permissions");
        fs::write(telechir.folder().join("work/note.txt"), "a note").expect("a file");
        fs::write(telechir.folder().join("policy.toml"), POLICY).expect("a policy");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let witness = runtime.block_on(PageWitness::serve()).expect("a page");
        Self {
            telechir,
            runtime,
            witness,
        }
    }

    fn page(&self) -> String {
        self.witness.conformance()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.telechir.folder().join(name)
    }

    /// Executes a response in the session, which the first call starts with these flags.
    fn exec(&self, dialect: &str, flags: &[&str], response: &Value) -> Value {
        let mut arguments = vec!["exec", "--dialect", dialect, "--session", "page"];
        arguments.extend(flags);
        self.run(&arguments, &response.to_string()).json()
    }

    fn run(&self, arguments: &[&str], input: &str) -> Ran {
        let mut command = self.telechir.command(arguments);
        Ran::of(command.env("XDG_RUNTIME_DIR", self.path("run")), input)
    }

    /// The flags that start the session.
    fn flags(&self) -> Vec<String> {
        let (policy, work) = (self.path("policy.toml"), self.path("work"));
        vec![
            "--browser".to_owned(),
            "--headless".to_owned(),
            "--downloads".to_owned(),
            format!("--search={}?q={{query}}", self.witness.url()),
            format!("--policy={}", policy.display()),
            format!("--workspace={}", work.display()),
        ]
    }

    /// Makes the page reset its form, and waits until it has reloaded.
    fn reset_and_reload(&mut self) {
        self.runtime.block_on(async {
            self.witness.forget().await;
            let ready = self.witness.until(|event| event.kind == "ready");
            ready.await.expect("a page that is ready");
        });
    }

    /// New DOM events of the page, as lines such as `click press`.
    fn happened(&self) -> Vec<String> {
        let events = self.runtime.block_on(self.witness.take());
        events.iter().map(line).collect()
    }
}

impl Drop for BrowsingFixture {
    fn drop(&mut self) {
        let closed = self.run(&["sessions", "close", "page"], "");
        if !std::thread::panicking() {
            assert_eq!(closed.code, Some(0), "{}", closed.stderr);
            self.telechir.assert_nothing_left();
        }
    }
}

fn line(event: &PageEvent) -> String {
    let more = match event.kind.as_str() {
        "keydown" | "keyup" => format!(":{}", event.key),
        "input" | "change" => format!("={}", event.value.as_deref().unwrap_or_default()),
        _ => String::new(),
    };
    format!("{} {}{more}", event.kind, event.target)
}

/// Asserts that `all` contains these lines in this order.
#[track_caller]
fn in_order<'a>(all: &[String], wanted: impl IntoIterator<Item = &'a str>) {
    let mut rest = all.iter();
    for wanted in wanted {
        assert!(
            rest.any(|line| line == wanted),
            "`{wanted}` is missing or out of order in {all:#?}"
        );
    }
}

/// The ref of the element with this name in a snapshot, such as `button "Press" [b3]`.
#[track_caller]
fn ref_of(page: &str, name: &str) -> String {
    let line = page
        .lines()
        .find(|line| line.contains(&format!("\"{name}\"")));
    let line = line.unwrap_or_else(|| panic!("no {name} in {page}"));
    let id = line
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    id.expect("a ref").0.to_owned()
}
