//! An existing display with its own session and applications: read, used by element name and by
//! keys, and left unchanged.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use telechir_process::{Identity, is_root};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};
use telechir_testkit::xvfb::{keyboard, pressed};

use crate::telechir::Telechir;

const RULES: &str =
    "[[computer]]\ndisplay = \"existing\"\nverdict = \"allow\"\nreason = \"A test.\"\n";

/// The user that owns the display; D-Bus requires a user with a name.
fn user() -> Option<Identity> {
    const NOBODY: u32 = 65_534;
    is_root().then_some(Identity {
        uid: NOBODY,
        gid: NOBODY,
    })
}

/// An X server, session bus and editor that telechir did not start.
pub(crate) struct ExistingDesktop {
    home: PathBuf,
    pub(crate) environment: Vec<(String, String)>,
    programs: Vec<Child>,
}

impl ExistingDesktop {
    pub(crate) fn start_session(telechir: &Telechir) -> Self {
        require(Component::XServer);
        require(Component::Dbus);
        let home = telechir.folder().join("home");
        for folder in [&home, &home.join("run")] {
            fs::create_dir(folder).expect("a folder");
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).expect("permissions");
            chown_to_user(folder);
        }
        let _it_may_be_there = fs::create_dir("/tmp/.X11-unix").and_then(|()| {
            fs::set_permissions("/tmp/.X11-unix", fs::Permissions::from_mode(0o1777))
        });
        let cookie = home.join("cookie");
        write_cookie(&cookie);
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let environment = [
            ("PATH", "/usr/bin:/bin".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("HOME", text(&home)),
            ("XDG_RUNTIME_DIR", text(&home.join("run"))),
            ("XAUTHORITY", text(&cookie)),
        ];
        let mut desktop = Self {
            environment: environment
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
            home,
            programs: Vec::new(),
        };
        let screen = ["-displayfd", "1", "-screen", "0", "1280x800x24", "-noreset"];
        let access = ["-nolisten", "tcp", "-auth", &text(&cookie)];
        let number = desktop.start("Xvfb", &[&screen[..], &access].concat(), true);
        desktop.set("DISPLAY", format!(":{number}"));
        let bus = ["--session", "--nofork", "--print-address=1"];
        let address = desktop.start("dbus-daemon", &bus, true);
        desktop.set("DBUS_SESSION_BUS_ADDRESS", address);
        desktop
    }

    fn set(&mut self, name: &str, value: String) {
        self.environment.push((name.to_owned(), value));
    }

    /// Starts a program; returns its first line of output if `prints_line`.
    fn start(&mut self, program: &str, arguments: &[&str], prints_line: bool) -> String {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(self.environment.iter().cloned())
            .current_dir(&self.home)
            .stdout(if prints_line {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stderr(Stdio::null());
        if let Some(user) = user() {
            command.uid(user.uid).gid(user.gid);
        }
        let mut child = command.spawn().expect("the program starts");
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).expect("a line");
        }
        self.programs.push(child);
        line.trim().to_owned()
    }

    pub(crate) fn edit(&mut self) -> PathBuf {
        let file = self.home.join("text.txt");
        fs::write(&file, "before\n").expect("a file");
        chown_to_user(&file);
        self.start("mousepad", &[&file.to_string_lossy()], false);
        file
    }

    pub(crate) fn value(&self, name: &str) -> &str {
        telechir_testkit::xvfb::value(&self.environment, name)
    }

    /// Waits until the editor is accessible, on the bus that only the display names.
    pub(crate) fn wait_until_accessible(&self, telechir: &Telechir) {
        let read = || {
            let call = act("toolu_1", json!({"action": "read_page"}));
            let ran = self
                .exec(telechir, &[call])
                .output()
                .expect("the program runs");
            assert!(ran.status.success(), "{ran:?}");
            String::from_utf8_lossy(&ran.stdout).into_owned()
        };
        assert_eventually_blocking!(read(), |page| page.contains("textbox"));
    }

    /// Asserts that everything that was started still runs.
    #[track_caller]
    pub(crate) fn assert_unchanged(&mut self) {
        for program in &mut self.programs {
            let ended = program.try_wait().expect("a child");
            assert_eq!(ended, None, "the program exited");
        }
        let running = processes(&self.home);
        for name in ["Xvfb", "dbus-daemon", "mousepad", "at-spi-bus-laun"] {
            assert!(
                running.iter().any(|(_, found)| found == name),
                "{name}: {running:?}"
            );
        }
    }

    /// Runs telechir on the display, with the environment of a login without a session bus.
    fn exec(&self, telechir: &Telechir, calls: &[Value]) -> Command {
        let policy = telechir.folder().join("policy.toml");
        fs::write(&policy, RULES).expect("a policy");
        let flag = format!("--desktop={}", self.value("DISPLAY"));
        let mut command = telechir.command(&[
            "exec",
            "--dialect",
            "anthropic-messages",
            &flag,
            "--policy",
            &policy.to_string_lossy(),
        ]);
        let input = telechir.folder().join("input");
        let response = json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
            "content": calls, "stop_reason": "tool_use", "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        });
        fs::write(&input, response.to_string()).expect("a response");
        command.stdin(File::open(input).expect("a response"));
        command.env("XAUTHORITY", self.value("XAUTHORITY"));
        command
    }
}

impl Drop for ExistingDesktop {
    fn drop(&mut self) {
        for mut program in self.programs.drain(..).rev() {
            let _it_may_have_ended = program.kill();
            let _it_may_have_ended = program.wait();
        }
        // Programs that the session bus started exit with it or are killed here.
        for (pid, _) in processes(&self.home) {
            let pid = rustix::process::Pid::from_raw(pid).expect("a number");
            let _it_may_have_ended =
                rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

fn chown_to_user(path: &Path) {
    if let Some(user) = user() {
        chown(path, Some(user.uid), Some(user.gid)).expect("an owner");
    }
}

/// Writes an authority file for any display number.
fn write_cookie(path: &Path) {
    let mut secret = [0; 16];
    let random = File::open("/dev/urandom").expect("random bytes");
    (&random).read_exact(&mut secret).expect("random bytes");
    let mut entry = u16::MAX.to_be_bytes().to_vec();
    for field in [b"".as_slice(), b"", b"MIT-MAGIC-COOKIE-1", &secret] {
        let length = u16::try_from(field.len()).expect("short");
        entry.extend(length.to_be_bytes());
        entry.extend(field);
    }
    let mut file = File::create(path).expect("a file");
    file.write_all(&entry).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("permissions");
    chown_to_user(path);
}

/// Id and name of all processes with this home.
fn processes(home: &Path) -> Vec<(i32, String)> {
    let home = format!("HOME={}", home.display());
    let all = fs::read_dir("/proc").expect("/proc").flatten();
    let found = all.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let environment = fs::read(entry.path().join("environ")).ok()?;
        let mut variables = environment.split(|byte| *byte == 0);
        let name = fs::read_to_string(entry.path().join("comm")).ok()?;
        variables
            .any(|variable| variable == home.as_bytes())
            .then(|| (pid, name.trim().to_owned()))
    });
    found.collect()
}

fn act(id: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": "computer_action", "input": input})
}

fn press(id: &str, name: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "toolset_name": "computer", "input": input})
}

#[test]
fn existing_applications_are_used_by_name_and_keep_running() {
    let telechir = Telechir::new();
    let mut desktop = ExistingDesktop::start_session(&telechir);
    let file = desktop.edit();
    let keys = keyboard(&desktop.environment);
    let at = json!({"role": "textbox"});
    desktop.wait_until_accessible(&telechir);
    let calls = [
        act(
            "toolu_1",
            json!({"action": "form_input", "coordinate": at, "value": "by name, "}),
        ),
        act(
            "toolu_2",
            json!({"action": "invoke", "coordinate": at, "name": "focus"}),
        ),
        press("toolu_3", "key", json!({"text": "ctrl+End"})),
        press("toolu_4", "type", json!({"text": "by keys: 漢"})),
        press("toolu_5", "key", json!({"text": "ctrl+s"})),
        act("toolu_6", json!({"action": "list_windows"})),
    ];
    let ran = desktop
        .exec(&telechir, &calls)
        .output()
        .expect("the program runs");
    assert!(ran.status.success(), "{ran:?}");
    let answers = String::from_utf8_lossy(&ran.stdout);
    assert_eventually_blocking!(
        fs::read_to_string(&file).unwrap_or_default(),
        |text| text.starts_with("by name, by keys: 漢"),
        "the text is saved: {answers}"
    );
    assert_eq!(
        keyboard(&desktop.environment),
        keys,
        "a borrowed key was not restored"
    );
    assert_eq!(pressed(&desktop.environment), (Vec::new(), 0));
    desktop.assert_unchanged();
}

#[test]
fn doctor_checks_an_existing_display() {
    let telechir = Telechir::new();
    let mut desktop = ExistingDesktop::start_session(&telechir);
    desktop.edit();
    desktop.wait_until_accessible(&telechir);
    let mut command = telechir.command(&["doctor", "--json"]);
    for name in ["DISPLAY", "XAUTHORITY"] {
        command.env(name, desktop.value(name));
    }
    let report = command.output().expect("the program runs").stdout;
    let report: Value = serde_json::from_slice(&report).expect("JSON");
    let checks = report["checks"].as_array().expect("checks");
    let found = checks.iter().find(|check| check["id"] == "display");
    let found = found.expect("the check");
    assert_eq!(found["state"], "works", "{found}");
    let seen = found["seen"].as_str().expect("a finding");
    assert!(seen.contains("1280x800"), "{seen}");
    assert!(seen.contains("accessible applications: 1"), "{seen}");
    desktop.assert_unchanged();
}
