//! Tells which folders changed, as far as the kernel watches them for us.

use std::collections::{HashMap, HashSet};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

/// Changes of names in a folder, of its permissions, and its end.
const EVENTS: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);
const BUFFER_BYTES: usize = 64 << 10;

/// A watch on one folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Watch(i32);

/// Watched folders. The kernel limits their number; others must be compared with their stamp.
#[derive(Debug)]
pub(super) struct Watches {
    events: OwnedFd,
    /// A watch stays with a folder that is moved, and gets its new path when that is found.
    paths: HashMap<i32, PathBuf>,
}

impl Watches {
    /// No watches yet; `None` if the kernel has none for us.
    pub(super) fn new() -> Option<Self> {
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        Some(Self {
            events,
            paths: HashMap::new(),
        })
    }

    /// Watches an open folder from now on; `None` if the kernel does not.
    pub(super) fn watch(&mut self, folder: &OwnedFd, path: &Path) -> Option<Watch> {
        let opened = format!("/proc/self/fd/{}", folder.as_raw_fd());
        let watch = inotify::add_watch(&self.events, opened, EVENTS).ok()?;
        self.paths.insert(watch, path.to_owned());
        Some(Watch(watch))
    }

    /// Whether changes of a watched folder are reported with this path. If the folder around it was
    /// moved, they can be reported with another one.
    pub(super) fn reports(&self, watch: Watch, path: &Path) -> bool {
        self.paths.get(&watch.0).is_some_and(|known| known == path)
    }

    /// The watched folders that changed since the last call; `None` if the kernel lost events.
    pub(super) fn changed(&mut self) -> Option<HashSet<PathBuf>> {
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER_BYTES];
        let mut reader = Reader::new(&self.events, &mut buffer);
        let (mut changed, mut is_complete) = (HashSet::new(), true);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => break,
                Err(_) => return None,
            };
            is_complete &= !event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            let path = if event.events().contains(ReadFlags::IGNORED) {
                self.paths.remove(&event.wd())
            } else {
                self.paths.get(&event.wd()).cloned()
            };
            changed.extend(path);
        }
        is_complete.then_some(changed)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::tree;

    #[test]
    fn a_changed_folder_is_reported_once_with_its_path() {
        let top = tempfile::tempdir().unwrap();
        let path = Path::new("sub");
        fs::create_dir(top.path().join(path)).unwrap();
        let folder = tree::open_folder(&top.path().join(path)).unwrap();
        let mut watches = Watches::new().unwrap();
        let watch = watches.watch(&folder, path).unwrap();
        assert!(watches.reports(watch, path));
        assert!(!watches.reports(watch, Path::new("other")));
        assert_eq!(watches.changed(), Some(HashSet::new()));
        fs::write(top.path().join("sub/new"), "").unwrap();
        let changed = HashSet::from([path.to_owned()]);
        assert_eq!(watches.changed(), Some(changed.clone()));
        assert_eq!(watches.changed(), Some(HashSet::new()));
        drop(folder);
        fs::remove_dir_all(top.path().join(path)).unwrap();
        assert_eq!(watches.changed(), Some(changed));
        assert!(!watches.reports(watch, path));
    }

    #[test]
    fn it_is_known_that_events_were_lost() {
        let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
        let limit: usize = limit.trim().parse().unwrap();
        let top = tempfile::tempdir().unwrap();
        let files = ["a", "b"].map(|name| top.path().join(name));
        for file in &files {
            fs::write(file, "").unwrap();
        }
        let folder = tree::open_folder(top.path()).unwrap();
        let mut watches = Watches::new().unwrap();
        watches.watch(&folder, Path::new("")).unwrap();
        // The kernel joins equal events that follow each other.
        for file in files.iter().cycle().take(limit + 1) {
            fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
        }
        assert_eq!(watches.changed(), None);
        assert_eq!(watches.changed(), Some(HashSet::new()));
    }
}
