//! A workspace belongs to one live session, and to its owner afterwards.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use telechir_process::is_root;
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, Privilege, lacks, require};

use crate::telechir::{Ran, Telechir};

/// A user of the machine, in no range of sessions.
const PERSON: u32 = 1_234;

fn response(command: &str) -> String {
    let call =
        json!({"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": command}});
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
        "content": [call], "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    })
    .to_string()
}

fn arguments<'a>(policy: &'a str, workspace: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec![
        "exec",
        "--dialect",
        "anthropic-messages",
        "--shell",
        "--editor",
    ];
    arguments.extend(["--workspace", workspace, "--policy", policy]);
    arguments.extend(more);
    arguments
}

/// A folder for a workspace, as text.
fn workspace(telechir: &Telechir, name: &str) -> String {
    let folder = telechir.folder().join(name);
    fs::create_dir_all(&folder).expect("a folder");
    folder.to_str().expect("a path").to_owned()
}

/// Runs a command in a session and returns the result's text.
fn run(telechir: &Telechir, arguments: &[&str], command: &str) -> Value {
    let ran = Ran::of(&mut telechir.command(arguments), &response(command));
    ran.json()[0]["content"].clone()
}

/// A session that runs a command until it is killed; returns once the command runs.
fn start(telechir: &Telechir, arguments: &[&str], workspace: &str) -> Child {
    use std::io::Write as _;
    let mut child = telechir
        .command(arguments)
        .stdout(Stdio::null())
        .stderr(fs::File::create(telechir.folder().join("log")).expect("a log"))
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let response = response("mkdir -p made/below; touch made/below/file started; sleep 60");
    stdin
        .write_all(response.as_bytes())
        .expect("the response is written");
    drop(stdin);
    let mut has_started = || {
        let log = || fs::read_to_string(telechir.folder().join("log"));
        assert_eq!(child.try_wait().expect("a child"), None, "{:?}", log());
        Path::new(workspace).join("started").exists()
    };
    assert_eventually_blocking!(has_started());
    child
}

/// The guardian of a session.
fn guardian_of(session: &Child) -> rustix::process::Pid {
    let tasks = fs::read_dir(format!("/proc/{}/task", session.id())).expect("a process");
    let children = tasks.flatten().flat_map(|task| {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        children
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    let is_guardian = |pid: &String| {
        fs::read_to_string(format!("/proc/{pid}/comm"))
            .is_ok_and(|name| name.trim() == "telechir-guard")
    };
    let pid = children.into_iter().find(is_guardian).expect("a guardian");
    let pid = pid.parse().ok().and_then(rustix::process::Pid::from_raw);
    pid.expect("a pid")
}

/// Waits until the guardian of a killed session has removed its folder.
pub(super) fn wait_for_removal(telechir: &Telechir) {
    let left = || {
        let entries = fs::read_dir(telechir.folder()).expect("a folder").flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("telechir-")).count()
    };
    assert_eventually_blocking!(left(), |left| *left == 0);
    telechir.assert_nothing_left();
}

fn owner(path: &Path) -> (u32, u32) {
    let found = fs::symlink_metadata(path).expect("a file");
    (found.uid(), found.gid())
}

#[test]
fn a_second_session_in_a_workspace_is_refused_with_the_name_of_the_first() {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let policy = telechir.permissive_policy();
    let work = workspace(&telechir, "work");
    let below = workspace(&telechir, "work/below");
    let link = telechir.folder().join("link");
    std::os::unix::fs::symlink(&work, &link).expect("a link");
    let mut first = start(&telechir, &arguments(&policy, &work, &[]), &work);
    let before = owner(Path::new(&work));
    // The folder itself, by another name, and folders inside of it.
    for path in [work.as_str(), link.to_str().expect("a path"), &below] {
        let refused = Ran::of(
            &mut telechir.command(&arguments(&policy, path, &[])),
            &response("true"),
        );
        let process = format!("process {}", first.id());
        refused.fails(1, &["is in use by", &process, "--share-workspace"]);
    }
    assert_eq!(
        owner(Path::new(&work)),
        before,
        "the first session keeps it"
    );
    let shared = run(
        &telechir,
        &arguments(&policy, &work, &["--share-workspace"]),
        "cat started && echo shared",
    );
    assert!(shared.to_string().contains("shared"), "{shared}");
    assert_eq!(
        owner(Path::new(&work)),
        before,
        "the first session keeps it"
    );
    first.kill().expect("a running child");
    first.wait().expect("an exit status");
    let text = run(&telechir, &arguments(&policy, &work, &[]), "echo free");
    assert!(text.to_string().contains("free"), "{text}");
    wait_for_removal(&telechir);
}

#[test]
fn a_folder_above_a_workspace_in_use_is_refused() {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let policy = telechir.permissive_policy();
    let above = workspace(&telechir, "work");
    let work = workspace(&telechir, "work/below");
    let mut first = start(&telechir, &arguments(&policy, &work, &[]), &work);
    let refused = Ran::of(
        &mut telechir.command(&arguments(&policy, &above, &[])),
        &response("true"),
    );
    refused.fails(1, &["is in use by", "whose workspace is", "work/below"]);
    first.kill().expect("a running child");
    first.wait().expect("an exit status");
    wait_for_removal(&telechir);
}

#[test]
fn a_workspace_belongs_to_its_owner_after_a_session_and_after_a_kill() {
    require(Component::Sandbox);
    if lacks(Privilege::Root, is_root()) {
        return;
    }
    let telechir = Telechir::new();
    let policy = telechir.permissive_policy();
    let work = workspace(&telechir, "work");
    let at = |name: &str| Path::new(&work).join(name);
    fs::create_dir(at("sub")).expect("a folder");
    for name in ["sub/person", "sub/root"] {
        fs::write(at(name), "text\n").expect("a file");
    }
    for name in ["", "sub", "sub/person"] {
        chown(at(name), Some(PERSON), Some(PERSON)).expect("an owner");
    }
    let returned = || {
        let all = ["", "sub", "sub/person", "made", "made/below/file"];
        let person = |name: &&str| owner(&at(name)) == (PERSON, PERSON);
        all.iter().all(person) && owner(&at("sub/root")) == (0, 0)
    };
    let command = "echo more >> sub/person; mkdir -p made/below; touch made/below/file; \
                   ln made/below/file made/second; chmod 700 made";
    run(&telechir, &arguments(&policy, &work, &[]), command);
    assert!(returned(), "after the end");
    assert_eq!(owner(&at("made/second")), (PERSON, PERSON));
    assert_eq!(
        fs::read_to_string(at("sub/person")).expect("a file"),
        "text\nmore\n"
    );
    let mut session = start(&telechir, &arguments(&policy, &work, &[]), &work);
    assert_ne!(owner(&at("")).0, PERSON, "it is the session's");
    session.kill().expect("a running child");
    session.wait().expect("an exit status");
    assert_eventually_blocking!(returned(), "after kill -9");
    wait_for_removal(&telechir);
}

#[test]
fn a_workspace_goes_back_to_its_owner_even_if_the_guardian_was_killed_too() {
    require(Component::Sandbox);
    if lacks(Privilege::Root, is_root()) {
        return;
    }
    let telechir = Telechir::new();
    let policy = telechir.permissive_policy();
    let work = workspace(&telechir, "work");
    chown(&work, Some(PERSON), Some(PERSON)).expect("an owner");
    let mut session = start(&telechir, &arguments(&policy, &work, &[]), &work);
    let guardian = guardian_of(&session);
    // Both at once: nobody starts another guardian.
    let session_pid = i32::try_from(session.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(session_pid.expect("a pid"), rustix::process::Signal::STOP)
        .expect("a running session");
    rustix::process::kill_process(guardian, rustix::process::Signal::KILL)
        .expect("a running guardian");
    session.kill().expect("a running child");
    session.wait().expect("an exit status");
    assert_ne!(owner(Path::new(&work)).0, PERSON, "nobody gave it back");
    run(&telechir, &arguments(&policy, &work, &[]), "touch again");
    for name in ["", "again", "made/below/file"] {
        assert_eq!(
            owner(&Path::new(&work).join(name)),
            (PERSON, PERSON),
            "{name}"
        );
    }
}

/// Runs a program after a script that mounts this path, in a mount namespace of its own.
fn with_mount(command: &Command, script: &str, path: &Path) -> Command {
    let mut wrapped = Command::new("unshare");
    wrapped
        .args(["--mount", "sh", "-c"])
        .arg(format!("{script} && exec \"$@\""))
        .arg(path)
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear();
    for (name, value) in command.get_envs() {
        wrapped.envs(value.map(|value| (name, value)));
    }
    wrapped.stdin(Stdio::piped());
    wrapped.stdout(Stdio::piped()).stderr(Stdio::piped());
    wrapped
}

#[test]
fn what_the_git_configuration_of_the_owner_names_cannot_be_changed_in_a_session_of_root() {
    if lacks(Privilege::Root, is_root()) {
        return;
    }
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let policy = telechir.permissive_policy();
    let (home, work) = (
        telechir.folder().join("person"),
        workspace(&telechir, "work"),
    );
    let own = |path: &Path| chown(path, Some(PERSON), Some(PERSON)).expect("root changes owners");
    let write = |path: &Path, text: &str| {
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
        own(path);
        own(path.parent().expect("a parent"));
    };
    write(
        &home.join(".gitconfig"),
        "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ~/more\n",
    );
    write(&home.join("more"), "[core]\n\tfsmonitor = ./watch\n");
    fs::set_permissions(&home, std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .expect("permissions");
    let files = ["tools/hooks/pre-commit", "watch", "free"];
    for name in files {
        write(&Path::new(&work).join(name), "own\n");
    }
    let accounts = telechir.folder().join("passwd");
    let person = format!(
        "root:x:0:0::/root:/bin/sh\nperson:x:{PERSON}:{PERSON}::{}:/bin/sh\n",
        home.display()
    );
    fs::write(&accounts, person).expect("a file");
    let arguments = arguments(&policy, &work, &[]);
    let other_accounts = "mount --bind \"$0\" /etc/passwd";
    let mut command = with_mount(&telechir.command(&arguments), other_accounts, &accounts);
    let attack = files.map(|name| format!("echo evil > {name}; mv -f free {name};"));
    let ran = Ran::of(
        &mut command,
        &response(&(attack.concat() + "echo evil > free")),
    );
    let read = |name: &str| fs::read_to_string(Path::new(&work).join(name)).expect("a file");
    assert_eq!(files.map(read), ["own\n", "own\n", "evil\n"], "{ran:?}");
    wait_for_removal(&telechir);
}

#[test]
fn what_the_git_configuration_of_the_caller_names_cannot_be_changed() {
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let policy = telechir.permissive_policy();
    let work = workspace(&telechir, "work");
    // No repository yet: these settings count in the one that somebody makes of the workspace.
    let settings = "[core]\n\thooksPath = tools/hooks\n";
    fs::write(telechir.folder().join(".gitconfig"), settings).expect("a file");
    let hooks = Path::new(&work).join("tools/hooks");
    fs::create_dir_all(&hooks).expect("a folder");
    let hook = hooks.join("pre-commit");
    fs::write(&hook, "own\n").expect("a file");
    let attack = "echo evil > tools/hooks/pre-commit; mv tools tools2; echo evil > free";
    let content = run(&telechir, &arguments(&policy, &work, &[]), attack);
    assert_eq!(
        fs::read_to_string(hook).expect("a file"),
        "own\n",
        "{content}"
    );
    let free = fs::read_to_string(Path::new(&work).join("free"));
    assert_eq!(free.expect("a file"), "evil\n", "{content}");
    wait_for_removal(&telechir);
}

#[test]
fn a_read_only_workspace_and_a_missing_memory_folder_are_named() {
    if lacks(Privilege::Root, is_root()) {
        return;
    }
    require(Component::Sandbox);
    let telechir = Telechir::new();
    let policy = telechir.permissive_policy();
    let work = workspace(&telechir, "work");
    let arguments = |more| arguments(&policy, &work, more);
    let script = "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\"";
    let mut command = with_mount(&telechir.command(&arguments(&[])), script, work.as_ref());
    let ran = Ran::of(&mut command, &response("true"));
    ran.fails(1, &["the workspace", &work, "is mounted read-only"]);
    let missing = telechir.folder().join("missing").display().to_string();
    let mut command = telechir.command(&arguments(&["--memory-dir", &missing]));
    let ran = Ran::of(&mut command, &response("true"));
    ran.fails(1, &["memory folder", &missing]);
    assert!(!ran.stderr.contains("as workspace"), "{}", ran.stderr);
    wait_for_removal(&telechir);
}
