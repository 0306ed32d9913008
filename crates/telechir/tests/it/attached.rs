//! `--cdp`: attaches to a running browser, for one call and for a session.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use telechir_process::is_root;
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};
use telechir_testkit::gateway::{Gateway, HEADER, TOKEN};

use crate::exec::{anthropic, member};
use crate::network::page;
use crate::passwords::holding;
use crate::telechir::{Ran, Telechir};

/// A Chromium that telechir did not start, and a telechir to attach to it.
pub(crate) struct AttachedFixture {
    pub(crate) telechir: Telechir,
    chromium: Child,
    address: String,
    /// The URL of its socket.
    pub(crate) socket: String,
    pub(crate) url: String,
    _profile: tempfile::TempDir,
}

/// Starts a Chromium with a debugging port, and returns it with the URL of its socket and its folder.
pub(crate) fn start_chromium(flags: &[&str]) -> (Child, String, tempfile::TempDir) {
    let profile = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("/usr/lib/chromium/chromium");
    command
        .args(["--remote-debugging-port=0", "about:blank"])
        .args(flags)
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .env("HOME", profile.path())
        .stderr(Stdio::piped());
    if is_root() {
        command.arg("--no-sandbox");
    }
    let mut chromium = command.spawn().expect("the program starts");
    let mut stderr_lines = BufReader::new(chromium.stderr.take().expect("a pipe")).lines();
    let socket = loop {
        let line = stderr_lines.next().expect("a line").expect("text");
        if let Some((_, socket)) = line.split_once("DevTools listening on ") {
            break socket.to_owned();
        }
    };
    // Keep reading, or Chromium would block on a full pipe.
    std::thread::spawn(move || stderr_lines.for_each(drop));
    (chromium, socket, profile)
}

impl AttachedFixture {
    pub(crate) fn new() -> Self {
        require(Component::Chromium);
        let telechir = Telechir::new();
        let run = telechir.folder().join("run");
        fs::create_dir(&run).expect("a folder");
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(&run, private).expect("permissions");
        let (chromium, socket, profile) = start_chromium(&["--headless=new"]);
        let address = socket.replacen("ws", "http", 1);
        let address = address
            .split("/devtools")
            .next()
            .expect("a host")
            .to_owned();
        let port = page("<title>ours</title><p>hello".to_owned());
        Self {
            telechir,
            chromium,
            address,
            socket,
            url: format!("http://127.0.0.1:{port}/"),
            _profile: profile,
        }
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.telechir.command(arguments);
        command.env("XDG_RUNTIME_DIR", self.telechir.folder().join("run"));
        command
    }

    /// Clicks on the page, under a policy with these rules in addition to one for the page.
    fn click(&self, rules: &str, more: &[&str]) -> Ran {
        self.click_at(&self.address, rules, more)
    }

    /// As `click`, in the browser at this address.
    fn click_at(&self, address: &str, rules: &str, more: &[&str]) -> Ran {
        let policy = self.telechir.folder().join("policy.toml");
        let page = "[[url]]\nhost = ['127.0.0.1']\nverdict = 'allow'\nreason = 'A test.'\n";
        fs::write(&policy, format!("{page}{rules}")).expect("a policy");
        let policy = format!("--policy={}", policy.display());
        let browser = format!("--browser={}", self.url);
        let cdp = format!("--cdp={address}");
        let exec = ["exec", "--dialect", "anthropic-messages"];
        let arguments = [&exec[..], &[&browser, &cdp, &policy], more].concat();
        let click = json!({ "target": { "type": "coordinate", "x": 10, "y": 10 } });
        let calls = [
            member("toolu_1", "browser", "left_click", click),
            member("toolu_2", "browser", "get_page_text", json!({})),
        ];
        let mut command = self.command(&arguments);
        command.env("CDP_TOKEN", TOKEN).env("CDP_KEY", HEADER.1);
        Ran::of(&mut command, &anthropic(&calls))
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

pub(crate) const ALLOW_ACTIONS: &str =
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

#[test]
fn the_token_and_the_headers_of_a_gateway_are_in_no_output_and_no_file() {
    let fixture = AttachedFixture::new();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let gateway = runtime.block_on(Gateway::start(&fixture.socket));
    let gateway = gateway.expect("a gateway");
    let address = gateway.url("ws").replace(TOKEN, "${CDP_TOKEN}");
    let header = format!("--cdp-header={}=CDP_KEY", HEADER.0);
    let record = fixture.telechir.folder().join("record");
    let recorded = format!("--record={}", record.display());
    let flags = [header.as_str(), &recorded, "-vv"];
    let session = [&flags[..], &["--session=canary"]].concat();
    let mut outputs = String::new();
    for flags in [&flags[..], &session] {
        let ran = fixture.click_at(&address, ALLOW_ACTIONS, flags);
        let answers = ran.json();
        assert!(answers[1].to_string().contains("hello"), "{answers}");
        outputs += &(ran.stdout + &ran.stderr);
    }
    let listed = Ran::of(&mut fixture.command(&["sessions", "list", "--json"]), "");
    outputs += &listed.stdout;
    for line in fixture.telechir.command_lines() {
        outputs += &line;
    }
    Ran::of(&mut fixture.command(&["sessions", "close", "canary"]), "");
    // An error of the gateway repeats what it was sent.
    let wrong = fixture.click_at(&gateway.url("ws"), ALLOW_ACTIONS, &[]);
    wrong.fails(1, &["401"]);
    let unset = fixture.click_at("ws://h/?t=${CDP_UNSET}", "", &[]);
    unset.fails(2, &["--cdp", "CDP_UNSET is not set"]);
    outputs += &wrong.stderr;
    for secret in [TOKEN, HEADER.1] {
        assert!(!outputs.contains(secret), "{secret} is in {outputs}");
        let (mut found, mut count) = (Vec::new(), 0);
        holding(
            fixture.telechir.folder(),
            secret.as_bytes(),
            &mut found,
            &mut count,
        );
        assert!(count > 0, "nothing was recorded");
        assert_eq!(found, Vec::<String>::new(), "{secret}");
    }
}

#[test]
fn a_dedicated_browser_needs_no_approval_and_an_owners_tab_does() {
    let fixture = AttachedFixture::new();
    let dedicated = fixture.click("", &["--cdp-dedicated"]);
    let answers = dedicated.json();
    assert!(answers[1].to_string().contains("hello"), "{answers}");
    assert_eq!(fixture.pages(), 1, "its first page was used");
    let owned = fixture.click("", &["--cdp-tab=active"]);
    assert!(owned.stderr.contains("the user's own"), "{}", owned.stderr);
    let owned = fixture.click(ALLOW_ACTIONS, &["--cdp-tab=active"]);
    assert!(owned.json()[1].to_string().contains("hello"), "{owned:?}");
    assert_eq!(fixture.pages(), 1);
}

#[test]
fn flags_that_an_attached_browser_cannot_have_are_one_error() {
    let fixture = AttachedFixture::new();
    fixture
        .click(ALLOW_ACTIONS, &["--downloads"])
        .fails(2, &["--downloads", "own machine"]);
    let unset = fixture.click("", &["--cdp-header=X-Key=NOT_SET_HERE"]);
    unset.fails(2, &["--cdp-header", "NOT_SET_HERE is not set"]);
}
