//! A client of an X server that sees what truly arrives: pointer, buttons, keys, text.

mod keymap;
mod window;

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use telechir_device::contract::computer::{Seen, Witness};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use x11rb::connection::Connection;

use crate::xvfb::{Client, connect};
use window::Window;

/// How long it waits for what does not come.
const PATIENCE: Duration = Duration::from_secs(10);

/// How the witness behaves as a program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manners {
    /// It answers the question whether it read its events, as GTK and browsers do and xterm does
    /// not.
    pub answers_pings: bool,
    /// It takes so long over every key, as a busy program does.
    pub slowness: Duration,
}

/// What arrived so far.
#[derive(Debug, Default)]
struct Record {
    seen: Vec<Seen>,
    text: String,
    /// The next character replaces everything: ctrl+a was pressed.
    all_selected: bool,
    /// The highest marker that came back.
    marker: u32,
}

/// A window over the whole screen, with the keyboard's focus, on a thread of its own.
#[derive(Debug)]
pub struct XWitness {
    client: Arc<Client>,
    window: Window,
    record: Arc<Mutex<Record>>,
    /// Counts what arrived.
    changes: watch::Receiver<u64>,
    last_marker: u32,
    socket: UnixStream,
    reader: Option<thread::JoinHandle<()>>,
}

impl XWitness {
    /// Opens the window on the display that `environment` names, and waits until it has the focus.
    ///
    /// # Panics
    /// When the display does not let it.
    pub async fn open(environment: &[(String, String)], manners: Manners) -> Self {
        let (client, screen, socket) = connect(environment);
        let client = Arc::new(client);
        let window = Window::new(&client, screen, manners);
        let record = Arc::new(Mutex::new(Record::default()));
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

    /// Fills a rectangle of the window with one colour (0xRRGGBB) and waits until it is drawn.
    ///
    /// # Panics
    /// When the server refuses.
    pub fn paint(&self, x: i16, y: i16, width: u16, height: u16, colour: u32) {
        self.window.paint(&self.client, x, y, width, height, colour);
    }

    /// Makes the pointer look like a plain square of one colour over this window.
    ///
    /// # Panics
    /// When the server refuses.
    pub fn show_square_pointer(&self, side: u16, colour: [u16; 3]) {
        self.window.show_square_pointer(&self.client, side, colour);
    }

    /// Waits until `enough` has arrived, and for nothing else; false when it does not come.
    pub async fn arrives(&mut self, enough: &(dyn Fn(&[Seen]) -> bool + Sync)) -> bool {
        self.wait_for(|record| enough(&record.seen)).await
    }

    /// The text once it has so many characters, or when nothing more comes for a while.
    pub async fn characters(&mut self, count: usize) -> String {
        const WHILE: Duration = Duration::from_secs(1);
        loop {
            self.changes.borrow_and_update();
            let text = self.record().text.clone();
            let more = timeout_at(Instant::now() + WHILE, self.changes.changed());
            if text.chars().count() >= count || !matches!(more.await, Ok(Ok(()))) {
                return text;
            }
        }
    }

    fn record(&self) -> std::sync::MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until everything that the server sent so far was taken in.
    async fn catch_up(&mut self) {
        self.last_marker += 1;
        let marker = self.last_marker;
        self.window.send_marker(&self.client, marker);
        assert!(
            self.wait_for(|record| record.marker >= marker).await,
            "the display is silent"
        );
    }

    /// A window manager goes on arranging after it gave the focus.
    async fn wait_until_in_front(&self) {
        let due = Instant::now() + PATIENCE;
        while !self.window.is_in_front(&self.client) {
            assert!(
                Instant::now() < due,
                "the window does not come to the front"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn wait_for(&mut self, holds: impl Fn(&Record) -> bool) -> bool {
        let due = Instant::now() + PATIENCE;
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

    async fn seen(&mut self, enough: &(dyn Fn(&[Seen]) -> bool + Sync)) -> Vec<Seen> {
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
        *record = Record {
            marker,
            ..Record::default()
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
