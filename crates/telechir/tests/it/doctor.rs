//! `doctor` on this machine, and on the same machine with parts of it taken away.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use telechir_testkit::gate::{Part, require};

use crate::telechir::Telechir;

const CHECKS: [&str; 22] = [
    "user",
    "user-namespaces",
    "screen",
    "desktop",
    "display",
    "browser",
    "browser-headless",
    "shell",
    "guardian",
    "limits",
    "fonts-cjk",
    "fonts-emoji",
    "recording",
    "disk",
    "memory",
    "words",
    "editor",
    "key-anthropic",
    "key-openai",
    "key-google",
    "key-bedrock",
    "key-mistral",
];
/// A user with a name who is nobody in particular.
const NOBODY: u32 = 65_534;
const IN_PLACE: [&str; 4] = ["bwrap", "--dev-bind", "/", "/"];

/// What `doctor --json` printed, and how it ended.
struct Report {
    code: Option<i32>,
    json: Value,
    text: String,
}

impl Report {
    #[track_caller]
    fn finding(&self, id: &str) -> &Value {
        let checks = self.json["checks"].as_array().expect("checks");
        let finding = checks.iter().find(|finding| finding["id"] == id);
        finding.expect("a check of this name")
    }

    /// Fails unless these checks, and no others of what `exec` gives, have this state and a cause
    /// that says all the words.
    #[track_caller]
    fn only(&self, ids: &[&str], state: &str, words: &[&str]) {
        for id in ["desktop", "browser", "browser-headless", "shell"] {
            let finding = self.finding(id);
            if !ids.contains(&id) {
                assert_eq!(finding["state"], "works", "{}", self.text);
                continue;
            }
            assert_eq!(finding["state"], state, "{}", self.text);
            let cause = finding["cause"].as_str().expect("a cause");
            assert!(!cause.contains('\n'), "{cause}");
            for word in words {
                assert!(cause.contains(word), "`{word}` is not in: {cause}");
            }
            assert!(finding["without"].is_string(), "{finding}");
        }
    }

    #[track_caller]
    fn commands(&self, id: &str) -> String {
        let commands = self.finding(id)["commands"].as_array().expect("commands");
        let commands = commands.iter().filter_map(Value::as_str);
        commands.collect::<Vec<_>>().join("\n")
    }
}

/// Runs `doctor --json` below `wrapper`, the words that start another program first.
fn doctor(telechir: &Telechir, wrapper: &[&str]) -> Report {
    let binary = env!("CARGO_BIN_EXE_telechir");
    run(telechir, &[wrapper, &[binary, "doctor", "--json"]].concat())
}

fn run(telechir: &Telechir, words: &[&str]) -> Report {
    let mut command = Command::new(words[0]);
    let output = command
        .args(&words[1..])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", telechir.folder())
        .env("TMPDIR", telechir.folder())
        .output()
        .expect("it runs");
    telechir.assert_nothing_left();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&output.stderr);
    Report {
        code: output.status.code(),
        json: serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text}{complaints}")),
        text,
    }
}

fn require_all() {
    for part in [Part::XServer, Part::Chromium, Part::Sandbox, Part::Dbus] {
        require(part);
    }
}

/// Hides these from what runs inside, as on a machine without them.
fn without(hidden: &[&'static str]) -> Vec<&'static str> {
    let mut wrapper = IN_PLACE.to_vec();
    for path in hidden {
        if Path::new(path).is_dir() {
            wrapper.extend(["--tmpfs", path]);
        } else if Path::new(path).exists() {
            wrapper.extend(["--bind", "/dev/null", path]);
        }
    }
    wrapper
}

fn am_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn everything_works_here() {
    require_all();
    let telechir = Telechir::new();
    let report = doctor(&telechir, &IN_PLACE);
    assert_eq!(report.code, Some(0), "{}", report.text);
    let json = &report.json;
    assert_eq!(json["format"], 1);
    assert_eq!(json["ready"], true);
    assert_eq!(
        json["usable"],
        json!(["--desktop", "--browser", "--browser --headless", "--shell"])
    );
    assert_eq!(json["machine"]["root"], am_root());
    let checks = json["checks"].as_array().expect("checks");
    let ids: Vec<_> = checks
        .iter()
        .filter_map(|check| check["id"].as_str())
        .collect();
    assert_eq!(ids, CHECKS);
    report.only(&[], "works", &[]);
    for id in ["user", "user-namespaces", "screen", "guardian", "recording"] {
        assert!(report.finding(id)["seen"].is_string(), "{}", report.text);
    }
    for (id, seen) in [
        ("browser", "sandbox is on"),
        ("browser-headless", "sandbox is on"),
        ("desktop", "accessibility is on"),
        ("shell", "a system call filter"),
        ("guardian", "was ended in"),
    ] {
        let text = report.finding(id)["seen"].as_str().expect("what was seen");
        assert!(text.contains(seen), "{text}");
    }
}

#[test]
fn everything_works_for_an_ordinary_user() {
    require_all();
    let telechir = Telechir::new();
    let (user, binary) = (NOBODY.to_string(), telechir.folder().join("binary"));
    // Where cargo puts the binary, that user may have no way.
    fs::copy(env!("CARGO_BIN_EXE_telechir"), &binary).expect("a copy");
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).expect("permissions");
    let mut words = Vec::new();
    if am_root() {
        chown(telechir.folder(), Some(NOBODY), Some(NOBODY)).expect("a folder of theirs");
        words.extend([
            "setpriv",
            "--reuid",
            &user,
            "--regid",
            &user,
            "--clear-groups",
        ]);
    }
    words.extend([binary.to_str().expect("a path"), "doctor", "--json"]);
    let report = run(&telechir, &words);
    assert_eq!(report.code, Some(0), "{}", report.text);
    assert_eq!(report.json["machine"]["root"], false);
    report.only(&[], "works", &[]);
}

#[test]
fn limits_that_do_not_hold_for_all_together_are_said_with_their_cost() {
    require_all();
    let root = "/sys/fs/cgroup";
    let read_only = [&IN_PLACE[..], &["--ro-bind", root, root]].concat();
    let report = doctor(&Telechir::new(), &read_only);
    // Every device works without.
    assert_eq!(report.code, Some(0), "{}", report.text);
    report.only(&[], "works", &[]);
    let limits = report.finding("limits");
    assert_eq!(limits["state"], "degraded", "{limits}");
    assert_eq!(limits["seen"], "per process only");
    let cause = limits["cause"].as_str().expect("a cause");
    assert!(cause.contains("/sys/fs/cgroup"), "{cause}");
    let cost = limits["without"].as_str().expect("what it costs");
    assert!(cost.contains("memory"), "{cost}");
    assert_eq!(report.json["machine"]["cgroup_delegated"], false);
}

#[test]
fn without_an_x_server_a_browser_without_a_window_is_left() {
    require_all();
    let report = doctor(&Telechir::new(), &without(&["/usr/bin/Xvfb"]));
    assert_eq!(report.code, Some(1));
    report.only(&["desktop", "browser"], "missing", &["`Xvfb`", "not found"]);
    assert!(report.commands("screen").contains("apt-get install xvfb"));
    let install = report.json["install"].as_str().expect("a command");
    assert!(install.contains("apt-get install xvfb"), "{install}");
    assert_eq!(
        report.json["usable"],
        json!(["--browser --headless", "--shell"])
    );
}

#[test]
fn all_missing_packages_come_in_one_command() {
    require_all();
    let hidden = [
        "/usr/bin/Xvfb",
        "/usr/bin/openbox",
        "/usr/bin/dbus-daemon",
        "/usr/share/fonts/opentype",
        "/usr/share/fonts/truetype",
    ];
    let report = doctor(&Telechir::new(), &without(&hidden));
    let install = report.json["install"].as_str().expect("a command");
    let all = "xvfb openbox dbus-daemon fonts-noto-cjk fonts-noto-color-emoji";
    assert!(
        install.contains(&format!("apt-get install {all}")),
        "{install}"
    );
    assert!(report.commands("fonts-cjk").contains("fonts-noto-cjk"));
}

#[test]
fn without_chromium_a_desktop_and_a_shell_are_left() {
    require_all();
    let places = [
        "/usr/lib/chromium",
        "/usr/bin/chromium",
        "/usr/bin/chromium-headless-shell",
        "/usr/bin/google-chrome",
    ];
    let report = doctor(&Telechir::new(), &without(&places));
    assert_eq!(report.code, Some(1));
    report.only(&["browser", "browser-headless"], "missing", &["not found"]);
    assert!(
        report
            .commands("browser")
            .contains("apt-get install chromium")
    );
}

#[test]
fn without_chromium_s_shell_chromium_does_it() {
    require_all();
    let places = [
        "/usr/lib/chromium/chromium-headless-shell",
        "/usr/bin/chromium-headless-shell",
    ];
    let report = doctor(&Telechir::new(), &without(&places));
    let browser = report.finding("browser-headless");
    assert_eq!(browser["state"], "degraded", "{browser}");
    assert!(
        report
            .commands("browser-headless")
            .contains("apt-get install chromium-headless-shell")
    );
    assert_eq!(report.finding("browser")["state"], "works");
}

#[test]
fn without_bubblewrap_a_browser_without_a_window_is_left() {
    require_all();
    let report = doctor(&Telechir::new(), &without(&["/usr/bin/bwrap"]));
    assert_eq!(report.code, Some(1));
    report.only(&["desktop", "browser", "shell"], "missing", &["`bwrap`"]);
    assert!(
        report
            .commands("shell")
            .contains("apt-get install bubblewrap")
    );
    assert_eq!(report.finding("desktop")["packages"], json!(["bubblewrap"]));
}

#[test]
fn without_user_namespaces_nothing_is_confined_and_so_nothing_starts() {
    require_all();
    let (user, mut wrapper) = (NOBODY.to_string(), IN_PLACE.to_vec());
    wrapper.extend([
        "--unshare-user",
        "--disable-userns",
        "--uid",
        &user,
        "--gid",
        &user,
    ]);
    let report = doctor(&Telechir::new(), &wrapper);
    assert_eq!(report.code, Some(1));
    let namespaces = report.finding("user-namespaces");
    assert_eq!(namespaces["state"], "broken", "{}", report.text);
    let cause = namespaces["cause"].to_string();
    assert!(
        cause.contains("No switch of this kernel forbids it"),
        "{cause}"
    );
    let all = ["desktop", "browser", "browser-headless", "shell"];
    report.only(&all, "broken", &["see `user-namespaces`"]);
    assert_eq!(report.json["usable"], json!([]));
}

#[test]
fn a_user_without_a_name_has_everything_too() {
    require_all();
    let mut wrapper = IN_PLACE.to_vec();
    wrapper.extend(["--unshare-user", "--uid", "12345", "--gid", "12345"]);
    let report = doctor(&Telechir::new(), &wrapper);
    assert_eq!(report.code, Some(0), "{}", report.text);
    assert_eq!(report.json["machine"]["uid"], 12_345);
    report.only(&[], "works", &[]);
}

/// No session can start below a folder that nobody can write in; so this is quick.
fn quick(telechir: &Telechir, arguments: &[&str], more: &[(&str, &str)]) -> std::process::Output {
    let mut command = telechir.command(arguments);
    command.env("TMPDIR", "/proc").envs(more.iter().copied());
    command.output().expect("it runs")
}

#[test]
fn a_folder_that_cannot_be_written_is_named_once() {
    let output = quick(&Telechir::new(), &["doctor"], &[]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("failed to make a folder for the session"),
        "{text}"
    );
    assert!(text.contains("no session can start: see `user`"), "{text}");
    assert!(text.contains("cannot write in /proc"), "{text}");
    assert!(
        text.contains("telechir can give a model no device here."),
        "{text}"
    );
    let is_one_word = |line: &str| !line.trim().contains(' ');
    let is_narrow =
        |line: &str| line.chars().count() <= 80 || line.contains("to mend it") || is_one_word(line);
    assert!(text.lines().all(is_narrow), "{text}");
    assert!(!text.contains('\x1b'), "{text}");
}

#[test]
fn keys_are_never_shown() {
    let keys = [
        ("ANTHROPIC_API_KEY", "sk-ant-very-secret"),
        ("OPENAI_API_KEY", "two secret words"),
    ];
    for arguments in [&["doctor"][..], &["doctor", "--json", "-vv"]] {
        let output = quick(&Telechir::new(), arguments, &keys);
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(!said.contains("secret"), "{said}");
        assert!(said.contains("no header can carry"), "{said}");
    }
}

#[test]
fn a_terminal_gets_colours_unless_it_wants_none() {
    let telechir = Telechir::new();
    let line = format!("{} doctor", env!("CARGO_BIN_EXE_telechir"));
    let run = |more: Option<(&str, &str)>| {
        let mut command = Command::new("script");
        command
            .args(["-qec", &line, "/dev/null"])
            .env("TMPDIR", "/proc");
        command.envs(more);
        let output = command.output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let said = run(None);
    assert!(said.contains("\x1b[31mbroken"), "{said}");
    let said = run(Some(("NO_COLOR", "1")));
    assert!(
        said.contains("broken") && !said.contains("\x1b[31m"),
        "{said}"
    );
    telechir.assert_nothing_left();
}

#[test]
fn a_recording_is_tried_where_it_would_be() {
    let telechir = Telechir::new();
    let there = telechir.folder().join("not/yet/there");
    let there = there.to_str().expect("a path");
    let output = quick(&telechir, &["doctor", "--json", "--record", there], &[]);
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let checks = json["checks"].as_array().expect("checks");
    let recording = checks.iter().find(|check| check["id"] == "recording");
    let seen = recording.expect("the check")["seen"].to_string();
    assert!(
        seen.contains(telechir.folder().to_str().expect("a path")),
        "{seen}"
    );
    assert!(!Path::new(there).exists(), "it is not made");
    assert_eq!(
        fs::read_dir(telechir.folder()).expect("the folder").count(),
        0
    );
}

#[test]
fn a_signal_in_the_middle_leaves_nothing_behind() {
    require_all();
    let telechir = Telechir::new();
    let mut child = telechir.command(&["doctor"]).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    // The browser is next.
    let reached = lines.any(|line| line.is_ok_and(|line| line.contains("desktop   ")));
    assert!(reached, "the desktop was looked at");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
    assert_eq!(child.wait().expect("it ends").code(), Some(143));
    telechir.assert_nothing_left();
}
