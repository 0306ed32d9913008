//! Frames: same-site, cross-site and nested.

use std::net::TcpListener;
use std::time::Duration;

use telechir_browser::Browser;
use telechir_device::{Computer as _, DeviceError, Effect, Settle};
use telechir_protocol::Action;
use telechir_testkit::assert_eventually;
use telechir_testkit::site::Site;

use crate::common::{
    SETTLE, click, click_on, go, headless, headless_chromium, notices_until, page, perform, read,
    ref_of, script, scripted, text_of,
};
use crate::server::{Answer, Server};

const OUTER: &str = "<title>outer</title><h1>Outer</h1><div style='height:1500px'></div>\
<iframe id=f style='width:400px;height:200px;border:7px solid;padding:5px' title=Inner src={elsewhere}/middle></iframe>\
<button>outer button</button>";
const MIDDLE: &str = "<p>middle words</p><div style='height:400px'></div>\
<iframe style='width:300px;height:120px' src={here}/inner></iframe>";
const INNER: &str = "<button onclick=\"this.textContent = 'pressed'\">inner button</button><input aria-label=Field>\
<script>onmessage = event => location = event.data</script>";

async fn site() -> Site {
    let slow = "<script>while (true);</script>";
    Site::serve([
        ("outer", OUTER),
        ("middle", MIDDLE),
        ("inner", INNER),
        ("other", "<button>other button</button>"),
        (
            "same",
            "<iframe src={here}/inner></iframe><button>after</button>",
        ),
        (
            "hanging",
            "<button>alive</button><iframe src={elsewhere}/slow></iframe>",
        ),
        ("slow", slow),
    ])
    .await
    .unwrap()
}

#[tokio::test]
async fn a_same_site_frame_is_read_inline() {
    let site = site().await;
    let mut browser = headless().await;
    go(&mut browser, &site.url("same")).await.unwrap();
    let all = read(&mut browser, "full").await;
    let at = |fragment| {
        all.find(fragment)
            .unwrap_or_else(|| panic!("no {fragment} in {all}"))
    };
    assert!(at("iframe") < at("inner button") && at("inner button") < at("after"));
    let done = perform(&mut browser, click_on(ref_of(&all, "inner button")))
        .await
        .unwrap();
    assert_eq!(done.effect, Effect::Confirmed);
    assert!(read(&mut browser, "").await.contains("\"pressed\""));
}

#[tokio::test]
async fn cross_site_frames_are_read_and_clicked_at_any_depth() {
    let site = site().await;
    let mut browser = headless().await;
    go(&mut browser, &site.url("outer")).await.unwrap();
    // The frames may load after the page.
    let all = assert_eventually!(read(&mut browser, "full").await, |all| [
        "middle words",
        "inner button",
        "outer button"
    ]
    .iter()
    .all(|fragment| all.contains(fragment)));
    // Outside the view of the outer page and of the middle one.
    let done = perform(&mut browser, click_on(ref_of(&all, "inner button")))
        .await
        .unwrap();
    assert_eq!(done.effect, Effect::Confirmed, "{done:?}");
    let field = ref_of(&all, "textbox \"Field\"");
    let typed = Action::Type {
        text: "Zoë 日本".to_owned(),
        at: Some(field),
        clear_first: false,
        submit: false,
    };
    perform(&mut browser, typed).await.unwrap();
    let after = read(&mut browser, "full").await;
    assert!(after.contains("button \"pressed\""), "{after}");
    assert!(after.contains("value=\"Zoë 日本\""), "{after}");
}

#[tokio::test]
async fn a_ref_is_stale_when_its_frame_shows_another_document() {
    let site = site().await;
    let mut browser = scripted().await;
    go(&mut browser, &site.url("same")).await.unwrap();
    let all = read(&mut browser, "full").await;
    let (inner, after) = (ref_of(&all, "inner button"), ref_of(&all, "after"));
    script(
        &mut browser,
        "await new Promise(done => { const frame = document.querySelector('iframe'); frame.onload = done; frame.src = 'other' })",
    )
    .await;
    let gone = perform(&mut browser, click_on(inner)).await;
    assert!(matches!(gone, Err(DeviceError::Stale { .. })), "{gone:?}");
    perform(&mut browser, click_on(after)).await.unwrap();
    assert!(read(&mut browser, "").await.contains("other button"));
}

#[tokio::test]
async fn listeners_are_known_in_a_long_document_with_frames() {
    let rows = "<p>row</p>".repeat(300);
    let holds = format!(
        "<div id=reacts>Reacts</div>{rows}<iframe src='{{here}}/calm'></iframe>\
         <iframe src='{{elsewhere}}/calm'></iframe><div id=host></div>\
         <script>reacts.addEventListener('click', () => {{}})\n\
         const root = host.attachShadow({{ mode: 'open' }})\n\
         root.innerHTML = '<div>Reacts in a root</div>'\n\
         root.firstChild.addEventListener('click', () => {{}})</script>"
    );
    let calm = "<div id=inner>Reacts in a frame</div>\
        <script>inner.addEventListener('click', () => {})</script>";
    let site = Site::serve([("holds", &*holds), ("calm", calm)]);
    let site = site.await.unwrap();
    let mut browser = headless().await;
    go(&mut browser, &site.url("holds")).await.unwrap();
    let all = read(&mut browser, "interactive").await;
    for (name, count) in [
        ("\"Reacts\"", 1),
        ("\"Reacts in a root\"", 1),
        ("\"Reacts in a frame\"", 2),
    ] {
        assert_eq!(all.matches(name).count(), count, "{name} in {all}");
    }
}

#[tokio::test]
async fn a_hanging_frame_delays_nothing() {
    let site = site().await;
    let mut browser = headless().await;
    go(&mut browser, &site.url("hanging")).await.unwrap();
    let all = read(&mut browser, "full").await;
    assert!(all.contains("\"alive\""), "{all}");
    assert!(all.contains("This frame does not answer"), "{all}");
    let done = perform(&mut browser, click_on(ref_of(&all, "alive")))
        .await
        .unwrap();
    assert_eq!(done.effect, Effect::Confirmed);
}

#[tokio::test]
async fn a_loading_frame_differs_from_an_empty_one() {
    // Nothing answers at this address.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = listener.local_addr().unwrap();
    let holds = format!(
        "<iframe title=slow src=http://{silent}/></iframe><iframe title=empty></iframe><p>words"
    );
    let site = Site::serve([("holds", &*holds)]).await.unwrap();
    let mut browser = headless().await;
    go(&mut browser, &site.url("holds")).await.unwrap();
    let all = read(&mut browser, "full").await;
    let after = |title: &str| all.split(title).nth(1).unwrap_or_default();
    let is_reported = |text: &str| text.contains("This frame is still loading");
    assert!(is_reported(after("\"slow\"")), "{all}");
    assert!(!is_reported(after("\"empty\"")), "{all}");
}

#[tokio::test]
async fn printing_by_a_frame_is_reported() {
    let prints = "<style>html { height: 100% }</style><body onclick='print()'>";
    let holds = |from: &str| {
        format!(
            "<style>* {{ margin: 0 }}</style><iframe width=900 height=700 src={from}/prints></iframe>"
        )
    };
    let (here, elsewhere) = (holds("{here}"), holds("{elsewhere}"));
    let site = Site::serve([
        ("here", &*here),
        ("elsewhere", &elsewhere),
        ("prints", prints),
    ]);
    let site = site.await.unwrap();
    for mut browser in [headless().await, headless_chromium().await] {
        for path in ["here", "elsewhere"] {
            go(&mut browser, &site.url(path)).await.unwrap();
            browser.settle(SETTLE).await.unwrap();
            let done = perform(&mut browser, click(300, 300)).await.unwrap();
            if !done.text.unwrap_or_default().contains("requested printing") {
                notices_until(&mut browser, "requested printing").await;
            }
        }
    }
}

#[tokio::test]
async fn a_covered_frame_is_not_clicked_through() {
    let site = Site::serve([
        (
            "page",
            "<iframe src={elsewhere}/inner></iframe><div role=dialog aria-label=Consent style='position:fixed;inset:0'></div>",
        ),
        ("inner", "<button>inner</button>"),
    ])
    .await
    .unwrap();
    let mut browser = headless().await;
    go(&mut browser, &site.url("page")).await.unwrap();
    let all = read(&mut browser, "full").await;
    let error = perform(&mut browser, click_on(ref_of(&all, "\"inner\"")))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("Consent"), "{error}");
}

/// What a page loads beside itself, where the end of the request is reported to another session or
/// to none. `ELSEWHERE` is the server under another site's name.
const LOADS: [(&str, &str); 12] = [
    ("another site", "<iframe src=ELSEWHERE/words></iframe>"),
    (
        "not displayed",
        "<iframe style='display:none' src=ELSEWHERE/words></iframe>",
    ),
    (
        "sandboxed",
        "<iframe sandbox=allow-scripts srcdoc='<p>words'></iframe>",
    ),
    ("no connection", "<iframe src=http://127.0.0.1:9/></iframe>"),
    ("not to be framed", "<iframe src=ELSEWHERE/alone></iframe>"),
    ("no content", "<iframe src=ELSEWHERE/nothing></iframe>"),
    ("a download", "<iframe src=ELSEWHERE/file></iframe>"),
    (
        "removed on load",
        "<iframe src=ELSEWHERE/words onload='this.remove()'></iframe>",
    ),
    (
        "removed before",
        "<iframe src=ELSEWHERE/silent></iframe>\
         <script>setTimeout(() => document.querySelector('iframe').remove(), 150)</script>",
    ),
    (
        "moved there and back",
        "<iframe src=/words onload=\"this.onload = () => { this.onload = null; this.src = '/words' }; \
         this.src = 'ELSEWHERE/words'\"></iframe>",
    ),
    (
        "aborted",
        "<script>const end = new AbortController(); fetch('/silent', end).catch(() => {}); \
         setTimeout(() => end.abort(), 150)</script>",
    ),
    (
        "prerendered",
        "<script type=speculationrules>{\"prerender\": [{\"urls\": [\"/words\"], \"eagerness\": \"immediate\"}]}</script>",
    ),
];

fn loads(path: &str) -> Option<Answer> {
    let with_head = |mut answer: Answer, head: &str| {
        answer.head += head;
        answer
    };
    Some(match path {
        "/words" => Answer::page("<p>words"),
        "/alone" => with_head(Answer::page("<p>alone"), "x-frame-options: DENY\r\n"),
        "/file" => Answer::file("application/octet-stream", b"bytes").saved_as("file.bin"),
        "/nothing" => Answer {
            status: "204 No Content",
            ..Answer::default()
        },
        "/worker.js" => Answer::file(
            "text/javascript",
            b"onactivate = event => event.waitUntil(clients.claim())\n\
              onfetch = event => event.respondWith(new Response('words'))",
        ),
        "/served-by-worker" => Answer::page(
            "<button>press</button><script>const ready = navigator.serviceWorker\n\
             ready.oncontrollerchange = () => fetch('/word').then(() => document.title = 'served')\n\
             ready.register('/worker.js')</script>",
        ),
        _ => return None,
    })
}

/// Shorter than the time after which a request counts as a long poll.
const BEFORE_LONG_POLL: Settle = Settle {
    quiet: Duration::from_millis(150),
    ceiling: Duration::from_millis(1_900),
};

#[tokio::test]
async fn nothing_that_has_loaded_delays_later_actions() {
    let server = Server::start(loads).await;
    let elsewhere = server.url("").replace("127.0.0.1", "localhost");
    let mut browser = scripted().await;
    for (name, html) in LOADS {
        go(&mut browser, &server.url("/words")).await.unwrap();
        let html = html.replace("ELSEWHERE", &elsewhere);
        let html = format!("<button>press</button>{html}");
        let put = format!("document.open(); document.write({html:?}); document.close()");
        script(&mut browser, &put).await;
        settles_after_each_click(&mut browser, name).await;
    }
    go(&mut browser, &server.url("/served-by-worker"))
        .await
        .unwrap();
    settles_after_each_click(&mut browser, "served by a worker").await;
}

async fn settles_after_each_click(browser: &mut Browser, name: &str) {
    browser.settle(SETTLE).await.unwrap();
    for _ in 0..2 {
        let all = read(browser, "full").await;
        let button = ref_of(&all, "button \"press\"");
        perform(browser, click_on(button)).await.unwrap();
        let settled = browser.settle(BEFORE_LONG_POLL).await.unwrap();
        assert_eq!(settled.unsettled, None, "{name}: {settled:?}");
    }
}

#[tokio::test]
async fn text_and_search_go_through_frames() {
    let site = site().await;
    let mut browser = headless().await;
    go(&mut browser, &site.url("outer")).await.unwrap();
    // The frames may load after the page.
    let text = Action::PageText { tab: None };
    assert_eventually!(text_of(&mut browser, text.clone()).await, |text| text
        .contains("# Outer")
        && text.contains("middle words"));
    let query = "inner button".to_owned();
    let find = Action::Find { query, tab: None };
    assert_eventually!(text_of(&mut browser, find.clone()).await, |found| found
        .starts_with("button \"inner button\""));
}

#[tokio::test]
async fn many_frames_are_read_with_the_listeners_in_and_beside_them() {
    let frame = |n: u32| {
        format!(
            "<iframe srcdoc='<p id=p>Part {n}.</p><script>p.addEventListener(`click`, () => 0)</script>'></iframe>"
        )
    };
    let frames: Vec<String> = (0..12).map(frame).collect();
    let html = format!(
        "<div>{}</div><p id=beside>Beside</p><script>beside.addEventListener('click', () => 0)</script>",
        frames.concat()
    );
    let mut browser = headless().await;
    go(&mut browser, &page(&html)).await.unwrap();
    let has_all = |text: &str| {
        let mut parts = (0..12).map(|n| format!("\"Part {n}.\" ["));
        parts.all(|part| text.contains(&part)) && text.contains("\"Beside\" [")
    };
    assert_eventually!(read(&mut browser, "interactive").await, |text| has_all(
        text
    ));
}
