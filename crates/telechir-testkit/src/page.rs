//! A page that tells what truly happened to it: every DOM event, in order, over loopback HTTP.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use telechir_device::contract::computer::{Seen, Witness};
use telechir_protocol::{Button, Key, Modifier};
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
/// The corner of an empty part of the page of 400 by 300 pixels.
pub const PAD: (u32, u32) = (600, 300);
/// What the page takes for one click of a wheel.
const PIXELS_PER_CLICK: f64 = 100.0;

/// A page of some two thousand elements, a third of which can be acted on: links, fields, selects
/// and a long table.
pub const ORDERS: &str = include_str!("page/orders.html");

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
    /// How many reports came.
    count: watch::Sender<u64>,
    /// How often the page was told something and what last, and how often it obeyed.
    orders: watch::Sender<(u64, Order)>,
    obeyed: watch::Sender<u64>,
}

/// What the page is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Order {
    /// Say everything that was heard so far.
    #[default]
    Report,
    /// Begin anew.
    Forget,
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
            orders: watch::Sender::new((0, Order::default())),
            obeyed: watch::Sender::new(0),
        });
        let routes = Router::new()
            .route("/", get(|| async { Html(page()) }))
            .route(
                "/conformance",
                get(move || async move { Html(conformance(address)) }),
            )
            .route("/conformance/inner", get(|| async { Html(INNER) }))
            .route("/conformance/report.js", get(script))
            .route("/heard", post(hear))
            .route("/orders", get(order))
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

    /// The address of a page with every kind of element, which tells the same. Its ids are in
    /// `page/conformance.html`.
    pub fn conformance(&self) -> String {
        format!("http://{}/conformance", self.address)
    }

    /// Everything that happened since the last time, once no more arrives.
    pub async fn take(&self) -> Vec<PageEvent> {
        let mut changes = self.heard.count.subscribe();
        let deadline = Instant::now() + CEILING;
        loop {
            let quiet = (Instant::now() + QUIET).min(deadline);
            if timeout_at(quiet, changes.changed()).await.is_err() {
                break;
            }
        }
        // A busy machine is quiet in the middle of a click: the page says when it said all.
        let _a_page_that_left_has_said_all = self.order(Order::Report).await;
        std::mem::take(&mut *self.events())
    }

    /// Tells the page something; whether it obeyed in time.
    async fn order(&self, order: Order) -> bool {
        let mut obeyed = self.heard.obeyed.subscribe();
        self.heard.orders.send_modify(|(given, last)| {
            *given += 1;
            *last = order;
        });
        let given = self.heard.orders.borrow().0;
        let limit = Instant::now() + CEILING;
        timeout_at(limit, obeyed.wait_for(|done| *done >= given))
            .await
            .is_ok()
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

async fn hear(State(heard): State<Arc<Heard>>, Json(reported): Json<Vec<PageEvent>>) -> StatusCode {
    {
        let mut events = heard.events.lock().unwrap_or_else(PoisonError::into_inner);
        for event in reported {
            match event.kind.as_str() {
                "forgotten" => events.clear(),
                "reported" => {}
                _ => {
                    events.push(event);
                    continue;
                }
            }
            heard.obeyed.send_modify(|count| *count += 1);
        }
    }
    heard.count.send_modify(|count| *count += 1);
    StatusCode::NO_CONTENT
}

/// Answers with the next order; asked again and again by the page.
async fn order(State(heard): State<Arc<Heard>>) -> &'static str {
    let mut orders = heard.orders.subscribe();
    let obeyed = *heard.obeyed.borrow();
    match orders
        .wait_for(|(given, _)| *given > obeyed)
        .await
        .as_deref()
    {
        Ok((_, Order::Forget)) => "forget",
        _ => "report",
    }
}

impl Witness for PageWitness {
    fn pad(&self) -> (u32, u32) {
        PAD
    }

    fn field(&self) -> (u32, u32) {
        TEXT_AREA
    }

    async fn seen(&mut self, enough: &(dyn Fn(&[Seen]) -> bool + Sync)) -> Vec<Seen> {
        let mut changes = self.heard.count.subscribe();
        let deadline = Instant::now() + CEILING;
        loop {
            let seen: Vec<Seen> = self
                .events()
                .iter()
                .filter_map(PageEvent::to_seen)
                .collect();
            if enough(&seen) || timeout_at(deadline, changes.changed()).await.is_err() {
                return seen;
            }
        }
    }

    async fn text(&mut self, expected: &str) -> String {
        let holds = |event: &PageEvent| event.value.as_deref() == Some(expected);
        let _what_it_holds_is_given_either_way = self.until(holds).await;
        // Whatever comes after it would show here.
        let events = self.take().await;
        events
            .into_iter()
            .rev()
            .find_map(|event| event.value)
            .unwrap_or_default()
    }

    async fn forget(&mut self) {
        assert!(self.order(Order::Forget).await, "the page does not obey");
    }
}

impl PageEvent {
    /// The event in the contract's words; none for one it has no word for.
    pub fn to_seen(&self) -> Option<Seen> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "pixels of a page"
        )]
        let at = (self.client_x as u32, self.client_y as u32);
        let modifiers = self.modifiers();
        Some(match self.kind.as_str() {
            "mousemove" => Seen::Motion { at },
            "mousedown" => Seen::ButtonDown {
                button: button(self.button)?,
                at,
                modifiers,
            },
            "mouseup" => Seen::ButtonUp {
                button: button(self.button)?,
                at,
            },
            "wheel" => {
                let (dx, dy) = (
                    self.delta_x / PIXELS_PER_CLICK,
                    self.delta_y / PIXELS_PER_CLICK,
                );
                Seen::Scroll { dx, dy, modifiers }
            }
            "keydown" => Seen::KeyDown {
                key: Key::parse(&self.key),
            },
            "keyup" => Seen::KeyUp {
                key: Key::parse(&self.key),
            },
            _ => return None,
        })
    }

    fn modifiers(&self) -> Vec<Modifier> {
        let down = [
            (self.ctrl_key, Modifier::Ctrl),
            (self.alt_key, Modifier::Alt),
            (self.shift_key, Modifier::Shift),
            (self.meta_key, Modifier::Super),
        ];
        down.into_iter()
            .filter_map(|(down, modifier)| down.then_some(modifier))
            .collect()
    }
}

const fn button(number: i32) -> Option<Button> {
    Some(match number {
        0 => Button::Left,
        1 => Button::Middle,
        2 => Button::Right,
        3 => Button::Back,
        4 => Button::Forward,
        _ => return None,
    })
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

/// The page with every kind of element; a frame of it is another site's.
fn conformance(address: SocketAddr) -> String {
    let elsewhere = format!("http://localhost:{}", address.port());
    CONFORMANCE.replace("{elsewhere}", &elsewhere)
}

async fn script() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/javascript")], REPORT)
}

const PAGE: &str = include_str!("page/witness.html");
const CONFORMANCE: &str = include_str!("page/conformance.html");
const INNER: &str = include_str!("page/inner.html");
const REPORT: &str = include_str!("page/report.js");
