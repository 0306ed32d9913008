//! Emulation: what pages, popups, frames and workers see, from the start and after an action.

use std::io;
use std::net::Ipv4Addr;

use serde_json::{Value, json};
use telechir_browser::{
    Browser, Emulation, Geolocation, HttpCredentials, Options, Permission, Surface,
};
use telechir_device::{Computer as _, DeviceError, PageContextSource as _, Viewport};
use telechir_protocol::{Action, Size};
use telechir_testkit::assert_eventually;
use telechir_testkit::gate::{Component, require};
use telechir_testkit::site::Site;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::common::{SIZE, go, headless_with, launched_with, options, perform, script};

/// Reports each emulated property, in a page, in a cross-site frame and in a worker.
const WITNESS: &str = "<meta name=viewport content='width=device-width'><script>\
    const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;\
    const here = () => new Promise(done => navigator.geolocation.getCurrentPosition(\
        found => done([found.coords.latitude, found.coords.longitude].join()),\
        failed => done('no location')));\
    const online = () => fetch('{here}/ping', { mode: 'no-cors', cache: 'no-store' })\
        .then(() => 'online', () => 'offline');\
    const media = name => ['dark', 'reduce', 'coarse'].filter(value => matchMedia(\
        `(${name}: ${value})`).matches).join();\
    const report = async () => JSON.stringify({ zone: zone(), language: navigator.language,\
        agent: navigator.userAgent, scheme: media('prefers-color-scheme'),\
        motion: media('prefers-reduced-motion'), pointer: media('pointer'), size: [innerWidth, innerHeight].join('x'),\
        touches: navigator.maxTouchPoints, location: parent === self ? await here() : 'not asked',\
        network: await online() });\
    onmessage = async event => event.data === 'report'\
        ? parent.postMessage(await report(), '*') : window.answer?.(event.data);\
    const ask = whom => new Promise(done => {\
        const again = setInterval(() => whom.postMessage('report', '*'), 50);\
        window.answer = answer => { clearInterval(again); done(answer) } });\
    const work = `onmessage = async () => postMessage(JSON.stringify({\
        zone: (${zone})(), language: navigator.language, agent: navigator.userAgent, network: await (${online})() }))`;\
    const worker = new Worker(URL.createObjectURL(new Blob([work])));\
    const askWorker = () => new Promise(done => { worker.onmessage = event => done(event.data); worker.postMessage(0) });\
    </script><body><button onclick=\"window.open('{here}/report')\">Open</button>\
    <script>parent === self && document.write(`<iframe src='{elsewhere}/report'></iframe>`)</script>";

const PING: &str = "pong";

async fn site() -> Site {
    Site::serve([("report", WITNESS), ("ping", PING)])
        .await
        .unwrap()
}

fn scripted(emulation: Emulation) -> Options {
    Options {
        allows_scripts: true,
        emulation,
        ..options()
    }
}

async fn reported(browser: &mut Browser, expression: &str) -> Value {
    let expression = format!("await {expression}");
    serde_json::from_str(&script(browser, &expression).await).unwrap()
}

async fn emulate(browser: &mut Browser, settings: Value) -> Result<(), DeviceError> {
    let settings = settings.as_object().unwrap().clone();
    perform(browser, Action::Emulate { settings })
        .await
        .map(|_| ())
}

/// Whether the active tab shows the witness page, and not the empty document before it.
async fn is_loaded(browser: &mut Browser) -> bool {
    let script = "typeof report + document.readyState".to_owned();
    let state = perform(browser, Action::Javascript { script, tab: None }).await;
    // It fails while a document replaces another one.
    state.is_ok_and(|state| state.text.as_deref() == Some("functioncomplete"))
}

/// Compares the members of `expected` with those of a report.
#[track_caller]
fn assert_sees(who: &str, report: &Value, expected: &Value) {
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&report[name], value, "{who}: {name} in {report}");
    }
}

/// Whether a report has the members of `expected`.
fn sees(report: &Value, expected: &Value) -> bool {
    let mut members = expected.as_object().unwrap().iter();
    members.all(|(name, value)| report[name] == *value)
}

/// What an emulated page, its frame and its worker must see.
async fn all_see(browser: &mut Browser, expected: &Value) {
    seen_by_all(browser, expected, &[]).await;
}

/// As `all_see`; the worker may see other values of these properties.
async fn seen_by_all(browser: &mut Browser, expected: &Value, not_by_worker: &[&str]) {
    let page = reported(browser, "report()").await;
    assert_sees("the page", &page, expected);
    let mut of_frame = expected.clone();
    let mut of_worker = expected.clone();
    for (report, own) in [
        (&mut of_frame, &["size", "location"][..]),
        (
            &mut of_worker,
            &["size", "location", "scheme", "motion", "pointer", "touches"],
        ),
    ] {
        for name in own {
            report.as_object_mut().unwrap().shift_remove(*name);
        }
    }
    for name in not_by_worker {
        of_worker.as_object_mut().unwrap().shift_remove(*name);
    }
    // They have sessions of their own, which get the change at their own time.
    assert_eventually!(
        reported(browser, "ask(frames[0])").await,
        |frame| sees(frame, &of_frame),
        "the frame sees {of_frame}"
    );
    assert_eventually!(
        reported(browser, "askWorker()").await,
        |worker| sees(worker, &of_worker),
        "the worker sees {of_worker}"
    );
}

#[tokio::test]
async fn an_action_changes_what_pages_frames_workers_and_popups_see() {
    let site = site().await;
    for own_chromium in [true, false] {
        let options = scripted(Emulation::default());
        let mut browser = match own_chromium {
            true => launched_with(options).await,
            false => headless_with(options).await,
        };
        go(&mut browser, &site.url("report")).await.unwrap();
        let before = reported(&mut browser, "report()").await;
        assert_sees(
            "before",
            &before,
            &json!({"location": "no location", "network": "online", "scheme": ""}),
        );
        let settings = json!({
            "viewport": "800x600", "locale": "fr-CA", "timezone": "Asia/Tokyo",
            "user_agent": "Wanderer/2.0", "color_scheme": "dark", "reduced_motion": false,
            "geolocation": [48.25, 16.5], "mobile": true,
        });
        emulate(&mut browser, settings).await.unwrap();
        let expected = json!({
            "size": "800x600", "language": "fr-CA", "zone": "Asia/Tokyo",
            "agent": "Wanderer/2.0", "scheme": "dark", "motion": "", "pointer": "coarse",
            "touches": 5, "location": "48.25,16.5", "network": "online",
        });
        // Chromium passes a permission on to a page that was refused it after a moment.
        assert_eventually!(
            reported(&mut browser, "report()").await["location"] == expected["location"]
        );
        // A worker that runs keeps its user agent.
        seen_by_all(&mut browser, &expected, &["agent"]).await;
        assert_eq!(browser.size(), Size::new(800, 600));
        assert_eq!(browser.capture().await.unwrap().size(), browser.size());
        // A new tab, and a popup of it.
        let url = Some(site.url("report"));
        perform(&mut browser, Action::NewTab { url }).await.unwrap();
        all_see(&mut browser, &expected).await;
        script(&mut browser, "void window.open('/report')").await;
        assert_eventually!(browser.page_context().await.unwrap().tabs.len() == 3);
        assert_eventually!(is_loaded(&mut browser).await);
        all_see(&mut browser, &expected).await;

        emulate(&mut browser, json!({"offline": true}))
            .await
            .unwrap();
        let offline = json!({"network": "offline", "zone": "Asia/Tokyo"});
        all_see(&mut browser, &offline).await;
        let reset = json!({"offline": null, "timezone": null, "geolocation": null,
            "color_scheme": null, "mobile": false});
        emulate(&mut browser, reset).await.unwrap();
        let expected = json!({
            "network": "online", "zone": before["zone"], "scheme": "", "location": "no location",
            "pointer": before["pointer"], "touches": before["touches"], "language": "fr-CA",
        });
        all_see(&mut browser, &expected).await;
    }
}

#[tokio::test]
async fn a_frame_that_does_not_confirm_a_change_is_counted() {
    let site = Site::serve([
        (
            "holds",
            "<script>const ready = new Promise(done => onmessage = done)</script>\
             <iframe src='{elsewhere}/calm'></iframe>",
        ),
        (
            "calm",
            "<script>onmessage = () => setTimeout(() => { for (;;); }); parent.postMessage(0, '*')</script>",
        ),
    ]);
    let site = site.await.unwrap();
    let mut browser = headless_with(scripted(Emulation::default())).await;
    go(&mut browser, &site.url("holds")).await.unwrap();
    let settings = json!({"timezone": "Asia/Tokyo"});
    let settings = settings.as_object().unwrap();
    let emulate = || Action::Emulate {
        settings: settings.clone(),
    };
    let applied = perform(&mut browser, emulate()).await.unwrap();
    assert_eq!(applied.text.as_deref(), Some("Applied: timezone."));
    // The frame may load after the page.
    let hang = "await ready; frames[0].postMessage(0, '*')";
    script(&mut browser, hang).await;
    assert_eventually!({
        let applied = perform(&mut browser, emulate()).await.unwrap();
        let text = applied.text.unwrap_or_default();
        text.contains("have not confirmed it: 1.")
    });
}

#[tokio::test]
async fn options_apply_from_the_start() {
    let site = site().await;
    let emulation = Emulation {
        reduced_motion: Some(false),
        geolocation: Geolocation::new(-33.5, 151.25, 10.0),
        is_mobile: true,
        ..Emulation::default()
    };
    for own_chromium in [true, false] {
        let options = scripted(emulation.clone());
        let mut browser = match own_chromium {
            true => launched_with(options).await,
            false => headless_with(options).await,
        };
        go(&mut browser, &site.url("report")).await.unwrap();
        let expected = json!({
            "motion": "", "pointer": "coarse", "touches": 5, "location": "-33.5,151.25",
        });
        all_see(&mut browser, &expected).await;
    }
    let offline = Emulation {
        is_offline: true,
        ..Emulation::default()
    };
    let mut browser = headless_with(scripted(offline)).await;
    let failed = go(&mut browser, &site.url("report")).await.unwrap_err();
    assert!(
        failed.to_string().contains("INTERNET_DISCONNECTED"),
        "{failed}"
    );
}

#[tokio::test]
async fn a_granted_permission_is_not_denied_and_others_are() {
    let site = site().await;
    let emulation = Emulation {
        permissions: vec![Permission::Notifications],
        ..Emulation::default()
    };
    let mut browser = headless_with(scripted(emulation)).await;
    go(&mut browser, &site.url("report")).await.unwrap();
    let state = "await Promise.all(['notifications', 'camera'].map(name => navigator.permissions.query({ name })))\
        .then(all => all.map(found => found.state).join())";
    let states = script(&mut browser, state).await;
    assert!(
        states.starts_with("granted,") && !states.ends_with("granted"),
        "{states}"
    );
    emulate(&mut browser, json!({"permissions": ["camera"]}))
        .await
        .unwrap();
    let states = script(&mut browser, state).await;
    assert!(
        states.ends_with(",granted") && !states.starts_with("granted"),
        "{states}"
    );
}

#[tokio::test]
async fn an_invalid_setting_changes_nothing() {
    let site = site().await;
    let mut browser = headless_with(scripted(Emulation::default())).await;
    go(&mut browser, &site.url("report")).await.unwrap();
    let before = reported(&mut browser, "report()").await;
    for (settings, fragment) in [
        (
            json!({"timezone": "Mars/Olympus", "offline": true}),
            "Mars/Olympus",
        ),
        (json!({"viewport": "10x10", "offline": true}), "100 to 4096"),
    ] {
        let refused = emulate(&mut browser, settings).await.unwrap_err();
        assert!(refused.to_string().contains(fragment), "{refused}");
        assert_eq!(reported(&mut browser, "report()").await, before);
    }
    assert_eq!(browser.size(), SIZE);
}

/// A server that wants a login, and counts requests with a right and with another one.
async fn protected() -> (String, tokio::sync::watch::Receiver<[usize; 3]>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let counts = tokio::sync::watch::Sender::new([0; 3]);
    let seen = counts.subscribe();
    tokio::spawn(async move {
        // One task per connection: some are only opened in advance.
        while let Ok((stream, _)) = listener.accept().await {
            let counts = counts.clone();
            tokio::spawn(async move {
                let _a_closed_connection_is_no_request = answer(stream, &counts).await;
            });
        }
    });
    (url, seen)
}

async fn answer(
    mut stream: TcpStream,
    counts: &tokio::sync::watch::Sender<[usize; 3]>,
) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head);
    // ada:love:lace
    let is_right = head.contains("Basic YWRhOmxvdmU6bGFjZQ==");
    let kind = match (is_right, head.contains("Authorization:")) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => 2,
    };
    counts.send_modify(|counts| counts[kind] += 1);
    let body = if is_right {
        "<title>inside</title>"
    } else {
        "<title>outside</title>"
    };
    let status = match is_right {
        true => "200 OK",
        false => "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"",
    };
    let length = body.len();
    let response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    );
    stream.write_all(response.as_bytes()).await
}

#[tokio::test]
async fn http_credentials_are_given_to_their_origin_once() {
    let (url, seen) = protected().await;
    let (other, seen_by_other) = protected().await;
    let with = |login: &str| Emulation {
        credentials: vec![HttpCredentials::new(&url, login).unwrap()],
        ..Emulation::default()
    };
    for surface_kind in ["headless", "shared", "window"] {
        let options = scripted(with("ada:love:lace"));
        let mut browser = match surface_kind {
            "headless" => launched_with(options).await,
            "shared" => headless_with(options).await,
            _ => crate::window::windowed_with(options).await,
        };
        go(&mut browser, &url).await.unwrap();
        assert_eq!(crate::common::title(&mut browser).await, "inside");
        // Another origin is given none.
        go(&mut browser, &other).await.unwrap();
        assert_eq!(crate::common::title(&mut browser).await, "outside");
    }
    assert!(seen.borrow()[0] > 0);
    assert_eq!(seen_by_other.borrow()[..2], [0, 0]);
    // A wrong password is tried once a request, and the page is shown.
    let before = *seen.borrow();
    let mut browser = headless_with(scripted(with("ada:wrong"))).await;
    go(&mut browser, &url).await.unwrap();
    assert_eq!(crate::common::title(&mut browser).await, "outside");
    let requests = (*seen.borrow())[1] - before[1];
    assert!(
        (1..=2).contains(&requests),
        "the page and its icon: {requests}"
    );
}

/// A page without a viewport tag is laid out wider than a phone and shown smaller.
#[tokio::test]
async fn clicks_and_screenshots_agree_on_a_phone_without_a_viewport_tag() {
    require(Component::Chromium);
    const BUTTON: [u8; 3] = [200, 0, 0];
    let html = "<title>phone</title><body style='margin:0;background:white'>\
        <button style='position:absolute;left:620px;top:700px;width:200px;height:120px;border:0;\
        background:rgb(200,0,0);color:rgb(200,0,0)' onclick=\"document.title += '+'\">Buy</button>";
    let emulation = Emulation {
        is_mobile: true,
        ..Emulation::default()
    };
    let surface = Surface::Headless(Size::new(400, 800));
    let mut browser = Browser::launch(surface, scripted(emulation)).await.unwrap();
    go(&mut browser, &crate::common::page(html)).await.unwrap();
    browser.settle(crate::common::SETTLE).await.unwrap();
    let frame = browser.capture().await.unwrap();
    assert_eq!(frame.size(), Size::new(400, 800));
    let pixels = (0..800).flat_map(|y| (0..400).map(move |x| (x, y)));
    let shown: Vec<(u32, u32)> = pixels
        .filter(|(x, y)| frame.pixel(*x, *y) == Some(BUTTON))
        .collect();
    let (first, last) = (shown[0], shown[shown.len() - 1]);
    let middle = (first.0.midpoint(last.0), first.1.midpoint(last.1));
    let snapshot = crate::common::read(&mut browser, "full").await;
    let click_in = |action| {
        Viewport::unscaled(Size::new(400, 800))
            .action(&action)
            .unwrap()
    };
    let by_point = click_in(crate::common::click(middle.0, middle.1));
    browser.perform(&by_point).await.unwrap();
    assert_eq!(crate::common::title(&mut browser).await, "phone+");
    let buy = crate::common::ref_of(&snapshot, "\"Buy\"");
    let by_ref = click_in(crate::common::click_on(buy));
    browser.perform(&by_ref).await.unwrap();
    assert_eq!(crate::common::title(&mut browser).await, "phone++");
    // The box of the only button is where the picture has its colour; edges are rounded.
    let json = crate::common::read(&mut browser, "json").await;
    let parts: Vec<&str> = json.split("\"box\":[").collect();
    let named = parts
        .iter()
        .position(|part| part.contains("\"Buy\""))
        .unwrap();
    let numbers = parts[named + 1].split(']').next().unwrap();
    let shown_box: Vec<u32> = numbers
        .split(',')
        .map(|number| number.trim().parse().unwrap())
        .collect();
    let expected = [first.0, first.1, last.0 - first.0 + 1, last.1 - first.1 + 1];
    let is_near = |(a, b): (&u32, &u32)| a.abs_diff(*b) <= 2;
    assert!(
        shown_box.iter().zip(&expected).all(is_near),
        "{shown_box:?} is not {expected:?}"
    );
}
