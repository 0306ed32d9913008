//! Nothing of a session is left, no matter how its owner ends.

use std::fs;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::time::Duration;

use telechir_process::confinement::{MissingFiles, Protected, ResourceLimits};
use telechir_process::guardian::{
    CleanupScope, Guardian, GuardianError, folder_prefix, register_file, run_guardian, set_hint,
};
use telechir_process::{Cgroup, Child, Identity, Pid, Signal, Spawn, Stdio, is_root};
use telechir_testkit::assert_eventually;
use telechir_testkit::gate::{Privilege, lacks};
use tempfile::TempDir;
use tokio::time::timeout;

use crate::{lifeline, output, read_all, reopen, sh};

/// Processes that leave their parent, session and (the second) environment; all have the lifeline.
const PROCESS_TREE: &str = "setsid sh -c 'sleep 1000 & exec sleep 1001' & \
                      env -i sleep 1002 & (setsid sleep 1003 &) & sleep 1004";
/// Processes that only their user or cgroup connects with the session.
const UNMARKED_TREE: &str = "env -i setsid sleep 1005 & sleep 1006";

fn this_binary(helper: &str) -> Spawn {
    Spawn::new("/proc/self/exe").args(["--exact", helper, "--nocapture"])
}

/// An owner process, its folder, its user, and the lifeline's reader.
struct OwnerFixture {
    folder: TempDir,
    owner: Option<Child>,
    reader: std::os::fd::OwnedFd,
    identity: Option<Identity>,
}

impl OwnerFixture {
    /// Starts an owner with this role and waits until it is ready.
    async fn of(role: &str, identity: Option<Identity>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(
            folder.path(),
            std::os::unix::fs::PermissionsExt::from_mode(0o777),
        )
        .unwrap();
        let (reader, writer) = lifeline();
        // The owner reopens it for its children.
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
        let fixture = Self {
            folder,
            owner: Some(owner),
            reader,
            identity,
        };
        fixture.wait_for_file("ready").await;
        fixture
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    async fn wait_for_file(&self, name: &str) {
        assert_eventually!(self.at(name).exists(), "the file {name} exists");
    }

    fn signal(&self, signal: Signal) {
        self.owner.as_ref().unwrap().signal(signal).unwrap();
    }

    /// Waits until no process has the lifeline and no file is left: two seconds on a quiet machine,
    /// but other tests occupy this one.
    async fn assert_cleaned_up(self) {
        let ended = timeout(Duration::from_secs(12), read_all(self.reader)).await;
        assert_eq!(ended.unwrap(), "");
        let left = || -> Vec<String> {
            let entries = fs::read_dir(self.folder.path()).unwrap().flatten();
            let names = entries.map(|entry| entry.file_name().into_string().unwrap());
            names.filter(|name| name != "ready").collect()
        };
        assert_eventually!(
            left(),
            |left| *left == ["released"],
            "as {:?}",
            self.identity
        );
        let released = self.folder.path().join("released");
        assert_eventually!(fs::read_to_string(&released).unwrap() == ":0");
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.into_string().unwrap())
}

/// Helper, not a test: the guardian of [`helper_that_owns`].
#[test]
fn helper_that_guards() {
    let Some(folder) = variable("GUARDED") else {
        return;
    };
    let cleaned = run_guardian(|notes| {
        let display = notes.get("display").map(String::as_str).unwrap_or_default();
        fs::write(Path::new(&folder).join("released"), display).unwrap();
    });
    assert_eq!(cleaned, Ok(true));
}

/// Helper, not a test: a process with a session, which ends according to its role.
#[tokio::test]
async fn helper_that_owns() {
    let (Some(role), Some(folder)) = (variable("ROLE"), variable("FOLDER")) else {
        return;
    };
    let root = PathBuf::from(folder);
    let identity = match role.as_str() {
        "own user" => Identity::unprivileged(3_820),
        "user of two containers" => Identity::unprivileged(3_822),
        _ => None,
    };
    let charge = CleanupScope {
        identity,
        retained_fds: Vec::new(),
        roots: vec![root.clone()],
    };
    let guardian = || this_binary("guardian::helper_that_guards");
    let (program, renewed) = (root.clone(), root.join("renewed"));
    let guard = Guardian::start(
        move || guardian().env("GUARDED", &program),
        charge,
        move |outcome| {
            outcome.unwrap();
            fs::write(&renewed, "").unwrap();
        },
    );
    let guard = guard.await.unwrap();
    let second = Guardian::start(guardian, CleanupScope::default(), |_| ()).await;
    assert!(matches!(second, Err(GuardianError::Second)));
    let session = root.join(format!("{}session", folder_prefix()));
    fs::create_dir_all(session.join("deep/er")).unwrap();
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o555);
    fs::set_permissions(session.join("deep"), closed).unwrap();
    let made = root.join(format!("{}lock", folder_prefix()));
    fs::write(&made, "").unwrap();
    register_file(&root.join("lock"), &made, &root.join("socket")).unwrap();
    fs::hard_link(&made, root.join("lock")).unwrap();
    fs::write(root.join("socket"), "").unwrap();
    set_hint("display", ":0");
    let is_named = identity.is_none() && role != "group";
    let script = if is_named {
        PROCESS_TREE
    } else {
        UNMARKED_TREE
    };
    let group = Cgroup::new(&ResourceLimits::default());
    let family = sh(script)
        .cgroup(&group)
        .env("PATH", "/usr/bin:/bin")
        .identity(identity)
        .new_session()
        .fd(3, reopen(3));
    let _family = family.spawn().await.unwrap();
    let children = script.matches("sleep").count();
    assert_eventually!(lifeline_holders(), |holders| *holders > children);
    let _gentle = match role.as_str() {
        "gentle" => Some(graceful(&root).spawn().await.unwrap()),
        _ => None,
    };
    let _placeholders = (role == "placeholders").then(|| {
        let workspace = root.canonicalize().unwrap().join("workspace");
        fs::create_dir_all(workspace.join("sub/.git/objects/info")).unwrap();
        fs::create_dir(workspace.join("sub/.git/refs")).unwrap();
        fs::write(workspace.join("sub/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        Protected::find(&workspace, MissingFiles::Masked).unwrap()
    });
    // Renamed into position, so that the test reads it complete.
    fs::write(root.join("written"), folder_prefix()).unwrap();
    fs::rename(root.join("written"), root.join("ready")).unwrap();
    match role.as_str() {
        "ends" => assert!(guard.end()),
        "panics" => panic!("on purpose"),
        _ => pending().await,
    }
}

/// A program that exits by itself with its owner, after some time, and writes a file at the end.
fn graceful(root: &Path) -> Spawn {
    let output = root.join("output").display().to_string();
    sh(&format!("cat; sleep 0.4; echo complete >{output}"))
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::Piped)
        .graceful()
}

/// Number of processes with our lifeline, including ourselves.
fn lifeline_holders() -> usize {
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

/// An unprivileged user, if we are root.
fn unprivileged() -> Option<Identity> {
    is_root().then(|| Identity::unprivileged(3_810)).flatten()
}

#[tokio::test]
async fn nothing_is_left_after_kill_9() {
    let fixture = OwnerFixture::of("waits", unprivileged()).await;
    fixture.signal(Signal::KILL);
    fixture.assert_cleaned_up().await;
}

#[tokio::test]
async fn a_graceful_program_can_finish_after_kill_9() {
    let fixture = OwnerFixture::of("gentle", unprivileged()).await;
    fixture.signal(Signal::KILL);
    fixture.wait_for_file("released").await;
    assert_eq!(
        fs::read_to_string(fixture.at("output")).unwrap(),
        "complete\n"
    );
    assert_eq!(read_all(fixture.reader).await, "");
}

/// Names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[tokio::test]
async fn placeholders_are_removed_after_kill_9_but_nothing_of_the_user() {
    let fixture = OwnerFixture::of("placeholders", unprivileged()).await;
    let workspace = fixture.at("workspace");
    let repository = workspace.join("sub/.git");
    assert!(names(&workspace).len() > 20);
    assert!(names(&repository).len() > 8);
    // The user writes to one and replaces another.
    let writable = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    fs::set_permissions(workspace.join(".envrc"), writable).unwrap();
    fs::write(workspace.join(".envrc"), "own\n").unwrap();
    fs::write(workspace.join("new"), "").unwrap();
    fs::rename(workspace.join("new"), workspace.join(".npmrc")).unwrap();
    fixture.signal(Signal::KILL);
    assert_eventually!(names(&workspace), |names| *names
        == [".envrc", ".npmrc", "sub"]);
    assert_eventually!(names(&repository), |names| *names
        == ["HEAD", "objects", "refs"]);
    assert_eq!(names(&repository.join("objects/info")), [""; 0]);
    let text = fs::read_to_string(workspace.join(".envrc"));
    assert_eq!(text.unwrap(), "own\n");
}

#[tokio::test]
async fn nothing_is_left_after_a_panic() {
    let fixture = OwnerFixture::of("panics", unprivileged()).await;
    fixture.assert_cleaned_up().await;
}

#[tokio::test]
async fn nothing_is_left_after_an_orderly_end() {
    let fixture = OwnerFixture::of("ends", unprivileged()).await;
    fixture.assert_cleaned_up().await;
}

#[tokio::test]
async fn unmarked_processes_of_the_session_s_user_are_killed() {
    if lacks(Privilege::Root, is_root()) {
        return;
    }
    let fixture = OwnerFixture::of("own user", None).await;
    let stranger = sh("exec sleep 1000").identity(Identity::unprivileged(3_821));
    let stranger = stranger.spawn().await.unwrap();
    fixture.signal(Signal::KILL);
    fixture.assert_cleaned_up().await;
    assert_eq!(
        stranger.try_wait().unwrap(),
        None,
        "processes of other users are left alone"
    );
}

#[tokio::test]
async fn unmarked_processes_of_a_cgroup_are_killed_and_it_is_removed() {
    let has_limits = Cgroup::new(&ResourceLimits::default())
        .effective_limits()
        .limits_totals();
    if lacks(Privilege::CgroupLimits, has_limits) {
        return;
    }
    let fixture = OwnerFixture::of("group", None).await;
    let prefix = fs::read_to_string(fixture.at("ready")).unwrap();
    let groups = || {
        let script = format!("find /sys/fs/cgroup -type d -name '{prefix}*'");
        output(sh(&script).env("PATH", "/usr/bin:/bin"))
    };
    assert_ne!(groups().await.0, "");
    fixture.signal(Signal::KILL);
    fixture.assert_cleaned_up().await;
    assert_eventually!(groups().await.0.is_empty(), "the cgroup is removed");
}

#[tokio::test]
async fn processes_of_another_container_with_the_same_user_are_left_alone() {
    if lacks(Privilege::Root, is_root()) {
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
    assert_eventually!(sleeps(), "the other container's process has started");
    let fixture = OwnerFixture::of("user of two containers", None).await;
    fixture.signal(Signal::KILL);
    fixture.assert_cleaned_up().await;
    assert!(sleeps(), "it still runs");
    assert_eq!(
        container.try_wait().unwrap(),
        None,
        "and so does its container"
    );
}

#[tokio::test]
async fn a_killed_guardian_is_replaced_with_the_same_state() {
    let fixture = OwnerFixture::of("waits", unprivileged()).await;
    let owner = fixture.owner.as_ref().unwrap().pid();
    let guardian = guardian_of(owner).unwrap();
    rustix::process::kill_process(guardian, Signal::KILL).unwrap();
    fixture.wait_for_file("renewed").await;
    fs::remove_file(fixture.at("renewed")).unwrap();
    let another = guardian_of(owner).unwrap();
    assert_ne!(another, guardian);
    // It has its own session, so a terminal's signals do not reach it.
    assert_eq!(rustix::process::getsid(Some(another)).unwrap(), another);
    fixture.signal(Signal::KILL);
    fixture.assert_cleaned_up().await;
}
