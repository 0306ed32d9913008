//! The guardian itself.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::{Pid, PidfdFlags, getpid, getppid, pidfd_open};

use super::link::hear;
use super::state::{Change, Ward};
use super::{GENTLE, files, kill, processes};
use crate::sys::exec::block_signals;

/// Everything is over so long after our end.
const CEILING: Duration = Duration::from_millis(1_800);
/// Of which processes may take so long.
const FOR_PROCESSES: Duration = Duration::from_millis(1_400);

/// What ends by itself with its owner, such as a browser that writes what pages stored, has so long for it.
const GRACE: Duration = Duration::from_secs(3);

/// What [`note`](super::note) left, by key.
pub type Notes = BTreeMap<String, String>;

/// Waits for the end of the process that started this one, then cleans up after it; says whether
/// nothing was left.
///
/// `release` gets the notes, on a thread of its own while processes are ended, and must be done
/// within a second. No signal but `SIGKILL` and `SIGSTOP` reaches this process from now on.
///
/// # Errors
/// When this process was not started as a guardian.
pub fn stand_watch(release: impl FnOnce(Notes) + Send) -> Result<bool, Errno> {
    block_signals();
    let _only_for_those_who_look = rustix::thread::set_name(c"telechir-guard");
    let mut watch = Watch::begin()?;
    watch.until_the_end();
    Ok(watch.clean(release))
}

struct Watch {
    ward: Ward,
}

impl Watch {
    fn begin() -> Result<Self, Errno> {
        let first = hear(rustix::stdio::stdin(), RecvFlags::empty())?;
        let ward = first.and_then(|message| Ward::begin(&message));
        Ok(Self {
            ward: ward.ok_or(Errno::PROTO)?,
        })
    }

    /// Takes in what it is told until the owner is gone, or ends the socket.
    fn until_the_end(&mut self) {
        let owner = Pid::from_raw(self.ward.owner);
        let pidfd = owner.and_then(|owner| pidfd_open(owner, PidfdFlags::empty()).ok());
        // Asked after the number was opened: if it is still our parent's, it was then.
        let Some(pidfd) = pidfd.filter(|_| getppid() == owner) else {
            while self.take_one() {}
            return;
        };
        let socket = rustix::stdio::stdin();
        loop {
            let mut fds = [
                PollFd::new(&socket, PollFlags::IN),
                PollFd::new(&pidfd, PollFlags::IN),
            ];
            match poll(&mut fds, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            let is_gone = !fds[1].revents().is_empty();
            while self.take_one() {}
            if is_gone || self.socket_ended() {
                return;
            }
        }
    }

    /// Takes in one message that is there.
    fn take_one(&mut self) -> bool {
        let Ok(Some(message)) = hear(rustix::stdio::stdin(), RecvFlags::DONTWAIT) else {
            return false;
        };
        if let Some(change) = Change::parse(&message) {
            self.ward.apply(change);
        }
        true
    }

    fn socket_ended(&self) -> bool {
        let flags = RecvFlags::DONTWAIT | RecvFlags::PEEK;
        !matches!(
            hear(rustix::stdio::stdin(), flags),
            Ok(Some(_)) | Err(Errno::AGAIN)
        )
    }

    fn clean(mut self, release: impl FnOnce(Notes) + Send) -> bool {
        let start = Instant::now();
        let us = getpid().as_raw_nonzero().get();
        let spared = [us, self.ward.owner];
        let notes = std::mem::take(&mut self.ward.notes);
        // After an orderly end there are none: they were ended before it.
        let start = if await_gentle(&notes) {
            Instant::now()
        } else {
            start
        };
        let ward = &self.ward;
        thread::scope(|scope| {
            if !notes.is_empty() {
                scope.spawn(|| release(notes));
            }
            let ended = kill::end_all(ward, &spared, start + FOR_PROCESSES);
            let removed = files::remove_all(ward, start + CEILING);
            let ungrouped = kill::remove_groups(ward, start + CEILING);
            ended && removed && ungrouped
        })
    }
}

/// Waits for programs that end by themselves when their parent did. Says whether there are any.
fn await_gentle(notes: &Notes) -> bool {
    let gentle: Vec<OwnedFd> = notes.iter().flat_map(gentle).collect();
    kill::wait(&gentle, GRACE);
    !gentle.is_empty()
}

/// The group that such a program leads: one of Chromium's other processes writes cookies, after
/// the first has ended.
fn gentle((key, began): (&String, &String)) -> Vec<OwnedFd> {
    let pid = key.strip_prefix(GENTLE).and_then(|pid| pid.parse().ok());
    // Before it is reaped its number is its own.
    let leader =
        pid.filter(|pid| processes::began(*pid).map(|it| it.to_string()).as_ref() == Some(began));
    leader.map(processes::in_group).unwrap_or_default()
}
