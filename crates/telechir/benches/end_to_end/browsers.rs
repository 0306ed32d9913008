//! Starting browsers, adding contexts, screenshots, typing and complete calls, compared with other
//! tools.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use telechir_browser::{Browser, Options, Surface};
use telechir_device::Computer as _;
use telechir_protocol::Action;
use telechir_testkit::page::ORDERS;
use telechir_testkit::site::Site;
use telechir_x11::{DisplayOptions, PrivateDisplay};

use crate::fixture::{BenchFixture, EXEC, response, telechir};
use crate::mcp::{self, Agent, Peer};
use crate::page::{OurBrowser, Playwright, SIZE, peer};
use crate::processes;
use crate::table::{Contestant, compare, remark, table};

/// Time after which a browser is idle after loading a page.
const CALM: Duration = Duration::from_secs(2);

pub(crate) fn browsers(fixture: &BenchFixture) {
    let site = fixture.runtime.block_on(Site::serve([("orders", ORDERS)]));
    let site = site.expect("loopback");
    starts(fixture, &site);
    let telechir_run = RefCell::new(OurBrowser::open(fixture, &site));
    let playwright = RefCell::new(Playwright::open(&site));
    contexts(fixture, &telechir_run, &playwright);
    typing(&telechir_run, &playwright);
    screenshots(fixture, &site, &telechir_run, &playwright);
    complete_calls(fixture, &site, &playwright);
    let telechir_run = telechir_run.into_inner();
    fixture
        .runtime
        .block_on(telechir_run.browser.close())
        .expect("a clean close");
    drop(playwright);
    memory(fixture, &site);
}

fn starts(fixture: &BenchFixture, site: &Site) {
    table("Cold start to a usable page of 2,012 elements");
    let playwright = RefCell::new(Playwright::open(site));
    let url = site.url("orders");
    let agent = Agent::new(fixture);
    let mut all = vec![
        Contestant::timed("`Browser::launch` and the page", || {
            let start = Instant::now();
            let telechir_run = OurBrowser::open(fixture, site);
            let took = start.elapsed();
            fixture
                .runtime
                .block_on(telechir_run.browser.close())
                .expect("a clean close");
            took
        }),
        peer(
            &playwright,
            "Playwright's `launch` and the page",
            format!("start {url}"),
        ),
    ];
    all.push(timed(&agent, "`open`, cold", &url));
    for server in mcp::SERVERS {
        let url = url.as_str();
        let cold = mcp::timed(move || mcp::cold(fixture, server, url));
        let name = format!("{}: server and page", server.name);
        all.push(Contestant::fallible(name, cold));
    }
    compare(5, all);
    remark(
        "Chromium's headless shell, stopped after each run. Stopping it is not counted, except for the MCP servers, which are killed.",
    );
}

/// The time until the page is loaded, without closing the browser.
fn timed<'a>(agent: &'a Agent, what: &str, url: &'a str) -> Contestant<'a> {
    let open = move || {
        let start = Instant::now();
        let opened = agent.run(&["open", url]);
        let took = start.elapsed();
        let _may_not_run = agent.run(&["close"]);
        opened.map(|_| took)
    };
    Contestant::fallible(format!("agent-browser: {what}"), open)
}

fn contexts(
    fixture: &BenchFixture,
    telechir_run: &RefCell<OurBrowser<'_>>,
    playwright: &RefCell<Playwright>,
) {
    table("New isolated context with an empty page, in a running Chromium");
    let isolated = || {
        let start = Instant::now();
        let telechir_run = telechir_run.borrow();
        let context = telechir_run.browser.isolated(SIZE, Options::default());
        let context = fixture.runtime.block_on(context).expect("a context");
        let took = start.elapsed();
        fixture
            .runtime
            .block_on(context.close())
            .expect("a clean close");
        took
    };
    compare(
        20,
        vec![
            Contestant::timed("`Browser::isolated`", isolated),
            peer(
                playwright,
                "Playwright's `newContext` and `newPage`",
                "context",
            ),
        ],
    );
}

fn typing(telechir_run: &RefCell<OurBrowser<'_>>, playwright: &RefCell<Playwright>) {
    table("1,000 characters typed into a field, with key events");
    let text = "0123456789".repeat(100);
    let field = telechir_run.borrow_mut().field();
    let typed = || {
        let action = Action::Type {
            text: text.clone(),
            at: Some(field.clone()),
            clear_first: true,
            submit: false,
        };
        drop(telechir_run.borrow_mut().perform(&action));
    };
    compare(
        5,
        vec![
            Contestant::new("`type` at a ref, field cleared first", typed),
            peer(playwright, "Playwright's `pressSequentially`", "type"),
        ],
    );
}

fn screenshots(
    fixture: &BenchFixture,
    site: &Site,
    telechir_run: &RefCell<OurBrowser<'_>>,
    playwright: &RefCell<Playwright>,
) {
    table("Screenshot of the page, 1280x800");
    let mut windowed = fixture.runtime.block_on(windowed(fixture));
    drop(
        fixture
            .runtime
            .block_on(windowed.perform(&navigation(site))),
    );
    let window = RefCell::new(windowed);
    let capture = |browser: &mut Browser| {
        let frame = fixture.runtime.block_on(browser.capture());
        assert_eq!(frame.expect("a screenshot").size(), SIZE);
    };
    compare(
        40,
        vec![
            Contestant::new("windowed, shared memory: pixels", || {
                capture(&mut window.borrow_mut());
            }),
            Contestant::new("headless: PNG", || {
                capture(&mut telechir_run.borrow_mut().browser);
            }),
            peer(
                playwright,
                "`Page.captureScreenshot`, `optimizeForSpeed`: PNG",
                "bare",
            ),
            peer(playwright, "Playwright's `screenshot`: PNG", "shoot"),
        ],
    );
    fixture
        .runtime
        .block_on(window.into_inner().close())
        .expect("a clean close");
}

async fn windowed(fixture: &BenchFixture) -> Browser {
    let mut display = DisplayOptions::new(fixture.folder(), fixture.identity);
    display.monitors = vec![SIZE];
    let display = PrivateDisplay::start(display).await.expect("an X server");
    let screen = display.into_screen().await.expect("a screen");
    let options = Options {
        identity: fixture.identity,
        temp_dir: fixture.folder().to_owned(),
        ..Options::default()
    };
    let surface = Surface::Window(Box::new(screen));
    Browser::launch(surface, options).await.expect("a browser")
}

fn navigation(site: &Site) -> telechir_device::ScreenAction {
    let url = site.url("orders");
    let action = Action::Navigate { url, tab: None };
    let viewport = telechir_device::Viewport::unscaled(SIZE);
    viewport.action(&action).expect("a point on the screen")
}

fn complete_calls(fixture: &BenchFixture, site: &Site, playwright: &RefCell<Playwright>) {
    table("Complete call against a running browser: click on a button, then screenshot");
    let policy = fixture.page_policy_flag();
    let peers = mcp::SERVERS.map(|server| Peer::open(fixture, server, site));
    for headless in [false, true] {
        let name = format!("bench-{}-{headless}", std::process::id());
        let browser = format!("--browser={}", site.url("orders"));
        let exec = [&EXEC[..], &["--session", &name]].concat();
        let mut first = [&exec[..], &[&browser, &policy]].concat();
        if headless {
            first.push("--headless");
        }
        let found = call("find", json!({ "query": "button save" }));
        let found = telechir(&first, &found);
        let found: Value = serde_json::from_slice(&found).expect("a JSON reply");
        let text = &found[0]["content"];
        let text = text.as_str().or_else(|| text[0]["text"].as_str());
        let text = text.expect("the found element").to_owned();
        let id = text
            .split_once('[')
            .and_then(|(_, rest)| rest.split_once(']'));
        let click = call(
            "left_click",
            json!({ "target": { "type": "ref", "ref": id.expect(&text).0 } }),
        );
        let telechir_run = || {
            let answer = telechir(&exec, &click);
            let answer: Value = serde_json::from_slice(&answer).expect("a JSON reply");
            assert!(
                answer.to_string().contains("base64"),
                "no screenshot: {answer}"
            );
        };
        let point = if headless { "headless" } else { "windowed" };
        let mut all = vec![Contestant::new(
            format!("`exec --session`, {point}: settle, policy, recording"),
            telechir_run,
        )];
        all.push(peer(
            playwright,
            "Playwright's `click` and `screenshot`",
            "clickAndShoot",
        ));
        if headless {
            all.extend(peers.each_ref().map(|peer| {
                peer.contestant("click and screenshot", |peer| {
                    peer.click().and_then(|()| peer.screenshot())
                })
            }));
        }
        compare(20, all);
        telechir(&["sessions", "close", &name], "");
    }
    remark(
        "Each telechir call starts a new process; the others answer from running processes. Playwright does not wait until the page has settled.",
    );
}

fn call(name: &str, input: Value) -> String {
    response(&json!({"type": "tool_use", "id": "toolu_1", "name": name,
        "toolset_name": "browser", "input": input}))
}

/// Both are restarted, because memory freed from earlier work would reduce the difference.
fn memory(fixture: &BenchFixture, site: &Site) {
    println!("\n## Memory per additional isolated context, each showing the page\n");
    println!("| contexts | telechir, each | Playwright, each |\n|---|---|---|");
    let is_quick = std::env::args().any(|word| word == "--quick");
    let counts: &[usize] = if is_quick { &[1, 3] } else { &[1, 10, 50] };
    let telechir_run = OurBrowser::open(fixture, site);
    let mut playwright = Playwright::open(site);
    let chromium = u32::try_from(telechir_run.browser.pid().expect("our own")).expect("a number");
    let peer = playwright.pid();
    std::thread::sleep(CALM);
    let before = (below(chromium), peer.map(below));
    let mut processes: Vec<Browser> = Vec::new();
    for &count in counts {
        while processes.len() < count {
            let mut context = fixture.runtime.block_on(async {
                let context = telechir_run
                    .browser
                    .isolated(SIZE, Options::default())
                    .await;
                context.expect("a context")
            });
            let gone = fixture.runtime.block_on(context.perform(&navigation(site)));
            drop(gone.expect("the page"));
            processes.push(context);
            let another = format!("another {}", site.url("orders"));
            let _missing_is_reported_below = playwright.request(&another);
        }
        std::thread::sleep(CALM);
        let each = |now: u64, before: u64| {
            format!(
                "{:.1} MB",
                now.saturating_sub(before) as f64 / count as f64 / 1e6
            )
        };
        let peer = peer
            .zip(before.1)
            .map(|(pid, before)| each(below(pid), before));
        println!(
            "| {count} | **{}** | {} |",
            each(below(chromium), before.0),
            peer.unwrap_or_else(|| "missing".to_owned())
        );
    }
    for context in processes {
        fixture
            .runtime
            .block_on(context.close())
            .expect("a clean close");
    }
    let telechir_run = telechir_run.browser.close();
    fixture
        .runtime
        .block_on(telechir_run)
        .expect("a clean close");
    remark(
        "Growth of the proportional set size (PSS) of all browser processes, compared with a browser that shows one page. Playwright's own process is included in its column.",
    );
}

/// Proportional set size of a process tree in bytes.
fn below(pid: u32) -> u64 {
    processes::memory(&processes::tree(pid))
}
