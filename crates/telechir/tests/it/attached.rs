//! `--cdp`: attaches to a running browser, for one call and for a session.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use telechir_process::is_root;
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use crate::exec::{anthropic, member};
use crate::network::page;
use crate::telechir::{Ran, Telechir};

/// A Chromium that telechir did not start, and a telechir to attach to it.
struct AttachedFixture {
    telechir: Telechir,
    chromium: Child,
    address: String,
    url: String,
    _profile: tempfile::TempDir,
}

impl AttachedFixture {
    fn new() -> Self {
        require(Component::Chromium);
        let telechir = Telechir::new();
        let run = telechir.folder().join("run");
        fs::create_dir(&run).expect("a folder");
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(&run, private).expect("permissions");
        let profile = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("/usr/lib/chromium/chromium");
        command
            .args(["--headless=new", "--remote-debugging-port=0", "about:blank"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .env("HOME", profile.path())
            .stderr(Stdio::piped());
        if is_root() {
            command.arg("--no-sandbox");
        }
        let mut chromium = command.spawn().expect("the program starts");
        let mut stderr_lines = BufReader::new(chromium.stderr.take().expect("a pipe")).lines();
        let address = loop {
            let line = stderr_lines.next().expect("a line").expect("text");
            if let Some((_, socket)) = line.split_once("DevTools listening on ws://") {
                let host = socket.split('/').next().expect("a host");
                break format!("http://{host}");
            }
        };
        // Keep reading, or Chromium would block on a full pipe.
        std::thread::spawn(move || stderr_lines.for_each(drop));
        let port = page("<title>ours</title><p>hello".to_owned());
        Self {
            telechir,
            chromium,
            address,
            url: format!("http://127.0.0.1:{port}/"),
            _profile: profile,
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.telechir.command(arguments);
        command.env("XDG_RUNTIME_DIR", self.telechir.folder().join("run"));
        command
    }

    /// Clicks on the page, under a policy with these rules in addition to one for the page.
    fn click(&self, rules: &str, more: &[&str]) -> Ran {
        let policy = self.telechir.folder().join("policy.toml");
        let page = "[[url]]\nhost = ['127.0.0.1']\nverdict = 'allow'\nreason = 'A test.'\n";
        fs::write(&policy, format!("{page}{rules}")).expect("a policy");
        let policy = format!("--policy={}", policy.display());
        let browser = format!("--browser={}", self.url);
        let cdp = format!("--cdp={}", self.address);
        let exec = ["exec", "--dialect", "anthropic-messages"];
        let arguments = [&exec[..], &[&browser, &cdp, &policy], more].concat();
        let click = json!({ "target": { "type": "coordinate", "x": 10, "y": 10 } });
        let calls = [
            member("toolu_1", "browser", "left_click", click),
            member("toolu_2", "browser", "get_page_text", json!({})),
        ];
        Ran::of(&mut self.command(&arguments), &anthropic(&calls))
    }

    /// Number of pages that the attached Chromium lists.
    fn pages(&self) -> usize {
        let list = format!("{}/json/list", self.address);
        let output = Command::new("curl")
            .args(["-sS", "--noproxy", "*", &list])
            .output();
        let output: Value = serde_json::from_slice(&output.expect("curl").stdout).expect("JSON");
        let targets = output.as_array().expect("a list").iter();
        targets.filter(|target| target["type"] == "page").count()
    }
}

impl Drop for AttachedFixture {
    fn drop(&mut self) {
        let _over_already = self.chromium.kill();
        let _over_already = self.chromium.wait();
    }
}

const ALLOW_ACTIONS: &str =
    "[[computer]]\ndisplay = 'existing'\nverdict = 'allow'\nreason = 'A test.'\n";

#[test]
fn an_attached_browser_gets_an_isolated_context_and_needs_approval() {
    let fixture = AttachedFixture::new();
    let denied = fixture.click("", &[]);
    assert_eq!(denied.code, Some(1), "no approval was given: {denied:?}");
    assert!(
        denied.stderr.contains("the user's own"),
        "{}",
        denied.stderr
    );
    let ran = fixture.click(ALLOW_ACTIONS, &[]);
    assert!(ran.stderr.contains("bypasses the egress"), "{}", ran.stderr);
    let answers = ran.json();
    assert_ne!(answers[0]["is_error"], true, "{answers}");
    assert!(answers[1].to_string().contains("hello"), "{answers}");
    assert_eq!(fixture.pages(), 1, "the existing page remains");
    fixture.telechir.assert_nothing_left();
}

#[test]
fn a_killed_session_leaves_no_tab_and_a_lost_browser_is_reported() {
    let mut fixture = AttachedFixture::new();
    let session = ["--session", "work"];
    let answers = fixture.click(ALLOW_ACTIONS, &session).json();
    assert_ne!(answers[0]["is_error"], true, "{answers}");
    assert_eq!(fixture.pages(), 2);
    let listed = Ran::of(&mut fixture.command(&["sessions", "list", "--json"]), "").json();
    let pid = i32::try_from(listed[0]["pid"].as_i64().expect("a number")).expect("a process id");
    kill_process(Pid::from_raw(pid).expect("a process"), Signal::KILL).expect("a running program");
    assert_eventually_blocking!(fixture.pages(), |pages| *pages <= 1, "the tab is closed");

    let answers = fixture.click(ALLOW_ACTIONS, &["--session", "other"]).json();
    assert_ne!(answers[0]["is_error"], true, "{answers}");
    fixture.chromium.kill().expect("a running child");
    fixture.chromium.wait().expect("an exit status");
    let output = fixture.click(ALLOW_ACTIONS, &["--session", "other"]);
    assert!(
        (output.stdout.clone() + &output.stderr).contains("reach the browser"),
        "{output:?}"
    );
    Ran::of(&mut fixture.command(&["sessions", "close", "other"]), "");
}
