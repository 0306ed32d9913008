//! A page that tells what truly happened to it: every DOM event, in order, over loopback HTTP.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Html;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

/// No event for so long means that all have arrived; a report takes a millisecond.
const QUIET: Duration = Duration::from_millis(80);
/// Nothing on loopback takes longer.
const CEILING: Duration = Duration::from_secs(5);

/// One DOM event as the page saw it. Members that an event does not have are empty or zero.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PageEvent {
    /// `mousedown`, `keydown`, `wheel`, `input`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// The `id` of the element it happened to.
    pub target: String,
    /// Pixels from the page's left edge.
    pub client_x: f64,
    /// Pixels from the page's top edge.
    pub client_y: f64,
    /// 0 left, 1 middle, 2 right, 3 back, 4 forward.
    pub button: i32,
    /// The bits of all buttons that are down: 1 left, 2 right, 4 middle, 8 back, 16 forward.
    pub buttons: u32,
    /// How many clicks in a row it is.
    pub detail: i32,
    /// The key's name.
    pub key: String,
    /// The physical key.
    pub code: String,
    /// Whether a held key repeats.
    pub repeat: bool,
    /// Which modifiers are down.
    pub ctrl_key: bool,
    /// Which modifiers are down.
    pub alt_key: bool,
    /// Which modifiers are down.
    pub shift_key: bool,
    /// Which modifiers are down.
    pub meta_key: bool,
    /// Pixels a wheel scrolls to the right.
    pub delta_x: f64,
    /// Pixels a wheel scrolls down.
    pub delta_y: f64,
    /// The text of the control it happened to.
    pub value: Option<String>,
    /// Whether only the browser itself could have made it.
    pub is_trusted: bool,
}

/// A coloured square of the page, for tests of pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Square {
    /// Its left edge.
    pub left: u32,
    /// Its top edge.
    pub top: u32,
    /// Red, green, blue.
    pub rgb: [u8; 3],
}

/// How long a square's edge is.
pub const SQUARE_PIXELS: u32 = 40;
/// The squares of the page.
pub const SQUARES: [Square; 3] = [
    Square {
        left: 0,
        top: 0,
        rgb: [255, 0, 0],
    },
    Square {
        left: 300,
        top: 20,
        rgb: [0, 255, 0],
    },
    Square {
        left: 37,
        top: 211,
        rgb: [0, 0, 255],
    },
];
/// A point in the page's text area, which takes typed text.
pub const TEXT_AREA: (u32, u32) = (400, 150);

/// A server on loopback with one page that reports to it.
#[derive(Debug)]
pub struct PageWitness {
    address: SocketAddr,
    heard: Arc<Heard>,
    server: JoinHandle<()>,
}

#[derive(Debug)]
struct Heard {
    events: Mutex<Vec<PageEvent>>,
    count: watch::Sender<u64>,
}

impl PageWitness {
    /// Starts the server.
    ///
    /// # Errors
    /// When loopback cannot be listened on.
    pub async fn serve() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let heard = Arc::new(Heard {
            events: Mutex::default(),
            count: watch::Sender::new(0),
        });
        let routes = Router::new()
            .route("/", get(|| async { Html(page()) }))
            .route("/heard", post(hear))
            .with_state(Arc::clone(&heard));
        let server = tokio::spawn(async move {
            let _until_the_witness_is_dropped = axum::serve(listener, routes).await;
        });
        Ok(Self {
            address,
            heard,
            server,
        })
    }

    /// The page's address.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Everything that happened since the last time, once no more arrives.
    pub async fn take(&self) -> Vec<PageEvent> {
        let mut changes = self.heard.count.subscribe();
        let deadline = Instant::now() + CEILING;
        loop {
            let quiet = (Instant::now() + QUIET).min(deadline);
            if timeout_at(quiet, changes.changed()).await.is_err() {
                return std::mem::take(&mut *self.events());
            }
        }
    }

    /// Waits until an event fits; every event stays to be taken.
    ///
    /// # Errors
    /// With all events that did arrive, when none fits in time.
    pub async fn until(&self, fits: impl Fn(&PageEvent) -> bool) -> Result<(), Vec<PageEvent>> {
        let mut changes = self.heard.count.subscribe();
        let deadline = Instant::now() + CEILING;
        loop {
            if self.events().iter().any(&fits) {
                return Ok(());
            }
            if timeout_at(deadline, changes.changed()).await.is_err() {
                return Err(self.events().clone());
            }
        }
    }

    fn events(&self) -> std::sync::MutexGuard<'_, Vec<PageEvent>> {
        self.heard
            .events
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PageWitness {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn hear(State(heard): State<Arc<Heard>>, Json(events): Json<Vec<PageEvent>>) -> StatusCode {
    heard
        .events
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .extend(events);
    heard.count.send_modify(|count| *count += 1);
    StatusCode::NO_CONTENT
}

fn page() -> String {
    let squares: String = SQUARES
        .iter()
        .map(
            |Square {
                 left,
                 top,
                 rgb: [red, green, blue],
             }| {
                format!(
                    "<i style='left:{left}px;top:{top}px;background:rgb({red},{green},{blue})'></i>"
                )
            },
        )
        .collect();
    PAGE.replace("<!-- squares -->", &squares)
        .replace("SQUARE", &SQUARE_PIXELS.to_string())
}

const PAGE: &str = include_str!("page/witness.html");
