//! Events beside actions: each is resolved and reported, and the next action works.

use std::time::{Duration, Instant};

use telechir_browser::{AllowedUrls, Browser, FileAccess, Options};
use telechir_device::{ActionReport, Computer as _, DeviceError, PageContextSource as _};
use telechir_protocol::{Action, StateChange};
use telechir_testkit::site::Site;

use crate::common::{
    SETTLE, click, click_on, go, headless, headless_chromium, headless_with, launched,
    launched_with, notices_until, options, page, perform, read, ref_of, script, scripted, text_of,
    title,
};
use crate::files::workspace;
use crate::server::{Answer, Server};

/// Clicks the page and waits until this text is reported.
async fn click_until(browser: &mut Browser, fragment: &str) {
    let done = perform(browser, click(300, 300)).await.unwrap();
    expect_notice(browser, done, fragment).await;
}

async fn expect_notice(browser: &mut Browser, done: ActionReport, fragment: &str) {
    if !done.text.unwrap_or_default().contains(fragment) {
        notices_until(browser, fragment).await;
    }
}

/// Waits until the active page has this title.
async fn is_titled(browser: &mut Browser, wanted: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while title(browser).await != wanted {
        assert!(Instant::now() < deadline, "the title is not {wanted}");
    }
}

fn answer(path: &str) -> Option<Answer> {
    Some(match path {
        "/locked" => Answer {
            status: "401 Unauthorized",
            head: "content-type: text/html\r\nwww-authenticate: Basic realm=\"vault\"\r\n"
                .to_owned(),
            body: b"<title>members only</title>".to_vec(),
            content_length: None,
        },
        "/where" => Answer::page(
            "<title>asks</title><body onclick=\"navigator.geolocation.getCurrentPosition(() => document.title = 'granted', () => document.title = 'denied')\">",
        ),
        "/next" => Answer::page("<title>next</title><body onclick=\"document.title = 'clicked'\">"),
        "/paper.pdf" => Answer::file("application/pdf", PDF),
        _ => return None,
    })
}

/// A PDF with one line of text.
const PDF: &[u8] = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n\
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n\
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj\n\
4 0 obj<</Length 44>>stream\nBT /F 24 Tf 20 100 Td (A line of paper) Tj ET\nendstream endobj\n\
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n\
trailer<</Root 1 0 R>>\n%%EOF";

/// A page whose request is denied continues, and the next page works.
pub(crate) async fn requests_are_denied_and_reported(browser: &mut Browser) {
    let server = Server::start(answer).await;
    go(browser, &server.url("/where")).await.unwrap();
    click_until(browser, "\"geolocation\"; it was denied").await;
    is_titled(browser, "denied").await;

    let done = go(browser, &server.url("/locked")).await.unwrap();
    expect_notice(browser, done, "realm=\\\"vault\\\"").await;
    is_titled(browser, "members only").await;

    let page_html = page(
        "<title>asks</title><body onclick='setTimeout(() => { confirm(\"sure?\"); document.title = \"answered\" }, 100)'>",
    );
    go(browser, &page_html).await.unwrap();
    click_until(browser, "(confirm): \"sure?\"").await;
    let no = Action::AnswerDialog {
        accept: false,
        text: None,
    };
    perform(browser, no).await.unwrap();
    is_titled(browser, "answered").await;

    let mail = page("<title>mail</title><body onclick=\"location = 'mailto:a@b.org'\">");
    go(browser, &mail).await.unwrap();
    click_until(browser, "an external program to open \"mailto:a@b.org\"").await;
    // A process without a program to execute exits at once.
    let programs = || crate::isolation::programs(browser.pid().unwrap());
    let are_chromium = || programs().iter().all(|name| name.starts_with("chrom"));
    assert!(
        crate::isolation::eventually(are_chromium).await,
        "{:?}",
        programs()
    );

    go(browser, &server.url("/next")).await.unwrap();
    click_until(browser, "").await;
    is_titled(browser, "clicked").await;
}

#[tokio::test]
async fn permissions_and_prompts_are_denied_and_reported() {
    for mut browser in [launched().await, headless_chromium().await] {
        requests_are_denied_and_reported(&mut browser).await;
        let prints = page("<title>prints</title><body onclick='print()'>");
        go(&mut browser, &prints).await.unwrap();
        click_until(&mut browser, "requested printing").await;
    }
}

/// The headless shell shows no prompt; denials are known from the replies to the page.
#[tokio::test]
async fn each_denied_permission_is_reported() {
    let mut browser = scripted().await;
    let site = Site::serve([("asks", "<title>asks</title><body>")]);
    let site = site.await.unwrap();
    for (page_html, name) in [
        (
            "navigator.geolocation.watchPosition(() => {})",
            "geolocation",
        ),
        ("navigator.requestMIDIAccess({ sysex: true })", "midi"),
        ("navigator.clipboard.readText()", "clipboard-read"),
        ("getScreenDetails()", "window-management"),
        ("IdleDetector.requestPermission()", "idle-detection"),
    ] {
        go(&mut browser, &site.url("asks")).await.unwrap();
        let when_clicked = format!("document.body.onclick = () => {{ {page_html} }}; 1");
        script(&mut browser, &when_clicked).await;
        click_until(&mut browser, &format!("\"{name}\"; it was denied")).await;
    }
}

#[tokio::test]
async fn permissions_of_cross_site_frames_are_denied_and_reported() {
    let page_html = "<body onclick=\"navigator.geolocation.getCurrentPosition(\
        () => parent.postMessage('granted', '*'), () => parent.postMessage('denied', '*'))\">";
    let holds = |allowed: &str| {
        format!(
            "<title>holds</title><style>* {{ margin: 0 }}</style>\
             <iframe width=900 height=700 {allowed} src='{{elsewhere}}/asks'></iframe>\
             <script>onmessage = event => document.title = event.data</script>"
        )
    };
    let (may, may_not) = (holds("allow=geolocation"), holds(""));
    let pages = [("asks", page_html), ("may", &may), ("may-not", &may_not)];
    let site = Site::serve(pages).await.unwrap();
    let mut browser = headless().await;
    go(&mut browser, &site.url("may")).await.unwrap();
    browser.settle(SETTLE).await.unwrap();
    click_until(&mut browser, "\"geolocation\"; it was denied").await;
    is_titled(&mut browser, "denied").await;
    // No prompt is shown if the page does not delegate the permission to the frame; the console
    // reports that.
    go(&mut browser, &site.url("may-not")).await.unwrap();
    browser.settle(SETTLE).await.unwrap();
    click_until(&mut browser, "").await;
    is_titled(&mut browser, "denied").await;
    let notices = text_of(&mut browser, Action::ReadConsole { tab: None }).await;
    assert!(notices.contains("ermissions policy"), "{notices}");
}

#[tokio::test]
async fn a_pdf_is_displayed() {
    let mut browser = headless_chromium().await;
    let server = Server::start(answer).await;
    let done = go(&mut browser, &server.url("/paper.pdf")).await.unwrap();
    expect_notice(&mut browser, done, "is a PDF: the screenshot shows it").await;
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let frame = browser.capture().await.unwrap();
        let pixels = (0..768).flat_map(|y| (0..1024).map(move |x| (x, y)));
        let pixels: Vec<[u8; 3]> = pixels.filter_map(|(x, y)| frame.pixel(x, y)).collect();
        let count = |colour: [u8; 3]| pixels.iter().filter(|pixel| **pixel == colour).count();
        let (paper, ink) = (count([255; 3]), count([0; 3]));
        if paper > 50_000 && ink > 200 {
            break;
        }
        assert!(
            Instant::now() < deadline,
            "{paper} pixels of paper, {ink} of ink"
        );
        browser.settle(SETTLE).await.unwrap();
    }
    // The controls of the PDF viewer are readable and usable.
    let viewer = read(&mut browser, "").await;
    assert!(viewer.contains("\"Zoom in\""), "{viewer}");
    go(&mut browser, &server.url("/next")).await.unwrap();
    click_until(&mut browser, "").await;
    is_titled(&mut browser, "clicked").await;
}

/// The headless shell does not display PDFs: it reports that, and saves them if downloads are
/// saved.
#[tokio::test]
async fn a_pdf_is_downloaded_by_the_headless_shell() {
    let server = Server::start(answer).await;
    let (_folder, workspace) = workspace();
    for (saves_downloads, files) in [(false, 0), (true, 1)] {
        let mut browser = launched_with(Options {
            files: Some(FileAccess {
                workspace: workspace.clone(),
                saves_downloads,
            }),
            ..options()
        })
        .await;
        let went = go(&mut browser, &server.url("/paper.pdf")).await;
        assert_eq!(went.is_ok(), saves_downloads, "{went:?}");
        let notices = match went {
            Ok(done) => done.text.unwrap_or_default(),
            Err(error) => error.to_string(),
        };
        let beside = browser
            .page_context()
            .await
            .unwrap()
            .notes
            .unwrap_or_default();
        let notices = notices + &beside;
        assert!(
            notices.contains("is a PDF, which this browser does not show"),
            "{notices}"
        );
        if saves_downloads && !notices.contains("downloads/paper.pdf") {
            notices_until(&mut browser, "downloads/paper.pdf").await;
        }
        let saved = std::fs::read(workspace.join("downloads/paper.pdf"));
        assert_eq!(saved.is_ok_and(|saved| saved == PDF), files == 1);
        go(&mut browser, &server.url("/next")).await.unwrap();
        click_until(&mut browser, "").await;
        is_titled(&mut browser, "clicked").await;
    }
}

#[tokio::test]
async fn endless_dialogs_are_stopped() {
    let mut browser = hasty().await;
    let storm = page("<title>storm</title><body onmousedown='for (;;) alert(1)'>");
    go(&mut browser, &storm).await.unwrap();
    perform(&mut browser, click(10, 10)).await.unwrap();
    let late = perform(&mut browser, click(10, 10)).await;
    assert!(
        matches!(late, Err(DeviceError::Unresponsive { .. })),
        "{late:?}"
    );
    let context = browser.page_context().await.unwrap();
    let notices = context.notes.unwrap_or_default();
    assert!(notices.contains("more such events"), "{notices:?}");
    go(&mut browser, &page("<title>after</title>"))
        .await
        .unwrap();
    assert_eq!(title(&mut browser).await, "after");
}

/// A browser with a limit of three seconds for pages.
async fn hasty() -> Browser {
    headless_with(Options {
        reply_timeout: Duration::from_secs(3),
        ..options()
    })
    .await
}

#[tokio::test]
async fn a_hanging_page_is_recovered_and_the_next_click_works() {
    let mut browser = hasty().await;
    let hangs = "<title>hangs</title><button onclick='for(;;);'>hang</button><button onclick=\"document.title = 'clicked'\">go on</button>";
    go(&mut browser, &page(hangs)).await.unwrap();
    let all = read(&mut browser, "full").await;
    let start = Instant::now();
    let late = perform(&mut browser, click_on(ref_of(&all, "\"hang\""))).await;
    let Err(error @ DeviceError::Unresponsive { .. }) = late else {
        panic!("{late:?}");
    };
    assert!(error.to_string().contains("was stopped"), "{error}");
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
    perform(&mut browser, click_on(ref_of(&all, "\"go on\"")))
        .await
        .unwrap();
    assert_eq!(title(&mut browser).await, "clicked");
}

#[tokio::test]
async fn a_screenshot_of_a_hanging_page_is_an_error_and_the_next_one_works() {
    let mut browser = hasty().await;
    let hangs = page("<title>hangs</title><body onclick='setTimeout(() => { for(;;); }, 20)'>");
    go(&mut browser, &hangs).await.unwrap();
    perform(&mut browser, click(10, 10)).await.unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        match browser.capture().await {
            Err(DeviceError::Unresponsive { .. }) => break,
            other => assert!(Instant::now() < deadline, "{other:?}"),
        }
    }
    browser.capture().await.unwrap();
}

#[tokio::test]
async fn a_crash_is_reported_and_the_tab_can_be_used_again() {
    let mut browser = headless_with(Options {
        allowed_urls: AllowedUrls::Judged,
        ..options()
    })
    .await;
    go(&mut browser, "chrome://crash").await.unwrap_err();
    notices_until(&mut browser, "The page in tab_1 crashed").await;
    let click_it = perform(&mut browser, click(10, 10)).await.unwrap_err();
    assert!(click_it.to_string().contains("crashed"), "{click_it}");
    go(&mut browser, &page("<title>after</title>"))
        .await
        .unwrap();
    assert_eq!(title(&mut browser).await, "after");
}

#[tokio::test]
async fn tabs_that_pages_open_are_reported_once() {
    let mut browser = headless().await;
    let opens = page("<title>opener</title><body onclick=\"window.open('about:blank')\">");
    go(&mut browser, &opens).await.unwrap();
    perform(&mut browser, click(10, 10)).await.unwrap();
    browser.settle(SETTLE).await.unwrap();
    let context = browser.page_context().await.unwrap();
    let opened = StateChange::TabOpened {
        tab_id: "tab_2".to_owned(),
    };
    assert_eq!(context.changes, [opened]);
    assert!(
        context
            .notes
            .unwrap_or_default()
            .contains("A page opened tab_2, which is active")
    );
    let context = browser.page_context().await.unwrap();
    assert_eq!((context.changes, context.notes), (vec![], None));
    perform(&mut browser, Action::NewTab { url: None })
        .await
        .unwrap();
    let context = browser.page_context().await.unwrap();
    let opened = StateChange::TabOpened {
        tab_id: "tab_3".to_owned(),
    };
    assert_eq!((context.changes, context.notes), (vec![opened], None));
}

#[tokio::test]
async fn console_messages_and_requests_are_listed() {
    let mut browser = headless().await;
    let server = Server::start(answer).await;
    go(&mut browser, &server.url("/next")).await.unwrap();
    let logs = page(
        "<script>console.warn('careful', { a: 1 }, [2]); setTimeout(() => { throw new Error('no') }, 0)</script>",
    );
    go(&mut browser, &logs).await.unwrap();
    browser.settle(SETTLE).await.unwrap();
    for _ in 0..2 {
        let notices = perform(&mut browser, Action::ReadConsole { tab: None })
            .await
            .unwrap();
        let notices = notices.text.unwrap();
        assert!(
            notices.contains("[warning] careful Object Array(1)"),
            "{notices}"
        );
        assert!(notices.contains("[uncaught] Error: no"), "{notices}");
    }
    go(&mut browser, &server.url("/locked")).await.unwrap();
    browser.settle(SETTLE).await.unwrap();
    let notices = perform(&mut browser, Action::ReadNetwork { tab: None })
        .await
        .unwrap();
    let notices = notices.text.unwrap();
    let line = notices
        .lines()
        .find(|line| line.ends_with("/locked"))
        .unwrap_or_default();
    assert!(line.contains("] GET 401 document text/html"), "{notices}");
    assert!(!notices.contains("/next"), "{notices}");
}
