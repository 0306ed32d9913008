//! Navigation: loads complete, fail or time out, and report it.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use telechir_browser::{AllowedUrls, Browser, Options};
use telechir_device::{Computer as _, DeviceError, Effect, PageContextSource as _, Settle};
use telechir_protocol::{Action, Size, UnsettledReason};
use telechir_testkit::assert_eventually;
use telechir_testkit::closed_port::ClosedPort;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::common::{
    SETTLE, click, click_on, go, headless, headless_with, launched, launched_with, options, page,
    perform, read, ref_of, text_of,
};
use crate::server::{Answer, Server};

#[tokio::test]
async fn a_fragment_navigation_aborts_no_request() {
    let server = Server::start(|path| {
        Some(match path {
            "/slow" => Answer {
                content_length: Some(1 << 20),
                ..Answer::file("image/png", b"")
            },
            _ => Answer::page("<img src=/slow><p id=there>there"),
        })
    })
    .await;
    let mut browser = headless().await;
    go(&mut browser, &server.url("/")).await.unwrap();
    go(&mut browser, &server.url("/#there")).await.unwrap();
    let fetched = text_of(&mut browser, Action::ReadNetwork { tab: None }).await;
    let slow = fetched.lines().find(|line| line.contains("/slow"));
    assert!(
        slow.is_some_and(|line| !line.contains("failed")),
        "{fetched}"
    );
}

#[tokio::test]
async fn redirects_by_script_before_the_load_are_followed() {
    let server = Server::start(|path| match path {
        "/" => Some(Answer::page(
            "<script>location = '/next'</script><script src=/never></script>",
        )),
        "/next" => Some(Answer::page("<title>next</title>")),
        _ => None,
    })
    .await;
    let mut browser = headless().await;
    go(&mut browser, &server.url("/")).await.unwrap();
    let context = browser.page_context().await.unwrap();
    assert_eq!(context.url, Some(server.url("/next")));
}

#[tokio::test]
async fn goes_back_and_forward_and_reloads() {
    let mut browser = headless().await;
    go(&mut browser, &page("<title>one</title>")).await.unwrap();
    let arrived = go(&mut browser, &page("<title>two</title>")).await.unwrap();
    assert_eq!(arrived.effect, Effect::Confirmed);
    let title = async |browser: &mut Browser| {
        browser.settle(SETTLE).await.unwrap();
        browser.page_context().await.unwrap().tabs[0].title.clone()
    };
    assert_eq!(title(&mut browser).await, "two");
    perform(&mut browser, Action::Back { tab: None })
        .await
        .unwrap();
    assert_eq!(title(&mut browser).await, "one");
    perform(&mut browser, Action::Forward { tab: None })
        .await
        .unwrap();
    assert_eq!(title(&mut browser).await, "two");
    perform(&mut browser, Action::Reload { tab: None })
        .await
        .unwrap();
    assert_eq!(title(&mut browser).await, "two");
    let refused = perform(&mut browser, Action::Forward { tab: None }).await;
    assert!(
        matches!(refused, Err(DeviceError::Refused { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn refuses_schemes_other_than_http_and_https() {
    let options = Options {
        allowed_urls: AllowedUrls::Web,
        ..options()
    };
    let mut browser = headless_with(options).await;
    for url in [
        "file:///etc/passwd",
        "chrome://settings",
        "javascript:alert(1)",
        "data:text/html,x",
        "view-source:http://h",
    ] {
        let refused = go(&mut browser, url).await;
        assert!(
            matches!(refused, Err(DeviceError::Refused { .. })),
            "{url}: {refused:?}"
        );
    }
    assert_eq!(
        browser.page_context().await.unwrap().url.as_deref(),
        Some("about:blank")
    );
}

#[tokio::test]
async fn a_refused_connection_is_a_readable_error() {
    let mut browser = headless().await;
    let closed = ClosedPort::new().unwrap();
    let refused = go(&mut browser, &format!("http://{}/", closed.address()))
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("ERR_CONNECTION_REFUSED"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_silent_host_times_out_and_the_next_load_works() {
    let options = Options {
        navigation_timeout: Duration::from_secs(2),
        ..options()
    };
    let mut browser = headless_with(options).await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let late = go(
        &mut browser,
        &format!("http://{}/", silent.local_addr().unwrap()),
    )
    .await;
    assert!(matches!(late, Err(DeviceError::Timeout { .. })), "{late:?}");
    go(&mut browser, &page("<title>after</title>"))
        .await
        .unwrap();
    assert_eq!(browser.page_context().await.unwrap().tabs.len(), 1);
}

#[tokio::test]
async fn a_crashed_page_is_an_error_and_can_be_left() {
    let mut browser = launched().await;
    go(&mut browser, &page("<title>before</title>"))
        .await
        .unwrap();
    let renderers = crate::isolation::renderers(browser.pid().unwrap());
    for pid in renderers {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    let failed = assert_eventually!(perform(&mut browser, click(10, 10)).await, |done| done
        .is_err());
    let error = failed.unwrap_err();
    assert!(error.to_string().contains("crashed"), "{error}");
    go(&mut browser, &page("<title>after</title>"))
        .await
        .unwrap();
    perform(&mut browser, click(10, 10)).await.unwrap();
}

const FETCHES: &str =
    "<body onclick=\"fetch('/slow').then(it => it.text()).then(it => document.title = it)\">";

/// Serves a page that requests a slow resource when clicked.
async fn slow_server(delay: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 4096];
                let count = stream.read(&mut request).await.unwrap_or(0);
                let mut body = FETCHES;
                if request[..count].starts_with(b"GET /slow") {
                    tokio::time::sleep(delay).await;
                    body = "late";
                }
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close";
                let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                let _the_client_may_be_gone = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    address
}

#[tokio::test]
async fn settling_waits_for_requests_of_a_click() {
    let mut browser = headless().await;
    let server = slow_server(Duration::from_millis(700)).await;
    go(&mut browser, &format!("http://{server}/"))
        .await
        .unwrap();
    browser.settle(SETTLE).await.unwrap();
    perform(&mut browser, click(10, 10)).await.unwrap();
    let settled = browser.settle(SETTLE).await.unwrap();
    assert!(settled.is_settled());
    assert_eq!(browser.page_context().await.unwrap().tabs[0].title, "late");
}

/// Effects of a click; the title changes when they are done.
const DOINGS: [(&str, &str); 6] = [
    (
        "a transition",
        "<style>body { transition: transform 300ms } .there { transform: translateX(90px) }</style>\
         <body onclick=\"document.body.className = 'there'\" ontransitionend=\"document.title = 'done'\">",
    ),
    (
        "a short timer",
        "<body onclick=\"setTimeout(() => document.title = 'done', 30)\">",
    ),
    (
        "a timer after the page has painted",
        "<body onclick=\"document.body.append('x'); setTimeout(() => document.title = 'done', 40)\">",
    ),
    (
        "images, one after the other",
        "<body onclick=\"let left = 4; const next = () => --left ? requestAnimationFrame(next) : \
         document.title = 'done'; next()\">",
    ),
    (
        "a long computation",
        "<body onclick=\"setTimeout(() => { const end = performance.now() + 200; \
         while (performance.now() < end); document.title = 'done' })\">",
    ),
    (
        "a WebSocket request to a server",
        "<body><script>const socket = new WebSocket('ws://SERVER'); \
         socket.onmessage = () => setTimeout(() => document.title = 'done', 20); \
         document.body.onclick = () => socket.send('hello')</script>",
    ),
];

/// Echoes every WebSocket message after a delay.
async fn slow_socket() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                // Some connections are only opened in advance.
                let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else {
                    return;
                };
                while let Some(Ok(message)) = socket.next().await {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    if message.is_text() && socket.send(message).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    address
}

/// A browser, and a server whose pages start these effects on a click and then change colour.
async fn doing() -> (Browser, Server) {
    let socket = slow_socket().await;
    // From the socket's origin: other origins may not access loopback.
    let server = Server::start(move |path| {
        let number = path.trim_start_matches('/').parse().unwrap_or(usize::MAX);
        let html = DOINGS.get(number).map_or("", |(_, html)| html);
        let html = html.replace("SERVER", &socket.to_string()).replace(
            "document.title = 'done'",
            "(document.title = 'done', document.body.style.background = 'rgb(1, 2, 3)')",
        );
        Some(Answer::page(&html))
    })
    .await;
    (headless().await, server)
}

async fn set_going(browser: &mut Browser, server: &Server, number: usize) {
    go(browser, &server.url(&format!("/{number}")))
        .await
        .unwrap();
    browser.settle(SETTLE).await.unwrap();
    perform(browser, click(10, 10)).await.unwrap();
}

/// The settle parameters of a complete call.
const CALL_SETTLE: Settle = Settle {
    quiet: Duration::from_millis(45),
    ceiling: Duration::from_secs(20),
};

#[tokio::test]
async fn settling_waits_for_effects_of_a_click() {
    let (mut browser, server) = doing().await;
    for (number, (what, _)) in DOINGS.iter().enumerate() {
        set_going(&mut browser, &server, number).await;
        let settled = browser.settle(CALL_SETTLE).await.unwrap();
        assert!(settled.is_settled(), "{what}: {settled:?}");
        let title = browser.page_context().await.unwrap().tabs[0].title.clone();
        assert_eq!(title, "done", "{what}: {settled:?}");
    }
}

#[tokio::test]
async fn a_screenshot_during_settling_shows_the_idle_page() {
    let (mut browser, server) = doing().await;
    for (number, (what, _)) in DOINGS.iter().enumerate() {
        set_going(&mut browser, &server, number).await;
        let (frame, settled) = browser.settle_and_capture(CALL_SETTLE).await.unwrap();
        assert!(settled.is_settled(), "{what}: {settled:?}");
        assert_eq!(
            frame.pixel(500, 500),
            Some([1, 2, 3]),
            "{what}: {settled:?}"
        );
    }
}

async fn assert_settles_soon(browser: &mut Browser) {
    let settled = browser.settle(CALL_SETTLE).await.unwrap();
    assert!(
        settled.is_settled() && settled.waited < CALL_SETTLE.ceiling / 2,
        "{settled:?}"
    );
}

#[tokio::test]
async fn the_script_of_a_worker_does_not_delay_settling() {
    let mut browser = headless().await;
    let script = "new Worker(URL.createObjectURL(new Blob(['onmessage = () => {}'])))";
    go(&mut browser, &page(&format!("<script>{script}</script>")))
        .await
        .unwrap();
    assert_settles_soon(&mut browser).await;
}

/// A page with a frame of another site.
const OUTER: &str = "<iframe></iframe><script>document.querySelector('iframe').src = \
    location.href.replace('127.0.0.1', 'localhost').replace('outer', 'inner')</script>";

#[tokio::test]
async fn a_frame_of_another_site_does_not_delay_settling() {
    let server = Server::start(|path| {
        let html = if path == "/outer" { OUTER } else { "inner" };
        Some(Answer::page(html))
    })
    .await;
    let mut browser = headless().await;
    go(&mut browser, &server.url("/outer")).await.unwrap();
    assert_settles_soon(&mut browser).await;
    perform(&mut browser, click(10, 10)).await.unwrap();
    assert_settles_soon(&mut browser).await;
}

#[tokio::test]
async fn a_frame_of_another_site_that_is_still_loading_is_waited_for() {
    let server = Server::start(|path| {
        let page = Answer::page(if path == "/outer" { OUTER } else { "inner" });
        let content_length = (path != "/outer").then_some(1 << 16);
        Some(Answer {
            content_length,
            ..page
        })
    })
    .await;
    let mut browser = headless().await;
    go(&mut browser, &server.url("/outer")).await.unwrap();
    let settled = browser.settle(CALL_SETTLE).await.unwrap();
    assert!(settled.waited > Duration::from_secs(1), "{settled:?}");
}

#[tokio::test]
async fn settling_never_waits_forever_and_reports_the_reason() {
    let mut browser = headless().await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let script = format!("fetch('http://{}/')", silent.local_addr().unwrap());
    go(&mut browser, &page(&format!("<script>{script}</script>")))
        .await
        .unwrap();
    assert_settles_soon(&mut browser).await;

    let spins = "<style>@keyframes spin { to { width: 300px } } i { display: block; height: 40px;\
                 width: 1px; background: red; animation: spin 1s infinite }</style><i></i>";
    go(&mut browser, &page(spins)).await.unwrap();
    let settle = Settle {
        quiet: Duration::from_millis(500),
        ceiling: Duration::from_secs(5),
    };
    let settled = browser.settle(settle).await.unwrap();
    assert_eq!(
        settled.unsettled,
        Some(UnsettledReason::Animated),
        "{settled:?}"
    );
    assert!(settled.waited < 2 * settle.ceiling, "{settled:?}");

    let hangs = "<body onclick='setTimeout(() => { for (;;); }, 5)'>";
    go(&mut browser, &page(hangs)).await.unwrap();
    perform(&mut browser, click(10, 10)).await.unwrap();
    let settled = browser.settle(settle).await.unwrap();
    assert_eq!(
        settled.unsettled,
        Some(UnsettledReason::Busy),
        "{settled:?}"
    );
}

#[tokio::test]
async fn all_traffic_uses_the_proxy_including_loopback() {
    let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = proxy.local_addr().unwrap();
    let options = Options {
        proxy: Some(format!("http://{address}")),
        ..options()
    };
    let mut browser = launched_with(options).await;
    let loading = go(&mut browser, "http://127.0.0.1:8099/requested");
    let (sender, mut requests) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        // One task per connection: some are only opened in advance.
        while let Ok((mut stream, _)) = proxy.accept().await {
            let sender = sender.clone();
            tokio::spawn(async move {
                let mut request = vec![0; 4096];
                let count = stream.read(&mut request).await.unwrap_or(0);
                let _nobody_listens =
                    sender.send(String::from_utf8_lossy(&request[..count]).into_owned());
                let answer = "HTTP/1.1 403 no\r\ncontent-length: 2\r\n\r\nno";
                let _the_client_may_be_gone = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    loading.await.unwrap();
    let mut seen = Vec::new();
    while let Ok(request) = requests.try_recv() {
        seen.push(request);
    }
    let wanted = "GET http://127.0.0.1:8099/requested ";
    assert!(
        seen.iter().any(|request| request.starts_with(wanted)),
        "{seen:?}"
    );
}

/// What is painted forever, at the top left.
const ENDLESS: [(&str, &str); 4] = [
    (
        "a spinner",
        "<style>@keyframes turn { to { rotate: 1turn } } i { display: block; width: 40px; height: 40px; \
         background: teal; animation: turn 1s linear infinite }</style><i></i>",
    ),
    (
        "a skeleton",
        "<style>@keyframes pulse { 50% { background: silver } } i { display: block; width: 300px; height: 20px; \
         background: gray; animation: pulse 2s infinite }</style><i></i>",
    ),
    (
        "a canvas",
        "<canvas width=100 height=50></canvas><script>const canvas = document.querySelector('canvas').getContext('2d')\n\
         const draw = time => { canvas.fillStyle = `hsl(${time % 360} 90% 50%)`; canvas.fillRect(0, 0, 100, 50); requestAnimationFrame(draw) }\n\
         draw(0)</script>",
    ),
    ("a marquee", "<marquee width=200>words</marquee>"),
];

#[tokio::test]
async fn an_endless_animation_is_reported_and_not_waited_for() {
    let mut browser = headless().await;
    for (name, endless) in ENDLESS {
        let html = page(&format!(
            "<style>body {{ margin: 0 }}</style>{endless}<button onclick=\"this.textContent = 'pressed'\">press</button>"
        ));
        go(&mut browser, &html).await.unwrap();
        browser.settle(SETTLE).await.unwrap();
        let all = read(&mut browser, "full").await;
        perform(&mut browser, click_on(ref_of(&all, "button")))
            .await
            .unwrap();
        let settled = browser.settle(SETTLE).await.unwrap();
        assert_eq!(
            settled.unsettled,
            Some(UnsettledReason::Animated),
            "{name}: {settled:?}"
        );
        let region = settled.animated_region.unwrap();
        let Size { width, height } = region.size();
        assert!(width <= 300 && height <= 60, "{name}: {region:?}");
        assert!(read(&mut browser, "full").await.contains("\"pressed\""));
    }
}
