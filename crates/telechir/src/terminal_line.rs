//! Who writes to the terminal: an open question alone, or else the progress.

use tokio::sync::{Mutex, MutexGuard};

/// Erases the line of the cursor.
pub(crate) const ERASE_LINE: &str = "\r\x1b[K";

/// A process has one terminal.
static TERMINAL: Mutex<TerminalLine> = Mutex::const_new(TerminalLine { has_bar: false });

/// The line of the terminal's cursor.
#[derive(Debug)]
pub(crate) struct TerminalLine {
    /// Whether the progress bar stands in it.
    has_bar: bool,
}

impl TerminalLine {
    /// Waits until nothing else writes to the terminal. A question holds the line from its first
    /// row until it is answered or withdrawn.
    pub(crate) async fn hold() -> MutexGuard<'static, Self> {
        TERMINAL.lock().await
    }

    /// Notes whether the progress bar stands in the line now.
    pub(crate) fn set_bar(&mut self, has_bar: bool) {
        self.has_bar = has_bar;
    }

    /// What makes room for other text: erases the progress bar, if it is there.
    pub(crate) fn clear(&mut self) -> &'static str {
        match std::mem::take(&mut self.has_bar) {
            true => ERASE_LINE,
            false => "",
        }
    }
}
