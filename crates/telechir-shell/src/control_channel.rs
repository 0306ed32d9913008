//! The session folder: commands for bash, and pipes for outputs and reports.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileExt, chown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, mkfifoat, open};
use telechir_process::{Identity, PrivateFolder, Readiness, guardian, let_read, make_private_file};

use crate::output::Output;

/// Maximum size of a report (number, exit code and path), in bytes.
const MAX_REPORT_BYTES: usize = 8192;
/// Name of the file with the command's text.
pub(crate) const COMMAND: &str = "command";
/// Capacity of our pipes, in bytes.
pub(crate) const PIPE_BYTES: usize = 1 << 20;

/// The session folder and its permanent pipes.
#[derive(Debug)]
pub(crate) struct ControlChannel {
    folder: PrivateFolder,
    inside: PathBuf,
    owner: Option<Identity>,
    control: OwnedFd,
    /// Receives what bash itself writes between commands; open for reading and writing.
    own: OwnedFd,
    partial: Vec<u8>,
    /// Number of the newest command; 0 before the first.
    number: u64,
    /// File with the text of the newest command.
    command: File,
    /// Number of the newest pair of output pipes.
    pair: u64,
    /// That pair, if no program has it open.
    free: Option<[Output; 2]>,
}

/// bash's report after each command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandReport {
    /// Exit code of the command.
    pub(crate) code: i32,
    /// Working directory after the command.
    pub(crate) cwd: String,
}

impl ControlChannel {
    /// Creates a folder under `parent` that bash sees at `inside`, or at the same path.
    pub(crate) fn new(
        parent: &Path,
        inside: Option<&str>,
        owner: Option<Identity>,
    ) -> io::Result<Self> {
        let folder = PrivateFolder::create(parent, &guardian::folder_prefix())?;
        let inside = inside.map_or_else(|| folder.path().to_owned(), PathBuf::from);
        if let Some(owner) = owner {
            // Writable for us, readable for the child's group, closed to others.
            folder.let_in(owner, true)?;
        }
        let fifo = |name| make_fifo(&folder.path().join(name), owner, OFlags::RDWR);
        let (control, own) = (fifo("control")?, fifo("own")?);
        let command = make_private_file(&folder.path().join(COMMAND))?;
        if let Some(owner) = owner {
            let_read(&command, owner)?;
        }
        Ok(Self {
            command,
            pair: 0,
            free: None,
            control,
            own,
            inside,
            owner,
            partial: Vec::new(),
            number: 0,
            folder,
        })
    }

    /// The folder's path outside the sandbox.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// User that bash runs as; `None` means our own.
    pub(crate) const fn owner(&self) -> Option<Identity> {
        self.owner
    }

    /// Path of a file in the folder, as bash sees it.
    pub(crate) fn inside(&self, name: &str) -> String {
        self.inside.join(name).to_string_lossy().into_owned()
    }

    /// Writes a file that bash can read, and no other user.
    pub(crate) fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let path = self.folder.path().join(name);
        match make_private_file(&path) {
            // It keeps the mode that it was made with.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => fs::write(&path, text),
            file => {
                let mut file = file?;
                file.write_all(text.as_bytes())?;
                self.owner.map_or(Ok(()), |owner| let_read(&file, owner))
            }
        }
    }

    /// Writes the text of the next command; bash has read the previous one completely.
    pub(crate) fn write_command(&self, text: &str) -> io::Result<()> {
        self.command.write_all_at(text.as_bytes(), 0)?;
        self.command.set_len(text.len() as u64)
    }

    /// Returns the pipes of a finished command for reuse.
    pub(crate) fn give_back(&mut self, outputs: [Output; 2]) {
        self.free = Some(outputs);
    }

    /// Returns the output pipes of the next command. Programs of earlier commands keep theirs.
    pub(crate) fn next(&mut self) -> io::Result<[OwnedFd; 2]> {
        self.number += 1;
        if let Some(free) = self.free.take() {
            // Reopened: a descriptor that has seen end-of-file keeps reporting it.
            let [out, err] = self.outputs();
            let open = |name| open_fifo(&self.folder.path().join(name), OFlags::RDONLY);
            let opened = [open(out)?, open(err)?];
            drop(free);
            return Ok(opened);
        }
        for name in self.outputs() {
            match fs::remove_file(self.folder.path().join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        self.pair += 1;
        let make = |name| make_fifo(&self.folder.path().join(name), self.owner, OFlags::RDONLY);
        let [out, err] = self.outputs();
        Ok([make(out)?, make(err)?])
    }

    /// Creates the pipes of a background job: stdout, stderr, its exit code, and the start signal.
    pub(crate) fn job(&self, name: &str) -> io::Result<[OwnedFd; 4]> {
        let make = |part: &str, access| {
            let path = self.folder.path().join(format!("{name}.{part}"));
            make_fifo(&path, self.owner, access)
        };
        let read = OFlags::RDONLY;
        // Opened for writing, too, so they never report end-of-file.
        Ok([
            make("out", read)?,
            make("err", read)?,
            make("end", OFlags::RDWR)?,
            make("go", OFlags::RDWR)?,
        ])
    }

    /// Number of the newest command.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// Number in the names of its output pipes.
    pub(crate) const fn pair(&self) -> u64 {
        self.pair
    }

    fn outputs(&self) -> [String; 2] {
        ["out", "err"].map(|name| format!("{name}{}", self.pair))
    }

    /// Registers the report pipe with the runtime while a report is awaited.
    pub(crate) fn listen(&self) -> io::Result<Readiness> {
        Readiness::reading(self.control.try_clone()?)
    }

    /// Waits for the report of the newest command. Cancel safe.
    pub(crate) async fn report(&mut self, control: &Readiness) -> io::Result<CommandReport> {
        loop {
            if let Some(report) = self.take_report() {
                return Ok(report);
            }
            let mut buffer = [0; 4096];
            let read = control
                .read(|fd| Ok(rustix::io::read(fd, &mut buffer)?))
                .await?;
            self.partial.extend_from_slice(&buffer[..read]);
            if self.partial.len() > MAX_REPORT_BYTES {
                self.partial.clear();
            }
        }
    }

    /// Polls for the report of a fast command in place: waking a runtime thread would take longer
    /// than such a command.
    pub(crate) fn report_within(&mut self, max_wait: Duration) -> Option<CommandReport> {
        let end = Instant::now() + max_wait;
        loop {
            let report = self.try_report();
            let left = end.saturating_duration_since(Instant::now());
            if report.is_some() || left.is_zero() {
                return report;
            }
            if left > max_wait / 2 {
                // Waking a sleeping processor takes longer than most commands; yielding still lets
                // other threads run.
                std::thread::yield_now();
                continue;
            }
            let left = Timespec::try_from(left).ok()?;
            let mut polled = [PollFd::new(&self.control, PollFlags::IN)];
            // An interrupted poll just shortens the wait.
            let _checked_again = poll(&mut polled, Some(&left));
        }
    }

    /// The report, if it has arrived.
    pub(crate) fn try_report(&mut self) -> Option<CommandReport> {
        let received = read_now(self.control.as_fd());
        self.partial.extend(received);
        self.take_report()
    }

    /// Discards old reports and bash's own output between commands.
    pub(crate) fn clear(&mut self) {
        let _between_commands = read_now(self.own.as_fd());
        let _old = read_now(self.control.as_fd());
        self.partial.clear();
    }

    fn take_report(&mut self) -> Option<CommandReport> {
        loop {
            let mut parts = self.partial.splitn(4, |byte| *byte == 0);
            let [number, code, cwd, rest] = std::array::from_fn(|_| parts.next());
            let number = std::str::from_utf8(number?)
                .ok()
                .and_then(|text| text.parse::<u64>().ok());
            let code = std::str::from_utf8(code?)
                .ok()
                .and_then(|text| text.parse().ok());
            let cwd = String::from_utf8_lossy(cwd?).into_owned();
            self.partial = rest?.to_vec();
            // A report with another number belongs to a prompt that did not end this command.
            if let (Some(number), Some(code)) = (number, code)
                && self.number == number
            {
                return Some(CommandReport { code, cwd });
            }
        }
    }
}

/// Reads the available bytes of a pipe, at most its capacity, so that an endless writer cannot
/// block this.
pub(crate) fn read_now(pipe: BorrowedFd<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while bytes.len() < PIPE_BYTES {
        match rustix::io::read(pipe, &mut buffer) {
            Ok(read @ 1..) => bytes.extend_from_slice(&buffer[..read]),
            Ok(_) | Err(_) => break,
        }
    }
    bytes
}

fn make_fifo(path: &Path, owner: Option<Identity>, access: OFlags) -> io::Result<OwnedFd> {
    mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR)?;
    if let Some(owner) = owner {
        chown(path, Some(owner.uid), Some(owner.gid))?;
    }
    let fd = open_fifo(path, access)?;
    // A larger pipe needs fewer wakeups; the default size works, too.
    let _best_effort = rustix::pipe::fcntl_setpipe_size(&fd, PIPE_BYTES);
    Ok(fd)
}

fn open_fifo(path: &Path, access: OFlags) -> io::Result<OwnedFd> {
    let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(open(path, flags, Mode::empty())?)
}
