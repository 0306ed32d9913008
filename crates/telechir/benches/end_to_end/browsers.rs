//! Browsers that start, contexts that are added, pictures, typing, and whole calls, beside the
//! tools that do the same.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use telechir_browser::{Browser, Emulation, Options, Surface};
use telechir_device::{BoxScreen, Computer as _};
use telechir_protocol::Action;
use telechir_testkit::page::ORDERS;
use telechir_testkit::site::Site;
use telechir_x11::{DisplayOptions, PrivateDisplay};

use crate::fixture::{EXEC, Stage, response, telechir};
use crate::mcp::{self, Agent, Peer};
use crate::page::{Ours, Playwright, SIZE, theirs};
use crate::processes;
use crate::table::{Contestant, compare, remark, table};

/// After so long a browser has done what it does after a page came.
const CALM: Duration = Duration::from_secs(2);

pub(crate) fn browsers(stage: &Stage) {
    let site = stage.runtime.block_on(Site::serve([("orders", ORDERS)]));
    let site = site.expect("loopback");
    starts(stage, &site);
    let ours = RefCell::new(Ours::open(stage, &site));
    let playwright = RefCell::new(Playwright::open(&site));
    contexts(stage, &ours, &playwright);
    typing(&ours, &playwright);
    screenshots(stage, &site, &ours, &playwright);
    whole_calls(stage, &site, &playwright);
    let ours = ours.into_inner();
    stage
        .runtime
        .block_on(ours.browser.close())
        .expect("an end");
    drop(playwright);
    memory(stage, &site);
}

fn starts(stage: &Stage, site: &Site) {
    table("Cold start to a usable page of 2,012 elements");
    let playwright = RefCell::new(Playwright::open(site));
    let url = site.url("orders");
    let agent = Agent::new(stage);
    let mut all = vec![
        Contestant::timed("`Browser::launch` and the page", || {
            let start = Instant::now();
            let ours = Ours::open(stage, site);
            let took = start.elapsed();
            stage
                .runtime
                .block_on(ours.browser.close())
                .expect("an end");
            took
        }),
        theirs(
            &playwright,
            "Playwright's `launch` and the page",
            format!("start {url}"),
        ),
    ];
    all.push(timed(&agent, "`open`, cold", &url));
    for server in mcp::SERVERS {
        let url = url.as_str();
        let cold = mcp::timed(move || mcp::cold(stage, server, url));
        let name = format!("{}: server and page", server.name);
        all.push(Contestant::fallible(name, cold));
    }
    compare(5, all);
    remark(
        "Chromium's headless shell, stopped after each run. Stopping it is not counted, except for the MCP servers, which are killed.",
    );
}

/// The time until the page is there; the end is not counted.
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

fn contexts(stage: &Stage, ours: &RefCell<Ours<'_>>, playwright: &RefCell<Playwright>) {
    table("New isolated context with an empty page, in a running Chromium");
    let isolated = || {
        let start = Instant::now();
        let ours = ours.borrow();
        let context = ours.browser.isolated(SIZE, Emulation::default());
        let context = stage.runtime.block_on(context).expect("a context");
        let took = start.elapsed();
        stage.runtime.block_on(context.close()).expect("an end");
        took
    };
    compare(
        20,
        vec![
            Contestant::timed("`Browser::isolated`", isolated),
            theirs(
                playwright,
                "Playwright's `newContext` and `newPage`",
                "context",
            ),
        ],
    );
}

fn typing(ours: &RefCell<Ours<'_>>, playwright: &RefCell<Playwright>) {
    table("1,000 characters typed into a field, with key events");
    let text = "0123456789".repeat(100);
    let field = ours.borrow_mut().field();
    let typed = || {
        let action = Action::Type {
            text: text.clone(),
            at: Some(field.clone()),
            clear_first: true,
            submit: false,
        };
        drop(ours.borrow_mut().perform(&action));
    };
    compare(
        5,
        vec![
            Contestant::new("`type` at a ref, field cleared first", typed),
            theirs(playwright, "Playwright's `pressSequentially`", "type"),
        ],
    );
}

fn screenshots(
    stage: &Stage,
    site: &Site,
    ours: &RefCell<Ours<'_>>,
    playwright: &RefCell<Playwright>,
) {
    table("Screenshot of the page, 1280x800");
    let mut windowed = stage.runtime.block_on(windowed(stage));
    drop(stage.runtime.block_on(windowed.perform(&navigation(site))));
    let window = RefCell::new(windowed);
    let capture = |browser: &mut Browser| {
        let frame = stage.runtime.block_on(browser.capture());
        assert_eq!(frame.expect("a picture").size(), SIZE);
    };
    compare(
        40,
        vec![
            Contestant::new("windowed, shared memory: pixels", || {
                capture(&mut window.borrow_mut());
            }),
            Contestant::new("headless: PNG", || {
                capture(&mut ours.borrow_mut().browser);
            }),
            theirs(
                playwright,
                "`Page.captureScreenshot`, `optimizeForSpeed`: PNG",
                "bare",
            ),
            theirs(playwright, "Playwright's `screenshot`: PNG", "shoot"),
        ],
    );
    stage
        .runtime
        .block_on(window.into_inner().close())
        .expect("an end");
}

async fn windowed(stage: &Stage) -> Browser {
    let mut display = DisplayOptions::new(stage.folder(), stage.identity);
    display.size = SIZE;
    let display = PrivateDisplay::start(display).await.expect("an X server");
    let screen = display.into_screen().await.expect("a screen");
    let options = Options {
        identity: stage.identity,
        profiles: stage.folder().to_owned(),
        ..Options::default()
    };
    let surface = Surface::Window(BoxScreen::new(screen));
    Browser::launch(surface, options).await.expect("a browser")
}

fn navigation(site: &Site) -> telechir_device::ScreenAction {
    let url = site.url("orders");
    let action = Action::Navigate { url, tab: None };
    let viewport = telechir_device::Viewport::unscaled(SIZE);
    viewport.action(&action).expect("no place")
}

fn whole_calls(stage: &Stage, site: &Site, playwright: &RefCell<Playwright>) {
    table("Complete call against a running browser: click on a button, then screenshot");
    let policy = stage.lets_pages();
    let peers = mcp::SERVERS.map(|server| Peer::open(stage, server, site));
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
        let found: Value = serde_json::from_slice(&found).expect("answers");
        let told = &found[0]["content"];
        let told = told.as_str().or_else(|| told[0]["text"].as_str());
        let told = told.expect("what was found").to_owned();
        let id = told
            .split_once('[')
            .and_then(|(_, rest)| rest.split_once(']'));
        let click = call(
            "left_click",
            json!({ "target": { "type": "ref", "ref": id.expect(&told).0 } }),
        );
        let ours = || {
            let answer = telechir(&exec, &click);
            let answer: Value = serde_json::from_slice(&answer).expect("answers");
            assert!(
                answer.to_string().contains("base64"),
                "no picture: {answer}"
            );
        };
        let place = if headless { "headless" } else { "windowed" };
        let mut all = vec![Contestant::new(
            format!("`exec --session`, {place}: settle, policy, recording"),
            ours,
        )];
        all.push(theirs(
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

/// Both are started anew: what a browser gives back of earlier work would be counted as less.
fn memory(stage: &Stage, site: &Site) {
    println!("\n## Memory per additional isolated context, each showing the page\n");
    println!("| contexts | telechir, each | Playwright, each |\n|---|---|---|");
    let is_quick = std::env::args().any(|word| word == "--quick");
    let counts: &[usize] = if is_quick { &[1, 3] } else { &[1, 10, 50] };
    let ours = Ours::open(stage, site);
    let mut playwright = Playwright::open(site);
    let chromium = u32::try_from(ours.browser.pid().expect("our own")).expect("a number");
    let theirs = playwright.pid();
    std::thread::sleep(CALM);
    let before = (below(chromium), theirs.map(below));
    let mut held: Vec<Browser> = Vec::new();
    for &count in counts {
        while held.len() < count {
            let mut context = stage.runtime.block_on(async {
                let context = ours.browser.isolated(SIZE, Emulation::default()).await;
                context.expect("a context")
            });
            let gone = stage.runtime.block_on(context.perform(&navigation(site)));
            drop(gone.expect("the page"));
            held.push(context);
            let another = format!("another {}", site.url("orders"));
            let _missing_is_said_below = playwright.ask(&another);
        }
        std::thread::sleep(CALM);
        let each = |now: u64, before: u64| {
            format!(
                "{:.1} MB",
                now.saturating_sub(before) as f64 / count as f64 / 1e6
            )
        };
        let theirs = theirs
            .zip(before.1)
            .map(|(pid, before)| each(below(pid), before));
        println!(
            "| {count} | **{}** | {} |",
            each(below(chromium), before.0),
            theirs.unwrap_or_else(|| "missing".to_owned())
        );
    }
    for context in held {
        stage.runtime.block_on(context.close()).expect("an end");
    }
    let ours = ours.browser.close();
    stage.runtime.block_on(ours).expect("an end");
    remark(
        "Growth of the proportional set size (PSS) of all browser processes, compared with a browser that shows one page. Playwright's own process is included in its column.",
    );
}

/// Bytes of a process and of all below it, what is shared counted fairly.
fn below(pid: u32) -> u64 {
    processes::memory(&processes::tree(pid))
}
