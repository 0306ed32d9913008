//! `--cdp`: a browser that runs already, for a call and for a session.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use telechir_process::is_root;
use telechir_testkit::gate::{Part, require};

use crate::exec::{anthropic, member};
use crate::network::page;
use crate::telechir::{Ran, Telechir};

/// Somebody's Chromium, and what is needed to use it.
struct Scene {
    telechir: Telechir,
    chromium: Child,
    address: String,
    url: String,
    _theirs: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        require(Part::Chromium);
        let telechir = Telechir::new();
        let run = telechir.folder().join("run");
        fs::create_dir(&run).expect("a folder");
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(&run, private).expect("permissions");
        let theirs = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("/usr/lib/chromium/chromium");
        command
            .args(["--headless=new", "--remote-debugging-port=0", "about:blank"])
            .arg(format!("--user-data-dir={}", theirs.path().display()))
            .env("HOME", theirs.path())
            .stderr(Stdio::piped());
        if is_root() {
            command.arg("--no-sandbox");
        }
        let mut chromium = command.spawn().expect("it starts");
        let mut said = BufReader::new(chromium.stderr.take().expect("a pipe")).lines();
        let address = loop {
            let line = said.next().expect("a line").expect("text");
            if let Some((_, socket)) = line.split_once("DevTools listening on ws://") {
                let host = socket.split('/').next().expect("a host");
                break format!("http://{host}");
            }
        };
        // Read on, or it would stop at a full pipe.
        std::thread::spawn(move || said.for_each(drop));
        let port = page("<title>ours</title><p>hello".to_owned());
        Self {
            telechir,
            chromium,
            address,
            url: format!("http://127.0.0.1:{port}/"),
            _theirs: theirs,
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.telechir.command(arguments);
        command.env("XDG_RUNTIME_DIR", self.telechir.folder().join("run"));
        command
    }

    /// Clicks into the page, by a policy that has these rules beside that of the page.
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

    /// How many pages their Chromium says it has.
    fn pages(&self) -> usize {
        let list = format!("{}/json/list", self.address);
        let told = Command::new("curl")
            .args(["-sS", "--noproxy", "*", &list])
            .output();
        let told: Value = serde_json::from_slice(&told.expect("curl").stdout).expect("JSON");
        let targets = told.as_array().expect("a list").iter();
        targets.filter(|target| target["type"] == "page").count()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _over_already = self.chromium.kill();
        let _over_already = self.chromium.wait();
    }
}

const MAY_ACT: &str = "[[computer]]\ndisplay = 'existing'\nverdict = 'allow'\nreason = 'A test.'\n";

#[test]
fn a_call_uses_a_context_of_its_own_and_the_policy_takes_the_browser_for_a_person_s() {
    let scene = Scene::new();
    let asked = scene.click("", &[]);
    assert_eq!(asked.code, Some(1), "nobody said yes: {asked:?}");
    assert!(asked.stderr.contains("a person's own"), "{}", asked.stderr);
    let ran = scene.click(MAY_ACT, &[]);
    assert!(
        ran.stderr.contains("bypasses the egress"),
        "{}",
        ran.stderr
    );
    let answers = ran.json();
    assert_ne!(answers[0]["is_error"], true, "{answers}");
    assert!(answers[1].to_string().contains("hello"), "{answers}");
    assert_eq!(scene.pages(), 1, "theirs is left");
    scene.telechir.assert_nothing_left();
}

#[test]
fn a_session_that_is_killed_leaves_nothing_there_and_one_whose_browser_ends_says_so() {
    let mut scene = Scene::new();
    let session = ["--session", "work"];
    let answers = scene.click(MAY_ACT, &session).json();
    assert_ne!(answers[0]["is_error"], true, "{answers}");
    assert_eq!(scene.pages(), 2);
    let listed = Ran::of(&mut scene.command(&["sessions", "list", "--json"]), "").json();
    let pid = i32::try_from(listed[0]["pid"].as_i64().expect("a number")).expect("small");
    kill_process(Pid::from_raw(pid).expect("a process"), Signal::KILL).expect("it runs");
    let start = Instant::now();
    while scene.pages() > 1 {
        assert!(start.elapsed() < Duration::from_secs(5), "a tab is left");
    }

    let answers = scene.click(MAY_ACT, &["--session", "other"]).json();
    assert_ne!(answers[0]["is_error"], true, "{answers}");
    scene.chromium.kill().expect("it is ours");
    scene.chromium.wait().expect("it ends");
    let told = scene.click(MAY_ACT, &["--session", "other"]);
    assert!(
        (told.stdout.clone() + &told.stderr).contains("reach the browser"),
        "{told:?}"
    );
    Ran::of(&mut scene.command(&["sessions", "close", "other"]), "");
}
