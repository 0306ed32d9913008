//! A page with every kind of element: each action causes the same events as input by a user, with
//! and without a window.

use std::fs;

use serde_json::{Value, json};
use telechir_browser::{Browser, FileAccess, Options};
use telechir_device::{Computer as _, DeviceError};
use telechir_protocol::{Action, Button, Chord, ClickCount, Modifier, ScrollUnit, Target};
use telechir_testkit::page::{PageEvent, PageWitness};

use crate::common::{
    SETTLE, at, click, click_on, go, headless_with, key, options, perform, read, ref_of, write,
};
use crate::files::workspace;
use crate::window::windowed_with;

/// Events that are independent of the action, or whose number depends on the speed of the machine.
const PASSING: [&str; 5] = ["mousemove", "mouseover", "focusin", "dragover", "scroll"];

/// An event as a line: `click press`, `keydown field:a`, `input field=a`.
fn line(event: &PageEvent) -> String {
    let PageEvent {
        kind,
        target,
        key,
        value,
        ..
    } = event;
    let more = match kind.as_str() {
        "keydown" | "keyup" => format!(":{key}"),
        "input" | "change" => format!("={}", value.as_deref().unwrap_or_default()),
        _ => String::new(),
    };
    format!("{kind} {target}{more}")
}

/// The page under test.
struct PageRun {
    browser: Browser,
    witness: PageWitness,
    page: String,
}

impl PageRun {
    async fn start(mut browser: Browser) -> Self {
        let witness = PageWitness::serve().await.unwrap();
        go(&mut browser, &witness.conformance()).await.unwrap();
        witness.until(|event| event.kind == "ready").await.unwrap();
        browser.settle(SETTLE).await.unwrap();
        let page = read(&mut browser, "full").await;
        witness.take().await;
        Self {
            browser,
            witness,
            page,
        }
    }

    fn find(&self, name: &str) -> Target {
        ref_of(&self.page, &format!("\"{name}\""))
    }

    /// All events since the last call.
    async fn events(&mut self) -> Vec<PageEvent> {
        let events = self.witness.take().await;
        events
            .into_iter()
            .filter(|event| !PASSING.contains(&event.kind.as_str()))
            .collect()
    }

    /// Performs an action and compares the events.
    async fn step(&mut self, action: Action, expected: &[&str]) {
        perform(&mut self.browser, action.clone())
            .await
            .unwrap_or_else(|error| panic!("{action:?}: {error}"));
        let events = self.events().await;
        let actual: Vec<String> = events.iter().map(line).collect();
        assert_eq!(actual, expected, "{action:?}");
        // Setting a control is done by a script; all other events are trusted.
        let is_set = matches!(action, Action::FormInput { .. });
        assert!(
            is_set || events.iter().all(|event| event.is_trusted),
            "{action:?}: {events:?}"
        );
    }

    async fn press(&mut self, name: &str, expected: &[&str]) {
        let action = click_on(self.find(name));
        self.step(action, expected).await;
    }

    async fn set(&mut self, name: &str, value: Value, expected: &[&str]) {
        let at = self.find(name);
        self.step(
            Action::FormInput {
                at,
                value,
                tab: None,
            },
            expected,
        )
        .await;
    }
}

fn pressed(button: Button, count: ClickCount, at: Target) -> Action {
    Action::Click {
        at: Some(at),
        button,
        count,
        modifiers: vec![],
    }
}

async fn buttons_and_links(run: &mut PageRun) {
    run.press(
        "Press",
        &["mousedown press", "mouseup press", "click press"],
    )
    .await;
    let double = pressed(Button::Left, ClickCount::Double, run.find("Press"));
    let twice = [
        "mousedown press",
        "mouseup press",
        "click press",
        "mousedown press",
        "mouseup press",
        "click press",
        "dblclick press",
    ];
    run.step(double, &twice).await;
    let right = pressed(Button::Right, ClickCount::Single, run.find("Rolled"));
    run.step(
        right,
        &[
            "mousedown rolled",
            "contextmenu rolled",
            "mouseup rolled",
            "auxclick rolled",
        ],
    )
    .await;
    let middle = pressed(Button::Middle, ClickCount::Single, run.find("Rolled"));
    run.step(
        middle,
        &["mousedown rolled", "mouseup rolled", "auxclick rolled"],
    )
    .await;
    run.press("Part", &["mousedown link", "mouseup link", "click link"])
        .await;
    run.step(
        key("ctrl+Home"),
        &[
            "keydown :Control",
            "keydown :Home",
            "keyup :Home",
            "keyup :Control",
        ],
    )
    .await;
    run.press(
        "Rolled",
        &["mousedown rolled", "mouseup rolled", "click rolled"],
    )
    .await;
    let shift = Action::Click {
        at: Some(run.find("Rolled")),
        button: Button::Left,
        count: ClickCount::Single,
        modifiers: vec![Modifier::Shift],
    };
    run.step(
        shift,
        &[
            "keydown rolled:Shift",
            "mousedown rolled",
            "mouseup rolled",
            "click rolled",
            "keyup rolled:Shift",
        ],
    )
    .await;
    let drawn = click_on(run.find("Drawn"));
    run.step(drawn, &["mousedown ", "mouseup ", "click "]).await;
    let dead = click_on(run.find("Dead"));
    let dead = perform(&mut run.browser, dead).await;
    assert!(matches!(dead, Err(DeviceError::Refused { .. })), "{dead:?}");
    assert!(run.events().await.is_empty());
}

async fn fields(run: &mut PageRun) {
    for (name, id, value) in [
        ("Text", "text", "Ada"),
        ("Password", "password", "secret"),
        ("Email", "email", "a@b.org"),
        ("Telephone", "tel", "0123"),
        ("Address", "url", "https://e.org/"),
        ("Search", "search", "words"),
        ("Number", "number", "7"),
        ("Date", "date", "2026-11-21"),
        ("Time", "time", "12:34"),
        ("Moment", "moment", "2026-11-21T12:34"),
        ("Month", "month", "2026-11"),
        ("Week", "week", "2026-W47"),
        ("Colour", "colour", "#ff8800"),
        ("Range", "range", "9"),
        ("Area", "area", "two\nlines"),
    ] {
        let set = [
            format!("input {id}={value}"),
            format!("change {id}={value}"),
        ];
        run.set(name, json!(value), &set.each_ref().map(String::as_str))
            .await;
    }
    run.set(
        "Select",
        json!("Beta"),
        &["input select=b", "change select=b"],
    )
    .await;
    run.set(
        "Check",
        json!(true),
        &["click check", "input check=true", "change check=true"],
    )
    .await;
    run.set("Editable", json!("written"), &["input editable=written"])
        .await;
    run.press(
        "Check",
        &[
            "mousedown check",
            "mouseup check",
            "click check",
            "input check=false",
            "change check=false",
        ],
    )
    .await;
    run.press(
        "Radio",
        &[
            "mousedown radio",
            "mouseup radio",
            "click radio",
            "input radio=true",
            "change radio=true",
        ],
    )
    .await;
    let into = Action::Type {
        text: "ab".to_owned(),
        at: Some(run.find("Text")),
        clear_first: true,
        submit: true,
    };
    run.step(
        into,
        &[
            "mousedown text",
            "mouseup text",
            "click text",
            "keydown text:Control",
            "keydown text:a",
            "keyup text:a",
            "keyup text:Control",
            "keydown text:Backspace",
            "input text=",
            "keyup text:Backspace",
            "keydown text:a",
            "input text=a",
            "keyup text:a",
            "keydown text:b",
            "input text=ab",
            "keyup text:b",
            "keydown text:Enter",
            "change text=ab",
            "click send",
            "submit form",
            "keyup text:Enter",
        ],
    )
    .await;
    let upload = Action::FileUpload {
        at: run.find("File"),
        paths: vec!["a.txt".to_owned()],
        documents: vec![],
        tab: None,
    };
    run.step(upload, &["input file=a.txt", "change file=a.txt"])
        .await;
}

async fn menus_and_details_open(run: &mut PageRun) {
    run.press(
        "More",
        &["mousedown summary", "mouseup summary", "click summary"],
    )
    .await;
    let menu = Action::Hover {
        at: run.find("Menu"),
    };
    run.step(menu, &[]).await;
    run.page = read(&mut run.browser, "full").await;
    run.press("Item", &["mousedown item", "mouseup item", "click item"])
        .await;
    run.press("Ask", &["mousedown asks", "mouseup asks", "click asks"])
        .await;
    run.page = read(&mut run.browser, "full").await;
    run.press(
        "Sure",
        &[
            "mousedown sure",
            "mouseup sure",
            "click sure",
            "close dialog",
        ],
    )
    .await;
    run.press(
        "Opened",
        &[
            "mousedown open-inner",
            "mouseup open-inner",
            "click open-inner",
        ],
    )
    .await;
    run.press(
        "Closed",
        &[
            "mousedown closed-host",
            "mouseup closed-host",
            "click closed-host",
            "click closed-inner",
        ],
    )
    .await;
    run.press(
        "Inner",
        &["mousedown inner", "mouseup inner", "click inner"],
    )
    .await;
    run.press(
        "Far inner",
        &[
            "mousedown far-inner",
            "mouseup far-inner",
            "click far-inner",
        ],
    )
    .await;
    run.set(
        "Inner text",
        json!("near"),
        &["input inner-text=near", "change inner-text=near"],
    )
    .await;
    run.set(
        "Far inner text",
        json!("far"),
        &["input far-inner-text=far", "change far-inner-text=far"],
    )
    .await;
}

async fn scroll_positions(run: &mut PageRun) {
    run.step(
        key("ctrl+Home"),
        &[
            "keydown far-inner-text:Control",
            "keydown far-inner-text:Home",
            "keyup far-inner-text:Home",
            "keyup far-inner-text:Control",
        ],
    )
    .await;
    run.step(
        click(800, 100),
        &["mousedown pad", "mouseup pad", "click pad"],
    )
    .await;
    let wheel = Action::Scroll {
        at: Some(at(800, 270)),
        dx: 0.0,
        dy: 3.0,
        unit: ScrollUnit::Clicks,
        modifiers: vec![],
    };
    run.step(wheel, &["wheel much"]).await;
    let deep = run.find("Deep");
    run.step(
        Action::ScrollTo {
            at: deep,
            tab: None,
        },
        &[],
    )
    .await;
    run.press("Deep", &["mousedown deep", "mouseup deep", "click deep"])
        .await;
    let drag = |path: [(u32, u32); 2]| Action::Drag {
        path: path.map(|(x, y)| at(x, y)).to_vec(),
        button: Button::Left,
        modifiers: vec![],
        duration: None,
    };
    run.step(
        drag([(680, 360), (880, 370)]),
        &[
            "mousedown carried",
            "dragstart carried",
            "drop bin",
            "dragend carried",
        ],
    )
    .await;
    run.step(
        drag([(660, 500), (900, 580)]),
        &["mousedown canvas", "mouseup canvas", "click canvas"],
    )
    .await;
    run.step(
        click(800, 440),
        &["mousedown field", "mouseup field", "click field"],
    )
    .await;
    run.step(write("é"), &["input field=é"]).await;
    let hold = Action::HoldKey {
        chord: Chord::parse("x").unwrap(),
        duration: std::time::Duration::from_millis(100),
    };
    run.step(
        hold,
        &["keydown field:x", "input field=éx", "keyup field:x"],
    )
    .await;
    run.step(
        key("Enter"),
        &[
            "keydown field:Enter",
            "change field=éx",
            "keyup field:Enter",
        ],
    )
    .await;
}

async fn run(browser: Browser) {
    let mut run = PageRun::start(browser).await;
    buttons_and_links(&mut run).await;
    fields(&mut run).await;
    menus_and_details_open(&mut run).await;
    scroll_positions(&mut run).await;
}

/// Options with a workspace that contains a file to upload.
fn with_a_file() -> (tempfile::TempDir, Options) {
    let (folder, workspace) = workspace();
    fs::write(workspace.join("a.txt"), "a").unwrap();
    let files = Some(FileAccess {
        workspace,
        saves_downloads: false,
    });
    let options = Options {
        temp_dir: folder.path().to_owned(),
        files,
        ..options()
    };
    (folder, options)
}

#[tokio::test]
async fn every_kind_of_element_works_headless() {
    let (_folder, options) = with_a_file();
    run(headless_with(options).await).await;
}

#[tokio::test]
async fn every_kind_of_element_works_in_a_window() {
    let (_folder, options) = with_a_file();
    run(windowed_with(options).await).await;
}
