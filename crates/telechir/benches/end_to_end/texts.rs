//! Typing text until the program has received it: a window that only records, an editor, a page.

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command as Program};
use std::time::{Duration, Instant};

use telechir_device::{Computer as _, ScreenAction, Settle, Viewport};
use telechir_protocol::{Action, Chord, Point, Target};
use telechir_testkit::contract::computer::Witness as _;
use telechir_testkit::desktop_fixture::DesktopFixture;
use telechir_testkit::page::{PageEvent, PageWitness, TEXT_AREA};
use telechir_testkit::witness::{ReadMode, XWitness};
use telechir_x11::{Desktop, DisplayOptions, PrivateDisplay};

use crate::fixture::{BenchFixture, CEILING, run};
use crate::peers::{Peers, absent};
use crate::table::{Contestant, compare, remark, table};

type Environment = Vec<(String, String)>;

const RUNS: usize = 20;
/// Rounds of contestants that need seconds per text.
const SLOW_RUNS: usize = 3;

/// Every plain character, repeatedly.
fn plain(_round: u32) -> String {
    (' '..='~').cycle().take(1_000).collect()
}

/// A hundred characters that the keyboard layout lacks, different in every round.
fn foreign(round: u32) -> String {
    let blocks = [('一', 26), ('ぁ', 18), ('ァ', 10), ('가', 26), ('😀', 14)];
    let mut text = String::new();
    for (first, count) in blocks {
        let start = u32::from(first) + round * 7 % 40;
        text.extend((start..start + count).filter_map(char::from_u32));
    }
    text.push_str("e\u{301}n\u{303}o\u{308}");
    text
}

/// A target for typed text.
trait Field {
    /// Empties the target.
    fn clear(&mut self, fixture: &BenchFixture, desktop: &mut Desktop);

    /// Its text once that is `expected`, or after a timeout.
    fn holds(&mut self, fixture: &BenchFixture, desktop: &mut Desktop, expected: &str) -> String;
}

pub(crate) fn texts(fixture: &BenchFixture, peers: &mut Peers) {
    let display = display(fixture, None);
    let environment = display.environment();
    let desktop = opened(fixture, display);
    let manners = ReadMode {
        answers_pings: true,
        slowness: Duration::ZERO,
    };
    let witness = XWitness::open(&environment, manners);
    let witness = fixture.runtime.block_on(witness);
    table("1,000 ASCII characters, until a window has received them all");
    let mut race = Race::new(fixture, peers, desktop, environment);
    race.run(Watched(witness), plain);
    race.end();

    let (desktop, environment, editor) = editor(fixture);
    table(
        "100 characters outside the keyboard layout in an editor (GTK), until the saved file contains them",
    );
    let mut race = Race::new(fixture, peers, desktop, environment);
    race.run(editor, foreign);
    race.end();

    let (desktop, environment, page) = page(fixture);
    table(
        "100 characters outside the keyboard layout in a page (Chromium), until it contains them",
    );
    let mut race = Race::new(fixture, peers, desktop, environment);
    race.run(page, foreign);
    race.end();
    remark("Keys only; the clipboard is not used.");
}

/// A display shared by all contestants in turn.
struct Race<'a> {
    fixture: &'a BenchFixture,
    peers: RefCell<&'a mut Peers>,
    desktop: RefCell<Desktop>,
    environment: Environment,
}

/// How often a text arrived exactly.
#[derive(Default)]
struct Score {
    rounds: Cell<u32>,
    exact: Cell<u32>,
}

impl<'a> Race<'a> {
    fn new(
        fixture: &'a BenchFixture,
        peers: &'a mut Peers,
        desktop: Desktop,
        environment: Environment,
    ) -> Self {
        peers.restart(fixture, &environment);
        Self {
            fixture,
            peers: RefCell::new(peers),
            desktop: RefCell::new(desktop),
            environment,
        }
    }

    fn run(&mut self, field: impl Field, text: fn(u32) -> String) {
        let field = RefCell::new(field);
        let scores: [Score; 4] = Default::default();
        let [telechir_run, tool, python, driver] = &scores;
        let timed = |score: &Score, work: &dyn Fn(&str)| {
            let text = text(score.rounds.get());
            let mut field = field.borrow_mut();
            self.free_keys();
            field.clear(self.fixture, &mut self.desktop.borrow_mut());
            let start = Instant::now();
            work(&text);
            let read = field.holds(self.fixture, &mut self.desktop.borrow_mut(), &text);
            let took = start.elapsed();
            score.rounds.set(score.rounds.get() + 1);
            score.exact.set(score.exact.get() + u32::from(read == text));
            took
        };
        let typed =
            |text: &str| perform(self.fixture, &mut self.desktop.borrow_mut(), &typing(text));
        let request = |words: &str| self.peers.borrow_mut().request(words);
        let library = |name: &str, score, runs| match request(name) {
            Err(why) => Contestant::missing(name, why),
            Ok(()) => {
                let name = name.to_owned();
                let timed = &timed;
                Contestant::timed(name.clone(), move || {
                    timed(score, &|text| {
                        let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
                        // A contestant that rejects a text has not typed it exactly.
                        let _refused = request(&format!("{name} {hex}"));
                    })
                })
                .at_most(runs)
            }
        };
        let tools = match absent("xdotool") {
            Some(why) => Contestant::missing("xdotool type --delay 0", why),
            None => Contestant::timed("xdotool type --delay 0", || {
                timed(tool, &|text| run(&mut self.xdotool(text)))
            }),
        };
        compare(
            RUNS,
            vec![
                Contestant::timed("telechir", || timed(telechir_run, &typed)),
                tools,
                library("pynput-text", python, RUNS),
                library("cua-driver-text", driver, SLOW_RUNS),
            ],
        );
        let named = ["telechir", "xdotool", "pynput", "cua-driver"].into_iter();
        let took_part = named
            .zip(&scores)
            .filter(|(_, score)| score.rounds.get() > 0);
        let output = took_part
            .map(|(who, score)| format!("{who} {} of {}", score.exact.get(), score.rounds.get()));
        let output: Vec<String> = output.collect();
        remark(&format!(
            "Exact, the first round included: {}.",
            output.join(", ")
        ));
    }

    fn xdotool(&self, text: &str) -> Program {
        let mut command = Program::new("xdotool");
        command.args(["type", "--delay", "0", "--", text]);
        command.envs(self.environment.clone());
        command
    }

    /// Resets the keyboard mapping that the previous contestant changed.
    fn free_keys(&self) {
        let mut command = Program::new("setxkbmap");
        run(command.arg("us").envs(self.environment.clone()));
        std::thread::sleep(Duration::from_millis(300));
        self.rest();
    }

    /// Waits for late effects of the previous contestant: remapping keys for every character keeps
    /// programs busy, and late input would count for the next one.
    fn rest(&self) {
        let wait = Settle {
            quiet: Duration::from_millis(300),
            ceiling: Duration::from_secs(3),
        };
        let mut desktop = self.desktop.borrow_mut();
        let settled = self.fixture.runtime.block_on(desktop.settle(wait));
        assert!(settled.is_ok(), "the screen is gone");
    }

    fn end(self) {
        let closed = self.desktop.into_inner().close();
        self.fixture
            .runtime
            .block_on(closed)
            .expect("a clean close");
    }
}

/// A window that only records input.
struct Watched(XWitness);

impl Field for Watched {
    fn clear(&mut self, fixture: &BenchFixture, _desktop: &mut Desktop) {
        fixture.runtime.block_on(self.0.forget());
    }

    fn holds(&mut self, fixture: &BenchFixture, _desktop: &mut Desktop, expected: &str) -> String {
        let characters = self.0.characters(expected.chars().count());
        fixture.runtime.block_on(characters)
    }
}

/// An editor whose file is saved.
struct Editor {
    path: PathBuf,
    saved: String,
}

impl Field for Editor {
    fn clear(&mut self, fixture: &BenchFixture, desktop: &mut Desktop) {
        for chord in ["ctrl+a", "Delete"] {
            perform(fixture, desktop, &key(chord));
        }
        self.saved = fs::read_to_string(&self.path).expect("the file");
    }

    fn holds(&mut self, fixture: &BenchFixture, desktop: &mut Desktop, _expected: &str) -> String {
        perform(fixture, desktop, &key("ctrl+s"));
        until(
            || fs::read_to_string(&self.path).unwrap_or_default(),
            |now| !now.is_empty() && *now != self.saved,
        )
    }
}

/// A field of a page, which reports every change. The window title is unsuitable: Chromium updates
/// it 200 ms after a change.
struct Page {
    witness: PageWitness,
    _browser: Browser,
}

impl Field for Page {
    fn clear(&mut self, fixture: &BenchFixture, _desktop: &mut Desktop) {
        fixture.runtime.block_on(self.witness.forget());
    }

    fn holds(&mut self, fixture: &BenchFixture, _desktop: &mut Desktop, expected: &str) -> String {
        let count = expected.chars().count();
        let last = RefCell::new(String::new());
        // Substituted characters take as long to type.
        let is_complete = |event: &PageEvent| {
            let Some(value) = &event.value else {
                return false;
            };
            last.replace(value.clone());
            value.chars().count() >= count
        };
        let _what_came_is_judged = fixture.runtime.block_on(self.witness.until(is_complete));
        last.into_inner()
    }
}

/// The browser process, killed when dropped.
struct Browser(Child);

impl Drop for Browser {
    fn drop(&mut self) {
        let _over_already = self.0.kill();
        let _over_already = self.0.wait();
    }
}

/// The text once it is sufficient, or the last one.
fn until(look: impl Fn() -> String, enough: impl Fn(&String) -> bool) -> String {
    let start = Instant::now();
    loop {
        let now = look();
        if enough(&now) || start.elapsed() > CEILING / 4 {
            return now;
        }
        std::thread::yield_now();
    }
}

fn typing(text: &str) -> ScreenAction {
    Action::Type {
        text: text.to_owned(),
        at: None,
        clear_first: false,
        submit: false,
    }
}

fn key(chord: &str) -> ScreenAction {
    Action::Key {
        chord: Chord::parse(chord).expect("a chord"),
        repeat: 1,
    }
}

fn perform(fixture: &BenchFixture, desktop: &mut Desktop, action: &ScreenAction) {
    let performed = fixture.runtime.block_on(desktop.perform(action));
    drop(performed.expect("a performed action"));
}

fn display(fixture: &BenchFixture, workspace: Option<PathBuf>) -> PrivateDisplay {
    let mut options = DisplayOptions::new(fixture.folder(), fixture.identity);
    options.workspace = workspace;
    let display = PrivateDisplay::start(options);
    fixture.runtime.block_on(display).expect("an X server")
}

fn opened(fixture: &BenchFixture, display: PrivateDisplay) -> Desktop {
    let desktop = display.into_desktop();
    fixture.runtime.block_on(desktop).expect("a desktop")
}

/// Waits until the program's window is drawn.
fn rest(fixture: &BenchFixture, desktop: &mut Desktop, scene: &DesktopFixture, class: &str) {
    until(
        || {
            scene
                .window(class)
                .map_or_else(String::new, |_| class.to_owned())
        },
        |found| !found.is_empty(),
    );
    let rest = Settle {
        quiet: Duration::from_secs(2),
        ceiling: CEILING,
    };
    fixture
        .runtime
        .block_on(desktop.settle(rest))
        .expect("a settled screen");
}

fn editor(fixture: &BenchFixture) -> (Desktop, Environment, Editor) {
    let home = fixture.make("typing");
    let path = home.join("text.txt");
    fs::write(&path, "").expect("a file");
    fixture.give(&path);
    let mut display = display(fixture, Some(home));
    let environment = display.environment();
    let file = path.to_string_lossy().into_owned();
    let launched = fixture
        .runtime
        .block_on(display.launch("mousepad", &[&file]));
    launched.expect("an editor");
    let mut desktop = opened(fixture, display);
    rest(
        fixture,
        &mut desktop,
        &DesktopFixture::open(&environment),
        "mousepad",
    );
    let saved = String::new();
    (desktop, environment, Editor { path, saved })
}

fn page(fixture: &BenchFixture) -> (Desktop, Environment, Page) {
    let home = fixture.make("page");
    let witness = fixture.runtime.block_on(PageWitness::serve());
    let witness = witness.expect("a page");
    let display = display(fixture, Some(home.clone()));
    let environment = display.environment();
    let mut desktop = opened(fixture, display);
    let mut command = Program::new("/usr/bin/chromium");
    command.args([
        "--no-sandbox",
        "--no-first-run",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--password-store=basic",
        // Page and screen coordinates are equal.
        "--kiosk",
    ]);
    command.arg(format!(
        "--user-data-dir={}",
        home.join("profile").display()
    ));
    command.arg(witness.url());
    command.envs(environment.clone()).current_dir(&home);
    if let Some(identity) = fixture.identity {
        use std::os::unix::process::CommandExt as _;
        command.uid(identity.uid).gid(identity.gid);
    }
    let quiet = std::process::Stdio::null;
    let browser = command.stdout(quiet()).stderr(quiet()).spawn();
    let browser = Browser(browser.expect("Chromium starts"));
    let scene = DesktopFixture::open(&environment);
    rest(fixture, &mut desktop, &scene, "chromium");
    let (x, y) = TEXT_AREA;
    let click = Action::Click {
        at: Some(Target::Point(Point::new(x, y))),
        button: Default::default(),
        count: Default::default(),
        modifiers: Vec::new(),
    };
    let click = Viewport::unscaled(desktop.size()).action(&click);
    perform(
        fixture,
        &mut desktop,
        &click.expect("a point on the screen"),
    );
    let page = Page {
        witness,
        _browser: browser,
    };
    (desktop, environment, page)
}
