//! The list of requests, and the details of one of them.

use futures_util::{SinkExt as _, StreamExt as _};
use telechir_browser::Browser;
use telechir_device::Computer as _;
use telechir_protocol::Action;
use telechir_testkit::assert_eventually;
use tokio::net::TcpListener;

use crate::common::{SETTLE, go, headless, launched_with, options, perform, text_of};
use crate::files::workspace;
use crate::server::{Answer, Server};

fn answer(path: &str) -> Option<Answer> {
    Some(match path {
        "/start" => Answer::page(
            "<title>start</title><script>\
             const form = new URLSearchParams({ user: 'ada', password: 'hunter' });\
             const headers = { Authorization: 'Bearer abc', 'X-Order': '7' };\
             fetch('/moved').then(() => fetch('/order', { method: 'POST', headers, body: form }))\
               .then(() => fetch('/photo')).then(answer => answer.arrayBuffer())\
               .then(() => fetch('http://127.0.0.1:9/')).catch(() => document.title = 'done')</script>",
        ),
        "/moved" => Answer {
            status: "302 Found",
            head: "location: /order\r\n".to_owned(),
            ..Answer::default()
        },
        "/order" => {
            let mut order = Answer::file("application/json", br#"{"id":7,"api_token":"xyz"}"#);
            order.head += "set-cookie: sid=secret\r\nx-shop: main\r\n";
            order
        }
        "/photo" => Answer::file("image/png", &[1, 2, 3, 4]),
        _ => return None,
    })
}

async fn list(browser: &mut Browser) -> String {
    text_of(browser, Action::ReadNetwork { tab: None }).await
}

/// The number of the request in the only line with all these parts.
fn number(list: &str, parts: &[&str]) -> u32 {
    let fits = |line: &&str| parts.iter().all(|part| line.contains(part));
    let lines: Vec<&str> = list.lines().filter(fits).collect();
    assert_eq!(lines.len(), 1, "{parts:?} in\n{list}");
    let number = lines[0].trim_start_matches('[').split(']').next();
    number.unwrap().parse().unwrap()
}

async fn details(browser: &mut Browser, request: u32) -> String {
    text_of(browser, Action::ReadRequest { request, tab: None }).await
}

#[tokio::test]
async fn requests_are_numbered_and_show_their_headers_and_bodies() {
    let server = Server::start(answer).await;
    let mut browser = headless().await;
    go(&mut browser, &server.url("/start")).await.unwrap();
    browser.settle(SETTLE).await.unwrap();
    assert_eventually!(list(&mut browser).await.contains(" failed: "));
    let listed = list(&mut browser).await;
    let target = number(&listed, &["GET 200", "/order"]);
    let moved = number(
        &listed,
        &["302", "/moved", &format!("redirected to [{target}]")],
    );
    assert!(moved < target, "{listed}");
    assert!(listed.contains("failed: net::ERR_"), "{listed}");

    let order = details(&mut browser, number(&listed, &["POST", "/order"])).await;
    for shown in [
        "POST 200 fetch application/json",
        "Authorization: (hidden)",
        "X-Order: 7",
        "user=ada&password=(hidden)",
        "x-shop: main",
        r#"{"id":7,"api_token":"(hidden)"}"#,
    ] {
        assert!(order.contains(shown), "no {shown:?} in\n{order}");
    }
    for secret in ["abc", "hunter", "sid=", "xyz"] {
        assert!(!order.contains(secret), "{secret:?} in\n{order}");
    }
    let photo = details(&mut browser, number(&listed, &["/photo"])).await;
    assert!(photo.contains("(4 bytes that are no text)"), "{photo}");
    let document = details(&mut browser, number(&listed, &["document", "/start"])).await;
    assert!(document.contains("<title>start</title>"), "{document}");

    let none = Action::ReadRequest {
        request: 999,
        tab: None,
    };
    let none = perform(&mut browser, none).await.unwrap_err().to_string();
    assert!(
        none.contains("has no request 999: the requests are numbered"),
        "{none}"
    );
}

/// A WebSocket server that sends each message back twice; returns its address.
async fn echo_twice() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else {
                continue;
            };
            while let Some(Ok(message)) = socket.next().await {
                let _the_page_may_be_gone = socket.send(message.clone()).await;
                let _the_page_may_be_gone = socket.send(message).await;
            }
        }
    });
    format!("ws://{address}/live")
}

#[tokio::test]
async fn the_messages_of_a_socket_are_counted() {
    let url = echo_twice().await;
    let mut browser = headless().await;
    let server = Server::start(|path| {
        let socket = path.split_once('?').map(|(_, socket)| socket)?;
        Some(Answer::page(&format!(
            "<script>let n = 0; const s = new WebSocket('{socket}');\
             s.onopen = () => {{ s.send('a'); s.send('b') }};\
             s.onmessage = () => {{ if (++n === 4) s.close() }}</script>"
        )))
    })
    .await;
    let talks = server.url(&format!("/talks?{url}"));
    go(&mut browser, &talks).await.unwrap();
    let expected = format!("101 websocket closed messages: 2 sent, 4 received {url}");
    assert_eventually!(list(&mut browser).await, |listed| listed
        .contains(&expected));
}

#[tokio::test]
async fn a_download_is_listed_with_its_status_and_size() {
    let server = Server::start(|path| {
        Some(match path {
            "/orders" => Answer::file("text/csv", b"1,2,3").saved_as("orders.csv"),
            "/old" => Answer {
                status: "301 Moved Permanently",
                head: "location: /orders\r\n".to_owned(),
                ..Answer::default()
            },
            _ => Answer::page("<title>start</title>"),
        })
    })
    .await;
    let (_folder, workspace) = workspace();
    let mut browser = launched_with(telechir_browser::Options {
        files: Some(telechir_browser::FileAccess {
            workspace,
            saves_downloads: true,
        }),
        ..options()
    })
    .await;
    go(&mut browser, &server.url("/start")).await.unwrap();
    let done = go(&mut browser, &server.url("/old")).await.unwrap();
    let message = done.text.unwrap_or_default();
    assert!(
        message.contains("is a download, not a page. tab_1 still shows <"),
        "{message}"
    );
    assert_eventually!(list(&mut browser).await.contains(" 5 bytes "));
    let listed = list(&mut browser).await;
    let saved = number(&listed, &["GET 200 download text/csv 5 bytes", "/orders"]);
    number(
        &listed,
        &["GET 301", &format!("redirected to [{saved}]"), "/old"],
    );
    let shown = details(&mut browser, saved).await;
    assert!(shown.contains("content-type: text/csv"), "{shown}");
}
