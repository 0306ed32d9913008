//! Groups on the machine's own control groups, where they can be had.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::hierarchy::{self, Hierarchy, Version};
use super::{Cgroup, layout};
use crate::confinement::Limits;
use crate::{Pid, Signal, Spawn, spawner};

const MIB: u64 = 1 << 20;

fn limits() -> Limits {
    Limits {
        processes: 20,
        together_bytes: 64 * MIB,
        processor_percent: Some(50),
        ..Limits::default()
    }
}

/// A group that holds here, with its limits; none where control groups are not ours to divide,
/// which is then said.
fn group() -> Option<Cgroup> {
    let group = Cgroup::new(&limits());
    assert!(group.bounds().hold() || !group.bounds().lacks.is_empty());
    group.bounds().hold().then_some(group)
}

fn sh(script: &str, group: &Cgroup) -> Spawn {
    Spawn::new("sh")
        .args(["-c", script])
        .env("PATH", "/usr/bin:/bin")
        .cgroup(group)
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn all_of_it_is_bounded_counted_and_ended() {
    let Some(mut group) = group() else {
        return;
    };
    let folders = group.folders.clone();
    // Each alone is below the limit, all together are not.
    let hog = "perl -e '$x = \"x\" x (24 << 20); sleep 1000'";
    let script = format!("for i in 1 2 3 4; do {hog} & done; wait");
    let child = sh(&script, &group).spawn().await.unwrap();
    group.prove(child.pid());
    assert!(group.bounds().hold(), "{}", group.bounds());
    until("the kernel kills one", || group.killed_for_memory() > 0);
    group.kill();
    child.wait().await.unwrap();
    drop(group);
    until("its folders are removed", || {
        folders.iter().all(|folder| !folder.exists())
    });
}

#[tokio::test]
async fn a_process_is_in_it_whether_it_was_born_there_or_entered() {
    let Some(group) = group() else {
        return;
    };
    for is_born_there in [true, false] {
        let (mut plan, _) = sh("sleep 1000", &group).prepare().unwrap();
        if !is_born_there {
            for door in &mut plan.groups {
                door.birth = None;
            }
        }
        let child = spawner::start(plan).await.unwrap();
        assert!(group.has(child.pid()), "born there: {is_born_there}");
    }
}

#[tokio::test]
async fn processes_of_all_together_are_bounded() {
    let Some(group) = group() else {
        return;
    };
    let script = "i=0; while [ $i -lt 100 ]; do sleep 1000 & i=$((i+1)); done 2>/dev/null";
    let child = sh(script, &group).spawn().await.unwrap();
    child.wait().await.unwrap();
    let members = fs::read_to_string(group.folders[0].join("cgroup.procs")).unwrap();
    let count = members.lines().count();
    assert!((10..=28).contains(&count), "{count}");
}

#[tokio::test]
async fn who_leaves_parent_session_and_environment_ends_with_it() {
    let Some(group) = group() else {
        return;
    };
    let script = "env -i setsid sleep 1000 & setsid sh -c 'sleep 1000 & sleep 1000' & sleep 1000";
    let child = sh(script, &group).spawn().await.unwrap();
    let folder = group.folders[0].clone();
    let members = || fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    until("all began", || members().lines().count() >= 5);
    let all: Vec<Pid> = members()
        .lines()
        .filter_map(|line| Pid::from_raw(line.parse().ok()?))
        .collect();
    drop(group);
    child.wait().await.unwrap();
    until("all ended", || {
        all.iter().all(|pid| {
            rustix::process::test_kill_process(*pid).is_err()
                || fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()))
                    .is_ok_and(|stat| stat.contains(") Z "))
        })
    });
}

#[tokio::test]
async fn a_process_that_is_not_in_it_proves_nothing() {
    let Some(mut group) = group() else {
        return;
    };
    group.prove(rustix::process::getpid());
    assert!(!group.bounds().hold());
    let said = group.bounds().to_string();
    assert!(said.contains("could not be put into it"), "{said}");
}

/// The newer kind of tree with a controller that it has on this machine: on one where memory,
/// processes and processor time are still with the older kind, its roads are walked all the same.
fn newer() -> Option<(Hierarchy, &'static str)> {
    let tree = hierarchy::all().ok()?;
    let mut tree = tree.into_iter().find(|tree| tree.version == Version::Two)?;
    let text = fs::read_to_string(tree.mount.join("cgroup.controllers")).ok()?;
    let known = ["pids", "memory", "cpu", "hugetlb"];
    let controller = known
        .into_iter()
        .find(|name| text.split_whitespace().any(|has| has == *name))?;
    let is_root = rustix::process::geteuid().is_root();
    tree.controllers = vec![controller];
    is_root.then_some((tree, controller))
}

/// A group of the newer kind that is removed with this.
struct Below(PathBuf);

impl Below {
    fn make(above: &Path, name: &str) -> Option<Self> {
        let folder = above.join(format!("{name}-{}", std::process::id()));
        fs::create_dir(&folder).ok().map(|()| Self(folder))
    }
}

impl Drop for Below {
    fn drop(&mut self) {
        let inner = fs::read_dir(&self.0).into_iter().flatten().flatten();
        for entry in inner.filter(|entry| entry.path().is_dir()) {
            super::end(&entry.path());
            until("it is removed", || super::is_gone(&entry.path()));
        }
        super::end(&self.0);
        until("it is removed", || super::is_gone(&self.0));
    }
}

#[tokio::test]
async fn of_the_newer_kind_the_nearest_group_that_can_give_is_divided() {
    let Some((tree, controller)) = newer() else {
        return;
    };
    let before = fs::read_to_string(tree.mount.join("cgroup.subtree_control")).unwrap();
    let Some(above) = Below::make(&tree.mount, "telechir-test") else {
        return;
    };
    let enable = format!("+{controller}");
    super::write(tree.mount.join("cgroup.subtree_control"), &enable).unwrap();
    // Nobody is in it: it gives its controllers on.
    let empty = Hierarchy {
        ours: above.0.clone(),
        ..tree.clone()
    };
    let made = layout::make(&empty, "one").unwrap();
    assert_eq!(made.folder, above.0.join("one"));
    assert_eq!(made.controllers, [controller]);
    assert!(made.folder.join("cgroup.controllers").exists());
    // A stranger is in it: it cannot give, and the one above does.
    let full = Below::make(&tree.mount, "telechir-full").unwrap();
    let stranger = Spawn::new("sleep").arg("1000").spawn().await.unwrap();
    let pid = stranger.pid().as_raw_nonzero().to_string();
    super::write(full.0.join("cgroup.procs"), &pid).unwrap();
    let occupied = Hierarchy {
        mount: tree.mount.clone(),
        ours: full.0.clone(),
        ..tree.clone()
    };
    let elsewhere =
        layout::make(&occupied, &format!("telechir-two-{}", std::process::id())).unwrap();
    let _removed = Below(elsewhere.folder.clone());
    assert_eq!(elsewhere.folder.parent(), Some(tree.mount.as_path()));
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
fn where_nothing_may_be_written_it_is_said_why() {
    let folder = tempfile::tempdir().unwrap();
    let tree = |version| Hierarchy {
        version,
        controllers: vec!["memory"],
        mount: folder.path().join("no/such"),
        ours: folder.path().join("no/such/group"),
    };
    for version in [Version::One, Version::Two] {
        let why = layout::make(&tree(version), "x").unwrap_err();
        assert!(why.contains("No such file"), "{why}");
    }
}
