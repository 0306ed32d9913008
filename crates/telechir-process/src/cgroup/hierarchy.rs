//! Where control groups are mounted, of which version, and which of them we are in.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The controllers that a group needs.
pub(super) const WANTED: [&str; 3] = ["memory", "pids", "cpu"];

/// Both may be mounted beside each other, each with controllers of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

impl Version {
    /// The files of the limits of memory and of swap.
    pub(super) const fn memory(self) -> (&'static str, &'static str) {
        match self {
            Self::One => ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
            Self::Two => ("memory.max", "memory.swap.max"),
        }
    }

    /// The file that counts kills for want of memory.
    pub(super) const fn memory_events(self) -> &'static str {
        match self {
            Self::One => "memory.oom_control",
            Self::Two => "memory.events",
        }
    }
}

/// One tree of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hierarchy {
    pub(super) version: Version,
    /// Those of the wanted ones that it may have.
    pub(super) controllers: Vec<&'static str>,
    pub(super) mount: PathBuf,
    /// The group that we are in.
    pub(super) ours: PathBuf,
}

/// Those of this machine that we can see our group in.
pub(super) fn all() -> io::Result<Vec<Hierarchy>> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let groups = fs::read_to_string("/proc/self/cgroup")?;
    Ok(parse(&mounts, &groups))
}

fn parse(mounts: &str, groups: &str) -> Vec<Hierarchy> {
    let mut found: Vec<Hierarchy> = Vec::new();
    for hierarchy in mounts.lines().filter_map(|line| one(line, groups)) {
        // The same tree can be mounted twice.
        let is_known = |known: &Hierarchy| {
            known.version == hierarchy.version && known.controllers == hierarchy.controllers
        };
        if !found.iter().any(is_known) {
            found.push(hierarchy);
        }
    }
    found
}

fn one(line: &str, groups: &str) -> Option<Hierarchy> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(3);
    let (root, mount) = (left.next()?, PathBuf::from(left.next()?));
    let mut right = right.split(' ');
    let (kind, options) = (right.next()?, right.nth(1).unwrap_or_default());
    let (version, controllers) = match kind {
        "cgroup2" => (Version::Two, WANTED.to_vec()),
        "cgroup" => {
            let has = |wanted: &&str| options.split(',').any(|option| option == *wanted);
            (Version::One, WANTED.into_iter().filter(has).collect())
        }
        _ => return None,
    };
    let has_any = !controllers.is_empty();
    has_any.then_some(())?;
    let path = groups.lines().find_map(|group| {
        let (_, rest) = group.split_once(':')?;
        let (names, path) = rest.split_once(':')?;
        let is_it = match version {
            Version::Two => names.is_empty(),
            Version::One => names.split(',').any(|name| controllers.contains(&name)),
        };
        is_it.then_some(path)
    })?;
    // Of a container only a part of the tree may be mounted, or our group lie outside of it.
    let below = Path::new(path).strip_prefix(root).ok()?;
    let ours = mount.join(below);
    let is_inside = !path.split('/').any(|part| part == "..");
    is_inside.then_some(Hierarchy {
        version,
        controllers,
        mount,
        ours,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_found_beside_each_other() {
        let mounts = "\
            31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
            32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
            35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
            40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
        let groups = "4:memory:/a/b\n1:cpu,cpuacct:/\n9:name=systemd:/x\n0::/c\n";
        let found = parse(mounts, groups);
        let places: Vec<(Version, &[&str], &str)> = found
            .iter()
            .map(|one| {
                let ours = one.ours.to_str().unwrap();
                (one.version, &one.controllers[..], ours)
            })
            .collect();
        let expected: [(Version, &[&str], &str); 3] = [
            (Version::One, &["cpu"], "/sys/fs/cgroup/cpu,cpuacct/"),
            (Version::One, &["memory"], "/sys/fs/cgroup/memory/a/b"),
            (Version::Two, &WANTED, "/sys/fs/cgroup/unified/c"),
        ];
        assert_eq!(places, expected);
    }

    #[test]
    fn the_part_of_a_container_is_where_it_is_mounted() {
        let mount = |root: &str| {
            format!("31 23 0:28 {root} /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n")
        };
        let ours = |root: &str, group: &str| {
            let found = parse(&mount(root), &format!("0::{group}\n"));
            found.first().map(|one| one.ours.clone())
        };
        let at = |path: &str| Some(PathBuf::from(path));
        assert_eq!(ours("/docker/x", "/docker/x"), at("/sys/fs/cgroup/"));
        assert_eq!(ours("/docker/x", "/docker/x/y"), at("/sys/fs/cgroup/y"));
        assert_eq!(ours("/", "/"), at("/sys/fs/cgroup/"));
        assert_eq!(ours("/docker/x", "/other"), None);
        assert_eq!(ours("/", "/../above"), None);
    }
}
