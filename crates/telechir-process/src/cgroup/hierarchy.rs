//! The mounted cgroup hierarchies, their versions, and our own cgroup in each.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The controllers that set our limits.
pub(super) const WANTED: [&str; 3] = ["memory", "pids", "cpu"];

/// Version of a hierarchy; both can be mounted at once, with different controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CgroupVersion {
    One,
    Two,
}

impl CgroupVersion {
    /// The files that limit memory and swap.
    pub(super) const fn memory(self) -> (&'static str, &'static str) {
        match self {
            Self::One => ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
            Self::Two => ("memory.max", "memory.swap.max"),
        }
    }

    /// The file with the count of out-of-memory kills.
    pub(super) const fn memory_events(self) -> &'static str {
        match self {
            Self::One => "memory.oom_control",
            Self::Two => "memory.events",
        }
    }
}

/// One mounted tree of cgroups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hierarchy {
    pub(super) version: CgroupVersion,
    /// The needed controllers that it may offer.
    pub(super) controllers: Vec<&'static str>,
    pub(super) mount: PathBuf,
    /// The folder of our own cgroup.
    pub(super) own_group: PathBuf,
}

/// The mounted hierarchies in which our own cgroup is visible.
pub(super) fn all() -> io::Result<Vec<Hierarchy>> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let groups = fs::read_to_string("/proc/self/cgroup")?;
    Ok(parse(&mounts, &groups))
}

fn parse(mounts: &str, groups: &str) -> Vec<Hierarchy> {
    let mut found: Vec<Hierarchy> = Vec::new();
    for hierarchy in mounts.lines().filter_map(|line| parse_mount(line, groups)) {
        // The same hierarchy can be mounted twice.
        let is_known = |known: &Hierarchy| {
            known.version == hierarchy.version && known.controllers == hierarchy.controllers
        };
        if !found.iter().any(is_known) {
            found.push(hierarchy);
        }
    }
    found
}

fn parse_mount(line: &str, groups: &str) -> Option<Hierarchy> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(3);
    let (root, mount) = (left.next()?, PathBuf::from(left.next()?));
    let mut right = right.split(' ');
    let (kind, options) = (right.next()?, right.nth(1).unwrap_or_default());
    let (version, controllers) = match kind {
        "cgroup2" => (CgroupVersion::Two, WANTED.to_vec()),
        "cgroup" => {
            let has = |wanted: &&str| options.split(',').any(|option| option == *wanted);
            (CgroupVersion::One, WANTED.into_iter().filter(has).collect())
        }
        _ => return None,
    };
    let has_any = !controllers.is_empty();
    has_any.then_some(())?;
    let path = groups.lines().find_map(|group| {
        let (_, rest) = group.split_once(':')?;
        let (names, path) = rest.split_once(':')?;
        let is_match = match version {
            CgroupVersion::Two => names.is_empty(),
            CgroupVersion::One => names.split(',').any(|name| controllers.contains(&name)),
        };
        is_match.then_some(path)
    })?;
    // In a container only a subtree may be mounted, and our own cgroup can be outside of it.
    let relative_path = Path::new(path).strip_prefix(root).ok()?;
    let own_group = mount.join(relative_path);
    let is_inside = !path.split('/').any(|component| component == "..");
    is_inside.then_some(Hierarchy {
        version,
        controllers,
        mount,
        own_group,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_both_versions() {
        let mounts = "\
            31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
            32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
            35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
            40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
        let groups = "4:memory:/a/b\n1:cpu,cpuacct:/\n9:name=systemd:/x\n0::/c\n";
        let found = parse(mounts, groups);
        let found_groups: Vec<(CgroupVersion, &[&str], &str)> = found
            .iter()
            .map(|tree| {
                let own_group = tree.own_group.to_str().unwrap();
                (tree.version, &tree.controllers[..], own_group)
            })
            .collect();
        let expected: [(CgroupVersion, &[&str], &str); 3] = [
            (CgroupVersion::One, &["cpu"], "/sys/fs/cgroup/cpu,cpuacct/"),
            (CgroupVersion::One, &["memory"], "/sys/fs/cgroup/memory/a/b"),
            (CgroupVersion::Two, &WANTED, "/sys/fs/cgroup/unified/c"),
        ];
        assert_eq!(found_groups, expected);
    }

    #[test]
    fn resolves_the_group_in_a_container_s_subtree() {
        let mount = |root: &str| {
            format!("31 23 0:28 {root} /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n")
        };
        let own_group = |root: &str, group: &str| {
            let found = parse(&mount(root), &format!("0::{group}\n"));
            found.first().map(|tree| tree.own_group.clone())
        };
        let at = |path: &str| Some(PathBuf::from(path));
        assert_eq!(own_group("/docker/x", "/docker/x"), at("/sys/fs/cgroup/"));
        assert_eq!(
            own_group("/docker/x", "/docker/x/y"),
            at("/sys/fs/cgroup/y")
        );
        assert_eq!(own_group("/", "/"), at("/sys/fs/cgroup/"));
        assert_eq!(own_group("/docker/x", "/other"), None);
        assert_eq!(own_group("/", "/../above"), None);
    }
}
