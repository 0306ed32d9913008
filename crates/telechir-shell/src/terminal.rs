//! The terminal that bash reads its lines from.

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

/// How a terminal treats what is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TerminalModes {
    /// Whether it shows it.
    pub(crate) has_echo: bool,
    /// Whether programs get it by lines.
    pub(crate) is_canonical: bool,
}

const FLAGS: OpenptFlags = OpenptFlags::RDWR
    .union(OpenptFlags::NOCTTY)
    .union(OpenptFlags::CLOEXEC);

/// The longest line that a terminal holds until its end comes.
pub(crate) const MAX_LINE_BYTES: usize = 4095;

/// Our side of it.
#[derive(Debug)]
pub(crate) struct Pty {
    master: OwnedFd,
    /// The other side too: only there can unread input be thrown away.
    slave: OwnedFd,
    modes: Termios,
}

impl Pty {
    /// A new terminal and its other side, which belongs to `owner`.
    pub(crate) fn open(owner: Option<Identity>) -> io::Result<(Self, OwnedFd)> {
        let terminal = Self::with(openpt(FLAGS)?, owner)?;
        let slave = terminal.slave.try_clone()?;
        Ok((terminal, slave))
    }

    /// A new terminal of this maker, and the name of its other side beside that.
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
        // What is typed is shown back, as programs that hide a password expect to switch off; and
        // output comes as it was written.
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

    /// Types a line. What an earlier command left unread or changed is put right first.
    pub(crate) async fn type_line(&self, line: &str) -> io::Result<()> {
        tcflush(&self.slave, QueueSelector::IFlush)?;
        tcsetattr(&self.slave, OptionalActions::Now, &self.modes)?;
        self.send(line.as_bytes()).await
    }

    /// Types bytes.
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

    /// What the runtime tells by of words to the terminal itself, as long as somebody listens.
    pub(crate) fn listen(&self) -> io::Result<PtyReader> {
        Ok(PtyReader(Readiness::reading(self.master.try_clone()?)?))
    }

    /// Reads what is there without waiting.
    pub(crate) fn read_now(&self, buffer: &mut [u8]) -> io::Result<usize> {
        read_open(self.master.as_fd(), buffer)
    }

    /// How it treats what is typed now.
    pub(crate) fn modes_now(&self) -> io::Result<TerminalModes> {
        let modes = tcgetattr(&self.slave)?.local_modes;
        Ok(TerminalModes {
            has_echo: modes.contains(LocalModes::ECHO),
            is_canonical: modes.contains(LocalModes::ICANON),
        })
    }

    /// How much of what was typed nobody read yet.
    pub(crate) fn unread(&self) -> u64 {
        rustix::io::ioctl_fionread(&self.slave).unwrap_or(0)
    }

    /// The group in the foreground.
    pub(crate) fn foreground(&self) -> io::Result<Pid> {
        Ok(tcgetpgrp(&self.master)?)
    }

    /// The leader of its session: bash.
    pub(crate) fn leader(&self) -> io::Result<Pid> {
        Ok(tcgetsid(&self.master)?)
    }
}

/// Hears what programs write to a terminal itself.
#[derive(Debug)]
pub(crate) struct PtyReader(Readiness);

impl PtyReader {
    /// Reads what they wrote; 0 when the terminal's other side is closed.
    pub(crate) async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(|fd| read_open(fd, buffer)).await
    }
}

fn read_open(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    match rustix::io::read(fd, buffer) {
        // How a terminal says that its other side is closed.
        Err(Errno::IO) => Ok(0),
        other => Ok(other?),
    }
}
