//! An attached Chromium behind a gateway, and in tabs that exist.

use telechir_browser::{AttachedTabs, Attachment, Browser, CdpEndpoint, Options, TabChoice};
use telechir_device::{Computer as _, DeviceError, PageContextSource as _};
use telechir_protocol::{Action, FailureKind};
use telechir_testkit::assert_eventually;
use telechir_testkit::gateway::{Gateway, HEADER, TOKEN};
use telechir_testkit::site::Site;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::attached::Foreign;
use crate::common::{SIZE, click_on, go, options, perform, read, ref_of, script, text_of, title};

const PAGE: &str = "<title>owner's</title><button onclick=\"window.open('/popup')\">Open</button>\
    <button onclick=\"clicks = (window.clicks || 0) + 1\">Count</button>";
const OTHER: &str = "<title>other</title><p>private";

async fn site() -> Site {
    let popup = ("popup", "<title>popup</title>");
    Site::serve([("page", PAGE), ("other", OTHER), popup])
        .await
        .unwrap()
}

fn endpoint(url: &str) -> CdpEndpoint {
    CdpEndpoint::new(url).unwrap()
}

fn with_key(url: &str) -> CdpEndpoint {
    endpoint(url).with_header(HEADER.0, HEADER.1).unwrap()
}

fn scripted() -> Options {
    Options {
        allows_scripts: true,
        ..options()
    }
}

async fn attach(endpoint: CdpEndpoint, tabs: AttachedTabs) -> Result<Browser, DeviceError> {
    Browser::attach(Attachment { endpoint, tabs }, SIZE, scripted()).await
}

fn shows(url: String) -> AttachedTabs {
    AttachedTabs::Existing(TabChoice::Url(url))
}

#[tokio::test]
async fn a_socket_at_the_root_is_reached_with_its_token_and_headers() {
    let foreign = Foreign::start("about:blank").await;
    let gateway = Gateway::start(&foreign.socket).await.unwrap();
    for (count, scheme) in ["ws", "http"].into_iter().enumerate() {
        let attached = attach(with_key(&gateway.url(scheme)), AttachedTabs::Isolated).await;
        let mut browser = attached.unwrap();
        go(&mut browser, "data:text/html,<title>reached</title>")
            .await
            .unwrap();
        assert_eventually!(title(&mut browser).await == "reached");
        assert_eq!(gateway.handshakes(), count + 1);
    }
    // A socket without path and query is tried at its root, then discovered.
    let plain = foreign.socket.split("/devtools").next().unwrap();
    attach(endpoint(plain), AttachedTabs::Isolated)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_refusal_is_quoted_without_secrets() {
    let foreign = Foreign::start("about:blank").await;
    let gateway = Gateway::start(&foreign.socket).await.unwrap();
    let wrong = endpoint(&gateway.url("ws"))
        .with_header(HEADER.0, "wrong-4e1d")
        .unwrap();
    for endpoint in [wrong, with_key(&gateway.origin("http"))] {
        let refused = attach(endpoint, AttachedTabs::Isolated).await.unwrap_err();
        let text = refused.to_string();
        assert!(text.contains("401") && text.contains("no access"), "{text}");
        for secret in [TOKEN, HEADER.1, "wrong-4e1d"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}

#[tokio::test]
async fn a_socket_that_is_not_the_browsers_is_one_clear_error() {
    let foreign = Foreign::start("about:blank").await;
    let page = foreign.page_socket();
    // The same socket behind a gateway, which hides its path.
    let gateway = Gateway::start(&page).await.unwrap();
    for endpoint in [endpoint(&page), with_key(&gateway.url("ws"))] {
        let refused = attach(endpoint, AttachedTabs::Isolated).await.unwrap_err();
        assert!(
            refused.to_string().contains("of a single page"),
            "{refused}"
        );
    }
    for answer in [
        r#"{"type":"error","id":1,"error":"unknown command"}"#,
        r#"{"id":1,"error":{"message":"Unknown method","code":1}}"#,
        "hello",
    ] {
        let peer = other_protocol(answer).await;
        let refused = attach(endpoint(&peer), AttachedTabs::Isolated).await;
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("does not speak CDP"), "{text}");
        assert!(text.contains("expected the DevTools address"), "{text}");
    }
}

/// A WebSocket server of another protocol that gives one answer.
async fn other_protocol(answer: &'static str) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/peer", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        let key = head
            .lines()
            .find_map(|line| line.strip_prefix("sec-websocket-key: "));
        let accept = derive_accept_key(key.unwrap().as_bytes());
        let response = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {accept}\r\n\r\n"
        );
        stream.write_all(response.as_bytes()).await.unwrap();
        // The command, then a text frame.
        stream.read_u8().await.unwrap();
        let length = u8::try_from(answer.len()).unwrap();
        stream.write_all(&[0x81, length]).await.unwrap();
        stream.write_all(answer.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        let _until_the_client_leaves = stream.read_to_end(&mut rest).await;
    });
    url
}

#[tokio::test]
async fn an_owners_tab_is_used_in_its_own_context_and_stays_open() {
    let site = site().await;
    let foreign = Foreign::start(&site.url("page")).await;
    let owner = attach(endpoint(&foreign.socket), AttachedTabs::Default).await;
    let mut owner = owner.unwrap();
    script(&mut owner, "document.cookie = 'login=ada'").await;
    let other = Action::NewTab {
        url: Some(site.url("other")),
    };
    perform(&mut owner, other).await.unwrap();

    let attached = attach(endpoint(&foreign.socket), shows(site.url("page"))).await;
    let mut browser = attached.unwrap();
    let tabs = browser.page_context().await.unwrap().tabs;
    assert_eq!(tabs.len(), 1, "other tabs are not visible: {tabs:?}");
    assert_eventually!(title(&mut browser).await == "owner's");
    assert_eq!(script(&mut browser, "document.cookie").await, "login=ada");
    let page = read(&mut browser, "full").await;
    perform(&mut browser, click_on(ref_of(&page, "Open")))
        .await
        .unwrap();
    assert_eventually!(browser.page_context().await.unwrap().tabs.len() == 2);
    perform(&mut browser, Action::NewTab { url: None })
        .await
        .unwrap();
    assert_eq!(browser.page_context().await.unwrap().tabs.len(), 3);
    browser.close().await.unwrap();
    let open = foreign.pages();
    for name in ["page", "other", "popup"] {
        assert!(open.contains(&site.url(name)), "{name}: {open:?}");
    }
    assert_eventually!(
        owner.page_context().await.unwrap().tabs,
        |tabs| tabs.iter().any(|tab| tab.title == "other"),
        "the owner's other tab is unchanged"
    );
}

#[tokio::test]
async fn the_active_tab_is_the_one_that_the_user_sees() {
    let site = site().await;
    let foreign = Foreign::start(&site.url("page")).await;
    let active = || AttachedTabs::Existing(TabChoice::Active);
    // Chromium shows its window a moment after it has started.
    let attached = assert_eventually!(
        attach(endpoint(&foreign.socket), active()).await,
        |attached| attached.is_ok()
    );
    let mut browser = attached.unwrap();
    assert_eventually!(title(&mut browser).await == "owner's");
    let missing = attach(endpoint(&foreign.socket), shows(site.url("none"))).await;
    let text = missing.unwrap_err().to_string();
    assert!(text.contains(&site.url("page")), "{text}");
}

#[tokio::test]
async fn a_browser_that_was_opened_for_us_is_used_in_its_default_context() {
    let site = site().await;
    let foreign = Foreign::start(&site.url("page")).await;
    let attached = attach(endpoint(&foreign.socket), AttachedTabs::Default).await;
    let mut browser = attached.unwrap();
    assert_eventually!(title(&mut browser).await == "owner's");
    assert_eq!(browser.capture().await.unwrap().size(), SIZE);
    perform(&mut browser, Action::NewTab { url: None })
        .await
        .unwrap();
    assert_eq!(browser.page_context().await.unwrap().tabs.len(), 2);
    browser.close().await.unwrap();
    assert_eq!(foreign.pages().len(), 2, "the browser keeps running");
}

#[tokio::test]
async fn after_a_cut_the_same_tab_is_used_again_and_refs_are_stale() {
    let site = site().await;
    let foreign = Foreign::start(&site.url("page")).await;
    let gateway = Gateway::start(&foreign.socket).await.unwrap();
    let attached = attach(with_key(&gateway.url("ws")), shows(site.url("page"))).await;
    let mut browser = attached.unwrap();
    let page = read(&mut browser, "full").await;
    let count = ref_of(&page, "Count");
    perform(&mut browser, click_on(count.clone()))
        .await
        .unwrap();

    // Between two actions: the next one was not performed.
    gateway.cut();
    browser.lost().await;
    let failure = perform(&mut browser, click_on(count.clone()))
        .await
        .unwrap_err()
        .to_failure();
    assert_eq!(failure.kind, FailureKind::Device);
    assert!(failure.message.contains("not performed"), "{failure}");
    assert_eq!(script(&mut browser, "clicks").await, "1");
    let stale = perform(&mut browser, click_on(count)).await.unwrap_err();
    assert_eq!(stale.to_failure().kind, FailureKind::Stale, "{stale}");

    // During an action: its effect is unknown.
    let endless = Action::Javascript {
        script: "history.replaceState({}, '', '#busy'); await new Promise(() => {})".to_owned(),
        tab: None,
    };
    let cut = async {
        let is_busy = |url: &String| url.ends_with("#busy");
        assert_eventually!(foreign.pages().iter().any(is_busy));
        gateway.cut();
    };
    let (failed, ()) = tokio::join!(perform(&mut browser, endless), cut);
    let failure = failed.unwrap_err().to_failure();
    assert_eq!(failure.kind, FailureKind::Interrupted, "{failure}");
    assert_eq!(
        text_of(&mut browser, Action::ListTabs)
            .await
            .lines()
            .count(),
        1
    );
    assert_eventually!(title(&mut browser).await == "owner's");
}
