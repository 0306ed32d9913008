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

use crate::background_output::Late;
use crate::capture::{Capture, Captured};
use crate::control_channel::{PIPE_BYTES, Report};
use crate::input_wait::Watcher;
use crate::output::Output;
use crate::processes;
use crate::prompt;
use crate::session::Session;
use crate::spool::Spools;
use crate::terminal::Terminal;

/// Without any output for so long, it may be waiting for input.
const QUIET: Duration = Duration::from_millis(150);
/// The looks get rarer up to this.
const QUIET_MAX: Duration = Duration::from_secs(2);
const CHUNK: usize = 64 * 1024;
const TERMINAL_CHUNK: usize = 4096;
/// For what is there when a command is over, which is little as a rule.
const REST: usize = 8192;
/// Bytes of what programs say to the terminal itself.
const TERMINAL_KEPT: usize = 4096;
/// Bytes in which a prompt is looked for.
const PROMPT_MAX: usize = 512;

/// What happened to a command.
#[derive(Debug)]
pub(crate) enum Event {
    /// It is over, and bash ready for the next.
    Reported(Report),
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
pub(crate) struct Running {
    /// Bytes of both outputs together in a result.
    max: usize,
    out: Stream,
    err: Stream,
    terminal: Stream,
    /// What the terminal will show back of what we typed.
    echo: VecDeque<u8>,
    /// Which of them spoke last.
    last: Voice,
    /// What it asked last.
    prompt: String,
    watcher: Watcher,
    /// Whether the last that was typed into it was a line without its end.
    pub(crate) has_open_line: bool,
    /// When it began, in the kernel's ticks.
    pub(crate) since: u64,
    pub(crate) started: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Voice {
    Out,
    Err,
    Terminal,
}

#[derive(Debug)]
struct Stream {
    /// None when it is watched elsewhere.
    output: Option<Output>,
    /// Whether a program may still write to it.
    is_open: bool,
    capture: Capture,
    /// Made when there is something to wait for.
    buffer: Vec<u8>,
}

impl Running {
    /// Begins to watch a command with these outputs, of which `max` bytes are kept.
    pub(crate) fn new(outputs: [OwnedFd; 2], max: usize, spools: &Spools) -> Self {
        let [out, err] = outputs;
        let capture = || Capture::spooled(max, spools);
        Self {
            max,
            out: Stream::new(Some(Output::Plain(out)), capture()),
            err: Stream::new(Some(Output::Plain(err)), capture()),
            terminal: Stream::new(None, Capture::new(TERMINAL_KEPT)),
            echo: VecDeque::new(),
            last: Voice::Out,
            prompt: String::new(),
            watcher: Watcher::default(),
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
    fn hear(&mut self, said: &[u8]) {
        let shown = said
            .iter()
            .zip(&self.echo)
            .take_while(|(said, typed)| said == typed);
        let shown = shown.count();
        self.echo.drain(..shown);
        if shown < said.len() {
            // Whatever else was typed is not shown any more.
            self.echo.clear();
            self.terminal.capture.push(&said[shown..]);
            self.last = Voice::Terminal;
        }
    }

    /// Reads on until something happens. Can be dropped and called again.
    pub(crate) async fn follow(
        &mut self,
        session: &mut Session,
        deadline: Instant,
        look_for: LookFor,
    ) -> io::Result<Event> {
        let Session {
            child,
            terminal,
            exchange,
            ..
        } = session;
        let (control, listener) = (exchange.listen()?, terminal.listen()?);
        self.out.listen()?;
        self.err.listen()?;
        let mut words = [0; TERMINAL_CHUNK];
        let mut ended = pin!(child.wait());
        let (mut quiet, mut look) = (QUIET, Instant::now() + QUIET);
        loop {
            // The deadline comes first: no flood of reports or outputs may hide it.
            tokio::select! {
                biased;
                () = sleep_until(deadline) => {
                    return Ok(exchange.try_report().map_or(Event::TimeOver, Event::Reported));
                }
                report = exchange.report(&control) => return Ok(Event::Reported(report?)),
                status = &mut ended => {
                    // A report may have been its last word.
                    return Ok(exchange.try_report().map_or(Event::Ended(status?), Event::Reported));
                }
                read = self.out.read() => {
                    self.out.take(read?);
                    self.last = Voice::Out;
                }
                read = self.err.read() => {
                    self.err.take(read?);
                    self.last = Voice::Err;
                }
                read = listener.read(&mut words) => match read? {
                    0 => tokio::task::yield_now().await,
                    read => self.hear(&words[..read]),
                },
                () = sleep_until(look), if look_for == LookFor::EndOrInput => {
                    if let Some(kind) = self.watcher.look(terminal) {
                        let waiting = Event::Waiting(kind);
                        return Ok(exchange.try_report().map_or(waiting, Event::Reported));
                    }
                    quiet = (quiet * 2).min(QUIET_MAX);
                    look = Instant::now() + quiet;
                    continue;
                }
            }
            quiet = QUIET;
            look = Instant::now() + quiet;
        }
    }

    /// Reads what is there without waiting.
    pub(crate) fn drain(&mut self, terminal: Option<&Terminal>) {
        self.out.drain();
        self.err.drain();
        let mut words = [0; TERMINAL_CHUNK];
        while let Some(read @ 1..) =
            terminal.and_then(|terminal| terminal.read_now(&mut words).ok())
        {
            self.hear(&words[..read]);
        }
    }

    /// What it asks: the line it did not end, or its last words. Said again when it said no more.
    pub(crate) fn prompt(&mut self) -> String {
        let spoke_last = match self.last {
            Voice::Out => &self.out,
            Voice::Err => &self.err,
            Voice::Terminal => &self.terminal,
        };
        // Two that speak at once are heard one after the other.
        let voices = [spoke_last, &self.terminal, &self.err, &self.out];
        let mut spoken = voices.into_iter().map(|stream| &stream.capture);
        if spoken.clone().any(|capture| !capture.is_empty()) {
            let asked = spoken.find_map(|capture| {
                Some(prompt::of(&capture.tail(PROMPT_MAX))).filter(|prompt| !prompt.is_empty())
            });
            self.prompt = asked.unwrap_or_default();
        }
        self.prompt.clone()
    }

    /// Keeps so many bytes of output from here on, which begins anew.
    pub(crate) fn begin_again(&mut self, max: usize, spools: &Spools) {
        self.max = max;
        self.out.capture = Capture::spooled(max, spools);
        self.err.capture = Capture::spooled(max, spools);
        self.terminal.capture = Capture::new(TERMINAL_KEPT);
    }

    /// Its outputs so far, what it said to the terminal joined to the second.
    pub(crate) fn captured(&mut self) -> [Captured; 2] {
        let [out, mut err] = both(&mut self.out.capture, &mut self.err.capture, self.max);
        if !self.terminal.capture.is_empty() {
            let said = self.terminal.capture.captured(TERMINAL_KEPT);
            err.truncated_bytes += said.truncated_bytes;
            err.text = format!(
                "{}[said to the terminal:]\n{}\n",
                err.text,
                said.text.trim_end()
            );
        }
        [out, err]
    }

    /// Leaves outputs that are still open to those who keep the words of background jobs; gives
    /// them back when no program has one.
    pub(crate) fn leave(self, late: &mut Late) -> Option<[Output; 2]> {
        if !self.out.is_open && !self.err.is_open {
            return Some([self.out.output?, self.err.output?]);
        }
        for stream in [self.out, self.err] {
            if let Some(output) = stream.output.filter(|_| stream.is_open) {
                match output.watched() {
                    Ok(output) => late.follow(output),
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

impl Stream {
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
        self.buffer.resize(CHUNK, 0);
        Ok(())
    }

    /// Never, when it is closed.
    async fn read(&mut self) -> io::Result<usize> {
        let Some(Output::Watched(watch)) = self.output.as_ref().filter(|_| self.is_open) else {
            return std::future::pending().await;
        };
        let buffer = &mut self.buffer;
        watch
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
        let mut rest = [0; REST];
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
