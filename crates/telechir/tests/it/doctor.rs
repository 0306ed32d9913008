//! `doctor` on this machine, and on the same machine without some of its components.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use telechir_testkit::gate::{Component, require};

use crate::telechir::Telechir;

const CHECKS: [&str; 25] = [
    "user",
    "user-namespaces",
    "bubblewrap",
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
    "ocr",
    "editor",
    "containers",
    "key-anthropic",
    "key-openai",
    "key-google",
    "key-bedrock",
    "key-mistral",
    "key-remote",
];
/// An unprivileged user id.
const NOBODY: u32 = 65_534;
const UNCHANGED: [&str; 4] = ["bwrap", "--dev-bind", "/", "/"];

/// Output and exit code of `doctor --json`.
struct DoctorOutput {
    code: Option<i32>,
    json: Value,
    text: String,
}

impl DoctorOutput {
    #[track_caller]
    fn finding(&self, id: &str) -> &Value {
        let checks = self.json["checks"].as_array().expect("checks");
        let finding = checks.iter().find(|finding| finding["id"] == id);
        finding.expect("a check of this name")
    }

    /// Asserts that these checks, and no other device checks, have this state and a cause with these
    /// fragments.
    #[track_caller]
    fn only(&self, ids: &[&str], state: &str, fragments: &[&str]) {
        for id in ["desktop", "browser", "browser-headless", "shell"] {
            let finding = self.finding(id);
            if !ids.contains(&id) {
                assert_eq!(finding["state"], "works", "{}", self.text);
                continue;
            }
            self.expect(id, state, fragments);
        }
    }

    #[track_caller]
    fn expect(&self, id: &str, state: &str, fragments: &[&str]) {
        let finding = self.finding(id);
        assert_eq!(finding["state"], state, "{}", self.text);
        let cause = finding["cause"].as_str().expect("a cause");
        assert!(!cause.contains('\n'), "{cause}");
        for fragment in fragments {
            assert!(cause.contains(fragment), "`{fragment}` is not in: {cause}");
        }
        assert!(finding["impact"].is_string(), "{finding}");
    }

    #[track_caller]
    fn fix(&self, id: &str) -> String {
        let commands = self.finding(id)["fix"].as_array().expect("commands");
        let commands = commands.iter().filter_map(Value::as_str);
        commands.collect::<Vec<_>>().join("\n")
    }
}

/// Runs `doctor --json` with `wrapper` as the start of its command line.
fn doctor(telechir: &Telechir, wrapper: &[&str]) -> DoctorOutput {
    let binary = env!("CARGO_BIN_EXE_telechir");
    run(telechir, &[wrapper, &[binary, "doctor", "--json"]].concat())
}

fn run(telechir: &Telechir, args: &[&str]) -> DoctorOutput {
    let mut command = Command::new(args[0]);
    let output = command
        .args(&args[1..])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", telechir.folder())
        .env("TMPDIR", telechir.folder())
        .output()
        .expect("the program runs");
    telechir.assert_nothing_left();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr);
    DoctorOutput {
        code: output.status.code(),
        json: serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text}{stderr}")),
        text,
    }
}

fn require_all() {
    for part in [
        Component::XServer,
        Component::Chromium,
        Component::Sandbox,
        Component::Dbus,
    ] {
        require(part);
    }
}

/// A wrapper that masks these paths, as on a machine without them.
fn without(hidden: &[&'static str]) -> Vec<&'static str> {
    let mut wrapper = UNCHANGED.to_vec();
    for path in hidden {
        if Path::new(path).is_dir() {
            wrapper.extend(["--tmpfs", path]);
        } else if Path::new(path).exists() {
            wrapper.extend(["--bind", "/dev/null", path]);
        }
    }
    wrapper
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn everything_works_here() {
    require_all();
    let telechir = Telechir::new();
    let report = doctor(&telechir, &UNCHANGED);
    assert_eq!(report.code, Some(0), "{}", report.text);
    let json = &report.json;
    assert_eq!(json["format"], 1);
    assert_eq!(json["ready"], true);
    assert_eq!(
        json["usable"],
        json!(["--desktop", "--browser", "--browser --headless", "--shell"])
    );
    assert_eq!(json["machine"]["root"], is_root());
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
        ("guardian", "was killed after"),
    ] {
        let text = report.finding(id)["seen"].as_str().expect("a finding");
        assert!(text.contains(seen), "{text}");
    }
}

#[test]
fn everything_works_for_an_unprivileged_user() {
    require_all();
    let telechir = Telechir::new();
    let (user, binary) = (NOBODY.to_string(), telechir.folder().join("binary"));
    // That user may have no access to cargo's output folder.
    fs::copy(env!("CARGO_BIN_EXE_telechir"), &binary).expect("a copy");
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).expect("permissions");
    let mut args = Vec::new();
    if is_root() {
        chown(telechir.folder(), Some(NOBODY), Some(NOBODY)).expect("a new owner");
        args.extend([
            "setpriv",
            "--reuid",
            &user,
            "--regid",
            &user,
            "--clear-groups",
        ]);
    }
    args.extend([binary.to_str().expect("a path"), "doctor", "--json"]);
    let report = run(&telechir, &args);
    assert_eq!(report.code, Some(0), "{}", report.text);
    assert_eq!(report.json["machine"]["root"], false);
    report.only(&[], "works", &[]);
}

#[test]
fn missing_common_limits_are_a_warning_with_their_impact() {
    require_all();
    let root = "/sys/fs/cgroup";
    let read_only = [&UNCHANGED[..], &["--ro-bind", root, root]].concat();
    let report = doctor(&Telechir::new(), &read_only);
    // Every device works without common limits.
    assert_eq!(report.code, Some(0), "{}", report.text);
    report.only(&[], "works", &[]);
    let limits = report.finding("limits");
    assert_eq!(limits["state"], "degraded", "{limits}");
    assert_eq!(limits["seen"], "per process only");
    let cause = limits["cause"].as_str().expect("a cause");
    assert!(cause.contains("/sys/fs/cgroup"), "{cause}");
    let impact = limits["impact"].as_str().expect("an impact");
    assert!(impact.contains("memory"), "{impact}");
    assert_eq!(report.json["machine"]["cgroup_delegated"], false);
}

#[test]
fn without_an_x_server_only_a_headless_browser_and_a_shell_work() {
    require_all();
    let report = doctor(&Telechir::new(), &without(&["/usr/bin/Xvfb"]));
    assert_eq!(report.code, Some(1));
    report.only(&["desktop", "browser"], "missing", &["`Xvfb`", "not found"]);
    assert!(report.fix("screen").contains("apt-get install xvfb"));
    let install = report.json["install"].as_str().expect("a command");
    assert!(install.contains("apt-get install xvfb"), "{install}");
    assert_eq!(
        report.json["usable"],
        json!(["--browser --headless", "--shell"])
    );
}

#[test]
fn one_command_installs_all_missing_packages() {
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
    assert!(report.fix("fonts-cjk").contains("fonts-noto-cjk"));
}

#[test]
fn without_chromium_desktop_and_shell_work() {
    require_all();
    let paths = [
        "/usr/lib/chromium",
        "/usr/bin/chromium",
        "/usr/bin/chromium-headless-shell",
        "/usr/bin/google-chrome",
    ];
    let report = doctor(&Telechir::new(), &without(&paths));
    assert_eq!(report.code, Some(1));
    report.only(&["browser", "browser-headless"], "missing", &["not found"]);
    assert!(report.fix("browser").contains("apt-get install chromium"));
}

#[test]
fn without_chromium_s_headless_shell_chromium_itself_runs() {
    require_all();
    let paths = [
        "/usr/lib/chromium/chromium-headless-shell",
        "/usr/bin/chromium-headless-shell",
    ];
    let report = doctor(&Telechir::new(), &without(&paths));
    let browser = report.finding("browser-headless");
    assert_eq!(browser["state"], "degraded", "{browser}");
    assert!(
        report
            .fix("browser-headless")
            .contains("apt-get install chromium-headless-shell")
    );
    assert_eq!(report.finding("browser")["state"], "works");
}

#[test]
fn without_bubblewrap_only_a_headless_browser_starts() {
    require_all();
    let report = doctor(&Telechir::new(), &without(&["/usr/bin/bwrap"]));
    assert_eq!(report.code, Some(1));
    for id in ["desktop", "browser", "shell"] {
        report.expect(id, "missing", &["`bwrap`"]);
    }
    report.expect(
        "browser-headless",
        "degraded",
        &["network namespace", "`bwrap`"],
    );
    assert!(report.fix("shell").contains("apt-get install bubblewrap"));
    assert_eq!(report.finding("desktop")["packages"], json!(["bubblewrap"]));
}

#[test]
fn without_user_namespaces_no_device_starts() {
    require_all();
    let (user, mut wrapper) = (NOBODY.to_string(), UNCHANGED.to_vec());
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
        cause.contains("No setting of this kernel blocks it"),
        "{cause}"
    );
    let all = ["desktop", "browser", "browser-headless", "shell"];
    report.only(&all, "broken", &["see `user-namespaces`"]);
    assert_eq!(report.json["usable"], json!([]));
}

#[test]
fn everything_works_for_a_user_without_a_name() {
    require_all();
    let mut wrapper = UNCHANGED.to_vec();
    wrapper.extend(["--unshare-user", "--uid", "12345", "--gid", "12345"]);
    let report = doctor(&Telechir::new(), &wrapper);
    assert_eq!(report.code, Some(0), "{}", report.text);
    assert_eq!(report.json["machine"]["uid"], 12_345);
    report.only(&[], "works", &[]);
}

/// Runs with a temporary folder that is not writable: no session starts, so this is fast.
fn quick(telechir: &Telechir, arguments: &[&str], more: &[(&str, &str)]) -> std::process::Output {
    let mut command = telechir.command(arguments);
    command.env("TMPDIR", "/proc").envs(more.iter().copied());
    command.output().expect("the program runs")
}

#[test]
fn an_unwritable_folder_is_reported_once() {
    let output = quick(&Telechir::new(), &["doctor"], &[]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("failed to create the session's folder in /proc")
            && text.contains("set TMPDIR"),
        "{text}"
    );
    assert!(text.contains("no session can start: see `user`"), "{text}");
    assert!(text.contains("failed to write to /proc"), "{text}");
    assert!(
        text.contains("telechir has no working device on this machine."),
        "{text}"
    );
    let is_one_word = |line: &str| !line.trim().contains(' ');
    let is_narrow = |line: &str| {
        line.chars().count() <= 80 || line.starts_with("          fix  ") || is_one_word(line)
    };
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
        let output = [output.stdout, output.stderr].concat();
        let output = String::from_utf8_lossy(&output);
        assert!(!output.contains("secret"), "{output}");
        assert!(output.contains("invalid in an HTTP header"), "{output}");
    }
}

#[test]
fn a_terminal_gets_colours_unless_no_color_is_set() {
    let telechir = Telechir::new();
    let line = format!("{} doctor", env!("CARGO_BIN_EXE_telechir"));
    let run = |more: Option<(&str, &str)>| {
        let mut command = Command::new("script");
        command
            .args(["-qec", &line, "/dev/null"])
            .env("TMPDIR", "/proc");
        command.envs(more);
        let output = command.output().expect("the program runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let output = run(None);
    assert!(output.contains("\x1b[31mbroken"), "{output}");
    let output = run(Some(("NO_COLOR", "1")));
    assert!(
        output.contains("broken") && !output.contains("\x1b[31m"),
        "{output}"
    );
    telechir.assert_nothing_left();
}

#[test]
fn recording_is_tested_in_the_given_folder() {
    let telechir = Telechir::new();
    let missing = telechir.folder().join("not/yet/there");
    let missing = missing.to_str().expect("a path");
    let output = quick(&telechir, &["doctor", "--json", "--record", missing], &[]);
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let checks = json["checks"].as_array().expect("checks");
    let recording = checks.iter().find(|check| check["id"] == "recording");
    let seen = recording.expect("the check")["seen"].to_string();
    assert!(
        seen.contains(telechir.folder().to_str().expect("a path")),
        "{seen}"
    );
    assert!(!Path::new(missing).exists(), "the folder was created");
    assert_eq!(
        fs::read_dir(telechir.folder()).expect("the folder").count(),
        0
    );
}

#[test]
fn a_signal_in_the_middle_leaves_nothing_behind() {
    require_all();
    let telechir = Telechir::new();
    let mut child = telechir
        .command(&["doctor"])
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    // The browser check follows.
    let reached = lines.any(|line| line.is_ok_and(|line| line.contains("desktop   ")));
    assert!(reached, "the desktop check has no output");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
    assert_eq!(child.wait().expect("an exit status").code(), Some(143));
    telechir.assert_nothing_left();
}
