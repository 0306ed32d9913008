//! What a program says on its standard error: the end of it is kept, for when the program fails.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use telechir_process::Readiness;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Bytes that are kept.
const KEPT: usize = 4 << 10;
/// How long the last words of a program that ended are waited for.
const HELD: Duration = Duration::from_secs(1);

/// The end of what a program said so far. Reads on until it is dropped, so that the program never
/// waits for a reader.
#[derive(Debug)]
pub(crate) struct Said {
    end: Arc<Mutex<VecDeque<u8>>>,
    /// Nobody sends anything: it closes when there is no more to read.
    over: watch::Receiver<()>,
    task: JoinHandle<()>,
}

impl Said {
    pub(crate) fn from(pipe: Readiness) -> Self {
        let end = Arc::new(Mutex::new(VecDeque::new()));
        let (reading, over) = watch::channel(());
        let kept = Arc::clone(&end);
        let task = tokio::spawn(async move {
            read(pipe, kept).await;
            drop(reading);
        });
        Self { end, over, task }
    }

    /// All that was said by a program that ended, as text. Others that it started may hold the
    /// pipe: then what came within a second.
    pub(crate) async fn to_the_end(&self) -> String {
        let mut over = self.over.clone();
        let _closed_or_held = timeout(HELD, over.changed()).await;
        self.text()
    }

    /// As text, whole lines where it was cut.
    fn text(&self) -> String {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = end.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        match text.split_once('\n') {
            Some((_, rest)) if bytes.len() == KEPT => rest.trim().to_owned(),
            _ => text.trim().to_owned(),
        }
    }
}

impl Drop for Said {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read(pipe: Readiness, end: Arc<Mutex<VecDeque<u8>>>) {
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = pipe.read(|fd| Ok(rustix::io::read(fd, &mut piece)?)).await {
        let mut end = end.lock().unwrap_or_else(PoisonError::into_inner);
        end.extend(&piece[..count]);
        let over = end.len().saturating_sub(KEPT);
        end.drain(..over);
    }
}
