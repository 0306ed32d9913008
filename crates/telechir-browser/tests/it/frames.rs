//! Frames: same-site, cross-site and nested.

use std::net::TcpListener;

use telechir_device::{Computer as _, DeviceError, Effect};
use telechir_protocol::Action;
use telechir_testkit::site::Site;

use crate::common::{
    SETTLE, click, click_on, go, headless, headless_chromium, notices_until, perform, read, ref_of,
    script, scripted, text_of,
};

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
    let all = read(&mut browser, "full").await;
    for fragment in ["middle words", "inner button", "outer button"] {
        assert!(all.contains(fragment), "no {fragment} in {all}");
    }
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

#[tokio::test]
async fn text_and_search_go_through_frames() {
    let site = site().await;
    let mut browser = headless().await;
    go(&mut browser, &site.url("outer")).await.unwrap();
    let text = text_of(&mut browser, Action::PageText { tab: None }).await;
    assert!(
        text.contains("# Outer") && text.contains("middle words"),
        "{text}"
    );
    let query = "inner button".to_owned();
    let found = text_of(&mut browser, Action::Find { query, tab: None }).await;
    assert!(found.starts_with("button \"inner button\""), "{found}");
}
