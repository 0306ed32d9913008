//! The last of what Chromium said on its standard error, for the message when it does not start.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::unix::pipe::Receiver;
use tracing::debug;

use crate::client::lock;

/// More than this is of no help to anybody.
const KEPT: usize = 600;

/// A growing text of which only the end is kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail(Arc<Mutex<String>>);

impl Tail {
    /// Reads the pipe to its end, in a task that ends with it.
    pub(super) fn follow(pipe: Option<OwnedFd>) -> Self {
        let tail = Self::default();
        if let Some(pipe) = pipe.and_then(|pipe| Receiver::from_owned_fd(pipe).ok()) {
            let writing = tail.clone();
            // Ends with the browser, whose keeper is owned.
            tokio::spawn(async move {
                let mut lines = BufReader::new(pipe).split(b'\n');
                while let Ok(Some(line)) = lines.next_segment().await {
                    writing.push(&String::from_utf8_lossy(&line));
                }
            });
        }
        tail
    }

    /// What was said last, on one line.
    pub(super) fn text(&self) -> String {
        lock(&self.0).trim().to_owned()
    }

    fn push(&self, line: &str) {
        debug!(line, "Chromium says");
        let mut text = lock(&self.0);
        text.push_str(line.trim());
        text.push(' ');
        let surplus = text.len().saturating_sub(KEPT);
        let cut = (surplus..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.drain(..cut);
    }
}
