//! Output of background processes after the result of their command.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use telechir_process::Readiness;
use tokio::task::JoinSet;

use crate::capture::Capture;
use crate::control_channel::PIPE_BYTES;

/// Retained bytes until the next result.
const MAX_BYTES: usize = 8192;

/// Reads such output continuously, so that no process blocks, and keeps it for the next result.
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

    /// Adds an output that still has a writer.
    pub(crate) fn add(&mut self, output: Readiness) {
        while self.readers.try_join_next().is_some() {}
        self.outputs.retain(|output| output.strong_count() > 0);
        let (output, captured) = (Arc::new(output), Arc::clone(&self.captured));
        self.outputs.push(Arc::downgrade(&output));
        self.readers.spawn(async move {
            while let Ok(1..) = output.read(|fd| read(fd, &captured)).await {}
        });
    }

    /// The output since the last call, with a label; empty if there is none.
    pub(crate) fn take(&self) -> String {
        for output in self.outputs.iter().filter_map(Weak::upgrade) {
            // At most one pipe's content, even if the writer continues.
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
            "[output of background processes of earlier commands:]\n{text}\n[end of background output]\n"
        )
    }
}

/// Reads once under the lock, so that concurrent readers keep the order.
fn read(output: BorrowedFd<'_>, captured: &Mutex<Capture>) -> io::Result<usize> {
    let mut buffer = [0; 16 * 1024];
    let mut captured = captured.lock().unwrap_or_else(PoisonError::into_inner);
    let read = rustix::io::read(output, &mut buffer)?;
    captured.push(&buffer[..read]);
    Ok(read)
}
