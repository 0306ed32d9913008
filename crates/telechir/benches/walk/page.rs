//! A page of two thousand elements in words, and a click on one of them, beside Playwright.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use telechir_browser::{Browser, Options, Surface};
use telechir_device::{Computer as _, Viewport};
use telechir_protocol::{Action, Size, Target};
use telechir_testkit::page::ORDERS;
use telechir_testkit::site::Site;

use crate::stage::Stage;
use crate::table::{Contestant, compare, remark, table};

/// Says in which folder npm put Playwright.
const NODE: &str = "TELECHIR_PEERS_NODE";
const HELPER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/walk/page.mjs");
const CHROMIUM: &str = "/usr/lib/chromium/chromium";
const SIZE: Size = Size::new(1280, 800);

pub(crate) fn pages(stage: &Stage) {
    let runtime = &stage.runtime;
    let site = runtime.block_on(Site::serve([("orders", ORDERS)]));
    let site = site.expect("loopback");
    let ours = RefCell::new(Ours::open(stage, &site));
    let playwright = RefCell::new(Playwright::open(&site));

    table(
        "A page of 2,012 elements in words, all that can be acted on and as much beside as has room",
    );
    let mut all = vec![Contestant::new("read again", || {
        ours.borrow_mut().read(None);
    })];
    all.push(Contestant::timed("the first time in a document", || {
        ours.borrow_mut().go(&site);
        let start = Instant::now();
        ours.borrow_mut().read(None);
        start.elapsed()
    }));
    all.push(theirs(&playwright, "Playwright's `ariaSnapshot`", "aria"));
    compare(40, all);

    table("What changed on it, after one heading did");
    let mut all = vec![Contestant::timed("`changes`", || {
        ours.borrow_mut().change();
        let start = Instant::now();
        ours.borrow_mut().read(Some("changes"));
        start.elapsed()
    })];
    all.push(theirs(
        &playwright,
        "Playwright's whole `ariaSnapshot` again",
        "change",
    ));
    compare(40, all);

    table("A click on a button of it: hit-tested, and seen to be heard");
    let save = ours.borrow_mut().save();
    let mut all = vec![Contestant::new("by ref", || ours.borrow_mut().click(&save))];
    all.push(theirs(
        &playwright,
        "Playwright's `click` of a locator",
        "click",
    ));
    compare(40, all);
    remark(
        "Both drive the same Chromium without a window. Playwright waits until a button stays where it is for two frames.",
    );
    let ours = ours.into_inner();
    runtime.block_on(ours.browser.close()).expect("an end");
}

/// One of our browsers with the page.
struct Ours<'a> {
    stage: &'a Stage,
    browser: Browser,
}

impl<'a> Ours<'a> {
    fn open(stage: &'a Stage, site: &Site) -> Self {
        let options = Options {
            identity: stage.identity,
            profiles: stage.folder().to_owned(),
            scripts: true,
            ..Options::default()
        };
        let browser = Browser::launch(Surface::Headless(SIZE), options);
        let browser = stage.runtime.block_on(browser).expect("a browser");
        let mut ours = Self { stage, browser };
        ours.go(site);
        ours
    }

    fn perform(&mut self, action: &Action) -> String {
        let action = Viewport::unscaled(SIZE).action(action).expect("a place");
        let performed = self.stage.runtime.block_on(self.browser.perform(&action));
        performed.expect("it does so").text.unwrap_or_default()
    }

    fn go(&mut self, site: &Site) {
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

    fn save(&mut self) -> Action {
        let query = "button save".to_owned();
        let found = self.perform(&Action::Find { query, tab: None });
        let id = found
            .split_once('[')
            .and_then(|(_, rest)| rest.split_once(']'));
        Action::Click {
            at: Some(Target::Ref {
                id: id.expect("a ref").0.to_owned(),
                frame: None,
            }),
            button: Default::default(),
            count: Default::default(),
            modifiers: Vec::new(),
        }
    }

    fn click(&mut self, save: &Action) {
        self.perform(save);
    }
}

/// Playwright in a process that stays.
struct Playwright(Result<Helper, String>);

struct Helper {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Playwright {
    fn open(site: &Site) -> Self {
        let mut playwright = Self(Helper::start());
        if let Err(why) = playwright.ask(&format!("open {}", site.url("orders"))) {
            playwright.0 = Err(why);
        }
        playwright
    }

    fn ask(&mut self, question: &str) -> Result<Duration, String> {
        let helper = self.0.as_mut().map_err(|why| why.clone())?;
        let mut answer = String::new();
        let asked = writeln!(helper.asks, "{question}").and_then(|()| helper.asks.flush());
        asked
            .and_then(|()| helper.answers.read_line(&mut answer))
            .map_err(|error| error.to_string())?;
        let took = answer.trim().strip_prefix("ok ");
        let took = took.and_then(|took| took.parse::<f64>().ok());
        took.map(|took| Duration::from_secs_f64(took / 1e3))
            .ok_or_else(|| answer.trim().to_owned())
    }
}

impl Helper {
    fn start() -> Result<Self, String> {
        let folder = std::env::var(NODE).map_err(|_| "it is not installed".to_owned())?;
        let mut child = Command::new("node")
            .args([HELPER, &folder, CHROMIUM])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        Ok(Self {
            asks: child.stdin.take().expect("a pipe"),
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

fn theirs<'a>(
    playwright: &'a RefCell<Playwright>,
    name: &'static str,
    question: &'static str,
) -> Contestant<'a> {
    match playwright.borrow_mut().ask(question) {
        Ok(_) => Contestant::timed(name, move || {
            let took = playwright.borrow_mut().ask(question);
            took.expect("it did before")
        }),
        Err(why) => Contestant::missing(name, why),
    }
}
