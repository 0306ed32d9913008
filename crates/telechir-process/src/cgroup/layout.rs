//! A folder for a group: as near to our own group as the kernel and the owner of the tree allow.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Access, access};

use super::hierarchy::{Hierarchy, Version};
use super::{MEMBERS, write};
use crate::guardian;

/// Our own place below a group that was given to us, so that others can be made beside it.
const ASIDE: &str = "telechir-own";

/// A group that was made.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) folder: PathBuf,
    /// The controllers that it has.
    pub(super) controllers: Vec<&'static str>,
}

/// Makes a group, or says what is in the way.
pub(super) fn make(hierarchy: &Hierarchy, name: &str) -> Result<Made, String> {
    let (above, controllers) = match hierarchy.version {
        Version::One => (hierarchy.ours.clone(), hierarchy.controllers.clone()),
        Version::Two => nearest(hierarchy)?,
    };
    if !guardian::is_there() {
        clear(&above);
    }
    let folder = above.join(name);
    // Known before it is there, so that there is no moment in which nobody knows it.
    guardian::owns_group(&folder);
    if let Err(error) = fs::create_dir(&folder) {
        guardian::unowns_group(&folder);
        return Err(refused(&above, &error));
    }
    Ok(Made {
        folder,
        controllers,
    })
}

/// Removes what processes without a guardian left that are no more. In a container they may be
/// elsewhere, so what is new is left alone; and nothing that somebody is in can be removed.
fn clear(above: &Path) {
    let entries = fs::read_dir(above).into_iter().flatten().flatten();
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
            let _someone_is_in_it = fs::remove_dir(entry.path());
        }
    }
}

/// The nearest group below which another has all controllers, or else as many as can be had.
///
/// Up to there the limits of those above us go on to hold, so nothing is escaped by it.
fn nearest(hierarchy: &Hierarchy) -> Result<(PathBuf, Vec<&'static str>), String> {
    let mut best: Option<(PathBuf, Vec<&'static str>)> = None;
    let mut why = None;
    for above in hierarchy.ours.ancestors() {
        if !above.starts_with(&hierarchy.mount) {
            break;
        }
        // Whoever moves a process must be allowed to write to what both groups are below.
        if let Err(errno) = access(above.join(MEMBERS), Access::WRITE_OK) {
            why = Some(refused(above, &errno.into()));
            break;
        }
        let have = enabled(hierarchy, above);
        if best
            .as_ref()
            .is_none_or(|(_, most)| most.len() < have.len())
        {
            best = Some((above.to_owned(), have));
        }
        if best
            .as_ref()
            .is_some_and(|(_, most)| most.len() == hierarchy.controllers.len())
        {
            break;
        }
    }
    best.ok_or_else(|| why.unwrap_or_else(|| "no group is ours to divide".to_owned()))
}

/// The controllers that a group below this one has, when those were enabled that can be.
fn enabled(hierarchy: &Hierarchy, above: &Path) -> Vec<&'static str> {
    let control = above.join("cgroup.subtree_control");
    let words = |file: &Path| -> Vec<String> {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    };
    let has = |words: &[String], name: &str| words.iter().any(|word| word == name);
    let offered = words(&above.join("cgroup.controllers"));
    let missing = |now: &[String]| -> Vec<&'static str> {
        let wanted = hierarchy.controllers.iter().copied();
        wanted
            .filter(|name| has(&offered, name) && !has(now, name))
            .collect()
    };
    let open = missing(&words(&control));
    if !open.is_empty() {
        if above == hierarchy.ours && is_ours_alone(hierarchy) {
            step_aside(above);
        }
        for name in open {
            // A group with processes of its own refuses it: then the one above is looked at.
            let _refused_here = write(control.clone(), &format!("+{name}"));
        }
    }
    let now = words(&control);
    let wanted = hierarchy.controllers.iter().copied();
    wanted.filter(|name| has(&now, name)).collect()
}

/// Whether our group was given to us to divide: a user's own, or a container's whole tree, or one
/// that systemd marked as delegated.
fn is_ours_alone(hierarchy: &Hierarchy) -> bool {
    let is_delegated = || {
        ["trusted.delegate", "user.delegate"].iter().any(|name| {
            let mut value = [0; 8];
            let read = rustix::fs::getxattr(&hierarchy.ours, *name, &mut value[..]);
            read.is_ok_and(|length| &value[..length] == b"1")
        })
    };
    !rustix::process::geteuid().is_root() || hierarchy.ours == hierarchy.mount || is_delegated()
}

/// Moves us and our children below, when nobody else is in the group: one with processes of its
/// own cannot give controllers to groups below it.
fn step_aside(group: &Path) {
    let us = rustix::process::getpid().as_raw_nonzero().get();
    let parent = |pid: i32| -> Option<i32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields = stat.rsplit_once(')')?.1;
        fields.split_ascii_whitespace().nth(1)?.parse().ok()
    };
    let text = fs::read_to_string(group.join(MEMBERS)).unwrap_or_default();
    let members: Vec<i32> = text.lines().filter_map(|line| line.parse().ok()).collect();
    let all_ours = members
        .iter()
        .all(|pid| *pid == us || parent(*pid) == Some(us));
    let aside = group.join(ASIDE);
    if members.is_empty() || !all_ours || !(fs::create_dir(&aside).is_ok() || aside.is_dir()) {
        return;
    }
    for pid in members {
        // One that ended meanwhile need not be moved.
        let _gone = write(aside.join(MEMBERS), &pid.to_string());
    }
}

fn refused(folder: &Path, error: &io::Error) -> String {
    format!("{}: {error}", folder.display())
}
