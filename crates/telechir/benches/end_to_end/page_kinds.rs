//! The same steps on pages of several kinds: with frames, animations, many elements, a growing feed
//! and a large script.

use std::cell::RefCell;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use telechir_browser::{Browser, Options, Surface};
use telechir_device::{Computer as _, Settle, Viewport};
use telechir_protocol::Action;
use telechir_testkit::site::Site;

use crate::fixture::BenchFixture;
use crate::page::SIZE;
use crate::table::{Contestant, compare, remark, table};

/// As a session waits for screenshots.
const SETTLE: Settle = Settle {
    quiet: Duration::from_millis(100),
    ceiling: Duration::from_secs(2),
};
/// A button that changes the page, at 50,50.
const BODY: &str = "<!doctype html><style>button{position:fixed;left:20px;top:30px;width:90px;height:40px}\
    main{margin-top:90px}</style><button onclick='this.textContent = +this.textContent + 1'>0</button>\
    <main><h1>Page</h1><p>Some text.</p>";
/// When the page was first painted, in milliseconds since 1970.
const FIRST_PAINT: &str =
    "performance.timeOrigin + (performance.getEntriesByType('paint')[0]?.startTime ?? 0)";

/// The kinds with what follows the body; the first is the one that others are compared with.
const KINDS: [(&str, &str); 9] = [
    ("a plain page", ""),
    (
        "with a cross-site frame",
        "<iframe src='{elsewhere}/inner'></iframe>",
    ),
    (
        "with a hidden cross-site frame",
        "<iframe style='display:none' src='{elsewhere}/inner'></iframe>",
    ),
    (
        "after a cross-site frame was removed",
        "<iframe id=f src='{elsewhere}/inner'></iframe>\
         <script>onload = () => setTimeout(() => f.remove(), 50)</script>",
    ),
    (
        "with an endless spinner",
        "<style>@keyframes turn{to{transform:rotate(1turn)}}i{position:fixed;right:20px;top:20px;\
         width:40px;height:40px;border:4px solid;animation:turn 1s linear infinite!important}</style><i></i>",
    ),
    (
        "with an animated canvas",
        "<canvas id=c width=100 height=60></canvas><script>const pen = c.getContext('2d');\
         (function draw(at) { pen.fillStyle = `hsl(${at / 9},90%,50%)`; pen.fillRect(0, 0, 100, 60);\
         requestAnimationFrame(draw) })(0)</script>",
    ),
    (
        "with 20,000 elements",
        "<script>for (let at = 0; at < 10000; at++)\
         document.querySelector('main').insertAdjacentHTML('beforeend', `<p><a href='#${at}'>Row ${at}</a>`)</script>",
    ),
    (
        "with a feed that grows",
        "<script>let rows = 0; setInterval(() => document.querySelector('main')\
         .insertAdjacentHTML('beforeend', `<p>Item ${++rows}`), 200)</script>",
    ),
    (
        "with a script of 5 MB",
        "<script src='{here}/script'></script>",
    ),
];

pub(crate) fn page_kinds(fixture: &BenchFixture) {
    let script = format!(
        "<!-- //\n{}",
        "function work(){return [1,2,3].map(at => at * 2)}\n".repeat(100_000)
    );
    let pages = KINDS.map(|(_, more)| format!("{BODY}{more}"));
    let names: [String; 9] = std::array::from_fn(|at| format!("kind{at}"));
    let mut all: Vec<(&str, &str)> = names
        .iter()
        .map(String::as_str)
        .zip(pages.iter().map(String::as_str))
        .collect();
    all.extend([
        ("inner", "<p>Inner text <button>Pay</button>"),
        ("script", &script),
    ]);
    let all: [(&str, &str); 11] = all.try_into().expect("eleven pages");
    let site = fixture.runtime.block_on(Site::serve(all));
    let site = site.expect("loopback");
    let options = Options {
        identity: fixture.identity,
        temp_dir: fixture.folder().to_owned(),
        allows_scripts: true,
        ..Options::default()
    };
    let browser = Browser::launch(Surface::Headless(SIZE), options);
    let browser = RefCell::new(Steps {
        fixture,
        browser: fixture.runtime.block_on(browser).expect("a browser"),
    });
    let urls = names.each_ref().map(|name| site.url(name));
    let rows = |run: &dyn Fn(&str) -> Duration, runs| {
        let kinds = KINDS.iter().zip(&urls);
        let rows = kinds.map(|((name, _), url)| Contestant::timed(*name, move || run(url)));
        compare(runs, rows.collect());
    };
    table("First paint to the answer of `navigate` with its settled screenshot, by kind of page");
    rows(&|url| browser.borrow_mut().load(url), 5);
    table("Click on a button and settled screenshot, by kind of page");
    rows(&|url| browser.borrow_mut().click(url), 10);
    table("Text snapshot, by kind of page");
    rows(&|url| browser.borrow_mut().read(url), 10);
    remark("Headless shell. The page is loaded anew before each measurement, without counting it.");
    fixture
        .runtime
        .block_on(browser.into_inner().browser.close())
        .expect("a clean close");
}

/// A browser and what is measured in it.
struct Steps<'a> {
    fixture: &'a BenchFixture,
    browser: Browser,
}

impl Steps<'_> {
    fn perform(&mut self, action: &Action) -> String {
        let action = Viewport::unscaled(SIZE).action(action);
        let action = action.expect("a point on the screen");
        let performed = self.fixture.runtime.block_on(self.browser.perform(&action));
        performed
            .expect("a performed action")
            .text
            .unwrap_or_default()
    }

    fn settle(&mut self) {
        let settled = self.browser.settle_and_capture(SETTLE);
        let settled = self.fixture.runtime.block_on(settled);
        drop(settled.expect("a screenshot"));
    }

    fn go(&mut self, url: &str) {
        let url = url.to_owned();
        self.perform(&Action::Navigate { url, tab: None });
        self.settle();
    }

    fn load(&mut self, url: &str) -> Duration {
        self.go(url);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let script = FIRST_PAINT.to_owned();
        let painted = self.perform(&Action::Javascript { script, tab: None });
        let painted: f64 = painted.parse().expect("a number");
        let painted = Duration::from_secs_f64(painted / 1e3);
        now.expect("a clock").saturating_sub(painted)
    }

    fn click(&mut self, url: &str) -> Duration {
        self.go(url);
        let start = Instant::now();
        self.perform(&Action::Click {
            at: Some(telechir_protocol::Target::Point(
                telechir_protocol::Point::new(50, 50),
            )),
            button: Default::default(),
            count: Default::default(),
            modifiers: Vec::new(),
        });
        self.settle();
        start.elapsed()
    }

    fn read(&mut self, url: &str) -> Duration {
        self.go(url);
        let start = Instant::now();
        self.perform(&Action::ReadPage {
            filter: None,
            depth: None,
            root: None,
            tab: None,
        });
        start.elapsed()
    }
}
