//! The output of the running command, or the message that a model writes, for people who look at it: its
//! newest part, as it comes.
//!
//! Looking needs no permission and is not recorded. Nothing is kept but the newest bytes, so a viewer who
//! reads slowly or not at all costs the session nothing.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use telechir_device::OutputObserver;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// Bytes that are kept of an output: its end.
const MAX_TAIL_BYTES: usize = 32 << 10;
/// A viewer gets a change this much later, with all that follows within the time.
const COLLECT_TIME: Duration = Duration::from_millis(50);
/// After this time without a change a viewer gets what it has.
const MAX_CHANGE_WAIT: Duration = Duration::from_secs(5);

/// The newest part of a text that grows. Clones share it.
#[derive(Clone, Debug)]
pub struct NewestOutput(Arc<NewestOutputState>);

#[derive(Debug)]
struct NewestOutputState {
    tail: Mutex<NewestBytes>,
    version: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct NewestBytes {
    bytes: VecDeque<u8>,
    omitted_bytes: u64,
    is_running: bool,
}

/// What a command has printed so far, or a model has written of its message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputTail {
    /// Increases with each change; a viewer names the version that it has.
    pub version: u64,
    /// The end of the output of both streams, at most 32 KiB. Invalid bytes are replaced; control
    /// sequences are as the program wrote them.
    pub text: String,
    /// Number of bytes before it, which are not kept.
    pub omitted_bytes: u64,
    /// Whether the command runs, or the model writes.
    pub is_running: bool,
}

impl Default for NewestOutput {
    fn default() -> Self {
        Self(Arc::new(NewestOutputState {
            tail: Mutex::default(),
            version: watch::Sender::new(0),
        }))
    }
}

/// A command runs until this is dropped.
#[derive(Debug)]
pub(crate) struct RunningOutput(NewestOutput);

impl Drop for RunningOutput {
    fn drop(&mut self) {
        self.0.change(|tail| tail.is_running = false);
    }
}

impl NewestOutput {
    /// A command starts, and its output is empty.
    pub(crate) fn start(&self) -> RunningOutput {
        self.change(|tail| {
            *tail = NewestBytes {
                is_running: true,
                ..NewestBytes::default()
            }
        });
        RunningOutput(self.clone())
    }

    /// The command that waited goes on; its output stays.
    pub(crate) fn resume(&self) -> RunningOutput {
        self.change(|tail| tail.is_running = true);
        RunningOutput(self.clone())
    }

    /// Waits until the output differs from the version that the caller has, a few seconds at most;
    /// without a version it is returned at once. Cancel-safe.
    pub async fn changed(&self, since: Option<u64>) -> OutputTail {
        if let Some(since) = since {
            let mut version = self.0.version.subscribe();
            let changed = version.wait_for(|version| *version != since);
            if timeout(MAX_CHANGE_WAIT, changed).await.is_ok() {
                sleep(COLLECT_TIME).await;
            }
        }
        self.read()
    }

    /// Takes the next piece of a message; an empty one ends it, and nothing of it is kept.
    pub fn push_message(&self, piece: &str) {
        self.change(|tail| match piece.is_empty() {
            true => *tail = NewestBytes::default(),
            false => {
                tail.is_running = true;
                tail.push(piece.as_bytes());
            }
        });
    }

    fn read(&self) -> OutputTail {
        let tail = self.lock();
        let version = *self.0.version.borrow();
        let bytes: Vec<u8> = tail.bytes.iter().copied().collect();
        // What was omitted may end within a character.
        let broken = match tail.omitted_bytes {
            0 => 0,
            _ => bytes
                .iter()
                .take(3)
                .take_while(|byte| (0x80..0xC0).contains(*byte))
                .count(),
        };
        OutputTail {
            version,
            text: String::from_utf8_lossy(bytes.get(broken..).unwrap_or_default()).into_owned(),
            omitted_bytes: tail.omitted_bytes + broken as u64,
            is_running: tail.is_running,
        }
    }

    fn change(&self, change: impl FnOnce(&mut NewestBytes)) {
        let mut tail = self.lock();
        change(&mut tail);
        self.0.version.send_modify(|version| *version += 1);
    }

    fn lock(&self) -> MutexGuard<'_, NewestBytes> {
        self.0.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OutputObserver for NewestOutput {
    fn output(&self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.change(|tail| tail.push(bytes));
    }
}

impl NewestBytes {
    fn push(&mut self, bytes: &[u8]) {
        let newest = bytes.get(bytes.len().saturating_sub(MAX_TAIL_BYTES)..);
        let newest = newest.unwrap_or_default();
        let surplus = (self.bytes.len() + newest.len()).saturating_sub(MAX_TAIL_BYTES);
        self.bytes.drain(..surplus);
        self.bytes.extend(newest);
        self.omitted_bytes += (surplus + bytes.len() - newest.len()) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_long_output_remains() {
        let output = NewestOutput::default();
        let _running = output.start();
        output.output("é".repeat(MAX_TAIL_BYTES).as_bytes());
        output.output(b"end");
        let tail = output.read();
        assert!(tail.text.ends_with("éend") && tail.text.starts_with('é'));
        let total = 2 * MAX_TAIL_BYTES + 3;
        assert_eq!(tail.omitted_bytes, (total - tail.text.len()) as u64);
        output.output(&[b'x'; 3 * MAX_TAIL_BYTES]);
        let tail = output.read();
        assert_eq!(tail.text.len(), MAX_TAIL_BYTES);
        assert_eq!(tail.omitted_bytes, (total + 2 * MAX_TAIL_BYTES) as u64);
    }

    #[tokio::test]
    async fn a_viewer_waits_for_what_it_does_not_have() {
        let output = NewestOutput::default();
        let none = output.changed(None).await;
        assert_eq!((none.text.as_str(), none.is_running), ("", false));
        let running = output.start();
        let seen = output.changed(Some(none.version)).await;
        assert!(seen.is_running);
        let waiting = output.changed(Some(seen.version));
        let writing = async {
            output.output(b"one ");
            output.output(b"two");
        };
        let (seen, ()) = tokio::join!(waiting, writing);
        assert_eq!(seen.text, "one two");
        drop(running);
        let ended = output.changed(Some(seen.version)).await;
        assert_eq!((ended.text.as_str(), ended.is_running), ("one two", false));
        drop(output.start());
        assert_eq!(output.changed(None).await.text, "");
    }

    #[tokio::test]
    async fn nothing_of_a_message_remains_after_its_end() {
        let message = NewestOutput::default();
        message.push_message("Now I ");
        message.push_message("look.");
        let tail = message.changed(None).await;
        assert_eq!((tail.text.as_str(), tail.is_running), ("Now I look.", true));
        message.push_message("");
        let ended = message.changed(Some(tail.version)).await;
        assert_eq!((ended.text.as_str(), ended.is_running), ("", false));
    }
}
