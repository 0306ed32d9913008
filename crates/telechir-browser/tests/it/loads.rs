//! Each result of a navigation says what came of it, and what the tab shows now.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use telechir_browser::Browser;
use telechir_device::{Computer as _, PageContextSource as _};
use telechir_protocol::Action;
use telechir_testkit::closed_port::ClosedPort;

use crate::common::{SETTLE, click_on, go, headless, perform, read, ref_of, text_of, title};
use crate::server::{Answer, Server};

/// Whether `/turns` has been asked for its page.
static HAS_TURNED: AtomicBool = AtomicBool::new(false);

fn answer(path: &str) -> Option<Answer> {
    let status = |status, html: &str| Answer {
        status,
        ..Answer::page(html)
    };
    Some(match path {
        "/start" => Answer::page("<title>start</title><a href='/none'>Nothing</a>"),
        "/missing" => status("404 Not Found", "<title>no such order</title>"),
        "/broken" => status("500 Internal Server Error", ""),
        "/none" => status("204 No Content", ""),
        "/file" => Answer::file("application/zip", b"PK").saved_as("orders.zip"),
        "/turns" => match HAS_TURNED.swap(true, Ordering::Relaxed) {
            false => Answer::page("<title>turns</title>"),
            true => status("204 No Content", ""),
        },
        _ => return None,
    })
}

/// Why a navigation from the start page failed; the error says what the tab shows.
async fn failure(browser: &mut Browser, server: &Server, url: &str) -> String {
    go(browser, &server.url("/start")).await.unwrap();
    go(browser, url).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_navigation_that_fails_reports_what_is_shown() {
    let server = Server::start(answer).await;
    let mut browser = headless().await;
    let port = ClosedPort::new().unwrap();
    let closed = format!("http://{}/", port.address());
    // It answers to TLS with plain text.
    let plain = Server::start(|_| Some(Answer::page("plain"))).await;
    let tls = plain.url("/").replace("http:", "https:");
    let still = format!("tab_1 still shows <{}>", server.url("/start"));
    for (url, reason, shown) in [
        (
            closed.clone(),
            "net::ERR_CONNECTION_REFUSED",
            format!("error page for <{closed}>"),
        ),
        (
            tls.clone(),
            "net::ERR_SSL_PROTOCOL_ERROR",
            format!("error page for <{tls}>"),
        ),
        (
            server.url("/none"),
            "HTTP 204 and sent no page",
            still.clone(),
        ),
        (server.url("/file"), "is a download", still),
    ] {
        let message = failure(&mut browser, &server, &url).await;
        assert!(
            message.contains(reason) && message.contains(&shown),
            "{url}: {message}"
        );
        // It is reported once.
        let context = browser.page_context().await.unwrap();
        let notes = context.notes.unwrap_or_default();
        assert!(!notes.contains("error page"), "{notes}");
    }
}

#[tokio::test]
async fn the_page_of_a_server_error_is_named_as_one() {
    let server = Server::start(answer).await;
    let mut browser = headless().await;
    let done = go(&mut browser, &server.url("/missing")).await.unwrap();
    let message = done.text.unwrap_or_default();
    assert!(
        message.contains("HTTP 404 (Not Found); tab_1 shows what"),
        "{message}"
    );
    assert_eq!(title(&mut browser).await, "no such order");
    let again = text_of(&mut browser, Action::Reload { tab: None }).await;
    assert!(again.contains("HTTP 404"), "{again}");
    let done = go(&mut browser, &server.url("/start")).await.unwrap();
    assert_eq!(done.text, None);
    // Chromium itself shows an error if the server sent nothing with it.
    let message = match go(&mut browser, &server.url("/broken")).await {
        Ok(done) => done.text.unwrap_or_default(),
        Err(error) => error.to_string(),
    };
    assert!(message.contains("HTTP"), "{message}");
}

#[tokio::test]
async fn a_reload_that_fails_is_no_success() {
    let server = Server::start(answer).await;
    let mut browser = headless().await;
    go(&mut browser, &server.url("/start")).await.unwrap();
    let offline = |is_offline: bool| {
        let settings = json!({ "offline": is_offline }).as_object().cloned();
        Action::Emulate {
            settings: settings.unwrap(),
        }
    };
    perform(&mut browser, offline(true)).await.unwrap();
    let message = perform(&mut browser, Action::Reload { tab: None })
        .await
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("net::ERR_INTERNET_DISCONNECTED"),
        "{message}"
    );
    assert!(message.contains("error page for <http"), "{message}");
    perform(&mut browser, offline(false)).await.unwrap();
    perform(&mut browser, Action::Reload { tab: None })
        .await
        .unwrap();
    assert_eq!(title(&mut browser).await, "start");

    go(&mut browser, &server.url("/turns")).await.unwrap();
    let message = perform(&mut browser, Action::Reload { tab: None })
        .await
        .unwrap_err()
        .to_string();
    assert!(message.contains("HTTP 204"), "{message}");
    assert!(message.contains("tab_1 still shows <"), "{message}");
}

#[tokio::test]
async fn a_link_that_leads_nowhere_is_reported() {
    let server = Server::start(answer).await;
    let mut browser = headless().await;
    let port = ClosedPort::new().unwrap();
    let closed = format!("http://{}/", port.address());
    let links = format!(
        "<a href='{closed}'>Closed</a> <a href='{}'>Missing</a> <a href='{}'>Nothing</a>",
        server.url("/missing"),
        server.url("/none")
    );
    for (link, expected) in [
        ("\"Closed\"", "net::ERR_CONNECTION_REFUSED"),
        ("\"Missing\"", "HTTP 404 (Not Found)"),
        ("\"Nothing\"", "the server sent no page (HTTP 204)"),
    ] {
        go(&mut browser, &crate::common::page(&links))
            .await
            .unwrap();
        let all = read(&mut browser, "full").await;
        perform(&mut browser, click_on(ref_of(&all, link)))
            .await
            .unwrap();
        browser.settle(SETTLE).await.unwrap();
        let context = browser.page_context().await.unwrap();
        let notes = context.notes.unwrap_or_default();
        assert!(notes.contains(expected), "{link}: {notes}");
    }
}
