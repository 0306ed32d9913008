//! Other users of the machine read nothing of a session, whatever the umask of its user is.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::json;
use telechir_process::{Identity, is_root};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, Privilege, lacks, require};

use crate::telechir::Telechir;

/// An ordinary user of the machine.
const PERSON: u32 = 1_235;

/// A session with every device, in the middle of a command, started with an open umask.
fn start(telechir: &Telechir, user: Option<u32>) -> Child {
    let policy = telechir.permissive_policy();
    let work = telechir.folder().join("work");
    fs::create_dir(&work).expect("a folder");
    if let Some(user) = user {
        for path in [telechir.folder(), &work] {
            chown(path, Some(user), Some(user)).expect("an owner");
        }
    }
    let recording = telechir.folder().join("recording");
    let arguments = [
        "exec",
        "--dialect=anthropic-messages",
        "--desktop",
        "--start-app=xterm",
        "--browser",
        "--downloads",
        "--shell",
        "--editor",
        "--policy",
        &policy,
        "--workspace",
        &work.to_string_lossy(),
        "--record",
        &recording.to_string_lossy(),
    ];
    let mut command = Command::new("/bin/sh");
    command
        .args([
            "-c",
            "umask 000; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_telechir"),
        ])
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", telechir.folder())
        .env("TMPDIR", telechir.folder())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(fs::File::create(telechir.folder().join("log")).expect("a log"));
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    let mut child = command.spawn().expect("the binary starts");
    let bash = |id: &str, input: serde_json::Value| json!({"type": "tool_use", "id": id, "name": "bash", "input": input});
    let calls = [
        bash(
            "toolu_1",
            json!({"command": "sleep 0.1; seq 100000; echo \"secret\" &"}),
        ),
        bash("toolu_2", json!({"command": "touch started; sleep 60"})),
    ];
    let response = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
        "content": calls, "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    });
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin
        .write_all(response.to_string().as_bytes())
        .expect("the response is written");
    drop(stdin);
    let mut has_started = || {
        let log = || fs::read_to_string(telechir.folder().join("log"));
        assert_eq!(child.try_wait().expect("a child"), None, "{:?}", log());
        work.join("started").exists()
    };
    assert_eventually_blocking!(has_started());
    child
}

/// Everything that the session made, where it may make something.
fn made(telechir: &Telechir, user: u32) -> Vec<PathBuf> {
    let mut made = Vec::new();
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let token = entries(telechir.folder())
        .find_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some(name.strip_prefix("telechir-")?.get(..8)?.to_owned())
        })
        .expect("a session folder");
    for root in ["/tmp", "/dev/shm"] {
        for entry in entries(Path::new(root)) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_ours = entry.metadata().is_ok_and(|found| found.uid() == user);
            if name.contains(&token) || (name == format!("telechir-{user}") && is_ours) {
                walk(&entry.path(), &mut made);
            }
        }
    }
    assert!(
        made.len() > 10,
        "the shell's folders are in memory: {made:?}"
    );
    for entry in entries(telechir.folder()) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("telechir-") || name == "recording" {
            walk(&entry.path(), &mut made);
        }
    }
    if is_root() && user == 0 {
        made.push("/run/telechir".into());
    }
    made
}

fn walk(path: &Path, made: &mut Vec<PathBuf>) {
    let Ok(found) = fs::symlink_metadata(path) else {
        return;
    };
    made.push(path.to_owned());
    if found.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            walk(&entry.path(), made);
        }
    }
}

/// What other users could read, enter or write, but for what they cannot reach.
fn open_to_others(made: &[PathBuf]) -> Vec<String> {
    let is_open = |path: &&PathBuf| {
        let Ok(found) = fs::symlink_metadata(path) else {
            return false;
        };
        let of_session = Identity::unprivileged_with(found.gid()).is_some();
        let others = if of_session { 0o007 } else { 0o077 };
        !found.is_symlink() && found.mode() & others != 0
    };
    // Programs of the desktop and Chromium make their own files in their own folders.
    let by_programs = ["/home/", "/run/", "/chromium-"];
    let by_us = |path: &&PathBuf| {
        let text = path.to_string_lossy();
        let inside = text
            .split_once("/telechir-")
            .map_or("", |(_, inside)| inside);
        !by_programs.iter().any(|part| inside.contains(part))
    };
    let mode = |path: &PathBuf| fs::symlink_metadata(path).map_or(0, |found| found.mode());
    made.iter()
        .filter(by_us)
        .filter(is_open)
        .map(|path| format!("{:o} {}", mode(path), path.display()))
        .collect()
}

fn check(user: Option<u32>) {
    require(Component::XServer);
    require(Component::Chromium);
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let mut session = start(&telechir, user);
    let user = user.unwrap_or_else(|| Identity::current().uid);
    let open = open_to_others(&made(&telechir, user));
    let mode = fs::metadata(telechir.folder()).map_or(0, |found| found.permissions().mode());
    session.kill().expect("a running child");
    session.wait().expect("an exit status");
    assert_eq!(open, Vec::<String>::new());
    assert_eq!(
        mode & 0o777,
        0o755,
        "the test's own folder is open to others"
    );
    super::workspace::wait_for_removal(&telechir);
}

#[test]
fn other_users_read_nothing_that_a_session_makes() {
    check(None);
}

#[test]
fn other_users_read_nothing_that_a_session_of_an_ordinary_user_makes() {
    if lacks(Privilege::Root, is_root()) {
        return;
    }
    check(Some(PERSON));
}
