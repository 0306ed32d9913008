//! The last of what Chromium said on its standard error, for the message when it does not start.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::unix::pipe::Receiver;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tracing::debug;

use crate::client::lock;

/// More than this is of no help to anybody.
const KEPT: usize = 600;

/// A program that ended has said everything; one that did not may go on for ever.
const PATIENCE: Duration = Duration::from_millis(300);

/// A growing text of which only the end is kept.
#[derive(Debug, Default)]
pub(super) struct Tail {
    text: Arc<Mutex<String>>,
    reading: Option<JoinHandle<()>>,
}

impl Tail {
    /// Reads the pipe to its end, in a task that ends with it.
    pub(super) fn follow(pipe: Option<OwnedFd>) -> Self {
        let text = Arc::new(Mutex::default());
        let pipe = pipe.and_then(|pipe| Receiver::from_owned_fd(pipe).ok());
        let writing = Arc::clone(&text);
        // Ends with the browser, whose keeper is owned.
        let reading = pipe.map(|pipe| tokio::spawn(read(pipe, writing)));
        Self { text, reading }
    }

    /// What was said last, on one line.
    pub(super) async fn text(self) -> String {
        if let Some(reading) = self.reading {
            let _what_came_so_far_will_do = timeout(PATIENCE, reading).await;
        }
        lock(&self.text).trim().to_owned()
    }
}

async fn read(pipe: Receiver, text: Arc<Mutex<String>>) {
    let mut lines = BufReader::new(pipe).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        push(&text, &String::from_utf8_lossy(&line));
    }
}

fn push(text: &Mutex<String>, line: &str) {
    debug!(line, "Chromium says");
    let mut text = lock(text);
    text.push_str(line.trim());
    text.push(' ');
    let surplus = text.len().saturating_sub(KEPT);
    let cut = (surplus..=text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    text.drain(..cut);
}
