//! An attached Chromium behind a gateway, and in tabs that exist.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use telechir_browser::{
    AttachedTabs, Attachment, Browser, CdpEndpoint, FileAccess, Options, StorageStateFiles,
    TabChoice,
};
use telechir_device::{Computer as _, DeviceError, PageContextSource as _};
use telechir_protocol::{Action, FailureKind};
use telechir_testkit::assert_eventually;
use telechir_testkit::gateway::{Gateway, HEADER, TOKEN};
use telechir_testkit::site::Site;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::attached::Foreign;
use crate::common::{SIZE, click_on, go, options, perform, read, ref_of, script, text_of, title};
use crate::files::workspace;

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
    // A socket without a path is tried at its root, then discovered.
    let plain = foreign.socket.split("/devtools").next().unwrap();
    for address in [plain, &format!("{plain}/?token=t0k3n")] {
        attach(endpoint(address), AttachedTabs::Isolated)
            .await
            .unwrap();
    }
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

/// A workspace in which a storage state can be saved.
fn with_workspace(workspace: &Path, temp: &Path) -> Options {
    Options {
        temp_dir: temp.to_owned(),
        files: Some(FileAccess {
            workspace: workspace.to_owned(),
            saves_downloads: false,
        }),
        ..scripted()
    }
}

#[tokio::test]
async fn saving_a_state_takes_and_leaves_no_tab_of_the_owner() {
    let site = site().await;
    let foreign = Foreign::start(&site.url("page")).await;
    let (folder, workspace) = workspace();
    let attachment = || Attachment {
        endpoint: endpoint(&foreign.socket),
        tabs: AttachedTabs::Default,
    };
    let options = with_workspace(&workspace, folder.path());
    let mut browser = Browser::attach(attachment(), SIZE, options).await.unwrap();
    let mut owner = Browser::attach(attachment(), SIZE, scripted())
        .await
        .unwrap();
    script(&mut browser, "localStorage.theme = 'dark'").await;
    go(&mut browser, &site.url("page")).await.unwrap();
    let save = || Action::SaveStorageState { path: None };
    for count in 2..6 {
        let new_tab = Action::NewTab { url: None };
        let (saved, opened) =
            tokio::join!(perform(&mut browser, save()), perform(&mut owner, new_tab));
        saved.unwrap();
        opened.unwrap();
        assert_eventually!(browser.page_context().await.unwrap().tabs.len() == count);
    }
    // Given up at any moment, it leaves no tab open.
    for delay in 0..20 {
        let limit = Duration::from_millis(4 * delay);
        let _given_up_or_not = timeout(limit, perform(&mut browser, save())).await;
    }
    assert_eventually!(foreign.pages(), |pages| pages.len() == 5);
    assert_eventually!(browser.page_context().await.unwrap().tabs.len() == 5);
    let saved = text_of(&mut browser, save()).await;
    assert!(saved.contains("of 1 origins"), "{saved}");
}

#[tokio::test]
async fn an_owners_tab_stays_open_if_a_load_does_not_end() {
    let site = site().await;
    let foreign = Foreign::start(&site.url("page")).await;
    let attachment = Attachment {
        endpoint: endpoint(&foreign.socket),
        tabs: shows(site.url("page")),
    };
    let options = Options {
        navigation_timeout: Duration::from_secs(2),
        ..scripted()
    };
    let mut browser = Browser::attach(attachment, SIZE, options).await.unwrap();
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let late = go(&mut browser, &url).await.unwrap_err();
    assert!(matches!(late, DeviceError::Timeout { .. }), "{late}");
    assert_eq!(browser.page_context().await.unwrap().tabs.len(), 1);
    assert_eventually!(title(&mut browser).await == "owner's");
    go(&mut browser, &site.url("other")).await.unwrap();
    assert_eq!(title(&mut browser).await, "other");
    assert_eq!(foreign.pages(), [site.url("other")]);
}

#[tokio::test]
async fn after_a_cut_the_data_of_pages_is_as_they_left_it() {
    let site = site().await;
    let foreign = Foreign::start(&site.url("page")).await;
    let gateway = Gateway::start(&foreign.socket).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [load, save] = ["load.json", "save.json"].map(|name| folder.path().join(name));
    let url = site.url("");
    let origin = url.trim_end_matches('/');
    let data = json!({"origin": origin, "localStorage": [{"name": "theme", "value": "dark"}]});
    std::fs::write(&load, json!({ "origins": [data] }).to_string()).unwrap();
    let attachment = Attachment {
        endpoint: with_key(&gateway.url("ws")),
        tabs: AttachedTabs::Default,
    };
    let options = Options {
        storage_state: StorageStateFiles {
            load: Some(load),
            save: Some(save.clone()),
        },
        ..scripted()
    };
    let mut browser = Browser::attach(attachment, SIZE, options).await.unwrap();
    let changed = "localStorage.theme + (localStorage.theme = 'light')";
    assert_eq!(script(&mut browser, changed).await, "darklight");
    go(&mut browser, "data:text/html,<title>left</title>")
        .await
        .unwrap();
    gateway.cut();
    browser.lost().await;
    perform(&mut browser, Action::ListTabs).await.unwrap_err();
    browser.close().await.unwrap();
    let saved: Value = serde_json::from_slice(&std::fs::read(save).unwrap()).unwrap();
    let expected = json!([{"name": "theme", "value": "light"}]);
    assert_eq!(saved["origins"][0]["localStorage"], expected, "{saved}");
}

#[tokio::test]
async fn tabs_of_the_owner_are_not_reported_as_opened_by_a_page() {
    let site = site().await;
    let foreign = Foreign::start(&site.url("page")).await;
    let socket = || endpoint(&foreign.socket);
    let mut owner = attach(socket(), AttachedTabs::Default).await.unwrap();
    let new_tab = || Action::NewTab { url: None };
    perform(&mut owner, new_tab()).await.unwrap();
    let mut browser = attach(socket(), AttachedTabs::Default).await.unwrap();
    let mut notes = String::new();
    for count in [2, 3] {
        assert_eventually!({
            let context = browser.page_context().await.unwrap();
            notes += context.notes.as_deref().unwrap_or_default();
            let is_event = count == 3;
            assert!(is_event || context.changes.is_empty(), "{context:?}");
            context.tabs.len() == count
        });
        assert_eq!(title(&mut browser).await, "owner's");
        perform(&mut owner, new_tab()).await.unwrap();
    }
    assert_eq!(notes, "");
}
