//! Helpers: a browser and a witness page.

use std::time::Duration;

use telechir_browser::{AllowedUrls, Browser, Options, Surface};
use telechir_device::{
    ActionReport, Computer as _, DeviceError, PageContextSource as _, ScreenAction, Settle,
    Viewport,
};
use telechir_process::{Identity, is_root};
use telechir_protocol::{Action, Button, Chord, ClickCount, Point, Size, StateChange, Target};
use telechir_testkit::gate::{Component, require};
use telechir_testkit::page::PageWitness;
use tokio::time::{Instant, sleep};

use crate::shared;

pub(crate) const CHROMIUM: &str = "/usr/lib/chromium/chromium";
pub(crate) const SIZE: Size = Size::new(1024, 768);
/// A quiet period longer than a busy machine takes between two frames.
pub(crate) const SETTLE: Settle = Settle {
    quiet: Duration::from_millis(250),
    ceiling: Duration::from_secs(5),
};

/// Options that work for root and for other users.
pub(crate) fn options() -> Options {
    Options {
        identity: is_root().then(|| Identity::unprivileged(3_877).unwrap()),
        allowed_urls: AllowedUrls::WebAndData,
        ..Options::default()
    }
}

/// A headless browser in the Chromium that tests share, with its own context.
pub(crate) async fn headless() -> Browser {
    headless_with(options()).await
}

/// Such a browser with these options about pages. Downloads are refused.
pub(crate) async fn headless_with(options: Options) -> Browser {
    require(Component::Chromium);
    shared::open(options).await.unwrap()
}

/// A headless browser with its own Chromium, for tests whose subject is Chromium: its start, end,
/// processes, flags, downloads or connection.
pub(crate) async fn launched() -> Browser {
    launched_with(options()).await
}

/// Such a browser with these options.
pub(crate) async fn launched_with(options: Options) -> Browser {
    require(Component::Chromium);
    Browser::launch(Surface::Headless(SIZE), options)
        .await
        .unwrap()
}

/// Chromium's own headless mode, as if the headless shell were not installed.
pub(crate) async fn headless_chromium() -> Browser {
    launched_with(Options {
        program: Some(CHROMIUM.into()),
        ..options()
    })
    .await
}

/// A browser that shows the witness's page.
pub(crate) async fn witnessed() -> (Browser, PageWitness) {
    let mut browser = headless().await;
    let witness = PageWitness::serve().await.unwrap();
    go(&mut browser, &witness.url()).await.unwrap();
    witness.until(|event| event.kind == "ready").await.unwrap();
    witness.take().await;
    (browser, witness)
}

/// The action with screen coordinates.
pub(crate) fn on_screen(action: Action) -> ScreenAction {
    Viewport::unscaled(SIZE).action(&action).unwrap()
}

pub(crate) async fn perform(
    browser: &mut Browser,
    action: Action,
) -> Result<ActionReport, DeviceError> {
    browser.perform(&on_screen(action)).await
}

pub(crate) async fn go(browser: &mut Browser, url: &str) -> Result<ActionReport, DeviceError> {
    perform(
        browser,
        Action::Navigate {
            url: url.to_owned(),
            tab: None,
        },
    )
    .await
}

pub(crate) fn at(x: u32, y: u32) -> Target {
    Target::Point(Point::new(x, y))
}

pub(crate) fn click(x: u32, y: u32) -> Action {
    Action::Click {
        at: Some(at(x, y)),
        button: Button::Left,
        count: ClickCount::Single,
        modifiers: vec![],
    }
}

pub(crate) fn key(chord: &str) -> Action {
    Action::Key {
        chord: Chord::parse(chord).unwrap(),
        repeat: 1,
    }
}

pub(crate) fn write(text: &str) -> Action {
    Action::Type {
        text: text.to_owned(),
        at: None,
        clear_first: false,
        submit: false,
    }
}

/// A `data:` URL of this page.
pub(crate) fn page(html: &str) -> String {
    format!(
        "data:text/html;charset=utf-8,{}",
        html.replace('#', "%23").replace('\n', "%0A")
    )
}

/// The text of an action's report.
pub(crate) async fn text_of(browser: &mut Browser, action: Action) -> String {
    perform(browser, action).await.unwrap().text.unwrap()
}

/// A view of the active page.
pub(crate) async fn read(browser: &mut Browser, view: &str) -> String {
    let action = Action::ReadPage {
        filter: (!view.is_empty()).then(|| view.to_owned()),
        depth: None,
        root: None,
        tab: None,
    };
    text_of(browser, action).await
}

/// The ref in the outline's line that contains this text: `button "Save" [b12]`.
pub(crate) fn ref_of(text: &str, fragment: &str) -> Target {
    let mut lines = text.lines().filter(|line| !line.starts_with("snapshot_"));
    let line = lines.find(|line| line.contains(fragment));
    let line = line.unwrap_or_else(|| panic!("no {fragment:?} in\n{text}"));
    let id = line.split_once('[').unwrap().1.split_once(']').unwrap().0;
    Target::Ref {
        id: id.to_owned(),
        frame: None,
    }
}

pub(crate) fn click_on(target: Target) -> Action {
    Action::Click {
        at: Some(target),
        button: Button::Left,
        count: ClickCount::Single,
        modifiers: vec![],
    }
}

/// The title of the active tab.
pub(crate) async fn title(browser: &mut Browser) -> String {
    let tabs = browser.page_context().await.unwrap().tabs;
    let front = tabs.into_iter().find(|tab| tab.active);
    front.unwrap().title
}

/// Runs a script in the active page, as a model with `scripts` may.
pub(crate) async fn script(browser: &mut Browser, script: &str) -> String {
    let script = script.to_owned();
    text_of(browser, Action::Javascript { script, tab: None }).await
}

/// A browser with `scripts` enabled.
pub(crate) async fn scripted() -> Browser {
    headless_with(Options {
        allows_scripts: true,
        ..options()
    })
    .await
}

/// Collects notes and state changes until the notes contain this text.
pub(crate) async fn notices_until(
    browser: &mut Browser,
    fragment: &str,
) -> (String, Vec<StateChange>) {
    let (mut text, mut changes) = (String::new(), Vec::new());
    let deadline = Instant::now() + Duration::from_secs(10);
    while !text.contains(fragment) {
        assert!(Instant::now() < deadline, "no {fragment:?} in {text:?}");
        let context = browser.page_context().await.unwrap();
        browser.begin_turn();
        text += &context.notes.unwrap_or_default();
        changes.extend(context.changes);
        sleep(Duration::from_millis(20)).await;
    }
    (text, changes)
}
