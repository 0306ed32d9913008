//! A running command: its outputs and its events.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use telechir_device::OutputObserver;
use telechir_protocol::InputRequestKind;
use tokio::time::{Instant, sleep_until};

use crate::background_output::BackgroundOutput;
use crate::capture::{Capture, Captured};
use crate::control_channel::{CommandReport, PIPE_BYTES};
use crate::input_wait::InputWaitDetector;
use crate::output::Output;
use crate::processes;
use crate::prompt;
use crate::session::ShellSession;
use crate::spool::Spools;
use crate::terminal::Pty;

/// Time without output after which the command is checked for waiting for input.
const QUIET_PERIOD: Duration = Duration::from_millis(150);
/// Maximum of this time, which doubles with each check.
const MAX_QUIET_PERIOD: Duration = Duration::from_secs(2);
const READ_CHUNK: usize = 64 * 1024;
const TERMINAL_READ_CHUNK: usize = 4096;
/// Buffer size for the remaining output at the end of a command, which is usually short.
const DRAIN_CHUNK: usize = 8192;
/// Retained bytes of what programs write to the terminal itself.
const MAX_TERMINAL_BYTES: usize = 4096;
/// Number of last bytes that are searched for a prompt.
const MAX_PROMPT_BYTES: usize = 512;

/// An event of a running command.
#[derive(Debug)]
pub(crate) enum CommandEvent {
    /// The command ended, and bash is ready for the next one.
    Reported(CommandReport),
    /// bash exited.
    Ended(ExitStatus),
    /// The deadline passed.
    TimeOver,
    /// The command waits for terminal input of this kind.
    Waiting(InputRequestKind),
}

/// The events to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LookFor {
    /// The end of the command.
    End,
    /// The end of the command, or that it waits for input.
    EndOrInput,
}

/// A command between its start and its result.
#[derive(Debug)]
pub(crate) struct RunningCommand {
    /// Maximum number of bytes of both outputs in a result.
    max: usize,
    out: CapturedStream,
    err: CapturedStream,
    terminal: CapturedStream,
    /// Bytes that the terminal will echo.
    echo: VecDeque<u8>,
    /// The stream of the newest output.
    last_stream: StreamKind,
    /// The newest prompt.
    prompt: String,
    input_wait: InputWaitDetector,
    /// Whether the last input ended with an unfinished line.
    pub(crate) has_open_line: bool,
    /// Gets the output as it is read.
    observer: Option<Arc<dyn OutputObserver>>,
    /// Start of the command in the kernel's ticks.
    pub(crate) since: u64,
    pub(crate) started: Instant,
}

/// The stream on which output arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamKind {
    Out,
    Err,
    Terminal,
}

#[derive(Debug)]
struct CapturedStream {
    /// `None` if it is read elsewhere.
    output: Option<Output>,
    /// Whether a program can still write to it.
    is_open: bool,
    capture: Capture,
    /// Allocated at the first wait.
    buffer: Vec<u8>,
}

impl RunningCommand {
    /// Creates the state of a command with these outputs, retaining up to `max` bytes.
    pub(crate) fn new(outputs: [OwnedFd; 2], max: usize, spools: &Spools) -> Self {
        let [out, err] = outputs;
        let capture = || Capture::spooled(max, spools);
        Self {
            max,
            out: CapturedStream::new(Some(Output::Plain(out)), capture()),
            err: CapturedStream::new(Some(Output::Plain(err)), capture()),
            terminal: CapturedStream::new(None, Capture::new(MAX_TERMINAL_BYTES)),
            echo: VecDeque::new(),
            last_stream: StreamKind::Out,
            prompt: String::new(),
            input_wait: InputWaitDetector::default(),
            has_open_line: false,
            observer: None,
            since: processes::now(),
            started: Instant::now(),
        }
    }

    /// Sets who gets the output as it is read.
    pub(crate) fn observe(&mut self, observer: Option<Arc<dyn OutputObserver>>) {
        self.observer = observer;
    }

    /// Sets the bytes that the terminal will echo, which are not output of the command.
    pub(crate) fn expect_echo(&mut self, bytes: &[u8]) {
        self.echo = bytes.iter().copied().collect();
    }

    /// Records terminal output, except for the echo of typed input.
    fn read_terminal(&mut self, received: &[u8]) {
        let echoed = received
            .iter()
            .zip(&self.echo)
            .take_while(|(received, typed)| received == typed);
        let echoed = echoed.count();
        self.echo.drain(..echoed);
        if echoed < received.len() {
            // After other output, the rest of the input is no longer echoed.
            self.echo.clear();
            self.terminal.capture.push(&received[echoed..]);
            if let Some(observer) = &self.observer {
                observer.output(&received[echoed..]);
            }
            self.last_stream = StreamKind::Terminal;
        }
    }

    /// Waits for the next event and reads output in the meantime. Cancel safe.
    pub(crate) async fn next_event(
        &mut self,
        session: &mut ShellSession,
        deadline: Instant,
        look_for: LookFor,
    ) -> io::Result<CommandEvent> {
        let ShellSession {
            child,
            terminal,
            channel,
            ..
        } = session;
        let (control, listener) = (channel.listen()?, terminal.listen()?);
        self.out.listen()?;
        self.err.listen()?;
        let mut buffer = [0; TERMINAL_READ_CHUNK];
        let mut ended = pin!(child.wait());
        let (mut quiet, mut check_at) = (QUIET_PERIOD, Instant::now() + QUIET_PERIOD);
        loop {
            // The deadline is checked first, so that no flood of reports or output hides it.
            tokio::select! {
                biased;
                () = sleep_until(deadline) => {
                    return Ok(channel.try_report().map_or(CommandEvent::TimeOver, CommandEvent::Reported));
                }
                report = channel.report(&control) => return Ok(CommandEvent::Reported(report?)),
                status = &mut ended => {
                    // bash may have reported just before it exited.
                    return Ok(channel.try_report().map_or(CommandEvent::Ended(status?), CommandEvent::Reported));
                }
                read = self.out.read() => {
                    self.out.take(read?, self.observer.as_deref());
                    self.last_stream = StreamKind::Out;
                }
                read = self.err.read() => {
                    self.err.take(read?, self.observer.as_deref());
                    self.last_stream = StreamKind::Err;
                }
                read = listener.read(&mut buffer) => match read? {
                    0 => tokio::task::yield_now().await,
                    read => self.read_terminal(&buffer[..read]),
                },
                () = sleep_until(check_at), if look_for == LookFor::EndOrInput => {
                    if let Some(kind) = self.input_wait.check(terminal) {
                        let waiting = CommandEvent::Waiting(kind);
                        return Ok(channel.try_report().map_or(waiting, CommandEvent::Reported));
                    }
                    quiet = (quiet * 2).min(MAX_QUIET_PERIOD);
                    check_at = Instant::now() + quiet;
                    continue;
                }
            }
            quiet = QUIET_PERIOD;
            check_at = Instant::now() + quiet;
        }
    }

    /// Reads the available output without blocking.
    pub(crate) fn drain(&mut self, terminal: Option<&Pty>) {
        self.out.drain();
        self.err.drain();
        let mut buffer = [0; TERMINAL_READ_CHUNK];
        while let Some(read @ 1..) =
            terminal.and_then(|terminal| terminal.read_now(&mut buffer).ok())
        {
            self.read_terminal(&buffer[..read]);
        }
    }

    /// The command's prompt: its unfinished line or last question. Unchanged without new output.
    pub(crate) fn prompt(&mut self) -> String {
        let last = match self.last_stream {
            StreamKind::Out => &self.out,
            StreamKind::Err => &self.err,
            StreamKind::Terminal => &self.terminal,
        };
        // With output on several streams, the others are searched after the newest.
        let streams = [last, &self.terminal, &self.err, &self.out];
        let mut captures = streams.into_iter().map(|stream| &stream.capture);
        if captures.clone().any(|capture| !capture.is_empty()) {
            let prompt = captures.find_map(|capture| {
                Some(prompt::extract(&capture.tail(MAX_PROMPT_BYTES)))
                    .filter(|prompt| !prompt.is_empty())
            });
            self.prompt = prompt.unwrap_or_default();
        }
        self.prompt.clone()
    }

    /// Restarts capturing with this limit.
    pub(crate) fn reset_output(&mut self, max: usize, spools: &Spools) {
        self.max = max;
        self.out.capture = Capture::spooled(max, spools);
        self.err.capture = Capture::spooled(max, spools);
        self.terminal.capture = Capture::new(MAX_TERMINAL_BYTES);
    }

    /// The outputs so far; terminal output is appended to stderr.
    pub(crate) fn captured(&mut self) -> [Captured; 2] {
        let [out, mut err] = both(&mut self.out.capture, &mut self.err.capture, self.max);
        if !self.terminal.capture.is_empty() {
            let received = self.terminal.capture.captured(MAX_TERMINAL_BYTES);
            err.truncated_bytes += received.truncated_bytes;
            err.text = format!(
                "{}[written to the terminal:]\n{}\n",
                err.text,
                received.text.trim_end()
            );
        }
        [out, err]
    }

    /// Hands open outputs to the background reader; returns them for reuse if no program has them
    /// open.
    pub(crate) fn detach(self, background_output: &mut BackgroundOutput) -> Option<[Output; 2]> {
        if !self.out.is_open && !self.err.is_open {
            return Some([self.out.output?, self.err.output?]);
        }
        for stream in [self.out, self.err] {
            if let Some(output) = stream.output.filter(|_| stream.is_open) {
                match output.watched() {
                    Ok(output) => background_output.add(output),
                    Err(error) => {
                        tracing::warn!(%error, "failed to read a background process's output")
                    }
                }
            }
        }
        None
    }
}

/// Both outputs within a common limit, of which stderr gets at least half if it needs it.
pub(crate) fn both(out: &mut Capture, err: &mut Capture, max: usize) -> [Captured; 2] {
    let length = |capture: &Capture| usize::try_from(capture.total()).unwrap_or(usize::MAX);
    let for_err = length(err).min((max / 2).max(max.saturating_sub(length(out))));
    [out.captured(max - for_err), err.captured(for_err)]
}

impl CapturedStream {
    const fn new(output: Option<Output>, capture: Capture) -> Self {
        Self {
            is_open: output.is_some(),
            output,
            capture,
            buffer: Vec::new(),
        }
    }

    /// Registers it with the async runtime.
    fn listen(&mut self) -> io::Result<()> {
        if let Some(output) = self.output.take() {
            self.output = Some(Output::Watched(output.watched()?));
        }
        self.buffer.resize(READ_CHUNK, 0);
        Ok(())
    }

    /// Reads once; never returns if the stream is closed.
    async fn read(&mut self) -> io::Result<usize> {
        let Some(Output::Watched(readiness)) = self.output.as_ref().filter(|_| self.is_open) else {
            return std::future::pending().await;
        };
        let buffer = &mut self.buffer;
        readiness
            .read(|fd| Ok(rustix::io::read(fd, &mut *buffer)?))
            .await
    }

    fn take(&mut self, read: usize, observer: Option<&dyn OutputObserver>) {
        self.capture.push(&self.buffer[..read]);
        if let Some(observer) = observer {
            observer.output(&self.buffer[..read]);
        }
        if read == 0 {
            self.is_open = false;
        }
    }

    /// Reads at most one pipe's content: later bytes belong to background processes.
    fn drain(&mut self) {
        let mut left = PIPE_BYTES;
        let mut rest = [0; DRAIN_CHUNK];
        while let Some(output) = self.output.as_ref().filter(|_| left > 0 && self.is_open) {
            match rustix::io::read(output.as_fd(), &mut rest) {
                Ok(0) => self.is_open = false,
                Ok(read) => {
                    left = left.saturating_sub(read);
                    self.capture.push(&rest[..read]);
                }
                Err(Errno::WOULDBLOCK) => break,
                Err(_) => self.is_open = false,
            }
        }
    }
}
