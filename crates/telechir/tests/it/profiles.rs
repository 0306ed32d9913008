//! Browser profiles: created, locked by one session, preserved after a kill, deleted.

use std::fs;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use telechir_testkit::gate::{Component, require};

use crate::exec::{anthropic, member};
use crate::network::page;
use crate::telechir::{Ran, Telechir};
use telechir_testkit::assert_eventually_blocking;

/// A page that shows and then stores data of a visit.
const PAGE: &str = "<title>x</title><p id=p></p><script>\
    p.textContent = `knows ${document.cookie} and ${localStorage.seen}.`;\
    document.cookie = 'login=ada; max-age=99999';\
    localStorage.seen = 'before';</script>";
const ALL: &str = "knows login=ada and before.";

/// A folder for profiles and sessions, and a policy that allows the page.
struct ProfileFixture {
    telechir: Telechir,
    url: String,
}

impl ProfileFixture {
    fn new() -> Self {
        let telechir = Telechir::new();
        let run = telechir.folder().join("run");
        fs::create_dir(&run).expect("a folder");
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(&run, private).expect("permissions");
        let port = page(PAGE.to_owned());
        let rule = format!(
            "[[url]]\nhost = ['127.0.0.1']\nport = [{port}]\nverdict = 'allow'\nreason = 'A test.'\n"
        );
        fs::write(telechir.folder().join("policy.toml"), rule).expect("a policy");
        Self {
            telechir,
            url: format!("http://127.0.0.1:{port}/"),
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.telechir.command(arguments);
        let folder = self.telechir.folder();
        command.env("XDG_RUNTIME_DIR", folder.join("run"));
        command.env("XDG_DATA_HOME", folder.join("data"));
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(&mut self.command(arguments), "")
    }

    /// Reads the page in a browser with the profile.
    fn read(&self, more: &[&str]) -> Ran {
        let browser = format!("--browser={}", self.url);
        let policy = self.telechir.folder().join("policy.toml");
        let policy = format!("--policy={}", policy.display());
        let first = ["exec", "--dialect", "anthropic-messages", "--profile=shop"];
        let arguments = [&first[..], &[&browser, &policy], more].concat();
        let call = anthropic(&[member("toolu_1", "browser", "get_page_text", json!({}))]);
        Ran::of(&mut self.command(&arguments), &call)
    }

    fn list(&self) -> Value {
        self.run(&["profiles", "list", "--json"]).json()
    }

    fn session_host(&self) -> Pid {
        let listed = self.run(&["sessions", "list", "--json"]).json();
        let pid = listed[0]["pid"].as_i64().expect("a number");
        Pid::from_raw(i32::try_from(pid).expect("small")).expect("a process")
    }
}

#[test]
fn profiles_are_created_listed_and_deleted() {
    let fixture = ProfileFixture::new();
    assert_eq!(fixture.run(&["profiles", "list"]).stdout, "no profiles\n");
    assert_eq!(fixture.run(&["profiles", "create", "shop"]).code, Some(0));
    let again = fixture.run(&["profiles", "create", "shop"]);
    again.fails(1, &["create profile shop", "already exists"]);
    let listed = fixture.list();
    assert_eq!(listed[0]["id"], "shop");
    assert_eq!(listed[0].get("used_seconds_ago"), None);
    let text = fixture.run(&["profiles", "list"]).stdout;
    assert!(text.contains("shop") && text.contains("never"), "{text}");
    assert_eq!(fixture.run(&["profiles", "delete", "shop"]).code, Some(0));
    assert_eq!(fixture.list(), json!([]));
    fixture
        .run(&["profiles", "delete", "shop"])
        .fails(1, &["find profile shop", "telechir profiles create shop"]);
    fixture
        .run(&["profiles", "create", "../x"])
        .code
        .expect("a code");
    assert_eq!(fixture.list(), json!([]), "a name cannot be a path");
}

#[test]
fn a_missing_or_locked_profile_is_one_message() {
    require(Component::Chromium);
    let fixture = ProfileFixture::new();
    let missing = fixture.read(&["--headless"]);
    missing.fails(1, &["find profile shop", "telechir profiles create shop"]);
    fixture.run(&["profiles", "create", "shop"]);
    let first = fixture.read(&["--headless", "--session", "work"]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let process = fixture.session_host().as_raw_nonzero();
    let who = format!("session work (process {process})");
    fixture
        .read(&["--headless"])
        .fails(1, &["use profile shop", &who, "one browser at a time"]);
    fixture
        .read(&["--headless", "--no-persist"])
        .fails(1, &["use profile shop", &who]);
    fixture
        .run(&["profiles", "delete", "shop"])
        .fails(1, &["use profile shop", &who]);
    assert_eq!(
        fixture.list()[0]["held_by"],
        format!("session work (process {process})")
    );
    let closed = fixture.run(&["sessions", "close", "work"]);
    assert_eq!(closed.code, Some(0), "{}", closed.stderr);
    let again = fixture.read(&["--headless", "--no-persist"]);
    assert!(again.json().to_string().contains(ALL), "{again:?}");
    fixture.telechir.assert_nothing_left();
}

/// Stored page data survives a kill of the process that uses the profile.
fn survives(surface: &[&str]) {
    require(Component::Chromium);
    let fixture = ProfileFixture::new();
    fixture.run(&["profiles", "create", "shop"]);
    let before = fixture.read(surface);
    assert_eq!(before.code, Some(0), "{}", before.stderr);
    let session = [surface, &["--session", "work"]].concat();
    let first = fixture.read(&session);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    kill_process(fixture.session_host(), Signal::KILL).expect("a running program");
    let is_session = |name: &str| name.starts_with("telechir-");
    let left = || {
        let mut left = fixture.telechir.processes();
        let entries = fs::read_dir(fixture.telechir.folder()).expect("the folder");
        let names = entries.flatten().map(|entry| entry.file_name());
        left.extend(
            names
                .filter_map(|name| name.into_string().ok())
                .filter(|name| is_session(name)),
        );
        left
    };
    assert_eventually_blocking!(left(), |left| left.is_empty());
    let profile = fixture
        .telechir
        .folder()
        .join("data/telechir/profiles/shop");
    let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(&profile).expect("a profile"));
    assert_eq!(mode & 0o777, 0o700, "other users can enter the profile");
    let again = fixture.read(surface).json()[0]["content"][0].to_string();
    assert!(again.contains(ALL), "{again}");
    fixture.telechir.assert_nothing_left();
}

#[test]
fn a_profile_survives_kill_9() {
    survives(&["--headless"]);
}

#[test]
fn a_profile_of_a_browser_in_a_window_survives_kill_9() {
    require(Component::XServer);
    survives(&[]);
}
