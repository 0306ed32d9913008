//! A command that runs: its outputs, and the events that can happen to it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::io::Errno;
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

/// Without any output for so long, it may be waiting for input.
const QUIET_PERIOD: Duration = Duration::from_millis(150);
/// The looks get rarer up to this.
const MAX_QUIET_PERIOD: Duration = Duration::from_secs(2);
const READ_CHUNK: usize = 64 * 1024;
const TERMINAL_READ_CHUNK: usize = 4096;
/// For what is there when a command is over, which is little as a rule.
const DRAIN_CHUNK: usize = 8192;
/// Bytes of what programs say to the terminal itself.
const MAX_TERMINAL_BYTES: usize = 4096;
/// Bytes in which a prompt is looked for.
const MAX_PROMPT_BYTES: usize = 512;

/// What happened to a command.
#[derive(Debug)]
pub(crate) enum CommandEvent {
    /// It is over, and bash ready for the next.
    Reported(CommandReport),
    /// bash is over.
    Ended(ExitStatus),
    /// The deadline came first.
    TimeOver,
    /// It waits for someone to type this.
    Waiting(InputRequestKind),
}

/// Whether to look out for a command that waits for input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LookFor {
    /// Its end.
    End,
    /// Its end, and whether it waits for input.
    EndOrInput,
}

/// A command between its beginning and its result.
#[derive(Debug)]
pub(crate) struct RunningCommand {
    /// Bytes of both outputs together in a result.
    max: usize,
    out: CapturedStream,
    err: CapturedStream,
    terminal: CapturedStream,
    /// What the terminal will show back of what we typed.
    echo: VecDeque<u8>,
    /// Which of them spoke last.
    last_stream: StreamKind,
    /// What it asked last.
    prompt: String,
    input_wait: InputWaitDetector,
    /// Whether the last that was typed into it was a line without its end.
    pub(crate) has_open_line: bool,
    /// When it began, in the kernel's ticks.
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
    /// None when it is watched elsewhere.
    output: Option<Output>,
    /// Whether a program may still write to it.
    is_open: bool,
    capture: Capture,
    /// Made when there is something to wait for.
    buffer: Vec<u8>,
}

impl RunningCommand {
    /// Begins to watch a command with these outputs, of which `max` bytes are kept.
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
            since: processes::now(),
            started: Instant::now(),
        }
    }

    /// Expects the terminal to show these bytes back, which are no words of the command.
    pub(crate) fn expect_echo(&mut self, bytes: &[u8]) {
        self.echo = bytes.iter().copied().collect();
    }

    /// Keeps what the terminal said, but for what it only shows back.
    fn read_terminal(&mut self, received: &[u8]) {
        let echoed = received
            .iter()
            .zip(&self.echo)
            .take_while(|(received, typed)| received == typed);
        let echoed = echoed.count();
        self.echo.drain(..echoed);
        if echoed < received.len() {
            // Whatever else was typed is not shown any more.
            self.echo.clear();
            self.terminal.capture.push(&received[echoed..]);
            self.last_stream = StreamKind::Terminal;
        }
    }

    /// Reads on until something happens. Can be dropped and called again.
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
            // The deadline comes first: no flood of reports or outputs may hide it.
            tokio::select! {
                biased;
                () = sleep_until(deadline) => {
                    return Ok(channel.try_report().map_or(CommandEvent::TimeOver, CommandEvent::Reported));
                }
                report = channel.report(&control) => return Ok(CommandEvent::Reported(report?)),
                status = &mut ended => {
                    // A report may have been its last word.
                    return Ok(channel.try_report().map_or(CommandEvent::Ended(status?), CommandEvent::Reported));
                }
                read = self.out.read() => {
                    self.out.take(read?);
                    self.last_stream = StreamKind::Out;
                }
                read = self.err.read() => {
                    self.err.take(read?);
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

    /// Reads what is there without waiting.
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

    /// What it asks: the line it did not end, or its last words. Said again when it said no more.
    pub(crate) fn prompt(&mut self) -> String {
        let last = match self.last_stream {
            StreamKind::Out => &self.out,
            StreamKind::Err => &self.err,
            StreamKind::Terminal => &self.terminal,
        };
        // Two that speak at once are heard one after the other.
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

    /// Keeps so many bytes of output from here on, which begins anew.
    pub(crate) fn reset_output(&mut self, max: usize, spools: &Spools) {
        self.max = max;
        self.out.capture = Capture::spooled(max, spools);
        self.err.capture = Capture::spooled(max, spools);
        self.terminal.capture = Capture::new(MAX_TERMINAL_BYTES);
    }

    /// Its outputs so far, what it said to the terminal joined to the second.
    pub(crate) fn captured(&mut self) -> [Captured; 2] {
        let [out, mut err] = both(&mut self.out.capture, &mut self.err.capture, self.max);
        if !self.terminal.capture.is_empty() {
            let received = self.terminal.capture.captured(MAX_TERMINAL_BYTES);
            err.truncated_bytes += received.truncated_bytes;
            err.text = format!(
                "{}[said to the terminal:]\n{}\n",
                err.text,
                received.text.trim_end()
            );
        }
        [out, err]
    }

    /// Leaves outputs that are still open to those who keep the words of background jobs; gives
    /// them back when no program has one.
    pub(crate) fn detach(self, background_output: &mut BackgroundOutput) -> Option<[Output; 2]> {
        if !self.out.is_open && !self.err.is_open {
            return Some([self.out.output?, self.err.output?]);
        }
        for stream in [self.out, self.err] {
            if let Some(output) = stream.output.filter(|_| stream.is_open) {
                match output.watched() {
                    Ok(output) => background_output.add(output),
                    Err(error) => tracing::warn!(%error, "a job's words cannot be heard"),
                }
            }
        }
        None
    }
}

/// Both outputs within one bound: what the errors leave, and they leave half of it at least.
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

    /// Hands it to the runtime.
    fn listen(&mut self) -> io::Result<()> {
        if let Some(output) = self.output.take() {
            self.output = Some(Output::Watched(output.watched()?));
        }
        self.buffer.resize(READ_CHUNK, 0);
        Ok(())
    }

    /// Never, when it is closed.
    async fn read(&mut self) -> io::Result<usize> {
        let Some(Output::Watched(readiness)) = self.output.as_ref().filter(|_| self.is_open) else {
            return std::future::pending().await;
        };
        let buffer = &mut self.buffer;
        readiness
            .read(|fd| Ok(rustix::io::read(fd, &mut *buffer)?))
            .await
    }

    fn take(&mut self, read: usize) {
        self.capture.push(&self.buffer[..read]);
        if read == 0 {
            self.is_open = false;
        }
    }

    /// No more than a pipe holds: beyond that it is what a job in the background goes on to say.
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
