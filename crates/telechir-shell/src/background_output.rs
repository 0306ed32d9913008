//! What background jobs print after their command's result went out.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use telechir_process::Readiness;
use tokio::task::JoinSet;

use crate::capture::Capture;
use crate::control_channel::PIPE_BYTES;

/// Bytes that are kept until the next result.
const MAX_BYTES: usize = 8192;

/// Reads on behind the results, so that no job is held up, and keeps the words for the next one.
#[derive(Debug)]
pub(crate) struct BackgroundOutput {
    readers: JoinSet<()>,
    outputs: Vec<Weak<Readiness>>,
    captured: Arc<Mutex<Capture>>,
}

impl BackgroundOutput {
    pub(crate) fn new() -> Self {
        let captured = Arc::new(Mutex::new(Capture::new(MAX_BYTES)));
        Self {
            readers: JoinSet::new(),
            outputs: Vec::new(),
            captured,
        }
    }

    /// Takes over an output that still has a writer.
    pub(crate) fn add(&mut self, output: Readiness) {
        while self.readers.try_join_next().is_some() {}
        self.outputs.retain(|output| output.strong_count() > 0);
        let (output, captured) = (Arc::new(output), Arc::clone(&self.captured));
        self.outputs.push(Arc::downgrade(&output));
        self.readers.spawn(async move {
            while let Ok(1..) = output.read(|fd| read(fd, &captured)).await {}
        });
    }

    /// What was printed since the last time, with a line that says what it is; empty when nothing.
    pub(crate) fn take(&self) -> String {
        for output in self.outputs.iter().filter_map(Weak::upgrade) {
            // No more than a pipe holds, however much is still being said.
            let mut left = PIPE_BYTES;
            while let Ok(read @ 1..) = read(output.as_fd(), &self.captured) {
                left = left.saturating_sub(read);
                if left == 0 {
                    break;
                }
            }
        }
        let mut captured = self.captured.lock().unwrap_or_else(PoisonError::into_inner);
        if captured.is_empty() {
            return String::new();
        }
        let text = std::mem::replace(&mut *captured, Capture::new(MAX_BYTES))
            .captured(MAX_BYTES)
            .text;
        format!(
            "[printed meanwhile by background jobs of earlier commands:]\n{text}\n[end of that]\n"
        )
    }
}

/// Reads once, under the lock, so that two readers keep the order.
fn read(output: BorrowedFd<'_>, captured: &Mutex<Capture>) -> io::Result<usize> {
    let mut buffer = [0; 16 * 1024];
    let mut captured = captured.lock().unwrap_or_else(PoisonError::into_inner);
    let read = rustix::io::read(output, &mut buffer)?;
    captured.push(&buffer[..read]);
    Ok(read)
}
