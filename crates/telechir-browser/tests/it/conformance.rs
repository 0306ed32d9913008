//! A page with every kind of element: each action causes the same events as input by a user, with
//! and without a window.

use std::fs;

use serde_json::{Value, json};
use telechir_browser::{Browser, Files, Options};
use telechir_device::{Computer as _, DeviceError};
use telechir_protocol::{Action, Button, Chord, ClickCount, Modifier, ScrollUnit, Target};
use telechir_testkit::page::{PageEvent, PageWitness};

use crate::common::{
    SETTLE, at, click, click_on, go, headless_with, key, options, perform, read, ref_of, write,
};
use crate::files::workspace;
use crate::window::windowed_with;

/// Events that say nothing about the action, or whose number depends on the speed of the machine.
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
struct Walk {
    browser: Browser,
    witness: PageWitness,
    page: String,
}

impl Walk {
    async fn begin(mut browser: Browser) -> Self {
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

async fn buttons_and_links(walk: &mut Walk) {
    walk.press(
        "Press",
        &["mousedown press", "mouseup press", "click press"],
    )
    .await;
    let double = pressed(Button::Left, ClickCount::Double, walk.find("Press"));
    let twice = [
        "mousedown press",
        "mouseup press",
        "click press",
        "mousedown press",
        "mouseup press",
        "click press",
        "dblclick press",
    ];
    walk.step(double, &twice).await;
    let right = pressed(Button::Right, ClickCount::Single, walk.find("Rolled"));
    walk.step(
        right,
        &[
            "mousedown rolled",
            "contextmenu rolled",
            "mouseup rolled",
            "auxclick rolled",
        ],
    )
    .await;
    let middle = pressed(Button::Middle, ClickCount::Single, walk.find("Rolled"));
    walk.step(
        middle,
        &["mousedown rolled", "mouseup rolled", "auxclick rolled"],
    )
    .await;
    walk.press("Part", &["mousedown link", "mouseup link", "click link"])
        .await;
    walk.step(
        key("ctrl+Home"),
        &[
            "keydown :Control",
            "keydown :Home",
            "keyup :Home",
            "keyup :Control",
        ],
    )
    .await;
    walk.press(
        "Rolled",
        &["mousedown rolled", "mouseup rolled", "click rolled"],
    )
    .await;
    let shift = Action::Click {
        at: Some(walk.find("Rolled")),
        button: Button::Left,
        count: ClickCount::Single,
        modifiers: vec![Modifier::Shift],
    };
    walk.step(
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
    let drawn = click_on(walk.find("Drawn"));
    walk.step(drawn, &["mousedown ", "mouseup ", "click "])
        .await;
    let dead = click_on(walk.find("Dead"));
    let dead = perform(&mut walk.browser, dead).await;
    assert!(matches!(dead, Err(DeviceError::Refused { .. })), "{dead:?}");
    assert!(walk.events().await.is_empty());
}

async fn fields(walk: &mut Walk) {
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
        walk.set(name, json!(value), &set.each_ref().map(String::as_str))
            .await;
    }
    walk.set(
        "Select",
        json!("Beta"),
        &["input select=b", "change select=b"],
    )
    .await;
    walk.set(
        "Check",
        json!(true),
        &["click check", "input check=true", "change check=true"],
    )
    .await;
    walk.set("Editable", json!("written"), &["input editable=written"])
        .await;
    walk.press(
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
    walk.press(
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
        at: Some(walk.find("Text")),
        clear_first: true,
        submit: true,
    };
    walk.step(
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
        at: walk.find("File"),
        paths: vec!["a.txt".to_owned()],
        documents: vec![],
        tab: None,
    };
    walk.step(upload, &["input file=a.txt", "change file=a.txt"])
        .await;
}

async fn what_opens(walk: &mut Walk) {
    walk.press(
        "More",
        &["mousedown summary", "mouseup summary", "click summary"],
    )
    .await;
    let menu = Action::Hover {
        at: walk.find("Menu"),
    };
    walk.step(menu, &[]).await;
    walk.page = read(&mut walk.browser, "full").await;
    walk.press("Item", &["mousedown item", "mouseup item", "click item"])
        .await;
    walk.press("Ask", &["mousedown asks", "mouseup asks", "click asks"])
        .await;
    walk.page = read(&mut walk.browser, "full").await;
    walk.press(
        "Sure",
        &[
            "mousedown sure",
            "mouseup sure",
            "click sure",
            "close dialog",
        ],
    )
    .await;
    walk.press(
        "Opened",
        &[
            "mousedown open-inner",
            "mouseup open-inner",
            "click open-inner",
        ],
    )
    .await;
    walk.press(
        "Closed",
        &[
            "mousedown closed-host",
            "mouseup closed-host",
            "click closed-host",
            "click closed-inner",
        ],
    )
    .await;
    walk.press(
        "Inner",
        &["mousedown inner", "mouseup inner", "click inner"],
    )
    .await;
    walk.press(
        "Far inner",
        &[
            "mousedown far-inner",
            "mouseup far-inner",
            "click far-inner",
        ],
    )
    .await;
    walk.set(
        "Inner text",
        json!("near"),
        &["input inner-text=near", "change inner-text=near"],
    )
    .await;
    walk.set(
        "Far inner text",
        json!("far"),
        &["input far-inner-text=far", "change far-inner-text=far"],
    )
    .await;
}

async fn places(walk: &mut Walk) {
    walk.step(
        key("ctrl+Home"),
        &[
            "keydown far-inner-text:Control",
            "keydown far-inner-text:Home",
            "keyup far-inner-text:Home",
            "keyup far-inner-text:Control",
        ],
    )
    .await;
    walk.step(
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
    walk.step(wheel, &["wheel much"]).await;
    let deep = walk.find("Deep");
    walk.step(
        Action::ScrollTo {
            at: deep,
            tab: None,
        },
        &[],
    )
    .await;
    walk.press("Deep", &["mousedown deep", "mouseup deep", "click deep"])
        .await;
    let drag = |path: [(u32, u32); 2]| Action::Drag {
        path: path.map(|(x, y)| at(x, y)).to_vec(),
        button: Button::Left,
        modifiers: vec![],
        duration: None,
    };
    walk.step(
        drag([(680, 360), (880, 370)]),
        &[
            "mousedown carried",
            "dragstart carried",
            "drop bin",
            "dragend carried",
        ],
    )
    .await;
    walk.step(
        drag([(660, 500), (900, 580)]),
        &["mousedown canvas", "mouseup canvas", "click canvas"],
    )
    .await;
    walk.step(
        click(800, 440),
        &["mousedown field", "mouseup field", "click field"],
    )
    .await;
    walk.step(write("é"), &["input field=é"]).await;
    let hold = Action::HoldKey {
        chord: Chord::parse("x").unwrap(),
        duration: std::time::Duration::from_millis(100),
    };
    walk.step(
        hold,
        &["keydown field:x", "input field=éx", "keyup field:x"],
    )
    .await;
    walk.step(
        key("Enter"),
        &[
            "keydown field:Enter",
            "change field=éx",
            "keyup field:Enter",
        ],
    )
    .await;
}

async fn walk(browser: Browser) {
    let mut walk = Walk::begin(browser).await;
    buttons_and_links(&mut walk).await;
    fields(&mut walk).await;
    what_opens(&mut walk).await;
    places(&mut walk).await;
}

/// Options with a workspace that contains a file to upload.
fn with_a_file() -> (tempfile::TempDir, Options) {
    let (folder, workspace) = workspace();
    fs::write(workspace.join("a.txt"), "a").unwrap();
    let files = Some(Files {
        workspace,
        keeps_downloads: false,
    });
    let options = Options {
        profiles: folder.path().to_owned(),
        files,
        ..options()
    };
    (folder, options)
}

#[tokio::test]
async fn every_kind_of_element_works_headless() {
    let (_folder, options) = with_a_file();
    walk(headless_with(options).await).await;
}

#[tokio::test]
async fn every_kind_of_element_works_in_a_window() {
    let (_folder, options) = with_a_file();
    walk(windowed_with(options).await).await;
}
