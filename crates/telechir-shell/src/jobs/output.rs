//! What a job said and how it ended, shared with those who listen to it.

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
use crate::running::both;
use crate::spool::Spools;

/// Bytes of each output that are kept between two reads, beside the file.
const KEPT: usize = 64 * 1024;
const PROMPT_MAX: usize = 512;
const CHUNK: usize = 64 * 1024;

/// Where words came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Voice {
    Out,
    Err,
    Terminal,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Code(i32),
    Killed,
}

/// What was heard since the last read.
#[derive(Debug)]
struct Heard {
    captures: [Capture; 3],
    echo: VecDeque<u8>,
    last: Voice,
    prompt: String,
    spoke: Instant,
    end: Option<Ended>,
}

/// The same for all who listen.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    heard: Arc<Mutex<Heard>>,
    word: Arc<Notify>,
}

fn captures(spools: &Spools) -> [Capture; 3] {
    [
        Capture::spooled(KEPT, spools),
        Capture::spooled(KEPT, spools),
        Capture::new(KEPT),
    ]
}

impl Shared {
    pub(super) fn new(spools: &Spools) -> Self {
        let heard = Heard {
            captures: captures(spools),
            echo: VecDeque::new(),
            last: Voice::Out,
            prompt: String::new(),
            spoke: Instant::now(),
            end: None,
        };
        Self {
            heard: Arc::new(Mutex::new(heard)),
            word: Arc::new(Notify::new()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads once, under the lock, so that two readers keep the order.
    pub(super) fn read(&self, output: BorrowedFd<'_>, voice: Voice) -> io::Result<usize> {
        let mut buffer = [0; CHUNK];
        let mut heard = self.lock();
        let read = rustix::io::read(output, &mut buffer)?;
        heard.hear(&buffer[..read], voice);
        self.word.notify_waiters();
        Ok(read)
    }

    /// Reads what is there by now.
    pub(super) fn drain(&self, output: BorrowedFd<'_>, voice: Voice) {
        let mut left = PIPE_BYTES;
        while let Ok(read @ 1..) = self.read(output, voice) {
            left = left.saturating_sub(read);
            if left == 0 {
                break;
            }
        }
    }

    pub(super) fn hear(&self, bytes: &[u8], voice: Voice) {
        self.lock().hear(bytes, voice);
        self.word.notify_waiters();
    }

    /// Waits for the next word, or the end.
    pub(super) async fn word(&self) {
        self.word.notified().await;
    }

    pub(super) fn expect_echo(&self, bytes: &[u8]) {
        self.lock().echo = bytes.iter().copied().collect();
    }

    pub(super) fn spoke_since(&self, since: Instant) -> bool {
        self.lock().spoke > since
    }

    pub(super) fn end(&self) -> Option<Ended> {
        self.lock().end
    }

    /// The first end counts.
    pub(super) fn end_with(&self, ended: Ended) {
        self.lock().end.get_or_insert(ended);
        self.word.notify_waiters();
    }

    /// What it asks.
    pub(super) fn prompt(&self) -> String {
        self.lock().prompt()
    }

    /// What was heard, at most so many bytes, and begins anew.
    pub(super) fn take(&self, max: usize, spools: &Spools) -> [Captured; 2] {
        let mut heard = self.lock();
        // Asked for later, it is still known.
        heard.prompt();
        let [mut out, mut err, mut terminal] =
            std::mem::replace(&mut heard.captures, captures(spools));
        drop(heard);
        let [out, mut err] = both(&mut out, &mut err, max);
        if !terminal.is_empty() {
            let said = terminal.captured(max / 4);
            err.truncated_bytes += said.truncated_bytes;
            let words = said.text.trim_end();
            err.text = format!("{}[said to the terminal:]\n{words}\n", err.text);
        }
        [out, err]
    }
}

impl Heard {
    fn prompt(&mut self) -> String {
        let voice = &self.captures[self.last as usize];
        if !voice.is_empty() {
            self.prompt = prompt::of(&voice.tail(PROMPT_MAX));
        }
        self.prompt.clone()
    }

    fn hear(&mut self, bytes: &[u8], voice: Voice) {
        let mut words = bytes;
        if voice == Voice::Terminal {
            let shown = words
                .iter()
                .zip(&self.echo)
                .take_while(|(said, typed)| said == typed);
            let shown = shown.count();
            self.echo.drain(..shown);
            words = &words[shown..];
        }
        if !words.is_empty() {
            self.captures[voice as usize].push(words);
            self.last = voice;
            self.spoke = Instant::now();
        }
    }
}

/// Waits until so many words, each with a zero byte behind it, were said, and gives the last.
pub(super) async fn words(said: &Readiness, count: usize) -> io::Result<String> {
    let mut bytes = Vec::new();
    loop {
        let mut byte = [0];
        // One at a time: what follows belongs to who waits next.
        if said.read(|fd| Ok(rustix::io::read(fd, &mut byte)?)).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend(byte);
        let ends = bytes.iter().filter(|byte| **byte == 0).count();
        if ends == count {
            bytes.pop();
            let last = bytes.rsplit(|byte| *byte == 0).next().unwrap_or_default();
            return Ok(String::from_utf8_lossy(last).into_owned());
        }
    }
}

/// The code that was said as the last thing, if it was.
pub(super) fn last_word(said: &Readiness) -> Option<i32> {
    let bytes = read_now(said.as_fd());
    let text = String::from_utf8_lossy(&bytes).into_owned();
    text.trim_end_matches('\0').parse().ok()
}
