//! Snapshots of a page of two thousand elements and clicks on it, compared with Playwright.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use telechir_browser::{Browser, Options, Surface};
use telechir_device::{Computer as _, Viewport};
use telechir_protocol::{Action, Size, Target};
use telechir_testkit::page::ORDERS;
use telechir_testkit::site::Site;

use crate::fixture::BenchFixture;
use crate::mcp::{self, Agent, Peer};
use crate::table::{Contestant, compare, remark, table};

/// Variable with the folder of npm's Playwright.
pub(crate) const NODE: &str = "TELECHIR_PEERS_NODE";
const HELPER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/end_to_end/page.mjs");
/// The headless Chromium that all contestants use.
pub(crate) const SHELL: &str = "/usr/lib/chromium/chromium-headless-shell";
pub(crate) const SIZE: Size = Size::new(1280, 800);

pub(crate) fn pages(fixture: &BenchFixture) {
    let runtime = &fixture.runtime;
    let site = runtime.block_on(Site::serve([("orders", ORDERS)]));
    let site = site.expect("loopback");
    let telechir_run = RefCell::new(OurBrowser::open(fixture, &site));
    let playwright = RefCell::new(Playwright::open(&site));
    let [one, other] = mcp::SERVERS.map(|server| Peer::open(fixture, server, &site));
    let servers = [&one, &other];
    let agent = Agent::open(fixture, &site);

    table(
        "Text snapshot of a page with 2,012 elements: every interactive element, other content up to the limit",
    );
    let mut all = vec![Contestant::new("repeated snapshot", || {
        telechir_run.borrow_mut().read(None);
    })];
    all.push(Contestant::timed("first snapshot of a document", || {
        telechir_run.borrow_mut().go(&site);
        let start = Instant::now();
        telechir_run.borrow_mut().read(None);
        start.elapsed()
    }));
    all.push(peer(&playwright, "Playwright's `ariaSnapshot`", "aria"));
    all.extend(servers.map(|peer| peer.contestant("snapshot", Peer::snapshot)));
    all.push(agent.contestant("`snapshot -i`", |agent| {
        agent.run(&["snapshot", "-i"]).map(drop)
    }));
    compare(40, all);

    table("Changes on that page after one heading changed");
    let mut all = vec![Contestant::timed("`changes`", || {
        telechir_run.borrow_mut().change();
        let start = Instant::now();
        telechir_run.borrow_mut().read(Some("changes"));
        start.elapsed()
    })];
    all.push(peer(
        &playwright,
        "Playwright's complete `ariaSnapshot` again",
        "change",
    ));
    compare(40, all);

    table("Click on a button of that page, hit-tested and confirmed");
    let save = telechir_run.borrow_mut().save();
    let mut all = vec![Contestant::new("by ref", || {
        telechir_run.borrow_mut().click(&save)
    })];
    all.push(peer(
        &playwright,
        "Playwright's `click` of a locator",
        "click",
    ));
    all.extend(servers.map(|peer| peer.contestant("click", Peer::click)));
    all.push(agent.contestant("`click` of a ref", Agent::click));
    compare(40, all);
    remark(
        "All drive Chromium's headless shell. Playwright waits until the position of the button is stable for two frames.",
    );
    let telechir_run = telechir_run.into_inner();
    runtime
        .block_on(telechir_run.browser.close())
        .expect("a clean close");
}

/// A telechir browser with the page.
pub(crate) struct OurBrowser<'a> {
    fixture: &'a BenchFixture,
    pub(crate) browser: Browser,
}

impl<'a> OurBrowser<'a> {
    pub(crate) fn open(fixture: &'a BenchFixture, site: &Site) -> Self {
        let options = Options {
            identity: fixture.identity,
            temp_dir: fixture.folder().to_owned(),
            allows_scripts: true,
            ..Options::default()
        };
        let browser = Browser::launch(Surface::Headless(SIZE), options);
        let browser = fixture.runtime.block_on(browser).expect("a browser");
        let mut telechir_run = Self { fixture, browser };
        telechir_run.go(site);
        telechir_run
    }

    pub(crate) fn perform(&mut self, action: &Action) -> String {
        let action = Viewport::unscaled(SIZE)
            .action(action)
            .expect("a point on the screen");
        let performed = self.fixture.runtime.block_on(self.browser.perform(&action));
        performed
            .expect("a performed action")
            .text
            .unwrap_or_default()
    }

    pub(crate) fn go(&mut self, site: &Site) {
        let url = site.url("orders");
        self.perform(&Action::Navigate { url, tab: None });
    }

    fn read(&mut self, view: Option<&str>) -> String {
        self.perform(&Action::ReadPage {
            filter: view.map(str::to_owned),
            depth: None,
            root: None,
            tab: None,
        })
    }

    fn change(&mut self) {
        let script = "document.querySelector('h2').textContent += '.'".to_owned();
        self.perform(&Action::Javascript { script, tab: None });
    }

    /// The first element that matches a query.
    fn found(&mut self, words: &str) -> Target {
        let query = words.to_owned();
        let found = self.perform(&Action::Find { query, tab: None });
        let id = found
            .split_once('[')
            .and_then(|(_, rest)| rest.split_once(']'));
        Target::Ref {
            id: id.expect("a ref").0.to_owned(),
            frame: None,
        }
    }

    /// The first text field.
    pub(crate) fn field(&mut self) -> Target {
        self.found("field 1")
    }

    pub(crate) fn save(&mut self) -> Action {
        Action::Click {
            at: Some(self.found("button save")),
            button: Default::default(),
            count: Default::default(),
            modifiers: Vec::new(),
        }
    }

    pub(crate) fn click(&mut self, save: &Action) {
        self.perform(save);
    }
}

/// Playwright in a long-running process.
pub(crate) struct Playwright(Result<Helper, String>);

pub(crate) struct Helper {
    child: Child,
    stdin: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Playwright {
    pub(crate) fn open(site: &Site) -> Self {
        let mut playwright = Self(Helper::start());
        if let Err(why) = playwright.request(&format!("open {}", site.url("orders"))) {
            playwright.0 = Err(why);
        }
        playwright
    }

    pub(crate) fn request(&mut self, question: &str) -> Result<Duration, String> {
        let helper = self.0.as_mut().map_err(|why| why.clone())?;
        let mut answer = String::new();
        let sent = writeln!(helper.stdin, "{question}").and_then(|()| helper.stdin.flush());
        sent.and_then(|()| helper.answers.read_line(&mut answer))
            .map_err(|error| error.to_string())?;
        let took = answer.trim().strip_prefix("ok ");
        let took = took.and_then(|took| took.parse::<f64>().ok());
        took.map(|took| Duration::from_secs_f64(took / 1e3))
            .ok_or_else(|| answer.trim().to_owned())
    }
}

impl Playwright {
    /// The process behind it.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.0.as_ref().ok().map(|helper| helper.child.id())
    }
}

impl Helper {
    fn start() -> Result<Self, String> {
        let folder = std::env::var(NODE).map_err(|_| "not installed".to_owned())?;
        let mut child = Command::new("node")
            .args([HELPER, &folder, SHELL])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        Ok(Self {
            stdin: child.stdin.take().expect("a pipe"),
            answers: BufReader::new(child.stdout.take().expect("a pipe")),
            child,
        })
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _over_already = self.child.kill();
        let _over_already = self.child.wait();
    }
}

pub(crate) fn peer<'a>(
    playwright: &'a RefCell<Playwright>,
    name: &'static str,
    question: impl Into<String>,
) -> Contestant<'a> {
    let question = question.into();
    Contestant::fallible(name, move || playwright.borrow_mut().request(&question))
}
