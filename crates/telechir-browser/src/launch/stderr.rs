//! The end of Chromium's stderr, for the message if it does not start.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::unix::pipe::Receiver;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tracing::debug;

use crate::client::lock;
use crate::memory::MemoryLimit;

/// Longer output does not help.
const MAX_TAIL_BYTES: usize = 600;

/// A program that exited has written everything; another one may write forever.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(300);

/// The end of a growing text.
#[derive(Debug, Default)]
pub(super) struct Tail {
    text: Arc<Mutex<String>>,
    reading: Option<JoinHandle<()>>,
}

impl Tail {
    /// Reads the pipe to its end in a task. `memory` learns of scripts that ran out of memory.
    pub(super) fn follow(pipe: Option<OwnedFd>, memory: MemoryLimit) -> Self {
        let text = Arc::new(Mutex::default());
        let pipe = pipe.and_then(|pipe| Receiver::from_owned_fd(pipe).ok());
        let writing = Arc::clone(&text);
        // Ends with the browser process, which is owned.
        let reading = pipe.map(|pipe| tokio::spawn(read(pipe, writing, memory)));
        Self { text, reading }
    }

    /// The last output, on one line.
    pub(super) async fn text(self) -> String {
        if let Some(reading) = self.reading {
            let _partial_output_suffices = timeout(DRAIN_TIMEOUT, reading).await;
        }
        lock(&self.text).trim().to_owned()
    }
}

async fn read(pipe: Receiver, text: Arc<Mutex<String>>, memory: MemoryLimit) {
    let mut lines = BufReader::new(pipe).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        let line = String::from_utf8_lossy(&line);
        memory.read_log(&line);
        push(&text, &line);
    }
}

fn push(text: &Mutex<String>, line: &str) {
    debug!(line, "Chromium stderr");
    let mut text = lock(text);
    text.push_str(line.trim());
    text.push(' ');
    let surplus = text.len().saturating_sub(MAX_TAIL_BYTES);
    let cut = (surplus..=text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    text.drain(..cut);
}
