//! A page that reports every DOM event it receives, in order, over loopback HTTP.

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
use telechir_protocol::{Button, Key, Modifier};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use crate::contract::computer::{ObservedInput, Witness};

/// Time without a report after which all events have arrived; a report takes a millisecond.
const QUIET: Duration = Duration::from_millis(80);
/// Timeout of every wait.
const CEILING: Duration = Duration::from_secs(5);

/// A DOM event as the page observed it. Fields that an event lacks are empty or zero.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PageEvent {
    /// Event type: `mousedown`, `keydown`, `wheel`, `input`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// The `id` of the target element.
    pub target: String,
    /// Distance from the page's left edge in pixels.
    pub client_x: f64,
    /// Distance from the page's top edge in pixels.
    pub client_y: f64,
    /// 0 left, 1 middle, 2 right, 3 back, 4 forward.
    pub button: i32,
    /// Mask of the pressed buttons: 1 left, 2 right, 4 middle, 8 back, 16 forward.
    pub buttons: u32,
    /// Number of consecutive clicks.
    pub detail: i32,
    /// Name of the key.
    pub key: String,
    /// Code of the physical key.
    pub code: String,
    /// Whether the event is an automatic repeat.
    pub repeat: bool,
    /// Whether Ctrl is pressed.
    pub ctrl_key: bool,
    /// Whether Alt is pressed.
    pub alt_key: bool,
    /// Whether Shift is pressed.
    pub shift_key: bool,
    /// Whether Meta is pressed.
    pub meta_key: bool,
    /// Pixels scrolled to the right by a wheel.
    pub delta_x: f64,
    /// Pixels scrolled down by a wheel.
    pub delta_y: f64,
    /// Text of the target control, absent for other elements.
    pub value: Option<String>,
    /// Whether the browser, not a script, created the event.
    pub is_trusted: bool,
}

/// A coloured square on the page, for pixel tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Square {
    /// Left edge in pixels.
    pub left: u32,
    /// Top edge in pixels.
    pub top: u32,
    /// Red, green and blue, each from 0 to 255.
    pub rgb: [u8; 3],
}

/// Edge length of a square in pixels.
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
/// A point in the page's text area, which accepts typed text.
pub const TEXT_AREA: (u32, u32) = (400, 150);
/// The corner of an empty area of 400 by 300 pixels.
pub const PAD: (u32, u32) = (600, 300);
/// Pixels scrolled by one wheel click.
const PIXELS_PER_CLICK: f64 = 100.0;

/// A page of about two thousand elements, a third of them interactive: links, fields, selects and
/// a long table.
pub const ORDERS: &str = include_str!("page/orders.html");

/// A loopback server with a page that reports to it. Stopped when dropped.
#[derive(Debug)]
pub struct PageWitness {
    address: SocketAddr,
    reports: Arc<PageReports>,
    server: JoinHandle<()>,
}

#[derive(Debug)]
struct PageReports {
    events: Mutex<Vec<PageEvent>>,
    /// Number of reports received.
    count: watch::Sender<u64>,
    /// Number of commands sent to the page with the last one, and number of commands executed.
    commands: watch::Sender<(u64, PageCommand)>,
    executed: watch::Sender<u64>,
}

/// A command to the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PageCommand {
    /// Report all events so far.
    #[default]
    Report,
    /// Discard all events so far.
    Forget,
}

impl PageWitness {
    /// Starts the server on a loopback port.
    ///
    /// # Errors
    /// If no loopback port is available.
    pub async fn serve() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let reports = Arc::new(PageReports {
            events: Mutex::default(),
            count: watch::Sender::new(0),
            commands: watch::Sender::new((0, PageCommand::default())),
            executed: watch::Sender::new(0),
        });
        let routes = Router::new()
            .route("/", get(|| async { Html(page()) }))
            .route(
                "/conformance",
                get(move || async move { Html(conformance(address)) }),
            )
            .route("/conformance/inner", get(|| async { Html(INNER) }))
            .route("/conformance/report.js", get(script))
            .route("/report", post(receive_reports))
            .route("/commands", get(command))
            .with_state(Arc::clone(&reports));
        let server = tokio::spawn(async move {
            let _until_the_witness_is_dropped = axum::serve(listener, routes).await;
        });
        Ok(Self {
            address,
            reports,
            server,
        })
    }

    /// The URL of the page.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The URL of a page with every kind of element, which reports in the same way. Its ids are in
    /// `page/conformance.html`.
    pub fn conformance(&self) -> String {
        format!("http://{}/conformance", self.address)
    }

    /// All events since the last call, after a quiet period.
    pub async fn take(&self) -> Vec<PageEvent> {
        let mut changes = self.reports.count.subscribe();
        let deadline = Instant::now() + CEILING;
        loop {
            let quiet = (Instant::now() + QUIET).min(deadline);
            if timeout_at(quiet, changes.changed()).await.is_err() {
                break;
            }
        }
        // A busy machine can be quiet in the middle of a click, so the page confirms completeness.
        let _an_unloaded_page_has_reported_everything = self.command(PageCommand::Report).await;
        std::mem::take(&mut *self.events())
    }

    /// Sends a command to the page; false if it was not executed in time.
    async fn command(&self, command: PageCommand) -> bool {
        let mut executed = self.reports.executed.subscribe();
        self.reports.commands.send_modify(|(sent, last)| {
            *sent += 1;
            *last = command;
        });
        let sent = self.reports.commands.borrow().0;
        let limit = Instant::now() + CEILING;
        timeout_at(limit, executed.wait_for(|done| *done >= sent))
            .await
            .is_ok()
    }

    /// Waits for a matching event; events remain for `take`.
    ///
    /// # Errors
    /// All received events, if none matches in time.
    pub async fn until(&self, fits: impl Fn(&PageEvent) -> bool) -> Result<(), Vec<PageEvent>> {
        let mut changes = self.reports.count.subscribe();
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
        self.reports
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

async fn receive_reports(
    State(reports): State<Arc<PageReports>>,
    Json(reported): Json<Vec<PageEvent>>,
) -> StatusCode {
    {
        let mut events = reports
            .events
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for event in reported {
            match event.kind.as_str() {
                "forgotten" => events.clear(),
                "reported" => {}
                _ => {
                    events.push(event);
                    continue;
                }
            }
            reports.executed.send_modify(|count| *count += 1);
        }
    }
    reports.count.send_modify(|count| *count += 1);
    StatusCode::NO_CONTENT
}

/// Long-polled by the page: returns the next command.
async fn command(State(reports): State<Arc<PageReports>>) -> &'static str {
    let mut commands = reports.commands.subscribe();
    let executed = *reports.executed.borrow();
    match commands
        .wait_for(|(sent, _)| *sent > executed)
        .await
        .as_deref()
    {
        Ok((_, PageCommand::Forget)) => "forget",
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

    async fn observed(
        &mut self,
        enough: &(dyn Fn(&[ObservedInput]) -> bool + Sync),
    ) -> Vec<ObservedInput> {
        let mut changes = self.reports.count.subscribe();
        let deadline = Instant::now() + CEILING;
        loop {
            let seen: Vec<ObservedInput> = self
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
        let _returned_either_way = self.until(holds).await;
        // Later changes would be included here.
        let events = self.take().await;
        events
            .into_iter()
            .rev()
            .find_map(|event| event.value)
            .unwrap_or_default()
    }

    async fn forget(&mut self) {
        assert!(
            self.command(PageCommand::Forget).await,
            "the page did not execute the command"
        );
    }
}

impl PageEvent {
    /// The event in the contract's form; none if it has no equivalent.
    pub fn to_seen(&self) -> Option<ObservedInput> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "pixels of a page"
        )]
        let at = (self.client_x as u32, self.client_y as u32);
        let modifiers = self.modifiers();
        Some(match self.kind.as_str() {
            "mousemove" => ObservedInput::Motion { at },
            "mousedown" => ObservedInput::ButtonDown {
                button: button(self.button)?,
                at,
                modifiers,
            },
            "mouseup" => ObservedInput::ButtonUp {
                button: button(self.button)?,
                at,
            },
            "wheel" => {
                let (dx, dy) = (
                    self.delta_x / PIXELS_PER_CLICK,
                    self.delta_y / PIXELS_PER_CLICK,
                );
                ObservedInput::Scroll { dx, dy, modifiers }
            }
            "keydown" => ObservedInput::KeyDown {
                key: Key::parse(&self.key),
            },
            "keyup" => ObservedInput::KeyUp {
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

/// The page with every kind of element; one of its frames is cross-site.
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
