//! Where a new cgroup is created: as close to our own as the kernel and its permissions allow.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Access, access};

use super::hierarchy::{CgroupVersion, Hierarchy};
use super::{PROCS_FILE, write};
use crate::guardian;

/// The leaf below a delegated cgroup into which we move, so that others can be created beside it.
const OWN_LEAF: &str = "telechir-own";

/// A created cgroup.
#[derive(Debug)]
pub(super) struct CgroupDir {
    pub(super) path: PathBuf,
    /// The controllers enabled in it.
    pub(super) controllers: Vec<&'static str>,
}

/// Creates a cgroup, or returns the reason why it is impossible.
pub(super) fn create(hierarchy: &Hierarchy, name: &str) -> Result<CgroupDir, String> {
    let (parent, controllers) = match hierarchy.version {
        CgroupVersion::One => (hierarchy.own_group.clone(), hierarchy.controllers.clone()),
        CgroupVersion::Two => nearest(hierarchy)?,
    };
    if !guardian::has_guardian() {
        remove_stale(&parent);
    }
    let path = parent.join(name);
    // Registered before it exists, so that it cannot be missed.
    guardian::register_cgroup(&path);
    if let Err(error) = fs::create_dir(&path) {
        guardian::unregister_cgroup(&path);
        return Err(describe(&parent, &error));
    }
    Ok(CgroupDir { path, controllers })
}

/// Removes old cgroups of dead processes that had no guardian. Owners in other containers look
/// dead here, so recent folders are left alone; non-empty ones cannot be removed anyway.
fn remove_stale(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| {
            let (owner, _) = name.strip_prefix("telechir-")?.split_once('-')?;
            owner.parse::<u32>().ok()
        });
        let is_old = || {
            let made = entry.metadata().and_then(|found| found.modified()).ok();
            made.and_then(|made| made.elapsed().ok()) > Some(Duration::from_secs(60))
        };
        if owner.is_some_and(|owner| !Path::new(&format!("/proc/{owner}")).exists()) && is_old() {
            let _fails_if_not_empty = fs::remove_dir(entry.path());
        }
    }
}

/// The nearest ancestor whose children have all controllers, else the one with the most.
///
/// The limits of its own ancestors still apply, so this does not escape any limit.
fn nearest(hierarchy: &Hierarchy) -> Result<(PathBuf, Vec<&'static str>), String> {
    let mut best: Option<(PathBuf, Vec<&'static str>)> = None;
    let mut problem = None;
    for parent in hierarchy.own_group.ancestors() {
        if !parent.starts_with(&hierarchy.mount) {
            break;
        }
        // Moving a process needs write access to the common ancestor of both cgroups.
        if let Err(errno) = access(parent.join(PROCS_FILE), Access::WRITE_OK) {
            problem = Some(describe(parent, &errno.into()));
            break;
        }
        let have = enabled(hierarchy, parent);
        if best
            .as_ref()
            .is_none_or(|(_, controllers)| controllers.len() < have.len())
        {
            best = Some((parent.to_owned(), have));
        }
        if best
            .as_ref()
            .is_some_and(|(_, controllers)| controllers.len() == hierarchy.controllers.len())
        {
            break;
        }
    }
    best.ok_or_else(|| problem.unwrap_or_else(|| "no writable cgroup was found".to_owned()))
}

/// The controllers that children of this cgroup have, after enabling those that are possible.
fn enabled(hierarchy: &Hierarchy, parent: &Path) -> Vec<&'static str> {
    let control = parent.join("cgroup.subtree_control");
    let list = |file: &Path| -> Vec<String> {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    };
    let has = |list: &[String], name: &str| list.iter().any(|item| item == name);
    let offered = list(&parent.join("cgroup.controllers"));
    let missing = |now: &[String]| -> Vec<&'static str> {
        let wanted = hierarchy.controllers.iter().copied();
        wanted
            .filter(|name| has(&offered, name) && !has(now, name))
            .collect()
    };
    let not_enabled = missing(&list(&control));
    if !not_enabled.is_empty() {
        if parent == hierarchy.own_group && is_delegated_to_us(hierarchy) {
            move_self_to_leaf(parent);
        }
        for name in not_enabled {
            // Refused for a cgroup with processes of its own; then its parent is tried.
            let _refused_here = write(control.clone(), &format!("+{name}"));
        }
    }
    let now = list(&control);
    let wanted = hierarchy.controllers.iter().copied();
    wanted.filter(|name| has(&now, name)).collect()
}

/// Whether our own cgroup may be divided: a user's, a container's complete tree, or one that
/// systemd marked as delegated.
fn is_delegated_to_us(hierarchy: &Hierarchy) -> bool {
    let is_delegated = || {
        ["trusted.delegate", "user.delegate"].iter().any(|name| {
            let mut value = [0; 8];
            let read = rustix::fs::getxattr(&hierarchy.own_group, *name, &mut value[..]);
            read.is_ok_and(|length| &value[..length] == b"1")
        })
    };
    !rustix::process::geteuid().is_root()
        || hierarchy.own_group == hierarchy.mount
        || is_delegated()
}

/// Moves us and our children to a leaf, if no other process is in the cgroup: one with processes of
/// its own cannot delegate controllers to children.
fn move_self_to_leaf(group: &Path) {
    let own_pid = rustix::process::getpid().as_raw_nonzero().get();
    let parent = |pid: i32| -> Option<i32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields = stat.rsplit_once(')')?.1;
        fields.split_ascii_whitespace().nth(1)?.parse().ok()
    };
    let text = fs::read_to_string(group.join(PROCS_FILE)).unwrap_or_default();
    let members: Vec<i32> = text.lines().filter_map(|line| line.parse().ok()).collect();
    let are_own = members
        .iter()
        .all(|pid| *pid == own_pid || parent(*pid) == Some(own_pid));
    let leaf = group.join(OWN_LEAF);
    if members.is_empty() || !are_own || !(fs::create_dir(&leaf).is_ok() || leaf.is_dir()) {
        return;
    }
    for pid in members {
        // A process that exited in the meantime need not be moved.
        let _gone = write(leaf.join(PROCS_FILE), &pid.to_string());
    }
}

fn describe(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}
