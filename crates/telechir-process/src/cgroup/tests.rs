//! Tests on the machine's own cgroups, where they are available.

use std::fs;
use std::path::{Path, PathBuf};

use super::hierarchy::{self, CgroupVersion, Hierarchy};
use super::{Cgroup, layout};
use crate::confinement::ResourceLimits;
use crate::{Pid, Signal, Spawn, spawner};
use telechir_testkit::{assert_eventually, assert_eventually_blocking};

const MIB: u64 = 1 << 20;

fn limits() -> ResourceLimits {
    ResourceLimits {
        processes: 20,
        total_memory_bytes: 64 * MIB,
        processor_percent: Some(50),
        ..ResourceLimits::default()
    }
}

/// A cgroup whose limits are in effect; `None` where that is impossible, which must then be
/// reported with a reason.
fn group() -> Option<Cgroup> {
    let group = Cgroup::new(&limits());
    assert!(
        group.effective_limits().limits_totals()
            || !group.effective_limits().unavailable.is_empty()
    );
    group.effective_limits().limits_totals().then_some(group)
}

fn sh(script: &str, group: &Cgroup) -> Spawn {
    Spawn::new("sh")
        .args(["-c", script])
        .env("PATH", "/usr/bin:/bin")
        .cgroup(group)
}

#[tokio::test]
async fn memory_of_all_processes_is_limited_counted_and_released() {
    let Some(mut group) = group() else {
        return;
    };
    let folders = group.dirs.clone();
    // Each process is below the limit, all together exceed it.
    let hog = "perl -e '$x = \"x\" x (24 << 20); sleep 1000'";
    let script = format!("for i in 1 2 3 4; do {hog} & done; wait");
    let child = sh(&script, &group).spawn().await.unwrap();
    group.verify_member(child.pid());
    assert!(
        group.effective_limits().limits_totals(),
        "{}",
        group.effective_limits()
    );
    assert_eventually!(group.killed_for_memory() > 0);
    group.kill();
    child.wait().await.unwrap();
    drop(group);
    assert_eventually!(folders.iter().all(|folder| !folder.exists()));
}

#[tokio::test]
async fn a_process_joins_by_clone_or_by_writing_its_pid() {
    let Some(group) = group() else {
        return;
    };
    for is_cloned in [true, false] {
        let (mut plan, _) = sh("sleep 1000", &group).prepare().unwrap();
        if !is_cloned {
            for handle in &mut plan.cgroups {
                handle.clone_into_fd = None;
            }
        }
        let child = spawner::start(plan).await.unwrap();
        assert!(group.contains(child.pid()), "by clone: {is_cloned}");
    }
}

#[tokio::test]
async fn the_number_of_processes_is_limited() {
    let Some(group) = group() else {
        return;
    };
    let script = "i=0; while [ $i -lt 100 ]; do sleep 1000 & i=$((i+1)); done 2>/dev/null";
    let child = sh(script, &group).spawn().await.unwrap();
    child.wait().await.unwrap();
    let members = fs::read_to_string(group.dirs[0].join("cgroup.procs")).unwrap();
    let count = members.lines().count();
    assert!((10..=28).contains(&count), "{count}");
}

#[tokio::test]
async fn processes_that_leave_parent_session_and_environment_are_killed() {
    let Some(group) = group() else {
        return;
    };
    let script = "env -i setsid sleep 1000 & setsid sh -c 'sleep 1000 & sleep 1000' & sleep 1000";
    let child = sh(script, &group).spawn().await.unwrap();
    let folder = group.dirs[0].clone();
    let members = || fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    assert_eventually!(members(), |all| all.lines().count() >= 5);
    let all: Vec<Pid> = members()
        .lines()
        .filter_map(|line| Pid::from_raw(line.parse().ok()?))
        .collect();
    drop(group);
    child.wait().await.unwrap();
    let has_exited = |pid: &Pid| {
        rustix::process::test_kill_process(*pid).is_err()
            || fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()))
                .is_ok_and(|stat| stat.contains(") Z "))
    };
    assert_eventually!(all.iter().all(has_exited));
}

#[tokio::test]
async fn a_process_outside_the_group_fails_verification() {
    let Some(mut group) = group() else {
        return;
    };
    group.verify_member(rustix::process::getpid());
    assert!(!group.effective_limits().limits_totals());
    let text = group.effective_limits().to_string();
    assert!(text.contains("could not join the cgroup"), "{text}");
}

/// A version 2 hierarchy with a controller that is available here, so that its code paths are
/// tested on hybrid machines, too, where the controllers that we need are in version 1.
fn version_two_tree() -> Option<(Hierarchy, &'static str)> {
    let tree = hierarchy::all().ok()?;
    let mut tree = tree
        .into_iter()
        .find(|tree| tree.version == CgroupVersion::Two)?;
    let text = fs::read_to_string(tree.mount.join("cgroup.controllers")).ok()?;
    let known = ["pids", "memory", "cpu", "hugetlb"];
    let controller = known
        .into_iter()
        .find(|name| text.split_whitespace().any(|has| has == *name))?;
    let is_root = rustix::process::geteuid().is_root();
    tree.controllers = vec![controller];
    is_root.then_some((tree, controller))
}

/// A version 2 cgroup that is removed on drop.
struct TestGroup(PathBuf);

impl TestGroup {
    fn make(above: &Path, name: &str) -> Option<Self> {
        let folder = above.join(format!("{name}-{}", std::process::id()));
        fs::create_dir(&folder).ok().map(|()| Self(folder))
    }
}

impl Drop for TestGroup {
    fn drop(&mut self) {
        let inner = fs::read_dir(&self.0).into_iter().flatten().flatten();
        for entry in inner.filter(|entry| entry.path().is_dir()) {
            super::kill_members(&entry.path());
            assert_eventually_blocking!(super::try_remove(&entry.path()));
        }
        super::kill_members(&self.0);
        assert_eventually_blocking!(super::try_remove(&self.0));
    }
}

#[tokio::test]
async fn in_version_two_the_nearest_delegating_group_is_used() {
    let Some((tree, controller)) = version_two_tree() else {
        return;
    };
    let before = fs::read_to_string(tree.mount.join("cgroup.subtree_control")).unwrap();
    let Some(above) = TestGroup::make(&tree.mount, "telechir-test") else {
        return;
    };
    let enable = format!("+{controller}");
    super::write(tree.mount.join("cgroup.subtree_control"), &enable).unwrap();
    // It is empty, so it can delegate controllers.
    let empty = Hierarchy {
        own_group: above.0.clone(),
        ..tree.clone()
    };
    let created = layout::create(&empty, "one").unwrap();
    assert_eq!(created.path, above.0.join("one"));
    assert_eq!(created.controllers, [controller]);
    assert!(created.path.join("cgroup.controllers").exists());
    // It has a process of its own and cannot delegate, but its parent can.
    let full = TestGroup::make(&tree.mount, "telechir-full").unwrap();
    let stranger = Spawn::new("sleep").arg("1000").spawn().await.unwrap();
    let pid = stranger.pid().as_raw_nonzero().to_string();
    super::write(full.0.join("cgroup.procs"), &pid).unwrap();
    let occupied = Hierarchy {
        mount: tree.mount.clone(),
        own_group: full.0.clone(),
        ..tree.clone()
    };
    let elsewhere =
        layout::create(&occupied, &format!("telechir-two-{}", std::process::id())).unwrap();
    let _removed = TestGroup(elsewhere.path.clone());
    assert_eq!(elsewhere.path.parent(), Some(tree.mount.as_path()));
    assert_eq!(elsewhere.controllers, [controller]);
    stranger.signal(Signal::KILL).unwrap();
    stranger.wait().await.unwrap();
    drop((stranger, full, above));
    if !before.split_whitespace().any(|name| name == controller) {
        let disable = format!("-{controller}");
        let _in_use = super::write(tree.mount.join("cgroup.subtree_control"), &disable);
    }
}

#[test]
fn an_unwritable_tree_is_reported_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let tree = |version| Hierarchy {
        version,
        controllers: vec!["memory"],
        mount: folder.path().join("no/such"),
        own_group: folder.path().join("no/such/group"),
    };
    for version in [CgroupVersion::One, CgroupVersion::Two] {
        let why = layout::create(&tree(version), "x").unwrap_err();
        assert!(why.contains("No such file"), "{why}");
    }
}
