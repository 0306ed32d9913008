//! The WebSocket of a screen: who gets it, and what it sends.

use std::io::Cursor;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::http::Request;
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

use super::{Image, PageSession, exchange, ticket};
use crate::serve::client::{Answer, Client, Server};
use crate::sessions::response;
use crate::telechir::Ran;

/// The kinds of binary messages.
const PNG: u8 = 1;
const SIZE: u8 = 5;
const END: u8 = 6;

/// Pixels of three bytes each.
#[derive(Debug, Default, PartialEq, Eq)]
struct Pixels {
    width: usize,
    height: usize,
    rgb: Vec<u8>,
}

impl Pixels {
    fn of(png: &[u8]) -> Self {
        let mut decoder = png::Decoder::new(Cursor::new(png));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().expect("a PNG");
        let mut samples = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut samples).expect("pixels");
        let samples = samples[..info.buffer_size()].chunks_exact(info.color_type.samples());
        let rgb = samples.flat_map(|pixel| match pixel {
            [red, green, blue, ..] => [*red, *green, *blue],
            [gray, ..] => [*gray; 3],
            [] => [0; 3],
        });
        Self {
            width: info.width as usize,
            height: info.height as usize,
            rgb: rgb.collect(),
        }
    }

    fn draw(&mut self, area: &Self, (x, y): (usize, usize)) {
        for row in 0..area.height {
            let from = row * area.width * 3;
            let to = ((y + row) * self.width + x) * 3;
            self.rgb[to..to + area.width * 3]
                .copy_from_slice(&area.rgb[from..from + area.width * 3]);
        }
    }
}

/// A page that looks at a screen.
pub(crate) struct Viewer {
    pub(super) socket: WebSocket<TcpStream>,
    screen: Pixels,
}

impl Viewer {
    pub(crate) fn connect(server: &Server, page: &PageSession, session: &str) -> Self {
        Self::at(&server.address, page, session)
    }

    /// The page of a server at this address.
    pub(super) fn at(address: &str, page: &PageSession, session: &str) -> Self {
        let key = page.key.trim().rsplit(' ').next().expect("a key");
        let cookie = page
            .cookie
            .trim()
            .strip_prefix("Cookie: ")
            .expect("a cookie");
        let request = Request::get(format!("ws://{address}/view/sessions/{session}/screen"))
            .header("Host", address)
            .header("Origin", format!("http://{address}"))
            .header("Cookie", cookie)
            .header("Connection", "Upgrade")
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", generate_key())
            .header(
                "Sec-WebSocket-Protocol",
                format!("telechir.screen, telechir.key.{key}"),
            )
            .body(())
            .expect("a request");
        let stream = TcpStream::connect(address).expect("a connection");
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a timeout");
        let (socket, _) = client(request, stream).expect("an upgrade");
        let screen = Pixels::default();
        Self { socket, screen }
    }

    fn grant(&mut self) {
        let grant = json!({ "grant": 1 }).to_string();
        self.socket.send(Message::text(grant)).expect("a grant");
    }

    /// Draws the next update, and returns how many pixels it has.
    fn update(&mut self) -> usize {
        let mut pixels = 0;
        loop {
            let message = self.socket.read().expect("a message");
            let bytes = message.into_data();
            let number = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
            let (width, height) = (number(12), number(14));
            match bytes[0] {
                SIZE => {
                    self.screen = Pixels {
                        width,
                        height,
                        rgb: vec![0; width * height * 3],
                    }
                }
                PNG => {
                    let area = Pixels::of(&bytes[16..]);
                    assert_eq!((area.width, area.height), (width, height));
                    self.screen.draw(&area, (number(8), number(10)));
                    pixels += width * height;
                }
                END => return pixels,
                kind => panic!("a message of kind {kind}"),
            }
        }
    }

    fn granted_update(&mut self) -> usize {
        self.grant();
        self.update()
    }
}

/// Moves the pointer of a session's desktop, with a call id of its own.
fn point(agent: &Client, session: &str, (x, y): (u32, u32)) {
    let to = json!({ "coordinate": [x, y] });
    let response = response("mouse_move", Some("computer"), to);
    let response = response.replace("toolu_1", &format!("toolu_{x}_{y}"));
    agent.post(
        &format!("/v1/sessions/{session}/anthropic-messages"),
        &response,
    );
}

/// The page session of a new token.
pub(crate) fn page_session(server: &Server, role: &str) -> PageSession {
    let own = format!("http://{}", server.address);
    PageSession::of(&exchange(server, &own, &ticket(&server.client(role))))
}

#[test]
fn a_viewer_gets_the_screen_once_and_then_what_changes() {
    require(Component::XServer);
    let server = Server::with_flags(&["--desktop"]);
    let agent = server.client("agent");
    let id = agent.open(&json!({"display": "640x480"}));
    let point = |x: u32, y: u32| point(&agent, &id, (x, y));
    point(50, 50);
    let viewer = server.token("viewer", "screen");
    let page = page_session(&server, "viewer");
    let mut watching = Viewer::connect(&server, &page, &id);
    assert_eq!(watching.granted_update(), 640 * 480);
    // Until nothing changes, such as what the desktop draws at its start.
    while watching.granted_update() > 0 {}
    point(500, 300);
    let screenshot = || {
        let path = format!("/v1/sessions/{id}/screenshot");
        Pixels::of(&Image::get(&server, &viewer, "", &path).bytes)
    };
    // The pointer, where it was and where it is; perhaps in two updates.
    let mut pixels = watching.granted_update();
    assert_eventually_blocking!(
        {
            let is_same = watching.screen == screenshot();
            if !is_same {
                pixels += watching.granted_update();
            }
            is_same
        },
        |is_same| *is_same
    );
    assert!((1..640 * 480 / 10).contains(&pixels), "{pixels} pixels");
    // A second viewer begins with all of it, and sees the same.
    let mut second = Viewer::connect(&server, &page, &id);
    second.granted_update();
    assert!(second.screen == watching.screen, "both see the same");
    server.assert_closes(&agent, &id);
}

#[test]
fn a_viewer_that_reads_nothing_delays_no_call() {
    require(Component::XServer);
    let server = Server::with_flags(&["--desktop"]);
    let agent = server.client("agent");
    let id = agent.open(&json!({"display": "640x480"}));
    let page = page_session(&server, "viewer");
    let mut silent = Viewer::connect(&server, &page, &id);
    for _ in 0..100 {
        silent.grant();
    }
    for step in 0..5_u32 {
        point(&agent, &id, (20 + step * 100, 10 + step * 50));
    }
    server.assert_closes(&agent, &id);
}

/// Whether a message has pixels of the screen.
fn is_image(message: &Message) -> bool {
    matches!(message, Message::Binary(bytes) if bytes.first() == Some(&PNG))
}

#[test]
fn an_update_that_waits_for_a_change_is_not_sent_to_a_revoked_token() {
    require(Component::XServer);
    let server = Server::with_flags(&["--desktop"]);
    let agent = server.client("agent");
    let id = agent.open(&json!({"display": "640x480"}));
    let page = page_session(&server, "viewer");
    let mut watching = Viewer::connect(&server, &page, &id);
    watching.granted_update();
    // Until nothing changes, such as what the desktop draws at its start.
    while watching.granted_update() > 0 {}
    for _ in 0..4 {
        watching.grant();
    }
    let listed = Ran::of(
        &mut server.sessions.command(&["tokens", "list", "--json"]),
        "",
    );
    let listed = listed.json();
    let tokens = listed.as_array().expect("tokens").iter();
    for token in tokens.filter(|token| token["role"] == "viewer") {
        let id = token["id"].as_str().expect("an id");
        Ran::of(&mut server.sessions.command(&["tokens", "revoke", id]), "");
    }
    point(&agent, &id, (500, 300));
    // The end of an update without changes may have been sent before.
    while let Ok(message) = watching.socket.read() {
        assert!(!is_image(&message), "an image of a screen that changed");
    }
    server.assert_closes(&agent, &id);
}

/// The opening handshake of a page with these headers.
fn upgrade(server: &Server, session: &str, headers: &str) -> Answer {
    server.send(&format!(
        "GET /view/sessions/{session}/screen HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n",
        server.address
    ))
}

#[test]
fn no_other_page_gets_the_screen() {
    require(Component::XServer);
    let server = Server::with_flags(&["--desktop"]);
    let agent = server.client("agent");
    let id = agent.open(&json!({"display": "640x480"}));
    let page = page_session(&server, "viewer");
    let other = page_session(&server, "viewer");
    let protocol = |page: &PageSession| {
        let key = page.key.trim().rsplit(' ').next().expect("a key");
        format!("Sec-WebSocket-Protocol: telechir.screen, telechir.key.{key}\r\n")
    };
    let own = format!("Origin: http://{}\r\n", server.address);
    let (cookie, protocol, foreign) = (&page.cookie, protocol(&page), protocol(&other));
    let bearer = format!(
        "Authorization: Bearer {}\r\n",
        server.token("operator", "o")
    );
    for (headers, status, slug) in [
        // A page of another origin has the cookie at most.
        (
            format!("{cookie}Origin: http://evil.example\r\n"),
            403,
            "forbidden-origin",
        ),
        (
            format!("{cookie}{protocol}Origin: null\r\n"),
            403,
            "forbidden-origin",
        ),
        (format!("{cookie}{protocol}"), 403, "forbidden-origin"),
        (format!("{cookie}{own}"), 401, "unauthorized"),
        (format!("{protocol}{own}"), 401, "unauthorized"),
        (format!("{cookie}{foreign}{own}"), 401, "unauthorized"),
        (
            format!("{cookie}{protocol}{own}{bearer}"),
            403,
            "forbidden-origin",
        ),
        (format!("{bearer}{own}"), 403, "forbidden-origin"),
    ] {
        upgrade(&server, &id, &headers).is_problem(status, slug);
    }
    let all = format!("{cookie}{protocol}{own}");
    upgrade(&server, "absent", &all).is_problem(404, "not-found");
    let plain = format!(
        "GET /view/sessions/{id}/screen HTTP/1.1\r\nHost: {}\r\n{all}\r\n",
        server.address
    );
    server.send(&plain).is_problem(400, "bad-request");

    // A page session that ends takes the stream with it.
    let mut watching = Viewer::connect(&server, &page, &id);
    assert_eq!(watching.granted_update(), 640 * 480);
    let listed = Ran::of(
        &mut server.sessions.command(&["tokens", "list", "--json"]),
        "",
    );
    for token in listed.json().as_array().expect("tokens") {
        let id = token["id"].as_str().expect("an id");
        Ran::of(&mut server.sessions.command(&["tokens", "revoke", id]), "");
    }
    watching.grant();
    let last = watching.socket.read();
    assert!(!matches!(last, Ok(Message::Binary(_))), "{last:?}");
    let agent = Client::new(&server.address, &server.token("agent", "test"));
    server.assert_closes(&agent, &id);
}

#[test]
fn a_page_without_its_token_is_disconnected() {
    require(Component::XServer);
    let server = Server::with_flags(&["--desktop"]);
    let agent = server.client("agent");
    let id = agent.open(&json!({"display": "640x480"}));
    let mut viewer = Viewer::connect(&server, &page_session(&server, "viewer"), &id);
    let mut list = server.sessions.command(&["tokens", "list", "--json"]);
    for token in Ran::of(&mut list, "").json().as_array().expect("tokens") {
        if token["role"] == "viewer" {
            let id = token["id"].as_str().expect("an id");
            Ran::of(&mut server.sessions.command(&["tokens", "revoke", id]), "");
        }
    }
    // It grants nothing, and is not left waiting for it.
    let last = viewer.socket.read();
    assert!(matches!(last, Ok(Message::Close(_))), "{last:?}");
    server.assert_closes(&agent, &id);
}
