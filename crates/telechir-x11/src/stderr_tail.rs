//! Retains the end of a program's standard error for error reports.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use telechir_process::Readiness;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Maximum number of bytes retained.
const TAIL_BYTES: usize = 4 << 10;
/// Maximum wait for the end of the pipe after the program exited.
const EOF_TIMEOUT: Duration = Duration::from_secs(1);

/// The end of the standard error so far. A task keeps reading until it is dropped, so that the
/// program never blocks on the pipe.
#[derive(Debug)]
pub(crate) struct StderrTail {
    tail: Arc<Mutex<VecDeque<u8>>>,
    /// Closes at the end of the pipe; no value is ever sent.
    closed: watch::Receiver<()>,
    task: JoinHandle<()>,
}

impl StderrTail {
    pub(crate) fn from(pipe: Readiness) -> Self {
        let tail = Arc::new(Mutex::new(VecDeque::new()));
        let (read_end, closed) = watch::channel(());
        let shared = Arc::clone(&tail);
        let task = tokio::spawn(async move {
            read(pipe, shared).await;
            drop(read_end);
        });
        Self { tail, closed, task }
    }

    /// The output of an exited program as text. Descendants may keep the pipe open; in that case
    /// the output read within [`EOF_TIMEOUT`].
    pub(crate) async fn read_to_end(&self) -> String {
        let mut closed = self.closed.clone();
        let _closed_or_timeout = timeout(EOF_TIMEOUT, closed.changed()).await;
        self.text()
    }

    /// The retained output as text, starting with a complete line.
    fn text(&self) -> String {
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = tail.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        match text.split_once('\n') {
            Some((_, rest)) if bytes.len() == TAIL_BYTES => rest.trim().to_owned(),
            _ => text.trim().to_owned(),
        }
    }
}

impl Drop for StderrTail {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read(pipe: Readiness, tail: Arc<Mutex<VecDeque<u8>>>) {
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = pipe.read(|fd| Ok(rustix::io::read(fd, &mut chunk)?)).await {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(&chunk[..count]);
        let closed = tail.len().saturating_sub(TAIL_BYTES);
        tail.drain(..closed);
    }
}
