//! An X client that records the input it receives: pointer, buttons, keys, text.

mod keymap;
mod window;

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use x11rb::connection::Connection;

use crate::assert_eventually;
use crate::contract::computer::{ObservedInput, Witness};
use crate::xvfb::{XClient, connect};
use window::WitnessWindow;

/// Timeout of every wait.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How the witness reads its events.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadMode {
    /// Replies to `_NET_WM_PING`, as GTK and browsers do and xterm does not.
    pub answers_pings: bool,
    /// Delay before each key press is handled, as in a busy program.
    pub slowness: Duration,
}

/// The input received so far.
#[derive(Debug, Default)]
struct WitnessLog {
    seen: Vec<ObservedInput>,
    text: String,
    /// Ctrl+A was pressed: the next character replaces the text.
    all_selected: bool,
    /// The highest marker received back.
    marker: u32,
}

/// A fullscreen window with the keyboard focus, read by its own thread.
#[derive(Debug)]
pub struct XWitness {
    client: Arc<XClient>,
    window: WitnessWindow,
    record: Arc<Mutex<WitnessLog>>,
    /// Number of events received.
    changes: watch::Receiver<u64>,
    last_marker: u32,
    socket: UnixStream,
    reader: Option<thread::JoinHandle<()>>,
}

impl XWitness {
    /// Opens the window on the display that `environment` names, and waits for the focus.
    ///
    /// # Panics
    /// If the window cannot be opened or gets no focus.
    pub async fn open(environment: &[(String, String)], manners: ReadMode) -> Self {
        let (client, screen, socket) = connect(environment);
        let client = Arc::new(client);
        let window = WitnessWindow::new(&client, screen, manners);
        let record = Arc::new(Mutex::new(WitnessLog::default()));
        let (sender, changes) = watch::channel(0);
        let reader = {
            let (client, record, window) =
                (Arc::clone(&client), Arc::clone(&record), window.clone());
            let read = move || window.read_events(&client, &record, &sender, manners);
            thread::Builder::new()
                .name("x-witness".to_owned())
                .spawn(read)
        };
        let reader = Some(reader.unwrap_or_else(|error| panic!("{error}")));
        let mut witness = Self {
            client,
            window,
            record,
            changes,
            last_marker: 0,
            socket,
            reader,
        };
        assert!(
            witness
                .wait_for(|record| record.marker >= window::FOCUSED)
                .await,
            "no focus"
        );
        witness.last_marker = window::FOCUSED;
        witness.wait_until_in_front().await;
        witness.forget().await;
        witness
    }

    /// Fills a rectangle of the window with a colour (0xRRGGBB) and waits until it is drawn.
    ///
    /// # Panics
    /// If the server rejects the request.
    pub fn paint(&self, x: i16, y: i16, width: u16, height: u16, colour: u32) {
        self.window.paint(&self.client, x, y, width, height, colour);
    }

    /// Sets a square of one colour as the pointer's shape over this window.
    ///
    /// # Panics
    /// If the server rejects the request.
    pub fn show_square_pointer(&self, side: u16, colour: [u16; 3]) {
        self.window.show_square_pointer(&self.client, side, colour);
    }

    /// Waits until the events satisfy `enough`; false on a timeout.
    pub async fn arrives(&mut self, enough: &(dyn Fn(&[ObservedInput]) -> bool + Sync)) -> bool {
        self.wait_for(|record| enough(&record.seen)).await
    }

    /// The text once it has `count` characters, or after a second without input.
    pub async fn characters(&mut self, count: usize) -> String {
        const QUIET: Duration = Duration::from_secs(1);
        loop {
            self.changes.borrow_and_update();
            let text = self.record().text.clone();
            let more = timeout_at(Instant::now() + QUIET, self.changes.changed());
            if text.chars().count() >= count || !matches!(more.await, Ok(Ok(()))) {
                return text;
            }
        }
    }

    fn record(&self) -> std::sync::MutexGuard<'_, WitnessLog> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all events sent by the server so far are recorded.
    async fn catch_up(&mut self) {
        self.last_marker += 1;
        let marker = self.last_marker;
        self.window.send_marker(&self.client, marker);
        assert!(
            self.wait_for(|record| record.marker >= marker).await,
            "the display does not reply"
        );
    }

    /// Waits until the window manager has finished arranging, which continues after the focus.
    async fn wait_until_in_front(&self) {
        assert_eventually!(self.window.is_in_front(&self.client));
    }

    async fn wait_for(&mut self, holds: impl Fn(&WitnessLog) -> bool) -> bool {
        let due = Instant::now() + TIMEOUT;
        loop {
            self.changes.borrow_and_update();
            if holds(&self.record()) {
                return true;
            }
            if !matches!(timeout_at(due, self.changes.changed()).await, Ok(Ok(()))) {
                return holds(&self.record());
            }
        }
    }
}

impl Witness for XWitness {
    fn pad(&self) -> (u32, u32) {
        (100, 100)
    }

    fn field(&self) -> (u32, u32) {
        (40, 40)
    }

    async fn observed(
        &mut self,
        enough: &(dyn Fn(&[ObservedInput]) -> bool + Sync),
    ) -> Vec<ObservedInput> {
        self.catch_up().await;
        self.wait_for(|record| enough(&record.seen)).await;
        self.catch_up().await;
        self.record().seen.clone()
    }

    async fn text(&mut self, expected: &str) -> String {
        self.wait_for(|record| record.text == expected).await;
        self.catch_up().await;
        self.record().text.clone()
    }

    async fn forget(&mut self) {
        self.catch_up().await;
        let mut record = self.record();
        let marker = record.marker;
        *record = WitnessLog {
            marker,
            ..WitnessLog::default()
        };
    }
}

impl Drop for XWitness {
    fn drop(&mut self) {
        let _best_effort = self.client.flush();
        let _best_effort = self.socket.shutdown(Shutdown::Both);
        if let Some(reader) = self.reader.take() {
            let _panicked = reader.join();
        }
    }
}
