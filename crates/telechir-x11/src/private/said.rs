//! What a program says on its standard error: the end of it is kept, for when the program fails.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use telechir_process::Watch;
use tokio::task::JoinHandle;

/// Bytes that are kept.
const KEPT: usize = 4 << 10;

/// The end of what a program said so far. Reads on until it is dropped, so that the program never
/// waits for a reader.
#[derive(Debug)]
pub(crate) struct Said {
    end: Arc<Mutex<VecDeque<u8>>>,
    task: JoinHandle<()>,
}

impl Said {
    pub(crate) fn from(pipe: Watch) -> Self {
        let end = Arc::new(Mutex::new(VecDeque::new()));
        let task = tokio::spawn(read(pipe, Arc::clone(&end)));
        Self { end, task }
    }

    /// As text, whole lines where it was cut.
    pub(crate) fn text(&self) -> String {
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

async fn read(pipe: Watch, end: Arc<Mutex<VecDeque<u8>>>) {
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = pipe.read(|fd| Ok(rustix::io::read(fd, &mut piece)?)).await {
        let mut end = end.lock().unwrap_or_else(PoisonError::into_inner);
        end.extend(&piece[..count]);
        let over = end.len().saturating_sub(KEPT);
        end.drain(..over);
    }
}
