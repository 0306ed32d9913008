//! The pseudo-terminal from which bash reads its lines.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, ptsname, unlockpt};
use rustix::termios::{
    LocalModes, OptionalActions, OutputModes, QueueSelector, Termios, Winsize, tcflush, tcgetattr,
    tcgetpgrp, tcgetsid, tcsetattr, tcsetwinsize,
};
use telechir_process::{Identity, Pid, Readiness};

/// Input modes of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TerminalModes {
    /// Whether input is echoed.
    pub(crate) has_echo: bool,
    /// Whether programs receive input by lines.
    pub(crate) is_canonical: bool,
}

const FLAGS: OpenptFlags = OpenptFlags::RDWR
    .union(OpenptFlags::NOCTTY)
    .union(OpenptFlags::CLOEXEC);

/// Maximum length of a line in canonical mode, in bytes.
pub(crate) const MAX_LINE_BYTES: usize = 4095;

/// Our side of a pseudo-terminal.
#[derive(Debug)]
pub(crate) struct Pty {
    master: OwnedFd,
    /// The other side, needed to discard unread input.
    slave: OwnedFd,
    modes: Termios,
}

impl Pty {
    /// Opens a terminal whose other side belongs to `owner`; returns that side, too.
    pub(crate) fn open(owner: Option<Identity>) -> io::Result<(Self, OwnedFd)> {
        let terminal = Self::with(openpt(FLAGS)?, owner)?;
        let slave = terminal.slave.try_clone()?;
        Ok((terminal, slave))
    }

    /// Opens a terminal with this `ptmx` device; returns the name of its other side in that
    /// device's `/dev/pts`.
    pub(crate) fn open_by(maker: &Path, owner: Option<Identity>) -> io::Result<(Self, String)> {
        let access = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let master = rustix::fs::open(maker, access, Mode::empty())?;
        let name = ptsname(&master, Vec::new())?;
        let terminal = Self::with(master, owner)?;
        Ok((terminal, name.to_string_lossy().into_owned()))
    }

    fn with(master: OwnedFd, owner: Option<Identity>) -> io::Result<Self> {
        let flags = FLAGS;
        grantpt(&master)?;
        unlockpt(&master)?;
        let slave = ioctl_tiocgptpeer(&master, flags)?;
        if let Some(owner) = owner {
            rustix::fs::fchown(
                &slave,
                Some(Uid::from_raw(owner.uid)),
                Some(Gid::from_raw(owner.gid)),
            )?;
        }
        let mut modes = tcgetattr(&slave)?;
        // Echo is on, because programs that read a password switch it off; output stays
        // unprocessed.
        modes.local_modes.insert(LocalModes::ECHO);
        modes.output_modes.remove(OutputModes::OPOST);
        tcsetattr(&slave, OptionalActions::Now, &modes)?;
        tcsetwinsize(
            &slave,
            Winsize {
                ws_row: 24,
                ws_col: 80,
                ws_xpixel: 0,
                ws_ypixel: 0,
            },
        )?;
        rustix::io::ioctl_fionbio(&master, true)?;
        Ok(Self {
            master,
            slave,
            modes,
        })
    }

    /// Types a line, after discarding unread input and restoring the modes.
    pub(crate) async fn type_line(&self, line: &str) -> io::Result<()> {
        tcflush(&self.slave, QueueSelector::IFlush)?;
        tcsetattr(&self.slave, OptionalActions::Now, &self.modes)?;
        self.send(line.as_bytes()).await
    }

    /// Types bytes; waits while the terminal's input queue is full.
    pub(crate) async fn send(&self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        let mut readiness = None;
        while !rest.is_empty() {
            let written = match (rustix::io::write(&self.master, rest), &readiness) {
                (Ok(written), _) => written,
                (Err(Errno::WOULDBLOCK), None) => {
                    readiness = Some(Readiness::both(self.master.try_clone()?)?);
                    continue;
                }
                (Err(Errno::WOULDBLOCK), Some(readiness)) => {
                    readiness
                        .write(|fd| Ok(rustix::io::write(fd, rest)?))
                        .await?
                }
                (Err(errno), _) => return Err(errno.into()),
            };
            rest = &rest[written..];
        }
        Ok(())
    }

    /// Registers terminal output with the runtime, as long as the reader exists.
    pub(crate) fn listen(&self) -> io::Result<PtyReader> {
        Ok(PtyReader(Readiness::reading(self.master.try_clone()?)?))
    }

    /// Reads the available output without blocking.
    pub(crate) fn read_now(&self, buffer: &mut [u8]) -> io::Result<usize> {
        read_open(self.master.as_fd(), buffer)
    }

    /// The current input modes.
    pub(crate) fn modes_now(&self) -> io::Result<TerminalModes> {
        let modes = tcgetattr(&self.slave)?.local_modes;
        Ok(TerminalModes {
            has_echo: modes.contains(LocalModes::ECHO),
            is_canonical: modes.contains(LocalModes::ICANON),
        })
    }

    /// Number of typed bytes that no program has read yet.
    pub(crate) fn unread(&self) -> u64 {
        rustix::io::ioctl_fionread(&self.slave).unwrap_or(0)
    }

    /// The foreground process group.
    pub(crate) fn foreground(&self) -> io::Result<Pid> {
        Ok(tcgetpgrp(&self.master)?)
    }

    /// The leader of its session, which is bash.
    pub(crate) fn leader(&self) -> io::Result<Pid> {
        Ok(tcgetsid(&self.master)?)
    }
}

/// Reads what programs write to the terminal itself.
#[derive(Debug)]
pub(crate) struct PtyReader(Readiness);

impl PtyReader {
    /// Reads once; returns 0 when the terminal's other side is closed.
    pub(crate) async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(|fd| read_open(fd, buffer)).await
    }
}

fn read_open(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    match rustix::io::read(fd, buffer) {
        // `EIO` means that the other side is closed.
        Err(Errno::IO) => Ok(0),
        other => Ok(other?),
    }
}
