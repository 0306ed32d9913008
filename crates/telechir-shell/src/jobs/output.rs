//! The output and the end of a job, shared by its readers.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use telechir_process::Readiness;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::capture::{Capture, Captured};
use crate::control_channel::{PIPE_BYTES, read_now};
use crate::prompt;
use crate::running::{StreamKind, both};
use crate::spool::Spools;

/// Retained bytes of each output between two reads, in addition to the file.
const MAX_RETAINED_BYTES: usize = 64 * 1024;
const MAX_PROMPT_BYTES: usize = 512;
const READ_CHUNK: usize = 64 * 1024;

/// How a background job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobEnd {
    Code(i32),
    Killed,
}

/// Output since the last read.
#[derive(Debug)]
struct JobOutput {
    captures: [Capture; 3],
    echo: VecDeque<u8>,
    last_stream: StreamKind,
    prompt: String,
    last_output: Instant,
    end: Option<JobEnd>,
}

/// A shared handle of [`JobOutput`] that signals changes.
#[derive(Clone, Debug)]
pub(super) struct SharedOutput {
    log: Arc<Mutex<JobOutput>>,
    changed: Arc<Notify>,
}

fn captures(spools: &Spools) -> [Capture; 3] {
    [
        Capture::spooled(MAX_RETAINED_BYTES, spools),
        Capture::spooled(MAX_RETAINED_BYTES, spools),
        Capture::new(MAX_RETAINED_BYTES),
    ]
}

impl SharedOutput {
    pub(super) fn new(spools: &Spools) -> Self {
        let log = JobOutput {
            captures: captures(spools),
            echo: VecDeque::new(),
            last_stream: StreamKind::Out,
            prompt: String::new(),
            last_output: Instant::now(),
            end: None,
        };
        Self {
            log: Arc::new(Mutex::new(log)),
            changed: Arc::new(Notify::new()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, JobOutput> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads once under the lock, so that concurrent readers keep the order.
    pub(super) fn read(&self, output: BorrowedFd<'_>, kind: StreamKind) -> io::Result<usize> {
        let mut buffer = [0; READ_CHUNK];
        let mut log = self.lock();
        let read = rustix::io::read(output, &mut buffer)?;
        log.push(&buffer[..read], kind);
        self.changed.notify_waiters();
        Ok(read)
    }

    /// Reads the available output, at most one pipe's content.
    pub(super) fn drain(&self, output: BorrowedFd<'_>, kind: StreamKind) {
        let mut left = PIPE_BYTES;
        while let Ok(read @ 1..) = self.read(output, kind) {
            left = left.saturating_sub(read);
            if left == 0 {
                break;
            }
        }
    }

    pub(super) fn push(&self, bytes: &[u8], kind: StreamKind) {
        self.lock().push(bytes, kind);
        self.changed.notify_waiters();
    }

    /// Waits for new output or the end.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    pub(super) fn expect_echo(&self, bytes: &[u8]) {
        self.lock().echo = bytes.iter().copied().collect();
    }

    pub(super) fn output_since(&self, since: Instant) -> bool {
        self.lock().last_output > since
    }

    pub(super) fn end(&self) -> Option<JobEnd> {
        self.lock().end
    }

    /// Sets how the job ended, unless that is known.
    pub(super) fn set_end(&self, ended: JobEnd) {
        self.lock().end.get_or_insert(ended);
        self.changed.notify_waiters();
    }

    /// The newest prompt of the job.
    pub(super) fn prompt(&self) -> String {
        self.lock().prompt()
    }

    /// Takes the output, up to `max` bytes, and restarts capturing.
    pub(super) fn take(&self, max: usize, spools: &Spools) -> [Captured; 2] {
        let mut log = self.lock();
        // Updates the prompt, which must survive the reset.
        log.prompt();
        let [mut out, mut err, mut terminal] =
            std::mem::replace(&mut log.captures, captures(spools));
        drop(log);
        let [out, mut err] = both(&mut out, &mut err, max);
        if !terminal.is_empty() {
            let fields = terminal.captured(max / 4);
            err.truncated_bytes += fields.truncated_bytes;
            let read_fields = fields.text.trim_end();
            err.text = format!("{}[written to the terminal:]\n{read_fields}\n", err.text);
        }
        [out, err]
    }
}

impl JobOutput {
    fn prompt(&mut self) -> String {
        let kind = &self.captures[self.last_stream as usize];
        if !kind.is_empty() {
            self.prompt = prompt::extract(&kind.tail(MAX_PROMPT_BYTES));
        }
        self.prompt.clone()
    }

    fn push(&mut self, bytes: &[u8], kind: StreamKind) {
        let mut read_fields = bytes;
        if kind == StreamKind::Terminal {
            let echoed = read_fields
                .iter()
                .zip(&self.echo)
                .take_while(|(fields, typed)| fields == typed);
            let echoed = echoed.count();
            self.echo.drain(..echoed);
            read_fields = &read_fields[echoed..];
        }
        if !read_fields.is_empty() {
            self.captures[kind as usize].push(read_fields);
            self.last_stream = kind;
            self.last_output = Instant::now();
        }
    }
}

/// Reads `count` fields, each terminated by a zero byte; returns the last one.
pub(super) async fn read_fields(fields: &Readiness, count: usize) -> io::Result<String> {
    let mut bytes = Vec::new();
    loop {
        let mut byte = [0];
        // Byte by byte: the bytes after these fields belong to the next reader.
        if fields
            .read(|fd| Ok(rustix::io::read(fd, &mut byte)?))
            .await?
            == 0
        {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend(byte);
        let ends = bytes.iter().filter(|byte| **byte == 0).count();
        if ends == count {
            bytes.pop();
            let last_stream = bytes.rsplit(|byte| *byte == 0).next().unwrap_or_default();
            return Ok(String::from_utf8_lossy(last_stream).into_owned());
        }
    }
}

/// The exit code, if it is the only content of the pipe.
pub(super) fn read_exit_code(fields: &Readiness) -> Option<i32> {
    let bytes = read_now(fields.as_fd());
    let text = String::from_utf8_lossy(&bytes).into_owned();
    text.trim_end_matches('\0').parse().ok()
}
