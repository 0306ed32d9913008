//! However the owner of a session ends, nothing of it is left.

use std::fs;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use telechir_process::confinement::Limits;
use telechir_process::guardian::{
    CleanupScope, Guard, GuardError, folder_prefix, note, owns_file, stand_watch,
};
use telechir_process::{Cgroup, Child, Identity, Pid, Signal, Spawn, Stdio, is_root};
use tempfile::TempDir;

use crate::{CEILING, lifeline, output, read_all, reopen, sh};

/// What the guardian promises, from the owner's end to the end of everything.
const PROMISE: Duration = Duration::from_secs(2);
/// Leaves its parent, its session, and (the second) its environment; holds the lifeline.
const FAMILY: &str = "setsid sh -c 'sleep 1000 & exec sleep 1001' & \
                      env -i sleep 1002 & (setsid sleep 1003 &) & sleep 1004";
/// Also without anything that could be known but its user.
const NAMELESS: &str = "env -i setsid sleep 1005 & sleep 1006";

fn this_binary(helper: &str) -> Spawn {
    Spawn::new("/proc/self/exe").args(["--exact", helper, "--nocapture"])
}

/// A folder for the owner, as whom it runs, and what it printed.
struct Scene {
    folder: TempDir,
    owner: Option<Child>,
    reader: std::os::fd::OwnedFd,
    identity: Option<Identity>,
}

impl Scene {
    /// Starts an owner that does what `role` says, and waits until it has.
    async fn of(role: &str, identity: Option<Identity>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(
            folder.path(),
            std::os::unix::fs::PermissionsExt::from_mode(0o777),
        )
        .unwrap();
        let (reader, writer) = lifeline();
        // The owner opens it anew for its children.
        rustix::fs::fchmod(&writer, rustix::fs::Mode::from_raw_mode(0o666)).unwrap();
        let owner = this_binary("guardian::helper_that_owns")
            .env("ROLE", role)
            .env("FOLDER", folder.path())
            .identity(identity)
            .stderr(Stdio::Fd(
                rustix::stdio::stderr().try_clone_to_owned().unwrap(),
            ))
            .fd(3, writer);
        let owner = owner.spawn().await.unwrap();
        let scene = Self {
            folder,
            owner: Some(owner),
            reader,
            identity,
        };
        scene.until("ready").await;
        scene
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    async fn until(&self, name: &str) {
        until(name, || self.at(name).exists()).await;
    }

    fn signal(&self, signal: Signal) {
        self.owner.as_ref().unwrap().signal(signal).unwrap();
    }

    /// Sees that within the promised time no process holds the lifeline and no file is left.
    async fn ends_since(self, start: Instant) {
        assert_eq!(read_all(self.reader).await, "");
        assert!(start.elapsed() < PROMISE, "{:?}", start.elapsed());
        let left = || -> Vec<String> {
            let entries = fs::read_dir(self.folder.path()).unwrap().flatten();
            let names = entries.map(|entry| entry.file_name().into_string().unwrap());
            names.filter(|name| name != "ready").collect()
        };
        while left() != ["released"] && start.elapsed() < PROMISE {
            tokio::task::yield_now().await;
        }
        assert_eq!(left(), ["released"], "as {:?}", self.identity);
        assert_eq!(
            fs::read_to_string(self.folder.path().join("released")).unwrap(),
            ":0"
        );
    }
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < CEILING, "{what}");
        tokio::task::yield_now().await;
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.into_string().unwrap())
}

/// Not a test of its own: the guardian of [`helper_that_owns`].
#[test]
fn helper_that_guards() {
    let Some(folder) = variable("GUARDED") else {
        return;
    };
    let cleaned = stand_watch(|notes| {
        let display = notes.get("display").map(String::as_str).unwrap_or_default();
        fs::write(Path::new(&folder).join("released"), display).unwrap();
    });
    assert_eq!(cleaned, Ok(true));
}

/// Not a test of its own: a process with a session, which ends as its role says.
#[tokio::test]
async fn helper_that_owns() {
    let (Some(role), Some(folder)) = (variable("ROLE"), variable("FOLDER")) else {
        return;
    };
    let root = PathBuf::from(folder);
    let identity = match role.as_str() {
        "user of its own" => Identity::unprivileged(3_820),
        "user of two containers" => Identity::unprivileged(3_822),
        _ => None,
    };
    let charge = CleanupScope {
        identity,
        held: Vec::new(),
        roots: vec![root.clone()],
    };
    let guardian = || this_binary("guardian::helper_that_guards");
    let (program, renewed) = (root.clone(), root.join("renewed"));
    let guard = Guard::start(
        move || guardian().env("GUARDED", &program),
        charge,
        move |outcome| {
            outcome.unwrap();
            fs::write(&renewed, "").unwrap();
        },
    );
    let guard = guard.await.unwrap();
    let second = Guard::start(guardian, CleanupScope::default(), |_| ()).await;
    assert!(matches!(second, Err(GuardError::Second)));
    let session = root.join(format!("{}session", folder_prefix()));
    fs::create_dir_all(session.join("deep/er")).unwrap();
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o555);
    fs::set_permissions(session.join("deep"), closed).unwrap();
    let made = root.join(format!("{}lock", folder_prefix()));
    fs::write(&made, "").unwrap();
    owns_file(&root.join("lock"), &made, &root.join("socket")).unwrap();
    fs::hard_link(&made, root.join("lock")).unwrap();
    fs::write(root.join("socket"), "").unwrap();
    note("display", ":0");
    let is_named = identity.is_none() && role != "group";
    let script = if is_named { FAMILY } else { NAMELESS };
    let group = Cgroup::new(&Limits::default());
    let family = sh(script)
        .cgroup(&group)
        .env("PATH", "/usr/bin:/bin")
        .identity(identity)
        .new_session()
        .fd(3, reopen(3));
    let _family = family.spawn().await.unwrap();
    let children = script.matches("sleep").count();
    until("the family", || holders() > children).await;
    let _gentle = match role.as_str() {
        "gentle" => Some(gentle(&root).spawn().await.unwrap()),
        _ => None,
    };
    // Whole when it is there: the test reads it.
    fs::write(root.join("written"), folder_prefix()).unwrap();
    fs::rename(root.join("written"), root.join("ready")).unwrap();
    match role.as_str() {
        "ends" => assert!(guard.end()),
        "panics" => panic!("as it should"),
        _ => pending().await,
    }
}

/// Ends by itself with its owner, takes its time, and says when it is done.
fn gentle(root: &Path) -> Spawn {
    let said = root.join("said").display().to_string();
    sh(&format!("cat; sleep 0.4; echo whole >{said}"))
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::Piped)
        .graceful()
}

/// How many processes hold our lifeline, ourselves included.
fn holders() -> usize {
    let target = fs::read_link("/proc/self/fd/3").unwrap();
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter(|entry| fs::read_link(entry.path().join("fd/3")).is_ok_and(|it| it == target))
        .count()
}

/// The guardian of `owner`.
fn guardian_of(owner: Pid) -> Option<Pid> {
    let children = format!("/proc/{0}/task/{0}/children", owner.as_raw_nonzero());
    let all = fs::read_dir(format!("/proc/{}/task", owner.as_raw_nonzero())).ok()?;
    let children: Vec<String> = all
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
        .chain(fs::read_to_string(children))
        .collect();
    let pids = children
        .iter()
        .flat_map(|line| line.split_ascii_whitespace());
    let is_guardian = |pid: &&str| {
        fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|variables| variables.starts_with(b"GUARDED="))
    };
    let pid = pids.into_iter().find(is_guardian)?;
    Pid::from_raw(pid.parse().ok()?)
}

/// As an ordinary user, when we are not one ourselves.
fn ordinary() -> Option<Identity> {
    is_root().then(|| Identity::unprivileged(3_810)).flatten()
}

#[tokio::test]
async fn nothing_is_left_after_kill_9() {
    let scene = Scene::of("waits", ordinary()).await;
    let start = Instant::now();
    scene.signal(Signal::KILL);
    scene.ends_since(start).await;
}

#[tokio::test]
async fn what_ends_gently_has_time_for_it_after_kill_9() {
    let scene = Scene::of("gentle", ordinary()).await;
    scene.signal(Signal::KILL);
    scene.until("released").await;
    assert_eq!(fs::read_to_string(scene.at("said")).unwrap(), "whole\n");
    assert_eq!(read_all(scene.reader).await, "");
}

#[tokio::test]
async fn nothing_is_left_after_a_panic() {
    let scene = Scene::of("panics", ordinary()).await;
    scene.ends_since(Instant::now()).await;
}

#[tokio::test]
async fn nothing_is_left_after_an_orderly_end() {
    let scene = Scene::of("ends", ordinary()).await;
    scene.ends_since(Instant::now()).await;
}

#[tokio::test]
async fn of_a_user_of_its_own_even_the_nameless_end() {
    if !is_root() {
        return;
    }
    let scene = Scene::of("user of its own", None).await;
    let stranger = sh("exec sleep 1000").identity(Identity::unprivileged(3_821));
    let stranger = stranger.spawn().await.unwrap();
    let start = Instant::now();
    scene.signal(Signal::KILL);
    scene.ends_since(start).await;
    assert_eq!(stranger.try_wait().unwrap(), None, "others are left alone");
}

#[tokio::test]
async fn of_a_group_even_the_nameless_end_and_it_is_removed() {
    if !Cgroup::new(&Limits::default()).bounds().hold() {
        return;
    }
    let scene = Scene::of("group", None).await;
    let prefix = fs::read_to_string(scene.at("ready")).unwrap();
    let groups = || {
        let script = format!("find /sys/fs/cgroup -type d -name '{prefix}*'");
        output(sh(&script).env("PATH", "/usr/bin:/bin"))
    };
    assert_ne!(groups().await.0, "");
    let start = Instant::now();
    scene.signal(Signal::KILL);
    scene.ends_since(start).await;
    while !groups().await.0.is_empty() {
        assert!(start.elapsed() < PROMISE, "the group is still there");
    }
}

#[tokio::test]
async fn what_another_container_runs_under_the_same_user_is_left_alone() {
    if !is_root() {
        return;
    }
    let uid = Identity::unprivileged(3_822).unwrap().uid;
    let sleep = format!("setpriv --reuid={uid} --regid={uid} --clear-groups sleep 1008");
    let container = Spawn::new("unshare")
        .args(["--pid", "--fork", "--kill-child", "sh", "-c"])
        .arg(format!("{sleep}; true"))
        .env("PATH", "/usr/bin:/bin");
    let container = container.spawn().await.unwrap();
    let sleeps = || {
        let lines = fs::read_dir("/proc").unwrap().flatten();
        let mut lines = lines.map(|entry| fs::read(entry.path().join("cmdline")));
        lines.any(|line| line.is_ok_and(|line| line == b"sleep\x001008\0"))
    };
    until("the other container's process", sleeps).await;
    let scene = Scene::of("user of two containers", None).await;
    let start = Instant::now();
    scene.signal(Signal::KILL);
    scene.ends_since(start).await;
    assert!(sleeps(), "it goes on");
    assert_eq!(
        container.try_wait().unwrap(),
        None,
        "and so does its container"
    );
}

#[tokio::test]
async fn a_guardian_that_was_killed_is_replaced_by_one_that_knows_as_much() {
    let scene = Scene::of("waits", ordinary()).await;
    let owner = scene.owner.as_ref().unwrap().pid();
    let guardian = guardian_of(owner).unwrap();
    rustix::process::kill_process(guardian, Signal::KILL).unwrap();
    scene.until("renewed").await;
    fs::remove_file(scene.at("renewed")).unwrap();
    let another = guardian_of(owner).unwrap();
    assert_ne!(another, guardian);
    // What a terminal sends to its session passes it by.
    assert_eq!(rustix::process::getsid(Some(another)).unwrap(), another);
    let start = Instant::now();
    scene.signal(Signal::KILL);
    scene.ends_since(start).await;
}
