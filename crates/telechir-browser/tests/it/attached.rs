//! An attached Chromium: used in its own context, otherwise untouched, and reported when lost.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use telechir_browser::{Attachment, Browser, CdpEndpoint, FileAccess, Options};
use telechir_device::{Computer as _, DeviceError, PageContextSource as _};
use telechir_process::{Child, Spawn, Stdio};
use telechir_protocol::{Action, Size};
use telechir_testkit::assert_eventually;
use telechir_testkit::closed_port::ClosedPort;
use telechir_testkit::gate::{Component, require};
use telechir_testkit::site::Site;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::unix::pipe::Receiver;
use tokio::time::sleep;

use crate::common::{
    CHROMIUM, SIZE, click, click_on, go, notices_until, options, page, perform, read, ref_of,
    script, title,
};
use crate::files::{CONTROLS, refusal, upload, workspace};
use crate::floods::OPENS;

const PAGE: &str = "<script>document.title = `knows ${document.cookie || 'nothing'}`;\
    document.cookie = 'login=ada'</script>\
    <button onclick=\"window.open('{here}/other', '_blank')\">open</button>";

/// A Chromium that telechir did not start, with one page.
pub(crate) struct Foreign {
    chromium: Child,
    pub(crate) socket: String,
    _folder: TempDir,
}

/// Attaches in a context of its own.
async fn attach(address: &str, size: Size, options: Options) -> Result<Browser, DeviceError> {
    let endpoint = CdpEndpoint::new(address).map_err(|error| DeviceError::Refused {
        message: error.to_string(),
    })?;
    Browser::attach(Attachment::isolated(endpoint), size, options).await
}

impl Foreign {
    /// Starts it and waits until the page has its title.
    pub(crate) async fn start(page: &str) -> Self {
        Self::start_with(page, &[]).await
    }

    async fn start_with(page: &str, flags: &[&str]) -> Self {
        require(Component::Chromium);
        let folder = tempfile::tempdir().unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(folder.path(), open).unwrap();
        let mut chromium = Spawn::new(CHROMIUM)
            .args([
                "--headless=new",
                "--remote-debugging-port=0",
                "--no-first-run",
            ])
            .args(flags)
            .arg(format!(
                "--user-data-dir={}",
                folder.path().join("x").display()
            ))
            .arg(page)
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", folder.path())
            .env("TMPDIR", folder.path())
            .identity(options().identity)
            .stderr(Stdio::Piped)
            .spawn()
            .await
            .unwrap();
        let stderr = Receiver::from_owned_fd(chromium.take_stderr().unwrap()).unwrap();
        let mut lines = BufReader::new(stderr).lines();
        let socket = loop {
            let line = lines.next_line().await.unwrap().unwrap();
            if let Some((_, socket)) = line.split_once("DevTools listening on ") {
                break socket.to_owned();
            }
        };
        // Keeps reading, because Chromium would block on a full pipe.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let foreign = Self {
            chromium,
            socket,
            _folder: folder,
        };
        assert_eventually!(foreign.shows(page), "no page shows {page}");
        foreign
    }

    /// Whether one of its pages shows this URL and has its title.
    fn shows(&self, url: &str) -> bool {
        self.targets().iter().any(|page| {
            let title = page["title"].as_str().unwrap_or_default();
            // Until a document has a title, its URL without the scheme stands there.
            let has_title = url == "about:blank" || !(title.is_empty() || url.contains(title));
            page["url"] == url && has_title
        })
    }

    /// The host and port of its DevTools address.
    fn address(&self) -> &str {
        let rest = self.socket.strip_prefix("ws://").unwrap();
        rest.split('/').next().unwrap()
    }

    /// The URLs of its pages.
    pub(crate) fn pages(&self) -> Vec<String> {
        let targets = self.targets();
        let url = |page: &serde_json::Value| page["url"].as_str().unwrap().to_owned();
        targets.iter().map(url).collect()
    }

    /// The socket of its first page.
    pub(crate) fn page_socket(&self) -> String {
        let socket = &self.targets()[0]["webSocketDebuggerUrl"];
        socket.as_str().unwrap().to_owned()
    }

    /// Its pages, from `/json/list`.
    fn targets(&self) -> Vec<serde_json::Value> {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        write!(
            stream,
            "GET /json/list HTTP/1.1\r\nHost: {}\r\n\r\n",
            self.address()
        )
        .unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        let head = String::from_utf8(head).unwrap();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Length:"));
        let mut body = vec![0; length.unwrap().trim().parse().unwrap()];
        stream.read_exact(&mut body).unwrap();
        let targets: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let targets = targets.as_array().unwrap().iter();
        let pages = targets.filter(|target| target["type"] == "page");
        pages.cloned().collect()
    }
}

#[tokio::test]
async fn an_attached_browser_uses_its_own_context_only() {
    let pages = [
        ("page", PAGE),
        ("foreign", PAGE),
        ("other", "<title>other</title>"),
    ];
    let site = Site::serve(pages).await.unwrap();
    let other_page = site.url("foreign");
    let foreign = Foreign::start(&other_page).await;
    for address in [
        format!("http://{}", foreign.address()),
        foreign.socket.clone(),
    ] {
        let mut browser = attach(&address, SIZE, options()).await.unwrap();
        assert_eq!(
            browser.page_context().await.unwrap().tabs.len(),
            1,
            "other tabs are not visible"
        );
        go(&mut browser, &site.url("page")).await.unwrap();
        assert_eq!(
            title(&mut browser).await,
            "knows nothing",
            "data of other contexts is not visible"
        );
        assert_eq!(browser.capture().await.unwrap().size(), SIZE);
        let snapshot = read(&mut browser, "full").await;
        perform(&mut browser, click_on(ref_of(&snapshot, "open")))
            .await
            .unwrap();
        let mut tabs = browser.page_context().await.unwrap().tabs;
        // A popup is listed once it is attached.
        while tabs.len() < 2 {
            tabs = browser.page_context().await.unwrap().tabs;
        }
        assert!(foreign.pages().len() >= 3);
        browser.close().await.unwrap();
        assert_eq!(
            foreign.pages(),
            std::slice::from_ref(&other_page),
            "the other page is unchanged"
        );
    }
    assert_eq!(
        foreign.chromium.try_wait().unwrap(),
        None,
        "the attached Chromium keeps running"
    );
    // Dropped without closing, as when telechir is killed.
    drop(attach(&foreign.socket, SIZE, options()).await.unwrap());
    while foreign.pages().len() > 1 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn files_are_uploaded_to_an_attached_browser() {
    let (folder, workspace) = workspace();
    for name in ["a.txt", "b.png"] {
        std::fs::write(workspace.join(name), format!("text of {name}")).unwrap();
    }
    std::fs::write(folder.path().join("secret"), "secret").unwrap();
    let foreign = Foreign::start("about:blank").await;
    let options = Options {
        temp_dir: folder.path().to_owned(),
        files: Some(FileAccess {
            workspace,
            saves_downloads: true,
        }),
        allows_scripts: true,
        ..options()
    };
    let mut browser = attach(&foreign.socket, SIZE, options).await.unwrap();
    go(&mut browser, &page(CONTROLS)).await.unwrap();
    let all = read(&mut browser, "full").await;
    let one = ref_of(&all, "\"one\"");
    let no = refusal(perform(&mut browser, upload(one.clone(), &["../secret"])).await);
    assert!(no.contains("only files in the workspace"), "{no}");
    let given = perform(&mut browser, upload(one, &["a.txt"]))
        .await
        .unwrap();
    assert!(given.text.unwrap().contains("has a.txt."));
    let many = upload(ref_of(&all, "\"many\""), &["a.txt", "b.png"]);
    perform(&mut browser, many).await.unwrap();
    let kind = script(&mut browser, "many.files[1].type").await;
    assert_eq!(kind, "image/png");
    let attach = ref_of(&all, "\"Attach\"");
    let clicked = perform(&mut browser, click_on(attach.clone())).await;
    let notices = clicked.unwrap().text.unwrap_or_default();
    if !notices.contains("requested a file") {
        notices_until(&mut browser, "requested a file").await;
    }
    perform(&mut browser, upload(attach, &["b.png"]))
        .await
        .unwrap();
    let wanted = "one: a.txt=text of a.txt false;many: a.txt=text of a.txt,b.png=text of b.png false;picked: b.png=text of b.png false;";
    let deadline = Instant::now() + Duration::from_secs(5);
    let mut log = String::new();
    while log != wanted && Instant::now() < deadline {
        log = script(&mut browser, "log.textContent").await;
    }
    assert_eq!(log, wanted);
}

#[tokio::test]
async fn a_lost_browser_is_reported() {
    let foreign = Foreign::start("about:blank").await;
    let mut browser = attach(&foreign.socket, SIZE, options()).await.unwrap();
    drop(foreign);
    let lost = browser.lost().await.to_string();
    assert!(lost.contains("browser"), "{lost}");
    let later = go(&mut browser, "about:blank").await.unwrap_err();
    assert!(
        matches!(later, DeviceError::Disconnected { .. }),
        "{later:?}"
    );
    assert!(browser.lost_reason().is_some());
}

#[tokio::test]
async fn an_address_without_a_browser_is_an_error_without_secrets() {
    let site = Site::serve([("page", PAGE)]).await.unwrap();
    let origin = site.url("");
    let origin = origin.trim_end_matches('/');
    let closed = ClosedPort::new().unwrap();
    for (address, fragment) in [
        (
            format!("{origin}?token=secret"),
            "expected the DevTools address",
        ),
        (
            origin.replace("http", "ws") + "/page?token=secret",
            "the WebSocket handshake returned",
        ),
        (format!("http://{}", closed.address()), "refused"),
        ("ftp://host".to_owned(), "expected a URL with"),
    ] {
        let refused = attach(&address, SIZE, options()).await.unwrap_err();
        let text = refused.to_string();
        assert!(
            text.contains(fragment) && !text.contains("secret"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn endlessly_opened_tabs_are_limited() {
    // Browser drivers start Chromium like this.
    let foreign = Foreign::start_with("about:blank", &["--disable-popup-blocking"]).await;
    let options = Options {
        // The click returns when the page has opened all of them.
        reply_timeout: Duration::from_secs(30),
        ..options()
    };
    let mut browser = attach(&foreign.socket, SIZE, options).await.unwrap();
    go(&mut browser, &page(OPENS)).await.unwrap();
    perform(&mut browser, click(10, 10)).await.unwrap();
    // Eventually the page has as many tabs as it gets; further ones are reported.
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut notices = String::new();
    loop {
        let context = browser.page_context().await.unwrap();
        notices += &context.notes.unwrap_or_default();
        if context.tabs.len() == 50 {
            break;
        }
        assert!(Instant::now() < deadline, "{notices}");
        sleep(Duration::from_millis(20)).await;
    }
    let is_bounded = notices.contains("closed at once: at most 50 may be open");
    assert_eq!(is_bounded, notices.contains("more tabs"), "{notices}");
    assert!(browser.page_context().await.unwrap().tabs.len() <= 50);
    let another = Action::NewTab { url: None };
    let refused = perform(&mut browser, another).await.unwrap_err();
    assert!(refused.to_string().contains("close one first"), "{refused}");
    go(&mut browser, &page("<title>next</title>"))
        .await
        .unwrap();
    assert_eq!(title(&mut browser).await, "next");
}
