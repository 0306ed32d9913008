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

    /// Watches an open folder from now on; returns whether the kernel does.
    pub(super) fn watch(&mut self, folder: &OwnedFd, path: &Path) -> bool {
        let opened = format!("/proc/self/fd/{}", folder.as_raw_fd());
        let watch = inotify::add_watch(&self.events, opened, EVENTS);
        match watch {
            Ok(watch) => {
                self.paths.insert(watch, path.to_owned());
                true
            }
            Err(_) => false,
        }
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
