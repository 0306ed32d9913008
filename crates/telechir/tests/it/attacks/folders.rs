//! What decides about a session is outside of what its model can write to.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use telechir_testkit::gate::{Privilege, lacks};

use crate::telechir::{Ran, Telechir};

struct Fixture {
    telechir: Telechir,
}

impl Fixture {
    fn new() -> Self {
        let telechir = Telechir::new();
        for name in ["work/sub", "other", "run"] {
            fs::create_dir_all(telechir.folder().join(name)).expect("folders");
        }
        Self { telechir }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.telechir.folder().join(name)
    }

    fn exec(&self, flags: &[(&str, &str)]) -> Ran {
        self.exec_in("", flags)
    }

    /// Runs `exec` with paths of the fixture's folder as values, in one of its folders.
    fn exec_in(&self, cwd: &str, flags: &[(&str, &str)]) -> Ran {
        let mut arguments = vec!["exec".to_owned(), "--dialect=anthropic-messages".to_owned()];
        arguments.push("--editor".to_owned());
        for (flag, value) in flags {
            let value = match value.strip_prefix('=') {
                Some(literal) => literal.to_owned(),
                None => self.at(value).to_string_lossy().into_owned(),
            };
            arguments.push(format!("{flag}={value}"));
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut command = self.telechir.command(&arguments);
        command.current_dir(self.at(cwd));
        let response = r#"{"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [], "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}"#;
        Ran::of(&mut command, response)
    }

    fn policy(&self, name: &str) {
        fs::write(self.at(name), "").expect("a policy");
    }
}

#[test]
fn a_policy_that_the_model_could_change_is_refused() {
    let fixture = Fixture::new();
    fixture.policy("work/sub/policy");
    fixture.policy("other/policy");
    symlink("../work/sub/policy", fixture.at("other/to-inside")).expect("a link");
    // The file is outside, but the model can replace the link.
    symlink("../other/policy", fixture.at("work/to-outside")).expect("a link");
    symlink("work", fixture.at("alias")).expect("a link");
    for policy in [
        "work/sub/policy",
        "other/to-inside",
        "work/to-outside",
        "alias/sub/policy",
        "other/../work/sub/policy",
    ] {
        let ran = fixture.exec(&[("--workspace", "work"), ("--policy", policy)]);
        ran.fails(
            1,
            &["the policy", "is inside the workspace", "move one of them"],
        );
    }
    let ran = fixture.exec(&[("--workspace", "alias"), ("--policy", "work/sub/policy")]);
    ran.fails(1, &["is inside the workspace"]);
}

#[test]
fn a_policy_with_another_name_in_the_workspace_is_refused() {
    let fixture = Fixture::new();
    fixture.policy("other/policy");
    fs::hard_link(fixture.at("other/policy"), fixture.at("work/sub/notes")).expect("a hard link");
    let ran = fixture.exec(&[("--workspace", "work"), ("--policy", "other/policy")]);
    ran.fails(
        1,
        &[
            "is a hard link to a file inside the workspace",
            "use a copy",
        ],
    );
}

/// A mount of a file or folder at another path, until it is dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn bind(of: &Path, at: PathBuf) -> Option<Self> {
        let mounted = Command::new("mount").arg("--bind").args([of, &at]).status();
        mounted
            .is_ok_and(|status| status.success())
            .then_some(Self(at))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _fails_the_next_mount = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn what_is_mounted_in_the_workspace_is_in_it() {
    if lacks(Privilege::Root, telechir_process::is_root()) {
        return;
    }
    let fixture = Fixture::new();
    fixture.policy("other/policy");
    for name in ["recording/blobs", "memory", "work/sub/mounted"] {
        fs::create_dir_all(fixture.at(name)).expect("folders");
    }
    fs::write(fixture.at("work/notes"), "").expect("a file");
    for (of, at, flags, fragments) in [
        (
            "recording",
            "work/sub/mounted",
            ("--record", "recording"),
            ["the recording", "is inside the workspace"],
        ),
        (
            "recording/blobs",
            "work/sub/mounted",
            ("--record", "recording"),
            ["the workspace", "is inside the recording"],
        ),
        (
            "other",
            "work/sub/mounted",
            ("--policy", "other/policy"),
            ["the policy", "is inside the workspace"],
        ),
        (
            "other/policy",
            "work/notes",
            ("--policy", "other/policy"),
            ["the policy", "is inside the workspace"],
        ),
        (
            "memory",
            "work/sub/mounted",
            ("--memory-dir", "memory"),
            ["the memory folder", "is inside the workspace"],
        ),
    ] {
        let Some(_mounted) = Mounted::bind(&fixture.at(of), fixture.at(at)) else {
            return;
        };
        let ran = fixture.exec(&[("--workspace", "work"), flags]);
        ran.fails(1, &fragments);
    }
}

#[test]
fn a_policy_beside_the_workspace_is_accepted() {
    let fixture = Fixture::new();
    fixture.policy("other/policy");
    let flags = [("--workspace", "=."), ("--policy", "=../other/policy")];
    let ran = fixture.exec_in("work", &flags);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ran = fixture.exec_in(
        "work/sub",
        &[("--workspace", "=."), ("--policy", "=../../other/policy")],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn a_recording_a_memory_and_profiles_inside_the_workspace_are_refused_and_the_other_way_round() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.at("recording/work")).expect("folders");
    for (flags, fragments) in [
        (
            [("--workspace", "work"), ("--record", "work/new/recording")],
            ["the recording", "is inside the workspace"],
        ),
        (
            [("--workspace", "work"), ("--record", "work")],
            ["the recording", "is inside the workspace"],
        ),
        (
            [("--workspace", "recording/work"), ("--record", "recording")],
            ["the workspace", "is inside the recording"],
        ),
        (
            [("--workspace", "work"), ("--memory-dir", "work/sub")],
            ["the memory folder", "is inside the workspace"],
        ),
        (
            [("--workspace", "work/sub"), ("--memory-dir", "work")],
            ["the workspace", "is inside the memory folder"],
        ),
        (
            [("--memory-dir", "other"), ("--record", "other/recording")],
            ["the recording", "is inside the memory folder"],
        ),
    ] {
        fixture.exec(&flags).fails(1, &fragments);
    }
    assert!(!fixture.at("work/new").exists(), "nothing is made");
    let home = Telechir::new();
    fs::create_dir_all(home.folder().join("work/.local/share/telechir/profiles")).expect("folders");
    let work = home.folder().join("work").to_string_lossy().into_owned();
    let mut command = home.command(&[
        "exec",
        "--dialect=anthropic-messages",
        "--editor",
        "--workspace",
        &work,
    ]);
    command.env("XDG_DATA_HOME", home.folder().join("work/.local/share"));
    Ran::of(&mut command, "{\"content\": []}").fails(
        1,
        &["the folder of browser profiles", "is inside the workspace"],
    );
}

#[test]
fn a_folder_that_holds_more_than_one_piece_of_work_needs_a_confirmation() {
    let fixture = Fixture::new();
    for folder in [".config/autostart", ".local/share/x", ".local/state/x"] {
        fs::create_dir_all(fixture.at(folder)).expect("a folder");
    }
    symlink(fixture.telechir.folder(), fixture.at("other/home")).expect("a link");
    for (path, reason) in [
        ("", "is a home folder"),
        ("other/home", "is a home folder"),
        (".config", "holds the settings of programs"),
        (".config/autostart", "holds the settings of programs"),
        (".local/share/x", "holds the settings of programs"),
        (".local/state", "holds the settings of programs"),
        ("=/var/tmp", "is shared by all users"),
    ] {
        let ran = fixture.exec(&[("--workspace", path)]);
        ran.fails(1, &[reason, "--yes-this-folder"]);
        let ran = fixture.exec(&[("--memory-dir", path)]);
        ran.fails(1, &[reason, "--yes-this-folder"]);
    }
    let ran = fixture.exec(&[("--memory-dir", ".local/state/x")]);
    assert!(!ran.stderr.contains("--yes-this-folder"), "{}", ran.stderr);
    let mut flags = vec![("--workspace", ".config")];
    flags.push(("--policy", "other/policy"));
    fixture.policy("other/policy");
    let arguments = [
        "exec",
        "--dialect=anthropic-messages",
        "--editor",
        "--yes-this-folder",
        "--workspace",
    ];
    let config = fixture.at(".config");
    let mut arguments = arguments.to_vec();
    let config = config.to_string_lossy();
    arguments.push(&config);
    let ran = Ran::of(
        &mut fixture.telechir.command(&arguments),
        "{\"content\": []}",
    );
    assert!(!ran.stderr.contains("--yes-this-folder"), "{}", ran.stderr);
}

#[test]
fn system_folders_are_refused_with_a_confirmation_too() {
    let fixture = Fixture::new();
    for path in [
        "/",
        "/etc",
        "/usr/share",
        "/home",
        "/var/lib",
        "/dev/shm",
        "/tmp",
    ] {
        let mut command = fixture.telechir.command(&[
            "exec",
            "--dialect=anthropic-messages",
            "--editor",
            "--yes-this-folder",
            "--workspace",
            path,
        ]);
        let ran = Ran::of(&mut command, "{\"content\": []}");
        assert_eq!(ran.code, Some(1), "{path}: {}", ran.stderr);
        assert!(ran.stderr.contains(path), "{path}: {}", ran.stderr);
    }
}
