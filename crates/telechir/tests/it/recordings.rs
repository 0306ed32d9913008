//! `recordings`: what is listed, what is removed, and what never is.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use telechir_testkit::assert_eventually_blocking;

use crate::sessions::SessionFixture;
use crate::telechir::Ran;

struct Recordings {
    sessions: SessionFixture,
}

impl Recordings {
    /// Recordings with these names, oldest first: days apart, the last one of today.
    fn new(names: &[&str]) -> Self {
        let sessions = SessionFixture::new();
        for name in names {
            let flag = format!("--record={}", sessions.file("all").join(name).display());
            sessions.start_shell("a", &[&flag]);
            sessions.assert_closes("a");
        }
        let recordings = Self { sessions };
        for (days, name) in (0..).zip(names.iter().rev()) {
            recordings.set_age(name, days);
        }
        recordings
    }

    fn path(&self, name: &str) -> PathBuf {
        self.sessions.file("all").join(name)
    }

    fn set_age(&self, name: &str, days: u64) {
        let day = Duration::from_secs(24 * 60 * 60 + 60);
        let then = SystemTime::now() - day * u32::try_from(days).expect("few");
        for entry in fs::read_dir(self.path(name))
            .expect("a recording")
            .flatten()
        {
            if entry
                .file_name()
                .to_string_lossy()
                .starts_with("journal.sqlite")
            {
                let file = File::options().write(true).open(entry.path());
                file.and_then(|file| file.set_modified(then))
                    .expect("a time");
            }
        }
    }

    fn run(&self, arguments: &[&str]) -> Value {
        let folder = self.sessions.file("all");
        let folder = folder.to_str().expect("a path");
        let arguments = [
            &["recordings"],
            &arguments[..1],
            &[folder, "--json"],
            &arguments[1..],
        ];
        let ran = Ran::of(&mut self.sessions.command(&arguments.concat()), "");
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.json()
    }

    fn names(rows: &Value) -> Vec<String> {
        let rows = rows.as_array().into_iter().flatten();
        let name = |row: &Value| {
            let path = PathBuf::from(row["path"].as_str().expect("a path"));
            path.file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        };
        rows.map(name).collect()
    }
}

#[test]
fn recordings_are_listed_oldest_first_and_nothing_else_is() {
    let recordings = Recordings::new(&["b", "a"]);
    let elsewhere = recordings.sessions.file("elsewhere");
    fs::rename(recordings.path("b"), &elsewhere).expect("moved");
    symlink(&elsewhere, recordings.path("link")).expect("a link");
    fs::create_dir(recordings.path("folder")).expect("a folder");
    fs::write(recordings.path("file"), "").expect("a file");
    fs::create_dir(recordings.path("other")).expect("a folder");
    for name in ["journal.sqlite", "lock"] {
        fs::write(recordings.path("other").join(name), "somebody's text").expect("a file");
    }
    let rows = recordings.run(&["list"]);
    assert_eq!(Recordings::names(&rows), ["a"]);
    assert_eq!(rows[0]["in_use"], false);
    assert!(
        rows[0]["bytes"].as_u64().is_some_and(|bytes| bytes > 1000),
        "{rows}"
    );
    // Nothing of all this is removed, whatever the bounds.
    let removed = recordings.run(&["prune", "--older-than", "0", "--max-size", "0"]);
    assert_eq!(Recordings::names(&removed), ["a"]);
    for name in ["link", "folder", "file", "other/lock"] {
        assert!(recordings.path(name).exists(), "{name}");
    }
    assert!(elsewhere.join("journal.sqlite").exists());
}

#[test]
fn a_recording_itself_is_listed_and_never_pruned() {
    let recordings = Recordings::new(&["a"]);
    let path = recordings.path("a");
    let itself = path.to_str().expect("a path");
    let run = |verb: &str, flag: &str| {
        let arguments = ["recordings", verb, itself, flag];
        Ran::of(&mut recordings.sessions.command(&arguments), "")
    };
    let rows = run("list", "--json").json();
    assert_eq!(Recordings::names(&rows), ["a"]);
    assert_eq!(rows.as_array().map(Vec::len), Some(1), "{rows}");
    run("prune", "--older-than=0").fails(2, &["is a recording", "the folder that it is in"]);
    assert!(path.join("journal.sqlite").exists());
}

#[test]
fn old_recordings_are_removed_and_then_the_oldest() {
    let recordings = Recordings::new(&["d", "c", "b", "a"]);
    assert_eq!(
        Recordings::names(&recordings.run(&["list"])),
        ["d", "c", "b", "a"]
    );
    let dry = recordings.run(&["prune", "--older-than", "2", "--dry-run"]);
    assert_eq!(Recordings::names(&dry), ["d", "c"]);
    assert!(recordings.path("d").exists());
    let removed = recordings.run(&["prune", "--older-than", "2"]);
    assert_eq!(Recordings::names(&removed), ["d", "c"]);
    assert_eq!(Recordings::names(&recordings.run(&["list"])), ["b", "a"]);
    // A file that makes both together larger than the bound.
    fs::write(recordings.path("a").join("blobs/large"), vec![7; 3 << 20]).expect("a file");
    let removed = recordings.run(&["prune", "--max-size", "3"]);
    assert_eq!(Recordings::names(&removed), ["b", "a"]);
    assert_eq!(recordings.run(&["list"]), Value::Array(Vec::new()));
}

#[test]
fn a_recording_in_use_is_never_removed() {
    let recordings = Recordings::new(&["old"]);
    let live = format!("--record={}", recordings.path("live").display());
    recordings.sessions.start_shell("a", &[&live]);
    // What the session records after its answer makes the recording younger again.
    let rows = assert_eventually_blocking!(
        {
            recordings.set_age("live", 400);
            recordings.run(&["list"])
        },
        |rows| Recordings::names(rows) == ["live", "old"]
    );
    assert_eq!(rows[0]["in_use"], true);
    let removed = recordings.run(&["prune", "--older-than", "0", "--max-size", "0"]);
    assert_eq!(Recordings::names(&removed), ["old"]);
    assert!(recordings.sessions.shell("a", "echo on").contains("on"));
    recordings.sessions.assert_closes("a");
    let live = recordings.path("live");
    let verified = Ran::of(
        &mut recordings
            .sessions
            .command(&["audit", "verify", live.to_str().expect("a path")]),
        "",
    );
    assert_eq!(verified.code, Some(0), "{verified:?}");
}
